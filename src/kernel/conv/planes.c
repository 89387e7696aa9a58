/* kernel/conv/planes.c - convolution of integers kept as bytes (kernel/planes.h), as matrix
 * products whose left factor has windows as rows.
 *
 * Forward and the gradient of the weights take windows of the input.  The derivative at the input
 * is a convolution as well where windows move by 1: of the derivatives at the output, with the
 * weights turned round.  So each of its numbers is one sum of integers.  Where windows move further
 * it is added up window by window, as singles.
 *
 * As in gemm.c a chunk of lines is written and multiplied, and its output gets bias and
 * activation while it is in the cache.  Where one chunk has all windows of the input, the gradient
 * of the weights finds them there.
 *
 * Where that is faster there are no windows: lines of the images are multiplied
 * (lines.h).
 *
 * Integers come by drovek_conv_take.
 */
#include "kernel/conv/lines.h"
#include "kernel/conv/byte_matrix.h"
#include "kernel/conv/columns.h"
#include "kernel/conv/ops.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define BACK_BYTES   ((size_t)768 << 10) /* of derivatives of columns; or one line */
#define POOLED_BYTES ((size_t)256 << 10) /* of outputs between product and pooling; or one image */

enum { MOST_PLANES = 2 };

typedef struct integer_conv {
    drovek_byte_matrix in, out; /* of the input; of the derivatives at the output */
    uint8_t *image;             /* [planes][h][w][c]; NULL: the input has this layout */
    size_t image_bytes;         /* of one plane */
    bool gathers;               /* the derivative at the input is a convolution */
    size_t n_back;              /* else: lines of a chunk of back */
    float *back; /* [n_back * ow][k] derivatives of columns; NULL: not wanted, or direct */
    float *wide; /* of blocks: bias, units of weights, units of derivatives, gradient */
    drovek_conv_lines lines, lines_back; /* in place of a matrix of windows, if faster */
    drovek_conv_places places;
} integer_conv;

/* ---- shapes ---- */

/* Whether the convolution turned round has more than a quarter more products: of the zeros round
 * its images. */
static bool is_wasteful(const drovek_conv_shape *s)
{
    return 4 * s->h * s->w > 5 * s->oh * s->ow;
}

/* ---- making ---- */

/* Floats of blocks of the input: see wide_bias and those behind it. */
static drove_status make_wide(drovek_conv *conv, integer_conv *v)
{
    const size_t o = drove__pad_floats(v->in.shape.o), n = 3 * o + v->in.k * v->in.shape.o;
    if (v->in.block == 1) return DROVE_OK;
    return drovek_byte_allocate(&v->wide, n * sizeof *v->wide, &conv->size_bytes);
}

static drove_status make_data(drovek_conv *conv, integer_conv *v)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const size_t k = drovek_byte_matrix_k(s), line_floats = s->ow * k;
    if ((conv->opt.passes & DROVEK_CONV_DATA) == 0) return DROVE_OK;
    const drovek_planes_cost *cost = &conv->opt.kernels->planes->cost;
    v->gathers = drovek_conv_can_turn_round(s) && !(cost->spares_products && is_wasteful(s));
    if (v->gathers) {
        const drovek_conv_shape t = drovek_conv_turned_round(s);
        DROVE_TRY(drovek_byte_matrix_init(&v->out, &t, cost, conv->opt.max_rows, false, true,
                                          &conv->size_bytes));
        return drovek_conv_lines_init_back(&v->lines_back, conv->opt.kernels->planes->strips, &t,
                                           drovek_byte_matrix_cost(&v->out, cost),
                                           conv->opt.max_rows, &conv->size_bytes);
    }
    v->n_back =
        drovek_byte_matrix_lines(s, conv->opt.max_rows, line_floats * sizeof(float), BACK_BYTES);
    return drovek_byte_allocate(&v->back,
                                (v->n_back * line_floats + DROVEK_COLUMNS_SLACK) * sizeof(float),
                                &conv->size_bytes);
}

