/* test_accel_resident.c - parameters that stay on an accelerator: steps of every rule equal the
 * host's (src/optim), slices come in order and equal the gradient at the caller's parameters, sums
 * that are given replace them, evaluation in between changes nothing, two devices keep equal bits.
 *
 * On operations in plain C, and on each kind of device that is here.
 * ctest: home=release: drivers of OpenCL are not sanitized; the stand-in for CUDA is. */
#include "unit/engine/accel_images.h"
#include "unit/engine/accel_plain.h"
#include "unit/engine/accel_support.h"
#include "support/engine_calls.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 8, N_STEPS = 6, MOST_STATE = 2 };
static const uint64_t TIMEOUT_NS = 60000000000u;

/* Largest difference of a parameter or its state from the host's after the steps, as a part of the
 * largest in the vector: float divisions and roots of a device are within 3 units in the last
 * place, and sums of squares have another order. */
static const double STEP_BOUND = 1e-5;

static const struct {
    drove_device_rule rule;
    float eta;
} rules[] = {
    {{.name = "sgd"}, 0.1f},
    {{.name = "sgd", .weight_decay = 0.01f, .clip = 0.05f}, 0.1f},
    {{.name = "momentum", .n_state = 1, .mu = 0.9f, .weight_decay = 1e-3f}, 0.05f},
    {{.name = "nesterov", .n_state = 1, .mu = 0.8f}, 0.05f},
    {{.name = "adagrad", .n_state = 1, .epsilon = 1e-8f, .clip = 1.0f}, 0.01f},
    {{.name = "rmsprop", .n_state = 1, .beta1 = 0.9f, .epsilon = 1e-4f}, 0.001f},
    {{.name = "adam", .n_state = 2, .beta1 = 0.9f, .beta2 = 0.99f, .epsilon = 1e-4f}, 0.001f},
};
enum { N_RULES = sizeof rules / sizeof rules[0] };

/* ---- the same on the host, in plain C and double ---- */

typedef struct parameters {
    size_t n;
    float *vector; /* [n (1 + n_state)] */
} parameters;

static double clip_factor(const drove_device_rule *rule, const double *g, size_t n)
{
    double square = 0.0;
    for (size_t i = 0; i < n; i++) square += g[i] * g[i];
    return rule->clip > 0.0f && sqrt(square) > (double)rule->clip
               ? (double)rule->clip / sqrt(square)
               : 1.0;
}

/* theta, m1, m2: one parameter and its state. */
static void step_one(const drove_device_rule *r, double g, double eta, uint64_t t, float *theta,
                     float *m1, float *m2)
{
    double b1 = r->beta1, b2 = r->beta2, epsilon = r->epsilon, mu = r->mu;
    if (strcmp(r->name, "sgd") == 0) {
        *theta = (float)((double)*theta - eta * g);
    } else if (strcmp(r->name, "momentum") == 0 || strcmp(r->name, "nesterov") == 0) {
        *m1 = (float)(mu * (double)*m1 - eta * g);
        *theta = (float)((double)*theta + (double)*m1);
    } else if (strcmp(r->name, "adagrad") == 0) {
        *m1 = (float)((double)*m1 + g * g);
        *theta = (float)((double)*theta - eta * g / (sqrt((double)*m1) + epsilon));
    } else if (strcmp(r->name, "rmsprop") == 0) {
        *m1 = (float)(b1 * (double)*m1 + (1.0 - b1) * g * g);
        *theta = (float)((double)*theta - eta * g / (sqrt((double)*m1) + epsilon));
    } else {
        *m1 = (float)(b1 * (double)*m1 + (1.0 - b1) * g);
        *m2 = (float)(b2 * (double)*m2 + (1.0 - b2) * g * g);
        double first = (double)*m1 / (1.0 - pow(b1, (double)t));
        double second = (double)*m2 / (1.0 - pow(b2, (double)t));
        *theta = (float)((double)*theta - eta * first / (sqrt(second) + epsilon));
    }
}

