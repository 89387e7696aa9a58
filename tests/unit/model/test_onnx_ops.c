/* Operators of ONNX other than matrices become the layers that docs/use/models.md promises, with
 * their weights where plain loops of this file put them; what a layer cannot do is refused, by the
 * node's name and what is wrong.  Names of layers and values. */
#include "unit/model/onnx_made.h"
#include "support/test.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void is_node(const drove_graph *g, size_t at, const drove_layer_ops *ops, const char *name,
                    const char *bottom)
{
    assert_true(at < g->n_nodes);
    assert_ptr_equal(g->node[at].ops, ops);
    assert_string_equal(g->node[at].name, name);
    assert_string_equal(g->node[at].bottom[0], bottom);
}

static void has_biases(const drove_node *node, const float *from, size_t n)
{
    assert_false(node->opt.no_bias);
    assert_int_equal(node->values.n_b, n);
    assert_memory_equal(node->values.b, from, n * sizeof *from);
}

/* ---- windows ---- */

static void has_window(const drove_node *node, size_t kh, size_t kw, size_t sh, size_t sw,
                       size_t ph, size_t pw, size_t dh, size_t dw)
{
    const drovek_window *w = &node->opt.window;
    assert_int_equal(w->kh, kh);
    assert_int_equal(w->kw, kw);
    assert_int_equal(w->sh, sh);
    assert_int_equal(w->sw, sw);
    assert_int_equal(w->ph, ph);
    assert_int_equal(w->pw, pw);
    assert_int_equal(w->dh, dh);
    assert_int_equal(w->dw, dw);
}

TEST(conv_is_a_convolution)
{
    enum { GROUPS = 2, OUT = 6, C = 4, KH = 2, KW = 3, EACH = OUT / GROUPS };
    onnx_begin();
    const float *w = onnx_tensor("conv1.weight", 4, OUT, C, KH, KW), *b = onnx_tensor("b", 1, OUT);
    onnx_node("Conv", "x,conv1.weight,b", "out");
    onnx_int("group", GROUPS);
    onnx_ints("kernel_shape", 2, KH, KW);
    onnx_ints("strides", 2, 3, 4);
    onnx_ints("dilations", 2, 5, 6);
    onnx_ints("pads", 4, 7, 8, 7, 8);
    onnx_word("auto_pad", "NOTSET");
    drove_graph g = onnx_accepted();
    is_node(&g, 0, &drove__layer_convolution, "conv1", "data");
    assert_int_equal(g.node[0].opt.n_out, OUT);
    assert_int_equal(g.node[0].opt.groups, GROUPS);
    has_window(&g.node[0], KH, KW, 3, 4, 7, 8, 5, 6);
    has_biases(&g.node[0], b, OUT);
    const float *at = g.node[0].values.w; /* [group][kh][kw][c][output of the group] */
    assert_int_equal(g.node[0].values.n_w, OUT * C * KH * KW);
    for (size_t group = 0; group < GROUPS; group++)
        for (size_t y = 0; y < KH; y++)
            for (size_t x = 0; x < KW; x++)
                for (size_t c = 0; c < C; c++)
                    for (size_t o = 0; o < EACH; o++)
                        assert_true(*at++ == w[(((group * EACH + o) * C + c) * KH + y) * KW + x]);
    drove__graph_fini(&g);
    onnx_begin();
    onnx_tensor("w", 4, 3, 1, 5, 5);
    onnx_node("Conv", "x,w", "out");
    onnx_word("auto_pad", "VALID");
    g = onnx_accepted();
    has_window(&g.node[0], 5, 5, 1, 1, 0, 0, 1, 1);
    assert_int_equal(g.node[0].opt.groups, 1);
    assert_true(g.node[0].opt.no_bias);
    drove__graph_fini(&g);
}

static void begin_conv(void)
{
    onnx_begin();
    onnx_tensor("w", 4, 3, 1, 5, 4);
    onnx_tensor("b", 1, 4);
    onnx_node("Conv", "x,w", "out");
}

