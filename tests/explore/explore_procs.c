/* Processes that park between two commands (src/loop/procs.c), as threads: a command reaches each
 * of them once, what one side writes the other reads, nobody is left asleep; and one that is killed
 * anywhere, or that hangs, is lost alone, or ends the run.  A fork starts a thread in child_main;
 * what the parent asks of the system the explorer answers. */
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
static int fake_kill(pid_t id);
static FILE *fake_open(const char *path);

#define fork()                   fake_fork()
#define waitpid(id, status, how) fake_wait(id, status, how)
#define kill(id, number)         fake_kill(id)
#define _exit(status)            explore_end()
#define prctl(...)               0
#define signal(number, what)     0
#define fopen(path, mode)        fake_open(path) /* no look for other threads */
#define getppid()                getpid()

#include "loop/procs.c"

enum { MOST_WORKERS = 2, NOBODY = MOST_WORKERS };

static struct {
    drove_loop *loop;
    unsigned n_forked;
    unsigned *n_obeyed;      /* [n_workers] plain: each its worker's */
    unsigned order;          /* plain: the parent's, read by all */
    bool is_ending, starves; /* worker 1 is ready to run for a second, without a processor */
    unsigned hangs, n_left_strategy,
        n_left_source; /* a worker that never obeys; calls of `leave` */
    unsigned n_stops, n_said;
} run;

static void be_child(void *worker)
{
    child_main(worker);
}

static pid_t fake_fork(void)
{
    explore_spawn(be_child, &run.loop->worker[run.n_forked]);
    explore_may_die((int)++run.n_forked);
    return (pid_t)run.n_forked;
}

/* Of a process that was killed, or at the end, where the parent would look every millisecond, of
 * one that is waited for. */
static pid_t fake_wait(pid_t id, int *status, int how)
{
    if (!run.is_ending && how == WNOHANG && (!explore_has_ended((int)id) || explore_leaves_out()))
        return 0;
    explore_join((int)id);
    if (status != NULL) *status = explore_is_dead((int)id) ? SIGKILL : 0;
    return id;
}

static int fake_kill(pid_t id)
{
    if (!explore_leaves_out()) explore_kill((int)id);
    return 0;
}

/* Of a process that starves, how long it has waited for a processor. */
static FILE *fake_open(const char *path)
{
    static char text[64];
    if (!run.starves || strstr(path, "/schedstat") == NULL) return NULL;
    snprintf(text, sizeof text, "5 %llu 7\n", (unsigned long long)drove__now_ns());
    return fmemopen(text, strlen(text), "r");
}

/* In the place of src/loop/worker.c and src/loop/loop.c. */
drove_status drove__worker_setup(drove_worker *w)
{
    run.n_obeyed[w->index] = 0;
    return DROVE_OK;
}

