/* Losses and layers of the program's own: the bits of drove's where they compute the same, several
 * threads at once, failures, saved models, and the checks that find a wrong derivative. */
#include "system/run_support.h"
#include "support/status.h"

#include "base/mem.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 400, D = 6 };

typedef struct problem {
    float x[N][D], value[N], weight[N];
    int32_t class_of[N];
    drove_arrays *values, *classes;
} problem;

/* The failure, and that its text is one line with `words` in it. */
static void refused(drove_status found, drove_status wanted, const char *words)
{
    const char *text = drove_error_text();
    if (found != wanted || strstr(text, words) == NULL || strchr(text, '\n') != NULL)
        fail_msg("expected %s with \"%s\", found %s: %s", drove_status_name(wanted), words,
                 drove_status_name(found), text);
}

FIXTURE(make_problem)
{
    static problem p;
    uint32_t seed = 1;
    for (int i = 0; i < N; i++) {
        float sum = 0.0f;
        for (int j = 0; j < D; j++) {
            seed = seed * 1664525u + 1013904223u;
            p.x[i][j] = (float)(seed >> 8) * 0x1p-23f - 1.0f;
            sum += (j % 2 == 0 ? 1.0f : -0.5f) * p.x[i][j];
        }
        p.value[i] = sum + sum * sum;
        p.class_of[i] = sum > 0.2f;
        p.weight[i] = (float)(i % 4);
    }
    const drove_matrix x = drove_matrix_dense(p.x, DROVE_TYPE_F32, N, D);
    const drove_matrix value = drove_matrix_dense(p.value, DROVE_TYPE_F32, N, 1);
    const drove_matrix class_of = drove_matrix_dense(p.class_of, DROVE_TYPE_I32, N, 1);
    const drove_matrix weight = drove_matrix_dense(p.weight, DROVE_TYPE_F32, N, 1);
    assert_ok(drove_arrays_create(&p.values));
    assert_ok(drove_arrays_set_dense(p.values, &x));
    assert_ok(drove_arrays_set_values(p.values, &value));
    assert_ok(drove_arrays_create(&p.classes));
    assert_ok(drove_arrays_set_dense(p.classes, &x));
    assert_ok(drove_arrays_set_classes(p.classes, &class_of, 2, NULL));
    assert_ok(drove_arrays_set_weights(p.classes, &weight));
    *state = &p;
    return 0;
}

FIXTURE(free_problem)
{
    problem *p = *state;
    drove_arrays_destroy(p->values);
    drove_arrays_destroy(p->classes);
    return 0;
}

GROUP(make_problem, free_problem);

static drove_options *options_for(const drove_arrays *data, const char *strategy,
                                  const char *threads)
{
    const char *const rows[][2] = {{"data", drove_arrays_name(data)},
                                   {"test", "none"},
                                   {"model", "mlp:8"},
                                   {"defaults", "classic"},
                                   {"strategy", strategy},
                                   {"threads", threads},
                                   {"batch", "8"},
                                   {"lr", "0.05"},
                                   {"until", "epochs=3"}};
    drove_options *opt;
    assert_ok(drove_options_create(&opt));
    for (size_t i = 0; i < DROVE_COUNT(rows); i++)
        assert_ok(drove_options_set(opt, rows[i][0], rows[i][1]));
    return opt;
}

/* Trains and keeps the model; the options go on. */
static drove_result *train(const drove_options *opt)
{
    drove_run *run;
    drove_result *result = NULL;
    assert_ok(drove_run_create(opt, &run));
    drove_run_keep_model(run);
    const drove_status status = drove_run_train(run, &result);
    drove_run_destroy(run);
    assert_ok(status);
    return result;
}

static drove_status train_to_fail(const drove_options *opt)
{
    drove_result *result;
    const drove_status status = drove_train(opt, NULL, &result);
    assert_null(result);
    return status;
}

static void assert_same_parameters(const char *a, const char *b, const drove_options *with)
{
    drove_modelfile first, second;
    assert_ok(drove__modelfile_load_with(a, with != NULL ? &with->custom : NULL, &first));
    assert_ok(drove__modelfile_load_with(b, with != NULL ? &with->custom : NULL, &second));
    assert_int_equal(first.model->n_params, second.model->n_params);
    assert_memory_equal(first.theta, second.theta, first.model->n_params * sizeof(float));
    drove__modelfile_fini(&first);
    drove__modelfile_fini(&second);
}

/* ---- losses ---- */

typedef struct counter {
    _Atomic int n_calls, n_now, n_most; /* calls, calls at this moment, most of them */
    int fails_at;                       /* call, from 1; 0: never */
    bool fails_in_scores;               /* where no derivative is wanted */
    const char *why;
} counter;

