/* accum/collect.h - gradients that come part by part from several devices, and the threads that add
 * them.
 *
 * Source: Le Duc et al., Algorithms 6 and 7.  What is due is decided by accum/schedule.h, under one
 * lock that is held for a microsecond or less; additions are cut into chunks, which whoever comes
 * by takes: a device's thread that brings a part takes its share of what is waiting and goes on
 * with its backward, one that has nothing left to compute takes all it can get.
 *
 * Memory: gradients are read, and sums of pairs written, without copies between; the sum of all
 * stays as it is until the last device has brought a part of the next iteration, so that one vector
 * is enough; sums in the order of arrival begin with the first, and need two.
 *
 * Threads: arrive, finish and next of a device by its worker's thread; stop and help by any; the
 * rest while nothing is under way.  With a transport one more thread makes the exchanges.
 */
#ifndef DROVE_ACCUM_COLLECT_H
#define DROVE_ACCUM_COLLECT_H

#include "accum/accum.h"
#include "accum/schedule.h"
#include "cluster/transport.h"
#include "kernel/kernel.h"
#include "trace/spans.h"

typedef struct drove_collector_options {
    unsigned            n_devices, n_helpers;
    const drove_span   *part; /* [n_parts] ascending, without gaps; copied */
    size_t              n_parts;
    size_t              n; /* elements of all */
    drove_accum_order   order;
    const drovek_table *kernels;
    const drove_topo   *topo;        /* NULL: plain memory */
    const bool         *is_resident; /* [n_devices] sums are handed to them; NULL: to none */
    drove_spans        *spans; /* track of device d: first + d, of helper h: n_all + h; NULL */
    unsigned            n_all, first; /* devices of all processes; number of device 0 among them */
    /* Sums are those of all processes, by an all-reduce of each slice as worker `as`; every process
     * has such a collector.  NULL: n_devices is n_all.  Borrowed. */
    drove_transport *transport;
    unsigned         as;
} drove_collector_options;

typedef struct drove_collect_times { /* of one call of finish; ns */
    uint64_t wait_ns;                /* for the last device's backward, without adding */
    uint64_t accumulate_ns;          /* adding meanwhile */
    uint64_t exchange_ns;            /* behind the last device's backward */
} drove_collect_times;

typedef struct drove_collector drove_collector;

/* Errors: DROVE_E_ARG, DROVE_E_NOMEM, DROVE_E_SYSTEM (helpers). */
drove_status drove__collector_create(const drove_collector_options *opt, drove_collector **out);
void         drove__collector_destroy(drove_collector *c); /* NULL accepted */

/* Part `part` of the device's gradient [n] is complete; gradient and eta are the same for all parts
 * of an iteration.  adds: takes its share of additions.  Returns the ns spent adding. */
uint64_t drove__collect_arrive(drove_collector *c, unsigned device, unsigned part, float *gradient,
                               float eta, bool adds);
/* Parts of this iteration that the device has brought. */
unsigned drove__collect_n_arrived(drove_collector *c, unsigned device);
/* For a resident device: the next part of the mean; waits: until there is one.  false: none. */
bool drove__collect_next(drove_collector *c, unsigned device, bool waits, unsigned *part,
                         const float **mean);
/* Waits, adding, until the device has all sums: *mean [n] of all gradients, valid until its first
 * arrive of the next iteration; *eta, the mean of all.  false: stopped. */
bool drove__collect_finish(drove_collector *c, unsigned device, float **mean, float *eta,
                           drove_collect_times *times);
/* Why an exchange with other processes has failed, as the calling thread's error; else DROVE_OK. */
drove_status drove__collect_status(drove_collector *c);
/* Whoever waits is let go, and waits no more. */
void drove__collect_stop(drove_collector *c);
/* Goes on with this iteration; nothing is under way. */
void drove__collect_restart(drove_collector *c, uint64_t iteration);

unsigned drove__collect_find(const drove_collector *c, size_t offset); /* part that begins there */
const drove_span *drove__collect_part(const drove_collector *c, unsigned part); /* by any thread */
void drove__collect_note_copy(drove_collector *c, unsigned device, const drove_slice_copy *copy);
void drove__collect_facts(const drove_collector *c, drove_accum_facts *out);

#endif