static void host_step(const drove_device_rule *rule, const drove_device_update *how,
                      const float *given, const parameters *p)
{
    float unused = 0.0f;
    double *g = calloc(p->n, sizeof *g);
    assert_non_null(g);
    for (size_t i = 0; i < p->n; i++)
        g[i] = (double)how->scale * (double)given[i] +
               (double)rule->weight_decay * (double)p->vector[i];
    double factor = clip_factor(rule, g, p->n);
    for (size_t i = 0; i < p->n; i++)
        step_one(rule, factor * g[i], how->eta, how->t, p->vector + i,
                 rule->n_state > 0 ? p->vector + p->n + i : &unused,
                 rule->n_state > 1 ? p->vector + 2 * p->n + i : &unused);
    free(g);
}

static void compare(const char *what, const float *expected, const float *found, size_t n)
{
    double error = 0.0, largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)expected[i] - (double)found[i]);
        error = d <= error ? error : d; /* a NaN stays */
        largest = fmax(largest, fabs((double)expected[i]));
    }
    if (!(error <= STEP_BOUND * largest)) fail_msg("%s differs by %g of %g", what, error, largest);
}

/* ---- a step ---- */

typedef struct exchange { /* of one batch */
    images *p;
    drove_gradient grad;
    float *gradient, *sum; /* [n_params] */
    size_t before;         /* the layer that came last */
} exchange;

/* Copies the slice, and gives twice that back, in two pieces. */
static void on_layer(void *context, size_t layer)
{
    exchange *x = context;
    images *p = x->p;
    const drove_engine_ops *ops = p->device->engine;
    size_t offset, n;
    assert_int_equal(layer, x->before - 1);
    x->before = layer;
    drove__model_layer_part(p->model, layer, &offset, &n);
    if (n == 0) return;
    const float *from = x->grad.value + offset;
    float *sum = x->sum + offset;
    memcpy(x->gradient + offset, from, n * sizeof *from);
    for (size_t i = 0; i < n; i++) sum[i] = 2.0f * from[i];
    size_t half = n / 32 * 16;
    assert_int_equal(ops->resident->give(p->accel, offset, half, sum), DROVE_OK);
    assert_int_equal(ops->resident->give(p->accel, offset + half, n - half, sum + half), DROVE_OK);
}

/* The caller keeps x and work until finish. */
static void begin(exchange *x, images *p, float *gradient, float *sum,
                  const drove_device_update *update, drove_work *work)
{
    *x = (exchange){.p = p, .gradient = gradient, .sum = sum, .before = p->model->n_layers};
    x->grad = (drove_gradient){.after_layer = on_layer, .context = x};
    *work = (drove_work){.batch = &p->batch, .grad = &x->grad, .update = *update};
    assert_int_equal(p->device->engine->begin(p->accel, work), DROVE_OK);
}

static void take_parts(images *p)
{
    for (size_t n_left = 1; n_left > 0;)
        assert_int_equal(p->device->engine->part(p->accel, TIMEOUT_NS, &n_left), DROVE_OK);
}

typedef struct copies {
    const drove_model *model;
    size_t n_down, n_up;
    size_t covered; /* numbers of parts that came down */
} copies;

static void take_copy(void *context, const drove_device_copy *copy)
{
    copies *c = context;
    size_t offset, n;
    assert_true(copy->begin_ns <= copy->end_ns);
    assert_true(copy->hidden_ns <= copy->end_ns - copy->begin_ns);
    c->n_down += !copy->is_up;
    c->n_up += copy->is_up;
    for (size_t l = 0; l < c->model->n_layers && !copy->is_up; l++) {
        drove__model_layer_part(c->model, l, &offset, &n);
        if (n > 0 && offset == copy->offset) c->covered += n;
    }
}

/* Every layer with parameters came down once, and what was given went up in two pieces each. */
static void check_copies(images *p)
{
    copies c = {.model = p->model};
    size_t n_parts = 0;
    for (size_t l = 0; l < p->model->n_layers; l++) n_parts += p->model->layer[l].n_params > 0;
    assert_int_equal(p->device->engine->resident->copies(p->accel, take_copy, &c), DROVE_OK);
    assert_int_equal(c.n_down, n_parts);
    assert_int_equal(c.n_up, 2 * n_parts);
    assert_int_equal(c.covered, p->model->n_params - p->model->n_statistics);
}

