/* bench/program.h - benchmarks and simulators of the program drove, which the library does not
 * have: `drove bench` and `drove dmgc --measure`.
 *
 * `drove list benches` names them; docs/methods/benchmarks.md describes what each prints.
 */
#ifndef DROVE_BENCH_PROGRAM_H
#define DROVE_BENCH_PROGRAM_H

#include <drove/dmgc.h>
#include <drove/status.h>

#include <stdint.h>
#include <stdio.h>

/* Has drove_list name the benchmarks.  Call it before any other thread runs. */
void drove_bench_list(void);

/* What all benchmarks take.  [default] */
typedef struct drove_bench_options {
    uint64_t    n_threads; /* most threads, up to 4096; 0: one per processor                 [0]  */
    double      seconds;   /* per measurement, > 0                                         [0.5]  */
    uint64_t    n_bytes;   /* of data over all threads; 0: chosen by the benchmark           [0]  */
    const char *out;       /* calibrate: file for the constants; NULL: default path       [NULL]  */
    const char *isa;   /* highest kernel tier; NULL, "auto": the best of this processor [NULL] */
    const char *model; /* limits: a fully connected network; NULL: the usual one      [NULL]  */
    const char *batch; /* limits: "32,64"; NULL: the default                          [NULL]  */
    /* obstinate: "D8M8,D8i8M8", "0,0.5", a dense data set of two classes; NULL: the default */
    const char *signature, *q, *data;
    uint64_t    n_cores; /* obstinate: simulated; 0: 18                                   [0] */
    int         quick;   /* obstinate: small models, one seed                             [0] */
    /* Called on the caller's thread after each measurement with the part that is done, 0 to 1, and
     * what comes next, NULL: the result; NULL: nobody wants to know. */
    void (*progress)(void *context, double fraction, const char *what);
    void *context;
} drove_bench_options;

/* The defaults. */
drove_bench_options drove_bench_options_default(void);
/* Sets a field by its command-line name: "threads" (a number or all), "seconds", "bytes" (a number
 * with an optional KiB, MiB or GiB), "cores" (a number), and, borrowed and checked by drove_bench,
 * "out", "isa", "model", "batch", "signature", "q", "data".  Errors: DROVE_E_ARG (unknown name, not
 * a number, out of range).  On failure *options is unchanged. */
drove_status drove_bench_options_set(drove_bench_options *options, const char *name,
                                     const char *value);

/* Runs a benchmark on threads of its own and writes the result to stream: a table for people, or
 * one JSON object.  options NULL: defaults.  Errors: DROVE_E_ARG (unknown name, with the nearest;
 * an option out of range), DROVE_E_NOMEM, DROVE_E_SYSTEM, DROVE_E_IO (stream). */
drove_status drove_bench(const char *name, const drove_bench_options *options, int as_json,
                         FILE *stream);

/* ---- measuring ---- */

/* How to measure; texts are borrowed.  [default] */
typedef struct drove_measure_options {
    const char
        *strategy; /* with low-precision parameters: "hogwild", "replicas:core"      [hogwild] */
    const char *rounding; /* as --rounding of a run                                  [shared] */
    const char *isa;      /* highest kernel tier; NULL: the best of this processor     [NULL] */
    uint64_t    batch;    /* examples per update, >= 1                                    [1] */
    const char *prefetch; /* as --prefetch of a run                                      [on] */
    double      seconds;  /* of steps, > 0; up to three times that on a busy machine    [0.3] */
    uint64_t    n_bytes;  /* of the examples, roughly; more than the caches hold      [1 GiB] */
} drove_measure_options;

/* The defaults. */
drove_measure_options drove_measure_options_default(void);
/* Sets a field by its command-line name: "strategy", "rounding", "isa", "batch", "prefetch",
 * "seconds", "bytes" (a number with an optional KiB, MiB or GiB).  value is borrowed if it stays a
 * text.  Errors: DROVE_E_ARG (unknown name, not a number, out of range).  On failure *options is
 * unchanged. */
drove_status drove_measure_options_set(drove_measure_options *options, const char *name,
                                       const char *value);

/* What drove_dmgc_measure finds. */
typedef struct drove_measurement {
    /* 10^9 dataset numbers per second (sparse: stored ones), all threads together: the best 4 ms
     * window during which every thread kept its processor */
    double gnps;
    double gnps_median;      /* of all windows; far lower on a busy machine                       */
    double gb_per_s;         /* of the data set, with indices, read at the rate gnps              */
    double read_gb_per_s;    /* the same threads only reading, measured in alternation            */
    double steps_per_s;      /* updates                                                           */
    double bytes_per_number; /* of the data set, with the index of a stored number if sparse      */
    uint64_t n_bytes;        /* of the data set                                                   */
    uint64_t n_examples;     /* of the data set                                                   */
    unsigned n_windows;      /* in which throughput was measured                                  */
    unsigned n_undisturbed;  /* windows; 0: gnps is a guess */
    char     isa[16];        /* kernel tier                                              */
    char     hardware_prefetch[16]; /* of the threads' processors: "on", "off" or "unknown"     */
} drove_measurement;

/* The problem is sparse as in drove_dmgc_predict; without a density, 3 % is used.
 * setting->constants is not used.  options NULL: defaults.  Errors: DROVE_E_ARG,
 * DROVE_E_UNSUPPORTED (a signature without kernels; prefetchers that cannot be switched off),
 * DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove_dmgc_measure(const drove_dmgc *signature, const drove_dmgc_setting *setting,
                                const drove_measure_options *options, drove_measurement *out);

#endif
