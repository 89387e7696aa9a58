/* Data sets that are named by a path alone: the format follows from the ending, the kind of file,
 * or its first bytes (docs/use/data.md). */
#include "support.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void expands(const char *text, const char *expected)
{
    char *found;
    assert_int_equal(drove__data_expand(text, &found), DROVE_OK);
    if (strcmp(found, expected) != 0) fail_msg("%s: expected %s, found %s", text, expected, found);
    free(found);
}

/* The folder is there, and empty. */
static void make_folder(const char *path)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
    assert_int_equal(mkdir(path, 0777), 0);
}

TEST(endings_tell_the_format)
{
    static const struct {
        const char *path, *format; /* NULL: none */
    } cases[] = {{"x.csv", "table"},
                 {"x.tsv", "table"},
                 {"x.tab", "table"},
                 {"x.psv", "table"},
                 {"x.txt", "table"},
                 {"x.dat", "table"},
                 {"x.data", "table"},
                 {"X.CSV", "table"},
                 {"x.csv.gz", "table"},
                 {"x.txt.zst", "table"},
                 {"x.Tsv.GZ", "table"},
                 {".csv", NULL},
                 {"x.gz", NULL},
                 {"x.zst", NULL},
                 {"xcsv", NULL},
                 {"x.csv.bz2", "table"},
                 {"x.csv.xz", "table"},
                 {"x.csv.zip", "table"},
                 {"x.arff", "table"},
                 {"x.jsonl", "table"},
                 {"x.libsvm", "table"},
                 {"x.zip", "table"},
                 {"x.xlsx", "table"},
                 {"x.bz2", NULL},
                 {"x.json", NULL},
                 {"x.rows", "rows"},
                 {"x.npz", "npz"},
                 {"x.tar", "webdataset"},
                 {"x.tgz", "webdataset"},
                 {"x.tar.gz", "webdataset"},
                 {"x.TAR.zst", "webdataset"},
                 {".rows", NULL},
                 {"x.rowss", NULL},
                 {"x.tar.bz2", NULL},
                 {"", NULL}};
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        char expected[64], keyed[64];
        (void)unlink(cases[i].path);
        snprintf(expected, sizeof expected, "%s%s%s",
                 cases[i].format != NULL ? cases[i].format : "", cases[i].format != NULL ? ":" : "",
                 cases[i].path);
        expands(cases[i].path, expected);
        snprintf(keyed, sizeof keyed, "%s?label=a", cases[i].path);
        strcat(expected, "?label=a");
        expands(keyed, expected);
        assert_int_equal(drove_data_is_named(cases[i].path) != 0, cases[i].format != NULL);
        assert_int_equal(drove_data_is_named(keyed) != 0, cases[i].format != NULL);
    }
    expands("a.png", "images:a.png");
    expands("a.png,b.JPG?label=none", "images:a.png,b.JPG?label=none"); /* several images */
    expands("a.png,b.csv", "table:a.png%2Cb.csv");
    expands("a,b.png", "images:a%2Cb.png"); /* one, with a comma in its name */
    expands("a.webp", "images:a.webp");
    write_text("a.png,c.png", "");
    expands("a.png,c.png", "images:a.png%2Cc.png");
    (void)unlink("a.png,c.png");
    expands("-", "table:-");
    expands("-?label=a", "table:-?label=a");
    assert_true(drove_data_is_named("-") && drove_data_is_named("-?x=1"));
    assert_false(drove_data_is_named("--"));
}

TEST(formats_words_stay)
{
    static const char *const texts[] = {"csv:x.rows", "synth:digits?n=5", "synth:digits",
                                        "csv:",       "rows:a.csv",       "csv?x=1"};
    for (size_t i = 0; i < DROVE_COUNT(texts); i++) {
        expands(texts[i], texts[i]);
        assert_true(drove_data_is_named(texts[i]));
    }
    expands("mnist", "mnist"); /* a word alone, unless a folder has it */
    assert_false(drove_data_is_named("mnist"));
    assert_false(drove_data_is_named("cs:v"));
    make_folder("images");
    expands("images", "images:images");
    assert_true(drove_data_is_named("images"));
    expands("images:images", "images:images");
}

TEST(folders_hold_digits_images_or_pieces)
{
    make_folder("digits");
    expands("digits", "images:digits");
    write_text("digits/train-images-idx3-ubyte", "");
    expands("digits", "mnist:digits");
    (void)unlink("digits/train-images-idx3-ubyte");
    write_text("digits/train-images-idx3-ubyte.gz", "");
    expands("digits?x=1", "mnist:digits?x=1");
    make_folder("pieces.csv");
    expands("pieces.csv", "table:pieces.csv");
    make_folder("pieces.rows"); /* a folder is no such file */
    expands("pieces.rows", "images:pieces.rows");
}

