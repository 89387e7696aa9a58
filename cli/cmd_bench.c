/* cli/cmd_bench.c - drove bench [NAME]: a micro-benchmark; without a name, which there are. */
#include "cli.h"

static const char *const names[] = {"threads", "seconds", "bytes", "out"};

static drove_status gather_options(const cli_args *args, drove_bench_options *options)
{
    drove_status status = DROVE_OK;
    *options = drove_bench_options_default();
    for (size_t i = 0; i < CLI_COUNT(names) && status == DROVE_OK; i++) {
        const char *value = cli_args_get(args, names[i], NULL);
        if (value != NULL) status = drove_bench_options_set(options, names[i], value);
    }
    return status;
}

int cli_bench(const cli_args *args)
{
    drove_bench_options options;
    bool as_json = cli_args_has(args, "json");
    drove_status status = gather_options(args, &options);
    if (status != DROVE_OK) return cli_library_error(status);
    if (args->n_words > 0) status = drove_bench(args->word[0], &options, as_json, stdout);
    else status = drove_list("benches", as_json, stdout);
    return status == DROVE_OK ? CLI_OK : cli_library_error(status);
}
