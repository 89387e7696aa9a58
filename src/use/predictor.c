/* use/predictor.c - a trained model in memory.
 *
 * Rows go through a session: an engine with a data set of its own, whose examples are the caller's
 * rows while it is used.  Sessions are kept, so a call allocates nothing; there are as many as
 * threads have ever predicted at once.
 */
#include "base/alive.h"
#include "base/available.h"
#include "base/cpu.h"
#include "base/fork.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "data/arrays.h"
#include "data/matrix.h"
#include "data/origin.h"
#include "engine/engine.h"
#include "model/loss.h"
#include "use/arrow.h"
#include "use/infer.h"
#include "use/modelfile.h"
#include "use/opened.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SESSION_ROWS = 64, LEAST_ROWS = 3 }; /* of one pass */

typedef struct session {
    struct session *next;
    drove_engine *engine;
    drove_storage storage;
    drove_data data;
    uint32_t row[SESSION_ROWS];
    float *x;   /* [SESSION_ROWS][n_features], for rows that must be converted */
    float *out; /* [LEAST_ROWS][n_outputs] */
} session;

struct drove_predictor {
    drove_memfile *bytes; /* the model file; empty until it is asked for */
    char name[DROVE_MODEL_NAME_SIZE];
    drove_safetensors tensors; /* as they stand in the file; parameters are those of file.theta */
    drove_modelfile file;
    drove_custom custom; /* the program's own layers */
    drove_predictor_facts facts;
    drovek_table kernels;
    drove_storage storage;  /* the descriptive part of the training data, of which the sessions' */
    drove_data like;        /* and further data are made */
    pthread_mutex_t lock;   /* protects free_sessions, n_users and what bytes holds */
    drove_fork_guard guard; /* of lock: a child of fork predicts, too */
    session *free_sessions;
    size_t n_users; /* the caller, and streams */
};

/* ---- opening ---- */

static void find_facts(drove_predictor *p)
{
    const drove_model *m = p->file.model;
    size_t n_parameters = 0; /* without the padding between layers */
    for (size_t l = 0; l < m->n_layers; l++) n_parameters += m->layer[l].n_w + m->layer[l].n_b;
    p->facts = (drove_predictor_facts){.n_features = p->file.n_inputs,
                                       .n_outputs = m->n_outputs,
                                       .n_classes = p->file.io.n_classes,
                                       .n_parameters = n_parameters,
                                       .n_tensors = p->tensors.n_tensors,
                                       .is_multi_label = p->file.io.is_multi_label,
                                       .gives_probability = m->loss->gives_probability,
                                       .is_table = p->file.schema != NULL,
                                       .is_sparse = p->file.x_kind == DROVE_X_CSR,
                                       .model = m->spec,
                                       .loss = m->loss->name};
}

drove_status drove__predictor_open(const char *model, const char *isa, const drove_custom *custom,
                                   drove_predictor **out)
{
    *out = NULL;
    drove_predictor *p = calloc(1, sizeof *p);
    if (p == NULL) return drove__fail_nomem("a predictor", sizeof *p);
    if (custom != NULL) p->custom = *custom;
    (void)pthread_mutex_init(&p->lock, NULL); /* cannot fail with these arguments */
    drove__fork_guard_add(&p->guard, &p->lock, DROVE_FORK_OUTER);
    p->n_users = 1;
    const char *cap = isa != NULL && isa[0] != '\0' ? isa : NULL;
    drove_status status;
    if ((status = drovek_select(&p->kernels, drove__cpu_features(), cap)) != DROVE_OK) goto fail;
    if ((status = drove__memfile_create(NULL, 0, false, &p->bytes)) != DROVE_OK) goto fail;
    drove__model_name(p->bytes, p->name);
    if ((status = drove__modelfile_load_tensors(model, &p->custom, &p->file, &p->tensors)) !=
        DROVE_OK)
        goto fail;
    drove__modelfile_describe(&p->file, &p->storage, &p->like);
    find_facts(p);

    *out = p;
    return DROVE_OK;
fail:
    drove__predictor_release(p);
    return status;
}

drove_status drove_predictor_open(const char *model, const char *isa, drove_predictor **out)
{
    DROVE_GIVEN(model);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    return drove__predictor_open(model, isa, NULL, out);
}

static void free_session(session *s)
{
    if (s->engine != NULL) drove__engine_host.destroy(s->engine);
    drove__free(s->x);
    drove__free(s->out);
    free(s);
}

