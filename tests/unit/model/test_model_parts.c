/* Parts of a model that others ask for: a layer's part of theta, what is linear, predictions and
 * statistics of a pass, the memory of a pass, the parameters that a file gives. */
#include "model/graph.h"
#include "model/layer.h"
#include "model/loss.h"
#include "model/model.h"
#include "support/test.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const drove_model_io binary = {.n_features = 12, .n_classes = 2};
static const drove_model_io images = {.n_features = 36, .n_classes = 3, .image = {1, 6, 6}};

static drove_model *make(const char *spec, const drove_model_io *io)
{
    drove_model *model;
    assert_int_equal(drove__model_create(spec, "", "", io, &model), DROVE_OK);
    return model;
}

TEST(families_have_their_rule)
{
    static const struct {
        const char *spec, *rule;
    } cases[] = {{"lenet", "momentum:0.9"},
                 {"lenet?x=1", "momentum:0.9"},
                 {"alexnet", "momentum:0.9"},
                 {"googlenet:1", "momentum:0.9"},
                 {"mlp:5", "sgd"},
                 {"", "sgd"},
                 {"lene", "sgd"},
                 {"lenets", "sgd"},
                 {"my.yaml", "sgd"},
                 {":lenet", "sgd"}};
    for (size_t i = 0; i < DROVE_COUNT(cases); i++)
        assert_string_equal(drove__model_default_rule(cases[i].spec), cases[i].rule);
}

static const char normalised[] = "layers:\n"
                                 "  - {name: conv, type: convolution, channels: 2, kernel: 3}\n"
                                 "  - {name: norm, type: batch_norm}\n"
                                 "  - {name: relu, type: activation, activation: relu}\n"
                                 "  - {name: fc, type: dense, units: 5}\n"
                                 "  - {name: last, type: dense}\n";

/* Weights of hidden layers: not the first, not the outputs, also not those of other heads. */
TEST(matrices_are_those_of_hidden_layers)
{
    static const drove_model_io large = {.n_features = 3 * 224 * 224,
                                         .n_classes = 10,
                                         .image = {3, 224, 224}};
    static const char grouped[] =
        "layers:\n"
        "  - {name: first, type: convolution, channels: 4, kernel: 3}\n"
        "  - {name: norm, type: batch_norm}\n"
        "  - {name: middle, type: convolution, channels: 6, kernel: 2, groups: 2}\n"
        "  - {name: last, type: dense}\n"
        "  - {name: end, type: activation, activation: tanh}\n";
    drove_weight_matrix found[256];
    drove_model *m = make("mlp:20,30", &binary);
    assert_int_equal(drove__model_matrices(m, found), 1);
    assert_true(found[0].offset == m->layer[1].w_offset && found[0].n_groups == 1);
    assert_true(found[0].n_in == 20 && found[0].n_out == 30);
    drove__model_destroy(m);
    m = make("mlp:20,30,25", &binary);
    assert_int_equal(drove__model_matrices(m, found), 2);
    m->layer[1].training.is_frozen = true; /* its weights are not in theta */
    assert_int_equal(drove__model_matrices(m, found), 1);
    assert_true(found[0].offset == m->layer[2].w_offset && found[0].n_in == 30);
    drove__model_destroy(m);
    static const char *const none[] = {"logistic", "mlp:20"};
    for (size_t i = 0; i < DROVE_COUNT(none); i++) {
        m = make(none[i], &binary);
        assert_int_equal(drove__model_matrices(m, found), 0);
        drove__model_destroy(m);
    }
    assert_int_equal(drove__model_create_text(grouped, "g.yaml", "", &images, &m), DROVE_OK);
    assert_int_equal(drove__model_matrices(m, found), 1);
    assert_true(found[0].n_groups == 2 && found[0].n_in == 2 * 2 * 2 && found[0].n_out == 3);
    drove__model_destroy(m);
    /* 57 convolutions and 1 dense layer; two more heads have a convolution and 2 dense layers */
    m = make("googlenet", &large);
    assert_int_equal(drove__model_matrices(m, found), 57 + 1 + 2 * 3 - 1 - 3);
    drove__model_destroy(m);
}

