/* Text and generated data read in pieces: the same rows, features and classes as read whole. */
#include "support.h"

#include "base/mem.h"
#include "data/open/pieces.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "test_pieces.rows"

static void write_pieces(const char *spec, size_t piece_bytes)
{
    const drove_pieces_options opt = {.piece_bytes = piece_bytes, .block_bytes = 700};
    (void)unlink(FILE_NAME);
    if (drove__pieces_write(spec, FILE_NAME, &opt) != DROVE_OK)
        fail_msg("%s: %s", spec, drove_error_text());
}

static void compare(const char *spec, size_t piece_bytes)
{
    write_pieces(spec, piece_bytes);
    drove_data *whole = open_data(spec), *rows = open_data("rows:" FILE_NAME);
    assert_int_equal(whole->storage->n_features, rows->storage->n_features);
    assert_int_equal(whole->storage->n_classes, rows->storage->n_classes);
    assert_int_equal(whole->storage->index_base, rows->storage->index_base);
    for (size_t i = 0; i < whole->storage->n_classes; i++) {
        char a[DROVE_CLASS_TEXT_SIZE], b[DROVE_CLASS_TEXT_SIZE];
        assert_string_equal(drove__class_text(whole->storage, i, a),
                            drove__class_text(rows->storage, i, b));
    }
    expect_same(whole, rows);
    drove_data_destroy(whole);
    drove_data_destroy(rows);
}

/* Classes that only late rows have, a feature number that only the last row has. */
TEST(libsvm_is_the_same)
{
    FILE *from_1 = fopen("pieces_1.svm", "w"), *from_0 = fopen("pieces_0.svm", "w");
    FILE *lists = fopen("pieces_lists.svm", "w"), *values = fopen("pieces_values.svm", "w");
    for (int i = 0; i < 900; i++) {
        int class = i < 500 ? 10 - i % 2 : i % 5;
        fprintf(from_1, "%d %d:%g 30:1\n", class, 1 + i % 20, i * 0.5 + 0.25);
        fprintf(from_0, "%d %d:%g 30:1\n", class, i == 800 ? 0 : 1 + i % 20, i * 0.5 + 0.25);
        fprintf(lists, "%d,%d %d:1\n", i % 3, 3 + (i > 600) * (i % 4), 1 + i % 20);
        fprintf(values, "%g %d:1\n", i * 0.37, 1 + i % 20);
    }
    fprintf(from_1, "9 77:1\n");
    fclose(from_1);
    fclose(from_0);
    fclose(lists);
    fclose(values);
    static const size_t sizes[] = {200, 1000, 5000, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        compare("libsvm:pieces_1.svm", sizes[i]);
        compare("libsvm:pieces_0.svm", sizes[i]);
        compare("libsvm:pieces_0.svm?base=0", sizes[i]);
        compare("libsvm:pieces_lists.svm", sizes[i]);
        compare("libsvm:pieces_values.svm", sizes[i]);
    }
}

/* quoted: cells over several lines. */
static void write_table(const char *path, bool quoted, bool header)
{
    FILE *f = fopen(path, "w");
    if (header) fprintf(f, "size,color,made,note,price\n");
    for (int i = 0; i < 900; i++) {
        static const char *const colors[] = {"red", "green", "blue"};
        fprintf(f, "%d,%s,2024-03-%02d,%s,%s\n", (i * 7) % 100, colors[i * 31 % 3], 1 + i % 28,
                quoted && i % 4 == 0 ? "\"two\nlines, \"\"quoted\"\"\"" : "plain",
                i % 7 < 3 ? "high" : "low");
    }
    fclose(f);
}

TEST(tables_are_the_same)
{
    static const size_t sizes[] = {6000, 16000, 1 << 20};
    write_table("pieces_plain.csv", false, true);
    write_table("pieces_quoted.csv", true, true);
    write_table("pieces_headless.csv", false, false);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        compare("table:pieces_plain.csv?label=price", sizes[i]);
        compare("table:pieces_quoted.csv?label=price", sizes[i]);
        compare("table:pieces_headless.csv?label=5", sizes[i]);
    }
}