static drove_status count_call(counter *c, const drove_loss_batch *b)
{
    const int call = atomic_fetch_add(&c->n_calls, 1) + 1;
    const int now = atomic_fetch_add(&c->n_now, 1) + 1;
    int most = atomic_load(&c->n_most);
    while (now > most && !atomic_compare_exchange_weak(&c->n_most, &most, now)) {}
    if (now == 1 && atomic_load(&c->n_most) < 2 && call < 2000) usleep(100); /* so that they meet */
    atomic_fetch_sub(&c->n_now, 1);
    const bool fails =
        c->fails_in_scores ? b->derivative == NULL : c->fails_at > 0 && call >= c->fails_at;
    if (fails && c->why != NULL) snprintf(b->why, b->why_size, "%s", c->why);
    return fails ? DROVE_E_DATA : DROVE_OK;
}

/* (z - t)^2 / 2, as drove's own */
static drove_status squared(void *context, const drove_loss_batch *b)
{
    const size_t n = b->n_outputs;
    if (context != NULL) {
        const drove_status status = count_call(context, b);
        if (status != DROVE_OK) return status;
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        b->loss[i] = 0.0f;
        for (size_t o = 0; o < n; o++) {
            const float error = b->outputs[i * n + o] - b->values[i * n + o];
            b->loss[i] += 0.5f * error * error;
            if (b->derivative != NULL) b->derivative[i * n + o] = error;
        }
    }
    return DROVE_OK;
}

static const drove_custom_loss own_squared = {.name = "own_squared", .eval = squared};

/* The same steps as the built-in loss, which multiplies the same two numbers, in every way of
 * training that repeats its bits. */
TEST(squared_is_drove_own)
{
    static const char *const strategies[][2] = {{"sequential", "1"},  {"hogwild", "1"},
                                                {"leashed", "1"},     {"sync", "2"},
                                                {"easgd-sync3", "2"}, {"accumulate", "2"}};
    const problem *p = *state;
    for (size_t i = 0; i < DROVE_COUNT(strategies); i++) {
        drove_options *own = options_for(p->values, strategies[i][0], strategies[i][1]);
        drove_options *drove = options_for(p->values, strategies[i][0], strategies[i][1]);
        assert_ok(drove_options_set(drove, "loss", "squared"));
        assert_ok(drove_options_set_loss(own, &own_squared));
        drove_result *a = train(drove), *b = train(own);
        assert_same_parameters(drove_result_model(a), drove_result_model(b), NULL);
        drove_progress of_a, of_b;
        drove_result_final(a, &of_a);
        drove_result_final(b, &of_b);
        assert_true(fabs(of_a.loss - of_b.loss) < 1e-6 * of_a.loss);
        drove_result_destroy(a);
        drove_result_destroy(b);
        drove_options_destroy(own);
        drove_options_destroy(drove);
    }
}

static drove_status logistic(void *context, const drove_loss_batch *b)
{
    (void)context;
    for (size_t i = 0; i < b->n_rows; i++) {
        const double z = (double)b->outputs[i], t = b->class_of[i];
        b->loss[i] = (float)(fmax(z, 0.0) + log1p(exp(-fabs(z))) - t * z);
        if (b->derivative != NULL) b->derivative[i] = (float)(1.0 / (1.0 + exp(-z)) - t);
    }
    return DROVE_OK;
}

/* With weights of examples, probabilities and accuracies, against drove's loss of that name. */
TEST(weights_and_probabilities)
{
    const problem *p = *state;
    const drove_custom_loss loss = {.name = "own_logistic",
                                    .outputs = DROVE_OUTPUTS_SIGMOID,
                                    .has_one_output = 1,
                                    .eval = logistic};
    drove_options *own = options_for(p->classes, "sequential", "1");
    drove_options *drove = options_for(p->classes, "sequential", "1");
    assert_ok(drove_options_set_loss(own, &loss));
    assert_ok(drove_options_set(drove, "loss", "logistic"));
    drove_result *a = train(drove), *b = train(own);
    drove_progress of_a, of_b;
    drove_result_final(a, &of_a);
    drove_result_final(b, &of_b);
    assert_true(fabs(of_a.loss - of_b.loss) < 1e-4);
    assert_true(of_b.accuracy > 0.8 && fabs(of_a.accuracy - of_b.accuracy) < 0.01);
    drove_predictor *first, *second;
    float *x, *y;
    size_t n;
    assert_ok(drove_predictor_open(drove_result_model(a), NULL, &first));
    assert_ok(drove_predictor_open(drove_result_model(b), NULL, &second));
    assert_true(drove_predictor_describe(second)->gives_probability);
    assert_string_equal(drove_predictor_describe(second)->loss, "own_logistic");
    assert_ok(drove_predictor_apply(first, drove_arrays_name(p->classes), 1, &x, &n));
    assert_ok(drove_predictor_apply(second, drove_arrays_name(p->classes), 1, &y, &n));
    assert_int_equal(n, N);
    for (size_t i = 0; i < n; i++) assert_true(fabsf(x[i] - y[i]) < 1e-3f);
    free(x);
    free(y);
    drove_predictor_destroy(first);
    drove_predictor_destroy(second);
    drove_result_destroy(a);
    drove_result_destroy(b);
    drove_options_destroy(own);
    drove_options_destroy(drove);
}

