/* metrics/ranking.c - areas under curves and thresholds, by sorting or by histograms.
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
    float *lowest, *highest; /* [n_bins] scores in a bin of the first column */
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
    } else { /* as many bins as fit the memory: two doubles each, and the ends of one column's */
        r->n_bins = MOST_BINS;
        while (r->n_bins > LEAST_BINS &&
               opt->n_columns > r->opt.most_bytes / (2 * sizeof(double)) / r->n_bins) {
            r->n_bins /= 2;
            r->shift++;
        }
        r->all = drove__alloc(opt->n_columns * r->n_bins, sizeof *r->all);
        r->positive = drove__alloc(opt->n_columns * r->n_bins, sizeof *r->positive);
        r->lowest = drove__alloc(r->n_bins, sizeof *r->lowest);
        r->highest = drove__alloc(r->n_bins, sizeof *r->highest);
        if (r->all == NULL || r->positive == NULL || r->lowest == NULL || r->highest == NULL)
            goto fail;
        for (size_t b = 0; b < r->n_bins; b++) {
            r->lowest[b] = INFINITY;
            r->highest[b] = -INFINITY;
        }
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
    drove__free(r->lowest);
    drove__free(r->highest);
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
            const size_t own = bin_of(r, score[c]), bin = c * r->n_bins + own;
            r->all[bin] += weight;
            if (is_positive(r, c, y_class)) r->positive[bin] += weight;
            if (c > 0) continue;
            r->lowest[own] = fminf(r->lowest[own], score[c]);
            r->highest[own] = fmaxf(r->highest[own], score[c]);
        }
    }
    if (r->score != NULL) {
        r->y_class[r->n_rows] = y_class;
        r->weight[r->n_rows] = (float)weight;
    }
    r->n_rows++;
}

/* ---- groups of rows that count as equal ---- */

typedef struct group {
    float lowest, highest;     /* scores */
    double positive, negative; /* sums of weights */
} group;

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

/* Calls see for every group of a column, from the highest score.  key[2 n_rows]: scratch. */
static void walk(const drove_ranking *r, size_t column, uint64_t *key, void *context,
                 void (*see)(void *context, const group *g))
{
    if (r->score == NULL) {
        const double *all = r->all + column * r->n_bins;
        const double *positive = r->positive + column * r->n_bins;
        for (size_t b = r->n_bins; b-- > 0;) {
            if (!(all[b] > 0.0)) continue;
            const group g = {r->lowest[b], r->highest[b], positive[b], all[b] - positive[b]};
            see(context, &g);
        }
        return;
    }
    const float *score = r->score + column * r->opt.n_rows;
    uint64_t *a = key, *b = key + r->n_rows;
    for (size_t i = 0; i < r->n_rows; i++) a[i] = (uint64_t)key_of(score[i]) << 32 | i;
    sort_keys(&a, &b, r->n_rows);
    for (size_t i = r->n_rows; i > 0;) {
        const uint64_t top = a[i - 1] >> 32;
        const float at = score[(uint32_t)a[i - 1]];
        group g = {.lowest = at, .highest = at};
        for (; i > 0 && a[i - 1] >> 32 == top; i--) {
            const size_t row = (uint32_t)a[i - 1];
            const double weight = (double)r->weight[row];
            if (is_positive(r, column, r->y_class[row])) g.positive += weight;
            else g.negative += weight;
        }
        see(context, &g);
    }
}

/* Scratch of walk.  Errors: DROVE_E_NOMEM. */
static drove_status make_keys(const drove_ranking *r, uint64_t **out)
{
    const size_t n = r->score != NULL ? 2 * r->n_rows : 0;
    *out = drove__alloc(n, sizeof **out);
    return *out != NULL ? DROVE_OK : drove__fail_nomem("sorting scores", n * sizeof **out);
}

/* ---- areas ---- */

typedef struct sweep {
    double area; /* pairs in order, a tie one half */
    double tied; /* half the pairs of groups that may hide an order */
    double positive, negative;
    double gain;                      /* of each positive row, the precision down to its score */
    double least_gain, greatest_gain; /* whatever the order inside the groups is */
} sweep;

/* The area under (P + t) / (P + t + N) for t from 0 to p. */
static double precision_within(double p, double P, double N)
{
    return N > 0.0 ? p - N * log1p(p / (P + N)) : p;
}

static void sweep_group(void *context, const group *g)
{
    sweep *s = context;
    const double P = s->positive, N = s->negative;
    s->area += g->negative * (P + 0.5 * g->positive);
    s->tied += 0.5 * g->positive * g->negative;
    s->positive += g->positive;
    s->negative += g->negative;
    if (!(g->positive > 0.0)) return;
    s->gain += g->positive * (s->positive / (s->positive + s->negative));
    /* Positive rows last, each with a score of its own; positive rows first, all with one. */
    s->least_gain += precision_within(g->positive, P, s->negative);
    s->greatest_gain += g->positive * (s->positive / (s->positive + N));
}

