/* The longest dots: 2^26 products of up to 2^30. */
#include "linear_support.h"
#include "support/test.h"

TEST(test_no_overflow)
{
    check_dots_of_extremes((size_t)1 << 26);
}
