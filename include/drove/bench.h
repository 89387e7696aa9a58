/* drove/bench.h - micro-benchmarks: what this machine gives, measured by name.
 *
 * `drove list benches`, or drove_list("benches", ...), names them; docs/formats.md describes what
 * each prints.
 */
#ifndef DROVE_BENCH_H
#define DROVE_BENCH_H

#include <drove/status.h>

#include <stdint.h>
#include <stdio.h>

#pragma GCC visibility push(default) /* what a shared library exports */
#ifdef __cplusplus
extern "C" {
#endif

typedef struct drove_bench_options {
    uint64_t    n_threads; /* most threads, up to 4096; 0: one for each processor            [0]  */
    double      seconds;   /* of each measurement, > 0                                     [0.5]  */
    uint64_t    n_bytes;   /* of data, all threads together; 0: as the benchmark finds right [0]  */
    const char *out;       /* calibrate: file of the constants; NULL: its usual place     [NULL]  */
} drove_bench_options;

drove_bench_options drove_bench_options_default(void);
/* By the words of the command line: "threads" (a number or all), "seconds", "bytes" (a number, with
 * KiB, MiB or GiB after it or not), "out" (borrowed).  Errors: DROVE_E_ARG (unknown name, not a
 * number, out of range).  On failure *options is unchanged. */
drove_status drove_bench_options_set(drove_bench_options *options, const char *name,
                                     const char *value);

/* Runs a benchmark, on threads of its own, and writes its result to stream: a table for people, or
 * one JSON object.  options NULL: defaults.  Errors: DROVE_E_ARG (unknown name, with the nearest;
 * an option out of range), DROVE_E_NOMEM, DROVE_E_SYSTEM, DROVE_E_IO (stream). */
drove_status drove_bench(const char *name, const drove_bench_options *options, int as_json,
                         FILE *stream);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
