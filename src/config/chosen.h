/* config/chosen.h - how a run chose what was left open; shown in its report and its run.json. */
#ifndef DROVE_CONFIG_CHOSEN_H
#define DROVE_CONFIG_CHOSEN_H

#include "pack/record.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the step size of --lr auto: trials.h ---- */

enum { DROVE_MOST_TRIALS = 12 };

typedef struct drove_trial {
    double lr, loss; /* mean over the last batches; infinity: it was not finite */
} drove_trial;

typedef struct drove_trials {
    double      lr;       /* the choice */
    unsigned    n_trials; /* 0: the model is too large for trials, and lr is the rule's usual one */
    uint64_t    n_steps;  /* of each */
    double      seconds;
    drove_trial trial[DROVE_MOST_TRIALS]; /* ascending */
} drove_trials;

/* ---- the strategy of --strategy auto: strategy_probe.h ---- */

enum { DROVE_MOST_RIVALS = 8, DROVE_LEAST_PIECES = 3, DROVE_MOST_PIECES = 5 };

typedef struct drove_probe_piece { /* sums since the first parameters */
    double   train_s, loss;        /* loss infinite: it was not finite */
    uint64_t n_examples;
} drove_probe_piece;

typedef struct drove_rival {
    const char       *strategy; /* spec */
    unsigned          n_threads;
    double            rate;     /* drove__strategy_probe_rate; NaN: not measured */
    unsigned          n_pieces; /* 0: it does not run here, or there was no time */
    drove_probe_piece piece[DROVE_MOST_PIECES];
} drove_rival;

typedef enum drove_strategy_reason {
    DROVE_STRATEGY_GIVEN,   /* or settled by what was given: one thread, workers, ranks ... */
    DROVE_STRATEGY_SHORT,   /* too short a run for a probe: one thread */
    DROVE_STRATEGY_SKIPPED, /* making the candidates took too long: one thread */
    DROVE_STRATEGY_PROBED
} drove_strategy_reason;

typedef struct drove_strategy_probe {
    drove_strategy_reason reason;
    unsigned              n_allowed; /* threads */
    unsigned              n, chosen; /* rival[0] is one thread */
    double                loss_first, seconds;
    double                margin;                   /* the least rate that beats one thread */
    drove_rival           rival[DROVE_MOST_RIVALS]; /* ascending by threads */
} drove_strategy_probe;

typedef struct drove_chosen {
    double               lr; /* one worker's step size; 0: it was given, or is not known yet */
    drove_trials         trials;
    drove_pack_record    pack; /* of --model auto */
    drove_strategy_probe probe;
} drove_chosen;

/* True if the choice depends on a clock. */
static inline bool drove__strategy_probe_is_timed(const drove_strategy_probe *probe)
{
    return probe->reason == DROVE_STRATEGY_SKIPPED || probe->reason == DROVE_STRATEGY_PROBED;
}
/* True if it was measured often enough to be chosen. */
static inline bool drove__strategy_probe_is_measured(const drove_rival *rival)
{
    return rival->n_pieces >= DROVE_LEAST_PIECES && isfinite(rival->rate);
}

#endif
