/* Memory that runs out while data are opened, sampled or written: at every allocation, or
 * every fifth, the error says so, or nothing is lost by it, and no memory stays.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "support.h"

#include "base/mem.h"
#include "data/open/pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/no_memory.h"

enum { MOST_CALLS = 3000, N_ROWS = 5 };

static const char several_labels[] = "0,1 1:2 3:4\n2 2:5\n0,1,2 1:1\n";

static void opens(const char *spec)
{
    unsigned long n = 1;
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_data *train = NULL, *held_out = NULL;
        no_memory_begin(n);
        const drove_status status = drove_data_open(spec, "split", 1, &train, &held_out);
        has_failed = no_memory_end();
        /* some memory only makes it faster */
        if (status != DROVE_OK && (!has_failed || status != DROVE_E_NOMEM))
            fail_msg("%s, allocation %lu: status %d: %s", spec, n, status, drove_error_text());
        assert_int_equal(train == NULL, status != DROVE_OK);
        if (train != NULL) assert_true(train->n_rows + held_out->n_rows == N_ROWS);
        drove_data_destroy(train);
        drove_data_destroy(held_out);
        if (no_memory_live() != 0)
            fail_msg("%s, allocation %lu: %zu pieces of memory stay", spec, n, no_memory_live());
    }
    assert_in_range(n, 6, MOST_CALLS - 1);
}

static void samples(const char *spec)
{
    unsigned long n = 1;
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_data *data = NULL;
        no_memory_begin(n);
        const drove_status status = drove__pieces_sample(spec, 1000, &data);
        has_failed = no_memory_end();
        if (status != DROVE_OK && (!has_failed || status != DROVE_E_NOMEM))
            fail_msg("%s, allocation %lu: status %d: %s", spec, n, status, drove_error_text());
        assert_int_equal(data == NULL, status != DROVE_OK);
        drove_data_destroy(data);
        if (no_memory_live() != 0)
            fail_msg("%s, allocation %lu: %zu pieces of memory stay", spec, n, no_memory_live());
    }
    assert_in_range(n, 6, MOST_CALLS - 1);
}

/* data NULL: what is read is read in pieces. */
static drove_status write_rows(const drove_data *data, const char *from, const char *to,
                               size_t piece_bytes)
{
    const drove_pieces_options opt = {.piece_bytes = piece_bytes};
    return data != NULL ? drove_data_convert(data, to)
                        : drove__pieces_write(from, strchr(to, ':') + 1, &opt);
}

/* A file that is written all the same has all of its bytes.  piece_bytes 0: not in pieces.  Of the
 * hundreds of allocations for a table every fifth fails. */
static void converts(const char *from, const char *to, size_t piece_bytes)
{
    drove_data *data = piece_bytes > 0 ? NULL : open_data(from);
    char path[80];
    const unsigned long step = strncmp(from, "table:", 6) == 0 ? 5 : 1;
    unsigned long n = 1;
    size_t n_whole, n_bytes;
    snprintf(path, sizeof path, "%.*s", (int)strcspn(strchr(to, ':') + 1, ","),
             strchr(to, ':') + 1);
    const char *second = strchr(to, ','); /* of two files */
    (void)unlink(path);
    if (second != NULL) (void)unlink(second + 1);
    if (write_rows(data, from, to, piece_bytes) != DROVE_OK) fail_msg("%s", drove_error_text());
    char *whole = read_bytes(path, &n_whole);
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n += step) {
        (void)unlink(path);
        if (second != NULL) (void)unlink(second + 1);
        no_memory_begin(n);
        const drove_status status = write_rows(data, from, to, piece_bytes);
        has_failed = no_memory_end();
        if (status != DROVE_OK && (!has_failed || status != DROVE_E_NOMEM))
            fail_msg("%s, allocation %lu: status %d: %s", to, n, status, drove_error_text());
        if (no_memory_live() != 0)
            fail_msg("%s, allocation %lu: %zu pieces of memory stay", to, n, no_memory_live());
        const bool has_one = access(path, F_OK) == 0;
        if (second != NULL && has_one != (access(second + 1, F_OK) == 0))
            fail_msg("%s, allocation %lu: one of two files is there", to, n);
        if (status != DROVE_OK) continue;
        char *bytes = read_bytes(path, &n_bytes);
        if (n_bytes != n_whole || memcmp(bytes, whole, n_whole) != 0)
            fail_msg("%s, allocation %lu: status %d, and another file", to, n, status);
        free(bytes);
    }
    assert_in_range(n, 4, MOST_CALLS - 1);
    free(whole);
    drove_data_destroy(data);
}

TEST(memory_that_runs_out_leaves_nothing)
{
    if (!no_memory_works()) skip();
    write_text("m.csv", "1,2,a\n3,4,b\n5,6,a\n7,8,b\n9,1,a\n");
    write_text("m.svm", "1 1:2 3:4\n-1 2:5\n1 1:1\n-1 3:2\n1 2:2\n");
    write_text("l.svm", several_labels);
    opens("csv:m.csv?scale=standard");
    opens("libsvm:m.svm");
    converts("csv:m.csv", "rows:m.rows", 0);
    converts("libsvm:m.svm", "rows:s.rows", 0);
    converts("libsvm:l.svm", "quant:l.quant", 0);
    converts("csv:m.csv", "quant:m.quant", 0);
    converts("csv:m.csv", "csv:o.csv", 0);
    converts("csv:m.csv", "libsvm:o.svm", 0);
    converts("libsvm:l.svm", "libsvm:o.svm", 0);
    converts("csv:m.csv", "npy:o.npy,o.y", 0);
    converts("libsvm:l.svm", "npy:o.npy,o.y", 0);
    converts("synth:digits?n=2", "idx:o.x,o.y", 0);
    samples("libsvm:m.svm");
    samples("table:m.csv?label=3");
    converts("libsvm:m.svm", "rows:p.rows", 30);
    converts("table:m.csv?label=3", "rows:t.rows", 1000);
    converts("synth:logistic?n=3&d=3", "rows:g.rows", 40);
}

