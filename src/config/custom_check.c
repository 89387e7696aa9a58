/* config/custom_check.c - see <drove/custom.h>: are the derivatives of a program's own loss or
 * layer those of its values?
 *
 * Differences are central ones of steps h and h/2, extrapolated (Richardson 1911), so that what is
 * left is of order h^4 and the rounding of floats, about 1e-7 / h.
 */
#include <drove/custom.h>

#include "base/given.h"
#include "base/mem.h"
#include "config/options.h"
#include "base/rng.h"
#include "model/custom.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double STEP = 1.0 / 32;
static const double LOSS_BOUND = 0.005, LAYER_BOUND = 0.01;

/* ---- differences ---- */

/* A function of one number, other things equal. */
typedef struct slope {
    drove_status (*value)(void *context, double *out);
    void *context;
    float *at;
} slope;

static drove_status difference(const slope *f, double h, double *out)
{
    const float middle = *f->at, left = (float)(middle - h), right = (float)(middle + h);
    double below = 0.0, above = 0.0;
    *f->at = left;
    drove_status status = f->value(f->context, &below);
    *f->at = right;
    if (status == DROVE_OK) status = f->value(f->context, &above);
    *f->at = middle;
    *out = (above - below) / ((double)right - (double)left);
    return status;
}

static drove_status find_slope(const slope *f, double *out)
{
    double wide, narrow;
    DROVE_TRY(difference(f, STEP, &wide));
    DROVE_TRY(difference(f, STEP / 2, &narrow));
    *out = (4.0 * narrow - wide) / 3.0;
    return DROVE_OK;
}

/* Largest error so far, and where it was found. */
typedef struct worst {
    double error, found, expected;
    char what[64];
} worst;

static void compare(worst *w, const char *what, size_t i, double found, double expected,
                    double size)
{
    const double error = fabs(found - expected) / fmax(1.0, fmax(fabs(expected), size));
    if (!(error > w->error) && !isnan(error)) return;
    if (isnan(w->error)) return; /* the first one that is no number */
    w->error = error;
    w->found = found;
    w->expected = expected;
    snprintf(w->what, sizeof w->what, "%s %zu", what, i);
}

static drove_status judge(const worst *w, const char *kind, const char *name, double bound,
                          double *out)
{
    if (out != NULL) *out = w->error;
    if (isnan(w->error))
        return drove__fail(DROVE_E_NONFINITE, "%s %s: %s: expected finite numbers, found %g and %g",
                           kind, name, w->what, w->found, w->expected);
    if (w->error <= bound) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s %s: %s: expected %.6g by differences, found %.6g", kind,
                       name, w->what, w->expected, w->found);
}

/* ---- loss ---- */

typedef struct loss_probe {
    const drove_custom_loss *loss;
    drove_loss_batch batch; /* with outputs of its own */
    float *outputs, *loss_of, *derivative;
    size_t row; /* whose loss is the value */
    char why[512];
} loss_probe;

static drove_status eval(loss_probe *p, float *derivative)
{
    p->why[0] = '\0';
    p->batch.derivative = derivative;
    drove_status status = p->loss->eval(p->loss->context, &p->batch);
    p->why[sizeof p->why - 1] = '\0';
    return status == DROVE_OK ? DROVE_OK
                              : drove__custom_fail_now("loss", p->loss->name, status, p->why);
}

static drove_status loss_value(void *context, double *out)
{
    loss_probe *p = context;
    DROVE_TRY(eval(p, NULL));
    *out = (double)p->loss_of[p->row];
    return DROVE_OK;
}

