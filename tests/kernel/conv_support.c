#include "conv_support.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two orders of the same sum of n products of numbers from N(0, 1): their difference stays below
 * this times epsilon sqrt(n) (1 + the largest sum, about 5 sqrt(n)). */
static const double CONV_BOUND = 24.0;

drovek_window square(size_t k, size_t step, size_t padding, size_t distance)
{
    return (drovek_window){k, k, step, step, padding, padding, distance, distance};
}

static size_t n_windows(size_t size, size_t k, size_t step, size_t padding, size_t distance)
{
    return (size + 2 * padding - ((k - 1) * distance + 1)) / step + 1;
}

drovek_conv_shape conv_shape(size_t c, size_t h, size_t w, size_t o, size_t groups,
                             drovek_window win)
{
    return (drovek_conv_shape){c,
                               h,
                               w,
                               o,
                               n_windows(h, win.kh, win.sh, win.ph, win.dh),
                               n_windows(w, win.kw, win.sw, win.pw, win.dw),
                               groups,
                               win};
}

const drovek_conv_shape *conv_shapes(void)
{
    static drovek_conv_shape shape[48];
    size_t n = 0;
    shape[n++] = conv_shape(1, 28, 28, 20, 1, square(5, 1, 0, 1));
    shape[n++] = conv_shape(20, 12, 12, 50, 1, square(5, 1, 0, 1));
    shape[n++] = conv_shape(3, 32, 32, 32, 1, square(5, 1, 2, 1));
    shape[n++] = conv_shape(3, 35, 33, 16, 1, square(11, 4, 0, 1));
    shape[n++] = conv_shape(3, 17, 19, 64, 1, square(7, 2, 3, 1));
    shape[n++] = conv_shape(32, 9, 9, 64, 2, square(5, 1, 2, 1));
    shape[n++] = conv_shape(96, 7, 7, 64, 2, square(3, 1, 1, 1));
    shape[n++] = conv_shape(64, 6, 5, 48, 1, square(3, 1, 1, 1));
    shape[n++] = conv_shape(16, 13, 11, 32, 1, square(3, 2, 1, 1));
    shape[n++] = conv_shape(48, 7, 7, 32, 1, square(1, 1, 0, 1));
    shape[n++] = conv_shape(30, 5, 7, 18, 3, square(1, 1, 0, 1));
    shape[n++] = conv_shape(32, 8, 8, 16, 1, square(1, 2, 0, 1));
    shape[n++] = conv_shape(32, 4, 4, 48, 1, square(4, 1, 0, 1)); /* window = image */
    shape[n++] = conv_shape(6, 4, 4, 10, 2, square(4, 1, 0, 1));
    shape[n++] = conv_shape(16, 11, 12, 16, 1, square(3, 1, 2, 2));
    shape[n++] = conv_shape(4, 12, 9, 6, 2, square(3, 2, 2, 3));
    shape[n++] = conv_shape(5, 9, 9, 7, 1, (drovek_window){2, 3, 2, 1, 0, 1, 1, 2});
    shape[n++] = conv_shape(16, 10, 8, 32, 1, (drovek_window){1, 5, 1, 1, 0, 2, 1, 1});
    shape[n++] = conv_shape(7, 3, 3, 9, 1, square(3, 1, 2, 1));
    shape[n++] = conv_shape(8, 6, 6, 8, 8, square(3, 1, 1, 1)); /* one channel a group */
    shape[n++] = conv_shape(1, 1, 1, 1, 1, square(1, 1, 0, 1));
    shape[n++] = conv_shape(2, 2, 2, 3, 1, square(3, 1, 1, 1));
    shape[n++] = conv_shape(4, 4, 3, 2, 1, square(1, 1, 2, 1));    /* windows of padding alone */
    shape[n++] = conv_shape(3, 64, 60, 32, 1, square(3, 1, 1, 1)); /* several chunks an image */
    shape[n++] = conv_shape(64, 24, 24, 16, 1, square(5, 1, 2, 1));
    shape[n++] = conv_shape(40, 2, 2, 24, 1, square(3, 1, 1, 1)); /* most taps in the padding */
    shape[n++] = conv_shape(12, 4, 3, 20, 1, square(3, 2, 1, 1));
    shape[n++] = conv_shape(4, 1, 2, 6, 1, square(1, 1, 1, 1)); /* as above, few positions */
    /* the last window ends before the image does */
    shape[n++] = conv_shape(16, 8, 8, 16, 1, square(3, 2, 0, 1));
    /* zeros at one end of a side alone, or more there than at the other: the sizes of the output
     * say how many stand below and to the right */
    shape[n] = conv_shape(8, 8, 6, 16, 1, square(3, 2, 0, 1)); /* TensorFlow's "same" */
    shape[n++].oh++, shape[n - 1].ow++;
    shape[n] = conv_shape(3, 12, 12, 8, 1, square(3, 2, 0, 1)); /* of few channels */
    shape[n++].oh++, shape[n - 1].ow++;
    shape[n] = conv_shape(4, 7, 6, 5, 1, square(2, 2, 0, 1)); /* below alone */
    shape[n++].oh++;
    shape[n] = conv_shape(8, 7, 6, 8, 8, square(3, 2, 0, 1)); /* one channel a group */
    shape[n++].oh++, shape[n - 1].ow++;
    shape[n] = conv_shape(16, 7, 7, 16, 1, square(2, 1, 0, 1));
    shape[n++].oh++, shape[n - 1].ow++;
    shape[n] = conv_shape(16, 7, 9, 8, 1, square(4, 1, 2, 1));
    shape[n++].oh--, shape[n - 1].ow--;
    shape[n] = conv_shape(3, 9, 9, 32, 1, (drovek_window){1, 5, 1, 1, 0, 4, 1, 1}); /* causal */
    shape[n++].ow -= 4;
    shape[n] = conv_shape(12, 1, 40, 16, 1, (drovek_window){1, 5, 1, 1, 0, 2, 1, 1}); /* 1-d */
    n++;
    /* each channel by itself: stride, edges alone, windows that leave places out, odd channels */
    shape[n++] = conv_shape(16, 9, 14, 16, 16, square(3, 1, 1, 1));
    shape[n++] = conv_shape(40, 11, 10, 40, 40, square(5, 2, 2, 1));
    shape[n++] = conv_shape(24, 2, 2, 24, 24, square(5, 1, 2, 1));
    shape[n++] = conv_shape(13, 12, 11, 13, 13, (drovek_window){2, 7, 3, 2, 0, 1, 1, 1});
    shape[n] = (drovek_conv_shape){0};
    return shape;
}