static void free_sessions(drove_predictor *p)
{
    for (session *next; p->free_sessions != NULL; p->free_sessions = next) {
        next = p->free_sessions->next;
        free_session(p->free_sessions);
    }
}

void drove__predictor_retain(drove_predictor *p)
{
    pthread_mutex_lock(&p->lock);
    p->n_users++;
    pthread_mutex_unlock(&p->lock);
}

void drove__predictor_release(drove_predictor *p)
{
    pthread_mutex_lock(&p->lock);
    const bool is_last = --p->n_users == 0;
    pthread_mutex_unlock(&p->lock);
    if (!is_last) return;
    drove__fork_guard_remove(&p->guard);
    free_sessions(p);
    (void)pthread_mutex_destroy(&p->lock);
    drove__modelfile_fini(&p->file);
    drove__safetensors_fini(&p->tensors);
    drove__memfile_release(p->bytes);
    drove__alive_free(p, free);
}

void drove_predictor_destroy(drove_predictor *p)
{
    if (p == NULL) return;
    DROVE_END(p, "a predictor");
    drove__predictor_release(p);
}

/* ---- what it is ---- */

const drove_predictor_facts *drove__predictor_facts(const drove_predictor *p)
{
    return &p->facts;
}

const drove_predictor_facts *drove_predictor_describe(const drove_predictor *p)
{
    DROVE_ALIVE(p, "a predictor");
    if (p == NULL) return NULL;
    return &p->facts;
}

const char *drove__predictor_class(const drove_predictor *p, size_t i)
{
    const size_t n = p->file.io.n_classes > 0 ? p->file.io.n_classes : p->file.model->n_outputs;
    return p->file.class_name != NULL && i < n ? p->file.class_name[i] : NULL;
}

const char *drove_predictor_class_name(const drove_predictor *p, size_t i)
{
    DROVE_ALIVE(p, "a predictor");
    if (p == NULL) return NULL;
    return drove__predictor_class(p, i);
}

/* The model file in memory: a second copy of the model, which is made for those who ask. */
static drove_status make_bytes(const drove_predictor *p)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&p->lock;
    drove_status status = DROVE_OK;
    pthread_mutex_lock(lock);
    if (p->bytes->n_bytes == 0) status = drove__modelfile_write_tensors(p->name, &p->tensors);
    pthread_mutex_unlock(lock);
    return status;
}

const char *drove_predictor_name(const drove_predictor *p)
{
    DROVE_ALIVE(p, "a predictor");
    if (p == NULL) return NULL;
    DROVE_IN_C_LOCALE;
    return make_bytes(p) == DROVE_OK ? p->name : NULL;
}

void drove_predictor_bytes(const drove_predictor *p, const void **bytes, size_t *n_bytes)
{
    DROVE_ALIVE(p, "a predictor");
    if (p == NULL || bytes == NULL || n_bytes == NULL) return;
    DROVE_IN_C_LOCALE;
    const bool is_made = make_bytes(p) == DROVE_OK;
    *bytes = is_made ? p->bytes->bytes : NULL;
    *n_bytes = is_made ? p->bytes->n_bytes : 0;
}

drove_status drove_predictor_save(const drove_predictor *p, const char *path)
{
    DROVE_ALIVE(p, "a predictor");
    DROVE_GIVEN_AS(p, "predictor");
    DROVE_GIVEN(path);
    DROVE_IN_C_LOCALE;
    return drove__modelfile_write_tensors(path, &p->tensors);
}

/* ---- rows ---- */

static drove_status take_session(drove_predictor *p, session **out)
{
    pthread_mutex_lock(&p->lock);
    session *s = p->free_sessions;
    if (s != NULL) p->free_sessions = s->next;
    pthread_mutex_unlock(&p->lock);
    *out = s;
    if (s != NULL) return DROVE_OK;
    /* An engine for rows of floats; sparse models take the same numbers as dense rows. */
    s = calloc(1, sizeof *s);
    if (s == NULL) return drove__fail_nomem("predictions", sizeof *s);
    s->storage = p->storage;
    s->storage.x_kind = DROVE_X_F32;
    s->data = p->like;
    s->data.storage = &s->storage;
    for (uint32_t i = 0; i < SESSION_ROWS; i++) s->row[i] = i;
    const drove_engine_options opt = {.model = p->file.model,
                                      .kernels = &p->kernels,
                                      .data = &s->data,
                                      .max_rows = SESSION_ROWS,
                                      .rows = 1,
                                      .infers_only = true};
    s->x = drove__alloc((size_t)SESSION_ROWS * p->file.n_inputs, sizeof *s->x);
    s->out = drove__alloc((size_t)LEAST_ROWS * p->file.model->n_outputs, sizeof *s->out);
    drove_status status = s->x != NULL && s->out != NULL
                              ? drove__engine_host.create(&opt, &s->engine)
                              : drove__fail_nomem("predictions", p->file.n_inputs);
    if (status == DROVE_OK) *out = s;
    else free_session(s);
    return status;
}

