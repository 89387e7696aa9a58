/* rows:FILE: what was written comes back, read whole or by blocks, for every kind of data; damage,
 * a cut and a change of the file are found. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "support.h"

#include "data/disk/blocks.h"
#include "data/disk/rows_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#define FILE_NAME "test_rows.rows"

static void write_inputs(void)
{
    FILE *csv = fopen("rows_table.csv", "w"), *lists = fopen("rows_lists.svm", "w");
    FILE *ones = fopen("rows_ones.svm", "w"), *values = fopen("rows_values.svm", "w");
    fprintf(csv, "size,color,weight,price,kind\n");
    for (int i = 0; i < 200; i++) {
        fprintf(csv, "%d,%s,%d,%g,%s\n", i % 17, i % 3 ? "red" : "blue", 1 + i % 2, i * 0.25,
                i % 5 ? "no" : "yes");
        fprintf(lists, "%s%d %d:%g %d:1\n", i % 3 ? "7," : "", i % 4, 1 + i % 9, i * 0.5 + 0.25,
                11 + i % 3);
        fprintf(ones, "%d %d:1 %d:1\n", i % 2 ? 1 : -1, 1 + i % 9, 11 + i % 3);
        fprintf(values, "%g %d:%g\n", i * 0.37 + 0.01, 1 + i % 9, i * 0.5 + 0.25);
    }
    fclose(csv);
    fclose(lists);
    fclose(ones);
    fclose(values);
}

static const char *const specs[] = {
    "synth:digits?n=300",
    "synth:logistic?n=500&d=7",
    "synth:logistic?n=500&d=50&density=0.1",
    "libsvm:rows_ones.svm",
    "libsvm:rows_values.svm?target=value",
    "libsvm:rows_lists.svm?target=labels",
    "table:rows_table.csv?label=kind",
    "table:rows_table.csv?label=kind&weights=weight",
    "table:rows_table.csv?label=price+size",
};

static void write_rows(const char *spec, const char *block)
{
    char to[128];
    drove_data *data = open_data(spec);
    (void)unlink(FILE_NAME);
    snprintf(to, sizeof to, "rows:" FILE_NAME "?block=%s", block);
    if (drove_data_convert(data, to) != DROVE_OK) fail_msg("%s: %s", spec, drove_error_text());
    drove_data_destroy(data);
}

TEST(everything_comes_back)
{
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        write_rows(specs[i], i % 2 ? "1" : "2KiB"); /* one row a block, and several */
        drove_data *before = open_data(specs[i]), *after = open_data("rows:" FILE_NAME);
        expect_same(before, after);
        const drove_storage *a = before->storage, *b = after->storage;
        assert_int_equal(a->x_kind, b->x_kind);
        assert_int_equal(a->channels, b->channels);
        assert_int_equal(a->index_base, b->index_base);
        assert_int_equal(a->value == NULL, b->value == NULL);
        assert_int_equal(a->schema == NULL, b->schema == NULL);
        assert_int_equal(a->weight == NULL, b->weight == NULL);
        for (size_t k = 0; a->weight != NULL && k < a->n_rows; k++)
            assert_true(a->weight[k] == b->weight[k]);
        for (size_t k = 0; a->n_values > 1 && k < a->n_rows * a->n_values; k++)
            assert_true(a->y_value[k] == b->y_value[k]);
        drove_data_destroy(before);
        drove_data_destroy(after);
    }
}

/* Blocks in any order, behind one another: each lies where it was put. */
TEST(blocks_come_in_any_order)
{
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        drove_blocks *b;
        drove_storage *s;
        drove_place_in to = {0};
        write_rows(specs[i], "512");
        drove_data *whole = open_data("rows:" FILE_NAME);
        assert_int_equal(drove__blocks_open("rows:" FILE_NAME, &b), DROVE_OK);
        uint64_t stored = b->first_stored != NULL ? b->first_stored[b->n_blocks] : 0;
        uint64_t labels = b->first_label != NULL ? b->first_label[b->n_blocks] : 0;
        assert_int_equal(drove__blocks_storage(b, b->n_rows, stored, labels, &s), DROVE_OK);
        uint32_t *row = malloc(b->n_rows * sizeof *row), *at = row;
        for (size_t k = b->n_blocks; k-- > 0;) {
            for (size_t r = 0; r < drove__blocks_rows(b, k); r++)
                *at++ = (uint32_t)(k * b->block_rows + r);
            if (drove__blocks_read(b, k, s, &to) != DROVE_OK) fail_msg("%s", drove_error_text());
        }
        assert_int_equal(to.row, b->n_rows);
        drove_data view = *whole, found = {.storage = s, .n_rows = b->n_rows};
        view.row = row;
        expect_same(&view, &found);
        free(row);
        drove__storage_release(s);
        drove__blocks_close(b);
        drove_data_destroy(whole);
    }
}

