/* bench/measure_dmgc.c - drove_dmgc_measure: from a signature and options to a measurement. */
#include "bench/measure.h"

#include "base/cpu.h"
#include "base/locale.h"
#include "base/prefetch.h"
#include "bench/program.h"
#include "engine/linear/precision.h"
#include "engine/linear/rounding.h"
#include "engine/linear/throughput.h"
#include "config/registry.h"
#include "config/words.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LONGEST_S = 3600.0, ASSUMED_DENSITY = 0.03;
static const uint64_t MOST_BATCH = 1 << 20;

/* ---- options ---- */

drove_measure_options drove_measure_options_default(void)
{
    return (drove_measure_options){.strategy = "hogwild",
                                   .rounding = "shared",
                                   .batch = 1,
                                   .prefetch = "on",
                                   .seconds = 0.3,
                                   .n_bytes = (uint64_t)1 << 30};
}

static drove_status set_text(const char **option, const char *value)
{
    *option = value;
    return DROVE_OK;
}

drove_status drove_measure_options_set(drove_measure_options *options, const char *name,
                                       const char *value)
{
    DROVE_IN_C_LOCALE;
    static const char *const names[] = {"strategy", "rounding", "isa",  "batch",
                                        "prefetch", "seconds",  "bytes"};
    if (strcmp(name, "strategy") == 0) return set_text(&options->strategy, value);
    if (strcmp(name, "rounding") == 0) return set_text(&options->rounding, value);
    if (strcmp(name, "isa") == 0) return set_text(&options->isa, value);
    if (strcmp(name, "prefetch") == 0) return set_text(&options->prefetch, value);
    if (strcmp(name, "batch") == 0)
        return drove__parse_u64("--batch", value, 1, MOST_BATCH, &options->batch);
    if (strcmp(name, "seconds") == 0)
        return drove__parse_real("--seconds", value, DBL_MIN, LONGEST_S, &options->seconds);
    if (strcmp(name, "bytes") == 0) return drove__parse_bytes("--bytes", value, &options->n_bytes);
    return drove__fail_unknown("option of a measurement", name, names, DROVE_COUNT(names));
}

/* ---- one measurement ---- */

typedef struct job {
    const drove_measure_options *opt;
    const drove_dmgc_setting *setting;
    drove_precision precision;
    drovek_table kernels;
    drove_topo *topo;
    drove_topo_facts facts;
    int *pu; /* [n_pus] processors of the threads; repeated where they share one */
    size_t n_pus;
} job;

static drove_status run(job *j, drove_measured *out, drove_prefetch_state *hardware)
{
    drove_measure_data *data = NULL;
    drove_prefetch_machine machine = drove__prefetch_machine();

    /* where the threads run */
    unsigned n = (unsigned)j->setting->n_threads;
    drove__topo_facts(j->topo, &j->facts);
    drove_place *place = calloc(n, sizeof *place);
    j->pu = calloc(n, sizeof *j->pu);
    if (place == NULL || j->pu == NULL) {
        free(place);
        return drove__fail_nomem("places of threads", n * sizeof *place);
    }
    drove__topo_place(j->topo, DROVE_BIND_COMPACT, n, place);
    for (unsigned i = 0; i < n; i++) j->pu[i] = place[i].pu;
    j->n_pus = n;
    drove__topo_spread_memory(j->topo, place, n);
    free(place);

    const drove_dmgc_setting *s = j->setting;
    drove_measure_shape shape =
        (drove_measure_shape){.number = j->precision.data,
                              .index_bits = j->precision.index_bits,
                              .n_features = (size_t)s->n_features,
                              .density = s->density > 0.0 ? s->density : ASSUMED_DENSITY,
                              .n_bytes = j->opt->n_bytes,
                              .seed = 1};

    /* A machine that has to swap would measure its disk; places of sparse numbers have 32 bits. */
    const double model = (double)shape.n_features * drove__number_bits(j->precision.model) / 8.0;
    const double n_bytes = drove__measure_bytes(&shape) + model;
    const double most = 0.75 * (double)j->facts.memory_bytes;
    if (shape.index_bits != 0 && shape.n_features > UINT32_MAX)
        return drove__fail(DROVE_E_ARG, "measuring: expected at most %u sparse features, found %zu",
                           UINT32_MAX, shape.n_features);
    if (n_bytes > most)
        return drove__fail(DROVE_E_ARG,
                           "measuring: expected examples and a model of at most three quarters of "
                           "this machine's memory (%.4g GiB), found %.4g GiB",
                           most / 0x1p30, n_bytes / 0x1p30);

    /* one run, with the processor's own prefetchers as asked for */
    const bool off = drove__prefetch_wants_hardware_off(j->opt->prefetch);
    drove_spec spec;
    drove_measure_job opt = {.topo = j->topo,
                             .bind = DROVE_BIND_COMPACT,
                             .kernels = &j->kernels,
                             .spec = &spec,
                             .n_threads = n,
                             .precision = j->precision.text,
                             .rounding = j->opt->rounding,
                             .batch = (size_t)j->opt->batch,
                             .hints = drove__prefetch_wants_hints(j->opt->prefetch),
                             .seconds = j->opt->seconds};
    DROVE_TRY(drove__spec_parse(j->opt->strategy, &spec));
    drove_status status = drove__plan_strategy(&drove__plan_registry, spec.name, &opt.sync);
    if (status != DROVE_OK) goto fail;
    if ((status = drove__measure_data_create(&shape, &data)) != DROVE_OK) goto fail;
    if (off) status = drove__prefetch_hold_off(&machine, j->pu, j->n_pus);
    if (status != DROVE_OK) goto fail;
    *hardware = drove__prefetch_look(&machine, j->pu, j->n_pus);
    status = drove__measure(data, &opt, out);
    if (off) (void)drove__prefetch_release(NULL);

fail:
    drove__measure_data_destroy(data);
    drove__spec_fini(&spec);
    return status;
}

