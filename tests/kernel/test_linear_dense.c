/* Dense kernels of low precision: plain C against another way to compute the same, every tier
 * against plain C bit for bit, at edge lengths, next to forbidden pages, at the ends of the ranges,
 * and with factors of every size. */
#include "linear_support.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

enum { N_PAIRS = DROVE_NUMBERS * DROVE_NUMBERS };
enum { MAX_N = 1000, MAX_ROWS = 5, SLACK = 64, N_BLOCKS = MAX_N / 32 + 1 };

static const size_t lengths[] = {0,  1,  2,  3,  7,  8,  9,   15,  16,  17,  31,  32,  33,  47,
                                 63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 255, 257, 509, 1000};
static _Alignas(64) uint8_t random_memory[64 * N_BLOCKS];

/* One AXPY: formats, factors, numbers. */
typedef struct update {
    drove_number d, m;
    size_t n, n_rows;
    drovek_factor factor[MAX_ROWS];
    uint8_t x[MAX_ROWS][4 * MAX_N], next[4 * MAX_N], w[4 * MAX_N];
    const void *row[MAX_ROWS];
    drovek_bits bits;
} update;

/* Factors up to what kernel/linear.h allows: reach 0: small steps; 1: as large as the shift allows
 * without leaving the fast paths; 2: the largest of all. */
static void set_factors(drove_rng *rng, update *u, int reach)
{
    const drovek_fraction f = drovek_fraction_of(u->d, u->m, u->n_rows > 1);
    int is_bytes = f.is_bytes, most_shift = f.shift;
    int shift = reach == 2 ? (int)drove__rng_below(rng, (uint64_t)most_shift + 1) : most_shift;
    if (reach < 2 && u->n_rows > 1) shift = 14 + (int)drove__rng_below(rng, 8);
    int64_t left = f.sum;
    if (reach == 0) left /= 16;
    if (reach == 1 && !is_bytes) left /= 2;
    for (size_t k = 0; k < u->n_rows; k++) {
        int64_t size = k + 1 == u->n_rows ? left : left / 2;
        left -= size;
        u->factor[k].a = (int32_t)(drove__rng_below(rng, 2) == 0 ? size : -size);
        u->factor[k].shift = shift;
        u->factor[k].f = (float)drove__rng_normal(rng) * (reach == 2   ? 3e4f
                                                          : reach == 1 ? 20
                                                                       : 0.3f);
        if (u->m == DROVE_F32) u->factor[k].f *= 0.01f;
    }
}

static update make_update(drove_rng *rng, drove_number d, drove_number m, drovek_bits_kind kind,
                          size_t n, size_t n_rows, int reach)
{
    static update u;
    u.d = d, u.m = m, u.n = n, u.n_rows = n_rows;
    for (size_t k = 0; k < n_rows; k++) fill_numbers(rng, d, u.x[k], n, 0);
    fill_numbers(rng, d, u.next, n, 0);
    fill_numbers(rng, m, u.w, n, 1);
    u.bits = make_bits(rng, kind, random_memory, N_BLOCKS);
    set_factors(rng, &u, reach);
    return u;
}

/* ---- plain C against integers of 64 bits and doubles ---- */

static int64_t floor_quotient(int64_t p, int64_t q)
{
    int64_t quotient = p / q;
    return quotient * q > p ? quotient - 1 : quotient;
}

/* The changed w_i, before it is clamped; *slack: how far rounding in float may have led away. */
static double wanted_at(const update *u, size_t i, double *slack)
{
    double w = number_as_double(u->m, u->w, i), sum = 0.0, size = 0.0;
    *slack = 0.0;
    if (u->d != DROVE_F32 && u->m != DROVE_F32) {
        int64_t total = 0, shift = u->factor[0].shift;
        for (size_t k = 0; k < u->n_rows; k++)
            total += (int64_t)number_as_double(u->d, u->x[k], i) * u->factor[k].a;
        bool is_batch = u->n_rows > 1;
        int is_bytes = drovek_fraction_of(u->d, u->m, is_batch).is_bytes;
        uint32_t random = random_of(&u->bits, u->d, u->m, is_batch, i);
        double bits = is_bytes ? 8 : 16, r = floor(ldexp(random + 0.5, (int)shift) / exp2(bits));
        return w + (double)floor_quotient(total + (int64_t)r, (int64_t)1 << shift);
    }
    for (size_t k = 0; k < u->n_rows; k++) {
        double term = (double)u->factor[k].f * number_as_double(u->d, u->x[k], i);
        sum += term;
        size += fabs(term);
    }
    size += fabs(w) + 1.0;
    *slack = size * 0x1p-24 * (double)(u->n_rows + 1);
    if (u->m == DROVE_F32) return w + sum;
    sum += ((double)random_word(&u->bits, i) + 0.5) / 65536.0;
    if (fabs(sum - nearbyint(sum)) > *slack) *slack = 0.0;
    else *slack = 1.0;
    return w + floor(sum);
}

