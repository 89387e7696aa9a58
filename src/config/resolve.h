/* config/resolve.h - from the words of an option to what they mean on this machine.
 *
 * Where nothing is chosen by trials, what `auto` stands for is decided here: choices and the
 * validation of the options ask these functions.
 */
#ifndef DROVE_CONFIG_RESOLVE_H
#define DROVE_CONFIG_RESOLVE_H

#include "loop/order.h"
#include "strategy/strategy.h"

#include "config/config.h"

/* The order of examples that --order means. */
drove_order_kind drove__resolve_order(const drove_config *config);

/* The needs (DROVE_SYNC_*) of this variant of the plan's strategy, which are known once there is
 * one.  Errors: those of drove__sync_create. */
drove_status drove__resolve_needs(const drove_config *config, const drove_plan *plan,
                                  unsigned *out);

/* The rule that --rule and --model mean to a strategy with these needs (DROVE_SYNC_*): never
 * "auto".  chosen: the one for this model and these data where the run chooses; before both are
 * known, "adam". */
const char *drove__resolve_rule(const drove_config *config, unsigned needs, const char *chosen);
/* --rule-state for such needs: never AUTO. */
drove_rule_state drove__resolve_rule_state(const drove_config *config, unsigned needs);

/* The step size that --lr means to a strategy with these needs and so many workers: never 0.  An
 * elastic centre and its workers hold together like P + 1 masses of which gradients move P, so that
 * by default each step is longer by that much, and the centre moves as all other parameters do. */
double drove__resolve_lr(const drove_config *config, unsigned needs, unsigned n_workers);
double drove__resolve_stretch(unsigned needs, unsigned n_workers); /* that factor */

/* Their values where nothing chooses them; with --global-batch the batch is that of all workers. */
uint64_t drove__resolve_batch(const drove_config *config);
double   drove__resolve_eval_every(const drove_config *config);
/* Examples of each of so many workers' batches.  Errors: DROVE_E_ARG: --global-batch is no multiple
 * of them. */
drove_status drove__resolve_batch_each(const drove_config *config, unsigned n_workers,
                                       uint64_t *out);

/* The schedule that --schedule, --model and --until mean: never "auto". */
void drove__resolve_schedule(const drove_config *config, char into[DROVE_TEXT_SIZE]);
#endif
