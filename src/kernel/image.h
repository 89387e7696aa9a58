/* kernel/image.h - kernels for the layers between convolutions: pooling, local response
 * normalisation, dropout, and per-column (channel) work for batch normalisation and concatenation.
 *
 * They are slots of drovek_table, under the rules of kernel.h.  Images come in blocks [h * w][c]:
 * the blocks of an image (NCHW16) and the images of a batch follow each other and all count as n
 * images.  No array is shared with other threads while a kernel runs.  `adds`: the result is added
 * to the output instead of replacing it.
 */
#ifndef DROVEK_IMAGE_H
#define DROVEK_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- pooling ---- */

/* Window (oy, ox) covers rows oy sh - ph .. + kh and columns ox sw - pw .. + kw, clipped to the
 * image; at least one element is inside. */
typedef struct drovek_pool {
    size_t c;      /* channels at one position */
    size_t h, w;   /* positions: input     */
    size_t oh, ow; /* positions: output    */
    size_t kh, kw, sh, sw, ph, pw;
} drovek_pool;

enum { DROVEK_POOL_BYTE = 256, DROVEK_POOL_MOST = 65536 }; /* elements of a window */

/* x[n][h][w][c], y[n][oh][ow][c]: the maximum; a NaN is larger than any number (of several, the
 * last).
 * place[n][oh][ow][c]: the window element it came from, ky * kw + kx, the first of equals; uint8_t
 * if kh * kw <= DROVEK_POOL_BYTE, else uint16_t.  NULL: not wanted.
 * back: dx[.] = sum of the dy of the windows whose maximum it was, column after column of them. */
typedef void drovek_max_pool_f32_fn(const drovek_pool *p, const float *x, float *y, void *place,
                                    size_t n);
typedef void drovek_max_pool_back_f32_fn(const drovek_pool *p, const float *dy, const void *place,
                                         float *dx, size_t n, bool adds);

/* y = the sum of the window's elements in their order, times 1 / area; area: the window clipped to
 * the image with its padding, ph rows and pw columns on each side (Caffe).
 * back: dx = sum of dy times 1 / area over the windows that cover it. */
typedef void drovek_average_pool_f32_fn(const drovek_pool *p, const float *x, float *y, size_t n);
typedef void drovek_average_pool_back_f32_fn(const drovek_pool *p, const float *dy, float *dx,
                                             size_t n, bool adds);

/* Length of window `o` along one side, for the area: start = o * step - pad, at most k long. */
static inline size_t drovek_pool_length(size_t o, size_t k, size_t step, size_t pad, size_t side)
{
    size_t start = o * step, end = side + 2 * pad; /* both counted from the padding's edge */
    return start + k < end ? k : end - start;
}

/* ---- local response normalisation across channels ---- */

/* s[c] = kappa + factor * sum of x[j]^2 over the channels |j - c| <= reach;  y = x s^-beta.
 * One image is [c / block][hw][block]. */
typedef struct drovek_lrn {
    size_t c, hw, block;
    size_t reach;               /* channels on each side */
    float  factor, beta, kappa; /* factor = alpha / size */
} drovek_lrn;

typedef void drovek_lrn_f32_fn(const drovek_lrn *l, const float *x, float *y, size_t n);
/* dx[c] = s[c]^-beta dy[c] - 2 factor beta x[c] sum over |j - c| <= reach of
 *                                                            dy[j] x[j] s[j]^-(beta + 1) */
typedef void drovek_lrn_back_f32_fn(const drovek_lrn *l, const float *x, const float *dy, float *dx,
                                    size_t n, bool adds);

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

/* to[rows][cols] = factor * from if kept, else 0; element [i][j] has number first + i * stride + j.
 * to may be from. */
typedef void drovek_dropout_f32_fn(const drovek_dropout *d, float *to, const float *from,
                                   size_t rows, size_t cols, size_t first, size_t stride,
                                   bool adds);

/* ---- by columns (channels) ---- */

/* sum[j] += sum over i of (u[i][j] - ku[j]);  product[j] += sum of (u - ku)(v - kv).  ku NULL: 0.
 * Sums in double; a version may add up to DROVEK_COLUMN_RUN rows in float first. */
enum { DROVEK_COLUMN_RUN = 32 };
typedef void drovek_column_sums_f32_fn(const float *u, const float *ku, const float *v,
                                       const float *kv, size_t rows, size_t cols, double *sum,
                                       double *product);
/* to[i][j] = a[j] x[i][j] + (b[j] y[i][j] + c[j]); y NULL: without it.  to may be x or y. */
typedef void drovek_column_combine_f32_fn(float *to, const float *x, const float *y, const float *a,
                                          const float *b, const float *c, size_t rows, size_t cols,
                                          bool adds);
/* to[i][.cols] = from[i][.cols], rows `to_stride` and `from_stride` apart. */
typedef void drovek_copy_rows_f32_fn(float *to, size_t to_stride, const float *from,
                                     size_t from_stride, size_t rows, size_t cols, bool adds);

/* clang-format off */
#define DROVEK_IMAGE_LIST(X)                                                                       \
    X(max_pool_f32) X(max_pool_back_f32) X(average_pool_f32) X(average_pool_back_f32) X(lrn_f32)   \
    X(lrn_back_f32) X(dropout_f32) X(column_sums_f32) X(column_combine_f32) X(copy_rows_f32)
/* clang-format on */

typedef struct drovek_images {
#define X(k) drovek_##k##_fn *k;
    DROVEK_IMAGE_LIST(X)
#undef X
} drovek_images;

#endif
