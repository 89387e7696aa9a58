/* cli/cmd_info.c - drove info. */
#include "cli.h"

int cli_info(const cli_args *args)
{
    drove_options options = drove_options_default();
    drove_status status = DROVE_OK;
    if (args->n_words > 0) status = drove_options_load(&options, args->word[0]);
    if (status == DROVE_OK) status = cli_args_apply(args, &options);
    if (status == DROVE_OK) {
        status = drove_options_validate(&options);
        if (status != DROVE_OK && args->n_words > 0) drove_options_locate(args->word[0]);
    }
    if (status == DROVE_OK)
        status =
            drove_info(&options, cli_args_has(args, "json"), cli_args_has(args, "measure"), stdout);
    return status == DROVE_OK ? CLI_OK : cli_library_error(status);
}
