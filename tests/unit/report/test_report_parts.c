/* The report of facts written by hand: exchanges, data, precision, machines and devices; then
 * records of the log, events of TensorBoard and options. */
#include "facts.h"
#include "support/files.h"
#include "support/test.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A worker's mean seconds in phase p: 2^p times 2e-4. */
TEST_WITH(what_workers_exchanged, facts_setup, facts_teardown)
{
    fixture *x = *state;
    drove_facts *f = &x->facts;
    facts_set_phases(x);
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

TEST_WITH(where_the_data_were, facts_setup, facts_teardown)
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

TEST_WITH(precision, facts_setup, facts_teardown)
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

TEST_WITH(a_modelled_machine, facts_setup, facts_teardown)
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

TEST_WITH(devices_with_parameters_of_their_own, facts_setup, facts_teardown)
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
    facts_set_phases(x);
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
TEST_WITH(two_groups, facts_setup, facts_teardown)
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

TEST_WITH(records_of_the_log, facts_setup, facts_teardown)
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
                                " \"accuracy\": 0.9, \"test_loss\": 0.5, \"test_accuracy\": null,"
                                " \"attempts\": 200, \"dropped\": 0}",
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
    assert_int_equal(json_object_size(record), 13);
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

TEST_WITH(events_of_tensorboard, facts_setup, facts_teardown)
{
    static const struct {
        const char *tag;
        float value;
    } wanted[] = {{"loss/train", 0.25F},
                  {"accuracy/train", 0.875F},
                  {"speed/examples_per_s", 1234.0F},
                  {"progress/epochs", 2.0F},
                  {"contention/attempts", 200.0F},
                  {"contention/dropped", 7.0F},
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
    x->trace[1].dropped = 7;
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
    for (size_t i = 0; i + 1 < n; i++) /* a value with a tag, of letters, and a float */
        n_scalars += bytes[i] == 0x0a && i + 2 + (size_t)bytes[i + 1] < n && bytes[i + 1] > 4 &&
                     bytes[i + 2 + bytes[i + 1]] == 0x15 && isalpha((unsigned char)bytes[i + 2]) &&
                     isalpha((unsigned char)bytes[i + 3]) && isalpha((unsigned char)bytes[i + 4]);
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
TEST_WITH(options_of_a_run, facts_setup, facts_teardown)
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
    expect_key(object, "pack", "null");
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
