/* cli/cmd_model.c - drove eval and drove predict: using a saved model. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* To standard error: standard output is for the result. */
static void on_message(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "drove: data: %s\n", text);
}

/* The flags that both have; spec[CLI_SPEC_SIZE]: the data.  false: the error is printed. */
static bool read_flags(const cli_args *args, drove_use_options *use, char *spec)
{
    drove_options options = drove_options_default(); /* for its checks of numbers */
    const char *data = cli_args_get(args, "data", NULL);
    *use = (drove_use_options){.model = args->word[0], .data = spec, .message = on_message};
    if (data == NULL) {
        cli_error(CLI_WRONG, "%s: expected --data SPEC, found none", args->command->name);
        return false;
    }
    if (drove_data_set_label(data, cli_args_get(args, "label", ""), spec, CLI_SPEC_SIZE) !=
        DROVE_OK) {
        cli_library_error(DROVE_E_ARG);
        return false;
    }
    const char *batch = cli_args_get(args, "batch", NULL);
    if (batch != NULL) {
        drove_status status = drove_options_set(&options, "batch", batch);
        if (status != DROVE_OK) {
            cli_library_error(status);
            return false;
        }
        use->batch = options.batch;
    }
    use->isa = cli_args_get(args, "isa", "");
    if (strcmp(use->isa, "auto") == 0) use->isa = "";
    use->proba = cli_args_has(args, "proba");
    return true;
}

static void print_json(const drove_score_report *report, const char *data)
{
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
    fputs("}\n", stdout);
}

int cli_eval(const cli_args *args)
{
    drove_use_options use;
    drove_score_report report;
    char spec[CLI_SPEC_SIZE];
    if (!read_flags(args, &use, spec)) return CLI_WRONG;
    drove_status status = drove_eval(&use, &report);
    if (status != DROVE_OK) return cli_library_error(status);
    if (cli_args_has(args, "json")) {
        print_json(&report, use.data);
        return CLI_OK;
    }
    printf("model     %s\ndata      %s, %llu examples\nloss      %.6g (%s)\n", report.model,
           use.data, (unsigned long long)report.n_rows, report.loss, report.loss_name);
    if (!isnan(report.accuracy)) {
        printf("%-8s  %.2f %%\n", report.is_multi_label ? "micro-F1" : "accuracy",
               100.0 * report.accuracy);
    }
    return CLI_OK;
}

int cli_predict(const cli_args *args)
{
    drove_use_options use;
    char spec[CLI_SPEC_SIZE];
    if (!read_flags(args, &use, spec)) return CLI_WRONG;
    drove_status status = drove_predict(&use, stdout);
    return status == DROVE_OK ? CLI_OK : cli_library_error(status);
}
