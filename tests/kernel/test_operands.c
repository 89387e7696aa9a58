/* Every slot of the table with every rest of its loops, operands at forbidden pages, and accesses
 * planted beyond each of them (operands.h).  A new slot without a case does not compile. */
#include "operands.h"
#include "support/test.h"

#include "base/mem.h"

#include <string.h>

/* Rows, and other dimensions that stay as they are. */
enum { FEW = 3, DEPTH = 5 };

static const drovek_act acts[] = {DROVEK_LINEAR, DROVEK_RELU, DROVEK_SIGMOID, DROVEK_TANH};

static uint32_t *index_operand(size_t n)
{
    uint32_t index[MOST_LENGTH];
    assert_true(n <= MOST_LENGTH);
    for (size_t i = 0; i < n; i++) index[i] = (uint32_t)i;
    return operand(index, n, sizeof *index);
}

static int32_t *label_operand(size_t n, size_t n_classes)
{
    int32_t label[MOST_LENGTH];
    assert_true(n <= MOST_LENGTH);
    for (size_t i = 0; i < n; i++) label[i] = (int32_t)(i % n_classes);
    return operand(label, n, sizeof *label);
}

/* ---- products ---- */

static void gemm(const drovek_table *t, size_t m, size_t n, size_t k)
{
    for (unsigned variant = 0; variant < 4; variant++) {
        const bool trans_a = variant & 1, trans_b = variant & 2;
        const float beta = variant == 1 ? 1.0f : 0.0f;
        t->gemm_f32(trans_a, trans_b, m, n, k, 1.0f, float_operand(m * k), trans_a ? m : k,
                    float_operand(k * n), trans_b ? k : n, beta, float_operand(m * n), n);
    }
}

static void run_gemm_f32(const drovek_table *t, size_t n)
{
    gemm(t, FEW, n, DEPTH);
    gemm(t, n, FEW, DEPTH);
    gemm(t, FEW, DEPTH, n);
}

static void windows(const drovek_table *t, drovek_windows w)
{
    w.a = float_operand((w.m - 1) * w.a_row + (w.n_segments - 1) * w.a_segment +
                        (w.k - 1) * w.a_step + 1);
    w.b = float_operand((w.n_segments - 1) * w.b_segment + (w.k - 1) * w.b_step +
                        (w.n - 1) * w.b_column + 1);
    w.c = float_operand((w.m - 1) * w.c_row + w.n);
    t->windows_f32(&w);
    w.adds = true;
    t->windows_f32(&w);
}

static void windows_of(const drovek_table *t, size_t m, size_t n, size_t k)
{
    const drovek_windows rows = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .n_segments = 2,
                                 .a_row = 2,
                                 .a_step = 1,
                                 .a_segment = k + 3,
                                 .b_step = n,
                                 .b_segment = k * n,
                                 .b_column = 1,
                                 .c_row = n};
    drovek_windows columns = rows, steps = rows;
    windows(t, rows);
    steps.a_step = 3;
    steps.a_segment = 3 * k;
    windows(t, steps);
    columns.b_step = 1;
    columns.b_column = k;
    columns.b_segment = k * n;
    windows(t, columns);
}

static void run_windows_f32(const drovek_table *t, size_t n)
{
    if (n == 0) return;
    windows_of(t, FEW, n, DEPTH);
    windows_of(t, n, FEW, DEPTH);
    windows_of(t, FEW, DEPTH, n);
}

static void run_matvec_f32(const drovek_table *t, size_t n)
{
    t->matvec_f32(float_operand(n), float_operand(FEW), float_operand(FEW * n), FEW, n);
    t->matvec_f32(float_operand(FEW), float_operand(n), float_operand(FEW * n), n, FEW);
}

static void run_matvec_t_f32(const drovek_table *t, size_t n)
{
    t->matvec_t_f32(float_operand(FEW), float_operand(n), float_operand(FEW * n), FEW, n);
    t->matvec_t_f32(float_operand(n), float_operand(FEW), float_operand(FEW * n), n, FEW);
}

static void run_ger_f32(const drovek_table *t, size_t n)
{
    t->ger_f32(float_operand(FEW * n), float_operand(FEW), float_operand(n), FEW, n, 0.1f);
    t->ger_f32(float_operand(FEW * n), float_operand(n), float_operand(FEW), n, FEW, 0.1f);
}

