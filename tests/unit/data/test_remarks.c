/* Remarks on a table: a column that tells the label, rows in the order of a date. */
#include "support.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { N = 120 };

static int noise(int i, int of)
{
    return (i * 7919 + i / 13) % of;
}

static void expect_note(const char *spec, const char *word, bool is_there)
{
    drove_data *data = open_data(spec);
    if ((strstr(data->storage->notes, word) != NULL) != is_there)
        fail_msg("%s: expected %s\"%s\", found \"%s\"", spec, is_there ? "" : "no ", word,
                 data->storage->notes);
    drove_data_destroy(data);
}

/* Each column tells the classes, or nearly. */
TEST(a_column_tells_the_class)
{
    FILE *f = fopen("classes.csv", "w");
    assert_non_null(f);
    fprintf(f, "score,nearly,word,wordy,row,code,y\n");
    for (int i = 0; i < N; i++) {
        const int y = noise(i, 3);
        const int wrong = i == 100;
        fprintf(f, "%g,%g,%c,%c,r%d x,%d,%c\n", y + noise(i, 89) / 100.0,
                (wrong ? (y + 1) % 3 : y) + noise(i, 89) / 100.0, "pqr"[y],
                "pqr"[wrong ? (y + 1) % 3 : y], noise(i, 97) + 100 * i, 5 * (y == 1) + y, "abc"[y]);
    }
    fclose(f);
    static const struct {
        const char *columns;
        bool tells;
    } cases[] = {{"score", true},  {"nearly", false}, {"word", true},
                 {"wordy", false}, {"code", true},    {"row:category+nearly", false}};
    for (size_t k = 0; k < DROVE_COUNT(cases); k++) {
        char spec[128], column[32];
        snprintf(column, sizeof column, "%s", cases[k].columns);
        const char *const types = strchr(column, ':') != NULL ? "&types=row:category" : "";
        if (*types != '\0') strcpy(column, "row+nearly");
        snprintf(spec, sizeof spec, "classes.csv?label=y&columns=%s%s", column, types);
        expect_note(spec, "alone tells the label", cases[k].tells);
    }
    expect_note("classes.csv?label=y&columns=word", "?ignore=word leaves it out", true);
    expect_note("classes.csv?label=y",
                "\"score\" alone tells the label of every row, and so do 2 "
                "other columns",
                true);
}

/* Few rows, or few of a class, may be told apart by chance. */
TEST(too_few_to_say)
{
    FILE *f = fopen("few.csv", "w");
    assert_non_null(f);
    fprintf(f, "x,y\n");
    for (int i = 0; i < N; i++)
        fprintf(f, "%d,%s\n", noise(i, 50) + 60 * (i % 30 == 0), i % 30 == 0 ? "yes" : "no");
    fclose(f);
    expect_note("few.csv?label=y", "alone tells", false); /* 4 of a class */
}

TEST(a_column_tells_the_value)
{
    FILE *f = fopen("values.csv", "w");
    assert_non_null(f);
    fprintf(f, "line,bent,y\n");
    for (int i = 0; i < N; i++) {
        const double y = 40 + noise(i, 97) * 1.5;
        fprintf(f, "%g,%g,%g\n", -3 * y + 7, y + (i == 110 ? 2 : 0), y);
    }
    fclose(f);
    expect_note("values.csv?label=y&target=value&columns=line", "\"line\" alone tells", true);
    expect_note("values.csv?label=y&target=value&columns=bent", "alone tells", false);
    expect_note("values.csv?label=y&target=value&columns=line+bent", "\"line\" alone tells", true);
}

TEST(rows_in_the_order_of_a_date)
{
    FILE *sorted = fopen("sorted.csv", "w"), *mixed = fopen("mixed.csv", "w");
    assert_non_null(sorted);
    assert_non_null(mixed);
    fprintf(sorted, "day,x,y\n");
    fprintf(mixed, "day,x,y\n");
    for (int i = 0; i < N; i++) {
        const int k = i == 50 ? 30 : i; /* one that is out of order */
        fprintf(sorted, "2024-%02d-%02d,%d,%d\n", 1 + i / 28, 1 + i % 28, noise(i, 9), i % 2);
        fprintf(mixed, "2024-%02d-%02d,%d,%d\n", 1 + k / 28, 1 + k % 28, noise(i, 9), i % 2);
    }
    fclose(sorted);
    fclose(mixed);
    const char *const word = "rows are in the order of \"day\": ?split=last";
    expect_note("sorted.csv?label=y", word, true);
    expect_note("sorted.csv?label=y&split=0.3", word, true);
    expect_note("sorted.csv?label=y&split=last", word, false);
    expect_note("sorted.csv?label=y&split=group:x", word, false);
    expect_note("mixed.csv?label=y", word, false);
    drove_data *train, *test; /* further data have no remark of their own */
    open_both("sorted.csv?label=y", "sorted.csv?label=y", 1, &train, &test);
    assert_null(strstr(test->storage->notes, word));
    drove_data_destroy(train);
    drove_data_destroy(test);
}
