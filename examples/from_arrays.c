/* examples/from_arrays.c - trains on arrays in memory and predicts, without a file. */
#include <drove/drove.h>
#include <stdio.h>

int main(void)
{
    static float x[200][2];
    static int y[200];
    float probability[2];
    for (int i = 0; i < 200; i++) {
        x[i][0] = (float)(i % 20) / 20;
        x[i][1] = (float)(i / 20) / 10;
        y[i] = x[i][0] > x[i][1];
    }
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F32, 200, 2);
    const drove_matrix classes = drove_matrix_dense(y, DROVE_TYPE_I32, 200, 1);
    drove_options *options = NULL;
    drove_arrays *data = NULL;
    drove_run *run = NULL;
    drove_result *result = NULL;
    drove_predictor *model = NULL;
    drove_status status = drove_arrays_create(&data);
    if (status == DROVE_OK) status = drove_arrays_set_dense(data, &rows);
    if (status == DROVE_OK) status = drove_arrays_set_classes(data, &classes, 2, NULL);
    if (status == DROVE_OK) status = drove_options_create(&options);
    if (status == DROVE_OK) status = drove_options_set(options, "data", drove_arrays_name(data));
    if (status == DROVE_OK) status = drove_options_set(options, "model", "mlp:16");
    if (status == DROVE_OK) status = drove_run_create(options, &run);
    if (status == DROVE_OK) {
        drove_run_keep_model(run);
        status = drove_run_train(run, &result);
    }
    if (status == DROVE_OK) status = drove_predictor_open(drove_result_model(result), NULL, &model);
    if (status == DROVE_OK) {
        const float new_row[2] = {0.9f, 0.1f};
        const drove_matrix one = drove_matrix_dense(new_row, DROVE_TYPE_F32, 1, 2);
        status = drove_predictor_rows(model, &one, probability);
    }
    if (status == DROVE_OK) printf("class 1: %.2f\n", (double)probability[1]);
    else fprintf(stderr, "%s\n", drove_error_text());
    drove_predictor_destroy(model);
    drove_result_destroy(result);
    drove_run_destroy(run);
    drove_options_destroy(options);
    drove_arrays_destroy(data);
    return status == DROVE_OK ? 0 : 1;
}