/* Blocks large enough to be read ahead, in an order that jumps, as training does: the same as read
 * whole, whether somebody waits for them or not, and whatever was expected and given up. */
TEST(blocks_are_read_ahead)
{
    static const char *const large[] = {"synth:logistic?n=30001&d=64", /* rows that fill pages */
                                        "synth:logistic?n=30001&d=61",
                                        "synth:logistic?n=20000&d=500&density=0.1"};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        drove_blocks *b;
        drove_storage *s;
        drove_place_in to = {0}, expected = {0};
        write_rows(large[i], "64KiB");
        drove_data *whole = open_data("rows:" FILE_NAME);
        assert_int_equal(drove__blocks_open("rows:" FILE_NAME, &b), DROVE_OK);
        assert_true(b->n_rows % b->block_rows > 0); /* the last is shorter */
        uint64_t stored = b->first_stored != NULL ? b->first_stored[b->n_blocks] : 0;
        assert_int_equal(drove__blocks_storage(b, b->n_rows, stored, 0, &s), DROVE_OK);
        uint32_t *row = malloc(b->n_rows * sizeof *row), *at = row;
        drove__blocks_expect(b, 1, s, &to, false);
        drove__blocks_forget(b);
        size_t n_expected = 0;
        for (size_t k = 0; k < b->n_blocks; k++) {
            const size_t last = b->n_blocks - 1;
            for (; n_expected < k + b->n_ahead && n_expected <= last; n_expected++) {
                size_t block = n_expected == last ? last : (n_expected * 7) % last;
                drove__blocks_expect(b, block, s, &expected, k % 3 == 1);
                expected.row += drove__blocks_rows(b, block);
                expected.stored += drove__blocks_stored(b, block);
            }
            size_t block = k == last ? last : (k * 7) % last;
            for (size_t r = 0; r < drove__blocks_rows(b, block); r++)
                *at++ = (uint32_t)(block * b->block_rows + r);
            if (drove__blocks_read(b, block, s, &to) != DROVE_OK)
                fail_msg("%s", drove_error_text());
        }
        assert_true((b->n_blocks - 1) % 7 != 0); /* each block came once */
        drove_data view = *whole, found = {.storage = s, .n_rows = b->n_rows};
        view.row = row;
        expect_same(&view, &found);
        free(row);
        drove__storage_release(s);
        drove__blocks_close(b);
        drove_data_destroy(whole);
    }
}

/* A number that is not finite, in a file whose hashes are right, is found in a block read ahead. */
TEST(numbers_are_checked)
{
    enum { N = 4000, FEATURES = 32, BAD = 2777 };
    float *x = calloc(N * FEATURES, sizeof *x);
    int32_t *y = calloc(N, sizeof *y);
    drove_storage s = {.n_rows = N,
                       .n_features = FEATURES,
                       .x_kind = DROVE_X_F32,
                       .x_f32 = x,
                       .n_classes = 2,
                       .y_class = y};
    const drove_data all = {.storage = &s, .n_rows = N};
    const drove_rows_end end = {.shape = &s};
    drove_rows_writer *w;
    drove_blocks *b;
    drove_storage *into;
    drove_place_in to = {0};
    x[BAD * FEATURES + 5] = (float)HUGE_VAL;
    (void)unlink(FILE_NAME);
    assert_int_equal(drove__rows_create(FILE_NAME, 64 << 10, &w), DROVE_OK);
    assert_int_equal(drove__rows_append(w, &all, NULL, NULL), DROVE_OK);
    assert_int_equal(drove__rows_commit(w, &end), DROVE_OK);
    assert_int_equal(drove__blocks_open("rows:" FILE_NAME, &b), DROVE_OK);
    assert_int_equal(drove__blocks_storage(b, N, 0, 0, &into), DROVE_OK);
    for (size_t k = 0; k < b->n_blocks; k++) {
        bool is_bad = k == BAD / b->block_rows;
        to = (drove_place_in){.row = k * b->block_rows};
        drove__blocks_expect(b, k, into, &to, false);
        assert_int_equal(drove__blocks_read(b, k, into, &to), is_bad ? DROVE_E_DATA : DROVE_OK);
        if (is_bad)
            assert_non_null(strstr(drove_error_text(), "row 2778: expected finite numbers"));
    }
    drove__storage_release(into);
    drove__blocks_close(b);
    free(x);
    free(y);
}

