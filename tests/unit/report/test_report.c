/* The report of facts written by hand: no run is needed to test it.  Golden lines for people, and
 * the keys that programs read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "report/report.h"
#include "support/files.h"
#include "support/test.h"

#include <dirent.h>

enum { N_WORKERS = 2 };

typedef struct fixture {
    drove_trace_worker trace[N_WORKERS];
    drove_traffic traffic[N_WORKERS];
    drove_worker_facts worker[N_WORKERS];
    drove_group_facts group;
    drove_timeline busy;
    drove_layer_facts layer;
    drove_facts facts;
} fixture;

/* Two workers, 100 steps each of 10 ms, half of it forward. */
FIXTURE(setup)
{
    fixture *x = aligned_alloc(DROVE_CACHE_LINE, (sizeof *x + DROVE_CACHE_LINE - 1) /
                                                     DROVE_CACHE_LINE * DROVE_CACHE_LINE);
    memset(x, 0, sizeof *x);
    for (unsigned i = 0; i < N_WORKERS; i++) {
        drove_trace_worker *t = &x->trace[i];
        atomic_store(&t->examples, 1000);
        atomic_store(&t->updates, 100);
        t->steps = t->attempts = 100;
        t->busy_ns = 500000000;
        t->phase_ns[DROVE_PHASE_FORWARD] = 500000000;
        drove__hist_add_many(&t->staleness, i, 100);
        x->worker[i] = (drove_worker_facts){.trace = t, .traffic = &x->traffic[i], .node = -1};
        snprintf(x->worker[i].name, sizeof x->worker[i].name, "thread:%u", i);
    }
    x->facts = (drove_facts){
        .start = {.said = {.data = "",
                           .rule = "sgd",
                           .schedule = "",
                           .rounding = "nearest",
                           .prefetch = "on"},
                  .n_workers = N_WORKERS,
                  .strategy = "hogwild",
                  .model = "mlp:32",
                  .isa = "ref",
                  .update_rows = 10},
        .now = {.progress = {.epochs = 2,
                             .examples = 2000,
                             .updates = 200,
                             .train_s = 1,
                             .loss_initial = 2.3,
                             .loss = 0.25,
                             .accuracy = 0.9,
                             .test_loss = NAN,
                             .test_accuracy = NAN},
                .train_ns = 1000000000,
                .n_workers = N_WORKERS,
                .worker = x->worker},
        .outcome = DROVE_FINISHED,
        .numbers_per_row = NAN,
        .prefetch_hardware = "unknown",
        .n_marks = 1,
        .mark = {{.percent = 10.0}},
    };
    *state = x;
    return 0;
}

FIXTURE(teardown)
{
    free(*state);
    return 0;
}

static char *text_of(const drove_facts *f)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(drove__report_print(f, stream), DROVE_OK);
    fclose(stream);
    return text;
}

static json_t *json_of(const drove_facts *f)
{
    char *text;
    assert_int_equal(drove__report_json(f, &text), DROVE_OK);
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    free(text);
    return object;
}

static void expect_line(const drove_facts *f, const char *line)
{
    char *text = text_of(f);
    if (strstr(text, line) == NULL) fail_msg("no \"%s\" in:\n%s", line, text);
    free(text);
}

/* The same keys, no others, and values that differ by rounding alone. */
static void expect_same(const char *where, const json_t *found, const json_t *wanted)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_number(wanted)) {
        const double a = json_number_value(found), b = json_number_value(wanted);
        if (json_typeof(found) != json_typeof(wanted) || !(fabs(a - b) <= 1e-8 * fabs(b)))
            fail_msg("%s: expected %.9g, found %.9g", where, b, a);
        return;
    }
    if (!json_is_object(wanted) && !json_is_array(wanted)) {
        if (!json_equal(found, wanted))
            fail_msg("%s: %s", where, json_dumps(found, JSON_ENCODE_ANY));
        return;
    }
    if (json_typeof(found) != json_typeof(wanted) ||
        json_object_size(found) + json_array_size(found) !=
            json_object_size(wanted) + json_array_size(wanted))
        fail_msg("%s: %s", where, json_dumps(found, JSON_ENCODE_ANY));
    json_object_foreach((json_t *)wanted, key, value)
        expect_same(key, json_object_get(found, key), value);
    json_array_foreach(wanted, i, value) expect_same(where, json_array_get(found, i), value);
}

/* object[key] is what the text says. */
static void expect_key(const json_t *object, const char *key, const char *wanted)
{
    json_t *value = json_loads(wanted, JSON_DECODE_ANY, NULL);
    if (value == NULL) fail_msg("%s: bad JSON in this test", key);
    expect_same(key, json_object_get(object, key), value);
    json_decref(value);
}

/* Phase p takes a mean of 2^p times 2 us of a step: of worker 0 half of it, of worker 1 the rest
 * and as much again. */
static void set_phases(fixture *x)
{
    for (unsigned i = 0; i < N_WORKERS; i++)
        for (int p = 0; p < DROVE_N_PHASES; p++)
            x->trace[i].phase_ns[p] = (uint64_t)(1 + 2 * i) * 100000u << p;
}

TEST_WITH(for_people, setup, teardown)
{
    fixture *x = *state;
    char *text = text_of(&x->facts);
    assert_string_equal(
        text,
        "Finished after 1.00 s of training: 2.00 epochs, 200 updates.\n\n"
        "  loss        2.3 -> 0.25\n"
        "  accuracy    90.00 %\n"
        "\n"
        "  repeatable  no: the order in which 2 threads meet is left to chance; --threads 1 or "
        "--strategy sync repeats a run bit for bit\n"
        "  speed       2,000 examples/s, 200 updates/s: hogwild, 2 threads, batch 10, kernels ref\n"
        "  a step      forward 5000.0, backward 0.0, update 0.0, publish 0.0, pull 0.0, wait 0.0, "
        "other 0.0 us\n"
        "  staleness   mean 0.50, 99 % within 1, largest 1; 0 dropped\n");
    free(text);
}

