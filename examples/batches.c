/* examples/batches.c - rows that no array and no file holds: a function makes them, batch by batch,
 * and a run trains on all of them. */
#include <drove/drove.h>
#include <stdio.h>

enum { ROWS = 256, COLUMNS = 3, BATCHES = 20 };

/* A database's cursor, a socket ...; here rows are made up. */
typedef struct cursor {
    unsigned seed, n_given;
    float x[ROWS][COLUMNS], y[ROWS];
} cursor;

static float next_number(cursor *c)
{
    c->seed = c->seed * 1664525u + 1013904223u;
    return (float)(c->seed >> 8) / (1 << 24);
}

/* The next rows; x stays as it is until the next call. */
static drove_status next(void *context, drove_batch_request *request)
{
    cursor *c = context;
    request->is_over = c->n_given == BATCHES;
    if (request->is_over) return DROVE_OK;
    c->n_given++;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) c->x[i][j] = next_number(c);
        c->y[i] = 3 * c->x[i][0] - c->x[i][1] + 0.5f;
    }
    const drove_matrix x = drove_matrix_dense(c->x, DROVE_TYPE_F32, ROWS, COLUMNS);
    const drove_matrix y = drove_matrix_dense(c->y, DROVE_TYPE_F32, ROWS, 1);
    drove_status status = drove_arrays_set_dense(request->rows, &x);
    return status == DROVE_OK ? drove_arrays_set_values(request->rows, &y) : status;
}

static drove_status train(drove_result **out)
{
    drove_options *options;
    drove_status status = drove_options_create(&options);
    if (status != DROVE_OK) return status;
    status = drove_options_set(options, "data", "rows:batches.rows");
    if (status == DROVE_OK) status = drove_options_set(options, "test", "none");
    if (status == DROVE_OK) status = drove_options_set(options, "model", "linear");
    if (status == DROVE_OK) status = drove_options_set(options, "until", "epochs=20");
    if (status == DROVE_OK) status = drove_train(options, NULL, out);
    drove_options_destroy(options);
    return status;
}

int main(void)
{
    static cursor rows = {.seed = 1};
    const drove_batch_source source = {.context = &rows, .next = next};
    drove_result *result = NULL;
    drove_progress end;
    uint64_t n_rows = 0;
    drove_status status = drove_batches_write(&source, "batches.rows", &n_rows);
    if (status == DROVE_OK) status = train(&result);
    if (status != DROVE_OK) {
        fprintf(stderr, "%s\n", drove_error_text());
        return 1;
    }
    drove_result_final(result, &end);
    printf("%llu rows, loss %.5f\n", (unsigned long long)n_rows, end.loss);
    drove_result_destroy(result);
    remove("batches.rows");
    return end.loss < 0.01 ? 0 : 1;
}