size_t conv_n_in(const drovek_conv_shape *s)
{
    return s->c * s->h * s->w;
}

size_t conv_n_out(const drovek_conv_shape *s)
{
    return s->o * s->oh * s->ow;
}

size_t conv_n_weights(const drovek_conv_shape *s)
{
    return s->window.kh * s->window.kw * (s->c / s->groups) * s->o;
}

const char *conv_name(const drovek_conv_shape *s)
{
    static _Thread_local char text[160];
    const drovek_window *w = &s->window;
    snprintf(text, sizeof text,
             "%zux%zux%zu -> %zux%zux%zu, window %zux%zu / %zux%zu + %zux%zu * %zux%zu, groups %zu",
             s->c, s->h, s->w, s->o, s->oh, s->ow, w->kh, w->kw, w->sh, w->sw, w->ph, w->pw, w->dh,
             w->dw, s->groups);
    return text;
}

/* The first n numbers of a sequence, which are drawn once. */
static float *numbers(size_t n, uint64_t seed)
{
    enum { N_SEEDS = 6 };
    static struct {
        float *x;
        size_t n;
    } known[N_SEEDS];
    assert_true(seed < N_SEEDS);
    if (known[seed].x == NULL || known[seed].n < n) {
        free(known[seed].x);
        known[seed].x = malloc((n + 1) * sizeof *known[seed].x);
        known[seed].n = n;
        assert_non_null(known[seed].x);
        fill_normal(known[seed].x, n, 1.0, seed);
    }
    return guarded_floats(known[seed].x, n, PLACE_TURN);
}

conv_inputs conv_inputs_of(const conv_case *c)
{
    const drovek_conv_shape *s = c->shape;
    const size_t n_x = c->n_rows * conv_n_in(s), n_y = c->n_rows * conv_n_out(s);
    const size_t n_w = conv_n_weights(s);
    const conv_inputs in = {.x = numbers(n_x, 1),
                            .w = numbers(n_w, 2),
                            .b = numbers(s->o, 3),
                            .dy = numbers(n_y, 4),
                            .dx = numbers(n_x, 5)};
    for (size_t i = 0; c->rounds && i < n_x; i++) in.x[i] = drovek_bf16(in.x[i]);
    for (size_t i = 0; c->rounds && i < n_w; i++) in.w[i] = drovek_bf16(in.w[i]);
    for (size_t i = 0; c->rounds && i < n_y; i++) in.dy[i] = drovek_bf16(in.dy[i]);
    return in;
}

/* A copy in another format. */
static float *as(drovek_format format, const float *x, size_t n_rows, size_t c, size_t h, size_t w)
{
    float *out = guarded_floats(NULL, n_rows * c * h * w, PLACE_TURN);
    drovek_reformat(x, DROVEK_NHWC, out, format, n_rows, c, h, w, false);
    return out;
}

static float *back(drovek_format format, const float *x, size_t n_rows, size_t c, size_t h,
                   size_t w)
{
    float *out = guarded_floats(NULL, n_rows * c * h * w, PLACE_TURN);
    drovek_reformat(x, format, out, DROVEK_NHWC, n_rows, c, h, w, false);
    return out;
}