static void has_padding(const drove_graph *g, size_t above, size_t left, size_t below, size_t right)
{
    const drove_layer_options *o = &g->node[g->n_nodes - 1].opt;
    assert_int_equal(o->window.ph, above);
    assert_int_equal(o->window.pw, left);
    assert_int_equal(o->padding.below, below);
    assert_int_equal(o->padding.right, right);
}

/* The padding of a convolution of 5 x 4 elements over an image of 1 x 9 x 8, in this word. */
static void pads_by_word(const char *word, int step_y, int step_x, int dilation, size_t above,
                         size_t left, size_t below, size_t right)
{
    begin_conv();
    onnx_data(1, 9, 8, 0, "squared");
    onnx_word("auto_pad", word);
    onnx_ints("strides", 2, step_y, step_x);
    onnx_ints("dilations", 2, 1, dilation);
    drove_graph g = onnx_accepted();
    g.n_nodes = 1; /* not the reshape of the output */
    has_padding(&g, above, left, below, right);
    g.n_nodes = 2;
    drove__graph_fini(&g);
}

TEST(each_side_has_its_padding)
{
    begin_conv();
    onnx_ints("pads", 4, 1, 2, 3, 4);
    drove_graph g = onnx_accepted();
    has_padding(&g, 1, 2, 3, 4);
    drove__graph_fini(&g);
    /* ceil(9 / 1) = 9 windows reach 13: 4 zeros; ceil(8 / 3) = 3 windows reach 10: 2 */
    pads_by_word("SAME_UPPER", 1, 3, 1, 2, 1, 2, 1);
    /* 3 windows at 0, 4, 8 reach 13; 4 windows at 0, 2, 4, 6 reach 10 */
    pads_by_word("SAME_LOWER", 4, 2, 1, 2, 1, 2, 1);
    /* 5 windows reach 13; 8 windows of 10 dilated elements reach 14 */
    pads_by_word("SAME_UPPER", 2, 1, 3, 2, 4, 2, 5);
    pads_by_word("SAME_LOWER", 2, 1, 3, 2, 5, 2, 4);
    begin_conv(); /* steps of 1 need no sides */
    onnx_word("auto_pad", "SAME_UPPER");
    g = onnx_accepted();
    has_padding(&g, 2, 1, 2, 2);
    drove__graph_fini(&g);
}

TEST(a_pad_is_taken_by_the_window_behind_it)
{
    onnx_begin();
    onnx_data(1, 9, 8, 0, "squared");
    onnx_tensor("w", 4, 3, 1, 5, 4);
    onnx_whole("pads", 8, 0, 0, 1, 0, 0, 0, 2, 3);
    onnx_node("Pad", "x,pads", "padded");
    onnx_node("Conv", "padded,w", "out");
    onnx_ints("pads", 4, 1, 1, 1, 1);
    drove_graph g = onnx_accepted();
    assert_ptr_equal(g.node[0].ops, &drove__layer_convolution);
    g.n_nodes = 1;
    has_padding(&g, 2, 1, 3, 4);
    g.n_nodes = 2;
    drove__graph_fini(&g);
    for (int is_relu = 0; is_relu < 2; is_relu++) { /* zeros and numbers from 0 on */
        onnx_begin();
        onnx_data(1, 9, 8, 0, "squared");
        onnx_whole("pads", 8, 0, 0, 1, 0, 0, 0, 0, 1);
        onnx_node(is_relu ? "Relu" : "Tanh", "x", "some");
        onnx_node("Pad", "some,pads", "padded");
        onnx_node("MaxPool", "padded", "out");
        onnx_ints("kernel_shape", 2, 2, 2);
        if (!is_relu) {
            onnx_refused("expected numbers from 0 on, as of a Relu");
            continue;
        }
        g = onnx_accepted();
        g.n_nodes = 2;
        has_padding(&g, 1, 0, 0, 1);
        g.n_nodes = 3;
        drove__graph_fini(&g);
    }
    for (int counts = 0; counts < 2; counts++) {
        onnx_begin();
        onnx_data(1, 9, 8, 0, "squared");
        onnx_whole("pads", 8, 0, 0, 1, 0, 0, 0, 0, 1);
        onnx_node("Pad", "x,pads", "padded");
        onnx_node("AveragePool", "padded", "out");
        onnx_ints("kernel_shape", 2, 3, 3);
        onnx_ints("pads", 4, 1, 1, 1, 1);
        onnx_int("count_include_pad", counts);
        if (counts == 0) {
            onnx_refused("expected count_include_pad 1 behind a Pad");
            continue;
        }
        g = onnx_accepted();
        g.n_nodes = 1;
        has_padding(&g, 2, 1, 1, 2);
        assert_false(g.node[0].opt.padding.is_uncounted);
        g.n_nodes = 2;
        drove__graph_fini(&g);
    }
}

