/* base/print.c - see print.h.  Floats: nine digits by a product and one division by ten each. */
#include "base/print.h"

#include <float.h>
#include <math.h>
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

/* Bytes of the control character at c; 0: another one. */
static int control_bytes(const unsigned char *c)
{
    if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) return 2;
    return c[0] < 0x20 || c[0] == 0x7f ? 1 : 0;
}

char *drove__print_plain(const char *text, char *into, size_t size)
{
    enum { ESCAPE = 4 }; /* bytes of \xNN */
    const unsigned char *c = (const unsigned char *)text;
    size_t used = 0;
    while (*c != '\0') {
        int n = control_bytes(c);
        size_t n_out = n > 0 ? ESCAPE : 1;
        if (used + n_out >= size) break;
        if (n > 0) snprintf(into + used, ESCAPE + 1, "\\x%02x", (unsigned)c[n - 1]);
        else into[used] = (char)*c;
        used += n_out;
        c += n > 0 ? n : 1;
    }
    into[used] = '\0';
    return into;
}