static void run_outer_f32(const drovek_table *t, size_t n)
{
    t->outer_f32(float_operand(FEW * n), float_operand(FEW), float_operand(n), FEW, n);
    t->outer_f32(float_operand(FEW * n), float_operand(n), float_operand(FEW), n, FEW);
}

/* Of `rows` pairs: their values, or, every other time, NULL. */
static const float *values(size_t rows, bool are_ones)
{
    return are_ones ? NULL : float_operand(rows);
}

static void run_spmatvec_f32(const drovek_table *t, size_t n)
{
    for (unsigned ones = 0; ones <= 1; ones++) {
        t->spmatvec_f32(float_operand(n), index_operand(FEW), values(FEW, ones), FEW,
                        float_operand(FEW * n), n);
        t->spmatvec_f32(float_operand(FEW), index_operand(n), values(n, ones), n,
                        float_operand(n * FEW), FEW);
    }
}

static void run_spger_f32(const drovek_table *t, size_t n)
{
    for (unsigned ones = 0; ones <= 1; ones++) {
        t->spger_f32(float_operand(FEW * n), index_operand(FEW), values(FEW, ones), FEW,
                     float_operand(n), n, 0.1f);
        t->spger_f32(float_operand(n * FEW), index_operand(n), values(n, ones), n,
                     float_operand(FEW), FEW, 0.1f);
    }
}

static void run_spouter_f32(const drovek_table *t, size_t n)
{
    for (unsigned ones = 0; ones <= 1; ones++) {
        t->spouter_f32(float_operand(FEW * n), index_operand(FEW), values(FEW, ones), FEW,
                       float_operand(n), n);
        t->spouter_f32(float_operand(n * FEW), index_operand(n), values(n, ones), n,
                       float_operand(FEW), FEW);
    }
}

/* ---- element-wise, losses ---- */

static void run_bias_act_f32(const drovek_table *t, size_t n)
{
    for (size_t a = 0; a < DROVE_COUNT(acts); a++) {
        t->bias_act_f32(float_operand(FEW * n), float_operand(n), FEW, n, acts[a]);
        t->bias_act_f32(float_operand(FEW * n), float_operand(FEW), n, FEW, acts[a]);
    }
}

static void run_act_grad_f32(const drovek_table *t, size_t n)
{
    for (size_t a = 1; a < DROVE_COUNT(acts); a++) { /* linear: y is not read */
        t->act_grad_f32(float_operand(FEW * n), float_operand(n), float_operand(FEW * n), FEW, n,
                        acts[a]);
        t->act_grad_f32(float_operand(FEW * n), float_operand(FEW), float_operand(FEW * n), n, FEW,
                        acts[a]);
    }
    t->act_grad_f32(float_operand(FEW * n), float_operand(n), NULL, FEW, n, DROVEK_LINEAR);
}

static void run_act_f32(const drovek_table *t, size_t n)
{
    for (size_t a = 0; a < DROVE_COUNT(acts); a++)
        t->act_f32(float_operand(n), float_operand(n), n, acts[a]);
}

static void run_act_back_f32(const drovek_table *t, size_t n)
{
    for (size_t a = 1; a < DROVE_COUNT(acts); a++)
        for (unsigned adds = 0; adds <= 1; adds++)
            t->act_back_f32(float_operand(n), float_operand(n), float_operand(n), n, acts[a], adds);
}

static void run_curve_f32(const drovek_table *t, size_t n)
{
    for (drovek_act act = DROVEK_TANH + 1; act <= DROVEK_CURVE_erf; act++)
        t->curve_f32(float_operand(n), float_operand(n), n, act, 1.0f, 0.5f);
}

static void run_curve_back_f32(const drovek_table *t, size_t n)
{
    for (drovek_act act = DROVEK_TANH + 1; act <= DROVEK_CURVE_erf; act++)
        for (unsigned adds = 0; adds <= 1; adds++)
            t->curve_back_f32(float_operand(n), float_operand(n), float_operand(n), n, act, 1.0f,
                              0.5f, adds);
}

static void run_cos_f32(const drovek_table *t, size_t n)
{
    t->cos_f32(float_operand(FEW * n), float_operand(n), FEW, n, 2.0f);
    t->cos_f32(float_operand(FEW * n), float_operand(FEW), n, FEW, 2.0f);
}

