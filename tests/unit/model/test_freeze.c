/* Frozen layers: which layers a name means, where a network can be cut, parts of it against the
 * whole, gradients of what is trained against finite differences, new heads, and what model files
 * say. */
#include "model/freeze.h"
#include "model/graph.h"
#include "model/layer.h"
#include "support/status.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, SIDE = 6, CHANNELS = 2, N_IN = CHANNELS * SIDE * SIDE, CLASSES = 3, MOST = 16 };

static const drove_model_io images = {.n_features = N_IN,
                                      .n_classes = CLASSES,
                                      .image = {CHANNELS, SIDE, SIDE}};

/* Two convolutions with normalisation around a shortcut, then dense layers; one that reads an image
 * in the order of layers, [h][w][c]. */
static const char residual[] =
    "layers:\n"
    "  - {name: c1, type: convolution, channels: 4, kernel: 3, pad: 1}\n"
    "  - {name: b1, type: batch_norm, activation: relu}\n"
    "  - {name: c2, type: convolution, channels: 4, kernel: 3, pad: 1, bias: false}\n"
    "  - {name: b2, type: batch_norm}\n"
    "  - {name: both, type: sum, inputs: [b1, b2], activation: relu}\n"
    "  - {name: pool, type: max_pool, kernel: 2, stride: 2}\n"
    "  - {name: fc1, type: dense, units: 7, activation: tanh}\n"
    "  - {name: last, type: dense}\n";

static drove_model *make(const char *yaml)
{
    drove_model *m;
    if (drove__model_create_text(yaml, "n.yaml", "", &images, &m) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    return m;
}

static size_t find(const drove_model *m, const char *name)
{
    size_t l = 0;
    while (l < m->n_layers && strcmp(m->layer[l].name, name) != 0) l++;
    assert_true(l < m->n_layers);
    return l;
}

/* ---- names ---- */

TEST(names_mean_layers)
{
    static const struct {
        const char *names, *frozen; /* with commas at both ends */
    } cases[] = {{"", ","},
                 {"c1", ",c1,"},
                 {"c*", ",c1,c2,"},
                 {"body", ",c1,b1,c2,b2,fc1,"},
                 {"b2,fc*", ",b2,fc1,"},
                 {"last,c1", ",c1,last,"}};
    drove_model *m = make(residual);
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        bool is_frozen[MOST];
        assert_ok(drove__freeze_choose(m, cases[i].names, is_frozen));
        for (size_t l = 0; l < m->n_layers; l++) {
            char word[DROVE_LAYER_NAME_SIZE + 2];
            snprintf(word, sizeof word, ",%s,", m->layer[l].name);
            if (is_frozen[l] != (strstr(cases[i].frozen, word) != NULL))
                fail_msg("%s: layer %s", cases[i].names, m->layer[l].name);
        }
    }
    drove__model_destroy(m);
}

TEST(names_of_no_layer_are_refused)
{
    static const struct {
        const char *names, *text;
    } cases[] = {
        {"lasd", "freeze: expected layers with parameters (NAME, NAME* or body), found \"lasd\"; "
                 "did you mean \"last\"?"},
        {"pool", "freeze: expected layers with parameters (NAME, NAME* or body), found \"pool\"; "
                 "the network's first is \"c1\" (drove model shows all)"},
        {"c1,,c2", "freeze: expected layers with parameters (NAME, NAME* or body), found \"\"; the "
                   "network's first is \"c1\" (drove model shows all)"},
        {"x*", "freeze: expected layers with parameters (NAME, NAME* or body), found \"x*\"; the "
               "network's first is \"c1\" (drove model shows all)"},
        {"*", "freeze: model n.yaml: expected a layer that is trained, found all frozen"}};
    drove_model *m = make(residual);
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        bool is_frozen[MOST];
        assert_int_equal(drove__freeze_choose(m, cases[i].names, is_frozen), DROVE_E_ARG);
        assert_string_equal(drove_error_text(), cases[i].text);
    }
    drove__model_destroy(m);
}

