/* The candidate that a comparison comes to. */
#include "run/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static drove_search of_losses(const double *loss, unsigned n, double constant)
{
    drove_search s = {.n = n, .n_divisions = 3};
    for (unsigned i = 0; i < n; i++) {
        s.candidate[i].loss = loss[i];
        s.candidate[i].constant_loss = constant;
        s.candidate[i].n_tried = 3;
    }
    return s;
}

static void the_simplest_of_the_good_ones(void **state)
{
    (void)state;
    const double losses[] = {0.40, 0.302, 0.30, 0.35};
    drove_search s = of_losses(losses, 4, 0.7);
    assert_int_equal(drove__search_choose(&s, 0.0), 2);
    assert_int_equal(drove__search_choose(&s, 0.01), 1);  /* 0.302 <= 0.30 + 0.01 * 0.4 */
    assert_int_equal(drove__search_choose(&s, 0.004), 2); /* 0.302 > 0.30 + 0.004 * 0.4 */
}

static void those_left_behind_do_not_count(void **state)
{
    (void)state;
    const double losses[] = {0.5, 0.1, 0.4};
    drove_search s = of_losses(losses, 3, 0.7);
    s.candidate[1].n_tried = 2;
    assert_int_equal(drove__search_choose(&s, 0.0), 2);
}

/* A loss above the guess's leaves no room; losses that are not finite are never chosen. */
static void no_progress(void **state)
{
    (void)state;
    const double bad[] = {0.9, 0.8, 0.85}, broken[] = {INFINITY, 0.5, INFINITY};
    drove_search s = of_losses(bad, 3, 0.7);
    assert_int_equal(drove__search_choose(&s, 0.5), 1);
    s = of_losses(broken, 3, NAN);
    assert_int_equal(drove__search_choose(&s, 0.5), 1);
}

static void nothing_tried(void **state)
{
    (void)state;
    drove_search s = {.n = 2};
    assert_int_equal(drove__search_choose(&s, 0.01), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_simplest_of_the_good_ones),
        cmocka_unit_test(those_left_behind_do_not_count),
        cmocka_unit_test(no_progress),
        cmocka_unit_test(nothing_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