static void softmax(const drovek_table *t, size_t rows, size_t cols)
{
    size_t n_correct = 0;
    if (cols == 0) return;
    (void)t->softmax_f32(float_operand(rows * cols), label_operand(rows, cols),
                         float_operand(rows * cols), rows, cols, 1.0f, &n_correct);
    (void)t->softmax_f32(float_operand(rows * cols), label_operand(rows, cols), NULL, rows, cols,
                         1.0f, &n_correct);
}

static void run_softmax_f32(const drovek_table *t, size_t n)
{
    softmax(t, FEW, n);
    softmax(t, n, FEW);
}

/* ---- whole vectors ---- */

static void run_copy_f32(const drovek_table *t, size_t n)
{
    t->copy_f32(float_operand(n), float_operand(n), n);
}

static void run_axpy_f32(const drovek_table *t, size_t n)
{
    t->axpy_f32(float_operand(n), float_operand(n), n, 0.5f);
}

static void run_scale_f32(const drovek_table *t, size_t n)
{
    t->scale_f32(float_operand(n), n, 0.5f);
}

static void run_blend_f32(const drovek_table *t, size_t n)
{
    t->blend_f32(float_operand(n), float_operand(n), float_operand(n), n, 0.5f, 0.5f);
    t->blend_f32(float_operand(n), float_operand(n), NULL, n, 0.5f, 0.5f);
}

static void run_add_f32(const drovek_table *t, size_t n)
{
    for (unsigned streams = 0; streams <= 1; streams++)
        t->add_f32(float_operand(n), float_operand(n), float_operand(n), n, 0.5f, streams);
}

static void run_dot_f32(const drovek_table *t, size_t n)
{
    (void)t->dot_f32(float_operand(n), float_operand(n), n);
}

static void run_finite_f32(const drovek_table *t, size_t n)
{
    (void)t->finite_f32(float_operand(n), n);
}

static void run_largest_f32(const drovek_table *t, size_t n)
{
    (void)t->largest_f32(float_operand(n), n);
}

static void run_widen_i16_f32(const drovek_table *t, size_t n)
{
    t->widen_i16_f32(float_operand(n), operand(NULL, n, sizeof(int16_t)), n, 0.5f);
}

static void run_xor_u64(const drovek_table *t, size_t n)
{
    (void)t->xor_u64(operand(NULL, n, sizeof(uint64_t)), n);
}

static void run_widen_u8_f32(const drovek_table *t, size_t n)
{
    t->widen_u8_f32(float_operand(n), operand(NULL, n, 1), float_operand(n), float_operand(n), n);
    t->widen_u8_f32(float_operand(n), operand(NULL, n, 1), NULL, NULL, n);
}

static void run_affine_f32(const drovek_table *t, size_t n)
{
    t->affine_f32(float_operand(n), float_operand(n), float_operand(n), float_operand(n), n);
    t->affine_f32(float_operand(n), float_operand(n), NULL, NULL, n);
}

static void run_widen_bf16(const drovek_table *t, size_t n)
{
    t->widen_bf16(float_operand(n), operand(NULL, n, sizeof(uint16_t)), n);
}

static void run_sgd_bf16(const drovek_table *t, size_t n)
{
    enum { EACH = DROVEK_BLOCK_BYTES / sizeof(uint16_t) };
    for (drovek_bits_kind kind = DROVEK_BITS_FIXED; kind <= DROVEK_BITS_XORSHIFT; kind++) {
        drovek_bits bits = {.kind = kind, .state = {1, 2, 3, 4, 5, 6, 7, 8}};
        const size_t n_blocks = kind == DROVEK_BITS_STREAM ? (n + EACH - 1) / EACH : n > 0;
        if (kind != DROVEK_BITS_XORSHIFT) bits.block = operand(NULL, n_blocks, DROVEK_BLOCK_BYTES);
        t->sgd_bf16(operand(NULL, n, sizeof(uint16_t)), float_operand(n), n, 0.5f, &bits);
    }
}

/* ---- update rules ---- */

static void run_sgd_f32(const drovek_table *t, size_t n)
{
    t->sgd_f32(float_operand(n), float_operand(n), float_operand(n), n, 0.1f);
}

