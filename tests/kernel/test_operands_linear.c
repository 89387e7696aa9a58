/* Kernels of linear models with operands at forbidden pages, and accesses planted beyond each of
 * them (operands.h).  The model may be read up to 64 bytes beyond its end (kernel/linear.h). */
#include "linear_support.h"
#include "operands.h"
#include "support/test.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { READABLE = 64, MOST_ROWS = 5, N_INDEX_FORMATS = 3 };

/* What check_operands runs: one kernel of the table. */
static struct {
    drove_number d, m;
    int index_format; /* 0, 1, 2: 8, 16, 32 bits */
    drovek_bits_kind kind;
} now;

static size_t element_bytes(drove_number number)
{
    return number == DROVE_I4 ? 1 : drove__number_size(number);
}

static void *numbers(drove_number number, size_t n, size_t slack_bytes)
{
    const size_t size = element_bytes(number);
    return operand_with_slack(NULL, drove__numbers_bytes(number, n) / size, size, slack_bytes);
}

/* A fixed block is there also for no numbers. */
static drovek_bits bits_of(size_t n_blocks)
{
    drovek_bits bits = {.kind = now.kind, .state = {1, 2, 3, 4, 5, 6, 7, 8}};
    if (now.kind == DROVEK_BITS_FIXED) n_blocks = 1;
    if (now.kind != DROVEK_BITS_XORSHIFT) bits.block = operand(NULL, n_blocks, DROVEK_BLOCK_BYTES);
    return bits;
}

/* Bits for an AXPY of n numbers into *memory; NULL: it does not round. */
static drovek_bits *axpy_bits(bool is_batch, size_t n, drovek_bits *memory)
{
    if (now.m == DROVE_F32) return NULL;
    *memory = bits_of(drovek_blocks(now.d, now.m, is_batch, n));
    return memory;
}

/* Factors of a fast loop, or as large as they may be. */
static const drovek_factor *factors(size_t n_rows, bool is_large)
{
    const drovek_fraction f = drovek_fraction_of(now.d, now.m, n_rows > 1);
    drovek_factor factor[MOST_ROWS];
    for (size_t i = 0; i < n_rows; i++)
        factor[i] = (drovek_factor){.a = f.sum / (int)n_rows / (is_large ? 1 : 8),
                                    .shift = is_large ? 2 : f.shift,
                                    .f = 0.3f};
    return operand(factor, n_rows, sizeof *factor);
}

static void run_dot(const drovek_table *t, size_t n)
{
    (void)t->linear.dot[now.d][now.m](numbers(now.d, n, 0), numbers(now.m, n, READABLE), n);
}

static void axpy(const drovek_table *t, size_t n, size_t n_rows, bool is_large)
{
    const void *row[MOST_ROWS];
    drovek_bits memory, *bits = axpy_bits(n_rows > 1, n, &memory);
    for (size_t i = 0; i < n_rows; i++) row[i] = numbers(now.d, n, 0);
    (void)t->linear.axpy[now.d][now.m](numbers(now.m, n, READABLE),
                                       operand(row, n_rows, sizeof *row), factors(n_rows, is_large),
                                       n_rows, n, bits);
}

static void run_axpy(const drovek_table *t, size_t n)
{
    static const size_t n_rows[] = {1, 2, MOST_ROWS};
    for (unsigned v = 0; v < 2 * DROVE_COUNT(n_rows); v++) axpy(t, n, n_rows[v / 2], v & 1);
}

static void run_axpy_dot(const drovek_table *t, size_t n)
{
    for (unsigned v = 0; v < 2; v++) {
        size_t n_clamped = 0;
        drovek_bits memory, *bits = axpy_bits(false, n, &memory);
        const void *x = numbers(now.d, n, 0), *next = numbers(now.d, n, 0);
        (void)t->linear.axpy_dot[now.d][now.m](numbers(now.m, n, READABLE), x, factors(1, v), next,
                                               NULL, n, bits, &n_clamped);
    }
}

/* n pairs at the positions 0, 1, 2 ... */
static drovek_pairs pairs(size_t n)
{
    const size_t index_bytes = (size_t)1 << now.index_format;
    uint8_t index[sizeof(uint32_t) * MOST_LENGTH];
    for (size_t k = 0; k < n; k++) {
        const uint32_t value = now.index_format == 2 ? (uint32_t)k : k > 0;
        memcpy(index + k * index_bytes, &value, index_bytes); /* little endian */
    }
    return (drovek_pairs){operand(index, n, index_bytes), numbers(now.d, n, 0), n};
}

static void run_spdot(const drovek_table *t, size_t n)
{
    const drovek_pairs x = pairs(n);
    (void)t->linear.spdot[now.d][now.index_format][now.m](&x, numbers(now.m, n, READABLE));
}

