/* test_bench.c - benchmarks: options, and the rows of `memory`; no figure is judged. */
#include "base/mem.h"
#include "base/topo.h"
#include "bench/bench.h"
#include "support/test.h"

#include <drove/train.h>

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

TEST(test_options)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"4096", 4096}, {"3KiB", 3072}, {"64MiB", 67108864}, {"1GiB", 1073741824}};
    static const char *const bad[][2] = {{"bytes", ""},
                                         {"bytes", "MiB"},
                                         {"bytes", "1GB"},
                                         {"bytes", "-1"},
                                         {"bytes", "0"},
                                         {"bytes", "1.5GiB"},
                                         {"bytes", "99999999999GiB"},
                                         {"threads", "0"},
                                         {"threads", "many"},
                                         {"threads", "4097"},
                                         {"seconds", "0"},
                                         {"seconds", "1e9"},
                                         {"seconds", "nan"},
                                         {"second", "1"}};
    drove_bench_options o = drove_bench_options_default(), before;
    assert_int_equal(o.n_threads, 0);
    assert_true(o.seconds == 0.5);
    assert_int_equal(o.n_bytes, 0);
    for (size_t i = 0; i < DROVE_COUNT(good); i++) {
        assert_int_equal(drove_bench_options_set(&o, "bytes", good[i].text), DROVE_OK);
        assert_int_equal(o.n_bytes, good[i].bytes);
    }
    assert_int_equal(drove_bench_options_set(&o, "threads", "3"), DROVE_OK);
    assert_int_equal(o.n_threads, 3);
    assert_int_equal(drove_bench_options_set(&o, "seconds", "0.25"), DROVE_OK);
    assert_true(o.seconds == 0.25);
    before = o;
    for (size_t i = 0; i < DROVE_COUNT(bad); i++) {
        assert_int_equal(drove_bench_options_set(&o, bad[i][0], bad[i][1]), DROVE_E_ARG);
        assert_memory_equal(&o, &before, sizeof o);
    }
    assert_int_equal(drove_bench_options_set(&o, "threads", "all"), DROVE_OK);
    assert_int_equal(o.n_threads, 0);
}

TEST(test_tables)
{
    for (size_t i = 0; drove__benches[i] != NULL; i++) {
        assert_non_null(drove__benches[i]->run);
        assert_non_null(drove__benches[i]->print);
    }
}

/* The result as JSON; json_decref. */
static json_t *run(const char *name, const drove_bench_options *o)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *stream = open_memstream(&text, &size_bytes);
    assert_non_null(stream);
    if (drove_bench(name, o, 1, stream) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(fclose(stream), 0);
    json_t *result = json_loads(text, 0, NULL);
    assert_true(json_is_object(result));
    free(text);
    return result;
}

static unsigned count_rows(const json_t *rows, const char *kernel, const char *level, int threads)
{
    unsigned n = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *k = json_string_value(json_object_get(row, "kernel"));
        const char *l = json_string_value(json_object_get(row, "level"));
        n += strcmp(k, kernel) == 0 && strcmp(l, level) == 0 &&
             json_integer_value(json_object_get(row, "threads")) == threads;
    }
    return n;
}

/* Three threads: 1, 2 and 3 are measured, at each level that there is and that the data reach. */
TEST(test_memory_rows)
{
    drove_bench_options o = {.n_threads = 3, .seconds = 0.001, .n_bytes = 3 << 20};
    drove_topo *topo;
    drove_topo_facts facts;
    assert_int_equal(drove__topo_create(NULL, &topo), DROVE_OK);
    drove__topo_facts(topo, &facts);
    drove__topo_destroy(topo);
    json_t *result = run("memory", &o);
    const json_t *rows = json_object_get(result, "rows");
    unsigned has_l1 = facts.l1d_bytes > 0 && facts.l1d_bytes / 2 <= 1 << 20;
    assert_int_equal(json_integer_value(json_object_get(result, "bytes")), 3 << 20);
    for (int threads = 1; threads <= 4; threads++) {
        assert_int_equal(count_rows(rows, "read", "memory", threads), threads <= 3);
        assert_int_equal(count_rows(rows, "triad", "memory", threads), threads <= 3);
        assert_int_equal(count_rows(rows, "read", "l1", threads), threads <= 3 ? has_l1 : 0);
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        double best = json_real_value(json_object_get(row, "gb_per_s"));
        double median = json_real_value(json_object_get(row, "gb_per_s_median"));
        json_int_t n = json_integer_value(json_object_get(row, "bytes_per_thread"));
        json_int_t threads = json_integer_value(json_object_get(row, "threads"));
        assert_true(median > 0.0 && best >= median && best < 1e5);
        assert_true(n > 0 && n % 64 == 0 && n * threads <= 3 << 20);
    }
    json_decref(result);
}

/* Those on a virtual clock, whole. */
TEST(test_simulations)
{
    static const char *const names[] = {"accumulate", "elastic"};
    const drove_bench_options o = {.n_threads = 1, .seconds = 0.001, .n_bytes = 1 << 20};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *result = run(names[i], &o);
        assert_string_equal(json_string_value(json_object_get(result, "bench")), names[i]);
        json_decref(result);
    }
}

/* drove_list names them once the program says so, between the library's registries. */
TEST(test_listed)
{
    char *text = NULL, *line;
    size_t size_bytes = 0, n = 0;
    assert_int_equal(drove_list("benches", 0, stdout), DROVE_E_ARG);
    drove_bench_list();
    FILE *stream = open_memstream(&text, &size_bytes);
    assert_non_null(stream);
    assert_int_equal(drove_list(NULL, 0, stream), DROVE_OK);
    assert_int_equal(fflush(stream), 0);
    line = strstr(text, "\nbenches");
    assert_non_null(line);
    assert_int_equal(strncmp(strchr(line + 1, '\n') + 1, "combinations", 12), 0);
    rewind(stream);
    assert_int_equal(drove_list("benches", 0, stream), DROVE_OK);
    assert_int_equal(fclose(stream), 0);
    line = text;
    for (; drove__benches[n] != NULL; n++) {
        assert_int_equal(strncmp(line, drove__benches[n]->name, strlen(drove__benches[n]->name)),
                         0);
        line = strchr(line, '\n') + 1;
    }
    assert_int_equal(n, 7);
    free(text);
}

TEST(test_refused)
{
    drove_bench_options o = drove_bench_options_default();
    assert_int_equal(drove_bench("memry", &o, 0, stdout), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "\"memory\""));
    assert_int_equal(drove_bench(NULL, &o, 0, stdout), DROVE_E_ARG);
    o.n_bytes = 4095;
    o.n_threads = 1;
    assert_int_equal(drove_bench("memory", &o, 0, stdout), DROVE_E_ARG);
    o.n_bytes = (uint64_t)1 << 60;
    assert_int_equal(drove_bench("memory", &o, 0, stdout), DROVE_E_ARG);
    o = drove_bench_options_default();
    o.seconds = 0.0;
    assert_int_equal(drove_bench("memory", &o, 0, stdout), DROVE_E_ARG);
    o.seconds = 1.0;
    o.n_threads = 5000;
    assert_int_equal(drove_bench("memory", &o, 0, stdout), DROVE_E_ARG);
}
