/* bench/caches.h - a simulator of the caches of one processor with many cores, and of the obstinate
 * cache of De Sa et al., ISCA 2017, section 6.2 ("the paper").
 *
 * Each core has an L1 and an L2, which holds what L1 holds; all share an L3, which holds what they
 * hold and knows who does (a directory).  All replace the least recently used line of a set.  Lines
 * are coherent by MESI.  An access that L1 does not serve takes one of the core's fill buffers
 * until it is done, so accesses overlap; a core without a free one waits.  Buses and memory have no
 * limit, as in the paper's simulation.
 *
 *   hit in L1, in L2         l1_cycles, l2_cycles
 *   a line that L3 has       l3_cycles; and transfer_cycles if another core had it to itself (M, E)
 *   a line of memory         l3_cycles + memory_cycles
 *   a write to a shared line l3_cycles; and transfer_cycles if another core has a copy
 *
 * Obstinacy.  A write takes a line from all other cores.  A core that would so lose a line of the
 * model keeps it, with probability q: in state S, as it was.  L3 no longer lists it among those
 * that have the line, so nobody takes it again, and the core reads its old copy until it writes,
 * when L3 sends it the line as it is, or until its own caches replace it.
 *
 * The simulator holds no numbers: it counts the writes to each line of the model, and says how many
 * of them a core's copy lacks.  Who wants the numbers keeps copies (simulate_cores.c).
 *
 * Threads: pure; any number of simulators at once.
 */
#ifndef DROVE_BENCH_CACHES_H
#define DROVE_BENCH_CACHES_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { DROVE_CACHES_MOST_CORES = 64, DROVE_CACHES_LINE = 64 /* bytes */ };

typedef struct drove_cache_size {
    uint32_t n_lines, n_ways; /* n_ways divides n_lines */
} drove_cache_size;

typedef struct drove_caches_options {
    unsigned         n_cores; /* 1 to DROVE_CACHES_MOST_CORES */
    unsigned         n_fills; /* fill buffers of a core; >= 1 */
    drove_cache_size l1, l2;  /* of a core */
    drove_cache_size l3;      /* of all */
    uint32_t         l1_cycles, l2_cycles, l3_cycles, transfer_cycles, memory_cycles;
    uint64_t         n_model_lines; /* lines 0 to n_model_lines - 1 are the model's */
    double           obstinacy;     /* q: 0 to 1 */
    uint64_t         seed;
} drove_caches_options;

/* The processor of the paper: 18 cores, 32 KiB, 256 KiB, 45 MiB; 4, 12, 36 cycles.  Ours are what
 * the paper does not say: 8, 8 and 20 ways, 10 fill buffers (a Haswell's), 36 cycles for a transfer
 * between cores, 200 (80 ns at 2.5 GHz) for memory. */
extern const drove_caches_options drove__caches_of_the_paper;

typedef enum drove_access {
    DROVE_ACCESS_READ,
    DROVE_ACCESS_WRITE,
    DROVE_ACCESS_PREFETCH /* a read that nobody waits for */
} drove_access;

typedef struct drove_access_done {
    uint64_t begun; /* the cycle at which there was a fill buffer for it; >= now */
    uint64_t ready; /* the cycle at which the line is there */
    bool     came;  /* the line as it is now came into the core's cache */
} drove_access_done;

typedef struct drove_caches_counts {       /* of a core */
    uint64_t accesses, l1, l2, l3, memory; /* those that each level served */
    uint64_t transfers;   /* lines that came from, or were taken from, other cores */
    uint64_t taken, kept; /* lines that another core's write took from this one; would have taken */
    uint64_t old_reads;   /* of the model, of a copy that lacks a write */
} drove_caches_counts;

typedef struct drove_caches drove_caches;

/* Errors: DROVE_E_ARG, DROVE_E_NOMEM. */
drove_status drove__caches_create(const drove_caches_options *opt, drove_caches **out);
void         drove__caches_destroy(drove_caches *c); /* NULL: does nothing */

/* One core touches a line at cycle `now`.  Calls must come in the order of `now`, over all cores,
 * for the result to mean anything. */
drove_access_done drove__caches_access(drove_caches *c, unsigned who, uint64_t line,
                                       drove_access kind, uint64_t now);

/* Writes to a line of the model that the copy of core who lacks; 0 where it has no copy. */
uint64_t drove__caches_lacks(const drove_caches *c, unsigned who, uint64_t line);
/* 'M', 'E', 'S' or 'I'. */
char                drove__caches_state(const drove_caches *c, unsigned who, uint64_t line);
drove_caches_counts drove__caches_counts(const drove_caches *c, unsigned who);

#endif
