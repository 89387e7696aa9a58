/* coord/method.c - see method.h. */
#include "coord/method.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char *const modes[] = {"", "mixed", NULL};
static const char *const sides[] = {"worker", "coordinator", NULL};
static const char *const merges[] = {"add", "replace", NULL};
static const char *const scalings[] = {
    [DROVE_LR_SAME] = "same", [DROVE_LR_SQRT] = "sqrt", [DROVE_LR_LINEAR] = "linear", NULL};
static const char *const tails[] = {"fit", "as-is", NULL};

static const drove_spec_key common_keys[] = {
    {"update", "worker", DROVE_AS_EITHER(drove_method, by_coordinator, sides),
     .help = "who makes the updates; the coordinator makes one after the other"},
    {"merge", "add", DROVE_AS_EITHER(drove_method, replaces, merges),
     .help = "what a device gives back: its step, or its parameters as they are"},
    {"lr", NULL, DROVE_AS_WORD(drove_method, lr, scalings),
     .help = "how the step size follows the batch; without it same for equal batches, else sqrt"},
    {"tail", "fit", DROVE_AS_EITHER(drove_method, tail_as_is, tails),
     .help = "batches at the end of an epoch: of all that is left, or cut short"},
    {"lr_most", "4", DROVE_AS_REAL(drove_method, lr_most, DBL_MIN, DBL_MAX),
     .help = "most that the step size is multiplied with"},
    DROVE_SPEC_END,
};
const drove_spec_key drove__hogbatch_keys[] = {
    {"MODE", "", DROVE_AS_EITHER(drove_method, is_mixed, modes), .is_argument = true,
     .help = "mixed: one example a core, large batches for devices"},
    DROVE_SPEC_KEYS_TOO(common_keys),
    DROVE_SPEC_END,
};
const drove_spec_key drove__adaptive_keys[] = {
    {"alpha", "2", DROVE_AS_REAL(drove_method, alpha, DBL_MIN, 1e6),
     .help = "what a batch is multiplied with or divided by, above 1"},
    {"beta", "1", DROVE_AS_REAL(drove_method, beta, 0.0, 1.0),
     .help = "part of the updates of cores that is counted"},
    {"utilisation", "0", DROVE_AS_REAL(drove_method, utilisation, 0.0, 1.0),
     .help = "least share of its best speed that a worker is brought to; 0: no bound"},
    DROVE_SPEC_KEYS_TOO(common_keys),
    DROVE_SPEC_END,
};

drove_status drove__method_parse(const drove_spec *spec, drove_method *out)
{
    const bool is_adaptive = strcmp(spec->name, "adaptive") == 0;
    drove_method m = {.policy = is_adaptive ? &drove__policy_adaptive : &drove__policy_fixed,
                      .is_mixed = is_adaptive,
                      .alpha = 2.0,
                      .beta = 1.0,
                      .lr = is_adaptive || spec->n_args > 0 ? DROVE_LR_SQRT : DROVE_LR_SAME};
    DROVE_TRY(
        drove__spec_read(spec, is_adaptive ? drove__adaptive_keys : drove__hogbatch_keys, &m));
    if (is_adaptive && !(m.alpha > 1.0))
        return drove__fail(DROVE_E_ARG, "adaptive?alpha: expected a number above 1, found %g",
                           m.alpha);
    *out = m;
    return DROVE_OK;
}

double drove__method_lr_factor(const drove_method *method, size_t n, size_t reference)
{
    double ratio = (double)n / (double)reference;
    switch (method->lr) {
    case DROVE_LR_SAME: return 1.0;
    case DROVE_LR_SQRT: return fmin(sqrt(ratio), method->lr_most);
    case DROVE_LR_LINEAR: break;
    }
    return fmin(ratio, method->lr_most);
}
