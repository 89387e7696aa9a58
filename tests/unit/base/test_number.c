/* Numbers against the C library's strtof and strtod, bit for bit, on random and on the hardest
 * texts. */
#include "support.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/spec.h"
#include "support/comma.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* text as a whole is one number, the same as strtof's. */
static void compare(const char *text)
{
    const char *end = text + strlen(text), *next = NULL;
    float found = -1.0f, expected = strtof(text, NULL);
    if (!drove__scan_float(text, end, &next, &found)) fail_msg("\"%s\" is no number", text);
    if (next != end) fail_msg("\"%s\": stopped at byte %d", text, (int)(next - text));
    if (bits_of(found) != bits_of(expected)) {
        fail_msg("\"%s\": expected %a, found %a", text, (double)expected, (double)found);
    }
}

TEST(test_random_decimals)
{
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    for (int i = 0; i < 1000000; i++) {
        char text[80];
        int n = 0;
        unsigned n_whole = (unsigned)drove__rng_below(&rng, 12);
        unsigned n_fraction = (unsigned)drove__rng_below(&rng, n_whole == 0 ? 20 : 14);
        if (n_whole + n_fraction == 0) n_whole = 1;
        if (drove__rng_below(&rng, 2) != 0) text[n++] = "+-"[drove__rng_below(&rng, 2)];
        while (n_whole-- > 0) text[n++] = (char)('0' + drove__rng_below(&rng, 10));
        if (n_fraction > 0) text[n++] = '.';
        while (n_fraction-- > 0) text[n++] = (char)('0' + drove__rng_below(&rng, 10));
        text[n] = '\0';
        if (drove__rng_below(&rng, 2) != 0) {
            snprintf(text + n, 16, "%c%d", "eE"[drove__rng_below(&rng, 2)],
                     (int)drove__rng_below(&rng, 110) - 60);
        }
        compare(text);
    }
}

/* Every float comes back from 9 digits, and from the exact decimal form that libraries write. */
TEST(test_floats_come_back)
{
    drove_rng rng;
    drove__rng_seed(&rng, 2, DROVE_RNG_TEST, 0);
    for (int i = 0; i < 200000; i++) {
        float x = float_of((uint32_t)drove__rng_u64(&rng)), found;
        char text[200];
        const char *next;
        if (!isfinite(x)) continue;
        static const char *const formats[] = {"%.9g", "%.8e", "%.18e", "%.17g", "%.60g"};
        snprintf(text, sizeof text, formats[i % 5], (double)x);
        assert_true(drove__scan_float(text, text + strlen(text), &next, &found));
        assert_int_equal(bits_of(found), bits_of(x));
    }
}

/* The exact middle between two floats, and the nearest decimals on its two sides. */
TEST(test_middles)
{
    drove_rng rng;
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, 0);
    for (int i = 0; i < 100000; i++) {
        uint32_t bits = (uint32_t)drove__rng_below(&rng, 0x7f7fffff); /* normal and subnormal */
        double middle = ((double)float_of(bits) + (double)float_of(bits + 1)) / 2;
        char text[400];
        int n = snprintf(text, sizeof text, "%.*e", 10 + (int)drove__rng_below(&rng, 140), middle);
        compare(text);
        char *exponent = strchr(text, 'e');
        char *last = exponent - 1;
        if (*last < '9') ++*last;
        else *last = '8';
        compare(text);
        memmove(exponent + 30, exponent, (size_t)(text + n + 1 - exponent));
        memset(exponent, '0', 29);
        exponent[29] = '1';
        compare(text);
    }
}

TEST(test_extremes)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "000",
        ".5",
        "5.",
        "-.5e-3",
        "00000000000000000000000000012",
        "1e0",
        "1E+2",
        "3.4028234663852886e38",
        "3.4028235677973366e38",
        "3.40282356779733661637539395458142568447e38",
        "3.40282356779733661637539395458142568448e38",
        "3.5e38",
        "1e39",
        "-1e39",
        "1e999999999999999999999",
        "1.17549435e-38",
        "1.1754943508222875e-38",
        "1.17549428e-38",
        "1.401298464324817e-45",
        "7.006492321624085e-46",
        "7.006492321624086e-46",
        "7.0064923216240853546186479164495806564013e-46",
        "7.0064923216240853546186479164495806564014e-46",
        "1e-46",
        "1e-999999999999999999999",
        "0e99999",
        "16777217",
        "16777219",
        "16777217.0000000000000000000000000000000001",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999999999999999999999e-20",
        "123456789012345678901234567890.123456789012345678901234567890e-25",
        "1e22",
        "1e23",
        "8.5e22",
        "0.000000000000000000000000000000000000000000001",
        "1e60",
        "1e-60",
        "1e38",
        "1e-38",
    };
    for (size_t i = 0; i < DROVE_COUNT(texts); i++) compare(texts[i]);
}

