/* drove/bench.h - micro-benchmarks of this machine, chosen by name.
 *
 * `drove list benches`, or drove_list("benches", ...), names them; docs/methods/benchmarks.md
 * describes what each prints.
 */
#ifndef DROVE_BENCH_H
#define DROVE_BENCH_H

#include <drove/status.h>

#include <stdint.h>
#include <stdio.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* What all benchmarks take.  [default] */
typedef struct drove_bench_options {
    uint64_t    n_threads; /* most threads, up to 4096; 0: one per processor                 [0]  */
    double      seconds;   /* per measurement, > 0                                         [0.5]  */
    uint64_t    n_bytes;   /* of data over all threads; 0: chosen by the benchmark           [0]  */
    const char *out;       /* calibrate: file for the constants; NULL: default path       [NULL]  */
} drove_bench_options;

/* The defaults. */
drove_bench_options drove_bench_options_default(void);
/* Sets a field by its command-line name: "threads" (a number or all), "seconds", "bytes" (a number
 * with an optional KiB, MiB or GiB), "out" (borrowed).  Errors: DROVE_E_ARG (unknown name, not a
 * number, out of range).  On failure *options is unchanged. */
drove_status drove_bench_options_set(drove_bench_options *options, const char *name,
                                     const char *value);

/* Runs a benchmark on threads of its own and writes the result to stream: a table for people, or
 * one JSON object.  options NULL: defaults.  Errors: DROVE_E_ARG (unknown name, with the nearest;
 * an option out of range), DROVE_E_NOMEM, DROVE_E_SYSTEM, DROVE_E_IO (stream). */
drove_status drove_bench(const char *name, const drove_bench_options *options, int as_json,
                         FILE *stream);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
