/* test_graph_files.c - networks from files: what YAML and prototxt say, that a printed description
 * reads back, and where each mistake is found. */
#include "base/mem.h"
#include "kernel/kernel.h"
#include "model/graph.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NETS DROVE_SOURCE_DIR "/tests/support/nets/"

typedef drove_status read_fn(const char *text, size_t n_bytes, const char *file, drove_graph *out);

static void read_graph(read_fn *read, const char *text, drove_graph *g)
{
    if (read(text, strlen(text), "f", g) != DROVE_OK) fail_msg("%s", drove_error_text());
}

/* The whole error; the graph is left alone. */
static void refuse(read_fn *read, const char *text, const char *error)
{
    drove_graph g;
    memset(&g, 7, sizeof g);
    assert_int_equal(read(text, strlen(text), "f", &g), DROVE_E_DATA);
    assert_string_equal(drove_error_text(), error);
}

static drove_model *model_of(const char *spec, const drove_model_io *io)
{
    drove_model *m = NULL;
    if (drove__model_create(spec, NULL, "", io, &m) != DROVE_OK)
        fail_msg("%s: %s", spec, drove_error_text());
    return m;
}

/* ---- YAML ---- */

static const char every_word[] =
    "name: every\n"
    "input: images\n"
    "layers:\n"
    "  - {name: c, type: convolution, channels: 6, kernel: [3, 5], stride: [2, 1], pad: 1,\n"
    "     dilation: [1, 2], groups: 3, bias: false, activation: tanh, weight_init: normal:0.02,\n"
    "     weight_lr: 0.5}\n"
    "  - {name: n, type: batch_norm, epsilon: 0.001, activation: relu}\n"
    "  - {name: r, type: lrn, size: 3, alpha: 0.5, beta: 0.25, kappa: 2}\n"
    "  - {name: p, type: max_pool, kernel: 2, stride: 2, rounds_up: true, output: pooled}\n"
    "  - {name: d, type: dropout, ratio: 0.99, inputs: pooled}\n"
    "  - name: s\n"
    "    type: sum\n"
    "    inputs: [pooled, d]\n"
    "    coefficients: [1, -0.5]\n"
    "  - {name: g, type: average_pool, global: true}\n"
    "  - {name: a, type: activation, activation: sigmoid}\n"
    "  - {name: f, type: flatten}\n"
    "  - {name: side, type: dense, inputs: f, bias_init: constant:0.1, bias_lr: 2}\n"
    "  - {name: out, type: dense, inputs: f, units: 4, weight_init: he}\n"
    "heads:\n"
    "  - {input: side, weight: 0.3}\n"
    "  - {input: out}\n";

TEST(every_word_is_read)
{
    drove_graph g;
    read_graph(drove__graph_read_yaml, every_word, &g);
    const drove_node *c = &g.node[0];
    assert_string_equal(g.name, "every");
    assert_int_equal(g.n_nodes, 11);
    assert_string_equal(c->bottom[0], "images");
    assert_int_equal(c->line, 4);
    assert_int_equal(c->opt.n_out, 6);
    assert_int_equal(c->opt.window.kh * 10 + c->opt.window.kw, 35);
    assert_int_equal(c->opt.window.sh * 10 + c->opt.window.sw, 21);
    assert_int_equal(c->opt.window.ph * 10 + c->opt.window.pw, 11);
    assert_int_equal(c->opt.padding.below * 10 + c->opt.padding.right, 11);
    assert_int_equal(c->opt.window.dh * 10 + c->opt.window.dw, 12);
    assert_int_equal(c->opt.groups, 3);
    assert_true(c->opt.no_bias && c->act == DROVEK_TANH && c->opt.w_lr == 0.5f);
    assert_string_equal(c->opt.w_filler.kind, "normal");
    assert_true(c->opt.w_filler.value == 0.02f);
    assert_true(g.node[1].opt.epsilon == 0.001f);
    assert_true(g.node[2].opt.lrn.size == 3 && g.node[2].opt.lrn.kappa == 2.0f);
    assert_true(g.node[3].opt.rounds_up);
    assert_string_equal(g.node[3].top, "pooled");
    assert_true(g.node[4].opt.ratio == 0.99f);
    assert_int_equal(g.node[5].n_bottoms, 2);
    assert_true(g.node[5].opt.coefficient[1] == -0.5f);
    assert_true(g.node[6].opt.is_global);
    assert_int_equal(g.node[7].act, DROVEK_SIGMOID);
    assert_true(g.node[9].opt.b_filler.value == 0.1f && g.node[9].opt.b_lr == 2.0f);
    assert_int_equal(g.node[9].opt.n_out, 0);
    assert_int_equal(g.n_heads, 2);
    assert_true(g.head[0].weight == 0.3f && g.head[1].weight == 1.0f);
    drove__graph_fini(&g);
}

