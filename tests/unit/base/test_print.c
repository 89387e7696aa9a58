/* Floats as text: the same as printf's, and the same float again. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"

#include <drove/status.h>
#include "support/test.h"

static const char *printed(float value, char into[DROVE_PRINT_FLOAT_SIZE + 1])
{
    size_t n = drove__print_float(value, into);
    assert_true(n <= DROVE_PRINT_FLOAT_SIZE);
    into[n] = '\0';
    return into;
}

TEST(the_form_is_that_of_printf)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {{0.0f, "0"},
                 {-0.0f, "-0"},
                 {1.0f, "1"},
                 {-2.5f, "-2.5"},
                 {0.1f, "0.100000001"},
                 {0.0001f, "9.99999975e-05"},
                 {0.000123f, "0.000123000005"},
                 {1e9f, "1e+09"},
                 {123456792.0f, "123456792"},
                 {0.99999994f, "0.99999994"},
                 {1e-45f, "1.40129846e-45"},
                 {3.40282347e38f, "3.40282347e+38"},
                 {NAN, "nan"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DROVE_PRINT_FLOAT_SIZE + 1];
        assert_string_equal(printed(cases[i].value, text), cases[i].text);
    }
}

/* Every exponent and any bits; probabilities; numbers with few digits. */
TEST(they_read_back_as_they_were)
{
    uint32_t x = 1;
    for (unsigned i = 0; i < 300000; i++) {
        char text[DROVE_PRINT_FLOAT_SIZE + 1], expected[64];
        float value;
        x = x * 1664525u + 1013904223u;
        memcpy(&value, &x, sizeof value);
        if (i % 3 == 1) value = (float)(x >> 8) * 0x1p-24f;
        if (i % 3 == 2) value = (float)(x >> 12) / 1000.0f;
        if (!isfinite(value)) continue;
        snprintf(expected, sizeof expected, "%.9g", (double)value);
        assert_string_equal(printed(value, text), expected);
        assert_true(strtof(text, NULL) == value);
    }
}

TEST(numbers_far_from_zero_keep_the_digits_of_a_float)
{
    static const struct {
        float value;
        double origin;
        const char *text;
    } cases[] = {{0.25f, 1e8, "100000000.25"},
                 {0.0f, 1700000100.6, "1700000100.6"},
                 {1.1f, 1e8, "100000001.1"},
                 {333.0f, 1152921504606846976.0, "1.1529215046068472e+18"},
                 {7e6f, 1152921504606846976.0, "1.152921504613847e+18"},
                 {-2.5f, 0.0, "-2.5"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DROVE_PRINT_FAR_SIZE];
        const size_t n = drove__print_far(cases[i].value, cases[i].origin, text);
        assert_true(n < sizeof text);
        const double whole = cases[i].origin + (double)cases[i].value;
        text[n] = '\0';
        assert_true(fabs(strtod(text, NULL) - whole) <= 6e-8 * fabs((double)cases[i].value));
        assert_string_equal(text, cases[i].text);
    }
}

TEST(control_characters_are_shown)
{
    static const struct {
        const char *text, *plain;
    } cases[] = {{"", ""},
                 {"plain \xc3\xa9 \xe2\x82\xac", "plain \xc3\xa9 \xe2\x82\xac"},
                 {"\x1b[31m", "\\x1b[31m"},
                 {"a\r\nb\t\x7f", "a\\x0d\\x0ab\\x09\\x7f"},
                 {"\xc2\x9bm", "\\x9bm"},
                 {"\xc2\xa0\xc2", "\xc2\xa0\\xc2"},
                 {"\xe9t\xe9", "\\xe9t\\xe9"},
                 {"a\xe2\x80\xaegpj.exe", "a\\u202egpj.exe"},
                 {"\xe2\x81\xa6x\xe2\x80\x8b", "\\u2066x\\u200b"},
                 {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb",
                  "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb"},
                 {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
                 {"\xc0\x9b\xf5", "\\xc0\\x9b\\xf5"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char into[64];
        assert_string_equal(drove__print_plain(cases[i].text, into, sizeof into), cases[i].plain);
    }
}

TEST(cells_are_for_a_spreadsheet)
{
    static const struct {
        const char *prefix, *text, *cell;
    } cases[] = {{"", "yes", "yes"},         {"", "", "\"\""},
                 {"", " x", "\" x\""},       {"p_", "a,b", "\"p_a,b\""},
                 {"", "a\"b", "\"a\"\"b\""}, {"", "=1+2", "'=1+2"},
                 {"p_", "=1+2", "p_=1+2"},   {"", "@sum(a,b)", "\"'@sum(a,b)\""},
                 {"", "+x", "'+x"},          {"", "-", "-"},
                 {"", "-1.5e3", "-1.5e3"},   {"", "+1", "+1"},
                 {"", "-1+cmd", "'-1+cmd"},  {"", "\tx", "'\tx"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char into[64];
        assert_string_equal(drove__print_cell(cases[i].prefix, cases[i].text, into), cases[i].cell);
        assert_true(strlen(into) <
                    DROVE_PRINT_CELL_SIZE(strlen(cases[i].prefix) + strlen(cases[i].text)));
    }
}

TEST(words_are_for_a_shell)
{
    static const struct {
        const char *text, *word;
    } cases[] = {{"people-1", "people-1"},
                 {"data/a.b_c,d=1:2", "data/a.b_c,d=1:2"},
                 {"", "\x27\x27"},
                 {"two words", "'two words'"},
                 {"a;rm -r b", "'a;rm -r b'"},
                 {"it's", "'it'\\''s'"},
                 {"$(x)`y`", "'$(x)`y`'"},
                 {"it's a\ttab", "$'it\\x27s a\\x09tab'"},
                 {"\xe9", "$'\\xe9'"},
                 {"caf\xc3\xa9", "'caf\xc3\xa9'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char into[64];
        assert_string_equal(drove__print_word(cases[i].text, into, sizeof into), cases[i].word);
    }
    for (size_t size = 1; size < 8; size++) { /* cut, and still a word */
        char into[8];
        drove__print_word("a b'c'd", into, size);
        assert_true(strlen(into) < size);
        assert_true(strlen(into) == 0 || into[strlen(into) - 1] == '\'');
    }
    char into[4] = "x";
    assert_string_equal(drove_plain_text(NULL, into, sizeof into), "");
}

/* Cut at the size, but not within an escape. */
TEST(plain_text_keeps_to_its_size)
{
    static const char *const expected[] = {"",       "a",       "a",        "a",       "a",
                                           "a\\x1b", "a\\x1bb", "a\\x1bbc", "a\\x1bbc"};
    for (size_t size = 1; size <= sizeof expected / sizeof *expected; size++) {
        char into[16];
        memset(into, '#', sizeof into);
        assert_string_equal(drove__print_plain("a\x1b"
                                               "bc",
                                               into, size),
                            expected[size - 1]);
        assert_int_equal(into[size], '#');
    }
}
