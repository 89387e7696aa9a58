/* cli/cmd_model.c - drove model, drove eval and drove predict: a network before it is trained, and
 * a saved model in use. */
#include "cli.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- model ---- */

int cli_model(const cli_args *args)
{
    drove_options *options;
    drove_input_shape shape = {0};
    const bool has_shape = cli_args_has(args, "input");
    drove_status status = drove_options_create(&options);
    if (status != DROVE_OK) goto fail;
    if ((status = drove_options_set(options, "model", args->word[0])) != DROVE_OK) goto fail;
    if ((status = cli_args_apply(args, options)) != DROVE_OK) goto fail;
    if (has_shape)
        status = drove_input_shape_set(&shape, cli_args_get(args, "input", NULL),
                                       cli_args_get(args, "classes", "10"));
    if (status != DROVE_OK) goto fail;
    status = drove_describe(options, has_shape ? &shape : NULL, cli_args_has(args, "json"), stdout);

fail:
    drove_options_destroy(options);
    return cli_exit_status(status);
}

/* ---- flags of eval and predict ---- */

/* To standard error: standard output is for the result. */
static void on_message(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "drove: data: %s\n", text);
}

/* Once it was used: an error is one line. */
static void say_model(const cli_args *args, const char *path)
{
    if (strcmp(args->word[0], path) != 0) fprintf(stderr, "drove: model: %s\n", path);
}

/* The flags that both have; path[PATH_MAX]: the model; spec[CLI_SPEC_SIZE]: the data.
 * Returns the exit status; if it is not CLI_OK, the error is printed. */
static int read_flags(const cli_args *args, drove_use_options *use, char *path, char *spec)
{
    const char *data = cli_args_get(args, "data", NULL);
    char labelled[CLI_SPEC_SIZE];
    *use = (drove_use_options){.model = path, .data = spec, .message = on_message};
    if (args->n_words > 1 && data != NULL)
        return cli_error(CLI_WRONG, "%s: expected DATA or --data SPEC, found %s and --data %s",
                         args->command->name, args->word[1], data);
    if (args->n_words > 1) data = args->word[1];
    if (data == NULL)
        return cli_error(CLI_WRONG, "%s: expected a data file, such as new.csv, found %s alone",
                         args->command->name, args->word[0]);
    drove_status status =
        drove_data_set_label(data, cli_args_get(args, "label", ""), labelled, CLI_SPEC_SIZE);
    if (status != DROVE_OK) goto fail;
    status =
        drove_data_set_weights(labelled, cli_args_get(args, "weights", ""), spec, CLI_SPEC_SIZE);
    if (status != DROVE_OK) goto fail;
    status = drove_data_set_keep(spec, cli_args_get(args, "keep", ""), spec, CLI_SPEC_SIZE);
    if (status != DROVE_OK) goto fail;
    if ((status = cli_args_count(args, "batch", &use->batch)) != DROVE_OK) goto fail;
    if ((status = cli_args_count(args, "threads", &use->threads)) != DROVE_OK) goto fail;
    use->isa = cli_args_get(args, "isa", "");
    if (strcmp(use->isa, "auto") == 0) use->isa = "";
    use->threshold = cli_args_get(args, "threshold", NULL);
    status = drove_model_find(args->word[0], path, PATH_MAX);

fail:
    return cli_exit_status(status);
}

/* One of a flag's words; *out: its place.  false: the error is printed. */
static bool read_word(const cli_args *args, const char *flag, const char *const *words,
                      size_t n_words, size_t *out)
{
    char all[128] = "";
    const char *text = cli_args_get(args, flag, words[0]);
    for (size_t i = 0; i < n_words; i++) {
        *out = i;
        if (strcmp(text, words[i]) == 0) return true;
        size_t used = strlen(all);
        const char *before = i == 0 ? "" : i + 1 < n_words ? ", " : " or ";
        snprintf(all + used, sizeof all - used, "%s%s", before, words[i]);
    }
    cli_error(CLI_WRONG, "--%s: expected %s, found \"%s\"", flag, all, text);
    return false;
}

/* ---- eval ---- */

