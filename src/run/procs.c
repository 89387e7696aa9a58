/* run/procs.c - see procs.h.
 *
 * Commands: `generation` grows with each, and the children sleep on it; a child writes the
 * generation that it has carried out into `answered` and wakes the parent by `n_answers`.  Whoever
 * is killed leaves nothing locked here.
 *
 * The parent looks after its children while it waits for them: waitpid for those that have ended,
 * and each one's count of heartbeats for those that hang.  A strategy with a `leave` slot goes on
 * without a worker that is lost.  Any other cannot: the rest is woken by `stop` and has GRACE_NS to
 * park, and the run ends with one line that says who, why, and how to go on.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall numbers, strsignal */
#endif
#include "run/procs.h"

#include "base/clock.h"
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
    char why[WHY_SIZE];            /* "": it is not lost */
    uint64_t beats_seen, still_ns; /* heartbeats, and how long there has been none */
    _Atomic uint32_t answered;
} DROVE_ALIGNED_CACHE_LINE process;

struct drove_procs {
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
};

/* ---- what can be forked ---- */

static unsigned n_threads_here(void)
{
    unsigned n = 1;
    char line[128];
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL) return n;
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, "Threads: %u", &n) != 1) continue;
    fclose(file);
#if defined(__SANITIZE_THREAD__)
    n--; /* the sanitizer's own */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    n--;
#endif
#endif
    return n;
}

drove_status drove__procs_check(const drove_run *run)
{
    unsigned n_threads = n_threads_here();
    if (run->devices.n > 0 || run->crew.n_groups > 0 || run->n_loaders > 0)
        return drove__fail(DROVE_E_ARG,
                           "--workers %s: expected workers that load and compute batches of their "
                           "own on one core, found devices, a coordinator or --loaders",
                           run->opt.workers);
    if (n_threads <= 1) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM,
                       "--workers %s: expected a process of one thread, which alone lives on in "
                       "forked ones; found %u threads",
                       run->opt.workers, n_threads);
}

/* ---- in a child ---- */

static void answer(drove_procs *p, unsigned worker, uint32_t generation)
{
    /* Release: what the command wrote; pairs with is_busy. */
    atomic_store_explicit(&p->process[worker].answered, generation, memory_order_release);
    atomic_fetch_add_explicit(&p->n_answers, 1, memory_order_release);
    drove__futex_wake(&p->n_answers);
}

static drove_command next_command(drove_procs *p, uint32_t *seen)
{
    uint32_t now;
    /* Acquire: what the parent wrote before; pairs with drove__procs_go. */
    while ((now = atomic_load_explicit(&p->generation, memory_order_acquire)) == *seen)
        drove__futex_wait(&p->generation, now, UINT64_MAX);
    *seen = now;
    return (drove_command)atomic_load_explicit(&p->command, memory_order_relaxed);
}

/* The parent decides what a signal means; without a parent there is nothing to do. */
static void settle_in(const drove_procs *p, unsigned worker)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    char name[16];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != p->parent) _exit(1); /* it ended before the line above */
    for (size_t i = 0; i < DROVE_COUNT(ignored); i++) (void)signal(ignored[i], SIG_IGN);
    snprintf(name, sizeof name, "drove-%u", worker);
    (void)prctl(PR_SET_NAME, name);
}

/* _exit: the parent's buffers and exit handlers are the parent's. */
static _Noreturn void child_main(drove_worker *w)
{
    drove_procs *p = w->run->procs;
    uint32_t seen = 0;
    settle_in(p, w->index);
    drove_status status = drove__worker_setup(w);
    if (status != DROVE_OK) drove__worker_keep_error(w, status);
    answer(p, w->index, seen);
    while (drove__worker_obey(w, next_command(p, &seen))) answer(p, w->index, seen);
    _exit(0);
}

/* ---- losing one ---- */

