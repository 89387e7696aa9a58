/* loop/loader.c - each worker's queue of two batches, and the threads that load them. */
#include "loop/loader.h"

#include "base/clock.h"
#include "base/locale.h"
#include "base/mem.h"
#include "engine/gather.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 2 }; /* slots of a worker: one in use, one ahead */

/* EMPTY -> WANTED -> LOADING -> READY -> EMPTY; the first and the last step by the worker */
typedef enum slot_state { SLOT_EMPTY, SLOT_WANTED, SLOT_LOADING, SLOT_READY } slot_state;

/* `state` and `ticket` are under the loader's lock.  The rest belongs to the worker while the slot
 * is EMPTY or READY, and to the thread that made it LOADING while it is that. */
typedef struct slot {
    slot_state state;
    uint64_t ticket; /* the smallest was asked for first */
    uint32_t *row;   /* [max_rows] */
    drove_batch batch;
    drove_gather gather;
    drove_loaded loaded;
    drove_load_times times;
    drove_status status;
    char error[DROVE_ERROR_TEXT_SIZE];
} slot;

/* The worker's own but for the slots' states and `ready`. */
typedef struct queue {
    slot slot[DEPTH];
    unsigned next;    /* slot of the batch that is taken next */
    unsigned n_asked; /* batches that were asked for and not yet taken */
    bool has_taken;   /* the slot before `next` is in use */
    uint64_t exposed_ns;
    pthread_cond_t ready;
} DROVE_ALIGNED_CACHE_LINE queue;

struct drove_loader {
    drove_loader_options opt;
    size_t n_inputs;
    unsigned depth; /* slots in use: nobody loads ahead where there are no threads */
    queue *queue;   /* [n_workers] */
    pthread_t *thread;
    unsigned n_started;
    pthread_mutex_t lock;  /* protects the four below and each slot's state and ticket */
    pthread_cond_t wanted; /* a slot became WANTED, or is_over */
    bool is_over;
    uint64_t n_tickets, busy_ns;
};

/* ---- loading ---- */

/* Loads a slot that this thread has made LOADING; comes and goes with the lock held. */
static void load_unlocked(drove_loader *l, slot *s)
{
    pthread_mutex_unlock(&l->lock);
    s->times = (drove_load_times){.begin_ns = drove__clock_now(l->opt.clock)};

    /* Rows that are read from disk may have to be waited for.  Batches that were asked for before
     * are loaded, or being loaded by another thread, so the reader goes on. */
    const drove_batch *b = &s->batch;
    s->status =
        l->opt.stream == NULL
            ? DROVE_OK
            : drove__stream_wait(l->opt.stream, drove__order_window(l->opt.order, b->number));
    if (s->status == DROVE_OK)
        s->status = drove__gather_load(&s->gather, b, true, NULL, &s->loaded.in);
    if (s->status == DROVE_OK) {
        drove__targets_load(&s->gather.targets, b->data, NULL, b->row, b->n_rows,
                            &s->loaded.target);
        drove__gather_mix(&s->gather, b, &s->loaded.in, &s->loaded.target);
    } else drove__error_copy(s->error);
    s->times.end_ns = drove__clock_now(l->opt.clock);
    pthread_mutex_lock(&l->lock);
    l->busy_ns += s->times.end_ns - s->times.begin_ns;
    s->state = SLOT_READY;
}

/* With the lock held: what was asked for first, and whose it is; NULL: nothing. */
static slot *oldest_wanted(drove_loader *l, queue **of)
{
    slot *oldest = NULL;
    for (unsigned i = 0; i < l->opt.n_workers; i++) {
        for (unsigned k = 0; k < DEPTH; k++) {
            slot *s = &l->queue[i].slot[k];
            if (s->state != SLOT_WANTED || (oldest != NULL && oldest->ticket < s->ticket)) continue;
            oldest = s;
            *of = &l->queue[i];
        }
    }
    return oldest;
}

/* With the lock held, until the condition is signalled. */
static void wait_for(drove_loader *l, pthread_cond_t *cond)
{
    const drove_clock *clock = l->opt.clock;
    (void)clock->cond_wait(clock->context, cond, &l->lock, UINT64_MAX);
}

