/* cluster/slices.c - slices on their way between processes; see slices.h for the order. */
#include "cluster/slices.h"

#include "base/clock.h"
#include "base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CHANNELS = 3,    /* buckets under way at once */
    CHANNEL_ETA = 3, /* the step sizes */
    UNIT = 16,       /* floats: buckets of one slice share no cache line */
    NAP_NS = 100000  /* between two looks, while backward has the core */
};

/* Parts are counted from the last one, in the order of backward. */
typedef struct bucket {
    size_t offset, length;
    size_t needs, gives; /* parts that must have come; parts that are done behind it */
} bucket;

typedef struct made { /* of an iteration that is done */
    drove_exchange_info info;
    uint64_t begun_ns, done_ns;
} made;

struct drove_slice_exchange {
    drove_slice_exchange_options opt;
    bucket *bucket; /* [n_buckets] */
    size_t n_buckets;
    float *eta; /* [n_all] each process adds those of its workers, and 0 for the others */
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t changed;
    float **value;    /* [n_parts] of a slice that was offered; else NULL */
    float *offer_eta; /* [n_here] */
    made made;        /* the last iteration */
    uint64_t n_made, n_awaited;
    bool is_ending;
    drove_status status;
    char text[DROVE_ERROR_TEXT_SIZE];
};

/* ---- buckets ---- */

static size_t most_of(size_t n)
{
    const size_t most = n / DROVE_SLICES_SHARE;
    if (most < DROVE_SLICES_LEAST) return DROVE_SLICES_LEAST;
    return most < DROVE_SLICES_MOST ? most : DROVE_SLICES_MOST;
}

/* Joins slices, from the last one, until half a bucket is full, then splits what that is into
 * equal buckets.  bucket NULL: only counts them. */
static size_t make_buckets(const drove_slice_exchange_options *o, bucket *into)
{
    const drove_span *last = &o->part[o->n_parts - 1];
    const size_t most = most_of(last->offset + last->length);
    size_t n_buckets = 0, joined = 0, n_before = 0;
    for (size_t i = o->n_parts; i-- > 0;) {
        joined += o->part[i].length;
        if (joined < most / 2 && i > 0) continue;
        const size_t units = (joined + UNIT - 1) / UNIT, most_units = most / UNIT;
        const size_t n = units > most_units ? (units + most_units - 1) / most_units : 1;
        for (size_t k = n; k-- > 0; n_buckets++) {
            const size_t begin = units * k / n * UNIT, end = units * (k + 1) / n * UNIT;
            if (into == NULL) continue;
            into[n_buckets] = (bucket){.offset = o->part[i].offset + begin,
                                       .length = (end < joined ? end : joined) - begin,
                                       .needs = o->n_parts - i,
                                       .gives = k > 0 ? n_before : o->n_parts - i};
        }
        n_before = o->n_parts - i;
        joined = 0;
    }
    return n_buckets;
}

/* ---- the exchange's own thread ---- */

typedef struct progress {     /* of an iteration: in the order of backward, below these are ... */
    size_t n_taken, n_given;  /* parts that have come; that are done */
    size_t n_started, n_done; /* buckets */
    float *value;
    made made;
} progress;

static bool can_start(const drove_slice_exchange *x, const progress *p)
{
    return p->n_started < x->n_buckets && p->n_started - p->n_done < CHANNELS &&
           x->bucket[p->n_started].needs <= p->n_taken;
}

