/* tests/unit/model/test_gradient.c - gradients against finite differences and a float64 reference,
 * fused steps against gradient followed by sgd, sparse against dense, spans against all.
 */
#include "unit/model/fixture.h"
#include "support/test.h"

#include "base/mem.h"
#include "model/integers.h"
#include "model/loss.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Largest error of a gradient element, over 1 + the largest element: float products of these
 * sizes. */
static const double GRADIENT_BOUND = 2e-5;
static const double LOSS_BOUND = 1e-5;
/* A central difference of step 1e-5 in float64, and the float gradient beside it. */
static const double DIFFERENCE_BOUND = 3e-5;

static const size_t batches[] = {1, 2, 7, 64};

typedef struct problem {
    const char *loss;
    drove_model_io io;
} problem;

static const problem problems[] = {
    {"softmax", {.n_features = 21, .n_classes = 4}},
    {"sigmoid", {.n_features = 21, .n_classes = 5, .is_multi_label = 1}},
    {"logistic", {.n_features = 21, .n_classes = 2}},
    {"hinge", {.n_features = 21, .n_classes = 2}},
    {"hinge", {.n_features = 21, .n_classes = 3}},
    {"squared", {.n_features = 21}},
    {"squared", {.n_features = 21, .n_values = 3}},
    {"squared", {.n_features = 21, .n_classes = 3}},
};

static const struct {
    const char *spec, *activation;
} shapes[] = {
    {"mlp:9,17", "relu"},
    {"mlp:9,17", "sigmoid"},
    {"mlp:16", "tanh"},
    {"linear", "relu"},
};

static fixture_options options_of(size_t shape, size_t which, size_t n_rows)
{
    return (fixture_options){.spec = shapes[shape].spec,
                             .activation = shapes[shape].activation,
                             .loss = problems[which].loss,
                             .io = problems[which].io,
                             .n_rows = n_rows,
                             .seed = 100 * shape + 10 * which + n_rows};
}

static void compare(const fixture *f, const double *expected, double bound, const char *what)
{
    double largest = 0, error = 0;
    double packed[4096];
    assert_true(f->model->n_weights <= DROVE_COUNT(packed));
    fixture_pack(f->model, f->grad, packed);
    for (size_t i = 0; i < f->model->n_weights; i++) {
        largest = fmax(largest, fabs(expected[i]));
        double e = fabs(packed[i] - expected[i]);
        error = e <= error ? error : e; /* a NaN becomes the error */
    }
    if (!(error <= bound * (1 + largest))) {
        fail_msg("%s: %s %s %s, %zu rows: error %g, largest element %g", what, f->model->spec,
                 f->model->activation, f->model->loss->name, f->n_rows, error, largest);
    }
}

static void check_against_reference(const fixture_options *opt, const drovek_table *k)
{
    fixture f;
    double expected[4096];
    fixture_init(&f, opt);
    double loss = reference_gradient(&f.reference, f.packed, f.x64, f.t64, f.n_rows, expected);

    memset(f.grad, 0x7f, f.model->n_params * sizeof *f.grad); /* everything must be written */
    double found = fixture_gradient(&f, k, &f.dense, false);
    assert_true(fabs(found - loss) <= LOSS_BOUND * (1 + fabs(loss)));
    compare(&f, expected, GRADIENT_BOUND, "dense");
    assert_true(fixture_gaps_are_zero(f.model, f.grad));

    memset(f.grad, 0x7f, f.model->n_params * sizeof *f.grad);
    found = fixture_gradient(&f, k, &f.sparse, false);
    assert_true(fabs(found - loss) <= LOSS_BOUND * (1 + fabs(loss)));
    compare(&f, expected, GRADIENT_BOUND, "sparse");
    assert_true(fixture_gaps_are_zero(f.model, f.grad));
    fixture_fini(&f);
}

TEST(every_gradient_equals_the_reference)
{
    drovek_table k;
    for (size_t tier = 0; fixture_tier(tier, &k); tier++) {
        for (size_t s = 0; s < DROVE_COUNT(shapes); s++) {
            for (size_t p = 0; p < DROVE_COUNT(problems); p++) {
                for (size_t b = 0; b < DROVE_COUNT(batches); b++) {
                    fixture_options opt = options_of(s, p, batches[b]);
                    opt.ones = b % 2 == 1;
                    check_against_reference(&opt, &k);
                }
            }
        }
    }
}

/* The reference's own back-propagation, and the program's, against differences of the loss. */
TEST(every_gradient_equals_finite_differences)
{
    drovek_table k;
    assert_true(fixture_tier(0, &k));
    for (size_t s = 0; s < DROVE_COUNT(shapes); s++) {
        for (size_t p = 0; p < DROVE_COUNT(problems); p++) {
            fixture f;
            double difference[4096], analytic[4096];
            fixture_options opt = options_of(s, p, 3);
            fixture_init(&f, &opt);
            reference_gradient(&f.reference, f.packed, f.x64, f.t64, f.n_rows, analytic);
            for (size_t i = 0; i < f.model->n_weights; i++) {
                difference[i] =
                    reference_difference(&f.reference, f.packed, i, 1e-5, f.x64, f.t64, f.n_rows);
                assert_true(fabs(difference[i] - analytic[i]) <= 1e-7 * (1 + fabs(analytic[i])));
            }
            fixture_gradient(&f, &k, &f.dense, false);
            compare(&f, difference, DIFFERENCE_BOUND, "dense against differences");
            fixture_gradient(&f, &k, &f.sparse, false);
            compare(&f, difference, DIFFERENCE_BOUND, "sparse against differences");
            fixture_fini(&f);
        }
    }
}