static drovek_update update_operands(size_t n, unsigned n_states)
{
    drovek_update u = {
        .n = n, .g = float_operand(n), .in = float_operand(n), .out = float_operand(n)};
    for (unsigned i = 0; i < n_states; i++) {
        u.state_in[i] = float_operand(n);
        u.state_out[i] = float_operand(n);
    }
    return u;
}

static void run_momentum_f32(const drovek_table *t, size_t n)
{
    const drovek_update u = update_operands(n, 1);
    t->momentum_f32(&u, 0.1f, 0.5f);
}

static void run_adagrad_f32(const drovek_table *t, size_t n)
{
    const drovek_update u = update_operands(n, 1);
    t->adagrad_f32(&u, 0.1f, 1e-6f);
}

static void run_rmsprop_f32(const drovek_table *t, size_t n)
{
    const drovek_update u = update_operands(n, 1);
    t->rmsprop_f32(&u, 0.1f, 0.5f, 1e-6f);
}

static void run_adam_f32(const drovek_table *t, size_t n)
{
    const drovek_update u = update_operands(n, 2);
    t->adam_f32(&u, 0.1f, 0.5f, 0.5f, 1.0f, 1.0f, 1e-6f);
}

/* ---- images ---- */

static drovek_pool pool(size_t c, size_t k, size_t step, size_t pad)
{
    enum { SIDE = 5 };
    const size_t all = SIDE + 2 * pad, out = (all - k) / step + 1;
    return (drovek_pool){c, SIDE, SIDE, out, out, k, k, step, step, pad, pad, 0, 0, all, all};
}

static const struct {
    size_t k, step, pad;
} pools[] = {{2, 1, 0}, {3, 2, 1}};

static size_t n_in(const drovek_pool *p)
{
    return p->c * p->h * p->w;
}

static size_t n_out(const drovek_pool *p)
{
    return p->c * p->oh * p->ow;
}

static void run_max_pool_f32(const drovek_table *t, size_t n)
{
    for (size_t i = 0; i < DROVE_COUNT(pools); i++) {
        const drovek_pool p = pool(n, pools[i].k, pools[i].step, pools[i].pad);
        t->max_pool_f32(&p, float_operand(n_in(&p)), float_operand(n_out(&p)),
                        operand(NULL, n_out(&p), 1), 1);
        t->max_pool_f32(&p, float_operand(n_in(&p)), float_operand(n_out(&p)), NULL, 1);
    }
}

static void run_max_pool_back_f32(const drovek_table *t, size_t n)
{
    for (size_t i = 0; i < DROVE_COUNT(pools); i++) {
        const drovek_pool p = pool(n, pools[i].k, pools[i].step, pools[i].pad);
        const uint8_t centre = (uint8_t)(pools[i].pad * (pools[i].k + 1));
        uint8_t from[(MOST_LENGTH + 1) * 16];
        assert_true(n_out(&p) <= sizeof from);
        memset(from, centre, sizeof from);
        for (unsigned adds = 0; adds <= 1; adds++)
            t->max_pool_back_f32(&p, float_operand(n_out(&p)), operand(from, n_out(&p), 1),
                                 float_operand(n_in(&p)), 1, adds);
    }
}

static void run_average_pool_f32(const drovek_table *t, size_t n)
{
    for (size_t i = 0; i < DROVE_COUNT(pools); i++) {
        const drovek_pool p = pool(n, pools[i].k, pools[i].step, pools[i].pad);
        t->average_pool_f32(&p, float_operand(n_in(&p)), float_operand(n_out(&p)), 1);
    }
}

static void run_average_pool_back_f32(const drovek_table *t, size_t n)
{
    for (size_t i = 0; i < DROVE_COUNT(pools); i++) {
        const drovek_pool p = pool(n, pools[i].k, pools[i].step, pools[i].pad);
        for (unsigned adds = 0; adds <= 1; adds++)
            t->average_pool_back_f32(&p, float_operand(n_out(&p)), float_operand(n_in(&p)), 1,
                                     adds);
    }
}

static void run_depthwise_f32(const drovek_table *t, size_t n)
{
    for (size_t i = 0; i < DROVE_COUNT(pools); i++) {
        const drovek_pool p = pool(n, pools[i].k, pools[i].step, pools[i].pad);
        t->depthwise_f32(&p, float_operand(n_in(&p)), float_operand(p.kh * p.kw * n),
                         float_operand(n), float_operand(n_out(&p)), 1);
    }
}

