/* loop/procs.c - workers that are processes: forked from the controlling one when all that they
 * share is there, and watched, so that one that crashes, is killed or hangs takes nobody with it.
 *
 * Shared things lie in memory that was asked for while memory was shared (base/mem.h).  All else
 * is as it was at the fork, and each process's own from then on: the child makes its engine.
 *
 * Commands: `generation` grows with each, and the children sleep on it; a child writes the
 * generation that it has carried out into `answered` and wakes the parent by `n_answers`.  A killed
 * child leaves nothing locked here.
 *
 * The parent looks after its children while it waits for them: waitpid for those that have ended,
 * and each one's heartbeat for those that hang.  A strategy with a `leave` slot goes on without a
 * worker that is lost.  Any other cannot: the rest is woken by `stop` and has GRACE_NS to park, and
 * the run ends with one line that says who, why, and how to go on.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall numbers, strsignal */
#endif
#include "loop/host.h"
#include "loop/worker.h"

#include "base/alone.h"
#include "base/futex.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t WATCH_NS = 50000000; /* between two looks after the children */
static const uint64_t MOST_TICK_NS =
    500000000; /* a look counts as no more: we may have been stopped */
static const uint64_t GRACE_NS = 5000000000; /* to park, once a run is ending */
static const unsigned MOST_WAITS = 10;       /* timeouts for one that sleeps before the run */

enum { HOST_SIZE = 64, WHY_SIZE = 96, SAVED_SIZE = 640 };

typedef struct process { /* cache line padded: `answered` is its child's, the rest the parent's */
    pid_t id;
    bool is_alive;
    char why[WHY_SIZE];           /* "": it is not lost */
    uint64_t heartbeat, still_ns; /* the last one seen, and for how long it was the last */
    uint64_t ran_ns, delayed_ns;  /* by the last look; is_read: they are known */
    bool is_read;
    _Atomic uint32_t answered;
} DROVE_ALIGNED_CACHE_LINE process;

typedef struct procs {
    _Atomic uint32_t generation DROVE_ALIGNED_CACHE_LINE; /* of the last command */
    _Atomic int command;                                  /* written before it */
    _Atomic uint32_t n_answers DROVE_ALIGNED_CACHE_LINE;
    /* the parent's */
    process *process; /* [n_workers] */
    pid_t parent;
    unsigned n_left;
    bool is_up;          /* all have made what they compute with */
    uint64_t watched_ns; /* last look */
    uint64_t give_up_ns; /* 0, or when those that still do not park are killed */
    char failure[DROVE_ERROR_TEXT_SIZE];
    struct sigaction ended; /* what the program does at SIGCHLD, if it was changed */
    bool has_changed;
} procs;

/* ---- in a child ---- */

static void answer(procs *p, unsigned worker, uint32_t generation)
{
    /* Release: what the command wrote; pairs with is_busy. */
    atomic_store_explicit(&p->process[worker].answered, generation, memory_order_release);
    atomic_fetch_add_explicit(&p->n_answers, 1, memory_order_release);
    drove__futex_wake(&p->n_answers);
}

static drove_command next_command(procs *p, uint32_t *seen)
{
    uint32_t now;
    /* Acquire: what the parent wrote before; pairs with go. */
    while ((now = atomic_load_explicit(&p->generation, memory_order_acquire)) == *seen)
        drove__futex_wait(&p->generation, now, UINT64_MAX);
    *seen = now;
    return (drove_command)atomic_load_explicit(&p->command, memory_order_relaxed);
}

