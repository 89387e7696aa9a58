/* Every kind of layer between convolutions: forward against a transcription in float64, backward
 * against its central differences, in both formats, with several parts, added to what is there; and
 * the same bits whatever the format and the number of parts. */
#include "unit/model/one_layer.h"
#include "support/test.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { ROWS = 5, MOST = ROWS * 96 * 8 * 7, N_CHECKED = 150 };

/* Of an output or derivative, relative to the largest of its kind and to at least 1. */
static const double BOUND = 4e-6;

typedef struct kind {
    const char *what;
    one_layer_options opt;
    bool parts_differ; /* sums over the batch: other bits for other parts */
    /* y[ROWS][n_out] of x[i][ROWS][.], all NHWC */
    void (*forward)(const drove_layer *l, const drove_shape *s, double *const *x,
                    const double *theta, double *y);
} kind;

/* ---- transcriptions ---- */

static size_t at(drove_shape s, size_t row, size_t y, size_t x, size_t c)
{
    return ((row * s.h + y) * s.w + x) * s.c + c;
}

/* Caffe's pooling_layer.cpp, by its loops: start, end, clipped start and end.  Where padding is not
 * counted, as in TensorFlow's SpatialAvgPool: the places inside the image. */
static void pool64(const drove_layer *l, const double *x, double *y, bool is_max)
{
    const drovek_window *w = &l->opt.window;
    for (size_t i = 0; i < ROWS * l->n_out; i++) {
        size_t c = i % l->out.c, px = i / l->out.c % l->out.w,
               py = i / l->out.c / l->out.w % l->out.h;
        long y0 = (long)(py * w->sh) - (long)w->ph, x0 = (long)(px * w->sw) - (long)w->pw;
        long y1 = y0 + (long)w->kh, x1 = x0 + (long)w->kw;
        if (y1 > (long)(l->in.h + l->opt.padding.below))
            y1 = (long)(l->in.h + l->opt.padding.below);
        if (x1 > (long)(l->in.w + l->opt.padding.right))
            x1 = (long)(l->in.w + l->opt.padding.right);
        double area = (double)((y1 - y0) * (x1 - x0)), sum = 0, most = -INFINITY, n_inside = 0;
        for (long iy = y0; iy < y1; iy++) {
            for (long ix = x0; ix < x1; ix++) {
                if (iy < 0 || ix < 0 || iy >= (long)l->in.h || ix >= (long)l->in.w) continue;
                double v = x[at(l->in, i / l->n_out, (size_t)iy, (size_t)ix, c)];
                sum += v;
                n_inside++;
                most = fmax(most, v);
            }
        }
        y[i] = is_max ? most : sum / (l->opt.padding.is_uncounted ? n_inside : area);
    }
}

static void max64(const drove_layer *l, const drove_shape *s, double *const *x, const double *theta,
                  double *y)
{
    (void)s, (void)theta;
    pool64(l, x[0], y, true);
}

static void average64(const drove_layer *l, const drove_shape *s, double *const *x,
                      const double *theta, double *y)
{
    (void)s, (void)theta;
    pool64(l, x[0], y, false);
}

static void lrn64(const drove_layer *l, const drove_shape *s, double *const *x, const double *theta,
                  double *y)
{
    const long half = (long)l->opt.lrn.size / 2, channels = (long)s->c;
    (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++) {
        long c = (long)(i % s->c);
        double sum = 0;
        for (long j = c - half; j <= c + half; j++) {
            if (j < 0 || j >= channels) continue;
            double v = x[0][i - (size_t)c + (size_t)j];
            sum += v * v;
        }
        double scale = l->opt.lrn.kappa + l->opt.lrn.alpha / (double)l->opt.lrn.size * sum;
        y[i] = x[0][i] / pow(scale, l->opt.lrn.beta);
    }
}

static void dropout64(const drove_layer *l, const drove_shape *s, double *const *x,
                      const double *theta, double *y)
{
    drovek_dropout d = {.threshold = (uint32_t)((double)l->opt.ratio * 0x1p24)};
    (void)s, (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++) {
        d.key = drovek_dropout_key(17, 4, 1, i / l->n_out);
        bool keeps = drovek_dropout_keeps(&d, (uint32_t)(i % l->n_out));
        y[i] = keeps ? x[0][i] / (1 - (double)l->opt.ratio) : 0;
    }
}