TEST(several_threads_call_at_once)
{
    const problem *p = *state;
    static counter c;
    drove_custom_loss loss = own_squared;
    loss.context = &c;
    drove_options *opt = options_for(p->values, "hogwild", "3");
    assert_ok(drove_options_set_loss(opt, &loss));
    drove_result_destroy(train(opt));
    assert_true(atomic_load(&c.n_calls) > 3 * N / 8);
    assert_true(atomic_load(&c.n_most) >= 2);
    drove_options_destroy(opt);
}

/* In a step and in an evaluation, once or always, whatever a strategy could bear of devices. */
TEST(a_failure_ends_the_run)
{
    static const char *const strategies[][2] = {{"sequential", "1"}, {"hogwild", "2"},
                                                {"sync", "2"},       {"easgd-async", "2"},
                                                {"leashed", "2"},    {"accumulate", "2"}};
    const problem *p = *state;
    for (size_t i = 0; i < 2 * DROVE_COUNT(strategies); i++) {
        counter c = {.fails_at = 9, .why = "the disk is full\nand more"};
        c.fails_in_scores = i % 2 != 0;
        drove_custom_loss loss = own_squared;
        loss.context = &c;
        drove_options *opt = options_for(p->values, strategies[i / 2][0], strategies[i / 2][1]);
        assert_ok(drove_options_set_loss(opt, &loss));
        refused(train_to_fail(opt), DROVE_E_DATA, "loss own_squared: the disk is full");
        drove_options_destroy(opt);
    }
    counter c = {.fails_at = 3};
    drove_custom_loss loss = own_squared;
    loss.context = &c;
    drove_options *opt = options_for(p->values, "hogbatch", "1");
    assert_ok(drove_options_set(opt, "workers", "host:0+host:1"));
    assert_ok(drove_options_set_loss(opt, &loss));
    refused(train_to_fail(opt), DROVE_E_DATA, "own_squared: its function failed with DROVE_E_DATA");
    drove_options_destroy(opt);
}

/* Processes have copies of the program's memory, and failures reach the run. */
TEST(processes_call_it)
{
    const problem *p = *state;
    counter c = {.why = "not here", .fails_at = 20};
    drove_custom_loss loss = own_squared;
    drove_options *opt = options_for(p->values, "easgd-sync3", "1");
    assert_ok(drove_options_set(opt, "workers", "procs:2"));
    assert_ok(drove_options_set_loss(opt, &loss));
    drove_result_destroy(train(opt));
    loss.context = &c;
    assert_ok(drove_options_set_loss(opt, &loss));
    refused(train_to_fail(opt), DROVE_E_DATA, "loss own_squared: not here");
    drove_options_destroy(opt);
}

/* ---- saved models ---- */

