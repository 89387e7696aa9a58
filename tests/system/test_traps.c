/* A program that traps invalid operations, divisions by zero and overflows, as simulation codes do,
 * trains and predicts; its traps are on afterwards as before. */
#define _GNU_SOURCE
#include "system/run_support.h"
#include "support/test.h"

#include <fenv.h>
#include <stdio.h>

enum { N = 200, D = 2, TRAPS = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW };

static void ok(drove_status status)
{
    if (status != DROVE_OK) fail_msg("%s", drove_error_text());
}

TEST(training_and_predicting_raise_no_trap)
{
    static float x[N][D], probability[N][2];
    static int32_t y[N];
    static const char *const cases[][3] = {{"logistic", "sgd", "sequential"},
                                           {"mlp:16", "adam", "sequential"},
                                           {"mlp:16,8", "momentum", "hogwild"}};
#if defined(__x86_64__)
    for (int i = 0; i < N; i++) {
        x[i][0] = (float)(i % 20) / 20;
        x[i][1] = (float)(i / 20) / 10;
        y[i] = x[i][0] > x[i][1];
    }
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F32, N, D);
    const drove_matrix classes = drove_matrix_dense(y, DROVE_TYPE_I32, N, 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        drove_arrays *arrays;
        drove_run *run;
        drove_result *result;
        drove_predictor *predictor;
        feenableexcept(TRAPS);
        drove_options opt = drove__options_default();
        ok(drove_arrays_create(&arrays));
        ok(drove_arrays_set_dense(arrays, &rows));
        ok(drove_arrays_set_classes(arrays, &classes, 2, NULL));
        set(&opt, "data", drove_arrays_name(arrays));
        set(&opt, "test", c == 0 ? "none" : "split");
        set(&opt, "model", cases[c][0]);
        set(&opt, "rule", cases[c][1]);
        set(&opt, "strategy", cases[c][2]);
        set(&opt, "threads", "1");
        set(&opt, "lr", "0.05");
        set(&opt, "until", "epochs=2");
        ok(drove_run_create(&opt, &run));
        drove_run_keep_model(run);
        ok(drove_run_train(run, &result));
        ok(drove_predictor_open(drove_result_model(result), NULL, &predictor));
        ok(drove_predictor_rows(predictor, &rows, probability[0]));
        assert_int_equal(fegetexcept(), TRAPS);
        fedisableexcept(FE_ALL_EXCEPT);
        assert_true(probability[0][0] > 0 && probability[0][0] < 1);
        drove_predictor_destroy(predictor);
        drove_result_destroy(result);
        drove_run_destroy(run);
        drove_arrays_destroy(arrays);
    }
#else
    (void)x, (void)y, (void)probability, (void)cases;
    skip(); /* other processors need not have traps */
#endif
}
