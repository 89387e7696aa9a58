/* A recorded run of every strategy is repeated to the same bits; a record with another order is
 * not.
 * ctest: slow: records and replays a run of every strategy */
#include "system/run_support.h"
#include "support/test.h"

#include "base/file.h"
#include "base/racy.h"
#include "config/registry.h"
#include "trace/recording.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char record[] = "run.rec", again[] = "again.rec";

static drove_options recorded_run(const char *strategy)
{
    drove_options opt = small_run();
    set(&opt, "strategy", strategy);
    set(&opt, "threads", "4");
    set(&opt, "batch", "4");
    set(&opt, "lr", "0.05");
    set(&opt, "until", DROVE_TSAN ? "updates=60" : "updates=120");
    set(&opt, "save_every", "updates=40");
    set(&opt, "record", record);
    set(&opt, "out", fresh_folder("recorded"));
    return opt;
}

static drove_options replayed_run(const char *file)
{
    drove_options opt = drove__options_default();
    assert_int_equal(drove_options_replay(&opt, file), DROVE_OK);
    set(&opt, "out", fresh_folder("replayed"));
    return opt;
}

/* Steps in the file whose view lacked updates. */
static uint64_t count_stale(const char *file)
{
    drove_recorded_run *r;
    drove_recorded_mark mark;
    drove_recorded s;
    uint64_t n = 0;
    assert_int_equal(drove__recorded_open(file, &r), DROVE_OK);
    while (drove__recorded_stretch(r, &mark)) {
        for (unsigned w = 0; w < drove__recorded_workers(r); w++) {
            for (bool is_there = true; is_there; n += is_there && s.staleness > 0)
                assert_int_equal(drove__recorded_next(r, w, &s, &is_there), DROVE_OK);
        }
    }
    drove__recorded_close(r);
    return n;
}

static void record_and_replay(const drove_options *opt)
{
    run_to(opt, DROVE_FINISHED);
    drove_options repeated = replayed_run(record);
    run_to(&repeated, DROVE_FINISHED);
    assert_same_model("recorded", "replayed");
}

/* What a variant may not have, and what it needs. */
static bool can_be_recorded(const char *variant)
{
    return strstr(variant, "first-come") == NULL && strcmp(variant, "auto") != 0;
}

TEST(every_strategy_repeats)
{
    uint64_t n_stale = 0;
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++) {
        for (const char *const *variant = (*row)->variants; *variant != NULL; variant++) {
            drove_options opt = recorded_run(*variant);
            if (!can_be_recorded(*variant)) continue;
            if ((*row)->needs & DROVE_SYNC_MOMENTUM) set(&opt, "rule", "momentum:0.9");
            print_message("%s\n", *variant);
            record_and_replay(&opt);
            if (((*row)->promises & DROVE_SYNC_REPEATABLE) == 0) n_stale += count_stale(record);
        }
    }
    assert_true(n_stale > 0); /* else there was nothing to repeat */
}

/* Attempts that fail change the step, or drop it. */
TEST(failed_attempts_repeat)
{
    static const char *const strategies[] = {"leashed", "leashed:0", "leashed:1"};
    for (size_t i = 0; i < DROVE_COUNT(strategies); i++) {
        drove_options opt = recorded_run(strategies[i]);
        set(&opt, "threads", "8");
        set(&opt, "batch", "1");
        set(&opt, "model", "mlp:128,128");
        set(&opt, "lr", "0.01");
        record_and_replay(&opt);
    }
}

TEST(rules_repeat)
{
    static const struct {
        const char *strategy, *rule, *place, *schedule;
    } table[] = {{"leashed", "adam", "shared", "constant"},
                 {"mutex", "momentum:0.9", "worker", "staleness"},
                 {"replicas?period=7", "adagrad", "shared", "cosine:3"},
                 {"hogwild", "rmsprop", "worker", "staleness"},
                 {"softsync:3", "momentum:0.9", "shared", "staleness"},
                 {"easgd-async", "adam", "worker", "constant"},
                 {"leashed", "adamw", "shared", "constant"},
                 {"mutex", "muon", "worker", "staleness"}};
    for (size_t i = 0; i < DROVE_COUNT(table); i++) {
        drove_options opt = recorded_run(table[i].strategy);
        set(&opt, "rule", table[i].rule);
        set(&opt, "rule_state", table[i].place);
        set(&opt, "schedule", table[i].schedule);
        if (strcmp(table[i].rule, "muon") == 0) set(&opt, "model", "mlp:24,24");
        set(&opt, "lr", "0.001");
        set(&opt, "weight_decay", "0.001");
        set(&opt, "clip", "5");
        record_and_replay(&opt);
    }
}