drove_status drove__ranking_areas(const drove_ranking *r, drove_areas *out)
{
    drove_areas sum = {0};
    size_t n = 0;
    uint64_t *key;
    DROVE_TRY(make_keys(r, &key));
    for (size_t c = 0; c < r->opt.n_columns && !r->has_nan; c++) {
        sweep s = {0};
        walk(r, c, key, &s, sweep_group);
        if (!(s.positive > 0.0 && s.negative > 0.0)) continue;
        n++;
        sum.auc += s.area / (s.positive * s.negative);
        sum.average_precision += s.gain / s.positive;
        sum.share += s.positive / (s.positive + s.negative);
        if (r->score != NULL) continue; /* groups are true ties */
        sum.auc_error += s.tied / (s.positive * s.negative);
        sum.average_precision_error +=
            fmax(s.greatest_gain - s.gain, s.gain - s.least_gain) / s.positive;
    }
    drove__free(key);
    const double by = n > 0 ? 1.0 / (double)n : NAN;
    *out = (drove_areas){.auc = sum.auc * by,
                         .average_precision = sum.average_precision * by,
                         .share = sum.share * by,
                         .auc_error = n > 0 ? sum.auc_error * by : 0.0,
                         .average_precision_error = n > 0 ? sum.average_precision_error * by : 0.0};
    return DROVE_OK;
}

/* ---- a curve ---- */

typedef struct tracer {
    double all_positive, all_negative;
    double positive, negative; /* so far */
    drove_metrics_point *point, last;
    size_t n;
} tracer;

/* 48 steps of recall, as many of the false positive rate, the end. */
static const double STEP = 1.0 / 48.0;

static void trace_group(void *context, const group *g)
{
    tracer *t = context;
    t->positive += g->positive;
    t->negative += g->negative;
    if (!(t->positive + t->negative > 0.0)) return;
    t->last = (drove_metrics_point){.score = (double)g->lowest,
                                    .recall = fmin(t->positive / t->all_positive, 1.0),
                                    .false_positive_rate = fmin(t->negative / t->all_negative, 1.0),
                                    .precision = t->positive / (t->positive + t->negative)};
    const drove_metrics_point *kept = t->n > 0 ? &t->point[t->n - 1] : NULL;
    const double recall = kept != NULL ? kept->recall : -1.0;
    const double rate = kept != NULL ? kept->false_positive_rate : -1.0;
    if (t->last.recall - recall < STEP && t->last.false_positive_rate - rate < STEP) return;
    if (t->n < DROVE_METRICS_POINTS - 1) t->point[t->n++] = t->last;
}

drove_status drove__ranking_curve(const drove_ranking *r, double positive, double negative,
                                  drove_metrics_point into[DROVE_METRICS_POINTS], size_t *n)
{
    tracer t = {.all_positive = positive, .all_negative = negative, .point = into};
    uint64_t *key;
    *n = 0;
    if (r->has_nan || !(positive > 0.0) || !(negative > 0.0)) return DROVE_OK;
    DROVE_TRY(make_keys(r, &key));
    walk(r, 0, key, &t, trace_group);
    drove__free(key);
    if (t.n > 0 && into[t.n - 1].score > t.last.score) into[t.n++] = t.last;
    *n = t.n;
    return DROVE_OK;
}

/* ---- thresholds ---- */

typedef struct cutter {
    drove_cut cut; /* below the groups so far; its threshold is not set yet */
    float last;    /* lowest score of these groups */
    bool has_last;
    float most; /* of a threshold */
    void *context;
    void (*see)(void *context, const drove_cut *cut);
} cutter;

/* Half-way from high down to low, but above low. */
static double between(float low, float high)
{
    const float middle = low + 0.5f * (high - low);
    return (double)(middle > low ? middle : high);
}

static void cut_above(void *context, const group *g)
{
    cutter *c = context;
    const float high = c->has_last ? c->last : c->most;
    if (g->highest < high) {
        c->cut.threshold = between(g->highest, high);
        c->see(c->context, &c->cut);
    }
    c->cut.true_positive += g->positive;
    c->cut.false_positive += g->negative;
    c->last = g->lowest;
    c->has_last = true;
}

drove_status drove__ranking_cuts(const drove_ranking *r, float lowest, float highest, void *context,
                                 void (*see)(void *context, const drove_cut *cut))
{
    cutter c = {.most = highest, .context = context, .see = see};
    uint64_t *key;
    if (r->has_nan) return DROVE_OK;
    DROVE_TRY(make_keys(r, &key));
    walk(r, 0, key, &c, cut_above);
    drove__free(key);
    c.cut.threshold = (double)lowest;
    see(context, &c.cut);
    return DROVE_OK;
}