static void describe_end(int status, char why[WHY_SIZE])
{
    if (WIFSIGNALED(status))
        snprintf(why, WHY_SIZE, "was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else snprintf(why, WHY_SIZE, "ended by itself with status %d", WEXITSTATUS(status));
}

/* How to go on where the run cannot. */
static void describe_saved(const drove_run *run, char *text, size_t size)
{
    if (run->opt.out[0] == '\0') snprintf(text, size, "nothing is saved without --out");
    else if (!run->save.is_there && run->opt.resume[0] != '\0')
        snprintf(text, size, "nothing has changed in %.500s", run->opt.resume);
    else if (!run->save.is_there) snprintf(text, size, "nothing was saved yet");
    else
        snprintf(text, size, "the state after %llu updates is saved: drove train --resume %.500s",
                 (unsigned long long)run->save.done_updates, run->opt.out);
}

/* The others are told to park, and are given some time for it. */
static void break_off(drove_run *run, unsigned worker, const char *why)
{
    drove_procs *p = run->procs;
    char host[HOST_SIZE] = "this host", saved[SAVED_SIZE], when[WHY_SIZE] = "before the run began";
    const drove_worker *w = &run->worker[worker];
    if (p->failure[0] != '\0') return; /* the first is the reason */
    (void)gethostname(host, sizeof host - 1);
    describe_saved(run, saved, sizeof saved);
    if (p->is_up)
        snprintf(when, sizeof when, "after %llu updates, and %s",
                 (unsigned long long)atomic_load(&w->trace.updates),
                 p->n_left == 0 ? "no worker is left" : "this strategy cannot go on without it");
    snprintf(p->failure, sizeof p->failure, "worker %u (process %d on %s) %s %s; %s", worker,
             (int)p->process[worker].id, host, why, when, saved);
    p->give_up_ns = drove__now_ns() + GRACE_NS;
    atomic_store(&run->halted, 1);
    drove__run_halt(run);
    if (p->n_left > 0 && run->sync->ops->stop != NULL) run->sync->ops->stop(run->sync);
}

/* A child has ended. */
static void lose(drove_run *run, unsigned worker, const char *why)
{
    drove_procs *p = run->procs;
    process *one = &p->process[worker];
    one->is_alive = false;
    snprintf(one->why, sizeof one->why, "%s", why);
    p->n_left--;
    if (!p->is_up || p->n_left == 0 || p->failure[0] != '\0' || run->sync->ops->leave == NULL) {
        break_off(run, worker, why);
        return;
    }
    run->sync->ops->leave(run->sync, worker);
    drove__batcher_leave(&run->batcher);
    drove__run_say(run,
                   "worker %u (process %d) %s after %llu updates: %s is lost, the run goes on with "
                   "%u of %u workers",
                   worker, (int)one->id, why,
                   (unsigned long long)atomic_load(&run->worker[worker].trace.updates),
                   run->sync->needs & DROVE_SYNC_SPREAD ? "its work since its last exchange"
                                                        : "the step that it was making",
                   p->n_left, run->n_workers);
}

static void kill_and_lose(drove_run *run, unsigned worker, const char *why)
{
    process *one = &run->procs->process[worker];
    (void)kill(one->id, SIGKILL);
    while (waitpid(one->id, NULL, 0) < 0 && errno == EINTR) continue;
    lose(run, worker, why);
}

/* ---- looking after them ---- */

static bool is_busy(const drove_procs *p, unsigned worker)
{
    const process *one = &p->process[worker];
    /* Acquire: pairs with answer. */
    return one->is_alive && atomic_load_explicit(&one->answered, memory_order_acquire) !=
                                atomic_load_explicit(&p->generation, memory_order_relaxed);
}

static void find_ended(drove_run *run)
{
    drove_procs *p = run->procs;
    for (unsigned i = 0; i < run->n_workers; i++) {
        int status = 0;
        char why[WHY_SIZE] = "has gone";
        if (!p->process[i].is_alive) continue;
        pid_t result = waitpid(p->process[i].id, &status, WNOHANG);
        if (result == 0 || (result < 0 && errno == EINTR)) continue;
        if (result > 0) describe_end(status, why);
        lose(run, i, why);
    }
}

/* 'R' running, 'S' sleeping, 'T' stopped ..., as in proc(5); 0: not known. */
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

/* How surely a process that does nothing is itself the reason: who sleeps may wait for another. */
static int suspicion(pid_t id)
{
    char state = state_of(id);
    return state == 'S' ? 0 : state == 'R' ? 1 : 2;
}

/* Before the run nobody waits for another, and there are no heartbeats: who computes or reads may
 * be busy with a large model. */
static unsigned find_hung_before(const drove_run *run, uint64_t limit_ns)
{
    const drove_procs *p = run->procs;
    for (unsigned i = 0; i < run->n_workers; i++) {
        const process *one = &p->process[i];
        if (!is_busy(p, i) || one->still_ns < limit_ns) continue;
        char state = state_of(one->id);
        if (state == 'T' || state == 't') return i;
        if (state == 'S' && one->still_ns >= MOST_WAITS * limit_ns) return i;
    }
    return run->n_workers;
}

/* The worker that hangs, or n_workers: nobody.  Of those without a heartbeat for `limit_ns` the
 * most suspicious one; if all of them sleep, while others go on each may be waiting for its turn,
 * and while nobody goes on the first that fell silent is the one that the others wait for. */
static unsigned find_hung(const drove_run *run, uint64_t limit_ns)
{
    const drove_procs *p = run->procs;
    unsigned found = run->n_workers;
    int most = 0;
    bool all_still = true;
    for (unsigned i = 0; i < run->n_workers; i++) {
        const process *one = &p->process[i];
        if (!is_busy(p, i)) continue;
        if (one->still_ns < limit_ns) all_still = false;
        else if (suspicion(one->id) > most) most = suspicion(one->id), found = i;
    }
    if (most > 0) return found;
    uint64_t longest = all_still ? limit_ns - 1 : limit_ns * run->n_workers;
    for (unsigned i = 0; i < run->n_workers; i++) {
        if (!is_busy(p, i) || p->process[i].still_ns <= longest) continue;
        longest = p->process[i].still_ns;
        found = i;
    }
    return found;
}

static void find_silent(drove_run *run, uint64_t passed_ns)
{
    drove_procs *p = run->procs;
    char why[WHY_SIZE];
    double timeout_s = run->opt.timeout;
    for (unsigned i = 0; i < run->n_workers; i++) {
        process *one = &p->process[i];
        uint64_t beats = atomic_load_explicit(&run->worker[i].beats, memory_order_relaxed);
        bool is_still = is_busy(p, i) && beats == one->beats_seen;
        one->still_ns = is_still ? one->still_ns + passed_ns : 0;
        one->beats_seen = beats;
    }
    uint64_t limit_ns = (uint64_t)(timeout_s * 1e9);
    unsigned hung = p->is_up ? find_hung(run, limit_ns) : find_hung_before(run, limit_ns);
    if (hung == run->n_workers) return;
    snprintf(why, sizeof why, "did nothing for %g s and was ended",
             timeout_s * (double)(p->process[hung].still_ns / limit_ns));
    kill_and_lose(run, hung, why);
    for (unsigned i = 0; i < run->n_workers; i++) p->process[i].still_ns = 0;
}

/* Those that have not parked after all that time. */
static void end_the_rest(drove_run *run)
{
    for (unsigned i = 0; i < run->n_workers; i++)
        if (is_busy(run->procs, i)) kill_and_lose(run, i, "did not park and was ended");
}

static void watch(drove_run *run, uint64_t now)
{
    drove_procs *p = run->procs;
    uint64_t passed_ns = now - p->watched_ns;
    if (passed_ns < WATCH_NS) return;
    p->watched_ns = now;
    find_ended(run);
    if (p->give_up_ns != 0 && now >= p->give_up_ns) end_the_rest(run);
    else if (p->give_up_ns == 0)
        find_silent(run, passed_ns < MOST_TICK_NS ? passed_ns : MOST_TICK_NS);
}

/* ---- for the gang ---- */

void drove__procs_go(drove_run *run, drove_command command)
{
    drove_procs *p = run->procs;
    atomic_store_explicit(&p->command, (int)command, memory_order_relaxed);
    /* Release: all that the parent has written; pairs with next_command. */
    atomic_fetch_add_explicit(&p->generation, 1, memory_order_release);
    drove__futex_wake(&p->generation);
    p->watched_ns = drove__now_ns();
}

bool drove__procs_wait(drove_run *run, uint64_t until_ns)
{
    drove_procs *p = run->procs;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&p->n_answers, memory_order_acquire);
        unsigned n_busy = 0;
        for (unsigned i = 0; i < run->n_workers; i++) n_busy += is_busy(p, i);
        if (n_busy == 0) return true;
        uint64_t now = drove__now_ns();
        if (now >= until_ns) return false;
        watch(run, now);
        uint64_t look_ns = p->watched_ns + WATCH_NS;
        drove__futex_wait(&p->n_answers, seen, look_ns < until_ns ? look_ns : until_ns);
    }
}

