/* table/amount.c - see amount.h. */
#include "table/amount.h"

#include "base/number.h"

#include <string.h>

/* If one text begins with another, the longer one comes first. */
static const char *const known_units[] = {"%",
                                          "US$",
                                          "R$",
                                          "A$",
                                          "C$",
                                          "$",
                                          "\xe2\x82\xac",
                                          "\xc2\xa3",
                                          "\xc2\xa5",
                                          "\xe2\x82\xb9",
                                          "\xe2\x82\xa9",
                                          "\xe2\x82\xbd",
                                          "z\xc5\x82",
                                          "kr",
                                          "Rs.",
                                          "Rs",
                                          "USD",
                                          "EUR",
                                          "GBP",
                                          "JPY",
                                          "CHF",
                                          "CAD",
                                          "AUD",
                                          "NZD",
                                          "CNY",
                                          "INR",
                                          "BRL",
                                          "SEK",
                                          "NOK",
                                          "DKK",
                                          "PLN",
                                          "CZK",
                                          "HUF",
                                          "TRY",
                                          "KRW",
                                          "MXN",
                                          "ZAR",
                                          "RUB",
                                          "ILS",
                                          "SGD",
                                          "HKD"};
enum { N_KNOWN = sizeof known_units / sizeof *known_units, AMOUNT_MOST = 80 };

#define CLOCK "h:mm"

const char *drove__unit_text(const drove_unit *unit)
{
    return unit->text[0] != '\0' ? unit->text : NULL;
}

bool drove__unit_set(const char *text, size_t length, drove_unit *out)
{
    if (length == 0 || length >= DROVE_UNIT_SIZE) return false;
    memset(out, 0, sizeof *out);
    memcpy(out->text, text, length);
    return true;
}

bool drove__unit_is_same(const drove_unit *a, const drove_unit *b)
{
    return strcmp(a->text, b->text) == 0;
}

drove_unit drove__unit_clock(void)
{
    return (drove_unit){CLOCK};
}

bool drove__unit_is_clock(const drove_unit *unit)
{
    return strcmp(unit->text, CLOCK) == 0;
}

static bool begins_with(const drove_amount *a, const char *text, size_t n)
{
    return a->length >= n && memcmp(a->text, text, n) == 0;
}

static bool ends_with(const drove_amount *a, const char *text, size_t n)
{
    return a->length >= n && memcmp(a->text + a->length - n, text, n) == 0;
}

static void drop(drove_amount *a, size_t n_before, size_t n_behind)
{
    a->text += n_before;
    a->length -= n_before + n_behind;
}

/* Blanks, also those that do not break a line: U+00A0 and U+202F. */
static void trim(drove_amount *a)
{
    static const char *const blanks[] = {" ", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"};
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks;) {
        size_t n = strlen(blanks[i]);
        size_t n_before = begins_with(a, blanks[i], n) ? n : 0;
        size_t n_behind = n_before == 0 && ends_with(a, blanks[i], n) ? n : 0;
        drop(a, n_before, n_behind);
        i = n_before + n_behind > 0 ? 0 : i + 1;
    }
}

static bool is_of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == ',';
}

#define MINUS "\xe2\x88\x92"

/* True if a number begins here, or ends, so that a unit can be at the other end alone. */
static bool begins_number(const drove_amount *a)
{
    return a->length > 0 && (is_of_number(*a->text) || strchr("+-(", *a->text) != NULL ||
                             begins_with(a, MINUS, strlen(MINUS)));
}

static bool ends_number(const drove_amount *a)
{
    return a->length > 0 && (is_of_number(a->text[a->length - 1]) || a->text[a->length - 1] == ')');
}

/* Once: (12.5) or -$12.5, whose minus is not the number's own. */
static void take_sign(drove_amount *a)
{
    if (a->is_negative || a->length < 2) return;
    if (*a->text == '(' && a->text[a->length - 1] == ')') {
        a->is_negative = true;
        drop(a, 1, 1);
        trim(a);
    } else if (*a->text == '-' && !is_of_number(a->text[1]) && a->text[1] != ' ') {
        a->is_negative = true;
        drop(a, 1, 0);
        trim(a);
    }
}

