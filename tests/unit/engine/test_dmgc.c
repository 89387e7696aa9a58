/* DMGC signatures: the notation taken apart by hand, what is refused and where, thousands of random
 * signatures there and back, and the systems of the paper's Table 1. */
#include "base/rng.h"
#include "engine/linear/dmgc.h"
#include "support/test.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static drove_dmgc parsed(const char *text)
{
    drove_dmgc s;
    if (drove_dmgc_parse(text, &s) != DROVE_OK) fail_msg("%s", drove_error_text());
    return s;
}

static void expect_equal(const drove_dmgc *a, const drove_dmgc *b, const char *text)
{
    for (unsigned c = 0; c < DROVE_DMGC_CLASSES; c++) {
        if (a->term[c].is_present != b->term[c].is_present || a->term[c].bits != b->term[c].bits ||
            a->term[c].is_float != b->term[c].is_float) {
            fail_msg("%s: term %u differs", text, c);
        }
    }
    if (a->is_possibly_sparse != b->is_possibly_sparse || a->is_synchronous != b->is_synchronous) {
        fail_msg("%s: [i] or s differs", text);
    }
}

/* ---- reading and writing ---- */

/* Bits; 0: not written; negative: a float. */
typedef struct reading {
    const char *text;
    int bits[DROVE_DMGC_CLASSES]; /* D i M G C */
    int is_possibly_sparse, is_synchronous;
} reading;

static const reading readings[] = {
    {"D8M8", {8, 0, 8, 0, 0}, 0, 0},
    {"D8i16M8", {8, 16, 8, 0, 0}, 0, 0},
    {"D8[i8]M16", {8, 8, 16, 0, 0}, 1, 0},
    {"D32fi32M32f", {-32, 32, -32, 0, 0}, 0, 0},
    {"D8M16G32C32", {8, 0, 16, 32, 32}, 0, 0},
    {"D8M16G32fC32f", {8, 0, 16, -32, -32}, 0, 0},
    {"G18", {0, 0, 0, 18, 0}, 0, 0},
    {"G1C1s", {0, 0, 0, 1, 1}, 0, 1},
    {"C1s", {0, 0, 0, 0, 1}, 0, 1},
    {"C16fs", {0, 0, 0, 0, -16}, 0, 1},
    {"C16f", {0, 0, 0, 0, -16}, 0, 0},
    {"i1", {0, 1, 0, 0, 0}, 0, 0},
    {"[i64]", {0, 64, 0, 0, 0}, 1, 0},
    {"M3f", {0, 0, -3, 0, 0}, 0, 0},
    {"D3M5", {3, 0, 5, 0, 0}, 0, 0},
    {"D64f[i64]M64fG64fC64fs", {-64, 64, -64, -64, -64}, 1, 1},
};

static drove_dmgc built(const reading *r)
{
    drove_dmgc s = {.is_possibly_sparse = r->is_possibly_sparse,
                    .is_synchronous = r->is_synchronous};
    for (unsigned c = 0; c < DROVE_DMGC_CLASSES; c++) {
        int bits = r->bits[c];
        if (bits == 0) continue;
        s.term[c] = (drove_dmgc_term){1, (unsigned)(bits < 0 ? -bits : bits), bits < 0};
    }
    return s;
}

TEST(test_readings)
{
    for (size_t i = 0; i < COUNT(readings); i++) {
        char text[DROVE_DMGC_TEXT_SIZE];
        drove_dmgc expected = built(&readings[i]), found = parsed(readings[i].text);
        expect_equal(&found, &expected, readings[i].text);
        assert_int_equal(drove_dmgc_print(&expected, text), DROVE_OK);
        assert_string_equal(text, readings[i].text);
    }
}

static drove_dmgc random_signature(drove_rng *rng)
{
    drove_dmgc s = {0};
    for (unsigned c = 0; c < DROVE_DMGC_CLASSES; c++) {
        if (drove__rng_below(rng, 3) == 0) continue;
        int is_float = c != DROVE_DMGC_INDEX && drove__rng_below(rng, 2) == 0;
        unsigned least = is_float ? 3 : 1;
        unsigned bits = least + (unsigned)drove__rng_below(rng, 65 - least);
        s.term[c] = (drove_dmgc_term){1, bits, is_float};
    }
    if (s.term[DROVE_DMGC_INDEX].is_present) s.is_possibly_sparse = (int)drove__rng_below(rng, 2);
    if (s.term[DROVE_DMGC_COMMUNICATION].is_present) {
        s.is_synchronous = (int)drove__rng_below(rng, 2);
    }
    return s;
}