bool conv_compute(const conv_case *c, conv_results *out)
{
    const drovek_conv_shape *s = c->shape;
    drovek_conv_options opt = {.shape = *s,
                               .act = c->act,
                               .rows = c->rows,
                               .max_rows = c->n_rows > c->rows ? c->n_rows : c->rows,
                               .passes =
                                   DROVEK_CONV_FORWARD | DROVEK_CONV_DATA | DROVEK_CONV_WEIGHTS,
                               .in = c->in,
                               .out = c->out,
                               .way = c->way,
                               .kernels = c->tier};
    drovek_conv *conv;
    if (c->adds && c->rows > 2) opt.passes |= DROVEK_CONV_ADDS;
    drove_status status = drovek_conv_create(&opt, &conv);
    if (status == DROVE_E_UNSUPPORTED) return false;
    assert_int_equal(status, DROVE_OK);
    assert_true(drovek_conv_bytes(conv) > 0);
    conv_inputs in = conv_inputs_of(c);
    float *x = as(c->in, in.x, c->n_rows, s->c, s->h, s->w);
    float *dx = as(c->in, in.dx, c->n_rows, s->c, s->h, s->w);
    float *dy = as(c->out, in.dy, c->n_rows, s->o, s->oh, s->ow);
    float *y = guarded_floats(NULL, c->n_rows * conv_n_out(s), PLACE_TURN);
    out->dw = guarded_floats(NULL, conv_n_weights(s), PLACE_TURN);
    drovek_conv_forward(conv, x, in.w, in.b, y, c->n_rows);
    drovek_conv_weights(conv, x, dy, out->dw, c->n_rows);
    drovek_conv_data(conv, dy, in.w, dx, c->n_rows, c->adds);
    out->y = back(c->out, y, c->n_rows, s->o, s->oh, s->ow);
    out->dx = back(c->in, dx, c->n_rows, s->c, s->h, s->w);
    drovek_conv_destroy(conv);
    return true;
}

static void compare(const conv_case *c, const char *what, size_t n, size_t n_terms,
                    const float *got, const float *wanted)
{
    double root = sqrt((double)n_terms + 1.0);
    double bound = CONV_BOUND * 0x1p-23 * root * (1.0 + 0.2 * root);
    for (size_t i = 0; i < n; i++) {
        if (fabs((double)got[i] - wanted[i]) <= bound) continue;
        fail_msg("%s by %s (%s), formats %d %d, rows %zu of %zu: %s [%zu] is %.9g, wanted %.9g",
                 conv_name(c->shape), c->way, c->tier->isa, (int)c->in, (int)c->out, c->n_rows,
                 c->rows, what, i, (double)got[i], (double)wanted[i]);
    }
}

void conv_compare(const conv_case *c, const conv_results *got, const conv_results *wanted)
{
    const drovek_conv_shape *s = c->shape;
    const size_t n_taps = s->window.kh * s->window.kw;
    compare(c, "y", c->n_rows * conv_n_out(s), n_taps * s->c / s->groups, got->y, wanted->y);
    compare(c, "dx", c->n_rows * conv_n_in(s), n_taps * s->o / s->groups, got->dx, wanted->dx);
    compare(c, "dw", conv_n_weights(s), c->n_rows * s->oh * s->ow, got->dw, wanted->dw);
}

void conv_check_plain(const conv_case *c, const char *way)
{
    conv_case named = *c, plain = *c;
    conv_results got, wanted;
    plain.tier = &drovek_ref;
    plain.way = "ref";
    assert_true(conv_compute(c, &got));
    assert_true(conv_compute(&plain, &wanted));
    named.way = way;
    conv_compare(&named, &got, &wanted);
    guarded_free_all();
}

/* ---- counted calls ---- */

static const drovek_strips_ops *counted;
static conv_calls *counts;

static void count_lines(const drovek_strips *b, size_t first, size_t n_lines, size_t m,
                        const drovek_planes *a, size_t apart, bool adds, float *c, size_t ldc,
                        drovek_planes_end *end)
{
    counts->n_lines++;
    counted->lines(b, first, n_lines, m, a, apart, adds, c, ldc, end);
}

static void count_places(size_t m, size_t n, size_t n_places, const drovek_planes *a,
                         const uint32_t *row, const drovek_planes *b, const uint32_t *tile,
                         bool adds, float *c, size_t ldc)
{
    counts->n_places++;
    counted->places(m, n, n_places, a, row, b, tile, adds, c, ldc);
}

drovek_strips_ops conv_counting(const drovek_strips_ops *own, conv_calls *calls)
{
    drovek_strips_ops counting = *own;
    counted = own;
    counts = calls;
    *calls = (conv_calls){0};
    counting.lines = count_lines;
    counting.places = count_places;
    return counting;
}