static size_t check_ref_update(const update *u, const uint8_t *got)
{
    double most = u->m == DROVE_F32 ? INFINITY : (double)drove__number_most(u->m);
    size_t n_clamped = 0;
    for (size_t i = 0; i < u->n; i++) {
        double slack, sum = wanted_at(u, i, &slack);
        double wanted = sum > most ? most : sum < -most - 1.0 ? -most - 1.0 : sum;
        n_clamped += wanted != sum; /* not with floats */
        if (fabs(number_as_double(u->m, got, i) - wanted) <= slack) continue;
        print_error("D%sM%s %s, %zu rows: w %zu is %g, not %g\n", number_names[u->d],
                    number_names[u->m], kind_names[u->bits.kind], u->n_rows, i,
                    number_as_double(u->m, got, i), wanted);
        fail();
    }
    return n_clamped;
}

static void check_ref_pair(drove_rng *rng, drove_number d, drove_number m)
{
    for (int which = 0; which < N_KINDS * 9; which++) {
        size_t n_rows = which % 3 == 0 ? 1 : which % 3 == 1 ? 2 : MAX_ROWS;
        update u =
            make_update(rng, d, m, (drovek_bits_kind)(which % N_KINDS), 333, n_rows, which / 9);
        uint8_t got[sizeof u.w];
        drovek_bits bits = u.bits;
        memcpy(got, u.w, sizeof got);
        for (size_t k = 0; k < n_rows; k++) u.row[k] = u.x[k];
        size_t n_clamped =
            drovek_linear_dense_ref.linear.axpy[d][m](got, u.row, u.factor, n_rows, u.n, &bits);
        size_t wanted = check_ref_update(&u, got);
        if (d != DROVE_F32) assert_int_equal(n_clamped, wanted);
        double sum = 0.0;
        for (size_t i = 0; i < u.n; i++)
            sum += number_as_double(d, u.next, i) * number_as_double(m, got, i);
        double dot = drovek_linear_dense_ref.linear.dot[d][m](u.next, got, u.n);
        assert_true(fabs(dot - sum) <= fabs(sum) * 1e-12);
    }
}

TEST(test_ref_means_what_it_says)
{
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    for (int pair = 0; pair < N_PAIRS; pair++)
        check_ref_pair(&rng, (drove_number)(pair / DROVE_NUMBERS),
                       (drove_number)(pair % DROVE_NUMBERS));
}

TEST(test_ref_by_hand)
{
    _Alignas(64) uint8_t half[64];
    memset(half, 0x80, sizeof half);
    drovek_bits bits = {.kind = DROVEK_BITS_FIXED, .block = half};
    int8_t w[4] = {100, -128, 5, 0}, x[4] = {127, -127, 3, -3};
    const void *row = x;
    drovek_factor factor = {.a = 128, .shift = 8};
    /* 63.5, -63.5, 1.5, -1.5 to nearest, halves up: 64, -63, 2, -1 */
    assert_int_equal(
        drovek_linear_dense_ref.linear.axpy[DROVE_I8][DROVE_I8](w, &row, &factor, 1, 4, &bits), 2);
    assert_int_equal(w[0], 127);
    assert_int_equal(w[1], -128);
    assert_int_equal(w[2], 7);
    assert_int_equal(w[3], -1);
    assert_true(drovek_linear_dense_ref.linear.dot[DROVE_I8][DROVE_I8](x, w, 4) ==
                127 * 127 + 127 * 128 + 21 + 3);
}