TEST(test_there_and_back)
{
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    for (unsigned i = 0; i < 20000; i++) {
        char text[DROVE_DMGC_TEXT_SIZE], line[DROVE_DMGC_LINE_SIZE];
        drove_dmgc s = random_signature(&rng);
        if (drove_dmgc_print(&s, text) != DROVE_OK) {
            assert_string_equal(drove_error_text(),
                                "signature: expected at least one of D, i, M, G and C, "
                                "found no term");
            continue;
        }
        drove_dmgc again = parsed(text);
        expect_equal(&again, &s, text);
        for (int c = 0; c < DROVE_DMGC_CLASSES; c++) {
            assert_int_equal(drove_dmgc_explain(&s, (drove_dmgc_class)c, line), DROVE_OK);
        }
    }
}

/* Either refused in one line of plain characters, or printed as it is. */
static void expect_refused_or_same(const char *text)
{
    char printed[DROVE_DMGC_TEXT_SIZE];
    drove_dmgc s;
    if (drove_dmgc_parse(text, &s) != DROVE_OK) {
        assert_null(strpbrk(drove_error_text(), "\n\xff"));
        return;
    }
    assert_int_equal(drove_dmgc_print(&s, printed), DROVE_OK);
    assert_string_equal(printed, text);
}

/* Each text cut, and with one character left out, put in or replaced. */
TEST(test_damaged)
{
    static const char alphabet[] = "DiMGC[]fs019 ^x\n\xff";
    for (size_t i = 0; i < COUNT(readings); i++) {
        const char *text = readings[i].text;
        for (size_t at = 0; at < strlen(text); at++) {
            char damaged[64];
            snprintf(damaged, sizeof damaged, "%.*s", (int)at, text);
            expect_refused_or_same(damaged);
            snprintf(damaged, sizeof damaged, "%.*s%s", (int)at, text, text + at + 1);
            expect_refused_or_same(damaged);
            for (const char *c = alphabet; *c != '\0'; c++) {
                snprintf(damaged, sizeof damaged, "%.*s%c%s", (int)at, text, *c, text + at);
                expect_refused_or_same(damaged);
                snprintf(damaged, sizeof damaged, "%.*s%c%s", (int)at, text, *c, text + at + 1);
                expect_refused_or_same(damaged);
            }
        }
    }
}

typedef struct refusal {
    const char *text;
    unsigned character;
    const char *expected, *found;
} refusal;

static const char bits_expected[] = "the number of bits, 1 to 64";

static const refusal refusals[] = {
    {"", 1, "D, i or [i, M, G or C", "the end"},
    {" D8", 1, "D, i or [i, M, G or C", "\" \""},
    {"d8m8", 1, "D, i or [i, M, G or C", "\"d\""},
    {"8", 1, "D, i or [i, M, G or C", "\"8\""},
    {"[D8]", 1, "D, i or [i, M, G or C", "\"[\""},
    {"D", 2, bits_expected, "the end"},
    {"DM8", 2, bits_expected, "\"M\""},
    {"D0M8", 2, bits_expected, "\"0\""},
    {"D08", 2, bits_expected, "\"08\""},
    {"D-8", 2, bits_expected, "\"-\""},
    {"D8M65", 4, bits_expected, "\"65\""},
    {"D4294967304", 2, bits_expected, "\"4294967304\""},
    {"D123456789012345678901234", 2, bits_expected, "\"12345678901234567890...\""},
    {"D8 M8", 3, "f, i or [i, M, G, C or the end", "\" \""},
    {"D8s", 3, "f, i or [i, M, G, C or the end", "\"s\""},
    {"D8fx", 4, "i or [i, M, G, C or the end", "\"x\""},
    {"D8ff", 4, "i or [i, M, G, C or the end", "\"f\""},
    {"D^8", 2, bits_expected, "\"^\""},
    {"D8i8f", 5, "M, G, C or the end", "\"f\""},
    {"D8[i8M8", 6, "]", "\"M\""},
    {"D8[i8", 6, "]", "the end"},
    {"D8[i]M8", 5, bits_expected, "\"]\""},
    {"D8i8]", 5, "M, G, C or the end", "\"]\""},
    {"D8[", 3, "f, i or [i, M, G, C or the end", "\"[\""},
    {"M8D8", 3, "f, G, C or the end (each term once, in the order D i M G C)", "\"D\""},
    {"D8D8", 3, "f, i or [i, M, G, C or the end (each term once, in the order D i M G C)", "\"D\""},
    {"M8[i8]", 3, "f, G, C or the end (each term once, in the order D i M G C)", "\"[\""},
    {"Cs1", 2, bits_expected, "\"s\""},
    {"C1sf", 4, "the end", "\"f\""},
    {"C8x", 3, "f, s or the end", "\"x\""},
    {"C8fx", 4, "s or the end", "\"x\""},
    {"D2f", 3, "no f, as a float has 3 bits or more", "\"f\""},
    {"D8\xc3\xa9", 3, "f, i or [i, M, G, C or the end", "the byte 0xc3"},
    {"D8\n", 3, "f, i or [i, M, G, C or the end", "the byte 0x0a"},
    {"D8\x1f", 3, "f, i or [i, M, G, C or the end", "the byte 0x1f"},
    {"D8\x7f", 3, "f, i or [i, M, G, C or the end", "the byte 0x7f"},
    {"D8~", 3, "f, i or [i, M, G, C or the end", "\"~\""},
    {"D640", 2, bits_expected, "\"640\""},
    {"D12345678901234567890", 2, bits_expected, "\"12345678901234567890\""},
};

