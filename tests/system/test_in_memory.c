/* A program that has its data in memory trains, cancels, predicts and goes on without a file; each
 * result is that of the same by files. */
#include "system/run_support.h"
#include "support/status.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 300, D = 20, CLASSES = 3 };

typedef struct problem {
    float x[N][D];
    int32_t y[N];
    drove_arrays *arrays;
} problem;

/* Three classes that a network can tell apart. */
static void make_problem(problem *p)
{
    uint32_t state = 1;
    for (int i = 0; i < N; i++) {
        p->y[i] = i % CLASSES;
        for (int j = 0; j < D; j++) {
            state = state * 1664525u + 1013904223u;
            p->x[i][j] = (float)(state >> 8) * 0x1p-24f + (j % CLASSES == p->y[i] ? 0.5f : 0.0f);
        }
    }
    const drove_matrix x = drove_matrix_dense(p->x, DROVE_TYPE_F32, N, D);
    const drove_matrix y = drove_matrix_dense(p->y, DROVE_TYPE_I32, N, 1);
    assert_ok(drove_arrays_create(&p->arrays));
    assert_ok(drove_arrays_set_dense(p->arrays, &x));
    assert_ok(drove_arrays_set_classes(p->arrays, &y, CLASSES, NULL));
}

static void write_npy(const char *path, const char *header, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    const size_t n_header = strlen(header) + 1;
    const unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)n_header,
                                     0};
    assert_int_equal(fwrite(start, 1, sizeof start, f), sizeof start);
    fprintf(f, "%s\n", header);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static drove_options options_for(const char *data)
{
    drove_options opt = drove__options_default();
    set(&opt, "data", data);
    set(&opt, "test", "none");
    set(&opt, "model", "mlp:8");
    set(&opt, "strategy", "sequential");
    set(&opt, "threads", "1");
    set(&opt, "until", "epochs=3");
    set(&opt, "lr", "0.05");
    return opt;
}

static drove_result *train_and_keep(const drove_options *opt)
{
    drove_run *run;
    drove_result *result;
    assert_ok(drove_run_create(opt, &run));
    drove_run_keep_model(run);
    assert_ok(drove_run_train(run, &result));
    drove_result *again;
    assert_int_equal(drove_run_train(run, &again), DROVE_E_ARG);
    assert_null(again);
    drove_run_destroy(run);
    assert_non_null(drove_result_model(result));
    return result;
}

TEST(training_is_that_from_files)
{
    problem *p = *state;
    char *of_file;
    size_t n_of_file, n_of_memory;
    const void *of_memory;
    drove_predictor *predictor;
    write_npy("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (300, 20), }", p->x,
              sizeof p->x);
    write_npy("y.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (300,), }", p->y,
              sizeof p->y);
    drove_options opt = options_for("npy:x.npy,y.npy");
    set(&opt, "out", fresh_folder("by-files"));
    run_to(&opt, DROVE_FINISHED);
    opt = options_for(drove_arrays_name(p->arrays));
    drove_result *result = train_and_keep(&opt);
    assert_ok(drove_predictor_open(drove_result_model(result), NULL, &predictor));
    drove_result_destroy(result); /* the predictor has its own copy */
    assert_ok(
        drove__file_load("by-files/model.safetensors", (size_t)1 << 24, &of_file, &n_of_file));
    drove_predictor_bytes(predictor, &of_memory, &n_of_memory);
    /* The names of the classes: "0" of a file are those that it has, of arrays the numbers. */
    drove_predictor *by_file;
    assert_ok(drove_predictor_open("by-files", NULL, &by_file));
    const drove_predictor_facts a = *drove_predictor_describe(predictor);
    const drove_predictor_facts b = *drove_predictor_describe(by_file);
    assert_int_equal(a.n_tensors, b.n_tensors);
    assert_int_equal(a.n_parameters, b.n_parameters);
    for (size_t i = 0; i < a.n_tensors; i++) {
        drove_tensor_info s, t;
        assert_ok(drove_predictor_tensor(predictor, i, &s));
        assert_ok(drove_predictor_tensor(by_file, i, &t));
        assert_string_equal(s.name, t.name);
        assert_int_equal(s.n, t.n);
        if (s.values != NULL) assert_memory_equal(s.values, t.values, s.n * sizeof(float));
    }
    drove_predictor_destroy(by_file);
    drove_predictor_destroy(predictor);
    free(of_file);
}