static void copies(const char *spec)
{
    drove_data *data = open_data(spec);
    unsigned long n = 1;
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_data *copy = NULL;
        no_memory_begin(n);
        const drove_status status = drove__data_copy(data, &copy);
        has_failed = no_memory_end();
        assert_int_equal(status, has_failed ? DROVE_E_NOMEM : DROVE_OK);
        assert_int_equal(copy == NULL, status != DROVE_OK);
        drove_data_destroy(copy);
        if (no_memory_live() != 0)
            fail_msg("%s, allocation %lu: %zu pieces of memory stay", spec, n, no_memory_live());
    }
    assert_in_range(n, 4, MOST_CALLS - 1);
    drove_data_destroy(data);
}

TEST(a_copy_that_finds_no_memory_leaves_nothing)
{
    if (!no_memory_works()) skip();
    write_text("m.csv", "1,2,a\n3,4,b\n");
    write_text("m.svm", "1 1:2 3:4\n-1 2:5\n");
    copies("csv:m.csv?scale=standard");
    copies("libsvm:m.svm");
    copies("synth:digits?n=2");
}

/* A shift and a factor of four bytes each for two features. */
TEST(an_error_says_how_much_scaling_wanted)
{
    unsigned n_told = 0;
    unsigned long n = 1;
    if (!no_memory_works()) skip();
    write_text("m.csv", "1,2,a\n3,4,b\n");
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_data *train = NULL, *held_out = NULL;
        no_memory_begin(n);
        (void)drove_data_open("csv:m.csv?scale=unit", NULL, 1, &train, &held_out);
        has_failed = no_memory_end();
        const char *text = has_failed ? strstr(drove_error_text(), "scaling: ") : NULL;
        if (text != NULL) {
            assert_string_equal(text, "scaling: not enough memory for 16 bytes");
            n_told++;
        }
        drove_data_destroy(train);
        drove_data_destroy(held_out);
    }
    assert_int_equal(n_told, 2);
}

/* Six labels of four bytes each, in three rows, and where each row's begin. */
TEST(an_error_says_how_much_was_wanted)
{
    static const char *const wanted[] = {"labels: not enough memory for 32 bytes",
                                         "labels: not enough memory for 24 bytes"};
    unsigned n_told[2] = {0};
    if (!no_memory_works()) skip();
    write_text("l.svm", several_labels);
    (void)unlink("l.rows");
    drove_data *data = open_data("libsvm:l.svm");
    assert_int_equal(data->storage->y_kind, DROVE_Y_LABELS);
    assert_ok(drove_data_convert(data, "rows:l.rows"));
    drove_data_destroy(data);
    unsigned long n = 1;
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_data *read = NULL;
        no_memory_begin(n);
        const drove_status status = drove_data_open("rows:l.rows", NULL, 1, &read, NULL);
        has_failed = no_memory_end();
        for (unsigned k = 0; k < 2 && status != DROVE_OK; k++)
            n_told[k] += strstr(drove_error_text(), wanted[k]) != NULL;
        if (status == DROVE_OK) drove_data_destroy(read);
    }
    assert_true(n_told[0] > 0 && n_told[1] > 0);
}

/* The last of 16 features fills a cache line, so what is written behind it is behind the memory. */
TEST(scaling_writes_nothing_behind_its_memory)
{
    static const char *const of[] = {"csv:w.csv", "libsvm:w.svm", "synth:digits?n=5",
                                     "synth:images?n=5&size=8"};
    static const char *const words[] = {"unit",      "standard",     "mean",
                                        "unit-mean", "mean-channel", "unit-mean-channel"};
    char table[1000] = "", sparse[1000] = "";
    unsigned n_scaled = 0;
    for (int i = 0; i < 5; i++) {
        sprintf(sparse + strlen(sparse), "%d", i % 2);
        for (int f = 0; f < 16; f++) {
            sprintf(table + strlen(table), "%d.5,", (7 * i + f * f) % 10);
            sprintf(sparse + strlen(sparse), " %d:%d", f + 1, (7 * i + f * f) % 10 + 1);
        }
        sprintf(table + strlen(table), "%s\n", i % 2 == 0 ? "a" : "b");
        strcat(sparse, "\n");
    }
    write_text("w.csv", table);
    write_text("w.svm", sparse);
    for (size_t k = 0; k < DROVE_COUNT(of) * DROVE_COUNT(words); k++) {
        char spec[80];
        const char *data = of[k % DROVE_COUNT(of)], *word = words[k / DROVE_COUNT(of)];
        drove_data *train = NULL, *held_out = NULL;
        snprintf(spec, sizeof spec, "%s%sscale=%s", data, strchr(data, '?') != NULL ? "&" : "?",
                 word);
        no_memory_begin(0);
        const drove_status status = drove_data_open(spec, "split", 1, &train, &held_out);
        (void)no_memory_end();
        if (status != DROVE_OK && status != DROVE_E_ARG)
            fail_msg("%s: %s", spec, drove_error_text());
        n_scaled += train != NULL && train->factor != NULL;
        drove_data_destroy(train); /* looks at the guards */
        drove_data_destroy(held_out);
        if (no_memory_live() != 0) fail_msg("%s: %zu pieces stay", spec, no_memory_live());
    }
    assert_true(n_scaled >= 13);
}
