/* cli/cmd_dmgc.c - drove dmgc SIGNATURE: the signature in words, its throughput as predicted and as
 * measured. */
#include "cli.h"

#include "bench/program.h"

static const char *const class_name[DROVE_DMGC_CLASSES] = {
    [DROVE_DMGC_DATASET] = "dataset",
    [DROVE_DMGC_INDEX] = "index",
    [DROVE_DMGC_MODEL] = "model",
    [DROVE_DMGC_GRADIENT] = "gradient",
    [DROVE_DMGC_COMMUNICATION] = "communication",
};

typedef struct answer {
    drove_dmgc signature;
    char text[DROVE_DMGC_TEXT_SIZE];
    char line[DROVE_DMGC_CLASSES][DROVE_DMGC_LINE_SIZE]; /* [class] in words */
    drove_dmgc_setting setting;
    bool has_prediction;
    drove_dmgc_prediction prediction;
    char reason[512]; /* why there is no prediction */
    drove_throughput *constants;
    const char *stray; /* an option of measuring, given without --measure */
    bool has_measurement;
    drove_measure_options options;
    drove_measurement measurement;
} answer;

/* ---- asking the library ---- */

static drove_status predict(const cli_args *args, answer *a)
{
    static const char *const names[] = {"features", "threads", "sparse"};
    bool is_asked_for = cli_args_has(args, "constants");
    drove_status status =
        drove_throughput_open(cli_args_get(args, "constants", NULL), &a->constants);
    if (status != DROVE_OK) return status;
    a->setting = drove_dmgc_setting_default();
    a->setting.constants = a->constants;
    for (size_t i = 0; i < CLI_COUNT(names); i++) {
        const char *value = cli_args_get(args, names[i], NULL);
        if (value == NULL) continue;
        status = drove_dmgc_setting_set(&a->setting, names[i], value);
        if (status != DROVE_OK) return status;
        is_asked_for = true;
    }
    if (cli_args_has(args, "measure")) is_asked_for = false; /* the measurement can stand alone */
    status = drove_dmgc_predict(&a->signature, &a->setting, &a->prediction);
    a->has_prediction = status == DROVE_OK;
    if (status != DROVE_E_UNSUPPORTED || is_asked_for) return status;
    snprintf(a->reason, sizeof a->reason, "%s", drove_error_text());
    return DROVE_OK;
}

static drove_status measure(const cli_args *args, answer *a)
{
    static const char *const names[] = {"strategy", "rounding", "isa",  "batch",
                                        "prefetch", "seconds",  "bytes"};
    drove_status status = DROVE_OK;
    const char *stray = NULL;
    a->options = drove_measure_options_default();
    for (size_t i = 0; i < CLI_COUNT(names) && status == DROVE_OK; i++) {
        const char *value = cli_args_get(args, names[i], NULL);
        if (value == NULL) continue;
        stray = names[i];
        status = drove_measure_options_set(&a->options, names[i], value);
    }
    if (status != DROVE_OK) return status;
    a->has_measurement = cli_args_has(args, "measure");
    if (a->has_measurement)
        return drove_dmgc_measure(&a->signature, &a->setting, &a->options, &a->measurement);
    a->stray = stray;
    return DROVE_OK;
}

/* ---- for people ---- */

