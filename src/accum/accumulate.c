/* accum/accumulate.c - gradients are summed on the host, layer by layer, while backward goes on.
 *
 * Source: Le Duc et al., Algorithms 5 to 7.  Every device has the same parameters.  As soon as its
 * backward has passed a layer, the layer's gradient is in host memory and is added to those of the
 * other devices; the sums go back to all; behind backward only what remains is waited for, and
 * every device updates its own parameters.  Nothing is broadcast.
 *
 *   accumulate          as described
 *   accumulate:at-end   the same, begun when a device's backward is over: what overlap is worth
 *
 * The mean of all is made by a tree over the devices' numbers (accum/schedule.h), or, with
 * ?order=first-come, in the order of arrival, and then how far that is from the tree's is measured.
 *
 * Over ranks, the sums of each rank's workers are added to those of the others slice by slice while
 * backward goes on (cluster/slices.h); processes of one machine exchange in the same way.
 *
 * Invariants: a replica is changed by its own worker, between the sum of all gradients and its next
 * gradient; an update is published when worker 0 has made it.
 */
#include "accum/collect.h"
#include "accum/replica.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

typedef struct step_state { /* of one worker's step */
    uint64_t iteration;
    unsigned n_ready; /* parts that layer_ready has seen */
    float *value;     /* of them */
    float eta;
    bool is_resident, has_arrived;
    drove_collector *collector; /* of this worker's site ... */
    unsigned device;            /* ... and its number there */
} DROVE_ALIGNED_CACHE_LINE step_state;

typedef struct accumulate_impl {
    drove_replicas replicas;
    drove_site site;
    drove_collector **collector; /* [n_collectors] of this process's sites */
    unsigned n_collectors;
    step_state *step; /* [n_workers] */
    unsigned n_parts;
    bool at_end;
} accumulate_impl;

/* ---- setting up ---- */

typedef struct settings {
    drove_accum_order order;
    uint64_t n_helpers;
    bool at_end;
} settings;

static const char *const ends[] = {"", "at-end", NULL};
static const char *const orders[] = {[DROVE_ACCUM_ONCE] = "tree",
                                     [DROVE_ACCUM_PAIRS] = "pairs",
                                     [DROVE_ACCUM_FIRST_COME] = "first-come",
                                     NULL};
static const drove_spec_key keys[] = {
    {"WHEN", "", DROVE_AS_EITHER(settings, at_end, ends), .is_argument = true,
     .help = "while a device goes backward, or behind it"},
    {"order", "tree", DROVE_AS_WORD(settings, order, orders), .help = "of the sums"},
    {"helpers", "0", DROVE_AS_COUNT(settings, n_helpers, 0, DROVE_ACCUM_MOST_DEVICES),
     .help = "threads of their own that add"},
    DROVE_SPEC_END,
};

/* One for each site that this process reaches. */
static drove_status make_collectors(drove_sync *s, const drove_sync_options *opt,
                                    const settings *set)
{
    accumulate_impl *p = s->impl;
    if (p->site.is_apart && (set->order != DROVE_ACCUM_ONCE || set->n_helpers > 0))
        return drove__fail(DROVE_E_ARG, "accumulate: expected no order and no helpers, since "
                                        "workers that are processes add in shared memory");
    p->n_collectors = p->site.n_here / drove__site_size(&p->site);
    p->collector = drove__alloc(p->n_collectors, sizeof *p->collector);
    if (p->collector == NULL) return drove__sync_no_memory(s);
    for (unsigned i = 0; i < p->n_collectors; i++) {
        const drove_span whole = {.offset = 0, .length = s->optim->n};
        const unsigned first = p->site.first + i, n = drove__site_size(&p->site);
        const drove_collector_options options = {
            .n_devices = n,
            .n_helpers = (unsigned)set->n_helpers,
            .part = opt->part != NULL ? opt->part : &whole,
            .n_parts = opt->part != NULL ? opt->n_parts : 1,
            .n = s->optim->n,
            .order = set->order,
            .kernels = s->optim->kernels,
            .topo = s->topo,
            .is_resident = opt->is_resident != NULL ? opt->is_resident + first : NULL,
            .spans = opt->spans,
            .n_all = s->n_workers,
            .first = first,
            .transport = p->site.transport,
            .as = drove__site_as(&p->site, first),
        };
        p->n_parts = (unsigned)options.n_parts;
        DROVE_TRY(drove__collector_create(&options, &p->collector[i]));
        for (unsigned d = 0; d < n; d++) {
            p->step[first + d].collector = p->collector[i];
            p->step[first + d].device = d;
        }
    }
    return DROVE_OK;
}

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    settings set;
    DROVE_TRY(drove__spec_take(opt->spec, keys, &set));
    accumulate_impl *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    s->impl = p;
    s->batches_per_update = s->n_workers;
    /* The order of arrival decides how sums are rounded. */
    if (set.order == DROVE_ACCUM_FIRST_COME) s->promises &= ~(unsigned)DROVE_SYNC_REPEATABLE;
    p->at_end = set.at_end;
    p->step = drove__alloc(s->n_workers, sizeof *p->step);
    if (p->step == NULL) return drove__sync_no_memory(s);
    for (unsigned w = 0; w < s->n_workers; w++)
        p->step[w].is_resident = opt->is_resident != NULL && opt->is_resident[w];
    DROVE_TRY(drove__site_init(&p->site, s, opt));
    DROVE_TRY(drove__replicas_init(&p->replicas, s, &p->site, opt, start));
    return make_collectors(s, opt, &set);
}

