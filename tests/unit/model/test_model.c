/* tests/unit/model/test_model.c - building models: shapes, layout, defaults, errors, initial
 * values. */
#include "unit/model/fixture.h"
#include "support/test.h"

#include "base/mem.h"
#include "model/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const drove_model_io digits = {.n_features = 784, .n_classes = 10};
static const drove_model_io binary = {.n_features = 123, .n_classes = 2};
static const drove_model_io labels = {.n_features = 500, .n_classes = 983, .is_multi_label = 1};
static const drove_model_io values = {.n_features = 8};

static drove_model *make(const char *spec, const char *loss, const drove_model_io *io)
{
    drove_model *model;
    assert_int_equal(drove__model_create(spec, NULL, loss, io, &model), DROVE_OK);
    return model;
}

TEST(the_thesis_network_has_its_size)
{
    drove_model *m = make("mlp:128,128,128", "", &digits);
    assert_int_equal(m->n_weights, 134794);
    assert_int_equal(m->n_layers, 4);
    assert_int_equal(m->layer[0].w_offset, 0);
    assert_int_equal(m->layer[0].b_offset, 784 * 128);
    assert_int_equal(m->layer[3].w_offset, 784 * 128 + 128 + 2 * (128 * 128 + 128));
    assert_int_equal(m->n_params, 134794 + 6); /* the last bias fills 16 floats */
    assert_string_equal(m->loss->name, "softmax");
    for (size_t l = 0; l < 4; l++) {
        assert_int_equal(m->layer[l].w_offset % 16, 0);
        assert_int_equal(m->layer[l].b_offset % 16, 0);
        assert_int_equal(m->layer[l].act, l < 3 ? DROVEK_RELU : DROVEK_LINEAR);
    }
    drove__model_destroy(m);
}

TEST(the_data_choose_outputs_and_loss)
{
    const struct {
        const char *spec, *loss;
        const drove_model_io *io;
        const char *expected;
        size_t n_outputs;
    } rows[] = {
        {"mlp:5", "", &digits, "softmax", 10},     {"mlp:5", "", &binary, "softmax", 2},
        {"mlp:5", "", &labels, "sigmoid", 983},    {"mlp:5", "", &values, "squared", 1},
        {"logistic", "", &binary, "logistic", 1},  {"logistic", "", &digits, "softmax", 10},
        {"logistic", "", &labels, "sigmoid", 983}, {"linear", "", &values, "squared", 1},
        {"linear", "", &digits, "squared", 10},    {"svm", "", &binary, "hinge", 1},
        {"svm", "", &digits, "hinge", 10},         {"mlp:5", "logistic", &binary, "logistic", 1},
        {"mlp:5", "hinge", &digits, "hinge", 10},
    };
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        drove_model *m = make(rows[i].spec, rows[i].loss, rows[i].io);
        assert_string_equal(m->loss->name, rows[i].expected);
        assert_int_equal(m->n_outputs, rows[i].n_outputs);
        assert_int_equal(m->layer[m->n_layers - 1].n_out, rows[i].n_outputs);
        drove__model_destroy(m);
    }
}

/* What lies behind the end of a name is not read; one activation and loss are usual, too. */
TEST(nothing_is_the_usual)
{
    static const char behind[] = "\0mlp:5";
    const char *const empty[] = {"", behind};
    for (size_t i = 0; i < DROVE_COUNT(empty); i++) {
        drove_model *m;
        assert_int_equal(drove__model_create(empty[i], empty[i], empty[i], &digits, &m), DROVE_OK);
        assert_string_equal(m->spec, "mlp:128,128,128");
        assert_int_equal(m->n_layers, 4);
        assert_int_equal(m->n_weights, 134794);
        for (size_t l = 0; l < 4; l++)
            assert_int_equal(m->layer[l].act, l < 3 ? DROVEK_RELU : DROVEK_LINEAR);
        assert_string_equal(m->loss->name, "softmax");
        drove__model_destroy(m);
    }
}

