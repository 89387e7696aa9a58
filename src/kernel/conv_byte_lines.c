/* kernel/conv_byte_lines.c - see conv_byte_lines.h: forward, and the derivative at the input. */
#include "kernel/conv_byte_lines.h"

#include "base/mem.h"

#include <string.h>

enum { MOST_PLANES = 2, COPY = 16, MOST_TILES = 1024 };

/* ---- making ---- */

static drove_status allocate(void *to, size_t n_bytes, size_t *size_bytes)
{
    void *memory = drove__alloc(n_bytes, 1);
    if (memory == NULL) return drove__fail_nomem("convolution", n_bytes);
    memcpy(to, &memory, sizeof memory);
    *size_bytes += n_bytes;
    return DROVE_OK;
}

static size_t strips_of(size_t n)
{
    return (n + DROVEK_STRIP - 1) / DROVEK_STRIP;
}

static size_t tiles_of(size_t k)
{
    return (k + DROVEK_TILE_K - 1) / DROVEK_TILE_K;
}

/* The lines of a window, [*first, *last), that are inside the image at line y of the output. */
static void lines_inside(const drovek_conv_shape *s, size_t y, size_t *first, size_t *last)
{
    const drovek_window *w = &s->window;
    const size_t begin = y * w->sh;
    *first = begin < w->ph ? w->ph - begin : 0;
    *last = s->h + w->ph > begin ? s->h + w->ph - begin : 0;
    if (*last > w->kh) *last = w->kh;
    if (*first > *last) *first = *last;
}

/* Clock cycles of 16 images, as cost_of (conv_byte_matrix.c) counts them. */
static double cost(const drovek_byte_lines *l)
{
    const drovek_conv_shape *s = &l->shape;
    size_t n_lines = 0, n_tiles = 0;
    for (size_t i = 0; i < l->n_strips; i++) n_tiles += l->strip[i].n_tiles;
    for (size_t y = 0; y < s->oh; y++) {
        size_t first, last;
        lines_inside(s, y, &first, &last);
        n_lines += last - first;
    }
    return (double)(16 * n_lines * n_tiles + 64 * s->oh * l->n_strips);
}

static bool is_faster(const drovek_byte_lines *l, const drovek_planes_cost *of_matrix,
                      const drovek_byte_matrix *v, size_t max_rows)
{
    const size_t n = strips_of(max_rows); /* of images: the last may be partly empty */
    const double matrix =
        drovek_byte_matrix_cost(v, of_matrix) * (double)(l->shape.oh * l->shape.ow * max_rows);
    return l->n_tiles <= MOST_TILES && cost(l) * (double)(n * DROVEK_STRIP) < matrix;
}

static bool is_plain(const drovek_conv_shape *s)
{
    return s->groups == 1 && s->window.dh == 1 && s->window.dw == 1 &&
           s->window.kh * s->window.kw * s->c <= DROVEK_PLANES_K;
}

static drove_status make_rest(drovek_byte_lines *l, size_t *size_bytes)
{
    const size_t line = l->shape.ow * l->shape.o * sizeof(float), k = l->shape.w * l->shape.c;
    const size_t row = tiles_of(k) * DROVEK_TILE_K + COPY;
    DROVE_TRY(allocate(&l->columns, DROVEK_STRIP * row, size_bytes));
    DROVE_TRY(allocate(&l->bias, line + DROVE_CACHE_LINE, size_bytes));
    DROVE_TRY(allocate(&l->by, line + DROVE_CACHE_LINE, size_bytes));
    return allocate(&l->tiles, MOST_PLANES * l->n_tiles * DROVEK_TILE, size_bytes);
}

/* Goes on, or leaves nothing. */
static drove_status decide(drovek_byte_lines *l, const drovek_table *kernels,
                           const drovek_byte_matrix *v, size_t max_rows, size_t *size_bytes)
{
    if (is_faster(l, &kernels->planes->cost, v, max_rows)) return make_rest(l, size_bytes);
    drovek_byte_lines_fini(l);
    *l = (drovek_byte_lines){.strip = NULL};
    return DROVE_OK;
}