/* _exit: the parent's buffers and exit handlers are the parent's. */
static _Noreturn void child_main(drove_worker *w)
{
    procs *p = w->loop->host->impl;
    uint32_t seen = 0;

    /* The parent decides what a signal means; without a parent there is nothing to do. */
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    char name[16];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != p->parent) _exit(1); /* it ended before the line above */
    for (size_t i = 0; i < DROVE_COUNT(ignored); i++) (void)signal(ignored[i], SIG_IGN);
    snprintf(name, sizeof name, "drove-%u", w->index);
    (void)prctl(PR_SET_NAME, name);
    drove_status status = drove__worker_setup(w);
    if (status != DROVE_OK) drove__worker_keep_error(w, status);
    answer(p, w->index, seen);
    while (drove__worker_obey(w, next_command(p, &seen))) answer(p, w->index, seen);
    _exit(0);
}

/* ---- losing one ---- */

/* The others are told to park, and are given some time for it. */
static void break_off(drove_host *h, unsigned worker, const char *why)
{
    procs *p = h->impl;
    char host[HOST_SIZE] = "this host", saved[SAVED_SIZE], when[WHY_SIZE] = "before the run began";
    const drove_worker *w = &h->loop->worker[worker];
    if (p->failure[0] != '\0') return; /* the first is the reason */
    (void)gethostname(host, sizeof host - 1);
    h->opt.saved(h->opt.context, saved, sizeof saved);
    if (p->is_up)
        snprintf(when, sizeof when, "after %llu updates, and %s",
                 (unsigned long long)atomic_load(&w->trace.updates),
                 p->n_left == 0 ? "no worker is left" : "this strategy cannot go on without it");
    snprintf(p->failure, sizeof p->failure, "worker %u (process %d on %s) %s %s; %s", worker,
             (int)p->process[worker].id, host, why, when, saved);
    p->give_up_ns = drove__clock_now(h->loop->clock) + GRACE_NS;
    atomic_store(&h->loop->ending.halted, 1);
    drove__loop_halt(h->loop);
    if (p->n_left > 0 && h->loop->sync->ops->stop != NULL) h->loop->sync->ops->stop(h->loop->sync);
}

/* A child has ended. */
static void lose(drove_host *h, unsigned worker, const char *why)
{
    procs *p = h->impl;
    process *one = &p->process[worker];
    drove_source *from = h->loop->source;
    one->is_alive = false;
    snprintf(one->why, sizeof one->why, "%s", why);
    p->n_left--;
    if (!p->is_up || p->n_left == 0 || p->failure[0] != '\0' || h->loop->sync->ops->leave == NULL) {
        break_off(h, worker, why);
        return;
    }
    h->loop->sync->ops->leave(h->loop->sync, worker);
    if (from->ops->leave != NULL) from->ops->leave(from, worker);
    char text[512];
    snprintf(text, sizeof text,
             "worker %u (process %d) %s after %llu updates: %s is lost, the run goes on with %u of "
             "%u workers",
             worker, (int)p->process[worker].id, why,
             (unsigned long long)atomic_load(&h->loop->worker[worker].trace.updates),
             h->loop->sync->needs & DROVE_SYNC_SPREAD ? "its work since its last exchange"
                                                      : "the step that it was making",
             p->n_left, h->loop->plan->n_workers);
    h->opt.say(h->opt.context, text);
}

static void kill_and_lose(drove_host *h, unsigned worker, const char *why)
{
    process *one = &((procs *)h->impl)->process[worker];
    (void)kill(one->id, SIGKILL);
    while (waitpid(one->id, NULL, 0) < 0 && errno == EINTR) continue;
    lose(h, worker, why);
}

/* ---- looking after them ---- */

static bool is_busy(const procs *p, unsigned worker)
{
    const process *one = &p->process[worker];
    /* Acquire: pairs with answer. */
    return one->is_alive && atomic_load_explicit(&one->answered, memory_order_acquire) !=
                                atomic_load_explicit(&p->generation, memory_order_relaxed);
}

/* 'R' running, 'S' sleeping, 'T' stopped ..., as in proc(5); 0: not known, /proc is hidden. */
static char state_of(pid_t id)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)id);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *end = strrchr(text, ')'); /* of the name */
    return end != NULL && end[1] == ' ' ? end[2] : 0;
}

