/* elastic/saved.c - saved state of replicas (common.h). */
#include "elastic/common.h"

#include <stdio.h>
#include <string.h>

#define MOST_COUNT ((uint64_t)1 << 62)

static drove_tensor floats(const char *name, unsigned worker, size_t n, const float *bytes)
{
    drove_tensor t = {.type = DROVE_T_F32, .rank = 1, .shape = {n}, .bytes = bytes};
    snprintf(t.name, sizeof t.name, "elastic.%s.%u", name, worker);
    return t;
}

/* Lists the tensors of one worker; out[4]. */
static size_t list_worker(drove_elastic *e, const drove_sync *s, unsigned worker, drove_tensor *out)
{
    const drove_elastic_worker *me = &e->of[worker];
    uint64_t *to = e->progress + (size_t)worker * DROVE_ELASTIC_PROGRESS;
    size_t n = 0;
    out[n++] = floats("w", worker, s->n_vector, me->w);
    if (me->v != NULL) out[n++] = floats("v", worker, s->optim->n, me->v);
    to[0] = me->steps;
    to[1] = me->since;
    to[2] = me->known;
    to[3] = me->period;
    to[4] = 0;
    if (me->codec == NULL) return n;
    to[4] = drove__codec_state(me->codec[0]).number; /* that of all parts */
    out[n++] = floats("residual", worker, s->optim->n, me->residual);
    out[n++] = floats("slice", worker, me->n_slice, me->slice);
    return n;
}

size_t drove__elastic_tensors(drove_elastic *e, drove_sync *s, drove_tensor *out, size_t most)
{
    enum { OF_WORKER = 4, OF_ALL = 2 };
    size_t n = 0;
    for (unsigned i = 0; i < s->n_workers; i++) {
        /* All or nothing: a part could not be restored. */
        if (n + OF_WORKER + OF_ALL > most) return 0;
        if (drove__transport_is_here(e->transport, i)) n += list_worker(e, s, i, out + n);
    }
    out[n] = (drove_tensor){.type = DROVE_T_U64,
                            .rank = 2,
                            .shape = {s->n_workers, DROVE_ELASTIC_PROGRESS},
                            .bytes = e->progress};
    snprintf(out[n].name, sizeof out[n].name, "elastic.progress");
    n++;
    if (!e->saves_c) return n;
    out[n] = floats("c", 0, s->optim->n, e->of[e->transport->first_worker].c);
    snprintf(out[n].name, sizeof out[n].name, "elastic.c");
    return n + 1;
}

/* True if st holds replicas of as many workers. */
static bool holds_replicas(const drove_elastic *e, const drove_sync *s, const drove_safetensors *st)
{
    char name[DROVE_TENSOR_NAME_SIZE];
    const drove_tensor *t = st != NULL ? drove__safetensors_find(st, "elastic.progress") : NULL;
    if (t == NULL || t->rank != 2 || t->shape[0] != s->n_workers) return false;
    for (unsigned i = 0; i < s->n_workers; i++) {
        snprintf(name, sizeof name, "elastic.w.%u", i);
        if (drove__transport_is_here(e->transport, i) && drove__safetensors_find(st, name) == NULL)
            return false;
    }
    return true;
}

static drove_status read_floats(const drove_safetensors *st, const char *what, unsigned worker,
                                size_t n, float *to)
{
    char name[DROVE_TENSOR_NAME_SIZE];
    const void *bytes;
    snprintf(name, sizeof name, "elastic.%s.%u", what, worker);
    DROVE_TRY(drove__safetensors_want(st, name, DROVE_T_F32, n, &bytes));
    memcpy(to, bytes, n * sizeof *to);
    return DROVE_OK;
}

