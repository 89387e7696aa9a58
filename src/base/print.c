/* base/print.c - see print.h.  Floats: nine digits by a product and one division by ten each. */
#include "base/print.h"

#include <drove/status.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 9 };

/* x 10^k by exact powers; a few roundings of a double are far below half a unit of nine digits. */
static double scale(double x, int k)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int most = 22;
    for (; k > most; k -= most) x *= power[most];
    for (; k < -most; k += most) x /= power[most];
    return k >= 0 ? x * power[k] : x / power[-k];
}

typedef struct decimal { /* d.ddd... 10^exponent */
    char digit[DIGITS];
    int n; /* digits without zeros at the end */
    int exponent;
} decimal;

/* x > 0, finite. */
static void split(double x, decimal *d)
{
    const double least = 1e8, most = 1e9; /* numbers of nine digits */
    int binary;
    (void)frexp(x, &binary);
    d->exponent = (int)floor((binary - 1) * 0.30102999566398120);
    double scaled = scale(x, DIGITS - 1 - d->exponent);
    if (scaled >= most) scaled = scale(x, DIGITS - 1 - ++d->exponent);
    uint64_t number = (uint64_t)llrint(scaled);
    if (number >= (uint64_t)most) {
        number = (uint64_t)least;
        d->exponent++;
    }
    for (int i = DIGITS; i-- > 0; number /= 10) d->digit[i] = (char)('0' + number % 10);
    d->n = DIGITS;
    while (d->n > 1 && d->digit[d->n - 1] == '0') d->n--;
}

static char *put(char *at, const char *text, int n)
{
    memcpy(at, text, (size_t)n);
    return at + n;
}

static char *put_fixed(char *at, const decimal *d)
{
    static const char zeros[] = "000000000";
    int whole = d->exponent + 1; /* digits before the point */
    if (whole <= 0) {
        at = put(at, "0.", 2);
        at = put(at, zeros, -whole);
        return put(at, d->digit, d->n);
    }
    if (d->n <= whole) {
        at = put(at, d->digit, d->n);
        return put(at, zeros, whole - d->n);
    }
    at = put(at, d->digit, whole);
    *at++ = '.';
    return put(at, d->digit + whole, d->n - whole);
}

/* A float's exponent has two digits. */
static char *put_exponent(char *at, const decimal *d)
{
    int e = d->exponent < 0 ? -d->exponent : d->exponent;
    *at++ = d->digit[0];
    if (d->n > 1) *at++ = '.';
    at = put(at, d->digit + 1, d->n - 1);
    *at++ = 'e';
    *at++ = d->exponent < 0 ? '-' : '+';
    *at++ = (char)('0' + e / 10);
    *at++ = (char)('0' + e % 10);
    return at;
}

size_t drove__print_float(float value, char into[DROVE_PRINT_FLOAT_SIZE])
{
    char *at = into;
    decimal d;
    if (isnan(value)) return (size_t)(put(at, "nan", 3) - into);
    if (signbit(value)) *at++ = '-';
    if (isinf(value)) return (size_t)(put(at, "inf", 3) - into);
    if (value == 0.0f) return (size_t)(put(at, "0", 1) - into);
    split(fabs((double)value), &d);
    at = d.exponent < -4 || d.exponent >= DIGITS ? put_exponent(at, &d) : put_fixed(at, &d);
    return (size_t)(at - into);
}

size_t drove__print_far(float value, double origin, char into[DROVE_PRINT_FAR_SIZE])
{
    enum { FEWEST = 15, MOST = 17 }; /* with 17 it is the double itself */
    const double whole = origin + (double)value;
    const double error = fabs((double)value) * (double)FLT_EPSILON / 2;
    int n = 0;
    for (int digits = FEWEST; digits <= MOST; digits++) {
        n = snprintf(into, DROVE_PRINT_FAR_SIZE, "%.*g", digits, whole);
        if (!isfinite(whole) || fabs(strtod(into, NULL) - whole) <= error) break;
    }
    for (char *c = into; isfinite(whole) && *c != '\0'; c++) {
        if (strchr("+-0123456789e", *c) == NULL) *c = '.'; /* a locale's decimal point */
    }
    return (size_t)n;
}

