/* Layers between convolutions, what is not a formula: numbers of pooling windows, what is refused,
 * dropout's masks, batch normalisation's statistics, inference. */
#include "unit/model/one_layer.h"
#include "support/test.h"

#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- shapes ---- */

TEST(test_pooling_sizes)
{
    const struct {
        size_t n, k, s, p;
        bool up;
        size_t want;
    } cases[] = {
        {55, 3, 2, 0, true, 27},  {27, 3, 2, 0, true, 13},   {13, 3, 2, 0, true, 6}, /* AlexNet */
        {112, 3, 2, 0, true, 56}, {112, 3, 2, 0, false, 55}, /* GoogLeNet, and rounded down */
        {24, 2, 2, 0, true, 12},  {32, 3, 2, 0, true, 16},   {7, 7, 1, 0, true, 1},
        {28, 3, 1, 1, true, 28}, /* GoogLeNet's poolings within a module */
        {5, 2, 2, 1, true, 3},   /* a fourth window would begin at 6 of 5 + 1: behind the image */
        {4, 3, 2, 1, true, 3},    {4, 3, 2, 1, false, 2},    {5, 1, 3, 0, true, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        drove_layer l;
        one_layer_options o = {.ops = i % 2 ? &drove__layer_max_pool : &drove__layer_average_pool,
                               .n_bottoms = 1,
                               .bottom = {{3, cases[i].n, 30}}};
        o.opt.window =
            (drovek_window){.kh = cases[i].k, .kw = 2, .sh = cases[i].s, .sw = 2, .ph = cases[i].p};
        o.opt.padding.below = cases[i].p;
        o.opt.rounds_up = cases[i].up;
        assert_int_equal(one_layer_shape(&o, &l), DROVE_OK);
        if (l.out.h != cases[i].want) fail_msg("case %zu: %zu windows", i, l.out.h);
        assert_true(l.out.c == 3 && l.out.w == 15 && l.n_out == 3 * 15 * l.out.h);
    }
}

/* A convolution whose window does not say a size is as one that says 1; each field for itself. */
TEST(test_fields_that_are_not_given)
{
    enum { FIELDS = 7 };
    for (unsigned i = 0; i < FIELDS; i++) {
        drove_layer given, l;
        one_layer_options o = {.ops = &drove__layer_convolution,
                               .n_bottoms = 1,
                               .bottom = {{4, 11, 13}}};
        drovek_window *w = &o.opt.window;
        size_t *field[FIELDS] = {&w->kh, &w->kw, &w->sh, &w->sw, &w->dh, &w->dw, &o.opt.groups};
        o.opt.n_out = 6;
        for (unsigned k = 0; k < FIELDS; k++) *field[k] = k == i ? 1 : 2;
        assert_int_equal(one_layer_shape(&o, &given), DROVE_OK);
        *field[i] = 0;
        assert_int_equal(one_layer_shape(&o, &l), DROVE_OK);
        assert_int_equal(l.out.c, 6);
        assert_int_equal(l.out.h, given.out.h);
        assert_int_equal(l.out.w, given.out.w);
        assert_int_equal(l.n_out, given.n_out);
        assert_int_equal(l.n_w, given.n_w);
    }
}

static void expect_refusal(const one_layer_options *o, drove_status status, const char *words)
{
    drove_layer l;
    assert_int_equal(one_layer_shape(o, &l), status);
    if (strstr(drove_error_text(), words) == NULL) fail_msg("%s", drove_error_text());
}

TEST(test_refusals)
{
    one_layer_options o = {.ops = &drove__layer_max_pool, .n_bottoms = 1, .bottom = {{3, 4, 5}}};
    o.opt.window = (drovek_window){.kh = 5, .kw = 1};
    expect_refusal(&o, DROVE_E_SHAPE, "a window of 5 x 1 is larger than its input of 4 x 5");
    o.opt.window = (drovek_window){.kh = 2, .kw = 2, .pw = 2};
    expect_refusal(&o, DROVE_E_SHAPE, "expected padding smaller than the window");
    o.opt.window.pw = 0;
    o.opt.padding.below = 2;
    expect_refusal(&o, DROVE_E_SHAPE, "expected padding smaller than the window of 2 x 2, found 2");
    o.opt.padding.below = 0;
    o.opt.window = (drovek_window){.kh = 2, .kw = 2, .dh = 2};
    expect_refusal(&o, DROVE_E_ARG, "without dilation");
    o = (one_layer_options){.ops = &drove__layer_max_pool,
                            .n_bottoms = 1,
                            .bottom = {{3, 300, 300}},
                            .opt = {.is_global = true}};
    expect_refusal(&o, DROVE_E_SHAPE, "at most 65536 elements, found 300 x 300");

    o = (one_layer_options){.ops = &drove__layer_lrn,
                            .n_bottoms = 1,
                            .bottom = {{3, 4, 5}},
                            .opt = {.lrn = {.size = 4, .alpha = 1, .beta = 1, .kappa = 1}}};
    expect_refusal(&o, DROVE_E_ARG, "odd number of channels as size, found 4");
    o.opt.lrn.size = 5, o.opt.lrn.kappa = 0;
    expect_refusal(&o, DROVE_E_ARG, "kappa above 0");
    o = (one_layer_options){.ops = &drove__layer_dropout,
                            .n_bottoms = 1,
                            .bottom = {{3, 4, 5}},
                            .opt = {.ratio = 1.0f}};
    expect_refusal(&o, DROVE_E_ARG, "below 1, found 1");
    o = (one_layer_options){.ops = &drove__layer_batch_norm,
                            .n_bottoms = 1,
                            .bottom = {{3, 4, 5}},
                            .opt = {.epsilon = -1.0f}};
    expect_refusal(&o, DROVE_E_ARG, "epsilon of 0 or more");
    o = (one_layer_options){.ops = &drove__layer_concat,
                            .n_bottoms = 2,
                            .bottom = {{3, 4, 5}, {6, 4, 4}}};
    expect_refusal(&o, DROVE_E_SHAPE, "expected images of 4 x 5 like the first input, found 4 x 4");
    o.ops = &drove__layer_sum;
    expect_refusal(&o, DROVE_E_SHAPE, "expected 3 x 4 x 5 like the first input, found 6 x 4 x 4");
}

/* The first input that differs, in any of its numbers, is named. */
TEST(test_inputs_that_differ)
{
    const drove_shape first = {3, 4, 5};
    for (unsigned which = 1; which < 3; which++) {
        for (unsigned n = 0; n < 3; n++) {
            one_layer_options o = {.n_bottoms = 3, .bottom = {first, first, first}};
            drove_shape *s = &o.bottom[which];
            drove_layer l;
            char words[80];
            *(n == 0 ? &s->c : n == 1 ? &s->h : &s->w) += 1;
            o.ops = &drove__layer_sum;
            snprintf(words, sizeof words, "found %zu x %zu x %zu as input %u", s->c, s->h, s->w,
                     which + 1);
            expect_refusal(&o, DROVE_E_SHAPE, words);
            o.ops = &drove__layer_concat;
            snprintf(words, sizeof words, "found %zu x %zu as input %u", s->h, s->w, which + 1);
            if (n > 0) expect_refusal(&o, DROVE_E_SHAPE, words);
            else assert_int_equal(one_layer_shape(&o, &l), DROVE_OK);
        }
    }
}

/* Sizes in floats have to fit; the last channel that does, and one more. */
TEST(test_channels_that_do_not_fit)
{
    const drove_shape bottom[2] = {{SIZE_MAX / 64 - 1, 1, 1}, {1, 1, 1}};
    drove_shape more[2] = {bottom[0], {2, 1, 1}};
    drove_layer l = {.opt = {.n_out = 0}};
    const drove_shape alone[2] = {{3, 4, 5}, {0, 0, 0}};
    assert_int_equal(drove__layer_concat.shape(&l, alone, 1, 1), DROVE_OK);
    assert_true(l.out.c == 3 && l.out.h == 4 && l.out.w == 5 && l.n_in == 60 && l.n_out == 60);
    assert_int_equal(drove__layer_concat.shape(&l, bottom, 2, 1), DROVE_OK);
    assert_true(l.out.c == SIZE_MAX / 64 && l.n_out == SIZE_MAX / 64);
    assert_true(l.n_in == SIZE_MAX / 64 - 1);
    assert_int_equal(drove__layer_concat.shape(&l, more, 2, 1), DROVE_E_SHAPE);
    assert_string_equal(drove_error_text(), "the inputs together have too many channels");
}

/* ---- dropout ---- */

enum { ROWS = 6, C = 32, H = 5, W = 4, N = C * H * W };

static float x[ROWS * N], y[ROWS * N], other[ROWS * N], dx[ROWS * N], ones[ROWS * N];
static float *const x_of[1] = {x}, *const ones_of[1] = {ones}, *const dx_of[1] = {dx};

FIXTURE(fill)
{
    drove_rng rng;
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < ROWS * N; i++) {
        x[i] = (float)drove__rng_normal(&rng);
        ones[i] = 1.0f;
    }
    return 0;
}