TEST(low_precision_repeats)
{
    static const char *const strategies[] = {"hogwild",       "hogwild:live", "replicas?period=5",
                                             "replicas:node", "easgd-async",  "easgd-hogwild",
                                             "local"};
    static const char *const precision[] = {"D8M8", "D16M16", "D32fM32f", "D8i16M8"};
    for (size_t i = 0; i < DROVE_COUNT(strategies); i++) {
        drove_options opt = recorded_run(strategies[i]);
        bool is_sparse = strcmp(precision[i % 4], "D8i16M8") == 0;
        set(&opt, "data",
            is_sparse ? "synth:logistic?n=600&d=300&density=0.1" : "synth:logistic?n=600&d=50");
        set(&opt, "model", "logistic");
        set(&opt, "precision", precision[i % 4]);
        set(&opt, "weight_decay", "0.01");
        print_message("%s %s\n", strategies[i], precision[i % 4]);
        record_and_replay(&opt);
    }
}

TEST(devices_and_loaders_repeat)
{
    static const char *const workers[] = {"cpu:0+fake:?speed=250",
                                          "fake:?speed=250+fake:?speed=50"};
    static const char *const strategies[] = {"adaptive", "leashed", "hogbatch?merge=replace"};
    for (size_t i = 0; i < DROVE_COUNT(strategies); i++) {
        drove_options opt = recorded_run(strategies[i]);
        set(&opt, "workers", workers[i % 2]);
        record_and_replay(&opt);
    }
    drove_options opt = recorded_run("mutex");
    set(&opt, "loaders", "2");
    record_and_replay(&opt);
}

TEST(a_run_that_crashes_repeats)
{
    drove_options opt = recorded_run("hogwild");
    set(&opt, "data", "synth:logistic?n=600&d=50");
    set(&opt, "model", "linear");
    set(&opt, "loss", "squared");
    set(&opt, "lr", "100");
    run_to(&opt, DROVE_CRASHED);
    drove_options repeated = replayed_run(record);
    run_to(&repeated, DROVE_CRASHED);
}

/* ---- where a run begins, and where its workers live ---- */

/* The record of a run that goes on holds the state that it went on from. */
TEST(resumed_runs_repeat)
{
    static const struct {
        const char *strategy, *rule;
    } table[] = {{"leashed", "adam"},
                 {"hogwild", "sgd"},
                 {"replicas?period=7", "adagrad"},
                 {"easgd-async", "momentum:0.9"},
                 {"softsync:3", "sgd"},
                 {"sync", "momentum:0.9"},
                 {"hogbatch", "sgd"}};
    for (size_t i = 0; i < DROVE_COUNT(table); i++) {
        drove_options opt = recorded_run(table[i].strategy), repeated;
        set(&opt, "rule", table[i].rule);
        set(&opt, "record", "none");
        run_to(&opt, DROVE_FINISHED);
        assert_int_equal(drove_options_resume(&opt, "recorded"), DROVE_OK);
        set(&opt, "until", "updates=240");
        set(&opt, "record", record);
        print_message("%s\n", table[i].strategy);
        run_to(&opt, DROVE_FINISHED);
        repeated = replayed_run(record);
        run_to(&repeated, DROVE_FINISHED);
        assert_same_model("recorded", "replayed");
    }
}

