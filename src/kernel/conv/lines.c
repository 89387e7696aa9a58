/* kernel/conv/lines.c - see lines.h: forward, and the derivative at the input. */
#include "kernel/conv/lines.h"

#include "base/mem.h"

#include <string.h>

enum { COPY = 16 };
enum { MOST_TILES = 1024, MOST_IMAGE_TILES = 1024, MOST_TOGETHER = 4 };

/* ---- making ---- */

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

/* Tiles of a line of the input. */
static size_t line_tiles(const drovek_conv_lines *l)
{
    return l->pieces.n * l->pieces.n_tiles;
}

/* Clock cycles of 16 images, counted as those of a matrix of windows. */
static double cost_of(const drovek_conv_lines *l)
{
    const drovek_planes_cost *cost = &l->strips->cost;
    const drovek_conv_shape *s = &l->shape;
    size_t n_lines = 0, n_tiles = 0;
    for (size_t i = 0; i < l->n_strips; i++) n_tiles += l->strip[i].n_tiles;
    for (size_t y = 0; y < s->oh; y++) {
        size_t first, last;
        lines_inside(s, y, &first, &last);
        n_lines += last - first;
    }
    const double products = (double)(cost->multiply * n_lines * n_tiles),
                 sums = (double)(cost->store * s->oh * l->n_strips);
    return products + sums +
           drovek_byte_copy_cost(DROVEK_STRIP * s->h * l->pieces.n,
                                 l->pieces.length * l->strips->number_bytes);
}

static bool is_faster(const drovek_conv_lines *l, double other_cost, size_t max_rows)
{
    const size_t n = drovek_strips_of(max_rows); /* of images: the last may be partly empty */
    const double other = other_cost * (double)(l->shape.oh * l->shape.ow * max_rows);
    return l->n_tiles <= MOST_TILES && l->n_together > 0 &&
           cost_of(l) * (double)(n * DROVEK_STRIP) < other;
}

static bool is_plain(const drovek_conv_shape *s)
{
    return s->groups == 1 && s->window.dh == 1 && s->window.dw == 1 &&
           s->window.kh * s->window.kw * s->c <= DROVEK_PLANES_K;
}

static drove_status make_rest(drovek_conv_lines *l, size_t *size_bytes)
{
    const size_t line = l->shape.ow * l->shape.o * sizeof(float) + DROVE_CACHE_LINE;
    const size_t images = l->n_together * l->shape.h * line_tiles(l) * DROVEK_TILE;
    size_t widest = 0;
    for (size_t i = 0; i < l->n_strips; i++)
        if (l->strip[i].step > widest) widest = l->strip[i].step;
    const size_t columns = DROVEK_STRIP * widest * l->strips->tile_k * l->strips->number_bytes;
    DROVE_TRY(drovek_byte_allocate(&l->columns, columns + 2 * COPY, size_bytes));
    DROVE_TRY(drovek_byte_allocate(&l->bias, line, size_bytes));
    DROVE_TRY(drovek_byte_allocate(&l->by, line, size_bytes));
    DROVE_TRY(drovek_byte_allocate(&l->images, l->strips->most_planes * images, size_bytes));
    return drovek_byte_allocate(&l->tiles, l->strips->most_planes * l->n_tiles * DROVEK_TILE,
                                size_bytes);
}

/* Of strips that are there: whether they are used. */
static drove_status decide(drovek_conv_lines *l, double other_cost, size_t max_rows,
                           size_t *size_bytes)
{
    const size_t n_strips = drovek_strips_of(max_rows), each = l->shape.h * line_tiles(l);
    l->n_together = MOST_IMAGE_TILES / (l->strips->most_planes * each);
    if (l->n_together > MOST_TOGETHER) l->n_together = MOST_TOGETHER;
    if (l->n_together > n_strips) l->n_together = n_strips;
    if (is_faster(l, other_cost, max_rows)) return make_rest(l, size_bytes);
    drovek_conv_lines_fini(l);
    *size_bytes -= l->n_strips * sizeof *l->strip;
    *l = (drovek_conv_lines){.strip = NULL};
    return DROVE_OK;
}