/* spans_wanted: touched rows and all behind the first W are as in the whole gradient, to the bit;
 * untouched rows keep what they held. */
TEST(spans_hold_the_same_gradient)
{
    drovek_table k;
    for (size_t tier = 0; fixture_tier(tier, &k); tier++) {
        for (size_t b = 0; b < DROVE_COUNT(batches); b++) {
            for (size_t s = 0; s < DROVE_COUNT(shapes); s++) {
                fixture f;
                fixture_options opt = options_of(s, 2, batches[b]);
                opt.io.n_features = 80;
                fixture_init(&f, &opt);
                size_t n = f.model->n_params, n_out = f.model->layer[0].n_out;
                float *whole = drove__alloc(n, sizeof *whole);
                bool is_touched[80] = {false};
                for (size_t i = 0; i < f.n_rows; i++) {
                    for (uint64_t at = f.sparse.first[i]; at < f.sparse.last[i]; at++) {
                        is_touched[f.sparse.index[at]] = true;
                    }
                }
                fixture_gradient(&f, &k, &f.sparse, false);
                memcpy(whole, f.grad, n * sizeof *whole);
                for (size_t i = 0; i < n; i++) f.grad[i] = 7.0f;
                fixture_gradient(&f, &k, &f.sparse, true);
                for (size_t j = 0; j < 80; j++) {
                    for (size_t o = 0; o < n_out; o++) {
                        float found = f.grad[j * n_out + o];
                        assert_true(found == (is_touched[j] ? whole[j * n_out + o] : 7.0f));
                        if (!is_touched[j]) assert_true(whole[j * n_out + o] == 0.0f);
                    }
                }
                size_t rest = f.model->layer[0].b_offset;
                assert_memory_equal(f.grad + rest, whole + rest, (n - rest) * sizeof *whole);
                drove__free(whole);
                fixture_fini(&f);
            }
        }
    }
}

/* One step both ways from f->theta: unfused into plain, fused into fused (each [n_params]). */
static void both_steps(fixture *f, const drovek_table *k, const drove_input *in, float eta,
                       float *plain, float *fused)
{
    size_t n = f->model->n_params;
    drove_score score = {0};
    fixture_gradient(f, k, in, false);
    k->sgd_f32(plain, f->theta, f->grad, n, eta);
    memcpy(fused, f->theta, n * sizeof *fused);
    drove__model_forward(f->model, k, fused, in, &f->pass);
    drove__model_loss(f->model, k, &f->target, in->n_rows, 1.0f / (float)in->n_rows, &f->pass,
                      &score);
    drove__model_backward_fused(f->model, k, fused, in, &f->pass, eta);
}

TEST(fused_step_equals_gradient_and_sgd)
{
    const float eta = 0.37f;
    drovek_table k;
    for (size_t tier = 0; fixture_tier(tier, &k); tier++) {
        for (size_t b = 0; b < DROVE_COUNT(batches); b++) {
            for (size_t s = 0; s < DROVE_COUNT(shapes); s++) {
                for (size_t form = 0; form < 3; form++) {
                    fixture f;
                    fixture_options opt = options_of(s, 0, batches[b]);
                    opt.ones = form == 2;
                    fixture_init(&f, &opt);
                    size_t n = f.model->n_params;
                    float *plain = drove__alloc(n, sizeof *plain);
                    float *fused = drove__alloc(n, sizeof *fused);
                    both_steps(&f, &k, form == 0 ? &f.dense : &f.sparse, eta, plain, fused);
                    assert_true(memcmp(plain, f.theta, n * sizeof *plain) != 0);
                    if (form == 0 ? drove__model_fuses_exactly(f.model, batches[b])
                                  : batches[b] == 1) {
                        assert_memory_equal(plain, fused, n * sizeof *plain);
                    }
                    for (size_t i = 0; i < n; i++) {
                        assert_true(fabsf(plain[i] - fused[i]) <= 2e-6f * (1 + fabsf(plain[i])));
                    }
                    assert_true(fixture_gaps_are_zero(f.model, plain));
                    assert_true(fixture_gaps_are_zero(f.model, fused));
                    drove__free(plain);
                    drove__free(fused);
                    fixture_fini(&f);
                }
            }
        }
    }
}

typedef struct call_log {
    size_t n_calls, layer[8];
    const float *grad;
    float last_bias[8]; /* of the layer, when it was reported */
    const drove_model *model;
} call_log;

static void log_layer(void *context, size_t layer)
{
    call_log *log = context;
    log->last_bias[log->n_calls] = log->grad[log->model->layer[layer].b_offset];
    log->layer[log->n_calls++] = layer;
}