/* A state that is damaged is not gone on from. */
TEST(a_damaged_state_is_refused)
{
    drove_result *result;
    drove_options opt = recorded_run("mutex");
    run_to(&opt, DROVE_FINISHED);
    assert_int_equal(drove_options_resume(&opt, "recorded"), DROVE_OK);
    set(&opt, "until", "updates=400");
    set(&opt, "record", record);
    run_to(&opt, DROVE_FINISHED);
    FILE *file = fopen(record, "r+b"); /* the state is most of it */
    assert_true(file != NULL && fseek(file, 0, SEEK_END) == 0);
    assert_int_equal(fseek(file, ftell(file) / 2, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_true(fseek(file, -1, SEEK_CUR) == 0 && fputc(byte ^ 1, file) == (byte ^ 1));
    fclose(file);
    drove_options repeated = replayed_run(record);
    assert_int_equal(drove_train(&repeated, NULL, &result), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "run.rec: expected a block with its checksum"));
}

TEST(processes_repeat)
{
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++) {
        for (const char *const *variant = (*row)->variants; *variant != NULL; variant++) {
            drove_options opt = recorded_run(*variant);
            if (!can_be_recorded(*variant) || drove__sync_places(*row)->not_procs != NULL) continue;
            if (strstr(*variant, "order=") != NULL) continue; /* of threads alone */
            if ((*row)->needs & DROVE_SYNC_MOMENTUM) set(&opt, "rule", "momentum:0.9");
            set(&opt, "threads", "all");
            set(&opt, "workers", "procs:3");
            set(&opt, "until", "updates=80");
            print_message("%s\n", *variant);
            record_and_replay(&opt);
        }
    }
}

static void write_rows(const char *path, const char *spec)
{
    drove_data *data;
    unlink(path);
    assert_int_equal(drove_data_open("synth:logistic?n=20000&d=50", NULL, 1, &data, NULL),
                     DROVE_OK);
    assert_int_equal(drove_data_convert(data, spec), DROVE_OK);
    drove_data_destroy(data);
}

TEST(data_on_disk_repeat)
{
    static const char *const strategies[] = {
        "mutex", "leashed", "hogwild", "replicas?period=3", "softsync:3", "easgd-async", "ssp:2"};
    write_rows("many.rows", "rows:many.rows?block=64KiB");
    for (size_t i = 0; i < DROVE_COUNT(strategies); i++) {
        drove_options opt = recorded_run(strategies[i]);
        /* Windows of two batches for each worker: who is late is waited for. */
        set(&opt, "data",
            i % 2 == 0 ? "rows:many.rows?window=1MiB" : "rows:many.rows?window=700KiB");
        set(&opt, "batch", i % 2 == 0 ? "256" : "64");
        set(&opt, "model", i % 3 == 0 ? "logistic" : "mlp:8");
        set(&opt, "loaders", i % 3 == 1 ? "2" : "0");
        set(&opt, "until", "epochs=3");
        set(&opt, "save_every", "epochs=1");
        print_message("%s\n", strategies[i]);
        record_and_replay(&opt);
    }
}

/* Layer by layer, under one lock; and step sizes by a staleness that counters say. */
TEST(serialised_exchanges_repeat)
{
    static const char *const strategies[] = {"easgd-async", "psgd-async", "easgd-hogwild",
                                             "replicas?period=7", "replicas:node"};
    for (size_t i = 0; i < DROVE_COUNT(strategies); i++) {
        drove_options opt = recorded_run(strategies[i]);
        if (i < 3) set(&opt, "messages", "layers");
        else set(&opt, "schedule", "staleness");
        set(&opt, "model", "mlp:256"); /* steps long enough that workers are late */
        set(&opt, "until", "updates=300");
        print_message("%s\n", strategies[i]);
        record_and_replay(&opt);
    }
}

/* Steps and the checksum of all files up to the error; the replay goes as far. */
TEST(a_run_that_fails_repeats)
{
    drove_result *result;
    drove_recorded_run *r;
    drove_recorded_mark mark, end;
    drove_progress last;
    write_rows("bad.rows", "rows:bad.rows?block=64KiB");
    FILE *file = fopen("bad.rows", "r+b");
    assert_true(file != NULL && fseek(file, 1 << 20, SEEK_SET) == 0);
    int byte = fgetc(file);
    assert_true(fseek(file, -1, SEEK_CUR) == 0 && fputc(byte ^ 1, file) == (byte ^ 1));
    fclose(file);
    drove_options opt = recorded_run("leashed");
    set(&opt, "data", "rows:bad.rows?window=500KiB");
    set(&opt, "model", "logistic");
    set(&opt, "save_every", "never"); /* the only mark is that of the failure */
    set(&opt, "until", "epochs=4");
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "bad.rows: damaged"));
    assert_int_equal(drove__recorded_open(record, &r), DROVE_OK);
    assert_true(drove__recorded_end(r, &end) && end.outcome == DROVE_RECORDED_FAILED);
    while (drove__recorded_stretch(r, &mark)) continue;
    assert_true(mark.published == end.published && end.published > 0);
    drove__recorded_close(r);
    drove_options repeated = replayed_run(record);
    assert_int_equal(drove_train(&repeated, NULL, &result), DROVE_OK);
    drove_result_final(result, &last);
    assert_int_equal(last.updates, end.published);
    drove_result_destroy(result);
}