TEST(a_saved_model_names_the_loss)
{
    const problem *p = *state;
    drove_options *opt = options_for(p->values, "sequential", "1"), *plain;
    assert_ok(drove_options_set_loss(opt, &own_squared));
    assert_ok(drove_options_set(opt, "out", fresh_folder("own-loss")));
    drove_result_destroy(train(opt));

    drove_predictor *predictor;
    float *out;
    size_t n;
    assert_ok(drove_predictor_open("own-loss", NULL, &predictor)); /* predicts without it */
    assert_ok(drove_predictor_apply(predictor, drove_arrays_name(p->values), 2, &out, &n));
    double sum = 0.0;
    for (size_t i = 0; i < N; i++) sum += pow((double)(out[i] - p->value[i]), 2.0) / 2.0 / N;
    free(out);
    drove_predictor_destroy(predictor);

    const drove_use_options use = {.model = "own-loss", .data = drove_arrays_name(p->values)};
    drove_score_report report;
    drove_metrics *metrics;
    refused(drove_eval(&use, &report), DROVE_E_UNSUPPORTED,
            "loss own_squared: expected the program's own function");
    assert_ok(drove_eval_with(opt, &use, &report, &metrics));
    assert_true(fabs(report.loss - sum) < 1e-5 * sum);
    drove_metrics_destroy(metrics);

    plain = options_for(p->values, "sequential", "1");
    assert_ok(drove_options_set(plain, "model", "own-loss"));
    refused(train_to_fail(plain), DROVE_E_UNSUPPORTED, "loss own_squared: expected");
    assert_ok(drove_options_set(opt, "model", "own-loss"));
    assert_ok(drove_options_set(opt, "out", ""));
    drove_result_destroy(train(opt));
    const drove_custom_loss other = {.name = "other", .eval = squared};
    assert_ok(drove_options_set_loss(plain, &other));
    refused(train_to_fail(plain), DROVE_E_ARG, "--loss: expected own_squared");
    const drove_custom_loss changed = {.name = "own_squared",
                                       .outputs = DROVE_OUTPUTS_SIGMOID,
                                       .eval = squared};
    assert_ok(drove_options_set_loss(plain, &changed));
    refused(train_to_fail(plain), DROVE_E_SHAPE, "expected outputs that mean \"plain\"");
    drove_options_destroy(opt);
    drove_options_destroy(plain);
}

TEST(a_trainer_uses_it)
{
    const problem *p = *state;
    counter c = {0};
    drove_custom_loss loss = own_squared;
    drove_options *opt = options_for(p->values, "sequential", "1");
    loss.context = &c;
    assert_ok(drove_options_set_loss(opt, &loss));
    drove_result *start = train(opt);
    assert_ok(drove_options_set(opt, "model", drove_result_model(start)));
    assert_ok(drove_options_set(opt, "rule", "sgd"));
    const int before = atomic_load(&c.n_calls);
    drove_trainer *trainer;
    int is_over;
    double first, second;
    assert_ok(drove_trainer_open(opt, &trainer));
    assert_ok(drove_trainer_begin(trainer, p->values));
    assert_ok(drove_trainer_advance(trainer, 60.0, &is_over, &first));
    assert_true(is_over);
    assert_int_equal(atomic_load(&c.n_calls), before + N / 8);
    c.fails_at = before + N / 8 + 2;
    c.why = "enough";
    assert_ok(drove_trainer_begin(trainer, p->values));
    refused(drove_trainer_advance(trainer, 60.0, &is_over, &second), DROVE_E_DATA,
            "loss own_squared: enough");
    assert_true(is_over);
    drove_trainer_destroy(trainer);
    drove_result_destroy(start);
    drove_options_destroy(opt);
}

TEST(bad_losses_are_refused)
{
    const problem *p = *state;
    drove_options *opt = options_for(p->values, "sequential", "1");
    static const struct {
        drove_custom_loss loss;
        const char *words;
    } rows[] = {
        {{.name = "squared", .eval = squared},
         "expected a new name, found that of a loss of drove"},
        {{.name = "auto", .eval = squared},
         "expected a new name, found that of one that drove chooses"},
        {{.name = "a b", .eval = squared}, "letters, digits and _, found \"a b\""},
        {{.name = NULL, .eval = squared}, "found \"\""},
        {{.name = "none_at_all"}, "expected a function eval, found none"},
        {{.name = "odd", .outputs = (drove_outputs)7, .eval = squared}, "expected outputs of"},
    };
    for (size_t i = 0; i < DROVE_COUNT(rows); i++)
        refused(drove_options_set_loss(opt, &rows[i].loss), DROVE_E_ARG, rows[i].words);
    drove_custom_loss loss = own_squared;
    loss.outputs = DROVE_OUTPUTS_SOFTMAX; /* of values */
    assert_ok(drove_options_set_loss(opt, &loss));
    refused(train_to_fail(opt), DROVE_E_SHAPE, "its outputs go through the softmax");
    assert_ok(drove_options_set_loss(opt, &own_squared));
    assert_ok(drove_options_set(opt, "precision", "bf16?masters=bf16"));
    refused(train_to_fail(opt), DROVE_E_UNSUPPORTED, "expected no low --precision");
    assert_ok(
        drove_options_set(opt, "precision", "bf16")); /* of products: the outputs are floats */
    drove_result_destroy(train(opt));
    assert_ok(drove_options_set(opt, "precision", ""));
    assert_ok(drove_options_set_loss(opt, NULL)); /* none any more: drove's own */
    drove_result_destroy(train(opt));
    drove_options_destroy(opt);
}

/* ---- layers ---- */