/* The gradient at theta, or, for Nesterov's rule, theta + mu v, at the caller's parameters. */
static void check_gradient(images *p, const drove_device_rule *rule, const float *vector,
                           const float *gradient)
{
    drove_gradient g = {.value = p->grad[0]};
    size_t n = p->model->n_params;
    bool looks_ahead = strcmp(rule->name, "nesterov") == 0;
    for (size_t i = 0; i < n; i++)
        p->theta[i] = vector[i] + (looks_ahead ? rule->mu * vector[n + i] : 0.0f);
    assert_int_equal(engine_gradient(&drove__engine_host, p->host, p->theta, &p->batch, &g, NULL),
                     DROVE_OK);
    memcpy(p->grad[1], gradient, n * sizeof *gradient);
    images_compare(p, 1e-3);
}

static void steps_with(drove_device *device, const images_case *how, size_t which)
{
    images p;
    const drove_device_rule *rule = &rules[which].rule;
    const drove_engine_ops *ops = device->engine;
    images_setup(&p, how, device, MAX_ROWS);
    size_t n = p.model->n_params, n_all = n * (1 + rule->n_state);
    parameters host = {.n = n, .vector = calloc(n_all, sizeof(float))};
    float *found = calloc(n_all, sizeof *found), *gradient = calloc(n, sizeof *gradient);
    float *sum = calloc(n, sizeof *sum);
    assert_true(host.vector != NULL && found != NULL && gradient != NULL && sum != NULL);
    memcpy(host.vector, p.theta, n * sizeof(float));
    images_choose(&p, 0, MAX_ROWS, 1);
    assert_int_equal(ops->resident->set_params(p.accel, rule, host.vector), DROVE_OK);
    for (uint64_t t = 1; t <= N_STEPS; t++) {
        drove_score other = {0}, same = {0};
        drove_work_done done = {0};
        exchange x;
        drove_work work;
        const drove_device_update update = {.scale = 0.5f, .eta = rules[which].eta, .t = t};
        images_choose(&p, 5 * t, MAX_ROWS - t % 3, t);
        begin(&x, &p, gradient, sum, &update, &work);
        if (t % 2 == 0) take_parts(&p); /* else finish delivers them */
        assert_int_equal(ops->finish(p.accel, TIMEOUT_NS, &done), DROVE_OK);
        assert_int_equal(x.before, 0);
        check_copies(&p);
        assert_int_equal(done.score.n_rows, p.batch.n_rows);
        assert_true(done.times.compute_ns > 0 && done.times.hidden_ns <= done.times.copy_ns);
        check_gradient(&p, rule, host.vector, gradient);
        host_step(rule, &update, sum, &host);
        assert_int_equal(engine_score(ops, p.accel, p.theta, &p.batch, &other), DROVE_OK);
        assert_int_equal(ops->resident->get_params(p.accel, found), DROVE_OK);
        for (unsigned i = 0; i <= rule->n_state; i++)
            compare(rule->name, host.vector + i * n, found + i * n, n);
        /* a score at the device's parameters is that at the same ones of the caller's */
        assert_int_equal(engine_score(ops, p.accel, NULL, &p.batch, &same), DROVE_OK);
        other = (drove_score){0};
        assert_int_equal(engine_score(ops, p.accel, found, &p.batch, &other), DROVE_OK);
        assert_true(same.loss == other.loss && same.n_rows == p.batch.n_rows);
        memcpy(host.vector, found, n_all * sizeof *found); /* differences do not add up */
    }
    free(host.vector);
    free(found);
    free(gradient);
    free(sum);
    images_teardown(&p);
}

GROUP(accel_open_devices, accel_close_devices);

TEST(every_rule_steps_as_the_hosts)
{
    for (size_t i = 0; i < ACCEL_N_DEVICES; i++) {
        for (size_t r = 0; accel_devices[i] != NULL && r < N_RULES; r++)
            steps_with(accel_devices[i], images_find(r % 2 == 0 ? "inception" : "batch norm"), r);
    }
}

/* ---- two devices ---- */

