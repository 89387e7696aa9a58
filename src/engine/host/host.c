/* engine/host/host.c - the engine of the calling thread, alone or with a team: gathers the examples
 * of a batch, then one pass of the model.
 *
 * If a sparse batch's gradient is given in spans, a step costs what the non-zeros cost, however
 * large n_features is.
 *
 * Large batches are computed in blocks of rows, where the model can be cut (blocks.h).  Measured
 * with 784-128-128-128-10, a step of 512 examples costs no more for each of them than one of 64.
 *
 * Memory: everything a training step needs is allocated at creation for the data named there; a
 * batch of other data (evaluation) that needs more makes a scratch array grow once.
 * Threads: an engine is used by one thread at a time, which is part 0 of its team; model, kernels
 * and data are only read.
 */
#include "engine/host/blocks.h"
#include "engine/host/state.h"

#include "base/clock.h"
#include "base/mem.h"
#include "model/integers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scratch ---- */

static drove_status reserve_spans(drove_engine *e, size_t n_spans)
{
    if (n_spans <= e->n_spans) return DROVE_OK;
    drove__free(e->span);
    e->n_spans = 0;
    e->span = drove__alloc(n_spans, sizeof *e->span);
    if (e->span == NULL) return drove__fail_nomem("spans of a gradient", n_spans * sizeof *e->span);
    e->n_spans = n_spans;
    return DROVE_OK;
}

/* Most spans that n_pairs non-zeros can make, plus the one of everything behind the first layer's
 * weights. */
static size_t most_spans(const drove_engine *e, size_t n_pairs)
{
    size_t most = e->model->n_inputs / 2 + 1;
    return (n_pairs < most ? n_pairs : most) + 1;
}

static void destroy(drove_engine *e)
{
    if (e == NULL) return;
    drove__team_destroy(e->team);
    drove__pass_fini(&e->pass);
    drove__touched_fini(&e->touched);
    drove__gather_fini(&e->gather);
    drove__free(e->span);
    drove__free(e->rounded);
    drove__host_blocks_fini(e);
    free(e);
}

static drove_status allocate(drove_engine *e, const drove_engine_options *opt)
{
    const drove_data *data = opt->data;
    const size_t n_inputs = e->model->n_inputs;

    const drove_pass_options pass = {.model = e->model,
                                     .kernels = e->kernels,
                                     .rows = opt->rows,
                                     .max_rows = e->max_rows,
                                     .n_parts = opt->n_threads,
                                     .trains = !opt->infers_only,
                                     .seed = opt->seed,
                                     .round = opt->round};
    DROVE_TRY(drove__pass_create(&pass, &e->pass));
    DROVE_TRY(drove__host_blocks_init(e, opt));
    if (opt->round != NULL) e->rounded = drove__alloc(e->max_rows * n_inputs, sizeof *e->rounded);
    if (opt->round != NULL && e->rounded == NULL)
        return drove__fail_nomem("rounded examples", e->max_rows * n_inputs * sizeof(float));
    if (opt->n_threads > 1)
        DROVE_TRY(drove__team_create(opt->n_threads, opt->bind, opt->bind_context, &e->team));
    DROVE_TRY(
        drove__gather_init(&e->gather, e->kernels, data, e->max_rows, e->model->n_inputs, true));
    if (!drove__storage_is_sparse(data->storage)) return DROVE_OK;
    DROVE_TRY(reserve_spans(e, most_spans(e, e->max_rows * drove__gather_longest(data))));
    return drove__touched_init(&e->touched, n_inputs);
}

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    *out = NULL;
    if (opt->max_rows == 0) return drove__fail(DROVE_E_ARG, "batch: expected at least 1 example");
    if (drove__storage_is_sparse(opt->data->storage) && !opt->model->is_chain) {
        return drove__fail(DROVE_E_SHAPE,
                           "model %s: expected dense data, found sparse data, which networks of "
                           "dense layers with relu, sigmoid or tanh read",
                           opt->model->spec);
    }
    if (drove__data_n_inputs(opt->data) != opt->model->n_inputs) {
        return drove__fail(DROVE_E_SHAPE, "the data have %zu features, the model takes %zu",
                           drove__data_n_inputs(opt->data), opt->model->n_inputs);
    }
    drove_engine *e = calloc(1, sizeof *e);
    if (e == NULL) return drove__fail_nomem("engine", sizeof *e);
    e->model = opt->model;
    e->narrow =
        drovek_narrow(opt->kernels, opt->round != NULL ? opt->round->factors : opt->model->factors);
    e->kernels = &e->narrow;
    e->max_rows = opt->max_rows;
    drove_status status = allocate(e, opt);
    if (status != DROVE_OK) {
        destroy(e);
        return status;
    }
    *out = e;
    return DROVE_OK;
}

