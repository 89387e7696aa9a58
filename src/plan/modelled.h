/* plan/modelled.h - a machine file: a machine that runs are timed on without being there.
 *
 * A YAML mapping (docs/methods/virtual-time.md, "Machine files").  Times and rates are those of one
 * core at work alone; `measured` in their place means: as measured of this machine when the run
 * begins.  All costs are divided by `speed`.
 */
#ifndef DROVE_PLAN_MODELLED_H
#define DROVE_PLAN_MODELLED_H

#include "base/status.h"

#include <drove/options.h>

enum { DROVE_MODELLED_MOST_DEVICES = 16, DROVE_MODELLED_NAME_SIZE = 64 };

typedef struct drove_modelled_device { /* --workers fake:NAME */
    char   name[DROVE_MODELLED_NAME_SIZE];
    double examples_per_s; /* of large batches */
    double delay_us;       /* of each batch, beside its examples */
    double transfer_gb_s;  /* of parameters and gradient, each way; 0: in no time */
    double memory_gib;     /* 0: without end */
} drove_modelled_device;

typedef struct drove_modelled {
    char     name[DROVE_MODELLED_NAME_SIZE];
    char     source[DROVE_TEXT_SIZE];  /* where the facts are from; "": not said */
    char     assumed[DROVE_TEXT_SIZE]; /* what is not from there; "": not said */
    unsigned sockets, cores, smt;      /* cores of a socket, threads of a core */
    double   smt_yield;                /* work of a core whose threads are all busy, of one: 1 */
    double   speed;                    /* of all costs, > 0 */
    double   memory_gb_s;              /* of a socket's memory, shared; 0: no limit */
    double
        race_gb_s; /* what all cores of a socket take of vectors without protection; 0: no limit */
    /* NaN: to be measured. */
    double   jitter;               /* 0 .. < 1 */
    double   batch_us, example_us; /* a gradient: of a batch, of each of its examples */
    double   copy_gb_s, update_gb_s;
    double   line_ns, hand_over_us;
    double   take_gb_s;              /* what a core takes from another's cache; 0: in no time */
    double   far_line_ns, window_ns; /* NaN: twice line_ns; line_ns */
    unsigned n_devices;
    drove_modelled_device device[DROVE_MODELLED_MOST_DEVICES];
} drove_modelled;

/* One socket of n_cores cores, all costs measured: --machine here. */
void drove__modelled_here(unsigned n_sockets, unsigned n_cores, unsigned n_threads,
                          drove_modelled *out);
/* Errors: DROVE_E_IO, DROVE_E_DATA ("path:line:column: expected ..., found ..."), DROVE_E_NOMEM. */
drove_status drove__modelled_read(const char *path, drove_modelled *out);
drove_status drove__modelled_parse(const char *text, size_t size_bytes, const char *path,
                                   drove_modelled *out);
/* NULL: none of this name. */
const drove_modelled_device *drove__modelled_device(const drove_modelled *m, const char *name);

#endif