/* TorchScript's exporter turns PyTorch's order of pads, the last side first, by operators. */
TEST(pads_may_be_computed)
{
    onnx_begin();
    onnx_data(1, 9, 8, 0, "squared");
    onnx_tensor("w", 4, 3, 1, 5, 4);
    onnx_whole("given", 4, 1, 0, 2, 3);
    onnx_whole("four", 1, 4);
    onnx_whole("rows", 2, -1, 2);
    onnx_whole("last", 1, -1);
    onnx_whole("end", 1, -1000000);
    onnx_whole("first", 1, 0);
    onnx_whole("zero", 1, 0);
    onnx_node("ConstantOfShape", "four", "zeros");
    onnx_value("value");
    onnx_node("Concat", "given,zeros", "all");
    onnx_int("axis", 0);
    onnx_node("Reshape", "all,rows", "pairs");
    onnx_node("Slice", "pairs,last,end,first,last", "turned");
    onnx_node("Transpose", "turned", "sides");
    onnx_ints("perm", 2, 1, 0);
    onnx_node("Reshape", "sides,last", "pads");
    onnx_node("Pad", "x,pads", "padded");
    onnx_node("Conv", "padded,w", "out");
    drove_graph g = onnx_accepted();
    g.n_nodes = 1;
    has_padding(&g, 2, 1, 3, 0);
    g.n_nodes = 2;
    drove__graph_fini(&g);
}

static void begin_pad(int channels, int above, const char *reader)
{
    onnx_begin();
    onnx_data(1, 9, 8, 0, "squared");
    onnx_whole("pads", 8, 0, channels, above, 0, 0, 0, 0, 1);
    onnx_node("Pad", "x,pads", reader != NULL ? "padded" : "out");
    if (reader != NULL) onnx_node(reader, "padded", "out");
}

TEST(other_pads_are_refused)
{
    begin_pad(1, 0, "Relu");
    onnx_refused(
        "pads: expected 0 to 65536, of the sides of an image alone, found 1 and 0 of axis 1");
    begin_pad(0, -1, "Relu");
    onnx_refused("pads: expected 0 to 65536, of the sides of an image alone, found -1 and 0");
    begin_pad(0, 1, "Relu");
    onnx_refused("expected a Conv or a pooling alone behind a Pad");
    begin_pad(0, 1, NULL);
    onnx_refused("expected a Conv or a pooling behind a Pad");
    begin_pad(0, 1, NULL);
    onnx_word("mode", "reflect");
    onnx_refused("mode: expected constant, found reflect");
    begin_pad(0, 1, NULL);
    onnx_real("value", 1);
    onnx_refused("value: expected 0, found 1");
    begin_pad(0, 1, NULL);
    onnx_ints("pads", 2, 1, 1);
    onnx_refused("pads: expected 8 constants, found 2");
}