static void together(drove_device *device)
{
    images p[2];
    const drove_engine_ops *ops = device->engine;
    const drove_device_rule rule = {.name = "adam",
                                    .n_state = 2,
                                    .beta1 = 0.9f,
                                    .beta2 = 0.999f,
                                    .epsilon = 1e-8f,
                                    .clip = 0.5f};
    for (size_t d = 0; d < 2; d++) images_setup(&p[d], images_find("lenet"), device, MAX_ROWS);
    size_t n = p[0].model->n_params;
    float *vector = calloc(3 * n, sizeof *vector), *other = calloc(3 * n, sizeof *other);
    float *sum[2] = {calloc(n, sizeof(float)), calloc(n, sizeof(float))};
    float *own[2] = {calloc(n, sizeof(float)), calloc(n, sizeof(float))};
    memcpy(vector, p[0].theta, n * sizeof *vector);
    for (size_t d = 0; d < 2; d++)
        assert_int_equal(ops->resident->set_params(p[d].accel, &rule, vector), DROVE_OK);
    for (uint64_t t = 1; t <= N_STEPS; t++) {
        const drove_device_update update = {.scale = 0.5f, .eta = 0.01f, .t = t};
        exchange x[2];
        drove_work work[2];
        for (size_t d = 0; d < 2; d++) {
            images_choose(&p[d], 11 * d + t, MAX_ROWS, t);
            begin(&x[d], &p[d], own[d], sum[d], &update, &work[d]);
        }
        for (size_t d = 0; d < 2; d++) take_parts(&p[d]);
        for (size_t i = 0; i < n; i++) sum[0][i] = own[0][i] + own[1][i];
        for (size_t d = 0; d < 2; d++) {
            assert_int_equal(ops->resident->give(p[d].accel, 0, n, sum[0]), DROVE_OK);
            assert_int_equal(ops->finish(p[d].accel, TIMEOUT_NS, NULL), DROVE_OK);
        }
    }
    assert_int_equal(ops->resident->get_params(p[0].accel, vector), DROVE_OK);
    assert_int_equal(ops->resident->get_params(p[1].accel, other), DROVE_OK);
    assert_memory_equal(vector, other, 3 * n * sizeof *vector);
    assert_true(memcmp(vector, p[0].theta, n * sizeof *vector) != 0);
    for (size_t d = 0; d < 2; d++) {
        free(sum[d]);
        free(own[d]);
        images_teardown(&p[d]);
    }
    free(vector);
    free(other);
}

TEST(devices_that_are_given_equal_sums_stay_equal)
{
    for (size_t i = 0; i < ACCEL_N_DEVICES; i++)
        if (accel_devices[i] != NULL) together(accel_devices[i]);
}

/* ---- refusals ---- */

TEST(other_rules_and_orders_are_refused)
{
    if (accel_devices[ACCEL_PLAIN] == NULL) skip();
    images p;
    size_t n_left;
    drove_gradient grad = {0};
    const drove_engine_ops *ops = accel_devices[ACCEL_PLAIN]->engine;
    const drove_device_rule unknown = {.name = "newton"}, short_of_state = {.name = "adam"};
    const drove_device_rule rule = {.name = "sgd"};
    const drove_work work = {.batch = &p.batch, .grad = &grad};
    images_setup(&p, images_find("plain"), accel_devices[ACCEL_PLAIN], MAX_ROWS);
    assert_int_equal(ops->resident->set_params(p.accel, &unknown, p.theta), DROVE_E_UNSUPPORTED);
    assert_int_equal(ops->resident->set_params(p.accel, &short_of_state, p.theta),
                     DROVE_E_UNSUPPORTED);
    assert_int_equal(ops->resident->set_params(p.accel, &rule, p.theta), DROVE_OK);
    assert_int_equal(ops->part(p.accel, 0, &n_left), DROVE_E_ARG);
    assert_int_equal(ops->finish(p.accel, TIMEOUT_NS, NULL), DROVE_E_ARG);
    images_choose(&p, 0, MAX_ROWS + 1, 0);
    assert_int_equal(ops->begin(p.accel, &work), DROVE_E_ARG); /* no pieces at its parameters */
    images_choose(&p, 0, 4, 0);
    assert_int_equal(ops->begin(p.accel, &work), DROVE_OK);
    assert_int_equal(ops->begin(p.accel, &work), DROVE_E_ARG);
    assert_int_equal(ops->resident->give(p.accel, p.model->n_params, 1, p.theta), DROVE_E_ARG);
    assert_int_equal(ops->part(p.accel, 0, &n_left), DROVE_OK);
    assert_true(n_left < p.model->n_layers && grad.value != NULL);
    images_teardown(&p); /* in the middle of a batch */
}
