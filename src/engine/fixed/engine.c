/* engine/fixed/engine.c - the engine of networks in fixed point: one update after the other.
 *
 * Source: De Sa et al., ISCA 2017, sections 5.2 and 7.  In a step numbers are rounded where they
 * are written, and nowhere else:
 *
 *   examples, layers' outputs (D), derivatives at layers' outputs (G)
 *       integer * 2^e for each array of a batch, e the least with which its largest magnitude fits;
 *       the integer is floor(x / 2^e + r)
 *   weights (M)
 *       w = clamp(w + floor(-eta g / unit + r)), in place, by the AXPY of kernel/linear.h
 *
 * With scales by channel weights and derivatives have a unit for each output channel o, u(o) and
 * g(o), with one product s = u(o) g(o) for all of a layer.  So the sum over o in the derivative at
 * the input is one of integers times s; forward, and in the gradient of the weights, channels are
 * columns, each with its own unit.
 *
 * r is random in [0, 1), or 1/2: --rounding.  Products and sums of such numbers are floats, which
 * hold those of integers of up to 8 bits exactly, as long as a sum has less than 1040 terms.  Where
 * a processor multiplies such integers faster than floats, the products are made by that.
 * Everything else is the host engine's.  Evaluation uses the parameters as floats and does not
 * round.
 *
 * With bf16?masters=bf16 only the weights are narrow: they are upper halves of floats, written by
 * the slot sgd_bf16.  Products round their factors to bf16 (docs/bf16.md).
 *
 * Widths below those of the container (8, 16) are clamped after the write: another worker may see a
 * number beyond the range for that long.
 *
 * Threads: an engine belongs to one thread; the shared words are racy (docs/memory-model.md, R8).
 */
#include "engine/fixed/round.h"
#include "engine/fixed/shared.h"

#include "base/mem.h"
#include "base/racy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRETCH = DROVE_FIXED_STRETCH, MOST_COLUMNS = 1024 };

struct drove_engine {
    const drove_engine_shared *p;
    drove_engine *host;  /* of steps                      */
    drove_engine *judge; /* of evaluation: floats throughout */
    drove_rounder rounder;
    drove_round round;     /* for the host's passes */
    drovek_table kernels;  /* narrowed as the host's */
    drovek_planes *weight; /* [n_layers] this thread's copy of the weights' words; NULL: floats */
    uint8_t *weights;      /* memory of weight */
    struct {               /* the step under way */
        uint32_t *words;
        float eta;
        size_t n_clamped;
        bool *is_taken; /* [n_layers] its weights are written already */
    } now;
    float *theta, *grad; /* [n_params] */
};

/* ---- rounding arrays ---- */

static void round_array(drove_engine *e, unsigned bits, const drove_fixed_channels *channels,
                        const float *x, float *to, size_t n, uint32_t largest,
                        drovek_planes *planes)
{
    const drovek_table *k = &e->kernels;
    if (planes != NULL) {
        if (channels == NULL && largest == (uint32_t)DROVE_LARGEST_UNKNOWN)
            largest = k->largest_f32(x, n);
        drove__fixed_round_planes(k, &e->rounder, bits, channels, x, to, n, largest, planes);
        return;
    }
    if (to != x) memcpy(to, x, n * sizeof *to);
    drove__fixed_round(k, &e->rounder, bits, channels, to, n);
}

/* Copies x[n], integers times units, to `to` where that is another array, and writes the integers
 * as bytes into planes (NULL: none). */
static void keep_array(drove_engine *e, unsigned bits, const drove_fixed_channels *channels,
                       const float *x, float *to, size_t n, uint32_t largest, drovek_planes *planes)
{
    const drovek_table *k = &e->kernels;
    if (to != NULL && to != x) memcpy(to, x, n * sizeof *to);
    if (planes == NULL || bits == 0) return;
    if (channels == NULL && largest == (uint32_t)DROVE_LARGEST_UNKNOWN)
        largest = k->largest_f32(x, n);
    drove__fixed_keep_planes(k, bits, channels, x, n, largest, planes);
}

static void round_values(void *context, const drove_rounded *of, const float *x, float *to,
                         size_t n, uint32_t largest, drovek_planes *planes)
{
    drove_engine *e = context;
    if (of->is_rounded) keep_array(e, e->p->format.data, NULL, x, to, n, largest, planes);
    else round_array(e, e->p->format.data, NULL, x, to, n, largest, planes);
}

