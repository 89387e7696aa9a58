/* Every field of Caffe's layers that the importer reads: a value that it cannot have is refused at
 * its own line, by its name; without the field the same text is read. */
#include "model/graph.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 1200 };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define INPUT        "input: \"data\" input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8\n"
#define NORM         "layer { name: \"n\" type: \"BatchNorm\" bottom: \"data\" top: \"b\" }\n"

/* type: of the layer; message: its own, NULL: the layer itself; good: what it needs besides */
typedef struct field {
    const char *type, *message, *good, *text, *named; /* named: in the error; NULL: as in text */
} field;

#define CONVOLUTION "Convolution", "convolution_param", "num_output: 3 kernel_size: 3"
#define DENSE       "InnerProduct", "inner_product_param", "num_output: 3"
#define POOLING     "Pooling", "pooling_param", "kernel_size: 2"
#define LRN         "LRN", "lrn_param", ""
#define NORMALISED  "BatchNorm", "batch_norm_param", ""
#define SCALE       "Scale", "scale_param", "bias_term: true"
#define SUM         "Eltwise", "eltwise_param", ""

static const field fields[] = {
    {"Convolution", "convolution_param", "kernel_size: 3", "num_output: -1", NULL},
    {CONVOLUTION, "kernel_size: x", NULL},
    {CONVOLUTION, "kernel_size: 3 kernel_size: 3", NULL},
    {CONVOLUTION, "kernel_h: 0", NULL},
    {CONVOLUTION, "kernel_w: { a: 1 }", NULL},
    {CONVOLUTION, "stride: 0", NULL},
    {CONVOLUTION, "stride: 1 stride: 0", NULL},
    {CONVOLUTION, "stride_h: 70000", NULL},
    {CONVOLUTION, "stride_w: 1.5", NULL},
    {CONVOLUTION, "pad: -1", NULL},
    {CONVOLUTION, "pad_h: x", NULL},
    {CONVOLUTION, "pad_w: x", NULL},
    {CONVOLUTION, "dilation: 0", NULL},
    {CONVOLUTION, "group: 0", NULL},
    {CONVOLUTION, "bias_term: maybe", NULL},
    {CONVOLUTION, "axis: 2", NULL},
    {CONVOLUTION, "engine: FAST", NULL},
    {CONVOLUTION, "weight_filler: 3", NULL},
    {CONVOLUTION, "bias_filler: 3", NULL},
    {CONVOLUTION, "weight_filler { type { } }", "type"},
    {CONVOLUTION, "weight_filler { value: 1e7 }", "value"},
    {CONVOLUTION, "weight_filler { std: -1 }", "std"},
    {CONVOLUTION, "weight_filler { mean: 1 }", "mean"},
    {CONVOLUTION, "weight_filler { variance_norm: FAN_OUT }", "variance_norm"},
    {CONVOLUTION, "bias_filler { type: \"uniform\" }", "bias_filler"},
    {"InnerProduct", "inner_product_param", "", "num_output: 0", NULL},
    {DENSE, "transpose: true", NULL},
    {DENSE, "axis: 0", NULL},
    {DENSE, "bias_term: 2", NULL},
    {POOLING, "pool { }", NULL},
    {POOLING, "round_mode { }", NULL},
    {POOLING, "global_pooling: 7", NULL},
    {POOLING, "kernel_h: 0", NULL},
    {POOLING, "stride: 0", NULL},
    {POOLING, "pad: x", NULL},
    {POOLING, "engine: FAST", NULL},
    {LRN, "local_size: 0", NULL},
    {LRN, "alpha: -1", NULL},
    {LRN, "beta: 101", NULL},
    {LRN, "k: 0", NULL},
    {LRN, "engine: FAST", NULL},
    {"Dropout", "dropout_param", "", "dropout_ratio: 1", NULL},
    {SUM, "stable_prod_grad: maybe", NULL},
    {SUM, "coeff: x", NULL},
    {"Concat", "concat_param", "", "concat_dim: 2", NULL},
    {"Flatten", "flatten_param", "", "axis: 2", NULL},
    {"Flatten", "flatten_param", "", "end_axis: 1", NULL},
    {"ReLU", "relu_param", "", "engine: FAST", NULL},
    {"Sigmoid", "sigmoid_param", "", "engine: FAST", NULL},
    {"TanH", "tanh_param", "", "engine: FAST", NULL},
    {"InnerProduct", NULL, "inner_product_param { num_output: 3 }", "param { lr_mult: -1 }",
     "lr_mult"},
    {"InnerProduct", NULL, "inner_product_param { num_output: 3 }", "param { decay_mult: x }",
     "decay_mult"},
    {"InnerProduct", NULL, "inner_product_param { num_output: 3 }", "blobs_lr: -1", NULL},
    {"InnerProduct", NULL, "inner_product_param { num_output: 3 }", "weight_decay: -1", NULL},
    {"InnerProduct", NULL, "inner_product_param { num_output: 3 }", "param: 1", NULL},
    {"ReLU", NULL, "", "phase { }", NULL},
    {"ReLU", NULL, "", "include { phase { } }", "phase"},
    {"ReLU", NULL, "", "relu_param: 1", NULL},
    {NORMALISED, "eps: 0", NULL},
    {NORMALISED, "moving_average_fraction: 2", NULL},
    {NORMALISED, "use_global_stats: true", NULL},
    {SCALE, "axis: 2", NULL},
    {SCALE, "num_axes: 2", NULL},
    {SCALE, "filler: 1", NULL},
    {SCALE, "bias_filler: 1", NULL},
    {"Softmax", "softmax_param", "", "axis: 2", NULL},
    {"Softmax", "softmax_param", "", "engine: FAST", NULL},
};

