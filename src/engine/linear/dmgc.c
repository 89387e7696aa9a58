/* engine/linear/dmgc.c - DMGC signatures: reading, writing, explaining and classifying them.
 *
 * Source: De Sa et al., ISCA 2017, section 3 and Table 1.  The notation as plain text:
 *
 *   signature = [D number [f]] [i number | "[i" number "]"] [M number [f]] [G number [f]]
 *               [C number [f] [s]]            at least one term
 *   number    = 1 to 64 without leading zeros; 3 or more before f
 *
 * Every signature has one text, so printing what was parsed gives the text again.
 */
#include "engine/linear/dmgc.h"

#include "base/given.h"
#include "base/locale.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_BITS = 64,
    LEAST_FLOAT_BITS = 3, /* sign, exponent, fraction */
    FULL_BITS = 32,       /* of the float that an omitted D, M or G stands for */
    SHOWN_SIZE = 48,      /* bytes of a text in an error, with the NUL */
    FOUND_MOST = 20       /* characters of what was found */
};

static const char letters[] = "DiMGC"; /* [class] */

/* ---- reading ---- */

typedef struct reader {
    const char *text, *at; /* the whole signature; what is not read yet */
    drove_dmgc signature;
    unsigned n_passed;       /* classes before this one can no longer come */
    bool may_be_float;       /* an f may follow */
    bool may_be_synchronous; /* an s may follow */
} reader;

/* The text on one line and not too long. */
static const char *show(const char *text, char into[SHOWN_SIZE])
{
    size_t n = 0;
    for (; n < SHOWN_SIZE - 1 && text[n] != '\0'; n++) {
        unsigned char c = (unsigned char)text[n];
        into[n] = c < 0x20 || c > 0x7e ? '?' : text[n];
    }
    if (text[n] != '\0') memcpy(into + n - 3, "...", 3);
    into[n] = '\0';
    return into;
}

/* Says that at r->at something else was expected than the n characters there. */
static drove_status refuse(const reader *r, size_t n, const char *expected)
{
    char text[SHOWN_SIZE], found[SHOWN_SIZE];
    unsigned first = (unsigned char)*r->at;
    if (first == '\0') {
        snprintf(found, sizeof found, "the end");
    } else if (first < 0x20 || first > 0x7e) {
        snprintf(found, sizeof found, "the byte 0x%02x", first);
    } else {
        snprintf(found, sizeof found, "\"%.*s%s\"", (int)(n < FOUND_MOST ? n : FOUND_MOST), r->at,
                 n > FOUND_MOST ? "..." : "");
    }
    return drove__fail(DROVE_E_ARG, "signature \"%s\": character %zu: expected %s, found %s",
                       show(r->text, text), (size_t)(r->at - r->text) + 1, expected, found);
}

/* Refuses the character at r->at, which neither begins a term that may come nor is a suffix. */
static drove_status refuse_character(const reader *r)
{
    static const char *const begins[] = {"D", "i or [i", "M", "G", "C"}; /* [class] */
    const char *item[DROVE_DMGC_CLASSES + 3];
    char expected[128];
    size_t n_items = 0, used = 0;
    if (r->may_be_float) item[n_items++] = "f";
    if (r->may_be_synchronous) item[n_items++] = "s";
    for (unsigned c = r->n_passed; c < DROVE_DMGC_CLASSES; c++) item[n_items++] = begins[c];
    if (r->n_passed > 0) item[n_items++] = "the end";
    for (size_t i = 0; i < n_items; i++) {
        const char *joint = i == 0 ? "" : i + 1 < n_items ? ", " : " or ";
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s", joint, item[i]);
    }
    char begun = r->at[0] == '[' ? 'i' : r->at[0];
    const char *letter = begun != '\0' ? strchr(letters, begun) : NULL;
    if (letter != NULL && (unsigned)(letter - letters) < r->n_passed) {
        snprintf(expected + used, sizeof expected - used,
                 " (each term once, in the order D i M G C)");
    }
    return refuse(r, 1, expected);
}

