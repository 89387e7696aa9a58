/* base/number.c - strict parsing of numbers.
 *
 * Floats of data files take a fast path: up to 19 digits as one 64-bit integer, multiplied
 * by a power of ten, in double.  Its error is below 4 units in the last place of a double,
 * so rounding to float is correct unless the double lies that close to the midpoint of two floats.
 * Those cases, and results outside the normal range of a float, go to strtof in a form without a
 * decimal point, so that no locale matters.  Without an exponent, digits after the point are read
 * eight at a time.
 */
#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGITS_IN_U64 = 19,    /* any 19 digits fit in 64 bits                                       */
    DIGITS_KEPT = 800,     /* more than decide the rounding of a double (767), let alone a float */
    EXPONENT_MOST = 100000 /* outside any double, for any mantissa of DIGITS_KEPT digits         */
};

/* Larger written exponents are cut to this: no text has so many digits. */
static const int64_t exponent_most_read = 1000000000000;

enum { POWER_MOST = 60 };

/* 10^-60 to 10^60, each rounded to nearest. */
static const double power_of_ten[2 * POWER_MOST + 1] = {
    1e-60, 1e-59, 1e-58, 1e-57, 1e-56, 1e-55, 1e-54, 1e-53, 1e-52, 1e-51, 1e-50, 1e-49, 1e-48,
    1e-47, 1e-46, 1e-45, 1e-44, 1e-43, 1e-42, 1e-41, 1e-40, 1e-39, 1e-38, 1e-37, 1e-36, 1e-35,
    1e-34, 1e-33, 1e-32, 1e-31, 1e-30, 1e-29, 1e-28, 1e-27, 1e-26, 1e-25, 1e-24, 1e-23, 1e-22,
    1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9,
    1e-8,  1e-7,  1e-6,  1e-5,  1e-4,  1e-3,  1e-2,  1e-1,  1e0,   1e1,   1e2,   1e3,   1e4,
    1e5,   1e6,   1e7,   1e8,   1e9,   1e10,  1e11,  1e12,  1e13,  1e14,  1e15,  1e16,  1e17,
    1e18,  1e19,  1e20,  1e21,  1e22,  1e23,  1e24,  1e25,  1e26,  1e27,  1e28,  1e29,  1e30,
    1e31,  1e32,  1e33,  1e34,  1e35,  1e36,  1e37,  1e38,  1e39,  1e40,  1e41,  1e42,  1e43,
    1e44,  1e45,  1e46,  1e47,  1e48,  1e49,  1e50,  1e51,  1e52,  1e53,  1e54,  1e55,  1e56,
    1e57,  1e58,  1e59,  1e60};

/* A decimal number in text: [+-] digits [. digits] [e [+-] digits] */
typedef struct decimal {
    const char *digits;     /* first digit or point                                      */
    const char *digits_end; /* after the last digit or point                             */
    const char *end;        /* after the exponent                                        */
    uint64_t mantissa;      /* the first 19 significant digits as an integer             */
    int64_t exponent;       /* value = mantissa * 10^exponent, up to the digits left out */
    int64_t given;          /* the written exponent                                      */
    bool negative;
} decimal;

/* Reads digits into d->mantissa and counts in *n_significant how many it holds.  The exponent moves
 * by `step` per digit (0 before the point, -1 after it), and by one more per digit that does not
 * fit. */
static const char *scan_digits(decimal *d, const char *c, const char *end, int step,
                               unsigned *n_significant)
{
    for (; c < end && drove__is_digit(*c); c++) {
        if (*n_significant < DIGITS_IN_U64) {
            d->mantissa = d->mantissa * 10 + (uint64_t)(*c - '0');
            if (d->mantissa != 0) ++*n_significant;
            d->exponent += step;
        } else {
            d->exponent += step + 1;
        }
    }
    return c;
}

/* Reads the exponent after the digits if it is complete; "1e" and "1e+" are the number 1 followed
 * by text. */
static void scan_exponent(decimal *d, const char *end)
{
    const char *c = d->digits_end;
    if (c >= end || (*c != 'e' && *c != 'E')) return;
    c++;
    bool negative = c < end && *c == '-';
    if (c < end && (*c == '-' || *c == '+')) c++;
    if (c >= end || !drove__is_digit(*c)) return;
    int64_t exponent = 0;
    for (; c < end && drove__is_digit(*c); c++) {
        if (exponent < exponent_most_read) exponent = exponent * 10 + (*c - '0');
    }
    d->given = negative ? -exponent : exponent;
    d->exponent += d->given;
    d->end = c;
}