/* Quotes inside a cell open nothing; line ends may be CR; quoted cells may come late. */
TEST(odd_texts_are_the_same)
{
    FILE *inside = fopen("pieces_inside.csv", "w"), *cr = fopen("pieces_cr.csv", "w");
    FILE *late = fopen("pieces_late.csv", "w");
    fprintf(inside, "size,note,y\n");
    fprintf(cr, "size,note,y\r");
    fprintf(late, "size,note,y\n");
    for (int i = 0; i < 900; i++) {
        const char *note = i == 5 ? "it is 5\" long" : i % 3 == 0 ? "\"two\nlines\"" : "one";
        fprintf(inside, "%d.5,%s,%d\n", i % 50, note, i % 2);
        fprintf(cr, "%d.5,%s,%d\r", i % 50, i % 3 == 0 ? "some" : "one", i % 2);
        fprintf(late, "%d.5,%s,%d\n", i % 50, i < 300 || i % 3 ? "one" : "\"two\nlines\"", i % 2);
    }
    fclose(inside);
    fclose(cr);
    fclose(late);
    compare("table:pieces_inside.csv?label=y", 4000);
    compare("table:pieces_cr.csv?label=y", 4000);
    /* the sample has no such cell, so it counts as missing; but every row is there */
    write_pieces("table:pieces_late.csv?label=y", 3000);
    drove_data *rows = open_data("rows:" FILE_NAME);
    assert_int_equal(rows->n_rows, 900);
    drove_data_destroy(rows);
}

/* ?features= with numbers from 1 and from 0; a 0 that is not stored. */
TEST(declared_features_are_the_same)
{
    static const char *const text[] = {"1 1:2 30:1\n0 2:1\n", "1 0:2 29:1\n0 2:1\n",
                                       "1 0:0 3:1\n0 29:1\n"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        FILE *f = fopen("pieces_few.svm", "w");
        for (int k = 0; k < 100; k++) fputs(k == 50 ? text[i] : "1 5:1\n", f);
        fclose(f);
        compare("libsvm:pieces_few.svm?features=30", 100);
        compare("libsvm:pieces_few.svm", 100);
    }
    FILE *f = fopen("pieces_few.svm", "w");
    for (int k = 0; k < 100; k++) fputs(k == 50 ? "1 0:1 30:1\n" : "1 5:1\n", f);
    fclose(f);
    const drove_pieces_options opt = {.piece_bytes = 100};
    (void)unlink(FILE_NAME);
    assert_int_equal(drove__pieces_write("libsvm:pieces_few.svm?features=30", FILE_NAME, &opt),
                     DROVE_E_DATA);
}

/* Lines of a file in front of which others were read: the line that the error names. */
static unsigned line_of(const char *before)
{
    unsigned line = 0;
    const char *at = strstr(drove_error_text(), before);
    if (at == NULL || sscanf(at + strlen(before), "%u", &line) != 1)
        fail_msg("%s: expected \"%s\" and a line", drove_error_text(), before);
    return line;
}

/* What the sample takes for classes, later rows may show to be values: in a piece of 1000 bytes, of
 * four a line, that begins at the named line. */
TEST(late_values_are_told)
{
    for (int has_header = 0; has_header <= 1; has_header++) {
        FILE *f = fopen("pieces_kind.csv", "w");
        if (has_header) fprintf(f, "x,y\n");
        for (int i = 0; i < 2000; i++) fprintf(f, i == 1711 ? "1,0.25\n" : "%d,%d\n", i % 7, i % 3);
        fclose(f);
        const drove_pieces_options opt = {.piece_bytes = 1000};
        (void)unlink(FILE_NAME);
        assert_int_equal(drove__pieces_write("table:pieces_kind.csv?label=2", FILE_NAME, &opt),
                         DROVE_E_DATA);
        assert_non_null(strstr(drove_error_text(), "expected whole numbers as labels"));
        assert_int_equal(line_of("in the lines from "), 1 + has_header + 1711 / 250 * 250);
    }
}

