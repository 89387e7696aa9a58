/* engine/accel/kernels/gemm_opencl.h - C[m][n] = alpha op(A) op(B) + beta C, on processors
 * whose OpenCL compiler makes vector code of vector types.
 *
 * After Goto, van de Geijn, ACM TOMS 34, 2008.  An item computes rows_each rows by cols_each
 * columns of C.  It packs a panel of KC rows by 32 columns of op(B), zeros where B ends, and runs
 * tiles of 8 rows over it: 16 vectors of sums stay in registers.  A tile that reaches over the end
 * of C reads the last row again and stores what there is.
 *
 * A(i, k) = a[i * a_row + k * a_col]; B likewise, with one of its two strides 1.  The matrices of
 * the products of a batch lie a_next, b_next, c_next apart.
 *
 * drove_gemm_bf16 rounds the numbers of op(A) and op(B) to bf16 first: B's when its panel is
 * packed, A's when they are read.
 */
enum { KC = 128, ROWS = 8, WIDTH = 32 };

/* drove_bf16 of 16 numbers */
static inline float16 bf16_of_16(float16 v)
{
    uint16 bits = as_uint16(v);
    uint16 up = bits + 0x7fffu + (bits >> 16 & 1u);
    up = select(up, bits | 0x400000u, (bits & 0x7fffffffu) > 0x7f800000u);
    return as_float16(up & 0xffff0000u);
}

/* panel[k][32] of op(B) rows k0 .., columns from j, n_k x n_j of them there */
static inline void pack_rows(float16 *panel, __global const float *b, size_t b_row, unsigned n_k,
                             unsigned n_j)
{
    if (n_j == WIDTH) {
        for (unsigned k = 0; k < n_k; k++) {
            panel[2 * k] = vload16(0, b + k * b_row);
            panel[2 * k + 1] = vload16(0, b + k * b_row + 16);
        }
        return;
    }
    for (unsigned k = 0; k < n_k; k++) {
        float *to = (float *)(panel + 2 * k);
        for (unsigned j = 0; j < n_j; j++) to[j] = b[k * b_row + j];
        for (unsigned j = n_j; j < WIDTH; j++) to[j] = 0.0f;
    }
}

/* The same of a B whose columns lie in rows: four by four numbers are turned at once. */
static inline void pack_columns(float16 *panel, __global const float *b, size_t b_col, unsigned n_k,
                                unsigned n_j)
{
    float   *to = (float *)panel;
    unsigned j = 0;
    for (; j + 4 <= n_j; j += 4) {
        __global const float *from = b + j * b_col;
        unsigned              k = 0;
        for (; k + 4 <= n_k; k += 4) {
            float4 p = vload4(0, from + k), q = vload4(0, from + b_col + k);
            float4 r = vload4(0, from + 2 * b_col + k), s = vload4(0, from + 3 * b_col + k);
            vstore4((float4)(p.x, q.x, r.x, s.x), 0, to + k * WIDTH + j);
            vstore4((float4)(p.y, q.y, r.y, s.y), 0, to + (k + 1) * WIDTH + j);
            vstore4((float4)(p.z, q.z, r.z, s.z), 0, to + (k + 2) * WIDTH + j);
            vstore4((float4)(p.w, q.w, r.w, s.w), 0, to + (k + 3) * WIDTH + j);
        }
        for (; k < n_k; k++)
            for (unsigned i = 0; i < 4; i++) to[k * WIDTH + j + i] = from[i * b_col + k];
    }
    for (; j < WIDTH; j++)
        for (unsigned k = 0; k < n_k; k++) to[k * WIDTH + j] = j < n_j ? b[j * b_col + k] : 0.0f;
}

/* One row of a tile; beta 0 does not read C. */
static inline void store_row(__global float *c, float16 low, float16 high, unsigned n_j,
                             float alpha, float beta)
{
    if (n_j == WIDTH) {
        low *= alpha;
        high *= alpha;
        if (beta != 0.0f) {
            low += beta * vload16(0, c);
            high += beta * vload16(0, c + 16);
        }
        vstore16(low, 0, c);
        vstore16(high, 0, c + 16);
        return;
    }
    float row[WIDTH];
    vstore16(low, 0, row);
    vstore16(high, 0, row + 16);
    for (unsigned j = 0; j < n_j; j++)
        c[j] = beta != 0.0f ? alpha * row[j] + beta * c[j] : alpha * row[j];
}

