/* bench/micro/kernels.c - how fast each kernel is, at the shapes of an MLP 784-128-128-128-10.
 *
 * usage: bench_kernels [--isa TIER] [--kernel TEXT] [--rounds N]
 *
 * --kernel: only those whose name contains the text.  Output: one JSON object a line; `ns` is one
 * call, the fastest of N rounds after one that does not count.  A round walks over all cases, so
 * that a disturbance hits one round of each and not all rounds of one.  One thread, pinned.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/topo.h"
#include "kernel/kernel.h"
#include "kernel/tiers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_PARAMS = 784 * 128 + 128 + 2 * (128 * 128 + 128) + 128 * 10 + 10 };
enum { MAX_BATCH = 512, N_ELEMENTS = MAX_BATCH * 1000, SEED = 1 };
enum {
    ROUND_NS = 300000
}; /* a case runs at least this long in a round: short, to find quiet times */
static const float ETA = 1e-9f;

/* Parameters, gradient, rule state; activations and their gradients; data of one batch. */
static float *w, *g, *m1, *m2, *x, *y, *dy, *shift, *factor, *bias;
static uint8_t *bytes, *codes;
static int32_t *label;
static uint32_t index_of[75]; /* rows of w that a sparse example touches */

typedef struct bench_case {
    const char *kernel, *shape, *unit;
    double work; /* of one call: operations or elements */
    void (*run)(const drovek_table *k, const struct bench_case *c);
    size_t rows, cols, depth;
    int variant; /* activation; per cent of inputs that are not 0; form of the product */
    double best_ns, best_library_ns; /* library: the same product by oneDNN alone */
} bench_case;

enum { FORWARD, BACK_DATA, BACK_WEIGHTS };

static void run_gemm(const drovek_table *k, const bench_case *c)
{
    size_t m = c->rows, n = c->cols, d = c->depth;
    switch (c->variant) {
    case FORWARD: k->gemm_f32(false, false, m, n, d, 1.0f, x, d, w, n, 0.0f, y, n); break;
    case BACK_DATA: k->gemm_f32(false, true, m, n, d, 1.0f, dy, d, w, d, 0.0f, y, n); break;
    case BACK_WEIGHTS: k->gemm_f32(true, false, m, n, d, 1.0f, x, m, dy, n, 0.0f, g, n); break;
    }
}

static void run_matvec(const drovek_table *k, const bench_case *c)
{
    k->matvec_f32(y, x, w, c->rows, c->cols);
}

static void run_matvec_t(const drovek_table *k, const bench_case *c)
{
    k->matvec_t_f32(y, dy, w, c->rows, c->cols);
}

static void run_ger(const drovek_table *k, const bench_case *c)
{
    k->ger_f32(w, x, dy, c->rows, c->cols, ETA);
}

static void run_outer(const drovek_table *k, const bench_case *c)
{
    k->outer_f32(g, x, dy, c->rows, c->cols);
}

static void run_spmatvec(const drovek_table *k, const bench_case *c)
{
    k->spmatvec_f32(y, index_of, x, c->rows, w, c->cols);
}

static void run_spger(const drovek_table *k, const bench_case *c)
{
    k->spger_f32(w, index_of, x, c->rows, dy, c->cols, ETA);
}

static void run_spouter(const drovek_table *k, const bench_case *c)
{
    k->spouter_f32(g, index_of, x, c->rows, dy, c->cols);
}

static void run_bias_act(const drovek_table *k, const bench_case *c)
{
    k->bias_act_f32(y, bias, c->rows, c->cols, (drovek_act)c->variant);
}

static void run_act_grad(const drovek_table *k, const bench_case *c)
{
    k->act_grad_f32(dy, g, y, c->rows, c->cols, (drovek_act)c->variant);
}

static void run_cos(const drovek_table *k, const bench_case *c)
{
    k->cos_f32(y, bias, c->rows, c->cols, 0.02f);
}

static void run_softmax(const drovek_table *k, const bench_case *c)
{
    size_t n_correct = 0;
    k->softmax_f32(x, label, dy, c->rows, c->cols, 0.01f, &n_correct);
}

static void run_copy(const drovek_table *k, const bench_case *c)
{
    k->copy_f32(g, w, c->cols);
}

static void run_axpy(const drovek_table *k, const bench_case *c)
{
    k->axpy_f32(w, g, c->cols, ETA);
}

static void run_scale(const drovek_table *k, const bench_case *c)
{
    k->scale_f32(w, c->cols, 1.0f);
}

static void run_dot(const drovek_table *k, const bench_case *c)
{
    if (k->dot_f32(w, g, c->cols) == 1e300) puts("");
}