static void expect_same(const drove_graph *a, const drove_graph *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->input, b->input);
    assert_int_equal(a->n_nodes, b->n_nodes);
    for (size_t i = 0; i < a->n_nodes; i++) {
        drove_node x = a->node[i], y = b->node[i];
        x.line = y.line = 0;
        assert_memory_equal(&x.opt, &y.opt, sizeof x.opt);
        assert_true(x.ops == y.ops && x.act == y.act && x.n_bottoms == y.n_bottoms);
        assert_string_equal(x.name, y.name);
        assert_string_equal(x.top, y.top);
        for (unsigned k = 0; k < x.n_bottoms; k++) assert_string_equal(x.bottom[k], y.bottom[k]);
    }
    assert_int_equal(a->n_heads, b->n_heads);
    for (unsigned h = 0; h < a->n_heads; h++) {
        assert_string_equal(a->head[h].bottom, b->head[h].bottom);
        assert_true(a->head[h].weight == b->head[h].weight);
    }
}

TEST(what_is_printed_reads_back)
{
    static const char *const files[] = {NULL, NETS "lenet.prototxt", NETS "alexnet.prototxt",
                                        DROVE_SOURCE_DIR "/examples/models/residual-cifar.yaml"};
    for (size_t i = 0; i < DROVE_COUNT(files); i++) {
        drove_graph g, again;
        char *text = NULL, *text2 = NULL;
        if (files[i] == NULL) read_graph(drove__graph_read_yaml, every_word, &g);
        else if (drove__graph_read_file(files[i], &g) != DROVE_OK)
            fail_msg("%s", drove_error_text());
        assert_int_equal(drove__graph_print_yaml(&g, &text), DROVE_OK);
        read_graph(drove__graph_read_yaml, text, &again);
        expect_same(&g, &again);
        assert_int_equal(drove__graph_print_yaml(&again, &text2), DROVE_OK);
        assert_string_equal(text, text2);
        free(text);
        free(text2);
        drove__graph_fini(&g);
        drove__graph_fini(&again);
    }
}

TEST(ranges_of_an_index)
{
    static const char text[] =
        "layers:\n"
        "  - {name: g, type: gather, index: [7, 0-2, 3-4x2, 5x3, 5, 6-6x1, 4, 4]}\n";
    static const uint32_t index[] = {7, 0, 1, 2, 3, 3, 4, 4, 5, 5, 5, 5, 6, 4, 4};
    drove_graph g, again;
    char *printed;
    read_graph(drove__graph_read_yaml, text, &g);
    assert_int_equal(g.node[0].opt.index.n, DROVE_COUNT(index));
    assert_memory_equal(g.node[0].opt.index.value, index, sizeof index);
    assert_int_equal(drove__graph_print_yaml(&g, &printed), DROVE_OK);
    assert_non_null(strstr(printed, "index: [7, 0-2, 3-4x2, 5x4, 6, 4x2]}"));
    read_graph(drove__graph_read_yaml, printed, &again);
    assert_int_equal(again.node[0].opt.index.n, DROVE_COUNT(index));
    assert_memory_equal(again.node[0].opt.index.value, index, sizeof index);
    free(printed);
    drove__graph_fini(&g);
    drove__graph_fini(&again);
}

#define RANGE      "index: expected a number or a range, as 3, 0-7 or 0-7x2 (each twice), found \""
#define GATHER     "layers:\n - {name: a, type: gather, index: "
#define ONE        "layers:\n - {name: a, type: dense, "
#define CURVE(act) "layers:\n - {name: a, type: activation, activation: " act ", "