static void run_depthwise_back_f32(const drovek_table *t, size_t n)
{
    for (size_t i = 0; i < DROVE_COUNT(pools); i++) {
        const drovek_pool p = pool(n, pools[i].k, pools[i].step, pools[i].pad);
        for (unsigned adds = 0; adds <= 1; adds++)
            t->depthwise_back_f32(&p, float_operand(n_out(&p)), float_operand(p.kh * p.kw * n),
                                  float_operand(n_in(&p)), 1, adds);
    }
}

static void run_depthwise_weights_f32(const drovek_table *t, size_t n)
{
    for (size_t i = 0; i < DROVE_COUNT(pools); i++) {
        const drovek_pool p = pool(n, pools[i].k, pools[i].step, pools[i].pad);
        t->depthwise_weights_f32(&p, float_operand(n_in(&p)), float_operand(n_out(&p)),
                                 float_operand(p.kh * p.kw * n), 1);
    }
}

/* Channels along one position, and few channels at many. */
static drovek_lrn lrn(size_t n, unsigned variant)
{
    drovek_lrn l = {.reach = 2, .factor = 0.1f, .beta = 0.75f, .kappa = 1.0f};
    l.c = l.block = variant == 0 ? n : DEPTH;
    l.hw = variant == 0 ? FEW : n;
    return l;
}

static void run_lrn_f32(const drovek_table *t, size_t n)
{
    for (unsigned variant = 0; variant < 2 && n > 0; variant++) {
        const drovek_lrn l = lrn(n, variant);
        t->lrn_f32(&l, float_operand(l.c * l.hw), float_operand(l.c * l.hw), 1);
    }
}

static void run_lrn_back_f32(const drovek_table *t, size_t n)
{
    for (unsigned variant = 0; variant < 4 && n > 0; variant++) {
        const drovek_lrn l = lrn(n, variant % 2);
        const size_t size = l.c * l.hw;
        t->lrn_back_f32(&l, float_operand(size), float_operand(size), float_operand(size), 1,
                        variant / 2);
    }
}

static void run_dropout_f32(const drovek_table *t, size_t n)
{
    const drovek_dropout d = {.key = 3, .threshold = 1, .factor = 2.0f};
    for (unsigned adds = 0; adds <= 1; adds++)
        t->dropout_f32(&d, float_operand(FEW * n), float_operand(FEW * n), FEW, n, 0, n, adds);
}

static void column_sums(const drovek_table *t, size_t rows, size_t cols, bool with_ku)
{
    const double zero[MOST_LENGTH] = {0.0};
    t->column_sums_f32(float_operand(rows * cols), with_ku ? float_operand(cols) : NULL,
                       float_operand(rows * cols), float_operand(cols), rows, cols,
                       operand(zero, cols, sizeof *zero), operand(zero, cols, sizeof *zero));
}

static void run_column_sums_f32(const drovek_table *t, size_t n)
{
    for (unsigned with_ku = 0; with_ku <= 1; with_ku++) {
        column_sums(t, FEW, n, with_ku);
        column_sums(t, n, FEW, with_ku);
    }
}

static void run_column_combine_f32(const drovek_table *t, size_t n)
{
    for (unsigned variant = 0; variant < 4; variant++) {
        float *to = float_operand(FEW * n), *x = float_operand(FEW * n);
        float *y = variant & 1 ? float_operand(FEW * n) : NULL;
        const float *b = variant & 1 ? float_operand(n) : NULL; /* y's factors */
        t->column_combine_f32(to, x, y, float_operand(n), b, float_operand(n), FEW, n, variant / 2);
    }
}

static void run_copy_rows_f32(const drovek_table *t, size_t n)
{
    const size_t to = n + 3, from = n + 1;
    if (n == 0) return;
    for (unsigned adds = 0; adds <= 1; adds++)
        t->copy_rows_f32(float_operand((FEW - 1) * to + n), to, float_operand((FEW - 1) * from + n),
                         from, FEW, n, adds);
}

/* ---- exchange ---- */