GROUP(fill, NULL);

static one_layer_options dropout_options(void)
{
    return (one_layer_options){.ops = &drove__layer_dropout,
                               .n_bottoms = 1,
                               .bottom = {{C, H, W}},
                               .opt = {.ratio = 0.25f},
                               .n_rows = ROWS,
                               .format = DROVEK_NHWC,
                               .n_parts = 1,
                               .seed = 1,
                               .batch = 2};
}

static void forward_of(const one_layer_options *o, float *to)
{
    one_layer t;
    one_layer_init(&t, o);
    one_layer_forward(&t, ones_of, to);
    one_layer_fini(&t);
}

static size_t n_different(const float *a, const float *b)
{
    size_t n = 0;
    for (size_t i = 0; i < ROWS * N; i++) n += a[i] != b[i];
    return n;
}

/* Another seed, batch or place in the network is another mask; parts, formats, tiers are not. */
TEST(test_dropout_masks)
{
    one_layer_options o = dropout_options();
    const size_t usual = (size_t)(2 * 0.25 * 0.75 * ROWS * N);
    double sum = 0;
    forward_of(&o, y);
    for (size_t i = 0; i < ROWS * N; i++) {
        assert_true(y[i] == 0.0f || y[i] == 1.0f / 0.75f);
        sum += (double)y[i] / (ROWS * N);
    }
    assert_true(fabs(sum - 1.0) < 4.0 * sqrt(0.25 / 0.75 / (ROWS * N)));
    for (unsigned variant = 0; variant < 8; variant++) {
        one_layer_options same = dropout_options();
        same.n_parts = variant & 1 ? 4 : 1;
        same.format = variant & 2 ? DROVEK_NCHW16 : DROVEK_NHWC;
        same.isa = variant & 4 ? "ref" : NULL;
        forward_of(&same, other);
        assert_int_equal(n_different(y, other), 0);
    }
    o.seed = 2;
    forward_of(&o, other);
    assert_true(n_different(y, other) > usual * 8 / 10);
    o = dropout_options(), o.batch = 3;
    forward_of(&o, other);
    assert_true(n_different(y, other) > usual * 8 / 10);
}

