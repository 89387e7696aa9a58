/* Workers that park between two commands (src/loop/threads.c): a command reaches every worker once,
 * what one side writes the other reads, nobody is left asleep. */
#include "explorer.h"

#include "loop/host.h"
#include "loop/worker.h"

#include <stdlib.h>

static struct {
    unsigned *n_obeyed; /* [n_workers] plain: each its worker's */
    unsigned order;     /* plain: the controlling thread's, read by all */
    unsigned n_seen_commands;
} run;

/* In the place of src/loop/worker.c and the clock. */
drove_status drove__worker_setup(drove_worker *w)
{
    run.n_obeyed[w->index] = 0;
    return DROVE_OK;
}
bool drove__worker_obey(drove_worker *w, drove_command command)
{
    if (command == DROVE_DO_QUIT) return false;
    run.n_obeyed[w->index]++;
    explore_check(run.n_obeyed[w->index] == run.order, "what was written before is seen");
    return true;
}
void drove__worker_leave(drove_worker *w)
{
    (void)w;
}
void drove__worker_keep_error(drove_worker *w, drove_status status)
{
    w->status = status;
}
void drove__worker_fail(drove_worker *w, drove_status status)
{
    w->status = status;
}

static void commands(unsigned n_workers, unsigned n_commands)
{
    drove_plan plan = {.n_workers = n_workers, .n_here = n_workers};
    drove_plan_worker *each = calloc(n_workers, sizeof *each);
    drove_worker *worker = aligned_alloc(64, n_workers * sizeof *worker);
    drove_loop loop = {.plan = &plan, .clock = &drove__clock_real, .worker = worker};
    drove_host host = {.ops = &drove__host_threads, .loop = &loop};
    run.n_obeyed = calloc(n_workers, sizeof *run.n_obeyed);
    run.order = 0;
    loop.host = &host;
    for (unsigned w = 0; w < n_workers; w++) {
        __builtin_memset(&worker[w], 0, sizeof worker[w]);
        worker[w].loop = &loop;
        worker[w].index = w;
        worker[w].plan = &each[w];
    }
    explore_check(host.ops->init(&host) == DROVE_OK, "made");
    explore_check(host.ops->start(&host) == DROVE_OK, "started");
    for (unsigned i = 0; i < n_commands; i++) {
        run.order++;
        host.ops->go(&host, DROVE_DO_SCORE);
        explore_check(host.ops->wait(&host, UINT64_MAX), "parked");
        for (unsigned w = 0; w < n_workers; w++)
            explore_check(run.n_obeyed[w] == run.order, "every worker has obeyed");
    }
    explore_check(host.ops->stop(&host), "all have ended");
    host.ops->fini(&host);
}

static void two_workers(void)
{
    commands(2, 2);
}
static void three_workers(void)
{
    commands(3, 1);
}

static const explore_survivor survivors[] = {
    {"*: not seq_cst", "the default order, stronger than this needs"},
    {"*: no acquire", "the default order, stronger than this needs"},
    {"*: no release", "the default order, stronger than this needs"},
    {"worker_main: no lock", "only a worker that is given up may read something else here"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "two workers, two commands",
         .run = two_workers,
         .n_preemptions = 2,
         .is_undisturbed = true},
        {.name = "two workers, two commands, at random", .run = two_workers, .n_samples = 5000},
        {.name = "three workers, a command",
         .run = three_workers,
         .n_preemptions = 1,
         .is_undisturbed = true},
        {.name = "three workers, a command, at random", .run = three_workers, .n_samples = 5000},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
