/* engine/linear/throughput.h - the throughput model: how many dataset numbers per second a
 * signature reaches with so many threads and so large a model.
 *
 * Source: De Sa et al., ISCA 2017, section 4.  Symbols: T_1 and T_t throughput with 1 and t threads
 * in GNPS (10^9 dataset numbers per second), p parallelizable fraction, n model size.
 */
#ifndef DROVE_ENGINE_LINEAR_THROUGHPUT_H
#define DROVE_ENGINE_LINEAR_THROUGHPUT_H

#include "engine/linear/dmgc.h"

#include <drove/throughput.h>

enum { DROVE_THROUGHPUT_ROWS = 9 };
/* Table 2, in its order, with [i], as the paper prints them. */
extern const char *const drove__throughput_signature[DROVE_THROUGHPUT_ROWS];

/* p = min(most, slope ln(n / zero_features)), but not below least. */
typedef struct drove_throughput_parallel {
    double slope, zero_features, most, least;
} drove_throughput_parallel;

/* Of one signature.  The paper has T_1 for each and one p for all; the rest is our extension: time
 * that a step takes besides its numbers, and what a number takes longer of whose model the caches
 * near the core hold nothing.  Time per number = 1 / gnps + step_ns / numbers of an example +
 * spill_ns spill. */
typedef struct drove_throughput_row {
    double gnps; /* 0: not known */
    double step_ns, spill_ns;
    double cache_bytes; /* that a core has alone and the examples leave to the model; 0: no spill */
    drove_throughput_parallel parallel;
} drove_throughput_row;

struct drove_throughput {
    char     source[256], machine[128], date[16], version[32];
    unsigned n_cores; /* processors that could be used */
    /* [0]: dense, [1]: sparse; in the table's order */
    drove_throughput_row row[2][DROVE_THROUGHPUT_ROWS];
};

extern const drove_throughput drove__throughput_paper;

/* The part of a model of n numbers of so many bytes that a cache of cache_bytes does not hold, 0 to
 * 1; 0 without a cache. */
double drove__throughput_spill(double cache_bytes, double n, double bytes);

/* T_1 of the row for a model of n features and examples of so many numbers. */
double drove__throughput_base_gnps(const drove_throughput *constants, bool is_sparse, unsigned row,
                                   double n_features, double numbers);

/* Equation 2, Amdahl's law.  t >= 1, p <= 1. */
double drove__throughput_amdahl(double t1_gnps, double p, uint64_t t);

/* Equation 3 with the natural logarithm.  The paper's, for a Xeon E7-8890 v3 with 18 cores: 0 up to
 * n = 256, 0.98 from about n = 176 thousand on.  n >= 1. */
double drove__throughput_parallel_fraction(const drove_throughput_parallel *p, uint64_t n);

/* The row that a signature belongs to, by the meaning of D, M and, if sparse, i.  Errors:
 * DROVE_E_UNSUPPORTED (no such row: which there are). */
drove_status drove__throughput_row_of(const drove_dmgc *signature, bool is_sparse, unsigned *out);

/* Whether the problem is sparse under this setting.  Errors: DROVE_E_ARG (a density without an
 * index, a setting out of range, a struct that drove_dmgc_print refuses). */
drove_status drove__throughput_is_sparse(const drove_dmgc         *signature,
                                         const drove_dmgc_setting *setting, bool *out);

/* ---- constants.c ---- */

/* "~/.config/drove/throughput.json", or under XDG_CONFIG_HOME; free().  Errors: DROVE_E_ARG (no
 * home folder), DROVE_E_NOMEM. */
drove_status drove__throughput_path(char **out);

/* The file, whole or not at all; its folder is made if it is not there.  Errors: DROVE_E_IO,
 * DROVE_E_FILE. */
drove_status drove__throughput_save(const drove_throughput *constants, const char *path);

#endif