typedef struct layer_state {
    bool fails;
    float wrong; /* added to derivatives */
    bool leaves; /* does not write the last derivative */
} layer_state;

static drove_status same_shape(void *context, drove_layer_sizes *sizes, char *why, size_t why_size)
{
    (void)context;
    sizes->out = sizes->in;
    if (sizes->units != 13) return DROVE_OK;
    snprintf(why, why_size, "13 units are too few");
    return DROVE_E_SHAPE;
}

static drove_status relu_forward(void *context, const drove_layer_batch *b)
{
    const layer_state *s = context;
    const size_t n = b->sizes->in.channels * b->sizes->in.height * b->sizes->in.width;
    if (s != NULL && s->fails) {
        snprintf(b->why, b->why_size, "no more");
        return (drove_status)1000;
    }
    for (size_t i = 0; i < b->n_rows * n; i++) b->y[i] = b->x[i] > 0.0f ? b->x[i] : 0.0f;
    return DROVE_OK;
}

static drove_status relu_backward(void *context, const drove_layer_batch *b)
{
    const layer_state *s = context;
    const size_t n = b->n_rows * b->sizes->in.channels * b->sizes->in.height * b->sizes->in.width;
    for (size_t i = 0; b->dx != NULL && i < n; i++) {
        if (s != NULL && s->leaves && i + 1 == n) break;
        b->dx[i] = (b->y[i] > 0.0f ? b->dy[i] : 0.0f) + (s != NULL ? s->wrong : 0.0f);
    }
    return DROVE_OK;
}

static const drove_custom_layer own_relu = {
    .name = "own_relu", .shape = same_shape, .forward = relu_forward, .backward = relu_backward};

/* y = a x + b of all numbers of an example, a and b of its own: 2 parameters */
static drove_status affine_shape(void *context, drove_layer_sizes *sizes, char *why,
                                 size_t why_size)
{
    (void)context, (void)why, (void)why_size;
    sizes->out = sizes->in;
    sizes->n_parameters = 2;
    return DROVE_OK;
}

static drove_status affine_start(void *context, const drove_layer_sizes *sizes, uint64_t seed,
                                 float *parameters, char *why, size_t why_size)
{
    (void)context, (void)sizes, (void)seed, (void)why, (void)why_size;
    parameters[0] = 1.0f;
    return DROVE_OK;
}

static drove_status affine_forward(void *context, const drove_layer_batch *b)
{
    const size_t n = b->n_rows * b->sizes->in.channels * b->sizes->in.height * b->sizes->in.width;
    (void)context;
    for (size_t i = 0; i < n; i++) b->y[i] = b->parameters[0] * b->x[i] + b->parameters[1];
    return DROVE_OK;
}

static drove_status affine_backward(void *context, const drove_layer_batch *b)
{
    const size_t n = b->n_rows * b->sizes->in.channels * b->sizes->in.height * b->sizes->in.width;
    double of_a = 0.0, of_b = 0.0;
    (void)context;
    for (size_t i = 0; i < n; i++) {
        of_a += (double)b->dy[i] * (double)b->x[i];
        of_b += (double)b->dy[i];
        if (b->dx != NULL) b->dx[i] = b->parameters[0] * b->dy[i];
    }
    b->gradient[0] = (float)of_a;
    b->gradient[1] = (float)of_b;
    return DROVE_OK;
}

static const drove_custom_layer affine = {.name = "affine",
                                          .shape = affine_shape,
                                          .start = affine_start,
                                          .forward = affine_forward,
                                          .backward = affine_backward};

/* The description of a network as a file in memory; *path is its name with a suffix. */
static drove_memory_file *network(const char *text, char path[64])
{
    drove_memory_file *file;
    assert_ok(drove_memory_file_create(text, strlen(text), 1, &file));
    snprintf(path, 64, "%s.yaml", drove_memory_file_name(file));
    return file;
}

/* Two layers read one output, so derivatives are added; "%s" is the type of the activations. */
static const char two_branches[] = "name: two\n"
                                   "layers:\n"
                                   "  - {name: a, type: dense, units: 8}\n"
                                   "  - {name: left, type: %s, inputs: a}\n"
                                   "  - {name: right, type: %s, inputs: a}\n"
                                   "  - {name: s, type: sum, inputs: [left, right]}\n"
                                   "  - {name: last, type: dense, inputs: s}\n";

