/* Merge and decay: plain C against integers of 64 bits and doubles, every tier against plain C bit
 * for bit, at edge lengths, between guard bytes, at the ends of the ranges; their roundings have no
 * bias. */
#include "linear_support.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

enum { MAX_N = 1000, GUARD = 64, N_BLOCKS = MAX_N / 32 + 1, WORDS_PER_BLOCK = 32 };

static const float shares[] = {1.0f, 0.5f, 0.25f, 1.0f / 3.0f, 0x1.fffffep-1f, 0.0f};
static const float kappas[] = {0.0f, 0.3f, 0.01f, 0x1p-20f, 0.999f, 0x1.fffffep-1f};
enum { N_SHARES = sizeof shares / sizeof *shares, N_KAPPAS = sizeof kappas / sizeof *kappas };

static _Alignas(64) uint8_t random_memory[64 * N_BLOCKS];

/* Three vectors that meet; w alone decays. */
typedef struct meeting {
    drove_number m;
    size_t n;
    uint8_t centre[4 * MAX_N], w[4 * MAX_N], last[4 * MAX_N];
    drovek_bits bits;
} meeting;

static void make_meeting(drove_rng *rng, meeting *t, drove_number m, drovek_bits_kind kind,
                         size_t n)
{
    t->m = m, t->n = n;
    fill_numbers(rng, m, t->centre, n, 1);
    fill_numbers(rng, m, t->w, n, 1);
    fill_numbers(rng, m, t->last, n, 1);
    t->bits = make_bits(rng, kind, random_memory, N_BLOCKS);
}

/* ---- plain C against another way to compute the same ---- */

/* floor(factor x + (r + 0.5) / 2^16), whose argument is rounded to float once. */
static int64_t rounded(float factor, int64_t x, const drovek_bits *bits, size_t i)
{
    double sum = (double)factor * (double)x + ((double)random_word(bits, i) + 0.5) / 65536.0;
    return (int64_t)floor((double)(float)sum);
}

static double clamped(drove_number m, double value)
{
    double most = drove__number_most(m);
    return value > most ? most : value < -most - 1.0 ? -most - 1.0 : value;
}

/* What the centre should be at i, before it is clamped; integers. */
static double wanted_merge(const meeting *t, float share, size_t i)
{
    int64_t gain = (int64_t)number_as_double(t->m, t->w, i);
    gain -= (int64_t)number_as_double(t->m, t->last, i);
    if (share != 1.0f) gain = rounded(share, gain, &t->bits, i);
    return number_as_double(t->m, t->centre, i) + (double)gain;
}

static void assert_number(const meeting *t, const void *got, size_t i, double wanted,
                          double most_ulps)
{
    double value = number_as_double(t->m, got, i);
    if (t->m != DROVE_F32 ? value == wanted : ulps((float)value, wanted) <= most_ulps) return;
    print_error("M%s %s, n %zu: number %zu is %g, not %g\n", number_names[t->m],
                kind_names[t->bits.kind], t->n, i, value, wanted);
    fail();
}

/* Exact in double: the difference of two floats is rounded to float first. */
static double wanted_merge_float(const meeting *t, float share, size_t i)
{
    float w, last, centre;
    memcpy(&w, t->w + 4 * i, sizeof w);
    memcpy(&last, t->last + 4 * i, sizeof last);
    memcpy(&centre, t->centre + 4 * i, sizeof centre);
    return fma((double)share, (double)(float)(w - last), (double)centre);
}

static void check_ref_merge(const meeting *t, float share)
{
    meeting got = *t;
    size_t n_wanted = 0, whole = t->n / 2 * 2;
    bool no_bits = t->m == DROVE_F32 || share == 1.0f;
    size_t n_clamped =
        drovek_linear_dense_ref.linear.merge[t->m](got.centre, got.w, got.last, t->n, share,
                                                   no_bits ? NULL : &got.bits);
    for (size_t i = 0; i < t->n; i++) {
        if (t->m == DROVE_F32) {
            assert_number(t, got.centre, i, wanted_merge_float(t, share, i), 1.0);
            continue;
        }
        double sum = wanted_merge(t, share, i), wanted = clamped(t->m, sum);
        n_wanted += sum != wanted;
        assert_number(t, got.centre, i, wanted, 0.0);
    }
    assert_int_equal(n_clamped, n_wanted);
    assert_memory_equal(got.w, got.centre, drove__numbers_bytes(t->m, whole));
    assert_memory_equal(got.last, got.centre, drove__numbers_bytes(t->m, whole));
}

