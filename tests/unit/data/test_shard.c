/* tests/unit/data/test_shard.c - parts of a data set for several workers: what they are, and that a
 * part which was read alone is the part of what is read whole. */
#include "support.h"

#include "data/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARTS = 4, ROWS = 30, EACH = ROWS / PARTS };

TEST(parts_are_disjoint_and_of_one_size)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        unsigned owner[ROWS] = {0};
        for (uint64_t part = 0; part < PARTS; part++) {
            const drove_shard s = {.n = PARTS, .index = part, .seed = seed};
            assert_int_equal(drove__shard_size(&s, ROWS), EACH);
            for (uint64_t i = 0; i < EACH; i++) {
                uint64_t row = drove__shard_row(&s, i);
                assert_int_equal(row / PARTS, i);
                assert_int_equal(owner[row], 0);
                owner[row] = (unsigned)part + 1;
            }
            for (uint64_t row = 0; row < EACH * PARTS; row++)
                assert_int_equal(drove__shard_has(&s, row), owner[row] == part + 1);
        }
    }
}

/* Of a file in which every fourth row is special, each part gets a fourth of those: 1000 rows are
 * binomial with deviation 13.7. */
TEST(parts_are_random)
{
    for (uint64_t part = 0; part < PARTS; part++) {
        const drove_shard s = {.n = PARTS, .index = part, .seed = 1};
        int n_special = 0;
        for (uint64_t i = 0; i < 1000; i++) n_special += drove__shard_row(&s, i) % PARTS == 0;
        assert_in_range(n_special, 250 - 60, 250 + 60);
    }
}

TEST(one_part_is_all)
{
    const drove_shard one = {.n = 1};
    assert_int_equal(drove__shard_size(&one, ROWS), ROWS);
    assert_int_equal(drove__shard_size(NULL, ROWS), ROWS);
    for (uint64_t row = 0; row < ROWS; row++) {
        assert_int_equal(drove__shard_row(&one, row), row);
        assert_true(drove__shard_has(NULL, row));
    }
}

/* ---- reading ---- */

/* Cuts a view down to the rows of a part. */
static void cut(drove_data *data, const drove_shard *s)
{
    size_t n = drove__shard_size(s, data->n_rows);
    uint32_t *row = calloc(n, sizeof *row);
    assert_non_null(row);
    for (size_t i = 0; i < n; i++)
        row[i] = (uint32_t)drove__data_row(data, (size_t)drove__shard_row(s, i));
    free(data->row);
    data->row = row;
    data->n_rows = n;
}

static void expect_same_scaling(const drove_data *a, const drove_data *b)
{
    size_t n_bytes = a->storage->n_features * sizeof *a->factor;
    assert_int_equal(a->scaling, b->scaling);
    assert_int_equal(a->factor == NULL, b->factor == NULL);
    if (a->factor == NULL) return;
    assert_memory_equal(a->factor, b->factor, n_bytes);
    assert_memory_equal(a->shift, b->shift, n_bytes);
}

/* Every part of spec, against the whole. */
static void expect_parts(const char *spec, const char *test)
{
    for (uint64_t part = 0; part < PARTS; part++) {
        const drove_shard s = {.n = PARTS, .index = part, .seed = 3};
        drove_data *whole, *held_out, *own, *own_held_out;
        size_t n_whole = 0;
        open_both(spec, test, 5, &whole, &held_out);
        drove_status status =
            drove__data_open_shard(spec, test, 5, &s, NULL, &own, &own_held_out, &n_whole);
        if (status != DROVE_OK) fail_msg("%s: %s", spec, drove_error_text());
        assert_int_equal(n_whole, whole->n_rows);
        assert_int_equal(own->storage->n_classes, whole->storage->n_classes);
        assert_int_equal(own->storage->y_kind, whole->storage->y_kind);
        cut(whole, &s);
        if (own->storage->x_kind == DROVE_X_QUANT) { /* a view of the same storage's like */
            assert_int_equal(own->n_rows, whole->n_rows);
            assert_memory_equal(own->row, whole->row, own->n_rows * sizeof *own->row);
        } else {
            expect_same(own, whole);
            expect_same_scaling(own, whole);
            if (test != NULL) expect_same(own_held_out, held_out);
            assert_int_equal(own->storage->n_rows, own->n_rows); /* no more in memory */
        }
        drove_data_destroy(whole);
        drove_data_destroy(held_out);
        drove_data_destroy(own);
        drove_data_destroy(own_held_out);
    }
}