drove_status drove_loss_check(const drove_custom_loss *loss, const drove_loss_batch *batch,
                              double bound, double *worst_out)
{
    DROVE_GIVEN(loss);
    DROVE_GIVEN(batch);
    const size_t n = batch->n_rows * batch->n_outputs;
    drove_options options = {0};
    worst w = {0};
    DROVE_TRY(drove_options_set_loss(&options, loss));
    if (n == 0 || batch->n_rows > DROVE_LOSS_ROWS || batch->outputs == NULL)
        return drove__fail(DROVE_E_ARG,
                           "loss %s: expected 1 to %d examples with outputs, found %zu of %zu",
                           loss->name, DROVE_LOSS_ROWS, batch->n_rows, batch->n_outputs);
    loss_probe p = {.loss = loss, .batch = *batch};
    float *memory = drove__alloc(2 * n + batch->n_rows, sizeof *memory);
    if (memory == NULL) return drove__fail_nomem("a check of a loss", 2 * n * sizeof *memory);
    p.outputs = memory;
    p.derivative = memory + n;
    p.loss_of = memory + 2 * n;
    memcpy(p.outputs, batch->outputs, n * sizeof *memory);
    p.batch.outputs = p.outputs;
    p.batch.loss = p.loss_of;
    p.batch.why = p.why;
    p.batch.why_size = sizeof p.why;
    drove_status status;
    const size_t n_outputs = p.batch.n_outputs;
    if ((status = eval(&p, p.derivative)) != DROVE_OK) goto fail;
    for (size_t i = 0; i < p.batch.n_rows * n_outputs; i++) {
        const slope f = {.value = loss_value, .context = &p, .at = &p.outputs[i]};
        double expected, size;
        p.row = i / n_outputs;
        if ((status = loss_value(&p, &size)) != DROVE_OK) goto fail;
        if ((status = find_slope(&f, &expected)) != DROVE_OK) goto fail;
        compare(&w, "output", i, (double)p.derivative[i], expected, fabs(size) / 100.0);
    }

    /* An example has the same loss alone and among others. */
    const drove_loss_batch all = p.batch;
    const size_t row = all.n_rows / 2;
    double alone, together;
    p.row = row;
    if ((status = loss_value(&p, &together)) != DROVE_OK) goto fail;
    /* The example alone. */
    const size_t each = all.n_outputs;
    p.batch.n_rows = 1;
    p.batch.outputs = p.outputs + row * each;
    p.batch.class_of = all.class_of != NULL ? all.class_of + row : NULL;
    p.batch.values = all.values != NULL ? all.values + row * each : NULL;
    p.batch.label_first = all.label_first != NULL ? all.label_first + row : NULL;
    p.batch.label_last = all.label_last != NULL ? all.label_last + row : NULL;
    p.row = 0;
    status = loss_value(&p, &alone);
    p.batch = all;
    if (status != DROVE_OK) goto fail;
    if (!(fabs(alone - together) <= 1e-5 * fmax(1.0, fabs(together))))
        status =
            drove__fail(DROVE_E_DATA,
                        "loss %s: example %zu: expected the loss %g that it has alone, found %g "
                        "among others",
                        p.loss->name, row, alone, together);
fail:
    drove__free(memory);
    DROVE_TRY(status);
    return judge(&w, "loss", loss->name, bound > 0.0 ? bound : LOSS_BOUND, worst_out);
}

/* ---- layer ---- */

enum { ROWS = 3, MOST_NUMBERS = 1 << 16 };

typedef struct layer_probe {
    const drove_custom_layer *layer;
    drove_layer_sizes sizes;
    size_t n_in, n_out;
    float *x, *y, *dy, *dx;       /* [ROWS][n_in] or [ROWS][n_out] */
    float *parameters, *gradient; /* [n_parameters] */
    uint64_t seed;
    char why[512];
} layer_probe;

static size_t floats(drove_layer_shape s)
{
    return s.channels * s.height * s.width;
}

static drove_status fail_layer(layer_probe *p, drove_status status)
{
    p->why[sizeof p->why - 1] = '\0';
    return status == DROVE_OK ? DROVE_OK
                              : drove__custom_fail_now("layer", p->layer->name, status, p->why);
}

static drove_layer_batch batch_of(layer_probe *p)
{
    p->why[0] = '\0';
    return (drove_layer_batch){.sizes = &p->sizes,
                               .n_rows = ROWS,
                               .x = p->x,
                               .parameters = p->parameters,
                               .y = p->y,
                               .is_training = 1,
                               .seed = p->seed,
                               .why = p->why,
                               .why_size = sizeof p->why};
}

static drove_status run_forward(layer_probe *p)
{
    const drove_layer_batch b = batch_of(p);
    return fail_layer(p, p->layer->forward(p->layer->context, &b));
}

static drove_status layer_value(void *context, double *out)
{
    layer_probe *p = context;
    DROVE_TRY(run_forward(p));
    *out = 0.0;
    for (size_t i = 0; i < ROWS * p->n_out; i++) *out += (double)p->dy[i] * (double)p->y[i];
    return DROVE_OK;
}

static void fill(drove_rng *rng, float *to, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = (float)drove__rng_normal(rng);
}

static void fill_nan(float *to, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = NAN;
}

static drove_status want_written(const layer_probe *p, const char *what, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(x[i]))
            return drove__fail(DROVE_E_DATA, "layer %s: %s %zu: expected a number, found none",
                               p->layer->name, what, i);
    return DROVE_OK;
}

/* Forward of the last row alone gives what it gave among others. */
static drove_status check_row(layer_probe *p)
{
    const size_t row = ROWS - 1;
    float *alone = drove__alloc(p->n_out, sizeof *alone);
    if (alone == NULL) return drove__fail_nomem("a check of a layer", p->n_out * sizeof *alone);
    drove_layer_batch b = batch_of(p);
    b.n_rows = 1;
    b.first_row = row;
    b.x = p->x + row * p->n_in;
    b.y = alone;
    drove_status status = fail_layer(p, p->layer->forward(p->layer->context, &b));
    for (size_t i = 0; i < p->n_out && status == DROVE_OK; i++) {
        const double together = (double)p->y[row * p->n_out + i];
        if (fabs((double)alone[i] - together) <= 1e-5 * fmax(1.0, fabs(together))) continue;
        status = drove__fail(DROVE_E_DATA,
                             "layer %s: output %zu: expected %g, as of the example alone, found %g "
                             "among others",
                             p->layer->name, i, (double)alone[i], together);
    }
    drove__free(alone);
    return status;
}