/* How long a process has run and, ready to run, waited for a processor; false: not known. */
static bool read_times(pid_t id, uint64_t *ran_ns, uint64_t *delayed_ns)
{
    char path[64];
    unsigned long long ran = 0, delayed = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)id);
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    bool is_read = fscanf(file, "%llu %llu", &ran, &delayed) == 2;
    fclose(file);
    *ran_ns = ran;
    *delayed_ns = delayed;
    return is_read;
}

/* The part of passed_ns in which the process could have had a heartbeat: on a busy
 * machine it may wait for a processor for seconds.  The system adds a wait when it is over. */
static uint64_t counted(process *one, uint64_t passed_ns)
{
    uint64_t ran_ns = one->ran_ns, delayed_ns = one->delayed_ns;
    bool was_read = one->is_read;
    one->is_read = read_times(one->id, &one->ran_ns, &one->delayed_ns);
    if (!was_read || !one->is_read) return passed_ns;
    uint64_t waited_ns = one->delayed_ns - delayed_ns;
    if (one->ran_ns == ran_ns && state_of(one->id) == 'R') return 0; /* it waits at this moment */
    return waited_ns < passed_ns ? passed_ns - waited_ns : 0;
}

/* How surely a process that does nothing is itself the reason: who sleeps may wait for another. */
static int suspicion(pid_t id)
{
    char state = state_of(id);
    return state == 'S' || state == 0 ? 0 : state == 'R' ? 1 : 2;
}

/* Before the run nobody waits for another, and there are no heartbeats: who computes or reads may
 * be busy with a large model. */
static unsigned find_hung_before(const drove_host *h, uint64_t limit_ns)
{
    const procs *p = h->impl;
    for (unsigned i = 0; i < h->loop->plan->n_workers; i++) {
        const process *one = &p->process[i];
        if (!is_busy(p, i) || one->still_ns < limit_ns) continue;
        char state = state_of(one->id);
        if (state == 'T' || state == 't') return i;
        if ((state == 'S' || state == 0) && one->still_ns >= MOST_WAITS * limit_ns) return i;
    }
    return h->loop->plan->n_workers;
}

/* The worker that hangs, or n_workers: nobody.  Of those without a heartbeat for `limit_ns` the
 * most suspicious one; if all of them sleep, while others go on each may be waiting for its turn,
 * and while nobody goes on the first that fell silent is the one that the others wait for. */
static unsigned find_hung(const drove_host *h, uint64_t limit_ns)
{
    const procs *p = h->impl;
    unsigned found = h->loop->plan->n_workers;
    int most = 0;
    bool all_still = true;
    for (unsigned i = 0; i < h->loop->plan->n_workers; i++) {
        const process *one = &p->process[i];
        if (!is_busy(p, i)) continue;
        if (one->still_ns < limit_ns) all_still = false;
        else if (suspicion(one->id) > most) most = suspicion(one->id), found = i;
    }
    if (most > 0) return found;
    uint64_t longest = all_still ? limit_ns - 1 : limit_ns * h->loop->plan->n_workers;
    for (unsigned i = 0; i < h->loop->plan->n_workers; i++) {
        if (!is_busy(p, i) || p->process[i].still_ns <= longest) continue;
        longest = p->process[i].still_ns;
        found = i;
    }
    return found;
}

