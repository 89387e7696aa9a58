/* cli/cmd_export.c - drove export: a saved model for other programs. */
#include "cli.h"

#include <limits.h>
#include <string.h>

int cli_export(const cli_args *args)
{
    static const struct {
        const char *flag;
        drove_status (*run)(const drove_export_options *opt);
    } kinds[] = {{"onnx", drove_export_onnx},
                 {"c", drove_export_c},
                 {"pytorch", drove_export_pytorch}};
    enum { N = sizeof kinds / sizeof *kinds };
    const char *file[N];
    char path[PATH_MAX];
    int n_files = 0;
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
    if (status != DROVE_OK) return cli_exit_status(status);
    for (int i = 0; i < N && status == DROVE_OK; i++) {
        const drove_export_options opt = {
            .model = path, .out = file[i], .line = cli_print_line, .context = stdout};
        if (file[i] != NULL) status = kinds[i].run(&opt);
    }
    return cli_exit_status(status);
}
