/* table/amount.c - see amount.h. */
#include "table/amount.h"

#include <string.h>

/* Where one text begins with another, the longer one comes first. */
static const char *const units[] = {NULL,  "%",   "US$", "R$",  "$",   "€",   "£",   "¥",   "₹",
                                    "₩",   "₽", "zł",  "kr",  "USD", "EUR", "GBP", "JPY", "CHF",
                                    "CAD", "AUD", "NZD", "CNY", "INR", "BRL", "SEK", "NOK", "DKK",
                                    "PLN", "CZK", "HUF", "TRY", "KRW", "MXN", "ZAR"};
enum { N_UNITS = sizeof units / sizeof *units, AMOUNT_MOST = 80 };

const char *drove__unit_text(drove_unit unit)
{
    return unit < N_UNITS ? units[unit] : NULL;
}

bool drove__unit_find(const char *text, drove_unit *out)
{
    for (drove_unit i = 1; i < N_UNITS; i++) {
        if (strcmp(units[i], text) != 0) continue;
        *out = i;
        return true;
    }
    return false;
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
    static const char *const blanks[] = {" ", "\xc2\xa0", "\xe2\x80\xaf"};
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

/* Whether a number begins here, or ends, so that a unit can be at the other end alone. */
static bool begins_number(const drove_amount *a)
{
    return a->length > 0 && (is_of_number(*a->text) || strchr("+-(", *a->text) != NULL);
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

static void take_unit(drove_amount *a)
{
    for (drove_unit i = 1; i < N_UNITS; i++) {
        size_t n = strlen(units[i]);
        bool is_before = ends_number(a);
        if (!(is_before ? begins_with(a, units[i], n) : ends_with(a, units[i], n))) continue;
        a->unit = i;
        drop(a, is_before ? n : 0, is_before ? 0 : n);
        trim(a);
        return;
    }
}

drove_amount drove__amount_of(const char *text, size_t length)
{
    drove_amount a = {.text = text, .length = length};
    if (length == 0 || length > AMOUNT_MOST) return a;
    take_sign(&a);
    if (begins_number(&a) != ends_number(&a)) take_unit(&a);
    take_sign(&a); /* $(12.5) */
    return a;
}

bool drove__cell_amount(const drove_amount_style *style, const char *text, size_t length,
                        float *out)
{
    float value;
    drove_amount a = drove__amount_of(text, length);
    bool is_unit = a.unit == style->unit || (a.unit == 0 && style->is_unit_optional);
    if (!is_unit || a.length == 0) return false;
    if (a.is_negative && (*a.text == '-' || *a.text == '+')) return false;
    if (!drove__cell_number(style->form, a.text, a.length, &value)) return false;
    *out = a.is_negative && value != 0 ? -value : value;
    return true;
}