/* n <= SESSION_ROWS rows from `first` on.  Fewer than LEAST_ROWS are computed as if there were
 * more: they then go through the same products, and have the same bits, as among others. */
static drove_status predict_rows(const drove_predictor *p, session *s, const drove_matrix *x,
                                 size_t first, size_t n, float *into)
{
    const size_t n_columns = x->n_columns, n_computed = n < LEAST_ROWS ? LEAST_ROWS : n;
    const bool is_plain = n >= LEAST_ROWS && p->file.x_origin == NULL &&
                          x->type == DROVE_TYPE_F32 &&
                          x->column_bytes == (ptrdiff_t)sizeof(float) &&
                          x->row_bytes == (ptrdiff_t)(n_columns * sizeof(float));
    s->storage.n_rows = s->data.n_rows = n_computed;
    /* Examples are only read. */
    s->storage.x_f32 = is_plain ? (float *)(uintptr_t)x->values + first * n_columns : s->x;
    for (size_t i = 0; i < n && !is_plain; i++)
        drove__origin_row(x, first + i, p->file.x_origin, s->x + i * n_columns);
    if (!p->kernels.finite_f32(s->storage.x_f32, n * n_columns))
        return drove__fail(DROVE_E_DATA,
                           "predictions: expected finite numbers, found others in rows %zu to %zu",
                           first, first + n - 1);
    const drove_batch batch = {.data = &s->data, .row = s->row, .n_rows = n_computed};
    float *out = n >= LEAST_ROWS ? into : s->out;
    DROVE_TRY(drove__engine_host.predict(s->engine, p->file.theta, &batch, out));
    if (out != into) memcpy(into, out, n * p->file.model->n_outputs * sizeof *into);
    return DROVE_OK;
}

/* Less the origins of values. */
static drove_status predict_all(drove_predictor *p, const drove_matrix *x, float *into)
{
    const size_t n_outputs = p->file.model->n_outputs;
    session *s;
    if (p->file.schema != NULL || p->file.features.ops != NULL || p->file.x_kind == DROVE_X_CSR)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "predictions: expected a model of dense rows, found one of %s",
                           p->file.schema != NULL         ? "a table"
                           : p->file.features.ops != NULL ? "mapped features"
                                                          : "sparse rows");
    DROVE_TRY(drove__matrix_check(x, "predictions"));
    if (x->n_columns != p->file.n_inputs)
        return drove__fail(
            DROVE_E_SHAPE,
            "predictions: expected rows of %zu numbers, as in the training data, found "
            "%zu",
            p->file.n_inputs, x->n_columns);
    DROVE_TRY(take_session(p, &s));
    const drovek_thread before = drovek_thread_borrow();
    drove_status status = DROVE_OK;
    for (size_t first = 0; first < x->n_rows && status == DROVE_OK; first += SESSION_ROWS) {
        const size_t n = x->n_rows - first < SESSION_ROWS ? x->n_rows - first : SESSION_ROWS;
        status = predict_rows(p, s, x, first, n, into + first * n_outputs);
    }
    drovek_thread_give_back(before);
    pthread_mutex_lock(&p->lock);
    s->next = p->free_sessions;
    p->free_sessions = s;
    pthread_mutex_unlock(&p->lock);
    return status;
}

/* value[n_rows][n_outputs], of values with what was subtracted from the targets. */
static void add_origin(const drove_predictor *p, const float *value, size_t n_rows, double *into)
{
    const size_t n_outputs = p->file.model->n_outputs;
    const double *origin = p->file.y_origin;
    for (size_t i = 0; i < n_rows * n_outputs; i++)
        into[i] = (double)value[i] + (origin != NULL ? origin[i % n_outputs] : 0.0);
}

static void add_origin_to_floats(const drove_predictor *p, float *value, size_t n_rows)
{
    const size_t n_outputs = p->file.model->n_outputs;
    const double *origin = p->file.y_origin;
    for (size_t i = 0; origin != NULL && i < n_rows * n_outputs; i++)
        value[i] = (float)((double)value[i] + origin[i % n_outputs]);
}