/* ---- operations ---- */

/* Spans of the gradient of a sparse batch: the touched rows of the first layer's W, then all the
 * rest.  None where those rows may lie in as many cache lines as all of W does: then spans would
 * cost more than they spare. */
static drove_status find_spans(drove_engine *e, const drove_input *in, drove_gradient *grad)
{
    const drove_layer *l = &e->model->layer[0];
    const size_t line = DROVE_CACHE_LINE / sizeof(float);
    size_t n_pairs = 0;
    for (size_t i = 0; i < in->n_rows; i++) n_pairs += (size_t)(in->last[i] - in->first[i]);
    if (l->training.is_frozen) return DROVE_OK; /* its rows are not in the gradient */
    if (n_pairs >= l->n_in || n_pairs * (l->n_out > line ? l->n_out : line) >= l->n_in * l->n_out) {
        return DROVE_OK;
    }
    if (e->touched.n_levels == 0) DROVE_TRY(drove__touched_init(&e->touched, e->model->n_inputs));
    DROVE_TRY(reserve_spans(e, most_spans(e, n_pairs)));
    for (size_t i = 0; i < in->n_rows; i++) {
        for (uint64_t at = in->first[i]; at < in->last[i]; at++)
            drove__touched_add(&e->touched, in->index[at]);
    }
    size_t n = drove__touched_drain(&e->touched, l->w_offset, l->n_out, e->span);
    const size_t rest = e->model->n_params - l->b_offset; /* 0: one layer without biases */
    if (rest > 0) e->span[n++] = (drove_span){.offset = l->b_offset, .length = rest};
    grad->span = e->span;
    grad->n_spans = n;
    return DROVE_OK;
}

/* One pass, by whoever works for the engine. */
typedef struct job {
    drove_engine *e;
    const float *theta;
    const drove_input *in;
    const drove_target *target; /* NULL: forward alone */
    drove_gradient *grad;
    drove_score *score;
    uint64_t middle_ns; /* forward's end */
} job;

static void do_part(void *context, const drove_part *part)
{
    job *j = context;
    drove_engine *e = j->e;
    drove__model_forward_part(e->model, e->kernels, j->theta, j->in, &e->pass, part);
    if (j->target == NULL) return;
    if (part->part == 0) {
        drove__model_loss(e->model, e->kernels, j->target, j->in->n_rows,
                          1.0f / (float)j->in->n_rows, &e->pass, j->score);
        j->middle_ns = drove__now_ns();
    }
    if (part->n_parts > 1) part->meet(part->context, part->part);
    const drove_backward to = {.grad = j->grad->value,
                               .spans_wanted = j->grad->span != NULL,
                               .after_layer = j->grad->after_layer,
                               .context = j->grad->context};
    drove__model_backward_part(e->model, e->kernels, j->theta, j->in, &e->pass, &to, part);
}

static void do_pass(job *j)
{
    static const drove_part alone = {.part = 0, .n_parts = 1};
    if (j->e->team != NULL) drove__team_run(j->e->team, do_part, j);
    else do_part(j, &alone);
}

/* The clock is read where a phase begins or ends: three times a batch. */
static drove_status gradient(drove_engine *e, const drove_work *work)
{
    drove_input in;
    drove_target target;
    drove_gradient *grad = work->grad;
    uint64_t start = drove__now_ns();
    e->pass.words = work->words;
    e->pass.taker = NULL; /* blocks are added up first */
    if (drove__host_cuts(e, work->batch->n_rows))
        return drove__host_gradient_in_blocks(e, work->batch, work->theta, grad);
    e->pass.taker = grad->taker;
    grad->span = NULL;
    grad->n_spans = 0;
    DROVE_TRY(drove__host_load(e, work->batch, true, &in, &target));
    if (e->rounded != NULL && in.dense != NULL)
        drove__integers_round_examples(&e->pass, &in, e->rounded);
    if (grad->spans_wanted && in.dense == NULL) DROVE_TRY(find_spans(e, &in, grad));
    e->pass.is_training = true;
    e->pass.batch = work->batch->number;
    job j = {.e = e,
             .theta = work->theta,
             .in = &in,
             .target = &target,
             .grad = grad,
             .score = &e->done.score};
    do_pass(&j);
    e->done.times.forward_ns = j.middle_ns - start;
    e->done.times.backward_ns = drove__now_ns() - j.middle_ns;
    return drove__pass_outcome(&e->pass);
}

