/* The candidate that a comparison comes to. */
#include "train/search.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

static drove_search of_losses(const double *loss, unsigned n, double constant)
{
    drove_search s = {.n = n, .n_divisions = 3};
    for (unsigned i = 0; i < n; i++) {
        s.candidate[i].loss = loss[i];
        s.candidate[i].constant_loss = constant;
        s.candidate[i].n_tried = 3;
        for (unsigned k = 0; k < 3; k++) s.candidate[i].loss_of[k] = loss[i];
    }
    return s;
}

TEST(the_simplest_of_the_good_ones)
{
    const double losses[] = {0.40, 0.302, 0.30, 0.35};
    drove_search s = of_losses(losses, 4, 0.7);
    assert_int_equal(drove__search_choose(&s, 0.0), 2);
    assert_int_equal(drove__search_choose(&s, 0.01), 1);  /* 0.302 <= 0.30 + 0.01 * 0.4 */
    assert_int_equal(drove__search_choose(&s, 0.004), 2); /* 0.302 > 0.30 + 0.004 * 0.4 */
}

TEST(those_left_behind_do_not_count)
{
    const double losses[] = {0.5, 0.1, 0.4};
    drove_search s = of_losses(losses, 3, 0.7);
    s.candidate[1].n_tried = 2;
    assert_int_equal(drove__search_choose(&s, 0.0), 2);
}

/* A loss above the guess's leaves no room; losses that are not finite are never chosen. */
TEST(no_progress)
{
    const double bad[] = {0.9, 0.8, 0.85}, broken[] = {INFINITY, 0.5, INFINITY};
    drove_search s = of_losses(bad, 3, 0.7);
    assert_int_equal(drove__search_choose(&s, 0.5), 1);
    s = of_losses(broken, 3, NAN);
    assert_int_equal(drove__search_choose(&s, 0.5), 1);
}

/* Differences of 0.05, 0.01 and 0 are 0.02 on average with a deviation of 0.02646: the standard
 * error is 0.01528.  Of 0.03, 0.01 and -0.01 they are 0.01 with 0.01155. */
TEST(within_a_standard_error)
{
    const double losses[] = {0.42, 0.40}, far[] = {0.45, 0.41, 0.40}, near[] = {0.43, 0.41, 0.39};
    drove_search s = of_losses(losses, 2, 0.7);
    memcpy(s.candidate[0].loss_of, far, sizeof far);
    assert_int_equal(drove__search_choose(&s, 0.005), 1); /* 0.02 > 0.01528 */
    memcpy(s.candidate[0].loss_of, near, sizeof near);
    s.candidate[0].loss = 0.41;
    assert_int_equal(drove__search_choose(&s, 0.005), 0); /* 0.01 <= 0.01155 */
    s.candidate[0].n_tried = s.candidate[1].n_tried = 2;
    assert_int_equal(drove__search_choose(&s, 0.005), 1); /* two say nothing of a deviation */
}

TEST(nothing_tried)
{
    drove_search s = {.n = 2};
    assert_int_equal(drove__search_choose(&s, 0.01), 0);
}