/* The line of --strategy auto, and what it says of repeating. */
TEST_WITH(a_choice_of_strategy, setup, teardown)
{
    fixture *x = *state;
    drove_strategy_facts *s = &x->facts.start.strategy_choice;
    *s = (drove_strategy_facts){
        .how = "probe", .n_allowed = 4, .n = 3, .chosen = 1, .seconds = 0.8, .margin = 1.1};
    s->rival[0] = (drove_rival_facts){.strategy = "sequential", .n_threads = 1, .rate = 1.0};
    s->rival[1] = (drove_rival_facts){.strategy = "hogwild", .n_threads = 2, .rate = 1.62};
    s->rival[2] = (drove_rival_facts){.strategy = "sync", .n_threads = 4, .rate = NAN};
    char *text = text_of(&x->facts);
    assert_non_null(strstr(text,
                           "  strategy    hogwild, 2 of 4 threads (1.62 times the rate of one "
                           "thread; a probe of 0.8 s)\n"));
    free(text);
    json_t *object = json_of(&x->facts), *c = json_object_get(object, "strategy_choice");
    assert_string_equal(json_string_value(json_object_get(c, "chosen")), "hogwild");
    assert_int_equal(json_integer_value(json_object_get(c, "threads")), 2);
    assert_int_equal(json_integer_value(json_object_get(c, "allowed")), 4);
    json_t *last = json_array_get(json_object_get(c, "compared"), 2);
    assert_true(json_is_null(json_object_get(last, "rate")));
    json_decref(object);
    s->chosen = 0;
    s->rival[1].rate = 1.0999; /* not 1.10, which is enough */
    s->rival[1].is_measured = true;
    text = text_of(&x->facts);
    assert_non_null(strstr(text, "  strategy    sequential, 1 of 4 threads (hogwild on 2 threads: "
                                 "1.09 times its rate, 1.10 is needed; a probe of 0.8 s)\n"));
    free(text);
    s->rival[1].rate = 1.3;
    s->rival[1].is_measured = false;
    text = text_of(&x->facts);
    assert_non_null(strstr(text, "(hogwild on 2 threads: 1.30 times its rate, measured too few "
                                 "times; a probe of 0.8 s)\n"));
    free(text);
    s->how = "short";
    text = text_of(&x->facts);
    assert_non_null(strstr(text, "1 of 4 threads (not measured: too short a run)\n"));
    free(text);
    s->how = "skipped";
    text = text_of(&x->facts);
    assert_non_null(strstr(text, "(not measured: a probe would cost too much of the run)\n"));
    free(text);
    x->facts.now.n_workers = 1;
    x->facts.start.is_repeatable = false;
    text = text_of(&x->facts);
    assert_non_null(strstr(text, "--strategy hogwild repeats this run bit for bit\n"));
    free(text);
}

TEST_WITH(sections_for_people, setup, teardown)
{
    static const char *const expected[] = {
        "Interrupted by Ctrl-C (SIGINT) after",
        "  to 10 %     0.50 s, 1.00 epochs, 1,234,567 updates (of the initial loss)\n",
        "2 processes, batch 10",
        "  precision   D8M8, rounding nearest, parameters up to 2, 0 writes saturated\n",
        "  exchange    every 8 steps; ",
        "  loading     0.50 s by 1 thread, 0.10 s of the workers' time: 80 % hidden\n",
        "  partition   2 groups of cores; copies of 3.0 MB fit in 4.0 MB of caches\n",
        "parameters equal at all of 3 looks\n",
        "320      0.000         0.000      0.000",
        "best training loss",
        "  use it      drove predict runs/a --data FILE\n",
        "  repeatable  no: the order in which 2 processes meet is left to chance; one worker",
    };
    fixture *x = *state;
    drove_facts *f = &x->facts;
    f->start.said.out = "runs/a";
    x->traffic[0] = (drove_traffic){.bytes = 1000, .messages = 4};
    x->layer = (drove_layer_facts){.name = "fc1", .n_params = 320, .n_iterations = 1};
    f->outcome = DROVE_INTERRUPTED;
    f->signal_number = 2;
    f->start.kind = DROVE_WORKER_PROCESS;
    f->n_test_rows = 10;
    f->mark[0] = (drove_mark_facts){10.0, true, 0.5, 1.0, 1234567};
    f->precision = (drove_precision_facts){
        .is_there = true, .is_words = true, .name = "D8M8", .model_range = 2.0};
    f->communication = (drove_communication_facts){.is_there = true, .period = 8, .alpha = NAN};
    f->loader = (drove_loader_facts){true, 1, 0.5, 0.1, 0.8};
    f->start.partition = (drove_partition_facts){2, 3e6, 4e6, "caches", true, 2};
    f->replicas =
        (drove_replica_facts){.is_there = true, .layer = &x->layer, .n_layers = 1, .n_checks = 3};
    char *text = text_of(f);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (strstr(text, expected[i]) == NULL) fail_msg("no \"%s\" in:\n%s", expected[i], text);
    free(text);
    f->start.machine.gemm = "drove avx512_bf16";
    f->precision = (drove_precision_facts){.is_there = true, .name = "bf16"};
    text = text_of(f);
    assert_non_null(strstr(text, "  precision   products in bf16 (drove avx512_bf16), sums and "));
    free(text);
}

TEST_WITH(for_programs, setup, teardown)
{
    static const char *const absent[] = {"precision", "loader", "communication", "cluster",
                                         "partition", "gnps",   "features",      "test_loss"};
    fixture *x = *state;
    json_t *object = json_of(&x->facts);
    assert_string_equal(json_string_value(json_object_get(object, "outcome")), "finished");
    assert_int_equal(json_integer_value(json_object_get(object, "attempts")), 200);
    assert_true(json_real_value(json_object_get(object, "examples_per_s")) == 2000.0);
    const json_t *workers = json_object_get(object, "workers");
    assert_int_equal(json_array_size(workers), N_WORKERS);
    assert_true(json_real_value(json_object_get(json_array_get(workers, 0), "busy")) == 0.5);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_true(json_is_null(json_object_get(object, absent[i])));
    assert_true(json_is_null(json_object_get(json_object_get(object, "time_to"), "10%")));
    json_decref(object);
    x->facts.precision = (drove_precision_facts){.is_there = true, .name = "bf16"};
    object = json_of(&x->facts);
    assert_string_equal(json_string_value(json_object_get(object, "precision")), "bf16");
    assert_null(json_object_get(object, "rounding"));
    json_decref(object);
}