/* The layer of a row, its field in the seventh line; with a batch normalisation where it needs one
 * before or a Scale after it. */
static void write_text(char into[TEXT_SIZE], const field *f, const char *text)
{
    const bool is_norm = strcmp(f->type, "BatchNorm") == 0,
               is_scale = strcmp(f->type, "Scale") == 0;
    const bool has_two = strcmp(f->type, "Eltwise") == 0 || strcmp(f->type, "Concat") == 0;
    snprintf(
        into, TEXT_SIZE,
        INPUT
        "%s\nlayer {\nname: \"x\"\nbottom: \"%s\" %s top: \"x\" type: \"%s\"\n%s%s %s\n%s\n%s}\n%s",
        is_scale ? "layer { name: \"n\" type: \"BatchNorm\" bottom: \"data\" top: \"b\" }" : "",
        is_scale ? "b" : "data", has_two ? "bottom: \"data\"" : "", f->type,
        f->message != NULL ? f->message : "", f->message != NULL ? " {" : "", f->good, text,
        f->message != NULL ? "}" : "",
        is_norm ? "layer { name: \"s\" type: \"Scale\" bottom: \"x\" top: \"y\""
                  " scale_param { bias_term: true } }\n"
                : "layer { name: \"z\" type: \"ReLU\" bottom: \"data\" top: \"z\" }\n");
}

TEST(every_field_is_checked)
{
    for (size_t i = 0; i < COUNT(fields); i++) {
        const field *f = &fields[i];
        char text[TEXT_SIZE], expected[80], name[40];
        drove_graph g;
        const bool is_needed = strncmp(f->text, "num_output", 10) == 0 && f->named == NULL;
        write_text(text, f, is_needed ? "num_output: 3" : "");
        if (drove__graph_read_prototxt(text, strlen(text), "f", &g) != DROVE_OK)
            fail_msg("without \"%s\": %s", f->text, drove_error_text());
        drove__graph_fini(&g);
        write_text(text, f, f->text);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(f->text, ": "), f->text);
        snprintf(expected, sizeof expected, "f:7: %s: expected ",
                 f->named != NULL ? f->named : name);
        if (drove__graph_read_prototxt(text, strlen(text), "f", &g) != DROVE_E_DATA)
            fail_msg("\"%s\" is read", f->text);
        if (strncmp(drove_error_text(), expected, strlen(expected)) != 0)
            fail_msg("%s: expected \"%s\", found \"%s\"", f->text, expected, drove_error_text());
    }
}

