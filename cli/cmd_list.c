/* cli/cmd_list.c - drove list [KIND]. */
#include "cli.h"

int cli_list(const cli_args *args)
{
    const char *kind = args->n_words > 0 ? args->word[0] : NULL;
    drove_status status = drove_list(kind, cli_args_has(args, "json"), stdout);
    return status == DROVE_OK ? CLI_OK : cli_library_error(status);
}