drove_status drove_dmgc_measure(const drove_dmgc *signature, const drove_dmgc_setting *setting,
                                const drove_measure_options *options, drove_measurement *out)
{
    DROVE_IN_C_LOCALE;
    drove_measure_options o = options != NULL ? *options : drove_measure_options_default();
    job j = {.opt = &o, .setting = setting};
    drove_measured measured;
    drove_prefetch_state hardware = DROVE_PREFETCH_UNKNOWN;
    bool is_sparse;
    char text[DROVE_DMGC_TEXT_SIZE];
    const char *cap = o.isa;

    static const char *const words[] = {"on", "hardware", "hints", "off"};
    unsigned unused;
    if (!(o.batch >= 1 && o.batch <= MOST_BATCH))
        return drove__fail(DROVE_E_ARG, "batch: expected 1 to %llu, found %llu",
                           (unsigned long long)MOST_BATCH, (unsigned long long)o.batch);
    if (!(o.seconds > 0.0 && o.seconds <= LONGEST_S))
        return drove__fail(DROVE_E_ARG,
                           "seconds: expected a number above 0 and of at most %g, found %g",
                           LONGEST_S, o.seconds);
    DROVE_TRY(drove__one_of("--prefetch", o.prefetch, words, DROVE_COUNT(words), &unused));

    DROVE_TRY(drove__throughput_is_sparse(signature, j.setting, &is_sparse));
    DROVE_TRY(drove_dmgc_print(signature, text));
    DROVE_TRY(drove__precision_resolve(text, is_sparse, &j.precision));
    if (cap != NULL && (cap[0] == '\0' || strcmp(cap, "auto") == 0)) cap = NULL;
    DROVE_TRY(drovek_select(&j.kernels, drove__cpu_features(), cap));
    DROVE_TRY(drove__topo_create(NULL, &j.topo));
    drove_status status = run(&j, &measured, &hardware);
    drove__topo_spread_memory(j.topo, NULL, 0);
    free(j.pu);
    drove__topo_destroy(j.topo);
    if (status == DROVE_OK) {
        *out =
            (drove_measurement){.gnps = measured.gnps,
                                .gnps_median = measured.gnps_median,
                                .gb_per_s = measured.gnps * measured.bytes_per_number,
                                .read_gb_per_s = measured.read_gb_per_s,
                                .steps_per_s = measured.gnps * 1e9 / measured.numbers_per_example /
                                               (double)j.opt->batch,
                                .bytes_per_number = measured.bytes_per_number,
                                .n_bytes = measured.n_bytes,
                                .n_examples = measured.n_rows,
                                .n_windows = measured.n_windows,
                                .n_undisturbed = measured.n_undisturbed};
        snprintf(out->isa, sizeof out->isa, "%s", j.kernels.isa);
        snprintf(out->hardware_prefetch, sizeof out->hardware_prefetch, "%s",
                 drove__prefetch_state_name(hardware));
    }
    return status;
}
