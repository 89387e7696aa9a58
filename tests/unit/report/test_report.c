/* The report of facts written by hand: no run is needed to test it.  Golden lines for people, and
 * the keys that programs read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/report.h"
#include "support/test.h"

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
        .said =
            {.data = "", .rule = "sgd", .schedule = "", .rounding = "nearest", .prefetch = "on"},
        .progress = {.epochs = 2,
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
        .worker = x->worker,
        .strategy = "hogwild",
        .model = "mlp:32",
        .isa = "ref",
        .outcome = DROVE_FINISHED,
        .update_rows = 10,
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
    drove_strategy_facts *s = &x->facts.strategy_choice;
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
    x->facts.n_workers = 1;
    x->facts.is_repeatable = false;
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
    f->said.out = "runs/a";
    x->traffic[0] = (drove_traffic){.bytes = 1000, .messages = 4};
    x->layer = (drove_layer_facts){.name = "fc1", .n_params = 320, .n_iterations = 1};
    f->outcome = DROVE_INTERRUPTED;
    f->signal_number = 2;
    f->kind = DROVE_WORKER_PROCESS;
    f->n_test_rows = 10;
    f->mark[0] = (drove_mark_facts){10.0, true, 0.5, 1.0, 1234567};
    f->precision = (drove_precision_facts){
        .is_there = true, .is_words = true, .name = "D8M8", .model_range = 2.0};
    f->communication = (drove_communication_facts){.is_there = true, .period = 8, .alpha = NAN};
    f->loader = (drove_loader_facts){true, 1, 0.5, 0.1, 0.8};
    f->partition = (drove_partition_facts){2, 3e6, 4e6, "caches", true, 2};
    f->replicas =
        (drove_replica_facts){.is_there = true, .layer = &x->layer, .n_layers = 1, .n_checks = 3};
    char *text = text_of(f);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (strstr(text, expected[i]) == NULL) fail_msg("no \"%s\" in:\n%s", expected[i], text);
    free(text);
    f->machine.gemm = "drove avx512_bf16";
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
    x->facts.n_groups = 1;
    x->facts.group = &x->group;
    x->facts.logged_ns = 500000000;
    assert_int_equal(drove__report_evaluation(&x->facts, &line), DROVE_OK);
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
