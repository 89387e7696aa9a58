/* run/resolve.c - see resolve.h. */
#include "run/resolve.h"

#include "base/mem.h"
#include "base/spec.h"
#include "cluster/ranks_open.h"
#include "engine/linear/precision.h"
#include "model/model.h"
#include "run/registry.h"
#include "run/until.h"
#include "run/workers.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

drove_status drove__one_of(const char *what, const char *text, const char *const *words,
                           size_t n_words, unsigned *out)
{
    char list[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < n_words; i++) {
        if (strcmp(words[i], text) != 0) continue;
        *out = (unsigned)i;
        return DROVE_OK;
    }
    for (size_t i = 0; i < n_words && used < sizeof list; i++) {
        const char *joint = i == 0 ? "" : i + 1 == n_words ? " or " : ", ";
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", joint, words[i]);
    }
    const char *near = drove__nearest(text, words, n_words);
    return drove__fail(DROVE_E_ARG, "%s: expected %s, found \"%.80s\"%s%s%s", what, list, text,
                       near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                       near != NULL ? "\"?" : "");
}

static const char *const bind_words[] = {/* in the order of drove_bind */
                                         [DROVE_BIND_NONE] = "none",
                                         [DROVE_BIND_COMPACT] = "compact",
                                         [DROVE_BIND_SPREAD] = "spread"};

drove_status drove__threads_parse(const char *text, unsigned n_all, unsigned *out)
{
    uint64_t n;
    if (strcmp(text, "all") == 0) {
        *out = n_all;
        return DROVE_OK;
    }
    if (drove__parse_u64("--threads", text, 1, DROVE_MOST_THREADS, &n) == DROVE_OK) {
        *out = (unsigned)n;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG,
                       "--threads: expected a whole number from 1 to %d, or all, found "
                       "\"%.80s\"",
                       DROVE_MOST_THREADS, text);
}

static drove_status resolve_strategy(drove_workers *w)
{
    drove_spec spec;
    DROVE_TRY(drove__spec_parse(w->spec, &spec));
    drove_status status = drove__strategy_find(spec.name, &w->ops);
    drove__spec_fini(&spec);
    return status;
}

/* Workers that --partition asks for; how many auto means is known when the data are. */
static unsigned groups_of(const char *partition)
{
    uint64_t n;
    bool is_number =
        drove__parse_u64("--partition", partition, 1, DROVE_MOST_THREADS, &n) == DROVE_OK;
    return is_number ? (unsigned)n : 1;
}

static const char procs_word[] = "procs";

bool drove__workers_are_procs(const char *workers)
{
    const size_t n = sizeof procs_word - 1;
    return strncmp(workers, procs_word, n) == 0 && (workers[n] == '\0' || workers[n] == ':');
}

drove_status drove__procs_parse(const char *workers, unsigned n_all, unsigned *out)
{
    const char *count = workers + sizeof procs_word - 1;
    uint64_t n;
    if (*count == '\0' || strcmp(count, ":all") == 0) {
        *out = n_all;
        return DROVE_OK;
    }
    if (drove__parse_u64("--workers", count + 1, 1, DROVE_MOST_PROCS, &n) == DROVE_OK) {
        *out = (unsigned)n;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG,
                       "--workers: expected procs:N, N from 1 to %d or all, found \"%.80s\"",
                       DROVE_MOST_PROCS, workers);
}

/* May the strategy's workers be processes? */
static bool allows_procs(const drove_sync_ops *ops)
{
    return (ops->promises & DROVE_SYNC_PROCS) != 0 || (ops->needs & DROVE_SYNC_SPREAD) != 0;
}

static drove_status check_procs(const drove_workers *w, const char *workers, const char *threads)
{
    char names[512] = "";
    size_t used = 0;
    if (strcmp(threads, "all") != 0 && strcmp(threads, "1") != 0)
        return drove__fail(DROVE_E_ARG,
                           "--threads %.80s: expected 1 or none beside --workers %s, whose "
                           "processes have one thread each",
                           threads, workers);
    if (allows_procs(w->ops)) return DROVE_OK;
    for (size_t i = 0; drove__strategies[i] != NULL && used < sizeof names; i++) {
        if (!allows_procs(drove__strategies[i])) continue;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                                 drove__strategies[i]->name);
    }
    return drove__fail(DROVE_E_ARG,
                       "--workers %s: expected a --strategy whose workers may be processes (%s), "
                       "found %s",
                       workers, names, w->spec);
}