typedef struct bad_target {
    float weight, value; /* a good one is 1 */
    int32_t class;       /* of 2 */
    uint32_t label[2];   /* of 9, ascending */
} bad_target;

/* The list of blocks, wherever it stands and however it is spaced; else nothing of it is taken. */
TEST(lists_are_scanned)
{
    static const char *const good[] = {
        "{\"blocks\":[[16,3,0,\"0f\",\"a\"],"
        "[18446744073709551615,0,7,\"ffffffffffffffff\",\"0\"]]}",
        " { \"source\" : \"\\\"blocks\\\":[[1\" , \"x\":[\"blocks\",{\"blocks\":[]}], \"blocks\" : "
        "[ [16, 3 ,0,\"0f\" , \"a\" ] , [18446744073709551615,0,7,\"ffffffffffffffff\",\"0\"] ] } ",
    };
    static const char *const none[] = {"",
                                       "{",
                                       "{}",
                                       "{\"blocks\"",
                                       "{\"blocks\":3}",
                                       "{\"blocks\":[[1,2]",
                                       "{\"a\":{\"blocks\":[]}}",
                                       "[\"blocks\",[]]",
                                       "{\"a\":\"blocks",
                                       "{\"a\":[[[",
                                       "{\"block\":[]}"};
    static const char *const bad[] = {"[1,2,3,\"0\"]",
                                      "[1,2,3,\"0\",\"g\"]",
                                      "[1,2,3,\"0\",\"\"]",
                                      "[-1,2,3,\"0\",\"0\"]",
                                      "[18446744073709551616,2,3,\"0\",\"0\"]",
                                      "[1,2,3,\"10000000000000000\",\"0\"]",
                                      "[1,2,3,\"0\",\"0\",4]",
                                      "[1,2,3,0,0]",
                                      ",[1,2,3,\"0\",\"0\"]",
                                      ""};
    drove_rows_list list;
    drove_rows_entry e;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(drove__rows_list_find(good[i], strlen(good[i]), &list));
        assert_true(drove__rows_list_next(&list, &e));
        assert_true(e.offset == 16 && e.n_stored == 3 && e.n_labels == 0);
        assert_true(e.hash == 15 && e.value_hash == 10);
        assert_false(drove__rows_list_is_over(&list));
        assert_true(drove__rows_list_next(&list, &e));
        assert_true(e.offset == UINT64_MAX && e.n_labels == 7 && e.hash == UINT64_MAX);
        assert_true(drove__rows_list_is_over(&list));
        assert_false(drove__rows_list_next(&list, &e));
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (drove__rows_list_find(none[i], strlen(none[i]), &list)) fail_msg("%s", none[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[128];
        int n = snprintf(text, sizeof text, "{\"blocks\":[%s]}", bad[i]);
        assert_true(drove__rows_list_find(text, (size_t)n, &list));
        if (drove__rows_list_next(&list, &e)) fail_msg("%s", bad[i]);
    }
}

/* The text ends where a page does; the next page must not be read. */
TEST(nothing_behind_a_list_is_read)
{
    static const char whole[] = " \n{\"a\\\"b\":{\"c\":[1]},\"blocks\" : [ [16,3,0,\"f\",\"a\"] , "
                                "[32,3,0,\"e\",\"b\"] ] \t}";
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + page, page, PROT_NONE), 0);
    for (size_t n = 0; n < sizeof whole; n++) {
        drove_rows_list list;
        drove_rows_entry e;
        unsigned n_entries = 0;
        char *text = memcpy(map + page - n, whole, n);
        const bool is_found = drove__rows_list_find(text, n, &list);
        assert_int_equal(is_found, n + 4 >= sizeof whole); /* without " \t}" it is there, too */
        if (!is_found) continue;
        while (drove__rows_list_next(&list, &e)) n_entries++;
        assert_int_equal(n_entries, 2);
        assert_true(drove__rows_list_is_over(&list));
    }
    assert_int_equal(munmap(map, 2 * page), 0);
}

