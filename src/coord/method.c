/* coord/method.c - see method.h. */
#include "coord/method.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char *const sides[] = {"worker", "coordinator"};
static const char *const merges[] = {"add", "replace"};
static const char *const scalings[] = {/* in the order of drove_lr_scaling */
                                       [DROVE_LR_SAME] = "same",
                                       [DROVE_LR_SQRT] = "sqrt",
                                       [DROVE_LR_LINEAR] = "linear"};
static const char *const tails[] = {"fit", "as-is"};

static drove_status parse_common(const drove_spec *spec, drove_method *m)
{
    unsigned side = 0, merge = 0, scaling = m->is_equal ? DROVE_LR_SAME : DROVE_LR_SQRT, tail = 0;
    DROVE_TRY(drove__spec_word(spec, "update", sides, DROVE_COUNT(sides), &side));
    DROVE_TRY(drove__spec_word(spec, "merge", merges, DROVE_COUNT(merges), &merge));
    DROVE_TRY(drove__spec_word(spec, "lr", scalings, DROVE_COUNT(scalings), &scaling));
    DROVE_TRY(drove__spec_word(spec, "tail", tails, DROVE_COUNT(tails), &tail));
    DROVE_TRY(drove__spec_real(spec, "lr_most", DBL_MIN, DBL_MAX, &m->lr_most));
    m->by_coordinator = side == 1;
    m->replaces = merge == 1;
    m->lr = (drove_lr_scaling)scaling;
    m->fit_tail = tail == 0;
    return DROVE_OK;
}

static drove_status parse_hogbatch(const drove_spec *spec, drove_method *m)
{
    static const char *const keys[] = {"update", "merge", "lr", "lr_most", "tail", NULL};
    DROVE_TRY(drove__spec_check(spec, 1, keys));
    m->policy = &drove__policy_fixed;
    m->is_equal = spec->n_args == 0;
    if (spec->n_args == 1 && strcmp(spec->arg[0], "mixed") != 0) {
        return drove__fail(DROVE_E_ARG,
                           "hogbatch: expected hogbatch or hogbatch:mixed, found \"%s\"",
                           spec->arg[0]);
    }
    return parse_common(spec, m);
}

static drove_status parse_adaptive(const drove_spec *spec, drove_method *m)
{
    static const char *const keys[] = {"alpha", "beta",    "utilisation", "update", "merge",
                                       "lr",    "lr_most", "tail",        NULL};
    DROVE_TRY(drove__spec_check(spec, 0, keys));
    m->policy = &drove__policy_adaptive;
    DROVE_TRY(drove__spec_real(spec, "alpha", DBL_MIN, 1e6, &m->alpha));
    if (!(m->alpha > 1.0))
        return drove__fail(DROVE_E_ARG, "adaptive?alpha: expected a number above 1, found %g",
                           m->alpha);
    DROVE_TRY(drove__spec_real(spec, "beta", 0.0, 1.0, &m->beta));
    DROVE_TRY(drove__spec_real(spec, "utilisation", 0.0, 1.0, &m->utilisation));
    return parse_common(spec, m);
}

drove_status drove__method_parse(const drove_spec *spec, drove_method *out)
{
    drove_method m = {.alpha = 2.0, .beta = 1.0, .lr_most = 4.0};
    DROVE_TRY(strcmp(spec->name, "adaptive") == 0 ? parse_adaptive(spec, &m)
                                                  : parse_hogbatch(spec, &m));
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
