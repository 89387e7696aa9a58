/* Gradients of several devices that are added part by part (src/accum/collect.c, sum.c): each sum
 * is of this iteration and whole, no gradient is read while its device writes it, nobody waits for
 * ever.
 */
#include "explorer.h"

#include "accum/collect.h"

#include <stdlib.h>

enum { MOST_DEVICES = 3, MOST_PARTS = 2 };

static struct {
    drovek_table kernels;
    drove_collector *c;
    unsigned n_devices, n_parts, n_iterations;
    float *gradient[MOST_DEVICES];
} run;

static void add(float *to, const float *x, const float *y, size_t n, float a, bool streams)
{
    (void)streams;
    for (size_t i = 0; i < n; i++) to[i] = a * (x[i] + y[i]);
}

static void blend(float *to, const float *x, const float *y, size_t n, float a, float b)
{
    for (size_t i = 0; i < n; i++) to[i] = a * x[i] + (y != NULL ? b * y[i] : 0.0f);
}

/* In the place of src/kernel. */
void drovek_thread_init(void)
{
}

static void train(void *argument)
{
    unsigned device = (unsigned)(uintptr_t)argument;
    float *g = run.gradient[device];
    for (unsigned k = 0; k < run.n_iterations; k++) {
        float *mean, eta, wanted = 0.0f;
        drove_collect_times times;
        for (unsigned p = run.n_parts; p-- > 0;) { /* as backward does */
            g[p] = (float)(8 * (k + 1) * (device + 1));
            (void)drove__collect_arrive(run.c, device, p, g, 1.0f, true);
        }
        explore_check(drove__collect_finish(run.c, device, &mean, &eta, &times), "finished");
        for (unsigned d = 0; d < run.n_devices; d++) wanted += (float)(8 * (k + 1) * (d + 1));
        for (unsigned p = 0; p < run.n_parts; p++)
            explore_check(mean[p] == wanted / (float)run.n_devices, "the mean of this iteration");
    }
}

static void collect(unsigned n_devices, unsigned n_parts, unsigned n_helpers, unsigned n_iterations,
                    drove_accum_order order)
{
    drove_span part[MOST_PARTS];
    for (unsigned p = 0; p < n_parts; p++) part[p] = (drove_span){.offset = p, .length = 1};
    run.kernels = (drovek_table){.add_f32 = add, .blend_f32 = blend};
    run.n_devices = n_devices;
    run.n_parts = n_parts;
    run.n_iterations = n_iterations;
    const drove_collector_options opt = {.n_devices = n_devices,
                                         .n_helpers = n_helpers,
                                         .part = part,
                                         .n_parts = n_parts,
                                         .n = n_parts,
                                         .order = order,
                                         .kernels = &run.kernels,
                                         .n_all = n_devices};
    explore_check(drove__collector_create(&opt, &run.c) == DROVE_OK, "made");
    for (unsigned d = 0; d < n_devices; d++) {
        run.gradient[d] = calloc(n_parts, sizeof **run.gradient);
        if (d > 0) explore_spawn(train, (void *)(uintptr_t)d);
    }
    train(NULL);
    if (n_helpers > 0) {
        explore_join(2); /* the other device; thread 1 is the helper */
        drove__collector_destroy(run.c);
    }
}

static void two_devices(void)
{
    collect(2, 1, 0, 2, DROVE_ACCUM_PAIRS);
}

static void first_come(void)
{
    collect(2, 1, 0, 2, DROVE_ACCUM_FIRST_COME);
}

static void a_helper(void)
{
    collect(2, 1, 1, 1, DROVE_ACCUM_ONCE);
}

static const explore_survivor survivors[] = {
    {"await_change: no acquire", "the lock is taken behind it"},
    {"tell: no release", "who waits takes the lock behind it"},
    {"tell: not atomic", "its caller holds the lock"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two devices, two iterations", .run = two_devices, .n_preemptions = 2},
        {.name = "two devices, in the order of arrival", .run = first_come, .n_preemptions = 2},
        {.name = "two devices, a helper", .run = a_helper, .n_preemptions = 1},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
