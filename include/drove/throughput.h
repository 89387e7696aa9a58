/* drove/throughput.h - constants of the throughput model, and throughput measured beside it.
 *
 * Source: De Sa et al., ISCA 2017, section 4.  The paper's constants are built in; those of another
 * machine are measured by drove_bench("calibrate", ...) and kept in a file (docs/formats.md).
 * Measuring runs the steps of the low-precision engine, as drove_train makes them, on random
 * examples.
 */
#ifndef DROVE_THROUGHPUT_H
#define DROVE_THROUGHPUT_H

#include <drove/dmgc.h>
#include <drove/status.h>

#include <stdint.h>

#pragma GCC visibility push(default) /* what a shared library exports */
#ifdef __cplusplus
extern "C" {
#endif

/* ---- constants ---- */

/* which: NULL, "" or "auto" = those in ~/.config/drove/throughput.json (under XDG_CONFIG_HOME) if
 * the file is there and of this machine, else the paper's; "paper"; or the path of a file, of
 * whatever machine.  For drove_dmgc_setting.  Errors: DROVE_E_FILE, DROVE_E_IO (no such file),
 * DROVE_E_DATA (what is wrong in it, and where), DROVE_E_NOMEM. */
drove_status drove_throughput_open(const char *which, drove_throughput **out);
void         drove_throughput_close(drove_throughput *constants); /* NULL accepted */

/* ---- measuring ---- */

typedef struct drove_measure_options { /* texts: borrowed */
    const char
        *strategy; /* that has low-precision parameters: "hogwild", "replicas:core"  [hogwild] */
    const char *rounding; /* as --rounding of a run                                  [shared] */
    const char *isa;      /* highest kernel tier; NULL: the best of this processor     [NULL] */
    uint64_t    batch;    /* examples of an update, >= 1                                  [1] */
    const char *prefetch; /* as --prefetch of a run                                      [on] */
    double      seconds;  /* of steps, > 0; on a busy machine up to three times that    [0.3] */
    uint64_t    n_bytes;  /* of the examples, about; more than the caches hold        [1 GiB] */
} drove_measure_options;

drove_measure_options drove_measure_options_default(void);
/* By the words of the command line: "strategy", "rounding", "isa", "batch", "prefetch",
 * "seconds", "bytes" (a number, with
 * KiB, MiB or GiB after it or not).  value is borrowed where it stays a text.  Errors: DROVE_E_ARG
 * (unknown name, not a number, out of range).  On failure *options is unchanged. */
drove_status drove_measure_options_set(drove_measure_options *options, const char *name,
                                       const char *value);

typedef struct drove_measurement {
    /* 10^9 dataset numbers per second (sparse: stored ones), all threads together: the best of the
     * windows of 4 ms in which every thread had its processor throughout */
    double gnps;
    double gnps_median;      /* of all windows: far below on a machine that is busy               */
    double gb_per_s;         /* of the data set, indices with it, that gnps read                  */
    double read_gb_per_s;    /* that the same threads reached by reading alone, in turn with it   */
    double steps_per_s;      /* updates                                                           */
    double bytes_per_number; /* of the data set, with the index of a stored number if sparse      */
    uint64_t n_bytes, n_examples; /* of the data set                                          */
    unsigned n_windows,
        n_undisturbed;          /* of the latter, where it is 0, gnps is a guess            */
    char isa[16];               /* kernel tier                                              */
    char hardware_prefetch[16]; /* of the threads' processors: "on", "off" or "unknown"     */
} drove_measurement;

/* The problem is sparse as in drove_dmgc_predict; a density that is not given is 3 %.
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
