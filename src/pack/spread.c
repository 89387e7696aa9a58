/* pack/spread.c - see spread.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strsignal */
#endif
#include "pack/spread.h"

#include "base/alone.h"
#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const long LOOK_NS = 5000000; /* between two looks after the processes */

typedef struct part {
    drove_table_work *work;
    void *context;
    unsigned index, n_parts, first_thread;
} part;

drove_status drove__spread_init(drove_spread *spread)
{
    if (spread->n_procs <= 1) return DROVE_OK;
    DROVE_TRY(drove__process_is_alone("--workers procs"));
    drove__memory_share_begin();
    spread->halt = drove__alloc(1, sizeof *spread->halt);
    drove__memory_share_end();
    return spread->halt != NULL ? DROVE_OK
                                : drove__fail_nomem("processes of a pack", sizeof *spread->halt);
}

void drove__spread_fini(drove_spread *spread)
{
    drove__free(spread->halt);
}

unsigned drove__spread_parts(const drove_spread *spread)
{
    if (spread->exchange.n > 1) return spread->exchange.n;
    if (spread->n_procs <= 1) return 1;
    return spread->n_procs < DROVE_SPREAD_MOST_UNITS ? spread->n_procs : DROVE_SPREAD_MOST_UNITS;
}

double drove__spread_waves(const drove_spread *spread, unsigned n)
{
    const unsigned most = DROVE_TABLE_THREADS_MOST;
    const unsigned n_threads = spread->n_threads < most ? spread->n_threads : most;
    const double waves = (double)n / (n_threads * drove__spread_parts(spread));
    return n > 0 && waves < 1.0 ? 1.0 : waves;
}

bool drove__spread_is_halted(const drove_spread *spread)
{
    /* relaxed: a wish, which carries nothing */
    return spread->halt != NULL && atomic_load_explicit(spread->halt, memory_order_relaxed);
}

/* ---- a part ---- */

static void do_item(void *context, size_t item, unsigned thread)
{
    const part *p = context;
    p->work(p->context, item * p->n_parts + p->index, thread + p->first_thread);
}

static void run_part(const drove_spread *s, part *p, unsigned n)
{
    if (n > p->index)
        drove__table_run(s->n_threads, (n - p->index + p->n_parts - 1) / p->n_parts, do_item, p);
}

static drove_status first_failure(const drove_spread_unit *unit, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (unit[i].status != DROVE_OK) return drove__fail(unit[i].status, "%s", unit[i].error);
    return DROVE_OK;
}

/* ---- ranks ---- */

typedef struct word {
    int32_t status;
    uint32_t is_set;
    char text[DROVE_ERROR_TEXT_SIZE];
} word;

drove_status drove__spread_agree(const drove_spread *spread, drove_status status, bool *is_any)
{
    const drove_pack_exchange *x = &spread->exchange;
    if (x->n <= 1) return status;
    word mine = {.status = (int32_t)status, .is_set = *is_any}, *all = calloc(x->n, sizeof *all);
    if (all == NULL) return drove__fail_nomem("messages of the ranks", x->n * sizeof *all);
    if (status != DROVE_OK) drove__error_copy(mine.text);
    drove_status done = x->gather(x->context, &mine, sizeof mine, all);
    for (unsigned i = 0; i < x->n && done == DROVE_OK; i++) {
        all[i].text[sizeof all[i].text - 1] = '\0';
        *is_any |= all[i].is_set != 0;
        if (all[i].status == DROVE_OK) continue;
        done = (drove_status)all[i].status;
        if (i == 0) drove__fail(done, "%s", all[i].text);
        else drove__fail(done, "rank %u: %s", i, all[i].text);
    }
    free(all);
    return done;
}

typedef struct result { /* followed by theta and output */
    double loss, epochs;
} result;

static size_t result_bytes(const drove_spread_unit *u)
{
    return sizeof(result) + (u->n_theta + u->n_output) * sizeof(float);
}

static void write_result(const drove_spread_unit *from, char *to)
{
    const drove_unit *u = from->unit;
    const result head = {.loss = u->loss, .epochs = u->epochs};
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, u->theta, from->n_theta * sizeof *u->theta);
    memcpy(to + sizeof head + from->n_theta * sizeof *u->theta, u->output,
           from->n_output * sizeof *u->output);
}

static void read_result(const char *from, drove_spread_unit *to)
{
    drove_unit *u = to->unit;
    result head;
    memcpy(&head, from, sizeof head);
    u->loss = head.loss;
    u->epochs = head.epochs;
    memcpy(u->theta, from + sizeof head, to->n_theta * sizeof *u->theta);
    memcpy(u->output, from + sizeof head + to->n_theta * sizeof *u->theta,
           to->n_output * sizeof *u->output);
}

