/* Networks of ONNX whose images have their channels last, or that have a length alone, and their
 * normalisation: what they compute is what plain loops over the file's own axes give. */
#include "unit/model/onnx_made.h"
#include "support/test.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { C = 3, H = 4, W = 5, O = 2, EACH = C * H * W };

/* Numbers of the data, [c][h][w]. */
static const float *image(void)
{
    static float x[EACH];
    for (size_t i = 0; i < EACH; i++) x[i] = sinf(0.7f * (float)i) + 0.01f * (float)(i % 7);
    return x;
}

/* x[h][w][c] of it. */
static float last(size_t h, size_t w, size_t c)
{
    return image()[(c * H + h) * W + w];
}

static void begin_last(void)
{
    onnx_begin();
    onnx_sides(4, 0, H, W, C);
}

static void turn(const char *in, const char *out, bool to_last)
{
    onnx_node("Transpose", in, out);
    if (to_last) onnx_ints("perm", 4, 0, 2, 3, 1);
    else onnx_ints("perm", 4, 0, 3, 1, 2);
}

/* As tf2onnx writes a convolution and a dense layer: Transposes around it, rows of weights in the
 * order [h][w][c], a bias along the last axis. */
TEST(transposes_around_a_convolution_are_none)
{
    enum { OH = H - 1, OW = W - 2, FLAT = OH * OW * O, OUT = 3 };
    float expected[OUT], flat[FLAT];
    begin_last();
    const float *kernel = onnx_tensor("kernel", 4, O, C, 2, 3);
    const float *bias = onnx_tensor("bias", 1, O), *rows = onnx_tensor("rows", 2, FLAT, OUT);
    onnx_whole("sides", 2, -1, FLAT);
    turn("x", "first", false);
    onnx_node("Conv", "first,kernel", "convolved");
    turn("convolved", "again", true);
    onnx_node("Add", "again,bias", "moved");
    onnx_node("Relu", "moved", "positive");
    onnx_node("Reshape", "positive,sides", "flat");
    onnx_node("MatMul", "flat,rows", "out");
    for (size_t i = 0; i < FLAT; i++) {
        const size_t o = i % O, x = i / O % OW, y = i / O / OW;
        float sum = bias[o];
        for (size_t k = 0; k < C * 6; k++)
            sum += kernel[o * C * 6 + k] * last(y + k % 6 / 3, x + k % 3, k / 6);
        flat[i] = sum > 0 ? sum : 0;
    }
    for (size_t o = 0; o < OUT; o++) {
        expected[o] = 0;
        for (size_t i = 0; i < FLAT; i++) expected[o] += flat[i] * rows[i * OUT + o];
    }
    onnx_computes(C, H, W, image(), OUT, expected);
    drove_graph g = onnx_accepted();
    assert_int_equal(g.n_nodes, 4); /* convolution with the bias, relu, flatten, dense */
    assert_ptr_equal(g.node[0].ops, &drove__layer_convolution);
    assert_false(g.node[0].opt.no_bias);
    drove__graph_fini(&g);
}

/* Constants, means, a softmax and a joint along the axes that the file means. */
TEST(operators_mean_the_axes_of_the_file)
{
    float expected[EACH], means[2 * C];
    begin_last();
    const float *by = onnx_tensor("by", 1, C), *all = onnx_tensor("all", 3, H, W, C);
    onnx_node("Mul", "x,by", "scaled");
    onnx_node("Sub", "scaled,all", "out");
    for (size_t i = 0; i < EACH; i++)
        expected[i] = last(i / C / W, i / C % W, i % C) * by[i % C] - all[i];
    onnx_computes(C, H, W, image(), EACH, expected);

    begin_last();
    onnx_whole("axes", 2, 1, 2);
    onnx_set(18);
    onnx_node("Tanh", "x", "t");
    onnx_node("Concat", "x,t", "both");
    onnx_int("axis", 3);
    onnx_node("ReduceMean", "both,axes", "out");
    onnx_int("keepdims", 0);
    for (size_t c = 0; c < 2 * C; c++) {
        means[c] = 0;
        for (size_t i = 0; i < H * W; i++) {
            const float v = last(i / W, i % W, c % C);
            means[c] += (c < C ? v : tanhf(v)) / (H * W);
        }
    }
    onnx_computes(C, H, W, image(), 2 * C, means);

    begin_last();
    onnx_node("Softmax", "x", "s");
    onnx_int("axis", -1);
    onnx_node("Mul", "s,x", "out");
    for (size_t i = 0; i < EACH; i += C) {
        float sum = 0;
        for (size_t c = 0; c < C; c++) sum += expf(last(i / C / W, i / C % W, c));
        for (size_t c = 0; c < C; c++) {
            const float v = last(i / C / W, i / C % W, c);
            expected[i + c] = v * expf(v) / sum;
        }
    }
    onnx_computes(C, H, W, image(), EACH, expected);
}

