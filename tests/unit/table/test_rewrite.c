/* Texts that are not quite tables: comments, escapes, JSON, ARFF, bytes of another encoding.  The
 * tables that come of them, worked out by hand. */
#include "support.h"

#include "table/rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static drove_content content; /* of the last text */

static drove_status load(const char *text, const drove_content_options *options)
{
    write_text("text", text);
    drove__content_fini(&content);
    return drove__content_load("text", options, 2, &content);
}

static void becomes(const char *text, const drove_content_options *options, const char *expected)
{
    char found[1024];
    if (load(text, options) != DROVE_OK) fail_msg("%s: %s", text, drove_error_text());
    snprintf(found, sizeof found, "%.*s", (int)(content.end - content.text), content.text);
    assert_string_equal(found, expected);
    assert_int_equal(content.end - content.text, strlen(expected));
    assert_int_equal(content.has_quote, strchr(expected, '"') != NULL);
    drove__content_fini(&content);
}

static void is_refused(const char *text, const drove_content_options *options, const char *why)
{
    assert_int_equal(load(text, options), DROVE_E_DATA);
    if (strstr(drove_error_text(), why) == NULL) fail_msg("%s: %s", why, drove_error_text());
    assert_null(strchr(drove_error_text(), '\n'));
}

static const drove_content_options usual = {0};

/* ---- JSON ---- */

TEST(json_lines_become_rows)
{
    becomes("{\"a\": 1, \"b\": \"x\"}\n{\"b\": \"say \\\"no\\\", y\", \"c\": null, \"a\": 2.5}\n",
            &usual, "\"a\",\"b\",\"c\"\n1,\"x\",\n2.5,\"say \"\"no\"\", y\",\n");
    becomes("{\"a\": true}\n\n\n{\"a\": false}", &usual, "\"a\"\ntrue\n\n\nfalse\n");
    becomes("{\"a\": null}{\"a\": \"\"}{}", &usual, "\"a\"\n\"\"\n\"\"\n\"\"\n");
    becomes("\xef\xbb\xbf{\"\xc3\xa4\": \"\\u00e4\"}", &usual, "\"\xc3\xa4\"\n\"\xc3\xa4\"\n");
}

TEST(json_arrays_of_objects_become_rows)
{
    becomes("[{\"a\": 1},\n {\"a\": 2}\n]\n", &usual, "\"a\"\n1\n2\n");
    becomes(" [ { \"a\" : 1 } ] ", &usual, "\"a\"\n1\n");
}

TEST(json_objects_within_become_columns_and_arrays_texts)
{
    becomes("{\"p\": {\"x\": 1, \"q\": {\"y\": 2}}, \"t\": [1, \"b\"]}\n{\"p\": 3}\n", &usual,
            "\"p.x\",\"p.q.y\",\"t\",\"p\"\n1,2,\"[1,\"\"b\"\"]\",\n,,,3\n");
}

TEST(json_numbers_keep_their_digits)
{
    becomes("{\"a\": 1700000100.6, \"b\": 0.1, \"c\": 9007199254740993, \"d\": 1e300, "
            "\"e\": -0.30000000000000004}",
            &usual,
            "\"a\",\"b\",\"c\",\"d\",\"e\"\n"
            "1700000100.6,0.1,9007199254740993,1e+300,-0.30000000000000004\n");
}

/* Python writes them, though they are no JSON. */
TEST(json_words_for_no_number_are_missing_cells)
{
    becomes("{\"a\": NaN, \"b\": \"NaN\"}\n{\"a\": -Infinity, \"b\": \"a \\\"NaN\"}\n", &usual,
            "\"a\",\"b\"\n\"\",\"NaN\"\n\"\",\"a \"\"NaN\"\n");
}

TEST(json_of_another_shape_is_refused_with_the_way_out)
{
    is_refused("{\"a\": {\"0\": 1}, \"y\": {\"0\": 2}}", &usual, "pandas.read_json('text')");
    is_refused("{\"columns\": [\"a\"], \"data\": [[1]]}", &usual, "orient='split'");
    is_refused("{\"n\": [1], \"rows\": [{\"a\": 1}]}", &usual, "json.load(open('text'))['rows']");
}

TEST(json_that_is_no_table_is_refused_with_its_line)
{
    is_refused("{\"a\": 1}\n{\"a\": }\n", &usual, "text:2: expected JSON");
    is_refused("{\"a\": 1}\n{\"a\": 1\n", &usual, "expected JSON");
    is_refused("{\"a\": 1}\n7\n", &usual, "text:2: expected");
    is_refused("{\"a\": 1, \"a\": 2}\n", &usual, "duplicate");
    is_refused("{\"a.b\": 1, \"a\": {\"b\": 2}}", &usual, "each column once");
    is_refused("[{\"a\": 1} {\"a\": 2}]", &usual, "\",\" between");
    is_refused("[{\"a\": 1},\n", &usual, "text:2: expected JSON");
    is_refused("[{\"a\": 1}\n", &usual, "text:2: expected \"]\"");
    is_refused("[{\"a\": 1}] x", &usual, "nothing behind");
    is_refused("{}\n{}\n", &usual, "found none");
    is_refused("{\"a\": 123456789012345678901234567890}", &usual, "integers of up to 64 bits");
    is_refused("[[1, 2]]", &usual, "found JSON");
}