static drove_status make_room(drove_spread_unit *u)
{
    *u->unit = (drove_unit){.theta = drove__alloc(u->n_theta, sizeof *u->unit->theta),
                            .output = drove__alloc(u->n_output, sizeof *u->unit->output)};
    if (u->unit->theta != NULL && u->unit->output != NULL) return DROVE_OK;
    drove__unit_fini(u->unit);
    return drove__fail_nomem("a member of the pack", (u->n_theta + u->n_output) * 4);
}

/* One unit of each rank at a time. */
static drove_status exchange_units(const drove_spread *s, drove_spread_unit *unit, unsigned n)
{
    const drove_pack_exchange *x = &s->exchange;
    size_t most = 0;
    bool is_any = false;
    drove_status status = first_failure(unit, n);
    for (unsigned i = 0; i < n; i++) {
        if (result_bytes(&unit[i]) > most) most = result_bytes(&unit[i]);
        if (i % x->n != x->rank && status == DROVE_OK) status = make_room(&unit[i]);
    }
    char *mine = drove__alloc(1, most), *all = drove__alloc(x->n, most);
    if (status == DROVE_OK && (mine == NULL || all == NULL))
        status = drove__fail_nomem("messages of the ranks", (x->n + 1) * most);
    status = drove__spread_agree(s, status, &is_any);
    for (unsigned first = 0; first < n && status == DROVE_OK; first += x->n) {
        size_t size_bytes = 0; /* of the largest */
        const unsigned n_here = n - first < x->n ? n - first : x->n;
        for (unsigned i = 0; i < n_here; i++)
            if (result_bytes(&unit[first + i]) > size_bytes)
                size_bytes = result_bytes(&unit[first + i]);
        if (x->rank < n_here) write_result(&unit[first + x->rank], mine);
        status = x->gather(x->context, mine, size_bytes, all);
        for (unsigned i = 0; i < n_here && status == DROVE_OK; i++)
            if (i != x->rank) read_result(all + i * size_bytes, &unit[first + i]);
    }
    drove__free(mine);
    drove__free(all);
    return status;
}

/* ---- processes ---- */

typedef struct child_unit { /* shared; written by the child */
    float *theta, *output;  /* shared; set before the fork */
    double loss, epochs;
    drove_status status;
    char error[DROVE_ERROR_TEXT_SIZE];
} child_unit;

typedef struct child {
    pid_t id; /* 0: there is none, or no longer */
} child;

typedef struct family {
    child child[DROVE_SPREAD_MOST_UNITS]; /* [0]: the caller itself */
    atomic_bool *is_done;                 /* [n_procs], shared */
    child_unit *unit;                     /* [n], shared */
} family;

/* _exit: the parent's buffers and exit handlers are the parent's. */
static _Noreturn void child_main(const drove_spread *s, family *f, part *p, pid_t parent,
                                 drove_spread_unit *unit, unsigned n)
{
    /* The parent decides what a signal means; without a parent there is nothing to do. */
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it ended before the line above */
    for (size_t i = 0; i < DROVE_COUNT(ignored); i++) (void)signal(ignored[i], SIG_IGN);
    p->first_thread = 1; /* thread 0 is the parent's */
    run_part(s, p, n);
    for (unsigned i = p->index; i < n; i += p->n_parts) {
        child_unit *to = &f->unit[i];
        const drove_unit *u = unit[i].unit;
        to->status = unit[i].status;
        memcpy(to->error, unit[i].error, sizeof to->error);
        if (to->status != DROVE_OK) continue;
        to->loss = u->loss;
        to->epochs = u->epochs;
        memcpy(to->theta, u->theta, unit[i].n_theta * sizeof *to->theta);
        memcpy(to->output, u->output, unit[i].n_output * sizeof *to->output);
    }
    /* Release: the results; pairs with wait_for. */
    atomic_store_explicit(&f->is_done[p->index], true, memory_order_release);
    _exit(0);
}

static void kill_all(family *f, unsigned n_procs)
{
    for (unsigned i = 1; i < n_procs; i++) {
        if (f->child[i].id <= 0) continue;
        (void)kill(f->child[i].id, SIGKILL);
        while (waitpid(f->child[i].id, NULL, 0) < 0 && errno == EINTR) continue;
        f->child[i].id = 0;
    }
}

static drove_status died(const child *c, unsigned index, unsigned n_procs, int how)
{
    char why[96] = "ended";
    if (WIFSIGNALED(how))
        snprintf(why, sizeof why, "was killed by signal %d (%s)", WTERMSIG(how),
                 strsignal(WTERMSIG(how)));
    else if (WIFEXITED(how)) snprintf(why, sizeof why, "ended with status %d", WEXITSTATUS(how));
    return drove__fail(DROVE_E_SYSTEM,
                       "--workers procs:%u: process %u of them (process id %d), which trained "
                       "members of the pack, %s",
                       n_procs, index, (int)c->id, why);
}

