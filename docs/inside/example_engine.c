/* A whole engine, and the kind of device that has it: gradients by central differences of the host
 * engine's loss; explained in docs/inside/adding.md. */
#include "base/mem.h"
#include "engine/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct drove_engine {
    const drove_model *model;
    drove_engine *host; /* computes the losses */
    float *theta;       /* [n_params] the caller's, with one element moved */
    drove_score score;  /* of the batch that was begun */
};

static void destroy(drove_engine *e)
{
    if (e == NULL) return;
    drove__engine_host.destroy(e->host);
    drove__free(e->theta);
    free(e);
}
static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    drove_engine *e = *out = NULL;
    drove_status status = DROVE_E_NOMEM;
    if ((e = calloc(1, sizeof *e)) == NULL) return drove__fail_nomem("engine", sizeof *e);
    e->model = opt->model;
    e->theta = drove__alloc(opt->model->n_params, sizeof *e->theta);
    if (e->theta != NULL) status = drove__engine_host.create(opt, &e->host);
    if (status == DROVE_OK) *out = e;
    else destroy(e);
    return status;
}

/* The mean loss of the batch with theta[i] moved by `by`. */
static drove_status loss_at(drove_engine *e, const drove_batch *batch, size_t i, float by,
                            double *loss)
{
    const drove_work work = {.batch = batch, .theta = e->theta};
    drove_work_done done = {0};
    float was = e->theta[i];
    e->theta[i] += by;
    DROVE_TRY(drove__engine_do(&drove__engine_host, e->host, &work, UINT64_MAX, &done));
    e->theta[i] = was;
    *loss = done.score.loss / (double)batch->n_rows;
    e->score = done.score;
    return DROVE_OK;
}
static drove_status begin(drove_engine *e, const drove_work *work)
{
    static const float STEP = 1e-2f;
    double low, high;
    drove_gradient *grad = work->grad;
    for (size_t i = 0; i < e->model->n_params; i++) e->theta[i] = work->theta[i];
    for (size_t i = 0; grad != NULL && i < e->model->n_params; i++) {
        DROVE_TRY(loss_at(e, work->batch, i, -STEP, &low));
        DROVE_TRY(loss_at(e, work->batch, i, STEP, &high));
        grad->value[i] = (float)((high - low) / (2.0 * (double)STEP));
    }
    if (grad != NULL) grad->n_spans = 0, grad->span = NULL; /* all of value was written */
    for (size_t l = e->model->n_layers; grad != NULL && grad->after_layer != NULL && l-- > 0;)
        grad->after_layer(grad->context, l);
    return loss_at(e, work->batch, 0, 0.0f, &low); /* leaves the score */
}
static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    (void)timeout_ns; /* begin has computed everything */
    if (done != NULL) drove__score_add(&done->score, &e->score);
    return DROVE_OK;
}
static const drove_engine_ops engine = {.name = "differences",
                                        .help = "gradients by differences of the loss",
                                        .source = "Euler, Institutiones calculi differentialis",
                                        .create = create,
                                        .destroy = destroy,
                                        .begin = begin,
                                        .finish = finish};

static unsigned count(const drove_device_kind *kind, char *why, size_t size)
{
    (void)kind;
    if (size > 0) why[0] = '\0';
    return 1;
}
static drove_status describe(const drove_device_kind *kind, unsigned device,
                             drove_device_facts *out)
{
    (void)kind;
    if (device > 0) return drove__fail(DROVE_E_ARG, "differences: expected device 0");
    *out = (drove_device_facts){.name = "differences on the host"};
    return DROVE_OK;
}
static drove_status open_device(const drove_device_kind *kind, const drove_spec *spec,
                                drove_device **out)
{
    *out = NULL;
    if (spec->n_args > 0 && strcmp(spec->arg[0], "0") != 0) return describe(kind, 1, NULL);
    drove_device *device = calloc(1, sizeof *device);
    if (device == NULL) return drove__fail_nomem("device", sizeof *device);
    device->kind = kind;
    device->engine = &engine;
    *out = device;
    return describe(kind, 0, &device->facts);
}
static void close_device(drove_device *device)
{
    free(device);
}
const drove_device_kind drove__device_kind_differences = {.name = "differences",
                                                          .help = "differences:0, for checks",
                                                          .source = "drove",
                                                          .count = count,
                                                          .describe = describe,
                                                          .open = open_device,
                                                          .close = close_device};
