/* The coordinator over ranks (src/coord/requested.c, groups.c, assign.c, messages.c): every
 * position is done once, whoever comes early or late; the coordinator belongs to the controlling
 * thread of rank 0 or to one answer at a time; nobody waits for ever.  The transport, which carries
 * questions to rank 0 and lets ranks meet, is the scenario's: a mutex and a condition variable. */
#include "explorer.h"

#include "coord/assigned.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 2, MOST_ROWS = 8 };

/* Between the ranks. */
static struct wire {
    pthread_mutex_t lock; /* protects all below; held during an answer, as the server does */
    pthread_cond_t met;
    unsigned n_arrived, n_meetings;
    uint64_t next;
} * wire;

static struct {
    unsigned n_ranks, n_stretches;
    bool halts; /* rank 1 wishes it behind its first task */
    uint64_t limit[2];
    drove_sync sync[MOST_RANKS];
    drove_source source[MOST_RANKS];
    unsigned *n_done; /* [MOST_ROWS] plain: each position is one worker's */
} run;

/* As psgd-async does: to the answer of rank 0, one at a time. */
static drove_status ask(drove_sync *s, unsigned worker, drove_question *question)
{
    (void)s;
    pthread_mutex_lock(&wire->lock);
    run.sync[0].answer(run.sync[0].answer_context, worker, question);
    pthread_mutex_unlock(&wire->lock);
    return DROVE_OK;
}

static void stop(drove_sync *s)
{
    (void)s;
    explore_check(false, "no run is ended");
}

static const drove_sync_replica_ops asks = {.ask = ask};
static const drove_sync_ops sync_ops = {.name = "asks", .replicas = &asks, .stop = stop};

/* The ranks' exchange behind a stretch: all know the largest `next`. */
static uint64_t meet(uint64_t next)
{
    pthread_mutex_lock(&wire->lock);
    unsigned meeting = wire->n_meetings;
    if (next > wire->next) wire->next = next;
    if (++wire->n_arrived == run.n_ranks) {
        wire->n_arrived = 0;
        wire->n_meetings++;
        pthread_cond_broadcast(&wire->met);
    }
    while (wire->n_meetings == meeting) pthread_cond_wait(&wire->met, &wire->lock);
    next = wire->next;
    pthread_mutex_unlock(&wire->lock);
    return next;
}

static void train(unsigned rank, unsigned worker)
{
    drove_source *s = &run.source[rank];
    drove_task task;
    while (s->ops->next(s, worker, true, &task)) {
        for (uint64_t i = task.first; i < task.first + task.n_rows && i < MOST_ROWS; i++)
            run.n_done[i]++;
        s->ops->done(s, worker, &task, 1);
        if (run.halts && rank == 1) s->ops->halt(s);
    }
}

static void be_rank(void *argument)
{
    unsigned rank = (unsigned)(uintptr_t)argument;
    drove_source *s = &run.source[rank];
    for (unsigned i = 0; i < run.n_stretches; i++) {
        s->ops->open(s, run.limit[i], UINT64_MAX);
        train(rank, rank);
        atomic_store(&s->next, meet(atomic_load(&s->next)));
        (void)meet(0);
    }
}

static void silence(void *context, unsigned worker)
{
    (void)context, (void)worker;
}
static void say(void *context, const char *line)
{
    (void)context, (void)line;
}

static void make_source(unsigned rank, const drove_source_worker *workers)
{
    static drove_spec spec;
    explore_check(drove__spec_parse("hogbatch", &spec) == DROVE_OK, "the variant is known");
    run.sync[rank] = (drove_sync){.ops = &sync_ops, .n_workers = run.n_ranks};
    run.source[rank] = (drove_source){.ops = &drove__source_requested,
                                      .clock = &drove__clock_real,
                                      .n_workers = run.n_ranks};
    const drove_source_options opt = {.spec = &spec,
                                      .clock = &drove__clock_real,
                                      .n_workers = run.n_ranks,
                                      .n_groups = run.n_ranks,
                                      .worker = workers,
                                      .n_rows = MOST_ROWS,
                                      .batch = 1,
                                      .per_epoch = MOST_ROWS,
                                      .sync = &run.sync[rank],
                                      .is_elsewhere = rank != 0,
                                      .silence = silence,
                                      .say = say};
    explore_check(run.source[rank].ops->init(&run.source[rank], &opt) == DROVE_OK, "made");
}

static void begin(unsigned n_sources)
{
    static const drove_source_worker workers[MOST_RANKS] = {{.name = "rank:0", .n_cores = 1},
                                                            {.name = "rank:1", .n_cores = 1}};
    run.n_ranks = MOST_RANKS;
    run.halts = false;
    run.n_done = calloc(MOST_ROWS, sizeof *run.n_done);
    wire = calloc(1, sizeof *wire);
    (void)pthread_mutex_init(&wire->lock, NULL);
    (void)pthread_cond_init(&wire->met, NULL);
    for (unsigned i = 0; i < n_sources; i++) make_source(i, workers);
}

static void check_once(void)
{
    uint64_t end = atomic_load(&run.source[0].next);
    for (uint64_t i = 0; i < MOST_ROWS; i++)
        explore_check(run.n_done[i] == (i < end), "every position once");
}

static void ranks(unsigned n_stretches, uint64_t first_limit, uint64_t second_limit, bool halts)
{
    begin(MOST_RANKS);
    run.n_stretches = n_stretches;
    run.limit[0] = first_limit;
    run.limit[1] = second_limit;
    run.halts = halts;
    explore_spawn(be_rank, (void *)1);
    be_rank((void *)0);
    explore_join_all();
    uint64_t end = atomic_load(&run.source[0].next);
    explore_check(halts || end == run.limit[n_stretches - 1], "all positions are given out");
    check_once();
}

static void be_second_worker(void *unused)
{
    (void)unused;
    train(0, 1);
}

/* Two workers of one rank: its `next` is behind what both were given. */
static void one_rank(void)
{
    begin(1);
    run.source[0].ops->open(&run.source[0], 2, UINT64_MAX);
    explore_spawn(be_second_worker, NULL);
    train(0, 0);
    explore_join_all();
    explore_check(atomic_load(&run.source[0].next) == 2, "next is behind all");
    check_once();
}

static void one_stretch(void)
{
    ranks(1, 2, 0, false);
}
static void two_stretches(void)
{
    ranks(2, 1, 2, false);
}
static void halted(void)
{
    ranks(2, 3, 4, true);
}

static const explore_survivor survivors[] = {
    {"*: not seq_cst", "the default order, stronger than this needs"},
    {"open: no acquire", "the number alone counts"},
    {"open: no release", "of is_halted: starting the workers orders it"},
    {"fetch: no acquire", "is_halted passes nothing on"},
    {"halt: no release", "is_halted passes nothing on"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two ranks, a stretch",
         .run = one_stretch,
         .n_preemptions = 2,
         .needs_time = true,
         .is_undisturbed = true},
        {.name = "two ranks, two stretches",
         .run = two_stretches,
         .n_preemptions = 1,
         .needs_time = true},
        {.name = "one rank, two workers", .run = one_rank, .n_preemptions = 2, .needs_time = true},
        {.name = "two ranks, halted", .run = halted, .n_samples = 3000, .needs_time = true},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
