/* From which size of batch on a worker is busy: classes of sizes, the speed of each, and the least
 * size above all slow ones. */
#include "coord/sizes.h"
#include "support/test.h"

#include <string.h>

static drove_sizes make(uint64_t least, uint64_t most, double alpha)
{
    drove_sizes s;
    memset(&s, 0x5a, sizeof s);
    drove__sizes_init(&s, least, most, alpha);
    return s;
}

/* At this size so many examples take a second. */
static void measure(drove_sizes *s, uint64_t n, double rate)
{
    drove__sizes_add(s, n, n, (double)n / rate);
}

/* A class for each factor of alpha, both ends included; 64 at most. */
TEST(there_is_a_class_for_each_factor)
{
    assert_int_equal(make(1, 64, 2.0).n, 7);
    assert_int_equal(make(3, 81, 3.0).n, 4);
    assert_int_equal(make(10, 13, 2.0).n, 1); /* nearer to the least than to its double */
    assert_int_equal(make(5, 5, 2.0).n, 1);
    const drove_sizes fine = make(1, 1000000, 1.001);
    assert_int_equal(fine.n, DROVE_SIZES_MOST);
    for (size_t i = 0; i < fine.n; i++) assert_false(fine.mean[i].has);
}

/* Nothing is known: every size counts as good. */
TEST(sizes_that_were_not_tried_are_good)
{
    drove_sizes s = make(2, 64, 2.0);
    assert_int_equal(drove__sizes_least(&s, 0.9), 2);
    measure(&s, 32, 100.0);
    assert_int_equal(drove__sizes_least(&s, 0.9), 2);
}

/* 2, 4, 8, 16, 32, 64: of each, examples/s. */
TEST(the_least_is_above_every_slow_one)
{
    drove_sizes s = make(2, 64, 2.0);
    measure(&s, 2, 20.0);
    measure(&s, 4, 90.0);
    measure(&s, 8, 49.9);
    measure(&s, 16, 50.0);
    measure(&s, 32, 100.0);
    assert_int_equal(drove__sizes_least(&s, 0.1), 2);
    assert_int_equal(drove__sizes_least(&s, 0.3), 4);  /* 2 is below 30 */
    assert_int_equal(drove__sizes_least(&s, 0.5), 16); /* 8 is below 50, 16 is not */
    assert_int_equal(drove__sizes_least(&s, 0.6), 32);
}

/* Less than an example a second is a speed, too. */
TEST(slow_workers_are_measured_alike)
{
    drove_sizes s = make(2, 8, 2.0);
    measure(&s, 2, 0.125);
    measure(&s, 4, 0.25);
    assert_int_equal(drove__sizes_least(&s, 0.6), 4);
    measure(&s, 8, 0.5);
    assert_int_equal(drove__sizes_least(&s, 0.6), 8);
}

/* Sizes in between are in the nearest class, by their logarithms; smaller ones than the least say
 * nothing. */
TEST(sizes_have_their_nearest_class)
{
    drove_sizes s = make(4, 64, 2.0);
    measure(&s, 3, 1.0);
    for (size_t i = 0; i < s.n; i++) assert_false(s.mean[i].has);
    measure(&s, 5, 1.0);  /* 1.25 is below the root of 2 */
    measure(&s, 23, 1.0); /* 23 / 16 above it */
    measure(&s, 64, 1.0);
    assert_true(s.mean[0].has && !s.mean[1].has && !s.mean[2].has && s.mean[3].has &&
                s.mean[4].has);
    assert_true(s.mean[0].n == 5.0 && s.mean[3].n == 23.0 && s.mean[4].n == 64.0);
}

/* Of several batches in one assignment the size is that of a batch, the speed that of all. */
TEST(an_assignment_counts_with_all_its_examples)
{
    drove_sizes s = make(4, 64, 2.0);
    drove__sizes_add(&s, 8, 40, 4.0);
    assert_true(drove__pace_rate(&s.mean[1]) == 10.0);
    drove__sizes_add(&s, 8, 80, 4.0); /* a quarter of the way from 40 to 80 */
    assert_true(s.mean[1].n == 50.0 && s.mean[1].s == 4.0);
}

/* The largest size that is slow stays the least. */
TEST(no_least_is_above_the_most)
{
    drove_sizes s = make(3, 50, 2.0);
    measure(&s, 50, 10.0);
    measure(&s, 24, 100.0);
    assert_int_equal(drove__sizes_least(&s, 0.5), 50);
}
