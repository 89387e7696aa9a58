/* cli/cmd_tune.c - drove tune DATA: many short runs, and the best settings as a model. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cli.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_GIVEN = 128 };

static void on_signal(int signal_number)
{
    static volatile sig_atomic_t n_signals;
    if (++n_signals > 1) _exit(128 + signal_number);
    drove_train_interrupt(signal_number);
}

static void catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void say(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

/* Numbers of a flag: false, with *status set, where it is none from least to most. */
static bool read_number(const cli_args *args, const char *name, double least, double most,
                        double *out, int *status)
{
    const char *text = cli_args_get(args, name, NULL);
    char *end;
    if (text == NULL) return true;
    double value = strtod(text, &end);
    if (end != text && *end == '\0' && value >= least && value <= most) {
        *out = value;
        return true;
    }
    *status = cli_error(CLI_WRONG, "--%s: expected a number from %g to %g, found \"%s\"", name,
                        least, most, text);
    return false;
}

static bool read_count(const cli_args *args, const char *name, double least, double most,
                       uint64_t *out, int *status)
{
    double value = (double)*out;
    if (!read_number(args, name, least, most, &value, status)) return false;
    if (value != floor(value)) {
        *status = cli_error(CLI_WRONG, "--%s: expected a whole number, found \"%s\"", name,
                            cli_args_get(args, name, ""));
        return false;
    }
    *out = (uint64_t)value;
    return true;
}

/* seconds=N, trials=N, or both with a comma. */
static bool read_budget(const cli_args *args, drove_tune_options *opt, int *status)
{
    const char *text = cli_args_get(args, "budget", NULL), *at = text;
    while (at != NULL && *at != '\0') {
        bool is_seconds = strncmp(at, "seconds=", 8) == 0,
             is_trials = strncmp(at, "trials=", 7) == 0;
        char *end = NULL;
        double value = is_seconds ? strtod(at + 8, &end) : is_trials ? strtod(at + 7, &end) : 0.0;
        bool is_good = value > 0.0 && value <= 1e9 && end != NULL && (*end == '\0' || *end == ',');
        if (!is_good || (is_trials && value != floor(value))) {
            *status = cli_error(CLI_WRONG,
                                "--budget: expected seconds=N, trials=N or both with a comma, "
                                "found \"%s\"",
                                text);
            return false;
        }
        if (is_seconds) opt->seconds = value;
        else opt->trials = (uint64_t)value;
        at = *end == ',' ? end + 1 : end;
    }
    return true;
}

static drove_status gather_run(const cli_args *args, drove_options *run)
{
    drove_status status = DROVE_OK;
    *run = drove_options_default();
    (void)drove_options_set(run, "out", "tune");
    if (args->n_words > 0) {
        status = drove_data_is_named(args->word[0]) ? drove_options_set(run, "data", args->word[0])
                                                    : drove_options_load(run, args->word[0]);
    }
    if (status == DROVE_OK) status = cli_args_apply(args, run);
    if (status == DROVE_OK && strcmp(run->out, "auto") == 0) strcpy(run->out, "tune");
    if (status == DROVE_OK) status = drove_options_validate(run);
    return status;
}

int cli_tune(const cli_args *args)
{
    static char program[PATH_MAX];
    const char *given[MOST_GIVEN];
    drove_tune_options opt = {.program = program, .given = given};
    drove_tune_result *result;
    int wrong = CLI_OK;
    if (!read_budget(args, &opt, &wrong) ||
        !read_number(args, "epochs", 1e-3, 1e6, &opt.epochs, &wrong) ||
        !read_number(args, "limit", 1e-3, 1e9, &opt.limit, &wrong) ||
        !read_count(args, "folds", 1, 100, &opt.folds, &wrong) ||
        !read_count(args, "jobs", 1, 1024, &opt.jobs, &wrong))
        return wrong;
    drove_status status = gather_run(args, &opt.run);
    if (status != DROVE_OK) return cli_library_error(status);
    for (size_t i = 0; i < args->n_options && opt.n_given < MOST_GIVEN; i++)
        if (args->option[i].of_run) given[opt.n_given++] = args->option[i].name;
    if (realpath("/proc/self/exe", program) == NULL)
        return cli_error(CLI_FAILED, "/proc/self/exe: cannot be read: the trials are processes of "
                                     "this program");
    opt.space = cli_args_get(args, "space", NULL);
    opt.metric = cli_args_get(args, "metric", NULL);
    if (!cli_args_has(args, "quiet")) opt.message = say;
    catch_signals();
    status = drove_tune(&opt, &result);
    if (status != DROVE_OK) return cli_library_error(status);
    if (cli_args_has(args, "json")) printf("%s\n", drove_tune_result_json(result));
    else if (!cli_args_has(args, "quiet")) status = drove_tune_result_print(result, stdout);
    int signal_number = drove_tune_interrupted(result);
    drove_tune_result_destroy(result);
    if (status != DROVE_OK && !ferror(stdout)) return cli_library_error(status);
    return signal_number != 0 ? 128 + signal_number : CLI_OK;
}
