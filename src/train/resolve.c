/* train/resolve.c - see resolve.h. */
#include "train/resolve.h"

#include "base/mem.h"
#include "base/spec.h"
#include "train/registry.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

static const char *const bind_words[] = {/* in the order of drove_bind */
                                         [DROVE_BIND_NONE] = "none",
                                         [DROVE_BIND_COMPACT] = "compact",
                                         [DROVE_BIND_SPREAD] = "spread"};

static drove_status resolve_bind(const char *text, drove_bind *out)
{
    for (unsigned i = 0; i < DROVE_COUNT(bind_words); i++) {
        if (strcmp(bind_words[i], text) != 0) continue;
        *out = (drove_bind)i;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG, "--bind: expected none, compact or spread, found \"%s\"", text);
}

static drove_status resolve_strategy(drove_workers *w)
{
    drove_spec spec;
    DROVE_TRY(drove__spec_parse(w->spec, &spec));
    drove_status status = drove__strategy_find(spec.name, &w->ops);
    drove__spec_fini(&spec);
    return status;
}

drove_status drove__resolve_workers(const drove_options *options, unsigned n_pus,
                                    drove_workers *out)
{
    drove_workers w = {.n_threads = n_pus};
    DROVE_TRY(resolve_bind(options->bind, &w.bind));
    if (strcmp(options->threads, "all") != 0) {
        uint64_t n;
        DROVE_TRY(drove__parse_u64("--threads", options->threads, 1, DROVE_MOST_THREADS, &n));
        w.n_threads = (unsigned)n;
    }
    const char *strategy = options->strategy;
    if (strcmp(strategy, "auto") == 0) strategy = w.n_threads == 1 ? "sequential" : "hogwild";
    snprintf(w.spec, sizeof w.spec, "%s", strategy);
    DROVE_TRY(resolve_strategy(&w));
    w.n_workers = w.ops->needs & DROVE_SYNC_ONE ? 1 : w.n_threads;
    *out = w;
    return DROVE_OK;
}

drove_status drove__save_every_parse(const char *text, drove_save_every *out)
{
    static const struct {
        const char *prefix;
        drove_save_unit unit;
    } counted[] = {{"epochs=", DROVE_SAVE_EPOCHS}, {"seconds=", DROVE_SAVE_SECONDS}};
    drove_save_every every = {.unit = DROVE_SAVE_EVAL};
    if (strcmp(text, "eval") == 0) {
        *out = every;
        return DROVE_OK;
    }
    if (strcmp(text, "never") == 0) {
        every.unit = DROVE_SAVE_NEVER;
        *out = every;
        return DROVE_OK;
    }
    if (strncmp(text, "updates=", 8) == 0) {
        every.unit = DROVE_SAVE_UPDATES;
        DROVE_TRY(
            drove__parse_u64("--save-every updates", text + 8, 1, UINT64_MAX, &every.updates));
        *out = every;
        return DROVE_OK;
    }
    for (size_t i = 0; i < DROVE_COUNT(counted); i++) {
        size_t n = strlen(counted[i].prefix);
        if (strncmp(text, counted[i].prefix, n) != 0) continue;
        char what[40];
        snprintf(what, sizeof what, "--save-every %.*s", (int)n - 1, counted[i].prefix);
        every.unit = counted[i].unit;
        DROVE_TRY(drove__parse_real(what, text + n, DBL_MIN, DBL_MAX, &every.amount));
        *out = every;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG,
                       "--save-every: expected eval, epochs=N, updates=N, seconds=N or "
                       "never, found \"%s\"",
                       text);
}
