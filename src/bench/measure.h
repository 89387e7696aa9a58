/* bench/measure.h - how many dataset numbers per second the engine for low precision really
 * reaches: its own steps, by threads that share a model by a real strategy, on random examples.
 *
 * Source: De Sa et al., ISCA 2017, section 4: dataset throughput in GNPS, dense and with a density
 * of 3 %.  Beside each figure stands how fast the same threads read the same memory, in turn with
 * the steps: no step can be faster.
 */
#ifndef DROVE_BENCH_MEASURE_H
#define DROVE_BENCH_MEASURE_H

#include "base/topo.h"
#include "strategy/strategy.h"
#include "bench/measure_data.h"

typedef struct drove_measure_job { /* all borrowed during the call */
    const drove_topo     *topo;
    drove_bind            bind;
    const drovek_table   *kernels;
    const drove_sync_ops *sync; /* that offers `live` */
    const drove_spec     *spec;
    unsigned              n_threads;
    const char           *precision, *rounding; /* precision: D and i are those of the data */
    size_t                batch;                /* examples of an update */
    bool                  hints;                /* software prefetching */
    double                seconds; /* of steps; up to three times that on a busy machine */
} drove_measure_job;

typedef struct drove_measured {
    double   gnps;          /* 10^9 dataset (stored) numbers per second of all threads: the best, of
                               several threads the median, of the windows in which every thread had
                               its processor throughout */
    double   gnps_median;   /* of all windows */
    double   read_gb_per_s; /* best window of reading */
    double   bytes_per_number, numbers_per_example; /* bytes: with the index */
    uint64_t n_rows, n_bytes;                       /* of the data */
    unsigned n_windows, n_undisturbed;
} drove_measured;

/* Errors: DROVE_E_ARG (strategy, rounding or precision that cannot be), DROVE_E_UNSUPPORTED,
 * DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove__measure(const drove_measure_data *data, const drove_measure_job *job,
                            drove_measured *out);

#endif
