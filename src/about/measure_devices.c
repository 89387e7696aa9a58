/* about/measure_devices.c - examples per second of each device, by batch size.
 *
 * Rows are drawn in the order of a run's first epoch.  A device works as it does in a run: while it
 * computes one batch, the next is staged.  The best of a few short windows counts for each batch
 * size, after a warm-up in which programs are compiled.
 */
#include "about/measure_devices.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "engine/device.h"
#include "config/resolve.h"
#include "problem/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_WINDOWS = 3, WARM_UPS = 2, MOST_SPEEDS = 256 };
static const uint64_t WINDOW_NS = 100000000, PATIENCE_NS = 60000000000u;
static const size_t BATCHES[DROVE_SPEED_BATCHES] = {1, 16, 128, 1024, 8192};

typedef struct bench {
    const drovek_table *kernels;
    drove_data *data;
    drove_model *model;
    float *theta, *grad;  /* [n_params] */
    uint32_t *row;        /* [n_rows] in the order of an epoch, ... */
    uint32_t *again;      /* ... [2 x largest batch] as the two batches at work need them */
    size_t at;            /* of row: where the next batch begins */
    uint64_t number;      /* of batches */
    drove_batch batch[2]; /* at work, and staged */
} bench;

/* ---- data and model ---- */

static drove_status make_model(bench *b, const drove_config *config)
{
    const drove_config_problem *p = &config->problem;
    const char *model = drove__config_model(config);
    const drove_model_io io = drove__data_io(b->data);
    if (drove__names_model_file(model)) {
        drove_modelfile file;
        DROVE_TRY(drove__modelfile_load(model, &file));
        if (file.io.n_features != drove__data_n_inputs(b->data) || file.features.ops != NULL) {
            size_t n_inputs = file.n_inputs;
            bool has_map = file.features.ops != NULL;
            drove__modelfile_fini(&file);
            return drove__fail(DROVE_E_SHAPE,
                               "%s: expected a model of %zu features, found one of %zu%s", model,
                               drove__data_n_inputs(b->data), n_inputs,
                               has_map ? " with a map of features" : "");
        }
        b->model = file.model;
        b->theta = file.theta;
        file.model = NULL;
        file.theta = NULL;
        drove__modelfile_fini(&file);
        return DROVE_OK;
    }
    DROVE_TRY(drove__model_create(model, p->activation, p->loss, &io, &b->model));
    b->theta = drove__alloc(b->model->n_params, sizeof *b->theta);
    if (b->theta == NULL)
        return drove__fail_nomem("the model's parameters", b->model->n_params * sizeof *b->theta);
    return drove__model_init(b->model, p->init, config->seed, b->theta);
}

static drove_status begin(bench *b, const drove_config *config, drove_speeds *out)
{
    const drove_config_problem *p = &config->problem;
    const bool is_low = config->low.precision[0] != '\0';
    drove_data *test = NULL;
    if (is_low || p->features[0] != '\0') {
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "--measure: expected floats and the data's own features, found --%s; "
                           "drove dmgc measures low precision",
                           is_low ? "precision" : "features");
    }
    char data[DROVE_SPEC_WITH_LABEL_SIZE];
    DROVE_TRY(drove__data_set_columns(p->data, p->label, p->weights, data, sizeof data));
    DROVE_TRY(drove_data_open(data, NULL, config->seed, &b->data, &test));
    drove_data_destroy(test);
    DROVE_TRY(make_model(b, config));
    while (out->n_batches < DROVE_SPEED_BATCHES && BATCHES[out->n_batches] <= b->data->n_rows) {
        out->batch[out->n_batches] = BATCHES[out->n_batches];
        out->n_batches++;
    }

    /* The order of an epoch, and room for two batches of the largest size. */
    drove_permutation order;
    size_t n_rows = b->data->n_rows;
    b->row = drove__alloc(n_rows, sizeof *b->row);
    b->again = drove__alloc(2 * (out->batch[out->n_batches - 1]), sizeof *b->again);
    b->grad = drove__alloc(b->model->n_params, sizeof *b->grad);
    if (b->row == NULL || b->again == NULL || b->grad == NULL) {
        return drove__fail_nomem("rows and a gradient", n_rows * sizeof *b->row);
    }
    drove__permutation_init(&order, n_rows, config->seed, 0);
    for (size_t i = 0; i < n_rows; i++) b->row[i] = (uint32_t)drove__permutation_at(&order, i);
    return DROVE_OK;
}

/* ---- steps ---- */

static const drove_batch *next_batch(bench *b, size_t n_rows)
{
    size_t side = b->number % 2;
    uint32_t *row = b->again + side * n_rows;
    for (size_t i = 0; i < n_rows; i++) {
        row[i] = b->row[b->at];
        b->at = b->at + 1 < b->data->n_rows ? b->at + 1 : 0;
    }
    b->batch[side] =
        (drove_batch){.data = b->data, .row = row, .n_rows = n_rows, .number = b->number++};
    return &b->batch[side];
}