/* Blocks of positions have the same strips, whose tiles they share. */
drove_status drovek_conv_lines_init(drovek_conv_lines *l, const drovek_strips_ops *strips,
                                    const drovek_conv_shape *s, const drovek_conv_shape *b,
                                    double other_cost, size_t max_rows, size_t *size_bytes)
{
    const size_t line = b->window.kw * b->c, n = drovek_strips_of(b->o);
    const size_t n_tiles = strips != NULL ? drovek_tiles_of(strips, line) : 0;
    *l = (drovek_conv_lines){.strips = strips,
                             .shape = *s,
                             .pieces = {b->ow, b->window.sw * b->c, line, n_tiles},
                             .n_strips = b->ow * n,
                             .period = n};
    if (strips == NULL || !is_plain(s) || s->window.pw > 0 ||
        (s->ow - 1) * s->window.sw + s->window.kw > s->w)
        return DROVE_OK;
    l->n_tiles = n * b->window.kh * n_tiles;
    DROVE_TRY(drovek_byte_allocate(&l->strip, l->n_strips * sizeof *l->strip, size_bytes));
    for (size_t i = 0; i < l->n_strips; i++) {
        const size_t block = i / n, at = i % n * DROVEK_STRIP;
        l->strip[i] = (drovek_strip){.a = block * n_tiles,
                                     .n_tiles = n_tiles,
                                     .tile = i % n * b->window.kh * n_tiles,
                                     .step = n_tiles,
                                     .c = block * b->o + at,
                                     .n = b->o - at < DROVEK_STRIP ? b->o - at : DROVEK_STRIP};
    }
    return decide(l, other_cost, max_rows, size_bytes);
}

/* ---- strips of the derivative at the input ---- */

/* Pieces, each of so many positions, [*first, *last) in windows of the positions of strip i, as if
 * lines went on beyond the image on both sides; the strip's last column is that of number `end`. */
static void pieces_of(const drovek_conv_shape *t, size_t positions, size_t i, size_t end,
                      ptrdiff_t *first, ptrdiff_t *last)
{
    const ptrdiff_t g = (ptrdiff_t)positions, pw = (ptrdiff_t)t->window.pw;
    const ptrdiff_t from = (ptrdiff_t)(i * DROVEK_STRIP / t->o) - pw;
    const ptrdiff_t to = (ptrdiff_t)(end / t->o + t->window.kw) - pw;
    *first = (from < 0 ? from - g + 1 : from) / g;
    *last = (to < 0 ? to : to + g - 1) / g;
}

/* Those of them that are inside the image. */
static void pieces_inside(const drovek_conv_lines *l, size_t positions, size_t i, ptrdiff_t *first,
                          ptrdiff_t *last)
{
    const size_t n = l->shape.ow * l->shape.o;
    const size_t end = (i + 1) * DROVEK_STRIP < n ? (i + 1) * DROVEK_STRIP : n;
    pieces_of(&l->shape, positions, i, end - 1, first, last);
    if (*first < 0) *first = 0;
    if (*last > (ptrdiff_t)l->pieces.n) *last = (ptrdiff_t)l->pieces.n;
    if (*first > *last) *first = *last;
}

static drovek_conv_pieces pieces_by(const drovek_strips_ops *strips, const drovek_conv_shape *t,
                                    size_t positions)
{
    const size_t length = positions * t->c;
    return (drovek_conv_pieces){(t->w + positions - 1) / positions, length, length,
                                drovek_tiles_of(strips, length)};
}

/* As many positions of a piece as give strips the fewest tiles. */
static size_t choose_positions(drovek_conv_lines *l)
{
    size_t best = 0, least = SIZE_MAX;
    for (size_t g = 1; g <= l->shape.w && g * l->shape.c <= DROVEK_PLANES_K; g++) {
        size_t n_tiles = 0;
        l->pieces = pieces_by(l->strips, &l->shape, g);
        for (size_t i = 0; i < l->n_strips; i++) {
            ptrdiff_t first, last;
            pieces_inside(l, g, i, &first, &last);
            n_tiles += (size_t)(last - first) * l->pieces.n_tiles;
        }
        if (n_tiles >= least) continue;
        least = n_tiles;
        best = g;
    }
    l->pieces = pieces_by(l->strips, &l->shape, best);
    return best;
}

