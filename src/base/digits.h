/* base/digits.h - do floats hold the digits of a column of numbers?
 *
 * A model sees a number less the mean of its column, over the spread.  A float has 24 bits: of
 * numbers that are large beside their spread, such as times since 1970, the difference has few of
 * them or none.  Such a column is kept in double until something is subtracted.
 */
#ifndef DROVE_BASE_DIGITS_H
#define DROVE_BASE_DIGITS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct drove_digits { /* of the numbers so far; zeroed: none */
    size_t n;
    double least, most, sum;
    bool   is_rounded;       /* a float is not the number itself                     */
    bool   is_whole_rounded; /* of a whole number, which may be a name: 16777217     */
} drove_digits;

static inline void drove__digits_add(drove_digits *d, double value)
{
    if (d->n++ == 0) d->least = d->most = value;
    d->sum += value;
    if (value < d->least) d->least = value;
    if (value > d->most) d->most = value;
    if ((double)(float)value == value) return;
    d->is_rounded = true;
    d->is_whole_rounded = d->is_whole_rounded || floor(value) == value;
}

/* Whether a float's rounding would be above 2^-20 of the spread; once false, false with any further
 * number. */
static inline bool drove__digits_may_be_far(const drove_digits *d)
{
    const double ratio = 32;
    return fmax(fabs(d->least), fabs(d->most)) > ratio * (d->most - d->least);
}

/* Whether these numbers have to be centred in double. */
static inline bool drove__digits_are_far(const drove_digits *d)
{
    return d->is_rounded && drove__digits_may_be_far(d);
}

/* Subtracted in double from numbers that are stored as floats: their mean, whole where that is near
 * enough; 0: floats hold them. */
static inline double drove__digits_origin(const drove_digits *d)
{
    if (!drove__digits_are_far(d)) return 0;
    const double mean = d->sum / (double)d->n;
    return d->most - d->least >= 1 ? rint(mean) : d->most > d->least ? mean : d->most;
}

#endif