TEST(mistakes_in_yaml_are_found)
{
    const struct {
        const char *text, *error;
    } rows[] = {
        {"", "f: expected layers, found nothing"},
        {"- a\n", "f:1:1: expected a mapping with name and layers, found a list"},
        {"layer: []\n", "f:1:1: unknown word \"layer\"; did you mean \"layers\"?"},
        {"name: a\n", "f: expected layers, found none"},
        {"layers: []\n", "f: expected layers, found none"},
        {GATHER "3}\n",
         "f:2:35: expected a list of numbers and ranges, as [3, 0-7], found a value"},
        {GATHER "[3, 2-1]}\n", "f:2:39: " RANGE "2-1\""},
        {GATHER "[-1]}\n", "f:2:36: " RANGE "-1\""},
        {GATHER "[1x0]}\n", "f:2:36: " RANGE "1x0\""},
        {GATHER "[5000000000]}\n", "f:2:36: " RANGE "5000000000\""},
        {GATHER "[0, 0-65535]}\n", "f:2:39: index: expected at most 65536 numbers, found more"},
        {GATHER "[0-255x257]}\n", "f:2:36: index: expected at most 65536 numbers, found more"},
        {"layers: 3\n", "f:1:9: expected a list of layers, found a value"},
        {"layers:\n - 3\n", "f:2:4: expected a list of layers, found a value"},
        {"name: a\nname: b\n",
         "f:2:1: expected each word once, found \"name\" again (first on line 1)"},
        {"name: \"a b\"\n",
         "f:1:7: expected a name of 1 to 63 ASCII characters without blanks, quotation marks and "
         "backslashes, found \"a b\""},
        {ONE "unit: 3}\n", "f:2:27: unknown word \"unit\"; did you mean \"units\"?"},
        {ONE "units: 0}\n",
         "f:2:34: units: expected a whole number from 1 to 16777216, found \"0\""},
        {ONE "units: many}\n",
         "f:2:34: units: expected a whole number from 1 to 16777216, found \"many\""},
        {ONE "kernel: 3}\n", "f:2:27: dense has no \"kernel\""},
        {ONE "bias: yes}\n", "f:2:33: bias: expected true or false, found \"yes\""},
        {ONE "activation: rellu}\n",
         "f:2:39: unknown activation \"rellu\"; did you mean \"relu\"?"},
        {ONE "weight_init: [1]}\n", "f:2:40: expected one value for \"weight_init\", found a list"},
        {"layers:\n - {type: dense}\n", "f:2:4: expected a layer with a name"},
        {"layers:\n - {name: a}\n", "f:2:4: layer \"a\": expected a type"},
        {"layers:\n - {name: a, type: dens}\n",
         "f:2:20: unknown type of layer \"dens\"; did you mean \"dense\"?"},
        {"layers:\n - {name: a, type: activation}\n",
         "f:2:4: layer \"a\": expected an activation, found none"},
        {CURVE("relu") "slope: 0.1}\n", "f:2:50: relu has no \"slope\""},
        {CURVE("elu") "level: 0}\n", "f:2:49: elu has no \"level\""},
        {CURVE("elu") "slope: [1]}\n", "f:2:56: expected one value for \"slope\", found a list"},
        {CURVE("softplus") "slope: 0}\n",
         "f:2:54: slope: expected at least 1e-06 for softplus, found 0"},
        {CURVE("smooth_clip") "level: 0}\n",
         "f:2:57: level: expected at least 1e-06 for smooth_clip, found 0"},
        {CURVE("softplus") "slope: -1}\n",
         "f:2:54: slope: expected at least 1e-06 for softplus, found -1"},
        {ONE "activation: softplus, slope: 1}\n", "f:2:49: dense has no \"slope\""},
        {"layers:\n - {name: a, type: lrn, activation: relu}\n",
         "f:2:4: layer \"a\": lrn takes no activation; expected a layer of type activation after "
         "it"},
        {"layers:\n - {name: a, type: convolution, kernel: [1, 2, 3]}\n",
         "f:2:48: expected [height, width], found a value"},
        {"layers:\n - {name: a, type: sum, inputs: [x, y], coefficients: [1]}\n",
         "f:2:41: expected 2 coefficients, one for each input, found 1"},
        {ONE "inputs: []}\n", "f:2:35: expected a list of 1 to 32 names, found the end of a list"},
        {ONE "units: 3}\ninput: x\n", "f:3:1: expected input before layers, found it after them"},
        {"heads:\n - {weight: 1}\n", "f:2:4: expected a head with an input"},
        {"heads:\n - {input: a, wight: 1}\n",
         "f:2:15: unknown word \"wight\"; did you mean \"weight\"?"},
        {"layers: [{name: a, type: dense}]\n---\na: 1\n",
         "f:2:1: expected one document, found a second document"},
        {"layers: *x\n", "f:1:9: expected a list of layers, found an alias"},
    };
    for (size_t i = 0; i < DROVE_COUNT(rows); i++)
        refuse(drove__graph_read_yaml, rows[i].text, rows[i].error);
}