/* ---- records that are not of this run ---- */

typedef bool change_fn(drove_recorded *step, const unsigned *worker, size_t n);

/* Two publications of different workers exchanged in their order: neighbours in it, begun at the
 * same place. */
static bool exchange_two(drove_recorded *step, const unsigned *worker, size_t n)
{
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) {
            if (worker[a] == worker[b] || step[b].order != step[a].order + 1) continue;
            if (step[b].view_order > step[a].order) continue;
            step[a].order++;
            step[b].order--;
            return true;
        }
    }
    return false;
}

static uint64_t parted; /* the batch of worker 0's second step */

/* The workers' first steps come one after the other; every second one begins where no publication
 * leads to.  Worker 0 has one. */
static bool part_all(drove_recorded *step, const unsigned *worker, size_t n)
{
    if (n < 2 || worker[1] != 0) return false;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || worker[i] != worker[i - 1]) {
            step[i].view_order = 0;
            step[i].order = worker[i];
        } else if (i == 1 || worker[i] != worker[i - 2]) {
            step[i].view_order = step[i].order = UINT64_C(1) << 40;
        }
    }
    parted = step[1].number;
    return true;
}

/* The same record, with a change in its first stretch that allows it; false: none does. */
static bool change_record(change_fn *change)
{
    drove_recorded_run *r;
    drove_recording *w;
    drove_recorded_mark mark;
    drove_recorded step[4096];
    unsigned worker[4096];
    size_t n, size;
    bool is_done = false;
    assert_int_equal(drove__recorded_open(record, &r), DROVE_OK);
    const char *header = drove__recorded_header(r, &size);
    const unsigned n_workers = drove__recorded_workers(r);
    assert_int_equal(drove__recording_create(again, header, n_workers, &w), DROVE_OK);
    while (drove__recorded_stretch(r, &mark)) {
        n = 0;
        for (unsigned k = 0; k < n_workers; k++) {
            for (bool is_there = true; is_there;) {
                assert_int_equal(drove__recorded_next(r, k, &step[n], &is_there), DROVE_OK);
                worker[n] = k;
                n += is_there;
                assert_true(n < 4096);
            }
        }
        if (!is_done) is_done = change(step, worker, n);
        for (size_t i = 0; i < n; i++) drove__recording_step(w, worker[i], &step[i]);
        assert_int_equal(drove__recording_mark(w, &mark), DROVE_OK);
    }
    drove__recording_close(w);
    drove__recorded_close(r);
    return is_done;
}

/* Addition of floats in another order: other bits in the end. */
TEST(another_order_is_noticed)
{
    drove_result *result;
    drove_options opt = recorded_run("mutex");
    set(&opt, "threads", "16");
    uint64_t n_stale = 0;
    for (int i = 0; i < 40 && n_stale == 0; i++) {
        set(&opt, "out", fresh_folder("recorded"));
        run_to(&opt, DROVE_FINISHED);
        n_stale = count_stale(record);
    }
    if (n_stale == 0) {
        print_message("no two workers met here: skipped\n");
        skip();
    }
    assert_true(change_record(exchange_two));
    drove_options repeated = replayed_run(again);
    assert_int_equal(drove_train(&repeated, NULL, &result), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "expected the recorded parameters"));
}

/* Nobody can go on: the first worker that has not ended is named, with its batch. */
TEST(an_order_without_an_end_is_noticed)
{
    drove_result *result;
    drove_options opt = recorded_run("mutex");
    bool is_changed = false;
    for (int i = 0; i < 40 && !is_changed; i++) { /* a busy machine may start worker 0 late */
        set(&opt, "out", fresh_folder("recorded"));
        run_to(&opt, DROVE_FINISHED);
        is_changed = change_record(part_all);
    }
    if (!is_changed) {
        print_message("worker 0 always came late: skipped\n");
        skip();
    }
    drove_options repeated = replayed_run(again);
    assert_int_equal(drove_train(&repeated, NULL, &result), DROVE_E_DATA);
    char wanted[96];
    snprintf(wanted, sizeof wanted, "steps that follow one order, found worker 0 with batch %llu",
             (unsigned long long)parted);
    const char *found = strstr(drove_error_text(), wanted);
    if (found == NULL || found[strlen(wanted)] != '\0') fail_msg("%s", drove_error_text());
}