/* ---- predictions ---- */

static drove_predictor *trained(problem *p)
{
    drove_predictor *predictor;
    const drove_options opt = options_for(drove_arrays_name(p->arrays));
    drove_result *result = train_and_keep(&opt);
    assert_ok(drove_predictor_open(drove_result_model(result), NULL, &predictor));
    drove_result_destroy(result);
    return predictor;
}

TEST(three_ways_to_predict_agree)
{
    problem *p = *state;
    drove_predictor *predictor = trained(p);
    float rows[N][CLASSES], *all, value;
    double doubles[N][D];
    size_t n;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++) doubles[i][j] = (double)p->x[i][j];
    const drove_matrix x = drove_matrix_dense(doubles, DROVE_TYPE_F64, N, D);
    assert_ok(drove_predictor_rows(predictor, &x, rows[0]));
    assert_ok(drove_predictor_apply(predictor, drove_arrays_name(p->arrays), 2, &all, &n));
    assert_int_equal(n, N);
    FILE *text = tmpfile();
    assert_non_null(text);
    const drove_use_options use = {.model = drove_predictor_name(predictor),
                                   .data = drove_arrays_name(p->arrays),
                                   .proba = 1};
    assert_ok(drove_predict(&use, text));
    rewind(text);
    for (int i = 0; i < N; i++) {
        double sum = 0.0;
        for (int c = 0; c < CLASSES; c++) {
            assert_int_equal(fscanf(text, "%f%*[,]", &value), 1);
            assert_true(fabsf(rows[i][c] - all[i * CLASSES + c]) < 1e-6f);
            assert_true(fabsf(value - all[i * CLASSES + c]) < 1e-6f);
            sum += (double)rows[i][c];
        }
        assert_true(fabs(sum - 1.0) < 1e-5);
    }
    fclose(text);
    free(all);
    doubles[3][2] = NAN;
    assert_int_equal(drove_predictor_rows(predictor, &x, rows[0]), DROVE_E_DATA);
    const drove_matrix narrow = drove_matrix_dense(doubles, DROVE_TYPE_F64, 1, D - 1);
    assert_int_equal(drove_predictor_rows(predictor, &narrow, rows[0]), DROVE_E_SHAPE);
    drove_predictor_destroy(predictor);
}

typedef struct asker {
    drove_predictor *predictor;
    const problem *p;
    const float *expected;
    int n_wrong;
} asker;

static void *ask(void *argument)
{
    asker *a = argument;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i + 5 <= N; i += 5) {
            float out[5 * CLASSES];
            const drove_matrix x = drove_matrix_dense(a->p->x[i], DROVE_TYPE_F32, 5, D);
            if (drove_predictor_rows(a->predictor, &x, out) != DROVE_OK) a->n_wrong++;
            for (int k = 0; k < 5 * CLASSES; k++)
                if (fabsf(out[k] - a->expected[i * CLASSES + k]) > 1e-6f) a->n_wrong++;
        }
    }
    return NULL;
}