TEST(convs_that_are_more_are_refused)
{
    begin_conv();
    onnx_ints("pads", 2, 1, 1);
    onnx_refused("pads: expected 4 numbers, found 2");
    begin_conv();
    onnx_ints("strides", 2, 0, 1);
    onnx_refused("strides: expected 1 to 65536, found 0");
    begin_conv();
    onnx_ints("strides", 2, 1, 65537);
    onnx_refused("strides: expected 1 to 65536, found 65537");
    begin_conv();
    onnx_ints("dilations", 2, -1, 1);
    onnx_refused("dilations: expected 1 to 65536, found -1");
    begin_conv();
    onnx_word("auto_pad", "SAME_UPPER");
    onnx_ints("strides", 2, 2, 1);
    onnx_refused("auto_pad: expected NOTSET or VALID where the sides of the input are not known");
    begin_conv();
    onnx_word("auto_pad", "SAME");
    onnx_refused("auto_pad: expected NOTSET, VALID, SAME_UPPER or SAME_LOWER, found SAME");
    begin_conv();
    onnx_word("auto_pad", "a word of 32 bytes or more, which is too long");
    onnx_refused("auto_pad: expected a word");
    begin_conv();
    onnx_ints("kernel_shape", 2, 5, 5);
    onnx_refused("expected weights for a kernel of 5 x 5 in 1 groups");
    begin_conv();
    onnx_ints("kernel_shape", 2, 4, 4);
    onnx_refused("expected weights for a kernel of 4 x 4 in 1 groups");
    begin_conv();
    onnx_int("group", 2);
    onnx_refused("expected weights for a kernel of 5 x 4 in 2 groups");
    begin_conv();
    onnx_int("group", 0);
    onnx_refused("group: expected 1 to 16777216, found 0");
    onnx_begin();
    onnx_tensor("w", 4, 3, 1, 5, 4);
    onnx_tensor("b", 1, 4);
    onnx_node("Conv", "x,w,b", "out");
    onnx_refused("expected 3 constant numbers as input 3");
    for (int rank = 2; rank <= 5; rank += 3) {
        onnx_begin();
        onnx_tensor("w", rank, 3, 1, 5, 1, 1);
        onnx_node("Conv", "x,w", "out");
        onnx_refused("drove convolves sequences and images");
    }
    onnx_begin();
    onnx_node("Conv", "x,x", "out");
    onnx_refused("drove convolves sequences and images");
    onnx_begin();
    onnx_node("Conv", "x", "out");
    onnx_refused("drove convolves sequences and images");
}

TEST(pools_keep_their_window)
{
    for (int is_mean = 0; is_mean < 2; is_mean++) {
        const drove_layer_ops *ops = is_mean ? &drove__layer_average_pool : &drove__layer_max_pool;
        onnx_begin();
        onnx_node(is_mean ? "AveragePool" : "MaxPool", "x", "out");
        onnx_ints("kernel_shape", 2, 2, 3);
        onnx_ints("strides", 2, 4, 5);
        onnx_ints("pads", 4, 1, 2, 1, 2);
        onnx_int("ceil_mode", 1);
        onnx_int("count_include_pad", 1);
        drove_graph g = onnx_accepted();
        is_node(&g, 0, ops, is_mean ? "average_pool1" : "max_pool1", "data");
        has_window(&g.node[0], 2, 3, 4, 5, 1, 2, 1, 1);
        assert_true(g.node[0].opt.rounds_up && !g.node[0].opt.is_global);
        drove__graph_fini(&g);
        onnx_begin();
        onnx_node(is_mean ? "AveragePool" : "MaxPool", "x", "out");
        onnx_ints("kernel_shape", 2, 2, 3);
        g = onnx_accepted();
        assert_false(g.node[0].opt.rounds_up);
        drove__graph_fini(&g);
        onnx_begin();
        onnx_node(is_mean ? "GlobalAveragePool" : "GlobalMaxPool", "x", "out");
        g = onnx_accepted();
        is_node(&g, 0, ops, is_mean ? "average_pool1" : "max_pool1", "data");
        assert_true(g.node[0].opt.is_global);
        drove__graph_fini(&g);
        for (int side = 0; side < 2; side++) { /* padding of any side, which is not counted */
            onnx_begin();
            onnx_node(is_mean ? "AveragePool" : "MaxPool", "x", "out");
            onnx_ints("kernel_shape", 2, 2, 3);
            onnx_ints("pads", 4, side, 0, 0, 1 - side);
            g = onnx_accepted();
            has_padding(&g, (size_t)side, 0, 0, 1 - (size_t)side);
            assert_int_equal(g.node[0].opt.padding.is_uncounted, is_mean);
            drove__graph_fini(&g);
            onnx_begin();
            onnx_node(is_mean ? "AveragePool" : "MaxPool", "x", "out");
            onnx_ints("kernel_shape", 2, 2, 3);
            onnx_ints("dilations", 2, 1 + side, 2 - side);
            onnx_refused("dilations: expected pooling without");
        }
    }
    onnx_begin();
    onnx_node("MaxPool", "x", "out");
    onnx_refused("expected a kernel_shape");
    onnx_begin();
    onnx_node("MaxPool", "x", "out");
    onnx_ints("kernel_shape", 2, 2, 2);
    onnx_int("ceil_mode", 2);
    onnx_refused("ceil_mode: expected 0 to 1, found 2");
}