static void check_ref_decay(const meeting *t, float kappa)
{
    meeting got = *t;
    drovek_linear_dense_ref.linear.decay[t->m](got.w, t->n, kappa,
                                               t->m == DROVE_F32 ? NULL : &got.bits);
    for (size_t i = 0; i < t->n; i++) {
        double was = number_as_double(t->m, t->w, i), now = number_as_double(t->m, got.w, i);
        double wanted = t->m == DROVE_F32
                            ? was - (double)kappa * was
                            : was + (double)rounded(kappa, -(int64_t)was, &t->bits, i);
        assert_number(t, got.w, i, wanted, 1.0);
        assert_true(fabs(now) <= fabs(was) && now * was >= 0.0); /* towards 0, not beyond */
    }
}

TEST(test_ref_means_what_it_says)
{
    static meeting t;
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    for (drove_number m = DROVE_I4; m < DROVE_NUMBERS; m++) {
        for (int kind = 0; kind < N_KINDS; kind++) {
            for (size_t s = 0; s < N_SHARES; s++) {
                make_meeting(&rng, &t, m, (drovek_bits_kind)kind, 333);
                check_ref_merge(&t, shares[s]);
                check_ref_decay(&t, kappas[s]);
            }
        }
    }
}

TEST(test_ref_by_hand)
{
    _Alignas(64) uint8_t half[64];
    for (size_t i = 0; i < 64; i++) half[i] = i % 2 == 0 ? 0 : 0x80;
    drovek_bits bits = {.kind = DROVEK_BITS_FIXED, .block = half};
    int8_t centre[5] = {10, 120, -120, 7, 7}, w[5] = {5, 127, -128, 3, -3}, last[5] = {2};
    const int8_t sum[5] = {13, 127, -128, 10, 4}, mean[5] = {12, 127, -128, 9, 6};
    int8_t again[5];
    /* half of 3, 127, -128, 3, -3: 2, 64, -64, 2, -1 */
    memcpy(again, centre, sizeof again);
    assert_int_equal(drovek_linear_dense_ref.linear.merge[DROVE_I8](again, w, last, 5, 0.5f, &bits),
                     2);
    assert_memory_equal(again, mean, 5);
    int8_t before[5] = {2};
    const int8_t step[5] = {5, 127, -128, 3, -3};
    memcpy(w, step, sizeof w);
    assert_int_equal(
        drovek_linear_dense_ref.linear.merge[DROVE_I8](centre, w, before, 5, 1.0f, NULL), 2);
    assert_memory_equal(centre, sum, 5);
    /* -0.3 of them: -4, -38, 38, -3, -1 */
    const int8_t left[5] = {9, 89, -90, 7, 3};
    drovek_linear_dense_ref.linear.decay[DROVE_I8](centre, 5, 0.3f, &bits);
    assert_memory_equal(centre, left, 5);
}

/* ---- tiers against plain C ---- */

/* A copy of `from` in guarded memory, `slack` bytes of which may be read behind it. */
static uint8_t *placed(const void *from, size_t bytes, size_t slack, size_t element, place where)
{
    uint8_t *to = guarded(bytes + slack, element, where);
    memcpy(to, from, bytes);
    return to;
}

/* The bytes are the wanted ones, and those around them as `guarded` left them. */
static void assert_bytes(const meeting *t, const char *what, const char *isa, const uint8_t *got,
                         const uint8_t *wanted, size_t slack, place where)
{
    size_t bytes = drove__numbers_bytes(t->m, t->n);
    for (size_t i = 0; i < bytes; i++) {
        if (got[i] == wanted[i]) continue;
        print_error("%s M%s %s (%s), n %zu: byte %zu is %u, not %u\n", what, number_names[t->m],
                    kind_names[t->bits.kind], isa, t->n, i, got[i], wanted[i]);
        fail();
    }
    size_t behind = slack + (where == PLACE_START ? GUARD : 0);
    for (size_t i = 0; i < behind; i++) assert_int_equal(got[bytes + i], 0xff);
    for (size_t i = 1; i <= GUARD && where == PLACE_SHIFTED; i++)
        assert_int_equal(*(got - i), 0xff);
}

static void check_merge_at(const drovek_table *k, const meeting *t, float share, place where)
{
    size_t size = drove__numbers_bytes(t->m, 1), bytes = drove__numbers_bytes(t->m, t->n);
    meeting wanted = *t;
    drovek_bits bits = t->bits;
    bool no_bits = t->m == DROVE_F32 || share == 1.0f;
    uint8_t *centre = placed(t->centre, bytes, GUARD, size, where);
    uint8_t *w = placed(t->w, bytes, GUARD, size, where);
    uint8_t *last = placed(t->last, bytes, 0, size, where);
    size_t n_wanted =
        drovek_linear_dense_ref.linear.merge[t->m](wanted.centre, wanted.w, wanted.last, t->n,
                                                   share, no_bits ? NULL : &wanted.bits);
    size_t n_got = k->linear.merge[t->m](centre, w, last, t->n, share, no_bits ? NULL : &bits);
    assert_bytes(t, "merge: centre", k->isa, centre, wanted.centre, GUARD, where);
    assert_bytes(t, "merge: w", k->isa, w, wanted.w, GUARD, where);
    assert_bytes(t, "merge: last", k->isa, last, wanted.last, 0, where);
    assert_int_equal(n_got, n_wanted);
    assert_memory_equal(&bits, &wanted.bits, sizeof bits);
    guarded_free_all();
}