TEST(damage_is_found)
{
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        size_t n;
        write_rows(specs[i], "512");
        char *good = read_bytes(FILE_NAME, &n);
        for (size_t at = 0; at < n; at += 1 + n / 41) {
            bool is_padding = good[at] == 0; /* between arrays: nobody reads those bytes */
            char kept = good[at];
            good[at] = (char)(good[at] ^ 0x41);
            write_bytes(FILE_NAME, good, n);
            drove_data *data = NULL;
            drove_status status = drove_data_open("rows:" FILE_NAME, NULL, 1, &data, NULL);
            if (status == DROVE_OK && !is_padding) fail_msg("%s: byte %zu", specs[i], at);
            if (status != DROVE_OK) assert_non_null(strstr(drove_error_text(), FILE_NAME));
            drove_data_destroy(data);
            good[at] = kept;
        }
        for (size_t length = 0; length < n; length += 1 + n / 11) {
            write_bytes(FILE_NAME, good, length);
            expect_refusal("rows:" FILE_NAME, NULL, DROVE_E_DATA, FILE_NAME, NULL);
        }
        free(good);
    }
}

/* Every byte of an array changes the checksum of its block, which is named; the checksums are XXH3,
 * computed here from the bytes of the file. */
TEST(blocks_are_named)
{
    enum { FEATURES = 7, ROW_BYTES = FEATURES * 4 };
    drove_blocks *b;
    size_t n;
    write_rows("synth:logistic?n=50&d=7", "200");
    assert_int_equal(drove__blocks_open("rows:" FILE_NAME, &b), DROVE_OK);
    const size_t block_rows = b->block_rows, n_blocks = b->n_blocks;
    drove__blocks_close(b);
    assert_true(n_blocks > 5);
    char *good = read_bytes(FILE_NAME, &n), *text = memmem(good, n, "\"blocks\":", 9);
    drove_rows_list list;
    drove_rows_entry e;
    assert_non_null(text);
    uint64_t facts[3];
    memcpy(facts, good + n - 40, sizeof facts);
    assert_memory_equal(good, "drove-rows-3\0\0\0", 16);
    assert_true(facts[2] == XXH3_64bits(good + facts[0], (size_t)facts[1]));
    assert_true(drove__rows_list_find(good + facts[0], (size_t)facts[1], &list));
    for (size_t block = 0; block < n_blocks; block++) {
        char bytes[4096], name[48];
        const size_t left = 50 - block * block_rows, rows = left < block_rows ? left : block_rows;
        const size_t x = rows * ROW_BYTES, padded = (x + 63) / 64 * 64;
        assert_true(drove__rows_list_next(&list, &e));
        memcpy(bytes, good + e.offset, x);
        memcpy(bytes + x, good + e.offset + padded, rows * 4); /* targets */
        assert_true(e.hash == XXH3_64bits(bytes, x + rows * 4));
        snprintf(name, sizeof name, "damaged: block %zu at byte", block);
        for (size_t i = 0; i < x + rows * 4; i += 7) {
            char *at = good + e.offset + (i < x ? i : padded + i - x);
            *at = (char)(*at ^ 1);
            write_bytes(FILE_NAME, good, n);
            expect_refusal("rows:" FILE_NAME, NULL, DROVE_E_DATA, FILE_NAME, name, NULL);
            *at = (char)(*at ^ 1);
        }
    }
    free(good);
}

/* The file with a part of its description replaced, and all checksums right. */
static void forge(const char *file, size_t n, const char *part, const char *by)
{
    uint64_t facts[3];
    memcpy(facts, file + n - 40, sizeof facts);
    const char *text = file + facts[0], *at = memmem(text, (size_t)facts[1], part, strlen(part));
    if (at == NULL) fail_msg("%s is not in the description", part);
    const size_t before = (size_t)(at - file), after = (size_t)facts[1] - (size_t)(at - text);
    char *forged = malloc(n + strlen(by));
    memcpy(forged, file, before);
    memcpy(forged + before, by, strlen(by));
    memcpy(forged + before + strlen(by), at + strlen(part), after - strlen(part));
    facts[1] += strlen(by) - strlen(part);
    facts[2] = XXH3_64bits(forged + facts[0], (size_t)facts[1]);
    memcpy(forged + facts[0] + facts[1], facts, sizeof facts);
    memcpy(forged + facts[0] + facts[1] + sizeof facts, file, 16);
    write_bytes("forged.rows", forged, (size_t)(facts[0] + facts[1]) + 40);
    free(forged);
}

