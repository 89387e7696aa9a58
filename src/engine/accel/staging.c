/* engine/accel/staging.c - a batch in a staging buffer, pinned memory and its copy on the device;
 * see state.h.
 *
 * All parts of a batch lie behind each other in one piece of pinned memory, and go over in one
 * copy.  Dense examples are gathered straight into it; those that are stored as bytes as such, and
 * the pass widens and scales them (a quarter of the bytes for the bus, and for the host to write).
 * Their shift and factor go over when they are not those of the buffer's last batch.  Sparse ones
 * become compressed rows whose indices count the features that the batch touches, together with the
 * transpose, made by counting: so that the device sums each feature's gradient in a fixed order,
 * without atomic additions, and sees no more of the first layer than was touched.
 */
#include "base/mem.h"
#include "engine/accel/state.h"

#include <string.h>

/* ---- memory ---- */

static drove_status reserve(drove_engine *e, drove_accel_staging *s, size_t n)
{
    void *memory;
    if (n <= s->n_room) return DROVE_OK;
    drove__repeat_forget(e, s);
    e->ops->host_free(e->accel, s->host);
    e->ops->free(e->accel, s->device);
    s->host = NULL;
    s->device = NULL;
    s->n_room = 0;
    DROVE_TRY(drove__accel_host_alloc(e, n, "examples of a batch", &memory));
    s->host = memory;
    DROVE_TRY(e->ops->alloc(e->accel, n, &s->device));
    s->n_room = n;
    return DROVE_OK;
}

static drove_status reserve_spans(drove_accel_staging *s, size_t n)
{
    if (n <= s->n_span_room) return DROVE_OK;
    drove__free(s->span);
    s->n_span_room = 0;
    s->span = drove__alloc(n, sizeof *s->span);
    if (s->span == NULL) return drove__fail_nomem("touched features", n * sizeof *s->span);
    s->n_span_room = n;
    return DROVE_OK;
}

/* The most spans that n_pairs pairs can make, and one for what follows them. */
static size_t most_spans(const drove_engine *e, size_t n_pairs)
{
    size_t most = e->model->n_inputs / 2 + 1;
    return (n_pairs < most ? n_pairs : most) + 1;
}

drove_status drove__staging_init(drove_engine *e, drove_accel_staging *s, const drove_data *data)
{
    size_t n_pairs = e->max_rows * drove__gather_longest(data);
    size_t n_touched = drove__accel_most_touched(e->model, data, e->max_rows);
    drove_accel_layout at =
        drove__accel_layout(e->model, data, e->takes_bytes, e->max_rows, n_pairs, n_touched,
                            e->max_rows * drove__accel_longest_labels(data));
    s->row = drove__alloc(e->max_rows, sizeof *s->row);
    if (s->row == NULL) return drove__fail_nomem("rows of a batch", e->max_rows * sizeof *s->row);
    if (e->is_sparse) DROVE_TRY(reserve_spans(s, most_spans(e, n_pairs)));
    return reserve(e, s, at.n);
}

void drove__staging_fini(drove_engine *e, drove_accel_staging *s)
{
    e->ops->event_destroy(s->begun);
    e->ops->event_destroy(s->done);
    e->ops->host_free(e->accel, s->host);
    e->ops->free(e->accel, s->device);
    e->ops->host_free(e->accel, s->scaling.host);
    e->ops->free(e->accel, s->scaling.device);
    drove__free(s->span);
    drove__free(s->row);
    memset(s, 0, sizeof *s);
}

bool drove__staging_holds(const drove_accel_staging *s, const drove_batch *batch, bool is_training)
{
    bool same_choices = s->number == batch->number && s->is_training == is_training;
    if (drove__augment_is_on(&batch->data->augment) && !same_choices) return false;
    return s->is_full && s->data == batch->data && s->n_rows == batch->n_rows &&
           memcmp(s->row, batch->row, s->n_rows * sizeof *s->row) == 0;
}

/* ---- scaling of bytes ---- */

