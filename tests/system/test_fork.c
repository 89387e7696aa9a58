/* A program forks while other threads of it train, predict and make data sets: the child predicts
 * with the same predictor, makes data sets and trains, and never waits for a lock of a thread that
 * it does not have: also not while a thread measures how to compute convolutions. */
#include "system/run_support.h"
#include "support/test.h"

#include "base/racy.h" /* DROVE_TSAN */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 64, D = 6, N_THREADS = 3, PATIENCE_S = 60, FORKS = 90 };

static float x[N][D], y[N], expected[N];
static drove_matrix rows, values;
static drove_predictor *predictor;
static atomic_bool is_over;

static bool make_arrays(drove_arrays **out)
{
    return drove_arrays_create(out) == DROVE_OK &&
           drove_arrays_set_dense(*out, &rows) == DROVE_OK &&
           drove_arrays_set_values(*out, &values) == DROVE_OK;
}

/* A run of these options; *out may be NULL: the model is not kept. */
static bool train_as(const drove_options *opt, drove_predictor **out)
{
    drove_run *run = NULL;
    drove_result *result = NULL;
    bool is_done = drove_run_create(opt, &run) == DROVE_OK;
    if (is_done) {
        drove_run_keep_model(run);
        is_done = drove_run_train(run, &result) == DROVE_OK;
    }
    if (is_done && out != NULL)
        is_done = drove_predictor_open(drove_result_model(result), NULL, out) == DROVE_OK;
    drove_result_destroy(result);
    drove_run_destroy(run);
    return is_done;
}

/* A short run of its own. */
static bool train(const char *epochs, drove_predictor **out)
{
    drove_options opt = drove__options_default();
    drove_arrays *arrays = NULL;
    if (!make_arrays(&arrays)) return false;
    set(&opt, "data", drove_arrays_name(arrays));
    set(&opt, "test", "none");
    set(&opt, "model", "mlp:8");
    set(&opt, "strategy", "hogwild");
    set(&opt, "threads", "2");
    set(&opt, "lr", "0.01");
    set(&opt, "until", epochs);
    const bool is_done = train_as(&opt, out);
    drove_arrays_destroy(arrays);
    return is_done;
}

static void *keep_training(void *unused)
{
    while (!atomic_load(&is_over))
        if (!train("epochs=20", NULL)) return unused;
    return NULL;
}

static void *keep_predicting(void *unused)
{
    float out[N];
    (void)unused;
    const drove_matrix one = drove_matrix_dense(x, DROVE_TYPE_F32, 1, D);
    while (!atomic_load(&is_over)) (void)drove_predictor_rows(predictor, &one, out);
    return NULL;
}

static void *keep_naming(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over)) {
        drove_arrays *arrays;
        if (drove_arrays_create(&arrays) == DROVE_OK) drove_arrays_destroy(arrays);
    }
    return NULL;
}

/* Exit status 0: the child could do all of it. */
static int in_child(bool trains)
{
    float out[N], *all = NULL;
    const void *bytes;
    size_t n_bytes, n_rows;
    drove_arrays *arrays;
    if (drove_predictor_rows(predictor, &rows, out) != DROVE_OK) return 2;
    if (memcmp(out, expected, sizeof out) != 0) return 3;
    if (!make_arrays(&arrays)) return 4;
    const drove_status status =
        drove_predictor_apply(predictor, drove_arrays_name(arrays), 2, &all, &n_rows);
    if (status != DROVE_OK || n_rows != N) return 5;
    free(all);
    drove_arrays_destroy(arrays);
    drove_predictor_bytes(predictor, &bytes, &n_bytes);
    if (bytes == NULL) return 6;
    if (trains && !train("epochs=2", NULL)) return 7;
    drove_predictor_destroy(predictor);
    return 0;
}

static void skip_if_sanitized(void)
{
#if DROVE_TSAN
    printf("skip: ThreadSanitizer allows no threads in a child of a process with threads\n");
    skip();
#elif defined __SANITIZE_ADDRESS__
    /* A child that waits for ever shows, in gcc 12, __asan::Allocator on its stack. */
    printf("skip: AddressSanitizer does not hold the locks of its allocator over fork\n");
    skip();
#endif
}