TEST(test_ref_by_hand_in_pairs)
{
    _Alignas(64) uint8_t half[64];
    memset(half, 0x80, sizeof half);
    drovek_bits bits = {.kind = DROVEK_BITS_FIXED, .block = half};
    uint8_t w[3] = {0x86, 0x05, 0xbf}, x[3] = {0x97, 0xd3, 0x07}; /* the lower half first */
    const uint8_t moved[3] = {0x87, 0xf7, 0xb3};
    const void *row = x;
    drovek_factor factor = {.a = 128, .shift = 8};
    /* w: 6, -8, 5, 0, -1; x: 7, -7, 3, -3, 7; halves of x to nearest: 4, -3, 2, -1, 4 */
    size_t n_clamped =
        drovek_linear_dense_ref.linear.axpy[DROVE_I4][DROVE_I4](w, &row, &factor, 1, 5, &bits);
    assert_int_equal(n_clamped, 2);
    assert_memory_equal(w, moved, sizeof w);
    double dot = drovek_linear_dense_ref.linear.dot[DROVE_I4][DROVE_I4](x, w, 5);
    assert_true(dot == 7 * 7 + 7 * 8 + 3 * 7 + 3 * 1 + 7 * 3);
}

/* ---- tiers against plain C ---- */

static void assert_same(const update *u, const char *what, const char *isa, const uint8_t *got,
                        const uint8_t *wanted)
{
    size_t bytes = drove__numbers_bytes(u->m, u->n);
    for (size_t at = 0; at < bytes; at++) {
        size_t i = at * 8 / drove__number_bits(u->m);
        if (got[at] == wanted[at]) continue;
        i += u->m == DROVE_I4 && (got[at] & 15) == (wanted[at] & 15);
        print_error("%s D%sM%s %s (%s), n %zu, %zu rows, a %d, shift %d: w %zu is %g, not %g\n",
                    what, number_names[u->d], number_names[u->m], kind_names[u->bits.kind], isa,
                    u->n, u->n_rows, u->factor[0].a, u->factor[0].shift, i,
                    number_as_double(u->m, got, i), number_as_double(u->m, wanted, i));
        fail();
    }
    for (size_t i = bytes; i < bytes + SLACK; i++) assert_int_equal(got[i], 0xff);
}

/* The order of a sum of floats is the tier's: n roundings of the sum of |x w|. */
static double dot_bound(const update *u, const uint8_t *w)
{
    double size = 0.0;
    if (u->d != DROVE_F32 && u->m != DROVE_F32) return 0.0;
    for (size_t i = 0; i < u->n; i++)
        size += fabs(number_as_double(u->d, u->next, i) * number_as_double(u->m, w, i));
    return size * (double)u->n * 0x1p-24;
}

static void *placed(const void *from, size_t bytes, size_t slack, size_t element, place where)
{
    uint8_t *to = guarded(bytes + slack, element, where);
    memcpy(to, from, bytes);
    return to;
}

static void check_update_at(const drovek_linear *k, const char *isa, update *u, place where)
{
    size_t d_size = drove__numbers_bytes(u->d, 1), m_size = drove__numbers_bytes(u->m, 1);
    size_t d_bytes = drove__numbers_bytes(u->d, u->n), m_bytes = drove__numbers_bytes(u->m, u->n);
    uint8_t wanted[sizeof u->w];
    drovek_bits bits = u->bits, bits_wanted = u->bits;
    for (size_t i = 0; i < u->n_rows; i++) u->row[i] = placed(u->x[i], d_bytes, 0, d_size, where);
    void *next = placed(u->next, d_bytes, 0, d_size, where);
    uint8_t *w = placed(u->w, m_bytes, SLACK, m_size, where);

    memcpy(wanted, u->w, sizeof wanted);
    size_t n_wanted =
        drovek_linear_dense_ref.linear.axpy[u->d][u->m](wanted, u->row, u->factor, u->n_rows, u->n,
                                                        &bits_wanted);
    size_t n_got = k->axpy[u->d][u->m](w, u->row, u->factor, u->n_rows, u->n, &bits);
    assert_same(u, "axpy", isa, w, wanted);
    assert_int_equal(n_got, n_wanted);
    assert_memory_equal(&bits, &bits_wanted, sizeof bits);

    double dot_wanted = drovek_linear_dense_ref.linear.dot[u->d][u->m](next, wanted, u->n);
    double bound = dot_bound(u, wanted);
    assert_true(fabs(k->dot[u->d][u->m](next, w, u->n) - dot_wanted) <= bound);
    if (u->n_rows == 1) {
        const void *ahead = u->n % 2 == 0 ? u->row[0] : NULL;
        bits = u->bits, n_got = 5;
        memcpy(w, u->w, m_bytes);
        double dot =
            k->axpy_dot[u->d][u->m](w, u->row[0], u->factor, next, ahead, u->n, &bits, &n_got);
        assert_same(u, "axpy_dot", isa, w, wanted);
        assert_int_equal(n_got, n_wanted + 5);
        assert_memory_equal(&bits, &bits_wanted, sizeof bits);
        assert_true(fabs(dot - dot_wanted) <= bound);
    }
    guarded_free_all();
}