/* The buffer's batch, and so an earlier copy of its scaling, is done. */
static drove_status write_scaling(drove_engine *e, drove_accel_staging *staging)
{
    const drove_data *data = staging->data;
    drove_accel_scaling *s = &staging->scaling;
    const size_t n = e->model->n_inputs, n_bytes = n * sizeof(float);
    if (!staging->is_scaled) return DROVE_OK;
    if (s->is_set && memcmp(s->host, data->shift, n_bytes) == 0 &&
        memcmp(s->host + n, data->factor, n_bytes) == 0)
        return DROVE_OK;
    if (s->host == NULL) {
        void *memory;
        DROVE_TRY(drove__accel_host_alloc(e, 2 * n, "scaling", &memory));
        s->host = memory;
    }
    if (s->device == NULL) DROVE_TRY(e->ops->alloc(e->accel, 2 * n, &s->device));
    memcpy(s->host, data->shift, n_bytes);
    memcpy(s->host + n, data->factor, n_bytes);
    s->is_set = true;
    return drove__accel_try(e,
                            e->ops->write(e->up, drove__accel_view(s->device, 0), s->host, 2 * n));
}

/* ---- sparse examples ---- */

/* Which features the batch touches, as spans, and their numbers in e->place. */
static drove_status find_touched(drove_engine *e, drove_accel_staging *s, const drove_input *in,
                                 size_t n_pairs)
{
    DROVE_TRY(reserve_spans(s, most_spans(e, n_pairs)));
    for (size_t i = 0; i < in->n_rows; i++) {
        for (uint64_t at = in->first[i]; at < in->last[i]; at++)
            drove__touched_add(&e->touched, in->index[at]);
    }
    s->n_spans = drove__touched_drain(&e->touched, 0, 1, s->span);
    s->n_touched = 0;
    for (size_t k = 0; k < s->n_spans; k++) {
        for (size_t j = 0; j < s->span[k].length; j++)
            e->place[s->span[k].offset + j] = (uint32_t)s->n_touched++;
    }
    return DROVE_OK;
}

/* Rows and their transpose.  t_start[f + 1] first counts feature f's pairs, then is where its next
 * pair goes, and at the end where its pairs end. */
static void lay_out(const drove_engine *e, drove_accel_staging *s, const drove_input *in)
{
    uint32_t *word = (uint32_t *)s->host;
    uint32_t *start = word + s->at.start, *index = word + s->at.index;
    uint32_t *t_start = word + s->at.t_start, *t_index = word + s->at.t_index;
    float *value = s->host + s->at.value, *t_value = s->host + s->at.t_value;
    uint32_t to = 0;
    memset(t_start, 0, (s->n_touched + 1) * sizeof *t_start);
    for (size_t i = 0; i < in->n_rows; i++) {
        start[i] = to;
        for (uint64_t at = in->first[i]; at < in->last[i]; at++, to++) {
            index[to] = e->place[in->index[at]];
            if (in->value != NULL) value[to] = in->value[at];
            if (index[to] + 2 <= s->n_touched) t_start[index[to] + 2]++;
        }
    }
    start[in->n_rows] = to;
    for (size_t f = 2; f <= s->n_touched; f++) t_start[f] += t_start[f - 1];
    for (size_t i = 0; i < in->n_rows; i++) {
        for (uint32_t at = start[i]; at < start[i + 1]; at++) {
            uint32_t place = t_start[index[at] + 1]++;
            t_index[place] = (uint32_t)i;
            if (in->value != NULL) t_value[place] = value[at];
        }
    }
}

/* ---- targets ---- */

static void lay_out_target(const drove_engine *e, drove_accel_staging *s,
                           const drove_target *target)
{
    uint32_t *word = (uint32_t *)s->host, to = 0;
    void *at = s->host + s->at.target;
    if (target->y_class != NULL) memcpy(at, target->y_class, s->n_rows * sizeof(int32_t));
    if (target->y_value != NULL)
        memcpy(at, target->y_value, s->n_rows * e->model->n_outputs * sizeof(float));
    if (target->weight != NULL)
        memcpy(s->host + s->at.weight, target->weight, s->n_rows * sizeof(float));
    if (target->label_first == NULL) return;
    for (size_t i = 0; i < s->n_rows; i++) {
        word[s->at.label_start + i] = to;
        for (uint64_t k = target->label_first[i]; k < target->label_last[i]; k++)
            word[s->at.label + to++] = target->label[k];
    }
    word[s->at.label_start + s->n_rows] = to;
}

/* ---- all of it ---- */

/* The examples as a pass takes them.  Dense ones go to the start of the buffer's memory: copied, if
 * another thread has loaded them, else gathered. */