TEST(wrong_options_are_refused)
{
    const drove_model_io one_class = {.n_features = 3, .n_classes = 1};
    const drove_model_io nothing = {.n_features = 0, .n_classes = 2};
    const drove_model_io huge = {.n_features = SIZE_MAX / 128, .n_classes = 2};
    const struct {
        const char *spec, *activation, *loss;
        const drove_model_io *io;
        drove_status status;
        const char *text; /* must be part of the error's */
    } rows[] = {
        {"mpl:10", "relu", "", &digits, DROVE_E_ARG, "did you mean \"mlp\""},
        {"xyzzy", "relu", "", &digits, DROVE_E_ARG, "mlp, logistic, linear, svm"},
        {"m", "relu", "", &digits, DROVE_E_ARG, "mlp, logistic, linear, svm"},
        {"mlp", "relu", "", &digits, DROVE_E_ARG, "mlp:128,128"},
        {"mlp:0", "relu", "", &digits, DROVE_E_ARG, "0"},
        {"mlp:12x", "relu", "", &digits, DROVE_E_ARG, "12x"},
        {"mlp:-3", "relu", "", &digits, DROVE_E_ARG, "-3"},
        {"mlp:99999999999", "relu", "", &digits, DROVE_E_ARG, "99999999999"},
        {"mlp:8?depth=3", "relu", "", &digits, DROVE_E_ARG, "depth"},
        {"logistic:3", "relu", "", &digits, DROVE_E_ARG, "logistic"},
        {"mlp:8", "rellu", "", &digits, DROVE_E_ARG, "did you mean \"relu\""},
        {"mlp:8", "relu", "softmaxx", &digits, DROVE_E_ARG, "did you mean \"softmax\""},
        {"mlp:8", "relu", "logistic", &digits, DROVE_E_SHAPE, "exactly two classes"},
        {"mlp:8", "relu", "softmax", &values, DROVE_E_SHAPE, "softmax"},
        {"mlp:8", "relu", "sigmoid", &digits, DROVE_E_SHAPE, "labels"},
        {"mlp:8", "relu", "squared", &labels, DROVE_E_SHAPE, "squared"},
        {"mlp:8", "relu", "", &one_class, DROVE_E_SHAPE, "two classes"},
        {"logistic", "relu", "", &values, DROVE_E_SHAPE, "logistic"},
        {"svm", "relu", "", &values, DROVE_E_SHAPE, "hinge"},
        {"svm", "relu", "", &labels, DROVE_E_SHAPE, "hinge"},
        {"mlp:8", "relu", "", &nothing, DROVE_E_SHAPE, "no features"},
        {"mlp:8", "relu", "", &huge, DROVE_E_ARG, "too large"},
    };
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        drove_model *m = (drove_model *)1;
        assert_int_equal(drove__model_create(rows[i].spec, rows[i].activation, rows[i].loss,
                                             rows[i].io, &m),
                         rows[i].status);
        assert_null(m);
        if (strstr(drove_error_text(), rows[i].text) == NULL) {
            fail_msg("%s: \"%s\" lacks \"%s\"", rows[i].spec, drove_error_text(), rows[i].text);
        }
    }
}

/* Mean, deviation and extremes of the weights of one layer, and whether its biases are all 0. */
typedef struct statistics {
    double mean, deviation, largest;
    bool has_bias;
} statistics;

static statistics measure(const drove_layer *layer, const float *theta)
{
    statistics s = {0};
    size_t n = layer->n_in * layer->n_out;
    const float *w = theta + layer->w_offset, *b = theta + layer->b_offset;
    for (size_t i = 0; i < n; i++) {
        s.mean += w[i] / (double)n;
        s.deviation += (double)w[i] * w[i] / (double)n;
        s.largest = fmax(s.largest, fabsf(w[i]));
    }
    s.deviation = sqrt(s.deviation - s.mean * s.mean);
    for (size_t o = 0; o < layer->n_out; o++) s.has_bias |= b[o] != 0.0f;
    return s;
}

/* 100,352 numbers: mean within 4 deviations / sqrt(n), deviation within 4 / sqrt(2 n) of itself. */
TEST(initial_values_have_their_distribution)
{
    drove_model *m = make("mlp:128,128,128", "", &digits);
    float *theta = drove__alloc(m->n_params, sizeof *theta);
    const double n = 784.0 * 128.0, a = sqrt(6.0 / (784 + 128));
    const struct {
        const char *init;
        double deviation, largest;
        bool has_bias;
    } rows[] = {
        {"xavier", a / sqrt(3.0), a, false},
        {"xavier:4", 4 * a / sqrt(3.0), 4 * a, false},
        {"he:1", sqrt(2.0 / 784), 6 * sqrt(2.0 / 784), false},
        {"he:0.5", 0.5 * sqrt(2.0 / 784), 3 * sqrt(2.0 / 784), false},
        {"lecun:1", 1 / sqrt(784), sqrt(3.0 / 784), false},
        {"lecun:2", 2 / sqrt(784), 2 * sqrt(3.0 / 784), false},
        {"normal:0.01", 0.01, 0.06, true},
        {"normal", 0.01, 0.06, true},
        {"", sqrt(2.0 / 784), 6 * sqrt(2.0 / 784), false},
    };
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        memset(theta, 0x7f, m->n_params * sizeof *theta);
        assert_int_equal(drove__model_init(m, rows[i].init, 5, theta), DROVE_OK);
        statistics s = measure(&m->layer[0], theta);
        assert_true(fabs(s.mean) < 4 * rows[i].deviation / sqrt(n));
        assert_true(fabs(s.deviation / rows[i].deviation - 1) < 4 / sqrt(2 * n));
        assert_true(s.largest <= rows[i].largest * (1 + 1e-6));
        assert_true(s.largest > 0.5 * rows[i].largest);
        assert_int_equal(s.has_bias, rows[i].has_bias);
        assert_true(fixture_gaps_are_zero(m, theta));
    }
    drove__free(theta);
    drove__model_destroy(m);
}

