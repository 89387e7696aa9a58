/* cli/cmd_info.c - drove info. */
#include "cli.h"

static drove_status info(const cli_args *args, drove_options *options)
{
    drove_status status = DROVE_OK;
    if (args->n_words > 0) status = drove_options_load(options, args->word[0]);
    if (status == DROVE_OK) status = cli_args_apply(args, options);
    if (status == DROVE_OK) {
        status = drove_options_validate(options);
        if (status != DROVE_OK && args->n_words > 0) drove_options_locate(args->word[0]);
    }
    if (status != DROVE_OK) return status;
    return drove_info(options, cli_args_has(args, "json"), cli_args_has(args, "measure"), stdout);
}

int cli_info(const cli_args *args)
{
    drove_options *options;
    drove_status status = drove_options_create(&options);
    if (status == DROVE_OK) status = info(args, options);
    drove_options_destroy(options);
    return status == DROVE_OK ? CLI_OK : cli_library_error(status);
}