static void fini(drove_sync *s)
{
    accumulate_impl *p = s->impl;
    for (unsigned i = 0; p->collector != NULL && i < p->n_collectors; i++)
        drove__collector_destroy(p->collector[i]);
    drove__free(p->collector);
    drove__replicas_fini(&p->replicas, s);
    drove__site_fini(&p->site);
    drove__free(p->step);
    drove__free(p);
}

/* ---- a step ---- */

static drove_status stopped(const drove_sync *s)
{
    return drove__fail(DROVE_E_SYSTEM, "%s: stopped", s->ops->name);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    accumulate_impl *p = s->impl;
    step_state *step = &p->step[worker];
    if (atomic_load_explicit(&s->stopping, memory_order_relaxed) != 0) return stopped(s);
    step->n_ready = 0;
    step->has_arrived = false; /* at_end: the collector was told of all parts */
    *view = (drove_view){.vector = p->replicas.vector[worker], .version = step->iteration};
    return DROVE_OK;
}

static float *gradient(drove_sync *s, unsigned worker)
{
    return ((accumulate_impl *)s->impl)->replicas.gradient[worker];
}

static uint64_t layer_ready(drove_sync *s, unsigned worker, size_t offset, size_t length,
                            float *value, float eta)
{
    accumulate_impl *p = s->impl;
    step_state *step = &p->step[worker];
    if (p->site.is_apart && value != gradient(s, worker)) { /* others must reach it */
        memcpy(gradient(s, worker) + offset, value + offset, length * sizeof *value);
        value = gradient(s, worker);
    }
    step->value = value;
    step->eta = eta;
    bool is_last = ++step->n_ready == p->n_parts;
    if (p->at_end) return 0;
    return drove__collect_arrive(step->collector, step->device,
                                 drove__collect_find(step->collector, offset), value, eta,
                                 !is_last);
}

/* All parts at once, from the last to the first, as backward would have brought them. */
static void arrive_at_end(accumulate_impl *p, unsigned worker, float *value, float eta)
{
    const step_state *step = &p->step[worker];
    for (unsigned i = p->n_parts; i-- > 0;)
        (void)drove__collect_arrive(step->collector, step->device, i, value, eta, false);
}

static float *own_memory(drove_sync *s, unsigned worker, const drove_step *step)
{
    float *own = gradient(s, worker);
    if (step->value != own) memcpy(own, step->value, s->optim->n * sizeof *own);
    return own;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    accumulate_impl *p = s->impl;
    step_state *state = &p->step[worker];
    drove_collect_times times;
    float *mean, eta;
    if (state->n_ready == 0) arrive_at_end(p, worker, own_memory(s, worker, step), step->eta);
    else if (p->at_end && !state->has_arrived) arrive_at_end(p, worker, state->value, state->eta);
    if (!drove__collect_finish(state->collector, state->device, &mean, &eta, &times)) {
        DROVE_TRY(drove__collect_status(state->collector));
        return stopped(s);
    }
    uint64_t begin_ns = drove__now_ns();
    state->iteration++;
    if (!state->is_resident)
        drove__replica_update(&p->replicas, s, worker, mean, eta, state->iteration);
    /* Relaxed: read for display, and, when the workers are parked, behind the parking's lock. */
    if (worker == p->site.first)
        atomic_store_explicit(&s->published, state->iteration, memory_order_relaxed);
    *info = (drove_publish_info){.attempts = 1,
                                 .updated = worker == 0,
                                 .wait_ns = times.wait_ns,
                                 .exchange_ns = times.exchange_ns,
                                 .accumulate_ns = times.accumulate_ns,
                                 .update_ns = drove__now_ns() - begin_ns};
    return DROVE_OK;
}