/* A new key in every row: the table would grow with the square of the file. */
TEST(json_that_would_grow_without_bound_is_refused)
{
    enum { N = 20000 };
    char *text = malloc(32 * N);
    size_t n = 0;
    assert_non_null(text);
    for (unsigned i = 0; i < N; i++) n += (size_t)sprintf(text + n, "{\"k%u\":1}\n", i);
    assert_int_equal(load(text, &usual), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "nearly the same columns"));
    free(text);
}

TEST(errors_in_json_name_lines_of_the_file)
{
    drove_known_table known;
    drove_table_options opt = options_of("lines.jsonl", "y");
    write_text(
        "lines.jsonl",
        "{\"x\": 1.5, \"y\": \"a\"}\n{\"x\": 2.5, \"y\": \"b\"}\n\n{\"x\": 7, \"y\": \"a\"}\n");
    learn(&opt, &known);
    assert_int_equal(known.table.n_rows, 3);
    assert_int_equal(drove__table_line(&known.table, known.table.block[0].start), 1);
    assert_int_equal(column_of(&known, "x")->type, DROVE_COLUMN_NUMBER);
    drove__known_table_fini(&known);
}

/* ---- ARFF ---- */

static const char weather[] = "% made up\n"
                              "@RELATION weather\n\n"
                              "@attribute outlook {sunny, 'over cast'}\n"
                              "@Attribute 'degrees C' numeric\n"
                              "@attribute grade {1,2,3} % codes\n"
                              "@attribute note string\n"
                              "@data\n"
                              "sunny,20.5,1,'don\\'t'\n"
                              "% a comment\n"
                              "'over cast', ?,3, \"say \\\"no\\\"\" % another\n";

TEST(arff_becomes_a_table_with_its_types)
{
    if (load(weather, &usual) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(content.n_types, 4);
    assert_memory_equal(content.type, "\0nc\0", 4);
    assert_int_equal(content.n_lines_above, 7);
    becomes(weather, &usual,
            "\"outlook\",\"degrees C\",\"grade\",\"note\"\nsunny,20.5,1,\"don't\"\n\n"
            "\"over cast\",?,3,\"say \"\"no\"\"\"\n");
}

TEST(sparse_arff_has_what_is_left_out)
{
    becomes("@relation r\n@attribute a numeric\n@attribute b {no,yes}\n@attribute c real\n@data\n"
            "{0 1.5, 2 7}\n{1 yes}\n{}\n",
            &usual, "\"a\",\"b\",\"c\"\n1.5,\"no\",7\n\"0\",yes,\"0\"\n\"0\",\"no\",\"0\"\n");
}

TEST(arff_codes_are_categories)
{
    char text[4096] = "@relation r\n@attribute code {10,20,30}\n@attribute y numeric\n@data\n";
    drove_known_table known;
    drove_table_options opt = options_of("codes.arff", "y");
    for (int i = 0; i < 60; i++) sprintf(text + strlen(text), "%d,%d\n", 10 * (1 + i % 3), i % 7);
    write_text("codes.arff", text);
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "code")->type, DROVE_COLUMN_CATEGORY);
    assert_int_equal(column_of(&known, "code")->n_values, 3);
    drove__known_table_fini(&known);
}

TEST(arff_says_whether_the_day_comes_first)
{
    static const struct {
        const char *format;
        drove_date_order order;
    } cases[] = {{"\"dd/MM/yyyy HH:mm\"", DROVE_DATE_DMY},
                 {"MM/dd/yyyy", DROVE_DATE_MDY},
                 {"", DROVE_DATE_MDY}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[4096];
        drove_known_table known;
        drove_table_options opt = options_of("dates.arff", "y");
        int n = sprintf(text, "@relation r\n@attribute d date %s\n@attribute y real\n@data\n",
                        cases[k].format);
        for (int i = 1; i <= 12; i++) n += sprintf(text + n, "%02d/%02d/2020,%d\n", i, i, i % 7);
        write_text("dates.arff", text);
        learn(&opt, &known);
        assert_int_equal(column_of(&known, "d")->order, cases[k].order);
        assert_int_equal(strstr(known.notes, "day or month") != NULL, *cases[k].format == '\0');
        drove__known_table_fini(&known);
    }
    assert_int_equal(remove("dates.arff"), 0);
}

