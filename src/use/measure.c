/* use/measure.c - predictions and targets, chunk by chunk, into a tally. */
#include "use/measure.h"

#include "base/mem.h"
#include "metrics/tally.h"
#include "model/loss.h"

#include <string.h>

/* ---- the constant guess ---- */

size_t drove__target_mean_size(const drove_data *data)
{
    const drove_storage *s = data->storage;
    return s->y_kind == DROVE_Y_VALUE ? drove__storage_n_values(s) : s->n_classes;
}

void drove__target_mean(const drove_data *data, double *out)
{
    const drove_storage *s = data->storage;
    const size_t n = drove__target_mean_size(data);
    double weights = 0.0;
    for (size_t k = 0; k < n; k++) out[k] = 0.0;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        double weight = drove__data_metric_weight(data, row);
        weights += weight;
        switch (s->y_kind) {
        case DROVE_Y_CLASS: out[s->y_class[row]] += weight; break;
        case DROVE_Y_VALUE:
            for (size_t k = 0; k < n; k++) out[k] += weight * (double)s->y_value[row * n + k];
            break;
        case DROVE_Y_LABELS:
            for (uint64_t at = s->label_start[row]; at < s->label_start[row + 1]; at++)
                out[s->label[at]] += weight;
            break;
        }
    }
    for (size_t k = 0; k < n && weights > 0.0; k++) out[k] /= weights;
}

/* ---- rows ---- */

typedef struct measure { /* one call */
    const drove_infer *on;
    const drove_data *data;
    drove_score score;
    drove_tally *tally;     /* NULL: the loss alone */
    double *mean;           /* of the targets: the constant guess */
    int32_t *y_class;       /* [chunk_rows] */
    float *y_value;         /* [chunk_rows][n_values] */
    uint64_t *first, *last; /* [chunk_rows] */
    float *weight;          /* [chunk_rows] */
} measure;

static drove_status take(void *context, const drove_infer_chunk *chunk)
{
    measure *m = context;
    drove_tally_rows rows = {.n_rows = chunk->n_rows, .score = chunk->prob};
    drove__score_add(&m->score, &chunk->score);
    if (m->tally == NULL) return DROVE_OK;
    const drove_storage *s = m->data->storage;
    const size_t n_values = drove__storage_n_values(s);
    for (size_t i = 0; i < chunk->n_rows; i++) {
        size_t row = drove__data_row(m->data, chunk->first + i);
        m->weight[i] = (float)drove__data_metric_weight(m->data, row);
        switch (s->y_kind) {
        case DROVE_Y_CLASS: m->y_class[i] = s->y_class[row]; break;
        case DROVE_Y_VALUE:
            for (size_t k = 0; k < n_values; k++)
                m->y_value[i * n_values + k] =
                    (float)drove__infer_unscaled(m->on, k, (double)s->y_value[row * n_values + k]);
            break;
        case DROVE_Y_LABELS:
            m->first[i] = s->label_start[row];
            m->last[i] = s->label_start[row + 1];
            break;
        }
    }
    rows.y_class = m->y_class;
    rows.y_value = m->y_value;
    rows.label_first = m->first;
    rows.label_last = m->last;
    rows.label = s->label;
    rows.weight = s->weight != NULL ? m->weight : NULL;
    return drove__tally_add(m->tally, &rows);
}

/* ---- the whole ---- */

static const drove_metrics_kind kind_of[] = {[DROVE_Y_CLASS] = DROVE_METRICS_CLASSES,
                                             [DROVE_Y_VALUE] = DROVE_METRICS_VALUES,
                                             [DROVE_Y_LABELS] = DROVE_METRICS_LABELS};

