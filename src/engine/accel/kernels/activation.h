/* engine/accel/kernels/activation.h - bias, activations and their derivatives over y[rows][n].
 *
 * In the common language of prelude_opencl.h, behind kernel/curves.h, whose exponential becomes
 * vector code.  The definitions are those of kernel/ref/rows.c.  An item takes
 * DROVE_COLS columns of rows_each rows: DROVE_AT(0) counts blocks of columns, DROVE_AT(1) of rows.
 * A NaN stays a NaN.
 */
#define DROVE_ACT_RELU    1
#define DROVE_ACT_SIGMOID 2
#define DROVE_ACT_TANH    3

DROVE_FUNCTION float drove_sigmoid(float x)
{
    return 1.0f / (1.0f + drove_exp(-x));
}

/* Near 0, where 1 - 2 / (e^2x + 1) loses its digits, by Taylor's series. */
DROVE_FUNCTION float drove_tanh(float x)
{
    float a = x < 0.0f ? -x : x, s = x * x;
    float p = -1382.0f / 155925.0f;
    p = p * s + 62.0f / 2835.0f;
    p = p * s - 17.0f / 315.0f;
    p = p * s + 2.0f / 15.0f;
    p = p * s - 1.0f / 3.0f;
    float near = x + x * (s * p);
    float far = 1.0f - 2.0f / (drove_exp(2.0f * a) + 1.0f);
    far = x < 0.0f ? -far : far;
    return a < 0.3f ? near : far;
}

/* act is a constant where this is inlined */
DROVE_FUNCTION float drove_activate(float v, int act)
{
    if (act == DROVE_ACT_RELU) return v < 0.0f ? 0.0f : v;
    if (act == DROVE_ACT_SIGMOID) return drove_sigmoid(v);
    if (act == DROVE_ACT_TANH) return drove_tanh(v);
    return v;
}

DROVE_FUNCTION float drove_derive(float dy, float y, int act)
{
    if (act == DROVE_ACT_RELU) return y > 0.0f ? dy : 0.0f;
    if (act == DROVE_ACT_SIGMOID) return dy * (y * (1.0f - y));
    if (act == DROVE_ACT_TANH) return dy * (1.0f - y * y);
    return dy;
}

DROVE_FUNCTION size_t drove_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

DROVE_FUNCTION void drove_bias_rows(DROVE_GLOBAL float *DROVE_RESTRICT       y,
                                    DROVE_GLOBAL const float *DROVE_RESTRICT b, size_t first,
                                    size_t last, size_t n, size_t from, size_t to, int act)
{
    for (size_t r = first; r < last; r++) {
        DROVE_GLOBAL float *DROVE_RESTRICT row = y + r * n;
        for (size_t c = from; c < to; c++) row[c] = drove_activate(row[c] + b[c], act);
    }
}

/* y = act(y + b) */
DROVE_KERNEL void drove_bias_act(DROVE_GLOBAL float *y, drove_place y_at,
                                 DROVE_GLOBAL const float *b, drove_place b_at, unsigned n_rows,
                                 unsigned n, int act, unsigned rows_each)
{
    size_t from = DROVE_AT(0) * DROVE_COLS, to = drove_least(from + DROVE_COLS, n);
    size_t first = DROVE_AT(1) * rows_each, last = drove_least(first + rows_each, n_rows);
    y += y_at;
    b += b_at;
    if (act == DROVE_ACT_RELU) drove_bias_rows(y, b, first, last, n, from, to, DROVE_ACT_RELU);
    else if (act == DROVE_ACT_SIGMOID)
        drove_bias_rows(y, b, first, last, n, from, to, DROVE_ACT_SIGMOID);
    else if (act == DROVE_ACT_TANH) drove_bias_rows(y, b, first, last, n, from, to, DROVE_ACT_TANH);
    else drove_bias_rows(y, b, first, last, n, from, to, 0);
}

DROVE_FUNCTION void drove_grad_rows(DROVE_GLOBAL float *DROVE_RESTRICT       dy,
                                    DROVE_GLOBAL const float *DROVE_RESTRICT y,
                                    DROVE_GLOBAL float *DROVE_RESTRICT sum, size_t first,
                                    size_t last, size_t n, size_t from, size_t to, int act)
{
#if DROVE_COLS == 1
    if (from >= to) return;
    float total = 0.0f;
    for (size_t r = first; r < last; r++) {
        float d = drove_derive(dy[r * n + from], y[r * n + from], act);
        dy[r * n + from] = d;
        total += d;
    }
    sum[from] = total;
#else
    for (size_t c = from; c < to; c++) sum[c] = 0.0f;
    for (size_t r = first; r < last; r++) {
        DROVE_GLOBAL float *DROVE_RESTRICT       d = dy + r * n;
        DROVE_GLOBAL const float *DROVE_RESTRICT out = y + r * n;
        for (size_t c = from; c < to; c++) {
            float v = drove_derive(d[c], out[c], act);
            d[c] = v;
            sum[c] += v;
        }
    }
#endif
}

/* dy *= act'(.) by the output y; sum[block of rows][n] = sums of the block's rows of dy */
DROVE_KERNEL void drove_act_grad(DROVE_GLOBAL float *dy, drove_place dy_at,
                                 DROVE_GLOBAL const float *y, drove_place y_at,
                                 DROVE_GLOBAL float *sum, drove_place sum_at, unsigned n_rows,
                                 unsigned n, int act, unsigned rows_each)
{
    size_t from = DROVE_AT(0) * DROVE_COLS, to = drove_least(from + DROVE_COLS, n);
    size_t first = DROVE_AT(1) * rows_each, last = drove_least(first + rows_each, n_rows);
    if (first >= n_rows) return;
    dy += dy_at;
    y += y_at;
    sum += sum_at + DROVE_AT(1) * n;
    if (act == DROVE_ACT_RELU)
        drove_grad_rows(dy, y, sum, first, last, n, from, to, DROVE_ACT_RELU);
    else if (act == DROVE_ACT_SIGMOID)
        drove_grad_rows(dy, y, sum, first, last, n, from, to, DROVE_ACT_SIGMOID);
    else if (act == DROVE_ACT_TANH)
        drove_grad_rows(dy, y, sum, first, last, n, from, to, DROVE_ACT_TANH);
    else drove_grad_rows(dy, y, sum, first, last, n, from, to, 0);
}

/* db[n] = sum over the blocks of sum[n_blocks][n], ascending */
DROVE_KERNEL void drove_sum_blocks(DROVE_GLOBAL const float *sum, DROVE_GLOBAL float *db,
                                   drove_place db_at, unsigned n_blocks, unsigned n)
{
    size_t from = DROVE_AT(0) * DROVE_COLS, to = drove_least(from + DROVE_COLS, n);
    for (size_t c = from; c < to; c++) {
        float total = 0.0f;
        for (size_t k = 0; k < n_blocks; k++) total += sum[k * n + c];
        db[db_at + c] = total;
    }
}
