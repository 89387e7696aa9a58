/* coord/sizes.h - how fast a worker is at each size of batch, and from which size on it is busy.
 *
 * Source: Ma and Rusu, section 6.3: thresholds that follow the utilisation of a device.  What is
 * measured is its effect, examples per second: a device that is half idle does half of its best.
 *
 * Sizes are put into classes, one for each factor of alpha between least and most.
 */
#ifndef DROVE_COORD_SIZES_H
#define DROVE_COORD_SIZES_H

#include <stddef.h>
#include <stdint.h>

enum { DROVE_SIZES_MOST = 64 };

typedef struct drove_sizes {
    uint64_t least, most;
    double   log_factor;             /* of two neighbouring classes */
    size_t   n;                      /* classes */
    double   rate[DROVE_SIZES_MOST]; /* examples/s, weighted mean; 0: not measured */
} drove_sizes;

/* The weight of the newest in every mean of speeds. */
#define DROVE_RATE_WEIGHT 0.25

static inline double drove__rate_mean(double mean, double newest)
{
    return mean > 0.0 ? mean + DROVE_RATE_WEIGHT * (newest - mean) : newest;
}

void drove__sizes_init(drove_sizes *s, uint64_t least, uint64_t most, double alpha);
void drove__sizes_add(drove_sizes *s, uint64_t n, double rate);
/* The least size above all that were measured at less than utilisation times the best rate.  A size
 * that was never used counts as good: it has to be tried to be known. */
uint64_t drove__sizes_least(const drove_sizes *s, double utilisation);

#endif