/* A checksum can be computed by anybody: what the description says is checked all the same. */
TEST(descriptions_are_not_trusted)
{
    static const struct {
        const char *part, *by, *word;
    } cases[] = {
        {"\"rows\":5", "\"rows\":-5", "\"rows\" as a number"},
        {"\"rows\":5", "\"rows\":0", "above 0"},
        {"\"rows\":5", "\"rows\":500", "blocks, found"},
        {"\"rows\":5", "\"rows\":4000000", "fewer"},
        {"\"rows\":5", "\"rows\":3", "blocks, found more than"},
        {"\"rows\":5", "\"rowS\":5", "\"rows\" as a number"},
        {"\"block_rows\":2", "\"block_rows\":0", "above 0"},
        {"\"block_rows\":2", "\"block_rows\":\"2\"", "\"block_rows\" as a number"},
        {"\"features\":2", "\"features\":0", "above 0"},
        {"\"features\":2", "\"features\":4294967296", "\"features\" as a number"},
        {"\"features\":2", "\"features\":4294967295", "is not in the file"},
        {"\"x\":\"f32\"", "\"x\":\"f64\"", "\"x\" as u8 .. quantised"},
        {"\"target\":\"class\"", "\"target\":\"none\"", "\"target\" as class .. labels"},
        {"\"values_per_row\":0", "\"values_per_row\":2", "one value of a row of classes"},
        {"\"channels\":0", "\"channels\":3", "images of 2 features"},
        {"\"classes\":3", "\"classes\":4", "expected 4 names"},
        {"\"classes\":3", "\"classes\":0", "classes or values, found class and 0"},
        {"\"target\":\"class\"", "\"target\":\"value\"", "classes or values, found value and 3"},
        {"\"cat\"", "7", "names as texts"},
        {"\"index_shift\":0", "\"index_shift\":2", "\"index_shift\" as a number"},
        {"\"blocks\":[", "\"blocKs\":[", "\"blocks\" as a list"},
        {"\"blocks\":[[64,", "\"blocks\":[[8,", "block 0 is not in the file"},
        {"\"blocks\":[[64,", "\"blocks\":[[64000,", "block 0 is not in the file"},
        {"\"notes\":", "\"class_map\":7,\"notes\":", "\"class_map\" as a list"},
        {"\"notes\":", "\"class_map\":[0,1,3],\"notes\":", "classes below 3"},
        {"\"notes\":", "\"class_map\":[0,-1],\"notes\":", "classes below 3"},
        {"\"notes\":", "\"class_map\":[0,1],\"notes\":", "classes below 2"},
        {"\"notes\":", "\"schema\":\"{}\",\"notes\":", "forged.rows"},
        {"\"notes\":", "notes:", "forged.rows"},
    };
    size_t n;
    write_text("forge.csv", "1,2.5,cat\n0,0,dog\n-3,0.125,cat\n7,7,a cow\n0,0,dog\n");
    write_rows("csv:forge.csv", "24");
    char *file = read_bytes(FILE_NAME, &n);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forge(file, n, cases[i].part, cases[i].by);
        expect_refusal("rows:forged.rows", NULL, DROVE_E_DATA, "forged.rows", cases[i].word, NULL);
    }
    /* a map that is right: two classes change places */
    static const int32_t map[] = {1, 0, 2};
    forge(file, n, "\"notes\":", "\"class_map\":[1,0,2],\"notes\":");
    drove_data *mapped = open_data("rows:forged.rows"), *plain = open_data("rows:" FILE_NAME);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(mapped->storage->y_class[i], map[plain->storage->y_class[i]]);
    drove_data_destroy(plain);
    drove_data_destroy(mapped);
    free(file);
    /* a class that is in no map, as its byte is damaged */
    file = read_bytes("forged.rows", &n);
    file[128] = 9;
    write_bytes("forged.rows", file, n);
    expect_refusal("rows:forged.rows", NULL, DROVE_E_DATA, "damaged: block 0", NULL);
    free(file);
}