TEST(relu_is_drove_own)
{
    static const char *const strategies[][2] = {{"sequential", "1"},
                                                {"sync", "2"},
                                                {"easgd-sync3", "2"}};
    const problem *p = *state;
    char text[512], path[2][64];
    for (size_t i = 0; i < DROVE_COUNT(strategies); i++) {
        drove_memory_file *file[2];
        drove_result *result[2];
        drove_options *opt = options_for(p->values, strategies[i][0], strategies[i][1]);
        assert_ok(drove_options_add_layer(opt, &own_relu));
        for (int k = 0; k < 2; k++) {
            const char *kind = k == 0 ? "activation, activation: relu" : "own_relu";
            snprintf(text, sizeof text, two_branches, kind, kind);
            file[k] = network(text, path[k]);
            assert_ok(drove_options_set(opt, "model", path[k]));
            result[k] = train(opt);
        }
        assert_same_parameters(drove_result_model(result[0]), drove_result_model(result[1]), opt);
        for (int k = 0; k < 2; k++) {
            drove_result_destroy(result[k]);
            drove_memory_file_destroy(file[k]);
        }
        drove_options_destroy(opt);
    }
}

typedef struct listener {
    bool fails;
    char line[400]; /* warnings */
} listener;

static drove_status late_forward(void *context, const drove_layer_batch *b)
{
    const listener *l = context;
    if (!l->fails) return relu_forward(NULL, b);
    snprintf(b->why, b->why_size, "late");
    return DROVE_E_DATA;
}

static drove_status late_backward(void *context, const drove_layer_batch *b)
{
    (void)context;
    return relu_backward(NULL, b);
}

static void fail_after_the_last(void *context, const drove_progress *p)
{
    ((listener *)context)->fails = p->epochs >= 3.0;
}

static void hear(void *context, const char *line)
{
    listener *l = context;
    const size_t n = strlen(l->line);
    if (strncmp(line, "warning: ", 9) == 0) snprintf(l->line + n, sizeof l->line - n, "%s\n", line);
}

/* Behind the last evaluation the run itself has not failed, and its summary has no metrics.  With
 * features there is no importance of columns that could be missed. */
TEST(a_failure_behind_the_last_evaluation)
{
    const problem *p = *state;
    char path[64];
    listener l = {0};
    const drove_callbacks cb = {.context = &l, .evaluated = fail_after_the_last, .message = hear};
    const drove_custom_layer layer = {.name = "late_relu",
                                      .context = &l,
                                      .shape = same_shape,
                                      .forward = late_forward,
                                      .backward = late_backward};
    drove_memory_file *file = network("name: n\nlayers:\n  - {name: a, type: dense, units: 4}\n"
                                      "  - {name: r, type: late_relu}\n"
                                      "  - {name: last, type: dense}\n",
                                      path);
    drove_result *result;
    drove_options *opt = options_for(p->values, "sequential", "1");
    assert_ok(drove_options_set(opt, "test", drove_arrays_name(p->values)));
    assert_ok(drove_options_set(opt, "features", "rff:8"));
    assert_ok(drove_options_add_layer(opt, &layer));
    assert_ok(drove_options_set(opt, "model", path));
    assert_ok(drove_train(opt, &cb, &result));
    assert_string_equal(l.line, "warning: no metrics: layer late_relu: late\n");
    drove_result_destroy(result);
    drove_options_destroy(opt);
    drove_memory_file_destroy(file);
}

/* A batch of more rows than a call of a loss takes is given in pieces. */
TEST(large_batches_come_in_pieces)
{
    enum { ROWS = 2 * DROVE_LOSS_ROWS + 300 };
    static float x[ROWS][2], y[ROWS];
    char path[64];
    for (int i = 0; i < ROWS; i++) {
        x[i][0] = (float)(i % 37) / 37.0f;
        x[i][1] = (float)(i % 101) / 101.0f;
        y[i] = x[i][0] - x[i][1] * (float)i / ROWS;
    }
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F32, ROWS, 2);
    const drove_matrix values = drove_matrix_dense(y, DROVE_TYPE_F32, ROWS, 1);
    drove_arrays *data;
    assert_ok(drove_arrays_create(&data));
    assert_ok(drove_arrays_set_dense(data, &rows));
    assert_ok(drove_arrays_set_values(data, &values));
    drove_memory_file *file = network("name: n\nlayers:\n  - {name: a, type: dense, units: 4}\n"
                                      "  - {name: r, type: own_relu}\n"
                                      "  - {name: last, type: dense}\n",
                                      path);
    counter c = {0};
    drove_custom_loss loss = own_squared;
    drove_result *result[2];
    drove_options *opt = options_for(data, "sequential", "1");
    loss.context = &c;
    assert_ok(drove_options_set(opt, "model", path));
    assert_ok(drove_options_set(opt, "batch", "2348"));
    assert_ok(drove_options_add_layer(opt, &own_relu));
    assert_ok(drove_options_set(opt, "loss", "squared"));
    result[0] = train(opt);
    assert_ok(drove_options_set_loss(opt, &loss));
    result[1] = train(opt);
    assert_true(atomic_load(&c.n_calls) >= 3 * 3);
    assert_same_parameters(drove_result_model(result[0]), drove_result_model(result[1]), opt);
    for (int k = 0; k < 2; k++) drove_result_destroy(result[k]);
    drove_options_destroy(opt);
    drove_memory_file_destroy(file);
    drove_arrays_destroy(data);
}