static size_t greatest_divisor(size_t a, size_t b)
{
    while (b > 0) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Tiles of a line of strip i's whole windows. */
static size_t whole_tiles(const drovek_conv_lines *l, size_t positions, size_t i)
{
    ptrdiff_t first, last;
    const size_t like = i % l->period;
    pieces_of(&l->shape, positions, like, like * DROVEK_STRIP + DROVEK_STRIP - 1, &first, &last);
    return (size_t)(last - first) * l->pieces.n_tiles;
}

/* Strip i, whose whole windows begin at tile `tile` of op(B); parts beyond the image are left out.
 * After each period of strips the same windows are so many pieces further. */
static void set_strip(drovek_conv_lines *l, size_t positions, size_t i, size_t tile)
{
    const drovek_conv_shape *t = &l->shape;
    const size_t n = t->ow * t->o, at = i * DROVEK_STRIP, each = l->pieces.n_tiles;
    ptrdiff_t first, last, from, to;
    pieces_of(t, positions, i, at + DROVEK_STRIP - 1, &from, &to);
    pieces_inside(l, positions, i, &first, &last);
    const size_t skipped = first < last ? (size_t)(first - from) * each : 0;
    l->strip[i] = (drovek_strip){.a = (size_t)first * each,
                                 .n_tiles = (size_t)(last - first) * each,
                                 .tile = tile + skipped,
                                 .step = whole_tiles(l, positions, i),
                                 .c = at,
                                 .n = n - at < DROVEK_STRIP ? n - at : DROVEK_STRIP};
}

static void set_strips(drovek_conv_lines *l, size_t positions)
{
    for (size_t like = 0; like < l->period && like < l->n_strips; like++) {
        for (size_t i = like; i < l->n_strips; i += l->period)
            set_strip(l, positions, i, l->n_tiles);
        l->n_tiles += l->shape.window.kh * whole_tiles(l, positions, like);
    }
}

drove_status drovek_conv_lines_init_back(drovek_conv_lines *l, const drovek_strips_ops *strips,
                                         const drovek_conv_shape *t, double other_cost,
                                         size_t max_rows, size_t *size_bytes)
{
    *l = (drovek_conv_lines){.strips = strips,
                             .shape = *t,
                             .n_strips = drovek_strips_of(t->ow * t->o)};
    if (strips == NULL || !is_plain(t)) return DROVE_OK;
    const size_t positions = choose_positions(l), all = t->o * positions;
    l->period = all / greatest_divisor(DROVEK_STRIP, all);
    DROVE_TRY(drovek_byte_allocate(&l->strip, l->n_strips * sizeof *l->strip, size_bytes));
    set_strips(l, positions);
    return decide(l, other_cost, max_rows, size_bytes);
}

void drovek_conv_lines_fini(drovek_conv_lines *l)
{
    drove__free(l->strip);
    drove__free(l->tiles);
    drove__free(l->images);
    drove__free(l->columns);
    drove__free(l->bias);
    drove__free(l->by);
}

/* ---- weights ---- */

static drovek_planes tiles(const drovek_conv_lines *l, const drovek_planes *w)
{
    return (drovek_planes){.high = l->tiles,
                           .low = w->low != NULL ? l->tiles + l->n_tiles * DROVEK_TILE : NULL,
                           .unit = w->unit};
}

/* to[ow][o] = from[o] */
static void repeat(const drovek_conv_lines *l, const drovek_table *kernels, float *to,
                   const float *from)
{
    for (size_t x = 0; x < l->shape.ow; x++)
        kernels->copy_f32(to + x * l->shape.o, from, l->shape.o);
}

drovek_planes drovek_conv_lines_weights(drovek_conv_lines *l, const drovek_table *kernels,
                                        const drovek_conv_shape *b, const drovek_planes *spread,
                                        const float *bias)
{
    const size_t k = b->window.kw * b->c, n_tiles = drovek_tiles_of(l->strips, k);
    drovek_strips_pack_fn *pack = l->strips->pack;
    const size_t apart = b->window.kh * n_tiles * DROVEK_TILE;
    drovek_planes to = tiles(l, spread);
    for (size_t ky = 0; ky < b->window.kh; ky++) {
        const size_t at = ky * n_tiles * DROVEK_TILE,
                     from = ky * k * b->o * l->strips->number_bytes;
        pack(true, to.high + at, apart, spread->high + from, b->o, false, b->o, k);
        if (to.low == NULL) continue;
        pack(true, to.low + at, apart, spread->low + from, b->o, false, b->o, k);
    }
    if (bias != NULL) repeat(l, kernels, l->bias, bias);
    if (spread->by != NULL) {
        repeat(l, kernels, l->by, spread->by);
        to.by = l->by;
    }
    return to;
}

/* Copies n bytes, and writes zeros behind them. */
static inline void copy_and_clear(uint8_t *to, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i += COPY) memcpy(to + i, from + i, COPY);
    memset(to + n, 0, COPY);
}

/* Strip i's columns for line ky of the window, as rows of `row` numbers: column (x, o) has at
 * (xi, c) the weight of a window at x that covers xi, turned round. */