static void take_known_unit(drove_amount *a)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        const size_t n = strlen(known_units[i]);
        bool is_before = ends_number(a);
        if (!(is_before ? begins_with(a, known_units[i], n) : ends_with(a, known_units[i], n)))
            continue;
        (void)drove__unit_set(known_units[i], n, &a->unit);
        a->is_known = true;
        drop(a, is_before ? n : 0, is_before ? 0 : n);
        trim(a);
        return;
    }
}

/* A word behind a number: kg, km/h, m2, sq ft, /10, +, and what is no ASCII. */
static bool is_unit_byte(char c, bool is_first)
{
    const unsigned char u = (unsigned char)c;
    const bool is_letter = (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u >= 0x80;
    if (is_letter || u == '%' || u == '/' || u == '"' || u == '\'') return true;
    if (is_first) return u == '+';
    return (u >= '0' && u <= '9') || u == ' ' || u == '.' || u == '-' || u == '^' || u == '*';
}

/* Bytes of what may join groups of digits at text[at], if a digit follows; 0: nothing. */
static size_t joint_bytes(const drove_amount *a, size_t at)
{
    const drove_amount rest = {.text = a->text + at, .length = a->length - at};
    for (size_t i = 0; drove__digit_joints[i] != NULL; i++) {
        const size_t n = strlen(drove__digit_joints[i]);
        if (begins_with(&rest, drove__digit_joints[i], n) && n < rest.length &&
            drove__is_digit(rest.text[n]))
            return n;
    }
    return 0;
}

/* "e5" behind a number is an exponent. */
static bool is_exponent(const drove_amount *a)
{
    if (a->length < 2 || (*a->text | 0x20) != 'e') return false;
    const size_t sign = a->text[1] == '-' || a->text[1] == '+';
    return a->length > 1 + sign && drove__is_digit(a->text[1 + sign]);
}

/* The longest number that the text begins with ends before the unit. */
static void take_word_unit(drove_amount *a)
{
    size_t n = begins_with(a, MINUS, strlen(MINUS)) ? strlen(MINUS)
               : *a->text == '-' || *a->text == '+' ? 1
                                                    : 0;
    const size_t first = n;
    while (n < a->length) {
        const size_t n_joint = joint_bytes(a, n);
        if (!is_of_number(a->text[n]) && (n == first || n_joint == 0)) break;
        n += n_joint > 0 ? n_joint : 1;
    }
    if (n == first || n == a->length) return;
    drove_amount rest = {.text = a->text + n, .length = a->length - n};
    trim(&rest);
    for (size_t i = 0; i < rest.length; i++) {
        if (!is_unit_byte(rest.text[i], i == 0)) return;
    }
    if (is_exponent(&rest) || !drove__unit_set(rest.text, rest.length, &a->unit)) return;
    a->length = n;
}

drove_amount drove__amount_of(const char *text, size_t length)
{
    drove_amount a = {.text = text, .length = length};
    if (length == 0 || length > AMOUNT_MOST) return a;
    trim(&a);
    take_sign(&a);
    if (begins_number(&a) != ends_number(&a)) take_known_unit(&a);
    if (a.unit.text[0] == '\0' && begins_number(&a)) take_word_unit(&a);
    take_sign(&a); /* $(12.5) */
    return a;
}

static bool read_number(drove_number_form form, const drove_amount *a, double *out)
{
    double value;
    if (a->length == 0) return false;
    if (a->is_negative && (*a->text == '-' || *a->text == '+')) return false;
    if (!drove__cell_number(form, a->text, a->length, &value)) return false;
    *out = a->is_negative && value != 0 ? -value : value;
    return true;
}

bool drove__cell_amount(const drove_amount_style *style, const char *text, size_t length,
                        double *out)
{
    if (drove__unit_is_clock(&style->unit)) return drove__cell_clock(text, length, out);
    const bool needs_unit = style->unit.text[0] != '\0' && !style->is_unit_optional;
    const drove_amount bare = {.text = text, .length = length};
    if (!needs_unit && read_number(style->form, &bare, out)) return true;
    const drove_amount a = drove__amount_of(text, length);
    const bool is_unit = drove__unit_is_same(&a.unit, &style->unit) ||
                         (a.unit.text[0] == '\0' && style->is_unit_optional);
    return is_unit && read_number(style->form, &a, out);
}
