/* examples/watch_and_use.c - watching a run through callbacks, then using the saved model.
 *
 * The callbacks come on the thread that called drove_train, with the workers running (progress) or
 * parked (evaluated).
 */
#include <drove/drove.h>

#include <stdio.h>

static void on_evaluated(void *context, const drove_progress *p)
{
    int *n_evaluations = context;
    ++*n_evaluations;
    printf("after %5.2f epochs: held-out loss %.4f, accuracy %.1f %%\n", p->epochs, p->test_loss,
           100 * p->test_accuracy);
}

static void on_message(void *context, const char *line)
{
    (void)context;
    printf("note: %s\n", line);
}

static int fail(drove_status status)
{
    fprintf(stderr, "watch_and_use: %s\n", drove_error_text());
    return drove_status_exit(status);
}

static drove_status train(const char *folder, int *n_evaluations)
{
    const char *const choice[][2] = {{"data", "synth:digits?n=2000&n_test=500"},
                                     {"model", "mlp:32"},
                                     {"rule", "adam"},
                                     {"lr", "0.002"},
                                     {"until", "epochs=3,patience=4"},
                                     {"eval-every", "0.5"},
                                     {"out", folder}};
    drove_options *options;
    drove_status status = drove_options_create(&options);
    for (size_t i = 0; i < sizeof choice / sizeof choice[0] && status == DROVE_OK; i++)
        status = drove_options_set(options, choice[i][0], choice[i][1]);
    const drove_callbacks callbacks = {.context = n_evaluations,
                                       .evaluated = on_evaluated,
                                       .message = on_message};
    drove_result *result = NULL;
    if (status == DROVE_OK) status = drove_train(options, &callbacks, &result);
    drove_result_destroy(result);
    drove_options_destroy(options);
    return status;
}

int main(void)
{
    int n_evaluations = 0;
    drove_score_report report;
    drove_status status = train("run", &n_evaluations);
    if (status != DROVE_OK) return fail(status);
    printf("%d evaluations\n", n_evaluations);

    const drove_use_options use = {.model = "run/best.safetensors",
                                   .data = "synth:digits?n=10&seed=99"};
    status = drove_eval(&use, &report);
    if (status != DROVE_OK) return fail(status);
    printf("the best model on %llu new digits: accuracy %.0f %%; it takes them for\n",
           (unsigned long long)report.n_rows, 100 * report.accuracy);
    status = drove_predict(&use, stdout);
    return status == DROVE_OK ? 0 : fail(status);
}
