/* bench/simulate_cores.h - HOGWILD! with low-precision numbers on the cores of a simulated
 * processor: its throughput, and what it learns from lines that are as old as the caches hold them.
 *
 * Source: De Sa et al., ISCA 2017 ("the paper"), Figure 1 (the step: a dot, then an AXPY), section
 * 6.2, Figures 6c and 6f.
 *
 * The core whose clock is behind all others makes the next access.  For each line of an example's
 * numbers and of the model a core reads, and in the AXPY writes, that line, as the kernels do
 * (kernel/linear.h), and spends the cycles of its arithmetic.  A core in order waits for each
 * access; one out of order goes on while it has fill buffers, and waits for all reads before the
 * derivative.  The example's lines are prefetched by software, as the paper does.  Sparse examples
 * are read in order, the model at random places.
 *
 * Learning: each core has a copy of each model line.  A line that comes into its cache is copied
 * from the model as it then is; dots and AXPYs are those of the kernels, on the copy; a write
 * stores the whole line of the copy into the model.  So where an AXPY reads an old copy, its write
 * loses what others have added meanwhile.  If it owns the line before it reads (a prefetch for
 * writing), the line comes first, as it is now, and only the dot has read an old one.  The problem
 * is logistic regression on data drawn from such a model.
 *
 * Threads: pure; any number at once.
 */
#ifndef DROVE_BENCH_SIMULATE_CORES_H
#define DROVE_BENCH_SIMULATE_CORES_H

#include "bench/caches.h"
#include "kernel/kernel.h"

#include <stddef.h>

typedef struct drove_sim_step {
    drove_number data, model;
    size_t       n_features; /* >= 1 */
    double       density;    /* 0: dense; else part of the features that an example has, <= 1 */
    double       ghz;        /* of the clock, > 0 */
    double       gnps;       /* of one core with everything in its L1, > 0: half dot, half AXPY */
    unsigned     ahead;      /* lines of the example prefetched before they are read; 0: none */
    bool         in_order;   /* the core waits for each access */
    bool         owns_first; /* the AXPY owns a line of the model before it reads it */
} drove_sim_step;

typedef struct drove_sim_rate {
    double              gnps; /* of all cores: 10^9 dataset numbers a second */
    drove_caches_counts sum;  /* of all cores */
} drove_sim_rate;

/* Each core makes n_examples steps, of which the first quarter is not timed.  Errors: DROVE_E_ARG,
 * DROVE_E_NOMEM. */
drove_status drove__sim_cores_rate(const drove_caches_options *caches, const drove_sim_step *step,
                                   size_t n_examples, drove_sim_rate *out);

typedef struct drove_sim_lesson {
    const drovek_table *kernels;
    size_t              n_examples; /* of the data set; >= 1 */
    unsigned            n_epochs;
    double              eta; /* step size, times n_features: 2 is a usual one */
    uint64_t            seed;
    /* [n_examples][n_features] in [-1, 1], and [n_examples] of -1 and 1; NULL: drawn by the seed */
    const float  *x;
    const int8_t *y;
} drove_sim_lesson;

/* Dense.  loss[n_epochs + 1]: mean training loss before the first epoch and after each.  Errors: as
 * above. */
drove_status drove__sim_cores_learn(const drove_caches_options *caches, const drove_sim_step *step,
                                    const drove_sim_lesson *opt, double *loss, drove_sim_rate *out);

/* Lines of a model: n_model_lines of the caches. */
uint64_t drove__sim_cores_lines(const drove_sim_step *step);

#endif
