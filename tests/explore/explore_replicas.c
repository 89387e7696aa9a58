/* Replicas that meet at a centre (src/sync/replicas.c): one holder of the centre at a time, each
 * step is in it once, staleness is never negative. */
#include "rule.h"

#include "base/racy.h"
#include "sync/sync.h"

enum { N = 1, MOST_WORKERS = 3 };

static struct {
    drovek_table kernels;
    drove_optim optim;
    drove_sync *s;
    unsigned n_steps;
    bool has_mates;
} run;

static size_t merge(void *centre, void *w, void *last, size_t n, float share, drovek_bits *bits)
{
    float *c = centre, *was = last, *mine = w;
    (void)bits;
    for (size_t i = 0; i < n; i++) {
        c[i] += share * (drove__racy_load(&mine[i]) - was[i]);
        was[i] = c[i];
        drove__racy_store(&mine[i], c[i]);
    }
    return 0;
}

/* In the place of src/strategy/shared.c. */
void drove__sync_apply_from(const drove_sync *s, const drove_step *step, unsigned part,
                            unsigned n_parts, uint64_t staleness, uint64_t t, float *vector);
void drove__sync_apply_from(const drove_sync *s, const drove_step *step, unsigned part,
                            unsigned n_parts, uint64_t staleness, uint64_t t, float *vector)
{
    (void)part, (void)n_parts, (void)staleness, (void)t;
    for (size_t i = 0; i < s->optim->n; i++)
        drove__racy_store(&vector[i], drove__racy_load(&vector[i]) - step->eta * step->value[i]);
}

static void work(void *argument)
{
    unsigned worker = (unsigned)(uintptr_t)argument;
    drove_sync *s = run.s;
    float ones[N] = {1.0f};
    const drove_step step = {.value = ones, .eta = 1.0f};
    for (unsigned i = 0; i < run.n_steps; i++) {
        drove_view view;
        drove_publish_info info;
        s->ops->acquire(s, worker, &view);
        explore_check(run.has_mates || drove__racy_load(view.vector) == -(float)view.version,
                      "a view is what its version says");
        drove__sync_release(s, worker);
        s->ops->publish(s, worker, &step, &info);
        explore_check(info.staleness < 100, "the staleness is not negative");
    }
}

/* With mates: workers 0 and 1 share a replica, and may lose a step there (R7). */
static void steps(unsigned n_workers, unsigned n_steps, bool has_mates)
{
    static const drove_place place[] = {{.node = 0}, {.node = 0}, {.node = 1}};
    run.has_mates = has_mates;
    run.s = rule_strategy(&drove__sync_replicas,
                          has_mates ? "replicas:node?period=1&merge=sum"
                                    : "replicas:core?period=1&merge=sum",
                          n_workers, N, has_mates ? place : NULL, &run.kernels, &run.optim);
    run.kernels.linear.merge[DROVE_F32] = merge;
    run.n_steps = n_steps;
    for (unsigned w = 0; w < n_workers; w++) explore_spawn(work, (void *)(uintptr_t)w);
    explore_join_all();
    float sum = -run.s->ops->peek(run.s).theta[0];
    explore_check(has_mates ? sum >= 1.0f && sum <= (float)(n_workers * n_steps)
                            : sum == (float)(n_workers * n_steps),
                  "each step is in the centre once");
    drove_view view;
    run.s->ops->acquire(run.s, 0, &view);
    explore_check(view.version == (uint64_t)n_workers * n_steps, "every step is counted");
}

/* Worker 0 is stopped for good, perhaps as holder of the centre: the others go on, and what they
 * have made is in their replicas. */
static void one_killed(void)
{
    run.has_mates = true; /* the killed one may have counted a step that it has not made */
    run.s = rule_strategy(&drove__sync_replicas, "replicas:core?period=1&merge=sum", 2, N, NULL,
                          &run.kernels, &run.optim);
    run.kernels.linear.merge[DROVE_F32] = merge;
    run.n_steps = 2;
    for (unsigned w = 0; w < 2; w++) explore_spawn(work, (void *)(uintptr_t)w);
    explore_may_die(1);
    explore_join_all();
    drove_view view;
    run.s->ops->acquire(run.s, 1, &view);
    float made = -drove__racy_load(view.vector);
    explore_check(made >= 2.0f && made <= 4.0f, "the other one has made its steps");
}

static void two_workers(void)
{
    steps(2, 2, false);
}
static void three_workers(void)
{
    steps(3, 1, false);
}

static void mates(void)
{
    steps(3, 1, true);
}

/* For the staleness alone: on machines that change the order of two additions. */
#define TWO_ADDITIONS "two additions take effect in the order of execution here"

static const explore_survivor survivors[] = {
    {"contained: no acquire", TWO_ADDITIONS},
    {"count_steps: no release", TWO_ADDITIONS},
    {"meet: no release", TWO_ADDITIONS},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two workers, two steps", .run = two_workers},
        {.name = "three workers, a step", .run = three_workers, .n_preemptions = 2},
        {.name = "one of two is killed", .run = one_killed, .n_preemptions = 2, .n_kills = 1},
        {.name = "two mates and another, two steps", .run = mates, .n_preemptions = 1},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