/* A window has as many batches as the one before says that it can have. */
static drove_status measure_batch(bench *b, const drove_engine_ops *ops, drove_engine *e,
                                  size_t n_rows, double *out)
{
    double best = 0.0;
    size_t n = WARM_UPS;
    for (int i = 0; i <= N_WINDOWS; i++) { /* the first is the warm-up */
        drove_gradient grad = {.value = b->grad};
        drove_work work = {.theta = b->theta, .grad = &grad};
        drove_work_done done = {0};
        const uint64_t start = drove__now_ns();
        work.batch = next_batch(b, n_rows);
        for (size_t k = 0; k < n; k++) { /* batches one after the other, the next one staged */
            DROVE_TRY(ops->begin(e, &work));
            const drove_batch *next = k + 1 < n ? next_batch(b, n_rows) : NULL;
            if (next != NULL && ops->stage != NULL) DROVE_TRY(ops->stage(e, next));
            DROVE_TRY(ops->finish(e, PATIENCE_NS, &done));
            work.batch = next;
        }
        uint64_t took = drove__now_ns() - start;
        double rate = (double)n * (double)n_rows * 1e9 / (double)(took > 0 ? took : 1);
        if (i > 0 && rate > best) best = rate;
        double fitting = (double)n * (double)WINDOW_NS / (double)(took > 0 ? took : 1);
        n = fitting < 2.0 ? 2 : fitting > 1e6 ? 1000000 : (size_t)fitting;
    }
    *out = best;
    return DROVE_OK;
}

/* ---- devices ---- */

static drove_status measure_engine(bench *b, const drove_engine_ops *ops, drove_device *device,
                                   const drove_speeds *speeds, drove_speed *out)
{
    drove_engine *e = NULL;
    drove_engine_options opt = {.model = b->model,
                                .kernels = b->kernels,
                                .data = b->data,
                                .max_rows = speeds->batch[speeds->n_batches - 1],
                                .device = device};
    size_t most = opt.max_rows;
    if (ops->most_rows != NULL) most = ops->most_rows(&opt);
    if (most < opt.max_rows) {
        snprintf(out->reason, sizeof out->reason, "its memory holds at most %zu examples", most);
    }
    if (most == 0) return DROVE_OK;
    opt.max_rows = most;
    drove_status status = ops->create(&opt, &e);
    for (size_t i = 0; status == DROVE_OK && i < speeds->n_batches; i++) {
        if (speeds->batch[i] > most) break;
        status = measure_batch(b, ops, e, speeds->batch[i], &out->examples_per_s[i]);
    }
    if (e != NULL) ops->destroy(e);
    return status;
}

static drove_speed *add(drove_speeds *speeds, const char *kind, unsigned index, bool is_host)
{
    drove_speed *s = &speeds->speed[speeds->n++];
    *s = (drove_speed){0};
    for (size_t i = 0; i < DROVE_SPEED_BATCHES; i++) s->examples_per_s[i] = NAN;
    if (is_host) snprintf(s->device, sizeof s->device, "%s", kind);
    else snprintf(s->device, sizeof s->device, "%s:%u", kind, index);
    return s;
}

drove_status drove__measure_devices(const drove_config *config, const drovek_table *kernels,
                                    drove_speeds *out)
{
    bench b = {.kernels = kernels};
    *out = (drove_speeds){0};
    char why[DROVE_SPEED_REASON_SIZE];
    drove_status status = begin(&b, config, out);
    if (status != DROVE_OK) goto fail;
    drovek_thread_init();
    out->speed = calloc(MOST_SPEEDS, sizeof *out->speed);
    if (out->speed == NULL) {
        status = drove__fail_nomem("speeds", MOST_SPEEDS * sizeof *out->speed);
        goto fail;
    }
    drove_speed *host = add(out, drove__engine_host.name, 0, true);
    status = measure_engine(&b, &drove__engine_host, NULL, out, host);
    if (status != DROVE_OK) goto fail;
    for (size_t k = 0; drove__device_kinds[k] != NULL; k++) {
        const unsigned n = drove__device_kinds[k]->count(drove__device_kinds[k], why, sizeof why);
        for (unsigned i = 0; i < n && out->n < MOST_SPEEDS; i++) {
            drove_speed *s = add(out, drove__device_kinds[k]->name, i, false);
            drove_spec spec = {0};
            drove_device *device = NULL;
            drove_status failed = drove__spec_parse(s->device, &spec);
            if (failed == DROVE_OK) failed = drove__device_open(&spec, &device);
            if (failed == DROVE_OK) failed = measure_engine(&b, device->engine, device, out, s);
            drove__device_close(device);
            drove__spec_fini(&spec);
            if (failed != DROVE_OK) snprintf(s->reason, sizeof s->reason, "%s", drove_error_text());
        }
    }

fail:
    drove__free(b.grad);
    drove__free(b.again);
    drove__free(b.row);
    drove__free(b.theta);
    drove__model_destroy(b.model);
    drove_data_destroy(b.data);

    if (status != DROVE_OK) drove__speeds_fini(out);
    return status;
}

void drove__speeds_fini(drove_speeds *speeds)
{
    free(speeds->speed);
    *speeds = (drove_speeds){0};
}