static drove_status make_direct(drovek_conv *conv, integer_conv *v)
{
    const drovek_planes_ops *planes = conv->opt.kernels->planes;
    const drovek_conv_shape *s = &conv->opt.shape, *b = &v->in.shape;
    DROVE_TRY(drovek_conv_lines_init(&v->lines, planes->strips, s, b,
                                     drovek_byte_matrix_cost(&v->in, &planes->cost),
                                     conv->opt.max_rows, &conv->size_bytes));
    if ((conv->opt.passes & DROVEK_CONV_WEIGHTS) == 0) return DROVE_OK;
    return drovek_conv_places_init(&v->places, planes->strips, s, b, conv->opt.max_rows,
                                   &conv->size_bytes);
}

static drove_status create(drovek_conv *conv)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const bool turns = conv->opt.in == DROVEK_NCHW && s->c > 1;
    if (conv->opt.kernels->planes == NULL || drovek_is_blocked(conv->opt.in) ||
        conv->opt.out != DROVEK_NHWC || (turns && (conv->opt.passes & DROVEK_CONV_DATA)))
        return drove__fail(DROVE_E_UNSUPPORTED, "convolution: planes is for plain integers");
    integer_conv *v = conv->state = drove__alloc(1, sizeof *v);
    if (v == NULL) return drove__fail_nomem("convolution", sizeof *v);
    *v = (integer_conv){.image_bytes = s->c * s->h * s->w + DROVE_CACHE_LINE};
    conv->size_bytes = sizeof *v;
    if (turns)
        DROVE_TRY(drovek_byte_allocate(&v->image, MOST_PLANES * v->image_bytes, &conv->size_bytes));
    DROVE_TRY(drovek_byte_matrix_init(&v->in, s, &conv->opt.kernels->planes->cost,
                                      conv->opt.max_rows, turns, false, &conv->size_bytes));
    DROVE_TRY(make_wide(conv, v));
    if (!turns) DROVE_TRY(make_direct(conv, v));
    return make_data(conv, v);
}

static void destroy(drovek_conv *conv)
{
    integer_conv *v = conv->state;
    if (v == NULL) return;
    drovek_byte_matrix_fini(&v->in);
    drovek_byte_matrix_fini(&v->out);
    drovek_conv_lines_fini(&v->lines);
    drovek_conv_lines_fini(&v->lines_back);
    drovek_conv_places_fini(&v->places);
    drove__free(v->image);
    drove__free(v->back);
    drove__free(v->wide);
    drove__free(v);
}

/* ---- what blocks need ---- */

/* [block * o] each, and the gradient of the weights, [k][block * o] */
static float *wide_bias(const integer_conv *v)
{
    return v->wide;
}

static float *wide_units(const integer_conv *v, bool of_derivatives)
{
    return v->wide + (of_derivatives ? 2 : 1) * drove__pad_floats(v->in.shape.o);
}

static float *wide_gradient(const integer_conv *v)
{
    return v->wide + 3 * drove__pad_floats(v->in.shape.o);
}

/* to[block][o] = from[o]; from NULL: NULL. */
static const float *repeat(const drovek_conv *conv, float *to, const float *from)
{
    const size_t o = conv->opt.shape.o, block = ((const integer_conv *)conv->state)->in.block;
    for (size_t g = 0; from != NULL && g < block; g++)
        conv->opt.kernels->copy_f32(to + g * o, from, o);
    return from != NULL ? to : NULL;
}

/* ---- chunks ---- */

/* Converts the next image if the chunk that begins at `line` is its first. */
static void convert_image(const drovek_conv *conv, size_t line)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const integer_conv *v = conv->state;
    const drovek_planes *x = &conv->taken.x;
    const size_t first = line / s->oh * (s->c * s->h * s->w);
    drovek_planes_turn_fn *turn = conv->opt.kernels->planes->turn;
    if (v->image == NULL || line % s->oh != 0) return;
    turn(v->image, x->high + first, s->c, s->h * s->w);
    if (x->low != NULL) turn(v->image + v->image_bytes, x->low + first, s->c, s->h * s->w);
}

