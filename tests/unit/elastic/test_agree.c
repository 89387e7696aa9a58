/* Step sizes that differ between the workers of a round: all go by their mean.  Numbers are powers
 * of two, so sums and means are exact. */
#include "support/strategies.h"

#include "elastic/elastic.h"

#include <math.h>

enum { N = 16, WORKERS = 4, STEPS = 2 };

static const float etas[WORKERS] = {0.25f, 0.125f, 0.125f, 0.5f}; /* mean 1/4 */
static const float slopes[WORKERS] = {8.0f, -16.0f, 24.0f, 4.0f};

static unsigned n_failed[WORKERS];

/* The slope of the worker, then 0. */
static void take_steps(rig *r, unsigned worker, void *arg)
{
    (void)arg;
    for (unsigned t = 0; t < STEPS; t++) {
        float g[N];
        for (unsigned j = 0; j < N; j++) g[j] = t == 0 ? slopes[worker] : 0.0f;
        if (take_step(r, worker, g, etas[worker], NULL, NULL) != DROVE_OK) n_failed[worker]++;
    }
}

static const float *run(rig *r, const char *variant, const char *schedule, double rho)
{
    memset(n_failed, 0, sizeof n_failed);
    rig_init(r, (rig_options){.variant = variant,
                              .schedule = schedule,
                              .lr = 0.25,
                              .n_workers = WORKERS,
                              .n = N,
                              .rho = rho,
                              .period = rho > 0.0 ? "1" : NULL});
    run_workers(r, take_steps, NULL);
    for (unsigned i = 0; i < WORKERS; i++) assert_int_equal(n_failed[i], 0);
    return r->sync->ops->peek(r->sync).theta;
}

/* (1) and (2): after the first step W^i = -eta_i g_i and the centre is 0; the second moves the
 * centre by alpha times their sum, alpha = mean(eta) rho. */
TEST(the_pull_goes_by_the_mean)
{
    static const char *const variants[] = {"easgd-sync1", "easgd-sync2", "easgd-sync3"};
    for (size_t k = 0; k < sizeof variants / sizeof variants[0]; k++) {
        rig r;
        float sum = 0.0f;
        const float *c = run(&r, variants[k], "exponential:0.5", 0.5);
        for (unsigned i = 0; i < WORKERS; i++) sum -= etas[i] * slopes[i];
        for (unsigned j = 0; j < N; j++)
            if (fabsf(c[j] - 0.25f * 0.5f * sum) > 1e-6f)
                fail_msg("%s: expected %g, found %g", variants[k], (double)(0.125f * sum),
                         (double)c[j]);
        rig_fini(&r);
    }
}

/* One step of the mean gradient by the mean step size. */
TEST(a_mean_gradient_goes_by_the_mean)
{
    rig r;
    float mean = 0.0f;
    const float *c = run(&r, "allreduce", "exponential:0.5", 0.0);
    for (unsigned i = 0; i < WORKERS; i++) mean += slopes[i] / WORKERS;
    for (unsigned j = 0; j < N; j++) assert_true(fabsf(c[j] + 0.25f * mean) < 1e-6f);
    rig_fini(&r);
}
