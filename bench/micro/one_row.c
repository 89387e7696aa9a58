/* bench/micro/one_row.c - what drove_predictor_rows takes for one row: 784-128-128-128-10, floats.
 *
 * Microseconds of a call in one thread: the least and the median of blocks of calls, as JSON.
 */
#include <drove/drove.h>

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 500, D = 784, CLASSES = 10, BLOCKS = 201, CALLS = 200 };

static float x[N][D];
static int y[N];

static drove_status train(drove_predictor **out)
{
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F32, N, D);
    const drove_matrix classes = drove_matrix_dense(y, DROVE_TYPE_I32, N, 1);
    drove_options *options = NULL;
    drove_arrays *data = NULL;
    drove_run *run = NULL;
    drove_result *result = NULL;
    drove_status status = drove_arrays_create(&data);
    if (status == DROVE_OK) status = drove_arrays_set_dense(data, &rows);
    if (status == DROVE_OK) status = drove_arrays_set_classes(data, &classes, CLASSES, NULL);
    if (status == DROVE_OK) status = drove_options_create(&options);
    const char *const values[][2] = {{"model", "mlp:128,128,128"},
                                     {"until", "epochs=1"},
                                     {"lr", "0.01"},
                                     {"threads", "1"},
                                     {"test", "none"},
                                     {"data", NULL}};
    for (size_t i = 0; i < sizeof values / sizeof *values && status == DROVE_OK; i++)
        status = drove_options_set(options, values[i][0],
                                   values[i][1] != NULL ? values[i][1] : drove_arrays_name(data));
    if (status == DROVE_OK) status = drove_run_create(options, &run);
    if (status == DROVE_OK) {
        drove_run_keep_model(run);
        status = drove_run_train(run, &result);
    }
    if (status == DROVE_OK) status = drove_predictor_open(drove_result_model(result), NULL, out);
    drove_result_destroy(result);
    drove_run_destroy(run);
    drove_options_destroy(options);
    drove_arrays_destroy(data);
    return status;
}

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(void)
{
    static double us[BLOCKS];
    float out[CLASSES];
    drove_predictor *predictor = NULL;
    for (int i = 0; i < N; i++) {
        y[i] = i % CLASSES;
        for (int j = 0; j < D; j++) x[i][j] = (float)((i * 31 + j * 17) % 255) / 255;
    }
    drove_status status = train(&predictor);
    for (int b = 0; b < BLOCKS && status == DROVE_OK; b++) {
        const uint64_t begun_ns = drove__now_ns();
        for (int i = 0; i < CALLS && status == DROVE_OK; i++) {
            const drove_matrix row = drove_matrix_dense(x[i], DROVE_TYPE_F32, 1, D);
            status = drove_predictor_rows(predictor, &row, out);
        }
        us[b] = (double)(drove__now_ns() - begun_ns) * 1e-3 / CALLS;
    }
    drove_predictor_destroy(predictor);
    if (status != DROVE_OK) {
        fprintf(stderr, "one_row: %s\n", drove_error_text());
        return 1;
    }
    qsort(us, BLOCKS, sizeof *us, compare);
    printf("{\"one_row_us\": {\"least\": %.2f, \"median\": %.2f}}\n", us[0], us[BLOCKS / 2]);
    return 0;
}
