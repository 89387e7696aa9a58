/* What a step costs on a virtual clock: the floats that it takes from other cores and those that it
 * moves, of parameters and state, against counts of this file.
 * The linker puts functions of this file in the place of the clock's.
 *
 * ctest: wraps=drove__virtual_take,drove__virtual_update */
#include "optim/optim.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/virtual.h"

#include <string.h>

enum { N = 96, STATES = 2 }; /* parameters; of the rule momentum: themselves and a velocity */

static float vectors[2][STATES * N];
static char is_read[2][STATES * N], is_written[2][STATES * N];
static double update_bytes, taken_ns;
static unsigned n_updates;

double __wrap_drove__virtual_take(const float *at, size_t n, bool writes);
void __wrap_drove__virtual_update(double bytes, double taken);

/* 5 ns for each float that is read, 7 for each that is written. */
double __wrap_drove__virtual_take(const float *at, size_t n, bool writes)
{
    unsigned which = at >= vectors[1] && at < vectors[1] + STATES * N;
    size_t first = (size_t)(at - vectors[which]);
    assert_true(first + n <= STATES * N);
    for (size_t i = first; i < first + n; i++) (writes ? is_written : is_read)[which][i]++;
    return (writes ? 7.0 : 5.0) * (double)n;
}

void __wrap_drove__virtual_update(double bytes, double taken)
{
    n_updates++;
    update_bytes = bytes;
    taken_ns = taken;
}

static const drove_span spans[] = {{4, 10}, {30, 20}, {60, 36}};

static bool is_covered(const drove_span *span, size_t i)
{
    bool is_in = span == NULL;
    for (size_t s = 0; span != NULL && s < DROVE_COUNT(spans); s++)
        is_in |= i >= span[s].offset && i < span[s].offset + span[s].length;
    return is_in;
}

/* One step of elements [offset, offset + length), in place or from one vector into the other. */
static void check(const char *rule, size_t n_states, const drove_span *span, size_t offset,
                  size_t length, bool is_in_place)
{
    static const float value[N];
    static char actor; /* only its address is used */
    drovek_table kernels;
    drove_optim *optim;
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), "ref"), DROVE_OK);
    const drove_optim_options opt = {.rule = rule,
                                     .schedule = "constant",
                                     .lr = 1.0,
                                     .n_params = N,
                                     .n_workers = 1,
                                     .kernels = &kernels};
    assert_int_equal(drove__optim_create(&opt, &optim), DROVE_OK);
    const drove_step step = {
        .value = value, .span = span, .n_spans = span != NULL ? DROVE_COUNT(spans) : 0, .eta = 1};
    memset(is_read, 0, sizeof is_read);
    memset(is_written, 0, sizeof is_written);
    n_updates = 0;
    drove__actor = (drove_actor *)&actor;
    drove__optim_apply(optim, &step, 0, 1, offset, length, vectors[0],
                       vectors[is_in_place ? 0 : 1]);
    drove__actor = NULL;
    double expected_ns = 0, expected_bytes = 0;
    for (size_t i = 0; i < STATES * N; i++) {
        const bool is_in = i < n_states * N && i % N >= offset && i % N < offset + length;
        const bool is_moved = is_in && (!is_in_place || is_covered(span, i % N));
        assert_int_equal(is_written[is_in_place ? 0 : 1][i], is_moved);
        assert_int_equal(is_read[0][i], is_in && !is_in_place);
        assert_int_equal(is_read[1][i], 0);
        expected_ns += (is_moved ? 7.0 : 0.0) + (is_in && !is_in_place ? 5.0 : 0.0);
        expected_bytes += is_moved ? 4.0 : 0.0;
    }
    assert_int_equal(n_updates, 1);
    assert_true(taken_ns == expected_ns);
    assert_true(update_bytes == expected_bytes);
    drove__optim_destroy(optim);
}

TEST(a_step_pays_for_what_it_moves)
{
    static const size_t parts[][2] = {{0, N}, {0, 32}, {32, 16}, {48, 48}, {16, 16}};
    for (size_t p = 0; p < DROVE_COUNT(parts); p++) {
        for (int is_in_place = 0; is_in_place < 2; is_in_place++) {
            check("sgd", 1, NULL, parts[p][0], parts[p][1], is_in_place);
            check("sgd", 1, spans, parts[p][0], parts[p][1], is_in_place);
            check("momentum", 2, NULL, parts[p][0], parts[p][1], is_in_place);
            check("adagrad", 2, spans, parts[p][0], parts[p][1], is_in_place);
        }
    }
}

TEST(a_real_clock_costs_nothing)
{
    memset(is_written, 0, sizeof is_written);
    assert_true(drove__optim_take(vectors[0], 0, N, NULL, 0, true) == 0.0);
    assert_true(drove__optim_take(vectors[0], 0, N, spans, DROVE_COUNT(spans), true) == 0.0);
    for (size_t i = 0; i < N; i++) assert_int_equal(is_written[0][i], 0);
}