/* Worker 0 and 1 are one name in --workers: since the last record 0.4 s of 2 x 0.5 s. */
TEST_WITH(groups, setup, teardown)
{
    fixture *x = *state;
    char *line;
    x->busy = (drove_timeline){.width_ns = 600000000, .busy_ns = {600000000, 100000000}};
    x->group = (drove_group_facts){.name = "cpu:0-1",
                                   .n = N_WORKERS,
                                   .batch = 8,
                                   .busy = &x->busy,
                                   .logged_busy_ns = 600000000};
    x->facts.now.n_groups = 1;
    x->facts.now.group = &x->group;
    x->facts.now.logged_ns = 500000000;
    assert_int_equal(drove__report_evaluation(&x->facts.now, &line), DROVE_OK);
    json_t *record = json_loads(line, 0, NULL);
    const json_t *group = json_array_get(json_object_get(record, "workers"), 0);
    assert_true(json_real_value(json_object_get(group, "utilisation")) == 0.4);
    assert_int_equal(json_integer_value(json_object_get(group, "updates")), 200);
    json_decref(record);
    free(line);

    json_t *object = json_of(&x->facts);
    group = json_array_get(json_object_get(object, "workers"), 0);
    assert_true(json_real_value(json_object_get(group, "share")) == 1.0);
    const json_t *line_of = json_object_get(json_object_get(group, "timeline"), "utilisation");
    assert_int_equal(json_array_size(line_of), 2);
    assert_true(json_real_value(json_array_get(line_of, 1)) == 0.25); /* of 0.4 s that it had */
    json_decref(object);
}

/* What differs between workers of one kind is found by the worker's number. */
TEST_WITH(workers_phases_and_staleness, setup, teardown)
{
    fixture *x = *state;
    set_phases(x);
    x->worker[0].processor = 3;
    x->worker[1].node = 1;
    json_t *object = json_of(&x->facts);
    expect_key(object, "phases",
               "{\"wait\": 2e-6, \"backoff\": 4e-6, \"acquire\": 8e-6, \"load\": 16e-6,"
               " \"forward\": 32e-6, \"backward\": 64e-6, \"exchange\": 128e-6,"
               " \"accumulate\": 256e-6, \"broadcast\": 512e-6, \"update\": 1024e-6,"
               " \"publish\": 2048e-6, \"other\": 4096e-6}");
    expect_key(object, "workers",
               "[{\"name\": \"thread:0\", \"updates\": 100, \"examples\": 1000, \"batch\": 10,"
               "  \"busy\": 0.5, \"staleness\": 0.0, \"processor\": 3, \"node\": -1},"
               " {\"name\": \"thread:1\", \"updates\": 100, \"examples\": 1000, \"batch\": 10,"
               "  \"busy\": 0.5, \"staleness\": 1.0, \"processor\": 0, \"node\": 1}]");
    expect_key(
        object, "staleness",
        "{\"mean\": 0.5, \"p50\": 0, \"p99\": 1, \"max\": 1,"
        " \"histogram\": [[0, 100], [1, 100]], \"per_worker\":"
        " [{\"mean\": 0.0, \"p50\": 0, \"p99\": 0, \"max\": 0, \"histogram\": [[0, 100]]},"
        "  {\"mean\": 1.0, \"p50\": 1, \"p99\": 1, \"max\": 1, \"histogram\": [[1, 100]]}]}");
    json_decref(object);
    expect_line(
        &x->facts,
        "  a step      forward 32.0, backward 64.0, update 1024.0, publish 2048.0, pull 8.0, "
        "wait 6.0, other 4096.0 us\n");

    x->facts.start.kind = DROVE_WORKER_PROCESS;
    x->worker[0].process = 77;
    x->worker[1].lost = "killed";
    object = json_of(&x->facts);
    const json_t *workers = json_object_get(object, "workers");
    expect_key(json_array_get(workers, 0), "process", "77");
    expect_key(json_array_get(workers, 0), "lost", "null");
    expect_key(json_array_get(workers, 1), "lost", "\"killed\"");
    json_decref(object);
}

