/* cli/cmd_report.c - drove report DIR...: what runs have shown, as a table. */
#include "cli.h"

static void say(void *context, const char *line)
{
    (void)context;
    cli_print_plain(line, stderr);
    fputc('\n', stderr);
}

int cli_report(const cli_args *args)
{
    const drove_report_options options = {.folder = args->word,
                                          .n_folders = args->n_words,
                                          .csv = cli_args_get(args, "csv", NULL),
                                          .message = say};
    if (options.csv == NULL || options.csv[0] == '\0')
        return cli_error(CLI_WRONG, "report: expected --csv FILE; usage: drove report %s",
                         args->command->usage);
    const drove_status status = drove_report(&options);
    return status == DROVE_OK ? CLI_OK : cli_library_error(status);
}