static void check_decay_at(const drovek_table *k, const meeting *t, float kappa, place where)
{
    size_t size = drove__numbers_bytes(t->m, 1), bytes = drove__numbers_bytes(t->m, t->n);
    meeting wanted = *t;
    drovek_bits bits = t->bits;
    uint8_t *w = placed(t->w, bytes, GUARD, size, where);
    drovek_linear_dense_ref.linear.decay[t->m](wanted.w, t->n, kappa,
                                               t->m == DROVE_F32 ? NULL : &wanted.bits);
    k->linear.decay[t->m](w, t->n, kappa, t->m == DROVE_F32 ? NULL : &bits);
    assert_bytes(t, "decay", k->isa, w, wanted.w, GUARD, where);
    assert_memory_equal(&bits, &wanted.bits, sizeof bits);
    guarded_free_all();
}

static void check_tier(const drovek_table *k)
{
    static meeting t;
    drove_rng rng;
    drove__rng_seed(&rng, 2, DROVE_RNG_TEST, 0);
    for (drove_number m = DROVE_I4; m < DROVE_NUMBERS; m++) {
        for (const size_t *n = edge_lengths; *n != SIZE_MAX; n++) {
            for (int which = 0; which < N_KINDS * N_PLACES * N_SHARES; which++) {
                place where = (place)(which / N_KINDS % N_PLACES);
                make_meeting(&rng, &t, m, (drovek_bits_kind)(which % N_KINDS), *n);
                check_merge_at(k, &t, shares[which / (N_KINDS * N_PLACES)], where);
                check_decay_at(k, &t, kappas[which / (N_KINDS * N_PLACES)], where);
            }
        }
    }
}

TEST(test_tiers_equal_ref)
{
    for_each_tier(check_tier);
}

/* ---- random bits ---- */

/* The blocks that n numbers use are stepped, neither fewer nor more. */
static void check_steps(const drovek_table *k)
{
    static meeting t;
    drove_rng rng;
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, 0);
    for (drove_number m = DROVE_I4; m <= DROVE_I16; m++) {
        for (const size_t *n = edge_lengths; *n != SIZE_MAX; n++) {
            make_meeting(&rng, &t, m, DROVEK_BITS_XORSHIFT, *n);
            drovek_bits after = t.bits, decayed = t.bits;
            k->linear.merge[m](t.centre, t.w, t.last, *n, 0.5f, &after);
            k->linear.decay[m](t.w, *n, 0.5f, &decayed);
            size_t n_blocks = (*n + WORDS_PER_BLOCK - 1) / WORDS_PER_BLOCK;
            for (size_t i = 0; i < 64; i++) {
                uint64_t byte = n_blocks == 0 ? t.bits.state[i / 8] >> (i % 8 * 8) & 255
                                              : random_byte(&t.bits, 64 * (n_blocks - 1) + i);
                assert_int_equal(after.state[i / 8] >> (i % 8 * 8) & 255, byte);
                assert_int_equal(decayed.state[i / 8] >> (i % 8 * 8) & 255, byte);
            }
        }
    }
}

TEST(test_bits_are_stepped)
{
    for_each_tier(check_steps);
}

/* ---- ends of the ranges ---- */

/* Gains that push the centre over the end that it is near: the end, never the other one. */
static void check_ends(const drovek_table *k)
{
    static meeting t;
    drove_rng rng;
    drove__rng_seed(&rng, 4, DROVE_RNG_TEST, 0);
    for (int which = 0; which < 6; which++) {
        drove_number m = (drove_number)(which % 3);
        int32_t most = drove__number_most(m);
        make_meeting(&rng, &t, m, DROVEK_BITS_STREAM, 333);
        for (size_t i = 0; i < t.n; i++) {
            bool up = i % 3 == 0, stays = i % 3 == 2;
            int32_t centre = up ? most - 1 : -most, w = stays ? 7 : up ? most : -most - 1;
            int32_t last = stays ? 7 : up ? -most - 1 : most;
            set_integer(m, t.centre, i, centre);
            set_integer(m, t.w, i, w);
            set_integer(m, t.last, i, last);
        }
        float share = which / 3 == 0 ? 1.0f : 0.5f;
        size_t n = k->linear.merge[m](t.centre, t.w, t.last, t.n, share, &t.bits);
        assert_int_equal(n, t.n / 3 * 2);
        for (size_t i = 0; i < t.n; i++) {
            double wanted = i % 3 == 0 ? most : i % 3 == 1 ? -most - 1 : -most;
            assert_number(&t, t.centre, i, wanted, 0.0);
            assert_number(&t, t.w, i, wanted, 0.0);
            assert_number(&t, t.last, i, wanted, 0.0);
        }
    }
}