static void write_floats(const char *path)
{
    float x[ROWS * 3];
    for (int i = 0; i < ROWS * 3; i++) x[i] = (float)(i * i % 31) - 7.5f;
    write_npy_file(path, "{'descr': '<f4', 'fortran_order': False, 'shape': (30, 3), }", x,
                   sizeof x);
}

static void write_rows(void)
{
    char csv[ROWS * 40] = "a,b,name\n", svm[ROWS * 40] = "", many[ROWS * 40] = "";
    int32_t y[ROWS];
    for (int i = 0; i < ROWS; i++) {
        snprintf(csv + strlen(csv), 40, "%d,%d.5,%s\n", i, i % 7, i % 11 == 0 ? "rare" : "often");
        snprintf(svm + strlen(svm), 40, "%d %d:%d 9:%d\n", i % 3, i % 5 + 1, i, i % 2);
        if (i % 4 > 0) snprintf(many + strlen(many), 40, "%d,%d", i % 4, i % 4 + 5);
        snprintf(many + strlen(many), 40, " %d:1\n", i % 8 + 1);
        y[i] = i % 13;
    }
    write_text("t.csv", csv);
    write_text("t.svm", svm);
    write_text("t.many", many);
    write_npy_file("y.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (30,), }", y,
                   sizeof y);
}

/* CIFAR-10's records in two files, MNIST's folder, and several labels of a row. */
static void write_files_of_records(void)
{
    enum { RECORD = 3073, FIRST = 11 };
    static uint8_t records[ROWS * RECORD];
    uint8_t ones[ROWS * 3];
    for (size_t i = 0; i < sizeof records; i++)
        records[i] = (uint8_t)(i % RECORD == 0 ? i / RECORD % 10 : i % 253);
    write_bytes("r1", records, FIRST * RECORD);
    write_bytes("r2", records + FIRST * RECORD, (ROWS - FIRST) * RECORD);
    mkdir("folder", 0777);
    write_idx_file("folder/train-images-idx3-ubyte", 3, (const uint32_t[]){ROWS, 4, 5}, 251, 7);
    write_idx_file("folder/train-labels-idx1-ubyte", 1, (const uint32_t[]){ROWS}, 10, 1);
    write_idx_file("folder/t10k-images-idx3-ubyte", 3, (const uint32_t[]){5, 4, 5}, 251, 7);
    write_idx_file("folder/t10k-labels-idx1-ubyte", 1, (const uint32_t[]){5}, 10, 1);
    for (size_t i = 0; i < sizeof ones; i++) ones[i] = i % 4 == 1;
    write_npy_file("ones.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (30, 3), }", ones,
                   sizeof ones);
}

TEST(a_part_is_that_of_the_whole)
{
    char *bytes;
    size_t n_bytes;
    write_idx_file("x", 3, (const uint32_t[]){ROWS, 4, 5}, 251, 7);
    write_idx_file("y", 1, (const uint32_t[]){ROWS}, 10, 1);
    bytes = read_bytes("x", &n_bytes);
    write_gzip("x.gz", bytes, n_bytes);
    free(bytes);
    write_floats("x.npy");
    write_rows();
    expect_parts("idx:x,y", NULL);
    expect_parts("idx:x.gz,y", NULL);
    expect_parts("idx:x,y?scale=standard", NULL);
    expect_parts("npy:x.npy,y.npy", NULL);
    expect_parts("npy:x.npy,y.npy?target=value&scale=none", NULL);
    expect_parts("npy:x.npy,y.npy?scale=unit", NULL);
    expect_parts("csv:t.csv", NULL);
    expect_parts("libsvm:t.svm", NULL);
    expect_parts("libsvm:t.many", NULL);
    write_files_of_records();
    expect_parts("cifar10:r1,r2", NULL);
    expect_parts("mnist:folder", NULL);
    expect_parts("mnist:folder", "split");
    expect_parts("npy:x.npy,ones.npy", NULL);
    drove_data *data = open_data("csv:t.csv");
    unlink("t.quant");
    if (drove_data_convert(data, "quant:t.quant?precision=D8") != DROVE_OK)
        fail_msg("%s", drove_error_text());
    drove_data_destroy(data);
    expect_parts("quant:t.quant", NULL);
    expect_parts("synth:digits?n=50", NULL);
    expect_parts("synth:logistic?n=50&d=9&density=0.4", NULL);
}