/* Blocks of positions have the same strips, whose tiles they share. */
drove_status drovek_byte_lines_init(drovek_byte_lines *l, const drovek_table *kernels,
                                    const drovek_conv_shape *s, const drovek_byte_matrix *v,
                                    size_t max_rows, size_t *size_bytes)
{
    const drovek_conv_shape *b = &v->shape;
    const size_t n = strips_of(b->o), n_tiles = tiles_of(b->window.kw * b->c);
    *l = (drovek_byte_lines){.shape = *s, .n_strips = b->ow * n};
    if (kernels->planes->lines == NULL || !is_plain(s) || s->window.pw > 0 ||
        (s->ow - 1) * s->window.sw + s->window.kw > s->w)
        return DROVE_OK;
    l->n_tiles = n * b->window.kh * n_tiles;
    DROVE_TRY(allocate(&l->strip, l->n_strips * sizeof *l->strip, size_bytes));
    for (size_t i = 0; i < l->n_strips; i++) {
        const size_t block = i / n, at = i % n * DROVEK_STRIP;
        l->strip[i] = (drovek_strip){.a = block * b->window.sw * b->c,
                                     .n_tiles = n_tiles,
                                     .tile = i % n * b->window.kh * n_tiles,
                                     .c = block * b->o + at,
                                     .n = b->o - at < DROVEK_STRIP ? b->o - at : DROVEK_STRIP};
    }
    return decide(l, kernels, v, max_rows, size_bytes);
}

/* Positions [*first, *last) of a line of the input in windows of the positions of strip i. */
static void positions_of(const drovek_conv_shape *t, size_t i, size_t *first, size_t *last)
{
    const drovek_window *w = &t->window;
    const size_t from = i * DROVEK_STRIP / t->o, n = t->ow * t->o;
    const size_t end = (i + 1) * DROVEK_STRIP < n ? (i + 1) * DROVEK_STRIP : n;
    *first = from > w->pw ? from - w->pw : 0;
    *last = (end - 1) / t->o + w->kw;
    *last = *last > w->pw ? *last - w->pw : 0;
    if (*last > t->w) *last = t->w;
    if (*first > *last) *first = *last;
}

drove_status drovek_byte_lines_init_back(drovek_byte_lines *l, const drovek_table *kernels,
                                         const drovek_conv_shape *t, const drovek_byte_matrix *v,
                                         size_t max_rows, size_t *size_bytes)
{
    const size_t n = t->ow * t->o;
    *l = (drovek_byte_lines){.shape = *t, .n_strips = strips_of(n)};
    if (kernels->planes->lines == NULL || !is_plain(t)) return DROVE_OK;
    DROVE_TRY(allocate(&l->strip, l->n_strips * sizeof *l->strip, size_bytes));
    for (size_t i = 0; i < l->n_strips; i++) {
        size_t first, last;
        positions_of(t, i, &first, &last);
        const size_t at = i * DROVEK_STRIP;
        l->strip[i] = (drovek_strip){.a = first * t->c,
                                     .n_tiles = tiles_of((last - first) * t->c),
                                     .tile = l->n_tiles,
                                     .c = at,
                                     .n = n - at < DROVEK_STRIP ? n - at : DROVEK_STRIP};
        l->n_tiles += t->window.kh * l->strip[i].n_tiles;
    }
    return decide(l, kernels, v, max_rows, size_bytes);
}

void drovek_byte_lines_fini(drovek_byte_lines *l)
{
    drove__free(l->strip);
    drove__free(l->tiles);
    drove__free(l->columns);
    drove__free(l->bias);
    drove__free(l->by);
}

/* ---- weights ---- */

static drovek_planes tiles(const drovek_byte_lines *l, const drovek_planes *w)
{
    return (drovek_planes){.high = l->tiles,
                           .low = w->low != NULL ? l->tiles + l->n_tiles * DROVEK_TILE : NULL,
                           .unit = w->unit};
}

/* to[ow][o] = from[o] */
static void repeat(const drovek_byte_lines *l, const drovek_table *kernels, float *to,
                   const float *from)
{
    for (size_t x = 0; x < l->shape.ow; x++)
        kernels->copy_f32(to + x * l->shape.o, from, l->shape.o);
}