drove_status drove_predictor_rows(drove_predictor *p, const drove_matrix *x, float *into)
{
    DROVE_ALIVE(p, "a predictor");
    DROVE_GIVEN_AS(p, "predictor");
    DROVE_GIVEN(x);
    DROVE_GIVEN(into);
    DROVE_TRY(predict_all(p, x, into));
    add_origin_to_floats(p, into, x->n_rows);
    return DROVE_OK;
}

drove_status drove_predictor_rows_f64(drove_predictor *p, const drove_matrix *x, double *into)
{
    DROVE_ALIVE(p, "a predictor");
    DROVE_GIVEN_AS(p, "predictor");
    DROVE_GIVEN(x);
    DROVE_GIVEN(into);
    const size_t n_outputs = p->file.model->n_outputs;
    float value[SESSION_ROWS];
    const bool fits = x->n_rows <= SESSION_ROWS / n_outputs;
    float *all = fits ? value : drove__grow(NULL, x->n_rows, n_outputs * sizeof *all);
    if (all == NULL) return drove__fail_nomem("predictions", x->n_rows * n_outputs * sizeof *all);
    const drove_status status = predict_all(p, x, all);
    if (status == DROVE_OK) add_origin(p, all, x->n_rows, into);
    if (!fits) free(all);
    return status;
}

/* ---- any data ---- */

typedef struct collector {
    float *into;
    size_t n_outputs;
} collector;

static drove_status take(void *context, const drove_infer_chunk *chunk)
{
    const collector *c = context;
    memcpy(c->into + chunk->first * c->n_outputs, chunk->prob,
           chunk->n_rows * c->n_outputs * sizeof *c->into);
    return DROVE_OK;
}

/* Less the origins of values. */
static drove_status apply(const drove_predictor *p, const char *data, unsigned threads,
                          float **into, size_t *n_rows)
{
    DROVE_IN_C_LOCALE;
    drove_data *opened, *seen;
    *into = NULL;
    *n_rows = 0;
    if (threads == 0) threads = drove__processors_available();
    DROVE_TRY(drove__data_open_like(data, &p->like, false, &opened));
    drove_status status;
    if ((status = drove__modelfile_map(&p->file, &p->kernels, threads, opened, &seen)) != DROVE_OK)
        goto fail;
    const drove_data *features = seen != NULL ? seen : opened;
    const size_t n_outputs = p->file.model->n_outputs, rows = drove__score_rows(p->file.model, 1);
    collector c = {.into = drove__grow(NULL, features->n_rows, n_outputs * sizeof(float)),
                   .n_outputs = n_outputs};
    if (c.into == NULL) {
        status = drove__fail_nomem("predictions", features->n_rows * n_outputs * sizeof(float));
        goto fail;
    }
    const drove_infer infer = {.model = p->file.model,
                               .kernels = &p->kernels,
                               .data = features,
                               .theta = p->file.theta,
                               .chunk_rows = rows < features->n_rows ? rows : features->n_rows,
                               .n_threads = threads,
                               .take = take,
                               .context = &c};
    status = drove__infer_run(&infer);
    if (status == DROVE_OK) *into = c.into;
    else free(c.into);
    if (status != DROVE_OK) goto fail;
    *n_rows = opened->n_rows;
fail:
    drove_data_destroy(seen);
    drove_data_destroy(opened);
    return status;
}

drove_status drove__predictor_apply(const drove_predictor *p, const char *data, unsigned threads,
                                    double **into, size_t *n_rows)
{
    float *value;
    *into = NULL;
    DROVE_TRY(apply(p, data, threads, &value, n_rows));
    double *whole = drove__grow(NULL, *n_rows, p->file.model->n_outputs * sizeof *whole);
    if (whole != NULL) add_origin(p, value, *n_rows, whole);
    free(value);
    if (whole == NULL)
        return drove__fail_nomem("predictions", *n_rows * p->file.model->n_outputs * sizeof *whole);
    *into = whole;
    return DROVE_OK;
}

drove_status drove_predictor_apply_f64(drove_predictor *p, const char *data, unsigned threads,
                                       double **into, size_t *n_rows)
{
    DROVE_ALIVE(p, "a predictor");
    DROVE_GIVEN_AS(p, "predictor");
    DROVE_GIVEN(data);
    DROVE_GIVEN(into);
    DROVE_GIVEN(n_rows);
    return drove__predictor_apply(p, data, threads, into, n_rows);
}

