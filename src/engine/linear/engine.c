/* engine/linear/engine.c - the engine of low-precision linear models: creation, scores, its table.
 *
 * Source: De Sa et al., ISCA 2017, Figure 1.  The steps are in steps.c, what all workers share in
 * problem.c.  Evaluation is the host engine's, on the data as they were given.
 */
#include "engine/linear/engine.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { SCORE_FLOATS = 1 << 20 }; /* of examples that an evaluation expands at once */

/* ---- making ---- */

static void destroy(drove_engine *e)
{
    if (e == NULL) return;
    drove__engine_host.destroy(e->host);
    drove__rounder_fini(&e->rounder);
    drove__pass_fini(&e->pass);
    drove__free(e->z);
    drove__free(e->dz);
    drove__free(e->alpha);
    drove__free(e->x);
    drove__free(e->factor);
    drove__targets_fini(&e->targets);
    drove__free(e->sum);
    drove__free(e->is_seen);
    drove__free(e->place);
    drove__free(e->value);
    drove__free(e->index);
    drove__free(e->number);
    free(e);
}

static drove_status allocate(drove_engine *e)
{
    const drove_engine_shared *p = e->p;
    size_t rows = p->each, n_outputs = rows * p->n_outputs;
    size_t n_factors = rows < DROVE_FACTOR_ROWS ? rows : DROVE_FACTOR_ROWS;
    e->z = drove__alloc(n_outputs, sizeof *e->z);
    e->dz = drove__alloc(n_outputs, sizeof *e->dz);
    e->alpha = drove__alloc(n_factors, sizeof *e->alpha);
    e->x = drove__alloc(n_factors, sizeof *e->x);
    e->factor = drove__alloc(n_factors, sizeof *e->factor);
    if (e->z == NULL || e->dz == NULL || e->alpha == NULL || e->x == NULL || e->factor == NULL)
        return drove__fail_nomem("engine", n_outputs * 2 * sizeof *e->z);
    DROVE_TRY(drove__targets_init(&e->targets, p->data, rows));
    if (p->short_loss == DROVE_LONG_LOSS)
        DROVE_TRY(drove__pass_init(&e->pass, p->model, p->kernels, rows));

    /* Sums of the sparse examples of an update. */
    if (p->each == 1 || p->quant->index_bits == 0) return DROVE_OK;
    e->sum = drove__alloc(p->n_features, sizeof *e->sum);
    e->is_seen = drove__alloc(p->n_features, sizeof *e->is_seen);
    e->place = drove__alloc(p->n_features + 1, sizeof *e->place);
    e->value = drove__alloc(p->n_features, sizeof *e->value);
    e->index = drove__alloc(p->longest_row, sizeof *e->index);
    e->number = drove__alloc(p->longest_row, sizeof *e->number);
    if (e->sum != NULL && e->is_seen != NULL && e->place != NULL && e->value != NULL &&
        e->index != NULL && e->number != NULL)
        return DROVE_OK;
    return drove__fail_nomem("sums of a sparse update", p->n_features * 17);
}

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    *out = NULL;
    drove_engine *e = calloc(1, sizeof *e);
    if (e == NULL) return drove__fail_nomem("engine", sizeof *e);
    e->p = opt->shared;
    const drove_engine_shared *p = e->p;
    e->host_rows = SCORE_FLOATS / p->n_features;
    if (e->host_rows < 1) e->host_rows = 1;
    if (e->host_rows > opt->max_rows) e->host_rows = opt->max_rows;
    drove_engine_options host = *opt;
    host.max_rows = e->host_rows;
    size_t longest = p->longest_row > p->stride ? p->longest_row : p->stride; /* decay: stride */
    size_t n_blocks = drovek_blocks(DROVE_F32, p->precision.model, false, longest);
    drove_status status = drove__rounder_init(&e->rounder, &p->rounding, n_blocks);
    if (status != DROVE_OK) goto fail;
    if ((status = allocate(e)) != DROVE_OK) goto fail;
    if ((status = drove__engine_host.create(&host, &e->host)) != DROVE_OK) goto fail;
    *out = e;
    return DROVE_OK;
fail:
    destroy(e);
    return status;
}

/* ---- scores and facts ---- */

static drove_status begin(drove_engine *e, const drove_work *work)
{
    if (work->grad != NULL)
        return drove__fail(DROVE_E_UNSUPPORTED, "linear: steps without a gradient vector only");
    if (work->prob != NULL)
        return drove__fail(DROVE_E_UNSUPPORTED, "linear: expected a score without predictions");
    e->done = (drove_work_done){0};
    const drove_batch *batch = work->batch;
    for (size_t first = 0; first < batch->n_rows; first += e->host_rows) {
        drove_batch slice = {.data = batch->data, .row = batch->row + first};
        slice.n_rows = batch->n_rows - first;
        if (slice.n_rows > e->host_rows) slice.n_rows = e->host_rows;
        const drove_work host = {.batch = &slice, .theta = work->theta};
        DROVE_TRY(drove__engine_do(&drove__engine_host, e->host, &host, UINT64_MAX, &e->done));
    }
    return DROVE_OK;
}

static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    (void)timeout_ns; /* begin has computed everything */
    if (done != NULL) drove__work_done_add(done, &e->done);
    return DROVE_OK;
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
    const drove_quant *q = p->quant;
    double bytes = p->stored_per_row * (drove__number_bits(q->number) + q->index_bits) / 8.0;
    *out = (drove_engine_facts){.model_range = p->model_range,
                                .data_scale = (double)q->scale,
                                .data_clamped = q->n_clamped,
                                .bridges = q->n_bridges,
                                .bytes_per_example = bytes};
    memcpy(out->precision, p->precision.text, sizeof p->precision.text);
}

static const drove_typed_ops typed_ops = {
    .prepare = drove__linear_prepare,
    .dismiss = drove__linear_dismiss,
    .n_words = n_words,
    .layout = layout,
    .pack = drove__linear_pack,
    .unpack = drove__linear_unpack,
    .facts = facts,
    .settle = drove__linear_settle,
    .set_range = drove__linear_set_range,
    .follow = drove__linear_follow,
};

const drove_engine_ops drove__engine_linear = {
    .name = "linear",
    .help = "linear models in low precision, --precision",
    .source = "De Sa et al., ISCA 2017",
    .can = DROVE_ENGINE_TYPED,
    .create = create,
    .destroy = destroy,
    .begin = begin,
    .finish = finish,
    .steps = drove__linear_steps,
    .typed = &typed_ops,
};
