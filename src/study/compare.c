/* study/compare.c - see compare.h. */
#include "study/compare.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOW = 249, HIGH = DROVE_RESAMPLES - 250 }; /* 2.5 % lie below, and above */

static const double NEAR = 1.1;

double drove__median(double *x, size_t n)
{
    drove__sort(x, n);
    const double low = x[(n - 1) / 2], high = x[n / 2];
    return low == high ? low : low / 2.0 + high / 2.0; /* equal infinities have no mean */
}

drove_status drove__bootstrap_median(double *x, size_t n, uint64_t seed, drove_interval *out)
{
    drove_rng rng;
    double *sample = drove__alloc(n, sizeof *sample);
    double *median = drove__alloc(DROVE_RESAMPLES, sizeof *median);
    drove_status status = DROVE_OK;
    if (sample == NULL || median == NULL) {
        status = drove__fail_nomem("bootstrap", (n + DROVE_RESAMPLES) * sizeof *median);
    } else {
        out->median = drove__median(x, n);
        drove__rng_seed(&rng, seed, DROVE_RNG_STUDY, 0);
        for (size_t k = 0; k < DROVE_RESAMPLES; k++) {
            for (size_t i = 0; i < n; i++) sample[i] = x[drove__rng_below(&rng, n)];
            median[k] = drove__median(sample, n);
        }
        drove__sort(median, DROVE_RESAMPLES);
        out->low = median[LOW];
        out->high = median[HIGH];
    }
    drove__free(sample);
    drove__free(median);
    return status;
}

static bool is_allowed(const drove_sweep_row *row)
{
    return row->n_runs > 0 && 10 * row->n_crashed <= row->n_runs;
}

void drove__sweep_find_best(const drove_sweep_row *row, size_t n, size_t group,
                            drove_sweep_fastest *out)
{
    double fastest = INFINITY;
    *out = (drove_sweep_fastest){.best = SIZE_MAX};
    for (size_t i = 0; i < n; i++) {
        if (row[i].group != group) continue;
        out->n_settings++;
        out->n_crashed += row[i].n_crashed;
        if (!is_allowed(&row[i])) continue;
        out->n_allowed++;
        if (!(row[i].median_s < fastest)) continue;
        fastest = row[i].median_s;
        out->best = i;
    }
    for (size_t i = 0; i < n && out->best != SIZE_MAX; i++) {
        if (row[i].group != group || !is_allowed(&row[i])) continue;
        if (row[i].median_s > NEAR * fastest) continue;
        out->n_near++;
        out->slowest_s = fmax(out->slowest_s, row[i].median_s);
    }
}
