/* engine/fixed/shared.c - see shared.h: checking, ranges, laying out, converting.  The shared words
 * are racy (docs/inside/memory-model.md, R8). */
#include "engine/fixed/shared.h"

#include "base/mem.h"
#include "base/racy.h"
#include "kernel/bf16.h"

#include <float.h>
#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* A layer's range: the power of two from this many times its largest first weight on.  Measured
 * with an MLP and LeNet on MNIST: by plain SGD no weight grew to more than a third of that.  By
 * Adam some grow beyond it: 16 bits have room for them, while with 8 the coarser grid costs more
 * than the saturated writes (docs/results/defaults.md). */
static const double RANGE_MARGIN = 2.0, RULE_MARGIN = 8.0;
enum { ROOMY_BITS = 14 };

/* ---- the vector ---- */

/* Only layers whose weights multiply examples have numbers. */
static bool has_numbers(const drove_layer *l)
{
    return l->n_w > 0 && l->w_rank >= 2;
}

static drove_number container(const drove_fixed *f)
{
    return f->model == 0 ? DROVE_F32 : f->model <= 8 ? DROVE_I8 : DROVE_I16;
}

static void add_part(drove_engine_shared *p, size_t layer, size_t offset, size_t length, size_t *at,
                     bool is_tail)
{
    if (length == 0) return;
    p->part[p->n_parts++] = (drove_fixed_part){.offset = offset,
                                               .length = length,
                                               .at = *at,
                                               .layer = layer,
                                               .is_tail = is_tail,
                                               .unit = 1.0f,
                                               .n_groups = 1,
                                               .n_channels = length};
    *at += length;
}

static drove_status lay_out(drove_engine_shared *p)
{
    const drove_model *m = p->model;
    const size_t size = drove__number_size(container(&p->format));
    const size_t per_line = DROVE_CACHE_LINE / size;
    size_t at = 0;
    p->part = calloc(2 * m->n_layers, sizeof *p->part);
    p->of_layer = calloc(m->n_layers, sizeof *p->of_layer);
    if (p->part == NULL || p->of_layer == NULL)
        return drove__fail_nomem("the layout of a model", 2 * m->n_layers * sizeof *p->part);
    for (size_t l = 0; l < m->n_layers; l++)
        if (has_numbers(&m->layer[l]))
            add_part(p, l, m->layer[l].w_offset, m->layer[l].n_w, &at, false);
    size_t n_numbers = (at + per_line - 1) / per_line * per_line;
    p->layout = (drove_layout){.in_bf16 = p->format.in_bf16,
                               .number = container(&p->format),
                               .n_numbers = n_numbers,
                               .tail = n_numbers * size / sizeof(uint32_t)};
    at = p->layout.tail;
    for (size_t l = 0; l < m->n_layers; l++) {
        const drove_layer *y = &m->layer[l];
        if (!has_numbers(y)) add_part(p, l, y->w_offset, y->n_w, &at, true);
        add_part(p, l, y->b_offset, y->n_b, &at, true);
    }
    p->n_words = p->layout.tail + drove__pad_floats(at - p->layout.tail) + DROVE_CACHE_LINE / 4;
    for (size_t i = 0; i < p->n_parts; i++) {
        drove_fixed_part *part = &p->part[i];
        if (part->is_tail) continue;
        p->of_layer[part->layer] = part;
        if (!p->format.by_channel) continue;
        /* Room for the units of channels: the last dimension of weights, and groups the first of a
         * convolution's five. */
        const drove_layer *l = &m->layer[part->layer];
        part->n_channels = l->w_shape[l->w_rank - 1];
        part->n_groups = l->w_rank == 5 ? l->w_shape[0] : 1;
        const size_t n = part->n_groups * part->n_channels;
        part->by = calloc(2 * n, sizeof *part->by);
        if (part->by == NULL)
            return drove__fail_nomem("scales of channels", 2 * n * sizeof *part->by);
        part->inverse = part->by + n;
    }
    return DROVE_OK;
}

