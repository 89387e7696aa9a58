/* engine/fixed/write.c - writes a step into the shared weights: whole parts, pieces of a gradient
 * as they come, or by products that write the weights themselves.
 *
 * Source: De Sa et al., ISCA 2017, section 5.2: w = clamp(w + floor(-eta g / unit + r)).  A rule
 * with state makes a float of each number's step first, which takes the place of -eta g: so one
 * rounding, without bias, is all that words add to a rule.  The words are racy
 * (docs/inside/memory-model.md, R8).
 */
#include "engine/fixed/state.h"

#include "base/racy.h"

#include <math.h>
#include <string.h>

enum {
    STRETCH = DROVE_FIXED_STRETCH,
    SOME = 4 * STRETCH, /* with state, stays in the first-level cache */
    MOST_COLUMNS = 1024
};

/* Numbers beyond the format's range back to its ends; returns how many. */
static size_t clamp(void *words, drove_number number, size_t n, int32_t most)
{
    size_t n_clamped = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t w = number == DROVE_I8 ? drove__racy_load_i8((int8_t *)words + i)
                                       : drove__racy_load_i16((int16_t *)words + i);
        if (w <= most && w >= -most) continue;
        w = w > most ? most : -most;
        if (number == DROVE_I8) drove__racy_store_i8((int8_t *)words + i, (int8_t)w);
        else drove__racy_store_i16((int16_t *)words + i, (int16_t)w);
        n_clamped++;
    }
    return n_clamped;
}

/* g[n], numbers [first, first + n) of a gradient, rows of channels, in units of the channels, times
 * the layer's unit. */
static void divide_channels(const drove_fixed_part *part, size_t first, float *g, size_t n)
{
    const size_t width = part->n_channels;
    for (size_t at = 0, count; at < n; at += count) {
        const size_t group = (first + at) * part->n_groups / part->length;
        const size_t channel = (first + at) % width, left = width - channel;
        const float *inverse = part->inverse + group * width + channel;
        count = left < n - at ? left : n - at;
        for (size_t i = 0; i < count; i++) g[at + i] *= inverse[i];
    }
}

/* Numbers [first, first + length) of a part -= by g. */
static size_t write_numbers(drove_engine *e, const drove_fixed_part *part, uint32_t *into,
                            size_t first, float *gradient, size_t length, float by)
{
    const drove_engine_shared *p = e->p;
    const drove_number m = p->layout.number;
    const drovek_factor factor = {.f = -by / part->unit};
    const size_t size = drove__number_size(m);
    char *words = (char *)drove__fixed_at(p, part, into) + first * size;
    size_t n_clamped = 0;
    if (p->format.in_bf16) {
        uint16_t *narrow = (uint16_t *)(void *)words; /* -= by g */
        for (size_t at = 0; at < length; at += STRETCH) {
            const size_t here = length - at < STRETCH ? length - at : STRETCH;
            drovek_bits *bits = drove__rounder_next(&e->rounder, DROVE_F32, DROVE_I16, false, here);
            p->kernels->sgd_bf16(narrow + at, gradient + at, here, by, bits);
        }
        return 0;
    }
    if (part->by != NULL) divide_channels(part, first, gradient, length);
    for (size_t at = 0; at < length; at += STRETCH) {
        const size_t n = length - at < STRETCH ? length - at : STRETCH;
        const void *g = gradient + at;
        drovek_bits *bits = drove__rounder_next(&e->rounder, DROVE_F32, m, false, n);
        n_clamped +=
            p->kernels->linear.axpy[DROVE_F32][m](words + at * size, &g, &factor, 1, n, bits);
    }
    if (p->format.model % 8 == 0) return n_clamped;
    return n_clamped + clamp(words, m, length, drove__fixed_most(p->format.model));
}

/* A step of numbers [first, first + length) of a part, with the gradient g of these. */
static size_t step_numbers(drove_engine *e, const drove_fixed_part *part, size_t first, float *g,
                           size_t length)
{
    const drove_engine_rule *rule = e->rule;
    size_t n_clamped = 0;
    if (rule == NULL) return write_numbers(e, part, e->now.words, first, g, length, e->now.eta);
    for (size_t at = 0; at < length; at += SOME) {
        const size_t n = length - at < SOME ? length - at : SOME;
        rule->step(rule->context, e->now.number, part->offset + first + at, n, NULL, g + at,
                   e->now.eta);
        n_clamped += write_numbers(e, part, e->now.words, first + at, g + at, n, -1.0f);
    }
    return n_clamped;
}

/* mu v is rounded as a step is, so that products take words there too. */
void drove__fixed_look_ahead(drove_engine *e)
{
    const drove_engine_shared *p = e->p;
    const drove_engine_rule *rule = e->rule;
    p->kernels->copy_f32((float *)(void *)e->ahead, (const float *)(const void *)e->now.words,
                         p->n_words);
    for (size_t i = 0; i < p->n_parts; i++) {
        const drove_fixed_part *part = &p->part[i];
        float *to = e->grad + part->offset;
        if (part->is_tail || p->format.model == 0) {
            rule->look_ahead(rule->context, part->offset, part->length,
                             drove__fixed_at(p, part, e->ahead));
            continue;
        }
        memset(to, 0, part->length * sizeof *to);
        rule->look_ahead(rule->context, part->offset, part->length, to);
        (void)write_numbers(e, part, e->ahead, 0, to, part->length, -1.0f);
    }
}

