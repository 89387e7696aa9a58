/* coord/sizes.h - how fast a worker is at each size of batch, and from which size on it is busy.
 *
 * Source: Ma and Rusu, section 6.3: thresholds that follow the utilisation of a device.  What is
 * measured is its effect, examples per second: a device that is half idle does half of its best.
 *
 * Sizes are put into classes, one for each factor of alpha between least and most.
 */
#ifndef DROVE_COORD_SIZES_H
#define DROVE_COORD_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DROVE_SIZES_MOST = 64 };

/* Examples and seconds of an assignment, weighted means.  The speed is their ratio: a mean of the
 * speeds of single assignments would be far too high where two reports are read at once, the second
 * of which seems to have taken no time. */
typedef struct drove_pace_mean {
    double n, s;
    bool   has;
} drove_pace_mean;

typedef struct drove_sizes {
    uint64_t        least, most;
    double          log_factor; /* of two neighbouring classes */
    size_t          n;          /* classes */
    drove_pace_mean mean[DROVE_SIZES_MOST];
} drove_sizes;

/* The weight of the newest in every mean of speeds. */
#define DROVE_RATE_WEIGHT 0.25

static inline void drove__pace_add(drove_pace_mean *mean, double n, double s)
{
    const double weight = mean->has ? DROVE_RATE_WEIGHT : 1.0;
    mean->n += weight * (n - mean->n);
    mean->s += weight * (s - mean->s);
    mean->has = true;
}

/* Examples a second; 0: not known. */
static inline double drove__pace_rate(const drove_pace_mean *mean)
{
    return mean->s > 0.0 ? mean->n / mean->s : 0.0;
}

void drove__sizes_init(drove_sizes *s, uint64_t least, uint64_t most, double alpha);
/* n of `examples`, which took so long, were a batch. */
void drove__sizes_add(drove_sizes *s, uint64_t n, uint64_t examples, double took_s);
/* The least size above all that were measured at less than utilisation times the best rate.  A size
 * that was never used counts as good: it has to be tried to be known. */
uint64_t drove__sizes_least(const drove_sizes *s, double utilisation);

#endif