/* Of a layer whose weights have units by channel the derivatives have the inverse ones. */
static void round_derivatives(void *context, const drove_rounded *of, const float *x, float *to,
                              size_t n, uint32_t largest, drovek_planes *planes)
{
    drove_engine *e = context;
    const drove_fixed_part *part = e->p->of_layer[of->layer];
    const bool by_channel = part != NULL && part->by != NULL;
    const drove_fixed_channels channels = {.by = by_channel ? part->by : NULL,
                                           .inverse = by_channel ? part->inverse : NULL,
                                           .n = by_channel ? part->n_groups * part->n_channels : 0,
                                           .n_places = of->n_places,
                                           .block = of->block};
    const drove_fixed_channels *units = by_channel ? &channels : NULL;
    const unsigned bits = e->p->format.gradient;
    if (of->is_rounded) keep_array(e, bits, units, x, to, n, largest, planes);
    else round_array(e, bits, units, x, to, n, largest, planes);
}

/* ---- making ---- */

/* Where everything that products take is rounded, they may be those of integers.  Derivatives are
 * rounded at a layer's output; behind an activation with slopes of its own they are no integers.
 * Products that look for the integers of floats know one unit for a whole factor. */
static drovek_factors factors_of(const drove_engine_shared *p)
{
    const unsigned bits = 8; /* 7 and a sign */
    const drove_fixed *f = &p->format;
    const drove_model *model = p->model;
    if (f->data == 0 || f->model == 0 || f->gradient == 0) return DROVEK_FACTORS_F32;
    if (f->by_channel && p->kernels->integers == NULL) return DROVEK_FACTORS_F32;
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *y = &model->layer[l];
        if (y->n_w > 0 && y->act != DROVEK_LINEAR && y->act != DROVEK_RELU)
            return DROVEK_FACTORS_F32;
    }
    const unsigned n_wide = (f->data > bits) + (f->model > bits) + (f->gradient > bits);
    return n_wide == 0   ? DROVEK_FACTORS_I8
           : n_wide == 1 ? DROVEK_FACTORS_I8_I16 /* no product is of two of these arrays' kinds */
                         : DROVEK_FACTORS_I16;
}

static void destroy(drove_engine *e)
{
    if (e == NULL) return;
    drove__engine_host.destroy(e->host);
    drove__engine_host.destroy(e->judge);
    drove__rounder_fini(&e->rounder);
    drove__free(e->theta);
    drove__free(e->grad);
    drove__free(e->weights);
    free(e->weight);
    free(e->now.is_taken);
    free(e);
}

/* Room for the integers of all weights. */
static drove_status make_weights(drove_engine *e)
{
    const drove_engine_shared *p = e->p;
    const size_t n_planes = p->layout.number == DROVE_I8 ? 1 : 2, line = DROVE_CACHE_LINE;
    size_t n_bytes = 0;
    for (size_t i = 0; i < p->n_parts; i++)
        if (!p->part[i].is_tail) n_bytes += n_planes * (p->part[i].length + 2 * line);
    e->weight = calloc(p->model->n_layers, sizeof *e->weight);
    e->weights = drove__alloc(n_bytes, 1);
    if (e->weight == NULL || e->weights == NULL) return drove__fail_nomem("weights", n_bytes);
    uint8_t *next = e->weights;
    for (size_t i = 0; i < p->n_parts; i++) {
        const drove_fixed_part *part = &p->part[i];
        const size_t size = (part->length + line - 1) / line * line + line;
        if (part->is_tail) continue;
        e->weight[part->layer] = (drovek_planes){.high = next};
        if (n_planes == 2) e->weight[part->layer].low = next + size;
        next += n_planes * size;
    }
    return DROVE_OK;
}

static drove_gradient_fn write_gradient;
static drove_product_fn write_product;

/* Weight decay adds to the whole gradient first. */
static bool takes_gradients(const drove_engine_shared *p)
{
    return p->format.model > 0 && !p->format.in_bf16 && p->weight_decay == 0.0;
}

static drove_status build(drove_engine *e, const drove_engine_options *opt)
{
    const drove_engine_shared *p = e->p;
    const size_t n = p->model->n_params;
    drove_engine_options host = *opt;
    e->theta = drove__alloc(n, sizeof *e->theta);
    e->grad = drove__alloc(n, sizeof *e->grad);
    e->now.is_taken = calloc(p->model->n_layers, sizeof *e->now.is_taken);
    if (e->theta == NULL || e->grad == NULL || e->now.is_taken == NULL)
        return drove__fail_nomem("engine", 2 * n * sizeof *e->theta);
    DROVE_TRY(drove__rounder_init(&e->rounder, &p->rounding,
                                  drovek_blocks(DROVE_F32, DROVE_I16, STRETCH)));
    e->round = (drove_round){.values = round_values,
                             .derivatives = round_derivatives,
                             .gradient = takes_gradients(p) ? write_gradient : NULL,
                             .product = takes_gradients(p) ? write_product : NULL,
                             .context = e,
                             .factors = factors_of(p),
                             .is_wide_value = p->format.data > 8,
                             .is_wide_derivative = p->format.gradient > 8};
    e->kernels = drovek_narrow(p->kernels, e->round.factors);
    if (e->kernels.planes != NULL) DROVE_TRY(make_weights(e));
    e->round.weight = e->weight;
    host.shared = NULL;
    host.max_rows = p->each < opt->max_rows ? p->each : opt->max_rows;
    host.round = p->format.data > 0 || p->format.gradient > 0 ? &e->round : NULL;
    DROVE_TRY(drove__engine_host.create(&host, &e->host));
    host.max_rows = opt->max_rows;
    host.round = NULL;
    host.infers_only = true;
    return drove__engine_host.create(&host, &e->judge);
}

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    *out = NULL;
    drove_engine *e = calloc(1, sizeof *e);
    if (e == NULL) return drove__fail_nomem("engine", sizeof *e);
    e->p = opt->shared;
    drove_status status = build(e, opt);
    if (status != DROVE_OK) {
        destroy(e);
        return status;
    }
    *out = e;
    return DROVE_OK;
}

