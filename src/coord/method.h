/* coord/method.h - the two methods whose batches a coordinator gives out, and what their specs say.
 *
 * Source: Ma and Rusu, section 6.  Symbols as in coord/coord.h.
 */
#ifndef DROVE_COORD_METHOD_H
#define DROVE_COORD_METHOD_H

#include "coord/coord.h"
#include "strategy/strategy.h"

/* How the step size follows the rows n of a (sub-)batch, against the rows r that --lr is meant for:
 * lr, lr sqrt(n / r), lr n / r (section 6.2), the factor at most lr_most.  Unless a spec says
 * otherwise: same where all batches are equal, else sqrt, at most 4 times; the paper's linear
 * throws these networks back (docs/results/heterogeneous.md). */
typedef enum drove_lr_scaling { DROVE_LR_SAME, DROVE_LR_SQRT, DROVE_LR_LINEAR } drove_lr_scaling;

typedef struct drove_method {
    const drove_policy_ops *policy;
    bool   is_mixed; /* else Algorithm 1: the same b for all that do not ask for another */
    double alpha, beta, utilisation; /* as in drove_coord_options */
    bool   by_coordinator; /* updates are applied one after the other, by the coordinator */
    bool   replaces;       /* a device's parameters go over those of all others, as they are */
    bool   tail_as_is;
    drove_lr_scaling lr;
    double           lr_most;
} drove_method;

/* spec: "hogbatch", "hogbatch:mixed?update=coordinator", "adaptive?alpha=2&beta=1".
 * Errors: DROVE_E_ARG (the key, what was expected and found). */
drove_status drove__method_parse(const drove_spec *spec, drove_method *out);

extern const drove_spec_key drove__hogbatch_keys[], drove__adaptive_keys[];

/* What eta is multiplied with for a (sub-)batch of n rows. */
double drove__method_lr_factor(const drove_method *method, size_t n, size_t reference);

/* The rows of the table of strategies. */
extern const drove_sync_ops drove__sync_hogbatch, drove__sync_adaptive;

#endif