/* A file of another version is refused, and called one. */
TEST(another_version_is_refused)
{
    size_t n;
    write_rows("synth:logistic?n=50&d=7", "512");
    char *file = read_bytes(FILE_NAME, &n);
    file[11] = '1';
    write_bytes("other.rows", file, n);
    expect_refusal("rows:other.rows", NULL, DROVE_E_DATA, "other.rows", "drove-rows-3",
                   "another version", NULL);
    free(file);
}

TEST(a_changed_file_is_no_longer_read)
{
    drove_blocks *b;
    drove_storage *s;
    drove_place_in to = {0};
    write_rows("synth:logistic?n=500&d=7", "512");
    assert_int_equal(drove__blocks_open("rows:" FILE_NAME, &b), DROVE_OK);
    assert_int_equal(drove__blocks_storage(b, b->n_rows, 0, 0, &s), DROVE_OK);
    assert_int_equal(drove__blocks_read(b, 0, s, &to), DROVE_OK);
    assert_int_equal(truncate(FILE_NAME, b->size_bytes / 2), 0);
    assert_int_equal(drove__blocks_read(b, 1, s, &to), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "has changed"));
    drove__storage_release(s);
    drove__blocks_close(b);
}

/* What is no file, and what is not there. */
TEST(only_files_are_opened)
{
    drove_blocks *b;
    assert_int_equal(drove__blocks_open("rows:absent.rows", &b), DROVE_E_FILE);
    assert_non_null(strstr(drove_error_text(), "absent.rows: cannot be opened: No such file"));
    assert_null(b);
    assert_int_equal(drove__blocks_open("rows:/dev/null", &b), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "/dev/null: expected rows:FILE"));
    assert_null(b);
}

/* One row's target or weight is bad: that row is refused, and no other. */
TEST(targets_are_checked)
{
    enum { N = 9, BAD = 4 };
    static const float inf = (float)HUGE_VAL;
    static const drove_y_kind kinds[] = {DROVE_Y_CLASS, DROVE_Y_VALUE, DROVE_Y_LABELS};
    const bad_target good = {1, 1, 1, {1, 8}};
    const bad_target bad[] = {{-1, 1, 1, {1, 2}},       {inf, 1, 1, {1, 2}},
                              {nanf(""), 1, 1, {1, 2}}, {1, nanf(""), -1, {2, 1}},
                              {1, -inf, 2, {1, 9}},     {1, inf, 2, {1, 1}}};
    for (size_t k = 0; k < 3 * sizeof bad / sizeof *bad; k++) {
        float x[N], weight[N], value[2 * N];
        int32_t class[N];
        uint64_t start[N + 1] = {0};
        uint32_t label[2 * N];
        drove_storage s = {.n_rows = N,
                           .n_features = 1,
                           .x_kind = DROVE_X_F32,
                           .x_f32 = x,
                           .y_kind = kinds[k % 3],
                           .n_classes = kinds[k % 3] == DROVE_Y_CLASS ? 2 : 9,
                           .n_values = 2,
                           .y_class = class,
                           .y_value = value,
                           .label_start = start,
                           .label = label,
                           .weight = weight};
        const drove_blocks b = {.path = "f", .shape = &s};
        for (size_t i = 0; i < N; i++) {
            const bad_target *of = i == BAD ? &bad[k / 3] : &good;
            x[i] = 1, weight[i] = of->weight, class[i] = of->class;
            value[2 * i] = 1, value[2 * i + 1] = of->value;
            label[2 * i] = of->label[0], label[2 * i + 1] = of->label[1];
            start[i + 1] = 2 * i + 2;
        }
        for (size_t i = 0; i < N; i++) {
            drove_place_in to = {.row = i};
            drove_status status = drove__blocks_check_rows(&b, &s, i, 1, false, &to);
            assert_int_equal(status, i == BAD ? DROVE_E_DATA : DROVE_OK);
        }
        assert_non_null(strstr(drove_error_text(), "row 5: its target or weight"));
    }
}

FIXTURE(make_inputs)
{
    write_inputs();
    return 0;
}

GROUP(make_inputs, NULL);
