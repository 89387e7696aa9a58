/* engine/accel/kernels/sparse.h - products of a sparse matrix with a dense one, in the common
 * language of prelude_opencl.h.
 *
 * The same kernel computes the outputs of a first layer (rows are examples, m is W) and, of the
 * transpose, its gradient (rows are features, m is the derivative at its outputs): no two items
 * write one element, and each sum has the order of the pairs.
 */

/* y[r][n] = sum over the pairs p of row r of value[p] m[index[p]][n]; without has_value all
 * values are 1; in_bf16: both are rounded first.  DROVE_AT(0) counts blocks of DROVE_COLS columns,
 * DROVE_AT(1) rows. */
DROVE_KERNEL void drove_sparse(DROVE_GLOBAL const float *x, drove_place start_at,
                               drove_place index_at, drove_place value_at, int has_value,
                               DROVE_GLOBAL const float *m, drove_place m_at, DROVE_GLOBAL float *y,
                               drove_place y_at, unsigned n_rows, unsigned n, int in_bf16)
{
    size_t r = DROVE_AT(1);
    size_t from = DROVE_AT(0) * DROVE_COLS, to = drove_least(from + DROVE_COLS, n);
    if (r >= n_rows || from >= to) return;
    DROVE_GLOBAL const unsigned *start = DROVE_WORD(x) + start_at,
                                *index = DROVE_WORD(x) + index_at;
    DROVE_GLOBAL const float *value = x + value_at;
    m += m_at;
    y += y_at + r * n;
    size_t end = start[r + 1];
#if DROVE_COLS == 1
    float total = 0.0f;
    for (size_t p = start[r]; p < end; p++) {
        float v = has_value ? value[p] : 1.0f, w = m[(size_t)index[p] * n + from];
        total += in_bf16 ? drove_bf16(v) * drove_bf16(w) : v * w;
    }
    y[from] = total;
#else
    DROVE_GLOBAL float *DROVE_RESTRICT to_row = y;
    for (size_t c = from; c < to; c++) to_row[c] = 0.0f;
    for (size_t p = start[r]; p < end; p++) {
        DROVE_GLOBAL const float *DROVE_RESTRICT row = m + (size_t)index[p] * n;
        float                                    v = has_value ? value[p] : 1.0f;
        if (in_bf16) {
            v = drove_bf16(v);
            for (size_t c = from; c < to; c++) to_row[c] += v * drove_bf16(row[c]);
        } else {
            for (size_t c = from; c < to; c++) to_row[c] += v * row[c];
        }
    }
#endif
}
