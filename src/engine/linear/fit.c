/* engine/linear/fit.c - see fit.h.
 *
 * Base: 1 / T is linear in the three constants, and T times its error is the relative error of the
 * prediction.  With so few constants, "none below 0" is every choice of those that are not 0.
 *
 * Parallel: equation 2 solved for p gives one p a point.  An error dp of p is a relative error of
 * (1 - 1/t) T_t / T_1 dp of the throughput, which is the weight.  For a given size at which p stops
 * growing the rest is linear; that size is searched on a grid that is made finer round its best
 * place.
 */
#include "engine/linear/fit.h"

#include <math.h>
#include <stdbool.h>

/* ---- base ---- */

enum { TERMS = 3 };

/* Solves a[n][n] x = b by elimination with pivoting; false: (nearly) singular. */
static bool solve(double a[TERMS][TERMS], double b[TERMS], int n, double x[TERMS])
{
    for (int i = 0; i < n; i++) {
        int pivot = i;
        for (int r = i + 1; r < n; r++)
            if (fabs(a[r][i]) > fabs(a[pivot][i])) pivot = r;
        if (!(fabs(a[pivot][i]) > 1e-12)) return false;
        for (int c = 0; c < n; c++) {
            double swap = a[i][c];
            a[i][c] = a[pivot][c];
            a[pivot][c] = swap;
        }
        double swap = b[i];
        b[i] = b[pivot];
        b[pivot] = swap;
        for (int r = i + 1; r < n; r++) {
            double f = a[r][i] / a[i][i];
            for (int c = i; c < n; c++) a[r][c] -= f * a[i][c];
            b[r] -= f * b[i];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        x[i] = b[i];
        for (int c = i + 1; c < n; c++) x[i] -= a[i][c] * x[c];
        x[i] /= a[i][i];
    }
    return true;
}

/* The three columns of a point, times its throughput; the right side is then 1. */
static void columns(const drove_base_point *p, double into[TERMS])
{
    into[0] = p->gnps;
    into[1] = p->gnps / p->numbers;
    into[2] = p->gnps * p->spill;
}

/* Least squares with the terms of `used` alone; false: no solution without a negative one. */
static bool fit_terms(const drove_base_point *point, size_t n, unsigned used, double x[TERMS])
{
    double a[TERMS][TERMS] = {{0}}, b[TERMS] = {0}, some[TERMS] = {0}, c[TERMS], norm[TERMS] = {0};
    int which[TERMS] = {0}, n_used = 0;
    for (int k = 0; k < TERMS; k++)
        if ((used & 1u << k) != 0) which[n_used++] = k;
    for (size_t i = 0; i < n; i++) {
        columns(&point[i], c);
        for (int k = 0; k < TERMS; k++) norm[k] += c[k] * c[k];
    }
    for (int r = 0; r < n_used; r++)
        if (!(norm[which[r]] > 0.0)) return false;
    for (size_t i = 0; i < n; i++) {
        columns(&point[i], c);
        for (int k = 0; k < TERMS; k++) c[k] = norm[k] > 0.0 ? c[k] / sqrt(norm[k]) : 0.0;
        for (int r = 0; r < n_used; r++) {
            b[r] += c[which[r]];
            for (int s = 0; s < n_used; s++) a[r][s] += c[which[r]] * c[which[s]];
        }
    }
    if (!solve(a, b, n_used, some)) return false;
    for (int k = 0; k < TERMS; k++) x[k] = 0.0;
    for (int r = 0; r < n_used; r++) {
        x[which[r]] = some[r] / sqrt(norm[which[r]]);
        if (!(x[which[r]] >= 0.0)) return false;
    }
    return x[0] > 0.0;
}

double drove__fit_base(const drove_base_point *point, size_t n, drove_throughput_row *out)
{
    double best[TERMS] = {0}, x[TERMS], least = INFINITY;
    for (unsigned used = 1; used < 1u << TERMS; used += 2) { /* T_1 always */
        if (!fit_terms(point, n, used, x)) continue;
        double error = 0.0, c[TERMS];
        for (size_t i = 0; i < n; i++) {
            columns(&point[i], c);
            double far = c[0] * x[0] + c[1] * x[1] + c[2] * x[2] - 1.0;
            error += far * far;
        }
        if (error >= least) continue;
        least = error;
        for (int k = 0; k < TERMS; k++) best[k] = x[k];
    }
    out->gnps = 1.0 / best[0];
    out->step_ns = best[1];
    out->spill_ns = best[2];
    return least;
}

/* ---- parallel ---- */

static const double MOST_EXPONENT = 600.0; /* of ln(zero_features), beside that of a size */

typedef struct line { /* p = most + slope min(0, ln n - bend) */
    double most, slope, bend, error;
} line;

static double fraction_of(const drove_parallel_point *p)
{
    return (1.0 - p->one_gnps / p->many_gnps) / (1.0 - 1.0 / p->n_threads);
}

static double weight_of(const drove_parallel_point *p)
{
    double w = (1.0 - 1.0 / p->n_threads) * p->many_gnps / p->one_gnps;
    return w * w;
}

/* The best line with this bend. */
static line fit_line(const drove_parallel_point *point, size_t n, double bend)
{
    double w = 0, v = 0, vv = 0, p = 0, vp = 0;
    line best = {.bend = bend};
    for (size_t i = 0; i < n; i++) {
        double wi = weight_of(&point[i]), pi = fraction_of(&point[i]);
        double vi = fmin(0.0, log(point[i].n_features) - bend);
        w += wi;
        v += wi * vi;
        vv += wi * vi * vi;
        p += wi * pi;
        vp += wi * vi * pi;
    }
    double spread = w * vv - v * v;
    best.slope = spread > 1e-12 * w * vv ? (w * vp - v * p) / spread : 0.0;
    if (best.slope < 0.0) best.slope = 0.0;
    best.most = (p - best.slope * v) / w;
    if (best.most > 1.0) {
        best.most = 1.0;
        best.slope = vv > 0.0 ? fmax(0.0, (vp - v) / vv) : 0.0;
    }
    for (size_t i = 0; i < n; i++) {
        double vi = fmin(0.0, log(point[i].n_features) - bend);
        double e = best.most + best.slope * vi - fraction_of(&point[i]);
        best.error += weight_of(&point[i]) * e * e;
    }
    return best;
}

void drove__fit_parallel(const drove_parallel_point *point, size_t n,
                         drove_throughput_parallel *out)
{
    enum { GRID = 64, ROUNDS = 12 };
    double low = INFINITY, high = 0.0;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, log(point[i].n_features));
        high = fmax(high, log(point[i].n_features));
    }
    const double least = low, most = high;
    line best = {.error = INFINITY};
    for (int round = 0; round < ROUNDS; round++) {
        double step = (high - low) / GRID;
        for (int i = 0; i <= GRID; i++) {
            line l = fit_line(point, n, low + step * i);
            if (l.error < best.error) best = l;
        }
        low = fmax(least, best.bend - step);
        high = fmin(most, best.bend + step);
    }
    /* p = most from the bend on; without a slope (or next to none: the size at which p would be 0
     * is no number any more) any will do that has reached it by `least` */
    if (!(fabs(best.most) <= MOST_EXPONENT * best.slope))
        best = (line){.most = best.most, .slope = 1.0, .bend = least};
    *out = (drove_throughput_parallel){
        .slope = best.slope,
        .zero_features = exp(best.bend - best.most / best.slope),
        .most = best.most,
        .least = -INFINITY,
    };
}