TEST(test_very_long_texts)
{
    enum { SIZE = 3000 };
    char text[SIZE + 32];
    for (int kind = 0; kind < 6; kind++) {
        memset(text, kind % 2 == 0 ? '0' : '7', SIZE);
        text[1] = '.';
        if (kind >= 2) text[SIZE - 1] = '1';
        if (kind >= 4) text[1] = '5';
        snprintf(text + SIZE, 32, "e%d",
                 (kind == 2 || kind == 4 ? 2990 : -2) - (kind >= 4 ? 3000 : 0));
        compare(text);
    }
    /* A middle whose only difference is its 2500th digit. */
    memset(text, '0', SIZE);
    memcpy(text, "16777217.", 9);
    text[2500] = '\0';
    compare(text);
    text[2499] = '1';
    compare(text);
    assert_true(strtof(text, NULL) == 16777218.0f);
    /* A million zeros before the first digit, and the exponent that undoes them. */
    char *huge = malloc(1000100);
    assert_non_null(huge);
    memset(huge, '0', 1000010);
    huge[1] = '.';
    strcpy(huge + 1000002, "25e1000001");
    compare(huge);
    assert_true(strtof(huge, NULL) == 2.5f);
    free(huge);
}

TEST(test_where_a_number_ends)
{
    static const struct {
        const char *text;
        int used; /* -1: no number */
        float value;
    } expected[] = {
        {"", -1, 0},
        {"-", -1, 0},
        {"+", -1, 0},
        {".", -1, 0},
        {"-.", -1, 0},
        {"e5", -1, 0},
        {" 1", -1, 0},
        {"\t1", -1, 0},
        {"--1", -1, 0},
        {"+-1", -1, 0},
        {"x", -1, 0},
        {"i", -1, 0},
        {"in", -1, 0},
        {"na", -1, 0},
        {"1 ", 1, 1},
        {"1,2", 1, 1},
        {"1.5.2", 3, 1.5f},
        {"1e", 1, 1},
        {"1e+", 1, 1},
        {"1e-x", 1, 1},
        {"1e5x", 3, 1e5f},
        {"2:3", 1, 2},
        {"0x10", 1, 0},
        {"1.e2", 4, 100},
        {"1-2", 1, 1},
        {"1e2e3", 3, 100},
        {"1_000", 1, 1},
        {"1.", 2, 1},
        {"12\0"
         "34",
         2, 12},
    };
    for (size_t i = 0; i < DROVE_COUNT(expected); i++) {
        size_t n = strlen(expected[i].text);
        char *exact = malloc(n + 1); /* no NUL: reading on would be an error of the sanitizer */
        assert_non_null(exact);
        memcpy(exact, expected[i].text, n);
        const char *next = NULL;
        float value = 77.0f;
        bool found = drove__scan_float(exact, exact + n, &next, &value);
        if (found != (expected[i].used >= 0)) fail_msg("\"%s\": %d", expected[i].text, found);
        if (found) {
            assert_int_equal(next - exact, expected[i].used);
            assert_true(value == expected[i].value);
        } else {
            assert_null(next);
            assert_true(value == 77.0f);
        }
        free(exact);
    }
}

/* Digits are read eight at a time: no byte behind them, and no count of them, may mislead that. */
TEST(test_any_byte_ends_the_digits)
{
    static const char digits[] = "31415926535897932384626";
    for (int byte = 0; byte < 256; byte++) {
        for (int n = 0; n < 22; n++) {
            char plain[32], text[48];
            const char *next = NULL;
            float found = 77.0f;
            if ((byte >= '0' && byte <= '9') || byte == 'e' || byte == 'E') continue;
            int n_plain = snprintf(plain, sizeof plain, "-7.%.*s", n, digits);
            int n_text = snprintf(text, sizeof text, "%s%c%s", plain, byte, "9876543210");
            assert_true(drove__scan_float(text, text + n_text, &next, &found));
            assert_int_equal(next - text, n_plain);
            assert_int_equal(bits_of(found), bits_of(strtof(plain, NULL)));
        }
    }
}

TEST(test_buffer_ends_are_kept)
{
    static const char text[] = "-12.25e-2";
    for (size_t n = 0; n < sizeof text; n++) {
        char *exact = malloc(n > 0 ? n : 1);
        assert_non_null(exact);
        memcpy(exact, text, n);
        const char *next;
        float value;
        if (drove__scan_float(exact, exact + n, &next, &value)) assert_true(next <= exact + n);
        uint64_t whole;
        if (n > 1 && drove__scan_u64(exact + 1, exact + n, &next, &whole)) {
            assert_true(next <= exact + n && whole == (n > 2 ? 12 : 1));
        }
        free(exact);
    }
}

TEST(test_infinity_and_nan)
{
    static const char *const infinite[] = {"inf", "+inf", "INF", "Infinity", "iNfInItY"};
    const char *next;
    float value;
    for (size_t i = 0; i < DROVE_COUNT(infinite); i++) {
        const char *end = infinite[i] + strlen(infinite[i]);
        assert_true(drove__scan_float(infinite[i], end, &next, &value));
        assert_true(isinf(value) && value > 0 && next == end);
    }
    const char minus[] = "-inf,";
    assert_true(drove__scan_float(minus, minus + 5, &next, &value) && value == -INFINITY);
    const char nan_text[] = "NaN", minus_nan[] = "-nan", partial[] = "infinit";
    assert_true(drove__scan_float(nan_text, nan_text + 3, &next, &value) && isnan(value));
    assert_true(drove__scan_float(minus_nan, minus_nan + 4, &next, &value) && isnan(value));
    assert_true(drove__scan_float(partial, partial + 7, &next, &value) && next == partial + 3);
    assert_false(drove__scan_float(nan_text, nan_text + 2, &next, &value));
}