/* Until all have ended. */
static drove_status wait_for(const drove_spread *s, family *f, unsigned n_procs)
{
    drove_status status = DROVE_OK;
    for (unsigned n_left = n_procs; n_left > 0 && status == DROVE_OK;) {
        n_left = 0;
        for (unsigned i = 1; i < n_procs && status == DROVE_OK; i++) {
            child *c = &f->child[i];
            int how = 0;
            if (c->id <= 0) continue;
            const pid_t ended = waitpid(c->id, &how, WNOHANG);
            if (ended == 0) {
                n_left++;
                continue;
            }
            /* Below 0: the program hears of no end, and what it has written counts.  Acquire: pairs
             * with child_main. */
            if (!atomic_load_explicit(&f->is_done[i], memory_order_acquire))
                status = died(c, i, n_procs, ended > 0 ? how : 0);
            c->id = 0;
        }
        if (s->is_over(s->context)) atomic_store_explicit(s->halt, true, memory_order_relaxed);
        if (n_left > 0) (void)nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
    }
    return status;
}

/* What the others are to write into. */
static drove_status family_init(family *f, unsigned n_procs, const drove_spread_unit *unit,
                                unsigned n)
{
    bool is_there = true;
    drove__memory_share_begin();
    f->is_done = drove__alloc(n_procs, sizeof *f->is_done);
    f->unit = drove__alloc(n, sizeof *f->unit);
    for (unsigned i = 0; i < n && f->unit != NULL; i++) {
        if (i % n_procs == 0) continue;
        f->unit[i].theta = drove__alloc(unit[i].n_theta, sizeof *f->unit[i].theta);
        f->unit[i].output = drove__alloc(unit[i].n_output, sizeof *f->unit[i].output);
        is_there = is_there && f->unit[i].theta != NULL && f->unit[i].output != NULL;
    }
    drove__memory_share_end();
    return is_there && f->is_done != NULL && f->unit != NULL
               ? DROVE_OK
               : drove__fail_nomem("processes of a pack", n * sizeof *f->unit);
}

static void family_fini(family *f, unsigned n)
{
    for (unsigned i = 0; i < n && f->unit != NULL; i++) {
        drove__free(f->unit[i].theta);
        drove__free(f->unit[i].output);
    }
    drove__free(f->unit);
    drove__free(f->is_done);
}

/* The parent takes over the memory that the children have written. */
static void adopt(family *f, drove_spread_unit *unit, unsigned n_procs, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        child_unit *from = &f->unit[i];
        if (i % n_procs == 0) continue;
        unit[i].status = from->status;
        memcpy(unit[i].error, from->error, sizeof unit[i].error);
        if (from->status != DROVE_OK) continue;
        *unit[i].unit = (drove_unit){.theta = from->theta,
                                     .output = from->output,
                                     .loss = from->loss,
                                     .epochs = from->epochs};
        from->theta = from->output = NULL;
    }
}

static drove_status run_processes(const drove_spread *s, drove_spread_unit *unit, unsigned n,
                                  part *p)
{
    const unsigned n_procs = p->n_parts;
    const pid_t parent = getpid();
    family f = {0};
    drove_status status = family_init(&f, n_procs, unit, n);
    for (unsigned i = 1; i < n_procs && i < n && status == DROVE_OK; i++) {
        const pid_t id = fork();
        p->index = i;
        if (id == 0) child_main(s, &f, p, parent, unit, n);
        if (id < 0)
            status = drove__fail_errno(DROVE_E_SYSTEM, errno, "cannot start process %u of %u", i,
                                       n_procs - 1);
        f.child[i].id = id;
    }
    p->index = 0;
    if (status == DROVE_OK) {
        run_part(s, p, n);
        status = wait_for(s, &f, n_procs);
    }
    char error[DROVE_ERROR_TEXT_SIZE];
    if (status != DROVE_OK) drove__error_copy(error);
    kill_all(&f, n_procs);
    if (status == DROVE_OK) adopt(&f, unit, n_procs, n);
    family_fini(&f, n);
    if (status != DROVE_OK) return drove__fail(status, "%s", error);
    return first_failure(unit, n);
}

/* ---- all of it ---- */

drove_status drove__spread_run(const drove_spread *spread, drove_status before,
                               drove_spread_unit *unit, unsigned n, drove_table_work *work,
                               void *context)
{
    const drove_pack_exchange *x = &spread->exchange;
    bool is_any = false;
    part p = {.work = work, .context = context, .n_parts = drove__spread_parts(spread)};
    DROVE_TRY(drove__spread_agree(spread, before, &is_any));
    if (x->n <= 1 && p.n_parts > 1) return run_processes(spread, unit, n, &p);
    if (x->n > 1) p.index = x->rank;
    run_part(spread, &p, n);
    return x->n > 1 ? exchange_units(spread, unit, n) : first_failure(unit, n);
}