/* A number for each channel, [N][1][1][c], from a dense layer; a product of each place. */
TEST(channels_are_weighed_and_mixed)
{
    float expected[H * W * O], gate[C];
    begin_last();
    onnx_whole("axes", 2, 1, 2);
    onnx_whole("sides", 4, -1, 1, 1, C);
    onnx_set(18);
    const float *w = onnx_tensor("w", 2, C, C), *mix = onnx_tensor("mix", 2, C, O),
                *move = onnx_tensor("move", 1, O);
    onnx_node("ReduceMean", "x,axes", "means");
    onnx_int("keepdims", 0);
    onnx_node("MatMul", "means,w", "z");
    onnx_node("HardSigmoid", "z", "gate");
    onnx_real("alpha", 0.01f);
    onnx_node("Reshape", "gate,sides", "gates");
    onnx_node("Mul", "x,gates", "weighed");
    onnx_node("MatMul", "weighed,mix", "mixed");
    onnx_node("Add", "mixed,move", "out");
    for (size_t o = 0; o < C; o++) {
        float z = 0;
        for (size_t c = 0; c < C; c++)
            for (size_t i = 0; i < H * W; i++) z += last(i / W, i % W, c) / (H * W) * w[c * C + o];
        gate[o] = fminf(fmaxf(0.01f * z + 0.5f, 0), 1);
    }
    for (size_t i = 0; i < H * W * O; i++) {
        expected[i] = move[i % O];
        for (size_t c = 0; c < C; c++)
            expected[i] += last(i / O / W, i / O % W, c) * gate[c] * mix[c * O + i % O];
    }
    onnx_computes(C, H, W, image(), H * W * O, expected);
}

/* An operator along axis 1 of an image whose channels are last sees its rows there. */
TEST(other_operators_see_the_order_of_the_file)
{
    float expected[EACH];
    begin_last();
    onnx_node("GlobalMaxPool", "x", "out");
    for (size_t h = 0; h < H; h++) {
        expected[h] = -INFINITY;
        for (size_t i = 0; i < W * C; i++) expected[h] = fmaxf(expected[h], last(h, i / C, i % C));
    }
    onnx_computes(C, H, W, image(), H, expected);
}

/* ---- of one dimension ---- */