static void run_finite(const drovek_table *k, const bench_case *c)
{
    if (!k->finite_f32(w, c->cols)) puts("");
}

static void run_xor(const drovek_table *k, const bench_case *c)
{
    const void *words = w;
    if (k->xor_u64(words, c->cols / 2) == 1) puts("");
}

static void run_largest(const drovek_table *k, const bench_case *c)
{
    if (k->largest_f32(w, c->cols) == 0) puts("");
}

static void run_widen_i16(const drovek_table *k, const bench_case *c)
{
    k->widen_i16_f32(x, (const int16_t *)bytes, c->cols, 0x1p-7f);
}

static void run_widen_u8(const drovek_table *k, const bench_case *c)
{
    bool is_scaled = c->variant != 0;
    for (size_t i = 0; i < c->rows * c->cols; i += c->cols) {
        k->widen_u8_f32(x + i, bytes + i, is_scaled ? shift : NULL, is_scaled ? factor : NULL,
                        c->cols);
    }
}

static void run_affine(const drovek_table *k, const bench_case *c)
{
    k->affine_f32(y, x, shift, factor, c->cols);
}

static void run_sgd(const drovek_table *k, const bench_case *c)
{
    k->sgd_f32(w, w, g, c->cols, ETA);
}

static drovek_update update_of(size_t n)
{
    return (drovek_update){n, g, w, {m1, m2}, w, {m1, m2}};
}

static void run_momentum(const drovek_table *k, const bench_case *c)
{
    const drovek_update u = update_of(c->cols);
    k->momentum_f32(&u, ETA, 0.9f);
}

static void run_adagrad(const drovek_table *k, const bench_case *c)
{
    const drovek_update u = update_of(c->cols);
    k->adagrad_f32(&u, ETA, 1e-6f);
}

static void run_rmsprop(const drovek_table *k, const bench_case *c)
{
    const drovek_update u = update_of(c->cols);
    k->rmsprop_f32(&u, ETA, 0.9f, 1e-6f);
}

static void run_adam(const drovek_table *k, const bench_case *c)
{
    const drovek_update u = update_of(c->cols);
    k->adam_f32(&u, ETA, 0.9f, 0.999f, 0.5f, 0.5f, 1e-6f);
}

static void run_elastic(const drovek_table *k, const bench_case *c)
{
    (void)k->elastic_f32(w, g, m1, c->cols, ETA, 1e-3f, c->variant != 0);
}

static void run_elastic_centre(const drovek_table *k, const bench_case *c)
{
    (void)k->elastic_centre_f32(w, g, m1, m2, c->cols, ETA, 1e-9f, 1.0f, c->variant != 0);
}

static void run_centre(const drovek_table *k, const bench_case *c)
{
    k->centre_f32(m1, g, NULL, c->cols, 1e-9f, 1.0f);
}

/* variant: bits */
static void run_encode(const drovek_table *k, const bench_case *c)
{
    drovek_encode_fn *encode = c->variant == 16  ? k->encode_i16
                               : c->variant == 8 ? k->encode_i8
                                                 : k->encode_i1;
    encode(codes, g, shift, c->cols, 1, 0);
}

static void run_decode(const drovek_table *k, const bench_case *c)
{
    drovek_decode_fn *decode = c->variant == 16  ? k->decode_i16
                               : c->variant == 8 ? k->decode_i8
                                                 : k->decode_i1;
    decode(y, codes, c->cols);
}

/* ---- the cases ---- */

