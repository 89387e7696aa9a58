/* drove/dmgc.h - DMGC signatures: the precision of each class of numbers in parallel SGD, and the
 * throughput that follows from it.
 *
 * Source: De Sa, Feldman, Re, Olukotun, "Understanding and Optimizing Asynchronous Low-Precision
 * Stochastic Gradient Descent", ISCA 2017: section 3 (signatures, Table 1) and section 4 (Table 2,
 * equations 2 and 3).  How we read what the paper leaves open: docs/methods/readings.md.
 *
 * A signature is written D8i8M16G32fC32fs, as plain text:
 *
 *   D8    dataset numbers have 8 bits                 omitted: 32-bit floats
 *   i8    indices of a sparse data set have 8 bits    omitted: the problem is dense
 *   [i8]  as i8, if the problem is sparse; it may be dense
 *   M16   model numbers have 16 bits                  omitted: 32-bit floats
 *   G32f  gradient numbers (intermediate values)      omitted: as exact as full precision
 *   C32f  numbers that are sent between workers       omitted: left to cache coherence
 *   f     after a number: floating point, not fixed point; indices are always integers
 *   s     at the end of the C term: workers synchronise; without it they are asynchronous
 *
 * Terms come in this order; at least one is required.  Numbers are 1 to 64; floats have 3 bits or
 * more.  All functions are thread-safe; the caller owns all memory that it passes.
 */
#ifndef DROVE_DMGC_H
#define DROVE_DMGC_H

#include <drove/status.h>

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* Sizes of texts. */
enum {
    DROVE_DMGC_TEXT_SIZE = 32, /* bytes of the longest signature, with the NUL              */
    DROVE_DMGC_LINE_SIZE = 128 /* bytes of the longest line of drove_dmgc_explain, with NUL */
};

/* Classes of numbers, in the order in which the terms are written. */
typedef enum drove_dmgc_class {
    DROVE_DMGC_DATASET,       /* D */
    DROVE_DMGC_INDEX,         /* i */
    DROVE_DMGC_MODEL,         /* M */
    DROVE_DMGC_GRADIENT,      /* G */
    DROVE_DMGC_COMMUNICATION, /* C */
    DROVE_DMGC_CLASSES        /* number of classes */
} drove_dmgc_class;

/* The precision of one class of numbers. */
typedef struct drove_dmgc_term {
    int      is_present; /* the term is written; if not, the other fields are 0       */
    unsigned bits;       /* 1 to 64                                                   */
    int      is_float;   /* floating point, else fixed point; always 0 for the index  */
} drove_dmgc_term;

/* A signature. */
typedef struct drove_dmgc {
    drove_dmgc_term term[DROVE_DMGC_CLASSES]; /* [class] */
    int is_possibly_sparse; /* the index is written [i8]; 0 if it is not written              */
    int is_synchronous;     /* the s of C1s; 0 if C is not written                            */
} drove_dmgc;

/* Reads a signature.  Errors: DROVE_E_ARG (syntax error: the text, the position of the
 * first bad character, what was expected there and what was found). */
drove_status drove_dmgc_parse(const char *text, drove_dmgc *out);

/* Writes the text that drove_dmgc_parse reads back as an equal struct; each signature has exactly
 * one.  Errors: DROVE_E_ARG (a field out of range, no term at all). */
drove_status drove_dmgc_print(const drove_dmgc *signature, char into[DROVE_DMGC_TEXT_SIZE]);

/* Explains a term, or its absence, in one line without a newline.
 * Errors: DROVE_E_ARG (not a class; a struct that drove_dmgc_print refuses). */
drove_status drove_dmgc_explain(const drove_dmgc *signature, drove_dmgc_class which,
                                char into[DROVE_DMGC_LINE_SIZE]);

/* The precision of a class of numbers, also if its term is not written (.is_present tells): 32-bit
 * floats for D, M and G by default.  .bits is 0 if there are no such numbers (i of a dense problem,
 * C if nothing is sent). */