drove_status drove_predictor_apply(drove_predictor *p, const char *data, unsigned threads,
                                   float **into, size_t *n_rows)
{
    DROVE_ALIVE(p, "a predictor");
    DROVE_GIVEN_AS(p, "predictor");
    DROVE_GIVEN(data);
    DROVE_GIVEN(into);
    DROVE_GIVEN(n_rows);
    DROVE_TRY(apply(p, data, threads, into, n_rows));
    add_origin_to_floats(p, *into, *n_rows);
    return DROVE_OK;
}

drove_status drove_predictor_remarks(drove_predictor *p, const char *data, char **out)
{
    DROVE_ALIVE(p, "a predictor");
    DROVE_GIVEN_AS(p, "predictor");
    DROVE_GIVEN(data);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    drove_data *opened;
    *out = NULL;
    DROVE_TRY(drove__data_open_like(data, &p->like, false, &opened));
    char *text = strdup(opened->storage->notes);
    drove_data_destroy(opened);
    if (text == NULL) return drove__fail_nomem("remarks", sizeof opened->storage->notes);
    *out = text;
    return DROVE_OK;
}

/* ---- parameters ---- */

static size_t count(const drove_tensor *t)
{
    size_t n = 1;
    for (unsigned i = 0; i < t->rank; i++) n *= t->shape[i];
    return n;
}

drove_status drove_predictor_tensor(const drove_predictor *p, size_t i, drove_tensor_info *out)
{
    DROVE_ALIVE(p, "a predictor");
    DROVE_GIVEN_AS(p, "predictor");
    DROVE_GIVEN(out);
    if (i >= p->tensors.n_tensors)
        return drove__fail(DROVE_E_ARG,
                           "a model: expected one of its %zu tensors, found number %zu",
                           p->tensors.n_tensors, i);
    const drove_tensor *t = &p->tensors.tensor[i];
    *out = (drove_tensor_info){.name = t->name,
                               .n = count(t),
                               .rank = t->rank,
                               .values = t->type == DROVE_T_F32 ? t->bytes : NULL};
    memcpy(out->shape, t->shape, sizeof out->shape);
    return DROVE_OK;
}

/* After a change: the bytes, where somebody has asked for them, and what follows from values. */
static drove_status rewrite(drove_predictor *p, bool is_parameter)
{
    drove_modelfile file;
    drove_safetensors tensors;
    if (is_parameter && p->bytes->n_bytes == 0) return DROVE_OK;
    DROVE_TRY(drove__modelfile_write_tensors(p->name, &p->tensors));
    if (is_parameter) return DROVE_OK;
    DROVE_TRY(drove__modelfile_load_tensors(p->name, &p->custom, &file, &tensors));
    drove__modelfile_fini(&p->file);
    drove__safetensors_fini(&p->tensors);
    p->file = file;
    p->tensors = tensors;
    drove__modelfile_describe(&p->file, &p->storage, &p->like);
    find_facts(p);
    return DROVE_OK;
}

drove_status drove_predictor_set_tensor(drove_predictor *p, const char *name, const float *values,
                                        size_t n)
{
    DROVE_ALIVE(p, "a predictor");
    DROVE_GIVEN_AS(p, "predictor");
    DROVE_GIVEN(name);
    DROVE_GIVEN(values);
    DROVE_IN_C_LOCALE;
    const drove_tensor *t = drove__safetensors_find(&p->tensors, name);
    if (t == NULL || t->type != DROVE_T_F32)
        return drove__fail(DROVE_E_ARG,
                           "a model: expected the name of a tensor of floats, found "
                           "\"%.80s\"",
                           name);
    if (count(t) != n)
        return drove__fail(DROVE_E_SHAPE, "%s: expected %zu numbers, found %zu", name, count(t), n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return drove__fail(DROVE_E_NONFINITE, "%s: number %zu: expected a finite one, found %g",
                               name, i, (double)values[i]);
    float *at = (float *)(uintptr_t)t->bytes; /* in theta or p->tensors, which are ours */
    const bool is_parameter = at >= p->file.theta && at < p->file.theta + p->file.model->n_params;
    float *before = drove__grow(NULL, n > 0 ? n : 1, sizeof *before);
    if (before == NULL) return drove__fail_nomem(name, n * sizeof *before);
    free_sessions(p); /* their engines may keep what they made of the model that goes */
    memcpy(before, at, n * sizeof *before);
    memcpy(at, values, n * sizeof *at);
    drove_status status = rewrite(p, is_parameter);
    if (status != DROVE_OK) memcpy(at, before, n * sizeof *at);
    free(before);
    return status;
}
