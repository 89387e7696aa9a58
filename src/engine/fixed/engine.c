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
 * the slot sgd_bf16.  Products round their factors to bf16 (docs/methods/bf16.md).
 *
 * Widths below those of the container (8, 16) are clamped after the write: another worker may see a
 * number beyond the range for that long.
 *
 * Threads: an engine belongs to one thread; the shared words are racy (docs/inside/memory-model.md,
 * R8).
 */
#include "engine/fixed/state.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    drove__free(e->ahead);
    drove__free(e->weights);
    free(e->weight);
    free(e->now.is_taken);
    free(e->now.read);
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

static drove_status build(drove_engine *e, const drove_engine_options *opt)
{
    const drove_engine_shared *p = e->p;
    const size_t n = p->model->n_params;
    drove_engine_options host = *opt;
    e->theta = drove__alloc(n, sizeof *e->theta);
    e->grad = drove__alloc(n, sizeof *e->grad);
    e->rule = opt->rule;
    if (e->rule != NULL && e->rule->look_ahead != NULL) {
        e->ahead = drove__alloc(p->n_words, sizeof *e->ahead);
        if (e->ahead == NULL) return drove__fail_nomem("engine", p->n_words * sizeof *e->ahead);
    }
    e->now.is_taken = calloc(p->model->n_layers, sizeof *e->now.is_taken);
    e->now.read = calloc(p->model->n_layers, sizeof *e->now.read);
    if (e->theta == NULL || e->grad == NULL || e->now.is_taken == NULL || e->now.read == NULL)
        return drove__fail_nomem("engine", 2 * n * sizeof *e->theta);
    DROVE_TRY(drove__rounder_init(&e->rounder, &p->rounding,
                                  drovek_blocks(DROVE_F32, DROVE_I16, false, DROVE_FIXED_STRETCH)));
    e->round = (drove_round){.values = round_values,
                             .derivatives = round_derivatives,
                             .context = e,
                             .factors = factors_of(p),
                             .is_wide_value = p->format.data > 8,
                             .is_wide_derivative = p->format.gradient > 8};
    e->taker = (drove_taker){.gradient = drove__fixed_write_gradient,
                             .product = drove__fixed_write_product,
                             .words_product = drove__fixed_write_words_product,
                             .context = e};
    e->kernels = drovek_narrow(p->kernels, e->round.factors);
    if (e->kernels.planes != NULL) DROVE_TRY(make_weights(e));
    e->round.weight = e->weight;
    host.shared = NULL;
    host.rule = NULL;
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

static drove_status step(drove_engine *e, uint32_t *words, const drove_batch *batch, float eta,
                         drove_steps *out)
{
    const drove_engine_shared *p = e->p;
    /* Weight decay adds to the whole gradient first, and clipping scales it. */
    const bool clips = e->rule != NULL && e->rule->clip != NULL;
    const bool takes_gradients = p->format.model > 0 && p->weight_decay == 0.0 && !clips;
    drove_gradient grad = {.value = e->grad, .taker = takes_gradients ? &e->taker : NULL};
    const drove_work work = {
        .batch = batch, .theta = e->theta, .words = e->now.read, .grad = &grad};
    drove_work_done done = {0};
    e->now.words = words, e->now.eta = eta, e->now.n_clamped = 0;
    e->now.number = out->n_steps;
    memset(e->now.is_taken, 0, p->model->n_layers * sizeof *e->now.is_taken);
    if (e->ahead != NULL) drove__fixed_look_ahead(e);

    /* What the pass reads: planes, words where a layer reads them there, floats in theta. */
    uint32_t *from = e->ahead != NULL ? e->ahead : words;
    const bool are_read = p->format.in_bf16 && p->model->factors == DROVEK_FACTORS_BF16 &&
                          p->kernels->words != NULL && p->weight_decay == 0.0;
    if (e->weight != NULL)
        drove__fixed_unpack_planes(p, from, p->weight_decay > 0.0 ? e->theta : NULL, e->theta,
                                   e->weight);
    for (size_t i = 0; e->weight == NULL && i < p->n_parts; i++) {
        const drove_fixed_part *part = &p->part[i];
        if (are_read && !part->is_tail && drove__layer_reads_words(&p->model->layer[part->layer]))
            e->now.read[part->layer] = drove__fixed_at(p, part, from);
        else drove__fixed_unpack_part(p, part, from, e->theta);
    }

    DROVE_TRY(drove__engine_do(&drove__engine_host, e->host, &work, UINT64_MAX, &done));
    out->is_finite &= isfinite(done.score.loss);
    out->n_clamped += drove__fixed_write_step(e) + e->now.n_clamped;
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

static const drove_typed_ops typed_ops = {
    .prepare = drove__fixed_prepare,
    .dismiss = drove__fixed_dismiss,
    .n_words = n_words,
    .layout = layout,
    .pack = drove__fixed_pack,
    .unpack = drove__fixed_unpack,
    .facts = facts,
    .settle = settle,
    .set_range = drove__fixed_set_range,
    .follow = follow,
};

const drove_engine_ops drove__engine_fixed = {
    .name = "fixed",
    .help = "networks in fixed point, any number of bits, --precision",
    .source = "De Sa et al., ISCA 2017, section 7",
    .can = DROVE_ENGINE_TYPED | DROVE_ENGINE_RULES,
    .create = create,
    .destroy = destroy,
    .begin = begin,
    .finish = finish,
    .steps = steps,
    .typed = &typed_ops,
};
