/* Processes that park between two commands (src/loop/procs.c), as threads: a command reaches each
 * of them once, what one side writes the other reads, nobody is left asleep.  A fork starts a
 * thread in child_main; the parent's other calls of the system do nothing. */
#include "explorer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t fake_fork(void);
static pid_t fake_wait(pid_t id, int *status, int how);

#define fork()                   fake_fork()
#define waitpid(id, status, how) fake_wait(id, status, how)
#define _exit(status)            explore_end()
#define prctl(...)               0
#define signal(number, what)     0
#define fopen(path, mode)        NULL /* no look for other threads */
#define getppid()                getpid()

#include "loop/procs.c"

static struct {
    drove_loop *loop;
    unsigned n_forked;
    unsigned *n_obeyed; /* [n_workers] plain: each its worker's */
    unsigned order;     /* plain: the parent's, read by all */
} run;

static void be_child(void *worker)
{
    child_main(worker);
}

static pid_t fake_fork(void)
{
    explore_spawn(be_child, &run.loop->worker[run.n_forked]);
    return (pid_t)++run.n_forked;
}

/* Called when all are to end: waits for the thread. */
static pid_t fake_wait(pid_t id, int *status, int how)
{
    (void)status, (void)how;
    explore_join((int)id);
    return id;
}

/* In the place of src/loop/worker.c and src/loop/loop.c. */
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

void drove__loop_halt(drove_loop *loop)
{
    (void)loop;
}

static void commands(unsigned n_workers, unsigned n_commands)
{
    drove_plan plan = {.n_workers = n_workers, .n_here = n_workers};
    drove_worker *worker = aligned_alloc(64, n_workers * sizeof *worker);
    drove_loop loop = {.plan = &plan, .clock = &drove__clock_real, .worker = worker};
    drove_host host = {.ops = &drove__host_procs, .loop = &loop};
    run.loop = &loop;
    run.n_forked = 0;
    run.n_obeyed = calloc(n_workers, sizeof *run.n_obeyed);
    run.order = 0;
    loop.host = &host;
    for (unsigned w = 0; w < n_workers; w++) {
        memset(&worker[w], 0, sizeof worker[w]);
        worker[w].loop = &loop;
        worker[w].index = w;
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

static void one_worker(void)
{
    commands(1, 2);
}

static void two_workers(void)
{
    commands(2, 2);
}

static const explore_survivor survivors[] = {
    {"*: not seq_cst", "the default order, stronger than this needs"},
    {"start: no release", "the default order, stronger than this needs"},
    {"go: not atomic", "the parent alone adds to it"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "a worker, two commands", .run = one_worker, .n_preemptions = 2},
        {.name = "two workers, two commands", .run = two_workers, .n_samples = 5000},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