/* Height and width, in either order and counted from either end, as an attribute or a constant. */
TEST(means_are_of_height_and_width)
{
    static const struct {
        int n, axes[3];
        bool is_right;
    } cases[] = {{2, {2, 3}, true},  {2, {3, 2}, true},  {2, {-1, -2}, true}, {2, {-2, 3}, true},
                 {2, {2, 2}, false}, {2, {3, 3}, false}, {1, {2, 0}, false},  {3, {2, 3, 1}, false},
                 {2, {1, 2}, false}, {2, {3, 1}, false}, {2, {-2, 2}, false}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        const int *a = cases[c].axes;
        for (int how = 0; how < 4; how++) { /* ReduceMean and Squeeze, attribute and constant */
            onnx_begin();
            if (how >= 2) onnx_whole("axes", (size_t)cases[c].n, a[0], a[1], a[2]);
            onnx_node(how % 2 == 0 ? "ReduceMean" : "Squeeze", how >= 2 ? "x,axes" : "x", "out");
            if (how < 2) onnx_ints("axes", (size_t)cases[c].n, a[0], a[1], a[2]);
            onnx_node("Relu", "out", "last");
            if (!cases[c].is_right) {
                onnx_refused("axes: expected height and width, 2 and 3");
                continue;
            }
            drove_graph g = onnx_accepted();
            assert_int_equal(g.n_nodes, how % 2 == 0 ? 2 : 1); /* without sides: left out */
            if (how % 2 == 0) {
                is_node(&g, 0, &drove__layer_average_pool, "average_pool1", "data");
                assert_true(g.node[0].opt.is_global);
            }
            drove__graph_fini(&g);
        }
    }
    onnx_begin();
    onnx_node("ReduceMean", "x", "out");
    onnx_refused("axes: expected height and width, 2 and 3");
}

/* ---- element-wise ---- */

TEST(activations_are_layers)
{
    static const struct {
        const char *op;
        drovek_act act;
    } cases[] = {{"Relu", DROVEK_RELU}, {"Sigmoid", DROVEK_SIGMOID}, {"Tanh", DROVEK_TANH}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        onnx_begin();
        onnx_node(cases[c].op, "x", "y");
        onnx_node("Relu", "y", "out");
        drove_graph g = onnx_accepted();
        is_node(&g, 0, &drove__layer_activation, "activation1", "data");
        assert_int_equal(g.node[0].act, cases[c].act);
        drove__graph_fini(&g);
    }
}

static void begin_lrn(int size, float alpha, float beta, float bias)
{
    onnx_begin();
    onnx_node("LRN", "x", "out");
    onnx_int("size", size);
    onnx_real("alpha", alpha);
    onnx_real("beta", beta);
    onnx_real("bias", bias);
}

