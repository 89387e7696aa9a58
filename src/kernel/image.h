/* kernel/image.h - what the kernels of layers between convolutions (IMAGE in slots.def) take:
 * pooling, local response normalisation, dropout, and per-column (channel) work for batch
 * normalisation and concatenation.
 *
 * Images come in blocks [h * w][c]: the blocks of an image (NCHW8, NCHW16), the images of a batch
 * follow each other, and all count as n images.  No array is shared while a kernel runs.
 */
#ifndef DROVEK_IMAGE_H
#define DROVEK_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- pooling ---- */

/* Window (oy, ox) covers rows oy sh - ph .. + kh and columns ox sw - pw .. + kw, clipped to the
 * image; at least one element is inside.  An average divides by the area of the window's part in
 * rows [y0, y1) and columns [x0, x1), which count from the padding's edge: 0 to h + ph + the
 * padding below if padding counts, ph to ph + h if it does not. */
typedef struct drovek_pool {
    size_t c;      /* channels at one position */
    size_t h, w;   /* positions: input     */
    size_t oh, ow; /* positions: output    */
    size_t kh, kw, sh, sw, ph, pw;
    size_t y0, x0, y1, x1; /* average */
} drovek_pool;

enum { DROVEK_POOL_BYTE = 256, DROVEK_POOL_MOST = 65536 }; /* elements of a window */

/* Length of window `o` along one side, for the area: its part in [first, last). */
static inline size_t drovek_pool_length(size_t o, size_t k, size_t step, size_t first, size_t last)
{
    const size_t start = o * step, end = start + k;
    return (end < last ? end : last) - (start > first ? start : first);
}

/* ---- local response normalisation across channels ---- */

/* s[c] = kappa + factor * sum of x[j]^2 over the channels |j - c| <= reach.
 * One image is [c / block][hw][block]. */
typedef struct drovek_lrn {
    size_t c, hw, block;
    size_t reach;               /* channels on each side */
    float  factor, beta, kappa; /* factor = alpha / size */
} drovek_lrn;

/* ---- dropout ---- */

/* Selects the numbers of one example that stay, by a function of (key, number of the element): the
 * same on every engine, in every format, for any division of the work.  Element e stays if
 *     hash(hash(e ^ low half of key) + high half of key) >> 8  >=  ratio * 2^24
 * with a 32-bit hash in which every bit of the argument affects every bit of the result. */
typedef struct drovek_dropout {
    uint64_t key;
    uint32_t threshold; /* ratio * 2^24 */
    float    factor;    /* of the numbers that stay: 1 / (1 - ratio) */
} drovek_dropout;

static inline uint64_t drovek_dropout_mix(uint64_t z) /* SplitMix64's output function */
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The key of one example: the run's seed, the worker's batch, the layer, the row in the batch. */
static inline uint64_t drovek_dropout_key(uint64_t seed, uint64_t batch, uint64_t layer,
                                          uint64_t row)
{
    uint64_t key = drovek_dropout_mix(seed + 0x9e3779b97f4a7c15u);
    key = drovek_dropout_mix(key + 0x9e3779b97f4a7c15u * (batch + 1));
    return drovek_dropout_mix(key ^ (layer << 40) ^ row);
}

static inline uint32_t drovek_dropout_hash(uint32_t h)
{
    h = (h ^ (h >> 16)) * 0x85ebca6bu; /* MurmurHash3's last step (A. Appleby) */
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return h ^ (h >> 16);
}

static inline bool drovek_dropout_keeps(const drovek_dropout *d, uint32_t element)
{
    uint32_t h = drovek_dropout_hash(element ^ (uint32_t)d->key);
    return drovek_dropout_hash(h + (uint32_t)(d->key >> 32)) >> 8 >= d->threshold;
}

/* ---- by columns (channels) ---- */

enum { DROVEK_COLUMN_RUN = 32 }; /* rows that column_sums may add in float */

#endif
