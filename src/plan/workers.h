/* plan/workers.h - the text of --workers as a list: cores, devices, and what is said of each. */
#ifndef DROVE_PLAN_WORKERS_H
#define DROVE_PLAN_WORKERS_H

#include "base/spec.h"
#include "base/topo.h"

#include <drove/options.h>

#include <stdbool.h>

enum { DROVE_MOST_THREADS = 4096, DROVE_MOST_PROCS = 1024 };
enum { DROVE_MOST_ENTRIES = 256, DROVE_WORKER_NAME_SIZE = 64 };
enum { DROVE_WORKERS_SIZE = DROVE_TEXT_SIZE + 12 };

typedef struct drove_workers_entry {
    char       name[DROVE_WORKER_NAME_SIZE]; /* as typed, without its keys: "cpu:0-1", "opencl:0" */
    drove_spec spec;                         /* of a device, to open it by */
    bool       is_device;
    bool       is_threads;   /* threads:N: workers of one core each */
    bool       one_gradient; /* cores: one gradient by all threads; else each steps for itself,
                                where the source of batches lets them share assignments */
    unsigned   n_threads;    /* 1 for a device */
    int       *pu;           /* [n_threads] processors; -1: wherever the system likes */
    /* examples of a batch, of cores for each thread; 0: not said */
    uint64_t batch, least, most;
    double   timeout_s; /* 0: none */
} drove_workers_entry;

typedef struct drove_workers_list {
    unsigned             n_entries;
    drove_workers_entry *entry; /* [n_entries] */
} drove_workers_list;

/* text: "cpu:0-1+opencl:0?max=4096+fake:?speed=250+threads:2".  Processors are numbered as the
 * operating system does; topo says which there are; NULL: not checked, and "all" are n_pus.
 * may_repeat: a device may stand several times.
 * Errors: DROVE_E_ARG (unknown kind or key, a processor that does not exist or stands twice, a
 * device that stands twice, min above max), DROVE_E_UNSUPPORTED, DROVE_E_NOMEM. */
drove_status drove__workers_parse(const char *text, const drove_topo *topo, unsigned n_pus,
                                  bool may_repeat, drove_workers_list *out);
void         drove__workers_fini(drove_workers_list *plan); /* a zeroed one is accepted */

/* text with %r replaced by the number of this rank on its host; any text without %r fits
 * DROVE_WORKERS_SIZE.  Errors: DROVE_E_ARG: it does not fit. */
drove_status drove__workers_expand(const char *text, unsigned local_rank, char *into, size_t size);

/* Does the text say procs, procs:N or procs:all? */
bool drove__workers_are_procs(const char *text);
/* ... and how many.  Errors: DROVE_E_ARG. */
drove_status drove__procs_parse(const char *workers, unsigned n_all, unsigned *out);
/* "all", which is n_all, or a number of threads.  Errors: DROVE_E_ARG, naming --threads. */
drove_status drove__threads_parse(const char *text, unsigned n_all, unsigned *out);

#endif
