/* Data sets of a few numbers for tests of src/pack/. */
#ifndef DROVE_TESTS_UNIT_PACK_PACK_RIG_H
#define DROVE_TESTS_UNIT_PACK_PACK_RIG_H

#include "base/mem.h"
#include "base/rng.h"
#include "data/data.h"
#include "model/model.h"
#include "support/status.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

/* Dense examples of x[n][n_features], to be filled in; n_classes 0: values. */
static inline drove_data *rig_data(size_t n, size_t n_features, size_t n_classes)
{
    drove_data    *data = calloc(1, sizeof *data);
    drove_storage *s;
    assert_non_null(data);
    assert_ok(drove__storage_create(&s));
    s->n_rows = data->n_rows = n;
    s->n_features = n_features;
    s->x_kind = DROVE_X_F32;
    s->x_f32 = drove__alloc(n * n_features, sizeof *s->x_f32);
    s->y_kind = n_classes > 0 ? DROVE_Y_CLASS : DROVE_Y_VALUE;
    s->n_classes = n_classes;
    s->n_values = n_classes > 0 ? 0 : 1;
    if (n_classes > 0) s->y_class = calloc(n, sizeof *s->y_class);
    else s->y_value = calloc(n, sizeof *s->y_value);
    data->storage = s;
    return data;
}

/* Two numbers in [-1, 1] and one without meaning; the class is whether the two have the same sign,
 * the value their product: no linear model can tell. */
static inline drove_data *rig_signs(size_t n, size_t n_classes)
{
    drove_data    *data = rig_data(n, 3, n_classes);
    drove_storage *s = data->storage;
    drove_rng      rng;
    drove__rng_seed(&rng, 7, DROVE_RNG_TEST, n_classes);
    for (size_t i = 0; i < n; i++) {
        float *x = s->x_f32 + 3 * i;
        for (size_t k = 0; k < 3; k++) x[k] = (float)(2.0 * drove__rng_uniform(&rng) - 1.0);
        if (n_classes > 0) s->y_class[i] = x[0] * x[1] > 0.0f;
        else s->y_value[i] = 3.0f * x[0] * x[1];
    }
    return data;
}

static inline drove_model_io io_of(const drove_data *data)
{
    return (drove_model_io){.n_features = data->storage->n_features,
                            .n_classes = data->storage->n_classes,
                            .n_values = data->storage->n_classes > 0 ? 0 : 1};
}

#endif