TEST(a_body_has_one_last_layer_behind_it)
{
    bool is_frozen[MOST];
    drove_model *m = make("layers:\n  - {name: a, type: dense, units: 3}\n"
                          "  - {name: b, type: dense, inputs: data, units: 3}\n"
                          "  - {name: both, type: sum, inputs: [a, b]}\n");
    assert_int_equal(drove__freeze_choose(m, "body", is_frozen), DROVE_E_ARG);
    assert_string_equal(drove_error_text(),
                        "freeze=body: model n.yaml: expected a single last layer with parameters "
                        "below \"both\" (sum), found none: name the layers");
    assert_ok(drove__freeze_choose(m, "a", is_frozen));
    assert_true(is_frozen[0] && !is_frozen[1]);
    drove__model_destroy(m);
}

TEST(networks_without_parameters_are_not_frozen_ones)
{
    const drove_model_io io = {.n_features = CLASSES, .n_classes = CLASSES};
    bool is_frozen[MOST];
    drove_model *m;
    assert_ok(drove__model_create_text("layers:\n  - {name: a, type: softmax}\n", "n.yaml",
                                       "squared", &io, &m));
    assert_ok(drove__freeze_choose(m, "", is_frozen));
    drove__model_destroy(m);
}

/* ---- cuts ---- */

TEST(cuts_are_behind_all_that_is_constant)
{
    static const struct {
        const char *names, *last; /* the layer below the cut; "": none */
        bool is_flat;
    } cases[] = {{"body", "fc1", true}, {"c1,b1,c2,b2", "pool", true}, {"c1,b1", "b1", false},
                 {"c1", "c1", false},   {"c2,b2,fc1", "", false},      {"c1,b1,c2", "b1", false},
                 {"last", "", false}};
    drove_model *m = make(residual);
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        bool is_frozen[MOST];
        assert_ok(drove__freeze_choose(m, cases[i].names, is_frozen));
        const drove_model_cut cut = drove__freeze_cut(m, is_frozen);
        const char *last = cut.n_below > 0 ? m->layer[cut.n_below - 1].name : "";
        if (strcmp(last, cases[i].last) != 0 || cut.is_flat != cases[i].is_flat)
            fail_msg("%s: cut behind \"%s\"", cases[i].names, last);
    }
    drove__model_destroy(m);
}

/* Dropout draws anew each time; of two heads both must stand above. */
TEST(cuts_stay_below_what_is_random_and_heads)
{
    static const char random[] = "layers:\n"
                                 "  - {name: a, type: dense, units: 4}\n"
                                 "  - {name: drop, type: dropout}\n"
                                 "  - {name: b, type: dense, units: 4}\n"
                                 "  - {name: last, type: dense}\n";
    static const char heads[] = "layers:\n"
                                "  - {name: a, type: dense, units: 4}\n"
                                "  - {name: side, type: dense, inputs: a}\n"
                                "  - {name: b, type: dense, units: 4, inputs: a}\n"
                                "  - {name: last, type: dense}\n"
                                "heads:\n  - {input: side, weight: 0.3}\n  - {input: last}\n";
    bool is_frozen[MOST];
    drove_model *m = make(random);
    assert_ok(drove__freeze_choose(m, "body", is_frozen));
    assert_int_equal(drove__freeze_cut(m, is_frozen).n_below, 1);
    drove__model_destroy(m);
    m = make(heads);
    assert_ok(drove__freeze_choose(m, "a,b,side", is_frozen));
    assert_int_equal(drove__freeze_cut(m, is_frozen).n_below, 1);
    assert_ok(drove__freeze_choose(m, "body", is_frozen));
    assert_false(is_frozen[find(m, "side")] || is_frozen[find(m, "last")]);
    drove__model_destroy(m);
}

/* ---- parts ---- */

typedef struct net {
    drove_model *model;
    drovek_table k;
    float *theta, *grad;
    float x[ROWS * N_IN];
    int32_t y[ROWS];
    drove_pass pass;
} net;

static void fill(float *to, size_t n, uint64_t seed)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < n; i++) to[i] = (float)drove__rng_normal(&rng);
}