static inline void round_panel(float16 *panel, unsigned n_k)
{
    for (unsigned i = 0; i < 2 * n_k; i++) panel[i] = bf16_of_16(panel[i]);
}

/* Rows i .. i + n_i - 1 of C, n_i <= 8; a and c begin at row i. */
static inline void tile(__global const float *a, size_t a_row, size_t a_col, const float16 *panel,
                        __global float *c, size_t c_row, unsigned n_i, unsigned n_j, unsigned n_k,
                        float alpha, float beta, const int in_bf16)
{
    size_t  row[ROWS];
    float16 low[ROWS], high[ROWS];
#pragma unroll
    for (unsigned i = 0; i < ROWS; i++) {
        row[i] = (i < n_i ? i : n_i - 1) * a_row;
        low[i] = high[i] = (float16)(0.0f);
    }
    for (unsigned k = 0; k < n_k; k++) {
        float16               b_low = panel[2 * k], b_high = panel[2 * k + 1];
        __global const float *at = a + k * a_col;
#pragma unroll
        for (unsigned i = 0; i < ROWS; i++) {
            float16 x = (float16)(in_bf16 ? drove_bf16(at[row[i]]) : at[row[i]]);
            low[i] = fma(x, b_low, low[i]);
            high[i] = fma(x, b_high, high[i]);
        }
    }
#pragma unroll
    for (unsigned i = 0; i < ROWS; i++)
        if (i < n_i) store_row(c + i * c_row, low[i], high[i], n_j, alpha, beta);
}

static inline void product(unsigned m, unsigned n, unsigned k, float alpha,
                           __global const float *restrict a, size_t a_row, size_t a_col,
                           __global const float *restrict b, size_t b_row, size_t b_col, float beta,
                           __global float *restrict c, size_t c_row, unsigned rows_each,
                           unsigned cols_each, const int in_bf16)
{
    float16  panel[2 * KC];
    unsigned j0 = (unsigned)get_global_id(0) * cols_each, j1 = min(j0 + cols_each, n);
    unsigned i0 = (unsigned)get_global_id(1) * rows_each, i1 = min(i0 + rows_each, m);
    for (unsigned k0 = 0; k0 < k; k0 += KC) {
        unsigned n_k = min((unsigned)KC, k - k0);
        float    keep = k0 == 0 ? beta : 1.0f;
        for (unsigned j = j0; j < j1; j += WIDTH) {
            unsigned              n_j = min((unsigned)WIDTH, j1 - j);
            __global const float *from = b + k0 * b_row + j * b_col;
            if (b_col == 1) pack_rows(panel, from, b_row, n_k, n_j);
            else pack_columns(panel, from, b_col, n_k, n_j);
            if (in_bf16) round_panel(panel, n_k);
            for (unsigned i = i0; i < i1; i += ROWS)
                tile(a + i * a_row + k0 * a_col, a_row, a_col, panel, c + i * c_row + j, c_row,
                     min((unsigned)ROWS, i1 - i), n_j, n_k, alpha, keep, in_bf16);
        }
    }
}

#define DROVE_GEMM(name, in_bf16)                                                                  \
    __kernel void name(unsigned m, unsigned n, unsigned k, float alpha,                            \
                       __global const float *restrict a, ulong a_at, ulong a_row, ulong a_col,     \
                       __global const float *restrict b, ulong b_at, ulong b_row, ulong b_col,     \
                       float beta, __global float *restrict c, ulong c_at, ulong c_row,            \
                       unsigned rows_each, unsigned cols_each, ulong a_next, ulong b_next,         \
                       ulong c_next)                                                               \
    {                                                                                              \
        size_t i = get_global_id(2);                                                               \
        product(m, n, k, alpha, a + a_at + i * a_next, a_row, a_col, b + b_at + i * b_next, b_row, \
                b_col, beta, c + c_at + i * c_next, c_row, rows_each, cols_each, in_bf16);         \
    }
DROVE_GEMM(drove_gemm, 0)
DROVE_GEMM(drove_gemm_bf16, 1)