/* A row that is no row, outside the sample, is named by its line of the file: in the first piece,
 * and far behind it; with a line of names or without. */
/* n rows of n_classes texts by turns: a sample has more classes for its rows than all. */
static void write_classes(const char *path, int n, int n_classes)
{
    FILE *f = fopen(path, "w");
    fprintf(f, "size,name\n");
    for (int i = 0; i < n; i++) fprintf(f, "%d,name %c%d\n", i % 97, 'a' + i % 7, i % n_classes);
    fclose(f);
}

TEST(a_label_of_very_many_classes_is_remarked_upon)
{
    static const size_t sizes[] = {3000, 30000};
    write_classes("pieces_many.csv", 6000, 3000);
    write_classes("pieces_few.csv", 10500, 144 * 7);
    for (size_t i = 0; i < DROVE_COUNT(sizes); i++) {
        compare("table:pieces_many.csv?target=class", sizes[i]);
        drove_data *rows = open_data("rows:" FILE_NAME);
        assert_non_null(
            strstr(rows->storage->notes, "label: 6000 classes in 6000 rows, so that few"));
        drove_data_destroy(rows);
        compare("table:pieces_few.csv?target=class", sizes[i]);
        rows = open_data("rows:" FILE_NAME);
        assert_null(strstr(rows->storage->notes, "so that few can be learnt"));
        drove_data_destroy(rows);
    }
}

TEST(errors_name_lines_of_the_file)
{
    static const struct {
        const char *spec, *head, *row, *bad;
    } files[] = {{"table:pieces_bad?label=y", "a,b,y\n", "%d,2,%d\n", "1,2\n"},
                 {"table:pieces_bad?label=3", "", "%d,2,%d\n", "1,2\n"},
                 {"libsvm:pieces_bad", "", "%d %d:1\n", "1 x:2\n"}};
    static const unsigned bad[] = {5, 300, 2500}; /* the first of them in the sample */
    const drove_pieces_options opt = {.piece_bytes = 4000};
    for (size_t k = 0; k < DROVE_COUNT(files) * DROVE_COUNT(bad); k++) {
        const size_t kind = k / DROVE_COUNT(bad);
        const unsigned at = bad[k % DROVE_COUNT(bad)];
        FILE *f = fopen("pieces_bad", "w");
        fputs(files[kind].head, f);
        for (unsigned i = 1 + (files[kind].head[0] != '\0'); i < 3000; i++)
            fprintf(f, i == at ? files[kind].bad : files[kind].row, i % 100, 1 + i % 2);
        fclose(f);
        (void)unlink(FILE_NAME);
        assert_int_equal(drove__pieces_write(files[kind].spec, FILE_NAME, &opt), DROVE_E_DATA);
        assert_int_equal(line_of("pieces_bad:"), at);
        assert_int_not_equal(access(FILE_NAME, F_OK), 0); /* whole, or not at all */
    }
}

/* The file has a hole of 80 MiB. */
TEST(a_line_without_an_end_is_told)
{
    drove_data *data;
    write_text("pieces_hole", "1 1:2");
    assert_int_equal(truncate("pieces_hole", 80 << 20), 0);
    assert_int_equal(drove__pieces_sample("libsvm:pieces_hole", 40 << 20, &data), DROVE_E_DATA);
    assert_null(data);
    assert_non_null(strstr(drove_error_text(), "expected lines of at most 67108864 bytes"));
    assert_int_equal(line_of("pieces_hole:"), 1);
    assert_int_equal(unlink("pieces_hole"), 0);
}