/* Bytes of the character in UTF-8 at c, and its number; 0: these bytes are none. */
static size_t decode(const unsigned char *c, unsigned *out)
{
    const size_t n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (n == 0 || c[0] > 0xf4) return 0;
    *out = n == 1 ? c[0] : c[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80) return 0;
        *out = *out << 6 | (c[i] & 0x3f);
    }
    const bool is_half = *out >= 0xd800 && *out < 0xe000; /* of a pair of UTF-16 */
    return *out >= least[n] && *out <= 0x10ffff && !is_half ? n : 0;
}

/* Characters that move the cursor, or turn around or hide what stands beside them. */
static bool is_plain(unsigned c)
{
    const bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    const bool turns = c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                       (c >= 0x2066 && c <= 0x2069);
    const bool hides = c == 0xad || c == 0x200b || c == 0x2028 || c == 0x2029 || c == 0x2060 ||
                       c == 0x3164 || c == 0xfeff || (c >= 0xe0000 && c <= 0xe007f);
    return !is_control && !turns && !hides;
}

char *drove__print_plain(const char *text, char *into, size_t size)
{
    const unsigned char *c = (const unsigned char *)text;
    char shown[16];
    for (size_t used = 0;; used += strlen(shown)) {
        unsigned number;
        const size_t n = decode(c, &number);
        if (n == 0) snprintf(shown, sizeof shown, "\\x%02x", c[0]);
        else if (is_plain(number)) snprintf(shown, sizeof shown, "%.*s", (int)n, (const char *)c);
        else snprintf(shown, sizeof shown, number < 0x100 ? "\\x%02x" : "\\u%04x", number);
        if (*c == '\0' || used + strlen(shown) >= size) {
            into[used] = '\0';
            return into;
        }
        memcpy(into + used, shown, strlen(shown));
        c += n > 0 ? n : 1;
    }
}

static bool is_formula(const char *text)
{
    char *end;
    if (text[0] == '+' || text[0] == '-') {
        (void)strtod(text, &end);
        return text[1] != '\0' && (*end != '\0' || end == text);
    }
    return text[0] != '\0' && strchr("=@\t\r", text[0]) != NULL;
}

char *drove__print_cell(const char *prefix, const char *text, char *into)
{
    const bool is_empty = prefix[0] == '\0' && text[0] == '\0', is_first = prefix[0] == '\0';
    const bool quotes = strpbrk(prefix, ",\"\r\n") != NULL || strpbrk(text, ",\"\r\n") != NULL ||
                        is_empty || (is_first && text[0] == ' ');
    char *at = into;
    if (quotes) *at++ = '"';
    if (is_first && is_formula(text)) *at++ = '\'';
    for (; *prefix != '\0'; prefix++) *at++ = *prefix;
    for (; *text != '\0'; text++) {
        if (quotes && *text == '"') *at++ = '"';
        *at++ = *text;
    }
    if (quotes) *at++ = '"';
    *at = '\0';
    return into;
}

char *drove__print_word(const char *text, char *into, size_t size)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-_./:,+=@%";
    const bool is_bare = text[0] != '\0' && strspn(text, safe) == strlen(text);
    bool is_plain_text = true;
    unsigned number;
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0' && is_plain_text;) {
        const size_t n = decode(c, &number);
        is_plain_text = n > 0 && is_plain(number);
        c += n;
    }
    /* x, 'x', or $'x' with bytes as \xNN, which bash, zsh and ksh read. */
    const char *begin = is_bare ? "" : is_plain_text ? "'" : "$'", *end = is_bare ? "" : "'";
    if (size <= strlen(begin) + strlen(end)) begin = end = text = "";
    size_t used = (size_t)snprintf(into, size, "%s", begin);
    for (const char *c = text; *c != '\0'; c++) {
        char as[8];
        const unsigned char byte = (unsigned char)*c;
        const bool is_special = byte < 0x20 || byte >= 0x7f || *c == '\'' || *c == '\\';
        if (!is_plain_text && is_special) snprintf(as, sizeof as, "\\x%02x", byte);
        else if (!is_bare && *c == '\'') snprintf(as, sizeof as, "'\\''");
        else snprintf(as, sizeof as, "%c", *c);
        if (used + strlen(as) + strlen(end) >= size) break;
        memcpy(into + used, as, strlen(as));
        used += strlen(as);
    }
    snprintf(into + used, size - used, "%s", end);
    return into;
}

char *drove_plain_text(const char *text, char *into, size_t size)
{
    if (into == NULL || size == 0) return into;
    return drove__print_plain(text != NULL ? text : "", into, size);
}