/* ---- prototxt ---- */

/* Same layers, shapes, places in theta; and the same outputs of the same parameters, bit for
 * bit. */
static void expect_same_network(const drove_model *a, const drove_model *b, float *theta)
{
    assert_int_equal(a->n_layers, b->n_layers);
    assert_int_equal(a->n_params, b->n_params);
    assert_int_equal(a->n_weights, b->n_weights);
    for (size_t l = 0; l < a->n_layers; l++) {
        const drove_layer *x = &a->layer[l], *y = &b->layer[l];
        assert_string_equal(x->name, y->name);
        assert_true(x->ops == y->ops && x->act == y->act);
        assert_memory_equal(&x->out, &y->out, sizeof x->out);
        assert_int_equal(x->w_offset, y->w_offset);
        assert_int_equal(x->b_offset, y->b_offset);
        assert_int_equal(x->bottom[0], y->bottom[0]);
    }
    for (int which = 0; which < 2; which++) { /* the same start, too */
        const drove_model *m = which == 0 ? a : b;
        assert_int_equal(drove__model_init(m, "", 5, theta + (size_t)which * a->n_params),
                         DROVE_OK);
    }
    assert_memory_equal(theta, theta + a->n_params, a->n_params * sizeof *theta);
}

static void expect_same_outputs(const drove_model *a, const drove_model *b, const float *theta)
{
    drovek_table k;
    drove_pass pass[2];
    float *x = drove__alloc(2 * a->n_inputs, sizeof *x);
    assert_int_equal(drovek_select(&k, 0, "ref"), DROVE_OK);
    for (size_t i = 0; i < 2 * a->n_inputs; i++) x[i] = (float)(i * 7919 % 256) / 256.0f;
    const drove_input in = {.n_rows = 2, .dense = x};
    const drove_model *m[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(drove__pass_init(&pass[i], m[i], &k, 2), DROVE_OK);
        drove__model_forward(m[i], &k, theta, &in, &pass[i]);
    }
    size_t head = a->head[0].layer;
    assert_memory_equal(pass[0].out[head], pass[1].out[head], 2 * a->n_outputs * sizeof(float));
    assert_true(pass[0].out[head][0] != pass[0].out[head][1]);
    for (int i = 0; i < 2; i++) drove__pass_fini(&pass[i]);
    drove__free(x);
}

TEST(the_imported_lenet_is_the_built_in_one)
{
    const drove_model_io io = {.n_features = 784, .n_classes = 10, .image = {1, 28, 28}};
    drove_model *a = model_of("lenet", &io), *b = model_of(NETS "lenet.prototxt", &io);
    float *theta = drove__alloc(2 * a->n_params, sizeof *theta);
    expect_same_network(a, b, theta);
    expect_same_outputs(a, b, theta);
    assert_true(b->layer[0].opt.b_lr == 2.0f);
    assert_non_null(strstr(b->notes, "--data"));
    /* It carries its description, from which the same model can be made without the file. */
    drove_model *again;
    assert_non_null(b->graph_text);
    assert_int_equal(drove__model_create_text(b->graph_text, "saved", "", &io, &again), DROVE_OK);
    expect_same_network(b, again, theta);
    assert_string_equal(again->graph_text, b->graph_text);
    drove__model_destroy(again);
    drove__free(theta);
    drove__model_destroy(a);
    drove__model_destroy(b);
}