/* Parts lie behind each other, begin with the layer's weights, and end at the statistics. */
TEST(parts_of_layers_are_all_but_the_statistics)
{
    drove_model *m;
    if (drove__model_create_text(normalised, "n.yaml", "", &images, &m) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    size_t at = 0, offset, n;
    assert_int_equal(m->n_statistics, 16); /* of two channels, two each, in whole cache lines */
    for (size_t l = 0; l < m->n_layers; l++) {
        drove__model_layer_part(m, l, &offset, &n);
        assert_int_equal(offset, at);
        if (m->layer[l].n_w > 0) assert_int_equal(offset, m->layer[l].w_offset);
        assert_true(n >= m->layer[l].n_params && n < m->layer[l].n_params + 32);
        at += n;
    }
    assert_int_equal(at, m->n_params - 16);
    drove__model_destroy(m);
}

TEST(one_dense_layer_with_biases_is_linear)
{
    drove_model *m = make("logistic", &binary), *deep = make("mlp:5", &binary);
    assert_true(drove__model_is_linear(m));
    assert_false(drove__model_is_linear(deep));
    drove_layer layer = m->layer[0];
    drove_model copy = *m;
    copy.layer = &layer;
    assert_true(drove__model_is_linear(&copy));
    layer.n_b = 0;
    assert_false(drove__model_is_linear(&copy));
    layer.n_b = 1;
    layer.act = DROVEK_RELU;
    assert_false(drove__model_is_linear(&copy));
    layer.act = DROVEK_LINEAR;
    copy.is_chain = false;
    assert_false(drove__model_is_linear(&copy));
    assert_true(drove__model_fuses(m)); /* no layer has a step size of its own */
    copy.layer[0].opt.w_lr = 2.0f;
    assert_false(drove__model_fuses(&copy));
    copy.layer[0].opt.w_lr = 0.0f;
    copy.layer[0].opt.b_lr = 2.0f;
    assert_false(drove__model_fuses(&copy));
    copy.layer[0].opt.b_lr = 0.0f;
    assert_true(drove__model_fuses(&copy));
    drove__model_destroy(deep);
    drove__model_destroy(m);
}

/* ---- of a pass ---- */

static const float *predicted;

static void note_outputs(const float *z, size_t n_rows, size_t n_outputs, float *prob)
{
    predicted = z;
    assert_int_equal(n_rows, 7);
    assert_int_equal(n_outputs, 3);
    prob[0] = 1.0f;
}

TEST(the_main_head_predicts)
{
    static const drove_loss_ops loss = {.name = "noted", .predict = note_outputs};
    float first[1], second[1], third[1], prob[1] = {0};
    float *out[3] = {first, second, third};
    drove_model m = {.n_layers = 3, .n_outputs = 3, .n_heads = 2, .loss = &loss};
    m.head[0].layer = 2;
    m.head[1].layer = 1;
    const drove_pass pass = {.out = out};
    drove__model_predict(&m, 7, &pass, prob);
    assert_ptr_equal(predicted, second);
    assert_true(prob[0] == 1.0f);
    m.n_heads = 1;
    drove__model_predict(&m, 7, &pass, prob);
    assert_ptr_equal(predicted, third);
}

static const float *its_statistics(const void *own)
{
    return own;
}

TEST(statistics_are_added_by_their_share)
{
    static const drove_layer_ops plain = {.name = "plain"},
                                 normal = {.name = "normal", .statistics = its_statistics};
    float of_first[2] = {1, 2}, of_last[3] = {3, 4, 5}, theta[12];
    void *own[3] = {of_first, NULL, of_last};
    drove_layer layer[3] = {{.ops = &normal, .n_statistics = 2, .s_offset = 3},
                            {.ops = &plain, .s_offset = 5},
                            {.ops = &normal, .n_statistics = 3, .s_offset = 8}};
    const drove_model m = {.n_layers = 3, .layer = layer};
    const drove_pass pass = {.own = own};
    for (size_t i = 0; i < 12; i++) theta[i] = (float)(10 * i);
    drove__model_add_statistics(&m, &pass, 0.25f, theta);
    static const float added[12] = {0, 0, 0, 0.25f, 0.5f, 0, 0, 0, 0.75f, 1, 1.25f, 0};
    for (size_t i = 0; i < 12; i++) assert_true(theta[i] == (float)(10 * i) + added[i]);
}

/* What is promised before a pass is made is what it takes, where no format is converted. */
TEST(a_pass_takes_what_it_said)
{
    static const char *const specs[] = {"logistic", "mlp:33,20,7", "mlp:5"};
    drovek_table kernels;
    assert_int_equal(drovek_select(&kernels, 0, "ref"), DROVE_OK);
    for (unsigned c = 0; c < DROVE_COUNT(specs) * 8; c++) {
        drove_model *m = make(specs[c / 8], &binary);
        drove_pass pass;
        size_t n_bytes = 0, n_floats = 0;
        const drove_pass_options opt = {.model = m,
                                        .kernels = &kernels,
                                        .max_rows = c & 1 ? 1 : 50,
                                        .n_parts = c & 2 ? 3 : 0,
                                        .trains = c & 4};
        assert_int_equal(drove__pass_bytes(&opt, &n_bytes), DROVE_OK);
        assert_int_equal(drove__pass_create(&opt, &pass), DROVE_OK);
        assert_int_equal(n_bytes, pass.n_bytes);
        for (size_t l = 0; l < m->n_layers; l++) n_floats += opt.max_rows * m->layer[l].n_out;
        assert_true(n_bytes >= n_floats * sizeof(float)); /* the outputs at least */
        drove__pass_fini(&pass);
        drove__model_destroy(m);
    }
}

/* A dense layer needs memory for the bias gradients of each part, where there are several, and, of
 * a layer without a bias, for biases of 0 too; rows of 16 floats. */
TEST(a_dense_layer_takes_memory_for_parts)
{
    static const struct {
        unsigned n_parts;
        bool has_bias;
        size_t n_rows;
    } known[] = {{0, true, 0},  {1, true, 0},  {2, true, 2},  {3, true, 3},
                 {0, false, 2}, {1, false, 2}, {2, false, 3}, {3, false, 4}};
    for (size_t i = 0; i < DROVE_COUNT(known); i++) {
        const drove_layer l = {.n_in = 5, .n_out = 17, .n_b = known[i].has_bias ? 17 : 0};
        const drove_pass_options opt = {.n_parts = known[i].n_parts};
        assert_int_equal(drove__layer_dense.scratch_bytes(&opt, &l),
                         known[i].n_rows * 32 * sizeof(float));
    }
}

/* Floats of all batches stay below 2^62 / 64, so that sizes in bytes can be counted. */
TEST(a_pass_without_bounds_is_not_counted)
{
    drovek_table kernels;
    drove_model *m = make("mlp:33", &binary);
    const size_t each = 12 + 33 + 2, most = SIZE_MAX / 64 / 4 / each;
    drove_pass_options opt = {.model = m, .kernels = &kernels, .trains = true};
    drove_pass pass;
    size_t n_bytes = 0;
    assert_int_equal(drovek_select(&kernels, 0, "ref"), DROVE_OK);
    opt.max_rows = most;
    assert_int_equal(drove__pass_bytes(&opt, &n_bytes), DROVE_OK);
    assert_true(n_bytes != SIZE_MAX && n_bytes > most * 4 * 35);
    opt.max_rows = most + 1;
    assert_int_equal(drove__pass_bytes(&opt, &n_bytes), DROVE_OK);
    assert_true(n_bytes == SIZE_MAX);
    assert_int_equal(drove__pass_create(&opt, &pass), DROVE_E_ARG);
    opt.max_rows = SIZE_MAX / 33;
    assert_int_equal(drove__pass_bytes(&opt, &n_bytes), DROVE_OK);
    assert_true(n_bytes == SIZE_MAX);
    drove__model_destroy(m);
}

/* ---- parameters of a file ---- */

enum { C = 2, SIDE = 4, UNITS = 3, FC_IN = C * SIDE * SIDE };

static float *counted(size_t n, float from)
{
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) x[i] = from + (float)i;
    return x;
}

