/* cli/cmd_info.c - drove info, drove list and drove bench: the machine, the program's registries,
 * and micro-benchmarks. */
#include "cli.h"
#include "progress.h"

#include "bench/program.h"

int cli_info(const cli_args *args)
{
    drove_options *options;
    drove_status status = drove_options_create(&options);
    if (status == DROVE_OK && args->n_words > 0)
        status = drove_options_load(options, args->word[0]);
    if (status == DROVE_OK) status = cli_args_apply(args, options);
    if (status != DROVE_OK) goto fail;
    status = drove_options_validate(options);
    if (status != DROVE_OK && args->n_words > 0) drove_options_locate(args->word[0]);
    if (status != DROVE_OK) goto fail;
    status = drove_info(options, cli_args_has(args, "json"), cli_args_has(args, "measure"), stdout);

fail:
    drove_options_destroy(options);
    return cli_exit_status(status);
}

int cli_cache(const cli_args *args)
{
    uint64_t n_bytes;
    drove_status status;
    if (!cli_args_has(args, "clear")) {
        status = drove_cache_print(cli_args_has(args, "json"), stdout);
    } else {
        status = drove_cache_clear(&n_bytes);
        if (status == DROVE_OK && cli_args_has(args, "json"))
            printf("{\"removed_bytes\": %llu}\n", (unsigned long long)n_bytes);
        else if (status == DROVE_OK) printf("%.1f MB removed\n", (double)n_bytes * 1e-6);
    }
    return cli_exit_status(status);
}

int cli_list(const cli_args *args)
{
    if (args->n_words > 1) {
        /* The kind and one of its names, which stand in one word. */
        char meant[128];
        snprintf(meant, sizeof meant, "%s:%s", args->word[0], args->word[1]);
        FILE *nowhere = fopen("/dev/null", "w");
        const bool is_known = nowhere != NULL && drove_list(meant, false, nowhere) == DROVE_OK;
        if (nowhere != NULL) fclose(nowhere);
        if (is_known)
            return cli_error(CLI_WRONG, "list: unexpected argument \"%s\"; did you mean \"%s\"?",
                             args->word[1], meant);
        return cli_error(CLI_WRONG, "list: unexpected argument \"%s\"; usage: drove list %s",
                         args->word[1], args->command->usage);
    }
    const char *kind = args->n_words > 0 ? args->word[0] : NULL;
    drove_status status = drove_list(kind, cli_args_has(args, "json"), stdout);
    return cli_exit_status(status);
}

static void show_bench(void *context, double fraction, const char *what)
{
    char field[1][CLI_FIELD_SIZE];
    if (what == NULL) {
        cli_progress_clear(context);
        return;
    }
    snprintf(field[0], sizeof field[0], "%s", what);
    cli_progress_draw(context, fraction, field, 1);
}

/* Without a name: lists the benchmarks. */
int cli_bench(const cli_args *args)
{
    static const char *const names[] = {"threads", "seconds",   "bytes", "out",  "isa",  "model",
                                        "batch",   "signature", "q",     "data", "cores"};
    drove_bench_options options = drove_bench_options_default();
    cli_progress progress;
    cli_progress_init(&progress, false);
    options.quick = cli_args_has(args, "quick");
    options.progress = show_bench;
    options.context = &progress;
    bool as_json = cli_args_has(args, "json");
    drove_status status = DROVE_OK;
    for (size_t i = 0; i < CLI_COUNT(names) && status == DROVE_OK; i++) {
        const char *value = cli_args_get(args, names[i], NULL);
        if (value != NULL) status = drove_bench_options_set(&options, names[i], value);
    }
    if (status != DROVE_OK) return cli_exit_status(status);
    if (args->n_words > 0) status = drove_bench(args->word[0], &options, as_json, stdout);
    else status = drove_list("benches", as_json, stdout);
    return cli_exit_status(status);
}