/* The same of the input. */
static drovek_planes take_input(const drovek_conv *conv, size_t group, size_t line, size_t n_lines,
                                bool is_there, size_t *step)
{
    const integer_conv *v = conv->state;
    drovek_planes x = conv->taken.x;
    if (v->image == NULL)
        return drovek_byte_matrix_chunk(&v->in, &x, group, line, n_lines, is_there, step);
    x.high = v->image;
    if (x.low != NULL) x.low = v->image + v->image_bytes;
    return drovek_byte_matrix_chunk(&v->in, &x, group, line % conv->opt.shape.oh, n_lines, is_there,
                                    step);
}

static size_t lines_left(const integer_conv *v, size_t line, size_t all)
{
    const size_t oh = v->in.shape.oh;
    const size_t end = v->image != NULL ? line - line % oh + oh : all;
    return end - line < v->in.n_lines ? end - line : v->in.n_lines;
}

/* ---- passes ---- */

/* n_lines lines of outputs from their windows. */
static void multiply_lines(const drovek_conv *conv, const drovek_planes *windows_of, size_t step,
                           const drovek_planes *weight, size_t n_lines, float *y,
                           drovek_planes_end *end)
{
    const drovek_byte_matrix *v = &((const integer_conv *)conv->state)->in;
    const drovek_conv_shape *s = &v->shape;
    const size_t og = s->o / s->groups;
    conv->opt.kernels->planes->gemm(false, false, n_lines * s->ow, og, v->k, windows_of, step,
                                    weight, og, false, y, s->o, end);
}

/* The images [first, first + n), some at a time: their outputs go to y, and stay in the cache until
 * their maxima are found. */
static void multiply_and_pool(const drovek_conv *conv, const drovek_planes *windows_of, size_t step,
                              const drovek_planes *weight, float *y, size_t first, size_t n,
                              drovek_planes_end *end)
{
    const drovek_byte_matrix *v = &((const integer_conv *)conv->state)->in;
    const drovek_pool *p = conv->pooled.pool;
    const size_t n_out = p->c * p->oh * p->ow, n_lines = v->shape.oh;
    const size_t image_bytes = p->c * p->h * p->w * sizeof *y;
    const size_t most = image_bytes < POOLED_BYTES ? POOLED_BYTES / image_bytes : 1;
    for (size_t i = 0, some; i < n; i += some) {
        const size_t at = (first + i) * n_out;
        const drovek_planes rows = drovek_planes_from(windows_of, i * n_lines * v->shape.ow * step);
        some = n - i < most ? n - i : most;
        multiply_lines(conv, &rows, step, weight, some * n_lines, y, end);
        conv->opt.kernels->max_pool_f32(p, y, conv->pooled.to + at, conv->pooled.place + at, some);
    }
}

/* By lines of images.  Pooled, as many at a time as fill tiles and stay in the cache. */
static void forward_lines(drovek_conv *conv, const drovek_planes *weight, const float *b, float *y,
                          size_t n_rows, drovek_planes_end *end)
{
    integer_conv *v = conv->state;
    const drovek_conv_shape *s = &conv->opt.shape;
    const drovek_table *k = conv->opt.kernels;
    const size_t n_in = s->c * s->h * s->w, n_out = s->o * s->oh * s->ow;
    const drovek_planes tiles = drovek_conv_lines_weights(&v->lines, k, &v->in.shape, weight, b);
    const drovek_pool *p = conv->pooled.pool;
    size_t most = n_rows;
    if (b != NULL) end->bias = v->lines.bias;
    if (conv->pooled.to != NULL) {
        most = POOLED_BYTES / (n_out * sizeof *y);
        most = most < 2 * DROVEK_STRIP ? DROVEK_STRIP : most - most % DROVEK_STRIP;
    }
    for (size_t i = 0, n; i < n_rows; i += n) {
        const drovek_planes from = drovek_planes_from(&conv->taken.x, i * n_in);
        n = n_rows - i < most ? n_rows - i : most;
        drovek_conv_lines_multiply(&v->lines, &from, &tiles, n, false, y, end);
        if (conv->pooled.to == NULL) break;
        const size_t at = i * p->c * p->oh * p->ow;
        k->max_pool_f32(p, y, conv->pooled.to + at, conv->pooled.place + at, n);
    }
    conv->has_windows = false;
}

