/* accum/exchange.c - slices on their way between processes; see exchange.h for the order. */
#include "accum/exchange.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHANNELS = 3,   /* slices under way at once */
    CHANNEL_ETA = 3 /* the step sizes */
};

struct drove_slice_exchange {
    drove_slice_exchange_options opt;
    float *eta; /* [n_all] each process adds those of its workers, and 0 for the others */
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t changed;
    float **value;    /* [n_parts] of a slice that was offered; else NULL */
    float *offer_eta; /* [n_here] */
    bool is_ending;
    drove_status status;
    char text[DROVE_ERROR_TEXT_SIZE];
};

/* ---- the exchange's own thread ---- */

/* The slice that goes out as number `position` of an iteration. */
static size_t part_at(const drove_slice_exchange *x, size_t position)
{
    return x->opt.n_parts - 1 - position;
}

/* Takes the offer of a slice; waits: until there is one.  NULL: none, or this is the end. */
static float *take_offer(drove_slice_exchange *x, size_t part, bool waits)
{
    pthread_mutex_lock(&x->lock);
    while (waits && x->value[part] == NULL && !x->is_ending)
        pthread_cond_wait(&x->changed, &x->lock);
    float *value = x->is_ending ? NULL : x->value[part];
    if (value != NULL) x->value[part] = NULL;
    pthread_mutex_unlock(&x->lock);
    return value;
}

static drove_status start(drove_slice_exchange *x, unsigned channel, float *value, size_t n)
{
    const drove_exchange e = {
        .kind = DROVE_ALL_REDUCE, .channel = channel, .in = value, .out = value, .n = n};
    return x->opt.transport->ops->start(x->opt.transport, x->opt.worker, &e);
}

static drove_status finish(drove_slice_exchange *x, unsigned channel)
{
    return x->opt.transport->ops->finish(x->opt.transport, x->opt.worker, channel, NULL);
}

static drove_status start_eta(drove_slice_exchange *x)
{
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

typedef struct progress { /* of an iteration: positions below it are ... */
    size_t n_started, n_done;
    float *under_way[CHANNELS]; /* by position */
} progress;

static drove_status send_next(drove_slice_exchange *x, progress *p, float *value)
{
    const size_t part = part_at(x, p->n_started);
    const unsigned channel = (unsigned)(p->n_started % CHANNELS);
    p->under_way[channel] = value;
    p->n_started++;
    return start(x, channel, value + x->opt.part[part].offset, x->opt.part[part].length);
}

static drove_status finish_oldest(drove_slice_exchange *x, progress *p)
{
    const size_t part = part_at(x, p->n_done);
    const unsigned channel = (unsigned)(p->n_done % CHANNELS);
    const drove_span *span = &x->opt.part[part];
    const bool is_last = ++p->n_done == x->opt.n_parts;
    float eta;
    DROVE_TRY(finish(x, channel));
    x->opt.kernels->scale_f32(p->under_way[channel] + span->offset, span->length,
                              1.0f / (float)x->opt.n_all);
    if (is_last) {
        DROVE_TRY(finish(x, CHANNEL_ETA));
        eta = mean_eta(x);
    }
    x->opt.done(x->opt.context, part, is_last ? &eta : NULL);
    return DROVE_OK;
}

/* One iteration; *ended: the thread is to end. */
static drove_status exchange_all(drove_slice_exchange *x, bool *ended)
{
    progress p = {0};
    while (p.n_done < x->opt.n_parts) {
        size_t n_under_way = p.n_started - p.n_done;
        bool may_start = p.n_started < x->opt.n_parts && n_under_way < CHANNELS;
        float *value = may_start ? take_offer(x, part_at(x, p.n_started), n_under_way == 0) : NULL;
        if (value == NULL && n_under_way == 0) {
            *ended = true;
            return DROVE_OK;
        }
        if (value != NULL) {
            if (p.n_started == 0) DROVE_TRY(start_eta(x));
            DROVE_TRY(send_next(x, &p, value));
        } else {
            DROVE_TRY(finish_oldest(x, &p));
        }
    }
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
    pthread_mutex_unlock(&x->lock);
    x->opt.done(x->opt.context, x->opt.n_parts, NULL);
    return NULL;
}

/* ---- other threads ---- */

drove_status drove__slices_offer(drove_slice_exchange *x, size_t part, float *value,
                                 const float *eta)
{
    int error = 0;
    pthread_mutex_lock(&x->lock);
    x->value[part] = value;
    memcpy(x->offer_eta, eta, x->opt.n_here * sizeof *eta);
    pthread_cond_signal(&x->changed);
    if (!x->has_thread) {
        error = pthread_create(&x->thread, NULL, run, x);
        x->has_thread = error == 0;
    }
    pthread_mutex_unlock(&x->lock);
    if (error == 0) return DROVE_OK;
    return drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start a thread that exchanges slices");
}

void drove__slices_stop(drove_slice_exchange *x)
{
    pthread_mutex_lock(&x->lock);
    x->is_ending = true;
    pthread_cond_signal(&x->changed);
    pthread_mutex_unlock(&x->lock);
}

drove_status drove__slices_status(drove_slice_exchange *x)
{
    pthread_mutex_lock(&x->lock);
    drove_status status = x->status;
    if (status != DROVE_OK) (void)drove__fail(status, "%s", x->text);
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
    x->value = calloc(opt->n_parts, sizeof *x->value);
    x->offer_eta = calloc(opt->n_here, sizeof *x->offer_eta);
    x->eta = drove__alloc(opt->n_all, sizeof *x->eta); /* which a transport may reach */
    if (x->value == NULL || x->offer_eta == NULL || x->eta == NULL) {
        drove__slices_destroy(x);
        return drove__fail_nomem("an exchange of slices", opt->n_parts * sizeof *x->value);
    }
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
    free(x);
}