/* The child ends with status 0. */
static void fork_to(int (*child_does)(bool trains), bool trains, int i)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(PATIENCE_S); /* SIGALRM ends a child that hangs */
        _exit(child_does(trains));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
        fail_msg("fork %d: expected a child that ends by itself, found status 0x%x", i, status);
}

/* Forks while threads do `work`; the child's exit status is that of in_child. */
static void fork_often(void *(*const work[N_THREADS])(void *), int n_forks, bool trains)
{
    skip_if_sanitized();
    pthread_t thread[N_THREADS];
    atomic_store(&is_over, false);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work[i], &x), 0);
    for (int i = 0; i < n_forks; i++) fork_to(in_child, trains && i % 20 == 0, i);
    atomic_store(&is_over, true);
    for (int i = 0; i < N_THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
    }
}

TEST(a_child_trains_while_the_parent_does)
{
    fork_often((void *(*const[])(void *)){keep_training, keep_predicting, keep_naming}, FORKS / 3,
               true);
}

/* Three threads that are seldom without the lock of names, then without that of the predictor. */
TEST(a_child_finds_the_locks_free)
{
    fork_often((void *(*const[])(void *)){keep_naming, keep_naming, keep_naming}, FORKS, false);
    fork_often((void *(*const[])(void *)){keep_predicting, keep_predicting, keep_predicting}, FORKS,
               false);
}

/* ---- convolutions, which are measured in the process ---- */

enum { CONV_FORKS = 4, PIXELS = 784, SCORES = 10 };
static atomic_uint conv_batch = 2; /* how to compute a batch of this size is being measured */
static drove_predictor *digits;

/* Sizes of batches have measurements of their own. */
static bool train_lenet(unsigned batch, drove_predictor **out)
{
    drove_options opt = drove__options_default();
    char text[16];
    snprintf(text, sizeof text, "%u", batch);
    set(&opt, "data", "synth:digits?n=40&seed=4");
    set(&opt, "test", "none");
    set(&opt, "model", "lenet");
    set(&opt, "strategy", "sequential");
    set(&opt, "threads", "1");
    set(&opt, "lr", "0.01");
    set(&opt, "batch", text);
    set(&opt, "until", "epochs=1");
    return train_as(&opt, out);
}

static void *keep_measuring(void *unused)
{
    while (!atomic_load(&is_over)) {
        if (!train_lenet(atomic_load(&conv_batch), NULL)) return unused;
        if (atomic_fetch_add(&conv_batch, 1) == 40) atomic_store(&conv_batch, 2);
    }
    return NULL;
}

static int with_lenet_in_child(bool trains)
{
    static uint8_t image[PIXELS];
    float out[SCORES];
    const drove_matrix one = drove_matrix_dense(image, DROVE_TYPE_U8, 1, PIXELS);
    if (drove_predictor_rows(digits, &one, out) != DROVE_OK) return 2;
    if (trains && !train_lenet(atomic_load(&conv_batch), NULL)) return 3;
    return 0;
}

/* At any moment of a measurement: a time of 0 to 60 ms after the child before. */
TEST(a_child_measures_convolutions_itself)
{
    skip_if_sanitized();
    pthread_t thread;
    void *failed;
    setenv("XDG_CACHE_HOME", "/dev/null/nowhere", 1); /* no file that would spare measuring */
    if (!train_lenet(1, &digits)) fail_msg("%s", drove_error_text());
    atomic_store(&is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, keep_measuring, &x), 0);
    for (int i = 0; i < CONV_FORKS; i++) {
        usleep(20000 * (unsigned)i);
        fork_to(with_lenet_in_child, true, i);
    }
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    drove_predictor_destroy(digits);
}

FIXTURE(make_model)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < D; j++) x[i][j] = (float)((i * 5 + j * 3) % 13) / 13;
        y[i] = x[i][0] * x[i][1];
    }
    rows = drove_matrix_dense(x, DROVE_TYPE_F32, N, D);
    values = drove_matrix_dense(y, DROVE_TYPE_F32, N, 1);
    if (!train("epochs=2", &predictor)) fail_msg("%s", drove_error_text());
    return drove_predictor_rows(predictor, &rows, expected) == DROVE_OK ? 0 : -1;
}

FIXTURE(free_model)
{
    drove_predictor_destroy(predictor);
    return 0;
}

GROUP(make_model, free_model);