TEST(a_held_out_part_is_not_shared_out)
{
    write_idx_file("x", 3, (const uint32_t[]){ROWS, 4, 5}, 251, 7);
    write_idx_file("y", 1, (const uint32_t[]){ROWS}, 10, 1);
    write_rows();
    expect_parts("idx:x,y", "idx:x,y");
    expect_parts("idx:x,y", "split");
    expect_parts("idx:x,y?split=0.3", "split");
    expect_parts("libsvm:t.svm", "split");
    expect_parts("synth:digits?n=50&n_test=9", "split");
}

/* Rows of a few hundred kilobytes, between which the reader seeks. */
TEST(long_rows_are_passed_over)
{
    enum { WIDTH = 300000, HEADER = 12 };
    static uint8_t file[HEADER + ROWS * WIDTH] = {0, 0, 8, 2, 0, 0, 0, ROWS};
    file[9] = WIDTH >> 16;
    file[10] = WIDTH >> 8 & 0xff;
    file[11] = WIDTH & 0xff;
    for (size_t i = 0; i < ROWS * WIDTH; i++) file[HEADER + i] = (uint8_t)(i % 251 * 7);
    write_bytes("long", file, sizeof file);
    write_idx_file("y", 1, (const uint32_t[]){ROWS}, 10, 1);
    for (uint64_t part = 0; part < PARTS; part++) {
        const drove_shard s = {.n = PARTS, .index = part, .seed = 9};
        drove_data *own;
        size_t n_whole;
        assert_int_equal(drove__data_open_shard("idx:long,y", NULL, 1, &s, NULL, &own, NULL,
                                                &n_whole),
                         DROVE_OK);
        for (uint64_t i = 0; i < EACH; i++)
            assert_memory_equal(own->storage->x_u8 + i * WIDTH,
                                file + HEADER + drove__shard_row(&s, i) * WIDTH, WIDTH);
        drove_data_destroy(own);
    }
}

static void expect_no_part(const char *spec, drove_status expected, const char *text)
{
    const drove_shard s = {.n = PARTS, .index = PARTS - 1, .seed = 1};
    drove_data *own = NULL;
    size_t n_whole;
    assert_int_equal(drove__data_open_shard(spec, NULL, 1, &s, NULL, &own, NULL, &n_whole),
                     expected);
    assert_null(own);
    if (strstr(drove_error_text(), text) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", text, drove_error_text());
}

/* Also what no part has: a file that is damaged where another part lies is still refused. */
TEST(bad_files_are_refused)
{
    size_t n_bytes;
    write_idx_file("few", 2, (const uint32_t[]){PARTS - 1, 6}, 251, 1);
    write_idx_file("fewy", 1, (const uint32_t[]){PARTS - 1}, 2, 1);
    write_text("few.svm", "1 1:1\n2 1:1\n1 2:1\n");
    write_text("few.csv", "1,1\n2,1\n1,2\n");
    expect_no_part("idx:few,fewy", DROVE_E_ARG, "few: expected at least as many training examples");
    expect_no_part("libsvm:few.svm", DROVE_E_ARG, "4, found 3");
    expect_no_part("csv:few.csv", DROVE_E_ARG, "4, found 3");
    expect_no_part("synth:digits?n=3", DROVE_E_ARG, "4, found 3");
    write_idx_file("x", 2, (const uint32_t[]){ROWS, 6}, 251, 1);
    write_idx_file("y", 1, (const uint32_t[]){ROWS}, 10, 1);
    char *bytes = read_bytes("x", &n_bytes);
    write_bytes("short", bytes, n_bytes - 1);
    expect_no_part("idx:short,y", DROVE_E_DATA, "more than the file can hold");
    char *longer = realloc(bytes, n_bytes + 1);
    assert_non_null(longer);
    longer[n_bytes] = 0;
    write_bytes("more", longer, n_bytes + 1);
    expect_no_part("idx:more,y", DROVE_E_DATA, "expected the end of the file");
    write_gzip("short.gz", longer, n_bytes - 1);
    expect_no_part("idx:short.gz,y", DROVE_E_DATA, "ends at byte");
    free(longer);
    write_text("bad.svm", "1 1:1\n1 1:1\n1 1:1\n1 1:1\n2 2:x\n1 1:1\n1 1:1\n1 1:1\n");
    expect_no_part("libsvm:bad.svm", DROVE_E_DATA, "bad.svm:5:");
}
