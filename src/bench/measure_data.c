/* bench/measure_data.c - random data sets of a given shape, for measurements. */
#include "bench/measure_data.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_ROWS = 4 };

static drove_quant_shape quant_shape(const drove_measure_shape *shape)
{
    size_t n = shape->n_features;
    double stored = shape->index_bits == 0 ? (double)n : fmax(1.0, shape->density * (double)n);
    double row_bytes =
        round(stored) * (drove__number_bits(shape->number) + shape->index_bits) / 8.0;
    if (shape->index_bits == 0) row_bytes = ceil(row_bytes / 64.0) * 64.0;
    double rows = fmin((double)shape->n_bytes / row_bytes, (double)UINT32_MAX);
    return (drove_quant_shape){.number = shape->number,
                               .index_bits = shape->index_bits,
                               .n_rows = rows > LEAST_ROWS ? (size_t)rows : LEAST_ROWS,
                               .n_features = n,
                               .n_stored = (size_t)round(stored),
                               .seed = shape->seed};
}

double drove__measure_bytes(const drove_measure_shape *shape)
{
    drove_quant_shape form = quant_shape(shape);
    double pair = (drove__number_bits(form.number) + form.index_bits) / 8.0;
    return pair * (double)form.n_stored * (double)form.n_rows;
}

drove_status drove__measure_data_create(const drove_measure_shape *shape, drove_measure_data **out)
{
    *out = NULL;
    drove_rng rng;
    drove_measure_data *d = calloc(1, sizeof *d);
    if (d == NULL) return drove__fail_nomem("random examples", sizeof *d);
    const drove_quant_shape form = quant_shape(shape);
    drove_status status = drove__storage_create(&d->storage);
    if (status != DROVE_OK) goto fail;
    drove_storage *s = d->view.storage = d->storage;
    if ((status = drove__quant_random(&form, &s->quant)) != DROVE_OK) goto fail;
    s->x_kind = DROVE_X_QUANT;
    s->n_rows = d->view.n_rows = form.n_rows;
    s->n_features = form.n_features;
    s->y_kind = DROVE_Y_CLASS;
    s->n_classes = 2;
    s->y_class = malloc(s->n_rows * sizeof *s->y_class);
    if (s->y_class == NULL) {
        status = drove__fail_nomem("random classes", s->n_rows * sizeof *s->y_class);
        goto fail;
    }
    drove__rng_seed(&rng, shape->seed, DROVE_RNG_TEST, UINT64_MAX);
    for (size_t i = 0; i < s->n_rows; i++) s->y_class[i] = (int32_t)(drove__rng_u64(&rng) & 1);
    *out = d;
    return DROVE_OK;

fail:
    drove__measure_data_destroy(d);
    return status;
}

void drove__measure_data_destroy(drove_measure_data *data)
{
    if (data == NULL) return;
    drove__storage_release(data->storage);
    free(data);
}

double drove__measure_numbers(const drove_measure_data *data)
{
    const drove_quant *q = data->storage->quant;
    if (q->index_bits == 0) return (double)q->n_features;
    return (double)(q->n_stored - q->n_bridges) / (double)q->n_rows;
}