/* Parameters with statistics that no batch has. */
static float *parameters(const drove_model *m)
{
    float *theta = drove__alloc(m->n_params, sizeof *theta);
    assert_non_null(theta);
    assert_ok(drove__model_init(m, "", 3, theta));
    for (size_t l = 0; l < m->n_layers; l++) {
        const drove_layer *y = &m->layer[l];
        for (size_t i = 0; i < y->n_b; i++) theta[y->b_offset + i] = 0.1f * (float)(i % 5);
        for (size_t i = 0; i < y->n_statistics; i++)
            theta[y->s_offset + i] = 0.3f + 0.1f * (float)(i % 7);
    }
    return theta;
}

static void open_net(net *t, drove_model *m, unsigned n_parts, const char *isa)
{
    memset(t, 0, sizeof *t);
    t->model = m;
    assert_ok(drovek_select(&t->k, drove__cpu_features(), isa));
    const drove_pass_options opt = {
        .model = m, .kernels = &t->k, .max_rows = ROWS, .trains = true, .n_parts = n_parts};
    assert_ok(drove__pass_create(&opt, &t->pass));
    t->theta = drove__alloc(m->n_params + 1, sizeof *t->theta);
    t->grad = drove__alloc(m->n_params + 1, sizeof *t->grad);
    fill(t->x, ROWS * N_IN, 5);
    for (int i = 0; i < ROWS; i++) t->y[i] = i % CLASSES;
}

static void close_net(net *t)
{
    drove__pass_fini(&t->pass);
    drove__free(t->theta);
    drove__free(t->grad);
    drove__model_destroy(t->model);
}

static double loss_of(net *t, bool is_training)
{
    const drove_input in = {.n_rows = ROWS, .dense = t->x};
    const drove_target target = {.y_class = t->y};
    drove_score score = {0};
    t->pass.is_training = is_training;
    drove__model_forward(t->model, &t->k, t->theta, &in, &t->pass);
    drove__model_loss(t->model, &t->k, &target, ROWS, 1.0f / ROWS, &t->pass, &score);
    return score.loss / ROWS;
}

static size_t n_called;

static void count_layers(void *context, size_t layer)
{
    const drove_model *m = context;
    assert_int_equal(layer, m->n_layers - ++n_called);
}

/* Every trained number, and no other, has its slope. */
static void check_gradient(const char *yaml, const char *names)
{
    bool is_frozen[MOST];
    const drove_model_cut none = {0};
    drove_model *whole = make(yaml), *part;
    float *theta = parameters(whole);
    assert_ok(drove__freeze_choose(whole, names, is_frozen));
    assert_ok(drove__part_above(whole, theta, is_frozen, &none, &part));
    net t;
    open_net(&t, part, 1, "ref");
    drove__part_take(whole, 0, part, theta, t.theta);
    for (size_t i = 0; i < part->n_params; i++) t.grad[i] = NAN;
    (void)loss_of(&t, true);
    const drove_input in = {.n_rows = ROWS, .dense = t.x};
    const drove_backward to = {.grad = t.grad, .after_layer = count_layers, .context = part};
    float *frozen = drove__alloc(part->n_frozen + 1, sizeof *frozen);
    if (part->n_frozen > 0) memcpy(frozen, part->frozen, part->n_frozen * sizeof *frozen);
    n_called = 0;
    drove__model_backward(part, &t.k, t.theta, &in, &t.pass, &to);
    assert_int_equal(n_called, part->n_layers);
    size_t n_checked = 0, at = 0;
    for (size_t l = 0; l < part->n_layers; l++) {
        const drove_layer *y = &part->layer[l];
        size_t offset, n;
        drove__model_layer_part(part, l, &offset, &n); /* one behind the other */
        assert_int_equal(offset, at);
        at += n;
        if (y->training.is_frozen) assert_int_equal(n, 0);
        for (size_t i = 0; !y->training.is_frozen && i < y->n_w + y->n_b; i++) {
            const size_t where = i < y->n_w ? y->w_offset + i : y->b_offset + i - y->n_w;
            const float was = t.theta[where], h = 4e-3f;
            t.theta[where] = was + h;
            const double above = loss_of(&t, true);
            t.theta[where] = was - h;
            const double below = loss_of(&t, true);
            t.theta[where] = was;
            const double slope = (above - below) / (2.0 * (double)h);
            if (!(fabs(slope - (double)t.grad[where]) <= 2e-3 + 0.02 * fabs(slope)))
                fail_msg("%s: %s[%zu]: slope %g, gradient %g", names, y->name, i, slope,
                         (double)t.grad[where]);
            n_checked++;
        }
    }
    assert_int_equal(at, part->n_params - part->n_statistics);
    assert_int_equal(n_checked, part->n_weights);
    for (size_t i = 0; i < part->n_params; i++) assert_true(isfinite(t.grad[i]));
    if (part->n_frozen > 0)
        assert_memory_equal(frozen, part->frozen, part->n_frozen * sizeof *frozen);
    drove__free(frozen);
    drove__free(theta);
    close_net(&t);
    drove__model_destroy(whole);
}

