/* config/exchange.c - see exchange.h. */
#include "config/exchange.h"

#include "base/mem.h"
#include "base/spec.h"
#include "elastic/elastic.h"
#include "engine/linear/precision.h"
#include "config/registry.h"
#include "config/resolve.h"

#include <stdio.h>
#include <string.h>

void drove__exchange_options(const drove_config *config, drove_sync_options *out)
{
    const char *precision = config->low.precision;
    out->period = config->exchange.period;
    out->rho = config->exchange.rho;
    out->by_layer = config->exchange.by_layer;
    out->wire_format = drove__precision_has_exchange(precision) ? precision : NULL;
}

/* A number, or auto. */
static drove_status check_count(const char *flag, const char *text, uint64_t most)
{
    uint64_t unused;
    if (text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0) return DROVE_OK;
    if (drove__parse_u64(flag, text, 1, most, &unused) == DROVE_OK) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "%s: expected a whole number from 1 to %llu, or auto, found \"%.80s\"", flag,
                       (unsigned long long)most, text);
}

drove_status drove__partition_check(const char *text)
{
    return check_count("--partition", text, DROVE_MOST_THREADS);
}

/* Options that say something only of exchanges. */
static drove_status check_unused(const drove_config *config, const drove_plan *w)
{
    char value[DROVE_TEXT_SIZE], names[512] = "";
    const struct {
        const char *name, *flag;
        bool is_given;
    } option[] = {
        {"period", "--period", config->exchange.period != NULL},
        {"rho", "--rho", config->exchange.rho != 0.0},
        {"messages", "--messages", config->exchange.by_layer},
        {"precision", "--precision", drove__precision_has_exchange(config->low.precision)},
    };
    for (size_t i = 0; i < DROVE_COUNT(option); i++) {
        if (!option[i].is_given) continue;
        size_t used = 0;
        for (size_t k = 0; drove__strategies[k] != NULL && used < sizeof names; k++)
            if ((drove__strategies[k]->needs & DROVE_SYNC_SPREAD) != 0)
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                         used > 0 ? ", " : "", drove__strategies[k]->name);
        return drove__fail(DROVE_E_ARG,
                           "%s %.80s: expected a --strategy whose workers exchange parameters "
                           "(%s), found %s",
                           option[i].flag, drove__config_text(config, option[i].name, value), names,
                           w->spec);
    }
    return DROVE_OK;
}

static bool is_momentum(const char *rule)
{
    static const char name[] = "momentum";
    const size_t n = sizeof name - 1;
    return strncmp(rule, name, n) == 0 && (rule[n] == '\0' || rule[n] == ':' || rule[n] == '?');
}

drove_status drove__exchange_check(const drove_config *config, const drove_plan *plan)
{
    unsigned needs = plan->ops->needs;
    const char *rule = drove__resolve_rule(config, needs, "adam");
    DROVE_TRY(check_count("--period", config->exchange.period, DROVE_MOST_PERIOD));
    if ((needs & DROVE_SYNC_SPREAD) == 0) return check_unused(config, plan);
    if ((needs & DROVE_SYNC_MOMENTUM) != 0 && !is_momentum(rule)) {
        return drove__fail(DROVE_E_ARG,
                           "--rule %s: expected momentum:MU, which --strategy %s stands for", rule,
                           plan->spec);
    }
    if ((needs & DROVE_SYNC_OWN_STATE) != 0 &&
        config->method.rule_state == DROVE_RULE_STATE_SHARED) {
        return drove__fail(DROVE_E_ARG,
                           "--rule-state shared: expected worker or auto, as each worker of "
                           "--strategy %s keeps its own",
                           plan->spec);
    }
    return DROVE_OK;
}