TEST(test_never_wraps)
{
    for_each_tier(check_ends);
}

/* ---- means ---- */

/* As in test_linear_bias.c: seven numbers take turns, so that each meets each place of a block once
 * in seven blocks, after the beginning of one that is not counted. */
enum {
    N_VALUES = 7,
    FIRST = WORDS_PER_BLOCK / 2 + 1,
    MEAN_N = FIRST + N_VALUES * WORDS_PER_BLOCK,
    N_ROUNDINGS = N_MEAN_ROUNDINGS,
    N_TIMES = N_ROUNDINGS / WORDS_PER_BLOCK
};

static const int8_t values[N_VALUES] = {121, -121, 100, -63, 50, -26, 1};
static const int8_t small_values[N_VALUES] = {7, -7, 6, -5, 3, -2, 1}; /* of 4 bits */

static int32_t value_of(drove_number m, size_t v)
{
    return m == DROVE_I4 ? small_values[v] : values[v];
}

static void fresh_bits(drove_rng *rng, drovek_bits *bits)
{
    size_t n_blocks =
        bits->kind == DROVEK_BITS_STREAM ? drovek_blocks(DROVE_F32, DROVE_I8, false, MEAN_N) : 1;
    if (bits->kind == DROVEK_BITS_XORSHIFT) return;
    for (size_t i = 0; i < 64 * n_blocks; i += 8) {
        uint64_t random = drove__rng_u64(rng);
        memcpy(random_memory + i, &random, sizeof random);
    }
}

/* sum[v]: of the changes of the numbers whose value is values[v], by N_TIMES merges (share) or
 * decays. */
static void add_changes(const drovek_table *k, drove_number m, drovek_bits_kind kind, float factor,
                        bool is_merge, int64_t sum[N_VALUES])
{
    static _Alignas(64) uint8_t from[2 * MEAN_N], w[2 * MEAN_N + 64], centre[sizeof w],
        last[2 * MEAN_N];
    int32_t total[MEAN_N] = {0};
    drove_rng rng;
    drove__rng_seed(&rng, 5, DROVE_RNG_TEST, kind);
    drovek_bits bits = make_bits(&rng, kind, random_memory, N_BLOCKS);
    for (size_t i = 0; i < MEAN_N; i++) {
        set_integer(m, from, i, value_of(m, i % N_VALUES));
    }
    for (size_t time = 0; time < N_TIMES; time++) {
        memset(centre, 0, sizeof centre);
        memset(last, 0, sizeof last);
        memcpy(w, from, sizeof from);
        fresh_bits(&rng, &bits);
        if (is_merge) k->linear.merge[m](centre, w, last, MEAN_N, factor, &bits);
        else k->linear.decay[m](w, MEAN_N, factor, &bits);
        for (size_t i = 0; i < MEAN_N; i++) total[i] += (int32_t)number_as_double(m, w, i);
    }
    for (size_t i = FIRST; i < MEAN_N; i++) sum[i % N_VALUES] += total[i];
}

static void check_mean(const drovek_table *k, drove_number m, drovek_bits_kind kind, float factor,
                       bool is_merge)
{
    int64_t sum[N_VALUES] = {0};
    const double n = (double)N_TIMES * WORDS_PER_BLOCK;
    add_changes(k, m, kind, factor, is_merge, sum);
    for (size_t v = 0; v < N_VALUES; v++) {
        double mean = (double)sum[v] / n;
        double expected = (is_merge ? (double)factor : 1.0 - (double)factor) * value_of(m, v);
        if (is_near_mean(mean, expected, n, 4.0)) continue;
        print_error("%s by %g, M%s %s (%s): the mean of %d is %.6f, not %.6f\n",
                    is_merge ? "merge" : "decay", (double)factor, number_names[m], kind_names[kind],
                    k->isa, value_of(m, v), mean, expected);
        fail();
    }
}

static void check_means(const drovek_table *k)
{
    for (int which = 0; which < 3 * N_KINDS; which++) {
        drove_number m = (drove_number)(which % 3);
        drovek_bits_kind kind = (drovek_bits_kind)(which / 3);
        check_mean(k, m, kind, 0.5f, true);
        check_mean(k, m, kind, 1.0f / 3.0f, true);
        check_mean(k, m, kind, 0.0123f, false);
    }
}

TEST(test_no_bias)
{
    for_each_tier(check_means);
}
