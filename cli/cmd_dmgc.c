/* cli/cmd_dmgc.c - drove dmgc SIGNATURE: the signature in words, and the throughput it promises. */
#include "cli.h"

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
} answer;

/* ---- asking the library ---- */

static drove_status predict(const cli_args *args, answer *a)
{
    static const char *const names[] = {"features", "threads", "sparse"};
    bool is_asked_for = false;
    a->setting = drove_dmgc_setting_default();
    for (size_t i = 0; i < CLI_COUNT(names); i++) {
        const char *value = cli_args_get(args, names[i], NULL);
        if (value == NULL) continue;
        drove_status status = drove_dmgc_setting_set(&a->setting, names[i], value);
        if (status != DROVE_OK) return status;
        is_asked_for = true;
    }
    drove_status status = drove_dmgc_predict(&a->signature, &a->setting, &a->prediction);
    a->has_prediction = status == DROVE_OK;
    if (status != DROVE_E_UNSUPPORTED || is_asked_for) return status;
    snprintf(a->reason, sizeof a->reason, "%s", drove_error_text());
    return DROVE_OK;
}

static drove_status ask(const cli_args *args, answer *a)
{
    drove_status status = drove_dmgc_parse(args->word[0], &a->signature);
    if (status == DROVE_OK) status = drove_dmgc_print(&a->signature, a->text);
    for (int c = 0; c < DROVE_DMGC_CLASSES && status == DROVE_OK; c++) {
        status = drove_dmgc_explain(&a->signature, (drove_dmgc_class)c, a->line[c]);
    }
    return status == DROVE_OK ? predict(args, a) : status;
}

/* ---- for people ---- */

static void print_systems(const answer *a)
{
    size_t n;
    const drove_dmgc_system *system = drove_dmgc_systems(&n);
    const char *title = "the same as";
    for (size_t i = 0; i < n; i++) {
        if (!drove_dmgc_is_system(&a->signature, &system[i])) continue;
        printf("%-15s%s (%s)\n", title, system[i].name, system[i].source);
        title = "";
    }
}

static void print_text(const answer *a)
{
    const drove_dmgc_prediction *p = &a->prediction;
    printf("%-15s%s\n", "signature", a->text);
    for (int c = 0; c < DROVE_DMGC_CLASSES; c++) printf("%-15s%s\n", class_name[c], a->line[c]);
    printf("%-15s%s\n", "family", drove_dmgc_family(&a->signature));
    print_systems(a);
    if (!a->has_prediction) {
        printf("%-15snone: %s\n", "prediction", a->reason);
        return;
    }
    printf("%-15s%.4g GNPS, %s, %llu features, %llu thread%s\n", "prediction", p->gnps,
           p->is_sparse ? "sparse" : "dense", (unsigned long long)a->setting.n_features,
           (unsigned long long)a->setting.n_threads, a->setting.n_threads == 1 ? "" : "s");
    printf("%-15s%s: the parallelizable fraction p is %.4g%s\n", "bound",
           p->is_bandwidth_bound ? "bandwidth-bound" : "communication-bound", p->parallel_fraction,
           p->is_bandwidth_bound ? ", its largest" : ", below 0.98");
    printf("%-15s%.4g GNPS with one thread (T1)\n", "base", p->base_gnps);
    printf("%-15s%g byte%s per dataset number\n", "data", p->bytes_per_number,
           p->bytes_per_number == 1.0 ? "" : "s");
    printf("%-15s%s\n", "constants", p->source);
}

/* ---- JSON ---- */

static void print_terms_json(const answer *a)
{
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
}

static void print_systems_json(const answer *a)
{
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
}

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

static void print_json(const answer *a)
{
    fputs("{\"signature\": ", stdout);
    cli_json_string(a->text, stdout);
    print_terms_json(a);
    fputs(", \"family\": ", stdout);
    cli_json_string(drove_dmgc_family(&a->signature), stdout);
    print_systems_json(a);
    print_prediction_json(a);
    fputs("}\n", stdout);
}

int cli_dmgc(const cli_args *args)
{
    answer a = {0};
    drove_status status = ask(args, &a);
    if (status != DROVE_OK) return cli_library_error(status);
    if (cli_args_has(args, "json")) print_json(&a);
    else print_text(&a);
    return CLI_OK;
}