/* clang-format off */
#define CASE(name, shape, unit, work, r, c, d, v) \
    {#name "_f32", shape, unit, work, run_##name, r, c, d, v, 0.0, 0.0}
#define GEMM(form, m, n, k, shape) \
    CASE(gemm, shape, "GFLOP/s", 2.0 * (m) * (n) * (k), m, n, k, form)
#define ONE(name, in, out, pct, shape) \
    CASE(name, shape, "GFLOP/s", 0.02 * (pct) * (in) * (out), in, out, 0, pct)
#define ROWS(name, r, c, v, shape) CASE(name, shape, "Gelem/s", 1.0 * (r) * (c), r, c, 0, v)
#define VECTOR(name) ROWS(name, 1, 4096, 0, "4096"), ROWS(name, 1, N_PARAMS, 0, "134794")
#define STEP(b, name)                                            \
    GEMM(FORWARD,      b,   128, 784, name " forward 784-128"),  \
    GEMM(FORWARD,      b,   128, 128, name " forward 128-128"),  \
    GEMM(FORWARD,      b,   10,  128, name " forward 128-10"),   \
    GEMM(BACK_DATA,    b,   128, 10,  name " data 128-10"),      \
    GEMM(BACK_DATA,    b,   128, 128, name " data 128-128"),     \
    GEMM(BACK_WEIGHTS, 128, 10,  b,   name " weights 128-10"),   \
    GEMM(BACK_WEIGHTS, 128, 128, b,   name " weights 128-128"),  \
    GEMM(BACK_WEIGHTS, 784, 128, b,   name " weights 784-128")

static bench_case cases[] = {
    STEP(4, "batch 4"),
    STEP(8, "batch 8"),
    STEP(16, "batch 16"),
    STEP(32, "batch 32"),
    STEP(64, "batch 64"),
    STEP(512, "batch 512"),
    ONE(matvec, 784, 128, 100, "784x128"),
    ONE(matvec, 784, 128, 19, "784x128, 19 % not 0"),
    ONE(matvec, 128, 128, 100, "128x128"),
    ONE(matvec, 128, 10, 100, "128x10"),
    ONE(matvec_t, 128, 128, 100, "128x128"),
    ONE(matvec_t, 128, 10, 100, "128x10"),
    ONE(ger, 784, 128, 100, "784x128"),
    ONE(ger, 784, 128, 19, "784x128, 19 % not 0"),
    ONE(ger, 128, 128, 100, "128x128"),
    ONE(ger, 128, 10, 100, "128x10"),
    ONE(outer, 784, 128, 100, "784x128"),
    ONE(spmatvec, 75, 128, 100, "75 of 4000, x128"),
    ONE(spmatvec, 75, 1, 100, "75 of 4000, x1"),
    ONE(spger, 75, 128, 100, "75 of 4000, x128"),
    ONE(spger, 75, 1, 100, "75 of 4000, x1"),
    ONE(spouter, 75, 128, 100, "75 of 4000, x128"),
    ROWS(bias_act, 16, 128, DROVEK_RELU, "relu 16x128"),
    ROWS(bias_act, 512, 128, DROVEK_RELU, "relu 512x128"),
    ROWS(bias_act, 512, 10, DROVEK_LINEAR, "linear 512x10"),
    ROWS(bias_act, 64, 128, DROVEK_SIGMOID, "sigmoid 64x128"),
    ROWS(bias_act, 64, 128, DROVEK_TANH, "tanh 64x128"),
    ROWS(act_grad, 16, 128, DROVEK_RELU, "relu 16x128"),
    ROWS(act_grad, 512, 128, DROVEK_RELU, "relu 512x128"),
    ROWS(act_grad, 512, 10, DROVEK_LINEAR, "linear 512x10"),
    ROWS(cos, 256, 512, 0, "256x512"),
    ROWS(softmax, 16, 10, 0, "16x10"),
    ROWS(softmax, 512, 10, 0, "512x10"),
    ROWS(softmax, 64, 1000, 0, "64x1000"),
    ROWS(widen_u8, 64, 784, 0, "64 rows of 784, plain"),
    ROWS(widen_u8, 64, 784, 1, "64 rows of 784, scaled"),
    ROWS(affine, 1, 784, 0, "784"),
    VECTOR(copy),
    VECTOR(axpy),
    VECTOR(scale),
    VECTOR(dot),
    VECTOR(finite),
    VECTOR(largest),
    VECTOR(widen_i16),
    VECTOR(xor),
    VECTOR(sgd),
    VECTOR(momentum),
    VECTOR(adagrad),
    VECTOR(rmsprop),
    VECTOR(adam),
    ROWS(elastic, 1, N_PARAMS, 0, "134794"),
    ROWS(elastic, 1, N_PARAMS, 1, "134794, distance"),
    ROWS(elastic_centre, 1, N_PARAMS, 0, "134794"),
    ROWS(elastic_centre, 1, N_PARAMS, 1, "134794, distance"),
    VECTOR(centre),
    ROWS(encode, 1, N_PARAMS, 16, "16 bits, 134794"),
    ROWS(encode, 1, N_PARAMS, 8, "8 bits, 134794"),
    ROWS(encode, 1, N_PARAMS, 1, "1 bit, 134794"),
    ROWS(decode, 1, N_PARAMS, 16, "16 bits, 134794"),
    ROWS(decode, 1, N_PARAMS, 8, "8 bits, 134794"),
    ROWS(decode, 1, N_PARAMS, 1, "1 bit, 134794"),
};
/* clang-format on */

static void *filled(drove_rng *rng)
{
    float *memory = drove__alloc(N_ELEMENTS, sizeof *memory);
    if (memory == NULL) exit(1);
    for (size_t i = 0; i < N_ELEMENTS; i++) memory[i] = (float)drove__rng_uniform(rng) + 0.5f;
    return memory;
}

static void allocate(void)
{
    float **vectors[] = {&w, &g, &m1, &m2, &x, &y, &dy, &shift, &factor, &bias};
    drove_rng rng;
    drove__rng_seed(&rng, SEED, DROVE_RNG_TEST, 0);
    for (size_t v = 0; v < DROVE_COUNT(vectors); v++) *vectors[v] = filled(&rng);
    bytes = drove__alloc(N_ELEMENTS, 1);
    codes = drove__alloc(N_ELEMENTS, 3);
    label = drove__alloc(MAX_BATCH, sizeof *label);
    if (bytes == NULL || codes == NULL || label == NULL) exit(1);
    for (size_t i = 0; i < N_ELEMENTS; i++) bytes[i] = (uint8_t)drove__rng_u64(&rng);
    for (size_t i = 0; i < MAX_BATCH; i++) label[i] = (int32_t)(i % 10);
    for (size_t i = 0; i < DROVE_COUNT(index_of); i++)
        index_of[i] = (uint32_t)(53 * i + drove__rng_below(&rng, 53)); /* ascending, below 4000 */
}

/* Inputs of the one-example kernels: c->variant per cent are not 0. */
static void set_inputs(const bench_case *c)
{
    if (c->run != run_matvec && c->run != run_ger) return;
    for (size_t j = 0; j < c->rows; j++) x[j] = (int)(j * 61 % 100) < c->variant ? 0.5f : 0.0f;
}

/* Nanoseconds of one call; a smaller *best is replaced when the round counts. */
static void measure(const drovek_table *k, const bench_case *c, bool counts, double *best)
{
    uint64_t total = 0;
    size_t n_calls = 0;
    while (total < ROUND_NS) {
        n_calls = 2 * n_calls + 1;
        uint64_t begin = drove__now_ns();
        for (size_t i = 0; i < n_calls; i++) c->run(k, c);
        total = drove__now_ns() - begin;
    }
    double ns = (double)total / (double)n_calls;
    if (counts && (*best == 0.0 || ns < *best)) *best = ns;
}

static void run_round(const drovek_table *k, bench_case *c, bool counts)
{
    set_inputs(c);
    measure(k, c, counts, &c->best_ns);
#if DROVEK_ONEDNN
    drovek_table library = *k;
    library.gemm_f32 = drovek_gemm_f32_onednn;
    if (c->run == run_gemm && strcmp(k->isa, "ref") != 0)
        measure(&library, c, counts, &c->best_library_ns);
#endif
}

static void report(const drovek_table *k, const bench_case *c)
{
    printf("{\"kernel\":\"%s\",\"isa\":\"%s\",\"shape\":\"%s\"", c->kernel, k->isa, c->shape);
    printf(",\"ns\":%.0f,\"rate\":%.2f,\"unit\":\"%s\"", c->best_ns, c->work / c->best_ns, c->unit);
    if (c->run == run_gemm) printf(",\"source\":\"%s\"", k->gemm_source);
    if (c->best_library_ns > 0.0) printf(",\"onednn_rate\":%.2f", c->work / c->best_library_ns);
    printf(",\"cpu\":\"%s\",\"compiler\":\"%s\"}\n", drove__cpu_model(), __VERSION__);
}

static void check(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "bench_kernels: %s\n", drove_error_text());
    exit(2);
}

int main(int argc, char **argv)
{
    const char *isa = NULL, *kernel = "";
    int n_rounds = 50;
    drovek_table k;
    drove_topo *topo;
    drove_place place;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--isa") == 0) isa = argv[i + 1];
        if (strcmp(argv[i], "--kernel") == 0) kernel = argv[i + 1];
        if (strcmp(argv[i], "--rounds") == 0) n_rounds = atoi(argv[i + 1]);
    }
    check(drovek_select(&k, drove__cpu_features(), isa));
    check(drove__topo_create(NULL, &topo));
    drove__topo_place(topo, DROVE_BIND_COMPACT, 1, &place);
    check(drove__topo_bind_self(topo, &place));
    drovek_thread_init();
    allocate();
    for (int round = 0; round <= n_rounds; round++) {
        for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
            if (strstr(cases[i].kernel, kernel) != NULL) run_round(&k, &cases[i], round > 0);
        }
    }
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        if (cases[i].best_ns > 0.0) report(&k, &cases[i]);
    }
    drove__topo_destroy(topo);
    return 0;
}
