/* bench/micro/linear_kernels.c - how fast the dense kernels of low precision are: beside a pure
 * read of the same data, and beside what a compiler makes of plain loops.
 *
 * usage: bench_linear_kernels [--isa TIER] [--pair DxMy] [--log2 K] [--gib G] [--rounds N]
 *                             [--what stream|compiled|bound] [--json]
 *
 * stream: one step of a linear model after another (axpy_dot: AXPY of one example fused with the
 * dot of the next), the examples read in turn from G GiB of data that lie in huge pages; the model
 * has 2^K numbers (K 0: 2^10 to 2^20).  `of_read` is the rate in bytes of data over that of a pure
 * read of the same bytes, the faster of two reads: with the hardware's prefetching alone, and with
 * the same software prefetching as the kernels.  Rounding: nearest, shared (the same code with
 * other bits), xorshift.  cache: the same where all examples are four that stay in the second-level
 * cache.
 *
 * compiled: hand-written against plain loops with casts (linear_compiled.h), compiled with the
 * flags of the tier at -O3 and at -Ofast, on data in the cache (2^12 numbers): times of a dot, and
 * of an AXPY, to the nearest number.
 *
 * bound: the paper's upper bound of D4M4 (section 6.1, Figure 5c) beside our D4M4: D8M8 as it is,
 * D8M8 by proxies of instructions that do not exist (linear_proxy.h), and both on half the bytes,
 * as if these were numbers of 4 bits.  What the proxies and the halves compute is wrong: each line
 * has the field "valid".
 *
 * One thread, pinned; the fastest of N rounds, each of which walks over all that is compared.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/topo.h"
#include "kernel/kernel.h"
#include "kernel/tiers.h"

#include "linear_compiled.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const number_names[DROVE_NUMBERS] = {"4", "8", "16", "32f"};

static struct {
    const char *isa, *pair, *what;
    int log2_n, n_rounds, is_json;
    double gib;
} opt = {.pair = "", .what = "", .n_rounds = 3, .gib = 1.0};

static uint8_t *data, *model; /* data_bytes of examples; one model */
static size_t data_bytes;
static _Alignas(64) uint8_t half[64], shared_bits[64];

static double best(double so_far, double seconds)
{
    return so_far == 0.0 || seconds < so_far ? seconds : so_far;
}

/* ---- pure read ---- */

static uint64_t sink;

__attribute__((target("avx2"))) static void read_all(const uint8_t *p, size_t bytes, size_t ahead)
{
    __m256i sum[4] = {_mm256_setzero_si256()};
    for (size_t i = 0; i + 128 <= bytes; i += 128) {
        for (size_t v = 0; v < 4; v++) {
            __m256i x = _mm256_load_si256((const void *)(p + i + 32 * v));
            sum[v] = _mm256_xor_si256(sum[v], x);
        }
        if (ahead == 0) continue;
        _mm_prefetch((const char *)p + i + ahead, _MM_HINT_T1);
        _mm_prefetch((const char *)p + i + 64 + ahead, _MM_HINT_T1);
    }
    __m256i all =
        _mm256_xor_si256(_mm256_xor_si256(sum[0], sum[1]), _mm256_xor_si256(sum[2], sum[3]));
    sink += (uint64_t)_mm256_extract_epi64(all, 0);
}

static double seconds_of_read(size_t bytes, size_t ahead)
{
    uint64_t begin = drove__now_ns();
    read_all(data, bytes, ahead);
    return (double)(drove__now_ns() - begin) * 1e-9;
}

/* ---- a stream of steps ---- */

typedef enum rounding { NEAREST, SHARED, XORSHIFT, N_ROUNDINGS } rounding;
static const char *const rounding_names[N_ROUNDINGS] = {"nearest", "shared", "xorshift"};

static drovek_bits make_bits(rounding how)
{
    drovek_bits bits = {.kind = how == XORSHIFT ? DROVEK_BITS_XORSHIFT : DROVEK_BITS_FIXED,
                        .block = how == NEAREST ? half : shared_bits};
    for (size_t k = 0; k < 8; k++) bits.state[k] = 0x9e3779b97f4a7c15u * (k + 1);
    return bits;
}

/* A small step at the largest shift, as engine/linear/rounding.h would make it. */
static drovek_factor small_factor(drove_number d, drove_number m)
{
    int shift = drovek_fraction_of(d, m, false).shift;
    return (drovek_factor){shift == 8 ? 3 : shift == 12 ? 12 : 90, shift, 1e-3f};
}

