/* Lines that are no rows, and headers that have fewer names than rows have cells. */
#include "support.h"

#include "base/mem.h"
#include "table/keep.h"

#include <stdlib.h>
#include <string.h>

/* The table of this text has rows and these columns (NULL-terminated), and says `note`. */
static void expect_table(const char *text, size_t n_rows, const char *note,
                         const char *const *columns)
{
    drove_known_table known;
    drove_table_options opt = options_of("shape", NULL);
    size_t n = 0;
    write_text("shape", text);
    learn(&opt, &known);
    assert_int_equal(known.table.n_rows, n_rows);
    for (; columns[n] != NULL; n++) assert_string_equal(known.table.name[n], columns[n]);
    assert_int_equal(known.table.n_columns, n);
    if (strstr(known.notes, note) == NULL) fail_msg("\"%s\" is not in: %s", note, known.notes);
    drove__known_table_fini(&known);
    assert_int_equal(remove("shape"), 0);
}

TEST(rows_that_end_with_a_separator)
{
    static const char *const names[] = {"w", "h", "d", NULL};
    static const char *const none[] = {"column1", "column2", "column3", NULL};
    const char *note = "rows end with a separator: the empty column behind it is left out";
    expect_table("w,h,d\n1,2,11,\n2,3,12,\n2,4,13,\n", 3, note, names);
    expect_table("w,h,d,\n1,2,11,\n2,3,12,\n2,4,13,\n", 3, note, names);
    expect_table("1,2,11,\n2,3,12,\n2,4,13,\n", 3, note, none);
    drove_table_options opt = options_of("shape", NULL);
    write_text("shape", "w,h,d\n1,2,11,\n2,3,12,\n2,4,13,\n");
    FILE *file = fopen("shape", "a");
    assert_non_null(file);
    for (unsigned row = 0; row < 100; row++) fputs("1,2,11,\n", file);
    fputs("1,2,11,7\n", file); /* behind the rows that are looked at: not left out */
    assert_int_equal(fclose(file), 0);
    expect_refusal(&opt, DROVE_E_DATA, "row 104", "found 4", NULL);
    assert_int_equal(remove("shape"), 0);
}

TEST(sums_in_the_last_line)
{
    static const char *const names[] = {"town", "n", "y", NULL};
    const char *note = "the last line, \"Total;9;3\", is read as a row, but may sum up the others";
    drove_known_table known;
    drove_table_options opt = options_of("shape", NULL);
    expect_table("town;n;y\nRom;1;1\nBonn;3;1\nOslo;5;0\nTotal;9;3\n", 4, note, names);
    write_text("shape", "town;n;y\ntotal;1;1\nBonn;3;1\nOslo;5;0\nTotal;9;3\n");
    learn(&opt, &known);
    assert_null(strstr(known.notes, "the last line"));
    drove__known_table_fini(&known);
    assert_int_equal(remove("shape"), 0);
}

TEST(headers_that_end_with_a_separator)
{
    static const char *const names[] = {"w", "h", "d", NULL};
    expect_table("w,h,d,\n1,2,11\n2,3,12\n2,4,13\n", 3,
                 "the header ends with a separator, which the rows lack", names);
}

/* The decimal comma agrees with itself in all rows, as the semicolon does. */
TEST(rows_that_end_with_a_semicolon)
{
    static const char *const names[] = {"w", "h", "d", NULL};
    expect_table("w;h;d\n1;2;1,5;\n2;3;2,5;\n2;4;3,5;\n", 3,
                 "rows end with a separator: the empty column behind it is left out", names);
}

TEST(lines_of_dashes)
{
    static const char *const names[] = {"name", "qty", NULL};
    const char *note = "the line of dashes below the header is left out";
    expect_table(" name | qty \n------+-----\n a | 1\n b | 2\n c | 4\n(3 rows)\n", 3, note, names);
    expect_table("name\tqty\n----\t---\na\t1\nb\t2\nc\t4\n", 3, note, names);
    expect_table("name,qty\n-,-\na,1\nb,2\nc,4\n", 4, "", names); /* missing cells */
    expect_table("name,qty\n-,--\na,1\nb,2\nc,4\n", 4, "", names);
}

