/* Back-off: the law of each kind, its options, and that it really waits.
 *
 * ctest: wraps=nanosleep */
#include "strategy/strategy.h"
#include "support/test.h"

#include "base/clock.h"
#include "base/virtual.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static drove_backoff make(const char *spec, unsigned worker)
{
    drove_backoff b;
    if (drove__backoff_init(&b, spec, 42, worker) != DROVE_OK)
        fail_msg("%s: %s", spec, drove_error_text());
    return b;
}

/* The wait that drove__backoff_wait has just made, from what it says and from what it keeps. */
static double wait_us(drove_backoff *b)
{
    uint64_t begin_ns = drove__now_ns();
    uint64_t said_ns = drove__backoff_wait(b);
    uint64_t took_ns = drove__now_ns() - begin_ns;
    assert_true(said_ns <= took_ns);
    return (double)said_ns / 1e3;
}

TEST(none_does_not_wait)
{
    drove_backoff b = make("none", 0);
    drove__backoff_begin(&b);
    for (int i = 0; i < 100; i++) assert_int_equal(drove__backoff_wait(&b), 0);
}

/* first, first + step, first + 2 step ... max */
TEST(linear_grows_by_its_step)
{
    drove_backoff b = make("linear?first_us=4&step_us=3&max_us=20", 0);
    for (int round = 0; round < 20; round++) {
        drove__backoff_begin(&b);
        double waited = wait_us(&b), next = b.next_us;
        assert_true(next > 3.0 && next <= 7.0); /* the first wait, in (0, 4], plus the step */
        assert_true(waited >= next - 3.0 - 0.01);
        for (int i = 0; i < 8; i++) {
            double expected = next < 20.0 ? next : 20.0;
            assert_true(wait_us(&b) >= expected - 0.01);
            assert_true(b.next_us == expected + 3.0);
            next = b.next_us;
        }
        assert_true(next == 23.0);
    }
}

TEST(exponential_doubles)
{
    drove_backoff b = make("exponential?first_us=2&max_us=30", 0);
    for (int round = 0; round < 20; round++) {
        drove__backoff_begin(&b);
        (void)wait_us(&b);
        double next = b.next_us;
        assert_true(next > 0.0 && next <= 4.0);
        for (int i = 0; i < 16; i++) {
            double expected = next < 30.0 ? next : 30.0;
            assert_true(wait_us(&b) >= expected - 0.01);
            assert_true(b.next_us == 2.0 * expected);
            next = b.next_us;
        }
        assert_true(next == 60.0);
    }
}

/* The first wait of an acquisition is drawn anew each time, evenly below first_us. */
TEST(first_wait_is_drawn)
{
    enum { DRAWS = 4000 };
    drove_backoff b = make("exponential?first_us=1&max_us=1", 0);
    double sum = 0.0, least = 1e9, most = 0.0;
    for (int i = 0; i < DRAWS; i++) {
        drove__backoff_begin(&b);
        (void)drove__backoff_wait(&b);
        double first = b.next_us / 2.0;
        sum += first;
        least = first < least ? first : least;
        most = first > most ? first : most;
    }
    assert_true(least < 0.01 && most > 0.99 && most <= 1.0);
    /* Mean 1/2, deviation of the mean 1 / sqrt(12 DRAWS) = 0.0046: five of them. */
    assert_true(sum / DRAWS > 0.477 && sum / DRAWS < 0.523);
}

TEST(random_is_below_its_maximum)
{
    drove_backoff b = make("random?max_us=40", 0), twin = make("random?max_us=40", 0);
    double most = 0.0, least = 1e9;
    for (int i = 0; i < 300; i++) {
        double expected = 40.0 * drove__rng_uniform(&twin.rng);
        assert_true(wait_us(&b) >= expected - 0.01);
        most = expected > most ? expected : most;
        least = expected < least ? expected : least;
    }
    assert_true(most > 35.0 && least < 5.0);
}

/* On a virtual clock a wait takes just its time, whether a thread would sleep or spin. */
TEST(an_actor_waits_to_the_nanosecond)
{
    static const char *const specs[] = {"linear?first_us=40&step_us=30&max_us=90.5",
                                        "exponential?first_us=40&max_us=90.5", "random?max_us=90"};
    drove_virtual *v;
    assert_int_equal(drove__virtual_create(1, 1, &v), DROVE_OK);
    drove__virtual_begin(v);
    for (size_t i = 0; i < DROVE_COUNT(specs); i++) {
        drove_backoff b = make(specs[i], 0), twin = b;
        double next_us = 40.0 * drove__rng_uniform(&twin.rng);
        if (i == 2) next_us = 90.0 / 40.0 * next_us;
        drove__backoff_begin(&b);
        for (int round = 0; round < 5; round++) {
            double expected = next_us < 90.5 ? next_us : 90.5;
            uint64_t begin_ns = drove__now_ns(), said_ns = drove__backoff_wait(&b);
            assert_true(drove__now_ns() - begin_ns == said_ns);
            assert_true(said_ns >= (uint64_t)(expected * 1e3) - 1 &&
                        said_ns <= (uint64_t)(expected * 1e3) + 1); /* the last bit of a product */
            if (i == 0) next_us = expected + 30.0;
            if (i == 1) next_us = 2.0 * expected;
            if (i == 2) next_us = 90.0 * drove__rng_uniform(&twin.rng);
        }
    }
    drove__virtual_end(v);
    drove__virtual_destroy(v);
}

