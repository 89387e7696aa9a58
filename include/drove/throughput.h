/* drove/throughput.h - constants of the throughput model, and throughput measured beside it.
 *
 * Source: De Sa et al., ISCA 2017, section 4.  The paper's constants are built in;
 * drove_bench("calibrate", ...) measures those of another machine and keeps them in a file
 * (docs/methods/benchmarks.md).  Measuring runs the steps of the low-precision engine, as
 * drove_train does, on random examples.
 */
#ifndef DROVE_THROUGHPUT_H
#define DROVE_THROUGHPUT_H

#include <drove/dmgc.h>
#include <drove/status.h>

#include <stdint.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* ---- constants ---- */

/* Loads the constants that `which` names: NULL, "" or "auto": the constants in
 * ~/.config/drove/throughput.json (under XDG_CONFIG_HOME) if the file exists and was measured on
 * this machine, else the paper's; "paper": the paper's; else the path of a file, from any machine.
 * For drove_dmgc_setting.  Errors: DROVE_E_FILE (no such file), DROVE_E_IO, DROVE_E_DATA (what is
 * wrong in it, and where), DROVE_E_NOMEM. */
drove_status drove_throughput_open(const char *which, drove_throughput **out);
void         drove_throughput_close(drove_throughput *constants); /* NULL accepted */

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

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
