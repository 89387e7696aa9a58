/* engine/linear/vector.c - the shared vector of a low-precision run, see problem.h: its scale and
 * layout, and parameters as its numbers and back. */
#include "engine/linear/problem.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

void drove__linear_set_model(drove_engine_shared *p, drove_number model, double range)
{
    size_t bits = drove__number_bits(model), per_line = 8 * (size_t)DROVE_CACHE_LINE / bits;
    p->precision.model = model;
    p->stride = (p->n_features + per_line - 1) / per_line * per_line;
    p->layout = (drove_layout){.number = model,
                               .n_numbers = p->n_outputs * p->stride,
                               .tail = p->n_outputs * p->stride * bits / 32};
    p->n_words = p->layout.tail + drove__pad_floats(p->n_outputs);
    p->model_range = model == DROVE_F32 ? 0.0 : range;
    p->model_scale = model == DROVE_F32 ? 1.0f : (float)(range / drove__number_most(model));
}

/* Equation 4: floor(x + u), u = 1/2 without rng. */
static void pack_row(const drove_engine_shared *p, drove_rng *rng, const float *w, size_t step,
                     void *row)
{
    double most = drove__number_most(p->precision.model);
    for (size_t j = 0; j < p->n_features; j++) {
        float value = w[j * step];
        double x = (double)value / (double)p->model_scale;
        double q = rng == NULL ? nearbyint(x) : floor(x + drove__rng_uniform(rng));
        q = q > most ? most : q < -most ? -most : q;
        switch (p->precision.model) {
        case DROVE_I4: drove__nibble_set(row, j, (int32_t)q); break;
        case DROVE_I8: ((int8_t *)row)[j] = (int8_t)q; break;
        case DROVE_I16: ((int16_t *)row)[j] = (int16_t)q; break;
        default: ((float *)row)[j] = value; break;
        }
    }
}

static void unpack_row(const drove_engine_shared *p, const void *row, float *w, size_t step)
{
    for (size_t j = 0; j < p->n_features; j++) {
        switch (p->precision.model) {
        case DROVE_I4: w[j * step] = (float)drove__nibble_at(row, j) * p->model_scale; break;
        case DROVE_I8: w[j * step] = (float)((const int8_t *)row)[j] * p->model_scale; break;
        case DROVE_I16: w[j * step] = (float)((const int16_t *)row)[j] * p->model_scale; break;
        default: w[j * step] = ((const float *)row)[j]; break;
        }
    }
}

void drove__linear_pack(const drove_engine_shared *p, drove_rng *rng, const float *theta,
                        uint32_t *words)
{
    if (!p->rounding.ops->is_unbiased) rng = NULL;
    const drove_layer *l = &p->model->layer[0];
    size_t row_bytes = drove__numbers_bytes(p->precision.model, p->stride);
    memset(words, 0, p->n_words * sizeof *words);
    for (size_t o = 0; o < p->n_outputs; o++) {
        pack_row(p, rng, theta + l->w_offset + o, p->n_outputs, (char *)words + o * row_bytes);
    }
    memcpy(words + p->layout.tail, theta + l->b_offset, p->n_outputs * sizeof *theta);
}

void drove__linear_unpack(const drove_engine_shared *p, const uint32_t *words, float *theta)
{
    const drove_layer *l = &p->model->layer[0];
    size_t row_bytes = drove__numbers_bytes(p->precision.model, p->stride);
    memset(theta, 0, p->model->n_params * sizeof *theta);
    for (size_t o = 0; o < p->n_outputs; o++) {
        unpack_row(p, (const char *)words + o * row_bytes, theta + l->w_offset + o, p->n_outputs);
    }
    memcpy(theta + l->b_offset, words + p->layout.tail, p->n_outputs * sizeof *theta);
}

drove_status drove__linear_set_range(drove_engine_shared *p, double range)
{
    drove_number model = p->precision.model;
    drove__linear_set_model(p, model, range);
    if (model == DROVE_F32) return DROVE_OK;
    double unit = (double)p->model_scale * (double)p->quant->scale;
    if (isfinite(1.0 / unit) && unit >= (double)FLT_MIN && isfinite(unit)) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--model-range %g: expected one whose unit times that of the data (%g) is a "
                       "normal float, found %g",
                       range, (double)p->quant->scale, unit);
}
