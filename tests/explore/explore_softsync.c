/* n-softsync (src/sync/softsync.c, src/base/lock.c): an update has exactly its contributions, a
 * view is what its version says, and a worker that is killed costs at most the group that it was
 * adding to: the others go on. */
#include "rule.h"

#include "sync/sync.h"

#include <math.h>

enum { N = 1, MOST_WORKERS = 3 };

static struct {
    drovek_table kernels;
    drove_optim optim;
    drove_sync *s;
    unsigned n_steps;
    float tolerance; /* a killed worker's group may count in part */
    _Atomic unsigned n_made, n_updated;
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
        explore_check(s->ops->acquire(s, worker, &view) == DROVE_OK, "a view is lent");
        explore_check(fabsf(view.vector[0] + (float)view.version) <= run.tolerance,
                      "a view is what its version says");
        drove__sync_release(s, worker);
        explore_check(s->ops->publish(s, worker, &step, &info) == DROVE_OK, "published");
        atomic_fetch_add_explicit(&run.n_made, 1, memory_order_relaxed);
        if (info.updated) atomic_fetch_add_explicit(&run.n_updated, 1, memory_order_relaxed);
    }
}

static void make(const char *variant, float tolerance, unsigned n_workers, unsigned n_steps)
{
    run.s =
        rule_strategy(&drove__sync_softsync, variant, n_workers, N, NULL, &run.kernels, &run.optim);
    run.tolerance = tolerance;
    run.n_steps = n_steps;
    run.n_made = run.n_updated = 0;
    for (unsigned w = 0; w < n_workers; w++) explore_spawn(work, (void *)(uintptr_t)w);
}

static void steps(const char *variant, unsigned group, unsigned n_workers, unsigned n_steps)
{
    make(variant, 0.0f, n_workers, n_steps);
    explore_join_all();
    uint64_t wanted = (uint64_t)n_workers * n_steps / group;
    explore_check(atomic_load(&run.s->published) == wanted, "an update for each whole group");
    explore_check(run.s->ops->peek(run.s).theta[0] == -(float)wanted, "no step is lost");
    explore_check(run.n_updated == wanted, "one worker completes each");
}

/* Worker 0 may be killed.  Then the controlling thread takes leave of it. */
static void killed(const char *variant, unsigned n_workers, unsigned n_steps)
{
    make(variant, 1.0f, n_workers, n_steps);
    explore_may_die(1);
    explore_join(1);
    bool is_dead = explore_is_dead(1);
    if (is_dead) run.s->ops->leave(run.s, 0);
    explore_join_all();
    uint64_t published = atomic_load(&run.s->published);
    unsigned n_whole = run.n_made;
    float theta = -run.s->ops->peek(run.s).theta[0];
    if (!is_dead) explore_check(n_whole == n_workers * n_steps, "all steps are made");
    explore_check(n_whole >= (n_workers - 1) * n_steps, "the others make all theirs");
    explore_check(fabsf(theta - (float)published) <= (is_dead ? 1.0f : 0.0f),
                  "the vector has the updates that were counted, but for one group");
    explore_check((float)published >= (float)(n_whole / 2) - 1.0f, "no other group is lost");
}

static void groups_of_two(void)
{
    steps("softsync:2", 2, 2, 2);
}
static void groups_of_one(void)
{
    steps("softsync:1", 1, 2, 2);
}
static void three_workers(void)
{
    steps("softsync:3", 3, 3, 1);
}
static void killed_in_a_group(void)
{
    killed("softsync:2", 2, 2);
}
static void killed_of_three(void)
{
    killed("softsync:2", 3, 1);
}

static const explore_survivor survivors[] = {
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two workers, groups of two", .run = groups_of_two, .n_preemptions = 3},
        {.name = "two workers, groups of one", .run = groups_of_one, .n_preemptions = 3},
        {.name = "three workers, a group", .run = three_workers, .n_preemptions = 2},
        {.name = "one of two is killed",
         .run = killed_in_a_group,
         .n_preemptions = 2,
         .n_kills = 1},
        {.name = "one of three is killed",
         .run = killed_of_three,
         .n_preemptions = 1,
         .n_kills = 1},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