/* A text as errors show it: on one line of plain characters, at most 47. */
static void shown_by_hand(const char *text, char into[48])
{
    size_t n = strlen(text);
    snprintf(into, 48, "%.*s%s", n > 47 ? 44 : 47, text, n > 47 ? "..." : "");
    for (char *c = into; *c != '\0'; c++)
        if (*c < ' ' || *c > '~') *c = '?';
}

TEST(test_refusals)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        const refusal *r = &refusals[i];
        drove_dmgc s = {.is_synchronous = 77};
        char shown[48], text[320];
        shown_by_hand(r->text, shown);
        snprintf(text, sizeof text, "signature \"%s\": character %u: expected %s, found %s", shown,
                 r->character, r->expected, r->found);
        assert_int_equal(drove_dmgc_parse(r->text, &s), DROVE_E_ARG);
        assert_int_equal(s.is_synchronous, 77); /* untouched */
        assert_string_equal(drove_error_text(), text);
    }
}

/* One that is too long for a line ends in dots. */
TEST(test_long_texts)
{
    static const size_t lengths[] = {46, 47, 48, 399};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        char longer[400], text[160];
        drove_dmgc s;
        memset(longer, 'x', lengths[i]);
        longer[lengths[i]] = '\0';
        snprintf(text, sizeof text,
                 "signature \"%.*s%s\": character 1: expected D, i or [i, M, G or C, found \"x\"",
                 lengths[i] > 47 ? 44 : (int)lengths[i], longer, lengths[i] > 47 ? "..." : "");
        assert_int_equal(drove_dmgc_parse(longer, &s), DROVE_E_ARG);
        assert_string_equal(drove_error_text(), text);
    }
}