/* Doubling starts from a nanosecond, however small the draw; linear growth from it as well. */
TEST(the_first_wait_has_a_least)
{
    drove_backoff b = make("exponential?first_us=1e-9", 0);
    drove__backoff_begin(&b);
    assert_true(drove__backoff_wait(&b) >= 1);
    assert_true(b.next_us == 2e-3);
    b = make("linear?first_us=1e-9", 0);
    drove__backoff_begin(&b);
    assert_true(drove__backoff_wait(&b) >= 1);
    assert_true(b.next_us == 1.0 + 1e-3);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Above fifty microseconds the thread sleeps. */
TEST(long_waits_are_kept)
{
    uint64_t begin_ns = cpu_ns();
    drove_backoff b = make("linear?first_us=1&step_us=2000&max_us=5000", 0);
    drove__backoff_begin(&b);
    (void)wait_us(&b);
    assert_true(wait_us(&b) >= 2000.0);
    assert_true(wait_us(&b) >= 4000.0);
    assert_true(wait_us(&b) >= 5000.0);
    assert_true(cpu_ns() - begin_ns < 1000000); /* of 11 ms */
}

/* What is asked of the system, which is not waited for here. */
static bool stands_still;
static unsigned n_rests;
static struct timespec rested;

int __wrap_nanosleep(const struct timespec *rest, struct timespec *left);
int __real_nanosleep(const struct timespec *rest, struct timespec *left);

int __wrap_nanosleep(const struct timespec *rest, struct timespec *left)
{
    n_rests++;
    rested = *rest;
    return stands_still ? 0 : __real_nanosleep(rest, left);
}

TEST(rests_are_in_seconds_and_nanoseconds)
{
    static const struct {
        double us;
        bool sleeps;
        time_t s;
        long ns;
    } cases[] = {{49.0, false, 0, 0},
                 {50.0, true, 0, 50000},
                 {999999.0, true, 0, 999999000},
                 {1000000.0, true, 1, 0}};
    stands_still = true;
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        drove_backoff b = make("linear?max_us=1000000", 0);
        b.next_us = cases[i].us;
        n_rests = 0;
        (void)drove__backoff_wait(&b);
        assert_int_equal(n_rests, cases[i].sleeps);
        if (!cases[i].sleeps) continue;
        assert_int_equal(rested.tv_sec, cases[i].s);
        assert_int_equal(rested.tv_nsec, cases[i].ns);
    }
    stands_still = false;
}

TEST(workers_draw_different_numbers)
{
    drove_backoff a = make("random", 0), b = make("random", 1), c = make("random", 0);
    uint64_t of_a = drove__rng_u64(&a.rng);
    assert_true(of_a != drove__rng_u64(&b.rng));
    assert_true(of_a == drove__rng_u64(&c.rng));
}

TEST(wrong_options_are_refused)
{
    static const char *const specs[] = {"linaer",
                                        "",
                                        "none?max_us=1",
                                        "random?first_us=1",
                                        "exponential?step_us=1",
                                        "linear?first_us=0",
                                        "linear?first_us=-1",
                                        "linear?max_us=nan",
                                        "linear?max_us=2000000",
                                        "linear?first_us=10&max_us=5",
                                        "linear:3",
                                        "exponential?max=3"};
    for (size_t i = 0; i < DROVE_COUNT(specs); i++) {
        drove_backoff b;
        memset(&b, 0x5a, sizeof b);
        drove_backoff before = b;
        if (drove__backoff_init(&b, specs[i], 1, 0) != DROVE_E_ARG)
            fail_msg("\"%s\" was accepted", specs[i]);
        assert_memory_equal(&b, &before, sizeof b);
    }
    /* both bounds are accepted */
    (void)make("linear?first_us=1e-300&step_us=0&max_us=1000000", 0);
    drove_backoff b;
    assert_int_equal(drove__backoff_init(&b, "linaer", 1, 0), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "did you mean linear?"));
}

/* Waits of 1 us, 1 us more each time, up to 100 us: strategy.h's and the help's. */
TEST(what_is_not_given_has_a_default)
{
    drove_backoff b = make("linear", 0);
    assert_true(b.first_us == 1.0 && b.step_us == 1.0 && b.max_us == 100.0);
    b = make("exponential", 0);
    assert_true(b.first_us == 1.0 && b.max_us == 100.0);
    b = make("random", 0);
    assert_true(b.max_us == 100.0);
    b = make("linear?first_us=7", 0);
    assert_true(b.first_us == 7.0 && b.step_us == 1.0 && b.max_us == 100.0);
    b = make("linear?step_us=7", 0);
    assert_true(b.first_us == 1.0 && b.step_us == 7.0 && b.max_us == 100.0);
    b = make("linear?max_us=7", 0);
    assert_true(b.first_us == 1.0 && b.step_us == 1.0 && b.max_us == 7.0);
}

TEST(the_list_names_the_kinds)
{
    size_t n = 0;
    for (; drove__backoffs[n].name != NULL; n++) {
        drove_backoff b = make(drove__backoffs[n].name, 0);
        assert_int_equal(b.kind, n);
        assert_true(drove__backoffs[n].help[0] != '\0' && drove__backoffs[n].source[0] != '\0');
    }
    assert_int_equal(n, 4);
}