drove_status drove__procs_status(const drove_run *run)
{
    if (run->procs->failure[0] == '\0') return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM, "%s", run->procs->failure);
}

drove_status drove__procs_create(drove_run *run)
{
    drove_procs *p = run->procs = drove__alloc(1, sizeof *p);
    if (p != NULL) p->process = drove__alloc(run->n_workers, sizeof *p->process);
    if (p == NULL || p->process == NULL)
        return drove__fail_nomem("processes", run->n_workers * sizeof *p->process);
    return DROVE_OK;
}

drove_status drove__procs_start(drove_run *run)
{
    drove_procs *p = run->procs;
    p->parent = getpid();
    p->watched_ns = drove__now_ns();
    for (unsigned i = 0; i < run->n_workers; i++) {
        atomic_store(&p->process[i].answered, UINT32_MAX); /* none yet */
        pid_t id = fork();
        if (id == 0) child_main(&run->worker[i]);
        if (id < 0)
            return drove__fail_errno(DROVE_E_SYSTEM, errno, "cannot start process %u of %u", i + 1,
                                     run->n_workers);
        p->process[i].id = id;
        p->process[i].is_alive = true;
        p->n_left++;
    }
    (void)drove__procs_wait(run, UINT64_MAX);
    p->is_up = p->failure[0] == '\0';
    return DROVE_OK;
}

