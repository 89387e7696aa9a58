/* Assignments that threads share (src/coord/assigned.c, with its queues): every example is given to
 * one worker once, the coordinator hears of all of them, all park. */
#include "explorer.h"

#include "base/clock.h"
#include "coord/assigned.h"

#include <stdlib.h>

enum { MOST_ROWS = 16, MOST_WORKERS = 3 };

static struct {
    drove_source source;
    drove_sync sync;
    unsigned *n_times; /* [rows] plain: of who was given the row */
} run;

static void work(void *argument)
{
    unsigned worker = (unsigned)(uintptr_t)argument;
    drove_source *s = &run.source;
    drove_task task;
    while (s->ops->next(s, worker, true, &task)) {
        for (uint64_t i = task.first; i < task.first + task.n_rows; i++) run.n_times[i]++;
        if (!s->ops->coordinator->accepts(s, worker)) continue;
        s->ops->done(s, worker, &task, 1);
    }
}

static void say(void *context, const char *line)
{
    (void)context, (void)line;
}

static void silence(void *context, unsigned worker)
{
    (void)context, (void)worker;
}

static void assigned(unsigned n_workers, bool are_devices, unsigned n_rows, unsigned batch)
{
    drove_source_worker worker[MOST_WORKERS];
    drove_spec spec;
    for (unsigned i = 0; i < n_workers; i++)
        worker[i] = (drove_source_worker){.name = "w",
                                          .group = are_devices ? i : 0,
                                          .is_device = are_devices,
                                          .n_cores = 1,
                                          .batch = batch,
                                          .least = batch,
                                          .most = batch};
    explore_check(drove__spec_parse("hogbatch", &spec) == DROVE_OK, "a known strategy");
    run.sync = (drove_sync){.n_workers = n_workers};
    const drove_source_options opt = {.spec = &spec,
                                      .clock = &drove__clock_real,
                                      .n_workers = n_workers,
                                      .n_groups = are_devices ? n_workers : 1,
                                      .worker = worker,
                                      .n_rows = n_rows,
                                      .batch = batch,
                                      .per_epoch = n_rows / batch,
                                      .sync = &run.sync,
                                      .silence = silence,
                                      .say = say};
    run.source = (drove_source){.ops = &drove__source_assigned,
                                .clock = &drove__clock_real,
                                .n_workers = n_workers,
                                .silence = silence,
                                .say = say};
    drove_source *s = &run.source;
    explore_check(s->ops->init(s, &opt) == DROVE_OK, "made");
    run.n_times = calloc(n_rows, sizeof *run.n_times);
    s->ops->open(s, n_rows, UINT64_MAX);
    for (unsigned w = 0; w < n_workers; w++) explore_spawn(work, (void *)(uintptr_t)w);
    s->ops->coordinator->serve(s);
    explore_join_all();
    for (unsigned i = 0; i < n_rows; i++) explore_check(run.n_times[i] == 1, "each row once");
    uint64_t n_updates = 0;
    for (unsigned g = 0; g < drove__assigned_groups(s); g++) {
        drove_assigned_facts facts;
        drove__assigned_facts(s, g, &facts);
        n_updates += facts.coord.n_updates;
    }
    explore_check(n_updates == n_rows, "every update is counted");
    explore_check(atomic_load(&s->next) == n_rows, "the coordinator has heard of all");
}

static void two_threads(void)
{
    assigned(2, false, 2, 1);
}

/* Cells are used again. */
static void many_parts(void)
{
    assigned(2, false, 12, 1);
}

static void two_devices(void)
{
    assigned(2, true, 2, 1);
}

#define DEFAULT "the default order, stronger than this needs"
#define AGAIN   "for a cell that is used again while a thread is stopped: not reached"

static const explore_survivor survivors[] = {
    {"queue.c", "explore_queue"},
    {"wait.h", "explore_queue"},
    {"*: not seq_cst", DEFAULT},
    {"open: no acquire", DEFAULT},
    {"open: no release", DEFAULT},
    {"is_working: no acquire", DEFAULT},
    {"refill: no acquire", DEFAULT},
    {"refill: no release", DEFAULT},
    {"next: no acquire", DEFAULT},
    {"serve: no release", DEFAULT},
    {"report: no acquire", DEFAULT},
    {"has_parts: no acquire", "what it finds is looked at again"},
    {"take_part: no acquire", "the load before the exchange acquires too, and the reverse"},
    {"take_part: no release", "an exchange passes the release of open_assignment on"},
    {"open_assignment: no acquire", AGAIN},
    {"report: no release", AGAIN},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two threads of a group, two rows", .run = two_threads, .n_preemptions = 1},
        {.name = "two devices, two rows", .run = two_devices, .n_preemptions = 1},
        {.name = "two threads of a group, twelve rows", .run = many_parts, .n_samples = 1500},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