TEST(test_dropout_inference)
{
    one_layer t;
    one_layer_options o = dropout_options();
    o.inference = true;
    o.n_parts = 2;
    one_layer_init(&t, &o);
    one_layer_forward(&t, x_of, y);
    assert_memory_equal(y, x, sizeof y);
    one_layer_fini(&t);
}

/* ---- batch normalisation ---- */

static one_layer_options norm_options(void)
{
    return (one_layer_options){.ops = &drove__layer_batch_norm,
                               .n_bottoms = 1,
                               .bottom = {{C, H, W}},
                               .opt = {.epsilon = 1e-5f},
                               .n_rows = ROWS,
                               .format = DROVEK_NHWC,
                               .n_parts = 3};
}

/* Mean and variance of channel c of x, the latter divided by m - 1. */
static void moments64(size_t c, double *mean, double *variance)
{
    const double m = ROWS * H * W;
    *mean = *variance = 0;
    for (size_t i = c; i < ROWS * N; i += C) *mean += x[i] / m;
    for (size_t i = c; i < ROWS * N; i += C) *variance += pow(x[i] - *mean, 2) / (m - 1);
}

static void check_statistics(drovek_format format, const char *isa, double bound)
{
    one_layer t;
    one_layer_options o = norm_options();
    o.format = format;
    o.isa = isa;
    one_layer_init(&t, &o);
    one_layer_forward(&t, x_of, y);
    const float *s = o.ops->statistics(t.own);
    for (size_t c = 0; c < C; c++) {
        double mean, variance;
        moments64(c, &mean, &variance);
        assert_true(fabs((double)s[c] - mean) <= 1e-6 * fmax(1.0, fabs(mean)));
        assert_true(fabs((double)s[C + c] - variance) <= bound * variance);
    }
    one_layer_fini(&t);
}

