/* The report of facts written by hand: no run is needed to test it.  Golden lines for people, and
 * the keys that programs read. */
#include "facts.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST_WITH(for_people, facts_setup, facts_teardown)
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
TEST_WITH(a_choice_of_strategy, facts_setup, facts_teardown)
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

TEST_WITH(sections_for_people, facts_setup, facts_teardown)
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

TEST_WITH(for_programs, facts_setup, facts_teardown)
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
TEST_WITH(groups, facts_setup, facts_teardown)
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
TEST_WITH(workers_phases_and_staleness, facts_setup, facts_teardown)
{
    fixture *x = *state;
    facts_set_phases(x);
    x->worker[0].processor = 3;
    x->worker[1].node = 1;
    json_t *object = json_of(&x->facts);
    expect_key(object, "phases",
               "{\"wait\": 2e-6, \"backoff\": 4e-6, \"acquire\": 8e-6, \"load\": 16e-6,"
               " \"forward\": 32e-6, \"backward\": 64e-6, \"exchange\": 128e-6,"
               " \"accumulate\": 256e-6, \"broadcast\": 512e-6, \"update\": 1024e-6,"
               " \"publish\": 2048e-6, \"other\": 4096e-6}");
    expect_key(object, "workers",
               "[{\"name\": \"thread:0\", \"attempts\": 100, \"dropped\": 0,"
               "  \"updates\": 100, \"examples\": 1000, \"batch\": 10,"
               "  \"busy\": 0.5, \"staleness\": 0.0, \"processor\": 3, \"node\": -1},"
               " {\"name\": \"thread:1\", \"attempts\": 100, \"dropped\": 0,"
               "  \"updates\": 100, \"examples\": 1000, \"batch\": 10,"
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

TEST_WITH(numbers_and_marks, facts_setup, facts_teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    x->trace[0].attempts = 150;
    x->trace[1].dropped = 7;
    char *text = text_of(f);
    assert_non_null(strstr(text, "largest 1; 7 dropped, 250 attempts for 200 steps\n"));
    free(text);
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
        {"steps", "200"},
        {"attempts", "250"},
        {"lost_updates", "null"},
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
    /* On a virtual clock, of a model of 40 parameters. */
    f->start.modelled =
        (drove_modelled_facts){.is_there = true, .name = "m", .source = "", .assumed = ""};
    f->start.n_params = 40;
    x->trace[0].overwritten = 50;
    x->trace[1].overwritten = 10;
    object = json_of(f);
    expect_key(object, "lost_updates", "1.5");
    json_decref(object);
    text = text_of(f);
    assert_non_null(strstr(text, "attempts for 200 steps, 1.5 updates overwritten\n"));
    free(text);
    f->start.modelled.is_there = false;
    f->now.progress.train_s = 0; /* nothing was trained, so there is no speed */
    object = json_of(f);
    expect_key(object, "examples_per_s", "null");
    expect_key(object, "updates_per_s", "null");
    expect_key(object, "gnps", "null");
    json_decref(object);
}

/* A worker of 100 examples that took half a second to its first 20, and one of 300 that took no
 * time: 80 in the half second that is left, and 300 in a second. */
TEST_WITH(starts_are_left_out_of_rates, facts_setup, facts_teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    f->now.progress.examples = 400;
    f->now.progress.updates = 40;
    f->now.progress.train_s = 1;
    atomic_store(&x->trace[0].examples, 100);
    atomic_store(&x->trace[1].examples, 300);
    x->trace[0].start_ns = 500000000;
    x->trace[0].start_examples = 20;
    f->now.parked = (drove_parked_facts){.n = 3, .s = 0.125};
    json_t *object = json_of(f);
    expect_key(object, "examples_per_s", "460.0");
    expect_key(object, "updates_per_s", "46.0");
    expect_key(object, "parked", "{\"times\": 3, \"s\": 0.125, \"start_s\": 0.25, \"beside\": 0}");
    json_decref(object);
    expect_line(f, "  speed       460 examples/s, 46 updates/s: hogwild, 2 threads, batch 10, "
                   "kernels ref\n"
                   "  parked      3 times for 0.12 s, to evaluate or save; the speed leaves out "
                   "0.25 s of starting\n");
    /* A start as long as the training is no start. */
    x->trace[0].start_ns = 1000000000;
    object = json_of(f);
    expect_key(object, "examples_per_s", "400.0");
    json_decref(object);
}

TEST_WITH(outcomes, facts_setup, facts_teardown)
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

TEST_WITH(quality, facts_setup, facts_teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    f->now.progress.test_loss = 0.5;
    f->now.progress.test_accuracy = 0.875;
    f->n_test_rows = 1234;
    expect_line(f, "  loss        2.3 -> 0.25   (held-out 0.5)\n"
                   "  accuracy    90.00 %   (held-out 87.50 % of 1,234)\n");
    f->weighs_classes = true;
    expect_line(f, "  loss        2.3 -> 0.25, weighted by class   (held-out 0.5)\n"
                   "  accuracy    90.00 %, weighted by class   (held-out 87.50 % of 1,234)\n");
    f->weighs_classes = false;
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
TEST_WITH(kinds_of_workers, facts_setup, facts_teardown)
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

TEST_WITH(what_was_chosen, facts_setup, facts_teardown)
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

    drove_pack_facts *p = &f->start.pack;
    *p = (drove_pack_facts){.n = 2,
                            .best = 1,
                            .n_divisions = 5,
                            .n_networks = 5,
                            .n_rows = 80,
                            .n_judged = 80,
                            .loss = 0.5,
                            .error = 0.25,
                            .best_loss = 0.75,
                            .constant_loss = 1,
                            .sharpness = 1,
                            .seconds = 2.5};
    p->member[0] = (drove_member_facts){"linear", NAN, 0, 0, 1};
    p->member[1] = (drove_member_facts){"mlp:64", 0.75, 4, 1, 5};
    expect_line(f, "  model       a pack of 5 networks, chosen from 2 kinds in 2.5 s\n");
    expect_line(f, " s: a pack of 5 networks.\n\n  loss        ");
    expect_line(f, "    model.safetensors  the pack            best.safetensors   the same\n");
    char *of_pack = text_of(f);
    assert_null(strstr(of_pack, " -> "));
    assert_null(strstr(of_pack, "  chosen   "));
    free(of_pack);
    object = json_of(f);
    expect_key(
        object, "pack",
        "{\"networks\": 5, \"loss\": 0.5, \"standard_error\": 0.25, \"best_member\":"
        " \"mlp:64\", \"best_member_loss\": 0.75, \"constant_loss\": 1.0, \"sharpness\":"
        " 1.0, \"divisions\": 5, \"examples\": 80, \"judged_examples\": 80, \"seconds\": 2.5,"
        " \"members\": [{\"member\": \"linear\", \"divisions\": 1, \"loss\": null,"
        "   \"epochs\": 0.0, \"share\": 0.0},"
        "  {\"member\": \"mlp:64\", \"divisions\": 5, \"loss\": 0.75, \"epochs\": 4.0,"
        "   \"share\": 1.0}]}");
    json_decref(object);
    p->n_networks = 0;
    expect_line(f, " s: the constant guess.\n\n");
    p->n = 0;
    char *text = text_of(f);
    assert_null(strstr(text, "  model       "));
    free(text);
}

TEST_WITH(what_a_probe_compared, facts_setup, facts_teardown)
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
