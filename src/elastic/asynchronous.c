/* elastic/asynchronous.c - Async EASGD, Async MEASGD, Hogwild EASGD: workers exchange with the
 * centre in the order in which they come.
 *
 * Source: the paper, section 5.1; equations (1), (5), (6), and (2) for the one worker that calls:
 *     W^i += step - alpha (W^i - c)     c += alpha (W^i - c)        in every tau-th step
 *
 *   easgd-async      one RPC at a time
 *   measgd-async     the same by the rule momentum: equations (5) and (6)
 *   easgd-hogwild    several at once, without a lock (races R1, R2 of docs/inside/memory-model.md)
 *
 * ?overlap=1: the RPC with W^i runs while the gradient at W^i is computed.  This needs alpha before
 * the step size: under the default pull, or under a constant schedule.
 */
#include "elastic/central.h"
#include "elastic/typed.h"

static const drove_spec_key keys[] = {
    {"overlap", "0", DROVE_AS_BIT(drove_central, is_early), .help = "exchange while computing"},
    DROVE_SPEC_END,
};

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    if (opt->layout != NULL) return drove__typed_init(s, opt, start);
    const drove_elastic_kind kind = {.vectors = DROVE_ELASTIC_C, .period = 1, .alpha_limit = 1.0};
    drove_central *v = drove__alloc(1, sizeof *v);
    if (v == NULL) return drove__sync_no_memory(s);
    s->impl = v;
    DROVE_TRY(drove__spec_take(opt->spec, keys, v));
    return drove__central_init(s, opt, &kind, start, drove__central_elastic);
}

static const char *const async_variants[] = {"easgd-async", "easgd-async?overlap=1", NULL};
static const char *const momentum_variants[] = {"measgd-async", NULL};
static const char *const hogwild_variants[] = {"easgd-hogwild", NULL};
static const drove_exchange_pattern exclusive[] = {
    {.order = DROVE_EXCHANGE_ARRIVAL, .is_exclusive = true, .has_centre = true},
    {.order = DROVE_EXCHANGE_ARRIVAL,
     .overlap = DROVE_OVERLAP_ALL,
     .is_exclusive = true,
     .has_centre = true},
};
static const drove_exchange_pattern at_once[] = {
    {.order = DROVE_EXCHANGE_ARRIVAL, .has_centre = true}};

enum {
    NEEDS = DROVE_SYNC_DENSE | DROVE_SYNC_SPREAD | DROVE_SYNC_TYPED | DROVE_SYNC_OWN_STATE |
            DROVE_SYNC_MASTER | DROVE_SYNC_ELASTIC,
};

#define ASYNCHRONOUS                                                                               \
    DROVE_CENTRAL, .init = init, .fini = drove__central_fini, .acquire = drove__central_acquire,   \
                   .publish = drove__central_publish, .leave = drove__central_leave,               \
                   .replicas = &drove__central_replicas

const drove_sync_ops drove__sync_easgd_async = {
    ASYNCHRONOUS,
    .name = "easgd-async",
    .help = "Async EASGD: workers exchange with the centre first come, first served; --rho, "
            "--period",
    .source = "You, Buluc, Demmel, SC17, section 5.1",
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_ORDERED,
    .needs = NEEDS,
    .variants = async_variants,
    .keys = keys,
    .exchange_pattern = exclusive,
};

const drove_sync_ops drove__sync_measgd_async = {
    ASYNCHRONOUS,
    .name = "measgd-async",
    .help = "Async MEASGD: the same with the rule momentum",
    .source = "You, Buluc, Demmel, SC17, section 5.1, equations (5) and (6)",
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_ORDERED,
    .needs = NEEDS | DROVE_SYNC_MOMENTUM,
    .variants = momentum_variants,
    .keys = keys,
    .exchange_pattern = exclusive,
};

const drove_sync_ops drove__sync_easgd_hogwild = {
    ASYNCHRONOUS,
    .name = "easgd-hogwild",
    .help = "Hogwild EASGD: several workers exchange with the centre at once, without a lock",
    .source = "You, Buluc, Demmel, SC17, section 5.1",
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_LOCK_FREE,
    .needs = NEEDS | DROVE_SYNC_RACY,
    .variants = hogwild_variants,
    .keys = keys,
    .exchange_pattern = at_once,
};
