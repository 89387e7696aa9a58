/* cli/cmd_export.c - drove export: a saved model for other programs. */
#include "cli.h"

#include <limits.h>
#include <string.h>

static void on_line(void *context, const char *text)
{
    (void)context;
    cli_print_plain(text, stdout);
    putchar('\n');
}

typedef drove_status export_fn(const drove_export_options *opt);

/* Writes the file that the flag names, if it was given. */
static int export_as(const cli_args *args, const char *flag, const char *path, export_fn *run)
{
    const drove_export_options opt = {.model = path,
                                      .out = cli_args_get(args, flag, NULL),
                                      .line = on_line};
    if (opt.out == NULL) return CLI_OK;
    drove_status status = run(&opt);
    return status == DROVE_OK ? CLI_OK : cli_library_error(status);
}

int cli_export(const cli_args *args)
{
    const char *onnx = cli_args_get(args, "onnx", NULL), *c = cli_args_get(args, "c", NULL);
    char path[PATH_MAX];
    if (onnx == NULL && c == NULL)
        return cli_error(CLI_WRONG, "export: expected --onnx FILE or --c FILE, found neither");
    if (onnx != NULL && c != NULL && strcmp(onnx, c) == 0)
        return cli_error(CLI_WRONG, "export: expected two files, found --onnx %s and --c %s", onnx,
                         c);
    drove_status status = drove_model_find(args->word[0], path, sizeof path);
    if (status != DROVE_OK) return cli_library_error(status);
    int code = export_as(args, "onnx", path, drove_export_onnx);
    return code == CLI_OK ? export_as(args, "c", path, drove_export_c) : code;
}