static void print_text(const answer *a)
{
    printf("%-15s%s\n", "signature", a->text);
    for (int c = 0; c < DROVE_DMGC_CLASSES; c++) printf("%-15s%s\n", class_name[c], a->line[c]);
    printf("%-15s%s\n", "family", drove_dmgc_family(&a->signature));

    size_t n;
    const drove_dmgc_system *system = drove_dmgc_systems(&n);
    const char *title = "the same as";
    for (size_t i = 0; i < n; i++) {
        if (!drove_dmgc_is_system(&a->signature, &system[i])) continue;
        printf("%-15s%s (%s)\n", title, system[i].name, system[i].source);
        title = "";
    }

    if (a->has_prediction) {
        const drove_dmgc_prediction *p = &a->prediction;
        printf("%-15s%.4g GNPS, %s, %llu features, %llu thread%s\n", "prediction", p->gnps,
               p->is_sparse ? "sparse" : "dense", (unsigned long long)a->setting.n_features,
               (unsigned long long)a->setting.n_threads, a->setting.n_threads == 1 ? "" : "s");
        printf("%-15s%s: the parallelizable fraction p is %.4g", "bound",
               p->is_bandwidth_bound ? "bandwidth-bound" : "communication-bound",
               p->parallel_fraction);
        if (p->is_bandwidth_bound) puts(", its largest");
        else printf(", below %.4g\n", p->most_fraction);
        printf("%-15s%.4g GNPS with one thread (T1)\n", "base", p->base_gnps);
        printf("%-15s%g byte%s per dataset number\n", "data", p->bytes_per_number,
               p->bytes_per_number == 1.0 ? "" : "s");
        printf("%-15s%s\n", "constants", p->source);
    } else {
        printf("%-15snone: %s\n", "prediction", a->reason);
    }

    if (a->has_measurement) {
        const drove_measurement *m = &a->measurement;
        printf("%-15s%.4g GNPS", "measured", m->gnps);
        if (a->has_prediction) printf(", %.2f of the prediction", m->gnps / a->prediction.gnps);
        printf("; %s, kernels %s\n", a->options.strategy, m->isa);
        printf("%-15s%.4g GB/s, %.2f of the %.4g GB/s that reading alone reaches\n", "bandwidth",
               m->gb_per_s, m->gb_per_s / m->read_gb_per_s, m->read_gb_per_s);
        printf("%-15s%.4g a second, each of %llu example%s; %.4g GiB of examples\n", "steps",
               m->steps_per_s, (unsigned long long)a->options.batch,
               a->options.batch == 1 ? "" : "s", (double)m->n_bytes / 0x1p30);
        if (m->n_undisturbed == 0)
            printf("%-15sthe machine was busy: no window of %u was undisturbed\n", "note",
                   m->n_windows);
    }
}

/* ---- JSON ---- */

static void print_prediction_json(const answer *a)
{
    const drove_dmgc_prediction *p = &a->prediction;
    if (!a->has_prediction) {
        fputs(", \"prediction\": null, \"reason\": ", stdout);
        cli_json_string(a->reason, stdout);
        return;
    }
    fputs(", \"prediction\": {\"gnps\": ", stdout);
    cli_json_real(p->gnps, stdout);
    fputs(", \"base_gnps\": ", stdout);
    cli_json_real(p->base_gnps, stdout);
    fputs(", \"parallel_fraction\": ", stdout);
    cli_json_real(p->parallel_fraction, stdout);
    fputs(", \"bytes_per_number\": ", stdout);
    cli_json_real(p->bytes_per_number, stdout);
    printf(", \"features\": %llu, \"threads\": %llu, \"sparse\": %s, \"bound\": \"%s\"",
           (unsigned long long)a->setting.n_features, (unsigned long long)a->setting.n_threads,
           p->is_sparse ? "true" : "false", p->is_bandwidth_bound ? "bandwidth" : "communication");
    fputs(", \"constants\": ", stdout);
    cli_json_string(p->source, stdout);
    fputs("}, \"reason\": null", stdout);
}

static void print_real_json(const char *key, double value)
{
    printf(", \"%s\": ", key);
    cli_json_real(value, stdout);
}

static void print_text_json(const char *key, const char *value)
{
    printf(", \"%s\": ", key);
    cli_json_string(value, stdout);
}