TEST(normalisations_keep_their_numbers)
{
    begin_lrn(5, 2, 3, 4);
    drove_graph g = onnx_accepted();
    is_node(&g, 0, &drove__layer_lrn, "lrn1", "data");
    assert_int_equal(g.node[0].opt.lrn.size, 5);
    assert_true(g.node[0].opt.lrn.alpha == 2 && g.node[0].opt.lrn.beta == 3 &&
                g.node[0].opt.lrn.kappa == 4);
    drove__graph_fini(&g);
    onnx_begin();
    onnx_node("LRN", "x", "out");
    onnx_int("size", 3);
    g = onnx_accepted(); /* ONNX's defaults */
    assert_true(g.node[0].opt.lrn.alpha == 1e-4f && g.node[0].opt.lrn.beta == 0.75f &&
                g.node[0].opt.lrn.kappa == 1);
    drove__graph_fini(&g);
    static const struct {
        int size;
        float alpha, beta, bias;
        bool is_right;
    } cases[] = {{1, 0, 0, 1e-6f, true}, {1, 1e6f, 100, 1e6f, true}, {2, 1, 1, 1, false},
                 {1, -1, 1, 1, false},   {1, 2e6f, 1, 1, false},     {1, 1, -1, 1, false},
                 {1, 1, 101, 1, false},  {1, 1, 1, 0, false},        {1, 1, 1, 2e6f, false}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        begin_lrn(cases[c].size, cases[c].alpha, cases[c].beta, cases[c].bias);
        if (!cases[c].is_right) {
            onnx_refused("expected an odd size, alpha from 0, beta from 0 to 100");
            continue;
        }
        g = onnx_accepted();
        drove__graph_fini(&g);
    }
    onnx_begin();
    onnx_node("LRN", "x", "out");
    onnx_refused("expected an odd size");
}

TEST(dropouts_keep_their_ratio)
{
    onnx_begin();
    onnx_node("Dropout", "x", "y,mask");
    onnx_node("Relu", "y", "out");
    drove_graph g = onnx_accepted();
    is_node(&g, 0, &drove__layer_dropout, "dropout1", "data");
    assert_true(g.node[0].opt.ratio == 0.5f); /* ONNX's default */
    drove__graph_fini(&g);
    onnx_begin();
    onnx_node("Dropout", "x", "out");
    onnx_real("ratio", 0.25f);
    g = onnx_accepted();
    assert_true(g.node[0].opt.ratio == 0.25f);
    drove__graph_fini(&g);
    onnx_begin();
    onnx_tensor("ratio", 1, 1); /* 10 */
    onnx_node("Dropout", "x,ratio", "out");
    onnx_refused("ratio: expected 0 to 0.99, found 10");
    onnx_begin();
    onnx_node("Dropout", "x", "out");
    onnx_real("ratio", -0.5f);
    onnx_refused("ratio: expected 0 to 0.99, found -0.5");
    onnx_begin();
    onnx_tensor("ratio", 1, 2);
    onnx_node("Dropout", "x,ratio", "out");
    onnx_refused("expected 1 constant numbers as input 2");
}