static drove_status load(drove_engine *e, drove_accel_staging *s, const drove_batch *batch,
                         bool is_training, drove_input *in)
{
    const drove_loaded *loaded = is_training ? batch->loaded : NULL;
    float *into = e->is_sparse ? NULL : s->host;
    *in = (drove_input){.n_rows = batch->n_rows};
    if (s->is_bytes) return drove__gather_bytes(&e->gather, batch, (uint8_t *)s->host);
    if (loaded == NULL) return drove__gather_load(&e->gather, batch, is_training, into, in);
    if (batch->n_rows == 0 || batch->n_rows > e->max_rows) {
        return drove__fail(DROVE_E_ARG, "batch of %zu examples: expected 1 to %zu", batch->n_rows,
                           e->max_rows);
    }
    *in = loaded->in;
    if (into != NULL) memcpy(into, in->dense, batch->n_rows * e->model->n_inputs * sizeof *into);
    return DROVE_OK;
}

static drove_status gather(drove_engine *e, drove_accel_staging *s, const drove_batch *batch,
                           bool is_training)
{
    drove_input in;
    drove_target target;
    const drove_data *data = batch->data;
    bool is_sparse = drove__storage_is_sparse(data->storage);
    if (is_sparse != e->is_sparse) {
        return drove__fail(DROVE_E_SHAPE, "%s examples: the engine was made for %s ones",
                           is_sparse ? "sparse" : "dense", e->is_sparse ? "sparse" : "dense");
    }
    DROVE_TRY(drove__accel_pass_accepts(e->model, data));

    /* Room for dense examples in the form that they come in: floats need more than the bytes that
     * the buffer may have been made for. */
    const bool has_loaded = is_training && batch->loaded != NULL;
    s->is_bytes = e->takes_bytes && drove__gather_has_bytes(data) && !has_loaded;
    s->is_scaled = s->is_bytes && data->factor != NULL;
    if (!e->is_sparse)
        DROVE_TRY(reserve(
            e, s, drove__accel_layout(e->model, data, s->is_bytes, e->max_rows, 0, 0, 0).n));
    DROVE_TRY(load(e, s, batch, is_training, &in));
    if (has_loaded) target = batch->loaded->target;
    else drove__targets_load(&e->gather.targets, data, NULL, batch->row, batch->n_rows, &target);
    s->n_rows = batch->n_rows;
    size_t n_pairs = 0, n_labels = 0;
    for (size_t i = 0; is_sparse && i < in.n_rows; i++)
        n_pairs += (size_t)(in.last[i] - in.first[i]);
    for (size_t i = 0; target.label_first != NULL && i < s->n_rows; i++)
        n_labels += (size_t)(target.label_last[i] - target.label_first[i]);
    if (is_sparse) DROVE_TRY(find_touched(e, s, &in, n_pairs));
    drove_accel_layout at = drove__accel_layout(e->model, data, s->is_bytes, batch->n_rows, n_pairs,
                                                s->n_touched, n_labels);
    if (at.n > s->n_room) {
        DROVE_TRY(reserve(e, s, at.n));
        if (!is_sparse) DROVE_TRY(load(e, s, batch, is_training, &in));
    }
    s->at = at;
    s->is_sparse = is_sparse;
    s->has_value = is_sparse && in.value != NULL;
    if (is_sparse) lay_out(e, s, &in);
    lay_out_target(e, s, &target);
    return DROVE_OK;
}

drove_status drove__staging_fill(drove_engine *e, drove_accel_staging *s, const drove_batch *batch,
                                 bool is_training)
{
    /* An earlier copy out of the buffer's memory may still be under way. */
    s->is_full = false;
    if (s->done != NULL) DROVE_ACCEL_TRY(e, e->ops->wait(s->done, UINT64_MAX));
    e->ops->event_destroy(s->begun);
    e->ops->event_destroy(s->done);
    s->begun = s->done = NULL;
    DROVE_TRY(gather(e, s, batch, is_training));
    s->number = batch->number;
    s->is_training = is_training;
    memcpy(s->row, batch->row, batch->n_rows * sizeof *s->row);
    s->data = batch->data;
    DROVE_ACCEL_TRY(e, e->ops->record(e->up, &s->begun));
    DROVE_TRY(write_scaling(e, s));
    DROVE_ACCEL_TRY(e, e->ops->write(e->up, drove__accel_view(s->device, 0), s->host, s->at.n));
    DROVE_ACCEL_TRY(e, e->ops->record(e->up, &s->done));
    DROVE_ACCEL_TRY(e, e->ops->flush(e->up));
    s->is_full = true;
    return DROVE_OK;
}
