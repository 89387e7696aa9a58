/* base/holders.h - which cores have which cache lines, on a virtual clock.
 *
 * A core that reads a line needs a copy of it; one that writes a line needs the only copy.  What it
 * lacks it takes from another core; what no core has had yet costs nothing.  Caches are taken to be
 * large enough for all that their cores work on.
 *
 * Threads: no two at once; the actors of base/virtual.h take turns.
 */
#ifndef DROVE_BASE_HOLDERS_H
#define DROVE_BASE_HOLDERS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct drove_holders drove_holders;

typedef struct drove_taken { /* bytes, in whole cache lines */
    double near, far;        /* from cores of the same socket; of other sockets */
} drove_taken;

/* For cores 0 .. n_cores - 1 with their sockets [n_cores], and n_vectors vectors of together at
 * most size_bytes; lines beyond that cost nothing.  Errors: DROVE_E_NOMEM, also before anything is
 * allocated, where the table is larger than the memory that is free. */
drove_status drove__holders_create(unsigned n_cores, const unsigned *socket, size_t n_vectors,
                                   size_t size_bytes, drove_holders **out);
void         drove__holders_destroy(drove_holders *h); /* NULL accepted */
/* What `core` takes to read, or to write, [at, at + size_bytes), which it has from now on. */
drove_taken drove__holders_take(drove_holders *h, unsigned core, const void *at, size_t size_bytes,
                                bool writes);

#endif