/* The parts of a team divide forward; on images the numbers come as rows, columns, channels. */
TEST(a_team_computes_it)
{
    char path[64];
    drove_memory_file *file = network("name: image\n"
                                      "layers:\n"
                                      "  - {name: c, type: convolution, channels: 4, kernel: 3}\n"
                                      "  - {name: m, type: affine}\n"
                                      "  - {name: r, type: own_relu}\n"
                                      "  - {name: last, type: dense}\n",
                                      path);
    drove_progress of[2];
    for (int k = 0; k < 2; k++) {
        drove_options opt = small_run();
        set(&opt, "data", "synth:images?n=60&seed=4");
        set(&opt, "model", path);
        set(&opt, "lr", "0.01");
        if (k == 1) {
            set(&opt, "strategy", "hogbatch");
            set(&opt, "workers", "cpu:all?gradient=one");
        }
        assert_ok(drove_options_add_layer(&opt, &own_relu));
        assert_ok(drove_options_add_layer(&opt, &affine));
        drove_result *result = train(&opt);
        drove_result_final(result, &of[k]);
        drove_result_destroy(result);
    }
    assert_true(of[0].loss < of[0].loss_initial);
    assert_true(fabs(of[0].loss - of[1].loss) < 0.05 * of[0].loss);
    drove_memory_file_destroy(file);
}

TEST(a_saved_model_needs_its_layers)
{
    const problem *p = *state;
    char path[64];
    drove_memory_file *file = network("name: own\n"
                                      "layers:\n"
                                      "  - {name: a, type: dense, units: 8}\n"
                                      "  - {name: r, type: own_relu}\n"
                                      "  - {name: m, type: affine, weight_lr: 0.5}\n"
                                      "  - {name: last, type: dense}\n",
                                      path);
    drove_options *opt = options_for(p->values, "sequential", "1");
    assert_ok(drove_options_add_layer(opt, &own_relu));
    assert_ok(drove_options_add_layer(opt, &affine));
    assert_ok(drove_options_set(opt, "model", path));
    assert_ok(drove_options_set(opt, "out", fresh_folder("own-layers")));
    drove_result_destroy(train(opt));
    drove_predictor *predictor;
    drove_tensor_info t = {0};
    refused(drove_predictor_open("own-layers", NULL, &predictor), DROVE_E_UNSUPPORTED,
            "expected the program's own layer own_relu");
    assert_null(predictor);
    assert_ok(drove_options_set(opt, "model", "own-layers"));
    assert_ok(drove_predictor_open_with(opt, &predictor));
    for (size_t i = 0; i < drove_predictor_describe(predictor)->n_tensors; i++) {
        assert_ok(drove_predictor_tensor(predictor, i, &t));
        if (strcmp(t.name, "m.weight") == 0) break;
    }
    assert_string_equal(t.name, "m.weight");
    assert_true(t.n == 2 && t.rank == 1 && t.values[0] != 1.0f && t.values[0] != 0.0f);
    float *out;
    size_t n;
    assert_ok(drove_predictor_apply(predictor, drove_arrays_name(p->values), 2, &out, &n));
    assert_int_equal(n, N);
    free(out);
    drove_predictor_destroy(predictor);
    assert_ok(drove_options_set(opt, "out", ""));
    drove_result_destroy(train(opt)); /* goes on from it */
    drove_options_destroy(opt);
    drove_memory_file_destroy(file);
}