TEST(broken_arff_is_refused_with_its_line)
{
    is_refused("@relation r\n@attribute a numeric\n", &usual, "expected @data");
    is_refused("@relation r\n@data\n1\n", &usual, "text:2: expected an @attribute");
    is_refused("@relation r\n@attribute a relational\n@data\n1\n", &usual,
               "text:2: expected numeric");
    is_refused("@relation r\n@attribute a {x\n@data\nx\n", &usual,
               "text:2: expected \",\" or \"}\"");
    is_refused("@relation r\nattribute a\n@data\n1\n", &usual, "text:2: expected @attribute");
    is_refused("@relation r\n@attribute a numeric\n@data\n{1 2}\n", &usual,
               "text:4: expected numbers");
    is_refused("@relation r\n@attribute a numeric\n@data\n{0 2\n", &usual, "text:4: expected");
    is_refused("@relation r\n@attribute a string\n@data\n{}\n", &usual,
               "text:4: expected the value");
    is_refused("@relation r\n@attribute a string\n@data\n'x\n", &usual,
               "text:4: expected a closing");
}

/* ---- comments, escapes, first lines ---- */

TEST(comments_become_blanks)
{
    const drove_content_options hash = {.comment = '#'};
    becomes("# made up\na,b\n1,2 # two\n  # x\n3,C#\n", &hash,
            "         \na,b\n1,2      \n     \n3,C#\n");
    becomes("a,b\n\"x # y\",2\n\"one\n# two\",3\n", &hash, "a,b\n\"x # y\",2\n\"one\n# two\",3\n");
    becomes("a,b\n# it's \"open\n1,2\n", &hash, "a,b\n            \n1,2\n");
    if (load("a\n# one\n# two\n1\n", &hash) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_string_equal(content.note, "2 comments left out (\"# one\" ...)");
}

TEST(escapes_become_quotes)
{
    const drove_content_options backslash = {.escape = '\\'};
    becomes("a,b\n\"say \\\"no\\\"\",1\n", &backslash, "a,b\n\"say \"\"no\"\"\",1\n");
    becomes("a,b\nx\\,y,1\nC:\\new,2\nw\\\\,3\n", &backslash,
            "a,b\n\"x,y\",1\n\"C:\\new\",2\n\"w\\\",3\n");
    becomes("a\tb\none\\\ntwo\t1\n", &backslash, "a\tb\n\"one\ntwo\"\t1\n");
    becomes("a,b\n\"old \"\"way\"\"\",\"\\\"\"\n", &backslash,
            "a,b\n\"old \"\"way\"\"\",\"\"\"\"\n");
    becomes("a,b\n1,x\\", &backslash, "a,b\n1,x\\");
    /* a quote that nothing closes ends with the text */
    becomes("a,b\n1,\"x", &backslash, "a,b\n1,\"x");
    /* by the semicolons that are not escaped */
    becomes("a;b\nx\\,y\\;z;1\n", &backslash, "a;b\n\"x\\,y;z\";1\n");
}

TEST(first_lines_are_left_out)
{
    const drove_content_options two = {.skip_lines = 2};
    becomes("title\n\na,b\n1,2\n", &two, "a,b\n1,2\n");
    is_refused("title\na,b", &two, "below 2 lines");
    if (load("sep=;\r\na;b\r\n1;2\r\n", &usual) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(content.separator, ';');
    assert_int_equal(content.n_lines_above, 1);
    assert_memory_equal(content.text, "a;b", 3);
    becomes("\xef\xbb\xbfSEP=\t\na\tb\n", &usual, "a\tb\n");
    becomes("sep=,b\n1,2\n", &usual, "sep=,b\n1,2\n"); /* a header */
}

TEST(errors_name_lines_below_those_left_out)
{
    drove_table_options opt = options_of("below.csv", "b");
    write_text("below.csv", "title\na,b\n1,x\n2,y,z\n");
    opt.written.skip_lines = 1;
    expect_refusal(&opt, DROVE_E_DATA, "below.csv:4: row 2", NULL);
}

/* ---- bytes of another encoding ---- */

TEST(a_few_stray_bytes_cost_no_other_cell)
{
    becomes("town\nK\xc3\xb6ln\nK\xf6ln\nZ\xc3\xbcrich\n", &usual,
            "town\nK\xc3\xb6ln\nK\xc3\xb6ln\nZ\xc3\xbcrich\n");
    if (load("town\nK\xc3\xb6ln\nK\xf6ln\n", &usual) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    assert_false(content.was_cp1252);
    assert_non_null(strstr(content.note, "1 byte in UTF-8 text"));
    assert_non_null(strstr(content.note, "first in line 3"));
    /* Latin-1, with one pair of bytes that also is a character of UTF-8 (in capitals, "E acute" and
     * a closing quotation mark) among many that are none */
    if (load("\xe9t\xe9,\xe9t\xe9,\xe9t\xe9\n\xab"
             "CAF\xc9\xbb\n",
             &usual) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    assert_true(content.was_cp1252);
    drove__content_fini(&content);
}