/* Takes the slices that were offered; waits for them if nothing else is to be done. */
static void take_offers(drove_slice_exchange *x, progress *p)
{
    pthread_mutex_lock(&x->lock);
    while (!x->is_ending && p->n_taken < x->opt.n_parts) {
        float **offered = &x->value[x->opt.n_parts - 1 - p->n_taken];
        if (*offered != NULL) {
            assert(p->value == NULL || p->value == *offered);
            p->value = *offered;
            *offered = NULL;
            p->n_taken++;
        } else if (p->n_started == p->n_done && !can_start(x, p)) {
            pthread_cond_wait(&x->changed, &x->lock);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&x->lock);
}

static drove_status start(drove_slice_exchange *x, unsigned channel, float *value, size_t n)
{
    const drove_exchange e = {
        .kind = DROVE_ALL_REDUCE, .channel = channel, .in = value, .out = value, .n = n};
    return x->opt.transport->ops->start(x->opt.transport, x->opt.worker, &e);
}

static drove_status finish(drove_slice_exchange *x, unsigned channel, drove_exchange_info *info)
{
    return x->opt.transport->ops->finish(x->opt.transport, x->opt.worker, channel, info);
}

static drove_status start_eta(drove_slice_exchange *x)
{
    if (x->opt.n_here == 0) return DROVE_OK;
    memset(x->eta, 0, x->opt.n_all * sizeof *x->eta);
    pthread_mutex_lock(&x->lock);
    memcpy(x->eta + x->opt.first, x->offer_eta, x->opt.n_here * sizeof *x->eta);
    pthread_mutex_unlock(&x->lock);
    return start(x, CHANNEL_ETA, x->eta, x->opt.n_all);
}

/* The mean, exact where all are equal, in the order of the workers wherever they are. */
static float mean_eta(const drove_slice_exchange *x)
{
    double sum = 0.0;
    for (unsigned w = 0; w < x->opt.n_all; w++) sum += (double)x->eta[w];
    return (float)(sum / x->opt.n_all);
}

static drove_status start_next(drove_slice_exchange *x, progress *p)
{
    const bucket *b = &x->bucket[p->n_started];
    if (p->n_started == 0) {
        p->made.begun_ns = drove__now_ns();
        DROVE_TRY(start_eta(x));
    }
    const unsigned channel = (unsigned)(p->n_started++ % CHANNELS);
    return start(x, channel, p->value + b->offset, b->length);
}

static drove_status finish_oldest(drove_slice_exchange *x, progress *p)
{
    const bucket *b = &x->bucket[p->n_done];
    const unsigned channel = (unsigned)(p->n_done++ % CHANNELS);
    const bool is_last = p->n_done == x->n_buckets;
    float eta = 0.0f;
    DROVE_TRY(finish(x, channel, &p->made.info));
    x->opt.kernels->scale_f32(p->value + b->offset, b->length, 1.0f / (float)x->opt.n_all);
    if (is_last && x->opt.n_here > 0) {
        DROVE_TRY(finish(x, CHANNEL_ETA, &p->made.info));
        eta = mean_eta(x);
    }
    while (p->n_given < b->gives) {
        const size_t part = x->opt.n_parts - 1 - p->n_given++;
        const bool tells_eta = p->n_given == x->opt.n_parts;
        if (x->opt.done != NULL) x->opt.done(x->opt.context, part, tells_eta ? &eta : NULL);
    }
    return DROVE_OK;
}

/* While backward goes on it has the core: messages are advanced by the transport's own thread, and
 * this one looks now and then.  Behind it, or without such a thread, finish advances them. */
static bool leaves_the_core(const drove_slice_exchange *x, const progress *p)
{
    drove_transport *t = x->opt.transport;
    return t->in_background && p->n_taken < x->opt.n_parts &&
           !t->ops->test(t, x->opt.worker, (unsigned)(p->n_done % CHANNELS));
}

/* One iteration; *ended: the thread is to end. */
static drove_status exchange_all(drove_slice_exchange *x, bool *ended)
{
    progress p = {0};
    while (p.n_done < x->n_buckets) {
        take_offers(x, &p);
        if (can_start(x, &p)) {
            DROVE_TRY(start_next(x, &p));
        } else if (p.n_started == p.n_done) {
            *ended = true;
            return DROVE_OK;
        } else if (leaves_the_core(x, &p)) {
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        } else {
            DROVE_TRY(finish_oldest(x, &p));
        }
    }
    p.made.done_ns = drove__now_ns();
    pthread_mutex_lock(&x->lock);
    x->made = p.made;
    x->n_made++;
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
    return DROVE_OK;
}

static void *run(void *argument)
{
    drove_slice_exchange *x = argument;
    bool ended = false;
    drove_status status = DROVE_OK;
    drovek_thread_init();
    while (!ended && status == DROVE_OK) status = exchange_all(x, &ended);
    if (status == DROVE_OK) return NULL;
    pthread_mutex_lock(&x->lock);
    x->status = status;
    drove__error_copy(x->text);
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
    if (x->opt.done != NULL) x->opt.done(x->opt.context, x->opt.n_parts, NULL);
    return NULL;
}

/* ---- other threads ---- */

drove_status drove__slices_offer(drove_slice_exchange *x, size_t part, float *value,
                                 const float *eta)
{
    int error = 0;
    pthread_mutex_lock(&x->lock);
    x->value[part] = value;
    if (x->opt.n_here > 0) memcpy(x->offer_eta, eta, x->opt.n_here * sizeof *eta);
    pthread_cond_broadcast(&x->changed);
    if (!x->has_thread) {
        error = pthread_create(&x->thread, NULL, run, x);
        x->has_thread = error == 0;
    }
    pthread_mutex_unlock(&x->lock);
    if (error == 0) return DROVE_OK;
    return drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start a thread that exchanges slices");
}

/* Lock held. */
static drove_status status_of(const drove_slice_exchange *x)
{
    return x->status == DROVE_OK ? DROVE_OK : drove__fail(x->status, "%s", x->text);
}

drove_status drove__slices_wait(drove_slice_exchange *x, drove_exchange_info *info,
                                uint64_t *begun_ns, uint64_t *done_ns)
{
    pthread_mutex_lock(&x->lock);
    x->n_awaited++;
    while (x->n_made < x->n_awaited && x->status == DROVE_OK && !x->is_ending)
        pthread_cond_wait(&x->changed, &x->lock);
    drove_status status = status_of(x);
    if (status == DROVE_OK && x->n_made < x->n_awaited)
        status = drove__fail(DROVE_E_SYSTEM, "an exchange of slices was stopped");
    if (status == DROVE_OK) {
        const drove_exchange_info *one = &x->made.info;
        info->wait_ns += one->wait_ns;
        info->work_ns += one->work_ns;
        info->transit_ns += one->transit_ns;
        info->bytes += one->bytes;
        info->messages += one->messages;
        *begun_ns = x->made.begun_ns;
        *done_ns = x->made.done_ns;
    }
    pthread_mutex_unlock(&x->lock);
    return status;
}

void drove__slices_stop(drove_slice_exchange *x)
{
    pthread_mutex_lock(&x->lock);
    x->is_ending = true;
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
}

drove_status drove__slices_status(drove_slice_exchange *x)
{
    pthread_mutex_lock(&x->lock);
    drove_status status = status_of(x);
    pthread_mutex_unlock(&x->lock);
    return status;
}

drove_status drove__slices_create(const drove_slice_exchange_options *opt,
                                  drove_slice_exchange **out)
{
    drove_slice_exchange *x = calloc(1, sizeof *x); /* as the collector: each process has its own */
    *out = NULL;
    if (x == NULL) return drove__fail_nomem("an exchange of slices", sizeof *x);
    x->opt = *opt;
    (void)pthread_mutex_init(&x->lock, NULL); /* neither can fail with default attributes */
    (void)pthread_cond_init(&x->changed, NULL);
    x->n_buckets = make_buckets(opt, NULL);
    x->bucket = calloc(x->n_buckets, sizeof *x->bucket);
    x->value = calloc(opt->n_parts, sizeof *x->value);
    x->offer_eta = calloc(opt->n_here + 1, sizeof *x->offer_eta);
    x->eta = drove__alloc(opt->n_all, sizeof *x->eta); /* which a transport may reach */
    if (x->bucket == NULL || x->value == NULL || x->offer_eta == NULL || x->eta == NULL) {
        drove__slices_destroy(x);
        return drove__fail_nomem("an exchange of slices", opt->n_parts * sizeof *x->value);
    }
    (void)make_buckets(opt, x->bucket);
    *out = x;
    return DROVE_OK;
}

void drove__slices_destroy(drove_slice_exchange *x)
{
    if (x == NULL) return;
    drove__slices_stop(x);
    if (x->has_thread) pthread_join(x->thread, NULL);
    (void)pthread_cond_destroy(&x->changed);
    (void)pthread_mutex_destroy(&x->lock);
    drove__free(x->eta);
    free(x->offer_eta);
    free(x->value);
    free(x->bucket);
    free(x);
}
