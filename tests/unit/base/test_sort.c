/* Numbers in ascending order, and the one in the middle. */
#include "base/sort.h"
#include "support/test.h"

#include <math.h>

TEST(ascending)
{
    double x[] = {3, -INFINITY, 2.5, INFINITY, -1, 2.5, 0}, one[] = {7};
    drove__sort(x, 7);
    for (size_t i = 1; i < 7; i++) assert_true(x[i - 1] <= x[i]);
    assert_true(x[0] == -INFINITY && x[1] == -1 && x[3] == 2.5 && x[6] == INFINITY);
    drove__sort(one, 1);
    assert_true(one[0] == 7);
    drove__sort(one, 0);
}

TEST(medians)
{
    double odd[] = {9, 1, 5, 7, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
    assert_true(drove__sort_median(odd, 5) == 5);
    assert_true(odd[0] == 1 && odd[4] == 9); /* sorted */
    assert_true(drove__sort_median(even, 4) == 3);
    assert_true(drove__sort_median(one, 1) == 7);
}
