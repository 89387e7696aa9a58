/* config/registry.c - the only list of strategies and engines, and one walk over every
 * registry, wherever it lives.
 *
 * A new strategy is its file in sync/ and one line of STRATEGIES; the help, the completion, the
 * tests and the benchmarks walk the list and have it at once.
 */
#include "config/registry.h"

#include "base/mem.h"
#include "cluster/messages.h"
#include "coord/assigned.h"
#include "data/data.h"
#include "engine/device.h"
#include "engine/features.h"
#include "engine/fixed/engine.h"
#include "engine/linear/problem.h"
#include "kernel/kernel.h"
#include "loop/host.h"
#include "loop/sources.h"
#include "model/layer.h"
#include "model/loss.h"
#include "model/model.h"
#include "optim/optim.h"

#include <stdlib.h>
#include <string.h>

#define STRATEGIES(X)                                                                              \
    X(sync_sequential)                                                                             \
    X(sync_sync)                                                                                   \
    X(sync_ssp)                                                                                    \
    X(sync_softsync)                                                                               \
    X(sync_mutex)                                                                                  \
    X(sync_rwlock)                                                                                 \
    X(sync_hogwild)                                                                                \
    X(sync_replicas)                                                                               \
    X(sync_leashed)                                                                                \
    X(sync_hogbatch)                                                                               \
    X(sync_adaptive)                                                                               \
    X(accum_accumulate)                                                                            \
    X(accum_tree)                                                                                  \
    X(sync_easgd)                                                                                  \
    X(sync_easgd_async)                                                                            \
    X(sync_measgd_async)                                                                           \
    X(sync_easgd_hogwild)                                                                          \
    X(sync_easgd_sync1)                                                                            \
    X(sync_easgd_sync2)                                                                            \
    X(sync_easgd_sync3)                                                                            \
    X(sync_psgd_async)                                                                             \
    X(sync_pmsgd_async)                                                                            \
    X(sync_psgd_hogwild)                                                                           \
    X(sync_allreduce)                                                                              \
    X(sync_local)                                                                                  \
    X(sync_diloco)

#define X(name) extern const drove_sync_ops drove__##name;
STRATEGIES(X)
#undef X

const drove_sync_ops *const drove__strategies[] = {
#define X(name) &drove__##name,
    STRATEGIES(X)
#undef X
        NULL,
};

#define SOURCES(X) X(claimed) X(rounds) X(assigned) X(requested)

#define X(name) extern const drove_source_ops drove__source_##name;
SOURCES(X)
#undef X

const drove_source_ops *const drove__sources[] = {
#define X(name) &drove__source_##name,
    SOURCES(X)
#undef X
        NULL,
};

const drove_plan_tables drove__plan_registry = {drove__strategies, drove__sources};

const drove_engine_ops *const drove__engines[] = {
    &drove__engine_host,
    &drove__engine_linear,
    &drove__engine_fixed,
    NULL,
};

/* ---- one entry of each registry; i is below the number of entries or equal to it ---- */

static bool strategy_at(size_t i, drove_named *out)
{
    const drove_sync_ops *ops = drove__strategies[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, ops->keys};
    return true;
}

static bool source_at(size_t i, drove_named *out)
{
    const drove_source_ops *ops = drove__sources[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, NULL};
    return true;
}

static bool host_at(size_t i, drove_named *out)
{
    static const drove_host_ops *const all[] = {&drove__host_threads, &drove__host_procs};
    static const char *const files[] = {"src/loop/threads.c", "src/loop/procs.c"};
    if (i >= DROVE_COUNT(all)) return false;
    *out = (drove_named){all[i]->name, all[i]->help, files[i], NULL};
    return true;
}

static bool transport_at(size_t i, drove_named *out)
{
    static const drove_transport_ops *const all[] = {&drove__transport_threads,
                                                     &drove__transport_procs,
                                                     &drove__transport_mpi_ops};
    if (i >= DROVE_COUNT(all)) return false;
    *out = (drove_named){all[i]->name, all[i]->help, all[i]->source, NULL};
    return true;
}

static bool rule_at(size_t i, drove_named *out)
{
    const drove_rule_ops *ops = drove__rules[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, ops->keys};
    return true;
}

static bool schedule_at(size_t i, drove_named *out)
{
    const drove_schedule_ops *ops = drove__schedules[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, ops->keys};
    return true;
}

static bool model_at(size_t i, drove_named *out)
{
    const drove_model_ops *ops = drove__models[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, ops->keys};
    return true;
}

static bool layer_at(size_t i, drove_named *out)
{
    const drove_layer_ops *ops = drove__layer_kinds[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, NULL};
    return true;
}