bool drove__worker_obey(drove_worker *w, drove_command command)
{
    static _Atomic uint32_t never;
    if (command == DROVE_DO_QUIT) return false;
    while (w->index == run.hangs) drove__futex_wait(&never, 0, UINT64_MAX);
    if (run.starves && w->index == 1)
        drove__clock_real.sleep_until(NULL, drove__now_ns() + 1000000000);
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

/* In the place of a strategy, a source and the run. */
static void leave_strategy(drove_sync *s, unsigned worker)
{
    (void)s;
    explore_check(explore_is_dead((int)worker + 1), "who leaves does nothing more");
    run.n_left_strategy++;
}

static void leave_source(drove_source *s, unsigned worker)
{
    (void)s, (void)worker;
    run.n_left_source++;
}

static void stop_strategy(drove_sync *s)
{
    (void)s;
    run.n_stops++;
}

static void say(void *context, const char *line)
{
    (void)context;
    explore_check(strstr(line, "is lost, the run goes on with 1 of 2") != NULL, "what is said");
    run.n_said++;
}

static void saved(void *context, char *text, size_t size)
{
    (void)context;
    snprintf(text, size, "nothing was saved");
}

static const drove_sync_ops goes_on = {.name = "goes on",
                                       .leave = leave_strategy,
                                       .stop = stop_strategy};
static const drove_sync_ops ends = {.name = "ends", .stop = stop_strategy};
static const drove_source_ops source_ops = {.name = "source", .leave = leave_source};

/* What became of the run, when n_lost processes are lost. */
static void check_losses(const drove_host *host, unsigned n_workers, bool may_go_on)
{
    unsigned n_lost = n_workers - host->ops->n_left(host);
    bool fails = n_lost > 0 && (!may_go_on || n_lost == n_workers);
    bool is_up = ((const procs *)host->impl)->is_up;
    explore_check((host->ops->status(host) == DROVE_OK) == !(fails || (n_lost > 0 && !is_up)),
                  "the run fails where it must");
    if (!may_go_on || !is_up) return;
    explore_check(run.n_said == n_lost - fails && run.n_left_strategy == run.n_said &&
                      run.n_left_source == run.n_said,
                  "each is taken leave of once");
}

static bool is_lost(const drove_host *host, unsigned worker)
{
    return host->ops->lost(host, worker) != NULL;
}

static void obey(drove_host *host, unsigned n_workers, unsigned n_commands)
{
    for (unsigned i = 0; i < n_commands && host->ops->status(host) == DROVE_OK; i++) {
        run.order++;
        host->ops->go(host, DROVE_DO_SCORE);
        explore_check(host->ops->wait(host, UINT64_MAX), "parked");
        for (unsigned w = 0; w < n_workers; w++)
            explore_check(is_lost(host, w) || run.n_obeyed[w] == run.order,
                          "every worker has obeyed");
    }
}

/* A worker may be killed at its start, in a command, and between two. */
static void commands_of(unsigned n_workers, unsigned n_commands, const drove_sync_ops *ops,
                        unsigned hangs)
{
    drove_plan plan = {.n_workers = n_workers, .n_here = n_workers};
    drove_worker *worker = aligned_alloc(64, n_workers * sizeof *worker);
    drove_sync sync = {.ops = ops};
    drove_source source = {.ops = &source_ops};
    drove_loop loop = {.plan = &plan, .clock = &drove__clock_real, .worker = worker};
    drove_host host = {.ops = &drove__host_procs, .loop = &loop};
    memset(&run, 0, sizeof run);
    run.loop = &loop;
    run.hangs = hangs;
    run.starves = hangs > NOBODY;
    run.n_obeyed = calloc(n_workers, sizeof *run.n_obeyed);
    loop.host = &host;
    loop.sync = &sync;
    loop.source = &source;
    host.opt = (drove_host_options){.timeout_s = hangs == NOBODY ? 1e6
                                                 : run.starves   ? 0.6
                                                                 : 0.2,
                                    .say = say,
                                    .saved = saved};
    for (unsigned w = 0; w < n_workers; w++) {
        memset(&worker[w], 0, sizeof worker[w]);
        worker[w].loop = &loop;
        worker[w].index = w;
    }
    explore_check(host.ops->init(&host) == DROVE_OK, "made");
    if (host.ops->start(&host) == DROVE_OK) obey(&host, n_workers, n_commands);
    check_losses(&host, n_workers, ops == &goes_on);
    run.is_ending = true;
    explore_check(host.ops->stop(&host), "all have ended");
    host.ops->fini(&host);
}

static void one_worker(void)
{
    commands_of(1, 2, &ends, NOBODY);
}

static void two_workers(void)
{
    commands_of(2, 2, &ends, NOBODY);
}

static void two_go_on(void)
{
    commands_of(2, 2, &goes_on, NOBODY);
}

static void one_hangs(void)
{
    commands_of(2, 2, &goes_on, 1);
    explore_check(run.n_said == 1, "the one that hangs is lost");
}

static void one_starves(void)
{
    commands_of(2, 1, &goes_on, 2 * MOST_WORKERS);
    explore_check(run.n_said == 0, "who waits for a processor does not hang");
}

static const explore_survivor survivors[] = {
    {"*: not seq_cst", "the default order, stronger than this needs"},
    {"start: no release", "the default order, stronger than this needs"},
    {"go: not atomic", "the parent alone adds to it"},
    {"break_off: no acquire", "a count for a message"},
    {"break_off: no release", "the number alone is passed on"},
    {"lose: no acquire", "a count for a message"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "a worker, two commands",
         .run = one_worker,
         .n_preemptions = 2,
         .is_undisturbed = true},
        {.name = "a worker, two commands, at random", .run = one_worker, .n_samples = 5000},
        {.name = "two workers, two commands", .run = two_workers, .n_samples = 5000},
        {.name = "a worker that is killed",
         .run = one_worker,
         .n_preemptions = 1,
         .n_kills = 1,
         .needs_time = true,
         .is_undisturbed = true},
        {.name = "one of two is killed, the other goes on",
         .run = two_go_on,
         .n_samples = 5000,
         .n_kills = 1,
         .needs_time = true},
        {.name = "both are killed",
         .run = two_go_on,
         .n_samples = 5000,
         .n_kills = 2,
         .needs_time = true},
        {.name = "one of two is killed, the run ends",
         .run = two_workers,
         .n_samples = 5000,
         .n_kills = 1,
         .needs_time = true},
        {.name = "one of two hangs", .run = one_hangs, .n_samples = 5000, .needs_time = true},
        {.name = "one of two starves", .run = one_starves, .n_samples = 2000, .needs_time = true},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