TEST_WITH(numbers_and_marks, setup, teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    x->trace[0].attempts = 150;
    x->trace[1].dropped = 7;
    f->peak_rss_bytes = 123456;
    f->now.progress.test_loss = 0.5;
    f->now.progress.test_accuracy = 0.75;
    f->now.progress.train_s = 4;
    f->numbers_per_row = 3e6;
    f->start.said.lr = 0.125;
    f->start.said.seed = 9;
    f->n_marks = 2;
    f->mark[0] = (drove_mark_facts){10.0, true, 0.5, 1.5, 30};
    f->mark[1] = (drove_mark_facts){.percent = 2.5};
    json_t *object = json_of(f);
    static const char *const wanted[][2] = {
        {"examples", "2000"},
        {"updates", "200"},
        {"attempts", "250"},
        {"dropped", "7"},
        {"epochs", "2.0"},
        {"train_s", "4.0"},
        {"examples_per_s", "500.0"},
        {"updates_per_s", "50.0"},
        {"loss_initial", "2.3"},
        {"loss", "0.25"},
        {"accuracy", "0.9"},
        {"test_loss", "0.5"},
        {"test_accuracy", "0.75"},
        {"gnps", "1.5"},
        {"lr", "0.125"},
        {"seed", "9"},
        {"batch", "10"},
        {"peak_rss_bytes", "123456"},
        {"strategy", "\"hogwild\""},
        {"rule", "\"sgd\""},
        {"model", "\"mlp:32\""},
        {"data", "\"\""},
        {"repeatable", "false"},
        {"isa", "\"ref\""},
        {"clock", "\"real\""},
        {"out", "null"},
        {"metrics", "null"},
        {"importance", "null"},
        {"time_to", "{\"10%\": 0.5, \"2.5%\": null}"},
        {"updates_to", "{\"10%\": 30, \"2.5%\": null}"},
        {"epochs_to", "{\"10%\": 1.5, \"2.5%\": null}"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        expect_key(object, wanted[i][0], wanted[i][1]);
    json_decref(object);
    f->now.progress.train_s = 0; /* nothing was trained, so there is no speed */
    object = json_of(f);
    expect_key(object, "examples_per_s", "null");
    expect_key(object, "updates_per_s", "null");
    expect_key(object, "gnps", "null");
    json_decref(object);
}

TEST_WITH(outcomes, setup, teardown)
{
    static const struct {
        drove_outcome outcome;
        int signal;
        const char *name, *headline;
    } cases[] = {
        {DROVE_REACHED, 0, "reached", "Target reached after 1.00 s"},
        {DROVE_FINISHED, 0, "finished", "Finished after 1.00 s"},
        {DROVE_MISSED, 0, "missed", "Target missed (--until loss=0.1) after 1.00 s"},
        {DROVE_CRASHED, 0, "crashed",
         "Crashed: the loss became infinite or not a number (try a smaller --lr) after"},
        {DROVE_INTERRUPTED, 2, "interrupted", "Interrupted by Ctrl-C (SIGINT) after"},
        {DROVE_INTERRUPTED, 15, "interrupted", "Interrupted by SIGTERM after"},
        {DROVE_INTERRUPTED, 24, "interrupted", "Interrupted by signal 24 after"},
    };
    fixture *x = *state;
    drove_facts *f = &x->facts;
    f->start.said.out = "runs/a";
    strcpy(f->start.said.until, "loss=0.1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f->outcome = cases[i].outcome;
        f->signal_number = cases[i].signal;
        assert_string_equal(drove_outcome_name(f->outcome), cases[i].name);
        char *text = text_of(f);
        assert_memory_equal(text, cases[i].headline, strlen(cases[i].headline));
        /* a model that is no number predicts nothing */
        assert_int_equal(strstr(text, "drove predict") == NULL, f->outcome == DROVE_CRASHED);
        free(text);
    }
}

TEST_WITH(quality, setup, teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    f->now.progress.test_loss = 0.5;
    f->now.progress.test_accuracy = 0.875;
    f->n_test_rows = 1234;
    expect_line(f, "  loss        2.3 -> 0.25   (held-out 0.5)\n"
                   "  accuracy    90.00 %   (held-out 87.50 % of 1,234)\n");
    f->is_multi_label = true;
    f->now.progress.loss = -NAN;
    f->now.progress.test_loss = NAN;
    f->now.progress.test_accuracy = NAN;
    expect_line(f, "  loss        2.3 -> not a number\n"
                   "  micro-F1    90.00 %\n");
    f->now.progress.accuracy = NAN;
    char *text = text_of(f);
    assert_null(strstr(text, "micro-F1"));
    free(text);
}

/* One of each kind is named in the singular. */
TEST_WITH(kinds_of_workers, setup, teardown)
{
    static const char *const words[][3] = {
        [DROVE_WORKER_THREAD] = {"hogwild, 1 thread, batch", "hogwild, 2 threads, batch"},
        [DROVE_WORKER_PROCESS] = {"hogwild, 1 process, batch", "hogwild, 2 processes, batch"},
        [DROVE_WORKER_RANK] = {"hogwild, 1 rank, batch", "hogwild, 2 ranks, batch"},
        [DROVE_WORKER_CORES] = {"hogwild, 1 group of cores, batch",
                                "hogwild, 2 groups of cores, batch"}};
    fixture *x = *state;
    for (unsigned kind = 0; kind < DROVE_N_WORKER_KINDS; kind++) {
        for (unsigned n = 1; n <= N_WORKERS; n++) {
            x->facts.start.kind = kind;
            x->facts.now.n_workers = n;
            expect_line(&x->facts, words[kind][n - 1]);
        }
    }
}

TEST_WITH(what_was_chosen, setup, teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    drove_tuning_facts *t = &f->tuning;
    f->start.said.out = "runs/a";
    f->start.said.lr = 0.05;
    f->start.said.schedule = "cosine";
    *t = (drove_tuning_facts){.is_there = true,
                              .n_trials = 2,
                              .trial_lr = {0.01, 0.05},
                              .trial_loss = {0.5, NAN},
                              .trial_updates = 1500,
                              .trials_s = 0.75,
                              .n_validation_rows = 1,
                              .validation_loss = 0.375,
                              .validation_accuracy = 0.8,
                              .best_epochs = 1.25,
                              .n_cuts = 3,
                              .n_recoveries = 4};
    expect_line(f,
                "  chosen      sgd, step size 0.05, schedule cosine; 2 trials of 1,500 updates in "
                "0.8 s\n"
                "  validation  loss 0.375 of 1 examples, best at epoch 1.25\n"
                "  steps back  3 from a plateau, 4 from a loss that was not finite\n");
    expect_line(f, "    model.safetensors  best parameters     best.safetensors   best validation "
                   "loss\n");
    json_t *object = json_of(f);
    expect_key(object, "tuning",
               "{\"trials\": [{\"lr\": 0.01, \"loss\": 0.5}, {\"lr\": 0.05, \"loss\": null}],"
               " \"trial_updates\": 1500, \"trials_s\": 0.75, \"validation_examples\": 1,"
               " \"validation_loss\": 0.375, \"validation_accuracy\": 0.8, \"best_epochs\": 1.25,"
               " \"cuts\": 3, \"recoveries\": 4}");
    json_decref(object);
    *t = (drove_tuning_facts){.is_there = true, .n_recoveries = 1};
    expect_line(f, "  chosen      sgd, step size 0.05, schedule cosine\n"
                   "  steps back  0 from a plateau, 1 from a loss that was not finite\n");
    expect_line(f, "    model.safetensors  last parameters     best.safetensors   best training "
                   "loss\n");

    drove_search_facts *s = &f->start.search;
    *s = (drove_search_facts){
        .n = 2, .chosen = 1, .n_divisions = 3, .n_rows = 80, .n_held = 20, .seconds = 2.5};
    s->candidate[0] = (drove_candidate_facts){"linear", NAN, NAN, NAN, 0};
    s->candidate[1] = (drove_candidate_facts){"mlp:32", 0.5, 0.75, 4, 3};
    expect_line(f, "  model       mlp:32, chosen from 2 in 2.5 s\n");
    object = json_of(f);
    expect_key(object, "model_search",
               "{\"chosen\": \"mlp:32\", \"divisions\": 3, \"examples\": 80,"
               " \"validation_examples\": 20, \"seconds\": 2.5, \"compared\":"
               " [{\"model\": \"linear\", \"divisions\": 0, \"loss\": null,"
               "   \"constant_loss\": null, \"epochs\": null},"
               "  {\"model\": \"mlp:32\", \"divisions\": 3, \"loss\": 0.5,"
               "   \"constant_loss\": 0.75, \"epochs\": 4.0}]}");
    json_decref(object);
    *s = (drove_search_facts){.n = 1, .seconds = 0.5, .candidate = {{"linear", 1, 1, 1, 1}}};
    expect_line(f, "  model       linear, the only candidate; tried for 0.5 s\n");
    s->candidate[0].n_tried = 0;
    char *text = text_of(f);
    assert_null(strstr(text, "  model       "));
    free(text);
}

TEST_WITH(what_a_probe_compared, setup, teardown)
{
    fixture *x = *state;
    drove_strategy_facts *s = &x->facts.start.strategy_choice;
    *s = (drove_strategy_facts){.how = "probe", .n_allowed = 8, .n = 3, .seconds = 0.5};
    s->rival[0] = (drove_rival_facts){"sequential", 1, 1.0, true, 0.25, 100, 0.5};
    s->rival[1] = (drove_rival_facts){"hogwild", 2, NAN, false, NAN, NAN, NAN};
    s->rival[2] = (drove_rival_facts){"sync", 4, NAN, false, 0.125, 200, 0.75};
    expect_line(&x->facts, "1 of 8 threads (no other was measured; a probe of 0.5 s)\n");
    s->rival[1].rate = 1.25;
    s->rival[2].rate = 1.5; /* the fastest of the others is named */
    expect_line(&x->facts, "(sync on 4 threads: 1.50 times its rate, ");
    json_t *object = json_of(&x->facts);
    expect_key(object, "strategy_choice",
               "{\"chosen\": \"sequential\", \"how\": \"probe\", \"threads\": 1, \"allowed\": 8,"
               " \"seconds\": 0.5, \"compared\":"
               " [{\"strategy\": \"sequential\", \"threads\": 1, \"rate\": 1.0, \"train_s\": 0.25,"
               "   \"examples_per_s\": 100.0, \"loss\": 0.5},"
               "  {\"strategy\": \"hogwild\", \"threads\": 2, \"rate\": 1.25, \"train_s\": null,"
               "   \"examples_per_s\": null, \"loss\": null},"
               "  {\"strategy\": \"sync\", \"threads\": 4, \"rate\": 1.5, \"train_s\": 0.125,"
               "   \"examples_per_s\": 200.0, \"loss\": 0.75}]}");
    json_decref(object);
}

/* A worker's mean seconds in phase p: 2^p times 2e-4. */
TEST_WITH(what_workers_exchanged, setup, teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    set_phases(x);
    x->traffic[0] = (drove_traffic){1500000, 4, 30000000, 1000000, 0.5};
    x->traffic[1] = (drove_traffic){2500000, 5, 10000000, 3000000, 1.5};
    f->now.exchanges = true;
    f->communication = (drove_communication_facts){.is_there = true,
                                                   .transport = "shared",
                                                   .period = 1,
                                                   .alpha = 0.25,
                                                   .data_s = 3,
                                                   .start_s = 4};
    /* exchange 0.0128 less 0.002 at the centre, load 0.0016: 0.0124 of 0.1264 s */
    expect_line(
        f, "  exchange    every 1 step; 10 % of a worker's time, 0.02 s hidden behind computing; "
           "4.0 MB in 9 messages; workers 1 from the centre\n");
    json_t *object = json_of(f);
    expect_key(object, "communication",
               "{\"transport\": \"shared\", \"period\": 1, \"alpha\": 0.25,"
               " \"ratio\": 0.09810126582, \"bytes\": 4000000, \"messages\": 9, \"hidden\": 0.02,"
               " \"distance\": 1.0, \"parts\": {\"data\": 3.0, \"start\": 4.0,"
               " \"worker_worker\": 0.0108, \"host_device_data\": 0.0016,"
               " \"host_device_parameters\": 0.0, \"forward_backward\": 0.0096,"
               " \"worker_update\": 0.1024, \"master_update\": 0.002}}");
    json_decref(object);
    f->communication.has_master = true;
    f->communication.alpha = NAN;
    x->traffic[0].centre_ns = 25600000; /* the whole exchange; others of it were counted twice */
    object = json_of(f);
    const json_t *parts = json_object_get(json_object_get(object, "communication"), "parts");
    expect_key(json_object_get(object, "communication"), "alpha", "null");
    expect_key(parts, "master_update", "0.0128");
    expect_key(parts, "host_device_parameters", "0.0");
    x->traffic[0].centre_ns = 1000000;
    json_decref(object);
    object = json_of(f);
    parts = json_object_get(json_object_get(object, "communication"), "parts");
    expect_key(parts, "host_device_parameters", "0.0108");
    expect_key(parts, "worker_worker", "0.0");
    json_decref(object);
    x->traffic[0].messages = x->traffic[1].messages = 0;
    expect_line(f, "  exchange    every 1 step: none was reached in this run\n");
    f->communication.period = 2;
    expect_line(f, "  exchange    every 2 steps: none was reached in this run\n");

    const char *host[] = {"a", "b", "b"};
    f->start.cluster = (drove_cluster_facts){true, "mpi", "Open MPI", 3, 1, 2, host};
    object = json_of(f);
    expect_key(object, "cluster",
               "{\"transport\": \"mpi\", \"library\": \"Open MPI\", \"ranks\": 3,"
               " \"local_ranks\": 1, \"threads\": 2, \"hosts\": [\"a\", \"b\", \"b\"]}");
    json_decref(object);
}

TEST_WITH(where_the_data_were, setup, teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    f->loader = (drove_loader_facts){true, 2, 0.5, 0.125, 0.75};
    f->disk = (drove_disk_facts){.is_there = true,
                                 .n_blocks = 5,
                                 .n_windows = 6,
                                 .n_windows_read = 7,
                                 .window_bytes = 3 << 20,
                                 .read_bytes = 2.5 * (1 << 30),
                                 .read_s = 1.5,
                                 .wait_s = 0.25};
    f->start.partition = (drove_partition_facts){1, 3e6, 2e6, "L3", false, 4};
    strcpy(f->start.said.prefetch, "off");
    strcpy(f->start.features, "rff:8");
    expect_line(f,
                "  loading     0.50 s by 2 threads, 0.12 s of the workers' time: 75 % hidden\n"
                "  from disk   2.5 GiB in 7 windows of 1.5 MiB, read in 1.50 s; the workers waited "
                "0.25 s\n"
                "  partition   1 group of cores; copies of 3.0 MB do not fit in 2.0 MB of L3\n"
                "  prefetch    off asked; the processor's prefetchers: unknown\n");
    json_t *object = json_of(f);
    expect_key(object, "loader",
               "{\"threads\": 2, \"busy_s\": 0.5, \"exposed_s\": 0.125, \"hidden\": 0.75}");
    expect_key(object, "disk",
               "{\"blocks\": 5, \"windows\": 6, \"windows_read\": 7, \"window_bytes\": 3145728.0,"
               " \"read_bytes\": 2684354560.0, \"read_s\": 1.5, \"wait_s\": 0.25}");
    expect_key(object, "partition",
               "{\"groups\": 1, \"copies_bytes\": 3e6, \"fast_bytes\": 2e6,"
               " \"fast_memory\": \"L3\", \"fits\": false, \"suggested\": 4}");
    expect_key(object, "prefetch", "\"off\"");
    expect_key(object, "prefetch_hardware", "\"unknown\"");
    expect_key(object, "features", "\"rff:8\"");
    json_decref(object);
    f->loader.n_threads = 0;
    expect_line(f, "  loading     0.50 s by the workers, 0.12 s");
}

TEST_WITH(precision, setup, teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    x->trace[0].clamped = 1000;
    x->trace[1].clamped = 5;
    f->precision = (drove_precision_facts){.is_there = true,
                                           .is_words = true,
                                           .name = "D8M8",
                                           .model_range = 2,
                                           .data_scale = 0.5,
                                           .data_clamped = 3,
                                           .bridges = 4,
                                           .bytes_per_example = 6.5};
    expect_line(
        f, "  precision   D8M8, rounding nearest, parameters up to 2, 1,005 writes saturated\n");
    json_t *object = json_of(f);
    static const char *const wanted[][2] = {
        {"precision", "\"D8M8\""},    {"rounding", "\"nearest\""}, {"model_range", "2.0"},
        {"data_scale", "0.5"},        {"data_clamped", "3"},       {"bridges", "4"},
        {"bytes_per_example", "6.5"}, {"clamped", "1005"}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        expect_key(object, wanted[i][0], wanted[i][1]);
    json_decref(object);
    f->precision.model_range = 0;
    expect_line(f, "  precision   D8M8, rounding nearest\n");
    f->start.machine.gemm = "oneDNN";
    strcpy(f->precision.name, "bf16");
    expect_line(f, "  precision   products and parameters in bf16 (oneDNN), rounding nearest\n");
}

TEST_WITH(a_modelled_machine, setup, teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    f->start.modelled = (drove_modelled_facts){.is_there = true,
                                               .name = "thesis",
                                               .source = "table 1",
                                               .assumed = "jitter",
                                               .sockets = 2,
                                               .cores = 18,
                                               .smt = 3,
                                               .smt_yield = 1,
                                               .speed = 2,
                                               .jitter = NAN,
                                               .memory_gb_s = 4,
                                               .batch_us = 5,
                                               .example_us = 6,
                                               .copy_gb_s = 7,
                                               .update_gb_s = 8,
                                               .line_ns = 9,
                                               .far_line_ns = 10,
                                               .window_ns = 11,
                                               .hand_over_us = 12,
                                               .take_gb_s = 13,
                                               .race_gb_s = 14};
    json_t *object = json_of(f);
    expect_key(object, "clock", "\"virtual\"");
    expect_key(object, "modelled_machine",
               "{\"name\": \"thesis\", \"source\": \"table 1\", \"assumed\": \"jitter\","
               " \"sockets\": 2, \"cores\": 18, \"smt\": 3, \"measured\": false,"
               " \"smt_yield\": 1.0, \"speed\": 2.0, \"jitter\": null, \"memory_gb_s\": 4.0,"
               " \"batch_us\": 5.0, \"example_us\": 6.0, \"copy_gb_s\": 7.0,"
               " \"update_gb_s\": 8.0, \"line_ns\": 9.0, \"far_line_ns\": 10.0,"
               " \"window_ns\": 11.0, \"hand_over_us\": 12.0, \"take_gb_s\": 13.0,"
               " \"race_gb_s\": 14.0}");
    json_decref(object);
    char *text = text_of(f);
    assert_non_null(strstr(text, "those of the machine thesis (2 x 18 x 3)\n"));
    assert_null(strstr(text, "  measured  "));
    free(text);
    f->start.modelled.is_measured = true;
    expect_line(f, "  measured    costs not in the machine file, on this machine");
}

TEST_WITH(devices_with_parameters_of_their_own, setup, teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    drove_layer_facts layer[2] = {
        {.name = "fc1",
         .n_params = 320,
         .n_iterations = 10,
         .down_ns = 10000000,
         .down_exposed_ns = 5000000,
         .add_ns = 60000000,
         .add_span_ns = 20000000,
         .add_exposed_ns = 3000000,
         .up_ns = 30000000,
         .up_exposed_ns = 1000000},
        {.name = "fc2", .n_params = 10},
    };
    set_phases(x);
    f->replicas = (drove_replica_facts){.is_there = true,
                                        .layer = layer,
                                        .n_layers = 2,
                                        .n_checks = 3,
                                        .parameters_bytes = 1e6,
                                        .gradient_bytes = 2e6,
                                        .state_bytes = 4e6,
                                        .receive_bytes = 8e6,
                                        .host_bytes = 16e6,
                                        .example_bytes = 3e6,
                                        .is_first_come = true,
                                        .n_compared = 50,
                                        .n_different = 20,
                                        .error_max = 0.5,
                                        .error_relative = 0.25};
    json_t *object = json_of(f);
    expect_key(object, "layers",
               "[{\"name\": \"fc2\", \"parameters\": 10, \"copy_down_s\": null,"
               "  \"accumulate_s\": null, \"accumulate_threads_s\": null, \"copy_up_s\": null,"
               "  \"hidden\": null},"
               " {\"name\": \"fc1\", \"parameters\": 320, \"copy_down_s\": 0.001,"
               "  \"accumulate_s\": 0.002, \"accumulate_threads_s\": 0.006, \"copy_up_s\": 0.003,"
               "  \"hidden\": 0.85}]");
    expect_key(object, "device_memory",
               "{\"parameters\": 1e6, \"gradient\": 2e6, \"rule_state\": 4e6, \"receive\": 8e6,"
               " \"host\": 16e6, \"example\": 3e6, \"receive_examples\": 2.0}");
    expect_key(object, "replicas_equal", "true");
    expect_key(object, "replica_checks", "3");
    expect_key(object, "order_error",
               "{\"compared\": 50, \"different\": 20, \"max\": 0.5, \"max_relative\": 0.25}");
    json_decref(object);
    expect_line(
        f, "  devices     exchange exposed 128.0, additions before 256.0, broadcast 512.0 us a "
           "step; parameters equal at all of 3 looks\n"
           "  memory      15.0 MB a device (receive buffers 8.0), 16.0 MB on the host\n"
           "  order       20 of 50 sums differ from the tree's, at most by 0.5 (0.25 of the "
           "sum)\n");
    char line[2][128];
    snprintf(line[0], sizeof line[0], "  %-20s %12d %10s %13s %10s %8s\n", "fc2", 10, "nan", "nan",
             "nan", "-");
    snprintf(line[1], sizeof line[1], "  %-20s %12d %10s %13s %10s %8s\n", "fc1", 320, "1.000",
             "2.000", "3.000", "85.0 %");
    expect_line(f, line[0]);
    expect_line(f, line[1]);
    f->replicas.n_checks = 0;
    f->replicas.is_first_come = false;
    f->replicas.layer = NULL;
    object = json_of(f);
    expect_key(object, "replicas_equal", "null");
    expect_key(object, "layers", "null");
    assert_null(json_object_get(object, "order_error"));
    json_decref(object);
}

/* Two names in --workers with a thread each, since 0.2 s of training; one is lost. */
TEST_WITH(two_groups, setup, teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    drove_batch_size history[2] = {{0.5, 0.25, 4, 10}, {1.5, 0.75, 8, 20}};
    drove_group_facts group[2] = {
        {.name = "cpu:0",
         .first = 0,
         .n = 1,
         .batch = 8,
         .batch_min = 4,
         .batch_max = 16,
         .n_batches = 100,
         .counted_updates = 50,
         .examples_per_s = 1000,
         .busy = &x->busy,
         .logged_busy_ns = 100000000,
         .history = history,
         .n_history = 2},
        {.name = "fake:0",
         .first = 1,
         .n = 1,
         .batch = 32,
         .batch_min = 32,
         .batch_max = 64,
         .n_batches = 300,
         .counted_updates = 70,
         .examples_per_s = 3000,
         .lost = "killed",
         .device = "fake",
         .copy_s = 0.1,
         .compute_s = 0.2,
         .hidden_s = 0.3,
         .wait_s = 0.4,
         .busy = &(drove_timeline){.width_ns = 0}},
    };
    x->busy = (drove_timeline){.width_ns = 600000000, .busy_ns = {300000000, 500000000}};
    atomic_store(&x->trace[1].updates, 300);
    atomic_store(&x->trace[1].examples, 6000);
    x->trace[0].busy_ns = 400000000;
    x->trace[1].busy_ns = 200000000;
    f->now.progress.examples = 8000;
    f->now.groups_since_ns = 200000000;
    f->now.n_groups = 2;
    f->now.group = group;
    json_t *object = json_of(f);
    expect_key(object, "workers",
               "[{\"name\": \"cpu:0\", \"updates\": 100, \"examples\": 1000, \"share\": 0.25,"
               "  \"batch\": 8, \"batch_min\": 4, \"batch_max\": 16, \"batches\": 100,"
               "  \"counted_updates\": 50.0, \"busy\": 0.5, \"staleness\": 0.0,"
               "  \"examples_per_s\": 1000.0, \"threads\": 1, \"lost\": null, \"device\": null,"
               "  \"times\": null, \"timeline\": {\"width_s\": 0.6, \"utilisation\": [0.5, 1.0]},"
               "  \"batch_history\": [[0.5, 0.25, 4, 10.0], [1.5, 0.75, 8, 20.0]]},"
               " {\"name\": \"fake:0\", \"updates\": 300, \"examples\": 6000, \"share\": 0.75,"
               "  \"batch\": 32, \"batch_min\": 32, \"batch_max\": 64, \"batches\": 300,"
               "  \"counted_updates\": 70.0, \"busy\": 0.25, \"staleness\": 1.0,"
               "  \"examples_per_s\": 3000.0, \"threads\": 1, \"lost\": \"killed\","
               "  \"device\": \"fake\", \"times\": {\"copy_s\": 0.1, \"compute_s\": 0.2,"
               "  \"hidden_s\": 0.3, \"wait_s\": 0.4},"
               "  \"timeline\": {\"width_s\": 0.0, \"utilisation\": []}, \"batch_history\": []}]");
    json_decref(object);
    expect_line(
        f, "  cpu:0       25.0 % of the updates, 12.5 % of the examples, batch 8 of 4 to 16, "
           "busy 50 %\n"
           "  fake:0      75.0 % of the updates, 75.0 % of the examples, batch 32 of 32 to 64, "
           "busy 25 %, lost\n");
    expect_line(f,
                "  repeatable  no: the order in which 2 threads meet is left to chance; one worker "
                "repeats");
    char *line;
    f->now.logged_ns = 400000000;
    assert_int_equal(drove__report_evaluation(&f->now, &line), DROVE_OK);
    object = json_loads(line, 0, NULL);
    expect_key(object, "workers",
               "[{\"name\": \"cpu:0\", \"updates\": 100, \"examples\": 1000, \"batch\": 8,"
               "  \"counted_updates\": 50.0, \"utilisation\": 0.5, \"staleness\": 0.0},"
               " {\"name\": \"fake:0\", \"updates\": 300, \"examples\": 6000, \"batch\": 32,"
               "  \"counted_updates\": 70.0, \"utilisation\": 0.333333333, \"staleness\": 1.0}]");
    json_decref(object);
    free(line);
}

TEST_WITH(records_of_the_log, setup, teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    char *line;
    f->now.progress.examples_per_s = 1234;
    f->now.progress.test_loss = 0.5;
    f->now.validation_loss = NAN;
    assert_int_equal(drove__report_evaluation(&f->now, &line), DROVE_OK);
    json_t *record = json_loads(line, 0, NULL),
           *wanted = json_loads("{\"examples\": 2000, \"epochs\": 2.0, \"updates\": 200,"
                                " \"train_s\": 1.0, \"examples_per_s\": 1234.0, \"loss\": 0.25,"
                                " \"accuracy\": 0.9, \"test_loss\": 0.5, \"test_accuracy\": null}",
                                0, NULL);
    expect_same("record", record, wanted);
    json_decref(wanted);
    json_decref(record);
    free(line);
    f->now.validation_loss = 0.75;
    f->now.exchanges = true;
    x->traffic[1].distance = 3;
    assert_int_equal(drove__report_evaluation(&f->now, &line), DROVE_OK);
    record = json_loads(line, 0, NULL);
    assert_int_equal(json_object_size(record), 11);
    expect_key(record, "validation_loss", "0.75");
    expect_key(record, "distance", "1.5");
    json_decref(record);
    free(line);
}

/* How often a tag stands in a file of TensorBoard's with a number behind it: a string with its
 * length, then field 2, a float. */
static unsigned find_scalar(const char *bytes, size_t n, const char *tag, float *value)
{
    unsigned n_found = 0;
    const size_t length = strlen(tag);
    for (size_t i = 1; i + length + 5 <= n; i++) {
        if (bytes[i - 1] != (char)length || memcmp(bytes + i, tag, length) != 0 ||
            bytes[i + length] != 0x15)
            continue;
        memcpy(value, bytes + i + length + 1, sizeof *value);
        n_found++;
    }
    return n_found;
}

static bool has_text(const char *bytes, size_t n, const char *text)
{
    for (size_t i = 0; i + strlen(text) <= n; i++)
        if (memcmp(bytes + i, text, strlen(text)) == 0) return true;
    return false;
}

TEST_WITH(events_of_tensorboard, setup, teardown)
{
    static const struct {
        const char *tag;
        float value;
    } wanted[] = {{"loss/train", 0.25F},
                  {"accuracy/train", 0.875F},
                  {"speed/examples_per_s", 1234.0F},
                  {"progress/epochs", 2.0F},
                  {"worker/cpu:0/batch", 8.0F},
                  {"worker/cpu:0/share", 0.25F},
                  {"worker/cpu:0/utilisation", 0.5F}};
    fixture *x = *state;
    drove_facts *f = &x->facts;
    drove_events *events;
    char folder[] = "/tmp/drove_report_XXXXXX", path[512];
    float value;
    assert_non_null(mkdtemp(folder));
    x->group = (drove_group_facts){.name = "cpu:0", .n = 1, .batch = 8, .busy = &x->busy};
    f->now.n_groups = 1;
    f->now.group = &x->group;
    f->now.progress.accuracy = 0.875;
    f->now.progress.examples_per_s = 1234;
    atomic_store(&x->trace[1].updates, 300);
    x->trace[0].staleness = (drove_histogram){0};
    assert_int_equal(drove__events_open(folder, &events), DROVE_OK);
    assert_int_equal(drove__report_events(&f->now, events), DROVE_OK);
    drove__events_close(events);

    DIR *dir = opendir(folder);
    path[0] = '\0';
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.') snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    closedir(dir);
    size_t n;
    char *bytes = read_bytes(path, &n);
    unsigned n_scalars = 0;
    for (size_t i = 0; i + 1 < n; i++) /* a value with a tag and a float */
        n_scalars += bytes[i] == 0x0a && i + 2 + (size_t)bytes[i + 1] < n && bytes[i + 1] > 4 &&
                     bytes[i + 2 + bytes[i + 1]] == 0x15;
    assert_int_equal(n_scalars, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_int_equal(find_scalar(bytes, n, wanted[i].tag, &value), 1);
        assert_true(value == wanted[i].value);
    }
    assert_false(has_text(bytes, n, "staleness/worker0")); /* it has made no step */
    assert_true(has_text(bytes, n, "staleness/worker1"));
    free(bytes);
    unlink(path);
    rmdir(folder);
}

/* run.json: a value of each kind, and real ones to the last bit. */
TEST_WITH(options_of_a_run, setup, teardown)
{
    struct {
        char word[DROVE_TEXT_SIZE];
        double real;
        uint64_t count;
    } options = {"mlp:8", 0.1, 12};
    const drove_option_info table[] = {
        {.name = "model", .kind = DROVE_OPTION_TEXT, .own = 0},
        {.name = "lr", .kind = DROVE_OPTION_REAL, .own = DROVE_TEXT_SIZE},
        {.name = "batch", .kind = DROVE_OPTION_COUNT, .own = DROVE_TEXT_SIZE + sizeof(double)}};
    fixture *x = *state;
    drove_facts *f = &x->facts;
    char *text;
    f->start.said.options = (const drove_options *)(const void *)&options;
    f->start.said.option = table;
    f->start.said.n_options = 3;
    f->start.machine = (drove_machine_facts){"box", "a cpu", 4, 8, 2, "oneDNN"};
    assert_int_equal(drove__report_run(&f->start, &text), DROVE_OK);
    assert_non_null(strstr(text, "\"lr\": 0.1,")); /* as it was typed */
    json_t *object = json_loads(text, 0, NULL);
    assert_int_equal(json_object_size(object), 9);
    expect_key(object, "options", "{\"model\": \"mlp:8\", \"lr\": 0.1, \"batch\": 12}");
    expect_key(object, "strategy", "\"hogwild\"");
    expect_key(object, "n_workers", "2");
    expect_key(object, "machine",
               "{\"host\": \"box\", \"cpu\": \"a cpu\", \"cores\": 4, \"processors\": 8,"
               " \"numa_nodes\": 2, \"isa\": \"ref\", \"gemm\": \"oneDNN\"}");
    expect_key(object, "clock", "\"real\"");
    expect_key(object, "modelled_machine", "null");
    expect_key(object, "cluster", "null");
    expect_key(object, "model_search", "null");
    assert_non_null(json_object_get(object, "drove"));
    json_decref(object);
    free(text);
    options.real = 1.0 / 3.0;
    assert_int_equal(drove__report_run(&f->start, &text), DROVE_OK);
    object = json_loads(text, 0, NULL);
    assert_true(json_real_value(json_object_get(json_object_get(object, "options"), "lr")) ==
                1.0 / 3.0);
    json_decref(object);
    free(text);
    object = json_of(f);
    expect_key(object, "options", "{\"model\": \"mlp:8\", \"lr\": 0.333333333333, \"batch\": 12}");
    json_decref(object);
}