/* ---- steps ---- */

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

static void write_bf16(drove_engine *e, const drove_fixed_part *part, uint16_t *words, float eta)
{
    uint16_t random[STRETCH];
    for (size_t at = 0; at < part->length; at += STRETCH) {
        const size_t n = part->length - at < STRETCH ? part->length - at : STRETCH;
        drove__rounder_words(&e->rounder, n, random);
        e->p->kernels->sgd_bf16(words + at, e->grad + part->offset + at, n, eta, random);
    }
}

/* g[n], numbers [first, first + n) of a gradient, rows of channels, in units of the channels, times
 * the layer's unit. */
static void divide_channels(const drove_fixed_part *part, size_t first, float *g, size_t n)
{
    const size_t width = part->n_channels;
    for (size_t at = 0; at < n; at += width) {
        const size_t group = (first + at) * part->n_groups / part->length;
        const float *inverse = part->inverse + group * width;
        for (size_t c = 0; c < width; c++) g[at + c] *= inverse[c];
    }
}

/* Numbers [first, first + length) of a part, with the gradient g of these. */
static size_t write_numbers(drove_engine *e, const drove_fixed_part *part, size_t first,
                            float *gradient, size_t length)
{
    const drove_engine_shared *p = e->p;
    const drove_number m = p->layout.number;
    const drovek_factor factor = {.f = -e->now.eta / part->unit};
    const size_t size = drove__number_size(m);
    char *words = (char *)drove__fixed_at(p, part, e->now.words) + first * size;
    size_t n_clamped = 0;
    if (part->by != NULL) divide_channels(part, first, gradient, length);
    for (size_t at = 0; at < length; at += STRETCH) {
        const size_t n = length - at < STRETCH ? length - at : STRETCH;
        const void *g = gradient + at;
        drovek_bits *bits = drove__rounder_next(&e->rounder, DROVE_F32, m, n);
        n_clamped +=
            p->kernels->linear.axpy[DROVE_F32][m](words + at * size, &g, &factor, 1, n, bits);
    }
    if (p->format.model % 8 == 0) return n_clamped;
    return n_clamped + clamp(words, m, length, drove__fixed_most(p->format.model));
}

/* The gradient of a dense layer's weights is written piece by piece, while it is in the cache. */
static void write_gradient(void *context, size_t layer, size_t first, float *g, size_t n)
{
    drove_engine *e = context;
    e->now.n_clamped += write_numbers(e, e->p->of_layer[layer], first, g, n);
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
    return drove__rounder_next(&e->rounder, DROVE_F32, e->p->layout.number, n);
}

/* The product writes the weights itself, with the bits that write_gradient would give. */
static bool write_product(void *context, size_t layer, const drovek_planes *x,
                          const drovek_planes *d, size_t n_rows)
{
    drove_engine *e = context;
    const drove_engine_shared *p = e->p;
    const drove_fixed_part *part = p->of_layer[layer];
    const size_t n_out = p->model->layer[layer].n_out, n_in = part->length / n_out;
    const drovek_draws draws = {.next = next_bits, .context = e};
    int8_t *words = drove__fixed_at(p, part, e->now.words);
    float factor[MOST_COLUMNS];
    if (e->kernels.planes->step == NULL || p->layout.number != DROVE_I8 || n_out > MOST_COLUMNS)
        return false;
    if (n_out % 8 != 0) return false; /* pieces are no whole draws: of a multiple of 64 rows */
    if (!find_factors(e, part, x, d, factor, n_out)) return false;
    if (!e->kernels.planes->step(n_in, n_out, n_rows, x, n_in, d, n_out, factor, words, &draws,
                                 &e->now.n_clamped))
        return false;
    if (p->format.model % 8 != 0)
        e->now.n_clamped +=
            clamp(words, DROVE_I8, part->length, drove__fixed_most(p->format.model));
    e->now.is_taken[layer] = true;
    return true;
}

