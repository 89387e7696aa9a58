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
    static const struct {
        const char *flag;
        export_fn *run;
    } kinds[] = {{"onnx", drove_export_onnx},
                 {"c", drove_export_c},
                 {"pytorch", drove_export_pytorch}};
    enum { N = sizeof kinds / sizeof *kinds };
    const char *file[N];
    char path[PATH_MAX];
    int n_files = 0, code = CLI_OK;
    for (int i = 0; i < N; i++) {
        file[i] = cli_args_get(args, kinds[i].flag, NULL);
        n_files += file[i] != NULL;
        for (int j = 0; j < i && file[i] != NULL; j++)
            if (file[j] != NULL && strcmp(file[i], file[j]) == 0)
                return cli_error(CLI_WRONG, "export: expected two files, found --%s %s and --%s %s",
                                 kinds[j].flag, file[j], kinds[i].flag, file[i]);
    }
    if (n_files == 0)
        return cli_error(CLI_WRONG,
                         "export: expected --onnx FILE, --c FILE or --pytorch FILE, found none");
    drove_status status = drove_model_find(args->word[0], path, sizeof path);
    if (status != DROVE_OK) return cli_library_error(status);
    for (int i = 0; i < N && code == CLI_OK; i++)
        code = export_as(args, kinds[i].flag, path, kinds[i].run);
    return code;
}