static double act64(double v, drovek_act act)
{
    if (act == DROVEK_RELU) return v > 0 ? v : 0;
    if (act == DROVEK_SIGMOID) return 1 / (1 + exp(-v));
    if (act == DROVEK_CURVE_gelu) return v * 0.5 * erfc(-v / sqrt(2));
    if (act == DROVEK_CURVE_smooth_clip) return v / sqrt(1 + v * v / 4);
    if (act == DROVEK_CURVE_sin) return sin(1.5 * v);
    if (act == DROVEK_CURVE_hard_swish) return v * fmin(fmax(v + 3, 0), 6) / 6;
    return act == DROVEK_TANH ? tanh(v) : v;
}

static void batch_norm64(const drove_layer *l, const drove_shape *s, double *const *x,
                         const double *theta, double *y)
{
    const size_t n = ROWS * s->h * s->w;
    for (size_t c = 0; c < s->c; c++) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < n; i++) mean += x[0][i * s->c + c] / (double)n;
        for (size_t i = 0; i < n; i++) variance += pow(x[0][i * s->c + c] - mean, 2) / (double)n;
        for (size_t i = 0; i < n; i++) {
            double z = (x[0][i * s->c + c] - mean) / sqrt(variance + (double)l->opt.epsilon);
            y[i * s->c + c] = act64(theta[l->w_offset + c] * z + theta[l->b_offset + c], l->act);
        }
    }
}

/* Ba, Kiros, Hinton, 2016, equation 4: by number, its group all of the example that differ from it
 * along the named sides alone. */
static void layer_norm64(const drove_layer *l, const drove_shape *s, double *const *x,
                         const double *theta, double *y)
{
    const drove_over *over = &l->opt.over;
    const size_t each = l->n_out;
    for (size_t i = 0; i < ROWS * each; i++) {
        const size_t c = i % s->c, w = i / s->c % s->w, h = i % each / s->c / s->w;
        const size_t own =
            ((over->height ? h : 0) * (over->width ? s->w : 1) + (over->width ? w : 0)) *
                (over->channels ? s->c : 1) +
            (over->channels ? c : 0);
        double mean = 0, variance = 0, n = 0;
        for (int pass = 0; pass < 2; pass++) {
            for (size_t k = i / each * each; k < (i / each + 1) * each; k++) {
                if ((!over->channels && k % s->c != c) || (!over->width && k / s->c % s->w != w) ||
                    (!over->height && k % each / s->c / s->w != h))
                    continue;
                if (pass == 0) mean += x[0][k], n++;
                else variance += pow(x[0][k] - mean, 2) / n;
            }
            if (pass == 0) mean /= n;
        }
        const double u = (x[0][i] - mean) / sqrt(variance + (double)l->opt.epsilon);
        y[i] = act64(theta[l->w_offset + own] * u + theta[l->b_offset + own], l->act);
    }
}

/* He et al., ICCV 2015, equation 1. */
static void prelu64(const drove_layer *l, const drove_shape *s, double *const *x,
                    const double *theta, double *y)
{
    for (size_t i = 0; i < ROWS * l->n_out; i++) {
        const size_t own = l->n_w == 1 ? 0 : l->n_w == l->n_out ? i % l->n_out : i % s->c;
        y[i] = fmax(x[0][i], 0) + theta[l->w_offset + own] * fmin(x[0][i], 0);
    }
}

static void concat64(const drove_layer *l, const drove_shape *s, double *const *x,
                     const double *theta, double *y)
{
    (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++) {
        size_t c = i % l->out.c, place = i / l->out.c;
        unsigned b = 0;
        while (c >= s[b].c) c -= s[b++].c;
        y[i] = x[b][place * s[b].c + c];
    }
}

static void sum64(const drove_layer *l, const drove_shape *s, double *const *x, const double *theta,
                  double *y)
{
    (void)s, (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++) {
        double sum = 0;
        for (unsigned b = 0; b < l->n_bottoms; b++) sum += (double)l->opt.coefficient[b] * x[b][i];
        y[i] = act64(sum, l->act);
    }
}

