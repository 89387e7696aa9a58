/* cli/cmd_train.c - drove train. */
#include "cli.h"
#include "progress.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The run of a bare `drove train`.  All other options have their defaults. */
static const char *const example[][2] = {
    {"data", "synth:digits"}, {"model", "mlp:128,128,128"}, {"batch", "32"},
    {"lr", "0.05"},           {"until", "epochs=10"},
};

/* ---- signals ---- */

/* The first evaluation is done, or a pack begun: from now on there may be something to save. */
static volatile sig_atomic_t run_has_begun, last_signal;
static volatile sig_atomic_t is_first_rank;

static void on_begin(void)
{
    run_has_begun = 1;
}

/* The first signal lets the run end in order, the second leaves at once; so does the first while
 * data are still being read or made. */
static void on_signal(int signal_number)
{
    static const char text[] = "drove: interrupted before training began; no model is saved\n";
    static volatile sig_atomic_t n_signals;
    last_signal = signal_number;
    drove_train_interrupt(signal_number); /* also for the other ranks, which see this one end */
    if (++n_signals > 1 || !run_has_begun) {
        cli_progress_clear_by_signal();
        const bool says = !run_has_begun && is_first_rank;
        ssize_t unused = says ? write(STDERR_FILENO, text, sizeof text - 1) : 0;
        (void)unused;
        _exit(128 + signal_number);
    }
}

/* Another rank has died; this one may have milliseconds left. */
static void on_death(const char *line)
{
    char text[DROVE_TEXT_SIZE + 16];
    const int n = snprintf(text, sizeof text, "drove: %s\n", line);
    cli_progress_clear_by_signal();
    ssize_t unused = write(STDERR_FILENO, text, (size_t)n);
    (void)unused;
}

/* ---- options ---- */

/* True if nothing says what to train, or how: the example then stands for a run file. */
static bool wants_example(const cli_args *args)
{
    size_t n;
    const drove_option_info *info = drove_options_table(&n);
    if (args->n_words > 0) return false;
    for (size_t i = 0; i < n; i++) {
        bool is_what =
            strcmp(info[i].group, "Problem") == 0 || strcmp(info[i].group, "Method") == 0;
        is_what =
            is_what || strcmp(info[i].name, "resume") == 0 || strcmp(info[i].name, "replay") == 0;
        if (is_what && cli_args_has(args, info[i].name)) return false;
    }
    return true;
}

/* An option's text; "" if it cannot be had. */
static const char *text_of(const drove_options *options, const char *name,
                           char into[DROVE_TEXT_SIZE])
{
    if (drove_options_get(options, name, into, DROVE_TEXT_SIZE) != DROVE_OK) into[0] = '\0';
    return into;
}

/* The validation examples stay the same when a run goes on with another end. */
static drove_status keep_validation(const char *before, drove_options *options)
{
    char now[DROVE_TEXT_SIZE], until[DROVE_TEXT_SIZE];
    const char *held = strstr(before, "validation=");
    text_of(options, "until", now);
    if (held == NULL || strstr(now, "validation=") != NULL) return DROVE_OK;
    int n = snprintf(until, sizeof until, "%.*s,%s", (int)strcspn(held, ","), held, now);
    return n > 0 && (size_t)n < sizeof until ? drove_options_set(options, "until", until)
                                             : DROVE_OK;
}

static bool is_given(const char *value)
{
    return value != NULL && value[0] != '\0' && strcmp(value, "none") != 0;
}

/* The word names data, or a run file, which may ask for a recorded run. */
static drove_status apply_word(const char *word, bool has_replay, drove_options *options)
{
    char path[DROVE_TEXT_SIZE];
    if (drove_data_is_named(word)) return drove_options_set(options, "data", word);
    drove_status status = drove_options_load(options, word);
    if (status != DROVE_OK || has_replay || !is_given(text_of(options, "replay", path)))
        return status;
    return drove_options_replay(options, path); /* the rest is the record's */
}

/* Defaults, then the resumed or recorded run's, then the file's (or the example's, or the data
 * alone), then the flags. */
