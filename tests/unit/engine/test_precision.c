/* What a DMGC signature asks of the kernels (engine/linear/precision.h): number formats, or why
 * not; and what the option says of words, factors and exchanges. */
#include "engine/linear/precision.h"
#include "support/test.h"

#include "base/mem.h"

#include <string.h>

TEST(signatures_have_formats)
{
    static const struct {
        const char *signature;
        bool is_sparse;
        drove_number data, model;
        unsigned index_bits, gradient_bits;
    } cases[] = {{"D8M8", false, DROVE_I8, DROVE_I8, 0, 0},
                 {"D16M8", false, DROVE_I16, DROVE_I8, 0, 0},
                 {"D8M16", false, DROVE_I8, DROVE_I16, 0, 0},
                 {"D4M4", false, DROVE_I4, DROVE_I4, 0, 0},
                 {"D4M8", false, DROVE_I4, DROVE_I8, 0, 0},
                 {"D8M4", false, DROVE_I8, DROVE_I4, 0, 0},
                 {"M8", false, DROVE_F32, DROVE_I8, 0, 0}, /* what is left out has full precision */
                 {"D8", false, DROVE_I8, DROVE_F32, 0, 0},
                 {"D32fM16", false, DROVE_F32, DROVE_I16, 0, 0},
                 {"D8M32f", false, DROVE_I8, DROVE_F32, 0, 0},
                 {"D8M8G32f", false, DROVE_I8, DROVE_I8, 0, 0},
                 {"D8M8G8", false, DROVE_I8, DROVE_I8, 0, 8},
                 {"D8i16M8G24", true, DROVE_I8, DROVE_I8, 16, 24},
                 {"G10", false, DROVE_F32, DROVE_F32, 0, 10}, /* Courbariaux et al. */
                 {"D8M8C8s", false, DROVE_I8, DROVE_I8, 0, 0},
                 {"D8i16M8", true, DROVE_I8, DROVE_I8, 16, 0},
                 {"D8i8M8", true, DROVE_I8, DROVE_I8, 8, 0},
                 {"D16i32M16", true, DROVE_I16, DROVE_I16, 32, 0},
                 {"i8M8", true, DROVE_F32, DROVE_I8, 8, 0},
                 {"D8[i8]M8", false, DROVE_I8, DROVE_I8, 0, 0}, /* sparse or not */
                 {"D8[i8]M8", true, DROVE_I8, DROVE_I8, 8, 0}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        drove_precision p;
        if (drove__precision_resolve(cases[c].signature, cases[c].is_sparse, &p) != DROVE_OK)
            fail_msg("%s: %s", cases[c].signature, drove_error_text());
        assert_int_equal(p.data, cases[c].data);
        assert_int_equal(p.model, cases[c].model);
        assert_int_equal(p.index_bits, cases[c].index_bits);
        assert_int_equal(p.gradient_bits, cases[c].gradient_bits);
        assert_string_equal(p.text, cases[c].signature);
        assert_int_equal(drove__precision_check(cases[c].signature), DROVE_OK);
    }
}

TEST(what_has_no_kernels_is_told)
{
    static const struct {
        const char *signature;
        bool is_sparse;
        drove_status status;
        const char *text;
    } cases[] = {
        {"D7M8", false, DROVE_E_UNSUPPORTED, "expected D8, D16 or D32f"},
        {"D32M8", false, DROVE_E_UNSUPPORTED, "found D32"},
        {"D16fM8", false, DROVE_E_UNSUPPORTED, "found D16f"},
        {"D8M5", false, DROVE_E_UNSUPPORTED, "expected M8, M16 or M32f"},
        {"D8M16f", false, DROVE_E_UNSUPPORTED, "found M16f"},
        {"D8M8G1", false, DROVE_E_UNSUPPORTED, "expected G2 to G24, G32f or no G"},
        {"D8M8G25", false, DROVE_E_UNSUPPORTED, "found G25"},
        {"D8M8G32", false, DROVE_E_UNSUPPORTED, "found G32"},
        {"D8M8G16f", false, DROVE_E_UNSUPPORTED, "found G16f"},
        {"D8i9M8", true, DROVE_E_UNSUPPORTED, "expected i8, i16 or i32"},
        {"D8M8", true, DROVE_E_ARG, "the data are sparse: expected an index term"},
        {"D8i16M8", false, DROVE_E_ARG, "the data are dense: expected no index term, found i16"},
        {"D4i16M8", true, DROVE_E_UNSUPPORTED, "4 bits are for dense data, found D4"},
        {"D8i16M4", true, DROVE_E_UNSUPPORTED, "4 bits are for dense data, found M4"},
        {"D8X8", false, DROVE_E_ARG, "--precision"},
    };
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        drove_precision p = {.text = "as before"};
        drove_status status = drove__precision_resolve(cases[c].signature, cases[c].is_sparse, &p);
        if (status != cases[c].status || strstr(drove_error_text(), cases[c].text) == NULL)
            fail_msg("%s: status %d: %s", cases[c].signature, status, drove_error_text());
        assert_string_equal(p.text, "as before");
    }
    assert_int_equal(drove__precision_check("D7M8"), DROVE_E_UNSUPPORTED);
    assert_int_equal(drove__precision_check("D8i16M8"), DROVE_OK); /* some data are sparse */
    assert_int_equal(drove__precision_check("D8M8"), DROVE_OK);    /* and some are not */
}

TEST(words_of_the_option_are_told_apart)
{
    static const struct {
        const char *word;
        bool is_words, is_exchange, has_exchange, is_bf16;
    } cases[] = {{"", false, false, false, false},
                 {"bf16", false, false, false, true},
                 {"bf16?masters=bf16", true, false, false, true},
                 {"bf1", true, false, false, false},
                 {"bf166", true, false, false, false},
                 {"tf32", true, false, false, false},
                 {"D8M8", true, false, false, false},
                 {"D8M8C8s", true, false, true, false},
                 {"C8s", false, true, true, false},
                 {"C8", false, true, true, false},
                 {"G1C1s", false, true, true, false},
                 {"G2C1s", true, false, true, false}, /* gradients of other words */
                 {"D8C8s", true, false, true, false},
                 {"M8C8s", true, false, true, false},
                 {"i8C8s", true, false, true, false},
                 {"G8", true, false, false, false}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        const char *word = cases[c].word;
        if (drove__precision_is_words(word) != cases[c].is_words ||
            drove__precision_is_exchange(word) != cases[c].is_exchange ||
            drove__precision_has_exchange(word) != cases[c].has_exchange)
            fail_msg("\"%s\": words %d, exchange %d, has one %d", word,
                     drove__precision_is_words(word), drove__precision_is_exchange(word),
                     drove__precision_has_exchange(word));
        assert_int_equal(drove__precision_factors(word),
                         cases[c].is_bf16 ? DROVEK_FACTORS_BF16 : DROVEK_FACTORS_F32);
    }
}