TEST(batch_norm_has_its_statistics)
{
    enum { C = 3 };
    onnx_begin();
    const float *w = onnx_tensor("bn.weight", 1, C), *b = onnx_tensor("b", 1, C),
                *mean = onnx_tensor("m", 1, C), *variance = onnx_tensor("v", 1, C);
    onnx_node("BatchNormalization", "x,bn.weight,b,m,v", "out");
    onnx_real("epsilon", 0.125f);
    drove_graph g = onnx_accepted();
    is_node(&g, 0, &drove__layer_batch_norm, "bn", "data");
    const drove_node_values *v = &g.node[0].values;
    assert_true(g.node[0].opt.epsilon == 0.125f);
    assert_int_equal(v->n_w, C);
    assert_int_equal(v->n_b, C);
    assert_int_equal(v->n_statistics, 2 * C);
    assert_memory_equal(v->w, w, C * sizeof *w);
    assert_memory_equal(v->b, b, C * sizeof *b);
    assert_memory_equal(v->statistics, mean, C * sizeof *mean);
    assert_memory_equal(v->statistics + C, variance, C * sizeof *variance);
    drove__graph_fini(&g);
    onnx_begin();
    onnx_tensor("w", 1, C);
    onnx_node("BatchNormalization", "x,w,w,w,w", "out");
    g = onnx_accepted();
    assert_true(g.node[0].opt.epsilon == 1e-5f); /* ONNX's default */
    drove__graph_fini(&g);
    for (int input = 1; input < 5; input++) { /* one of another length */
        onnx_begin();
        onnx_tensor("w", 1, C);
        onnx_tensor("o", 1, C + 1);
        onnx_node("BatchNormalization",
                  input == 1   ? "x,o,w,w,w"
                  : input == 2 ? "x,w,o,w,w"
                  : input == 3 ? "x,w,w,o,w"
                               : "x,w,w,w,o",
                  "out");
        onnx_refused(input == 1   ? "expected 4 constant numbers as input 3"
                     : input == 2 ? "expected 3 constant numbers as input 3"
                     : input == 3 ? "expected 3 constant numbers as input 4"
                                  : "expected 3 constant numbers as input 5");
    }
    onnx_begin();
    onnx_tensor("w", 1, C);
    onnx_node("BatchNormalization", "x,w,w,w", "out");
    onnx_refused("expected five inputs, four of them constants");
    onnx_begin();
    onnx_tensor("w", 1, C);
    onnx_node("BatchNormalization", "x,x,w,w,w", "out");
    onnx_refused("expected five inputs, four of them constants");
    for (int c = 0; c < 2; c++) {
        onnx_begin();
        onnx_tensor("w", 1, C);
        onnx_node("BatchNormalization", "x,w,w,w,w", "out");
        onnx_real("epsilon", c == 0 ? 0 : 1.5f);
        onnx_refused("expected an epsilon from 1e-12 to 1");
    }
}

/* ---- ends, shapes, names ---- */

TEST(a_softmax_is_of_the_classes)
{
    static const struct {
        const char *op;
        int axis;      /* -2: none */
        bool is_inner; /* another layer reads it */
        const char *refused;
    } cases[] = {{"Softmax", -2, false, NULL},
                 {"Softmax", 1, false, NULL},
                 {"Softmax", -1, false, NULL},
                 {"LogSoftmax", -1, false, NULL},
                 {"Softmax", 1, true, NULL},
                 {"Softmax", 0, false, "axis: expected 1 or -1, found 0"},
                 {"Softmax", 2, false, "axis: expected -1 to 1, found 2"},
                 {"Softmax", -1, true, "axis: expected 1 within a network, found -1"},
                 {"LogSoftmax", 1, true, "expected it at the end of the network"}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        onnx_begin();
        onnx_node("Relu", "x", "y");
        onnx_node(cases[c].op, "y", "out");
        if (cases[c].axis != -2) onnx_int("axis", cases[c].axis);
        onnx_node(cases[c].is_inner ? "Relu" : "ArgMax", "out", "last");
        if (cases[c].refused != NULL) {
            onnx_refused(cases[c].refused);
            continue;
        }
        drove_graph g = onnx_accepted();
        if (cases[c].is_inner) is_node(&g, 1, &drove__layer_softmax, "softmax2", "activation1");
        assert_int_equal(g.n_nodes, cases[c].is_inner ? 3 : 1); /* at the end: left to the loss */
        assert_int_equal(g.n_heads, !cases[c].is_inner);        /* what the softmax would read */
        if (g.n_heads > 0) assert_string_equal(g.head[0].bottom, "activation1");
        drove__graph_fini(&g);
    }
}