/* theta, grad: of the step; words: shared. */
static size_t write_step(drove_engine *e, uint32_t *words, float eta)
{
    const drove_engine_shared *p = e->p;
    const drovek_table *k = p->kernels;
    size_t n_clamped = 0;
    if (p->weight_decay > 0.0)
        k->axpy_f32(e->grad, e->theta, p->model->n_params, (float)p->weight_decay);
    for (size_t i = 0; i < p->n_parts; i++) {
        const drove_fixed_part *part = &p->part[i];
        float *w = drove__fixed_at(p, part, words);
        if (!part->is_tail && e->now.is_taken[part->layer]) continue;
        if (part->is_tail || p->format.model == 0)
            k->sgd_f32(w, w, e->grad + part->offset, part->length, eta);
        else if (p->format.in_bf16) write_bf16(e, part, (uint16_t *)w, eta);
        else n_clamped += write_numbers(e, part, 0, e->grad + part->offset, part->length);
    }
    return n_clamped;
}

static drove_status step(drove_engine *e, uint32_t *words, const drove_batch *batch, float eta,
                         drove_steps *out)
{
    drove_gradient grad = {.value = e->grad};
    const drove_work work = {.batch = batch, .theta = e->theta, .grad = &grad};
    drove_work_done done = {0};
    e->now.words = words, e->now.eta = eta, e->now.n_clamped = 0;
    memset(e->now.is_taken, 0, e->p->model->n_layers * sizeof *e->now.is_taken);
    if (e->weight == NULL) drove__fixed_unpack(e->p, words, e->theta);
    else
        drove__fixed_unpack_planes(e->p, words, e->p->weight_decay > 0.0 ? e->theta : NULL,
                                   e->theta, e->weight);
    DROVE_TRY(drove__engine_do(&drove__engine_host, e->host, &work, UINT64_MAX, &done));
    out->is_finite &= isfinite(done.score.loss);
    out->n_clamped += write_step(e, words, eta) + e->now.n_clamped;
    out->n_steps++;
    return DROVE_OK;
}

static drove_status steps(drove_engine *e, const drove_params *live, const drove_batch *batch,
                          float eta, drove_steps *out)
{
    const size_t each = e->p->each;
    drove_steps made = {.is_finite = true};
    drove__rounder_seed(&e->rounder, e->p->seed, batch->number);
    for (size_t first = 0; first < batch->n_rows; first += each) {
        drove_batch one = *batch;
        one.row = batch->row + first;
        one.n_rows = batch->n_rows - first < each ? batch->n_rows - first : each;
        DROVE_TRY(step(e, live->words, &one, eta, &made));
    }
    *out = made;
    return DROVE_OK;
}

/* ---- the rest ---- */

static drove_status begin(drove_engine *e, const drove_work *work)
{
    if (work->grad != NULL)
        return drove__fail(DROVE_E_UNSUPPORTED, "fixed: steps without a gradient vector only");
    return drove__engine_host.begin(e->judge, work);
}

static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    return drove__engine_host.finish(e->judge, timeout_ns, done);
}

static size_t n_words(const drove_engine_shared *p)
{
    return p->n_words;
}

static const drove_layout *layout(const drove_engine_shared *p)
{
    return &p->layout;
}

static void facts(const drove_engine_shared *p, drove_engine_facts *out)
{
    const unsigned bits = p->format.data > 0 ? p->format.data : 32;
    *out = (drove_engine_facts){.model_range = p->model_range,
                                .data_scale = 1.0,
                                .bytes_per_example = (double)p->model->n_inputs * bits / 8.0};
    memcpy(out->precision, p->format.text, sizeof p->format.text);
}

static void settle(drove_engine *e, uint32_t *words)
{
    (void)e, (void)words; /* nothing is owed */
}

static drove_status follow(drove_engine_shared *p, const drove_data *data)
{
    (void)p, (void)data; /* batches name their data */
    return DROVE_OK;
}

const drove_engine_ops drove__engine_fixed = {
    .name = "fixed",
    .help = "networks in fixed point, any number of bits, --precision",
    .source = "De Sa et al., ISCA 2017, section 7",
    .can = DROVE_ENGINE_TYPED,
    .create = create,
    .destroy = destroy,
    .begin = begin,
    .finish = finish,
    .steps = steps,
    .prepare = drove__fixed_prepare,
    .follow = follow,
    .dismiss = drove__fixed_dismiss,
    .n_words = n_words,
    .layout = layout,
    .pack = drove__fixed_pack,
    .unpack = drove__fixed_unpack,
    .facts = facts,
    .settle = settle,
    .set_range = drove__fixed_set_range,
};