static bool next_sum(drove_sync *s, unsigned worker, bool waits, drove_sum *out)
{
    accumulate_impl *p = s->impl;
    step_state *step = &p->step[worker];
    unsigned part;
    if (p->at_end && step->n_ready < p->n_parts) return false;
    if (p->at_end && !step->has_arrived) arrive_at_end(p, worker, step->value, step->eta);
    step->has_arrived = true;
    if (!drove__collect_next(step->collector, step->device, waits, &part, &out->value))
        return false;
    const drove_span *span = drove__collect_part(step->collector, part);
    out->offset = span->offset;
    out->length = span->length;
    return true;
}

static float *replica(drove_sync *s, unsigned worker)
{
    return ((accumulate_impl *)s->impl)->replicas.vector[worker];
}

static void stop(drove_sync *s)
{
    accumulate_impl *p = s->impl;
    atomic_store_explicit(&s->stopping, 1, memory_order_relaxed);
    drove__site_stop(&p->site);
    if (!p->site.is_apart) drove__collect_stop(p->collector[0]); /* else the processes' own */
}

/* ---- parked ---- */

static drove_status parked(drove_sync *s)
{
    return drove__replicas_check(&((accumulate_impl *)s->impl)->replicas, s, s->n_vector);
}

static drove_params peek(drove_sync *s)
{
    return (drove_params){.theta = replica(s, ((accumulate_impl *)s->impl)->site.first)};
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    accumulate_impl *p = s->impl;
    (void)st;
    uint64_t iteration = atomic_load_explicit(&s->published, memory_order_relaxed);
    drove__replicas_set(&p->replicas, s, vector);
    for (unsigned w = 0; w < s->n_workers; w++) p->step[w].iteration = iteration;
    for (unsigned i = 0; i < p->n_collectors; i++)
        drove__collect_restart(p->collector[i], iteration);
    return DROVE_OK;
}

static void note_copy(drove_sync *s, unsigned worker, const drove_slice_copy *copy)
{
    accumulate_impl *p = s->impl;
    drove__collect_note_copy(p->step[worker].collector, p->step[worker].device, copy);
}

static const char *const variants[] = {"accumulate", "accumulate:at-end", "accumulate?order=pairs",
                                       "accumulate?order=first-come", NULL};

static const drove_sync_places places = {
    .not_virtual = "its workers add slices while they compute, which takes real time"};
static const drove_sync_slice_ops slices = {.ready = layer_ready,
                                            .next_sum = next_sum,
                                            .note_copy = note_copy};
static const drove_sync_replica_ops replicas = {.vector = replica, .parked = parked};

const drove_sync_ops drove__accum_accumulate = {
    .name = "accumulate",
    .help = "devices with parameters of their own; gradients are summed on the host layer by "
            "layer during backward, or at the end of it",
    .source = "Le Duc et al., Algorithms 5-7",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_REPEATABLE | DROVE_SYNC_SEQUENTIAL,
    .needs = DROVE_SYNC_DENSE,
    .variants = variants,
    .keys = keys,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .publish = publish,
    .peek = peek,
    .restore = restore,
    .batches = "rounds",
    .gradient = gradient,
    .stop = stop,
    .places = &places,
    .slices = &slices,
    .replicas = &replicas,
};

bool drove__accum_facts(const drove_sync *s, drove_accum_facts *out)
{
    *out = (drove_accum_facts){0};
    if (s->ops->init == drove__accum_tree.init) return drove__tree_facts(s, out);
    if (s->ops->init != init) return false;
    const accumulate_impl *p = s->impl;
    drove__collect_facts(p->collector[0], out);
    out->n_devices = s->n_workers;
    if (p->site.is_apart) out->part = NULL; /* what the processes note is their own */
    out->n_checks = p->replicas.n_checks;
    return true;
}
