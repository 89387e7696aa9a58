/* A loss of the program's own, the pinball loss of a quantile, and a layer of its own,
 * y = x tanh(x): both checked against differences, then used in a run.
 *
 *     cc custom_loss.c -ldrove -lm
 */
#include <drove/drove.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Koenker, Bassett, Econometrica 1978: targets above the output weigh q, those below 1 - q, so that
 * a share q of the targets lies below the best output. */
static drove_status pinball(void *context, const drove_loss_batch *batch)
{
    const float q = *(const float *)context;
    for (size_t i = 0; i < batch->n_rows; i++) {
        const float error = batch->values[i] - batch->outputs[i];
        batch->loss[i] = error > 0.0f ? q * error : (q - 1.0f) * error;
        if (batch->derivative != NULL) batch->derivative[i] = error > 0.0f ? -q : 1.0f - q;
    }
    return DROVE_OK;
}

static drove_status gate_shape(void *context, drove_layer_sizes *sizes, char *why, size_t why_size)
{
    (void)context, (void)why, (void)why_size;
    sizes->out = sizes->in;
    return DROVE_OK;
}

static size_t count(const drove_layer_batch *batch)
{
    const drove_layer_shape in = batch->sizes->in;
    return batch->n_rows * in.channels * in.height * in.width;
}

static drove_status gate_forward(void *context, const drove_layer_batch *batch)
{
    (void)context;
    for (size_t i = 0; i < count(batch); i++) batch->y[i] = batch->x[i] * tanhf(batch->x[i]);
    return DROVE_OK;
}

static drove_status gate_backward(void *context, const drove_layer_batch *batch)
{
    (void)context;
    for (size_t i = 0; batch->dx != NULL && i < count(batch); i++) {
        const float t = tanhf(batch->x[i]);
        batch->dx[i] = batch->dy[i] * (t + batch->x[i] * (1.0f - t * t));
    }
    return DROVE_OK;
}

static const char network[] = "name: gated\n"
                              "layers:\n"
                              "  - {name: a, type: dense, units: 16}\n"
                              "  - {name: b, type: gate}\n"
                              "  - {name: c, type: dense}\n";

enum { N = 2000 };

/* y is x and noise between 0 and 1: the quantile q of y at x is x + q. */
static void make_data(float *x, float *y)
{
    unsigned state = 7;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i / N;
        state = state * 1664525u + 1013904223u;
        y[i] = x[i] + (float)(state >> 8) / 16777216.0f;
    }
}

static drove_status check(const drove_custom_loss *loss, const drove_custom_layer *layer)
{
    const float output[3] = {0.0f, 1.0f, -2.0f}, value[3] = {0.5f, 0.5f, 3.0f};
    const drove_loss_batch batch = {
        .n_rows = 3, .n_outputs = 1, .outputs = output, .values = value};
    const drove_layer_shape in = {.channels = 5, .height = 1, .width = 1};
    double worst = 0.0;
    drove_status status = drove_loss_check(loss, &batch, 0.0, &worst);
    if (status == DROVE_OK) status = drove_layer_check(layer, in, 0, 1, 0.0, &worst);
    return status;
}

/* The share of targets below the predictions. */
static drove_status measure(const drove_options *options, const char *data, const float *y)
{
    drove_predictor *predictor = NULL;
    float *prediction = NULL;
    size_t n = 0, n_below = 0;
    drove_status status = drove_predictor_open_with(options, &predictor);
    if (status == DROVE_OK) status = drove_predictor_apply(predictor, data, 0, &prediction, &n);
    for (size_t i = 0; i < n; i++) n_below += y[i] < prediction[i];
    if (status == DROVE_OK) printf("%.2f of the targets lie below\n", (double)n_below / N);
    free(prediction);
    drove_predictor_destroy(predictor);
    return status;
}

static drove_status train(drove_options *options, const char *data, const float *y)
{
    drove_run *run = NULL;
    drove_result *result = NULL;
    drove_status status = drove_run_create(options, &run);
    if (status == DROVE_OK) drove_run_keep_model(run);
    if (status == DROVE_OK) status = drove_run_train(run, &result);
    if (status == DROVE_OK)
        status = drove_options_set(options, "model", drove_result_model(result));
    if (status == DROVE_OK) status = measure(options, data, y);
    drove_result_destroy(result);
    drove_run_destroy(run);
    return status;
}

int main(void)
{
    static float x[N], y[N];
    float q = 0.9f;
    const drove_custom_loss loss = {.name = "pinball", .context = &q, .eval = pinball};
    const drove_custom_layer layer = {
        .name = "gate", .shape = gate_shape, .forward = gate_forward, .backward = gate_backward};
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F32, N, 1);
    const drove_matrix values = drove_matrix_dense(y, DROVE_TYPE_F32, N, 1);
    drove_arrays *data = NULL;
    drove_memory_file *file = NULL;
    drove_options *options = NULL;
    char model[64];
    make_data(x, y);
    drove_status status = check(&loss, &layer);
    if (status == DROVE_OK) status = drove_arrays_create(&data);
    if (status == DROVE_OK) status = drove_arrays_set_dense(data, &rows);
    if (status == DROVE_OK) status = drove_arrays_set_values(data, &values);
    if (status == DROVE_OK) status = drove_memory_file_create(network, strlen(network), 0, &file);
    if (status == DROVE_OK) status = drove_options_create(&options);
    if (status == DROVE_OK) {
        snprintf(model, sizeof model, "%s.yaml", drove_memory_file_name(file));
        status = drove_options_set(options, "model", model);
    }
    if (status == DROVE_OK) status = drove_options_set(options, "data", drove_arrays_name(data));
    if (status == DROVE_OK) status = drove_options_set(options, "until", "epochs=30");
    if (status == DROVE_OK) status = drove_options_set_loss(options, &loss);
    if (status == DROVE_OK) status = drove_options_add_layer(options, &layer);
    if (status == DROVE_OK) status = train(options, drove_arrays_name(data), y);
    if (status != DROVE_OK) fprintf(stderr, "%s\n", drove_error_text());
    drove_options_destroy(options);
    drove_memory_file_destroy(file);
    drove_arrays_destroy(data);
    return status == DROVE_OK ? 0 : 1;
}
