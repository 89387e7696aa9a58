/* Two runs at once in one process: each gives the bits that it gives alone, whatever the
 * other is. */
#include "system/run_support.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "kernel/kernel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kinds of runs: all repeat their bits ---- */

typedef struct kind {
    const char *name;
    const char *set[9][2]; /* options and their values, up to NULL */
} kind;

static const kind sequential = {"sequential", {{"strategy", "sequential"}}};
static const kind other_data = {"other-data",
                                {{"data", "synth:digits?n=500&seed=9"},
                                 {"seed", "5"},
                                 {"model", "mlp:40,24"},
                                 {"rule", "adam"},
                                 {"lr", "0.001"}}};
static const kind sync_threads = {"sync", {{"strategy", "sync"}, {"threads", "3"}}};
static const kind easgd = {"easgd-sync3", {{"strategy", "easgd-sync3"}, {"threads", "2"}}};
static const kind accumulate = {"accumulate", {{"strategy", "accumulate"}, {"threads", "2"}}};
static const kind loaded = {"loaded", {{"loaders", "2"}, {"order", "blocks"}}};
static const kind low = {"low",
                         {{"model", "linear"},
                          {"data", "synth:logistic?n=600&d=40&seed=2"},
                          {"precision", "D8M8"},
                          {"rounding", "xorshift"}}};
/* How convolutions are computed is measured once for the process, by the run alone. */
static const kind images = {
    "images", {{"data", "synth:images?n=40&seed=4"}, {"model", "lenet"}, {"isa", "avx2"}}};
static const kind plain = {"ref", {{"isa", "ref"}}};
static const kind avx2 = {"avx2", {{"isa", "avx2"}, {"model", "mlp:64"}, {"batch", "128"}}};
static const kind best = {"best", {{"isa", ""}, {"model", "mlp:64"}, {"batch", "128"}}};
static drove_options options_of(const kind *k, const char *folder)
{
    drove_options opt = small_run();
    for (size_t i = 0; i < DROVE_COUNT(k->set) && k->set[i][0] != NULL; i++)
        set(&opt, k->set[i][0], k->set[i][1]);
    set(&opt, "out", fresh_folder(folder));
    return opt;
}

/* ---- both at once ---- */

typedef struct job {
    drove_options opt;
    char folder[96];
    pthread_barrier_t *start;
    drove_status status;
    char error[DROVE_TEXT_SIZE];
} job;

static void *run_job(void *argument)
{
    job *j = argument;
    drove_result *result = NULL;
    (void)pthread_barrier_wait(j->start);
    j->status = drove_train(&j->opt, NULL, &result);
    if (j->status != DROVE_OK) strncpy(j->error, drove_error_text(), sizeof j->error - 1);
    drove_result_destroy(result);
    return NULL;
}

enum { PAIR = 2, REPEATS = 2 };

static void expect_same(const kind *const pair[PAIR])
{
    static job jobs[PAIR];
    char alone[PAIR][96];
    for (unsigned i = 0; i < PAIR; i++) {
        snprintf(alone[i], sizeof alone[i], "alone-%u-%s", i, pair[i]->name);
        const drove_options opt = options_of(pair[i], alone[i]);
        run_to(&opt, DROVE_FINISHED);
    }
    for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
        pthread_t thread[PAIR];
        pthread_barrier_t start;
        assert_int_equal(pthread_barrier_init(&start, NULL, PAIR), 0);
        for (unsigned i = 0; i < PAIR; i++) {
            job *j = &jobs[i];
            *j = (job){.start = &start};
            snprintf(j->folder, sizeof j->folder, "together-%u-%s", i, pair[i]->name);
            j->opt = options_of(pair[i], j->folder);
            assert_int_equal(pthread_create(&thread[i], NULL, run_job, j), 0);
        }
        for (unsigned i = 0; i < PAIR; i++) pthread_join(thread[i], NULL);
        for (unsigned i = 0; i < PAIR; i++) {
            if (jobs[i].status != DROVE_OK) fail_msg("%s: %s", jobs[i].folder, jobs[i].error);
            assert_same_model(alone[i], jobs[i].folder);
        }
        pthread_barrier_destroy(&start);
    }
}

#define EXPECT_SAME(a, b) expect_same((const kind *const[PAIR]){&(a), &(b)})

TEST(other_problems)
{
    EXPECT_SAME(sequential, sequential);
    EXPECT_SAME(sequential, other_data);
    EXPECT_SAME(low, other_data);
    EXPECT_SAME(loaded, sequential);
}

TEST(other_strategies)
{
    EXPECT_SAME(sync_threads, easgd);
    EXPECT_SAME(accumulate, sync_threads);
    EXPECT_SAME(easgd, accumulate);
    EXPECT_SAME(accumulate, sequential);
}

/* In both orders: the library of matrix products is one for the process. */
TEST(other_instructions)
{
    if ((drove__cpu_features() & DROVE_CPU_AVX2) == 0) {
        print_message("skipped: no AVX2 here\n");
        skip();
    }
    EXPECT_SAME(plain, sequential);
    EXPECT_SAME(avx2, best);
    EXPECT_SAME(best, avx2);
    EXPECT_SAME(plain, avx2);
    EXPECT_SAME(images, best);
}