static void refuse(const char *name, const char *value, const char *why)
{
    drove_result *result;
    drove_options opt = replayed_run(record);
    set(&opt, name, value);
    assert_int_not_equal(drove_train(&opt, NULL, &result), DROVE_OK);
    if (strstr(drove_error_text(), why) == NULL) fail_msg("%s", drove_error_text());
}

TEST(another_run_is_refused)
{
    drove_options opt = recorded_run("leashed");
    run_to(&opt, DROVE_FINISHED);
    refuse("lr", "0.06", "expected --lr 0.05");
    refuse("seed", "2", "expected --seed 1");
    refuse("strategy", "mutex", "expected --strategy leashed");
    refuse("until", "validation=10%,epochs=1", "same validation examples");
    refuse("workers", "procs:2", "--workers");
    refuse("threads", "2", "expected --threads 4");
    refuse("isa", "scalar", "expected --isa auto");
    refuse("record", "other.rec", "expected no --record");
    refuse("until", "seconds=1", "fewer updates or epochs");
    refuse("until", "updates=100000", "fewer updates or epochs");
    opt = recorded_run("easgd-hogwild?overlap=1");
    drove_result *none;
    assert_int_equal(drove_train(&opt, NULL, &none), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "without overlap=1"));
    opt = recorded_run("easgd-async?overlap=1");
    set(&opt, "messages", "layers");
    assert_int_equal(drove_train(&opt, NULL, &none), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "--messages packed with overlap=1"));
}

TEST(until_cuts_a_replay)
{
    static const char *const strategies[] = {"leashed", "replicas", "easgd-async", "allreduce",
                                             "sequential"};
    for (size_t i = 0; i < DROVE_COUNT(strategies); i++) {
        drove_options opt = recorded_run(strategies[i]);
        run_to(&opt, DROVE_FINISHED);
        drove_result *result;
        drove_progress end;
        drove_options repeated = replayed_run(record);
        set(&repeated, "until", "updates=17");
        assert_int_equal(drove_train(&repeated, NULL, &result), DROVE_OK);
        drove_result_final(result, &end);
        assert_int_equal(end.updates, 17);
        drove_result_destroy(result);
    }
}

static void write_outlier(void)
{
    FILE *file = fopen("outlier.csv", "w");
    assert_non_null(file);
    fputs("a,b,y\n", file);
    for (int i = 0; i < 600; i++)
        fprintf(file, "%g,%g,%d\n", i == 500 ? 1e18 : i % 7 / 7.0, i % 5 / 5.0, i % 3);
    assert_int_equal(fclose(file), 0);
}

/* A run that steps back to finite parameters does so again, though its step size is given now. */
TEST(stepping_back_repeats)
{
    drove_result *result;
    write_outlier();
    drove_options opt = recorded_run("mutex");
    set(&opt, "defaults", "auto");
    set(&opt, "data", "csv:outlier.csv?scale=none&label=y");
    set(&opt, "model", "linear");
    set(&opt, "rule", "sgd");
    set(&opt, "lr", "auto");
    set(&opt, "until", "epochs=4");
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_OK);
    drove_outcome first = drove_result_outcome(result);
    drove_result_destroy(result);
    drove_options repeated = replayed_run(record);
    run_to(&repeated, first);
    if (first != DROVE_CRASHED) assert_same_model("recorded", "replayed");
}

/* [n] the norms that --replay-steps tells of. */
static size_t norms_of(const drove_options *opt, double norm[], size_t most)
{
    char line[1024];
    size_t n = 0;
    run_to(opt, DROVE_FINISHED);
    drove_options repeated = replayed_run(record);
    set(&repeated, "replay_steps", "steps.jsonl");
    run_to(&repeated, DROVE_FINISHED);
    FILE *file = fopen("steps.jsonl", "r");
    assert_non_null(file);
    while (n < most && fgets(line, sizeof line, file) != NULL) {
        const char *at = strstr(line, "gradient_norm");
        assert_non_null(at);
        norm[n++] = strtod(at + strlen("gradient_norm\": "), NULL);
    }
    fclose(file);
    return n;
}