TEST(many_threads_ask_one_predictor)
{
    problem *p = *state;
    enum { THREADS = 8 };
    drove_predictor *predictor = trained(p);
    float expected[N][CLASSES];
    pthread_t thread[THREADS];
    asker all[THREADS];
    const drove_matrix x = drove_matrix_dense(p->x, DROVE_TYPE_F32, N, D);
    assert_ok(drove_predictor_rows(predictor, &x, expected[0]));
    for (int i = 0; i < THREADS; i++) {
        all[i] = (asker){predictor, p, expected[0], 0};
        assert_int_equal(pthread_create(&thread[i], NULL, ask, &all[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(all[i].n_wrong, 0);
    }
    drove_predictor_destroy(predictor);
}

/* ---- parameters ---- */

TEST(parameters_are_read_and_written)
{
    problem *p = *state;
    drove_predictor *predictor = trained(p), *saved;
    float bias[CLASSES] = {0.0f, 40.0f, 0.0f}, out[CLASSES];
    char name[40] = "";
    const drove_predictor_facts facts = *drove_predictor_describe(predictor);
    size_t n = 0;
    for (size_t i = 0; i < facts.n_tensors; i++) {
        drove_tensor_info t;
        assert_ok(drove_predictor_tensor(predictor, i, &t));
        if (strncmp(t.name, "layer", 5) == 0) n += t.n;
        if (t.n == CLASSES && t.rank == 1 && strstr(t.name, ".bias") != NULL)
            snprintf(name, sizeof name, "%s", t.name);
    }
    assert_int_equal(n, facts.n_parameters);
    assert_int_equal(drove_predictor_set_tensor(predictor, name, bias, 2), DROVE_E_SHAPE);
    assert_int_equal(drove_predictor_set_tensor(predictor, "none", bias, 2), DROVE_E_ARG);
    assert_ok(drove_predictor_set_tensor(predictor, name, bias, CLASSES));
    const drove_matrix x = drove_matrix_dense(p->x, DROVE_TYPE_F32, 1, D);
    assert_ok(drove_predictor_rows(predictor, &x, out));
    assert_true(out[1] > 0.999f);
    bias[0] = NAN;
    assert_int_equal(drove_predictor_set_tensor(predictor, name, bias, CLASSES), DROVE_E_NONFINITE);
    assert_ok(drove_predictor_save(predictor, "changed.safetensors"));
    assert_ok(drove_predictor_open("changed.safetensors", NULL, &saved));
    assert_ok(drove_predictor_rows(saved, &x, out));
    assert_true(out[1] > 0.999f);
    drove_predictor_destroy(saved);
    drove_predictor_destroy(predictor);
    assert_int_equal(drove_predictor_open("x.npy", NULL, &saved), DROVE_E_FILE);
    assert_null(saved);
    assert_int_equal(drove_predictor_open("memory:424242.safetensors", NULL, &saved), DROVE_E_FILE);
}

static double loss_of(const char *model, const problem *p)
{
    drove_score_report report;
    const drove_use_options use = {.model = model, .data = drove_arrays_name(p->arrays)};
    assert_ok(drove_eval(&use, &report));
    return report.loss;
}

TEST(training_goes_on_from_memory)
{
    problem *p = *state;
    drove_predictor *predictor = trained(p);
    const double before = loss_of(drove_predictor_name(predictor), p);
    drove_options opt = options_for(drove_arrays_name(p->arrays));
    set(&opt, "model", drove_predictor_name(predictor));
    drove_result *result = train_and_keep(&opt);
    drove_progress end;
    drove_result_final(result, &end);
    assert_true(fabs(end.loss_initial - before) < 1e-6);
    assert_true(loss_of(drove_result_model(result), p) < before);
    drove_result_destroy(result);
    drove_predictor_destroy(predictor);
}

/* One value in all rows: in a file a wrong column, most likely; a program means it. */
TEST(one_value_is_trained)
{
    problem *p = *state;
    static float y[N];
    for (int i = 0; i < N; i++) y[i] = 2.5f;
    const drove_matrix x = drove_matrix_dense(p->x, DROVE_TYPE_F32, N, D);
    const drove_matrix values = drove_matrix_dense(y, DROVE_TYPE_F32, N, 1);
    drove_arrays *arrays;
    assert_ok(drove_arrays_create(&arrays));
    assert_ok(drove_arrays_set_dense(arrays, &x));
    assert_ok(drove_arrays_set_values(arrays, &values));
    const drove_options opt = options_for(drove_arrays_name(arrays));
    drove_result_destroy(train_and_keep(&opt));
    drove_arrays_destroy(arrays);
}

/* Rows of other means and deviations: the model's scaling stays. */
TEST(the_scaling_is_the_models)
{
    problem *p = *state;
    static float shifted[N][D];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++) shifted[i][j] = 3.0f * p->x[i][j] + (float)j;
    const drove_matrix x = drove_matrix_dense(shifted, DROVE_TYPE_F32, N, D);
    const drove_matrix y = drove_matrix_dense(p->y, DROVE_TYPE_I32, N, 1);
    drove_arrays *other;
    drove_predictor *first, *second;
    assert_ok(drove_arrays_create(&other));
    assert_ok(drove_arrays_set_dense(other, &x));
    assert_ok(drove_arrays_set_classes(other, &y, CLASSES, NULL));
    first = trained(p);
    drove_options opt = options_for(drove_arrays_name(other));
    set(&opt, "model", drove_predictor_name(first));
    drove_result *result = train_and_keep(&opt);
    assert_ok(drove_predictor_open(drove_result_model(result), NULL, &second));
    drove_result_destroy(result);
    const drove_predictor_facts facts = *drove_predictor_describe(first);
    int n_scales = 0;
    for (size_t i = 0; i < facts.n_tensors; i++) {
        drove_tensor_info a, b;
        assert_ok(drove_predictor_tensor(first, i, &a));
        assert_ok(drove_predictor_tensor(second, i, &b));
        if (strncmp(a.name, "input.", 6) != 0) continue;
        assert_memory_equal(a.values, b.values, a.n * sizeof(float));
        n_scales++;
    }
    assert_int_equal(n_scales, 2);
    drove_predictor_destroy(first);
    drove_predictor_destroy(second);
    drove_arrays_destroy(other);
}

/* Scaled to unit they stay as they are; the model says so, and can be opened. */
TEST(a_model_of_sparse_ones)
{
    enum { ROWS = 40, EACH = 2 };
    int64_t start[ROWS + 1];
    int32_t index[ROWS * EACH], y[ROWS];
    char spec[80];
    drove_arrays *ones;
    drove_predictor *predictor;
    for (int i = 0; i < ROWS; i++) {
        start[i] = (int64_t)i * EACH;
        index[i * EACH] = i % 5;
        index[i * EACH + 1] = 5 + i % 7;
        y[i] = i % 5 < 2;
    }
    start[ROWS] = ROWS * EACH;
    const drove_sparse x = {.n_rows = ROWS,
                            .n_columns = 12,
                            .start = start,
                            .start_type = DROVE_TYPE_I64,
                            .index = index,
                            .index_type = DROVE_TYPE_I32};
    const drove_matrix classes = drove_matrix_dense(y, DROVE_TYPE_I32, ROWS, 1);
    assert_ok(drove_arrays_create(&ones));
    assert_ok(drove_arrays_set_sparse(ones, &x));
    assert_ok(drove_arrays_set_classes(ones, &classes, 2, NULL));
    snprintf(spec, sizeof spec, "%s?scale=unit", drove_arrays_name(ones));
    drove_options opt = options_for(spec);
    set(&opt, "model", "logistic");
    drove_result *result = train_and_keep(&opt);
    assert_ok(drove_predictor_open(drove_result_model(result), NULL, &predictor));
    float *with_key, *without;
    size_t n;
    assert_ok(drove_predictor_apply(predictor, spec, 1, &with_key, &n));
    assert_ok(drove_predictor_apply(predictor, drove_arrays_name(ones), 1, &without, &n));
    assert_int_equal(n, ROWS);
    assert_memory_equal(with_key, without, n * sizeof(float));
    free(with_key);
    free(without);
    drove_predictor_destroy(predictor);
    drove_result_destroy(result);
    drove_arrays_destroy(ones);
}

/* ---- cancelling ---- */

typedef struct job {
    drove_run *run;
    drove_outcome outcome;
    int exit_status;
    int stops_at; /* that many evaluations; 0: never */
    _Atomic int n_evaluated;
} job;

static void count_evaluations(void *context, const drove_progress *progress)
{
    job *j = context;
    (void)progress;
    if (atomic_fetch_add(&j->n_evaluated, 1) + 1 == j->stops_at) drove_run_cancel(j->run);
}

static void *run_job(void *argument)
{
    job *j = argument;
    drove_result *result;
    const drove_callbacks callbacks = {.context = j, .evaluated = count_evaluations};
    drove_run_set_callbacks(j->run, &callbacks);
    if (drove_run_train(j->run, &result) == DROVE_OK) {
        j->outcome = drove_result_outcome(result);
        j->exit_status = drove_result_exit(result);
    }
    drove_result_destroy(result);
    return NULL;
}

TEST(one_of_two_runs_is_cancelled)
{
    problem *p = *state;
    job stopped = {.outcome = DROVE_CRASHED}, other = {.outcome = DROVE_CRASHED};
    pthread_t thread[2];
    drove_options opt = options_for(drove_arrays_name(p->arrays));
    set(&opt, "until", "seconds=600");
    assert_ok(drove_run_create(&opt, &stopped.run));
    set(&opt, "until", "updates=20000");
    assert_ok(drove_run_create(&opt, &other.run));
    assert_int_equal(pthread_create(&thread[0], NULL, run_job, &stopped), 0);
    assert_int_equal(pthread_create(&thread[1], NULL, run_job, &other), 0);
    while (atomic_load(&stopped.n_evaluated) < 2) usleep(10000);
    drove_run_cancel(stopped.run);
    pthread_join(thread[0], NULL);
    pthread_join(thread[1], NULL);
    assert_int_equal(stopped.outcome, DROVE_INTERRUPTED);
    assert_int_equal(stopped.exit_status, 130);
    assert_int_equal(other.outcome, DROVE_FINISHED);
    drove_run_destroy(stopped.run);
    drove_run_destroy(other.run);
}

TEST(a_callback_cancels)
{
    problem *p = *state;
    job j = {.outcome = DROVE_CRASHED, .stops_at = 3};
    drove_options opt = options_for(drove_arrays_name(p->arrays));
    set(&opt, "until", "seconds=600");
    set(&opt, "eval_every", "1");
    assert_ok(drove_run_create(&opt, &j.run));
    run_job(&j);
    assert_int_equal(j.outcome, DROVE_INTERRUPTED);
    assert_in_range(j.n_evaluated, 3, 4); /* one more for the summary */
    drove_run_destroy(j.run);
}

/* Of a run that would train for ten minutes. */
typedef struct stopper {
    drove_run *run;
    int n_calls;
} stopper;

static void stop_at_once(stopper *s)
{
    if (s->n_calls++ == 0) drove_run_cancel(s->run);
}

static void stop_by_progress(void *context, const drove_progress *progress)
{
    (void)progress;
    stop_at_once(context);
}

static void stop_by_message(void *context, const char *line)
{
    assert_null(strchr(line, '\n'));
    stop_at_once(context);
}

static size_t count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    size_t n = 0;
    if (tasks == NULL) {
        printf("skip: /proc is not mounted, which counts the threads\n");
        skip();
    }
    while (readdir(tasks) != NULL) n++;
    closedir(tasks);
    return n;
}

/* Each kind of callback may stop its run, and no thread of a run outlives it. */
TEST(every_callback_can_stop_a_run)
{
    problem *p = *state;
    const size_t n_threads = count_threads();
    for (int kind = 0; kind < 2; kind++) {
        stopper s = {0};
        drove_result *result;
        const drove_callbacks callbacks = {.context = &s,
                                           .progress = kind == 0 ? stop_by_progress : NULL,
                                           .message = kind == 1 ? stop_by_message : NULL};
        drove_options opt = options_for(drove_arrays_name(p->arrays));
        set(&opt, "until", "seconds=600");
        set(&opt, "strategy", "hogwild");
        set(&opt, "threads", "2");
        if (kind == 1) set(&opt, "lr", "auto"); /* is told when it is chosen */
        assert_ok(drove_run_create(&opt, &s.run));
        drove_run_set_callbacks(s.run, &callbacks);
        assert_ok(drove_run_train(s.run, &result));
        assert_true(s.n_calls > 0);
        assert_int_equal(drove_result_outcome(result), DROVE_INTERRUPTED);
        drove_result_destroy(result);
        drove_run_destroy(s.run);
        assert_int_equal(count_threads(), n_threads);
    }
}

TEST(a_run_cancelled_before_it_begins)
{
    problem *p = *state;
    const drove_options opt = options_for(drove_arrays_name(p->arrays));
    job j = {.outcome = DROVE_CRASHED};
    assert_ok(drove_run_create(&opt, &j.run));
    drove_run_cancel(j.run);
    run_job(&j);
    assert_int_equal(j.outcome, DROVE_INTERRUPTED);
    drove_run_destroy(j.run);
    assert_ok(drove_run_create(&opt, &j.run)); /* and one that never begins */
    drove_run_destroy(j.run);
    drove_run_destroy(NULL);
}

FIXTURE(setup)
{
    problem *p = calloc(1, sizeof *p);
    if (p == NULL) return 1;
    make_problem(p);
    *state = p;
    return 0;
}

FIXTURE(teardown)
{
    problem *p = *state;
    drove_arrays_destroy(p->arrays);
    free(p);
    return 0;
}

GROUP(setup, teardown);