TEST(trained_layers_have_their_slopes)
{
    static const char smooth[] =
        "layers:\n"
        "  - {name: c1, type: convolution, channels: 4, kernel: 3, pad: 1}\n"
        "  - {name: b1, type: batch_norm, activation: tanh}\n"
        "  - {name: c2, type: convolution, channels: 4, kernel: 3, pad: 1, bias: false}\n"
        "  - {name: b2, type: batch_norm}\n"
        "  - {name: both, type: sum, inputs: [b1, b2], activation: tanh}\n"
        "  - {name: pool, type: average_pool, kernel: 2, stride: 2}\n"
        "  - {name: fc1, type: dense, units: 7, activation: tanh}\n"
        "  - {name: last, type: dense}\n";
    check_gradient(smooth, "");
    check_gradient(smooth, "body");
    check_gradient(smooth, "c1,b1");
    check_gradient(smooth, "b1,b2"); /* normalised by the population */
    check_gradient(smooth, "c2,fc1");
    check_gradient(smooth, "last");
    check_gradient(smooth, "c1,b1,c2,b2");
}

/* In the formats of the best tier as in plain C. */
TEST(tiers_agree)
{
    static const char *const names[] = {"c1,b1", "b1,c2", "fc1", "body"};
    drove_model *whole = make(residual);
    float *theta = parameters(whole);
    for (size_t i = 0; i < DROVE_COUNT(names); i++) {
        bool is_frozen[MOST];
        const drove_model_cut none = {0};
        net t[2];
        assert_ok(drove__freeze_choose(whole, names[i], is_frozen));
        for (size_t k = 0; k < 2; k++) {
            drove_model *part;
            assert_ok(drove__part_above(whole, theta, is_frozen, &none, &part));
            open_net(&t[k], part, 1, k == 0 ? "ref" : NULL);
            drove__part_take(whole, 0, part, theta, t[k].theta);
            (void)loss_of(&t[k], true);
            const drove_input in = {.n_rows = ROWS, .dense = t[k].x};
            const drove_backward to = {.grad = t[k].grad};
            drove__model_backward(part, &t[k].k, t[k].theta, &in, &t[k].pass, &to);
        }
        for (size_t j = 0; j < t[0].model->n_params; j++)
            assert_true(fabsf(t[0].grad[j] - t[1].grad[j]) <= 1e-4f);
        close_net(&t[0]);
        close_net(&t[1]);
    }
    drove__free(theta);
    drove__model_destroy(whole);
}