TEST(test_impossible_structs)
{
    char text[DROVE_DMGC_TEXT_SIZE], line[DROVE_DMGC_LINE_SIZE];
    drove_dmgc good = parsed("D8i8M8C1s"), bad[10];
    for (size_t i = 0; i < COUNT(bad); i++) bad[i] = good;
    bad[0].term[DROVE_DMGC_DATASET].bits = 0;
    bad[1].term[DROVE_DMGC_MODEL].bits = 65;
    bad[2].term[DROVE_DMGC_MODEL] = (drove_dmgc_term){1, 2, 1};
    bad[3].term[DROVE_DMGC_INDEX].is_float = 1;
    bad[4].term[DROVE_DMGC_GRADIENT].bits = 8;                          /* but not present */
    bad[5].term[DROVE_DMGC_COMMUNICATION] = (drove_dmgc_term){0, 0, 0}; /* but synchronous */
    bad[6].term[DROVE_DMGC_INDEX] = (drove_dmgc_term){0, 0, 0};
    bad[6].is_possibly_sparse = 1;
    memset(&bad[7], 0, sizeof bad[7]);
    bad[8].term[DROVE_DMGC_GRADIENT].is_float = 1; /* but not present */
    bad[9].term[DROVE_DMGC_COMMUNICATION].bits = 4000000000u;
    static const char *const why[COUNT(bad)] = {
        "term D: expected 1 to 64 bits, for a float 3 to 64, found 0 bits",
        "term M: expected 1 to 64 bits, for a float 3 to 64, found 65 bits",
        "term M: expected 1 to 64 bits, for a float 3 to 64, found 2 bits, float",
        "term i: expected an integer, found a float",
        "term G: expected 0 bits, as it is not present, found 8 bits",
        "term C: expected a term, as workers synchronise, found none",
        "term i: expected a term, as the problem is possibly sparse, found none",
        "expected at least one of D, i, M, G and C, found no term",
        "term G: expected 0 bits, as it is not present, found 0 bits, float",
        "term C: expected 1 to 64 bits, for a float 3 to 64, found 4000000000 bits",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(drove_dmgc_print(&bad[i], text), DROVE_E_ARG);
        assert_int_equal(strncmp(drove_error_text(), "signature: ", 11), 0);
        assert_string_equal(drove_error_text() + 11, why[i]);
        assert_int_equal(drove_dmgc_explain(&bad[i], DROVE_DMGC_MODEL, line), DROVE_E_ARG);
    }
    assert_int_equal(drove_dmgc_explain(&good, DROVE_DMGC_CLASSES, line), DROVE_E_ARG);
    assert_string_equal(drove_error_text(), "class of numbers: expected 0 to 4, found 5");
    assert_int_equal(drove_dmgc_print(&good, text), DROVE_OK);
}

/* ---- meaning ---- */

static void expect_line(const char *text, drove_dmgc_class which, const char *expected)
{
    char line[DROVE_DMGC_LINE_SIZE];
    drove_dmgc s = parsed(text);
    assert_int_equal(drove_dmgc_explain(&s, which, line), DROVE_OK);
    assert_string_equal(line, expected);
}

TEST(test_words)
{
    expect_line("D8M8", DROVE_DMGC_DATASET, "8-bit fixed point, quantised once, before training");
    expect_line("D32fM8", DROVE_DMGC_DATASET, "32-bit floating point");
    expect_line("M8", DROVE_DMGC_DATASET, "D is omitted: full precision, 32-bit floating point");
    expect_line("D8i8M8", DROVE_DMGC_INDEX, "8-bit integers, the problem is sparse");
    expect_line("D8[i8]M8", DROVE_DMGC_INDEX,
                "8-bit integers if the problem is sparse; it may be dense");
    expect_line("D33fM8", DROVE_DMGC_DATASET, "33-bit floating point");
    expect_line("D31fM8", DROVE_DMGC_DATASET,
                "31-bit floating point, quantised once, before training");
    expect_line("D8M8", DROVE_DMGC_INDEX,
                "i is omitted: the problem is dense, there are no indices");
    expect_line("D8M16f", DROVE_DMGC_MODEL, "16-bit floating point, rounded at every write");
    expect_line("D8M32", DROVE_DMGC_MODEL, "32-bit fixed point, rounded at every write");
    expect_line("D8", DROVE_DMGC_MODEL, "M is omitted: full precision, 32-bit floating point");
    expect_line("G10", DROVE_DMGC_GRADIENT, "10-bit fixed point for intermediate values");
    expect_line("D8", DROVE_DMGC_GRADIENT,
                "G is omitted: intermediate values lose nothing against full precision");
    expect_line("C1s", DROVE_DMGC_COMMUNICATION,
                "1-bit fixed point, sent explicitly; workers synchronise");
    expect_line("C32f", DROVE_DMGC_COMMUNICATION,
                "32-bit floating point, sent explicitly; workers are asynchronous");
    expect_line("D8", DROVE_DMGC_COMMUNICATION,
                "C is omitted: nothing is sent; the caches' coherence shares the model, "
                "asynchronously");
}