static drove_status gather_options(const cli_args *args, drove_options *options)
{
    size_t n;
    const drove_option_info *info = drove_options_table(&n);
    const char *resume = cli_args_get(args, "resume", NULL);
    const char *replay = cli_args_get(args, "replay", NULL);
    char before[DROVE_TEXT_SIZE] = ""; /* --until of that run */
    drove_status status = DROVE_OK;

    /* the program has other defaults than the library */
    for (size_t i = 0; i < n && status == DROVE_OK; i++)
        if (info[i].program_text != NULL)
            status = drove_options_set(options, info[i].name, info[i].program_text);
    if (status != DROVE_OK) return status;

    if (is_given(resume)) status = drove_options_resume(options, resume);
    else if (is_given(replay)) status = drove_options_replay(options, replay);
    if (status != DROVE_OK) return status;
    if (is_given(resume) || is_given(replay)) text_of(options, "until", before);

    if (args->n_words > 0) status = apply_word(args->word[0], is_given(replay), options);
    if (wants_example(args))
        for (size_t i = 0; i < CLI_COUNT(example) && status == DROVE_OK; i++)
            status = drove_options_set(options, example[i][0], example[i][1]);
    if (status == DROVE_OK) status = cli_args_apply(args, options);
    if (status == DROVE_OK) status = keep_validation(before, options);
    if (status != DROVE_OK) return status;

    status = drove_options_validate(options);
    if (status != DROVE_OK && args->n_words > 0 && !drove_data_is_named(args->word[0]))
        drove_options_locate(args->word[0]);
    return status;
}

/* ---- the end ---- */

static int report(const cli_args *args, const drove_result *result)
{
    drove_status status = DROVE_OK;
    if (drove_launched_rank() != 0) return drove_result_exit(result);
    if (drove_result_outcome(result) == DROVE_CRASHED &&
        (cli_args_has(args, "quiet") || cli_args_has(args, "json"))) {
        drove_progress final;
        drove_result_final(result, &final);
        cli_error(
            drove_result_exit(result),
            "crashed: the loss became infinite or not a number after %llu updates (try a smaller "
            "--lr)",
            (unsigned long long) final.updates);
    }
    if (cli_args_has(args, "json")) printf("%s\n", drove_result_json(result));
    else if (!cli_args_has(args, "quiet")) status = drove_result_print(result, stdout);
    if (status != DROVE_OK && !ferror(stdout)) return cli_exit_status(status);
    return drove_result_exit(result);
}

/* A launcher ends all ranks when one ends with a failure: rank 0 is given the time to say it. */
static int leave(int code)
{
    const struct timespec moment = {.tv_sec = 1};
    if (code != CLI_OK && drove_launched_rank() != 0) nanosleep(&moment, NULL);
    return code;
}

static int run(const cli_args *args, const drove_options *options)
{
    cli_progress progress;
    drove_result *result = NULL;
    bool is_quiet = cli_args_has(args, "quiet") || drove_launched_rank() != 0;
    if (wants_example(args) && !is_quiet) {
        char value[DROVE_TEXT_SIZE];
        fputs("drove: built-in example:", stderr);
        for (size_t i = 0; i < CLI_COUNT(example); i++) {
            /* a flag such as --until may have replaced the example's value */
            if (drove_options_get(options, example[i][0], value, sizeof value) != DROVE_OK)
                continue;
            fprintf(stderr, " --%s %s", example[i][0], value);
        }
        fputc('\n', stderr);
    }

    cli_progress_init(&progress, is_quiet);
    drove_callbacks callbacks = cli_progress_callbacks(&progress);
    progress.on_begin = on_begin;
    drove_status status = drove_train(options, &callbacks, &result);
    cli_progress_end(&progress);
    if (status != DROVE_OK) {
        int failed = cli_exit_status(status);
        /* A pack without a member: what else is wrong about options was found before. */
        if (run_has_begun && last_signal != 0 && status == DROVE_E_ARG) failed = 128 + last_signal;
        drove_ranks_abandon(failed);
        return failed;
    }
    int code = report(args, result);
    drove_result_destroy(result);
    return code;
}

int cli_train(const cli_args *args)
{
    drove_options *options;

    struct sigaction action;
    is_first_rank = drove_launched_rank() == 0;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT); /* one after the other: they count signals */
    sigaddset(&action.sa_mask, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    drove_ranks_on_death(on_death);

    drove_status status = drove_options_create(&options);
    if (status == DROVE_OK) status = gather_options(args, options);
    int code = status == DROVE_OK ? run(args, options)
                                  : cli_exit_status(drove_train_decline(status, NULL));
    drove_options_destroy(options);
    return leave(code);
}

int cli_train_refuse(drove_status status, const char *why)
{
    return leave(cli_exit_status(drove_train_decline(status, why)));
}