/* The gradient of a dense layer's weights is written piece by piece, while it is in the cache. */
void drove__fixed_write_gradient(void *context, size_t layer, size_t first, float *g, size_t n)
{
    drove_engine *e = context;
    e->now.n_clamped += step_numbers(e, e->p->of_layer[layer], first, g, n);
    e->now.is_taken[layer] = true;
}

/* factor[n]: by what a step multiplies the sums of a gradient's integers, in units of the weights:
 * -eta / unit, times the units of x and d.  These are powers of two: where nothing leaves the range
 * of floats, the numbers are those that multiplying one after the other gives. */
static bool find_factors(const drove_engine *e, const drove_fixed_part *part,
                         const drovek_planes *x, const drovek_planes *d, float *factor, size_t n)
{
    const float step = -e->now.eta / part->unit, small = 0x1p-60f, large = 0x1p60f;
    if (!(fabsf(step) >= small && fabsf(step) <= large)) return false;
    for (size_t j = 0; j < n; j++) {
        const float unit =
            x->unit * drovek_planes_unit(d, j) * (part->by != NULL ? part->inverse[j] : 1.0f);
        if (!(unit >= small && unit <= large)) return false;
        factor[j] = step * unit;
    }
    return true;
}

static drovek_bits *next_bits(void *context, size_t n)
{
    drove_engine *e = context;
    return drove__rounder_next(&e->rounder, DROVE_F32, e->p->layout.number, false, n);
}

/* For a product that writes the weights of a dense layer. */
typedef struct weights {
    const drove_fixed_part *part;
    void *words;
    size_t n_in, n_out;
    drovek_draws draws;
} weights;

static weights weights_of(drove_engine *e, size_t layer)
{
    const drove_engine_shared *p = e->p;
    const drove_fixed_part *part = p->of_layer[layer];
    const size_t n_out = p->model->layer[layer].n_out;
    return (weights){.part = part,
                     .words = drove__fixed_at(p, part, e->now.words),
                     .n_in = part->length / n_out,
                     .n_out = n_out,
                     .draws = {.next = next_bits, .context = e}};
}

/* The product writes the weights itself, with the bits that write_gradient would give. */
bool drove__fixed_write_product(void *context, size_t layer, const drovek_planes *x,
                                const drovek_planes *d, size_t n_rows)
{
    drove_engine *e = context;
    const drove_engine_shared *p = e->p;
    const weights w = weights_of(e, layer);
    float factor[MOST_COLUMNS];
    if (e->rule != NULL || e->kernels.planes->step == NULL || p->layout.number != DROVE_I8 ||
        w.n_out > MOST_COLUMNS)
        return false;
    if (w.n_out % 8 != 0) return false; /* pieces are no whole draws: of a multiple of 64 rows */
    if (!find_factors(e, w.part, x, d, factor, w.n_out)) return false;
    if (!e->kernels.planes->step(w.n_in, w.n_out, n_rows, x, w.n_in, d, w.n_out, factor, w.words,
                                 &w.draws, &e->now.n_clamped))
        return false;
    if (p->format.model % 8 != 0)
        e->now.n_clamped +=
            clamp(w.words, DROVE_I8, w.part->length, drove__fixed_most(p->format.model));
    e->now.is_taken[layer] = true;
    return true;
}

/* Words get other random bits than write_gradient's: the product draws for other stretches. */
bool drove__fixed_write_words_product(void *context, size_t layer, const float *x, const float *d,
                                      size_t n_rows)
{
    drove_engine *e = context;
    const weights w = weights_of(e, layer);
    if (e->rule != NULL || !e->p->kernels->words->step(w.n_in, w.n_out, n_rows, x, w.n_in, d,
                                                       w.n_out, e->now.eta, w.words, &w.draws))
        return false;
    e->now.is_taken[layer] = true;
    return true;
}

size_t drove__fixed_write_step(drove_engine *e)
{
    const drove_engine_shared *p = e->p;
    size_t n_clamped = 0;

    /* The gradient may have been taken at words ahead; weight decay is that of the parameters. */
    const drove_engine_rule *rule = e->rule;
    if (p->weight_decay > 0.0) {
        if (e->ahead != NULL) drove__fixed_unpack(p, e->now.words, e->theta);
        p->kernels->axpy_f32(e->grad, e->theta, p->model->n_params, (float)p->weight_decay);
    }
    if (rule != NULL && rule->clip != NULL) rule->clip(rule->context, e->grad);
    for (size_t i = 0; i < p->n_parts; i++) {
        const drove_fixed_part *part = &p->part[i];
        if (!part->is_tail && e->now.is_taken[part->layer]) continue;
        float *g = e->grad + part->offset;
        if (!part->is_tail && p->format.model != 0) {
            n_clamped += step_numbers(e, part, 0, g, part->length);
            continue;
        }
        float *w = drove__fixed_at(p, part, e->now.words); /* parameters that are floats */
        if (rule == NULL) p->kernels->sgd_f32(w, w, g, part->length, e->now.eta);
        else rule->step(rule->context, e->now.number, part->offset, part->length, w, g, e->now.eta);
    }
    return n_clamped;
}