static void print_measurement_json(const answer *a)
{
    const drove_measurement *m = &a->measurement;
    if (!a->has_measurement) return;
    fputs(", \"measurement\": {\"gnps\": ", stdout);
    cli_json_real(m->gnps, stdout);
    print_real_json("gnps_median", m->gnps_median);
    print_real_json("gb_per_s", m->gb_per_s);
    print_real_json("read_gb_per_s", m->read_gb_per_s);
    print_real_json("steps_per_s", m->steps_per_s);
    print_real_json("bytes_per_number", m->bytes_per_number);
    if (a->has_prediction) print_real_json("of_prediction", m->gnps / a->prediction.gnps);
    printf(", \"features\": %llu, \"threads\": %llu, \"batch\": %llu, \"bytes\": %llu, "
           "\"examples\": %llu, \"windows\": %u, \"undisturbed\": %u",
           (unsigned long long)a->setting.n_features, (unsigned long long)a->setting.n_threads,
           (unsigned long long)a->options.batch, (unsigned long long)m->n_bytes,
           (unsigned long long)m->n_examples, m->n_windows, m->n_undisturbed);
    print_text_json("strategy", a->options.strategy);
    print_text_json("rounding", a->options.rounding);
    print_text_json("prefetch", a->options.prefetch);
    print_text_json("hardware_prefetch", m->hardware_prefetch);
    print_text_json("isa", m->isa);
    fputs("}", stdout);
}

static void print_json(const answer *a)
{
    fputs("{\"signature\": ", stdout);
    cli_json_string(a->text, stdout);

    fputs(", \"terms\": {", stdout);
    for (int c = 0; c < DROVE_DMGC_CLASSES; c++) {
        drove_dmgc_term term = drove_dmgc_meaning(&a->signature, (drove_dmgc_class)c);
        printf("%s\"%s\": {\"written\": %s, \"bits\": ", c > 0 ? ", " : "", class_name[c],
               term.is_present ? "true" : "false");
        if (term.bits > 0) printf("%u", term.bits);
        else fputs("null", stdout);
        printf(", \"float\": %s, \"words\": ", term.is_float ? "true" : "false");
        cli_json_string(a->line[c], stdout);
        fputs("}", stdout);
    }
    printf("}, \"possibly_sparse\": %s, \"synchronous\": %s",
           a->signature.is_possibly_sparse ? "true" : "false",
           a->signature.is_synchronous ? "true" : "false");

    fputs(", \"family\": ", stdout);
    cli_json_string(drove_dmgc_family(&a->signature), stdout);

    size_t n;
    const drove_dmgc_system *system = drove_dmgc_systems(&n);
    const char *joint = "";
    fputs(", \"systems\": [", stdout);
    for (size_t i = 0; i < n; i++) {
        if (!drove_dmgc_is_system(&a->signature, &system[i])) continue;
        printf("%s{\"name\": ", joint);
        cli_json_string(system[i].name, stdout);
        fputs(", \"source\": ", stdout);
        cli_json_string(system[i].source, stdout);
        fputs("}", stdout);
        joint = ", ";
    }
    fputs("]", stdout);

    print_prediction_json(a);
    print_measurement_json(a);
    fputs("}\n", stdout);
}

static int answer_for(const cli_args *args, answer *a)
{
    drove_status status = drove_dmgc_parse(args->word[0], &a->signature);
    if (status == DROVE_OK) status = drove_dmgc_print(&a->signature, a->text);
    for (int c = 0; c < DROVE_DMGC_CLASSES && status == DROVE_OK; c++)
        status = drove_dmgc_explain(&a->signature, (drove_dmgc_class)c, a->line[c]);
    if (status == DROVE_OK) status = predict(args, a);
    if (status == DROVE_OK) status = measure(args, a);
    if (status != DROVE_OK) return cli_exit_status(status);
    if (a->stray != NULL)
        return cli_error(CLI_WRONG, "dmgc: --%s is of --measure, which was not given", a->stray);
    if (cli_args_has(args, "json")) print_json(a);
    else print_text(a);
    return CLI_OK;
}

int cli_dmgc(const cli_args *args)
{
    answer a = {0};
    int status = answer_for(args, &a);
    drove_throughput_close(a.constants);
    return status;
}