drove_status drove__resolve_workers(const drove_options *options, unsigned n_pus,
                                    drove_workers *out)
{
    drove_workers w = {.bind = DROVE_BIND_NONE,
                       .is_procs = drove__workers_are_procs(options->workers)};
    unsigned bind;
    DROVE_TRY(drove__one_of("--bind", options->bind, bind_words, DROVE_COUNT(bind_words), &bind));
    w.bind = (drove_bind)bind;
    DROVE_TRY(drove__threads_parse(options->threads, n_pus, &w.n_threads));
    if (w.is_procs) DROVE_TRY(drove__procs_parse(options->workers, n_pus, &w.n_threads));
    const char *strategy = options->strategy;
    bool has_crew = options->workers[0] != '\0' && !w.is_procs;
    bool has_groups = options->partition[0] != '\0';
    unsigned n_ranks = drove__mpi_launched_ranks();
    if (strcmp(strategy, "auto") == 0)
        strategy = has_groups         ? "allreduce"
                   : has_crew         ? "adaptive"
                   : n_ranks > 1      ? "easgd-sync3"
                   : w.n_threads == 1 ? "sequential"
                                      : "hogwild";
    snprintf(w.spec, sizeof w.spec, "%s", strategy);
    DROVE_TRY(resolve_strategy(&w));
    if (w.is_procs) DROVE_TRY(check_procs(&w, options->workers, options->threads));
    w.n_workers = w.ops->needs & DROVE_SYNC_ONE ? 1 : w.n_threads;
    if (has_groups) w.n_workers = groups_of(options->partition);
    if (n_ranks > 1 && (w.ops->needs & DROVE_SYNC_SPREAD) != 0) w.n_workers = n_ranks;
    bool is_assigned = (w.ops->needs & DROVE_SYNC_ASSIGNED) != 0;
    bool is_devices = (w.ops->needs & DROVE_SYNC_DEVICES) != 0;
    if (has_crew && !is_assigned && !is_devices) {
        return drove__fail(
            DROVE_E_ARG,
            "--workers %s: expected --strategy hogbatch or adaptive, whose batches a "
            "coordinator gives out, or accumulate or tree, whose workers are devices, found %s",
            options->workers, w.spec);
    }
    if (is_assigned || (is_devices && has_crew)) {
        drove_crew_plan plan;
        DROVE_TRY(drove__crew_plan_parse(options->workers, NULL, n_pus, is_devices, &plan));
        w.n_workers = is_devices ? plan.n_groups : has_crew ? plan.n_threads : w.n_threads;
        drove__crew_plan_fini(&plan);
    }
    *out = w;
    return DROVE_OK;
}

bool drove__prefetch_wants_hints(const char *word)
{
    return strcmp(word, "on") == 0 || strcmp(word, "hints") == 0;
}

bool drove__prefetch_wants_hardware_off(const char *word)
{
    return strcmp(word, "off") == 0 || strcmp(word, "hints") == 0;
}

bool drove__names_model_file(const char *model)
{
    static const char ending[] = ".safetensors";
    size_t n = strlen(model), n_ending = sizeof ending - 1;
    return n > n_ending && strcmp(model + n - n_ending, ending) == 0;
}

/* The number after "epochs=" and the like. */
static drove_status parse_amount(drove_save_unit unit, const char *word, const char *value,
                                 drove_save_every *out)
{
    char what[40];
    drove_save_every every = {.unit = unit};
    snprintf(what, sizeof what, "--save-every %s", word);
    if (unit == DROVE_SAVE_UPDATES) {
        DROVE_TRY(drove__parse_u64(what, value, 1, UINT64_MAX, &every.updates));
    } else {
        DROVE_TRY(drove__parse_real(what, value, DBL_MIN, DBL_MAX, &every.amount));
    }
    *out = every;
    return DROVE_OK;
}

drove_status drove__save_every_parse(const char *text, drove_save_every *out)
{
    static const char *const words[] = {/* in the order of drove_save_unit */
                                        [DROVE_SAVE_EVAL] = "eval",
                                        [DROVE_SAVE_EPOCHS] = "epochs",
                                        [DROVE_SAVE_UPDATES] = "updates",
                                        [DROVE_SAVE_SECONDS] = "seconds",
                                        [DROVE_SAVE_NEVER] = "never"};
    static const char *const shown[] = {"eval", "epochs=N", "updates=N", "seconds=N", "never"};
    for (unsigned i = 0; i < DROVE_COUNT(words); i++) {
        size_t n = strlen(words[i]);
        bool is_plain = i == DROVE_SAVE_EVAL || i == DROVE_SAVE_NEVER;
        if (is_plain && strcmp(text, words[i]) == 0) {
            *out = (drove_save_every){.unit = (drove_save_unit)i};
            return DROVE_OK;
        }
        if (!is_plain && strncmp(text, words[i], n) == 0 && text[n] == '=') {
            return parse_amount((drove_save_unit)i, words[i], text + n + 1, out);
        }
    }
    unsigned unused;
    return drove__one_of("--save-every", text, shown, DROVE_COUNT(shown), &unused);
}

bool drove__resolve_is_low(const drove_options *options)
{
    return options->precision[0] != '\0' && !drove__precision_is_exchange(options->precision);
}

const char *drove__resolve_rule(const drove_options *options, unsigned needs)
{
    if (strcmp(options->rule, "auto") != 0) return options->rule;
    if ((needs & DROVE_SYNC_MOMENTUM) != 0) return "momentum:0.9";
    return drove__resolve_is_low(options) ? "sgd" : drove__model_default_rule(options->model);
}

const char *drove__resolve_rule_state(const drove_options *options, unsigned needs)
{
    if (strcmp(options->rule_state, "auto") != 0) return options->rule_state;
    return (needs & DROVE_SYNC_OWN_STATE) != 0 ? "worker" : "shared";
}

double drove__resolve_lr(const drove_options *options, unsigned needs, unsigned n_workers)
{
    const double usual = 0.01;
    if (options->lr > 0.0) return options->lr;
    return (needs & DROVE_SYNC_ELASTIC) == 0 ? usual : usual * (n_workers + 1) / n_workers;
}

/* Networks whose published rule is more than plain SGD were published with a falling step size
 * too: at a constant one their accuracy wavers from epoch to epoch. */
void drove__resolve_schedule(const drove_options *options, char into[DROVE_TEXT_SIZE])
{
    drove_until until;
    bool is_auto = strcmp(options->schedule, "auto") == 0;
    snprintf(into, DROVE_TEXT_SIZE, "%s", is_auto ? "constant" : options->schedule);
    if (!is_auto || strcmp(drove__model_default_rule(options->model), "sgd") == 0) return;
    if (drove__until_parse(options->until, &until) != DROVE_OK || !isfinite(until.epochs)) return;
    snprintf(into, DROVE_TEXT_SIZE, "cosine:%.17g", until.epochs);
}