/* Steps of n numbers, by a kernel for these formats. */
typedef struct stepper {
    drovek_axpy_dot_fn *axpy_dot;
    drove_number d, m;
    size_t n;
} stepper;

static size_t row_bytes_of(const stepper *s)
{
    return drove__numbers_bytes(s->d, s->n);
}

/* n_steps steps over `n_rows` examples in turn, of either sign. */
static double seconds_of_steps(const stepper *s, size_t n_rows, size_t n_steps, rounding how)
{
    size_t row_bytes = row_bytes_of(s), n_clamped = 0;
    drovek_bits bits = make_bits(how);
    drovek_factor factor[2] = {small_factor(s->d, s->m), small_factor(s->d, s->m)};
    factor[1].a *= -1, factor[1].f *= -1.0f;
    memset(model, 0, drove__numbers_bytes(s->m, s->n) + 64);
    double sum = 0.0;
    uint64_t begin = drove__now_ns();
    for (size_t i = 0; i < n_steps; i++) {
        const uint8_t *x = data + i % n_rows * row_bytes,
                      *next = data + (i + 1) % n_rows * row_bytes;
        sum += s->axpy_dot(model, x, &factor[i & 1], next, data + (i + 2) % n_rows * row_bytes,
                           s->n, &bits, &n_clamped);
    }
    double seconds = (double)(drove__now_ns() - begin) * 1e-9;
    sink += (uint64_t)(int64_t)sum + n_clamped;
    return seconds;
}

typedef struct stream_result {
    double read_s, steps_s[N_ROUNDINGS], cache_s[N_ROUNDINGS];
    size_t bytes, n_steps, n_cache_steps;
} stream_result;

static stream_result measure_stream(const stepper *s)
{
    size_t row_bytes = row_bytes_of(s), n_rows = data_bytes / row_bytes;
    stream_result r = {.n_steps = n_rows, .bytes = n_rows * row_bytes};
    r.n_cache_steps = ((size_t)64 << 20) / row_bytes;
    for (int round = 0; round < opt.n_rounds; round++) {
        r.read_s = best(r.read_s, seconds_of_read(r.bytes, 0));
        r.read_s = best(r.read_s, seconds_of_read(r.bytes, 4096));
        r.read_s = best(r.read_s, seconds_of_read(r.bytes, 65536));
        for (rounding how = NEAREST; how < N_ROUNDINGS; how++) {
            double time = seconds_of_steps(s, n_rows, n_rows, how);
            r.steps_s[how] = best(r.steps_s[how], time);
            time = seconds_of_steps(s, 4, r.n_cache_steps, how);
            r.cache_s[how] = best(r.cache_s[how], time);
        }
    }
    return r;
}

static void report_stream(const char *isa, drove_number d, drove_number m, size_t n,
                          const stream_result *r)
{
    double read = (double)r->bytes / r->read_s * 1e-9;
    for (rounding how = NEAREST; how < N_ROUNDINGS; how++) {
        if (m == DROVE_F32 && how != NEAREST) break;
        double gbs = (double)r->bytes / r->steps_s[how] * 1e-9;
        double gnps = (double)(r->n_steps * n) / r->steps_s[how] * 1e-9;
        double cache = (double)(r->n_cache_steps * n) / r->cache_s[how] * 1e-9;
        const char *text =
            opt.is_json
                ? "{\"bench\":\"stream\",\"pair\":\"D%sM%s\",\"isa\":\"%s\",\"n\":%zu,\"rounding\":"
                  "\"%s\",\"gnps\":%.2f,\"gb_s\":%.2f,\"read_gb_s\":%.2f,\"of_read\":%.3f,"
                  "\"cache_gnps\":%.2f}\n"
                : "D%sM%s %-10s n %7zu %-8s %6.2f GNPS %6.2f GB/s, read %6.2f: %.3f; in cache "
                  "%6.2f GNPS\n";
        printf(text, number_names[d], number_names[m], isa, n, rounding_names[how], gnps, gbs, read,
               gbs / read, cache);
    }
    fflush(stdout);
}

/* ---- against the compiler ---- */

/* What there is for tier `isa`: the plain loops at -O3 or -Ofast, or the proxy; NULL: nothing. */
static const drovek_linear *compiled_table(const char *isa, const char *what)
{
    char name[32];
    snprintf(name, sizeof name, "%s %s", isa, what);
    for (const linear_compiled *c = all_linear_compiled; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0) return c->table;
    }
    return NULL;
}