static void run_elastic_f32(const drovek_table *t, size_t n)
{
    for (unsigned v = 0; v < 4; v++)
        (void)t->elastic_f32(float_operand(n), v & 1 ? float_operand(n) : NULL, float_operand(n), n,
                             0.1f, 0.2f, v / 2);
}

static void run_centre_f32(const drovek_table *t, size_t n)
{
    t->centre_f32(float_operand(n), float_operand(n), float_operand(n), n, 0.2f, 2.0f);
    t->centre_f32(float_operand(n), float_operand(n), NULL, n, 0.2f, 2.0f);
}

static void run_elastic_centre_f32(const drovek_table *t, size_t n)
{
    for (unsigned v = 0; v < 4; v++)
        (void)t->elastic_centre_f32(float_operand(n), v & 1 ? float_operand(n) : NULL,
                                    float_operand(n), float_operand(n), n, 0.1f, 0.2f, 2.0f, v / 2);
}

/* n numbers, and n more than a full block. */
static void run_encoder(drovek_encode_fn *encode, unsigned bits, size_t n)
{
    for (unsigned v = 0; v < 4; v++) {
        const size_t all = v / 2 * DROVEK_CODE_BLOCK + n;
        float *residual = v & 1 ? float_operand(all) : NULL;
        encode(operand(NULL, drovek_code_bytes(bits, all), 1), float_operand(all), residual, all, 1,
               2);
    }
}

static void run_decoder(drovek_encode_fn *encode, drovek_decode_fn *decode, unsigned bits, size_t n)
{
    uint8_t code[4 * 2 * DROVEK_CODE_BLOCK];
    float x[2 * DROVEK_CODE_BLOCK];
    for (size_t i = 0; i < DROVE_COUNT(x); i++) x[i] = (float)(i % 7) - 3.0f;
    for (size_t all = n; all < DROVE_COUNT(x); all += DROVEK_CODE_BLOCK) {
        encode(code, x, NULL, all, 1, 2);
        decode(float_operand(all), operand(code, drovek_code_bytes(bits, all), 1), all);
    }
}

static void run_encode_i16(const drovek_table *t, size_t n)
{
    run_encoder(t->encode_i16, 16, n);
}

static void run_encode_i8(const drovek_table *t, size_t n)
{
    run_encoder(t->encode_i8, 8, n);
}

static void run_encode_i1(const drovek_table *t, size_t n)
{
    run_encoder(t->encode_i1, 1, n);
}

static void run_decode_i16(const drovek_table *t, size_t n)
{
    run_decoder(drovek_ref.encode_i16, t->decode_i16, 16, n);
}

static void run_decode_i8(const drovek_table *t, size_t n)
{
    run_decoder(drovek_ref.encode_i8, t->decode_i8, 8, n);
}

static void run_decode_i1(const drovek_table *t, size_t n)
{
    run_decoder(drovek_ref.encode_i1, t->decode_i1, 1, n);
}

/* ---- all of them ---- */

/* Those of the table that differ from the slots of the tier before. */
static void check_table(const drovek_table *t)
{
    static drovek_table before;
    drovek_thread_init();
#define SLOT(name, result, arguments)                                                              \
    if (t->name != before.name) check_operands(t, #name, run_##name, 0, MOST_LENGTH);
#include "kernel/slots.def"
    before = *t;
    report_planted(t);
}

TEST(test_table)
{
    for_each_tier(check_table);
}

/* The same, of slots that round their factors to bf16. */
static void check_bf16(const drovek_table *t)
{
    static drovek_table before;
    drovek_thread_init();
#define PRODUCT(name, result, arguments)                                                           \
    if (t->name##_f32 != before.name##_f32)                                                        \
        check_operands(t, "bf16 " #name, run_##name##_f32, 0, MOST_LENGTH);
#include "kernel/slots.def"
    before = *t;
    report_planted(t);
}

static void check_integers(const drovek_table *t)
{
    static drovek_gemm_f32_fn *before;
    drovek_thread_init();
    if (t->gemm_f32 != before) check_operands(t, "gemm of integers", run_gemm_f32, 0, MOST_LENGTH);
    before = t->gemm_f32;
    report_planted(t);
}

TEST(test_narrow_products)
{
    for_each_bf16_tier(check_bf16);
    for_each_narrow_tier(DROVEK_FACTORS_I8, check_integers);
    for_each_narrow_tier(DROVEK_FACTORS_I16, check_integers);
}
