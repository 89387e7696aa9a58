/* engine/host/team.c - see team.h.
 *
 * Meeting: a counter of arrivals and a generation (Mellor-Crummey, Scott, TOCS 1991, the central
 * sense-reversing barrier).  Arrivals are fetch-and-adds with acquire and release, the generation
 * is stored with release by the last one and read with acquire by the others: what a part wrote
 * before a meeting is read by the others after it.
 *
 * Waiting: a short spin, then yielding: parts may be more than processors.  Between jobs: asleep.
 */
#include "engine/host/team.h"

#include "base/mem.h"
#include "base/relax.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SPINS = 4096 };

typedef struct member {
    drove_team *team;
    unsigned part;
    pthread_t thread;
    drove_status status; /* of bind */
    char error[DROVE_ERROR_TEXT_SIZE];
} member;

struct drove_team {
    unsigned n_parts, n_started; /* threads but part 0 */
    member *member;              /* [n_parts - 1] */
    drove_status (*bind)(void *context, unsigned part);
    void *bind_context;
    /* lock protects: generation of the job, job, context, is_over */
    pthread_mutex_t lock;
    pthread_cond_t begun;
    uint64_t generation;
    void (*job)(void *context, const drove_part *part);
    void *context;
    bool is_over;
    _Atomic unsigned n_met DROVE_ALIGNED_CACHE_LINE;
    _Atomic unsigned meetings DROVE_ALIGNED_CACHE_LINE;
};

static void meet(void *context, unsigned part)
{
    drove_team *t = context;
    (void)part;
    unsigned now = atomic_load_explicit(&t->meetings, memory_order_relaxed); /* own last meeting */
    if (atomic_fetch_add_explicit(&t->n_met, 1, memory_order_acq_rel) + 1 == t->n_parts) {
        atomic_store_explicit(&t->n_met, 0, memory_order_relaxed); /* read after the next line */
        atomic_store_explicit(&t->meetings, now + 1, memory_order_release);
        return;
    }
    for (unsigned spins = 0; atomic_load_explicit(&t->meetings, memory_order_acquire) == now;
         spins++) {
        if (spins < SPINS) drove__relax();
        else sched_yield();
    }
}

static void work(drove_team *t, unsigned part)
{
    const drove_part me = {.part = part, .n_parts = t->n_parts, .meet = meet, .context = t};
    t->job(t->context, &me);
    meet(t, part);
}

static void *member_main(void *argument)
{
    member *m = argument;
    drove_team *t = m->team;
    uint64_t seen = 0;
    drovek_thread_init();
    if (t->bind != NULL) m->status = t->bind(t->bind_context, m->part);
    if (m->status != DROVE_OK) drove__error_copy(m->error);
    meet(t, m->part);
    for (;;) {
        pthread_mutex_lock(&t->lock);
        while (t->generation == seen && !t->is_over) pthread_cond_wait(&t->begun, &t->lock);
        seen = t->generation;
        bool is_over = t->is_over;
        pthread_mutex_unlock(&t->lock);
        if (is_over) return NULL;
        work(t, m->part);
    }
}

drove_status drove__team_create(unsigned n_parts,
                                drove_status (*bind)(void *context, unsigned part), void *context,
                                drove_team **out)
{
    *out = NULL;
    drove_team *t = drove__alloc(1, sizeof *t);
    if (t == NULL) return drove__fail_nomem("a team", sizeof *t);
    t->n_parts = n_parts;
    t->bind = bind;
    t->bind_context = context;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->begun, NULL);
    t->member = calloc(n_parts, sizeof *t->member);
    drove_status status = DROVE_OK;
    if (t->member == NULL) {
        status = drove__fail_nomem("a team", n_parts * sizeof *t->member);
        goto fail;
    }
    for (unsigned i = 0; i + 1 < n_parts; i++) {
        member *m = &t->member[i];
        *m = (member){.team = t, .part = i + 1};
        int error = pthread_create(&m->thread, NULL, member_main, m);
        if (error != 0) {
            status = drove__fail_errno(DROVE_E_SYSTEM, error,
                                       "cannot start thread %u of a team of %u", i + 2, n_parts);
            goto fail;
        }
        t->n_started++;
    }
    meet(t, 0);
    for (unsigned i = 0; i < t->n_started; i++) {
        if (t->member[i].status == DROVE_OK) continue;
        status = drove__fail(t->member[i].status, "%s", t->member[i].error);
        goto fail;
    }
    *out = t;
    return DROVE_OK;
fail:
    drove__team_destroy(t);
    return status;
}

void drove__team_destroy(drove_team *t)
{
    if (t == NULL) return;

    /* Members that wait for one that was never started would wait for ever: they meet without it,
     * when all of them have come. */
    if (t->n_started + 1 != t->n_parts) {
        while (atomic_load(&t->n_met) < t->n_started) sched_yield();
        atomic_fetch_add(&t->meetings, 1);
    }
    pthread_mutex_lock(&t->lock);
    t->is_over = true;
    pthread_cond_broadcast(&t->begun);
    pthread_mutex_unlock(&t->lock);
    for (unsigned i = 0; i < t->n_started; i++) pthread_join(t->member[i].thread, NULL);
    pthread_cond_destroy(&t->begun);
    pthread_mutex_destroy(&t->lock);
    free(t->member);
    drove__free(t);
}

void drove__team_run(drove_team *t, void (*job)(void *context, const drove_part *part),
                     void *context)
{
    pthread_mutex_lock(&t->lock);
    t->job = job;
    t->context = context;
    t->generation++;
    pthread_cond_broadcast(&t->begun);
    pthread_mutex_unlock(&t->lock);
    work(t, 0);
}
