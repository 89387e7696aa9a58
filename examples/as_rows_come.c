/* examples/as_rows_come.c - a model that goes on learning from rows as they come, a few at once. */
#include <drove/drove.h>
#include <stdio.h>

enum { ROWS = 64, COLUMNS = 2 };

/* The next rows of a stream; here they are made up. */
static void receive(unsigned *seed, float x[ROWS][COLUMNS], int y[ROWS])
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            *seed = *seed * 1664525u + 1013904223u;
            x[i][j] = (float)(*seed >> 8) / (1 << 24);
        }
        y[i] = x[i][0] > x[i][1];
    }
}

static drove_status set_rows(drove_arrays *rows, float x[ROWS][COLUMNS], int y[ROWS])
{
    const drove_matrix examples = drove_matrix_dense(x, DROVE_TYPE_F32, ROWS, COLUMNS);
    const drove_matrix classes = drove_matrix_dense(y, DROVE_TYPE_I32, ROWS, 1);
    drove_status status = drove_arrays_set_dense(rows, &examples);
    return status == DROVE_OK ? drove_arrays_set_classes(rows, &classes, 2, NULL) : status;
}

/* A run on the first rows settles the scaling of the inputs and makes a model. */
static drove_status train_first(drove_options *options, const drove_arrays *rows,
                                drove_result **out)
{
    drove_run *run;
    drove_status status = drove_options_set(options, "data", drove_arrays_name(rows));
    if (status == DROVE_OK) status = drove_options_set(options, "test", "none");
    if (status == DROVE_OK) status = drove_options_set(options, "model", "mlp:16");
    if (status == DROVE_OK) status = drove_options_set(options, "rule", "momentum:0.9");
    if (status == DROVE_OK) status = drove_options_set(options, "lr", "0.05");
    if (status == DROVE_OK) status = drove_options_set(options, "batch", "16");
    if (status == DROVE_OK) status = drove_options_set(options, "until", "epochs=1");
    if (status == DROVE_OK) status = drove_run_create(options, &run);
    if (status != DROVE_OK) return status;
    drove_run_keep_model(run);
    status = drove_run_train(run, out);
    drove_run_destroy(run);
    return status;
}

int main(void)
{
    static float x[ROWS][COLUMNS];
    static int y[ROWS];
    unsigned seed = 1;
    int is_over = 0;
    double loss = 0;
    drove_options *options = NULL;
    drove_arrays *rows = NULL;
    drove_result *first = NULL;
    drove_trainer *trainer = NULL;
    drove_memory_file *model = NULL;
    receive(&seed, x, y);
    drove_status status = drove_options_create(&options);
    if (status == DROVE_OK) status = drove_arrays_create(&rows);
    if (status == DROVE_OK) status = set_rows(rows, x, y);
    if (status == DROVE_OK) status = train_first(options, rows, &first);
    if (status == DROVE_OK) status = drove_options_set(options, "model", drove_result_model(first));
    if (status == DROVE_OK) status = drove_trainer_open(options, &trainer);
    for (int n = 0; n < 200 && status == DROVE_OK; n++) {
        receive(&seed, x, y);
        status = set_rows(rows, x, y);
        if (status == DROVE_OK) status = drove_trainer_begin(trainer, rows);
        if (status == DROVE_OK) status = drove_trainer_advance(trainer, 60, &is_over, &loss);
    }
    if (status == DROVE_OK) status = drove_trainer_model(trainer, &model);
    if (status == DROVE_OK) printf("loss of the last rows: %.2f\n", loss);
    else fprintf(stderr, "%s\n", drove_error_text());
    drove_memory_file_destroy(model);
    drove_trainer_destroy(trainer);
    drove_result_destroy(first);
    drove_arrays_destroy(rows);
    drove_options_destroy(options);
    return status == DROVE_OK ? 0 : 1;
}
