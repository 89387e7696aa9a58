/* config/resolve.h - from the words of an option to what they mean on this machine.
 *
 * What `auto` and `all` stand for is decided here and nowhere else: the run, `drove info` and the
 * validation of the options ask these functions.
 */
#ifndef DROVE_CONFIG_RESOLVE_H
#define DROVE_CONFIG_RESOLVE_H

#include "loop/order.h"
#include "plan/plan.h"
#include "strategy/strategy.h"

#include "base/options.h"

/* "auto", or a number of threads.  Errors: DROVE_E_ARG, naming --loaders. */
drove_status drove__loaders_parse(const char *text, bool *is_auto, unsigned *out);

/* The order of examples that --order means. */
drove_order_kind drove__resolve_order(const drove_options *options);

/* Does auto mean the published and usual values?  So with --defaults classic, and with
 * low-precision parameters, whose engines step by plain SGD. */
bool drove__resolve_is_classic(const drove_options *options);
/* True if auto/choose.h chooses all that was not given.  Not where it is classic, and not beside a
 * given --lr, which belongs to the usual rule, schedule and budget. */
bool drove__resolve_is_tuned(const drove_options *options);

/* The needs (DROVE_SYNC_*) of this variant of the plan's strategy, which are known once there is
 * one.  Errors: those of drove__sync_create. */
drove_status drove__resolve_needs(const drove_options *options, const drove_plan *plan,
                                  unsigned *out);

/* The rule that --rule and --model mean to a strategy with these needs (DROVE_SYNC_*): never
 * "auto".  chosen: the one for this model and these data where the run chooses; before both are
 * known, "adam". */
const char *drove__resolve_rule(const drove_options *options, unsigned needs, const char *chosen);
/* --rule-state for such needs: "shared" or "worker". */
const char *drove__resolve_rule_state(const drove_options *options, unsigned needs);

/* The step size that --lr means to a strategy with these needs and so many workers: never 0.  An
 * elastic centre and its workers hold together like P + 1 masses of which gradients move P, so that
 * by default each step is longer by that much, and the centre moves as all other parameters do. */
double drove__resolve_lr(const drove_options *options, unsigned needs, unsigned n_workers);
double drove__resolve_stretch(unsigned needs, unsigned n_workers); /* that factor */

/* Their values where nothing chooses them. */
uint64_t drove__resolve_batch(const drove_options *options);
double   drove__resolve_eval_every(const drove_options *options);

/* The schedule that --schedule, --model and --until mean: never "auto". */
void drove__resolve_schedule(const drove_options *options, char into[DROVE_TEXT_SIZE]);
/* Does --precision ask for parameters in numbers of an engine's own?  Else it says at most how
 * workers write what they exchange. */
bool drove__resolve_is_low(const drove_options *options);

/* A word of --prefetch asks for these: the kernels' software hints; the processor's own prefetchers
 * switched off. */
bool drove__prefetch_wants_hints(const char *word);
bool drove__prefetch_wants_hardware_off(const char *word);

typedef enum drove_save_unit {
    DROVE_SAVE_EVAL,
    DROVE_SAVE_EPOCHS,
    DROVE_SAVE_UPDATES,
    DROVE_SAVE_SECONDS,
    DROVE_SAVE_NEVER
} drove_save_unit;
typedef struct drove_save_every {
    drove_save_unit unit;
    double   amount; /* of epochs or seconds                                                */
    uint64_t updates;
} drove_save_every;

/* "eval", "epochs=1", "updates=100", "seconds=60", "never".  Errors: DROVE_E_ARG, naming
 * --save-every. */
drove_status drove__save_every_parse(const char *text, drove_save_every *out);

/* options.c: whether both name the same option, "-" and "_" being alike. */
bool drove__option_is(const char *a, const char *b);
/* The value of an option, as typed, if it is not the default. */
bool drove__option_differs(const drove_options *options, const char *name,
                           char value[DROVE_TEXT_SIZE]);

#endif