/* What a file without a telling ending holds, by its first line. */
TEST(first_bytes_tell_the_format)
{
    static const struct {
        const char *text;
        bool is_libsvm;
    } cases[] = {{"+1 3:0.5 17:1\n", true},
                 {"1 2:3", true},
                 {"1 2:3\nnothing of the kind", true},
                 {" \t1\t2:-1e3 4:+5E-2\r\n", true},
                 {"cat 1:2", true},
                 {"1,2 1:2 # 3", true},
                 {"1", false},
                 {"1 # 2:3", false},
                 {"1 qid:3 2:0.5\n", true},
                 {"1\n-1 2:0.5\n", true},
                 {"1 qid:1\n-1 qid:2 2:0.5\n", true},
                 {"1 2:inf 3:-NaN\n", true},
                 {"1 2:info\n", false},
                 {"# made up\n\n+1\n-1 2:0.5\n", true},
                 {"\xef\xbb\xbf"
                  "1 2:3\n",
                  true},
                 {"1 qid:x 2:0.5\n", false},
                 {"1\n2\n3\n", false},
                 {"a\n1 2:3\n", false},
                 {"1 :2", false},
                 {"1 2:", false},
                 {"1 2:3 4:", false},
                 {"1 2:x", false},
                 {"1 2:3x", false},
                 {"1 x: 3", false},
                 {"1 23", false},
                 {"1 2-3", false},
                 {"a,b\n1 2:3", false},
                 {"", false},
                 {"\n", false}};
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        write_text("held", cases[i].text);
        expands("held", cases[i].is_libsvm ? "libsvm:held" : "table:held");
        write_text("held.txt", cases[i].text);
        expands("held.txt", cases[i].is_libsvm ? "libsvm:held.txt" : "table:held.txt");
        write_text("held.csv", cases[i].text); /* is taken at its word */
        expands("held.csv", "table:held.csv");
    }
    static const char *const refused[][2] = {{"1 x:3\n", "'held' > 'held.vw'"},
                                             {"1 sid:2 3:4\n", "features have names"},
                                             {"1 0:3:0.5\n", "'held' > 'held.libsvm'"}};
    for (size_t i = 0; i < DROVE_COUNT(refused); i++) {
        char *found;
        write_text("held", refused[i][0]);
        assert_int_equal(drove__data_expand("held", &found), DROVE_E_DATA);
        assert_non_null(strstr(drove_error_text(), refused[i][1]));
    }
    static const struct {
        const char *text;
        bool is_vw;
    } bars[] = {{"1 |f a:1 b\n", true},     {"-1 2.0 'tag|f a b\n", true},
                {"1 2 tag| a:.5\n", true},  {"|f a b\n", true},
                {"1 | a:1 b\n", true},      {"1:0.5 2:1 |f a\n", true},
                {"1|2|3\n", false},         {"a|b|c\n", false},
                {"1 | 2 | 3\n", false},     {"| a | b |\n", false},
                {"5 |good,bad |3\n", false}};
    for (size_t i = 0; i < DROVE_COUNT(bars); i++) {
        write_text("held", bars[i].text);
        expands("held", bars[i].is_vw ? "vw:held" : "table:held");
    }
    static char head[512];
    write_bytes("held", "PK\3\4", 4);
    expands("held", "table:held"); /* damaged: its reader says so */
    write_bytes("held", "PK\3", 3);
    expands("held", "table:held");
    write_bytes("held", "drove-rows-2", 12);
    expands("held", "rows:held");
    write_bytes("held", "drove-rows-", 11);
    expands("held", "table:held");
    memcpy(head + 257, "ustar", 5);
    write_bytes("held", head, 262);
    expands("held", "webdataset:held");
    write_bytes("held", head, 261);
    expands("held", "table:held");
    write_gzip("held", "1 2:3\n", 6);
    expands("held", "libsvm:held");
}

/* What a spec would take for something else is escaped; a percent sign only of a file that has one,
 * since others may be escaped already. */
TEST(special_letters_of_paths_are_escaped)
{
    expands("a,b&c.csv", "table:a%2Cb%26c.csv");
    (void)unlink("a%2Cb.csv");
    (void)unlink("a,b.csv");
    expands("a%2Cb.csv", "table:a%2Cb.csv");
    write_text("a%2Cb.csv", "1,2\n");
    expands("a%2Cb.csv", "table:a%252Cb.csv");
    expands("a:b.csv", "table:a:b.csv");
    write_text("a,b.csv", "1,2\n3,4\n");
    drove_data *d = open_data("a,b.csv");
    assert_int_equal(d->n_rows, 2);
    drove_data_destroy(d);
    (void)unlink("a%2Cb.csv");
    d = open_data("a%2Cb.csv"); /* the other one, by its escaped name */
    assert_int_equal(d->n_rows, 2);
    drove_data_destroy(d);
}
