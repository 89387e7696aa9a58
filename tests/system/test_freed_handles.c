/* In a build with assertions every public function says that its handle was destroyed, and the
 * process aborts before memory is read.
 * ctest: home=sanitized: a build with assertions. */
#include "system/run_support.h"
#include "support/status.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 30, D = 4 };

/* Tests have assertions in every build; the library has this function where it has them. */
void drove__alive_check(const void *handle, const char *kind, const char *function)
    __attribute__((weak));

typedef struct handles {
    drove_options *options;
    drove_arrays *arrays;
    drove_memory_file *file;
    drove_arrow_table *table;
    drove_run *run;
    drove_result *result;
    drove_predictor *predictor;
    drove_trainer *trainer;
    drove_data *data;
    drove_metrics *metrics;
    drove_throughput *constants;
} handles;

static handles h;
static float x[N][D], y[N];
static drove_matrix rows, values;

static void train(void)
{
    char name[64];
    assert_ok(drove_options_create(&h.options));
    assert_ok(drove_options_set(h.options, "data", drove_arrays_name(h.arrays)));
    assert_ok(drove_options_set(h.options, "test", "none"));
    assert_ok(drove_options_set(h.options, "model", "linear"));
    assert_ok(drove_options_set(h.options, "loss", "squared"));
    assert_ok(drove_options_set(h.options, "strategy", "sequential"));
    assert_ok(drove_options_set(h.options, "threads", "1"));
    assert_ok(drove_options_set(h.options, "until", "epochs=1"));
    assert_ok(drove_options_set(h.options, "lr", "0.01"));
    assert_ok(drove_options_set(h.options, "batch", "4"));
    assert_ok(drove_options_set(h.options, "rule", "sgd"));
    assert_ok(drove_run_create(h.options, &h.run));
    drove_run_keep_model(h.run);
    assert_ok(drove_run_train(h.run, &h.result));
    snprintf(name, sizeof name, "%s", drove_result_model(h.result));
    assert_ok(drove_predictor_open(name, NULL, &h.predictor));
    assert_ok(drove_options_set(h.options, "model", name));
    assert_ok(drove_trainer_open(h.options, &h.trainer));
    const drove_use_options use = {.model = name, .data = drove_arrays_name(h.arrays)};
    drove_score_report report;
    assert_ok(drove_eval_metrics(&use, &report, &h.metrics));
}

FIXTURE(make_handles)
{
    struct ArrowSchema schema;
    struct ArrowArray batch;
    drove_data *test;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < D; j++) x[i][j] = (float)((i * 7 + j * 3) % 11) / 11;
        y[i] = x[i][0] - x[i][1];
    }
    rows = drove_matrix_dense(x, DROVE_TYPE_F32, N, D);
    values = drove_matrix_dense(y, DROVE_TYPE_F32, N, 1);
    assert_ok(drove_arrays_create(&h.arrays));
    assert_ok(drove_arrays_set_dense(h.arrays, &rows));
    assert_ok(drove_arrays_set_values(h.arrays, &values));
    assert_ok(drove_memory_file_create("a", 1, 1, &h.file));
    train();
    assert_ok(drove_predictor_arrow(h.predictor, drove_arrays_name(h.arrays), 1, &schema, &batch));
    assert_ok(drove_arrow_table_create(&schema, &batch, &h.table));
    assert_ok(drove_data_open(drove_arrays_name(h.arrays), "", 1, &h.data, &test));
    drove_data_destroy(test);
    assert_ok(drove_throughput_open("paper", &h.constants));
    return 0;
}

GROUP(make_handles, NULL);

static void destroy_all(void)
{
    drove_throughput_close(h.constants);
    drove_metrics_destroy(h.metrics);
    drove_data_destroy(h.data);
    drove_trainer_destroy(h.trainer);
    drove_predictor_destroy(h.predictor);
    drove_result_destroy(h.result);
    drove_run_destroy(h.run);
    drove_arrow_table_destroy(h.table);
    drove_memory_file_destroy(h.file);
    drove_arrays_destroy(h.arrays);
    drove_options_destroy(h.options);
}

/* ---- every function ---- */

static char text[64];
static float out[N];
static void *pointer;
static size_t size;
static uint64_t count;

typedef struct call {
    const char *function, *kind;
    void (*make)(void);
} call;

