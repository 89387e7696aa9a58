/* kernel/conv/places.c - see lines.h: the gradient of the weights. */
#include "kernel/conv/lines.h"

#include "base/mem.h"

#include <string.h>

enum { ROW = DROVEK_TILE / DROVEK_STRIP }; /* bytes of a tile */

#define MOST_IMAGES ((size_t)1 << 20)   /* bytes of turned images, of all planes        */
#define MOST_TILES  ((size_t)256 << 10) /* of tiles of derivatives of a plane at a time */

/* ---- making ---- */

/* Padded to: of a line. */
static size_t padded_width(const drovek_conv_shape *s)
{
    const size_t covered = (s->ow - 1) * s->window.sw + s->window.kw, all = s->w + s->window.pw;
    return covered > all ? covered : all;
}

/* Whether it is worth it: full tiles, of which few are wasted on lines of windows. */
static bool is_faster(const drovek_conv_places *g, size_t max_rows)
{
    const size_t line = g->shape.window.kw * g->shape.c, k = g->shape.window.kh * line,
                 images = g->strips->tile_k, blocks = (max_rows + images - 1) / images;
    return g->strips->most_planes * g->n_images <= MOST_IMAGES && g->n_lines > 0 &&
           4 * max_rows >= 3 * blocks * images &&
           2 * g->shape.window.kh * drovek_strips_of(line) * DROVEK_STRIP <= 3 * k;
}

drove_status drovek_conv_places_init(drovek_conv_places *g, const drovek_strips_ops *strips,
                                     const drovek_conv_shape *s, const drovek_conv_shape *b,
                                     size_t max_rows, size_t *size_bytes)
{
    const size_t place = drovek_strips_of(b->o) * DROVEK_TILE;
    *g = (drovek_conv_places){.strips = strips, .shape = *b, .row = padded_width(s) * s->c};
    if (strips == NULL || s->groups > 1 || s->window.dw > 1) return DROVE_OK;
    g->n_lines = MOST_TILES / (b->ow * place);
    if (g->n_lines > b->oh) g->n_lines = b->oh;
    while (g->n_lines * b->ow > DROVEK_PLACES) g->n_lines--;
    g->n_images = (b->h * g->row + DROVEK_STRIP) * ROW;
    g->n_tiles = g->n_lines * b->ow * place;
    if (!is_faster(g, max_rows)) return DROVE_OK;
    DROVE_TRY(drovek_byte_allocate(&g->tiles, strips->most_planes * g->n_tiles, size_bytes));
    DROVE_TRY(
        drovek_byte_allocate(&g->places, 2 * g->n_lines * b->ow * sizeof *g->places, size_bytes));
    DROVE_TRY(drovek_byte_allocate(&g->pooled, 3 * place, size_bytes));
    return drovek_byte_allocate(&g->images, strips->most_planes * g->n_images, size_bytes);
}

void drovek_conv_places_fini(drovek_conv_places *g)
{
    drove__free(g->images);
    drove__free(g->tiles);
    drove__free(g->places);
    drove__free(g->pooled);
}

/* ---- summing ---- */

/* to[h][row][terms] = x[n][h][w][c]: images become terms; the padding stays 0. */
static void turn_images(const drovek_conv_places *g, uint8_t *to, const uint8_t *x, size_t n)
{
    const drovek_conv_shape *s = &g->shape;
    const size_t line = s->w * s->c, left = s->window.pw * s->c;
    for (size_t y = 0; y < s->h; y++)
        g->strips->pack(false, to + (y * g->row + left) * ROW, DROVEK_TILE,
                        x + y * line * g->strips->number_bytes, s->h * line, false, line, n);
}

/* The derivatives of the lines [first, first + n_lines), position after position. */
static void pack_lines(const drovek_conv_places *g, uint8_t *to, const uint8_t *dy, size_t first,
                       size_t n_lines, size_t n)
{
    const drovek_conv_shape *s = &g->shape;
    const size_t place = drovek_strips_of(s->o) * DROVEK_TILE;
    for (size_t p = first * s->ow; p < (first + n_lines) * s->ow; p++, to += place)
        g->strips->pack(true, to, DROVEK_TILE, dy + p * s->o * g->strips->number_bytes,
                        s->oh * s->ow * s->o, false, s->o, n);
}

/* ---- derivatives behind max pooling ---- */

static bool covers_once(size_t side, size_t n, size_t k, size_t step, size_t pad)
{
    return step == k && pad == 0 && n * k == side;
}

bool drovek_conv_places_can_pool(const drovek_conv_places *g, const drovek_pool *p)
{
    if (g->images == NULL) return false; /* no products here: there is no shape */
    const size_t block = p->w / g->shape.ow, n = g->shape.o / p->kw;
    return covers_once(p->h, p->oh, p->kh, p->sh, p->ph) &&
           covers_once(p->w, p->ow, p->kw, p->sw, p->pw) && block % p->kw == 0 &&
           n % DROVEK_STRIP == 0 && g->n_lines % p->kh == 0;
}

/* to = the numbers of from[n] whose place is `which`, and zeros */
static void pick(uint8_t *restrict to, const uint8_t *restrict from, const uint8_t *restrict place,
                 uint8_t which, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = from[i] & (place[i] == which ? 255 : 0);
}

