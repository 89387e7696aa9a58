/* YAML: items in their order with their places, as counted by hand; what is refused, and where. */
#include "support.h"

#include "base/yaml.h"

#include <stdio.h>
#include <string.h>

static drove_status open_text(const char *text, drove_yaml **out)
{
    return drove__yaml_open(text, strlen(text), "x.yaml", DROVE_E_DATA, "word: value", out);
}

static void expect(drove_yaml *y, drove_yaml_kind kind, const char *text, int line, int column)
{
    drove_yaml_item item = {0};
    assert_ok(drove__yaml_next(y, &item));
    assert_int_equal(item.kind, kind);
    if (text != NULL) assert_string_equal(item.text, text);
    if (line == 0) return;
    assert_int_equal(item.line, line);
    assert_int_equal(item.column, column);
}

TEST(test_items)
{
    static const char text[] = "# a comment\n"
                               "name: net\n"
                               "empty: ~\n"
                               "none:\n"
                               "quoted: 'null'\n"
                               "list: [1, \"two\"]\n"
                               "inner:\n"
                               "  key: value\n";
    drove_yaml *y;
    int is_empty = 7;
    assert_ok(open_text(text, &y));
    assert_ok(drove__yaml_begin(y, "a mapping", &is_empty));
    assert_int_equal(is_empty, 0);
    expect(y, DROVE_YAML_VALUE, "name", 2, 1);
    expect(y, DROVE_YAML_VALUE, "net", 2, 7);
    expect(y, DROVE_YAML_VALUE, "empty", 3, 1);
    expect(y, DROVE_YAML_VALUE, "", 3, 8);
    expect(y, DROVE_YAML_VALUE, "none", 4, 1);
    expect(y, DROVE_YAML_VALUE, "", 0, 0);
    expect(y, DROVE_YAML_VALUE, "quoted", 5, 1);
    expect(y, DROVE_YAML_VALUE, "null", 5, 9); /* the word, as it is quoted */
    expect(y, DROVE_YAML_VALUE, "list", 6, 1);
    expect(y, DROVE_YAML_LIST, NULL, 6, 7);
    expect(y, DROVE_YAML_VALUE, "1", 6, 8);
    expect(y, DROVE_YAML_VALUE, "two", 6, 11);
    expect(y, DROVE_YAML_LIST_END, NULL, 0, 0);
    expect(y, DROVE_YAML_VALUE, "inner", 7, 1);
    expect(y, DROVE_YAML_MAPPING, NULL, 8, 3);
    expect(y, DROVE_YAML_VALUE, "key", 8, 3);
    expect(y, DROVE_YAML_VALUE, "value", 8, 8);
    expect(y, DROVE_YAML_MAPPING_END, NULL, 0, 0);
    expect(y, DROVE_YAML_MAPPING_END, NULL, 0, 0);
    assert_ok(drove__yaml_finish(y));
    drove__yaml_close(y);
    drove__yaml_close(NULL);
}

TEST(test_empty)
{
    static const char *const texts[] = {"", "\n\n", "# only a comment\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        drove_yaml *y;
        int is_empty = 0;
        assert_ok(open_text(texts[i], &y));
        assert_ok(drove__yaml_begin(y, "a mapping", &is_empty));
        assert_int_equal(is_empty, 1);
        drove__yaml_close(y);
    }
}

/* The whole text as a mapping, and its end. */
static drove_status walk(const char *text)
{
    drove_yaml *y;
    int is_empty;
    drove_yaml_item item = {0};
    DROVE_TRY(open_text(text, &y));
    drove_status status = drove__yaml_begin(y, "a mapping", &is_empty);
    while (status == DROVE_OK && item.kind != DROVE_YAML_MAPPING_END) {
        status = drove__yaml_next(y, &item);
        if (status == DROVE_OK && item.kind != DROVE_YAML_VALUE &&
            item.kind != DROVE_YAML_MAPPING_END)
            status = drove__yaml_unexpected(y, &item, "a value");
    }
    if (status == DROVE_OK) status = drove__yaml_finish(y);
    drove__yaml_close(y);
    return status;
}

TEST(test_refusals)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"a: [", "x.yaml:1:"},
        {"a: b\nc", "x.yaml:2:"},
        {"- a\n", "x.yaml:1:1: expected a mapping, found a list"},
        {"a: [b]\n", "x.yaml:1:4: expected a value, found a list"},
        {"a: {b: c}\n", "x.yaml:1:4: expected a value, found a mapping"},
        {"a: *b\n", "x.yaml:1:"},
        {"a: &b c\nd: *b\n", "x.yaml:2:4: expected a value, found an alias"},
        {"a: b\n---\nc: d\n", "x.yaml:2:1: expected one document, found a second document"},
        {"%YAML 1.1\n---\na: b\n", "x.yaml:1:1: expected word: value, found a YAML directive"},
        {"a: b\xff\n", "x.yaml:1:5: expected UTF-8 text, found other bytes"},
        {"a: b\nc: \xc3\n", "x.yaml:2:4: expected UTF-8 text, found other bytes"},
        {"a: \xc0\xaf\n", "x.yaml:1:4:"},     /* longer than it needs to be */
        {"a: \xe0\x80\xaf\n", "x.yaml:1:4:"}, /* likewise */
        {"a: \xed\xa0\x80\n", "x.yaml:1:4:"}, /* half of a pair of UTF-16 */
        {"a: \xf4\x90\x80\x80\n", "x.yaml:1:4:"},
        {"a: \xf5\x80\x80\x80\n", "x.yaml:1:4:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(walk(cases[i].text), DROVE_E_DATA, cases[i].part);
    assert_ok(walk("a: \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n")); /* two, three, four bytes */
    drove_yaml *y;
    assert_fails(drove__yaml_open("a: b\0c", 6, "x.yaml", DROVE_E_ARG, "word: value", &y),
                 DROVE_E_ARG, "x.yaml:1:5: expected UTF-8 text, found a NUL byte");
}
