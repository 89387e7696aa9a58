/* cli/cmd_tune.c - drove tune DATA: many short runs, and the best settings as a model. */
#include "cli.h"

#include <limits.h>
#include <string.h>

enum { MOST_GIVEN = 128 };

static void say(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static drove_status gather_run(const cli_args *args, drove_options *run)
{
    char out[DROVE_TEXT_SIZE];
    drove_status status = drove_options_set(run, "out", "tune");
    if (status != DROVE_OK) return status;
    if (args->n_words > 0)
        status = drove_data_is_named(args->word[0]) ? drove_options_set(run, "data", args->word[0])
                                                    : drove_options_load(run, args->word[0]);
    if (status != DROVE_OK) return status;
    if ((status = cli_args_apply(args, run)) != DROVE_OK) return status;
    if ((status = drove_options_get(run, "out", out, sizeof out)) != DROVE_OK) return status;
    if (strcmp(out, "auto") == 0) status = drove_options_set(run, "out", "tune");
    if (status != DROVE_OK) return status;
    status = drove_options_validate(run);
    if (status != DROVE_OK && args->n_words > 0 && !drove_data_is_named(args->word[0]))
        drove_options_locate(args->word[0]);
    return status;
}

static int search(const cli_args *args, drove_tune_options *opt)
{
    drove_tune_result *result;
    if (!cli_args_has(args, "quiet")) opt->message = say;
    cli_children_catch_signals();
    drove_status status = drove_tune(opt, &result);
    if (status != DROVE_OK) return cli_exit_status(status);
    if (cli_args_has(args, "json")) printf("%s\n", drove_tune_result_json(result));
    else if (!cli_args_has(args, "quiet")) status = drove_tune_result_print(result, stdout);
    int signal_number = drove_tune_interrupted(result);
    drove_tune_result_destroy(result);
    if (status != DROVE_OK && !ferror(stdout)) return cli_exit_status(status);
    return signal_number != 0 ? 128 + signal_number : CLI_OK;
}

int cli_tune(const cli_args *args)
{
    static const char *const names[] = {"budget", "epochs", "folds", "metric",
                                        "space",  "jobs",   "limit"};
    static char program[PATH_MAX];
    const char *given[MOST_GIVEN];
    drove_tune_options opt = {.program = program, .given = given};
    drove_options *run;
    if (args->n_words == 0 && !cli_args_has(args, "data"))
        return cli_error(CLI_WRONG, "tune: expected DATA, such as people.csv; usage: drove tune %s",
                         args->command->usage);

    drove_status status = DROVE_OK;
    for (size_t i = 0; i < CLI_COUNT(names) && status == DROVE_OK; i++) {
        const char *value = cli_args_get(args, names[i], NULL);
        if (value != NULL) status = drove_tune_options_set(&opt, names[i], value);
    }
    if (status == DROVE_OK) status = drove_options_create(&run);
    if (status != DROVE_OK) return cli_exit_status(status);
    for (size_t i = 0; i < args->n_options && opt.n_given < MOST_GIVEN; i++)
        if (args->option[i].of_run) given[opt.n_given++] = args->option[i].name;
    opt.run = run;
    status = gather_run(args, run);
    int code = CLI_FAILED;
    if (status != DROVE_OK) code = cli_exit_status(status);
    else if (cli_children_find_program(program)) code = search(args, &opt);
    else
        cli_error(CLI_FAILED, "/proc/self/exe: cannot be read: the trials are processes of this "
                              "program");
    drove_options_destroy(run);
    return code;
}
