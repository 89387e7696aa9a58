/* kernel/conv/byte_matrix.c - see byte_matrix.h. */
#include "kernel/conv/byte_columns.h"
#include "kernel/conv/byte_matrix.h"

#include "base/mem.h"

#include <string.h>

#define CHUNK_BYTES ((size_t)768 << 10) /* of columns, but at least one line */

enum { MOST_PLANES = 2, COPY_BYTES = 64, COPY_ROWS = 16, MOST_BLOCK = 16, SET = 1024 };

/* ---- shapes ---- */

/* The convolution whose positions are blocks of n positions of s, of one group without dilation. */
static drovek_conv_shape in_blocks(const drovek_conv_shape *s, size_t n)
{
    drovek_conv_shape wide = *s;
    wide.window.kw += (n - 1) * s->window.sw;
    wide.window.sw *= n;
    wide.ow /= n;
    wide.o *= n;
    return wide;
}

/* Whether output positions are rows of the input in place. */
static bool is_direct(const drovek_conv_shape *s)
{
    const drovek_window *w = &s->window;
    return w->ph == 0 && w->pw == 0 && w->kh == 1 && w->kw == 1 && w->sh == 1 && w->sw == 1 &&
           s->oh == s->h && s->ow == s->w;
}

drovek_conv_shape drovek_conv_turned_round(const drovek_conv_shape *s)
{
    drovek_conv_shape t = {.c = s->o,
                           .h = s->oh,
                           .w = s->ow,
                           .o = s->c,
                           .oh = s->h,
                           .ow = s->w,
                           .groups = s->groups,
                           .window = s->window};
    t.window.ph = (s->window.kh - 1) * s->window.dh - s->window.ph;
    t.window.pw = (s->window.kw - 1) * s->window.dw - s->window.pw;
    return t;
}

bool drovek_conv_can_turn_round(const drovek_conv_shape *s)
{
    const drovek_window *w = &s->window;
    return w->sh == 1 && w->sw == 1 && w->ph <= (w->kh - 1) * w->dh && w->pw <= (w->kw - 1) * w->dw;
}

size_t drovek_byte_matrix_k(const drovek_conv_shape *s)
{
    return s->window.kh * s->window.kw * (s->c / s->groups);
}

double drovek_byte_copy_cost(size_t n, size_t n_bytes)
{
    return (double)(n * (2 + 2 * ((n_bytes + COPY_BYTES - 1) / COPY_BYTES)));
}

/* Clock cycles of 16 rows, of blocks, roughly. */
static double cost_of_rows(const drovek_conv_shape *wide, const drovek_planes_cost *cost,
                           bool copies)
{
    const size_t line = wide->window.kw * wide->c, k = wide->window.kh * line;
    const size_t n_k = (k + cost->k - 1) / cost->k;
    const size_t n_columns = (wide->o + cost->columns - 1) / cost->columns;
    const double n_copies = copies ? drovek_byte_copy_cost(COPY_ROWS * wide->window.kh, line) : 0.0;
    return (double)(n_columns * (cost->multiply * n_k + cost->store)) + n_copies;
}

static double cost_of(const drovek_conv_shape *s, const drovek_planes_cost *cost, size_t block)
{
    const drovek_conv_shape wide = in_blocks(s, block);
    return cost_of_rows(&wide, cost, true) / (double)block;
}

double drovek_byte_matrix_cost(const drovek_byte_matrix *v, const drovek_planes_cost *cost)
{
    return cost_of_rows(&v->shape, cost, !v->is_direct) / (double)v->block;
}

/* A sum stays one that is rounded once, if it is without blocks. */
static size_t choose_block(const drovek_conv_shape *s, const drovek_planes_cost *cost)
{
    size_t best = 1;
    if (s->groups > 1 || s->window.dw > 1 || is_direct(s)) return 1;
    for (size_t n = 2; n <= s->ow && n <= MOST_BLOCK; n++) {
        const drovek_conv_shape wide = in_blocks(s, n);
        if (s->ow % n != 0 || drovek_byte_matrix_k(&wide) > DROVEK_PLANES_K) continue;
        if (cost_of(s, cost, n) < cost_of(s, cost, best)) best = n;
    }
    return best;
}

/* ---- making ---- */

size_t drovek_byte_matrix_lines(const drovek_conv_shape *s, size_t max_rows, size_t line_bytes,
                                size_t most)
{
    size_t n = most / line_bytes, all = max_rows * s->oh;
    if (n < 1) n = 1;
    if (n > s->oh) n -= n % s->oh; /* NOLINT(clang-analyzer-core.DivideZero): oh >= 1 */
    return n < all ? n : all;
}