TEST(test_whole_numbers)
{
    static const struct {
        const char *text;
        int used;
        uint64_t value;
    } expected[] = {
        {"0", 1, 0},   {"00012:", 5, 12}, {"18446744073709551615", 20, UINT64_MAX}, {"7,", 1, 7},
        {"", -1, 0},   {"-1", -1, 0},     {"18446744073709551616", -1, 0},          {"+1", -1, 0},
        {" 1", -1, 0}, {"x", -1, 0},      {"99999999999999999999999", -1, 0},
    };
    for (size_t i = 0; i < DROVE_COUNT(expected); i++) {
        const char *text = expected[i].text, *next = NULL;
        uint64_t value = 0;
        bool found = drove__scan_u64(text, text + strlen(text), &next, &value);
        if (found != (expected[i].used >= 0)) fail_msg("\"%s\": %d", text, found);
        if (found) assert_true(next - text == expected[i].used && value == expected[i].value);
    }
}

TEST(test_parse_u64)
{
    static const char *const wrong[] = {"",  "-1", "+1", " 1",  "1 ",  "1.0",
                                        "9", "a",  "4k", "0x5", "1e1", "18446744073709551616"};
    uint64_t n = 3;
    assert_ok(drove__parse_u64("--batch", "5", 5, 8, &n));
    assert_int_equal(n, 5);
    assert_ok(drove__parse_u64("--batch", "8", 5, 8, &n));
    for (size_t i = 0; i < DROVE_COUNT(wrong); i++) {
        assert_fails(drove__parse_u64("--batch", wrong[i], 0, 8, &n), DROVE_E_ARG,
                     "--batch: expected a whole number from 0 to 8");
        assert_int_equal(n, 8);
    }
}

TEST(test_parse_real)
{
    static const char *const wrong[] = {"",    "inf", "nan",   " 1",  "1 ",
                                        "1,5", "1e",  "0x1p3", "--1", "."};
    double x = 3.0;
    for (size_t i = 0; i < DROVE_COUNT(wrong); i++) {
        assert_fails(drove__parse_real("--lr", wrong[i], -INFINITY, INFINITY, &x), DROVE_E_ARG,
                     "--lr: expected a number, found");
        assert_true(x == 3.0);
    }
    static const char *const large[] = {"1e999", "-1e999"};
    for (size_t i = 0; i < DROVE_COUNT(large); i++) {
        assert_fails(drove__parse_real("--lr", large[i], -INFINITY, INFINITY, &x), DROVE_E_ARG,
                     "--lr: expected a number of at most 1.798e+308 in size, found");
        assert_true(x == 3.0);
    }
    assert_fails(drove__parse_real("--lr", "0", DBL_MIN, INFINITY, &x), DROVE_E_ARG,
                 "--lr: expected a number above 0, found \"0\"");
    assert_fails(drove__parse_real("--lr", "1", 0, 1 - DBL_EPSILON / 2, &x), DROVE_E_ARG,
                 "--lr: expected a number of at least 0 and below 1, found \"1\"");
    assert_fails(drove__parse_real("--lr", "9", -INFINITY, 8, &x), DROVE_E_ARG,
                 "a number of at most 8");
    assert_fails(drove__parse_real("--lr", "0", 1, INFINITY, &x), DROVE_E_ARG,
                 "a number of at least 1");
    assert_fails(drove__parse_real("--lr", "0", DBL_MIN, 1, &x), DROVE_E_ARG,
                 "above 0 and of at most 1");
    drove_rng rng;
    drove__rng_seed(&rng, 4, DROVE_RNG_TEST, 0);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = drove__rng_u64(&rng);
        double expected;
        char text[900];
        memcpy(&expected, &bits, sizeof expected);
        if (!isfinite(expected)) continue;
        snprintf(text, sizeof text, i % 10 == 0 ? "%.800g" : "%.17g", expected);
        assert_ok(drove__parse_real("x", text, -INFINITY, INFINITY, &x));
        assert_memory_equal(&x, &expected, sizeof x);
    }
}

TEST(test_locale_does_not_matter)
{
    if (drove_test_set_comma_locale() == NULL) {
        print_message("no locale with a decimal comma here: skipped\n");
        skip();
    }
    const char text[] = "1.5e-42"; /* subnormal: the long way */
    const char *next;
    float value = 0;
    double x = 0;
    bool found = drove__scan_float(text, text + 7, &next, &value);
    drove_status status = drove__parse_real("x", "1.25", 0, 2, &x);
    setlocale(LC_ALL, "C");
    assert_true(found && value == 1.5e-42f && next == text + 7);
    assert_int_equal(status, DROVE_OK);
    assert_true(x == 1.25);
}