/* The same numbers, sparse and dense: the norm is the batch's own, before clipping. */
TEST(norms_are_those_of_the_batch)
{
    enum { MOST = 100 };
    static const char *const kind[] = {"rows.libsvm", "rows.csv"};
    double norm[2][MOST];
    FILE *sparse = fopen(kind[0], "w"), *dense = fopen(kind[1], "w");
    assert_true(sparse != NULL && dense != NULL);
    for (int i = 0; i < 80; i++) {
        fprintf(sparse, "%d %d:%g %d:1\n", i % 2, 1 + i % 20, 1.0 + i % 3, 21 + i % 4);
        for (int k = 1; k <= 24; k++)
            fprintf(dense, "%g,", k == 1 + i % 20 ? 1.0 + i % 3 : k == 21 + i % 4 ? 1.0 : 0.0);
        fprintf(dense, "%d\n", i % 2);
    }
    fclose(sparse);
    fclose(dense);
    for (int k = 0; k < 2; k++) {
        drove_options opt = recorded_run("mutex");
        set(&opt, "data",
            k == 0 ? "libsvm:rows.libsvm?scale=none"
                   : "csv:rows.csv?scale=none&header=no&label=25");
        set(&opt, "model", "logistic");
        set(&opt, "threads", "1");
        set(&opt, "clip", "0.1");
        set(&opt, "until", "epochs=3");
        assert_int_equal(norms_of(&opt, norm[k], MOST), 60);
    }
    double most = 0.0;
    for (int i = 0; i < 60; i++) {
        assert_true(fabs(norm[0][i] - norm[1][i]) <= 1e-5 * norm[1][i]);
        most = fmax(most, norm[0][i]);
    }
    assert_true(most > 0.2);
}

/* A record with good checksums whose tasks no run can have had. */
TEST(forged_tasks_are_refused)
{
    drove_recorded_run *r;
    drove_recording *w;
    drove_recorded_mark mark;
    drove_recorded s;
    drove_result *result;
    size_t size;
    drove_options opt = recorded_run("leashed");
    set(&opt, "loaders", "2");
    run_to(&opt, DROVE_FINISHED);
    assert_int_equal(drove__recorded_open(record, &r), DROVE_OK);
    const char *header = drove__recorded_header(r, &size);
    assert_int_equal(drove__recording_create(again, header, 4, &w), DROVE_OK);
    assert_true(drove__recorded_stretch(r, &mark));
    for (unsigned k = 0; k < 4; k++) {
        for (bool is_there = true; is_there;) {
            assert_int_equal(drove__recorded_next(r, k, &s, &is_there), DROVE_OK);
            s.n_rows = UINT64_C(1) << 30;
            if (is_there) drove__recording_step(w, k, &s);
        }
    }
    assert_int_equal(drove__recording_mark(w, &mark), DROVE_OK);
    drove__recording_close(w);
    drove__recorded_close(r);
    drove_options repeated = replayed_run(again);
    assert_int_equal(drove_train(&repeated, NULL, &result), DROVE_E_DATA);
}

/* How many threads a replay begins is a record's word: no more than a run may have. */
TEST(forged_cores_are_refused)
{
    drove_recorded_run *r;
    drove_recording *w;
    drove_recorded_mark mark;
    drove_result *result;
    char changed[1 << 16];
    size_t size;
    drove_options opt = recorded_run("mutex");
    run_to(&opt, DROVE_FINISHED);
    assert_int_equal(drove__recorded_open(record, &r), DROVE_OK);
    const char *header = drove__recorded_header(r, &size);
    const char *cores = strstr(header, "\"cores\": 1,");
    assert_non_null(cores);
    snprintf(changed, sizeof changed, "%.*s\"cores\": 1025,%s", (int)(cores - header), header,
             cores + strlen("\"cores\": 1,"));
    assert_int_equal(drove__recording_create(again, changed, 4, &w), DROVE_OK);
    assert_true(drove__recorded_stretch(r, &mark));
    assert_int_equal(drove__recording_mark(w, &mark), DROVE_OK);
    drove__recording_close(w);
    drove__recorded_close(r);
    drove_options repeated = replayed_run(again);
    assert_int_equal(drove_train(&repeated, NULL, &result), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "at most 4096 cores of all workers, found 4 workers "
                                               "of 1025"));
}