drove_status drovek_byte_allocate(void *to, size_t n_bytes, size_t *size_bytes)
{
    void *memory = drove__alloc(n_bytes, 1);
    if (memory == NULL) return drove__fail_nomem("convolution", n_bytes);
    memset(memory, 0, n_bytes);
    memcpy(to, &memory, sizeof memory);
    *size_bytes += n_bytes;
    return DROVE_OK;
}

/* Where a chunk holds whole images, they get their padding before their windows are copied, which
 * then all lie inside. */
static drove_status make_padded(drovek_byte_matrix *v, size_t *size_bytes)
{
    const drovek_conv_shape *s = &v->shape;
    const drovek_window *w = &s->window;
    drovek_conv_shape *p = &v->padded;
    *p = *s;
    if ((w->ph == 0 && w->pw == 0) || w->dw > 1 || v->n_lines < s->oh) return DROVE_OK;
    p->h = (s->oh - 1) * w->sh + (w->kh - 1) * w->dh + 1;
    p->w = (s->ow - 1) * w->sw + w->kw;
    if (p->h < s->h + w->ph) p->h = s->h + w->ph;
    if (p->w < s->w + w->pw) p->w = s->w + w->pw;
    p->window.ph = p->window.pw = 0;
    const size_t n_bytes = p->h * p->w * p->c + DROVE_CACHE_LINE;
    return drovek_byte_allocate(&v->zeros, n_bytes, size_bytes);
}

static drove_status make_weights(drovek_byte_matrix *v, size_t *size_bytes)
{
    const size_t n_planes = v->number_bytes == 1 ? MOST_PLANES : 1;
    v->weight_bytes = v->k * v->shape.o * v->number_bytes + DROVE_CACHE_LINE;
    return drovek_byte_allocate(&v->weight, n_planes * v->weight_bytes, size_bytes);
}

static drovek_byte_matrix blocks_of(const drovek_conv_shape *s, const drovek_planes_cost *cost,
                                    size_t number_bytes)
{
    const size_t block = choose_block(s, cost);
    drovek_byte_matrix v = {.shape = in_blocks(s, block),
                            .block = block,
                            .number_bytes = number_bytes,
                            .is_direct = is_direct(s)};
    v.k = drovek_byte_matrix_k(&v.shape);
    return v;
}

drove_status drovek_byte_matrix_init(drovek_byte_matrix *v, const drovek_conv_shape *s,
                                     const drovek_planes_cost *cost, size_t max_rows, bool by_image,
                                     bool reorders, size_t *size_bytes)
{
    const size_t line = DROVE_CACHE_LINE;
    *v = blocks_of(s, cost, 1);
    v->stride = (v->k + line - 1) / line * line;
    if (v->stride % SET == 0) v->stride += line; /* rows in different sets of the first cache */
    v->n_lines =
        drovek_byte_matrix_lines(&v->shape, max_rows, v->shape.ow * v->stride, CHUNK_BYTES);
    if (by_image && v->n_lines > s->oh) v->n_lines = s->oh;
    v->col_bytes = v->n_lines * v->shape.ow * v->stride + line;
    if (v->is_direct) return DROVE_OK;
    DROVE_TRY(drovek_byte_allocate(&v->col, MOST_PLANES * v->col_bytes, size_bytes));
    DROVE_TRY(make_padded(v, size_bytes));
    return v->block > 1 || reorders ? make_weights(v, size_bytes) : DROVE_OK;
}

drove_status drovek_byte_matrix_init_blocks(drovek_byte_matrix *v, const drovek_conv_shape *s,
                                            const drovek_planes_cost *cost, size_t number_bytes,
                                            size_t *size_bytes)
{
    *v = blocks_of(s, cost, number_bytes);
    return v->block > 1 ? make_weights(v, size_bytes) : DROVE_OK;
}

void drovek_byte_matrix_fini(drovek_byte_matrix *v)
{
    drove__free(v->col);
    drove__free(v->zeros);
    drove__free(v->weight);
}

/* ---- weights ---- */

/* to[kh][kw of blocks][c][block][o] = W[kh][kw][c][o], elsewhere 0. */
static void spread_plane(const drovek_conv_shape *s, const drovek_byte_matrix *v, uint8_t *to,
                         const uint8_t *from)
{
    const size_t o = s->o * v->number_bytes, row = v->shape.o * v->number_bytes;
    memset(to, 0, v->k * row);
    for (size_t ky = 0; ky < s->window.kh; ky++)
        for (size_t kx = 0; kx < s->window.kw; kx++)
            for (size_t c = 0; c < s->c; c++, from += o)
                for (size_t g = 0; g < v->block; g++) {
                    const size_t x = g * s->window.sw + kx;
                    memcpy(to + ((ky * v->shape.window.kw + x) * s->c + c) * row + g * o, from, o);
                }
}

