/* coord/groups.c - see groups.h. */
#include "coord/groups.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 2 }; /* of a group in a saved state: counted updates and batch size */
/* Of cores, in one assignment: long beside a message and beside waiting for the last thread. */
static const double CORE_ASSIGNMENT_S = 0.005;

/* ---- batch sizes ---- */

static uint64_t clamp(uint64_t n, uint64_t least, uint64_t most)
{
    return n < least ? least : n > most ? most : n;
}

/* Algorithm 1: the same b everywhere.  What was asked for of this group goes before the
 * defaults. */
static void settle_sizes(const drove_groups *g, drove_group *of, const drove_source_worker *w,
                         bool is_apart)
{
    bool is_equal = !g->method.is_mixed;
    uint64_t each = of->is_device ? 1 : (uint64_t)of->n_workers * of->n_cores;
    uint64_t batch = w->batch * each;
    of->least = w->measured_least;
    of->most = w->measured_most != 0 ? w->measured_most : DROVE_MOST_DEVICE_BATCH;
    if (is_equal && batch == 0) batch = g->batch;
    if (is_equal || !of->is_device) {
        of->least = is_equal ? batch : each;
        of->most = is_equal ? batch : each * DROVE_MOST_CORE_BATCH;
    }
    if (w->least != 0) of->least = w->least * each;
    if (w->most != 0) of->most = w->most * each;
    /* The default.  Section 6: cores begin at their least, one example each, devices at their most.
     * Over ranks cores begin at --batch, as far as their bounds let them: each update of theirs
     * sends a gradient. */
    if (batch == 0 && of->is_device) batch = of->most;
    else if (batch == 0) batch = is_apart ? clamp(g->batch, of->least, of->most) : of->least;
    if (w->most == 0 && of->least > of->most) of->most = of->least;
    if (w->most == 0 && batch > of->most) of->most = batch;
    if (w->least == 0 && batch < of->least) of->least = batch;
    of->most = clamp(of->most, 1, g->n_rows);
    of->least = clamp(of->least, 1, of->most);
    of->batch = clamp(batch, of->least, of->most);
}

bool drove__groups_want_probe(const drove_spec *spec, const drove_source_worker *w)
{
    drove_method method;
    if (!w->is_device || (w->least != 0 && w->most != 0)) return false;
    return drove__method_parse(spec, &method) == DROVE_OK && method.is_mixed;
}

/* ---- making ---- */

/* Of threads that step for themselves.  A rank sends whole gradients, whatever computes them. */
static drove_status make_coordinator(drove_groups *g, const drove_groups_options *how)
{
    drove_coord_worker *worker = calloc(g->n, sizeof *worker);
    if (worker == NULL) return drove__fail_nomem("a coordinator", g->n * sizeof *worker);
    for (unsigned i = 0; i < g->n; i++) {
        const drove_group *of = &g->of[i];
        bool is_shared = !how->is_apart && !of->is_device && of->n_cores == 1;
        worker[i] = (drove_coord_worker){
            .batch = of->batch,
            .least = of->least,
            .most = of->most,
            .depth = g->method.by_coordinator ? 1 : how->depth,
            .survival = is_shared ? g->method.beta : 1.0,
            .assignment_s = is_shared ? CORE_ASSIGNMENT_S : 0.0,
            /* twice: the engine's own error comes first */
            .timeout_s = how->has_timeouts ? 2.0 * of->timeout_s : 0.0,
        };
        snprintf(worker[i].name, sizeof worker[i].name, "%s", of->name);
    }
    const drove_coord_options opt = {.policy = g->method.policy,
                                     .alpha = g->method.alpha,
                                     .utilisation = g->method.utilisation,
                                     .fit_tail = !g->method.tail_as_is,
                                     .n_rows = g->n_rows,
                                     .n_workers = g->n,
                                     .worker = worker};
    drove_status status = drove__coord_create(&opt, &g->coord);
    free(worker);
    DROVE_TRY(status);
    size_t most = drove__coord_most_actions(g->coord);
    g->action = calloc(most, sizeof *g->action);
    return g->action != NULL ? DROVE_OK : drove__fail_nomem("actions", most * sizeof *g->action);
}