/* Bits of a term. */
static drove_status read_number(reader *r, unsigned *out)
{
    unsigned bits = 0;
    size_t n = strspn(r->at, "0123456789");
    for (size_t i = 0; i < n && bits <= MOST_BITS; i++) bits = 10 * bits + (unsigned)r->at[i] - '0';
    if (n == 0 || *r->at == '0' || bits > MOST_BITS) {
        return refuse(r, n > 0 ? n : 1, "the number of bits, 1 to 64");
    }
    r->at += n;
    *out = bits;
    return DROVE_OK;
}

/* The suffixes of the number that ends at r->at. */
static drove_status read_suffixes(reader *r, drove_dmgc_class which)
{
    drove_dmgc_term *term = &r->signature.term[which];
    r->may_be_float = which != DROVE_DMGC_INDEX;
    r->may_be_synchronous = which == DROVE_DMGC_COMMUNICATION;
    if (r->may_be_float && *r->at == 'f') {
        if (term->bits < LEAST_FLOAT_BITS) {
            return refuse(r, 1, "no f, as a float has 3 bits or more");
        }
        r->at++;
        r->may_be_float = false;
        term->is_float = 1;
    }
    if (r->may_be_synchronous && *r->at == 's') {
        r->at++;
        r->may_be_float = r->may_be_synchronous = false;
        r->signature.is_synchronous = 1;
    }
    return DROVE_OK;
}

static drove_status read_term(reader *r)
{
    bool is_bracketed = r->at[0] == '[' && r->at[1] == 'i';
    const char *letter = strchr(letters, r->at[is_bracketed]);
    drove_dmgc_class which = letter != NULL ? (drove_dmgc_class)(letter - letters) : 0;
    if (letter == NULL || *letter == '\0' || which < r->n_passed) return refuse_character(r);
    r->at += is_bracketed ? 2 : 1;
    r->n_passed = which + 1u;
    DROVE_TRY(read_number(r, &r->signature.term[which].bits));
    r->signature.term[which].is_present = 1;
    if (is_bracketed) {
        if (*r->at != ']') return refuse(r, 1, "]");
        r->at++;
        r->signature.is_possibly_sparse = 1;
    }
    return read_suffixes(r, which);
}

drove_status drove_dmgc_parse(const char *text, drove_dmgc *out)
{
    DROVE_GIVEN(text);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    reader r = {.text = text, .at = text};
    do {
        DROVE_TRY(read_term(&r));
    } while (*r.at != '\0');
    *out = r.signature;
    return DROVE_OK;
}

/* ---- writing ---- */

drove_status drove__dmgc_check(const drove_dmgc *s)
{
    const drove_dmgc_term *i = &s->term[DROVE_DMGC_INDEX];
    bool is_any = false;
    for (unsigned c = 0; c < DROVE_DMGC_CLASSES; c++) {
        drove_dmgc_term term = s->term[c];
        bool is_zero = term.bits == 0 && term.is_float == 0;
        unsigned least = term.is_float ? LEAST_FLOAT_BITS : 1;
        if (term.is_present ? term.bits < least || term.bits > MOST_BITS : !is_zero) {
            return drove__fail(DROVE_E_ARG, "signature: term %c: expected %s, found %u bits%s",
                               letters[c],
                               term.is_present ? "1 to 64 bits, for a float 3 to 64"
                                               : "0 bits, as it is not present",
                               term.bits, term.is_float ? ", float" : "");
        }
        is_any = is_any || s->term[c].is_present;
    }
    if (!is_any) {
        return drove__fail(DROVE_E_ARG, "signature: expected at least one of D, i, M, G and C, "
                                        "found no term");
    }
    if (i->is_float || (s->is_possibly_sparse && !i->is_present)) {
        return drove__fail(DROVE_E_ARG, "signature: term i: expected %s, found %s",
                           i->is_float ? "an integer" : "a term, as the problem is possibly sparse",
                           i->is_float ? "a float" : "none");
    }
    if (s->is_synchronous && !s->term[DROVE_DMGC_COMMUNICATION].is_present) {
        return drove__fail(
            DROVE_E_ARG, "signature: term C: expected a term, as workers synchronise, found none");
    }
    return DROVE_OK;
}