/* [N][c][l]: a convolution with steps, dilated and padded at one end, an average and a mean. */
TEST(sequences_are_images_of_height_1)
{
    enum { L = 11, K = 3, OL = 5, PL = 3 };
    float x[C * L], y[O * OL], expected[O * PL];
    for (size_t i = 0; i < C * L; i++) x[i] = cosf(1.3f * (float)i);
    onnx_begin();
    onnx_sides(3, 0, C, L);
    const float *w = onnx_tensor("w", 3, O, C, K), *b = onnx_tensor("b", 1, O);
    onnx_node("Conv", "x,w,b", "y");
    onnx_ints("strides", 1, 2);
    onnx_ints("dilations", 1, 2);
    onnx_ints("pads", 2, 2, 0);
    onnx_node("AveragePool", "y", "out");
    onnx_ints("kernel_shape", 1, 3);
    onnx_ints("strides", 1, 2);
    onnx_ints("pads", 2, 1, 1);
    for (size_t i = 0; i < O * OL; i++) { /* (11 + 2 - 5) / 2 + 1 = 5 */
        y[i] = b[i / OL];
        for (size_t k = 0; k < C * K; k++) {
            const size_t at = i % OL * 2 + k % K * 2; /* 2 zeros before */
            if (at >= 2 && at < L + 2) y[i] += w[i / OL * C * K + k] * x[k / K * L + at - 2];
        }
    }
    for (size_t i = 0; i < O * PL; i++) { /* (5 + 2 - 3) / 2 + 1 = 3, of the numbers inside */
        const size_t from = i % PL * 2 > 1 ? i % PL * 2 - 1 : 0, to = i % PL * 2 + 2;
        float sum = 0;
        size_t n = 0;
        for (size_t k = from; k < (to < OL ? to : OL); k++, n++) sum += y[i / PL * OL + k];
        expected[i] = sum / (float)n;
    }
    onnx_computes(C * L, 1, 1, x, O * PL, expected);
    drove_graph g = onnx_accepted();
    assert_ptr_equal(g.node[1].ops, &drove__layer_convolution);
    assert_int_equal(g.node[1].opt.window.kh, 1);
    assert_int_equal(g.node[1].opt.window.kw, K);
    drove__graph_fini(&g);
}

/* ---- normalisation ---- */

/* (x - mean) / sqrt(variance + epsilon) of n numbers, `step` apart. */
static void normalized(const float *x, size_t n, size_t step, double epsilon, double *u)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++) mean += (double)x[i * step] / (double)n;
    for (size_t i = 0; i < n; i++) variance += pow((double)x[i * step] - mean, 2) / (double)n;
    for (size_t i = 0; i < n; i++) u[i] = ((double)x[i * step] - mean) / sqrt(variance + epsilon);
}

TEST(layers_are_normalised_over_the_last_axes)
{
    float expected[EACH];
    double u[EACH];
    for (unsigned axis = 1; axis <= 3; axis++) { /* of [N][c][h][w] */
        const size_t n = axis == 1 ? EACH : axis == 2 ? H * W : W;
        onnx_begin();
        onnx_set(17);
        const float *scale = axis == 1   ? onnx_tensor("norm.weight", 3, C, H, W)
                             : axis == 2 ? onnx_tensor("norm.weight", 2, H, W)
                                         : onnx_tensor("norm.weight", 1, W);
        const float *bias = axis == 1   ? onnx_tensor("norm.bias", 3, C, H, W)
                            : axis == 2 ? onnx_tensor("norm.bias", 2, H, W)
                                        : onnx_tensor("norm.bias", 1, W);
        onnx_node("LayerNormalization", axis == 2 ? "x,norm.weight" : "x,norm.weight,norm.bias",
                  "out");
        if (axis != 3) onnx_int("axis", axis == 1 ? 1 : -2);
        onnx_real("epsilon", 0.01f);
        for (size_t i = 0; i < EACH; i++) {
            if (i % n == 0) normalized(image() + i, n, 1, 0.01, u);
            expected[i] = (float)u[i % n] * scale[i % n] + (axis == 2 ? 0 : bias[i % n]);
        }
        onnx_computes(C, H, W, image(), EACH, expected);
        drove_graph g = onnx_accepted();
        assert_string_equal(g.node[0].name, "norm");
        drove__graph_fini(&g);
    }
    begin_last(); /* of each place's channels, as ConvNeXt has it */
    onnx_set(17);
    const float *scale = onnx_tensor("scale", 1, C);
    onnx_node("LayerNormalization", "x,scale", "out");
    for (size_t i = 0; i < EACH; i++) {
        const size_t place = i / C;
        normalized(image() + place, C, H * W, 1e-5, u);
        expected[i] = (float)u[i % C] * scale[i % C];
    }
    onnx_computes(C, H, W, image(), EACH, expected);
    onnx_begin(); /* of a vector */
    onnx_set(17);
    scale = onnx_tensor("scale", 1, EACH);
    onnx_node("LayerNormalization", "x,scale", "out");
    normalized(image(), EACH, 1, 1e-5, u);
    for (size_t i = 0; i < EACH; i++) expected[i] = (float)u[i] * scale[i];
    onnx_computes(EACH, 1, 1, image(), EACH, expected);
}