/* The part above, on the outputs of the part below, is the whole. */
static void check_cut(const char *yaml, const char *names)
{
    bool is_frozen[MOST];
    drove_model *whole = make(yaml), *above, *below;
    float *theta = parameters(whole);
    assert_ok(drove__freeze_choose(whole, names, is_frozen));
    const drove_model_cut cut = drove__freeze_cut(whole, is_frozen);
    assert_true(cut.n_below > 0);
    assert_ok(drove__part_above(whole, theta, is_frozen, &cut, &above));
    assert_ok(drove__part_below(whole, theta, &cut, &below));
    assert_int_equal(below->n_params, 0);
    assert_int_equal(above->n_inputs, below->n_outputs);
    net of_whole, of_above, of_below;
    open_net(&of_whole, whole, 1, NULL);
    memcpy(of_whole.theta, theta, whole->n_params * sizeof *theta);
    const double expected = loss_of(&of_whole, false);
    open_net(&of_below, below, 1, NULL);
    const drove_input in = {.n_rows = ROWS, .dense = of_below.x};
    drove__model_forward(below, &of_below.k, of_below.theta, &in, &of_below.pass);
    open_net(&of_above, above, 1, NULL);
    float *kept = drove__alloc(ROWS * above->n_inputs, sizeof *kept);
    drove__model_predict(below, ROWS, &of_below.pass, kept);
    drove__part_take(whole, cut.n_below, above, theta, of_above.theta);
    const drove_input again = {.n_rows = ROWS, .dense = kept};
    const drove_target target = {.y_class = of_above.y};
    drove_score score = {0};
    of_above.pass.is_training = false;
    drove__model_forward(above, &of_above.k, of_above.theta, &again, &of_above.pass);
    drove__model_loss(above, &of_above.k, &target, ROWS, 0.0f, &of_above.pass, &score);
    if (!(fabs(score.loss / ROWS - expected) <= 1e-5))
        fail_msg("%s: loss %g, expected %g", names, score.loss / ROWS, expected);

    /* What is given back is what was taken, and nothing else changes. */
    for (size_t i = 0; i < above->n_params; i++) of_above.theta[i] += 1.0f;
    memcpy(of_whole.theta, theta, whole->n_params * sizeof *theta);
    drove__part_give(whole, cut.n_below, above, of_above.theta, of_whole.theta);
    for (size_t l = 0; l < whole->n_layers; l++) {
        const drove_layer *y = &whole->layer[l];
        const float step = y->n_w > 0 && !is_frozen[l] ? 1.0f : 0.0f;
        for (size_t i = 0; i < y->n_w; i++)
            assert_true(of_whole.theta[y->w_offset + i] == theta[y->w_offset + i] + step);
        for (size_t i = 0; i < y->n_statistics; i++)
            assert_true(of_whole.theta[y->s_offset + i] == theta[y->s_offset + i] + step);
    }
    drove__free(kept);
    drove__free(theta);
    close_net(&of_below);
    close_net(&of_above);
    close_net(&of_whole);
}

TEST(a_part_on_what_is_kept_is_the_whole)
{
    check_cut(residual, "body");
    check_cut(residual, "c1,b1,c2,b2"); /* an image that a dense layer reads */
    check_cut(residual, "c1,b1");       /* an image for a convolution and a sum */
    check_cut(residual, "c1");
    check_cut("layers:\n"
              "  - {name: c1, type: convolution, channels: 3, kernel: 3}\n"
              "  - {name: r, type: reshape}\n"
              "  - {name: last, type: dense}\n",
              "c1");
}