TEST(the_imported_alexnet_is_the_built_in_one)
{
    const drove_model_io io = {.n_features = 3 * 67 * 67, .n_classes = 1000, .image = {3, 67, 67}};
    drove_model *a = model_of("alexnet", &io), *b = model_of(NETS "alexnet.prototxt", &io);
    float *theta = drove__alloc(2 * a->n_params, sizeof *theta);
    expect_same_network(a, b, theta);
    expect_same_outputs(a, b, theta);
    drove__free(theta);
    drove__model_destroy(a);
    drove__model_destroy(b);
}

#define INPUT "input: \"data\" input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8\n"

/* What Caffe has in two layers, in place, by old names, and in deployed networks. */
TEST(ways_of_caffe_are_understood)
{
    static const char text[] = INPUT
        "layers { name: 'c' type: CONVOLUTION bottom: 'data' top: 'c' blobs_lr: 1 blobs_lr: 2\n"
        "  convolution_param < num_output: 4, kernel_h: 3 kernel_w: 1; pad: [1, 0] > }\n"
        "layer { name: \"b\" type: \"Batch\" \"Norm\" bottom: \"c\" top: \"c\"\n"
        "  param { lr_mult: 0 } batch_norm_param { eps: 1e-3 } }\n"
        "layer { name: \"s\" type: \"Scale\" bottom: \"c\" top: \"c\" "
        "scale_param { bias_term: true } }\n"
        "layer { name: \"r\" type: \"ReLU\" bottom: \"c\" top: \"c\" } # in place\n"
        "layer { name: \"p\" type: \"Pooling\" bottom: \"c\" top: \"p\" "
        "pooling_param { pool: AVE global_pooling: true } }\n"
        "layer { name: \"e\" type: \"Eltwise\" bottom: \"p\" bottom: \"p\" top: \"e\" "
        "eltwise_param { operation: SUM coeff: 1 coeff: -2 } }\n"
        "layer { name: \"ip\" type: \"InnerProduct\" bottom: \"e\" top: \"ip\" "
        "inner_product_param { num_output: 4 } "
        "param { lr_mult: 0 } param { lr_mult: 0 } }\n"
        "layer { name: \"prob\" type: \"Softmax\" bottom: \"ip\" top: \"prob\" }\n";
    drove_graph g;
    read_graph(drove__graph_read_prototxt, text, &g);
    static const char *const names[] = {"c", "b", "r", "p", "e", "ip"};
    assert_int_equal(g.n_nodes, 6);
    for (size_t i = 0; i < 6; i++) assert_string_equal(g.node[i].name, names[i]);
    assert_int_equal(g.node[0].opt.window.kh * 10 + g.node[0].opt.window.kw, 31);
    assert_int_equal(g.node[0].opt.window.ph * 10 + g.node[0].opt.window.pw, 10);
    assert_int_equal(g.node[0].opt.padding.below * 10 + g.node[0].opt.padding.right, 10);
    assert_true(g.node[0].opt.b_lr == 2.0f);
    assert_true(g.node[5].opt.w_lr == DROVE_LR_NONE && g.node[5].opt.b_lr == DROVE_LR_NONE);
    assert_true(g.node[1].opt.epsilon == 1e-3f);
    assert_string_equal(g.node[2].bottom[0], "b");
    assert_string_equal(g.node[3].bottom[0], "r");
    assert_true(g.node[4].opt.coefficient[1] == -2.0f);
    assert_int_equal(g.n_heads, 1);
    assert_string_equal(g.head[0].bottom, "ip");
    drove__graph_fini(&g);
}