static void find_silent(drove_host *h, uint64_t passed_ns)
{
    procs *p = h->impl;
    char why[WHY_SIZE];
    double timeout_s = h->opt.timeout_s;
    for (unsigned i = 0; i < h->loop->plan->n_workers; i++) {
        process *one = &p->process[i];
        uint64_t heartbeat =
            atomic_load_explicit(&h->loop->worker[i].health.heartbeat, memory_order_relaxed);
        bool is_still = is_busy(p, i) && heartbeat == one->heartbeat;
        one->still_ns = is_still ? one->still_ns + counted(one, passed_ns) : 0;
        if (!is_still) one->is_read = false;
        one->heartbeat = heartbeat;
    }
    uint64_t limit_ns = (uint64_t)(timeout_s * 1e9);
    unsigned hung = p->is_up ? find_hung(h, limit_ns) : find_hung_before(h, limit_ns);
    if (hung == h->loop->plan->n_workers) return;
    snprintf(why, sizeof why, "did nothing for %g s and was ended",
             timeout_s * (double)(p->process[hung].still_ns / limit_ns));
    kill_and_lose(h, hung, why);
    for (unsigned i = 0; i < h->loop->plan->n_workers; i++) p->process[i].still_ns = 0;
}

static void watch(drove_host *h, uint64_t now)
{
    procs *p = h->impl;
    uint64_t passed_ns = now - p->watched_ns;
    if (passed_ns < WATCH_NS) return;
    p->watched_ns = now;
    for (unsigned i = 0; i < h->loop->plan->n_workers; i++) {
        int status = 0;
        char why[WHY_SIZE] = "has gone";
        if (!p->process[i].is_alive) continue;
        pid_t result = waitpid(p->process[i].id, &status, WNOHANG);
        if (result == 0 || (result < 0 && errno == EINTR)) continue;
        if (result > 0 && WIFSIGNALED(status))
            snprintf(why, sizeof why, "was ended by signal %d (%s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
        else if (result > 0)
            snprintf(why, sizeof why, "ended by itself with status %d", WEXITSTATUS(status));
        lose(h, i, why);
    }
    if (p->give_up_ns != 0 && now >= p->give_up_ns) {
        /* Those that have not parked after all that time. */
        for (unsigned i = 0; i < h->loop->plan->n_workers; i++)
            if (is_busy(h->impl, i)) kill_and_lose(h, i, "did not park and was ended");
    } else if (p->give_up_ns == 0)
        find_silent(h, passed_ns < MOST_TICK_NS ? passed_ns : MOST_TICK_NS);
}

/* ---- the table ---- */

static drove_status init(drove_host *h)
{
    const unsigned n = h->loop->plan->n_workers;
    procs *p = h->impl = drove__alloc(1, sizeof *p);
    if (p != NULL) p->process = drove__alloc(n, sizeof *p->process);
    return p != NULL && p->process != NULL ? DROVE_OK
                                           : drove__fail_nomem("processes", n * sizeof *p->process);
}

static void go(drove_host *h, drove_command command)
{
    procs *p = h->impl;
    atomic_store_explicit(&p->command, (int)command, memory_order_relaxed);
    /* Release: all that the parent has written; pairs with next_command. */
    atomic_fetch_add_explicit(&p->generation, 1, memory_order_release);
    drove__futex_wake(&p->generation);
    p->watched_ns = drove__clock_now(h->loop->clock);
}

static bool wait_parked(drove_host *h, uint64_t until_ns)
{
    procs *p = h->impl;
    const drove_clock *clock = h->loop->clock;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&p->n_answers, memory_order_acquire);
        unsigned n_busy = 0;
        for (unsigned i = 0; i < h->loop->plan->n_workers; i++) n_busy += is_busy(p, i);
        if (n_busy == 0) return true;
        uint64_t now = drove__clock_now(clock);
        if (now >= until_ns) return false;
        watch(h, now);
        uint64_t look_ns = p->watched_ns + WATCH_NS;
        clock->word_wait(clock->context, &p->n_answers, seen,
                         look_ns < until_ns ? look_ns : until_ns);
    }
}

static drove_status status(const drove_host *h)
{
    const procs *p = h->impl;
    if (p->failure[0] != '\0') return drove__fail(DROVE_E_SYSTEM, "%s", p->failure);
    for (unsigned i = 0; i < h->loop->plan->n_workers; i++) {
        const drove_worker *w = &h->loop->worker[i];
        if (w->status != DROVE_OK) return drove__fail(w->status, "%s", w->error);
    }
    return DROVE_OK;
}

