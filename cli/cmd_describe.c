/* cli/cmd_describe.c - drove model: a network's layers, sizes and memory. */
#include "cli.h"

static drove_status describe(const cli_args *args, drove_options *options)
{
    drove_input_shape shape = {0};
    bool has_shape = cli_args_has(args, "input");
    drove_status status = drove_options_set(options, "model", args->word[0]);
    if (status == DROVE_OK) status = cli_args_apply(args, options);
    if (status == DROVE_OK && has_shape) {
        status = drove_input_shape_set(&shape, cli_args_get(args, "input", NULL),
                                       cli_args_get(args, "classes", "10"));
    }
    if (status != DROVE_OK) return status;
    return drove_describe(options, has_shape ? &shape : NULL, cli_args_has(args, "json"), stdout);
}

int cli_model(const cli_args *args)
{
    drove_options *options;
    drove_status status = drove_options_create(&options);
    if (status == DROVE_OK) status = describe(args, options);
    drove_options_destroy(options);
    return status == DROVE_OK ? CLI_OK : cli_library_error(status);
}
