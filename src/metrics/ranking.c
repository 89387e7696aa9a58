/* metrics/ranking.c - areas under ROC curves, by sorting or by histograms.
 *
 * Sorting: a float's bits become an unsigned number of the same order; with the row's number below
 * it, one radix sort gives the order of all rows of a column.
 */
#include "metrics/ranking.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BINS = 1 << 16, LEAST_BINS = 1 << 8, RADIX_BITS = 11, RADIX = 1 << RADIX_BITS };

struct drove_ranking {
    drove_ranking_options opt;
    size_t n_rows;
    bool has_nan;
    /* exact: [n_columns][opt.n_rows], [opt.n_rows], [opt.n_rows] */
    float *score;
    int32_t *y_class;
    float *weight;
    /* histograms: [n_columns][n_bins] weights of all rows, of the positive ones */
    size_t n_bins;
    unsigned shift; /* from the bin of 65,536 to that of n_bins */
    double *all, *positive;
};

/* ---- keys ---- */

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The order of floats as that of unsigned numbers; -0 and 0 are one. */
static uint32_t key_of(float score)
{
    uint32_t bits = bits_of(score + 0.0f);
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

/* 0 .. 32,767 for p up to 1/2: 1,024 bins for each power of two down to 2^-32. */
static uint32_t half_bin(float p)
{
    const uint32_t least = bits_of(0x1p-32f);
    uint32_t bits = bits_of(p);
    return bits <= least ? 0 : (bits - least) >> 13;
}

static size_t bin_of(const drove_ranking *r, float score)
{
    uint32_t bin = 0;
    if (!r->opt.is_probability) bin = key_of(score) >> 16;
    else if (score >= 1.0f) bin = MOST_BINS - 1;
    else if (score > 0.5f) bin = MOST_BINS - 1 - half_bin(1.0f - score);
    else if (score > 0.0f) bin = half_bin(score);
    return bin >> r->shift;
}

/* ---- creation ---- */

drove_status drove__ranking_create(const drove_ranking_options *opt, drove_ranking **out)
{
    *out = NULL;
    drove_ranking *r = calloc(1, sizeof *r);
    if (r == NULL) return drove__fail_nomem("a ranking", sizeof *r);
    r->opt = *opt;
    if (r->opt.most_bytes == 0) r->opt.most_bytes = DROVE_RANKING_MOST_BYTES;

    /* Scores, class and weight of a row, and two keys while a column is sorted. */
    const size_t row_bytes =
        opt->n_columns * sizeof(float) + sizeof(int32_t) + sizeof(float) + 2 * sizeof(uint64_t);
    if (opt->n_rows <= r->opt.most_bytes / row_bytes) {
        r->score = drove__alloc(opt->n_columns * opt->n_rows, sizeof *r->score);
        r->y_class = drove__alloc(opt->n_rows, sizeof *r->y_class);
        r->weight = drove__alloc(opt->n_rows, sizeof *r->weight);
        if (r->score == NULL || r->y_class == NULL || r->weight == NULL) goto fail;
    } else { /* as many bins as fit the memory: two doubles each */
        r->n_bins = MOST_BINS;
        while (r->n_bins > LEAST_BINS &&
               opt->n_columns > r->opt.most_bytes / (2 * sizeof(double)) / r->n_bins) {
            r->n_bins /= 2;
            r->shift++;
        }
        r->all = drove__alloc(opt->n_columns * r->n_bins, sizeof *r->all);
        r->positive = drove__alloc(opt->n_columns * r->n_bins, sizeof *r->positive);
        if (r->all == NULL || r->positive == NULL) goto fail;
    }
    *out = r;
    return DROVE_OK;
fail:
    drove__ranking_destroy(r);
    return drove__fail_nomem("scores for the AUC", opt->n_rows * sizeof(float));
}

void drove__ranking_destroy(drove_ranking *r)
{
    if (r == NULL) return;
    drove__free(r->score);
    drove__free(r->y_class);
    drove__free(r->weight);
    drove__free(r->all);
    drove__free(r->positive);
    free(r);
}

/* ---- rows ---- */

/* With one column, class 1 is positive; else the column's own class. */
static bool is_positive(const drove_ranking *r, size_t column, int32_t y_class)
{
    return (size_t)y_class == (r->opt.n_columns == 1 ? 1 : column);
}

void drove__ranking_add(drove_ranking *r, const float *score, int32_t y_class, double weight)
{
    for (size_t c = 0; c < r->opt.n_columns; c++) {
        if (isnan(score[c])) {
            r->has_nan = true;
            continue;
        }
        if (r->score != NULL) {
            r->score[c * r->opt.n_rows + r->n_rows] = score[c];
        } else {
            size_t bin = c * r->n_bins + bin_of(r, score[c]);
            r->all[bin] += weight;
            if (is_positive(r, c, y_class)) r->positive[bin] += weight;
        }
    }
    if (r->score != NULL) {
        r->y_class[r->n_rows] = y_class;
        r->weight[r->n_rows] = (float)weight;
    }
    r->n_rows++;
}

/* ---- areas ---- */

typedef struct sweep { /* over scores, ascending */
    double area;       /* pairs in order, a tie one half */
    double tied;       /* half the pairs of groups that may hide an order */
    double positive, negative;
} sweep;

/* The next group of rows that count as equal. */
static void sweep_group(sweep *s, double positive, double negative)
{
    s->area += positive * (s->negative + 0.5 * negative);
    s->tied += 0.5 * positive * negative;
    s->positive += positive;
    s->negative += negative;
}

/* Sorts the n keys by their upper 32 bits; the result is in *a. */
static void sort_keys(uint64_t **a, uint64_t **b, size_t n)
{
    for (unsigned shift = 32; shift < 64; shift += RADIX_BITS) {
        size_t start[RADIX + 1] = {0};
        uint64_t *from = *a, *to = *b;
        for (size_t i = 0; i < n; i++) start[(from[i] >> shift & (RADIX - 1)) + 1]++;
        for (size_t d = 0; d < RADIX; d++) start[d + 1] += start[d];
        for (size_t i = 0; i < n; i++) to[start[from[i] >> shift & (RADIX - 1)]++] = from[i];
        *a = to;
        *b = from;
    }
}

/* a, b: scratch of n_rows keys each. */
static sweep sweep_exact(const drove_ranking *r, size_t column, uint64_t *a, uint64_t *b)
{
    const float *score = r->score + column * r->opt.n_rows;
    sweep s = {0};
    for (size_t i = 0; i < r->n_rows; i++) a[i] = (uint64_t)key_of(score[i]) << 32 | i;
    sort_keys(&a, &b, r->n_rows);
    for (size_t i = 0; i < r->n_rows;) {
        const uint64_t key = a[i] >> 32;
        double positive = 0.0, negative = 0.0;
        for (; i < r->n_rows && a[i] >> 32 == key; i++) {
            size_t row = (uint32_t)a[i];
            double weight = (double)r->weight[row];
            if (is_positive(r, column, r->y_class[row])) positive += weight;
            else negative += weight;
        }
        sweep_group(&s, positive, negative);
    }
    s.tied = 0.0; /* true ties */
    return s;
}

static sweep sweep_bins(const drove_ranking *r, size_t column)
{
    const double *all = r->all + column * r->n_bins, *positive = r->positive + column * r->n_bins;
    sweep s = {0};
    for (size_t b = 0; b < r->n_bins; b++) {
        if (all[b] > 0.0) sweep_group(&s, positive[b], all[b] - positive[b]);
    }
    return s;
}

drove_status drove__ranking_auc(const drove_ranking *r, double *auc, double *error)
{
    const size_t n_keys = r->score != NULL ? r->n_rows : 0;
    uint64_t *key = drove__alloc(2 * n_keys, sizeof *key);
    double sum = 0.0, error_sum = 0.0;
    size_t n = 0;
    if (key == NULL) return drove__fail_nomem("sorting scores", 2 * n_keys * sizeof *key);
    for (size_t c = 0; c < r->opt.n_columns && !r->has_nan; c++) {
        sweep s = r->score != NULL ? sweep_exact(r, c, key, key + n_keys) : sweep_bins(r, c);
        if (!(s.positive > 0.0 && s.negative > 0.0)) continue;
        sum += s.area / (s.positive * s.negative);
        error_sum += s.tied / (s.positive * s.negative);
        n++;
    }
    drove__free(key);
    *auc = n > 0 ? sum / (double)n : NAN;
    *error = n > 0 ? error_sum / (double)n : 0.0;
    return DROVE_OK;
}