/* Also where the mean is 1000 times the deviation, and each channel's is another one. */
TEST(test_statistics)
{
    for (unsigned variant = 0; variant < 4; variant++) {
        const char *isa = variant & 1 ? "ref" : NULL;
        drovek_format format = variant & 2 ? DROVEK_NCHW16 : DROVEK_NHWC;
        fill(state);
        check_statistics(format, isa, 1e-5);
        for (size_t i = 0; i < ROWS * N; i++) x[i] += 1000.0f;
        check_statistics(format, isa, 1e-4);
        for (size_t i = 0; i < ROWS * N; i++) x[i] += 1000.0f * (float)(i % C);
        check_statistics(format, isa, 1e-4 * (double)C);
    }
    fill(state);
}

/* Inference with a training batch's mean and variance gives the training output. */
TEST(test_population)
{
    one_layer trains, infers;
    one_layer_options o = norm_options();
    const double m = ROWS * H * W;
    one_layer_init(&trains, &o);
    o.inference = true;
    one_layer_init(&infers, &o);
    const drove_layer *l = one_layer_of(&trains);
    for (size_t c = 0; c < C; c++) {
        trains.theta[l->w_offset + c] = infers.theta[l->w_offset + c] = 0.5f + (float)c;
        trains.theta[l->b_offset + c] = infers.theta[l->b_offset + c] = (float)c - 3.0f;
    }
    one_layer_forward(&trains, x_of, y);
    const float *s = o.ops->statistics(trains.own);
    for (size_t c = 0; c < C; c++) {
        infers.theta[l->s_offset + c] = s[c];
        infers.theta[l->s_offset + C + c] = (float)((double)s[C + c] * (m - 1) / m);
    }
    one_layer_forward(&infers, x_of, other);
    for (size_t i = 0; i < ROWS * N; i++)
        assert_true(fabs((double)y[i] - (double)other[i]) <= 1e-5 * (10 + fabs((double)y[i])));
    assert_int_equal(l->n_statistics, 2 * C);
    one_layer_fini(&trains);
    one_layer_fini(&infers);
}

/* The order in which parts arrive changes nothing: one_layer calls them last to first, here once
 * more with other values in between. */
TEST(test_passes_repeat)
{
    static float again[ROWS * N], other_dx[ROWS * N];
    float *const other_of[1] = {other_dx};
    one_layer t;
    one_layer_options o = norm_options();
    one_layer_init(&t, &o);
    const drove_layer *l = one_layer_of(&t);
    for (size_t c = 0; c < C; c++) t.theta[l->w_offset + c] = 1.0f;
    one_layer_forward(&t, x_of, y);
    one_layer_backward(&t, x, dx_of);
    one_layer_forward(&t, ones_of, other);
    one_layer_backward(&t, ones, other_of);
    for (size_t i = 0; i < ROWS * N; i++) assert_true(other[i] == 0.0f); /* no variance: beta */
    one_layer_forward(&t, x_of, again);
    one_layer_backward(&t, x, other_of);
    assert_memory_equal(again, y, sizeof y);
    assert_memory_equal(other_dx, dx, sizeof dx);
    one_layer_fini(&t);
}
