/* Weights in the orders of PyTorch's modules (model/pytorch.h): against loops over outputs,
 * channels and places; a layer of scaled inputs has the outputs of its module on raw ones. */
#include "model/pytorch.h"
#include "support/test.h"

#include "model/layer.h"

#include <math.h>
#include <string.h>

/* ---- orders ---- */

TEST(a_dense_layer_is_turned)
{
    enum { C = 2, H = 3, W = 4, N_IN = C * H * W, N_OUT = 5 };
    float ours[N_IN * N_OUT], theirs[N_IN * N_OUT], back[N_IN * N_OUT];
    const drove_layer l = {.n_in = N_IN, .n_out = N_OUT, .n_w = N_IN * N_OUT};
    for (size_t i = 0; i < N_IN * N_OUT; i++) ours[i] = (float)i;
    for (int is_image = 0; is_image < 2; is_image++) {
        const drove_shape image = is_image ? (drove_shape){C, H, W} : (drove_shape){0};
        drove__pytorch_dense(&l, image, DROVE_TO_PYTORCH, ours, theirs);
        for (size_t o = 0; o < N_OUT; o++)
            for (size_t c = 0; c < C; c++)
                for (size_t y = 0; y < H; y++)
                    for (size_t x = 0; x < W; x++) {
                        size_t chw = (c * H + y) * W + x, hwc = (y * W + x) * C + c;
                        assert_true(theirs[o * N_IN + chw] ==
                                    ours[(is_image ? hwc : chw) * N_OUT + o]);
                    }
        memset(back, 0, sizeof back);
        drove__pytorch_dense(&l, image, DROVE_FROM_PYTORCH, theirs, back);
        assert_memory_equal(back, ours, sizeof ours);
    }
}

enum { GROUPS = 2, KH = 3, KW = 4, IN = 5, OUT = 6, N_W = GROUPS * KH * KW * IN * OUT };

static drove_layer convolution(void)
{
    return (drove_layer){.ops = &drove__layer_convolution,
                         .name = "conv",
                         .in = {GROUPS * IN, 7, 8},
                         .n_in = GROUPS * IN * 7 * 8,
                         .n_w = N_W,
                         .n_b = GROUPS * OUT,
                         .fan_in = KH * KW * IN,
                         .w_shape = {GROUPS, KH, KW, IN, OUT},
                         .w_rank = 5};
}

TEST(a_convolution_is_turned)
{
    static float ours[N_W], theirs[N_W], back[N_W];
    const drove_layer l = convolution();
    for (size_t i = 0; i < N_W; i++) ours[i] = (float)i;
    drove__pytorch_convolution(&l, DROVE_TO_PYTORCH, ours, theirs);
    const float *at = ours;
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t y = 0; y < KH; y++)
            for (size_t x = 0; x < KW; x++)
                for (size_t c = 0; c < IN; c++)
                    for (size_t o = 0; o < OUT; o++)
                        assert_true(*at++ == theirs[(((g * OUT + o) * IN + c) * KH + y) * KW + x]);
    drove__pytorch_convolution(&l, DROVE_FROM_PYTORCH, theirs, back);
    assert_memory_equal(back, ours, sizeof ours);
}

/* ---- whose image a dense layer reads ---- */

static const drove_shape image = {3, 4, 5}, vector = {60, 1, 1};

static drove_layer reader(const drove_layer_ops *ops, uint32_t bottom, drove_shape in,
                          drove_shape out)
{
    return (drove_layer){
        .ops = ops, .name = "l", .n_bottoms = 1, .bottom = {bottom}, .in = in, .out = out};
}

static void expect_image(const drove_model *m, size_t layer, drove_shape wanted)
{
    drove_shape found;
    assert_int_equal(drove__pytorch_image(m, &m->layer[layer], &found), DROVE_OK);
    assert_int_equal(found.c, wanted.c);
    assert_int_equal(found.h, wanted.h);
    assert_int_equal(found.w, wanted.w);
}