#define CALL(name, function, arguments)                                                            \
    static void name(void)                                                                         \
    {                                                                                              \
        (void)function arguments;                                                                  \
    }
#define CALLS(X)                                                                                   \
    X(drove_options_set, "options", (h.options, "lr", "1"))                                        \
    X(drove_options_get, "options", (h.options, "lr", text, sizeof text))                          \
    X(drove_options_copy, "options", (h.options, (drove_options **)&pointer))                      \
    X(drove_options_load, "options", (h.options, "none.yaml"))                                     \
    X(drove_options_resume, "options", (h.options, "none"))                                        \
    X(drove_options_replay, "options", (h.options, "none"))                                        \
    X(drove_options_validate, "options", (h.options))                                              \
    X(drove_options_set_loss, "options", (h.options, NULL))                                        \
    X(drove_options_add_layer, "options", (h.options, NULL))                                       \
    X(drove_run_create, "options", (h.options, (drove_run **)&pointer))                            \
    X(drove_train, "options", (h.options, NULL, (drove_result **)&pointer))                        \
    X(drove_trainer_open, "options", (h.options, (drove_trainer **)&pointer))                      \
    X(drove_predictor_open_with, "options", (h.options, (drove_predictor **)&pointer))             \
    X(drove_options_destroy, "options", (h.options))                                               \
    X(drove_arrays_set_dense, "arrays", (h.arrays, &rows))                                         \
    X(drove_arrays_set_sparse, "arrays", (h.arrays, NULL))                                         \
    X(drove_arrays_set_images, "arrays", (h.arrays, 1, 2, 2))                                      \
    X(drove_arrays_set_classes, "arrays", (h.arrays, &values, 2, NULL))                            \
    X(drove_arrays_set_values, "arrays", (h.arrays, &values))                                      \
    X(drove_arrays_set_labels, "arrays", (h.arrays, &values, NULL))                                \
    X(drove_arrays_set_weights, "arrays", (h.arrays, &values))                                     \
    X(drove_arrays_name, "arrays", (h.arrays))                                                     \
    X(drove_arrays_copied_bytes, "arrays", (h.arrays))                                             \
    X(drove_arrays_destroy, "arrays", (h.arrays))                                                  \
    X(drove_memory_file_name, "a file in memory", (h.file))                                        \
    X(drove_memory_file_destroy, "a file in memory", (h.file))                                     \
    X(drove_arrow_table_name, "a table", (h.table))                                                \
    X(drove_arrow_table_n_rows, "a table", (h.table))                                              \
    X(drove_arrow_table_bytes, "a table", (h.table))                                               \
    X(drove_arrow_table_add, "a table", (h.table, "more", &values, NULL, 0))                       \
    X(drove_arrow_table_destroy, "a table", (h.table))                                             \
    X(drove_run_set_callbacks, "a run", (h.run, NULL))                                             \
    X(drove_run_keep_model, "a run", (h.run))                                                      \
    X(drove_run_set_communicator, "a run", (h.run, 0, NULL))                                       \
    X(drove_run_train, "a run", (h.run, (drove_result **)&pointer))                                \
    X(drove_run_cancel, "a run", (h.run))                                                          \
    X(drove_run_destroy, "a run", (h.run))                                                         \
    X(drove_result_model, "a result", (h.result))                                                  \
    X(drove_result_outcome, "a result", (h.result))                                                \
    X(drove_result_exit, "a result", (h.result))                                                   \
    X(drove_result_final, "a result", (h.result, NULL))                                            \
    X(drove_result_json, "a result", (h.result))                                                   \
    X(drove_result_print, "a result", (h.result, stdout))                                          \
    X(drove_result_destroy, "a result", (h.result))                                                \
    X(drove_predictor_describe, "a predictor", (h.predictor))                                      \
    X(drove_predictor_class_name, "a predictor", (h.predictor, 0))                                 \
    X(drove_predictor_rows, "a predictor", (h.predictor, &rows, out))                              \
    X(drove_predictor_apply, "a predictor", (h.predictor, "", 1, (float **)&pointer, &size))       \
    X(drove_predictor_remarks, "a predictor", (h.predictor, "", (char **)&pointer))                \
    X(drove_predictor_tensor, "a predictor", (h.predictor, 0, NULL))                               \
    X(drove_predictor_set_tensor, "a predictor", (h.predictor, "", out, 1))                        \
    X(drove_predictor_name, "a predictor", (h.predictor))                                          \
    X(drove_predictor_bytes, "a predictor", (h.predictor, (const void **)&pointer, &size))         \
    X(drove_predictor_save, "a predictor", (h.predictor, "none"))                                  \
    X(drove_predictor_arrow, "a predictor", (h.predictor, "", 1, NULL, NULL))                      \
    X(drove_predictor_stream, "a predictor", (h.predictor, NULL, 1, NULL))                         \
    X(drove_predictor_destroy, "a predictor", (h.predictor))                                       \
    X(drove_trainer_scale_targets, "a trainer", (h.trainer, NULL, NULL, 1))                        \
    X(drove_trainer_begin, "a trainer", (h.trainer, NULL))                                         \
    X(drove_trainer_advance, "a trainer", (h.trainer, 1, NULL, NULL))                              \
    X(drove_trainer_model, "a trainer", (h.trainer, (drove_memory_file **)&pointer))               \
    X(drove_trainer_state, "a trainer", (h.trainer, &size, &count))                                \
    X(drove_trainer_set_state, "a trainer", (h.trainer, out, 1, 1))                                \
    X(drove_trainer_destroy, "a trainer", (h.trainer))                                             \
    X(drove_data_describe, "data", (h.data, NULL))                                                 \
    X(drove_data_print_info, "data", (h.data, stdout))                                             \
    X(drove_data_columns_json, "data", (h.data, (char **)&pointer))                                \
    X(drove_data_convert, "data", (h.data, "none"))                                                \
    X(drove_data_destroy, "data", (h.data))                                                        \
    X(drove_metrics_json, "metrics", (h.metrics, (char **)&pointer))                               \
    X(drove_metrics_print, "metrics", (h.metrics, stdout))                                         \
    X(drove_metrics_destroy, "metrics", (h.metrics))                                               \
    X(drove_throughput_close, "constants", (h.constants))