enum { COMPILED_N = 4096, COMPILED_CALLS = 400 };

/* One table: its dot and AXPY of one pair; nanoseconds a number. */
static void time_table(const drovek_linear *k, drove_number d, drove_number m, double *dot_ns,
                       double *axpy_ns)
{
    drovek_bits bits = make_bits(NEAREST);
    drovek_factor factor = small_factor(d, m);
    const void *row = data;
    double sum = 0.0;
    uint64_t begin = drove__now_ns();
    for (int i = 0; i < COMPILED_CALLS; i++) sum += k->dot[d][m](data, model, COMPILED_N);
    uint64_t middle = drove__now_ns();
    for (int i = 0; i < COMPILED_CALLS; i++) {
        sink += k->axpy[d][m](model, &row, &factor, 1, COMPILED_N, &bits);
        factor.a = -factor.a, factor.f = -factor.f;
    }
    uint64_t end = drove__now_ns();
    sink += (uint64_t)(int64_t)sum;
    *dot_ns = best(*dot_ns, (double)(middle - begin) / COMPILED_CALLS / COMPILED_N);
    *axpy_ns = best(*axpy_ns, (double)(end - middle) / COMPILED_CALLS / COMPILED_N);
}

static void compare_compiled(const char *isa, const drovek_linear *hand, drove_number d,
                             drove_number m)
{
    const drovek_linear *o3 = compiled_table(isa, "-O3"), *ofast = compiled_table(isa, "-Ofast");
    double dot[3] = {0}, axpy[3] = {0};
    if (o3 == NULL || o3->dot[d][m] == NULL) return;
    memset(model, 0, COMPILED_N * 4 + 64);
    for (int round = 0; round < 20 * opt.n_rounds; round++) {
        time_table(hand, d, m, &dot[0], &axpy[0]);
        time_table(o3, d, m, &dot[1], &axpy[1]);
        time_table(ofast, d, m, &dot[2], &axpy[2]);
    }
    double step = dot[0] + axpy[0];
    const char *text =
        opt.is_json ? "{\"bench\":\"compiled\",\"pair\":\"D%sM%s\",\"isa\":\"%s\",\"gnps\":%.2f,"
                      "\"speedup_o3\":%.2f,\"speedup_ofast\":%.2f,\"dot_o3\":%.2f,\"axpy_o3\":%.2f,"
                      "\"dot_ofast\":%.2f,\"axpy_ofast\":%.2f}\n"
                    : "D%sM%s %-10s %7.2f GNPS in cache; faster than -O3 %6.2f times, -Ofast %6.2f "
                      "(dot, AXPY: %.2f %.2f; %.2f %.2f)\n";
    printf(text, number_names[d], number_names[m], isa, 1.0 / step, (dot[1] + axpy[1]) / step,
           (dot[2] + axpy[2]) / step, dot[1] / dot[0], axpy[1] / axpy[0], dot[2] / dot[0],
           axpy[2] / axpy[0]);
    fflush(stdout);
}

/* ---- the bound of 4 bits ---- */

typedef struct bound {
    const char *name;
    stepper step;
    bool is_valid;
} bound;

static void run_bound(const drovek_table *t, size_t n)
{
    const drovek_linear *proxy = compiled_table(t->isa, "proxy");
    const drove_number d = DROVE_I8;
    drovek_axpy_dot_fn *bytes = t->linear.axpy_dot[d][d];
    if (proxy == NULL) return;
    drovek_axpy_dot_fn *wrong = proxy->axpy_dot[d][d];
    const bound all[] = {
        {"D8M8", {bytes, d, d, n}, true},
        {"D8M8 by proxies", {wrong, d, d, n}, false},
        {"D8M8 on half the bytes", {bytes, d, d, n / 2}, false},
        {"proxies on half the bytes", {wrong, d, d, n / 2}, false},
        {"D4M4", {t->linear.axpy_dot[DROVE_I4][DROVE_I4], DROVE_I4, DROVE_I4, n}, true},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        stream_result r = measure_stream(&all[i].step);
        double gnps = (double)(r.n_steps * n) / r.steps_s[SHARED] * 1e-9;
        double cache = (double)(r.n_cache_steps * n) / r.cache_s[SHARED] * 1e-9;
        double of_read = r.read_s / r.steps_s[SHARED];
        printf(opt.is_json ? "{\"bench\":\"bound\",\"program\":\"%s\",\"isa\":\"%s\",\"n\":%zu,"
                             "\"valid\":%s,\"gnps\":%.2f,\"of_read\":%.3f,\"cache_gnps\":%.2f}\n"
                           : "%-25s %-10s n %7zu valid %-5s %6.2f GNPS, %.3f of a read; in cache "
                             "%6.2f GNPS\n",
               all[i].name, t->isa, n, all[i].is_valid ? "true" : "false", gnps, of_read, cache);
        fflush(stdout);
    }
}

