/* Random rounding has no bias: for every way of rounding and pair of formats the mean of 10^6
 * roundings lies within 4 standard errors of the number that was rounded; each place of a block of
 * random bits by itself within 6.  Every tier gives these numbers.  Nearest fails this, and is the
 * same every time.
 *
 * Seven numbers, each with another fraction, take turns along the vector.  Seven and the length of
 * a block have no common factor, so that in seven blocks each number meets each place of a block
 * once: also where all blocks are the same (shared), a number is rounded by bits that are
 * independent.  The vector begins with part of a block more, which is not counted, so that what is
 * counted has a tail.
 *
 * ctest: apart: links engine/, for the sources of random bits */
#include "linear_support.h"
#include "support/test.h"

#include "engine/linear/rounding.h"

#include <math.h>
#include <string.h>

enum {
    N_VALUES = 7,
    N_ROUNDINGS = N_MEAN_ROUNDINGS,
    N_STEPS = 4,
    MAX_TIERS = 8,
    MAX_N = 16 * DROVEK_BLOCK_BYTES,
};
static const double errors_of_mean = 4.0, errors_of_place = 6.0;

static const char *const unbiased[] = {"shared", "mt19937", "xorshift"};
static const double values[N_VALUES] = {127, -127, 101, -64, 50, -25, 13};

/* Factors of up to two rows, and the size of x in units of values[] / 127.  No step leaves the
 * range of the model. */
typedef struct step {
    size_t n_rows;
    int32_t a[2];
    int shift;
    float f[2];
    double most;
} step;

typedef enum way { AXPY, AXPY_DOT, SPAXPY, N_WAYS } way;
static const char *const way_names[N_WAYS] = {"axpy", "axpy_dot", "spaxpy"};

/* A small factor, two rows, a factor too large for the narrow lanes, and a negative one. */
static const step steps_bytes[N_STEPS] = {{1, {77}, 8, {0}, 127},
                                          {2, {-119, 5}, 7, {0}, 66},
                                          {1, {250}, 5, {0}, 10},
                                          {1, {-201}, 8, {0}, 127}};
static const step steps_words[N_STEPS] = {{1, {77}, 15, {0}, 127},
                                          {2, {-20011, 9001}, 19, {0}, 99},
                                          {1, {23001}, 9, {0}, 2},
                                          {1, {-15001}, 15, {0}, 127}};
static const step steps_float[N_STEPS] = {{1, {0}, 0, {0.3713f}, 9.77},
                                          {2, {0}, 0, {-2.917f, 1.3f}, 17.1},
                                          {1, {0}, 0, {-0.00411f}, 17.1},
                                          {1, {0}, 0, {-5.123f}, 9.77}};

/* The same where data or model have 4 bits. */
static const step steps_pairs[N_STEPS] = {
    {1, {77}, 8, {0}, 7}, {2, {-119, 5}, 7, {0}, 4}, {1, {9}, 2, {0}, 2}, {1, {-201}, 8, {0}, 6}};
static const step steps_d8m4[N_STEPS] = {{1, {77}, 12, {0}, 127},
                                         {2, {-119, 5}, 11, {0}, 66},
                                         {1, {201}, 7, {0}, 2},
                                         {1, {-161}, 12, {0}, 127}};
static const step steps_words_4[N_STEPS] = {{1, {77}, 15, {0}, 7},
                                            {2, {-20011, 9001}, 15, {0}, 5},
                                            {1, {23001}, 13, {0}, 1},
                                            {1, {-15001}, 15, {0}, 7}};
static const step steps_float_4[N_STEPS] = {{1, {0}, 0, {0.3713f}, 9.77},
                                            {2, {0}, 0, {-2.917f, 1.3f}, 1},
                                            {1, {0}, 0, {-0.00411f}, 17.1},
                                            {1, {0}, 0, {-5.123f}, 0.9}};

static const step *steps_of(drove_number d, drove_number m)
{
    bool is_small = d == DROVE_I4 || m == DROVE_I4;
    if (d == DROVE_F32) return is_small ? steps_float_4 : steps_float;
    if (d == DROVE_I16 || m == DROVE_I16) return is_small ? steps_words_4 : steps_words;
    return d == DROVE_I8 && m == DROVE_I4 ? steps_d8m4 : is_small ? steps_pairs : steps_bytes;
}

typedef struct task {
    drove_number d, m;
    const step *step;
    size_t which;               /* of the steps of its formats */
    size_t per_block, n, first; /* numbers from `first` on are counted */
    size_t n_steps;
    uint8_t x[2][4 * MAX_N], w[2 * MAX_N];
    double expected[MAX_N]; /* change of w */
} task;

static void put(drove_number number, void *to, size_t i, double value)
{
    if (number == DROVE_F32) ((float *)to)[i] = (float)value;
    else set_integer(number, to, i, (int64_t)value);
}