drovek_planes drovek_byte_lines_weights(drovek_byte_lines *l, const drovek_table *kernels,
                                        const drovek_byte_matrix *v, const drovek_planes *spread,
                                        const float *bias)
{
    const drovek_conv_shape *b = &v->shape;
    const size_t k = b->window.kw * b->c, n_tiles = tiles_of(k);
    const size_t apart = b->window.kh * n_tiles * DROVEK_TILE;
    drovek_planes to = tiles(l, spread);
    for (size_t ky = 0; ky < b->window.kh; ky++) {
        const size_t at = ky * n_tiles * DROVEK_TILE, from = ky * k * b->o;
        kernels->planes->pack(true, to.high + at, apart, spread->high + from, b->o, false, b->o, k);
        if (to.low == NULL) continue;
        kernels->planes->pack(true, to.low + at, apart, spread->low + from, b->o, false, b->o, k);
    }
    if (bias != NULL) repeat(l, kernels, l->bias, bias);
    if (spread->by != NULL) {
        repeat(l, kernels, l->by, spread->by);
        to.by = l->by;
    }
    return to;
}

/* Copies n bytes, and more behind them. */
static inline void copy_and_more(uint8_t *to, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i += COPY) memcpy(to + i, from + i, COPY);
}

/* Strip i's columns for line ky of the window, as rows of `row` bytes: column (x, o) has at (xi, c)
 * the weight of a window at x that covers xi, turned round. */
static void put_columns(const drovek_byte_lines *l, const uint8_t *w, size_t i, size_t ky,
                        size_t row)
{
    const drovek_conv_shape *t = &l->shape;
    const drovek_strip *strip = &l->strip[i];
    const size_t kw = t->window.kw, pw = t->window.pw, kernel = t->o * t->c;
    size_t first, last;
    positions_of(t, i, &first, &last);
    for (size_t j = 0; j < strip->n; j++) {
        const size_t x = (strip->c + j) / t->o, o = (strip->c + j) % t->o;
        const size_t from = x > pw ? x - pw : 0, beyond = x + kw > pw ? x + kw - pw : 0;
        const size_t end = beyond < last ? beyond : last;
        uint8_t *to = l->columns + j * row;
        memset(to, 0, (from - first) * t->c);
        for (size_t xi = from; xi < end; xi++) {
            const size_t kx = xi + pw - x, at = (t->window.kh - 1 - ky) * kw + kw - 1 - kx;
            copy_and_more(to + (xi - first) * t->c, w + at * kernel + o * t->c, t->c);
        }
        memset(to + (end - first) * t->c, 0, strip->n_tiles * DROVEK_TILE_K - (end - first) * t->c);
    }
}

static void turn_plane(const drovek_byte_lines *l, const drovek_table *kernels, uint8_t *to,
                       const uint8_t *w)
{
    for (size_t i = 0; i < l->n_strips; i++) {
        const drovek_strip *strip = &l->strip[i];
        const size_t k = strip->n_tiles * DROVEK_TILE_K, row = k + COPY;
        for (size_t ky = 0; ky < l->shape.window.kh; ky++) {
            put_columns(l, w, i, ky, row);
            kernels->planes->pack(true, to + (strip->tile + ky * strip->n_tiles) * DROVEK_TILE, 0,
                                  l->columns, row, true, strip->n, k);
        }
    }
}

drovek_planes drovek_byte_lines_turned(drovek_byte_lines *l, const drovek_table *kernels,
                                       const drovek_planes *w)
{
    drovek_planes to = tiles(l, w);
    turn_plane(l, kernels, to.high, w->high);
    if (to.low != NULL) turn_plane(l, kernels, to.low, w->low);
    return to;
}

/* ---- products ---- */

void drovek_byte_lines_multiply(const drovek_byte_lines *l, const drovek_table *kernels,
                                const drovek_planes *x, const drovek_planes *packed, size_t n,
                                bool adds, float *y, drovek_planes_end *end)
{
    const drovek_conv_shape *s = &l->shape;
    const size_t line = s->w * s->c, row = s->ow * s->o;
    const drovek_strips b = {.strip = l->strip,
                             .n_strips = l->n_strips,
                             .line = line,
                             .k = s->window.kw * s->c,
                             .tiles = *packed};
    for (size_t oy = 0; oy < s->oh; oy++) {
        size_t first, last;
        lines_inside(s, oy, &first, &last);
        const size_t at = first < last ? (oy * s->window.sh + first - s->window.ph) * line : 0;
        const drovek_planes from = drovek_planes_from(x, at);
        kernels->planes->lines(&b, first, last - first, n, &from, s->h * line, adds, y + oy * row,
                               s->oh * row, end);
    }
}
