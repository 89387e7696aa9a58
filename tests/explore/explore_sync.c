/* The meetings of SyncSGD (src/sync/sync.c): each round applies the mean of one step from every
 * worker, all see it, and a stop lets all go or none. */
#include "rule.h"

#include "sync/sync.h"

enum { N = 17, MOST_WORKERS = 3 };

static struct {
    drovek_table kernels;
    drove_optim optim;
    drove_sync *s;
    unsigned n_rounds, n_done[MOST_WORKERS];
} run;

static void work(void *argument)
{
    unsigned worker = (unsigned)(uintptr_t)argument;
    drove_sync *s = run.s;
    float ones[N];
    for (unsigned i = 0; i < N; i++) ones[i] = 1.0f;
    const drove_step step = {.value = ones, .eta = 1.0f};
    for (unsigned r = 0; r < run.n_rounds; r++) {
        drove_view view;
        drove_publish_info info;
        if (s->ops->acquire(s, worker, &view) != DROVE_OK) return;
        explore_check(view.version == r, "the version is the round");
        for (unsigned i = 0; i < N; i += 16)
            explore_check(view.vector[i] == -(float)r, "a view is what its version says");
        drove__sync_release(s, worker);
        if (s->ops->publish(s, worker, &step, &info) != DROVE_OK) return;
        run.n_done[worker]++;
    }
    drove_view last;
    if (s->ops->acquire(s, worker, &last) != DROVE_OK) return;
    for (unsigned i = 0; i < N; i += 16)
        explore_check(last.vector[i] == -(float)run.n_rounds, "the last view is the end");
}

static void stop(void *unused)
{
    (void)unused;
    run.s->ops->stop(run.s);
}

static void rounds(unsigned n_workers, unsigned n_rounds, bool is_stopped)
{
    run.s = rule_strategy(&drove__sync_sync, "sync", n_workers, N, NULL, &run.kernels, &run.optim);
    run.n_rounds = n_rounds;
    for (unsigned w = 0; w < n_workers; w++) {
        run.n_done[w] = 0;
        explore_spawn(work, (void *)(uintptr_t)w);
    }
    if (is_stopped) explore_spawn(stop, NULL);
    explore_join_all();
    for (unsigned w = 1; w < n_workers; w++)
        explore_check(run.n_done[w] == run.n_done[0], "all make the same rounds");
    explore_check(is_stopped || run.n_done[0] == n_rounds, "all rounds are made");
    explore_check(run.s->ops->peek(run.s).theta[0] == -(float)run.n_done[0], "each round once");
    explore_check(atomic_load(&run.s->published) == run.n_done[0], "the count is exact");
}

static void two_workers(void)
{
    rounds(2, 1, false);
}
static void two_workers_stopped(void)
{
    rounds(2, 2, true);
}
static void three_workers(void)
{
    rounds(3, 1, false);
}

static const explore_survivor survivors[] = {
    {"meet: not atomic", "one worker counts at a time"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two workers", .run = two_workers},
        {.name = "two workers, stopped",
         .run = two_workers_stopped,
         .n_preemptions = 1,
         .is_slow = true},
        {.name = "three workers", .run = three_workers, .n_preemptions = 1, .is_long = true},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
