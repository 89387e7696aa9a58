/* cli/cmd_report.c - drove report DIR...: what runs have shown, as a page, a table or pictures. */
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
                                          .csv = cli_args_get(args, "csv", ""),
                                          .html = cli_args_get(args, "html", ""),
                                          .png = cli_args_get(args, "png", ""),
                                          .message = say};
    if (options.csv[0] == '\0' && options.html[0] == '\0' && options.png[0] == '\0')
        return cli_error(CLI_WRONG,
                         "report: expected --html FILE, --csv FILE or --png FILE; usage: drove "
                         "report %s",
                         args->command->usage);
    const drove_status status = drove_report(&options);
    return status == DROVE_OK ? CLI_OK : cli_library_error(status);
}