static void forward_windows(drovek_conv *conv, drovek_planes *weight, const float *b, float *y,
                            size_t n_rows, drovek_planes_end *end)
{
    integer_conv *v = conv->state;
    const drovek_conv_shape *s = &v->in.shape;
    const size_t og = s->o / s->groups, n_lines = n_rows * s->oh;
    if (v->in.block > 1) {
        b = repeat(conv, wide_bias(v), b);
        weight->by = repeat(conv, wide_units(v, false), weight->by);
    }
    for (size_t line = 0, n; line < n_lines; line += n) {
        n = lines_left(v, line, n_lines);
        convert_image(conv, line);
        for (size_t g = 0; g < s->groups; g++) {
            size_t step;
            const drovek_planes c = take_input(conv, g, line, n, false, &step);
            const drovek_planes from = drovek_planes_columns(weight, g * v->in.k * og, g * og);
            end->bias = b + g * og;
            if (conv->pooled.to != NULL)
                multiply_and_pool(conv, &c, step, &from, y, line / s->oh, n / s->oh, end);
            else multiply_lines(conv, &c, step, &from, n, y + line * s->ow * s->o + g * og, end);
        }
        conv->has_windows = n == n_lines && s->groups == 1;
    }
}

static void forward(drovek_conv *conv, const float *x, const float *w, const float *b, float *y,
                    size_t n_rows)
{
    integer_conv *v = conv->state;
    drovek_planes weight = drovek_byte_matrix_weights(&v->in, &conv->opt.shape, &conv->taken.w);
    drovek_planes_end end = {.relu = conv->opt.act == DROVEK_RELU};
    assert(conv->pooled.to == NULL || drovek_conv_can_pool(conv));
    (void)x, (void)w;
    if (v->lines.tiles != NULL) forward_lines(conv, &weight, b, y, n_rows, &end);
    else forward_windows(conv, &weight, b, y, n_rows, &end);
    conv->largest = end.largest;
    conv->pooled.to = NULL;
}

static void weights(drovek_conv *conv, const float *x, const float *dy, float *dw, size_t n_rows)
{
    const integer_conv *v = conv->state;
    const drovek_conv_shape *s = &v->in.shape;
    const size_t og = s->o / s->groups, n_lines = n_rows * s->oh;
    float *to = v->in.block > 1 ? wide_gradient(v) : dw;
    drovek_planes d = conv->taken.dy;
    (void)x, (void)dy;
    if (v->in.block > 1) d.by = repeat(conv, wide_units(v, true), d.by);
    const drovek_conv_pooled pooled = {conv->pooled_dy.pool, conv->pooled_dy.place};
    if (v->places.images != NULL)
        drovek_conv_places_sum(&v->places, &conv->taken.x, &d, &pooled, n_rows, to);
    for (size_t line = 0, n; v->places.images == NULL && line < n_lines; line += n) {
        n = lines_left(v, line, n_lines);
        if (!conv->has_windows) convert_image(conv, line);
        for (size_t g = 0; g < s->groups; g++) {
            size_t step;
            const drovek_planes c = take_input(conv, g, line, n, conv->has_windows, &step);
            const drovek_planes part =
                drovek_planes_columns(&d, line * s->ow * s->o + g * og, g * og);
            conv->opt.kernels->planes->gemm(true, false, v->in.k, og, n * s->ow, &c, step, &part,
                                            s->o, line > 0, to + g * v->in.k * og, og, NULL);
        }
    }
    if (v->in.block > 1)
        drovek_byte_matrix_fold(&v->in, conv->opt.kernels, &conv->opt.shape, to,
                                pooled.pool != NULL ? pooled.pool->kw : 1, dw);
    conv->pooled_dy.pool = NULL;
}