static void flatten64(const drove_layer *l, const drove_shape *s, double *const *x,
                      const double *theta, double *y)
{
    (void)s, (void)theta;
    memcpy(y, x[0], ROWS * l->n_out * sizeof *y);
}

static void activation64(const drove_layer *l, const drove_shape *s, double *const *x,
                         const double *theta, double *y)
{
    (void)s, (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++) y[i] = act64(x[0][i], l->act);
}

static void softmax64(const drove_layer *l, const drove_shape *s, double *const *x,
                      const double *theta, double *y)
{
    (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i += s->c) {
        double sum = 0;
        for (size_t c = 0; c < s->c; c++) sum += exp(x[0][i + c]);
        for (size_t c = 0; c < s->c; c++) y[i + c] = exp(x[0][i + c]) / sum;
    }
}

/* Position in NHWC of number i of all rows in the order [row][c][h][w]. */
static size_t place_of(drove_shape s, size_t i)
{
    const size_t hw = s.h * s.w, n = s.c * hw;
    return i / n * n + i % hw * s.c + i % n / hw;
}

static void reshape64(const drove_layer *l, const drove_shape *s, double *const *x,
                      const double *theta, double *y)
{
    (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++) y[place_of(l->out, i)] = x[0][place_of(*s, i)];
}

/* Numbered [h][w][c] behind, as they are in memory. */
static void last64(const drove_layer *l, const drove_shape *s, double *const *x,
                   const double *theta, double *y)
{
    (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++) y[i] = x[0][place_of(*s, i)];
}

static double listed64(const drove_floats *list, double none, const drove_shape *s, size_t i)
{
    const size_t each = s->c * s->h * s->w;
    if (list->n == 0) return none;
    return (double)list->value[list->n == each ? i % each : i % each / (each / list->n)];
}

static void scale64(const drove_layer *l, const drove_shape *s, double *const *x,
                    const double *theta, double *y)
{
    (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++) {
        const size_t at = place_of(*s, i);
        y[at] = (x[0][at] - listed64(&l->opt.offset, 0, s, i)) * listed64(&l->opt.factor, 1, s, i);
    }
}

static void normalize64(const drove_layer *l, const drove_shape *s, double *const *x,
                        const double *theta, double *y)
{
    (void)s, (void)theta;
    for (size_t row = 0; row < ROWS; row++) {
        const double *from = x[0] + row * l->n_out;
        const double power = (double)l->opt.power;
        double sum = 0;
        for (size_t i = 0; i < l->n_out; i++) sum += pow(fabs(from[i]), power);
        for (size_t i = 0; i < l->n_out; i++) y[row * l->n_out + i] = from[i] / pow(sum, 1 / power);
    }
}

static void clip64(const drove_layer *l, const drove_shape *s, double *const *x,
                   const double *theta, double *y)
{
    (void)s, (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++)
        y[i] = fmin(fmax(x[0][i], (double)l->opt.bounds.low), (double)l->opt.bounds.high);
}

/* By number of the output; the input as [c][h][w]. */
static void gather64(const drove_layer *l, const drove_shape *s, double *const *x,
                     const double *theta, double *y)
{
    const size_t each = s->c * s->h * s->w;
    (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++)
        y[i] = x[0][place_of(*s, i / l->n_out * each + l->opt.index.value[i % l->n_out])];
}

static void leaky64(const drove_layer *l, const drove_shape *s, double *const *x,
                    const double *theta, double *y)
{
    (void)s, (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++)
        y[i] = x[0][i] * (x[0][i] < 0 ? (double)l->opt.slope : 1);
}

/* A number of the second input for each of the first, or for each of its channels. */
static void product64(const drove_layer *l, const drove_shape *s, double *const *x,
                      const double *theta, double *y)
{
    const bool is_whole = s[1].h * s[1].w == s[0].h * s[0].w;
    (void)theta;
    for (size_t i = 0; i < ROWS * l->n_out; i++) {
        const size_t channel = i / l->n_out * s->c + i % s->c;
        y[i] = x[0][i] * x[1][is_whole ? i : channel];
    }
}