#define DEFINE(function, kind, arguments) CALL(call_##function, function, arguments)
#define ROW(function, kind, arguments)    {#function, kind, call_##function},
CALLS(DEFINE)
static const call calls[] = {CALLS(ROW)};

/* Standard error of a process that makes the call, into[size]; *status as waitpid has it. */
static void run_call(void (*make)(void), char *into, size_t into_size, int *status)
{
    int pipes[2];
    size_t n = 0;
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        if (dup2(pipes[1], STDERR_FILENO) < 0) _exit(1);
        make();
        _exit(0);
    }
    close(pipes[1]);
    for (ssize_t got = 1; got > 0 && n < into_size - 1; n += (size_t)(got > 0 ? got : 0))
        got = read(pipes[0], into + n, into_size - 1 - n);
    into[n] = '\0';
    close(pipes[0]);
    assert_int_equal(waitpid(child, status, 0), child);
}

TEST(every_function_says_that_its_handle_was_destroyed)
{
    destroy_all();
    if (drove__alive_check == NULL) {
        printf("skip: a build without assertions does not look\n");
        skip();
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char line[1024], expected[160];
        int status;
        run_call(calls[i].make, line, sizeof line, &status);
        snprintf(expected, sizeof expected,
                 "%s: expected %s, found a handle that was destroyed (0x", calls[i].function,
                 calls[i].kind);
        if (strncmp(line, expected, strlen(expected)) != 0 || strchr(line, '\n')[1] != '\0')
            fail_msg("%s: expected one line \"%s...\", found \"%s\"", calls[i].function, expected,
                     line);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
            fail_msg("%s: expected SIGABRT, found status %d", calls[i].function, status);
    }
}

/* Handles are made and destroyed over and over: none is taken for an old one, and memory that runs
 * keep for the library's own use is not refused. */
TEST(new_handles_are_not_taken_for_old_ones)
{
    for (int i = 0; i < 1000; i++) {
        drove_options *options, *copy;
        drove_arrays *arrays;
        assert_ok(drove_options_create(&options));
        assert_ok(drove_options_copy(options, &copy));
        drove_options_destroy(options);
        assert_ok(drove_options_set(copy, "lr", "0.5"));
        assert_ok(drove_arrays_create(&arrays));
        assert_ok(drove_arrays_set_dense(arrays, &rows));
        drove_arrays_destroy(arrays);
        drove_options_destroy(copy);
    }
}