drove_status drove_dmgc_print(const drove_dmgc *signature, char into[DROVE_DMGC_TEXT_SIZE])
{
    DROVE_GIVEN(signature);
    DROVE_GIVEN(into);
    DROVE_IN_C_LOCALE;
    size_t used = 0;
    DROVE_TRY(drove__dmgc_check(signature));
    for (unsigned c = 0; c < DROVE_DMGC_CLASSES; c++) {
        const drove_dmgc_term *term = &signature->term[c];
        if (!term->is_present) continue;
        bool is_bracketed = c == DROVE_DMGC_INDEX && signature->is_possibly_sparse;
        bool has_s = c == DROVE_DMGC_COMMUNICATION && signature->is_synchronous;
        used +=
            (size_t)snprintf(into + used, DROVE_DMGC_TEXT_SIZE - used, "%s%c%u%s%s%s",
                             is_bracketed ? "[" : "", letters[c], term->bits,
                             term->is_float ? "f" : "", has_s ? "s" : "", is_bracketed ? "]" : "");
    }
    return DROVE_OK;
}

/* ---- meaning ---- */

drove_dmgc_term drove_dmgc_meaning(const drove_dmgc *signature, drove_dmgc_class which)
{
    if (signature == NULL) return (drove_dmgc_term){0};
    drove_dmgc_term term = signature->term[which];
    bool has_default = which != DROVE_DMGC_INDEX && which != DROVE_DMGC_COMMUNICATION;
    if (term.is_present || !has_default) return term;
    return (drove_dmgc_term){.bits = FULL_BITS, .is_float = 1};
}

bool drove__dmgc_same_meaning(const drove_dmgc *a, const drove_dmgc *b, drove_dmgc_class which)
{
    drove_dmgc_term in_a = drove_dmgc_meaning(a, which), in_b = drove_dmgc_meaning(b, which);
    return in_a.bits == in_b.bits && !in_a.is_float == !in_b.is_float;
}

static bool is_full(drove_dmgc_term term)
{
    return term.is_float && term.bits >= FULL_BITS;
}

/* The end of a class's line, after the number format; [class][0: full precision, 1: less]. */
static const char *const remarks[DROVE_DMGC_CLASSES][2] = {
    [DROVE_DMGC_DATASET] = {"", ", quantised once, before training"},
    [DROVE_DMGC_MODEL] = {"", ", rounded at every write"},
    [DROVE_DMGC_GRADIENT] = {" for intermediate values", " for intermediate values"},
};

static const char *const omitted[] = {
    [DROVE_DMGC_DATASET] = "D is omitted: full precision, 32-bit floating point",
    [DROVE_DMGC_INDEX] = "i is omitted: the problem is dense, there are no indices",
    [DROVE_DMGC_MODEL] = "M is omitted: full precision, 32-bit floating point",
    [DROVE_DMGC_GRADIENT] = "G is omitted: intermediate values lose nothing against full precision",
    [DROVE_DMGC_COMMUNICATION] =
        "C is omitted: nothing is sent; the caches' coherence shares the model, asynchronously",
};

