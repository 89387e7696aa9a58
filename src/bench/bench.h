/* bench/bench.h - the table of a micro-benchmark.
 *
 * A benchmark is a file NAME.c with one table, a line here and a line of drove__benches in
 * bench.c; `drove bench`, `drove list benches`, the completion and the tests then have it.
 */
#ifndef DROVE_BENCH_BENCH_H
#define DROVE_BENCH_BENCH_H

#include "base/json.h"
#include "base/topo.h"
#include "bench/program.h"
#include "kernel/kernel.h"

typedef struct drove_bench_context { /* the machine, and the options made definite */
    const drove_topo          *topo;
    drove_topo_facts           facts;
    drovek_table               kernels; /* the best of this processor, up to --isa      */
    unsigned                   n_threads;
    double                     seconds;       /* of each measurement                          */
    uint64_t                   n_bytes;       /* 0: not given                                 */
    const char                *out;           /* file to write; NULL: not given               */
    const char                *model, *batch; /* of limits; NULL: not given             */
    const drove_bench_options *given;         /* as given, for what one benchmark alone takes */
} drove_bench_context;

typedef struct drove_bench_ops {
    const char *name, *help, *source;
    /* Measures, and adds its keys to *result, which has those of every benchmark: "bench",
     * "drove", "processor", "n_processors", "isa". */
    drove_status (*run)(const drove_bench_context *context, json_t **result);
    /* The result for people, beneath a line that says name, processor and kernels. */
    void (*print)(const json_t *result, FILE *stream);
} drove_bench_ops;

extern const drove_bench_ops drove__bench_memory, drove__bench_linear, drove__bench_calibrate,
    drove__bench_accumulate, drove__bench_elastic, drove__bench_obstinate, drove__bench_limits;
extern const drove_bench_ops *const drove__benches[]; /* NULL-terminated; bench.c */

/* memory.c: its rows `read` of one thread, added to *rows; huge_page_bytes to *result. */
drove_status drove__bench_read(const drove_bench_context *context, json_t **result, json_t **rows);

/* Says that so much of it is done, and what comes next; NULL: the result. */
void drove__bench_progress(const drove_bench_context *context, double fraction, const char *what);

/* Of a row of a result: 0 and NULL where it has none. */
double      drove__bench_number(const json_t *row, const char *key);
const char *drove__bench_text(const json_t *row, const char *key);

#endif