/* Where SIGCHLD is ignored, nobody learns how a child has ended, and its number may be another's
 * by now.  It is not ignored while there are children. */
static void hear_ends(procs *p)
{
    if (sigaction(SIGCHLD, NULL, &p->ended) != 0) return;
    struct sigaction heard = p->ended;
    heard.sa_flags &= ~SA_NOCLDWAIT;
    if (heard.sa_handler == SIG_IGN) heard.sa_handler = SIG_DFL;
    p->has_changed =
        (heard.sa_flags != p->ended.sa_flags || heard.sa_handler != p->ended.sa_handler) &&
        sigaction(SIGCHLD, &heard, NULL) == 0;
}

static drove_status start(drove_host *h)
{
    procs *p = h->impl;
    const unsigned n = h->loop->plan->n_workers;

    DROVE_TRY(drove__process_is_alone("--workers procs"));
    hear_ends(p);
    p->parent = getpid();
    p->watched_ns = drove__clock_now(h->loop->clock);
    for (unsigned i = 0; i < n; i++) {
        atomic_store(&p->process[i].answered, UINT32_MAX); /* none yet */
        pid_t id = fork();
        if (id == 0) child_main(&h->loop->worker[i]);
        if (id < 0)
            return drove__fail_errno(DROVE_E_SYSTEM, errno, "cannot start process %u of %u", i + 1,
                                     n);
        p->process[i].id = id;
        p->process[i].is_alive = true;
        p->n_left++;
    }
    (void)wait_parked(h, UINT64_MAX);
    p->is_up = p->failure[0] == '\0';
    return status(h);
}

static unsigned n_left(const drove_host *h)
{
    return ((const procs *)h->impl)->n_left;
}

/* A process is killed instead. */
static void silence(drove_host *h, unsigned worker)
{
    (void)h;
    (void)worker;
}

static bool stop(drove_host *h)
{
    procs *p = h->impl;
    const drove_clock *clock = h->loop->clock;
    if (p == NULL || p->process == NULL) return true; /* what a failed init left: no child */
    uint64_t end_ns = drove__clock_now(clock) + GRACE_NS;
    go(h, DROVE_DO_QUIT);
    for (unsigned i = 0; i < h->loop->plan->n_workers; i++) {
        process *one = &p->process[i];
        drove_worker *w = &h->loop->worker[i];
        while (one->is_alive && waitpid(one->id, NULL, WNOHANG) == 0) {
            uint64_t now = drove__clock_now(clock);
            if (now >= end_ns) (void)kill(one->id, SIGKILL);
            clock->sleep_until(clock->context, now + 1000000);
        }
        one->is_alive = false;
        w->engine = NULL; /* they were in the child's memory */
        w->batches.row[0] = w->batches.row[1] = NULL;
        w->own_data = NULL;
        w->batches.loader = NULL;
    }
    return true;
}

static void fini(drove_host *h)
{
    procs *p = h->impl;
    if (p == NULL) return;
    if (p->has_changed) (void)sigaction(SIGCHLD, &p->ended, NULL);
    drove__free(p->process);
    drove__free(p);
}

static const char *lost(const drove_host *h, unsigned worker)
{
    const char *why = ((const procs *)h->impl)->process[worker].why;
    return why[0] != '\0' ? why : NULL;
}

static int process_id(const drove_host *h, unsigned worker)
{
    return (int)((const procs *)h->impl)->process[worker].id;
}

const drove_host_ops drove__host_procs = {
    .name = "procs",
    .help = "workers are processes that are forked from this one",
    .init = init,
    .start = start,
    .go = go,
    .wait = wait_parked,
    .status = status,
    .n_left = n_left,
    .silence = silence,
    .stop = stop,
    .fini = fini,
    .lost = lost,
    .process = process_id,
};
