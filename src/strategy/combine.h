/* strategy/combine.h - which strategy runs on which workers.
 *
 * A pure function of a row and of where its workers are: the plan refuses by it, and `drove list
 * combinations` prints its table.  A cell is refused only for a reason that lies in the method.
 */
#ifndef DROVE_STRATEGY_COMBINE_H
#define DROVE_STRATEGY_COMBINE_H

#include "strategy/strategy.h"

/* What the engines of all workers can do: the values of DROVE_ENGINE_* (engine/engine.h). */
enum {
    DROVE_COMBINE_FUSED = 1u << 0,
    DROVE_COMBINE_TYPED = 1u << 1,
    DROVE_COMBINE_RESIDENT = 1u << 2,
};

typedef struct drove_combination {
    unsigned n_workers;  /* of all processes; a team of cores is one */
    bool     procs;      /* they are processes of one machine ... */
    bool     ranks;      /* ... or spread over ranks of a job */
    bool     any_device; /* one of them computes on a device */
    bool     typed;      /* parameters are words of a low-precision model */
    bool     beside;     /* they are evaluated while the workers train (--eval-beside) */
    unsigned engine_can; /* DROVE_COMBINE_* that the engine of every worker has */
} drove_combination;

/* NULL: it runs; else why not: a clause that completes "NAME: ".  `ops` is the row of the variant:
 * s->ops where a strategy was made, else the row of its name. */
const char *drove__combine(const drove_sync_ops *ops, const drove_combination *c);

/* The columns of the table, as a user types them; ends with name NULL. */
typedef struct drove_combination_column {
    const char       *name, *help;
    drove_combination at;
} drove_combination_column;
extern const drove_combination_column drove__combinations[];

#endif
