/* The step size that trials come to. */
#include "auto/trials.h"
#include "support/test.h"

#include <math.h>

TEST(the_smallest_of_the_good_ones)
{
    const drove_trial clear[] = {{1e-3, 0.9}, {1e-2, 0.5}, {1e-1, 0.2}, {1.0, 0.7}};
    const drove_trial close[] = {{1e-3, 0.9}, {1e-2, 0.22}, {1e-1, 0.2}, {1.0, 0.7}};
    assert_true(drove__trials_choose(clear, 4, 1.0, 0.05) == 1e-1);
    assert_true(drove__trials_choose(close, 4, 1.0, 0.05) == 1e-2);
    assert_true(drove__trials_choose(close, 4, 1.0, 0.0) == 1e-1);
}

TEST(losses_that_are_not_finite_are_left_out)
{
    const drove_trial some[] = {{1e-3, 0.9}, {1e-2, 0.5}, {1e-1, INFINITY}, {1.0, INFINITY}};
    const drove_trial none[] = {{1e-3, INFINITY}, {1e-2, INFINITY}};
    assert_true(drove__trials_choose(some, 4, 1.0, 0.05) == 1e-2);
    assert_true(drove__trials_choose(none, 2, 1.0, 0.05) == 1e-3);
}

/* Where nothing has improved, nothing is better than the smallest that is as good. */
TEST(no_progress_takes_the_smallest)
{
    const drove_trial flat[] = {{1e-3, 1.0}, {1e-2, 1.0}, {1e-1, 1.5}};
    assert_true(drove__trials_choose(flat, 3, 1.0, 0.05) == 1e-3);
}
