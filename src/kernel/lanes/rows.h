/* kernel/lanes/rows.h - element-wise work on y[rows][cols], vectorised: bias and activation,
 * its derivative with the bias gradient, softmax with its loss.
 *
 * The columns are cut into blocks of WIDE registers or one; the bias or bias gradient of a block
 * stays in registers over all rows.
 */
#ifndef DROVEK_LANES_ROWS_H
#define DROVEK_LANES_ROWS_H

#include "kernel/kernel.h"
#include "kernel/lanes/vector.h"

#include <math.h>

/* ---- exponential function and its relatives ---- */

/* e^a for a <= 88; below -104 it is 0, NaN stays NaN.  a = n ln 2 + r with |r| <= ln 2 / 2, and
 * e^r = 1 + r + r^2 P(r), P of degree 4 with the least largest relative error (Remez: 0.06 units in
 * the last place before rounding). */
INLINE vec vec_exp(vec a)
{
    vec x = vec_max(vec_set(-104.0f), a);
    vec n = vec_round(vec_mul(x, vec_set(0x1.715476p+0f)));
    vec r = vec_fnma(n, vec_set(-0x1.05c61p-29f), vec_fnma(n, vec_set(0x1.62e43p-1f), x));
    vec p = vec_set(0x1.6a1a72p-10f);
    p = vec_fma(p, r, vec_set(0x1.123fc6p-7f));
    p = vec_fma(p, r, vec_set(0x1.555916p-5f));
    p = vec_fma(p, r, vec_set(0x1.55548ap-3f));
    p = vec_fma(p, r, vec_set(0x1.fffffcp-2f));
    p = vec_fma(vec_mul(r, r), p, r);
    return vec_scale2(vec_add(p, vec_set(1.0f)), n);
}

/* 1 / (1 + e^-v), from e^-|v| so that both tails keep their relative precision */
INLINE vec vec_sigmoid(vec v)
{
    vec one = vec_set(1.0f), zero = vec_set(0.0f);
    vec tail = vec_exp(vec_sub(zero, vec_abs(v)));
    return vec_div(vec_if_less(v, zero, tail, one), vec_add(one, tail));
}

/* |v| < 0.625: v + v^3 P(v^2), P of degree 4 (Remez: 0.08 units); otherwise 1 - 2 e^-2|v| /
 * (1 + e^-2|v|) with v's sign. */
INLINE vec vec_tanh(vec v)
{
    vec one = vec_set(1.0f), two = vec_set(2.0f), size = vec_abs(v);
    vec tail = vec_exp(vec_mul(vec_set(-2.0f), size));
    vec far = vec_copysign(vec_fnma(two, vec_div(tail, vec_add(one, tail)), one), v);
    vec s = vec_mul(v, v);
    vec p = vec_set(-0x1.75e1ccp-8f);
    p = vec_fma(p, s, vec_set(0x1.52269cp-6f));
    p = vec_fma(p, s, vec_set(-0x1.b83c5ap-5f));
    p = vec_fma(p, s, vec_set(0x1.110726p-3f));
    p = vec_fma(p, s, vec_set(-0x1.555532p-2f));
    vec near = vec_fma(vec_mul(s, v), p, v);
    return vec_if_less(size, vec_set(0.625f), near, far);
}

/* ---- bias and activation ---- */

INLINE vec activate(vec v, drovek_act act)
{
    switch (act) {
    case DROVEK_RELU: return vec_max(vec_set(0.0f), v); /* second operand for NaN */
    case DROVEK_SIGMOID: return vec_sigmoid(v);
    case DROVEK_TANH: return vec_tanh(v);
    default: break;
    }
    return v;
}

/* One block of columns, at y and bias.  stride: columns of the whole; last: elements of the last
 * register. */
INLINE void bias_block(float *y, const float *bias, size_t rows, size_t stride, drovek_act act,
                       size_t n_vec, size_t last)
{
    vec b[WIDE];
    UNROLL
    for (size_t v = 0; v < n_vec; v++)
        b[v] = racy_load(bias + v * LANES, block_count(v, n_vec, last));
    for (size_t i = 0; i < rows; i++, y += stride) {
        UNROLL
        for (size_t v = 0; v < n_vec; v++) {
            size_t count = block_count(v, n_vec, last);
            vec_store(y + v * LANES, activate(vec_add(vec_load(y + v * LANES, count), b[v]), act),
                      count);
        }
    }
}

