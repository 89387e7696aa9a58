/* Stale-synchronous SGD (src/sync/ssp.c, src/base/lock.c): nobody runs ahead of the bound, nobody
 * sleeps for ever, a stop ends all waits, and a worker that is killed costs at most the update that
 * it was making. */
#include "rule.h"

#include "sync/sync.h"

enum { N = 1, MOST_WORKERS = 3 };

static struct {
    drovek_table kernels;
    drove_optim optim;
    drove_sync *s;
    unsigned n_steps;
    bool is_killed; /* worker 0 may be: its last update may be in the vector and not be counted */
    _Atomic unsigned n_begun[MOST_WORKERS];
} run;

static void work(void *argument)
{
    unsigned worker = (unsigned)(uintptr_t)argument;
    drove_sync *s = run.s;
    float ones[N] = {1.0f};
    const drove_step step = {.value = ones, .eta = 1.0f};
    for (unsigned i = 0; i < run.n_steps; i++) {
        drove_view view;
        drove_publish_info info;
        if (s->ops->acquire(s, worker, &view) != DROVE_OK) return;
        float ahead = -view.vector[0] - (float)view.version;
        explore_check(ahead == 0.0f || (run.is_killed && ahead == 1.0f),
                      "a view is what its version says");
        explore_check(run.is_killed || view.version >= i * s->n_workers,
                      "nobody runs ahead (bound 0)");
        drove__sync_release(s, worker);
        if (s->ops->publish(s, worker, &step, &info) != DROVE_OK) return;
    }
}

static void stop(void *unused)
{
    (void)unused;
    run.s->ops->stop(run.s);
}

static void steps(unsigned n_workers, unsigned n_steps, bool is_stopped)
{
    run.s = rule_strategy(&drove__sync_ssp, "ssp:0", n_workers, N, NULL, &run.kernels, &run.optim);
    run.n_steps = n_steps;
    run.is_killed = false;
    for (unsigned w = 0; w < n_workers; w++) explore_spawn(work, (void *)(uintptr_t)w);
    if (is_stopped) explore_spawn(stop, NULL);
    explore_join_all();
    uint64_t published = atomic_load(&run.s->published);
    explore_check(is_stopped || published == (uint64_t)n_workers * n_steps, "all steps are made");
    explore_check(run.s->ops->peek(run.s).theta[0] == -(float)published, "no step is lost");
}

static void two_workers(void)
{
    steps(2, 2, false);
}
static void two_workers_stopped(void)
{
    steps(2, 2, true);
}

/* The controlling thread takes leave of worker 0 when it is dead; the other one goes on. */
static void one_killed(void)
{
    run.s = rule_strategy(&drove__sync_ssp, "ssp:0", 2, N, NULL, &run.kernels, &run.optim);
    run.n_steps = 2;
    run.is_killed = true;
    for (unsigned w = 0; w < 2; w++) explore_spawn(work, (void *)(uintptr_t)w);
    explore_may_die(1);
    explore_join(1);
    if (explore_is_dead(1) && !explore_leaves_out()) run.s->ops->leave(run.s, 0);
    explore_join_all();
    uint64_t published = atomic_load(&run.s->published);
    float ahead = -run.s->ops->peek(run.s).theta[0] - (float)published;
    explore_check(published >= (explore_is_dead(1) ? 2 : 4), "the others make all theirs");
    explore_check(ahead == 0.0f || (explore_is_dead(1) && ahead == 1.0f), "no step is lost");
}

static const explore_survivor survivors[] = {
    {"wake_all: not atomic", "its caller holds the mutex"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two workers", .run = two_workers, .n_preemptions = 3},
        {.name = "two workers, stopped", .run = two_workers_stopped, .n_preemptions = 1},
        {.name = "one of two is killed", .run = one_killed, .n_preemptions = 1, .n_kills = 1},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