/* ---- ranges ---- */

static double largest(const float *w, size_t n)
{
    double most = 0.0;
    for (size_t i = 0; i < n; i++) { /* fmax stops gcc 12 for AArch64 with an internal error */
        const double magnitude = fabs((double)w[i]);
        if (magnitude > most) most = magnitude;
    }
    return most;
}

static double power_from(double least)
{
    int exponent;
    double significand = frexp(least, &exponent);
    return ldexp(1.0, significand == 0.5 ? exponent - 1 : exponent);
}

static drove_status check_unit(const drove_engine_shared *p, double unit, double own, double eta)
{
    const double factor = eta / unit; /* a step is divided by the unit */
    if (unit >= (double)FLT_MIN && unit <= (double)FLT_MAX && factor <= (double)FLT_MAX)
        return DROVE_OK;
    return drove__fail(
        DROVE_E_ARG,
        "--model-range: expected one whose unit, 2^-%u of it, is a normal float, and "
        "by which steps of %g can be divided, found %g",
        p->format.model - 1, eta, own);
}

/* Units of a part's channels beside its layer's, which they do not exceed; a channel of zeros has
 * the layer's.  One of tiny weights gets at least 2^-SPREAD of it, so that its steps and
 * derivatives stay within the range of floats. */
static drove_status set_channels(drove_engine_shared *p, drove_fixed_part *part, const float *theta,
                                 double eta)
{
    enum { SPREAD = 12 };
    const size_t n = part->n_groups * part->n_channels;
    for (size_t i = 0; i < n; i++) part->by[i] = 0.0f;
    for (size_t i = 0; i < part->length; i++) { /* by = largest weights */
        float *most = &part->by[drove__fixed_channel(part, i)];
        const float magnitude = fabsf(theta[part->offset + i]);
        if (magnitude > *most) *most = magnitude;
    }
    for (size_t i = 0; i < n; i++) {
        const double most = p->margin * (double)part->by[i], least = ldexp(1.0, -SPREAD);
        const double range = (double)part->unit * ldexp(1.0, (int)p->format.model - 1);
        const double by = most > 0.0 ? power_from(most) / range : 1.0;
        part->by[i] = (float)(by < least ? least : by > 1.0 ? 1.0 : by);
        part->inverse[i] = 1.0f / part->by[i];
        DROVE_TRY(check_unit(p, (double)part->unit * (double)part->by[i],
                             range * (double)part->by[i], eta));
    }
    return DROVE_OK;
}

/* theta: where training starts; range 0: of each layer, or channel, by itself. */
static drove_status set_units(drove_engine_shared *p, const float *theta, double range, double eta)
{
    p->model_range = 0.0;
    if (p->format.in_bf16) return DROVE_OK; /* their range is that of floats */
    for (size_t i = 0; i < p->n_parts && p->format.model > 0; i++) {
        drove_fixed_part *part = &p->part[i];
        if (part->is_tail) continue;
        double most = p->margin * largest(theta + part->offset, part->length);
        double own = range > 0.0 ? power_from(range) : most > 0.0 ? power_from(most) : 1.0;
        double unit = ldexp(own, 1 - (int)p->format.model);
        DROVE_TRY(check_unit(p, unit, own, eta));
        part->unit = (float)unit;
        if (own > p->model_range) p->model_range = own;
        if (part->by == NULL) continue;
        if (range == 0.0) DROVE_TRY(set_channels(p, part, theta, eta));
        else
            for (size_t c = 0; c < part->n_groups * part->n_channels; c++)
                part->by[c] = part->inverse[c] = 1.0f;
    }
    return DROVE_OK;
}

/* The units follow from the parameters where the run began, which are the same in a resumed run. */
drove_status drove__fixed_set_range(drove_engine_shared *p, double range)
{
    if (range == p->model_range) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--model-range: expected the run's range of %g, found %g by its first "
                       "parameters",
                       range, p->model_range);
}