static drove_status make_tally(measure *m, const double *constant, const drove_threshold *threshold)
{
    const drove_storage *s = m->data->storage;
    const size_t n_values = drove__storage_n_values(m->data->storage);
    m->mean = drove__alloc(drove__target_mean_size(m->data), sizeof *m->mean);
    m->y_class = drove__alloc(m->on->chunk_rows, sizeof *m->y_class);
    m->y_value = drove__alloc(m->on->chunk_rows * n_values, sizeof *m->y_value);
    m->first = drove__alloc(m->on->chunk_rows, sizeof *m->first);
    m->last = drove__alloc(m->on->chunk_rows, sizeof *m->last);
    m->weight = drove__alloc(m->on->chunk_rows, sizeof *m->weight);
    if (m->mean == NULL || m->y_class == NULL || m->y_value == NULL || m->first == NULL ||
        m->last == NULL || m->weight == NULL)
        return drove__fail_nomem("metrics", m->on->chunk_rows * sizeof *m->first);
    /* The constant guess: the given one, or the mean of these targets. */
    const size_t n = drove__target_mean_size(m->data);
    if (constant != NULL) memcpy(m->mean, constant, n * sizeof *m->mean);
    else drove__target_mean(m->data, m->mean);
    for (size_t k = 0; constant == NULL && s->y_kind == DROVE_Y_VALUE && k < n; k++)
        m->mean[k] = drove__infer_unscaled(m->on, k, m->mean[k]);
    const drove_tally_options opt = {.kind = kind_of[s->y_kind],
                                     .n_classes = s->n_classes,
                                     .n_columns = m->on->model->n_outputs,
                                     .n_rows = m->data->n_rows,
                                     .is_probability = m->on->model->loss->gives_probability,
                                     .constant = m->mean,
                                     .constant_is_training = constant != NULL,
                                     .class_name = (const char *const *)s->class_name,
                                     .threshold =
                                         threshold != NULL ? *threshold : (drove_threshold){0}};
    return drove__tally_create(&opt, &m->tally);
}

drove_status drove__metrics_measure(const drove_infer *on, const double *constant,
                                    const drove_threshold *threshold, drove_score *score,
                                    drove_metrics **metrics)
{
    measure m = {.on = on, .data = on->data};
    drove_infer infer = *on;
    drove_status status = DROVE_OK;
    infer.with_score = score != NULL;
    infer.prepare = NULL;
    infer.take = take;
    infer.context = &m;
    if (metrics != NULL && (status = make_tally(&m, constant, threshold)) != DROVE_OK) goto fail;
    if ((status = drove__infer_run(&infer)) != DROVE_OK) goto fail;
    if (metrics != NULL) {
        if ((status = drove__tally_metrics(m.tally, metrics)) != DROVE_OK) goto fail;
        /* Errors do not depend on what was subtracted from the targets (data/origin.h); the
         * constant is one of the values themselves. */
        if (m.data->storage->y_kind == DROVE_Y_VALUE && m.data->storage->y_origin != NULL) {
            (*metrics)->constant_value += m.data->storage->y_origin[0];
            for (size_t i = 0; i < (*metrics)->n_pairs; i++) {
                (*metrics)->pair[i].target += m.data->storage->y_origin[0];
                (*metrics)->pair[i].prediction += m.data->storage->y_origin[0];
            }
            for (size_t k = 0; k < (*metrics)->n_values && (*metrics)->per_value != NULL; k++)
                (*metrics)->per_value[k].constant_value += m.data->storage->y_origin[k];
        }
        /* Rows of classes that no model of the training data can name are wrong. */
        const double unseen = m.data->storage->unseen.weight;
        double weight = 0.0;
        if (!(unseen <= 0.0) && m.data->storage->y_kind == DROVE_Y_CLASS) {
            for (size_t i = 0; i < m.data->n_rows; i++)
                weight += drove__data_metric_weight(m.data, drove__data_row(m.data, i));
            (*metrics)->model.accuracy *= weight / (weight + unseen);
            (*metrics)->constant.accuracy *= weight / (weight + unseen);
        }
    }
    if (score != NULL) *score = m.score;
fail:
    drove__tally_destroy(m.tally);
    drove__free(m.mean);
    drove__free(m.y_class);
    drove__free(m.y_value);
    drove__free(m.first);
    drove__free(m.last);
    drove__free(m.weight);
    return status;
}