INLINE void bias_columns(float *y, const float *bias, size_t rows, size_t cols, drovek_act act)
{
    size_t o = 0;
    for (; o + WIDE * LANES <= cols; o += WIDE * LANES)
        bias_block(y + o, bias + o, rows, cols, act, WIDE, LANES);
    for (; o + LANES <= cols; o += LANES) bias_block(y + o, bias + o, rows, cols, act, 1, LANES);
    if (o < cols) bias_block(y + o, bias + o, rows, cols, act, 1, cols - o);
}

static void bias_act_f32(float *y, const float *bias, size_t rows, size_t cols, drovek_act act)
{
    switch (act) { /* one specialised copy of the loops each */
    case DROVEK_RELU: bias_columns(y, bias, rows, cols, DROVEK_RELU); break;
    case DROVEK_SIGMOID: bias_columns(y, bias, rows, cols, DROVEK_SIGMOID); break;
    case DROVEK_TANH: bias_columns(y, bias, rows, cols, DROVEK_TANH); break;
    default: bias_columns(y, bias, rows, cols, DROVEK_LINEAR); break;
    }
}

/* ---- derivative and bias gradient ---- */

INLINE vec derive(vec dy, vec y, drovek_act act)
{
    vec zero = vec_set(0.0f), one = vec_set(1.0f);
    switch (act) {
    case DROVEK_RELU: return vec_if_less(zero, y, dy, zero);
    case DROVEK_SIGMOID: return vec_mul(dy, vec_mul(y, vec_sub(one, y)));
    case DROVEK_TANH: return vec_mul(dy, vec_fnma(y, y, one));
    default: break;
    }
    return dy;
}

INLINE void grad_block(float *dy, float *db, const float *y, size_t rows, size_t stride,
                       drovek_act act, size_t n_vec, size_t last)
{
    vec sum[WIDE];
    UNROLL
    for (size_t v = 0; v < n_vec; v++) sum[v] = vec_set(0.0f);
    for (size_t i = 0; i < rows; i++, dy += stride, y += stride) {
        UNROLL
        for (size_t v = 0; v < n_vec; v++) {
            size_t count = block_count(v, n_vec, last);
            vec    d = vec_load(dy + v * LANES, count);
            if (act != DROVEK_LINEAR) {
                d = derive(d, vec_load(y + v * LANES, count), act);
                vec_store(dy + v * LANES, d, count);
            }
            sum[v] = vec_add(sum[v], d);
        }
    }
    block_store(db, sum, n_vec, last);
}

INLINE void grad_columns(float *dy, float *db, const float *y, size_t rows, size_t cols,
                         drovek_act act)
{
    size_t o = 0;
    for (; o + WIDE * LANES <= cols; o += WIDE * LANES)
        grad_block(dy + o, db + o, y + o, rows, cols, act, WIDE, LANES);
    for (; o + LANES <= cols; o += LANES)
        grad_block(dy + o, db + o, y + o, rows, cols, act, 1, LANES);
    if (o < cols) grad_block(dy + o, db + o, y + o, rows, cols, act, 1, cols - o);
}

static void act_grad_f32(float *dy, float *db, const float *y, size_t rows, size_t cols,
                         drovek_act act)
{
    switch (act) {
    case DROVEK_RELU: grad_columns(dy, db, y, rows, cols, DROVEK_RELU); break;
    case DROVEK_SIGMOID: grad_columns(dy, db, y, rows, cols, DROVEK_SIGMOID); break;
    case DROVEK_TANH: grad_columns(dy, db, y, rows, cols, DROVEK_TANH); break;
    default: grad_columns(dy, db, y, rows, cols, DROVEK_LINEAR); break;
    }
}

/* ---- without a bias ---- */