static task make_task(drove_number d, drove_number m, size_t which)
{
    task t = {.d = d, .m = m, .which = which, .step = steps_of(d, m) + which};
    t.per_block = drovek_per_draw(d, m, t.step->n_rows > 1);
    t.first = t.per_block / 2 + 1;
    t.n = t.first + N_VALUES * t.per_block;
    t.n_steps = (N_ROUNDINGS + t.per_block - 1) / t.per_block;
    for (size_t i = 0; i < t.n; i++) {
        put(m, t.w, i, ((double)(i % 5) - 2.0) * (m == DROVE_I4 ? 1.0 : 5.0));
        for (size_t k = 0; k < t.step->n_rows; k++) {
            double one = d <= DROVE_I8 ? 1.0 : 1.0001;
            put(d, t.x[k], i, values[(i + 3 * k) % N_VALUES] * one / 127.0 * t.step->most);
            double x = number_as_double(d, t.x[k], i);
            t.expected[i] += d == DROVE_F32 ? (double)t.step->f[k] * x : t.step->a[k] * x;
        }
        if (d != DROVE_F32) t.expected[i] = ldexp(t.expected[i], -t.step->shift);
    }
    return t;
}

static drove_rounder make_rounder(const task *t, const char *name, uint64_t seed)
{
    drove_rounding how;
    drove_rounder r;
    assert_int_equal(drove__rounding_parse(name, &how), DROVE_OK);
    const size_t n_blocks = drovek_blocks(t->d, t->m, t->step->n_rows > 1, t->n);
    assert_int_equal(drove__rounder_init(&r, &how, n_blocks), DROVE_OK);
    drove__rounder_seed(&r, seed, 0);
    return r;
}

static void apply(const drovek_linear *k, const task *t, way by, void *w, drovek_bits *bits)
{
    static uint32_t index[MAX_N];
    const void *row[2] = {t->x[0], t->x[1]};
    drovek_factor factor[2];
    size_t n_clamped = 0;
    for (size_t i = 0; i < 2; i++)
        factor[i] = (drovek_factor){t->step->a[i], t->step->shift, t->step->f[i]};
    if (by == AXPY) {
        n_clamped = k->axpy[t->d][t->m](w, row, factor, t->step->n_rows, t->n, bits);
    } else if (by == AXPY_DOT) {
        k->axpy_dot[t->d][t->m](w, row[0], factor, row[0], NULL, t->n, bits, &n_clamped);
    } else {
        drovek_pairs pairs = {index, row[0], t->n};
        if (index[1] == 0)
            for (size_t i = 0; i < MAX_N; i++) index[i] = (uint32_t)i;
        n_clamped = k->spaxpy[t->d][2][t->m](w, &pairs, factor, bits);
    }
    assert_int_equal(n_clamped, 0);
}

/* Does the task take this way?  All of them once; two rows are for axpy alone. */
static bool takes(const task *t, way by)
{
    if (by == SPAXPY && (t->d == DROVE_I4 || t->m == DROVE_I4)) return false;
    if (t->which == 0) return true;
    return by == (t->which == 2 ? AXPY_DOT : AXPY);
}

static drovek_table tiers[MAX_TIERS];
static size_t n_tiers;

/* Sums of the changes of w, of each way: the tiers give the same bits. */
static int32_t total[N_WAYS][MAX_N];

typedef struct model {
    _Alignas(64) uint8_t w[2 * MAX_N + DROVEK_BLOCK_BYTES];
} model;

static void step_model(const drovek_table *table, const task *t, way by, const drovek_bits *bits,
                       drovek_bits *after, model *to)
{
    memcpy(to->w, t->w, drove__numbers_bytes(t->m, t->n));
    *after = *bits;
    apply(&table->linear, t, by, to->w, after);
}

static void add_numbers(const task *t, const uint8_t *w, int32_t *sum, int32_t times)
{
    if (t->m == DROVE_I4) {
        for (size_t i = 0; i < t->n / 2; i++) { /* two a byte, the lower half first */
            sum[2 * i] += times * (((w[i] & 15) ^ 8) - 8);
            sum[2 * i + 1] += times * (((w[i] >> 4) ^ 8) - 8);
        }
        if (t->n % 2 != 0) sum[t->n - 1] += times * drove__nibble_at(w, t->n - 1);
    } else if (t->m == DROVE_I8) {
        for (size_t i = 0; i < t->n; i++) sum[i] += times * ((const int8_t *)w)[i];
    } else {
        for (size_t i = 0; i < t->n; i++) sum[i] += times * ((const int16_t *)w)[i];
    }
}

static void assert_same_step(const task *t, way by, const drovek_table *table, const model *got,
                             const model *wanted)
{
    if (memcmp(got->w, wanted->w, drove__numbers_bytes(t->m, t->n)) == 0) return;
    print_error("%s D%sM%s, a %d, shift %d, f %g: %s and %s differ\n", way_names[by],
                number_names[t->d], number_names[t->m], t->step->a[0], t->step->shift,
                (double)t->step->f[0], table->isa, tiers[n_tiers - 1].isa);
    fail();
}

/* n_steps steps of the widest tier, each from the same w, with the same bits for every way; a tenth
 * of them, or the few that there are, by the other tiers, too: the same numbers. */