/* Whole texts: what is not a matter of one field's value. */
TEST(layers_are_checked)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {INPUT "layer { name: \"x\" bottom: \"data\" top: \"x\" }",
         "f:2: layer \"x\": expected a type"},
        {INPUT "layer: 1", "f:2: expected a layer, found a value"},
        {INPUT "layer { name: \"x\" type: \"ReLU\" top: \"x\" }",
         "f:2: layer \"x\": expected a bottom, found none"},
        {INPUT "layer { name: \"x\" type: \"ReLU\" bottom: \"data\" top: \"x\" top: \"y\" }",
         "f:2: layer \"x\": expected one top, found 2"},
        {INPUT "layer { name: \"x\" type: \"ReLU\" bottom: \"data\" top: \"x\" }\n"
               "layer { name: \"z\" type: \"TanH\" bottom: \"data\" top: \"x\" }",
         "f:3: layer \"z\": top \"x\" is already another layer's"},
        {INPUT NORM "layer { name: \"x\" type: \"ReLU\" bottom: \"b\" top: \"b\" }",
         "f:3: layer \"x\": expected Scale after BatchNorm, to be merged with it"},
        {INPUT NORM
         "layer { name: \"s\" type: \"Scale\" bottom: \"b\" top: \"s\" scale_param { } }",
         "f:3: layer \"s\": expected bias_term: true, as batch normalisation has it"},
        {INPUT NORM "layer { name: \"s\" type: \"Scale\" bottom: \"b\" top: \"s\" top: \"t\" }",
         "f:3: layer \"s\": expected BatchNorm before it, to be merged with it"},
        {INPUT NORM "layer { name: \"s\" type: \"Scale\" bottom: \"b\" top: \"s\""
                    " scale_param { bias_term: true bias_filler { value: 1 } } }",
         "f:3: layer \"s\": expected initial values of 1, and of 0 for the bias"},
        {INPUT "layer { name: \"x\" type: \"LRN\" bottom: \"data\" top: \"x\""
               " lrn_param { local_size: 4 } }",
         "f:2: layer \"x\": local_size: expected an odd number"},
        {INPUT "layer { name: \"x\" type: \"Convolution\" bottom: \"data\" top: \"x\""
               " convolution_param { num_output: 2 } }",
         "f:2: layer \"x\": expected kernel_size"},
        {INPUT "layer { name: \"x\" type: \"InnerProduct\" bottom: \"data\" top: \"x\""
               " inner_product_param { } }",
         "f:2: layer \"x\": expected num_output, found none"},
        {INPUT "layer { name: \"x\" type: \"Eltwise\" bottom: \"data\" bottom: \"data\" top: \"x\""
               " eltwise_param { coeff: 1 } }",
         "f:2: layer \"x\": expected 2 coeff, one for each bottom, found 1"},
        {INPUT "layer { name: \"x\" type: \"Eltwise\" bottom: \"data\" bottom: \"data\" top: \"x\""
               " eltwise_param { coeff: 1 coeff: 1 coeff: 1 } }",
         "f:2: layer \"x\": expected a coeff for each bottom"},
        {"layer { name: \"d\" type: \"Input\" bottom: \"data\" top: \"data\" }",
         "f:1: layer \"d\": expected no bottom, and a top"},
        {INPUT "layer { name: \"l\" type: \"SoftmaxWithLoss\" }",
         "f:2: layer \"l\": expected outputs and labels as bottoms, found 0"},
        {INPUT "layer { name: \"l\" type: \"SoftmaxWithLoss\" bottom: \"data\""
               " loss_param { normalization: NONE } }",
         "f:2: layer \"l\": normalization: expected VALID, found \"NONE\""},
        {INPUT "name: \"\\x\"",
         "f:2: expected \\\\, \\\" or \\' in a string, found another escape"},
        {INPUT "= 3", "f:2: expected a field, found \"=\""},
        {INPUT "\x01", "f:2: expected a field, found byte ?"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        drove_graph g;
        const char *text = rows[i].text;
        if (drove__graph_read_prototxt(text, strlen(text), "f", &g) != DROVE_E_DATA)
            fail_msg("%s is read", text);
        assert_string_equal(drove_error_text(), rows[i].error);
    }
}

/* The text itself: blanks, comments, quotes, lists, and where it stops being one. */
TEST(texts_are_read)
{
    static const char *const good[] = {
        INPUT "\tlayer\r\n{ name: 'x' type: \"ReLU\", bottom: \"data\"; top: \"x\" } # the end",
        "input: \"data\" input_dim: [1, 3, 8, 8]\n"
        "layer { name: \"x\" type: \"ReLU\" bottom: [\"data\"]"
        " top: \"x\" }\n#",
        "name: \"a \\\"b\\\\\\' \x7f \"\n" INPUT
        "layer { name: \"x\" type: \"InnerProduct\" bottom: \"data\" top: \"x\""
        " inner_product_param { num_output: 2 bias_term: true } }"};
    static const struct {
        const char *text;
        size_t n; /* 0: all of it */
        const char *error;
    } bad[] = {
        {"name: \"a\0b\"", 11, "f:1: expected text, found a NUL byte"},
        {"name: \"a\"\n\0", 11, "f:2: expected a field, found byte ?"},
        {"name: \"a", 0, "f:1: expected \" at the end of a string"},
        {"name: 'a\"", 0, "f:1: expected ' at the end of a string"},
        {"name: \"a\\", 0, "f:1: expected \\\\, \\\" or \\' in a string, found another escape"},
        {"layer { name: = }", 0, "f:1: expected a field, found \"=\""},
        {"layer { = }", 0, "f:1: expected a field, found \"=\""},
        {"name: =", 0, "f:1: expected a field, found \"=\""},
        {"name: \"a\" =", 0, "f:1: expected a field, found \"=\""},
        {"input_dim: [=", 0, "f:1: expected a field, found \"=\""},
        {"input_dim: [1, =", 0, "f:1: expected a field, found \"=\""},
        {"input_dim: [1 2]", 0, "f:1: expected , or ], found \"2\""},
        {"input_dim: [1}", 0, "f:1: expected , or ], found \"}\""},
        {"name { }", 0, "f:1: name: expected a value, found a message"},
    };
    drove_graph g;
    for (size_t i = 0; i < COUNT(good); i++) {
        if (drove__graph_read_prototxt(good[i], strlen(good[i]), "f", &g) != DROVE_OK)
            fail_msg("%s: %s", good[i], drove_error_text());
        assert_int_equal(g.n_nodes, 1);
        if (i == 2) assert_string_equal(g.name, "a__b_'___");
        drove__graph_fini(&g);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        const size_t n = bad[i].n != 0 ? bad[i].n : strlen(bad[i].text);
        assert_int_equal(drove__graph_read_prototxt(bad[i].text, n, "f", &g), DROVE_E_DATA);
        assert_string_equal(drove_error_text(), bad[i].error);
    }
}