static drove_status steps(drove_engine *e, const drove_params *live, const drove_batch *batch,
                          float eta, drove_steps *out)
{
    drove_input in;
    drove_target target;
    drove_score score = {0};
    const uint64_t start = drove__now_ns();
    if (drove__host_cuts(e, batch->n_rows)) {
        e->done = (drove_work_done){0};
        DROVE_TRY(drove__host_step_in_blocks(e, batch, live->theta, eta));
        score = e->done.score;
        *out = (drove_steps){.n_steps = 1,
                             .is_finite = isfinite(score.loss),
                             .score = score,
                             .forward_ns = e->done.times.forward_ns};
        return DROVE_OK;
    }
    DROVE_TRY(drove__host_load(e, batch, true, &in, &target));
    e->pass.is_training = true;
    drove__model_forward(e->model, e->kernels, live->theta, &in, &e->pass);
    drove__model_loss(e->model, e->kernels, &target, in.n_rows, 1.0f / (float)in.n_rows, &e->pass,
                      &score);
    DROVE_TRY(drove__pass_outcome(&e->pass)); /* before it reaches the shared parameters */
    const uint64_t middle = drove__now_ns();
    drove__model_backward_fused(e->model, e->kernels, live->theta, &in, &e->pass, eta);
    *out = (drove_steps){.n_steps = 1,
                         .is_finite = isfinite(score.loss),
                         .score = score,
                         .forward_ns = middle - start};
    return DROVE_OK;
}

static void infer(drove_engine *e, const float *theta, const drove_input *in)
{
    job j = {.e = e, .theta = theta, .in = in};
    e->pass.is_training = false;
    do_pass(&j);
}

static drove_status score(drove_engine *e, const drove_work *work)
{
    drove_input in;
    drove_target target;
    DROVE_TRY(drove__host_load(e, work->batch, false, &in, &target));
    infer(e, work->theta, &in);
    drove__model_loss(e->model, e->kernels, &target, in.n_rows, 0.0f, &e->pass, &e->done.score);
    if (work->prob != NULL) drove__model_predict(e->model, in.n_rows, &e->pass, work->prob);
    return drove__pass_outcome(&e->pass);
}

static drove_status begin(drove_engine *e, const drove_work *work)
{
    e->done = (drove_work_done){0};
    return work->grad != NULL ? gradient(e, work) : score(e, work);
}

static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    (void)timeout_ns; /* begin has computed everything */
    if (done != NULL) drove__work_done_add(done, &e->done);
    return DROVE_OK;
}

static drove_status predict(drove_engine *e, const float *theta, const drove_batch *batch,
                            float *prob)
{
    drove_input in;
    DROVE_TRY(drove__host_load(e, batch, false, &in, NULL));
    infer(e, theta, &in);
    drove__model_predict(e->model, in.n_rows, &e->pass, prob);
    return drove__pass_outcome(&e->pass);
}

/* A pass of training of which only the statistics are used. */
static drove_status statistics(drove_engine *e, const float *theta, const drove_batch *batch,
                               float share, float *into)
{
    drove_input in;
    DROVE_TRY(drove__host_load(e, batch, true, &in, NULL));
    job j = {.e = e, .theta = theta, .in = &in};
    e->pass.is_training = true;
    e->pass.batch = batch->number;
    do_pass(&j);
    DROVE_TRY(drove__pass_outcome(&e->pass));
    drove__model_add_statistics(e->model, &e->pass, share, into);
    return DROVE_OK;
}

const drove_engine_ops drove__engine_host = {
    .name = "host",
    .help = "the worker's own thread computes",
    .source = "drove",
    .can = DROVE_ENGINE_FUSED | DROVE_ENGINE_TEAM | DROVE_ENGINE_STATISTICS,
    .create = create,
    .destroy = destroy,
    .begin = begin,
    .finish = finish,
    .predict = predict,
    .steps = steps,
    .statistics = statistics,
};
