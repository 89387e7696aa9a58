/* engine/accel/repeat.c - a pass that is repeated is recorded once and then put on the queues by
 * one call, where the kind has sequences (accel.h); see state.h.
 *
 * A step of a small network is some thirty launches and copies, which take the host longer than the
 * device.  Their places in memory and their numbers are the same each time if the batch lies in the
 * same staging buffer, in the same layout, and the same is wanted of it: that is the key of a
 * recording.  Recorded are the copy of the parameters, the pass, and the reading of losses and
 * gradients; the examples are copied before, as ever.  A key that comes REPEATS times is recorded,
 * which costs about as much as a pass, and the least used of MOST recordings makes room.
 *
 * Not recorded are sparse examples, whose sizes differ, and dropout in training, whose masks do.
 * A recording that fails is given up: the pass is put on the queues one by one, then and later.
 *
 * Events of a recording happen anew at each run; the engine borrows them for the batch.
 */
#include "base/mem.h"
#include "engine/accel/state.h"
#include "model/layer.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 32, REPEATS = 3 };

typedef struct key { /* compared as memory: cleared before it is filled */
    const drove_accel_staging *staging;
    const drove_accel_buffer *theta;
    drove_accel_layout at;
    size_t n_rows;
    drove_y_kind y_kind;
    bool is_wanted, is_training, is_predicting, is_resident, is_bytes, is_scaled, is_weighted;
} key;

typedef struct drove_accel_recording {
    key key;
    unsigned n_seen;
    uint64_t used; /* number of the last pass that was it */
    bool is_refused;
    drove_accel_sequence *sequence; /* NULL: not recorded */
    drove_accel_event *fork;
    drove_accel_events events;
} drove_accel_recording;

struct drove_accel_repeat {
    drove_accel_recording recording[MOST];
    size_t n;
    const drove_accel_recording *lender; /* of the present batch's events; NULL: its own */
    uint64_t n_passes, n_runs;
};

/* ---- memory ---- */

drove_status drove__repeat_init(drove_engine *e)
{
    const size_t n = 2 * e->model->n_layers;
    const char *wish = getenv("DROVE_ACCEL_SEQUENCES");
    const bool is_unwished = wish != NULL && strcmp(wish, "no") == 0;
    if (e->ops->sequences == NULL || e->is_sparse || is_unwished) return DROVE_OK;
    e->repeat = calloc(1, sizeof *e->repeat);
    drove_accel_event **events = calloc(MOST * n, sizeof *events);
    if (e->repeat == NULL || events == NULL) {
        free(events);
        free(e->repeat);
        e->repeat = NULL;
        return drove__fail_nomem("recorded passes", MOST * n * sizeof *events);
    }
    for (size_t i = 0; i < MOST; i++) {
        drove_accel_events *own = &e->repeat->recording[i].events;
        own->layer_done = events + i * n;
        own->layer_read = own->layer_done + e->model->n_layers;
    }
    return DROVE_OK;
}

static void clear(drove_engine *e, drove_accel_recording *r)
{
    if (r->sequence != NULL) e->ops->sequences->destroy(r->sequence);
    r->sequence = NULL;
    e->ops->event_destroy(r->fork);
    r->fork = NULL;
    drove__accel_events_drop(e, &r->events);
}

void drove__repeat_forget(drove_engine *e, const drove_accel_staging *staging)
{
    for (size_t i = 0; e->repeat != NULL && i < e->repeat->n; i++) {
        drove_accel_recording *r = &e->repeat->recording[i];
        if (staging != NULL && r->key.staging != staging) continue;
        clear(e, r);
        memset(&r->key, 0, sizeof r->key); /* no staging buffer: no batch is it */
        r->used = 0;
    }
}

void drove__repeat_fini(drove_engine *e)
{
    if (e->repeat != NULL) free(e->repeat->recording[0].events.layer_done);
    free(e->repeat);
    e->repeat = NULL;
}

/* ---- which recording ---- */

static bool is_same(const key *a, const key *b)
{
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c): zeroed */
    return memcmp(a, b, sizeof *a) == 0;
}

static drove_accel_recording *find(drove_engine *e)
{
    drove_accel_repeat *p = e->repeat;
    key wanted;
    drove_accel_recording *r = NULL;
    const drove_accel_staging *s = e->present;
    memset(&wanted, 0, sizeof wanted);
    wanted.staging = s;
    wanted.theta = e->params.theta;
    wanted.at = s->at;
    wanted.at.n = 0; /* how many labels follow is read from the batch */
    wanted.n_rows = s->n_rows;
    wanted.y_kind = s->data->storage->y_kind;
    wanted.is_wanted = e->now.wanted != NULL;
    wanted.is_training = e->now.is_training;
    wanted.is_predicting = e->now.is_predicting;
    wanted.is_resident = e->now.is_resident;
    wanted.is_bytes = s->is_bytes;
    wanted.is_scaled = s->is_scaled;
    wanted.is_weighted = drove__data_is_weighted(s->data);
    for (size_t i = 0; i < p->n && r == NULL; i++)
        if (is_same(&p->recording[i].key, &wanted)) r = &p->recording[i];
    if (r == NULL && p->n < MOST) {
        r = &p->recording[p->n++];
    } else if (r == NULL) {
        r = &p->recording[0];
        for (size_t i = 1; i < MOST; i++)
            if (p->recording[i].used < r->used) r = &p->recording[i];
    }
    if (!is_same(&r->key, &wanted)) {
        clear(e, r);
        memcpy(&r->key, &wanted, sizeof wanted);
        r->n_seen = 0;
        r->is_refused = false;
    }
    r->used = ++p->n_passes;
    return r;
}