drove_status drove_dmgc_explain(const drove_dmgc *signature, drove_dmgc_class which,
                                char into[DROVE_DMGC_LINE_SIZE])
{
    DROVE_GIVEN(signature);
    DROVE_GIVEN(into);
    DROVE_IN_C_LOCALE;
    DROVE_TRY(drove__dmgc_check(signature));
    if ((unsigned)which >= DROVE_DMGC_CLASSES) {
        return drove__fail(DROVE_E_ARG, "class of numbers: expected 0 to %d, found %d",
                           DROVE_DMGC_CLASSES - 1, (int)which);
    }
    drove_dmgc_term term = signature->term[which];
    const char *format = term.is_float ? "floating point" : "fixed point";
    if (!term.is_present) {
        snprintf(into, DROVE_DMGC_LINE_SIZE, "%s", omitted[which]);
    } else if (which == DROVE_DMGC_INDEX) {
        snprintf(into, DROVE_DMGC_LINE_SIZE, "%u-bit integers%s", term.bits,
                 signature->is_possibly_sparse ? " if the problem is sparse; it may be dense"
                                               : ", the problem is sparse");
    } else if (which == DROVE_DMGC_COMMUNICATION) {
        snprintf(into, DROVE_DMGC_LINE_SIZE, "%u-bit %s, sent explicitly; workers %s", term.bits,
                 format, signature->is_synchronous ? "synchronise" : "are asynchronous");
    } else {
        snprintf(into, DROVE_DMGC_LINE_SIZE, "%u-bit %s%s", term.bits, format,
                 remarks[which][!is_full(term)]);
    }
    return DROVE_OK;
}

/* ---- classification ---- */

const char *drove_dmgc_family(const drove_dmgc *signature)
{
    if (signature == NULL) return NULL;
    static const char *const families[3][2] = {
        {"Buckwild!: asynchronous through the caches, low precision",
         "Hogwild!: asynchronous through the caches, full precision"},
        {"asynchronous with explicit messages, low precision",
         "asynchronous with explicit messages, full precision"},
        {"synchronous, low precision", "synchronous, full precision"},
    };
    bool is_sent = signature->term[DROVE_DMGC_COMMUNICATION].is_present;
    bool is_all_full = true;
    for (unsigned c = 0; c < DROVE_DMGC_CLASSES; c++) {
        drove_dmgc_term term = drove_dmgc_meaning(signature, (drove_dmgc_class)c);
        if (c != DROVE_DMGC_INDEX && term.bits > 0) is_all_full = is_all_full && is_full(term);
    }
    return families[!is_sent ? 0 : signature->is_synchronous ? 2 : 1][is_all_full];
}

static const drove_dmgc_system systems[] = {
    {"G18", "Savich and Moussa [45], 18-bit", "Table 1"},
    {"G1C1s", "Seide et al. [46], 1-bit SGD", "Table 1"},
    {"G10", "Courbariaux et al. [9], 10-bit", "Table 1"},
    {"D8M16", "Gupta et al. [14]", "Table 1"},
    {"D8M8", "De Sa et al. [11], 8-bit", "Table 1"},
    {"D32fM32f", "Hogwild!, dense", "section 3, without its i32"},
    {"D32fi32M32f", "Hogwild!, sparse", "section 3"},
    {"D8M8", "Buckwild!, dense, 8-bit", "section 3"},
    {"D8i8M8", "Buckwild!, sparse, 8-bit", "section 4"},
};

const drove_dmgc_system *drove_dmgc_systems(size_t *n_out)
{
    if (n_out != NULL) *n_out = sizeof systems / sizeof systems[0];
    return systems;
}

int drove_dmgc_is_system(const drove_dmgc *signature, const drove_dmgc_system *system)
{
    if (signature == NULL || system == NULL) return 0;
    drove_dmgc other;
    if (drove_dmgc_parse(system->signature, &other) != DROVE_OK) return 0;
    for (unsigned c = 0; c < DROVE_DMGC_CLASSES; c++) {
        if (drove__dmgc_same_meaning(signature, &other, (drove_dmgc_class)c)) continue;
        bool is_either = c == DROVE_DMGC_INDEX &&
                         (signature->is_possibly_sparse
                              ? !other.term[c].is_present
                              : other.is_possibly_sparse && !signature->term[c].is_present);
        if (!is_either) return 0;
    }
    return !signature->is_synchronous == !other.is_synchronous;
}