/* As pack_lines, of both planes.  A block's derivatives behind the pooling, and where they belong,
 * are packed once; then each element of a window has a strip of its own for every strip of them. */
static void pack_pooled(const drovek_conv_places *g, const drovek_conv_pooled *pooled,
                        const drovek_planes *to, const drovek_planes *dy, size_t first,
                        size_t n_lines, size_t n)
{
    const drovek_conv_shape *s = &g->shape;
    const drovek_pool *p = pooled->pool;
    const size_t n_columns = s->o / p->kw, image = p->oh * p->ow * p->c;
    const size_t size = n_columns / DROVEK_STRIP * DROVEK_TILE, place = p->kw * size;
    uint8_t *which = g->pooled + g->strips->most_planes * size;
    drovek_planes from = {.high = g->pooled, .low = dy->low != NULL ? g->pooled + size : NULL};
    drovek_strips_pack_fn *pack = g->strips->pack;
    for (size_t i = 0; i < n_lines / p->kh * s->ow; i++) {
        const size_t line = i / s->ow * p->kh, block = i % s->ow;
        const size_t at = (first / p->kh * s->ow + i) * n_columns;
        pack(true, from.high, DROVEK_TILE, dy->high + at, image, false, n_columns, n);
        pack(true, which, DROVEK_TILE, pooled->place + at, image, false, n_columns, n);
        if (dy->low != NULL)
            pack(true, from.low, DROVEK_TILE, dy->low + at, image, false, n_columns, n);
        for (size_t e = 0; e < p->kh * p->kw; e++) {
            const size_t position = (line + e / p->kw) * s->ow + block;
            const drovek_planes part = drovek_planes_from(to, position * place + e % p->kw * size);
            pick(part.high, from.high, which, (uint8_t)e, size);
            if (part.low != NULL) pick(part.low, from.low, which, (uint8_t)e, size);
        }
    }
}

/* ---- sums ---- */

/* Positions of the lines [first, last) whose window's line ky is inside the image: how many. */
static size_t list_places(const drovek_conv_places *g, size_t ky, size_t first, size_t last)
{
    const drovek_conv_shape *s = &g->shape;
    const drovek_window *w = &s->window;
    uint32_t *row = g->places, *tile = g->places + g->n_lines * s->ow;
    size_t n = 0;
    for (size_t oy = first; oy < last; oy++) {
        const size_t y = oy * w->sh + ky * w->dh;
        if (y < w->ph || y - w->ph >= s->h) continue;
        for (size_t x = 0; x < s->ow; x++, n++) {
            row[n] = (uint32_t)((y - w->ph) * g->row + x * w->sw * s->c);
            tile[n] = (uint32_t)(((oy - first) * s->ow + x) * drovek_strips_of(s->o));
        }
    }
    return n;
}

/* Of at most as many images as a tile has terms. */
static void sum_images(const drovek_conv_places *g, const drovek_planes *x, const drovek_planes *dy,
                       const drovek_conv_pooled *pooled, size_t n, bool adds, float *dw)
{
    const drovek_conv_shape *s = &g->shape;
    const size_t line = s->window.kw * s->c;
    drovek_planes a = *x, b = *dy;
    a.high = g->images, b.high = g->tiles;
    if (x->low != NULL) a.low = g->images + g->n_images;
    if (dy->low != NULL) b.low = g->tiles + g->n_tiles;
    turn_images(g, a.high, x->high, n);
    if (x->low != NULL) turn_images(g, a.low, x->low, n);
    for (size_t first = 0; first < s->oh; first += g->n_lines, adds = true) {
        const size_t n_lines = s->oh - first < g->n_lines ? s->oh - first : g->n_lines;
        if (pooled->pool != NULL) pack_pooled(g, pooled, &b, dy, first, n_lines, n);
        else pack_lines(g, b.high, dy->high, first, n_lines, n);
        if (pooled->pool == NULL && dy->low != NULL)
            pack_lines(g, b.low, dy->low, first, n_lines, n);
        for (size_t ky = 0; ky < s->window.kh; ky++) {
            const size_t n_places = list_places(g, ky, first, first + n_lines);
            g->strips->places(line, s->o, n_places, &a, g->places, &b,
                              g->places + g->n_lines * s->ow, adds, dw + ky * line * s->o, s->o);
        }
    }
}

void drovek_conv_places_sum(const drovek_conv_places *g, const drovek_planes *x,
                            const drovek_planes *dy, const drovek_conv_pooled *pooled, size_t n,
                            float *dw)
{
    const drovek_conv_shape *s = &g->shape;
    const drovek_pool *p = pooled->pool;
    const size_t images = g->strips->tile_k, bytes = g->strips->number_bytes;
    const size_t n_of_dy = p != NULL ? p->oh * p->ow * p->c : s->oh * s->ow * s->o;
    for (size_t i = 0, some; i < n; i += some) {
        const drovek_planes from = drovek_planes_from(x, i * s->h * s->w * s->c * bytes),
                            of = drovek_planes_from(dy, i * n_of_dy * bytes);
        const drovek_conv_pooled part = {p, p != NULL ? pooled->place + i * n_of_dy : NULL};
        some = n - i < images ? n - i : images;
        sum_images(g, &from, &of, &part, some, i > 0, dw);
    }
}