/* Which layers are hidden ones is the whole network's, whatever is frozen or cut off. */
TEST(matrices_of_a_part_are_those_of_the_whole)
{
    static const char normalised[] = "layers:\n"
                                     "  - {name: n, type: batch_norm}\n"
                                     "  - {name: a, type: dense, units: 4}\n"
                                     "  - {name: b, type: dense, units: 4}\n"
                                     "  - {name: last, type: dense}\n";
    static const struct {
        const char *yaml, *names;
        size_t n_below, n_matrices;
    } cases[] = {{normalised, "", 0, 1},     {normalised, "n", 1, 1},
                 {normalised, "n,a", 2, 1},  {normalised, "a", 0, 1},
                 {normalised, "body", 3, 0}, {residual, "c1,b1", 2, 2},
                 {residual, "c2,b2", 0, 1},  {residual, "c1,b1,c2,b2", 6, 1}};
    static const drove_model_cut none = {0};
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        bool is_frozen[MOST];
        drove_weight_matrix matrix[MOST];
        drove_model *whole = make(cases[i].yaml);
        float *theta = parameters(whole);
        assert_ok(drove__freeze_choose(whole, cases[i].names, is_frozen));
        const drove_model_cut cut = drove__freeze_cut(whole, is_frozen);
        assert_int_equal(cut.n_below, cases[i].n_below);
        for (int is_cut = 0; is_cut < 2; is_cut++) {
            drove_model *part;
            assert_ok(drove__part_above(whole, theta, is_frozen, is_cut ? &cut : &none, &part));
            const size_t n = drove__model_matrices(part, matrix);
            if (n != cases[i].n_matrices)
                fail_msg("%s, cut %d: %zu matrices, expected %zu", cases[i].names, is_cut, n,
                         cases[i].n_matrices);
            drove__model_destroy(part);
        }
        drove__free(theta);
        drove__model_destroy(whole);
    }
}

/* ---- new heads ---- */

TEST(heads_are_the_last_layers_with_parameters)
{
    static const char pooled[] = "layers:\n"
                                 "  - {name: a, type: convolution, channels: 4}\n"
                                 "  - {name: b, type: convolution, channels: 3}\n"
                                 "  - {name: pool, type: average_pool, global: true}\n"
                                 "  - {name: r, type: reshape}\n";
    drove_model *m = make(pooled);
    assert_int_equal(drove__head_layer(m, 0), 1);
    assert_true(drove__is_of_head(m, 1));
    assert_false(drove__is_of_head(m, 0));
    drove__model_destroy(m);
}

static drove_status renew(const char *yaml, drove_model **out)
{
    drove_model_io io = images;
    io.makes_heads = true;
    return drove__model_create_text(yaml, "n.yaml", "", &io, out);
}

TEST(a_new_head_has_the_outputs_of_the_data)
{
    static const char fixed[] =
        "layers:\n"
        "  - {name: a, type: dense, units: 4}\n"
        "  - {name: side, type: dense, inputs: a, units: 9}\n"
        "  - {name: last, type: dense, inputs: a, units: 9, weight_lr: 0, bias_lr: 0}\n"
        "heads:\n  - {input: side, weight: 0.3}\n  - {input: last}\n";
    static const char pooled[] = "layers:\n"
                                 "  - {name: a, type: convolution, channels: 9}\n"
                                 "  - {name: pool, type: average_pool, global: true}\n"
                                 "  - {name: r, type: reshape, channels: 9, height: 1, width: 1}\n";
    drove_model *m;
    bool is_frozen[MOST];
    assert_int_equal(drove__model_create_text(fixed, "n.yaml", "", &images, &m), DROVE_E_SHAPE);
    assert_non_null(strstr(drove_error_text(), "expected 3 outputs, as the data and the loss "
                                               "require, found 9 (?head=new makes the last layer "
                                               "anew)"));
    assert_ok(renew(fixed, &m));
    assert_true(m->has_new_heads);
    assert_int_equal(m->layer[find(m, "side")].n_out, CLASSES);
    assert_int_equal(m->layer[find(m, "last")].n_out, CLASSES);
    assert_ok(drove__freeze_choose(m, "", is_frozen)); /* a new layer is trained */
    assert_false(is_frozen[find(m, "last")]);
    drove__model_destroy(m);
    assert_ok(renew(pooled, &m));
    assert_int_equal(m->layer[0].out.c, CLASSES);
    assert_int_equal(m->layer[2].n_out, CLASSES);
    drove__model_destroy(m);
    static const char *const kinds[] = {"batch_norm", "layer_norm", "prelu"};
    for (size_t i = 0; i < DROVE_COUNT(kinds); i++) { /* whose sizes are the old outputs' */
        char yaml[200], text[200];
        snprintf(yaml, sizeof yaml,
                 "layers:\n  - {name: a, type: dense, units: 4}\n  - {name: n, type: %s}\n"
                 "  - {name: s, type: softmax}\n",
                 kinds[i]);
        snprintf(text, sizeof text,
                 "n.yaml: head=new: expected a dense layer or a convolution as the last with "
                 "parameters, found \"n\" (%s)",
                 kinds[i]);
        assert_int_equal(renew(yaml, &m), DROVE_E_ARG);
        assert_string_equal(drove_error_text(), text);
    }
    assert_int_equal(renew("layers:\n"
                           "  - {name: a, type: dense, units: 3}\n"
                           "  - {name: b, type: dense, inputs: data, units: 3}\n"
                           "  - {name: both, type: sum, inputs: [a, b]}\n",
                           &m),
                     DROVE_E_ARG);
    assert_string_equal(drove_error_text(),
                        "n.yaml: head=new: expected a dense layer or a convolution as the last "
                        "with parameters, found none below \"both\"");
}