static bool activation_at(size_t i, drove_named *out)
{
    const drove_activation *activation = &drove__activations[i];
    if (activation->name == NULL) return false;
    *out = (drove_named){activation->name, activation->help, activation->source, NULL};
    return true;
}

static bool init_at(size_t i, drove_named *out)
{
    const drove_init_ops *ops = drove__inits[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, ops->keys};
    return true;
}

static bool loss_at(size_t i, drove_named *out)
{
    const drove_loss_ops *ops = drove__losses[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, NULL};
    return true;
}

static bool format_at(size_t i, drove_named *out)
{
    const drove_format_ops *ops = drove__formats[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, ops->keys};
    return true;
}

static bool backoff_at(size_t i, drove_named *out)
{
    if (drove__backoffs[i].name == NULL) return false;
    *out = drove__backoffs[i];
    return true;
}

static bool feature_map_at(size_t i, drove_named *out)
{
    const drove_feature_ops *ops = drove__feature_maps[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, ops->keys};
    return true;
}

static bool engine_at(size_t i, drove_named *out)
{
    const drove_engine_ops *ops = drove__engines[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, NULL};
    return true;
}

static bool device_at(size_t i, drove_named *out)
{
    const drove_device_kind *kind = drove__device_kinds[i];
    if (kind == NULL) return false;
    *out = (drove_named){kind->name, kind->help, kind->source, kind->keys};
    return true;
}

static bool rounding_at(size_t i, drove_named *out)
{
    const drove_rounding_ops *ops = drove__roundings[i];
    if (ops == NULL) return false;
    *out = (drove_named){ops->name, ops->help, ops->source, ops->keys};
    return true;
}

static bool tier_at(size_t i, drove_named *out)
{
    const char *name = drovek_tiers()[i];
    if (name == NULL) return false;
    *out = (drove_named){name, i == 0 ? "plain C, on every processor" : "vector instructions",
                         "src/kernel/dispatch.c", NULL};
    return true;
}

typedef bool entry_at_fn(size_t i, drove_named *out);

static const struct kind {
    const char *name, *help;
    entry_at_fn *at;
} kinds[] = {
    {"strategies", "how workers share the model (--strategy)", strategy_at},
    {"sources", "which worker gets which batch; a strategy names its own", source_at},
    {"hosts", "how workers run", host_at},
    {"transports", "how workers exchange that have parameters of their own", transport_at},
    {"rules", "how a gradient becomes a step (--rule)", rule_at},
    {"schedules", "factors of the step size (--schedule)", schedule_at},
    {"models", "what is trained (--model)", model_at},
    {"layers", "types of layers in files that describe a network", layer_at},
    {"activations", "of hidden layers (--activation)", activation_at},
    {"inits", "first parameters (--init)", init_at},
    {"losses", "objective functions (--loss)", loss_at},
    {"data", "formats and generators of data sets (--data, --test)", format_at},
    {"features", "maps of the inputs to new features (--features)", feature_map_at},
    {"backoffs", "waiting after a failed attempt (--backoff)", backoff_at},
    {"engines", "devices and kernels that compute gradients", engine_at},
    {"devices", "what a worker can compute on; drove info lists those of this machine", device_at},
    {"roundings", "how low-precision parameters are written (--rounding)", rounding_at},
    {"tiers", "kernels by instruction set, the slowest first (--isa)", tier_at},
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < DROVE_COUNT(kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    }
    return NULL;
}

bool drove__registry_kind(size_t i, drove_named *out)
{
    if (i >= DROVE_COUNT(kinds)) return false;
    *out = (drove_named){kinds[i].name, kinds[i].help, "", NULL};
    return true;
}

bool drove__registry_at(const char *kind, size_t i, drove_named *out)
{
    const struct kind *k = find_kind(kind);
    drove_named before; /* an entry behind the end may not be asked for */
    for (size_t n = 0; k != NULL && n < i; n++)
        if (!k->at(n, &before)) return false;
    return k != NULL && k->at(i, out);
}

/* ---- looking a name up ---- */

enum { MOST_NAMES = 64 };

drove_status drove__registry_check(const char *kind, const char *what, const char *name)
{
    const struct kind *k = find_kind(kind);
    drove_named entry;
    for (size_t i = 0; k->at(i, &entry); i++) {
        if (strcmp(entry.name, name) == 0) return DROVE_OK;
    }
    const char *names[MOST_NAMES];
    size_t n_names = 0;
    for (drove_named other; n_names < MOST_NAMES && k->at(n_names, &other);) {
        names[n_names++] = other.name;
    }
    return drove__fail_unknown(what, name, names, n_names);
}