TEST(bad_layers_are_refused)
{
    const problem *p = *state;
    layer_state broken = {.fails = true};
    char path[64];
    drove_options *opt = options_for(p->values, "hogwild", "2");
    drove_custom_layer layer = own_relu;
    layer.name = "dense";
    refused(drove_options_add_layer(opt, &layer), DROVE_E_ARG, "found that of a type of drove");
    layer.name = "broken";
    layer.backward = NULL;
    refused(drove_options_add_layer(opt, &layer), DROVE_E_ARG, "expected a function backward");
    layer.backward = relu_backward;
    layer.context = &broken;
    assert_ok(drove_options_add_layer(opt, &layer));
    refused(drove_options_add_layer(opt, &layer), DROVE_E_ARG, "another layer of these options");
    drove_memory_file *file = network("name: n\n"
                                      "layers:\n"
                                      "  - {name: a, type: broken}\n"
                                      "  - {name: last, type: dense}\n",
                                      path);
    assert_ok(drove_options_set(opt, "model", path));
    refused(train_to_fail(opt), DROVE_E_SYSTEM, "layer broken: no more");
    drove_memory_file_destroy(file);
    file = network("name: n\nlayers:\n  - {name: a, type: broken, units: 13}\n"
                   "  - {name: last, type: dense}\n",
                   path);
    assert_ok(drove_options_set(opt, "model", path));
    refused(train_to_fail(opt), DROVE_E_SHAPE, "layer broken: 13 units are too few");
    drove_memory_file_destroy(file);
    file = network("name: n\nlayers:\n  - {name: a, type: brokem}\n", path);
    assert_ok(drove_options_set(opt, "model", path));
    refused(train_to_fail(opt), DROVE_E_DATA, "\"brokem\"; did you mean \"broken\"?");
    drove_memory_file_destroy(file);
    drove_options_destroy(opt);
}

/* ---- checks ---- */

static drove_status wrong_derivative(void *context, const drove_loss_batch *b)
{
    const drove_status status = squared(NULL, b);
    (void)context;
    if (b->derivative != NULL) b->derivative[1] *= 1.02f;
    return status;
}

/* Of all examples: a loss that is not one of each example. */
static drove_status mixed(void *context, const drove_loss_batch *b)
{
    const drove_status status = squared(context, b);
    for (size_t i = 1; i < b->n_rows; i++) b->loss[i] += 0.1f * b->outputs[0];
    return status;
}

TEST(loss_checks)
{
    const float z[6] = {0.5f, -1.0f, 2.0f, 0.25f, -3.0f, 1.0f};
    const float t[6] = {0.0f, 1.0f, 4.0f, 0.5f, 1.0f, -1.0f};
    const int32_t class_of[6] = {0, 1, 1, 0, 0, 1};
    drove_loss_batch batch = {.n_rows = 3, .n_outputs = 2, .outputs = z, .values = t};
    drove_custom_loss loss = own_squared;
    double worst = -1.0;
    assert_ok(drove_loss_check(&loss, &batch, 0.0, &worst));
    assert_true(worst >= 0.0 && worst < 0.002);
    loss.eval = wrong_derivative;
    refused(drove_loss_check(&loss, &batch, 0.0, &worst), DROVE_E_DATA,
            "loss own_squared: output 1: expected -2 by");
    assert_true(fabs(worst - 0.02) < 0.002);
    assert_ok(drove_loss_check(&loss, &batch, 0.1, NULL));
    loss.eval = mixed;
    refused(drove_loss_check(&loss, &batch, 0.0, NULL), DROVE_E_DATA, "that it has alone");
    batch = (drove_loss_batch){.n_rows = 6, .n_outputs = 1, .outputs = z, .class_of = class_of};
    loss = (drove_custom_loss){.name = "l", .has_one_output = 1, .eval = logistic};
    assert_ok(drove_loss_check(&loss, &batch, 0.0, NULL));
    batch.n_rows = 0;
    refused(drove_loss_check(&loss, &batch, 0.0, NULL), DROVE_E_ARG, "1 to 1024 examples");
}

TEST(layer_checks)
{
    const drove_layer_shape in = {3, 2, 2};
    layer_state s = {.wrong = 0.05f};
    drove_custom_layer layer = affine;
    double worst;
    assert_ok(drove_layer_check(&affine, in, 0, 1, 0.0, &worst));
    assert_true(worst < 0.005);
    layer.backward = relu_backward; /* another's: writes no gradient */
    refused(drove_layer_check(&layer, in, 0, 1, 0.0, NULL), DROVE_E_DATA,
            "layer affine: gradient 0: expected a number, found none");
    layer = own_relu;
    layer.context = &s;
    refused(drove_layer_check(&layer, in, 0, 1, 0.01, &worst), DROVE_E_DATA, "layer own_relu: dx");
    assert_true(worst > 0.02);
    s = (layer_state){.leaves = true};
    refused(drove_layer_check(&layer, in, 0, 1, 0.0, NULL), DROVE_E_DATA, "dx 35: expected");
    refused(drove_layer_check(&layer, in, 13, 1, 0.0, NULL), DROVE_E_SHAPE, "13 units");
}