/* ---- conversions ---- */

/* Rounded at random, or to the nearest without rng. */
static void pack_bf16(drove_rng *rng, const float *theta, size_t n, uint16_t *to)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = rng == NULL ? 0x8000 : drove__rng_below(rng, 1 << 16);
        uint16_t word = 0;
        drovek_bf16_step(&word, -theta[i], 1.0f, (uint16_t)r); /* 0 + theta[i] */
        to[i] = word;
    }
}

static void pack_numbers(const drove_engine_shared *p, drove_rng *rng, const drove_fixed_part *part,
                         const float *theta, void *to)
{
    const double most = drove__fixed_most(p->format.model);
    for (size_t i = 0; i < part->length; i++) {
        double x = (double)theta[part->offset + i] / (double)drove__fixed_unit_at(part, i);
        double q = rng == NULL ? nearbyint(x) : floor(x + drove__rng_uniform(rng));
        q = q > most ? most : q < -most ? -most : q;
        if (p->layout.number == DROVE_I8) ((int8_t *)to)[i] = (int8_t)q;
        else ((int16_t *)to)[i] = (int16_t)q;
    }
}

void drove__fixed_pack(const drove_engine_shared *p, drove_rng *rng, const float *theta,
                       uint32_t *words)
{
    if (!p->rounding.ops->is_unbiased) rng = NULL;
    memset(words, 0, p->n_words * sizeof *words);
    for (size_t i = 0; i < p->n_parts; i++) {
        const drove_fixed_part *part = &p->part[i];
        void *to = drove__fixed_at(p, part, words);
        if (part->is_tail || p->format.model == 0)
            memcpy(to, theta + part->offset, part->length * sizeof *theta);
        else if (p->format.in_bf16) pack_bf16(rng, theta + part->offset, part->length, to);
        else pack_numbers(p, rng, part, theta, to);
    }
}

/* to[n] = words that others may write meanwhile */
static void take_bytes(const drovek_table *k, uint8_t *to, const void *from, size_t n_bytes)
{
    const size_t n_floats = n_bytes / sizeof(float);
    k->copy_f32((float *)(void *)to, from, n_floats);
    for (size_t i = n_floats * sizeof(float); i < n_bytes; i++)
        to[i] = (uint8_t)drove__racy_load_i8((const int8_t *)from + i);
}

static void take_words(const drovek_table *k, const drovek_planes *to, const int16_t *from,
                       size_t n)
{
    enum { SOME = 512 };
    alignas(4) uint16_t word[SOME];
    for (size_t at = 0; at < n; at += SOME) {
        const size_t count = n - at < SOME ? n - at : SOME;
        uint8_t *restrict high = to->high + at, *restrict low = to->low + at; /* so are vectors */
        take_bytes(k, (uint8_t *)word, from + at, 2 * count);
        for (size_t i = 0; i < count; i++) {
            low[i] = (uint8_t)word[i];
            high[i] = (uint8_t)(word[i] >> 8);
        }
    }
}

/* w[length], integers times the layer's unit, get the units of their channels. */
static void scale_channels(const drove_fixed_part *part, float *w)
{
    const size_t n = part->n_channels;
    if (part->by == NULL) return;
    for (size_t row = 0; row < part->length / n; row++) {
        const float *by = part->by + row * n * part->n_groups / part->length * n;
        for (size_t c = 0; c < n; c++) w[row * n + c] *= by[c];
    }
}

