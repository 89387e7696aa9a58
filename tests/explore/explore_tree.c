/* The conventional algorithm (src/accum/tree.c): a gradient is read only when it is there, each
 * update is by the mean of all, every worker has it, nobody waits for ever, a stop ends all waits.
 */
#include "rule.h"

#include "accum/accum.h"

#include <math.h>

enum { N = 1, MOST_WORKERS = 3 };

static const drove_rule_ops plain_rule = {.name = "sgd"};

static struct {
    drovek_table kernels;
    drove_optim optim;
    drove_sync *s;
    unsigned n_steps;
    bool is_stopped;
    bool is_resident[MOST_WORKERS]; /* its device makes the update */
} run;

static void add(float *to, const float *x, const float *y, size_t n, float a, bool streams)
{
    (void)streams;
    for (size_t i = 0; i < n; i++) to[i] = a * (x[i] + y[i]);
}

/* The mean of 1, 3, 5 ... is the number of workers. */
static float gradient_of(unsigned worker)
{
    return 2.0f * (float)worker + 1.0f;
}

/* What a device does: takes the mean and makes the update. */
static bool update_device(unsigned worker)
{
    drove_sum sum;
    if (!run.s->ops->slices->next_sum(run.s, worker, true, &sum)) return false;
    run.s->ops->replicas->vector(run.s, worker)[0] -= sum.value[sum.offset];
    return true;
}

static void work(void *argument)
{
    unsigned worker = (unsigned)(uintptr_t)argument;
    drove_sync *s = run.s;
    for (unsigned i = 0; i < run.n_steps; i++) {
        drove_view view;
        drove_publish_info info;
        if (s->ops->acquire(s, worker, &view) != DROVE_OK) break;
        float wanted = -(float)(i * s->n_workers);
        explore_check(fabsf(view.vector[0] - wanted) < 1e-5f, "all updates by the mean, no other");
        drove__sync_release(s, worker);
        float *g = s->ops->gradient(s, worker);
        const drove_step step = {.value = g, .eta = 1.0f};
        g[0] = gradient_of(worker);
        if (run.is_resident[worker]) {
            (void)s->ops->slices->ready(s, worker, 0, N, g, 1.0f);
            if (!update_device(worker)) break;
        }
        if (s->ops->publish(s, worker, &step, &info) != DROVE_OK) break;
    }
}

static void stop(void *unused)
{
    (void)unused;
    run.s->ops->stop(run.s);
}

static void steps(unsigned n_workers, unsigned n_steps, bool is_resident, bool is_stopped)
{
    static const float zero[N];
    drove_spec spec;
    run.kernels = (drovek_table){.copy_f32 = rule_copy, .add_f32 = add, .scale_f32 = rule_scale};
    run.optim = (drove_optim){.n = N, .n_vector = N, .kernels = &run.kernels};
    run.optim.rule.ops = &plain_rule;
    run.n_steps = n_steps;
    run.is_stopped = is_stopped;
    for (unsigned w = 0; w < MOST_WORKERS; w++) run.is_resident[w] = is_resident && w > 0;
    explore_check(drove__spec_parse("tree", &spec) == DROVE_OK, "the variant is known");
    const drove_sync_options options = {
        .spec = &spec, .n_workers = n_workers, .optim = &run.optim, .is_resident = run.is_resident};
    explore_check(drove__sync_create(&drove__accum_tree, &options,
                                     &(drove_params){.theta = (float *)(uintptr_t)zero},
                                     &run.s) == DROVE_OK,
                  "the strategy is made");
    for (unsigned w = 1; w < n_workers; w++) explore_spawn(work, (void *)(uintptr_t)w);
    if (is_stopped) explore_spawn(stop, NULL);
    work((void *)0);
    explore_join_all();
    if (is_stopped) return;
    explore_check(atomic_load(&run.s->published) == n_steps, "all updates are made");
    explore_check(drove__sync_parked(run.s) == DROVE_OK, "all workers have the same");
}

static void two_workers(void)
{
    steps(2, 2, false, false);
}
static void two_devices(void)
{
    steps(2, 2, true, false);
}
static void three_workers(void)
{
    steps(3, 1, false, false);
}
static void three_devices(void)
{
    steps(3, 2, true, false);
}
static void two_stopped(void)
{
    steps(2, 1, false, true);
}

static const explore_survivor survivors[] = {
    {"note_backward: not atomic", "a time, of which statistics are made"},
    {"await: no acquire", "under the lock, or before a load that acquires"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two workers, two steps",
         .run = two_workers,
         .n_preemptions = 2,
         .is_undisturbed = true},
        {.name = "two workers, one a device, two steps", .run = two_devices, .n_preemptions = 1},
        {.name = "three workers, a step",
         .run = three_workers,
         .n_preemptions = 1,
         .is_undisturbed = true},
        {.name = "three workers, two of them devices", .run = three_devices, .n_samples = 2000},
        {.name = "two workers, stopped", .run = two_stopped, .n_preemptions = 1},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