static void *loader_main(void *argument)
{
    DROVE_IN_C_LOCALE;
    drove_loader *l = argument;
    queue *of = NULL;
    drovek_thread_init();
    pthread_mutex_lock(&l->lock);
    while (!l->is_over) {
        slot *s = oldest_wanted(l, &of);
        if (s == NULL) {
            wait_for(l, &l->wanted);
            continue;
        }
        s->state = SLOT_LOADING;
        load_unlocked(l, s);
        pthread_cond_signal(&of->ready);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- a worker and its queue ---- */

drove_status drove__loader_join(drove_loader *l, unsigned worker)
{
    queue *q = &l->queue[worker];
    for (unsigned k = 0; k < l->depth; k++) {
        slot *s = &q->slot[k];
        s->row = drove__alloc(l->opt.max_rows, sizeof *s->row);
        if (s->row == NULL)
            return drove__fail_nomem("rows of a batch", l->opt.max_rows * sizeof *s->row);
        DROVE_TRY(drove__gather_init(&s->gather, l->opt.kernels, l->opt.data, l->opt.max_rows,
                                     l->n_inputs, true));
    }
    return DROVE_OK;
}

/* The slot after those that are taken and asked for. */
static slot *free_slot(drove_loader *l, unsigned worker)
{
    queue *q = &l->queue[worker];
    if (q->n_asked + q->has_taken == l->depth) return NULL;
    return &q->slot[(q->next + q->n_asked) % l->depth];
}

uint32_t *drove__loader_rows(drove_loader *l, unsigned worker)
{
    slot *s = free_slot(l, worker);
    return s != NULL ? s->row : NULL;
}

void drove__loader_ask(drove_loader *l, unsigned worker, uint64_t number, size_t n_rows)
{
    slot *s = free_slot(l, worker);
    s->batch = (drove_batch){.data = l->opt.data,
                             .row = s->row,
                             .n_rows = n_rows,
                             .number = number,
                             .loaded = &s->loaded};
    l->queue[worker].n_asked++;
    pthread_mutex_lock(&l->lock);
    s->ticket = l->n_tickets++;
    s->state = SLOT_WANTED;
    pthread_cond_signal(&l->wanted);
    pthread_mutex_unlock(&l->lock);
}

bool drove__loader_take(drove_loader *l, unsigned worker, drove_batch *out, drove_load_times *times,
                        drove_status *status)
{
    queue *q = &l->queue[worker];
    slot *s = &q->slot[q->next];
    if (q->n_asked == 0) return false;
    pthread_mutex_lock(&l->lock);
    if (s->state != SLOT_READY) {
        uint64_t begin = drove__clock_now(l->opt.clock);
        if (s->state == SLOT_WANTED) {
            s->state = SLOT_LOADING;
            load_unlocked(l, s);
        }
        while (s->state != SLOT_READY) wait_for(l, &q->ready);
        s->times.exposed_ns = drove__clock_now(l->opt.clock) - begin;
        q->exposed_ns += s->times.exposed_ns;
    }
    pthread_mutex_unlock(&l->lock);
    q->next = (q->next + 1) % l->depth;
    q->n_asked--;
    q->has_taken = true;
    *out = s->batch;
    *times = s->times;
    *status = s->status == DROVE_OK ? DROVE_OK : drove__fail(s->status, "%s", s->error);
    return true;
}

void drove__loader_done(drove_loader *l, unsigned worker)
{
    queue *q = &l->queue[worker];
    if (!q->has_taken) return;
    pthread_mutex_lock(&l->lock);
    q->slot[(q->next + l->depth - 1) % l->depth].state = SLOT_EMPTY;
    pthread_mutex_unlock(&l->lock);
    q->has_taken = false;
}

double drove__loader_times(drove_loader *l, uint64_t *busy_ns, uint64_t *exposed_ns)
{
    *exposed_ns = 0;
    for (unsigned i = 0; i < l->opt.n_workers; i++) *exposed_ns += l->queue[i].exposed_ns;
    pthread_mutex_lock(&l->lock);
    *busy_ns = l->busy_ns;
    pthread_mutex_unlock(&l->lock);
    return *exposed_ns < *busy_ns ? 1.0 - (double)*exposed_ns / (double)*busy_ns : 0.0;
}

/* ---- making and unmaking ---- */

drove_status drove__loader_create(const drove_loader_options *opt, drove_loader **out)
{
    *out = NULL;
    drove_loader *l = calloc(1, sizeof *l);
    if (l == NULL) return drove__fail_nomem("loaders", sizeof *l);
    l->opt = *opt;
    l->n_inputs = drove__data_n_inputs(opt->data);
    l->depth = opt->n_threads > 0 ? DEPTH : 1;
    pthread_mutex_init(&l->lock, NULL);
    drove__clock_cond_init(&l->wanted);
    l->queue = drove__alloc(opt->n_workers, sizeof *l->queue);
    l->thread = calloc(opt->n_threads + 1, sizeof *l->thread);
    for (unsigned i = 0; l->queue != NULL && i < opt->n_workers; i++)
        drove__clock_cond_init(&l->queue[i].ready);
    drove_status status = DROVE_OK;
    if (l->queue == NULL || l->thread == NULL) {
        status = drove__fail_nomem("loaders", opt->n_workers * sizeof *l->queue);
        goto fail;
    }
    for (; l->n_started < opt->n_threads; l->n_started++) {
        int error = pthread_create(&l->thread[l->n_started], NULL, loader_main, l);
        if (error == 0) continue;
        status = drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start loader %u of %u",
                                   l->n_started + 1, opt->n_threads);
        goto fail;
    }
    *out = l;
    return DROVE_OK;
fail:
    drove__loader_destroy(l);
    return status;
}

void drove__loader_destroy(drove_loader *l)
{
    if (l == NULL) return;
    pthread_mutex_lock(&l->lock);
    l->is_over = true;
    pthread_cond_broadcast(&l->wanted);
    pthread_mutex_unlock(&l->lock);
    for (unsigned i = 0; i < l->n_started; i++) pthread_join(l->thread[i], NULL);
    for (unsigned i = 0; l->queue != NULL && i < l->opt.n_workers; i++) {
        queue *q = &l->queue[i];
        for (unsigned k = 0; k < DEPTH; k++) {
            drove__gather_fini(&q->slot[k].gather);
            drove__free(q->slot[k].row);
        }
        pthread_cond_destroy(&q->ready);
    }
    drove__free(l->queue);
    free(l->thread);
    pthread_cond_destroy(&l->wanted);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