TEST(other_marks_than_separators)
{
    static const char *const files[][2] = {{"a~b\n1~2\n2~3\n4~3\n", "'shape?sep=~'"},
                                           {"a\x01"
                                            "b\n1\x01"
                                            "2\n2\x01"
                                            "3\n",
                                            "'shape?sep=%01'"},
                                           {"a#b\n1#2\n2#3\n4#3\n", "'shape?sep=#'"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        drove_table_options opt = options_of("shape", i == 0 ? "b" : NULL);
        write_text("shape", files[i][0]);
        expect_refusal(&opt, DROVE_E_DATA, "lines of one cell", files[i][1], NULL);
        assert_int_equal(remove("shape"), 0);
    }
}

TEST(headers_of_one_name_less)
{
    static const char *const names[] = {"row names", "x", "z", NULL};
    expect_table("x,z\nr1,1,2\nr2,2,3\nr3,3,5\n", 3, "", names);
    drove_table_options opt = options_of("shape", NULL);
    write_text("shape", "age,town\n30,Rom,no\n31,Bonn,yes\n30,Rom,no\n");
    expect_refusal(&opt, DROVE_E_DATA, "shape:1", "3 cells of the rows, found 2 names", "\"age\"",
                   "add the name", NULL);
    assert_int_equal(remove("shape"), 0);
}

TEST(repeated_headers)
{
    static const char *const names[] = {"size", "colour", NULL};
    expect_table("size,colour\n1,red\n2,blue\nsize,colour\n3,red\nsize,colour\n4,blue\n", 4,
                 "2 lines that repeat the header are left out", names);
    /* of words alone, and with quotes, where records are cut in another way */
    static const char *const words[] = {"size", "colour", NULL};
    expect_table("size,colour\nbig,\"red\"\nsmall,blue\nsize,colour\nbig,red\n", 3,
                 "1 line that repeats the header is left out", words);
}

/* Cells that are kept beside predictions are those of the rows that are predicted. */
TEST(cells_to_keep_beside_repeated_headers)
{
    drove_table t;
    drove_kept kept;
    const drove_content_options written = {0};
    write_text("shape",
               "size,colour\n1,red\nsize,colour\n2,blue\nsize,colour\n3,\"a \"\"b\"\"\"\n");
    assert_int_equal(drove__table_open("shape", &written, DROVE_HEADER_AUTO, NULL, 0, &t),
                     DROVE_OK);
    assert_int_equal(t.n_rows, 3);
    assert_int_equal(drove__table_keep(&t, "colour", &kept), DROVE_OK);
    assert_string_equal(kept.bytes + kept.at[0], "red");
    assert_string_equal(kept.bytes + kept.at[1], "blue");
    assert_string_equal(kept.bytes + kept.at[2], "a \"b\"");
    drove__kept_fini(&kept);
    drove__table_fini(&t);
    assert_int_equal(remove("shape"), 0);
}

TEST(titles_and_footers)
{
    static const char *const names[] = {"name", "qty", "price", NULL};
    expect_table("Sales of May\n\nname,qty,price\na,1,2.5\nb,2,3.5\nc,3,4.5\n", 3,
                 "the first line, \"Sales of May\", is left out: it is no row of 3 cells", names);
    expect_table("name,qty,price\na,1,2.5\nb,2,3.5\nc,3,4.5\n(3 rows affected)\n", 3,
                 "the last line, \"(3 rows affected)\", is left out", names);
    /* What is left of a row is no footer. */
    drove_table_options opt = options_of("shape", NULL);
    write_text("shape", "name,qty,price\na,1,2.5\nb,2,3.5\nc,3,4.5\n7\n");
    expect_refusal(&opt, DROVE_E_DATA, "row 4", "expected 3 cells, found 1", NULL);
    assert_int_equal(remove("shape"), 0);
}

TEST(advice_on_a_separator)
{
    drove_table_options opt = options_of("shape", "price");
    write_text("shape", "name~qty~price\na~1~2.5\nb~2~3.5\n");
    expect_refusal(&opt, DROVE_E_DATA, "lines of one cell", "'shape?sep=~' separates at that",
                   NULL);
    opt.written.separator = '~';
    drove_known_table known;
    learn(&opt, &known);
    assert_int_equal(known.table.n_columns, 3);
    drove__known_table_fini(&known);
    assert_int_equal(remove("shape"), 0);
}

/* Without the first line what is left must have a header, else the line was none of titles. */
TEST(advice_on_the_first_line)
{
    drove_table_options opt = options_of("shape", NULL);
    write_text("shape", "My,report\nname,qty,price,tax\na,1,2.5,1\nb,2,3.5,2\nc,3,4.5,2\n");
    expect_refusal(&opt, DROVE_E_DATA, "row 1", "'shape?skip_lines=1' leaves it out", NULL);
    write_text("shape", "name,qty\na,1,2.5,7\nb,2,3.5,8\nc,3,4.5,9\n");
    expect_refusal(&opt, DROVE_E_DATA, "row 1: expected 2 cells, found 4: more after column", NULL);
    assert_null(strstr(drove_error_text(), "skip_lines"));
    /* 40 lines above the header are looked at, no more. */
    for (unsigned n_above = 40; n_above <= 41; n_above++) {
        FILE *file = fopen("shape", "w");
        assert_non_null(file);
        fputs("My,report\n", file);
        for (unsigned i = 1; i < n_above; i++) fputs(i % 2 == 1 ? "a,b,c\n" : "a,b,c,d,e\n", file);
        fputs("name,qty,price,tax\na,1,2.5,1\nb,2,3.5,2\nc,3,4.5,2\n", file);
        assert_int_equal(fclose(file), 0);
        expect_refusal(&opt, DROVE_E_DATA, "row 1", NULL);
        assert_int_equal(strstr(drove_error_text(), "'shape?skip_lines=40'") != NULL,
                         n_above == 40);
    }
    assert_int_equal(remove("shape"), 0);
}