void drove__fixed_unpack_planes(const drove_engine_shared *p, const uint32_t *words, float *theta,
                                float *tail, drovek_planes *weight)
{
    for (size_t i = 0; i < p->n_parts; i++) {
        const drove_fixed_part *part = &p->part[i];
        const void *from = drove__fixed_at(p, part, (uint32_t *)(uintptr_t)words);
        drovek_planes *to = &weight[part->layer];
        if (part->is_tail) {
            p->kernels->copy_f32(tail + part->offset, from, part->length);
            continue;
        }
        if (p->layout.number == DROVE_I8) take_bytes(p->kernels, to->high, from, part->length);
        else take_words(p->kernels, to, from, part->length);
        to->unit = part->unit;
        to->by = part->by;
        for (size_t k = 0; theta != NULL && k < part->length; k++)
            theta[part->offset + k] = (float)drovek_planes_at(to, k) * part->unit;
        if (theta != NULL) scale_channels(part, theta + part->offset);
    }
}

void drove__fixed_unpack_part(const drove_engine_shared *p, const drove_fixed_part *part,
                              const uint32_t *words, float *theta)
{
    const void *from = drove__fixed_at(p, part, (uint32_t *)(uintptr_t)words);
    float *to = theta + part->offset;
    if (part->is_tail || p->format.model == 0) {
        p->kernels->copy_f32(to, from, part->length);
    } else if (p->format.in_bf16) {
        p->kernels->widen_bf16(to, from, part->length);
    } else if (p->layout.number == DROVE_I8) {
        for (size_t k = 0; k < part->length; k++)
            to[k] = (float)drove__racy_load_i8((const int8_t *)from + k) * part->unit;
        scale_channels(part, to);
    } else {
        for (size_t k = 0; k < part->length; k++)
            to[k] = (float)drove__racy_load_i16((const int16_t *)from + k) * part->unit;
        scale_channels(part, to);
    }
}

void drove__fixed_unpack(const drove_engine_shared *p, const uint32_t *words, float *theta)
{
    for (size_t i = 0; i < p->n_parts; i++) drove__fixed_unpack_part(p, &p->part[i], words, theta);
}

/* ---- the whole ---- */

drove_status drove__fixed_prepare(const drove_prepare_options *opt, drove_engine_shared **out)
{
    drove_engine_shared *p = calloc(1, sizeof *p);
    if (p == NULL) return drove__fail_nomem("a low-precision run", sizeof *p);
    p->model = opt->model;
    p->kernels = opt->kernels;
    p->weight_decay = opt->weight_decay;
    p->each = opt->each > 0 ? opt->each : 1;
    p->seed = opt->seed;
    drove_status status = drove__fixed_parse(opt->precision, &p->format);
    if (status != DROVE_OK) goto fail;
    if (drove__storage_is_sparse(opt->data->storage))
        status = drove__fail(DROVE_E_ARG,
                             "--precision %s: expected dense data for a network, found sparse data",
                             p->format.text);
    else if (opt->model->n_statistics > 0)
        status = drove__fail(DROVE_E_ARG,
                             "--precision %s: expected a network without batch normalisation, "
                             "found %s",
                             p->format.text, opt->model->spec);
    else if (p->format.in_bf16 && opt->model_range > 0.0)
        status = drove__fail(DROVE_E_ARG, "--model-range: expected none for %s, found %g",
                             p->format.text, opt->model_range);
    if (status != DROVE_OK) goto fail;
    if ((status = drove__rounding_parse(opt->rounding, &p->rounding)) != DROVE_OK) goto fail;
    if ((status = lay_out(p)) != DROVE_OK) goto fail;
    const bool has_room = opt->by_rule && p->format.model >= ROOMY_BITS;
    p->margin = has_room ? RULE_MARGIN : RANGE_MARGIN;
    if ((status = set_units(p, opt->theta, opt->model_range, opt->eta)) != DROVE_OK) goto fail;
    *out = p;
    return DROVE_OK;
fail:
    drove__fixed_dismiss(p);
    return status;
}

void drove__fixed_dismiss(drove_engine_shared *p)
{
    if (p == NULL) return;
    for (size_t i = 0; i < p->n_parts; i++) free(p->part[i].by);
    free(p->part);
    free(p->of_layer);
    free(p);
}
