/* bench/linear.h - what the benchmarks of low-precision steps share: signatures, dense and sparse,
 * measured one by one on examples that those with the same D and i share.
 */
#ifndef DROVE_BENCH_LINEAR_H
#define DROVE_BENCH_LINEAR_H

#include "bench/measure.h"
#include "engine/linear/precision.h"
#include "engine/linear/throughput.h"
#include "bench/bench.h"

typedef struct drove_linear_bench {
    const drove_bench_context *context;
    double                     density;
    /* the examples in hand, of this shape */
    drove_measure_data *data; /* NULL: none yet */
    drove_measure_shape shape;
} drove_linear_bench;

void drove__linear_bench_init(drove_linear_bench *b, const drove_bench_context *context);
void drove__linear_bench_fini(drove_linear_bench *b);

typedef struct drove_linear_case {
    const char *signature;
    const char *strategy; /* spec; NULL: "hogwild" */
    bool        is_sparse;
    size_t      n_features;
    uint64_t    n_bytes;
    unsigned    n_threads;
    double      seconds;
} drove_linear_case;

/* Rounding shared, hints, batch 1.  Errors: those of drove__measure. */
drove_status drove__linear_bench_run(drove_linear_bench *b, const drove_linear_case *c,
                                     drove_measured *out);

#endif
