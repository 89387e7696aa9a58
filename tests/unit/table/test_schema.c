/* tests/unit/table/test_schema.c - the schema as JSON and back, its features, its description. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char people[] = "id,born,age,town,smokes,code,note,alive\n"
                             "1,2001-05-04T10:00,31,Oslo,yes,007,one two three,1\n"
                             "2,2002-06-05T11:00,NA,\"Caf\xc3\xa9 \"\"X\"\"\",no,008,two,0\n"
                             "4,NA,44,,NA,009,three,1\n";

static void learn_people(drove_known_table *known)
{
    drove_table_options opt = options_of("people", "alive");
    write_text("people", people);
    opt.text = "note";
    opt.hash = 8;
    learn(&opt, known);
}

TEST(test_round_trip)
{
    drove_known_table known;
    drove_schema *back;
    char *text, *again;
    learn_people(&known);
    assert_int_equal(drove__schema_to_json(known.schema, &text), DROVE_OK);
    assert_int_equal(drove__schema_from_json(text, &back), DROVE_OK);
    assert_int_equal(back->n_features, known.schema->n_features);
    assert_int_equal(back->n_columns, 8);
    assert_true(drove__schema_equal(back, known.schema));
    assert_int_equal(drove__schema_to_json(back, &again), DROVE_OK);
    assert_string_equal(text, again);
    back->column[2].fill += 1;
    assert_false(drove__schema_equal(back, known.schema));
    known.schema->column[2].has_missing = back->column[2].has_missing = false;
    assert_true(drove__schema_equal(back, known.schema)); /* it stands for no cell then */
    free(text);
    free(again);
    drove__schema_release(back);
    drove__known_table_fini(&known);
}

TEST(test_bins)
{
    drove_known_table known, plain;
    drove_schema *back;
    char *text;
    drove_table_options opt = options_of("bins", "y");
    write_text("bins", "a,y\n1,0\n2,1\n3,0\n5,1\n9,1\n");
    learn(&opt, &plain);
    opt.bins = 2;
    learn(&opt, &known);
    assert_int_equal(drove__schema_to_json(known.schema, &text), DROVE_OK);
    assert_non_null(strstr(text, "\"edges\":[1.0,3.0,9.0]"));
    assert_int_equal(drove__schema_from_json(text, &back), DROVE_OK);
    assert_true(drove__schema_equal(back, known.schema));
    assert_false(drove__schema_equal(back, plain.schema));
    back->column[0].bins.edge[1] = 4;
    assert_false(drove__schema_equal(back, known.schema));
    free(text);
    drove__schema_release(back);
    drove__known_table_fini(&known);
    drove__known_table_fini(&plain);
}

TEST(test_levels)
{
    drove_known_table known, plain;
    drove_schema *back;
    char *text;
    drove_table_options opt = options_of("levels", "y");
    write_text("levels", "a,y\n1,0\n2,1\n3,0\n1,1\n3,1\n");
    learn(&opt, &plain);
    opt.also = "a";
    learn(&opt, &known);
    assert_int_equal(drove__schema_to_json(known.schema, &text), DROVE_OK);
    assert_non_null(strstr(text, "\"levels\":[1.0,2.0,3.0]"));
    assert_int_equal(drove__schema_from_json(text, &back), DROVE_OK);
    assert_int_equal(back->n_features, 4);
    assert_true(drove__schema_equal(back, known.schema));
    assert_false(drove__schema_equal(back, plain.schema));
    back->column[0].levels.value[1] = 2.5;
    assert_false(drove__schema_equal(back, known.schema));
    free(text);
    drove__schema_release(back);
    drove__known_table_fini(&known);
    drove__known_table_fini(&plain);
}

TEST(test_forged)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"version\":2,\"columns\":[]}",
        "{\"version\":1,\"columns\":[]}",
        "{\"version\":1,\"columns\":[{}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"colour\"}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"number\"}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"number\","
        "\"fill\":1e300,\"centre\":0}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"number\","
        "\"fill\":1,\"centre\":0,\"edges\":[1]}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"number\","
        "\"fill\":1,\"centre\":0,\"edges\":[1,3,2]}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"number\","
        "\"fill\":1,\"centre\":0,\"edges\":[1,\"2\"]}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"number\","
        "\"fill\":1,\"centre\":0,\"edges\":[1,1e300]}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"hashed\",\"size\":12}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"category\","
        "\"values\":[]}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"category\","
        "\"values\":[\"b\",\"a\"]}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"category\","
        "\"values\":[1]}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"label\"}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"date\","
        "\"fill\":1e12,\"centre\":0}]}",
        "{\"version\":1,\"columns\":[{\"name\":\"a\",\"type\":\"boolean\",\"fill\":1},"
        "{\"name\":\"a\",\"type\":\"boolean\",\"fill\":1}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        drove_schema *schema;
        if (drove__schema_from_json(texts[i], &schema) != DROVE_E_DATA)
            fail_msg("%s: not refused", texts[i]);
        assert_null(schema);
    }
}

TEST(test_features)
{
    static const char *const expected[] = {"born days",
                                           "born year",
                                           "born month sine",
                                           "born month cosine",
                                           "born day sine",
                                           "born day cosine",
                                           "born weekday sine",
                                           "born weekday cosine",
                                           "born hour sine",
                                           "born hour cosine",
                                           "born missing",
                                           "age",
                                           "age missing",
                                           "town=Caf\xc3\xa9 \"X\"",
                                           "town=Oslo",
                                           "town missing",
                                           "smokes",
                                           "smokes missing",
                                           "code=007",
                                           "code=008",
                                           "code=009",
                                           "note #0"};
    drove_known_table known;
    char name[FEATURE_NAME_SIZE];
    learn_people(&known);
    for (size_t f = 0; f < sizeof expected / sizeof *expected; f++) {
        name_feature(known.schema, f, name);
        assert_string_equal(name, expected[f]);
    }
    assert_false(drove__schema_is_binary(known.schema, 0) ||
                 drove__schema_is_binary(known.schema, 11));
    assert_true(
        drove__schema_is_binary(known.schema, 10) && drove__schema_is_binary(known.schema, 12) &&
        drove__schema_is_binary(known.schema, 14) && drove__schema_is_binary(known.schema, 16));
    drove__known_table_fini(&known);
}

TEST(test_description)
{
    drove_known_table known;
    char text[4096] = "", line[200];
    unsigned n = 0;
    learn_people(&known);
    FILE *stream = fmemopen(text, sizeof text, "w");
    assert_non_null(stream);
    drove__schema_print(known.schema, stream);
    assert_int_equal(fclose(stream), 0);
    assert_non_null(strstr(text, "2001-05-04T10:00"));
    assert_non_null(strstr(text, "id, left out"));
    while (drove__schema_summary(known.schema, n, line, sizeof line)) n++;
    assert_true(n <= DROVE_SUMMARY_LINES_MOST);
    assert_int_equal(n, 7);
    assert_true(drove__schema_summary(known.schema, 0, line, sizeof line));
    assert_string_equal(line, "number: age -> 2 features, 1 with missing cells");
    bool has_id = false;
    for (unsigned i = 0; i < n; i++) {
        assert_true(drove__schema_summary(known.schema, i, line, sizeof line));
        if (strncmp(line, "id: ", 4) != 0) continue;
        has_id = true;
        assert_non_null(strstr(line, " (left out; ?types=NAME:category uses one)"));
    }
    assert_true(has_id);
    char shorter[20];
    assert_true(drove__schema_summary(known.schema, 0, shorter, sizeof shorter));
    assert_string_equal(shorter + 16, "...");
    drove__known_table_fini(&known);
}