static int print_json(const drove_score_report *report, const drove_metrics *metrics,
                      const char *data)
{
    char *text = NULL;
    drove_status status = drove_metrics_json(metrics, &text);
    if (status != DROVE_OK) return cli_exit_status(status);
    fputs("{\"model\": ", stdout);
    cli_json_string(report->model, stdout);
    fputs(", \"data\": ", stdout);
    cli_json_string(data, stdout);
    printf(", \"examples\": %llu, \"loss_name\": ", (unsigned long long)report->n_rows);
    cli_json_string(report->loss_name, stdout);
    fputs(", \"loss\": ", stdout);
    cli_json_real(report->loss, stdout);
    fputs(", \"accuracy\": ", stdout);
    cli_json_real(report->accuracy, stdout);
    printf(",\n\"metrics\": %s}\n", text);
    free(text);
    return CLI_OK;
}

static int print_text(const drove_score_report *report, const drove_metrics *metrics,
                      const char *data)
{
    char model[2 * CLI_SPEC_SIZE], from[2 * CLI_SPEC_SIZE];
    printf("model     %s\ndata      %s, %llu examples\nloss      %.6g (%s)\n",
           drove_plain_text(report->model, model, sizeof model),
           drove_plain_text(data, from, sizeof from), (unsigned long long)report->n_rows,
           report->loss, report->loss_name);
    if (metrics != NULL) {
        putchar('\n');
        drove_status status = drove_metrics_print(metrics, stdout);
        return cli_exit_status(status);
    }
    if (!isnan(report->accuracy)) {
        printf("%-8s  %.2f %%\n", report->is_multi_label ? "micro-F1" : "accuracy",
               100.0 * report->accuracy);
    }
    return CLI_OK;
}

int cli_eval(const cli_args *args)
{
    static const char *const words[] = {"auto", "none"};
    drove_use_options use;
    drove_score_report report;
    drove_metrics *metrics = NULL;
    char path[PATH_MAX], spec[CLI_SPEC_SIZE];
    size_t word;
    const int flags = read_flags(args, &use, path, spec);
    if (flags != CLI_OK) return flags;
    if (!read_word(args, "metrics", words, CLI_COUNT(words), &word)) return CLI_WRONG;
    drove_status status =
        word == 0 ? drove_eval_metrics(&use, &report, &metrics) : drove_eval(&use, &report);
    if (status != DROVE_OK) return cli_exit_status(status);
    say_model(args, path);
    int exit_status = cli_args_has(args, "json") ? print_json(&report, metrics, use.data)
                                                 : print_text(&report, metrics, use.data);
    drove_metrics_destroy(metrics);
    return exit_status;
}

/* ---- predict ---- */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* --proba is of lines.  false: the error is printed. */
static bool read_format(const cli_args *args, drove_use_options *use)
{
    static const char *const words[] = {"csv", "lines", "npy"};
    static const drove_predict_format formats[] = {DROVE_PREDICT_CSV, DROVE_PREDICT_LINES,
                                                   DROVE_PREDICT_NPY};
    size_t word;
    if (!read_word(args, "format", words, CLI_COUNT(words), &word)) return false;
    use->format = formats[word];
    use->out = cli_args_get(args, "out", NULL);
    use->proba = cli_args_has(args, "proba");
    if (cli_args_get(args, "format", NULL) == NULL) {
        if (use->proba) use->format = DROVE_PREDICT_LINES;
        else if (use->out != NULL && ends_in(use->out, ".npy")) use->format = DROVE_PREDICT_NPY;
    }
    if (cli_args_get(args, "keep", NULL) != NULL && use->format != DROVE_PREDICT_CSV) {
        cli_error(CLI_WRONG, "--keep: expected --format csv, found --format %s",
                  words[use->format == DROVE_PREDICT_LINES ? 1 : 2]);
        return false;
    }
    if (!use->proba || use->format == DROVE_PREDICT_LINES) return true;
    cli_error(CLI_WRONG, "--proba: expected --format lines, found --format %s", words[word]);
    return false;
}

int cli_predict(const cli_args *args)
{
    drove_use_options use;
    char path[PATH_MAX], spec[CLI_SPEC_SIZE];
    const int flags = read_flags(args, &use, path, spec);
    if (flags != CLI_OK) return flags;
    if (!read_format(args, &use)) return CLI_WRONG;
    drove_status status = drove_predict(&use, stdout);
    if (status != DROVE_OK) return cli_exit_status(status);
    say_model(args, path);
    return CLI_OK;
}