/* The same as gather, by lines of images. */
static void gather_lines(drovek_conv *conv, float *dx, size_t n_rows, bool adds)
{
    integer_conv *v = conv->state;
    const drovek_planes tiles = drovek_conv_lines_turned(&v->lines_back, &conv->taken.w);
    drovek_planes_end end = {.bias = NULL};
    drovek_conv_lines_multiply(&v->lines_back, &conv->taken.dy, &tiles, n_rows, adds, dx, &end);
    conv->largest_dx = end.largest;
}

/* Each number of dx is a sum of products of derivatives. */
static void gather(drovek_conv *conv, float *dx, size_t n_rows, bool adds)
{
    const integer_conv *v = conv->state;
    const drovek_conv_shape *t = &v->out.shape;
    const size_t cg = t->o / t->groups, n_lines = n_rows * t->oh;
    const drovek_planes weight =
        drovek_byte_matrix_turned(&v->out, &conv->opt.shape, &conv->taken.w);
    drovek_planes_end end = {.bias = NULL};
    for (size_t line = 0, n; line < n_lines; line += n) {
        n = n_lines - line < v->out.n_lines ? n_lines - line : v->out.n_lines;
        for (size_t g = 0; g < t->groups; g++) {
            size_t step;
            const drovek_planes d =
                drovek_byte_matrix_chunk(&v->out, &conv->taken.dy, g, line, n, false, &step);
            const drovek_planes from = drovek_planes_from(&weight, g * v->out.k * cg);
            conv->opt.kernels->planes->gemm(false, true, n * t->ow, cg, v->out.k, &d, step, &from,
                                            v->out.k, adds, dx + line * t->ow * t->o + g * cg, t->o,
                                            &end);
        }
    }
    conv->largest_dx = end.largest;
}

/* dx is added up from the derivatives of windows. */
static void scatter(drovek_conv *conv, float *dx, size_t n_rows, bool adds)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const integer_conv *v = conv->state;
    const size_t og = s->o / s->groups, k = drovek_byte_matrix_k(s), n_lines = n_rows * s->oh;
    if (!adds) memset(dx, 0, n_rows * s->c * s->h * s->w * sizeof *dx);
    for (size_t line = 0, n; line < n_lines; line += n) {
        n = n_lines - line < v->n_back ? n_lines - line : v->n_back;
        for (size_t g = 0; g < s->groups; g++) {
            const size_t at = line * s->ow * s->o + g * og;
            const drovek_planes d = drovek_planes_from(&conv->taken.dy, at),
                                own = drovek_planes_from(&conv->taken.w, g * k * og);
            conv->opt.kernels->planes->gemm(false, true, n * s->ow, k, og, &d, s->o, &own, og,
                                            false, v->back, k, NULL);
            drovek_columns_back(s, v->back, g, line, n, dx);
        }
    }
    conv->largest_dx = UINT32_MAX;
}

static void data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                 bool adds)
{
    const integer_conv *v = conv->state;
    (void)dy, (void)w;
    if (v->lines_back.tiles != NULL) gather_lines(conv, dx, n_rows, adds);
    else if (v->gathers) gather(conv, dx, n_rows, adds);
    else scatter(conv, dx, n_rows, adds);
}

bool drovek_conv_can_pool(const drovek_conv *conv)
{
    const integer_conv *v = conv->state;
    return conv->ops == &drovek_conv_planes && v->in.shape.groups == 1 &&
           v->in.n_lines >= v->in.shape.oh;
}

bool drovek_conv_can_take_pooled(const drovek_conv *conv, const drovek_pool *p)
{
    const integer_conv *v = conv->state;
    return conv->ops == &drovek_conv_planes && (conv->opt.passes & DROVEK_CONV_DATA) == 0 &&
           drovek_conv_places_can_pool(&v->places, p);
}

const drovek_conv_ops drovek_conv_planes = {.name = "planes",
                                            .create = create,
                                            .destroy = destroy,
                                            .forward = forward,
                                            .data = data,
                                            .weights = weights};
