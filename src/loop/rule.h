/* loop/rule.h - the run's rule for a worker whose parameters are words: what its engine asks for
 * (engine/engine.h: drove_engine_rule), from the rule and its state, which lies behind the words
 * that the strategy lends or with the worker.
 */
#ifndef DROVE_LOOP_RULE_H
#define DROVE_LOOP_RULE_H

#include "loop/loop.h"

/* For the options of the worker's engine; NULL: plain SGD, or parameters that are floats. */
const drove_engine_rule *drove__worker_rule(drove_worker *w);

/* The strategy has lent parameters ... */
void drove__rule_begin(drove_worker *w, const drove_params *live);
/* ... in which a call of the engine has made n_steps. */
void drove__rule_made(drove_worker *w, uint64_t n_steps);

#endif