void drove__procs_stop(drove_run *run)
{
    drove_procs *p = run->procs;
    const struct timespec moment = {.tv_nsec = 1000000};
    uint64_t end_ns = drove__now_ns() + GRACE_NS;
    drove__procs_go(run, DROVE_DO_QUIT);
    for (unsigned i = 0; i < run->n_workers; i++) {
        process *one = &p->process[i];
        drove_worker *w = &run->worker[i];
        while (one->is_alive && waitpid(one->id, NULL, WNOHANG) == 0) {
            if (drove__now_ns() >= end_ns) (void)kill(one->id, SIGKILL);
            nanosleep(&moment, NULL);
        }
        one->is_alive = false;
        w->engine = NULL; /* they were in the child's memory */
        w->row = NULL;
    }
}

void drove__procs_destroy(drove_run *run)
{
    if (run->procs != NULL) drove__free(run->procs->process);
    drove__free(run->procs);
    run->procs = NULL;
}

unsigned drove__procs_n_left(const drove_run *run)
{
    return run->procs != NULL ? run->procs->n_left : run->n_workers;
}

int drove__procs_id(const drove_run *run, unsigned worker)
{
    return (int)run->procs->process[worker].id;
}

const char *drove__procs_lost(const drove_run *run, unsigned worker)
{
    const char *why = run->procs->process[worker].why;
    return why[0] != '\0' ? why : NULL;
}

unsigned drove__procs_first(const drove_run *run)
{
    if (run->ranks.n > 1) return run->ranks.rank; /* each for itself: they come to the same */
    unsigned i = 0;
    if (run->procs == NULL) return 0;
    while (i < run->n_workers && !run->procs->process[i].is_alive) i++;
    return i;
}