static void run_spaxpy(const drovek_table *t, size_t n)
{
    for (unsigned v = 0; v < 2; v++) {
        const drovek_pairs x = pairs(n);
        drovek_bits memory, *bits = axpy_bits(false, n, &memory);
        (void)t->linear.spaxpy[now.d][now.index_format][now.m](numbers(now.m, n, READABLE), &x,
                                                               factors(1, v), bits);
    }
}

static void run_merge(const drovek_table *t, size_t n)
{
    for (unsigned rounds = 0; rounds <= 1; rounds++) {
        const bool has_bits = rounds && now.m != DROVE_F32;
        drovek_bits bits;
        if (has_bits) bits = bits_of(drovek_blocks(DROVE_F32, now.m, false, n));
        (void)t->linear.merge[now.m](numbers(now.m, n, READABLE), numbers(now.m, n, READABLE),
                                     numbers(now.m, n, 0), n, rounds ? 0.5f : 1.0f,
                                     has_bits ? &bits : NULL);
    }
}

static void run_decay(const drovek_table *t, size_t n)
{
    const bool has_bits = now.m != DROVE_F32;
    drovek_bits bits;
    if (has_bits) bits = bits_of(drovek_blocks(DROVE_F32, now.m, false, n));
    t->linear.decay[now.m](numbers(now.m, n, READABLE), n, 0.25f, has_bits ? &bits : NULL);
}

/* ---- all of them ---- */

static void check(const drovek_table *t, const char *kernel, operand_case *run)
{
    char name[64];
    const bool rounds = now.m != DROVE_F32 && run != run_dot && run != run_spdot;
    for (now.kind = DROVEK_BITS_FIXED; now.kind <= DROVEK_BITS_XORSHIFT; now.kind++) {
        snprintf(name, sizeof name, "%s D%sM%s, index format %d, bits %s", kernel,
                 number_names[now.d], number_names[now.m], now.index_format, kind_names[now.kind]);
        check_operands(t, name, run, 0, MOST_LENGTH);
        if (!rounds) break;
    }
}

_Static_assert(sizeof(drovek_linear) ==
                   sizeof(void *) * DROVE_NUMBERS *
                       (3 * DROVE_NUMBERS + 2 * N_INDEX_FORMATS * DROVE_NUMBERS + 2),
               "a case below for each array of kernels");

static drovek_linear before; /* of the last tier: what it has in common with this one is skipped */

static void check_dense(const drovek_table *t)
{
    const drovek_linear *k = &t->linear;
    for (int pair = 0; pair < DROVE_NUMBERS * DROVE_NUMBERS; pair++) {
        const drove_number d = now.d = (drove_number)(pair / DROVE_NUMBERS);
        const drove_number m = now.m = (drove_number)(pair % DROVE_NUMBERS);
        if (k->dot[d][m] != before.dot[d][m]) check(t, "dot", run_dot);
        if (k->axpy[d][m] != before.axpy[d][m]) check(t, "axpy", run_axpy);
        if (k->axpy_dot[d][m] != before.axpy_dot[d][m]) check(t, "axpy_dot", run_axpy_dot);
    }
    for (now.m = DROVE_I4; now.m < DROVE_NUMBERS; now.m++) {
        if (k->merge[now.m] != before.merge[now.m]) check(t, "merge", run_merge);
        if (k->decay[now.m] != before.decay[now.m]) check(t, "decay", run_decay);
    }
    before = t->linear;
    report_planted(t);
}

static void check_sparse(const drovek_table *t)
{
    const drovek_linear *k = &t->linear;
    enum { N_SPARSE = DROVE_NUMBERS - DROVE_I8 }; /* formats; not of 4 bits */
    for (int which = 0; which < N_SPARSE * N_SPARSE * N_INDEX_FORMATS; which++) {
        const drove_number d = now.d = (drove_number)(DROVE_I8 + which / 3 % N_SPARSE);
        const drove_number m = now.m = (drove_number)(DROVE_I8 + which / 3 / N_SPARSE);
        const int i = now.index_format = which % N_INDEX_FORMATS;
        if (k->spdot[d][i][m] != before.spdot[d][i][m]) check(t, "spdot", run_spdot);
        if (k->spaxpy[d][i][m] != before.spaxpy[d][i][m]) check(t, "spaxpy", run_spaxpy);
    }
    before = t->linear;
    report_planted(t);
}

TEST(test_dense)
{
    memset(&before, 0, sizeof before);
    for_each_tier(check_dense);
}

TEST(test_sparse)
{
    memset(&before, 0, sizeof before);
    for_each_tier(check_sparse);
}