/* to[groups][block][c / groups][kh][kw of blocks][o / groups] = W[groups][kh][kw][c / groups]
 * [o / groups], windows turned round, elsewhere 0. */
static void turn_plane(const drovek_conv_shape *s, const drovek_byte_matrix *v, uint8_t *to,
                       const uint8_t *from)
{
    const size_t og = s->o / s->groups, cg = s->c / s->groups;
    const size_t kh = s->window.kh, kw = s->window.kw, wide = v->shape.window.kw;
    if (v->block > 1) memset(to, 0, v->k * v->shape.o);
    for (size_t group = 0; group < s->groups; group++)
        for (size_t q = 0; q < kh * kw; q++)
            for (size_t c = 0; c < cg; c++, from += og)
                for (size_t g = 0; g < v->block; g++) {
                    const size_t y = kh - 1 - q / kw, x = g + kw - 1 - q % kw;
                    uint8_t *row = to + ((group * v->block + g) * cg + c) * v->k;
                    memcpy(row + (y * wide + x) * og, from, og);
                }
}

typedef void order_plane_fn(const drovek_conv_shape *s, const drovek_byte_matrix *v, uint8_t *to,
                            const uint8_t *from);

static drovek_planes ordered(const drovek_byte_matrix *v, const drovek_conv_shape *s,
                             const drovek_planes *w, order_plane_fn *order)
{
    drovek_planes to = *w;
    if (v->weight == NULL) return to;
    order(s, v, v->weight, w->high);
    to.high = v->weight;
    if (w->low == NULL) return to;
    order(s, v, v->weight + v->weight_bytes, w->low);
    to.low = v->weight + v->weight_bytes;
    return to;
}

drovek_planes drovek_byte_matrix_weights(const drovek_byte_matrix *v, const drovek_conv_shape *s,
                                         const drovek_planes *w)
{
    return ordered(v, s, w, spread_plane);
}

drovek_planes drovek_byte_matrix_turned(const drovek_byte_matrix *v, const drovek_conv_shape *s,
                                        const drovek_planes *w)
{
    return ordered(v, s, w, turn_plane);
}

void drovek_byte_matrix_fold(const drovek_byte_matrix *v, const drovek_table *kernels,
                             const drovek_conv_shape *s, const float *from, size_t n, float *dw)
{
    const size_t o = s->o, row = v->shape.o;
    for (size_t ky = 0; ky < s->window.kh; ky++)
        for (size_t kx = 0; kx < s->window.kw; kx++)
            for (size_t c = 0; c < s->c; c++, dw += o)
                for (size_t g = 0; g < v->block; g++) {
                    const size_t x = g * s->window.sw + kx;
                    const size_t at = (g % n * (v->block / n) + g / n) * o;
                    const float *part =
                        from + ((ky * v->shape.window.kw + x) * s->c + c) * row + at;
                    kernels->copy_rows_f32(dw, o, part, o, 1, o, g > 0);
                }
}

/* ---- chunks ---- */

/* The windows of one plane of a chunk. */
static void put_rows(const drovek_byte_matrix *v, const uint8_t *x, size_t group, size_t line,
                     size_t n_lines, uint8_t *col)
{
    const drovek_conv_shape *s = &v->shape, *p = &v->padded;
    const size_t row = s->w * s->c, wide = p->w * s->c;
    if (v->zeros == NULL) {
        drovek_byte_columns(s, x, group, line, n_lines, col, v->stride);
        return;
    }
    for (size_t l = line, n; l < line + n_lines; l += n, col += n * s->ow * v->stride) {
        const uint8_t *image = x + l / s->oh * s->h * row;
        uint8_t *to = v->zeros + s->window.ph * wide + s->window.pw * s->c;
        for (size_t i = 0; i < s->h; i++) memcpy(to + i * wide, image + i * row, row);
        n = s->oh - l % s->oh < line + n_lines - l ? s->oh - l % s->oh : line + n_lines - l;
        drovek_byte_columns(p, v->zeros, group, l % s->oh, n, col, v->stride);
    }
}

drovek_planes drovek_byte_matrix_chunk(const drovek_byte_matrix *v, const drovek_planes *x,
                                       size_t group, size_t line, size_t n_lines, bool is_there,
                                       size_t *step)
{
    const drovek_conv_shape *s = &v->shape;
    drovek_planes col = *x;
    *step = v->is_direct ? s->c : v->stride;
    if (v->is_direct)
        return drovek_planes_from(x, line * s->ow * s->c + group * (s->c / s->groups));
    col.high = v->col;
    if (x->low != NULL) col.low = v->col + v->col_bytes;
    if (is_there) return col;
    put_rows(v, x->high, group, line, n_lines, col.high);
    if (x->low != NULL) put_rows(v, x->low, group, line, n_lines, col.low);
    return col;
}