TEST(test_meaning)
{
    drove_dmgc s = parsed("M16G10");
    static const unsigned bits[DROVE_DMGC_CLASSES] = {32, 0, 16, 10, 0};
    static const int is_float[DROVE_DMGC_CLASSES] = {1, 0, 0, 0, 0};
    static const int is_present[DROVE_DMGC_CLASSES] = {0, 0, 1, 1, 0};
    for (unsigned c = 0; c < DROVE_DMGC_CLASSES; c++) {
        drove_dmgc_term term = drove_dmgc_meaning(&s, (drove_dmgc_class)c);
        assert_int_equal(term.bits, bits[c]);
        assert_int_equal(term.is_float, is_float[c]);
        assert_int_equal(term.is_present, is_present[c]);
    }
    s = parsed("G1"); /* no M, no G of full precision */
    assert_int_equal(drove_dmgc_meaning(&s, DROVE_DMGC_MODEL).bits, 32);
    s = parsed("D8");
    assert_int_equal(drove_dmgc_meaning(&s, DROVE_DMGC_GRADIENT).is_float, 1);
}

/* ---- classification ---- */

/* Names of all systems with this signature, each followed by a semicolon. */
static void expect_systems(const char *text, const char *expected)
{
    char found[512];
    size_t n, used = 0;
    drove_dmgc s = parsed(text);
    const drove_dmgc_system *system = drove_dmgc_systems(&n);
    found[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (!drove_dmgc_is_system(&s, &system[i])) continue;
        used += (size_t)snprintf(found + used, sizeof found - used, "%s;", system[i].name);
    }
    assert_string_equal(found, expected);
}

TEST(test_systems)
{
    static const char dense_hogwild[] = "Hogwild!, dense;", sparse_hogwild[] = "Hogwild!, sparse;";
    /* Table 1 */
    expect_systems("G18", "Savich and Moussa [45], 18-bit;");
    expect_systems("G1C1s", "Seide et al. [46], 1-bit SGD;");
    expect_systems("G10", "Courbariaux et al. [9], 10-bit;");
    expect_systems("D8M16", "Gupta et al. [14];");
    expect_systems("D8M8", "De Sa et al. [11], 8-bit;Buckwild!, dense, 8-bit;");
    /* what is omitted means the same as when it is written */
    expect_systems("D32fM32fG10", "Courbariaux et al. [9], 10-bit;");
    expect_systems("D32fM32f", dense_hogwild);
    expect_systems("G32f", dense_hogwild);
    expect_systems("D32fi32M32f", sparse_hogwild);
    expect_systems("i32", sparse_hogwild);
    expect_systems("D8i8M8", "Buckwild!, sparse, 8-bit;");
    expect_systems("D8[i8]M8",
                   "De Sa et al. [11], 8-bit;Buckwild!, dense, 8-bit;Buckwild!, sparse, 8-bit;");
    /* and nothing else does */
    expect_systems("G1C1", "");
    expect_systems("G1C2s", "");
    expect_systems("G1", "");
    expect_systems("G18f", "");
    expect_systems("D8M16C32f", "");
    expect_systems("D32M32f", "");
    expect_systems("D8i16M8", "");
    expect_systems("D3M5", "");

    size_t n;
    const drove_dmgc_system *system = drove_dmgc_systems(&n);
    for (size_t i = 0; i < n; i++) {
        char text[DROVE_DMGC_TEXT_SIZE];
        drove_dmgc s = parsed(system[i].signature);
        assert_int_equal(drove_dmgc_print(&s, text), DROVE_OK);
        assert_string_equal(text, system[i].signature);
        assert_true(drove_dmgc_is_system(&s, &system[i]));
    }
}

static void expect_family(const char *text, const char *expected)
{
    drove_dmgc s = parsed(text);
    assert_string_equal(drove_dmgc_family(&s), expected);
}

TEST(test_families)
{
    static const char hogwild[] = "Hogwild!: asynchronous through the caches, full precision";
    static const char buckwild[] = "Buckwild!: asynchronous through the caches, low precision";
    expect_family("D32fi32M32f", hogwild);
    expect_family("i8", hogwild); /* narrow indices lose nothing */
    expect_family("D64fM32fG32f", hogwild);
    expect_family("D8M8", buckwild);
    expect_family("M16f", buckwild);
    expect_family("D32", buckwild); /* fixed point */
    expect_family("G10", buckwild);
    expect_family("C32f", "asynchronous with explicit messages, full precision");
    expect_family("C32", "asynchronous with explicit messages, low precision");
    expect_family("D8C32f", "asynchronous with explicit messages, low precision");
    expect_family("C32fs", "synchronous, full precision");
    expect_family("G1C1s", "synchronous, low precision");
}
