/* examples/first_run.c - the shortest useful program: train on the built-in digits, print the
 * summary.
 *
 * With drove installed:  cc first_run.c $(pkg-config --cflags --libs drove) -o first_run
 */
#include <drove/drove.h>

#include <stdio.h>

static drove_status set_all(drove_options *options)
{
    static const char *const choice[][2] = {
        {"data", "synth:digits?n=2000&seed=1"},
        {"model", "mlp:32"},
        {"strategy", "hogwild"},
        {"threads", "2"},
        {"lr", "0.05"},
        {"until", "epochs=2"},
    };
    for (size_t i = 0; i < sizeof choice / sizeof choice[0]; i++) {
        drove_status status = drove_options_set(options, choice[i][0], choice[i][1]);
        if (status != DROVE_OK) return status;
    }
    return DROVE_OK;
}

int main(void)
{
    drove_options *options;
    drove_result *result = NULL;
    drove_status status = drove_options_create(&options);
    if (status == DROVE_OK) status = set_all(options);
    if (status == DROVE_OK) status = drove_train(options, NULL, &result);
    if (status == DROVE_OK) status = drove_result_print(result, stdout);
    if (status != DROVE_OK) fprintf(stderr, "first_run: %s\n", drove_error_text());
    int code = status != DROVE_OK ? drove_status_exit(status) : drove_result_exit(result);
    drove_result_destroy(result);
    drove_options_destroy(options);
    return code;
}