static void check_tier(const drovek_table *t)
{
    drove_rng rng;
    drove__rng_seed(&rng, 2, DROVE_RNG_TEST, 0);
    for (int pair = 0; pair < N_PAIRS; pair++) {
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            for (int which = 0; which < 27; which++) {
                size_t n_rows = which / 9 == 0 ? 1 : which / 9 == 1 ? 2 : MAX_ROWS;
                update u =
                    make_update(&rng, (drove_number)(pair / DROVE_NUMBERS),
                                (drove_number)(pair % DROVE_NUMBERS), (drovek_bits_kind)(which % 3),
                                lengths[l], n_rows, which / 3 % 3);
                check_update_at(&t->linear, t->isa, &u, (place)((which + (int)l) % N_PLACES));
            }
        }
    }
}

TEST(test_tiers_equal_ref)
{
    for_each_tier(check_tier);
}

/* ---- as many rows as one write takes ---- */

/* Rows that repeat, factors that differ: against integers of 64 bits, and plain C. */
static void check_long_batch(const drovek_table *t)
{
    enum { LONG_ROWS = 1023, LONG_N = 333 };
    static const void *row[LONG_ROWS];
    static drovek_factor factor[LONG_ROWS];
    drove_rng rng;
    drove__rng_seed(&rng, 6, DROVE_RNG_TEST, 0);
    for (int which = 0; which < DROVE_F32 * DROVE_F32 * N_KINDS; which++) {
        const drove_number d = (drove_number)(which / N_KINDS / DROVE_F32),
                           m = (drove_number)(which / N_KINDS % DROVE_F32);
        const drovek_bits_kind kind = (drovek_bits_kind)(which % N_KINDS);
        update u = make_update(&rng, d, m, kind, LONG_N, MAX_ROWS, 0);
        const int shift = (int)drove__rng_below(&rng, 23);
        uint8_t wanted[sizeof u.w];
        drovek_bits bits = u.bits;
        int64_t sum[MAX_ROWS] = {0};
        for (size_t k = 0; k < LONG_ROWS; k++) {
            factor[k].a = (int32_t)drove__rng_below(&rng, 65) - 32;
            factor[k].shift = shift;
            row[k] = u.x[k % MAX_ROWS];
            sum[k % MAX_ROWS] += factor[k].a;
        }
        for (size_t k = 0; k < MAX_ROWS; k++)
            u.factor[k] = (drovek_factor){.a = (int32_t)sum[k], .shift = shift};
        memset(u.w + drove__numbers_bytes(m, u.n), 0xff, SLACK);
        memcpy(wanted, u.w, sizeof wanted);
        drovek_linear_dense_ref.linear.axpy[d][m](wanted, row, factor, LONG_ROWS, u.n, &bits);
        size_t n_wanted = check_ref_update(&u, wanted);
        bits = u.bits;
        size_t n_got = t->linear.axpy[d][m](u.w, row, factor, LONG_ROWS, u.n, &bits);
        assert_same(&u, "axpy", t->isa, u.w, wanted);
        assert_int_equal(n_got, n_wanted);
    }
}