/* ---- the program ---- */

static int is_wanted(const char *what)
{
    return *opt.what == '\0' || strcmp(opt.what, what) == 0;
}

static int least_log2(void)
{
    return opt.log2_n != 0 ? opt.log2_n : 10;
}

static int most_log2(void)
{
    return opt.log2_n != 0 ? opt.log2_n : 20;
}

static void run_pair(const drovek_table *t, drove_number d, drove_number m)
{
    char pair[16];
    snprintf(pair, sizeof pair, "D%sM%s", number_names[d], number_names[m]);
    if (*opt.pair != '\0' && strcmp(opt.pair, pair) != 0) return;
    if (is_wanted("stream")) {
        for (int log2_n = least_log2(); log2_n <= most_log2(); log2_n += 2) {
            const stepper s = {t->linear.axpy_dot[d][m], d, m, (size_t)1 << log2_n};
            stream_result r = measure_stream(&s);
            report_stream(t->isa, d, m, s.n, &r);
        }
    }
    if (is_wanted("compiled")) compare_compiled(t->isa, &t->linear, d, m);
}

static void fill_data(void)
{
    data_bytes = (size_t)(opt.gib * 0x1p30) & ~(size_t)0xffffff;
    data = drove__alloc(data_bytes, 1);
    model = drove__alloc(((size_t)4 << 20) + 64, 1);
    if (data == NULL || model == NULL) exit(1);
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    /* 4 KiB over and over: small floats, which as integers are as good as any */
    for (size_t i = 0; i < 1024; i++) {
        float x = (float)drove__rng_normal(&rng);
        memcpy(data + 4 * i, &x, sizeof x);
    }
    for (size_t i = 4096; i < data_bytes; i += 4096) memcpy(data + i, data, 4096);
    for (size_t i = 0; i < 64; i++) half[i] = i % 2 == 0 ? 0 : 0x80;
    for (size_t i = 0; i < 64; i++) shared_bits[i] = (uint8_t)drove__rng_u64(&rng);
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) opt.is_json = 1;
        if (i + 1 == argc) break;
        if (strcmp(argv[i], "--isa") == 0) opt.isa = argv[i + 1];
        if (strcmp(argv[i], "--pair") == 0) opt.pair = argv[i + 1];
        if (strcmp(argv[i], "--what") == 0) opt.what = argv[i + 1];
        if (strcmp(argv[i], "--log2") == 0) opt.log2_n = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--gib") == 0) opt.gib = atof(argv[i + 1]);
        if (strcmp(argv[i], "--rounds") == 0) opt.n_rounds = atoi(argv[i + 1]);
    }
}

int main(int argc, char **argv)
{
    drove_topo *topo;
    drove_place place;
    parse(argc, argv);
    if (drove__topo_create(NULL, &topo) != DROVE_OK) return 1;
    drove__topo_place(topo, DROVE_BIND_COMPACT, 1, &place);
    if (drove__topo_bind_self(topo, &place) != DROVE_OK) return 1;
    fill_data();
    for (const char *const *isa = drovek_tiers(); *isa != NULL; isa++) {
        drovek_table t;
        int is_chosen = opt.isa != NULL ? strcmp(opt.isa, *isa) == 0 : strcmp(*isa, "ref") != 0;
        if (!is_chosen || drovek_select(&t, drove__cpu_features(), *isa) != DROVE_OK) continue;
        for (int pair = 0; pair < DROVE_NUMBERS * DROVE_NUMBERS; pair++)
            run_pair(&t, (drove_number)(pair / DROVE_NUMBERS),
                     (drove_number)(pair % DROVE_NUMBERS));
        for (int k = least_log2(); k <= most_log2() && is_wanted("bound") && *opt.pair == '\0';
             k += 2)
            run_bound(&t, (size_t)1 << k);
    }
    drove__topo_destroy(topo);
    return sink == 1;
}