/* Words and numbers of Caffe's enumerations. */
TEST(words_of_pooling_are_understood)
{
    static const struct {
        const char *param;
        const drove_layer_ops *ops;
        bool rounds_up;
    } rows[] = {
        {"", &drove__layer_max_pool, true},
        {"pool: MAX round_mode: CEIL", &drove__layer_max_pool, true},
        {"pool: AVE round_mode: FLOOR", &drove__layer_average_pool, false},
        {"pool: 0 round_mode: 0", &drove__layer_max_pool, true},
        {"pool: 1 round_mode: 1", &drove__layer_average_pool, false},
    };
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        char text[400];
        drove_graph g;
        snprintf(text, sizeof text,
                 INPUT "layer { name: \"p\" type: \"Pooling\" bottom: \"data\" top: \"p\" "
                       "pooling_param { kernel_size: 2 %s } }\n",
                 rows[i].param);
        read_graph(drove__graph_read_prototxt, text, &g);
        assert_true(g.node[0].ops == rows[i].ops);
        assert_int_equal(g.node[0].opt.rounds_up, rows[i].rounds_up);
        drove__graph_fini(&g);
    }
}

#define LAYER(rest) INPUT "layer {\n name: \"x\"\n bottom: \"data\" top: \"x\"\n " rest "\n}\n"

TEST(mistakes_in_prototxt_are_found)
{
    const struct {
        const char *text, *error;
    } rows[] = {
        {"", "f: expected layers, found none"},
        {"name: ", "f:1: expected a value, found the end"},
        {"name \"x\"", "f:1: expected : or {, found \"x\""},
        {"layer {\n", "f:2: expected a field, found the end"},
        {"name: \"x\n\"", "f:1: expected \" at the end of a string"},
        {"nme: \"x\"\n", "f:1: unknown field \"nme\""},
        {"layer { type: \"ReLU\" }", "f:1: expected a layer's name, found none"},
        {LAYER("type: \"Convolutoin\""),
         "f:2: layer \"x\": unknown type of layer \"Convolutoin\"; did you mean "
         "\"Convolution\"?"},
        {LAYER("type: \"Convolution\""),
         "f:2: layer \"x\": expected convolution_param, found none"},
        {LAYER("type: \"Convolution\"\n convolution_param {\n num_output: 3\n kernel_sise: 3 "
               "kernel_size: 3 }"),
         "f:8: unknown field \"kernel_sise\" in \"convolution_param\""},
        {LAYER("type: \"Convolution\"\n convolution_param { num_output: 0 kernel_size: 3 }"),
         "f:6: num_output: expected a whole number from 1 to 16777216, found \"0\""},
        {LAYER("type: \"Convolution\" convolution_param { num_output: 3 kernel_size: 3\n"
               " weight_filler { type: \"bilinear\" } }"),
         "f:6: weight_filler: expected type constant, gaussian, xavier or msra, found "
         "\"bilinear\""},
        {LAYER("type: \"LRN\" lrn_param { norm_region: WITHIN_CHANNEL }"),
         "f:5: norm_region: expected ACROSS_CHANNELS, found \"WITHIN_CHANNEL\""},
        {LAYER("type: \"Pooling\" pooling_param { pool: STOCHASTIC kernel_size: 2 }"),
         "f:2: layer \"x\": pool: expected MAX or AVE, found \"STOCHASTIC\""},
        {LAYER("type: \"Pooling\" pooling_param { round_mode: UP kernel_size: 2 }"),
         "f:2: layer \"x\": round_mode: expected CEIL or FLOOR, found \"UP\""},
        {LAYER("type: \"Pooling\" pooling_param { pool: MAX }"),
         "f:2: layer \"x\": expected kernel_size or global_pooling"},
        {LAYER("type: \"Eltwise\" eltwise_param { operation: PROD }"),
         "f:5: operation: expected SUM, found \"PROD\""},
        {LAYER("type: \"Concat\" concat_param { axis: 2 }"), "f:5: axis: expected 1, found \"2\""},
        {LAYER("type: \"ReLU\" relu_param { negative_slope: 0.1 }"),
         "f:5: negative_slope: expected 0, found \"0.1\""},
        {LAYER("type: \"BatchNorm\""),
         "f:2: BatchNorm \"x\": expected Scale after it, to be merged with it"},
        {LAYER("type: \"Scale\" scale_param { bias_term: true }"),
         "f:2: layer \"x\": expected BatchNorm before it, to be merged with it"},
        {LAYER("type: \"ReLU\" include { phase: TRIAN }"),
         "f:5: phase: expected TRAIN or TEST, found \"TRIAN\""},
        {LAYER("type: \"ReLU\" include { stage: \"a\" }"),
         "f:5: unknown field \"stage\" in \"include\""},
        {LAYER("type: \"ReLU\" blobs { }"), "f:5: unknown field \"blobs\" in \"layer\""},
        {LAYER("type: \"ReLU\"") LAYER("type: \"ReLU\""), NULL},
        {"layer { name: \"d\" type: \"Data\" top: \"data\" top: \"label\" }\n"
         "layer { name: \"x\" type: \"ReLU\" bottom: \"label\" top: \"x\" }\n",
         "f:2: layer \"x\": bottom \"label\" is a label; only losses read labels"},
    };
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        drove_graph g;
        if (rows[i].error != NULL) refuse(drove__graph_read_prototxt, rows[i].text, rows[i].error);
        else
            assert_int_equal(drove__graph_read_prototxt(rows[i].text, strlen(rows[i].text), "f",
                                                        &g),
                             DROVE_E_DATA);
    }
}