/* A class that the given data have not, in a piece that begins at the named line. */
TEST(rows_unlike_the_given_are_told)
{
    for (int has_header = 0; has_header <= 1; has_header++) {
        const char *spec =
            has_header ? "table:pieces_like.csv?label=y" : "table:pieces_like.csv?label=2";
        FILE *f = fopen("pieces_like.csv", "w");
        fprintf(f, "%s1,a\n2,b\n", has_header ? "x,y\n" : "");
        fclose(f);
        drove_data *like = open_data(spec);
        f = fopen("pieces_like.csv", "w");
        if (has_header) fprintf(f, "x,y\n");
        for (int i = 0; i < 2000; i++) fprintf(f, "%d,%s\n", i % 7, i == 1711 ? "z" : "a");
        fclose(f);
        const drove_pieces_options opt = {.piece_bytes = 1000, .like = like->storage};
        (void)unlink(FILE_NAME);
        assert_int_equal(drove__pieces_write(spec, FILE_NAME, &opt), DROVE_E_SHAPE);
        assert_int_equal(line_of("rows from line "), 1 + has_header + 1711 / 250 * 250);
        assert_int_equal(line_of("row "), 1 + 1711 % 250);
        drove_data_destroy(like);
    }
}

TEST(generated_rows_are_the_same)
{
    compare("synth:logistic?n=1000&d=9&seed=4", 2000);
    compare("synth:logistic?n=1000&d=90&density=0.1&seed=4", 2000);
    compare("synth:logistic?n=100&first=900&d=9&seed=4", 2000);
}

/* The sample comes from all of a file, not from its beginning alone. */
TEST(samples_are_spread)
{
    drove_data *data;
    double least = 1e9, most = 0;
    FILE *f = fopen("pieces_sorted.csv", "w");
    fprintf(f, "at,y\n");
    for (int i = 0; i < 20000; i++) fprintf(f, "%d.5,%d\n", i, i % 2);
    fclose(f);
    assert_int_equal(drove__pieces_sample("table:pieces_sorted.csv?label=y", 8000, &data),
                     DROVE_OK);
    for (size_t i = 0; i < data->n_rows; i++) {
        double at = (double)value_at(data, i, 0);
        least = at < least ? at : least;
        most = at > most ? at : most;
    }
    assert_true(data->n_rows < 2000 && least < 100 && most > 18000);
    drove_data_destroy(data);
}

/* A title, Excel's line, comments with quotes in them, escaped quotes and line ends, UTF-16. */
TEST(texts_that_are_not_quite_tables_are_the_same)
{
    FILE *titled = fopen("pieces_titled.csv", "w"), *escaped = fopen("pieces_escaped.csv", "w");
    FILE *wide = fopen("pieces_wide.csv", "w");
    fprintf(titled, "a title\n\nsep=;\n# made \"up\n\nx;t;y\n");
    fprintf(escaped, "x,t,y\n");
    fwrite("\xff\xfe", 1, 2, wide);
    for (int i = -1; i < 900; i++) {
        char line[64];
        if (i >= 0)
            fprintf(titled, "%d;\"# %d\";%s # it's \"%d\n", i % 7, i % 3, i % 2 ? "a" : "b", i);
        if (i >= 0)
            fprintf(escaped, "%d,\"say \\\"%d\\\",\nor\",%s\n", i % 7, i % 3, i % 2 ? "a" : "b");
        snprintf(line, sizeof line, "%d,t%d,%s\n", i % 7, i % 3, i % 2 ? "a" : "b");
        const char *text = i < 0 ? "x,t,y\n" : line;
        for (; *text != '\0'; text++) fwrite((const char[]){*text, '\0'}, 1, 2, wide);
    }
    fclose(titled);
    fclose(escaped);
    fclose(wide);
    static const size_t sizes[] = {400, 1000, 5000, 1 << 20};
    for (size_t i = 0; i < DROVE_COUNT(sizes); i++) {
        compare("table:pieces_titled.csv?skip_lines=2&comment=#", sizes[i]);
        compare("table:pieces_escaped.csv?escape=\\", sizes[i]);
        compare("table:pieces_wide.csv", sizes[i]);
    }
    drove_data *data = open_data("table:pieces_titled.csv?skip_lines=2&comment=#");
    assert_int_equal(data->n_rows, 900);
    assert_int_equal(data->storage->n_classes, 2);
    drove_data_destroy(data);
}
