/* bench/micro/integers.c - matrix products of floats, bf16 numbers, and integers of 8 and 16 bits
 * kept as bytes (kernel/planes.h): one thread, its own time, interleaved in one run, median of the
 * rounds.  Billions of operations a second; 16 bits count once, whatever parts they take.
 *
 *   float, bf16   the table's own, factors in memory as floats
 *   i8_floats     integers of 8 bits that lie in memory as floats
 *   i8, i16       kept as bytes
 *
 * usage: bench_integers [--isa TIER] [--rounds N]
 * Output: one JSON object a line.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "kernel/tiers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 99, N_VARIANTS = 5, LEAST_NS = 1000000 };

typedef struct shape {
    const char *name;
    size_t m, n, k;
    bool trans_a, trans_b;
} shape;

static const shape shapes[] = {
    {"forward 3025 x 363 x 96", 3025, 96, 363, false, false},
    {"weights 363 x 990 x 96", 363, 96, 990, true, false},
    {"forward 169 x 2304 x 384", 169, 384, 2304, false, false},
    {"data 169 x 384 x 2304", 169, 2304, 384, false, true},
    {"forward 32 x 784 x 128", 32, 128, 784, false, false},
    {"forward 512 x 784 x 128", 512, 128, 784, false, false},
    {"weights 784 x 512 x 128", 784, 128, 512, true, false},
    {"forward 512 x 128 x 128", 512, 128, 128, false, false},
    {"forward 32 x 9216 x 4096", 32, 4096, 9216, false, false},
    {"forward 1024 x 1024 x 1024", 1024, 1024, 1024, false, false},
};

typedef struct bench {
    const shape *s;
    drovek_table all, bf16, narrow;
    float *a, *b, *c;
    drovek_planes a8, b8, a16, b16;
} bench;

static void check(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "bench_integers: %s\n", drove_error_text());
    exit(2);
}

static void *memory(size_t count, size_t size)
{
    void *p = drove__alloc(count, size);
    if (p == NULL) check(drove__fail_nomem("benchmark", count * size));
    return p;
}

/* Integers of 7 bits and a sign, which all variants hold. */
static float *values(size_t n)
{
    float *x = memory(n, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = (float)((int)(i * 40503u >> 4 & 255) - 128);
    return x;
}

static drovek_planes integers(const float *x, size_t n, bool is_wide)
{
    drovek_planes p = {.high = memory(n + DROVEK_PLANES_SLACK, 1), .unit = 1.0f};
    if (is_wide) p.low = memory(n + DROVEK_PLANES_SLACK, 1);
    for (size_t i = 0; i < n; i++) {
        const int32_t q = is_wide ? 255 * (int32_t)x[i] : (int32_t)x[i];
        p.high[i] = (uint8_t)(is_wide ? q >> 8 : q);
        if (is_wide) p.low[i] = (uint8_t)(q & 255);
    }
    return p;
}

static size_t lda(const shape *s)
{
    return s->trans_a ? s->m : s->k;
}

static size_t ldb(const shape *s)
{
    return s->trans_b ? s->k : s->n;
}

static void run_floats(const bench *b, const drovek_table *t)
{
    const shape *s = b->s;
    t->gemm_f32(s->trans_a, s->trans_b, s->m, s->n, s->k, 1.0f, b->a, lda(s), b->b, ldb(s), 0.0f,
                b->c, s->n);
}

static void run_planes(const bench *b, const drovek_planes *x, const drovek_planes *y)
{
    const shape *s = b->s;
    b->narrow.planes->gemm(s->trans_a, s->trans_b, s->m, s->n, s->k, x, lda(s), y, ldb(s), false,
                           b->c, s->n, NULL);
}

static void run(const bench *b, unsigned variant)
{
    if (variant == 0) run_floats(b, &b->all);
    if (variant == 1) run_floats(b, &b->bf16);
    if (variant == 2) run_floats(b, &b->narrow);
    if (variant == 3) run_planes(b, &b->a8, &b->b8);
    if (variant == 4) run_planes(b, &b->a16, &b->b16);
}

static double time_ns(const bench *b, unsigned variant)
{
    const uint64_t start = drove__thread_ns();
    uint64_t ns = 0;
    size_t n = 0;
    for (; n == 0 || ns < LEAST_NS; n++, ns = drove__thread_ns() - start) run(b, variant);
    return (double)ns / (double)n;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(bench *b, unsigned n_rounds)
{
    static const char *const names[N_VARIANTS] = {"float", "bf16", "i8_floats", "i8", "i16"};
    static double ns[N_VARIANTS][MOST_ROUNDS];
    const shape *s = b->s;
    const unsigned n = b->narrow.planes != NULL ? N_VARIANTS : 3;
    b->a = values(s->m * s->k), b->b = values(s->k * s->n), b->c = values(s->m * s->n);
    b->a8 = integers(b->a, s->m * s->k, false), b->b8 = integers(b->b, s->k * s->n, false);
    b->a16 = integers(b->a, s->m * s->k, true), b->b16 = integers(b->b, s->k * s->n, true);
    for (unsigned r = 0; r < n_rounds; r++)
        for (unsigned v = 0; v < n; v++) ns[v][r] = time_ns(b, v);
    printf("{\"bench\":\"integers\",\"shape\":\"%s\"", s->name);
    for (unsigned v = 0; v < n; v++) {
        qsort(ns[v], n_rounds, sizeof ns[v][0], compare);
        printf(",\"%s\":%.0f", names[v],
               2.0 * (double)(s->m * s->n) * (double)s->k / ns[v][n_rounds / 2]);
    }
    printf(",\"isa\":\"%s\",\"integers\":\"%s\",\"cpu\":\"%s\"}\n", b->all.isa,
           n > 3 ? b->narrow.planes->source : "none", drove__cpu_model());
    fflush(stdout);
    float *floats[] = {b->a, b->b, b->c};
    for (size_t i = 0; i < DROVE_COUNT(floats); i++) drove__free(floats[i]);
    const drovek_planes all[] = {b->a8, b->b8, b->a16, b->b16};
    for (size_t i = 0; i < DROVE_COUNT(all); i++) drove__free(all[i].high), drove__free(all[i].low);
}

int main(int argc, char **argv)
{
    static bench b;
    const char *isa = NULL;
    unsigned n_rounds = 9;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--isa") == 0) isa = value;
        else if (strcmp(argv[i], "--rounds") == 0) n_rounds = (unsigned)strtoul(value, NULL, 10);
        else check(drove__fail(DROVE_E_ARG, "unknown option %s", argv[i]));
    }
    if (n_rounds == 0 || n_rounds > MOST_ROUNDS)
        check(
            drove__fail(DROVE_E_ARG, "rounds: expected 1 to %d, found %u", MOST_ROUNDS, n_rounds));
    drovek_thread_init();
    check(drovek_select(&b.all, drove__cpu_features(), isa));
    b.bf16 = drovek_narrow(&b.all, DROVEK_FACTORS_BF16);
    b.narrow = drovek_narrow(&b.all, DROVEK_FACTORS_I8);
    for (size_t i = 0; i < DROVE_COUNT(shapes); i++) {
        b.s = &shapes[i];
        measure(&b, n_rounds);
    }
    return 0;
}
