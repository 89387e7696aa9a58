/* accum/site.c - the workers of this process among all workers of the run. */
#include "accum/site.h"

drove_status drove__site_init(drove_site *site, const drove_sync *s, const drove_sync_options *opt)
{
    *site = (drove_site){.n_here = s->n_workers};
    if (opt->transport != NULL && opt->transport->n_processes > 1) {
        site->transport = opt->transport;
        site->first = opt->transport->first_worker;
        site->n_here = opt->transport->n_here;
        return DROVE_OK;
    }
    if (!drove__memory_is_shared() || s->n_workers == 1) return DROVE_OK;
    site->is_apart = true;
    site->transport = opt->transport;
    if (site->transport != NULL) return DROVE_OK;
    site->owns_transport = true;
    return drove__transport_shared(s->n_workers, true, s->n_vector, s->optim->kernels, s->topo,
                                   s->place, &site->transport);
}

void drove__site_fini(drove_site *site)
{
    if (site->owns_transport && site->transport != NULL)
        site->transport->ops->destroy(site->transport);
    *site = (drove_site){0};
}

void drove__site_stop(const drove_site *site)
{
    if (site->transport != NULL) site->transport->ops->stop(site->transport);
}