TEST(the_image_that_is_read_is_found)
{
    drove_layer layer[4] = {
        reader(&drove__layer_convolution, 0, image, image),
        reader(&drove__layer_flatten, 1, image, vector),
        reader(&drove__layer_dropout, 2, vector, vector),
        reader(&drove__layer_dense, 3, vector, (drove_shape){10, 1, 1}),
    };
    layer[0].n_w = 9;
    layer[3].n_w = 600;
    drove_model m = {.input = image, .n_layers = 4, .layer = layer};
    expect_image(&m, 3, image); /* through dropout, of flatten */
    layer[3].bottom[0] = 1;
    expect_image(&m, 3, image); /* of the convolution itself */
    assert_true(drove__pytorch_is_reordered(&m, 1));
    assert_false(drove__pytorch_is_reordered(&m, 0)); /* the data have it as PyTorch has */
    assert_false(drove__pytorch_is_reordered(&m, 2)); /* a vector */
    layer[3].bottom[0] = 0;
    expect_image(&m, 3, (drove_shape){0});
    layer[1].bottom[0] = 0; /* flatten turns the input, too */
    layer[3].bottom[0] = 2;
    expect_image(&m, 3, image);
    layer[1].in = (drove_shape){1, 4, 15}; /* one channel has one order */
    expect_image(&m, 3, (drove_shape){0});
    layer[1] = reader(&drove__layer_dense, 0, vector, vector);
    layer[1].n_w = 3600; /* numbers of a layer with weights are in its own order */
    expect_image(&m, 3, (drove_shape){0});
    layer[1] = reader(&drove__layer_average_pool, 1, image, (drove_shape){image.c, 1, 1});
    layer[3] = reader(&drove__layer_dense, 2, layer[1].out, (drove_shape){10, 1, 1});
    expect_image(&m, 3, (drove_shape){0}); /* of means, not of the image's numbers */
    layer[1] = reader(&drove__layer_sum, 0, vector, vector);
    layer[1].n_bottoms = 2;
    drove_shape found;
    assert_int_equal(drove__pytorch_image(&m, &layer[3], &found), DROVE_E_UNSUPPORTED);
    assert_non_null(strstr(drove_error_text(), "which has several inputs"));
    assert_false(drove__pytorch_reads_data(&layer[3]));
    assert_true(drove__pytorch_reads_data(&layer[1]));
    layer[1].bottom[0] = 1; /* the second of its inputs is blob 0 */
    assert_true(drove__pytorch_reads_data(&layer[1]));
    layer[1].n_bottoms = 1;
    assert_false(drove__pytorch_reads_data(&layer[1]));
}

TEST(one_channel_or_one_place_has_one_order)
{
    assert_true(drove__pytorch_has_one_order((drove_shape){1, 7, 9}));
    assert_true(drove__pytorch_has_one_order((drove_shape){7, 1, 1}));
    assert_false(drove__pytorch_has_one_order((drove_shape){7, 1, 2}));
    assert_false(drove__pytorch_has_one_order((drove_shape){7, 2, 1}));
}

/* ---- scaled inputs ---- */

enum { N = 4, UNITS = 3 };

/* W (f (x - s)) + b = W' x + b' */
TEST(a_dense_layer_takes_raw_inputs)
{
    static const float shift[N] = {1, -2, 0.5f, 3}, factor[N] = {2, 0.25f, -4, 0},
                       x[N] = {3, 5, -7, 11};
    const drove_layer l = {.ops = &drove__layer_dense,
                           .n_in = N,
                           .n_out = UNITS,
                           .n_w = N * UNITS,
                           .n_b = UNITS,
                           .fan_in = N};
    float w[N * UNITS], b[UNITS] = {10, 20, 30}, old[N * UNITS], old_b[UNITS];
    const char *why = "";
    for (size_t i = 0; i < N * UNITS; i++) w[i] = (float)(i + 1) / 4;
    memcpy(old, w, sizeof w);
    memcpy(old_b, b, sizeof b);
    assert_int_equal(drove__pytorch_scale(&l, shift, factor, DROVE_TO_PYTORCH, w, b, &why),
                     DROVE_OK);
    assert_null(why);
    for (size_t o = 0; o < UNITS; o++) {
        double ours = old_b[o], theirs = b[o];
        for (size_t i = 0; i < N; i++) {
            ours += (double)old[i * UNITS + o] * (double)factor[i] * (double)(x[i] - shift[i]);
            theirs += (double)w[i * UNITS + o] * (double)x[i];
        }
        assert_true(ours == theirs); /* all are few bits */
    }
    assert_int_equal(drove__pytorch_scale(&l, shift, factor, DROVE_FROM_PYTORCH, w, b, &why),
                     DROVE_OK);
    for (size_t i = 0; i < N; i++)
        for (size_t o = 0; o < UNITS; o++)
            assert_true(w[i * UNITS + o] == (factor[i] != 0 ? old[i * UNITS + o] : 0));
    assert_memory_equal(b, old_b, sizeof b);
    assert_int_equal(drove__pytorch_scale(&l, NULL, NULL, DROVE_TO_PYTORCH, w, b, &why), DROVE_OK);
    assert_null(why);
    assert_memory_equal(b, old_b, sizeof b);
}

TEST(without_a_bias_nothing_can_be_shifted)
{
    float shift[N] = {0, 0, 1, 0}, factor[N] = {1, 2, 1, 1}, w[N * UNITS] = {1};
    const drove_layer l = {
        .ops = &drove__layer_dense, .n_in = N, .n_out = UNITS, .n_w = N * UNITS, .fan_in = N};
    const char *why = NULL;
    assert_int_equal(drove__pytorch_scale(&l, shift, factor, DROVE_TO_PYTORCH, w, NULL, &why),
                     DROVE_OK);
    assert_string_equal(why, "it has no bias");
    shift[2] = 0;
    assert_int_equal(drove__pytorch_scale(&l, shift, factor, DROVE_TO_PYTORCH, w, NULL, &why),
                     DROVE_OK);
    assert_null(why);
}

/* Each channel has one shift and one factor: an output's sum over its window moves by the channel's
 * weights. */