/* As exporters wrote it before set 17: sums of the square by Pow or by Mul, constants anywhere. */
static void write_chain(int how)
{
    onnx_node("ReduceMean", "x", "mean");
    onnx_ints("axes", 1, -1);
    onnx_node("Sub", how == 3 ? "mean,x" : "x,mean", "centred");
    if (how == 1) onnx_node("Mul", "centred,centred", "square");
    else onnx_node("Pow", "centred,two", "square");
    onnx_node("ReduceMean", "square", "variance");
    onnx_ints("axes", 1, how == 2 ? -2 : -1);
    onnx_node("Add", "variance,epsilon", "more");
    onnx_node("Sqrt", "more", "deviation");
    onnx_node("Div", "centred,deviation", "u");
    onnx_node("Mul", "u,norm.weight", "scaled");
    onnx_node("Add", "norm.bias,scaled", "out");
}

TEST(nine_operators_are_layer_normalisation)
{
    float expected[EACH];
    double u[EACH];
    for (int how = 0; how < 4; how++) {
        onnx_begin();
        onnx_sides(4, 0, C, H, W);
        const float *scale = onnx_tensor("norm.weight", 1, W),
                    *bias = onnx_tensor("norm.bias", 1, W);
        onnx_number("two", 2.0f);
        onnx_number("epsilon", 0.01f);
        write_chain(how);
        for (size_t i = 0; i < EACH; i++) {
            if (i % W == 0) normalized(image() + i, W, 1, 0.01, u);
            expected[i] = (float)u[i % W] * scale[i % W] + bias[i % W];
        }
        if (how > 1) {
            onnx_data(C, H, W, 0, "squared");
            onnx_refused("(ReduceMean): axes: expected height and width of an image");
            continue;
        }
        onnx_computes(C, H, W, image(), EACH, expected);
        drove_graph g = onnx_accepted();
        assert_int_equal(g.n_nodes, 2); /* with the order of the output */
        assert_string_equal(g.node[0].name, "norm");
        drove__graph_fini(&g);
    }
}

TEST(other_normalisations_are_refused)
{
    onnx_begin();
    onnx_data(C, H, W, 0, "squared");
    onnx_tensor("scale", 1, W);
    onnx_node("LayerNormalization", "x,scale", "out");
    onnx_int("axis", 0);
    onnx_refused("axis: expected one behind that of the batch, found 0 of [N, 3, 4, 5]");
    onnx_begin();
    onnx_data(C, H, W, 0, "squared");
    onnx_tensor("scale", 1, H);
    onnx_node("LayerNormalization", "x,scale", "out");
    onnx_refused("expected a constant scale with the sides that [N, 3, 4, 5] has from axis 3 on, "
                 "found [4]");
    onnx_begin();
    onnx_data(C, H, W, 0, "squared");
    onnx_node("LayerNormalization", "x,x", "out");
    onnx_refused("expected a part of the network and a constant scale");
    onnx_begin();
    onnx_data(C, H, W, 0, "squared");
    onnx_tensor("scale", 1, W);
    onnx_node("LayerNormalization", "x,scale", "out");
    onnx_real("epsilon", -1);
    onnx_refused("epsilon: expected 1e-12 to 1, found -1");
}