static bool scan_decimal(const char *text, const char *end, decimal *d)
{
    const char *c = text;
    unsigned n_significant = 0;
    memset(d, 0, sizeof *d);
    if (c < end && (*c == '-' || *c == '+')) d->negative = *c++ == '-';
    d->digits = c;
    c = scan_digits(d, c, end, 0, &n_significant);
    bool any = c > d->digits;
    if (c < end && *c == '.') {
        const char *fraction = ++c;
        c = scan_digits(d, c, end, -1, &n_significant);
        any = any || c > fraction;
    }
    if (!any) return false;
    d->digits_end = d->end = c;
    scan_exponent(d, end);
    return true;
}

/* Writes the number as "digits e exponent"; a number of more than DIGITS_KEPT digits is replaced by
 * one that rounds alike. */
static void write_without_point(const decimal *d, char into[DIGITS_KEPT + 32])
{
    size_t n_kept = 0;
    int64_t exponent = d->given;
    bool after_point = false, rest = false;
    for (const char *c = d->digits; c < d->digits_end; c++) {
        if (*c == '.') {
            after_point = true;
            continue;
        }
        if (n_kept < DIGITS_KEPT) {
            if (n_kept > 0 || *c != '0') into[n_kept++] = *c;
            exponent -= after_point;
        } else {
            rest = rest || *c != '0';
            exponent += !after_point;
        }
    }
    if (rest) { /* of the digits left out it only matters that one is not zero */
        into[n_kept++] = '1';
        exponent--;
    }
    if (n_kept == 0) into[n_kept++] = '0';
    if (exponent > EXPONENT_MOST) exponent = EXPONENT_MOST;
    if (exponent < -EXPONENT_MOST) exponent = -EXPONENT_MOST;
    snprintf(into + n_kept, 16, "e%d", (int)exponent);
}

/* mantissa * 10^exponent as a float; false: the last bit is not certain. */
static bool fast_path(uint64_t mantissa, int64_t exponent, float *out)
{
    const int64_t middle = (int64_t)1 << 28, unsure = 8; /* of the 29 bits that a float lacks */
    if (mantissa == 0) {
        *out = 0.0f;
        return true;
    }
    if (exponent < -POWER_MOST || exponent > POWER_MOST) return false;
    double value = (double)mantissa * power_of_ten[POWER_MOST + exponent];
    if (value < FLT_MIN * 1.01 || value > FLT_MAX * 0.99) return false;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int64_t low = (int64_t)(bits & (((uint64_t)1 << 29) - 1));
    if (low > middle - unsure && low < middle + unsure) return false;
    *out = (float)value;
    return true;
}

/* ---- eight digits at a time ---- */

/* Up to eight bytes of text, the first one lowest; zeros behind the end. */
static inline uint64_t load_eight(const char *at, const char *end)
{
    uint64_t word = 0;
    if (end - at >= (ptrdiff_t)sizeof word) {
        memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        return word;
    }
    for (unsigned shift = 0; at < end; at++, shift += 8)
        word |= (uint64_t)(unsigned char)*at << shift;
    return word;
}

/* How many digits the eight bytes begin with.  The upper half of a digit's byte is 3, also after
 * adding 6; a sum may carry only out of a byte that is no digit, into bytes that count no more. */
static inline unsigned leading_digits(uint64_t word)
{
    const uint64_t threes = 0x3030303030303030u, sixes = 0x0606060606060606u;
    uint64_t others = ((word ^ threes) | ((word + sixes) ^ threes)) & 0xf0f0f0f0f0f0f0f0u;
    return others == 0 ? 8 : (unsigned)__builtin_ctzll(others) / 8;
}

/* The number that the first n bytes, 1 to 8 digits, make: neighbours are joined to numbers below
 * 100, below 10^4, below 10^8.  Zeros move in before the digits. */
static inline uint64_t join_digits(uint64_t word, unsigned n)
{
    word = (word & 0x0f0f0f0f0f0f0f0fu) << (64 - 8 * n);
    word = word * (10 * 0x100 + 1) >> 8;
    word = (word & 0x00ff00ff00ff00ffu) * (100 * 0x10000 + 1) >> 16;
    return (word & 0x0000ffff0000ffffu) * ((uint64_t)10000 * 0x100000000 + 1) >> 32;
}