static drove_status read_worker(drove_elastic *e, drove_sync *s, const drove_safetensors *st,
                                unsigned worker)
{
    drove_elastic_worker *me = &e->of[worker];
    const uint64_t *from = e->progress + (size_t)worker * DROVE_ELASTIC_PROGRESS;
    const void *c;
    DROVE_TRY(read_floats(st, "w", worker, s->n_vector, me->w));
    if (me->v != NULL) DROVE_TRY(read_floats(st, "v", worker, s->optim->n, me->v));
    if (e->saves_c) {
        DROVE_TRY(drove__safetensors_want(st, "elastic.c", DROVE_T_F32, s->optim->n, &c));
        memcpy(me->c, c, s->optim->n * sizeof *me->c);
    }
    me->steps = from[0];
    me->since = from[1];
    me->known = from[2];
    if (e->period_is_auto && from[3] >= 1 && from[3] <= DROVE_MOST_PERIOD) me->period = from[3];
    if (me->codec == NULL) return DROVE_OK;
    /* Number of exchanges and residuals of this worker's codecs. */
    DROVE_TRY(read_floats(st, "residual", worker, s->optim->n, me->residual));
    DROVE_TRY(read_floats(st, "slice", worker, me->n_slice, me->slice));
    for (size_t i = 0; i < e->n_parts; i++) drove__codec_set_number(me->codec[i], from[4]);
    return DROVE_OK;
}

static drove_status read_replicas(drove_elastic *e, drove_sync *s, const drove_safetensors *st)
{
    const void *bytes;
    size_t n = (size_t)s->n_workers * DROVE_ELASTIC_PROGRESS;
    DROVE_TRY(drove__safetensors_want(st, "elastic.progress", DROVE_T_U64, n, &bytes));
    memcpy(e->progress, bytes, n * sizeof *e->progress);
    for (size_t i = 0; i < n; i++) {
        if (e->progress[i] > MOST_COUNT)
            return drove__fail(
                DROVE_E_DATA, "tensor \"elastic.progress\": expected counts up to 2^62, found %llu",
                (unsigned long long)e->progress[i]);
    }
    for (unsigned i = 0; i < s->n_workers; i++) {
        if (drove__transport_is_here(e->transport, i)) DROVE_TRY(read_worker(e, s, st, i));
    }
    return DROVE_OK;
}

/* The state is that of another number of workers: all here begin at the centre.  The outer velocity
 * was the same for all and stays; what each had of its own, replica and residual, is gone. */
static drove_status begin_at_centre(drove_elastic *e, drove_sync *s, const drove_params *vector,
                                    const drove_safetensors *st)
{
    const uint64_t published = atomic_load_explicit(&s->published, memory_order_relaxed);
    const bool has_v = st != NULL && drove__safetensors_find(st, "elastic.v.0") != NULL;
    const bool has_c = st != NULL && drove__safetensors_find(st, "elastic.c") != NULL;
    const void *c = vector->theta;
    if (e->saves_c && has_c)
        DROVE_TRY(drove__safetensors_want(st, "elastic.c", DROVE_T_F32, s->optim->n, &c));
    for (unsigned i = 0; i < s->n_workers; i++) {
        drove_elastic_worker *me = &e->of[i];
        if (!drove__transport_is_here(e->transport, i)) continue;
        memcpy(me->w, vector->theta, s->n_vector * sizeof(float));
        if (me->v != NULL && has_v) DROVE_TRY(read_floats(st, "v", 0, s->optim->n, me->v));
        else if (me->v != NULL) memset(me->v, 0, s->optim->n * sizeof *me->v);
        if (me->residual != NULL) memset(me->residual, 0, s->optim->n * sizeof *me->residual);
        if (me->slice != NULL) memset(me->slice, 0, me->n_slice * sizeof *me->slice);
        if (e->saves_c) memcpy(me->c, c, s->optim->n * sizeof(float));
        me->steps = published * s->batches_per_update / s->n_workers;
        me->since = 0;
        me->known = published;
    }
    return DROVE_OK;
}

drove_status drove__elastic_restore(drove_elastic *e, drove_sync *s, const drove_params *vector,
                                    const drove_safetensors *st, bool *found)
{
    *found = holds_replicas(e, s, st);
    return *found ? read_replicas(e, s, st) : begin_at_centre(e, s, vector, st);
}