TEST(flattening_is_left_out)
{
    static const char *const ops[] = {"Flatten", "Identity", "Cast", "Reshape", "Reshape"};
    const float *w;
    for (size_t i = 0; i < DROVE_COUNT(ops); i++) {
        onnx_begin();
        if (i == 3) onnx_whole("sizes", 2, 0, -1);
        if (i == 4) onnx_node("Shape", "x", "sizes"); /* sizes that are computed */
        onnx_node(ops[i], i >= 3 ? "x,sizes" : "x", "flat");
        onnx_node("Relu", "flat", "positive");
        w = onnx_tensor("w", 2, 4, 3);
        onnx_node("MatMul", "positive,w", "out");
        drove_graph g = onnx_accepted();
        assert_int_equal(g.n_nodes, 2);
        is_node(&g, 0, &drove__layer_activation, i == 1 || i == 2 ? "activation1" : "activation2",
                "data");
        assert_true(g.node[1].values.w[0] == w[0]);
        drove__graph_fini(&g);
    }
    onnx_begin();
    onnx_node("Flatten", "x", "out");
    onnx_int("axis", 2);
    onnx_refused("axis: expected 1, found 2");
    onnx_begin();
    onnx_whole("sizes", 3, 0, -1, 2);
    onnx_node("Reshape", "x,sizes", "out");
    onnx_refused("expected a flattened image, of two dimensions");
    onnx_begin();
    onnx_tensor("w", 2, 3, 4);
    onnx_whole("sizes", 2, 4, 4);
    onnx_node("Reshape", "w,sizes", "out");
    onnx_refused("expected sides that its constant has");
    static const char *const bare[] = {"Identity", "Flatten", "Reshape"};
    for (size_t i = 0; i < DROVE_COUNT(bare); i++) {
        onnx_begin();
        onnx_node(bare[i], "", "out");
        onnx_refused("expected an input, found none");
    }
}

TEST(layers_are_called_as_their_weights)
{
    static const struct {
        const char *weights, *name;
    } cases[] = {{"a.weight", "a"},         {"a.b-c_9_weight", "a.b-c_9"},
                 {"weights", "weights"},    {".weight", "dense1"}, /* nothing is left */
                 {"9.weight", "dense1"},    {"a b.weight", "dense1"},
                 {"data.weight", "dense1"}, /* the input's own */
                 {"weight", "weight"}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        char in[64];
        snprintf(in, sizeof in, "x,%s", cases[c].weights);
        onnx_begin();
        onnx_tensor(cases[c].weights, 2, 2, 2);
        onnx_node("MatMul", in, "out");
        drove_graph g = onnx_accepted();
        is_node(&g, 0, &drove__layer_dense, cases[c].name, "data");
        drove__graph_fini(&g);
    }
    onnx_begin(); /* a name that is taken */
    onnx_tensor("dense2", 2, 2, 2);
    onnx_tensor("9", 2, 2, 2);
    onnx_node("MatMul", "x,dense2", "a");
    onnx_node("MatMul", "a,9", "out");
    drove_graph g = onnx_accepted();
    is_node(&g, 0, &drove__layer_dense, "dense2", "data");
    is_node(&g, 1, &drove__layer_dense, "dense3", "dense2");
    drove__graph_fini(&g);
    onnx_begin(); /* also through a copy */
    onnx_tensor("w", 2, 2, 2);
    onnx_node("MatMul", "x,w", "a");
    onnx_node("Identity", "w", "copy");
    onnx_node("MatMul", "a,copy", "out");
    onnx_refused("\"copy\": expected weights of one layer, found those of another one");
}

TEST(values_are_made_once_and_before_they_are_read)
{
    onnx_begin();
    onnx_node("Relu", "y", "out");
    onnx_refused("input \"y\": no node before it has this output");
    onnx_begin();
    onnx_node("Relu", "x", "y");
    onnx_node("Tanh", "x", "y");
    onnx_refused("\"y\" is made twice");
    onnx_begin();
    onnx_node("Relu", "x", "x");
    onnx_refused("\"x\" is made twice");
    onnx_begin();
    onnx_node("Relu", "x", "");
    onnx_refused("expected an output, found none");
    onnx_begin();
    onnx_node("Dropout", "x", "y,mask");
    onnx_node("Relu", "y", "mask");
    onnx_refused("\"mask\" is made twice");
    onnx_begin();
    onnx_node("Identity", "x", "out");
    onnx_refused("expected layers, found none");
    onnx_begin();
    onnx_node("Einsum", "x", "out");
    onnx_refused("drove has no layer for this operator");
    onnx_begin();
    onnx_tensor("c", 1, 2);
    onnx_node("Dropout", "x,,", "y"); /* inputs at the end that are not given */
    onnx_node("Relu", "y", "out");
    drove_graph g = onnx_accepted();
    assert_int_equal(g.n_nodes, 2);
    drove__graph_fini(&g);
}