/* Appends the digits at *at to *mantissa and counts them; false: more than fit. */
static inline bool join_all(const char **at, const char *end, uint64_t *mantissa, unsigned *n)
{
    static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    unsigned n_found;
    do {
        uint64_t word = load_eight(*at, end);
        n_found = leading_digits(word);
        if (n_found == 0) return true;
        *n += n_found;
        if (*n > DIGITS_IN_U64) return false;
        *mantissa = *mantissa * power[n_found] + join_digits(word, n_found);
        *at += n_found;
    } while (n_found == 8);
    return true;
}

/* A number of up to 19 digits without an exponent; false: it is another, or none.  Digits before
 * the point are few: a loop, whose end the processor guesses, is faster there than to wait for
 * their count. */
static inline bool scan_plain(const char *text, const char *end, const char **next, float *out)
{
    static const float sign[] = {1.0f, -1.0f}; /* a branch would guess wrong half of the time */
    const char *c = text;
    uint64_t mantissa = 0;
    unsigned n_whole = 0, n_all;
    bool negative = c < end && *c == '-';
    float value;
    c += negative;
    for (; c < end && drove__is_digit(*c); n_whole++) {
        if (n_whole == DIGITS_IN_U64) return false;
        mantissa = mantissa * 10 + (uint64_t)(*c++ - '0');
    }
    n_all = n_whole;
    if (c < end && *c == '.') {
        c++;
        if (!join_all(&c, end, &mantissa, &n_all)) return false;
    }
    if (n_all == 0 || (c < end && (*c == 'e' || *c == 'E'))) return false;
    if (!fast_path(mantissa, (int64_t)n_whole - n_all, &value)) return false;
    *out = sign[negative] * value;
    *next = c;
    return true;
}

/* Length of "inf", "infinity" or "nan" at text, in upper or lower case; 0 if absent. */
static size_t match_word(const char *text, const char *end, const char *word)
{
    size_t n = 0;
    while (word[n] != '\0') {
        if (text + n >= end || (text[n] | 0x20) != word[n]) return 0;
        n++;
    }
    return n;
}

static bool scan_special(const char *text, const char *end, const char **next, float *out)
{
    const char *c = text;
    bool negative = c < end && *c == '-';
    if (c < end && (*c == '-' || *c == '+')) c++;
    float value = INFINITY;
    size_t n = match_word(c, end, "infinity");
    if (n == 0) n = match_word(c, end, "inf");
    if (n == 0) {
        value = NAN;
        n = match_word(c, end, "nan");
    }
    if (n == 0) return false;
    *next = c + n;
    *out = negative ? -value : value;
    return true;
}

/* Not inlined: its buffer would cost every number. */
__attribute__((noinline)) static bool scan_general(const char *text, const char *end,
                                                   const char **next, float *out)
{
    decimal d;
    float value;
    if (!scan_decimal(text, end, &d)) return scan_special(text, end, next, out);
    if (!fast_path(d.mantissa, d.exponent, &value)) {
        char plain[DIGITS_KEPT + 32];
        write_without_point(&d, plain);
        value = strtof(plain, NULL);
    }
    *out = d.negative ? -value : value;
    *next = d.end;
    return true;
}

bool drove__scan_float(const char *text, const char *end, const char **next, float *out)
{
    return scan_plain(text, end, next, out) || scan_general(text, end, next, out);
}

/* Whole numbers below 2^53 and powers of ten up to 10^22 are exact, so that one operation rounds
 * correctly (Clinger 1990); all others go to strtod. */
bool drove__scan_double(const char *text, const char *end, const char **next, double *out)
{
    enum { EXACT_POWER = 22 };
    const uint64_t exact_most = (uint64_t)1 << 53;
    decimal d;
    double value;
    if (!scan_decimal(text, end, &d)) {
        float special;
        if (!scan_special(text, end, next, &special)) return false;
        *out = (double)special;
        return true;
    }
    if (d.mantissa <= exact_most && d.exponent >= -EXACT_POWER && d.exponent <= EXACT_POWER) {
        const double power = power_of_ten[POWER_MOST + (d.exponent < 0 ? -d.exponent : d.exponent)];
        value = d.exponent < 0 ? (double)d.mantissa / power : (double)d.mantissa * power;
    } else {
        char plain[DIGITS_KEPT + 32];
        write_without_point(&d, plain);
        value = strtod(plain, NULL);
    }
    *out = d.negative ? -value : value;
    *next = d.end;
    return true;
}