/* As many numbers as are normalised over, but of another axis, or one for each channel. */
TEST(numbers_of_other_axes_are_refused)
{
    enum { SAME = 4 };
    const int c = SAME * SAME;
    onnx_begin();
    onnx_data(c, SAME, SAME, 0, "squared");
    onnx_tensor("scale", 3, c, 1, 1);
    onnx_node("LayerNormalization", "x,scale", "out");
    onnx_int("axis", 2);
    onnx_refused("expected a constant scale with the sides that [N, 16, 4, 4] has from axis 2 on, "
                 "found [16, 1, 1]");
    onnx_begin();
    onnx_sides(3, 0, SAME, SAME);
    onnx_data(SAME, SAME, 1, 0, "squared");
    onnx_tensor("scale", 2, SAME, 1);
    onnx_node("LayerNormalization", "x,scale", "out");
    onnx_refused("constant scale with the sides that [N, 4, 4] has from axis 2 on, found [4, 1]");
    onnx_begin();
    onnx_data(C, SAME, SAME, 0, "squared");
    onnx_tensor("scale", 1, SAME);
    onnx_tensor("bias", 2, SAME, 1);
    onnx_node("LayerNormalization", "x,scale,bias", "out");
    onnx_refused("constant bias with the sides that [N, 3, 4, 4] has from axis 3 on, found [4, 1]");
    for (unsigned i = 0; i < 2; i++) { /* of a chain: scale; bias */
        onnx_begin();
        onnx_sides(4, 0, C, SAME, SAME);
        onnx_data(C, SAME, SAME, 0, "squared");
        onnx_tensor("norm.weight", i == 0 ? 2 : 1, SAME, 1);
        onnx_tensor("norm.bias", i == 1 ? 2 : 1, SAME, 1);
        onnx_number("two", 2.0f);
        onnx_number("epsilon", 0.01f);
        write_chain(0);
        onnx_refused(i == 0 ? "(ReduceMean): expected a constant scale with the sides that"
                            : "(ReduceMean): expected a constant bias with the sides that");
    }
    float expected[EACH]; /* sides of 1 before them are right */
    double u[EACH];
    onnx_begin();
    const float *scale = onnx_tensor("scale", 4, 1, 1, H, W);
    onnx_node("LayerNormalization", "x,scale", "out");
    onnx_int("axis", 2);
    for (size_t i = 0; i < EACH; i++) {
        if (i % (H * W) == 0) normalized(image() + i, H * W, 1, 1e-5, u);
        expected[i] = (float)u[i % (H * W)] * scale[i % (H * W)];
    }
    onnx_computes(C, H, W, image(), EACH, expected);
}

/* ---- prelu ---- */

TEST(slopes_are_of_all_of_channels_or_of_numbers)
{
    float expected[EACH];
    for (unsigned how = 0; how < 4; how++) {
        onnx_begin();
        const float *a = how == 0   ? onnx_tensor("act.weight", 1, 1)
                         : how == 1 ? onnx_tensor("act.weight", 3, C, 1, 1)
                         : how == 2 ? onnx_tensor("act.weight", 3, C, H, W)
                                    : onnx_tensor("act.weight", 2, H, 1);
        onnx_node("PRelu", "x,act.weight", "out");
        for (size_t i = 0; i < EACH; i++) {
            const size_t own = how == 0 ? 0 : how == 1 ? i / (H * W) : how == 2 ? i : i / W % H;
            expected[i] = image()[i] < 0 ? a[own] * image()[i] : image()[i];
        }
        onnx_computes(C, H, W, image(), EACH, expected);
        drove_graph g = onnx_accepted();
        assert_string_equal(g.node[0].name, "act");
        assert_int_equal(g.node[0].opt.n_out, how == 0 ? 1 : how == 1 ? C : EACH);
        drove__graph_fini(&g);
    }
    begin_last(); /* Keras: one a channel, shared along height and width; one a number */
    const float *b = onnx_tensor("b", 3, 1, 1, C), *c = onnx_tensor("c", 3, H, W, C);
    onnx_node("PRelu", "x,b", "y");
    onnx_node("PRelu", "y,c", "out");
    for (size_t i = 0; i < EACH; i++) {
        const float v = last(i / C / W, i / C % W, i % C), y = v < 0 ? b[i % C] * v : v;
        expected[i] = y < 0 ? c[i] * y : y;
    }
    onnx_computes(C, H, W, image(), EACH, expected);
    onnx_begin();
    onnx_data(C, H, W, 0, "squared");
    onnx_node("PRelu", "x,x", "out");
    onnx_refused("expected a part of the network and a constant slope");
}