drove_status drove__groups_init(drove_groups *g, const drove_groups_options *opt)
{
    const drove_source_options *source = opt->source;
    DROVE_TRY(drove__method_parse(source->spec, &g->method));
    g->batch = source->batch;
    g->n_rows = source->n_rows;
    g->n = opt->is_apart ? source->n_workers : source->n_groups;
    g->of = drove__alloc(g->n, sizeof *g->of);
    g->saved = calloc(g->n, NUMBERS * sizeof *g->saved);
    if (g->of == NULL || g->saved == NULL)
        return drove__fail_nomem("workers", g->n * sizeof *g->of);
    for (unsigned i = 0; i < source->n_workers; i++) {
        const drove_source_worker *w = &source->worker[i];
        drove_group *of = &g->of[opt->is_apart ? i : w->group];
        if (of->n_workers++ > 0) continue;
        snprintf(of->name, sizeof of->name, "%s", w->name);
        of->is_device = w->is_device;
        of->n_cores = w->n_cores;
        of->timeout_s = w->timeout_s;
    }
    for (unsigned i = 0; i < source->n_workers; i++) {
        const drove_source_worker *w = &source->worker[i];
        settle_sizes(g, &g->of[opt->is_apart ? i : w->group], w, opt->is_apart);
    }
    return make_coordinator(g, opt);
}

void drove__groups_fini(drove_groups *g)
{
    drove__coord_destroy(g->coord);
    free(g->action);
    free(g->saved);
    drove__free(g->of);
}

/* ---- a saved state ---- */

static drove_tensor flat(const char *name, drove_tensor_type type, size_t n, const void *bytes)
{
    drove_tensor t = {.type = type, .rank = 1, .shape = {n}, .bytes = bytes};
    snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

size_t drove__groups_tensors(drove_groups *g, drove_tensor *out, size_t most)
{
    const drove_range *undone;
    size_t n = 0, n_undone = drove__coord_undone(g->coord, &undone);
    for (unsigned i = 0; i < g->n; i++) {
        drove_coord_facts f;
        drove__coord_facts(g->coord, i, &f);
        g->saved[i * NUMBERS] = f.u;
        g->saved[i * NUMBERS + 1] = (double)f.batch;
    }
    if (most < 2) return 0;
    out[n++] = flat("groups", DROVE_T_F64, (size_t)g->n * NUMBERS, g->saved);
    if (n_undone > 0) out[n++] = flat("undone", DROVE_T_U64, 2 * n_undone, undone);
    return n;
}

/* The same groups go on with the sizes and counts that they had. */
static drove_status restore_sizes(drove_groups *g, const drove_safetensors *st)
{
    const void *bytes;
    size_t n = (size_t)g->n * NUMBERS;
    DROVE_TRY(drove__safetensors_want(st, "groups", DROVE_T_F64, n, &bytes));
    memcpy(g->saved, bytes, n * sizeof *g->saved);
    for (unsigned i = 0; i < g->n; i++) {
        double u = g->saved[i * NUMBERS], batch = g->saved[i * NUMBERS + 1];
        if (!(u >= 0.0 && u < 1e18 && batch >= 1.0 && batch < 1e18))
            return drove__fail(DROVE_E_DATA,
                               "tensor \"groups\": expected updates and a batch size, found %g and "
                               "%g",
                               u, batch);
        drove__coord_restore_worker(g->coord, i, u, (uint64_t)batch);
    }
    return DROVE_OK;
}

static drove_status restore_undone(drove_groups *g, const drove_tensor *t, uint64_t next)
{
    if (t->type != DROVE_T_U64 || t->rank != 1 || t->shape[0] % 2 != 0)
        return drove__fail(DROVE_E_DATA, "tensor \"undone\": expected pairs of U64");
    size_t n = (size_t)t->shape[0] / 2;
    drove_range *range = calloc(n, sizeof *range);
    if (range == NULL) return drove__fail_nomem("examples left undone", n * sizeof *range);
    memcpy(range, t->bytes, n * sizeof *range);
    drove_status status = DROVE_OK;
    for (size_t i = 0; i < n && status == DROVE_OK; i++) {
        const drove_range *r = &range[i];
        if (r->n > 0 && r->n <= g->n_rows && r->n <= next && r->first <= next - r->n &&
            r->first / g->n_rows == (r->first + r->n - 1) / g->n_rows)
            continue;
        status = drove__fail(DROVE_E_DATA,
                             "tensor \"undone\": expected positions of one epoch below %llu, found "
                             "%llu and %llu more",
                             (unsigned long long)next, (unsigned long long)r->first,
                             (unsigned long long)r->n);
    }
    if (status == DROVE_OK) status = drove__coord_restore_undone(g->coord, range, n);
    free(range);
    return status;
}

drove_status drove__groups_restore(drove_groups *g, const drove_safetensors *st, uint64_t next,
                                   bool is_same)
{
    const drove_tensor *undone = drove__safetensors_find(st, "undone");
    const drove_tensor *t = drove__safetensors_find(st, "groups");
    drove__coord_restore(g->coord, next);
    /* Threads of one process may go on as ranks: as many workers in other groups. */
    const bool has_as_many = t == NULL || t->rank != 1 || t->shape[0] == (uint64_t)g->n * NUMBERS;
    if (is_same && has_as_many) DROVE_TRY(restore_sizes(g, st));
    return undone != NULL ? restore_undone(g, undone, next) : DROVE_OK;
}