/* conv 1 -> C of 3 x 3 on 6 x 6, normalised, then dense: values for all three. */
static void begin_graph(drove_graph *g)
{
    drove_node *node;
    drove__graph_init(g, "valued");
    assert_int_equal(drove__graph_add(g, &drove__layer_convolution, "conv", NULL, &node), DROVE_OK);
    node->opt.n_out = C;
    node->opt.groups = 1;
    node->opt.window = (drovek_window){.kh = 3, .kw = 3, .sh = 1, .sw = 1, .dh = 1, .dw = 1};
    node->values =
        (drove_node_values){.n_w = 9 * C, .n_b = C, .w = counted(9 * C, 100), .b = counted(C, 200)};
    assert_int_equal(drove__graph_add(g, &drove__layer_batch_norm, "norm", NULL, &node), DROVE_OK);
    node->opt.epsilon = 1e-5f;
    node->values = (drove_node_values){.n_w = C,
                                       .n_b = C,
                                       .n_statistics = 2 * C,
                                       .w = counted(C, 300),
                                       .b = counted(C, 400),
                                       .statistics = counted(2 * C, 500)};
    assert_int_equal(drove__graph_add(g, &drove__layer_dense, "fc", NULL, &node), DROVE_OK);
    node->opt.n_out = UNITS;
    node->values = (drove_node_values){.n_w = FC_IN * UNITS,
                                       .n_b = UNITS,
                                       .n_in = FC_IN,
                                       .w = counted(FC_IN * UNITS, 1000),
                                       .b = counted(UNITS, 600)};
}