TEST(a_convolution_takes_raw_channels)
{
    drove_layer l = convolution();
    static float w[N_W], old[N_W], shift[GROUPS * IN * 56], factor[GROUPS * IN * 56];
    float b[GROUPS * OUT] = {0};
    const char *why = "";
    for (size_t i = 0; i < N_W; i++) old[i] = w[i] = (float)(i % 17) - 8;
    for (size_t i = 0; i < GROUPS * IN * 56; i++) {
        shift[i] = (float)(i / 56) - 3;
        factor[i] = i / 56 % 2 == 0 ? 2 : 0.5f;
    }
    assert_int_equal(drove__pytorch_scale(&l, shift, factor, DROVE_TO_PYTORCH, w, b, &why),
                     DROVE_OK);
    assert_null(why);
    double moved[GROUPS * OUT] = {0};
    for (size_t i = 0; i < N_W; i++) {
        size_t group = i / (N_W / GROUPS), channel = group * IN + i / OUT % IN;
        float scaled = old[i] * factor[channel * 56];
        assert_true(w[i] == scaled);
        moved[group * OUT + i % OUT] += (double)scaled * (double)shift[channel * 56];
    }
    for (size_t o = 0; o < GROUPS * OUT; o++) assert_true((double)b[o] == -moved[o]);
    assert_int_equal(drove__pytorch_scale(&l, shift, factor, DROVE_FROM_PYTORCH, w, b, &why),
                     DROVE_OK);
    assert_memory_equal(w, old, sizeof w);
    for (size_t o = 0; o < GROUPS * OUT; o++) assert_true(b[o] == 0);

    for (int side = 0; side < 4; side++) { /* zeros beyond the edge would be shifted, too */
        l.opt.window.ph = side == 0;
        l.opt.window.pw = side == 1;
        l.opt.padding.below = side == 2;
        l.opt.padding.right = side == 3;
        assert_int_equal(drove__pytorch_scale(&l, shift, factor, DROVE_TO_PYTORCH, w, b, &why),
                         DROVE_OK);
        assert_string_equal(why, "its padding would be shifted, too");
    }
    memset(shift, 0, sizeof shift); /* but may be scaled */
    assert_int_equal(drove__pytorch_scale(&l, shift, factor, DROVE_TO_PYTORCH, w, b, &why),
                     DROVE_OK);
    assert_null(why);
    for (int which = 0; which < 2; which++) { /* the last place of a channel alone differs */
        float *of = which == 0 ? &shift[2 * 56 + 55] : &factor[2 * 56 + 55], before = *of;
        *of += 1;
        assert_int_equal(drove__pytorch_scale(&l, shift, factor, DROVE_TO_PYTORCH, w, b, &why),
                         DROVE_OK);
        assert_string_equal(why, "it differs within a channel");
        *of = before;
    }
}

/* A number for each of an image, or for a part of its sides, in the order [c][h][w]. */
TEST(numbers_of_an_image_change_their_order)
{
    enum { C = 2, H = 3, W = 4 };
    float w[C * H * W], theirs[C * H * W], back[C * H * W];
    size_t sides[3];
    drove_layer l = {.ops = &drove__layer_layer_norm,
                     .in = {C, H, W},
                     .n_w = C * H * W,
                     .opt.over = {true, true, true}};
    for (size_t i = 0; i < C * H * W; i++) w[i] = (float)i; /* [h][w][c] */
    drove__pytorch_numbers(&l, DROVE_TO_PYTORCH, w, theirs);
    for (size_t c = 0; c < C; c++)
        for (size_t p = 0; p < H * W; p++) assert_true(theirs[c * H * W + p] == w[p * C + c]);
    drove__pytorch_numbers(&l, DROVE_FROM_PYTORCH, theirs, back);
    assert_memory_equal(back, w, sizeof w);
    assert_int_equal(drove__pytorch_numbers_shape(&l, sides), 3);
    assert_true(sides[0] == C && sides[1] == H && sides[2] == W);

    static const struct {
        drove_over over;
        size_t n_w;
        unsigned rank;
    } parts[] = {{{false, true, true}, H * W, 2},
                 {{false, false, true}, W, 1},
                 {{true, false, false}, C, 1},
                 {{true, true, false}, C * H, 0}, /* no module has it */
                 {{false, true, false}, H, 0}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        l.opt.over = parts[i].over;
        l.n_w = parts[i].n_w;
        assert_int_equal(drove__pytorch_numbers_shape(&l, sides), parts[i].rank);
        size_t n = 1;
        for (unsigned k = 0; k < parts[i].rank; k++) n *= sides[k];
        if (parts[i].rank > 0) assert_int_equal(n, l.n_w);
        drove__pytorch_numbers(&l, DROVE_TO_PYTORCH, w, theirs);
        assert_memory_equal(theirs, w, l.n_w * sizeof *w);
    }
    l.ops = &drove__layer_prelu;
    for (unsigned i = 0; i < 3; i++) {
        l.n_w = i == 0 ? 1 : i == 1 ? C : C * H * W;
        assert_int_equal(drove__pytorch_numbers_shape(&l, sides), i < 2);
    }
}