static void put_columns(const drovek_conv_lines *l, const uint8_t *w, size_t i, size_t ky,
                        size_t row)
{
    const drovek_conv_shape *t = &l->shape;
    const size_t kw = t->window.kw, kernel = t->o * t->c, g = l->pieces.step / t->c;
    const size_t wide = l->pieces.n_tiles * l->strips->tile_k, bytes = l->strips->number_bytes;
    ptrdiff_t first, last;
    pieces_of(t, g, i, i * DROVEK_STRIP + DROVEK_STRIP - 1, &first, &last);
    for (size_t j = 0; j < DROVEK_STRIP; j++) {
        const size_t x = (i * DROVEK_STRIP + j) / t->o, o = (i * DROVEK_STRIP + j) % t->o;
        const ptrdiff_t begin = (ptrdiff_t)x - (ptrdiff_t)t->window.pw - first * (ptrdiff_t)g;
        uint8_t *to = l->columns + j * row * bytes;
        memset(to, 0, row * bytes);
        for (size_t kx = 0; kx < kw; kx++) {
            const size_t xi = (size_t)begin + kx, at = (t->window.kh - 1 - ky) * kw + kw - 1 - kx;
            copy_and_clear(to + (xi / g * wide + xi % g * t->c) * bytes,
                           w + (at * kernel + o * t->c) * bytes, t->c * bytes);
        }
    }
}

static void turn_plane(const drovek_conv_lines *l, uint8_t *to, const uint8_t *w)
{
    for (size_t i = 0; i < l->period && i < l->n_strips; i++) {
        const size_t n_tiles = l->strip[i].step, row = n_tiles * l->strips->tile_k;
        for (size_t ky = 0; ky < l->shape.window.kh; ky++, to += n_tiles * DROVEK_TILE) {
            put_columns(l, w, i, ky, row);
            l->strips->pack(true, to, 0, l->columns, row, true, DROVEK_STRIP, row);
        }
    }
}

drovek_planes drovek_conv_lines_turned(drovek_conv_lines *l, const drovek_planes *w)
{
    drovek_planes to = tiles(l, w);
    turn_plane(l, to.high, w->high);
    if (to.low != NULL) turn_plane(l, to.low, w->low);
    return to;
}

/* ---- products ---- */

/* Packs n images of one plane. */
static void pack_plane(const drovek_conv_lines *l, uint8_t *to, const uint8_t *x, size_t n)
{
    const drovek_conv_shape *s = &l->shape;
    const drovek_conv_pieces *p = &l->pieces;
    const size_t line = s->w * s->c, apart = s->h * line_tiles(l) * DROVEK_TILE;
    const size_t bytes = l->strips->number_bytes;
    for (size_t y = 0; y < s->h; y++, x += line * bytes)
        for (size_t i = 0, at = 0; i < p->n; i++, at += p->step, to += p->n_tiles * DROVEK_TILE) {
            const size_t k = line - at < p->length ? line - at : p->length;
            l->strips->pack(false, to, apart, x + at * bytes, s->h * line, true, n, k);
        }
}

static drovek_planes pack_images(const drovek_conv_lines *l, const drovek_planes *x, size_t n)
{
    drovek_planes to = {.high = l->images, .unit = x->unit};
    pack_plane(l, to.high, x->high, n);
    if (x->low == NULL) return to;
    to.low = l->images + l->n_together * l->shape.h * line_tiles(l) * DROVEK_TILE;
    pack_plane(l, to.low, x->low, n);
    return to;
}

/* Of packed images. */
static void multiply_some(const drovek_conv_lines *l, const drovek_planes *images,
                          const drovek_planes *packed, size_t n, bool adds, float *y,
                          drovek_planes_end *end)
{
    const drovek_conv_shape *s = &l->shape;
    const size_t row = s->ow * s->o, line = line_tiles(l);
    const drovek_strips b = {
        .strip = l->strip, .n_strips = l->n_strips, .line = line, .tiles = *packed};
    for (size_t oy = 0; oy < s->oh; oy++) {
        size_t first, last;
        lines_inside(s, oy, &first, &last);
        const size_t at = first < last ? (oy * s->window.sh + first - s->window.ph) * line : 0;
        const drovek_planes from = drovek_planes_from(images, at * DROVEK_TILE);
        l->strips->lines(&b, first, last - first, n, &from, s->h * line, adds, y + oy * row,
                         s->oh * row, end);
    }
}

void drovek_conv_lines_multiply(const drovek_conv_lines *l, const drovek_planes *x,
                                const drovek_planes *packed, size_t n, bool adds, float *y,
                                drovek_planes_end *end)
{
    const drovek_conv_shape *s = &l->shape;
    const size_t n_in = s->h * s->w * s->c * l->strips->number_bytes, n_out = s->oh * s->ow * s->o;
    const size_t most = l->n_together * DROVEK_STRIP;
    for (size_t i = 0, some; i < n; i += some) {
        const drovek_planes from = drovek_planes_from(x, i * n_in);
        some = n - i < most ? n - i : most;
        const drovek_planes images = pack_images(l, &from, some);
        multiply_some(l, &images, packed, some, adds, y + i * n_out, end);
    }
}