TEST(messages_are_not_read_without_end)
{
    char text[400] = "";
    for (int i = 0; i < 60; i++) strcat(text, "a{");
    refuse(drove__graph_read_prototxt, text,
           "f:1: expected messages in at most 16 levels, found more");
}

/* An activation that is no end of a product becomes a layer behind the one that names it, and what
 * reads that one reads the activation. */
TEST(curves_are_layers_behind_those_that_name_them)
{
    static const char yaml[] = "layers:\n"
                               "  - {name: a, type: dense, units: 4, activation: gelu}\n"
                               "  - {name: b, type: activation, activation: elu, slope: 0.25}\n"
                               "  - {name: c, type: dense, inputs: a, units: 4}\n"
                               "  - {name: d, type: sum, inputs: [b, c]}\n"
                               "  - {name: e, type: dense}\n";
    const drove_model_io io = {.n_features = 3, .n_classes = 2};
    drove_model *m;
    assert_int_equal(drove__model_create_text(yaml, "net.yaml", NULL, &io, &m), DROVE_OK);
    assert_int_equal(m->n_layers, 6);
    assert_string_equal(m->layer[1].name, "a.act");
    assert_true(m->layer[0].act == DROVEK_LINEAR && m->layer[1].act == DROVEK_CURVE_gelu);
    assert_true(m->layer[2].act == DROVEK_CURVE_elu && m->layer[2].opt.slope == 0.25f);
    assert_true(m->layer[2].bottom[0] == 2 && m->layer[3].bottom[0] == 2);
    drove_model *again; /* its description is read back as the same */
    assert_int_equal(drove__model_create_text(m->graph_text, "net.yaml", NULL, &io, &again),
                     DROVE_OK);
    assert_string_equal(again->graph_text, m->graph_text);
    drove__model_destroy(again);
    drove__model_destroy(m);
}

/* The names that the layer behind needs are the file's to give. */
TEST(names_of_curves_fit_and_differ)
{
#define SIXTY "ten_bytes_ten_bytes_ten_bytes_ten_bytes_ten_bytes_ten_bytes_"
    static const struct {
        const char *yaml, *error;
    } rows[] = {
        {"layers:\n - {name: " SIXTY ", type: dense, activation: gelu}\n",
         "f:2: layer \"" SIXTY "\": expected a name of at most 63 bytes, found \"" SIXTY ".act\""},
        {"layers:\n - {name: a, type: dense, activation: gelu}\n - {name: a.act, type: dense}\n",
         "f:2: layer \"a.act\": expected each name once, found it again (first on line 3)"},
        {"layers:\n - {name: a, type: dense, activation: gelu}\n - {name: a.sum, type: dense}\n",
         "f:3: layer \"a.sum\": output \"a.sum\" is already that of layer \"a\""},
    };
    const drove_model_io io = {.n_features = 3, .n_classes = 2};
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        drove_model *m;
        assert_int_equal(drove__model_create_text(rows[i].yaml, "f", NULL, &io, &m), DROVE_E_ARG);
        assert_string_equal(drove_error_text(), rows[i].error);
    }
}