TEST(values_of_a_file_are_the_first_parameters)
{
    drove_graph g;
    drove_model *m;
    begin_graph(&g);
    if (drove__model_create_graph(&g, "v.onnx", "", &images, &m) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    if (drove__graph_take_values(&g, m) != DROVE_OK) fail_msg("%s", drove_error_text());
    const drove_layer *conv = &m->layer[0], *norm = &m->layer[1], *fc = &m->layer[2];
    const float *t = m->initial;
    for (size_t i = 0; i < 9 * C; i++) assert_true(t[conv->w_offset + i] == 100 + (float)i);
    for (size_t i = 0; i < C; i++) {
        assert_true(t[conv->b_offset + i] == 200 + (float)i);
        assert_true(t[norm->w_offset + i] == 300 + (float)i);
        assert_true(t[norm->b_offset + i] == 400 + (float)i);
        assert_true(t[norm->s_offset + i] == 500 + (float)i);
        assert_true(t[norm->s_offset + C + i] == 500 + (float)(C + i));
    }
    for (size_t i = 0; i < UNITS; i++) assert_true(t[fc->b_offset + i] == 600 + (float)i);
    for (size_t c = 0; c < C; c++) /* rows in the file's order, [c][h][w]; theta's is [h][w][c] */
        for (size_t place = 0; place < SIDE * SIDE; place++)
            for (size_t o = 0; o < UNITS; o++)
                assert_true(t[fc->w_offset + (place * C + c) * UNITS + o] ==
                            1000 + (float)((c * SIDE * SIDE + place) * UNITS + o));
    float *theta = malloc(m->n_params * sizeof *theta);
    assert_non_null(theta);
    assert_int_equal(drove__model_init(m, "", 1, theta), DROVE_OK);
    assert_memory_equal(theta, t, m->n_params * sizeof *theta);
    free(theta);
    drove__model_destroy(m);
    drove__graph_fini(&g);
}

/* One bias is one, too. */
TEST(a_single_output_has_its_bias)
{
    static const drove_model_io regression = {.n_features = 3};
    drove_graph g;
    drove_model *m;
    drove_node *node;
    drove__graph_init(&g, "single");
    assert_int_equal(drove__graph_add(&g, &drove__layer_dense, "fc", NULL, &node), DROVE_OK);
    node->opt.n_out = 1;
    node->values = (drove_node_values){
        .n_w = 3, .n_b = 1, .n_in = 3, .w = counted(3, 10), .b = counted(1, 70)};
    assert_int_equal(drove__model_create_graph(&g, "v.onnx", "", &regression, &m), DROVE_OK);
    assert_int_equal(drove__graph_take_values(&g, m), DROVE_OK);
    for (size_t i = 0; i < 3; i++)
        assert_true(m->initial[m->layer[0].w_offset + i] == 10 + (float)i);
    assert_true(m->initial[m->layer[0].b_offset] == 70);
    drove__model_destroy(m);
    drove__graph_fini(&g);
}

/* Rows of the data's own image are in the data's order. */
TEST(rows_of_the_input_stay_as_they_are)
{
    static const drove_model_io wide = {.n_features = 12, .n_classes = 3, .image = {3, 2, 2}};
    drove_graph g;
    drove_model *m;
    drove_node *node;
    drove__graph_init(&g, "flat");
    assert_int_equal(drove__graph_add(&g, &drove__layer_dense, "fc", NULL, &node), DROVE_OK);
    node->opt.n_out = 3;
    node->opt.no_bias = true;
    node->values = (drove_node_values){.n_w = 36, .n_in = 12, .w = counted(36, 0)};
    assert_int_equal(drove__model_create_graph(&g, "v.onnx", "", &wide, &m), DROVE_OK);
    assert_int_equal(drove__graph_take_values(&g, m), DROVE_OK);
    for (size_t i = 0; i < 36; i++) assert_true(m->initial[m->layer[0].w_offset + i] == (float)i);
    drove__model_destroy(m);
    drove__graph_fini(&g);
}

TEST(values_that_do_not_fit_are_refused)
{
    for (int which = 0; which < 7; which++) {
        drove_graph g;
        drove_model *m;
        begin_graph(&g);
        assert_int_equal(drove__model_create_graph(&g, "v.onnx", "", &images, &m), DROVE_OK);
        drove_node_values *norm = &g.node[1].values, *fc = &g.node[2].values;
        const char *text = "layer \"norm\": expected 2 weights, 2 biases and 4 statistics, found ";
        if (which == 0) norm->n_w--;
        if (which == 1) norm->n_b--;
        if (which == 2) norm->n_statistics--;
        if (which == 3) {
            fc->n_in--;
            text = "expected weights for 32 inputs, as the layer has here, found weights for 31";
        }
        if (which >= 4) text = "expected finite parameters, found ";
        if (which == 4) norm->w[C - 1] = NAN;
        if (which == 5) norm->b[C - 1] = -INFINITY;
        if (which == 6) norm->statistics[2 * C - 1] = INFINITY;
        assert_int_equal(drove__graph_take_values(&g, m), which < 4 ? DROVE_E_SHAPE : DROVE_E_DATA);
        if (strstr(drove_error_text(), text) == NULL)
            fail_msg("expected \"%s\", found \"%s\"", text, drove_error_text());
        drove__model_destroy(m);
        drove__graph_fini(&g);
    }
    drove_graph g; /* of a graph without values nothing is initial */
    drove_model *m;
    drove_node *node;
    drove__graph_init(&g, "bare");
    assert_int_equal(drove__graph_add(&g, &drove__layer_dense, "fc", NULL, &node), DROVE_OK);
    node->opt.n_out = 3;
    assert_int_equal(drove__model_create_graph(&g, "v.onnx", "", &images, &m), DROVE_OK);
    assert_int_equal(drove__graph_take_values(&g, m), DROVE_OK);
    assert_null(m->initial);
    drove__model_destroy(m);
    drove__graph_fini(&g);
}