bool drove__scan_u64(const char *text, const char *end, const char **next, uint64_t *out)
{
    uint64_t value = 0;
    const char *c = text;
    for (; c < end && drove__is_digit(*c); c++) {
        if (__builtin_mul_overflow(value, 10u, &value)) return false;
        if (__builtin_add_overflow(value, (uint64_t)(*c - '0'), &value)) return false;
    }
    if (c == text) return false;
    *next = c;
    *out = value;
    return true;
}

drove_status drove__parse_u64(const char *what, const char *text, uint64_t least, uint64_t most,
                              uint64_t *out)
{
    uint64_t value;
    const char *end = text + strlen(text), *next;
    if (drove__scan_u64(text, end, &next, &value) && next == end && value >= least &&
        value <= most) {
        *out = value;
        return DROVE_OK;
    }
    if (most == UINT64_MAX) {
        return drove__fail(DROVE_E_ARG,
                           "%s: expected a whole number of at least %llu, found \"%s\"", what,
                           (unsigned long long)least, text);
    }
    return drove__fail(DROVE_E_ARG, "%s: expected a whole number from %llu to %llu, found \"%s\"",
                       what, (unsigned long long)least, (unsigned long long)most, text);
}

drove_status drove__parse_bytes(const char *what, const char *text, uint64_t *out)
{
    static const struct {
        const char *name;
        unsigned shift;
    } unit[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    char number[32];
    unsigned shift = 0;
    size_t n = strlen(text);
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++) {
        if (n <= 3 || strcmp(text + n - 3, unit[i].name) != 0) continue;
        shift = unit[i].shift;
        n -= 3;
        break;
    }
    snprintf(number, sizeof number, "%.*s", (int)n, text);
    if (n < sizeof number &&
        drove__parse_u64(what, number, 1, UINT64_MAX >> (shift + 1), out) == DROVE_OK) {
        *out <<= shift;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG,
                       "%s: expected a whole number with an optional KiB, MiB or GiB, "
                       "found \"%.80s\"",
                       what, text);
}

void drove__name_range(double least, double most, char into[DROVE_RANGE_SIZE])
{
    const double below_one = 1.0 - DBL_EPSILON / 2;
    bool bounded_below = least > -DBL_MAX, bounded_above = most < DBL_MAX;
    char low[40] = "", high[40] = "";
    if (bounded_below && bounded_above && least != DBL_MIN && most != below_one) {
        snprintf(into, DROVE_RANGE_SIZE, " from %.10g to %.10g", least, most);
        return;
    }
    if (least == DBL_MIN) strcpy(low, " above 0");
    else if (bounded_below) snprintf(low, sizeof low, " of at least %.10g", least);
    if (most == below_one) strcpy(high, " below 1");
    else if (bounded_above) snprintf(high, sizeof high, " of at most %.10g", most);
    snprintf(into, DROVE_RANGE_SIZE, "%s%s%s", low, low[0] != '\0' && high[0] != '\0' ? " and" : "",
             high);
}

drove_status drove__parse_real_or(const char *what, const char *text, const char *words,
                                  double least, double most, double *out)
{
    decimal d;
    const char *end = text + strlen(text);
    if (scan_decimal(text, end, &d) && d.end == end) {
        char plain[DIGITS_KEPT + 32];
        write_without_point(&d, plain);
        double value = strtod(plain, NULL);
        if (d.negative) value = -value;
        if (isfinite(value) && value >= least && value <= most) {
            *out = value;
            return DROVE_OK;
        }
        if (!isfinite(value))
            return drove__fail(DROVE_E_ARG,
                               "%s: expected %sa number of at most %.4g in size, found \"%s\"",
                               what, words, fmin(most, DBL_MAX), text);
    }
    char range[DROVE_RANGE_SIZE];
    drove__name_range(least, most, range);
    return drove__fail(DROVE_E_ARG, "%s: expected %sa number%s, found \"%s\"", what, words, range,
                       text);
}

drove_status drove__parse_real(const char *what, const char *text, double least, double most,
                               double *out)
{
    return drove__parse_real_or(what, text, "", least, most, out);
}
