/* bench/bench.c - drove_bench: the benchmarks, options, the keys that all of them have, text or
 * JSON. */
#include "bench/bench.h"

#include "bench/caches.h"

#include "about/list.h"
#include "base/cpu.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/spec.h"
#include "report/json.h"
#include "config/registry.h"
#include "config/resolve.h"

#include <drove/version.h>

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT_DIGITS = 6 };
static const double LONGEST_S = 3600.0;

/* ---- the benchmarks ---- */

const drove_bench_ops *const drove__benches[] = {
    &drove__bench_memory,    &drove__bench_linear,
    &drove__bench_calibrate, &drove__bench_accumulate,
    &drove__bench_elastic,   &drove__bench_obstinate,
    &drove__bench_limits,    NULL,
};

static bool bench_at(size_t i, drove_named *out)
{
    const drove_bench_ops *ops = drove__benches[i];
    if (ops == NULL) return false;
    *out = (drove_named){.name = ops->name, .help = ops->help, .source = ops->source};
    return true;
}

void drove_bench_list(void)
{
    drove__list_add((drove_list_more){
        .kind = {.name = "benches", .help = "micro-benchmarks (drove bench)", .source = ""},
        .at = bench_at});
}

/* ---- options ---- */

drove_bench_options drove_bench_options_default(void)
{
    return (drove_bench_options){.n_threads = 0, .seconds = 0.5, .n_bytes = 0};
}

drove_status drove_bench_options_set(drove_bench_options *options, const char *name,
                                     const char *value)
{
    DROVE_IN_C_LOCALE;
    static const char *const names[] = {"threads", "seconds",   "bytes", "out",  "isa",  "model",
                                        "batch",   "signature", "q",     "data", "cores"};
    const struct {
        const char *name, **to;
    } texts[] = {{"out", &options->out},
                 {"isa", &options->isa},
                 {"model", &options->model},
                 {"batch", &options->batch},
                 {"signature", &options->signature},
                 {"q", &options->q},
                 {"data", &options->data}};
    unsigned n_threads;
    if (strcmp(name, "threads") == 0) {
        DROVE_TRY(drove__threads_parse(value, 0, &n_threads));
        options->n_threads = n_threads;
        return DROVE_OK;
    }
    if (strcmp(name, "seconds") == 0) {
        return drove__parse_real("--seconds", value, DBL_MIN, LONGEST_S, &options->seconds);
    }
    if (strcmp(name, "cores") == 0)
        return drove__parse_u64("--cores", value, 1, DROVE_CACHES_MOST_CORES, &options->n_cores);
    if (strcmp(name, "bytes") == 0) return drove__parse_bytes("--bytes", value, &options->n_bytes);
    for (size_t i = 0; i < DROVE_COUNT(texts); i++) {
        if (strcmp(name, texts[i].name) != 0) continue;
        *texts[i].to = value;
        return DROVE_OK;
    }
    return drove__fail_unknown("option of a benchmark", name, names, DROVE_COUNT(names));
}

void drove__bench_progress(const drove_bench_context *context, double fraction, const char *what)
{
    const drove_bench_options *o = context->given;
    if (o->progress != NULL) o->progress(o->context, fraction, what);
}

/* ---- rows of a result ---- */

double drove__bench_number(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

const char *drove__bench_text(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

/* ---- running ---- */

static drove_status run(const drove_bench_ops *ops, const char *isa, drove_bench_context *context,
                        json_t **result)
{
    drove__topo_facts(context->topo, &context->facts);
    if (context->n_threads == 0) context->n_threads = context->facts.n_pus;
    if (context->n_bytes > context->facts.memory_bytes) {
        return drove__fail(DROVE_E_ARG,
                           "--bytes: expected at most this machine's memory, %llu, found %llu",
                           (unsigned long long)context->facts.memory_bytes,
                           (unsigned long long)context->n_bytes);
    }
    DROVE_TRY(drovek_select(&context->kernels, drove__cpu_features(), isa));
    drove__json_set(result, "bench", json_string(ops->name));
    drove__json_set(result, "drove", json_string(DROVE_VERSION));
    drove__json_set(result, "processor", json_string(drove__cpu_model()));
    drove__json_set(result, "n_processors", json_integer(context->facts.n_pus));
    drove__json_set(result, "isa", json_string(context->kernels.isa));
    return ops->run(context, result);
}

drove_status drove_bench(const char *name, const drove_bench_options *options, int as_json,
                         FILE *stream)
{
    DROVE_IN_C_LOCALE;
    enum { MOST = DROVE_COUNT(drove__benches) - 1 };
    drove_bench_options o = options != NULL ? *options : drove_bench_options_default();
    const drove_bench_ops *ops = NULL;
    drove_topo *topo = NULL;

    if (o.isa != NULL && strcmp(o.isa, "auto") == 0) o.isa = NULL;
    if (o.n_threads > DROVE_MOST_THREADS) {
        return drove__fail(DROVE_E_ARG, "threads: expected at most %d, found %llu",
                           DROVE_MOST_THREADS, (unsigned long long)o.n_threads);
    }
    if (!(o.seconds > 0.0 && o.seconds <= LONGEST_S)) {
        return drove__fail(DROVE_E_ARG,
                           "seconds: expected a number above 0 and of at most %g, found %g",
                           LONGEST_S, o.seconds);
    }

    const char *names[MOST], *wanted = name != NULL ? name : "";
    for (size_t i = 0; i < MOST; i++) {
        names[i] = drove__benches[i]->name;
        if (strcmp(names[i], wanted) == 0) ops = drove__benches[i];
    }
    if (ops == NULL) return drove__fail_unknown("benchmark", wanted, names, MOST);

    DROVE_TRY(drove__topo_create(NULL, &topo));
    drove_bench_context context = {.topo = topo,
                                   .n_threads = (unsigned)o.n_threads,
                                   .seconds = o.seconds,
                                   .n_bytes = o.n_bytes,
                                   .out = o.out,
                                   .model = o.model,
                                   .batch = o.batch,
                                   .given = &o};
    json_t *result = json_object();
    drove_status status = result == NULL ? drove__fail_nomem("the result", 1) : DROVE_OK;
    if (status == DROVE_OK) status = run(ops, o.isa, &context, &result);
    drove__bench_progress(&context, 1.0, NULL);
    if (status != DROVE_OK) goto fail;

    if (as_json) {
        char *text = drove__json_dump(result, JSON_INDENT(2) | JSON_REAL_PRECISION(RESULT_DIGITS));
        if (text == NULL) {
            status = drove__fail_nomem("JSON text", 1);
            goto fail;
        }
        fprintf(stream, "%s\n", text);
        free(text);
    } else {
        fprintf(stream, "%s: %s, kernels %s\n", ops->name, drove__bench_text(result, "processor"),
                drove__bench_text(result, "isa"));
        ops->print(result, stream);
    }
    if (fflush(stream) != 0 || ferror(stream))
        status = drove__fail(DROVE_E_IO, "bench: cannot be written");

fail:
    json_decref(result);
    drove__topo_destroy(topo);
    return status;
}