TEST(test_long_batches)
{
    for_each_tier(check_long_batch);
}

/* Every factor with every number of the data: all loops, all quotients. */
static void check_all_factors(const drovek_table *t, drove_number d, drove_number m)
{
    const drovek_fraction f = drovek_fraction_of(d, m, false);
    const int most = drove__number_most(d);
    drove_rng rng;
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, 0);
    for (int shift = 0; shift <= f.shift; shift++) {
        for (int a = -f.sum; a <= f.sum; a++) {
            update u = make_update(&rng, d, m, (drovek_bits_kind)(a & 1), 255, 1, 0);
            u.factor[0].a = a, u.factor[0].shift = shift;
            for (int i = 0; i < 255; i++)
                set_integer(d, u.x[0], (size_t)i, i % (2 * most + 1) - most);
            check_update_at(&t->linear, t->isa, &u, PLACE_SHIFTED);
        }
    }
}

static void check_all_numbers(const drovek_table *t)
{
    for (drove_number d = DROVE_I4; d <= DROVE_I8; d++)
        for (drove_number m = DROVE_I4; m <= DROVE_I8; m++) check_all_factors(t, d, m);
}

TEST(test_all_numbers)
{
    for_each_tier(check_all_numbers);
}

/* ---- ends of the ranges ---- */

/* A step outwards from each end and near it: the end, never the other one; all are counted. */
static void check_ends(const drovek_table *t)
{
    drove_rng rng;
    drove__rng_seed(&rng, 4, DROVE_RNG_TEST, 0);
    for (int pair = 0; pair < N_PAIRS; pair++) {
        drove_number d = (drove_number)(pair / DROVE_NUMBERS);
        drove_number m = (drove_number)(pair % DROVE_NUMBERS);
        if (m == DROVE_F32) continue;
        for (int reach = 1; reach < 3; reach++) {
            update u = make_update(&rng, d, m, DROVEK_BITS_STREAM, 333, 1, reach);
            int sign = reach == 1 ? 1 : -1;
            u.factor[0].shift = reach == 1 ? 8 : 2;
            u.factor[0].a = 200 * sign, u.factor[0].f = 1e9f * (float)sign;
            for (size_t i = 0; i < u.n; i++) { /* x = +-most, w at the end that it pushes to */
                int up = (i % 2 == 0) == (sign > 0);
                int32_t x = drove__number_most(d), most = drove__number_most(m);
                if (d == DROVE_F32) ((float *)u.x[0])[i] = i % 2 == 0 ? 1.0f : -1.0f;
                else set_integer(d, u.x[0], i, i % 2 == 0 ? x : -x);
                set_integer(m, u.w, i, up ? most - 1 : -most);
            }
            u.row[0] = u.x[0];
            size_t n = t->linear.axpy[d][m](u.w, u.row, u.factor, 1, u.n, &u.bits);
            assert_int_equal(n, u.n);
            for (size_t i = 0; i < u.n; i++) {
                int up = (i % 2 == 0) == (sign > 0);
                double most = drove__number_most(m);
                assert_true(number_as_double(m, u.w, i) == (up ? most : -most - 1));
            }
        }
    }
}

TEST(test_never_wraps)
{
    for_each_tier(check_ends);
}

/* NaN and infinite factors are the engine's affair, but they write something defined. */
static void check_not_finite(const drovek_table *t)
{
    const float bad[] = {INFINITY, -INFINITY, NAN};
    drove_rng rng;
    drove__rng_seed(&rng, 5, DROVE_RNG_TEST, 0);
    for (size_t b = 0; b < 3; b++) {
        for (int m = DROVE_I4; m <= DROVE_I16; m++) {
            update u = make_update(&rng, DROVE_F32, (drove_number)m, DROVEK_BITS_FIXED, 77, 1, 0);
            u.factor[0].f = bad[b];
            check_update_at(&t->linear, t->isa, &u, PLACE_TURN);
        }
    }
}

TEST(test_not_finite)
{
    for_each_tier(check_not_finite);
}

/* More than any lane holds without being emptied on the way; test_linear_dot_long.c takes 2^26. */
TEST(test_no_overflow)
{
    check_dots_of_extremes((size_t)1 << 24);
}