TEST(layers_are_reported_when_complete)
{
    drovek_table k;
    fixture f;
    drove_score score = {0};
    fixture_options opt = options_of(0, 0, 7);
    assert_true(fixture_tier(0, &k));
    fixture_init(&f, &opt);
    call_log log = {.grad = f.grad, .model = f.model};
    drove__model_forward(f.model, &k, f.theta, &f.dense, &f.pass);
    drove__model_loss(f.model, &k, &f.target, 7, 1.0f, &f.pass, &score);
    drove__model_backward(
        f.model, &k, f.theta, &f.dense, &f.pass,
        &(drove_backward){.grad = f.grad, .after_layer = log_layer, .context = &log});
    assert_int_equal(log.n_calls, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(log.layer[i], 2 - i);
        assert_true(log.last_bias[i] == f.grad[f.model->layer[2 - i].b_offset]);
    }
    fixture_fini(&f);
}

/* ---- gradients that are taken in pieces ---- */

enum { MOST_LAYERS = 4 };

typedef struct taken {
    const drove_model *model;
    float *g; /* [n_params] */
    size_t n[MOST_LAYERS], n_pieces[MOST_LAYERS];
} taken;

/* Pieces follow each other; what is in their memory afterwards is nobody's. */
static void take(void *context, size_t layer, size_t first, float *g, size_t n)
{
    taken *t = context;
    assert_true(layer < MOST_LAYERS && first == t->n[layer]);
    memcpy(t->g + t->model->layer[layer].w_offset + first, g, n * sizeof *g);
    for (size_t i = 0; i < n; i++) g[i] = NAN;
    t->n[layer] += n;
    t->n_pieces[layer]++;
}

/* A dense layer of more numbers than a piece has, and one of fewer: all of the gradient is taken,
 * each number once, and is the one that stays without a taker. */
TEST(pieces_of_a_gradient_are_the_whole)
{
    const fixture_options opt = {.spec = "mlp:300",
                                 .activation = "relu",
                                 .loss = "softmax",
                                 .io = {.n_features = 450, .n_classes = 7},
                                 .n_rows = 9,
                                 .seed = 5};
    drovek_table k;
    for (size_t tier = 0; fixture_tier(tier, &k); tier++) {
        fixture f;
        fixture_init(&f, &opt);
        (void)fixture_gradient(&f, &k, &f.dense, false);
        const size_t n = f.model->n_params;
        float *whole = drove__alloc(n, sizeof *whole), *pieces = drove__alloc(n, sizeof *pieces);
        assert_true(whole != NULL && pieces != NULL);
        memcpy(whole, f.grad, n * sizeof *whole);
        memcpy(pieces, f.grad, n * sizeof *pieces);
        for (size_t i = 0; i < f.model->layer[0].n_w; i++)
            pieces[f.model->layer[0].w_offset + i] = NAN;
        taken t = {.model = f.model, .g = pieces};
        const drove_taker taker = {.gradient = take, .context = &t};
        f.pass.taker = &taker;
        (void)fixture_gradient(&f, &k, &f.dense, false);
        for (size_t l = 0; l < f.model->n_layers; l++)
            assert_int_equal(t.n[l], f.model->layer[l].n_w);
        assert_int_equal(t.n_pieces[0], 8); /* 64 rows of 300 each, and two */
        assert_int_equal(t.n_pieces[1], 1);
        for (size_t i = 0; i < n; i++)
            assert_true(fabs((double)pieces[i] - (double)whole[i]) <= GRADIENT_BOUND);
        drove__free(pieces);
        drove__free(whole);
        fixture_fini(&f);
    }
}

/* A NaN or an infinity in one weight must reach loss and gradient: a run that diverges must show
 * it. */
TEST(non_finite_numbers_propagate)
{
    const float bad[] = {NAN, INFINITY, -INFINITY};
    drovek_table k;
    for (size_t tier = 0; fixture_tier(tier, &k); tier++) {
        for (size_t p = 0; p < DROVE_COUNT(problems); p++) {
            for (size_t v = 0; v < DROVE_COUNT(bad); v++) {
                for (size_t b = 0; b < 2; b++) {
                    fixture f;
                    fixture_options opt = options_of(3, p, b == 0 ? 1 : 7);
                    fixture_init(&f, &opt);
                    /* An infinite weight of one sign may be a perfect answer; two signs cannot. */
                    const drove_layer *last = &f.model->layer[f.model->n_layers - 1];
                    for (size_t o = 0; o < last->n_out; o++) {
                        f.theta[last->w_offset + o] = bad[v];
                        f.theta[last->w_offset + last->n_out + o] = -bad[v];
                    }
                    for (size_t i = 0; i < f.n_rows; i++) {
                        f.x[i * f.model->n_inputs] = f.x[i * f.model->n_inputs + 1] = 1.0f;
                    }
                    double loss = fixture_gradient(&f, &k, &f.dense, false);
                    assert_false(isfinite(loss));
                    fixture_fini(&f);
                }
            }
        }
    }
}
