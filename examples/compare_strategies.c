/* examples/compare_strategies.c - the same problem with several ways of sharing the model, side by
 * side.
 *
 * Shows what the library is for: data order, kernels and clock are the same, so that the rows of
 * the table differ by the method alone.  Reports computational efficiency (examples/s),
 * statistical efficiency (updates to a loss) and the time to that loss apart.
 */
#include <drove/drove.h>

#include <stdio.h>

static drove_status run_one(const char *strategy, drove_progress *end)
{
    const char *const choice[][2] = {
        {"data", "synth:digits?n=4000&seed=1"},
        {"model", "mlp:32"},
        {"batch", "16"},
        {"lr", "0.05"},
        {"until", "loss=20%,epochs=20"},
        {"threads", "2"},
        {"strategy", strategy},
        {"test", ""},
    };
    drove_options *options;
    drove_result *result = NULL;
    drove_status status = drove_options_create(&options);
    for (size_t i = 0; i < sizeof choice / sizeof choice[0] && status == DROVE_OK; i++)
        status = drove_options_set(options, choice[i][0], choice[i][1]);
    if (status == DROVE_OK) status = drove_train(options, NULL, &result);
    if (status == DROVE_OK) drove_result_final(result, end);
    drove_result_destroy(result);
    drove_options_destroy(options);
    return status;
}

int main(void)
{
    static const char *const strategies[] = {"sequential", "sync", "mutex", "hogwild",
                                             "leashed:inf"};
    printf("%-12s %12s %9s %9s %8s\n", "strategy", "examples/s", "updates", "seconds", "loss");
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        drove_progress end;
        drove_status status = run_one(strategies[i], &end);
        if (status != DROVE_OK) {
            fprintf(stderr, "%s: %s\n", strategies[i], drove_error_text());
            return drove_status_exit(status);
        }
        double rate = end.train_s > 0 ? (double)end.examples / end.train_s : 0;
        printf("%-12s %12.0f %9llu %9.3f %8.4f\n", strategies[i], rate,
               (unsigned long long)end.updates, end.train_s, end.loss);
    }
    return 0;
}
