/* accum/site.h - which workers add gradients in memory that they share, and how they meet the
 * others.
 *
 *   threads of one process     one site; no transport
 *   ranks                      a site is what one rank holds; messages between them
 *   processes of one machine   each is a site of its own (is_apart); shared memory between them
 */
#ifndef DROVE_ACCUM_SITE_H
#define DROVE_ACCUM_SITE_H

#include "cluster/transport.h"
#include "strategy/strategy.h"

typedef struct drove_site {
    drove_transport *transport; /* between sites; NULL: there is one */
    bool             owns_transport, is_apart;
    unsigned         first, n_here; /* workers whose memory this process reaches */
} drove_site;

/* Errors: those of drove__transport_shared. */
drove_status drove__site_init(drove_site *site, const drove_sync *s, const drove_sync_options *opt);
void         drove__site_fini(drove_site *site);
/* Everyone who waits in the transport fails. */
void drove__site_stop(const drove_site *site);

/* As whom the worker's site takes part in exchanges: the same for all of its workers. */
static inline unsigned drove__site_as(const drove_site *site, unsigned worker)
{
    return site->is_apart ? worker : site->first;
}

/* First of the workers of this worker's site, and how many they are. */
static inline unsigned drove__site_first(const drove_site *site, unsigned worker)
{
    return site->is_apart ? worker : site->first;
}

static inline unsigned drove__site_size(const drove_site *site)
{
    return site->is_apart ? 1 : site->n_here;
}

#endif