/* A layer is in the training network unless its phases say otherwise. */
TEST(phases_choose_layers)
{
    static const struct {
        const char *rule;
        bool is_in;
    } rows[] = {{"", true},
                {"include { phase: TRAIN }", true},
                {"include { phase: 0 }", true},
                {"include { phase: TEST }", false},
                {"include { phase: 1 }", false},
                {"include { phase: TEST } include { phase: TRAIN }", true},
                {"include { }", true},
                {"exclude { phase: TRAIN }", false},
                {"exclude { phase: TEST }", true},
                {"exclude { }", false},
                {"phase: TEST", false},
                {"phase: TRAIN", true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[TEXT_SIZE];
        drove_graph g;
        snprintf(text, sizeof text,
                 INPUT "layer { name: \"x\" type: \"ReLU\" bottom: \"data\" top: \"x\" %s }\n"
                       "layer { name: \"y\" type: \"TanH\" bottom: \"data\" top: \"y\" }\n",
                 rows[i].rule);
        if (drove__graph_read_prototxt(text, strlen(text), "f", &g) != DROVE_OK)
            fail_msg("%s: %s", rows[i].rule, drove_error_text());
        if (g.n_nodes != 1u + rows[i].is_in) fail_msg("%s: %zu layers", rows[i].rule, g.n_nodes);
        drove__graph_fini(&g);
    }
}

/* What the fields that are read become. */
TEST(fields_become_options)
{
    static const char text[] = INPUT
        "layer { name: \"c\" type: \"Convolution\" bottom: \"data\" top: \"c\"\n"
        " param { lr_mult: 2 } param { lr_mult: 3 decay_mult: 0 }\n"
        " convolution_param { num_output: 4 kernel_h: 3 kernel_w: 5 stride: 2 stride: 1 pad_h: 1\n"
        "  pad_w: 2 dilation: 1 dilation: 2 group: 1 bias_term: 0\n"
        "  weight_filler { type: \"xavier\" variance_norm: AVERAGE } } }\n"
        "layer { name: \"f\" type: \"Flatten\" bottom: \"c\" top: \"f\"\n"
        " flatten_param { axis: 1 end_axis: -1 } }\n"
        "layer { name: \"d\" type: \"InnerProduct\" bottom: \"f\" top: \"d\" blobs_lr: 0.5\n"
        " blobs_lr: 0.25 weight_decay: 1 weight_decay: 0\n"
        " inner_product_param { num_output: 2\n"
        "  weight_filler { type: \"gaussian\" std: 0.125 } } }\n";
    drove_graph g;
    if (drove__graph_read_prototxt(text, strlen(text), "f", &g) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    assert_int_equal(g.n_nodes, 3);
    const drove_layer_options *c = &g.node[0].opt, *d = &g.node[2].opt;
    assert_int_equal(c->n_out, 4);
    assert_int_equal(c->window.kh, 3);
    assert_int_equal(c->window.kw, 5);
    assert_int_equal(c->window.sh, 2);
    assert_int_equal(c->window.sw, 1);
    assert_int_equal(c->window.ph, 1);
    assert_int_equal(c->window.pw, 2);
    assert_int_equal(c->padding.below, 1);
    assert_int_equal(c->padding.right, 2);
    assert_int_equal(c->window.dh, 1);
    assert_int_equal(c->window.dw, 2);
    assert_true(c->w_lr == 2.0f && c->b_lr == 3.0f);
    assert_true(d->w_lr == 0.5f && d->b_lr == 0.25f);
    assert_true(d->w_filler.value == 0.125f);
    assert_non_null(strstr(g.notes, "decay_mult"));
    drove__graph_fini(&g);
}
