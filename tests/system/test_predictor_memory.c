/* A predictor has its model in memory once, and a second time as a file's bytes only for those who
 * ask for them; what is written into its parameters and its scaling counts everywhere. */
#include "system/run_support.h"
#include "support/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 64, D = 20, WIDTH = 4000 };
static const double PARAMETERS = (double)WIDTH * (D + WIDTH + 1);

static void fill(float x[N][D])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++) x[i][j] = (float)((i * 7 + j * 13) % 31) / 8;
}

/* Trains on N rows and saves the model. */
static void train(const char *model, const char *path)
{
    float x[N][D], y[N];
    drove_arrays *arrays;
    drove_options opt = drove__options_default();
    fill(x);
    for (int i = 0; i < N; i++) y[i] = x[i][0] - x[i][1];
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F32, N, D);
    const drove_matrix values = drove_matrix_dense(y, DROVE_TYPE_F32, N, 1);
    assert_ok(drove_arrays_create(&arrays));
    assert_ok(drove_arrays_set_dense(arrays, &rows));
    assert_ok(drove_arrays_set_values(arrays, &values));
    char name[64];
    snprintf(name, sizeof name, "%s?scale=standard", drove_arrays_name(arrays));
    set(&opt, "data", name);
    set(&opt, "test", "none");
    set(&opt, "model", model);
    set(&opt, "strategy", "sequential");
    set(&opt, "threads", "1");
    set(&opt, "until", "epochs=1");
    set(&opt, "lr", "0.001");
    drove_predictor *predictor = train_predictor(&opt);
    assert_ok(drove_predictor_save(predictor, path));
    drove_predictor_destroy(predictor);
    drove_arrays_destroy(arrays);
}

/* In kB, of /proc/self/status. */
static double memory(const char *key)
{
    char line[128];
    double kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0) kib = strtod(line + strlen(key), NULL);
    fclose(file);
    return kib;
}

/* Copies of the parameters by which the peak is above `before` kB. */
static double copies_above(double before)
{
    return (memory("VmHWM:") - before) * 1024 / (PARAMETERS * sizeof(float));
}

TEST(a_model_is_in_memory_once)
{
    float out;
    const float x[D] = {0};
    const void *bytes;
    size_t n_bytes;
    drove_predictor *predictor;
    char model[32];
    snprintf(model, sizeof model, "mlp:%d,%d", WIDTH, WIDTH);
    fflush(NULL);
    const pid_t child = fork(); /* memory that training frees would hide what opening takes */
    if (child == 0) {
        train(model, "large.safetensors");
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    FILE *clear = fopen("/proc/self/clear_refs", "w");
    if (clear == NULL) skip();
    fputs("5", clear); /* the peak counts from now on */
    fclose(clear);
    const double before = memory("VmRSS:");
    const drove_matrix row = drove_matrix_dense(x, DROVE_TYPE_F32, 1, D);
    assert_ok(drove_predictor_open("large.safetensors", NULL, &predictor));
    assert_ok(drove_predictor_rows(predictor, &row, &out));
    const double of_opening = copies_above(before);
    assert_ok(drove_predictor_save(predictor, "again.safetensors"));
    const double of_saving = copies_above(before);
    drove_predictor_bytes(predictor, &bytes, &n_bytes);
    assert_true((double)n_bytes > PARAMETERS * sizeof(float));
    const double of_bytes = copies_above(before);
    print_message("copies: %.2f, saved %.2f, with the bytes %.2f\n", of_opening, of_saving,
                  of_bytes);
    assert_true(of_opening > 0.9 && of_opening < 1.5);
    assert_true(of_saving < 1.5);
    assert_true(of_bytes > 1.9);
    drove_predictor_destroy(predictor);
}

static float predict(drove_predictor *predictor, const float *x)
{
    float out;
    const drove_matrix row = drove_matrix_dense(x, DROVE_TYPE_F32, 1, D);
    assert_ok(drove_predictor_rows(predictor, &row, &out));
    return out;
}

static size_t tensor(const drove_predictor *predictor, const char *name, drove_tensor_info *out)
{
    const size_t n = drove_predictor_describe(predictor)->n_tensors;
    for (size_t i = 0; i < n; i++) {
        assert_ok(drove_predictor_tensor(predictor, i, out));
        if (strcmp(out->name, name) == 0) return i;
    }
    fail_msg("no tensor %s", name);
    return 0;
}

TEST(changes_count_everywhere)
{
    float x[N][D], moved[D], shift[D], bias[1];
    drove_tensor_info t;
    drove_predictor *predictor, *again;
    train("mlp:8", "small.safetensors");
    fill(x);
    assert_ok(drove_predictor_open("small.safetensors", NULL, &predictor));
    const float before = predict(predictor, x[3]);
    (void)tensor(predictor, "input.shift", &t);
    assert_int_equal(t.n, D);
    for (int j = 0; j < D; j++) {
        shift[j] = t.values[j] + 0.5f;
        moved[j] = x[3][j] + 0.5f;
    }
    for (int is_asked = 0; is_asked < 2; is_asked++) { /* with and without bytes made before */
        if (is_asked) assert_non_null(drove_predictor_name(predictor));
        assert_ok(drove_predictor_set_tensor(predictor, "input.shift", shift, D));
        assert_float_equal(predict(predictor, moved), before, 1e-5f);
        (void)tensor(predictor, "layer1.bias", &t);
        bias[0] = t.values[0] + 1.0f;
        assert_ok(drove_predictor_set_tensor(predictor, "layer1.bias", bias, 1));
        const float now = predict(predictor, moved);
        assert_true(now > before + 0.1f);
        assert_ok(drove_predictor_open(drove_predictor_name(predictor), NULL, &again));
        assert_true(predict(again, moved) == now);
        drove_predictor_destroy(again);
        assert_ok(drove_predictor_save(predictor, "changed.safetensors"));
        assert_ok(drove_predictor_open("changed.safetensors", NULL, &again));
        assert_true(predict(again, moved) == now);
        drove_predictor_destroy(again);
        bias[0] -= 1.0f;
        assert_ok(drove_predictor_set_tensor(predictor, "layer1.bias", bias, 1));
    }
    drove_predictor_destroy(predictor);
}