TEST(initial_values_follow_the_seed)
{
    drove_model *m = make("mlp:16,16", "", &binary), *deeper = make("mlp:16,20", "", &binary);
    float *a = drove__alloc(m->n_params, sizeof *a), *b = drove__alloc(m->n_params, sizeof *b);
    float *c = drove__alloc(deeper->n_params, sizeof *c);
    assert_int_equal(drove__model_init(m, "he", 1, a), DROVE_OK);
    assert_int_equal(drove__model_init(m, "he", 1, b), DROVE_OK);
    assert_memory_equal(a, b, m->n_params * sizeof *a);
    assert_int_equal(drove__model_init(m, "he", 2, b), DROVE_OK);
    assert_true(memcmp(a, b, 123 * 16 * sizeof *a) != 0);
    /* the first layer does not depend on what stands above it, and no two layers are alike */
    assert_int_equal(drove__model_init(deeper, "he", 1, c), DROVE_OK);
    assert_memory_equal(a, c, 123 * 16 * sizeof *a);
    assert_int_equal(drove__model_init(m, "normal:1", 1, a), DROVE_OK);
    assert_true(memcmp(a, a + m->layer[1].w_offset, 16 * 16 * sizeof *a) != 0);
    drove__free(a);
    drove__free(b);
    drove__free(c);
    drove__model_destroy(m);
    drove__model_destroy(deeper);
}

TEST(linear_models_start_at_zero)
{
    drove_model *m = make("logistic", "", &binary);
    float *theta = drove__alloc(m->n_params, sizeof *theta);
    memset(theta, 0x7f, m->n_params * sizeof *theta);
    assert_int_equal(drove__model_init(m, NULL, 1, theta), DROVE_OK);
    for (size_t i = 0; i < m->n_params; i++) assert_true(theta[i] == 0.0f);
    assert_int_equal(drove__model_init(m, "normal:0.1", 1, theta), DROVE_OK);
    assert_true(theta[0] != 0.0f);
    assert_int_equal(drove__model_init(m, "hee", 1, theta), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "did you mean \"he\""));
    assert_int_equal(drove__model_init(m, "he:-1", 1, theta), DROVE_E_ARG);
    assert_int_equal(drove__model_init(m, "he:1,2", 1, theta), DROVE_E_ARG);
    drove__free(theta);
    drove__model_destroy(m);
}

TEST(a_pass_that_is_too_large_is_refused)
{
    drove_model *m = make("mlp:128", "", &digits);
    drove_pass pass;
    assert_int_equal(drove__pass_init(&pass, m, NULL, SIZE_MAX / 100), DROVE_E_ARG);
    assert_int_equal(drove__pass_init(&pass, m, NULL, 3), DROVE_OK);
    for (size_t l = 0; l < 2; l++) {
        assert_int_equal((uintptr_t)pass.out[l] % 64, 0);
        assert_int_equal((uintptr_t)pass.delta[l] % 64, 0);
    }
    drove__pass_fini(&pass);
    drove__pass_fini(&pass);
    drove__pass_fini(NULL);
    drove__model_destroy(NULL);
    drove__model_destroy(m);
}

/* free() it. */
static char *describe(const drove_model *m)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    assert_int_equal(drove__model_print(m, stream), DROVE_OK);
    fclose(stream);
    return text;
}

TEST(a_model_is_described)
{
    drove_model *m = make("mlp:128,128,128", "", &digits);
    char *text = describe(m);
    assert_non_null(strstr(text, "134794 parameters"));
    assert_non_null(strstr(text, "134400 multiply-adds")); /* 784*128 + 2*128*128 + 128*10 */
    assert_non_null(strstr(text, "100480"));
    assert_non_null(strstr(text, "relu"));
    assert_null(strstr(text, "head ")); /* there is one only */
    free(text);
    drove__model_destroy(m);
}

TEST(every_head_is_described)
{
    const drove_model_io images = {.n_features = 3 * 96 * 96,
                                   .n_classes = 10,
                                   .image = {3, 96, 96}};
    drove_model *m = make("googlenet", "", &images);
    char *text = describe(m);
    assert_non_null(strstr(text, "head loss1/classifier, weight 0.3, in training only\n"));
    assert_non_null(strstr(text, "head loss2/classifier, weight 0.3, in training only\n"));
    assert_non_null(strstr(text, "head loss3/classifier, weight 1, the main one\n"));
    free(text);
    drove__model_destroy(m);
}