INLINE void act_all(float *y, const float *x, size_t n, drovek_act act)
{
    for (size_t i = 0; i < n; i += LANES) {
        size_t count = lanes_left(i, n);
        if (count == LANES) vec_store(y + i, activate(vec_load(x + i, LANES), act), LANES);
        else vec_store(y + i, activate(vec_load(x + i, count), act), count);
    }
}

static void act_f32(float *y, const float *x, size_t n, drovek_act act)
{
    switch (act) {
    case DROVEK_RELU: act_all(y, x, n, DROVEK_RELU); break;
    case DROVEK_SIGMOID: act_all(y, x, n, DROVEK_SIGMOID); break;
    case DROVEK_TANH: act_all(y, x, n, DROVEK_TANH); break;
    default: act_all(y, x, n, DROVEK_LINEAR); break;
    }
}

INLINE void act_back_at(float *dx, const float *dy, const float *y, drovek_act act, bool adds,
                        size_t count)
{
    vec d = derive(vec_load(dy, count), vec_load(y, count), act);
    vec_store(dx, adds ? vec_add(vec_load(dx, count), d) : d, count);
}

INLINE void act_back_all(float *dx, const float *dy, const float *y, size_t n, drovek_act act,
                         bool adds)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) act_back_at(dx + i, dy + i, y + i, act, adds, LANES);
    if (i < n) act_back_at(dx + i, dy + i, y + i, act, adds, n - i);
}

static void act_back_f32(float *dx, const float *dy, const float *y, size_t n, drovek_act act,
                         bool adds)
{
    switch (act) {
    case DROVEK_RELU: act_back_all(dx, dy, y, n, DROVEK_RELU, adds); break;
    case DROVEK_SIGMOID: act_back_all(dx, dy, y, n, DROVEK_SIGMOID, adds); break;
    case DROVEK_TANH: act_back_all(dx, dy, y, n, DROVEK_TANH, adds); break;
    default: act_back_all(dx, dy, y, n, DROVEK_LINEAR, adds); break;
    }
}

/* ---- cosine ---- */

/* factor cos v = factor - 2 factor sin^2(v / 2), with the period of sin^2: v / 2 = k pi + r with
 * |r| <= pi / 2, and sin r = r + r^3 P(r^2), P of degree 3 (Chebyshev: 4e-8).  No sign and no
 * quadrant are needed.  An r far outside its interval comes from a v whose neighbouring floats are
 * more than a period apart: it is replaced by 0; a NaN stays one. */
INLINE vec vec_cos(vec v, vec factor)
{
    vec k = vec_round(vec_mul(v, vec_set(0x1.45f306p-3f)));
    vec r = vec_fnma(k, vec_set(0x1.921fb6p+1f), vec_mul(v, vec_set(0.5f)));
    r = vec_fnma(k, vec_set(-0x1.777a5cp-24f), r);
    r = vec_if_less(vec_set(1.6f), vec_abs(r), vec_set(0.0f), r);
    vec s = vec_mul(r, r);
    vec p = vec_set(0x1.60aa32p-19f);
    p = vec_fma(p, s, vec_set(-0x1.9faa3ap-13f));
    p = vec_fma(p, s, vec_set(0x1.111028p-7f));
    p = vec_fma(p, s, vec_set(-0x1.555554p-3f));
    vec sine = vec_fma(vec_mul(r, s), p, r);
    return vec_fnma(vec_mul(vec_add(factor, factor), sine), sine, factor);
}

static void cos_f32(float *y, const float *phase, size_t rows, size_t cols, float factor)
{
    vec times = vec_set(factor);
    for (size_t i = 0; i < rows; i++, y += cols) {
        size_t o = 0;
        for (; o + LANES <= cols; o += LANES) {
            vec v = vec_add(vec_load(y + o, LANES), vec_load(phase + o, LANES));
            vec_store(y + o, vec_cos(v, times), LANES);
        }
        if (o == cols) continue;
        vec v = vec_add(vec_load(y + o, cols - o), vec_load(phase + o, cols - o));
        vec_store(y + o, vec_cos(v, times), cols - o);
    }
}

/* ---- softmax ---- */

/* Sum of ln(sum_i) over rows: multiplies the sums, each in [1, cols], and takes one logarithm for
 * many. */