static void sum_changes(const task *t, const char *rounding, uint64_t seed, size_t n_steps)
{
    static model widest, other;
    const drovek_table *best = &tiers[n_tiers - 1];
    const size_t n_by_all = n_steps < 100 ? n_steps : n_steps / 10;
    drove_rounder r = make_rounder(t, rounding, seed);
    memset(total, 0, sizeof total);
    for (size_t s = 0; s < n_steps; s++) {
        const bool is_batch = t->step->n_rows > 1;
        drovek_bits *bits = drove__rounder_next(&r, t->d, t->m, is_batch, t->n), after = *bits;
        for (way by = AXPY; by < N_WAYS; by++) {
            if (!takes(t, by)) continue;
            step_model(best, t, by, bits, &after, &widest);
            add_numbers(t, widest.w, total[by], 1);
            for (size_t tier = 0; s < n_by_all && tier + 1 < n_tiers; tier++) {
                step_model(&tiers[tier], t, by, bits, &after, &other);
                assert_same_step(t, by, &tiers[tier], &other, &widest);
            }
        }
        *bits = after;
    }
    for (way by = AXPY; by < N_WAYS; by++)
        if (takes(t, by)) add_numbers(t, t->w, total[by], -(int32_t)n_steps);
    drove__rounder_fini(&r);
}

/* Numbers of the seven whose mean is too far away; *n_places: places of the vector.  Where blocks
 * go two by two (kernel/linear.h), shared ones are the same, so two places have the same bits. */
static size_t count_biased(const task *t, const int32_t *changes, size_t *n_places)
{
    size_t n_biased = 0;
    *n_places = 0;
    for (size_t i = t->first; i < t->n; i++) {
        double mean = (double)changes[i] / (double)t->n_steps;
        *n_places += !is_near_mean(mean, t->expected[i], (double)t->n_steps, errors_of_place);
    }
    for (size_t v = 0; v < N_VALUES; v++) {
        size_t n_blocks = drovek_blocks(t->d, t->m, t->step->n_rows > 1, 1);
        double sum = 0.0, n = (double)(t->n_steps * t->per_block);
        for (size_t i = t->first; i < t->n; i++) sum += i % N_VALUES == v ? changes[i] : 0;
        n_biased +=
            !is_near_mean(sum / n, t->expected[N_VALUES + v], n / (double)n_blocks, errors_of_mean);
    }
    return n_biased;
}

static void check_sums(const task *t, way by, const char *rounding)
{
    size_t n_places, n_biased = count_biased(t, total[by], &n_places);
    if (n_biased == 0 && n_places == 0) return;
    print_error("%s D%sM%s, %s, a %d, shift %d, f %g: %zu of %d means are biased, "
                "%zu places\n",
                way_names[by], number_names[t->d], number_names[t->m], rounding, t->step->a[0],
                t->step->shift, (double)t->step->f[0], n_biased, N_VALUES, n_places);
    fail();
}

static void check_unbiased(const task *t)
{
    for (size_t u = 0; u < sizeof unbiased / sizeof *unbiased; u++) {
        sum_changes(t, unbiased[u], 1, t->n_steps);
        for (way by = AXPY; by < N_WAYS; by++)
            if (takes(t, by)) check_sums(t, by, unbiased[u]);
    }
}

static void add_tier(const drovek_table *table)
{
    assert_true(n_tiers < MAX_TIERS);
    tiers[n_tiers++] = *table;
}

static void for_each_task(void (*check)(const task *))
{
    n_tiers = 0;
    for_each_tier(add_tier);
    for (int pair = 0; pair < DROVE_NUMBERS * DROVE_F32; pair++) {
        for (size_t which = 0; which < N_STEPS; which++) {
            task t = make_task((drove_number)(pair / DROVE_F32), (drove_number)(pair % DROVE_F32),
                               which);
            check(&t);
        }
    }
}

TEST(test_random_is_unbiased)
{
    for_each_task(check_unbiased);
}

/* Five steps took every number to the integer nearest to it, and the criterion above tells that
 * from rounding without bias. */
static void check_nearest_sums(const task *t, int32_t *sum)
{
    size_t n_wanted = 0, n_places;
    for (size_t i = 0; i < t->n; i++) {
        double nearest = floor(t->expected[i] + 0.5);
        assert_true(sum[i] == 5 * nearest);
        sum[i] = (int32_t)nearest * (int32_t)t->n_steps;
    }
    for (size_t v = N_VALUES; v < 2 * N_VALUES; v++)
        n_wanted += t->expected[v] != floor(t->expected[v]);
    assert_int_equal(count_biased(t, sum, &n_places), n_wanted);
    assert_true(n_wanted > 0);
    /* a sanitizer's fewer roundings do not tell about single places of large blocks */
    if (N_ROUNDINGS >= 1000000) assert_true(n_places > 0);
}

/* Whatever the seed, and however often. */
static void check_nearest(const task *t)
{
    for (uint64_t seed = 1; seed < 3; seed++) {
        sum_changes(t, "nearest", seed, 5);
        for (way by = AXPY; by < N_WAYS; by++)
            if (takes(t, by)) check_nearest_sums(t, total[by]);
    }
}

TEST(test_nearest_is_biased)
{
    for_each_task(check_nearest);
}
