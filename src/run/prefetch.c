/* run/prefetch.c - the processor's prefetchers during a run: --prefetch.
 *
 * They are switched on the processors where the workers are pinned, or on all that the process may
 * use; evaluations fall into the same time.  On the caller's thread.
 */
#include "run/prefetch.h"

#include "values/say.h"

#include <stdio.h>
#include <stdlib.h>

static const char as_they_are[] = "; the prefetchers stay as they are";

/* The reason, and what comes of it. */
static void say(const drove_config *config, const drove_callbacks *cb, const char *reason,
                const char *so)
{
    char text[DROVE_TEXT_SIZE];
    drove__run_say(cb, "--prefetch %s: %s%s", drove__config_text(config, "prefetch", text), reason,
                   so);
}

/* pu[*n_out], the caller frees it; NULL: no memory. */
static int *processors(const drove_workers *workers, size_t *n_out)
{
    drove_topo_facts facts;
    drove__topo_facts(workers->topo, &facts);
    bool is_pinned = workers->plan.bind != DROVE_BIND_NONE;
    unsigned n = is_pinned ? workers->plan.n_workers : facts.n_pus;
    drove_place *place = calloc(n, sizeof *place);
    int *pu = calloc(n, sizeof *pu);
    if (place == NULL || pu == NULL) {
        free(place);
        free(pu);
        return NULL;
    }
    drove__topo_place(workers->topo, is_pinned ? workers->plan.bind : DROVE_BIND_COMPACT, n, place);
    for (unsigned i = 0; i < n; i++) pu[i] = place[i].pu;
    free(place);
    *n_out = n;
    return pu;
}

void drove__run_prefetch_begin(const drove_config *config, drove_workers *workers,
                               const drove_callbacks *cb)
{
    drove_prefetch_machine machine = drove__prefetch_machine();
    size_t n = 0;
    int *pu = processors(workers, &n);
    if (pu == NULL) {
        say(config, cb, "not enough memory for the list of processors", as_they_are);
        return;
    }
    if (config->machine.quiets_memory) {
        workers->holds_prefetch = drove__prefetch_hold_off(&machine, pu, n) == DROVE_OK;
        if (!workers->holds_prefetch) say(config, cb, drove_error_text(), as_they_are);
    }
    workers->prefetch_hardware = drove__prefetch_look(&machine, pu, n);
    free(pu);
}

void drove__run_prefetch_end(const drove_config *config, drove_workers *workers,
                             drove_outcome outcome, const drove_callbacks *cb)
{
    bool was_cut = false;
    if (!workers->holds_prefetch) return;
    workers->holds_prefetch = false;
    if (drove__prefetch_release(&was_cut) != DROVE_OK) {
        say(config, cb, drove_error_text(), "");
    }
    /* A signal that did not end the run has left a part of it with prefetchers, a part without. */
    if (was_cut && outcome != DROVE_INTERRUPTED)
        workers->prefetch_hardware = DROVE_PREFETCH_UNKNOWN;
}
