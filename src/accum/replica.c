/* accum/replica.c - see replica.h. */
#include "accum/replica.h"

#include "base/checksum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 }; /* floats at a time: fits the first-level cache; 16 divides it */

/* A device adds the squares of the gradient's norm in another order than the host, and clips by a
 * number that differs in its last bits: the parameters would part. */
static drove_status check_clip(const drove_sync *s, const drove_site *site, const bool *is_resident)
{
    unsigned n = 0;
    for (unsigned w = site->first; is_resident != NULL && w < site->first + site->n_here; w++)
        n += is_resident[w];
    if (!(s->optim->clip > 0.0f) || n == 0 || n == site->n_here) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "%s: expected no --clip with devices and cores together, which add the "
                       "gradient's norm in different orders, found %g",
                       s->ops->name, (double)s->optim->clip);
}

drove_status drove__replicas_init(drove_replicas *r, const drove_sync *s, const drove_site *site,
                                  const drove_sync_options *opt, const drove_params *start)
{
    DROVE_TRY(check_clip(s, site, opt->is_resident));
    if (s->optim->state == DROVE_STATE_WORKER)
        return drove__fail(DROVE_E_ARG,
                           "%s: expected --rule-state shared, found worker: every device has the "
                           "rule's state beside its parameters, the same on all",
                           s->ops->name);
    r->site = site;
    r->vector = calloc(s->n_workers, sizeof *r->vector);
    r->gradient = calloc(s->n_workers, sizeof *r->gradient);
    if (r->vector == NULL || r->gradient == NULL) return drove__sync_no_memory(s);
    for (unsigned w = site->first; w < site->first + site->n_here; w++) {
        r->vector[w] = drove__sync_first_vector(s, w, start->theta);
        int node = s->place != NULL ? s->place[w].node : -1;
        r->gradient[w] = s->topo != NULL
                             ? drove__topo_alloc(s->topo, s->optim->n * sizeof(float), node)
                             : drove__alloc(s->optim->n, sizeof(float));
        if (r->vector[w] == NULL || r->gradient[w] == NULL) return drove__sync_no_memory(s);
    }
    return DROVE_OK;
}

void drove__replicas_fini(drove_replicas *r, const drove_sync *s)
{
    for (unsigned w = 0; w < s->n_workers; w++) {
        if (r->vector != NULL) drove__sync_vector_free(s, r->vector[w]);
        if (r->gradient == NULL || r->gradient[w] == NULL) continue;
        if (s->topo != NULL) drove__topo_free(s->topo, r->gradient[w], s->optim->n * sizeof(float));
        else drove__free(r->gradient[w]);
    }
    free(r->vector);
    free(r->gradient);
    *r = (drove_replicas){0};
}

void drove__replicas_set(drove_replicas *r, const drove_sync *s, const drove_params *vector)
{
    const drove_site *site = r->site;
    for (unsigned w = site->first; w < site->first + site->n_here; w++)
        memcpy(r->vector[w], vector->theta, s->n_vector * sizeof(float));
}

/* Fails unless all processes have the same parameters. */
static drove_status compare_processes(const drove_replicas *r, const drove_sync *s, size_t n)
{
    drove_transport *t = r->site->transport;
    if (t == NULL || t->n_processes == 1) return DROVE_OK;
    uint64_t mine = drove__checksum(r->vector[r->site->first], n * sizeof(float));
    uint64_t *all = drove__alloc(t->n_processes, sizeof *all);
    unsigned other = 0;
    if (all == NULL) return drove__sync_no_memory(s);
    drove_status status = t->ops->gather(t, &mine, sizeof mine, all);
    while (status == DROVE_OK && other < t->n_processes && all[other] == all[0]) other++;
    if (status == DROVE_OK && other < t->n_processes)
        status = drove__fail(DROVE_E_SYSTEM,
                             "%s: expected equal parameters on all ranks, found that those of rank "
                             "%u are not those of rank 0",
                             s->ops->name, other);
    drove__free(all);
    return status;
}

drove_status drove__replicas_check(drove_replicas *r, const drove_sync *s, size_t n)
{
    const unsigned first = r->site->first;
    const float *one = r->vector[first];
    for (unsigned w = first + 1; w < first + r->site->n_here; w++) {
        if (memcmp(one, r->vector[w], n * sizeof(float)) == 0) continue;
        size_t i = 0;
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c): bits */
        while (memcmp(one + i, r->vector[w] + i, sizeof(float)) == 0) i++;
        return drove__fail(DROVE_E_SYSTEM,
                           "%s: expected equal parameters on all devices, found that number %zu of "
                           "device %u is %.9g and of device %u %.9g",
                           s->ops->name, i, first, (double)one[i], w, (double)r->vector[w][i]);
    }
    DROVE_TRY(compare_processes(r, s, n));
    r->n_checks++;
    return DROVE_OK;
}

/* g = mean + decay theta, then no longer than clip: the worker's own copy, as others read the mean.
 */
static void decay_and_clip(const drove_sync *s, const float *theta, const float *mean, float *g)
{
    const drove_optim *o = s->optim;
    double square = 0.0;
    for (size_t at = 0; at < o->n; at += BLOCK) {
        size_t n = o->n - at < BLOCK ? o->n - at : BLOCK;
        if (g != mean) o->kernels->copy_f32(g + at, mean + at, n);
        if (o->weight_decay > 0.0f) o->kernels->axpy_f32(g + at, theta + at, n, o->weight_decay);
        if (o->clip > 0.0f) square += o->kernels->dot_f32(g + at, g + at, n);
    }
    double norm = sqrt(square);
    if (o->clip > 0.0f && norm > (double)o->clip)
        o->kernels->scale_f32(g, o->n, (float)((double)o->clip / norm));
}

void drove__replica_update(drove_replicas *r, const drove_sync *s, unsigned worker, float *mean,
                           float eta, uint64_t t)
{
    const drove_optim *o = s->optim;
    float *vector = r->vector[worker];
    drove_step step = {.value = mean, .eta = eta};
    if (o->weight_decay > 0.0f || o->clip > 0.0f) {
        decay_and_clip(s, vector, mean, r->gradient[worker]);
        step.value = r->gradient[worker];
    }
    drove__optim_apply(o, &step, 0, t, 0, o->n, vector, vector);
}

/* ---- the workers of this process; see site.h ---- */

drove_status drove__site_init(drove_site *site, const drove_sync *s, const drove_sync_options *opt)
{
    *site = (drove_site){.n_here = s->n_workers};
    if (opt->transport != NULL) { /* over ranks, of which there are several */
        site->transport = opt->transport;
        site->first = opt->transport->first_worker;
        site->n_here = opt->transport->n_here;
        return DROVE_OK;
    }
    if (!drove__memory_is_shared() || s->n_workers == 1) return DROVE_OK;
    site->is_apart = true;
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
