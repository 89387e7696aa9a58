/* Whole runs of 20 steps against an independent float64 implementation, for every rule of Table
 * 2.3. */
#include "support/reference_mlp.h"
#include "system/run_support.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 20, BATCH = 16, HIDDEN = 24, INPUTS = 784, CLASSES = 10 };

/* Parameters after 20 steps in float32 against float64, relative to the largest one: forward and
 * backward errors of 20 steps of about 1e-6 each; Adam divides by small roots, which amplifies
 * them. */
static const double TOLERANCE = 2e-4;

typedef struct rule_case {
    const char *rule;
    reference_rule reference;
    double lr, decay;
} rule_case;

/* The engine's layout (views on 16-float boundaries) to the reference's (no gaps). */
static double *gapless(const drove_modelfile *file)
{
    double *theta = calloc(file->model->n_weights, sizeof *theta), *to = theta;
    for (size_t i = 0; i < file->model->n_layers; i++) {
        const drove_layer *l = &file->model->layer[i];
        for (size_t j = 0; j < l->n_in * l->n_out; j++) *to++ = file->theta[l->w_offset + j];
        for (size_t j = 0; j < l->n_out; j++) *to++ = file->theta[l->b_offset + j];
    }
    return theta;
}

static void make_batch(const drove_data *data, const drove_order *o, drove_order_cursor *cursor,
                       uint64_t k, double *x, double *t)
{
    uint32_t row[BATCH];
    const drove_task task = {.number = k};
    assert_int_equal(drove__order_rows(o, cursor, &task, row), BATCH);
    memset(t, 0, BATCH * CLASSES * sizeof *t);
    for (size_t i = 0; i < BATCH; i++) {
        for (size_t f = 0; f < INPUTS; f++)
            x[i * INPUTS + f] = data->storage->x_u8[row[i] * INPUTS + f] / 255.0;
        t[i * CLASSES + (size_t)data->storage->y_class[row[i]]] = 1.0;
    }
}

/* Nesterov's step with decay: the loss has its gradient at theta + mu v, the decay at theta. */
static void decayed_nesterov_step(const reference_mlp *m, reference_optim *o, double decay,
                                  double *theta, const double *x, const double *t)
{
    size_t n = reference_n_params(m);
    double *ahead = calloc(n, sizeof *ahead), *grad = calloc(n, sizeof *grad);
    for (size_t i = 0; i < n; i++) ahead[i] = theta[i] + o->mu * o->s1[i];
    reference_gradient(m, ahead, x, t, BATCH, grad);
    for (size_t i = 0; i < n; i++) {
        o->s1[i] = o->mu * o->s1[i] - o->eta * (grad[i] + decay * theta[i]);
        theta[i] += o->s1[i];
    }
    free(ahead);
    free(grad);
}

static double *reference_run(const drove_options *opt, const rule_case *c, double *theta)
{
    const reference_mlp m = {.n_layers = 2,
                             .size = {INPUTS, HIDDEN, CLASSES},
                             .act = REFERENCE_RELU,
                             .loss = REFERENCE_SOFTMAX};
    reference_optim o;
    drove_data *data;
    drove_order_cursor cursor;
    double *x = calloc(BATCH * INPUTS, sizeof *x), *t = calloc(BATCH * CLASSES, sizeof *t);
    assert_int_equal(drove_data_open(opt->data, NULL, opt->seed, &data, NULL), DROVE_OK);
    const drove_order order =
        drove__order_make(data->n_rows, BATCH, opt->seed, DROVE_ORDER_SHUFFLE);
    drove__order_cursor_init(&cursor);
    reference_optim_init(&o, c->reference, reference_n_params(&m));
    o.eta = c->lr;
    o.mu = 0.9;
    o.beta1 = 0.9;
    o.beta2 = c->reference == REFERENCE_RMSPROP ? 0.9 : 0.999;
    o.epsilon = 1e-8;
    for (uint64_t k = 0; k < STEPS; k++) {
        make_batch(data, &order, &cursor, k, x, t);
        if (c->decay > 0.0) {
            decayed_nesterov_step(&m, &o, c->decay, theta, x, t);
        } else {
            reference_step(&m, &o, theta, x, t, BATCH);
        }
    }
    reference_optim_fini(&o);
    drove_data_destroy(data);
    free(x);
    free(t);
    return theta;
}

static void compare(const rule_case *c)
{
    drove_options opt = small_run();
    drove_modelfile start, end;
    char lr[32];
    snprintf(lr, sizeof lr, "%.9g", c->lr);
    set(&opt, "rule", c->rule);
    set(&opt, "lr", lr);
    snprintf(lr, sizeof lr, "%.9g", c->decay);
    set(&opt, "weight-decay", lr);
    set(&opt, "until", "updates=0");
    set(&opt, "out", fresh_folder("start"));
    run_to(&opt, DROVE_FINISHED);
    set(&opt, "until", "updates=20");
    set(&opt, "out", fresh_folder("end"));
    run_to(&opt, DROVE_FINISHED);
    load_model("start", "model.safetensors", &start);
    load_model("end", "model.safetensors", &end);
    size_t n = end.model->n_weights;
    double *expected = reference_run(&opt, c, gapless(&start)), *found = gapless(&end);
    double *first = gapless(&start), largest = 0.0, moved = 0.0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(expected[i]));
        moved = fmax(moved, fabs(expected[i] - first[i]));
    }
    assert_true(moved > 0.01 * largest); /* a run that stands still proves nothing */
    for (size_t i = 0; i < n; i++) {
        double error = fabs(found[i] - expected[i]) / largest;
        if (!(error <= TOLERANCE)) {
            fail_msg("%s: parameter %zu is %.9g, expected %.9g (error %.2g)", c->rule, i, found[i],
                     expected[i], error);
        }
    }
    free(expected);
    free(found);
    free(first);
    drove__modelfile_fini(&start);
    drove__modelfile_fini(&end);
}

TEST(twenty_steps_of_every_rule)
{
    static const rule_case cases[] = {
        {"sgd", REFERENCE_SGD, 0.1, 0.0},
        {"momentum:0.9", REFERENCE_MOMENTUM, 0.02, 0.0},
        {"nesterov:0.9", REFERENCE_NESTEROV, 0.02, 0.0},
        {"nesterov:0.9", REFERENCE_NESTEROV, 0.02, 0.5},
        {"adagrad?epsilon=1e-8", REFERENCE_ADAGRAD, 0.01, 0.0},
        {"rmsprop:0.9?epsilon=1e-8", REFERENCE_RMSPROP, 0.002, 0.0},
        {"adam?beta1=0.9&beta2=0.999&epsilon=1e-8", REFERENCE_ADAM, 0.002, 0.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) compare(&cases[i]);
}
