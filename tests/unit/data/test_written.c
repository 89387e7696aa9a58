/* Data written as text: each byte by hand, as stored and as a model sees it; what is not written,
 * and what is refused before anything is. */
#include "support.h"

#include "base/mem.h"
#include "data/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_written(const char *from, const char *to, const char *text)
{
    size_t n;
    char path[32];
    drove_data *data = open_data(from);
    snprintf(path, sizeof path, "%.*s", (int)strcspn(strchr(to, ':') + 1, "?"),
             strchr(to, ':') + 1);
    (void)unlink(path);
    if (drove_data_convert(data, to) != DROVE_OK) fail_msg("%s: %s", to, drove_error_text());
    char *found = read_bytes(path, &n);
    if (n != strlen(text) || memcmp(found, text, n) != 0)
        fail_msg("%s to %s: expected \"%s\", found \"%.*s\"", from, to, text, (int)n, found);
    free(found);
    drove_data_destroy(data);
}

static void make_files(void)
{
    write_text("dense.csv", "0,7,0\n5,7,1\n10,7,0\n");
    write_text("words.csv", "1,0,pear\n2,0,apple\n");
    write_text("pairs.svm", "1 1:2 3:4\n-1 2:0.5\n1 4:0\n"); /* a zero is not kept */
    write_text("labels.svm", "2,0 1:3\n 2:1\n1 1:1.5\n");
}

TEST(numbers_are_those_stored_or_scaled)
{
    make_files();
    expect_written("csv:dense.csv?scale=unit", "csv:o", "0,7,0\n5,7,1\n10,7,0\n");
    expect_written("csv:dense.csv?scale=unit", "csv:o?scaled=0", "0,7,0\n5,7,1\n10,7,0\n");
    expect_written("csv:dense.csv?scale=unit", "csv:o?scaled=1", "0,0,0\n0.5,0,1\n1,0,0\n");
    expect_written("csv:dense.csv", "csv:o?scaled=1", "0,7,0\n5,7,1\n10,7,0\n");
    expect_written("csv:dense.csv?scale=unit", "libsvm:o", "0 2:7\n1 1:5 2:7\n0 1:10 2:7\n");
    expect_written("csv:dense.csv?scale=unit", "libsvm:o?scaled=0",
                   "0 2:7\n1 1:5 2:7\n0 1:10 2:7\n");
    /* only the first line says how many features there are, where no other shows it */
    expect_written("csv:dense.csv?scale=unit", "libsvm:o?scaled=1", "0 2:0\n1 1:0.5\n0 1:1\n");
    expect_written("libsvm:pairs.svm?scale=unit", "libsvm:o", "1 1:2 3:4 4:0\n-1 2:0.5\n1\n");
    expect_written("libsvm:pairs.svm?scale=unit", "libsvm:o?scaled=1",
                   "1 1:1 3:1 4:0\n-1 2:1\n1\n");
    expect_written("libsvm:pairs.svm", "libsvm:o?scaled=1", "1 1:2 3:4 4:0\n-1 2:0.5\n1\n");
    expect_written("libsvm:labels.svm", "libsvm:o", "0,2 1:3\n 2:1\n1 1:1.5\n");
    expect_written("csv:words.csv", "libsvm:o", "1 1:1 2:0\n0 1:2\n"); /* apple is class 0 */
}

TEST(nothing_is_written_where_it_may_not)
{
    static const struct {
        const char *to;
        drove_status status;
        const char *text;
    } cases[] = {
        {"libsvm:here", DROVE_E_EXISTS, "here: exists already and is not overwritten"},
        {"csv:here", DROVE_E_EXISTS, "here: exists already"},
        {"libsvm:folder", DROVE_E_EXISTS, "folder: exists already"},
        {"libsvm:x.gz", DROVE_E_UNSUPPORTED, "x.gz: files are written uncompressed"},
        {"csv:x.gz", DROVE_E_UNSUPPORTED, "x.gz: files are written uncompressed"},
        {"npy:new,x.gz", DROVE_E_UNSUPPORTED, "x.gz: files are written uncompressed"},
        {"npy:new,new", DROVE_E_ARG, "new: expected two different files"},
        {"npy:new,here", DROVE_E_EXISTS, "here: exists already"},
        {"idx:new,new", DROVE_E_ARG, "new: expected two different files"},
        {"libsvm:new?scaled=2", DROVE_E_ARG, "scaled"},
        {"csv:new?scaled=2", DROVE_E_ARG, "scaled"},
        {"npy:new,other?scaled=2", DROVE_E_ARG, "scaled"},
        {"libsvm:none/new", DROVE_E_FILE, "none/new"},
    };
    make_files();
    write_text("here", "here\n");
    (void)mkdir("folder", 0777);
    (void)unlink("new");
    drove_data *data = open_data("csv:dense.csv");
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        size_t n;
        assert_int_equal(drove_data_convert(data, cases[i].to), cases[i].status);
        if (strstr(drove_error_text(), cases[i].text) == NULL)
            fail_msg("%s: %s", cases[i].to, drove_error_text());
        assert_true(access("new", F_OK) != 0 && access("x.gz", F_OK) != 0);
        char *text = read_bytes("here", &n);
        assert_memory_equal(text, "here\n", 5);
        free(text);
    }
    drove_data_destroy(data);
    expect_written("csv:dense.csv", "csv:.gz", "0,7,0\n5,7,1\n10,7,0\n"); /* a name, no ending */
    expect_written("csv:dense.csv", "csv:gz", "0,7,0\n5,7,1\n10,7,0\n");
}

/* The fewest digits, of six to nine, that read back as the same float. */
TEST(a_number_has_the_digits_that_it_needs)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {0.0f, "0"},
        {-3.0f, "-3"},
        {9999999.0f, "9999999"},
        {1e7f, "1e+07"},
        {-9999999.0f, "-9999999"},
        {-1e7f, "-1e+07"},
        {0.1f, "0.1"},
        {-0.5f, "-0.5"},
        {1.0f / 3.0f, "0.33333334"},
        {123456.789f, "123456.79"},
        {16777217.0f, "16777216"},
        {1e-38f, "1e-38"},
        {3.4028235e38f, "3.4028235e+38"},
        {1.00000012f, "1.0000001"},
        {8388607.5f, "8388607.5"},
        {0.000104708284f, "0.000104708284"},
    };
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        char text[64] = "";
        FILE *stream = fmemopen(text, sizeof text, "w");
        assert_non_null(stream);
        drove__export_number(stream, cases[i].value, 0.0);
        fclose(stream);
        assert_string_equal(text, cases[i].text);
        assert_true(strtof(text, NULL) == cases[i].value);
    }
}

TEST(names_are_numbers_if_each_is)
{
    static char *names[] = {"1", "-2.5", "1e3", "3x", "", "y", "4"};
    drove_storage s = {.n_classes = 7};
    assert_false(drove__export_names_are_numbers(&s)); /* none */
    s.class_name = names, s.n_classes = 3;
    assert_true(drove__export_names_are_numbers(&s));
    s.n_classes = 4;
    assert_false(drove__export_names_are_numbers(&s));
    for (size_t i = 4; i < 6; i++) {
        s.class_name = names + i, s.n_classes = 1;
        assert_false(drove__export_names_are_numbers(&s));
    }
    s.n_classes = 2; /* "y", "4" */
    assert_false(drove__export_names_are_numbers(&s));
}