/* ---- recording ---- */

static drove_status put_pass(drove_engine *e)
{
    if (!e->now.is_resident) DROVE_TRY(drove__params_write(e));
    /* the examples came before the parameters */
    drove_accel_event *ready =
        e->now.events.params_done != NULL ? e->now.events.params_done : e->present->done;
    DROVE_ACCEL_TRY(e, e->ops->follow(e->work, ready));
    return drove__accel_pass(e);
}

static drove_status put_in_sequence(drove_engine *e, drove_accel_recording *r)
{
    if (!e->now.is_resident) {
        DROVE_ACCEL_TRY(e, e->ops->record(e->work, &r->fork));
        DROVE_ACCEL_TRY(e, e->ops->follow(e->up, r->fork));
        DROVE_TRY(drove__params_write(e));
        DROVE_ACCEL_TRY(e, e->ops->follow(e->work, e->now.events.params_done));
    }
    DROVE_TRY(drove__accel_pass(e));
    drove_accel_event *last = e->now.events.scored_read; /* on `down` */
    for (size_t l = e->model->n_layers; l-- > 0;)
        if (e->now.events.layer_read[l] != NULL) last = e->now.events.layer_read[l];
    return drove__accel_try(e, e->ops->follow(e->work, last));
}

/* to = from (NULL: none), in to's own lists of the layers. */
static void copy_events(drove_accel_events *to, const drove_accel_events *from, size_t n_layers)
{
    const drove_accel_events none = {0};
    drove_accel_event **done = to->layer_done, **read = to->layer_read;
    *to = from != NULL ? *from : none;
    to->layer_done = done;
    to->layer_read = read;
    for (size_t l = 0; l < n_layers; l++) {
        done[l] = from != NULL ? from->layer_done[l] : NULL;
        read[l] = from != NULL ? from->layer_read[l] : NULL;
    }
}

void drove__repeat_drop_events(drove_engine *e)
{
    if (e->repeat == NULL || e->repeat->lender == NULL) {
        drove__accel_events_drop(e, &e->now.events);
        return;
    }
    copy_events(&e->now.events, NULL, e->model->n_layers);
    e->repeat->lender = NULL;
}

/* Whatever goes wrong, the pass can be put on the queues without; a device that is lost says so
 * then. */
static void record(drove_engine *e, drove_accel_recording *r)
{
    drove_status status = e->ops->sequences->begin(e->work), ended;
    if (status == DROVE_OK) {
        e->now.is_recording = true;
        status = put_in_sequence(e, r);
        e->now.is_recording = false;
        ended = e->ops->sequences->end(e->work, &r->sequence);
        if (ended != DROVE_OK) r->sequence = NULL;
        if (status == DROVE_OK) status = ended;
    }
    r->is_refused = status != DROVE_OK;
    if (r->is_refused && r->sequence != NULL) e->ops->sequences->destroy(r->sequence);
    if (r->is_refused) r->sequence = NULL;
    if (!r->is_refused) {
        copy_events(&r->events, &e->now.events, e->model->n_layers);
        e->repeat->lender = r;
        return;
    }
    drove__accel_events_drop(e, &e->now.events);
    e->ops->event_destroy(r->fork);
    r->fork = NULL;
}

/* ---- a pass ---- */

uint64_t drove__repeat_runs(const drove_engine *e)
{
    return e->repeat != NULL ? e->repeat->n_runs : 0;
}

drove_status drove__repeat_pass(drove_engine *e)
{
    bool draws_masks = false; /* a step's masks are numbers of its launches */
    for (size_t l = 0; e->now.is_training && l < e->model->n_layers; l++)
        draws_masks = draws_masks || e->model->layer[l].ops == &drove__layer_dropout;
    if (e->repeat == NULL || draws_masks) return put_pass(e);
    drove_accel_recording *r = find(e);
    if (r->sequence == NULL && !r->is_refused && ++r->n_seen >= REPEATS) record(e, r);
    if (r->sequence == NULL) return put_pass(e);
    DROVE_ACCEL_TRY(e, e->ops->follow(e->work, e->present->done));
    DROVE_ACCEL_TRY(e, e->ops->sequences->run(e->work, r->sequence));
    copy_events(&e->now.events, &r->events, e->model->n_layers);
    e->repeat->lender = r;
    e->repeat->n_runs++;
    return DROVE_OK;
}