drove_dmgc_term drove_dmgc_meaning(const drove_dmgc *signature, drove_dmgc_class which);

/* ---- classification of signatures that drove_dmgc_print accepts ---- */

/* One of "Hogwild!: asynchronous through the caches, full precision", "Buckwild!: asynchronous
 * through the caches, low precision", and for those with a C term "asynchronous with explicit
 * messages, ..." or "synchronous, ...".  Full precision: every number is a float of 32 bits or
 * more.  Static. */
const char *drove_dmgc_family(const drove_dmgc *signature);

/* A system of the literature. */
typedef struct drove_dmgc_system {
    const char *signature; /* as drove_dmgc_print writes it             */
    const char *name;      /* "Gupta et al. [14]"                       */
    const char *source;    /* place in the paper: "Table 1"           */
} drove_dmgc_system;

/* The systems whose signature the paper gives; *n_out rows. Static. */
const drove_dmgc_system *drove_dmgc_systems(size_t *n_out);

/* Returns 1 if every class of numbers has the same meaning in both (an omitted M is M32f), and
 * workers synchronise in both or in neither.  [i8] is the same as i8 and as no index. */
int drove_dmgc_is_system(const drove_dmgc *signature, const drove_dmgc_system *system);

/* ---- throughput ---- */

typedef struct drove_throughput drove_throughput; /* constants of a machine: drove/throughput.h */

/* What a prediction is for.  [default] */
typedef struct drove_dmgc_setting {
    uint64_t n_features; /* model size n, >= 1                                    [65536] */
    uint64_t n_threads;  /* t, 1 to 4096                                              [1] */
    double   density;    /* stored / all numbers, 0 < density <= 1; 0: not given      [0] */
    const drove_throughput *constants; /* borrowed; NULL: the paper's              [NULL] */
} drove_dmgc_setting;

/* The defaults. */
drove_dmgc_setting drove_dmgc_setting_default(void);
/* Sets a field by its command-line name: "features", "threads", or "sparse" with "3%" or "0.03".
 * Errors: DROVE_E_ARG (unknown name, not a number, out of range).  On failure *setting is
 * unchanged. */
drove_status drove_dmgc_setting_set(drove_dmgc_setting *setting, const char *name,
                                    const char *value);

/* What drove_dmgc_predict finds. */
typedef struct drove_dmgc_prediction {
    double gnps;               /* 10^9 dataset numbers per second, all threads together           */
    double base_gnps;          /* T_1: with one thread; measured constants: at this model size    */
    double parallel_fraction;  /* p, at most 1; measured constants: below 0 where threads hinder
                                 each other                                                      */
    double most_fraction;      /* upper limit of p                                                */
    double bytes_per_number;   /* of the data set, with the index of a stored number if sparse    */
    int    is_sparse;          /* the problem was taken to be sparse */
    int    is_bandwidth_bound; /* p is at its limit; else communication-bound                    */
    const char *source;        /* origin of the constants; lives as long as they do, or static   */
} drove_dmgc_prediction;

/* T_t = T_1 / ((1 - p) + p / t) with p = min(most, a ln(n / n0)).  The paper's constants: most
 * 0.98, a 0.15, n0 256, p never below 0, T_1 from its Table 2, measured on its Xeon (sparse: at 3 %
 * density; the prediction ignores other densities).  Constants measured on a machine also cover the
 * time per step and models larger than the caches: docs/methods/readings.md.  The problem is sparse
 * if the signature has an index; with [i8], if a density is given.  Errors: DROVE_E_ARG (a struct
 * that drove_dmgc_print refuses, a setting out of range, a density for a signature without an
 * index), DROVE_E_UNSUPPORTED (no such row in Table 2, with the rows that exist, or in these
 * constants). */
drove_status drove_dmgc_predict(const drove_dmgc *signature, const drove_dmgc_setting *setting,
                                drove_dmgc_prediction *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