static drove_status check_numbers(layer_probe *p, const char *what, float *at, const float *found,
                                  size_t n, worst *w)
{
    for (size_t i = 0; i < n; i++) {
        const slope f = {.value = layer_value, .context = p, .at = &at[i]};
        double expected;
        DROVE_TRY(find_slope(&f, &expected));
        compare(w, what, i, (double)found[i], expected, 0.0);
    }
    return DROVE_OK;
}

drove_status drove_layer_check(const drove_custom_layer *layer, drove_layer_shape in, size_t units,
                               uint64_t seed, double bound, double *worst_out)
{
    DROVE_GIVEN(layer);
    drove_options options = {0};
    layer_probe p = {.layer = layer, .seed = seed};
    worst w = {0};
    DROVE_TRY(drove_options_add_layer(&options, layer));
    p.sizes = (drove_layer_sizes){.in = in, .units = units};
    DROVE_TRY(fail_layer(&p, p.layer->shape(p.layer->context, &p.sizes, p.why, sizeof p.why)));
    p.n_in = floats(in);
    p.n_out = floats(p.sizes.out);
    const bool fits = p.n_in > 0 && p.n_in <= MOST_NUMBERS && p.n_out > 0 &&
                      p.n_out <= MOST_NUMBERS && p.sizes.n_parameters <= MOST_NUMBERS;
    if (!fits)
        return drove__fail(DROVE_E_ARG,
                           "layer %s: expected 1 to %d numbers of an example and at most as many "
                           "parameters, found %zu in, %zu out and %zu",
                           p.layer->name, MOST_NUMBERS, p.n_in, p.n_out, p.sizes.n_parameters);
    const size_t n = p.sizes.n_parameters;
    float *memory = drove__alloc(2 * ROWS * (p.n_in + p.n_out) + 2 * n, sizeof *memory);
    if (memory == NULL) return drove__fail_nomem("a check of a layer", n * sizeof *memory);
    p.x = memory;
    p.dx = p.x + ROWS * p.n_in;
    p.y = p.dx + ROWS * p.n_in;
    p.dy = p.y + ROWS * p.n_out;
    p.parameters = p.dy + ROWS * p.n_out;
    p.gradient = p.parameters + n;
    drove_status status;
    /* A parameter that starts at 0 may hide a mistake: all are moved a little. */
    drove_rng rng;
    drove__rng_seed(&rng, p.seed, DROVE_RNG_INIT, 0);
    if (p.layer->start != NULL && p.sizes.n_parameters > 0)
        if ((status = fail_layer(&p, p.layer->start(p.layer->context, &p.sizes, p.seed,
                                                    p.parameters, p.why, sizeof p.why))) !=
            DROVE_OK)
            goto fail;
    for (size_t i = 0; i < p.sizes.n_parameters; i++)
        p.parameters[i] += (float)(0.25 * drove__rng_normal(&rng));
    fill(&rng, p.x, ROWS * p.n_in);
    fill(&rng, p.dy, ROWS * p.n_out);
    fill_nan(p.y, ROWS * p.n_out);
    if ((status = run_forward(&p)) != DROVE_OK) goto fail;
    if ((status = want_written(&p, "output", p.y, ROWS * p.n_out)) != DROVE_OK) goto fail;
    if ((status = check_row(&p)) != DROVE_OK) goto fail;
    drove_layer_batch b = batch_of(&p);
    b.dy = p.dy;
    b.dx = p.dx;
    b.gradient = p.gradient;
    fill_nan(p.dx, ROWS * p.n_in);
    fill_nan(p.gradient, p.sizes.n_parameters);
    if ((status = fail_layer(&p, p.layer->backward(p.layer->context, &b))) != DROVE_OK) goto fail;
    if ((status = want_written(&p, "dx", p.dx, ROWS * p.n_in)) != DROVE_OK) goto fail;
    if ((status = want_written(&p, "gradient", p.gradient, p.sizes.n_parameters)) != DROVE_OK)
        goto fail;
    if ((status = check_numbers(&p, "dx", p.x, p.dx, ROWS * p.n_in, &w)) != DROVE_OK) goto fail;
    status = check_numbers(&p, "gradient", p.parameters, p.gradient, p.sizes.n_parameters, &w);
fail:
    drove__free(memory);
    DROVE_TRY(status);
    return judge(&w, "layer", layer->name, bound > 0.0 ? bound : LAYER_BOUND, worst_out);
}
