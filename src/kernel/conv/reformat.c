/* kernel/conv/reformat.c - converts images between formats. */
#include "kernel/conv/ops.h"

#include <assert.h>
#include <string.h>

enum { PIECE = 8, TILE = 16 };

static void put_piece(float *to, const float *from, bool adds)
{
    float piece[PIECE];
    memcpy(piece, from, sizeof piece);
    if (adds) {
        for (size_t k = 0; k < PIECE; k++) piece[k] += to[k];
    }
    memcpy(to, piece, sizeof piece);
}

/* Between NHWC and blocks: copies runs of 8 channels. */
static void move_pieces(const float *from, size_t from_block, float *to, size_t to_block, size_t c,
                        size_t n, bool adds)
{
    for (size_t b = 0; b < c; b += PIECE) {
        const float *read = from + b / from_block * (n * from_block) + b % from_block;
        float *write = to + b / to_block * (n * to_block) + b % to_block;
        for (size_t p = 0; p < n; p++) put_piece(write + p * to_block, read + p * from_block, adds);
    }
}

/* to[p * to_p + c * to_c] = from[p * from_p + c * from_c], in tiles that suit the caches on both
 * sides. */
static void move_elements(const float *from, size_t from_p, size_t from_c, float *to, size_t to_p,
                          size_t to_c, size_t c, size_t n, bool adds)
{
    for (size_t p0 = 0; p0 < n; p0 += TILE) {
        size_t p1 = p0 + TILE < n ? p0 + TILE : n;
        for (size_t k = 0; k < c; k++) {
            for (size_t p = p0; p < p1; p++) {
                float *at = to + p * to_p + k * to_c;
                *at = from[p * from_p + k * from_c] + (adds ? *at : 0.0f);
            }
        }
    }
}

/* One format is NCHW: goes block by block through the other. */
static void move_planes(const float *from, size_t from_block, float *to, size_t to_block, size_t c,
                        size_t n, bool adds)
{
    size_t block = from_block > to_block ? from_block : to_block;
    for (size_t b = 0; b < c; b += block) {
        move_elements(from + b * n, from_block, from_block == 1 ? n : 1, to + b * n, to_block,
                      to_block == 1 ? n : 1, block, n, adds);
    }
}

static void move_all(const float *from, float *to, size_t n, bool adds)
{
    if (!adds) memmove(to, from, n * sizeof *to);
    for (size_t k = 0; adds && k < n; k++) to[k] += from[k];
}

void drovek_reformat(const float *from, drovek_format from_format, float *to,
                     drovek_format to_format, size_t n_rows, size_t c, size_t h, size_t w,
                     bool adds)
{
    size_t n = h * w, from_block = drovek_block(from_format, c);
    size_t to_block = drovek_block(to_format, c);
    assert(c % from_block == 0 && c % to_block == 0);
    /* with one position, or one channel, all formats have the same order */
    if (from_block == to_block || n == 1) {
        move_all(from, to, n_rows * c * n, adds);
        return;
    }
    for (size_t i = 0; i < n_rows; i++, from += c * n, to += c * n) {
        if (from_block > 1 && to_block > 1) {
            move_pieces(from, from_block, to, to_block, c, n, adds);
        } else {
            move_planes(from, from_block, to, to_block, c, n, adds);
        }
    }
}