TEST(a_new_head_is_drawn_and_the_rest_is_the_files)
{
    drove_model *m;
    assert_ok(renew(residual, &m));
    m->initial = drove__alloc(m->n_params, sizeof *m->initial);
    float *theta = drove__alloc(m->n_params, sizeof *theta);
    float *drawn = drove__alloc(m->n_params, sizeof *drawn);
    assert_ok(drove__model_init(m, "he:1", 4, drawn));
    for (size_t i = 0; i < m->n_params; i++) m->initial[i] = 0.5f;
    assert_ok(drove__model_init(m, "", 4, theta));
    const drove_layer *last = &m->layer[find(m, "last")];
    for (size_t i = 0; i < m->n_params; i++) {
        const bool is_last = (i >= last->w_offset && i < last->w_offset + last->n_w) ||
                             (i >= last->b_offset && i < last->b_offset + last->n_b);
        assert_true(theta[i] == (is_last ? drawn[i] : 0.5f));
    }
    drove__free(theta);
    drove__free(drawn);
    drove__model_destroy(m);
}

/* ---- model files ---- */

TEST(a_step_size_of_0_freezes_and_is_printed)
{
    static const char yaml[] = "layers:\n"
                               "  - {name: a, type: dense, units: 4, weight_lr: 0, bias_lr: 0}\n"
                               "  - {name: b, type: dense, units: 4, bias: false, weight_lr: 0}\n"
                               "  - {name: c, type: dense, units: 4, weight_lr: 0.5}\n"
                               "  - {name: last, type: dense}\n";
    bool is_frozen[MOST];
    drove_model *m = make(yaml), *again;
    assert_ok(drove__freeze_choose(m, "", is_frozen));
    assert_true(is_frozen[0] && is_frozen[1] && !is_frozen[2] && !is_frozen[3]);
    assert_non_null(strstr(m->graph_text, "weight_lr: 0, bias_lr: 0}"));
    assert_ok(drove__model_create_text(m->graph_text, "n.yaml", "", &images, &again));
    assert_string_equal(m->graph_text, again->graph_text);
    drove__model_destroy(m);
    drove__model_destroy(again);
}

TEST(half_a_layer_is_not_frozen)
{
    static const struct {
        const char *keys, *text;
    } cases[] = {
        {"weight_lr: 0", "n.yaml:2: layer \"last\": weight_lr and bias_lr: expected both to be 0 "
                         "(a layer that is not trained) or neither, found one"},
        {"bias_lr: 0", "n.yaml:2: layer \"last\": weight_lr and bias_lr: expected both to be 0 (a "
                       "layer that is not trained) or neither, found one"},
        {"weight_lr: 0.0000001",
         "n.yaml:2:42: weight_lr: expected 0 or a number from 1e-06 to 1e+06, found "
         "\"0.0000001\""}};
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        char yaml[200];
        drove_model *m;
        snprintf(yaml, sizeof yaml, "layers:\n  - {name: last, type: dense, %s}\n", cases[i].keys);
        assert_int_not_equal(drove__model_create_text(yaml, "n.yaml", "", &images, &m), DROVE_OK);
        assert_string_equal(drove_error_text(), cases[i].text);
    }
}