/* ---- the cases ---- */

static float some[] = {0.5f,  -1.0f, 2.0f,  0.25f,  -0.125f, 3.0f,  1.5f,  -2.0f,
                       0.75f, 1.0f,  -0.5f, 0.375f, 4.0f,    -3.0f, 1.25f, 0.625f};

static uint32_t places[] = {7, 0, 0, 0, 31, 2, 2, 5, 20, 19, 18, 7};
static uint32_t runs[] = {3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                          16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 8,  9,  10};

#define WINDOW(k, s, p)                                                                            \
    {                                                                                              \
        .kh = (k), .kw = (k), .sh = (s), .sw = (s), .ph = (p), .pw = (p)                           \
    }
#define ONE(kind, ...)                                                                             \
    {                                                                                              \
        .ops = &drove__layer_##kind, .n_bottoms = 1, .n_rows = ROWS, .seed = 17, .batch = 4,       \
        __VA_ARGS__                                                                                \
    }
#define IMAGE(c, h, w) .bottom = {{c, h, w}}

static const kind kinds[] = {
    {"max 2/2", ONE(max_pool, IMAGE(32, 6, 7), .opt = {.window = WINDOW(2, 2, 0)}), false, max64},
    {"max 3/2 up",
     ONE(max_pool, IMAGE(16, 8, 7), .opt = {.window = WINDOW(3, 2, 0), .rounds_up = true}), false,
     max64},
    {"max 3/1 padded",
     ONE(max_pool, IMAGE(48, 5, 4), .opt = {.window = WINDOW(3, 1, 1), .padding = {1, 1, false}}),
     false, max64},
    {"max 3/2 padded below and to the right",
     ONE(max_pool, IMAGE(16, 6, 8), .opt = {.window = WINDOW(3, 2, 0), .padding = {1, 1, false}}),
     false, max64},
    {"max global", ONE(max_pool, IMAGE(16, 5, 4), .opt = {.is_global = true}), false, max64},
    {"max of one channel", ONE(max_pool, IMAGE(1, 8, 6), .opt = {.window = WINDOW(2, 2, 0)}), false,
     max64},
    {"max of 20", ONE(max_pool, IMAGE(20, 8, 6), .opt = {.window = WINDOW(2, 2, 0)}), false, max64},
    {"average 3/2 padded, up",
     ONE(average_pool, IMAGE(32, 8, 7),
         .opt = {.window = WINDOW(3, 2, 1), .padding = {1, 1, false}, .rounds_up = true}),
     false, average64},
    {"average 3/2 padded, not counted",
     ONE(average_pool, IMAGE(32, 8, 7),
         .opt = {.window = WINDOW(3, 2, 1), .padding = {1, 1, true}}),
     false, average64},
    {"average 3/1 padded above and to the left",
     ONE(average_pool, IMAGE(16, 5, 6), .opt = {.window = WINDOW(3, 1, 2)}), false, average64},
    {"average 4/1 padded unevenly, not counted",
     ONE(average_pool, IMAGE(16, 5, 6),
         .opt = {.window = WINDOW(4, 1, 1), .padding = {2, 3, true}}),
     false, average64},
    {"average 3/2 up",
     ONE(average_pool, IMAGE(5, 8, 8), .opt = {.window = WINDOW(3, 2, 0), .rounds_up = true}),
     false, average64},
    {"average global", ONE(average_pool, IMAGE(64, 7, 6), .opt = {.is_global = true}), false,
     average64},
    {"lrn 5",
     ONE(lrn, IMAGE(96, 3, 5),
         .opt = {.lrn = {.size = 5, .alpha = 2.0f, .beta = 0.75f, .kappa = 1.0f}}),
     false, lrn64},
    {"lrn 3",
     ONE(lrn, IMAGE(16, 3, 5),
         .opt = {.lrn = {.size = 3, .alpha = 1.0f, .beta = 0.5f, .kappa = 2.0f}}),
     false, lrn64},
    {"lrn of 5 channels",
     ONE(lrn, IMAGE(5, 7, 5),
         .opt = {.lrn = {.size = 5, .alpha = 1.0f, .beta = 0.75f, .kappa = 1.0f}}),
     false, lrn64},
    {"dropout", ONE(dropout, IMAGE(32, 5, 3), .opt = {.ratio = 0.4f}), false, dropout64},
    {"dropout of a vector", ONE(dropout, IMAGE(77, 1, 1), .opt = {.ratio = 0.5f}), false,
     dropout64},
    {"batch norm", ONE(batch_norm, IMAGE(32, 3, 4), .opt = {.epsilon = 1e-5f}), true, batch_norm64},
    {"batch norm, relu",
     ONE(batch_norm, IMAGE(16, 3, 4), .opt = {.epsilon = 1e-3f}, .act = DROVEK_RELU), true,
     batch_norm64},
    {"batch norm of a vector", ONE(batch_norm, IMAGE(21, 1, 1), .opt = {.epsilon = 1e-2f}), true,
     batch_norm64},
    {"layer norm",
     ONE(layer_norm, IMAGE(16, 3, 4), .opt = {.epsilon = 1e-5f, .over = {true, true, true}}), true,
     layer_norm64},
    {"layer norm of a vector, tanh",
     ONE(layer_norm, IMAGE(21, 1, 1), .opt = {.epsilon = 1e-2f, .over = {true, true, true}},
         .act = DROVEK_TANH),
     true, layer_norm64},
    {"layer norm by place",
     ONE(layer_norm, IMAGE(17, 3, 2), .opt = {.epsilon = 1e-3f, .over.channels = true}), true,
     layer_norm64},
    {"layer norm by channel, relu",
     ONE(layer_norm, IMAGE(8, 3, 4), .opt = {.epsilon = 1e-5f, .over = {false, true, true}},
         .act = DROVEK_RELU),
     true, layer_norm64},
    {"layer norm by rows",
     ONE(layer_norm, IMAGE(5, 3, 4), .opt = {.epsilon = 1e-5f, .over.width = true}), true,
     layer_norm64},
    {"layer norm by columns",
     ONE(layer_norm, IMAGE(3, 4, 3), .opt = {.epsilon = 1e-5f, .over = {true, true, false}}), true,
     layer_norm64},
    {"prelu by channel", ONE(prelu, IMAGE(32, 3, 4)), true, prelu64},
    {"prelu of one slope", ONE(prelu, IMAGE(16, 3, 4), .opt = {.n_out = 1}), true, prelu64},
    {"prelu of each number", ONE(prelu, IMAGE(16, 3, 4), .opt = {.n_out = 192}), true, prelu64},
    {"prelu of a vector", ONE(prelu, IMAGE(33, 1, 1)), true, prelu64},
    {"concat",
     {.ops = &drove__layer_concat,
      .n_bottoms = 3,
      .n_rows = ROWS,
      .bottom = {{16, 3, 4}, {48, 3, 4}, {32, 3, 4}}},
     false,
     concat64},
    {"concat, uneven",
     {.ops = &drove__layer_concat,
      .n_bottoms = 3,
      .n_rows = ROWS,
      .bottom = {{3, 3, 4}, {17, 3, 4}, {1, 3, 4}}},
     false,
     concat64},
    {"sum",
     {.ops = &drove__layer_sum,
      .n_bottoms = 3,
      .n_rows = ROWS,
      .opt = {.coefficient = {1.0f, -0.5f, 2.0f}},
      .bottom = {{16, 3, 4}, {16, 3, 4}, {16, 3, 4}}},
     false,
     sum64},
    {"sum of two, relu",
     {.ops = &drove__layer_sum,
      .n_bottoms = 2,
      .n_rows = ROWS,
      .act = DROVEK_RELU,
      .bottom = {{32, 3, 3}, {32, 3, 3}}},
     false,
     sum64},
    {"flatten", ONE(flatten, IMAGE(32, 3, 4)), false, flatten64},
    {"relu", ONE(activation, IMAGE(16, 3, 4), .act = DROVEK_RELU), false, activation64},
    {"sigmoid", ONE(activation, IMAGE(16, 3, 4), .act = DROVEK_SIGMOID), false, activation64},
    {"tanh", ONE(activation, IMAGE(17, 3, 4), .act = DROVEK_TANH), false, activation64},
    {"softmax", ONE(softmax, IMAGE(16, 2, 3)), false, softmax64},
    {"reshape", ONE(reshape, IMAGE(16, 3, 4), .opt = {.n_out = 6, .sides = {16, 2, false}}), false,
     reshape64},
    {"reshape to a vector", ONE(reshape, IMAGE(32, 3, 4)), false, reshape64},
    {"reshape of a vector",
     ONE(reshape, IMAGE(48, 1, 1), .opt = {.n_out = 16, .sides = {1, 3, false}}), false, reshape64},
    {"reshape to channels last",
     ONE(reshape, IMAGE(32, 3, 4), .opt = {.n_out = 6, .sides = {16, 4, true}}), false, last64},
    {"scale by channels",
     ONE(scale, IMAGE(16, 3, 2), .opt = {.offset = {16, some}, .factor = {16, some}}), false,
     scale64},
    {"scale of each number",
     ONE(scale, IMAGE(4, 2, 2), .opt = {.offset = {1, some}, .factor = {16, some}}), false,
     scale64},
    {"scale by offsets", ONE(scale, IMAGE(16, 1, 1), .opt = {.offset = {16, some}}), false,
     scale64},
    {"normalize by magnitudes", ONE(normalize, IMAGE(16, 2, 3), .opt = {.power = 1}), false,
     normalize64},
    {"normalize by length", ONE(normalize, IMAGE(21, 1, 1), .opt = {.power = 2}), false,
     normalize64},
    {"clip", ONE(clip, IMAGE(16, 3, 4), .opt = {.bounds = {.low = -0.5f, .high = 0.75f}}), false,
     clip64},
    {"gather", ONE(gather, IMAGE(32, 1, 1), .opt = {.index = {12, places}}), false, gather64},
    {"gather of runs", ONE(gather, IMAGE(26, 1, 1), .opt = {.index = {26, runs}}), false, gather64},
    {"gather of an image", ONE(gather, IMAGE(16, 3, 4), .opt = {.index = {12, places}}), false,
     gather64},
    {"leaky relu",
     ONE(activation, IMAGE(17, 3, 4), .act = DROVEK_CURVE_leaky_relu, .opt = {.slope = 0.2f}),
     false, leaky64},
    {"gelu", ONE(activation, IMAGE(16, 3, 4), .act = DROVEK_CURVE_gelu), false, activation64},
    {"hard swish", ONE(activation, IMAGE(33, 1, 1), .act = DROVEK_CURVE_hard_swish), false,
     activation64},
    {"smooth clip",
     ONE(activation, IMAGE(16, 3, 4), .act = DROVEK_CURVE_smooth_clip, .opt = {.level = 2}), false,
     activation64},
    {"sine", ONE(activation, IMAGE(21, 1, 1), .act = DROVEK_CURVE_sin, .opt = {.slope = 1.5f}),
     false, activation64},
    {"product",
     {.ops = &drove__layer_product,
      .n_bottoms = 2,
      .n_rows = ROWS,
      .bottom = {{16, 3, 4}, {16, 3, 4}}},
     false,
     product64},
    {"product by channels",
     {.ops = &drove__layer_product,
      .n_bottoms = 2,
      .n_rows = ROWS,
      .bottom = {{16, 3, 4}, {16, 1, 1}}},
     false,
     product64},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- inputs and what is expected ---- */

static float x[ONE_LAYER_BOTTOMS][MOST], dy[MOST], before[MOST], y[MOST], first_y[MOST];
static float dx[ONE_LAYER_BOTTOMS][MOST], first_dx[ONE_LAYER_BOTTOMS][MOST];
static double x64[ONE_LAYER_BOTTOMS][MOST], y64[MOST], theta64[4 * 96], changed64[MOST];
static size_t checked[ONE_LAYER_BOTTOMS][N_CHECKED];
/* Slopes of each kind, taken once: all tests draw the same numbers. */
static bool has_slopes[N_KINDS];
static double slopes64[N_KINDS][ONE_LAYER_BOTTOMS][N_CHECKED], theta_slopes64[N_KINDS][4 * 96];

static double *const x64_of[ONE_LAYER_BOTTOMS] = {x64[0], x64[1], x64[2]};
static float *const x_of[ONE_LAYER_BOTTOMS] = {x[0], x[1], x[2]};
static float *const dx_of[ONE_LAYER_BOTTOMS] = {dx[0], dx[1], dx[2]};

static size_t n_inputs(const kind *k, unsigned b)
{
    return ROWS * drove__shape_floats(k->opt.bottom[b]);
}

/* sum of y dy with *number changed by `by` */
static double loss64(const kind *k, const drove_layer *l, double *number, double by)
{
    double was = *number, sum = 0;
    *number = was + by;
    k->forward(l, k->opt.bottom, x64_of, theta64, changed64);
    *number = was;
    for (size_t i = 0; i < ROWS * l->n_out; i++) sum += changed64[i] * (double)dy[i];
    return sum;
}

static double slope(const kind *k, const drove_layer *l, double *number)
{
    const double h = 1e-6;
    return (loss64(k, l, number, h) - loss64(k, l, number, -h)) / (2 * h);
}

static void expect(const kind *k, const drove_layer *l)
{
    drove_rng rng;
    drove__rng_seed(&rng, 5, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < MOST; i++) {
        dy[i] = (float)drove__rng_normal(&rng);
        before[i] = (float)drove__rng_normal(&rng);
        for (unsigned b = 0; b < ONE_LAYER_BOTTOMS; b++)
            x64[b][i] = x[b][i] = (float)drove__rng_normal(&rng);
    }
    for (size_t i = 0; i < sizeof theta64 / sizeof theta64[0]; i++)
        theta64[i] = (float)(1 + 0.3 * drove__rng_normal(&rng));
    k->forward(l, k->opt.bottom, x64_of, theta64, y64);
    for (unsigned b = 0; b < k->opt.n_bottoms; b++)
        for (size_t i = 0; i < N_CHECKED; i++)
            checked[b][i] = drove__rng_below(&rng, n_inputs(k, b));
    if (has_slopes[k - kinds]) return;
    has_slopes[k - kinds] = true;
    for (unsigned b = 0; b < k->opt.n_bottoms; b++)
        for (size_t i = 0; i < N_CHECKED; i++)
            slopes64[k - kinds][b][i] = slope(k, l, &x64[b][checked[b][i]]);
    double *of_theta = theta_slopes64[k - kinds];
    for (size_t i = 0; i < l->n_w; i++) of_theta[i] = slope(k, l, &theta64[l->w_offset + i]);
    for (size_t i = 0; i < l->n_b; i++)
        of_theta[l->n_w + i] = slope(k, l, &theta64[l->b_offset + i]);
}

static void assert_near(const kind *k, const one_layer_options *o, const char *of, size_t i,
                        double got, double want)
{
    if (fabs(got - want) <= BOUND * fmax(1.0, fabs(want))) return;
    fail_msg("%s (%s, format %d, %u parts, adds %d): %s %zu is %.9g, not %.9g", k->what,
             o->isa != NULL ? o->isa : "best", (int)o->format, o->n_parts, o->adds, of, i, got,
             want);
}

/* ---- the checks ---- */

static void check_gradient(const kind *k, const one_layer *t)
{
    const drove_layer *l = one_layer_of(t);
    const double *of_theta = theta_slopes64[k - kinds];
    for (unsigned b = 0; b < k->opt.n_bottoms; b++) {
        for (size_t i = 0; i < N_CHECKED; i++) {
            size_t j = checked[b][i];
            double got = (double)dx[b][j] - (t->given.adds ? (double)before[j] : 0.0);
            assert_near(k, &t->given, "derivative", j, got, slopes64[k - kinds][b][i]);
        }
    }
    for (size_t i = 0; i < l->n_w; i++)
        assert_near(k, &t->given, "weight", i, (double)t->grad[l->w_offset + i], of_theta[i]);
    for (size_t i = 0; i < l->n_b; i++)
        assert_near(k, &t->given, "bias", i, (double)t->grad[l->b_offset + i],
                    of_theta[l->n_w + i]);
    for (size_t i = l->w_offset + l->n_w; i < l->b_offset; i++) assert_true(t->grad[i] == 0.0f);
}

/* The bits of the first variant of the same tier, which has one part and NHWC. */
static void check_same(const kind *k, const one_layer_options *o, size_t n_out)
{
    assert_memory_equal(y, first_y, ROWS * n_out * sizeof *y);
    for (unsigned b = 0; b < o->n_bottoms && !o->adds; b++)
        assert_memory_equal(dx[b], first_dx[b], n_inputs(k, b) * sizeof(float));
}

static void check_variant(const kind *k, const one_layer_options *o, bool is_first)
{
    one_layer t;
    one_layer_init(&t, o);
    const drove_layer *l = one_layer_of(&t);
    for (size_t i = 0; i < t.model.n_params; i++) t.theta[i] = (float)theta64[i];
    one_layer_forward(&t, x_of, y);
    for (size_t i = 0; i < ROWS * l->n_out; i++)
        assert_near(k, o, "output", i, (double)y[i], y64[i]);
    for (unsigned b = 0; b < o->n_bottoms; b++)
        memcpy(dx[b], before, n_inputs(k, b) * sizeof(float));
    one_layer_backward(&t, dy, dx_of);
    check_gradient(k, &t);
    if (is_first) {
        memcpy(first_y, y, ROWS * l->n_out * sizeof *y);
        memcpy(first_dx, dx, sizeof dx);
    } else if (!k->parts_differ && o->format != DROVEK_NCHW8) { /* another tier's blocks: plain C */
        check_same(k, o, l->n_out);
    }
    one_layer_fini(&t);
}

static bool takes(const kind *k, drovek_format format)
{
    for (unsigned b = 0; b < k->opt.n_bottoms; b++) {
        const size_t c = k->opt.bottom[b].c;
        if (c % drovek_block(format, c) != 0) return false;
    }
    return true;
}

static void check_kind(const kind *k, const char *isa)
{
    one_layer_options o = k->opt;
    drove_layer l;
    bool is_first = true;
    assert_int_equal(one_layer_shape(&o, &l), DROVE_OK);
    l.b_offset = (l.n_w + 15) / 16 * 16;
    expect(k, &l);
    o.isa = isa;
    for (o.n_parts = 1; o.n_parts <= 3; o.n_parts++) {
        for (drovek_format f = DROVEK_NHWC; f <= DROVEK_NCHW16; f++) {
            if (!takes(k, f)) continue;
            o.format = f;
            for (unsigned adds = 0; adds < 2; adds++, is_first = false) {
                o.adds = adds != 0;
                check_variant(k, &o, is_first);
            }
        }
    }
}

TEST(test_best_tier)
{
    for (size_t i = 0; i < N_KINDS; i++) check_kind(&kinds[i], NULL);
}

TEST(test_plain_c)
{
    for (size_t i = 0; i < N_KINDS; i++) check_kind(&kinds[i], "ref");
}

/* No derivative wanted below: parameters have theirs all the same. */
TEST(test_without_derivative)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        one_layer t;
        one_layer_options o = kinds[i].opt;
        o.n_parts = 2;
        o.format = DROVEK_NHWC;
        one_layer_init(&t, &o);
        expect(&kinds[i], one_layer_of(&t));
        for (size_t j = 0; j < t.model.n_params; j++) t.theta[j] = (float)theta64[j];
        one_layer_forward(&t, x_of, y);
        for (unsigned b = 0; b < o.n_bottoms; b++) t.bottom[b].dx = NULL;
        one_layer_backward(&t, dy, dx_of);
        for (size_t j = 0; j < one_layer_of(&t)->n_w; j++)
            assert_near(&kinds[i], &o, "weight", j, (double)t.grad[j], theta_slopes64[i][j]);
        for (unsigned b = 0; b < o.n_bottoms; b++) assert_true(isnan(t.dx[b][0]));
        one_layer_fini(&t);
    }
}
