/* Leashed-SGD (src/sync/leashed.c): readers, publishers and the pool.  A view is one published
 * vector, nothing is lost or counted twice, the pool is whole afterwards. */
#include "rule.h"

#include "sync/leashed.h"
#include "sync/sync.h"

enum { N = 1, MOST_WORKERS = 3 };

static struct {
    drovek_table kernels;
    drove_optim optim;
    drove_sync *s;
    unsigned n_steps[MOST_WORKERS];
    bool is_lent;
    unsigned n_dropped[MOST_WORKERS], n_done[MOST_WORKERS]; /* plain: each its worker's */
} run;

static void step(unsigned worker)
{
    drove_sync *s = run.s;
    drove_view view;
    drove_publish_info info = {0};
    float ones[N] = {1.0f};
    drove_step step = {.value = ones, .eta = 1.0f};
    s->ops->acquire(s, worker, &view);
    explore_check(view.vector[0] == -(float)view.version, "a view is what its version says");
    if (run.is_lent) {
        float *lent = s->ops->gradient(s, worker);
        lent[0] = 1.0f;
        step.value = lent;
    }
    explore_check(view.vector[0] == -(float)view.version, "a view stays as it is");
    drove__sync_release(s, worker);
    s->ops->publish(s, worker, &step, &info);
    run.n_dropped[worker] += info.dropped;
    run.n_done[worker]++;
}

static void work(void *argument)
{
    unsigned worker = (unsigned)(uintptr_t)argument;
    for (unsigned i = 0; i < run.n_steps[worker]; i++) step(worker);
}

static void leashed(const char *variant, bool is_lent, unsigned n_workers, unsigned n_first)
{
    drove_leashed_pool pool;
    uint64_t n_published = 0;
    run.s =
        rule_strategy(&drove__sync_leashed, variant, n_workers, N, NULL, &run.kernels, &run.optim);
    run.is_lent = is_lent;
    for (unsigned w = 0; w < n_workers; w++) {
        run.n_steps[w] = w == 0 ? n_first : 1;
        run.n_dropped[w] = 0;
        explore_spawn(work, (void *)(uintptr_t)w);
    }
    explore_join_all();
    for (unsigned w = 0; w < n_workers; w++) n_published += run.n_steps[w] - run.n_dropped[w];
    drove__leashed_pool(run.s, &pool);
    explore_check(pool.tag == n_published, "the tag counts the updates");
    explore_check(run.s->ops->peek(run.s).theta[0] == -(float)n_published, "no update is lost");
    explore_check(atomic_load(&run.s->published) == n_published, "the count is exact");
    explore_check(pool.n_in_use == 1 && pool.n_read == 0, "the pool is whole");
}

/* Worker 0 is stopped for good, anywhere: the others make all their steps, each once. */
static void killed(const char *variant, bool is_lent, unsigned n_workers)
{
    unsigned n_done = 0;
    run.s =
        rule_strategy(&drove__sync_leashed, variant, n_workers, N, NULL, &run.kernels, &run.optim);
    run.is_lent = is_lent;
    for (unsigned w = 0; w < n_workers; w++) {
        run.n_steps[w] = w == 0 ? 1 : 2;
        run.n_dropped[w] = run.n_done[w] = 0;
        explore_spawn(work, (void *)(uintptr_t)w);
    }
    explore_may_die(1);
    explore_join_all();
    for (unsigned w = 0; w < n_workers; w++) {
        explore_check(w == 0 || run.n_done[w] == run.n_steps[w], "the others go on");
        n_done += run.n_done[w] - run.n_dropped[w];
    }
    float theta = -run.s->ops->peek(run.s).theta[0];
    explore_check(theta == (float)n_done || (explore_is_dead(1) && theta == (float)n_done + 1.0f),
                  "each step is made once");
}

static void one_of_two_killed(void)
{
    killed("leashed:inf", false, 2);
}
static void one_killed_in_place(void)
{
    killed("leashed:inf", true, 2);
}

/* A thread beside them copies the parameters meanwhile. */
static void copy_beside(void *argument)
{
    float copy[N];
    (void)argument;
    uint64_t n = drove__sync_places(run.s->ops)->snapshot(run.s, copy);
    explore_check(copy[0] == -(float)n, "a copy is what its version says");
}