typedef struct log_sum {
    double total, product;
} log_sum;

INLINE void log_sum_add(log_sum *s, double sum)
{
    s->product *= sum;
    if (s->product > 0x1p500) {
        s->total += log(s->product);
        s->product = 1.0;
    }
}

/* cols <= LANES: a row is one register. */
static double softmax_narrow(const float *z, const int32_t *label, float *dz, size_t rows,
                             size_t cols, float scale, size_t *n_correct)
{
    log_sum logs = {0.0, 1.0};
    double  rest = 0.0;
    size_t  right = 0;
    vec     absent = vec_absent(cols); /* -infinity in lanes without a column */
    for (size_t i = 0; i < rows; i++, z += cols) {
        uint32_t wanted = (uint32_t)label[i];
        float    wanted_z = z[wanted];
        vec      row = vec_add(vec_load(z, cols), absent);
        float    largest = vec_largest(row);
        vec      e = vec_exp(vec_sub(row, vec_set(largest)));
        double   sum = vec_sum_double(e);
        uint32_t equal = vec_equal(row, vec_set(largest));
        right += (equal & (0u - equal)) == 1u << wanted; /* lowest bit: no branch to mispredict */
        log_sum_add(&logs, sum);
        rest += (double)largest - (double)wanted_z;
        if (dz == NULL) continue;
        vec_store(dz, vec_sub_lane(vec_mul(e, vec_set((float)(scale / sum))), wanted, scale), cols);
        dz += cols;
    }
    *n_correct += right;
    return logs.total + log(logs.product) + rest;
}

/* Largest of z[n]; NaN only if all are. */
static float largest_of(const float *z, size_t n)
{
    vec    best = vec_set(-INFINITY);
    size_t o = 0;
    for (; o + LANES <= n; o += LANES) best = vec_max(vec_load(z + o, LANES), best);
    float largest = vec_largest(best);
    for (; o < n; o++) largest = z[o] > largest ? z[o] : largest;
    return largest;
}

/* e[n] = exp(z - largest), e may be z or NULL; returns the sum, in double. */
static double exp_row(float *e, const float *z, size_t n, float largest)
{
    vec        shift = vec_set(largest), one = vec_set(1.0f);
    size_t     o = 0;
    double_sum sum = double_sum_zero();
    for (; o < n; o += LANES) {
        size_t count = n - o < LANES ? n - o : LANES;
        vec    part = vec_load(z + o, count);
        if (count < LANES) part = vec_add(part, vec_absent(count));
        part = vec_exp(vec_sub(part, shift));
        sum = double_sum_add(sum, part, one);
        if (e != NULL) vec_store(e + o, part, count);
    }
    return double_sum_total(sum, double_sum_zero());
}

static bool is_first_largest(const float *z, size_t wanted, float largest)
{
    if (!(z[wanted] == largest)) return false;
    for (size_t o = 0; o < wanted; o++) {
        if (z[o] == largest) return false;
    }
    return true;
}

static double softmax_wide(const float *z, const int32_t *label, float *dz, size_t rows,
                           size_t cols, float scale, size_t *n_correct)
{
    log_sum logs = {0.0, 1.0};
    double  rest = 0.0;
    for (size_t i = 0; i < rows; i++) {
        const float *row = z + i * cols;
        float       *out = dz == NULL ? NULL : dz + i * cols;
        size_t       wanted = (size_t)label[i];
        float        largest = largest_of(row, cols);
        rest += (double)largest - (double)row[wanted];
        *n_correct += is_first_largest(row, wanted, largest);
        double sum = exp_row(out, row, cols, largest);
        log_sum_add(&logs, sum);
        if (out == NULL) continue;
        scale_f32(out, cols, (float)(scale / sum));
        out[wanted] -= scale;
    }
    return logs.total + log(logs.product) + rest;
}

static double softmax_f32(const float *z, const int32_t *label, float *dz, size_t rows, size_t cols,
                          float scale, size_t *n_correct)
{
    if (cols <= LANES) return softmax_narrow(z, label, dz, rows, cols, scale, n_correct);
    return softmax_wide(z, label, dz, rows, cols, scale, n_correct);
}

#endif
