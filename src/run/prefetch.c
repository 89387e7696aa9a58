/* run/prefetch.c - the processor's prefetchers during a run: --prefetch.
 *
 * They are switched on the processors where the workers are pinned, or on all that the process may
 * use; evaluations fall into the same time.  On the caller's thread.
 */
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>

static const char as_they_are[] = "; the prefetchers stay as they are";

/* The reason, and what comes of it, to the caller of the run. */
static void say(const drove_run *run, const char *reason, const char *so)
{
    char line[DROVE_TEXT_SIZE + DROVE_ERROR_TEXT_SIZE + 64];
    if (run->cb.message == NULL) return;
    snprintf(line, sizeof line, "--prefetch %s: %s%s", run->opt.prefetch, reason, so);
    run->cb.message(run->cb.context, line);
}

/* pu[*n_out], the caller frees it; NULL: no memory. */
static int *processors(const drove_run *run, size_t *n_out)
{
    drove_topo_facts facts;
    drove__topo_facts(run->topo, &facts);
    bool is_pinned = run->plan.bind != DROVE_BIND_NONE;
    unsigned n = is_pinned ? run->plan.n_workers : facts.n_pus;
    drove_place *place = calloc(n, sizeof *place);
    int *pu = calloc(n, sizeof *pu);
    if (place == NULL || pu == NULL) {
        free(place);
        free(pu);
        return NULL;
    }
    drove__topo_place(run->topo, is_pinned ? run->plan.bind : DROVE_BIND_COMPACT, n, place);
    for (unsigned i = 0; i < n; i++) pu[i] = place[i].pu;
    free(place);
    *n_out = n;
    return pu;
}

void drove__run_prefetch_begin(drove_run *run)
{
    drove_prefetch_machine machine = drove__prefetch_machine();
    size_t n = 0;
    int *pu = processors(run, &n);
    if (pu == NULL) {
        say(run, "not enough memory for the list of processors", as_they_are);
        return;
    }
    if (drove__prefetch_wants_hardware_off(run->opt.prefetch)) {
        run->holds_prefetch = drove__prefetch_hold_off(&machine, pu, n) == DROVE_OK;
        if (!run->holds_prefetch) say(run, drove_error_text(), as_they_are);
    }
    run->prefetch_hardware = drove__prefetch_look(&machine, pu, n);
    free(pu);
}

void drove__run_prefetch_end(drove_run *run)
{
    bool was_cut = false;
    if (!run->holds_prefetch) return;
    run->holds_prefetch = false;
    if (drove__prefetch_release(&was_cut) != DROVE_OK) {
        say(run, drove_error_text(), "");
    }
    /* A signal that did not end the run has left a part of it with prefetchers, a part without. */
    if (was_cut && run->outcome != DROVE_INTERRUPTED)
        run->prefetch_hardware = DROVE_PREFETCH_UNKNOWN;
}