static void read_beside(void)
{
    drove_leashed_pool pool;
    const drove_sync_options options = {.n_workers = 2, .is_read_beside = true};
    run.s =
        rule_strategy_of(&drove__sync_leashed, "leashed:inf", options, N, &run.kernels, &run.optim);
    run.is_lent = true;
    for (unsigned w = 0; w < 2; w++) {
        run.n_steps[w] = 1;
        run.n_dropped[w] = 0;
        explore_spawn(work, (void *)(uintptr_t)w);
    }
    explore_spawn(copy_beside, NULL);
    explore_join_all();
    drove__leashed_pool(run.s, &pool);
    explore_check(pool.n_slots == 8, "there is a slot for the reader");
    explore_check(run.s->ops->peek(run.s).theta[0] == -2.0f, "no update is lost");
    explore_check(pool.n_in_use == 1 && pool.n_read == 0, "the pool is whole");
}

static void two_workers(void)
{
    leashed("leashed:inf", false, 2, 1);
}
static void two_workers_more(void)
{
    leashed("leashed:inf", false, 2, 2);
}
/* The first worker comes back to its first slot, which the second may still read. */
static void recycled(void)
{
    leashed("leashed:inf", false, 2, 3);
}

/* Views of worker 2, who never gives them back, lie on all slots of worker 0's own: it claims those
 * of worker 1, at the same time as worker 1. */
static void stolen(const char *variant)
{
    drove_view view;
    unsigned n_before = 4, n_published;
    run.s = rule_strategy(&drove__sync_leashed, variant, 3, N, NULL, &run.kernels, &run.optim);
    run.is_lent = false;
    for (unsigned i = 0; i < n_before; i++) {
        step(0);
        if (i + 1 < n_before) run.s->ops->acquire(run.s, 2, &view);
    }
    for (unsigned w = 0; w < 2; w++) {
        run.n_steps[w] = w == 0 ? 2 : 1;
        run.n_dropped[w] = 0;
        explore_spawn(work, (void *)(uintptr_t)w);
    }
    explore_join_all();
    n_published = n_before + 3 - run.n_dropped[0] - run.n_dropped[1];
    explore_check(run.s->ops->peek(run.s).theta[0] == -(float)n_published, "no update is lost");
}

static void same_slots(void)
{
    stolen("leashed:inf");
}

static void same_slots_drop(void)
{
    stolen("leashed:0");
}

static void two_workers_drop(void)
{
    leashed("leashed:0", false, 2, 2);
}
static void two_workers_in_place(void)
{
    leashed("leashed:inf", true, 2, 2);
}
static void three_workers(void)
{
    leashed("leashed:inf", false, 3, 1);
}

static const explore_survivor survivors[] = {
    {"protect: no acquire", "of the two loads of latest: the second one acquires"},
    {"retire: no release", "after a publication: unprotect, behind it, releases too"},
    {"try_claim: no release", "retire's release reaches late readers through the exchange"},
    {"drove__leashed_pool: not seq_cst", "the workers have ended"},
    {"drove__leashed_pool: no acquire", "the workers have ended"},
    {"peek: no acquire", "the workers have ended"},
    {"retire: not atomic", "of a slot that never became current: nobody reads it here"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two workers, slots again", .run = recycled, .n_preemptions = 2},
        {.name = "two workers, the same slots", .run = same_slots, .n_preemptions = 2},
        {.name = "two workers, the same slots, no retry",
         .run = same_slots_drop,
         .n_preemptions = 2},
        {.name = "two workers, a step each", .run = two_workers, .n_preemptions = 3},
        {.name = "two workers, no retry", .run = two_workers_drop, .n_preemptions = 2},
        {.name = "two workers, in place", .run = two_workers_in_place, .n_preemptions = 2},
        {.name = "three workers", .run = three_workers, .n_preemptions = 1},
        {.name = "a copy beside two workers", .run = read_beside, .n_preemptions = 2},
        {.name = "one of two is killed",
         .run = one_of_two_killed,
         .n_preemptions = 1,
         .n_kills = 1},
        {.name = "one of two is killed, in place",
         .run = one_killed_in_place,
         .n_preemptions = 1,
         .n_kills = 1},
        {.name = "two workers, a step each, all", .run = two_workers, .is_long = true},
        {.name = "two workers, three steps", .run = two_workers_more, .is_long = true},
        {.name = "two workers, three steps, in place",
         .run = two_workers_in_place,
         .is_long = true},
        {.name = "three workers, at random",
         .run = three_workers,
         .n_samples = 1000000,
         .is_long = true},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
