/* table/cell.c - see cell.h. */
#include "table/cell.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/spec.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_MOST = 64 }; /* bytes of a number that is not in the plain form */

bool drove__cell_is_none(const char *text, size_t length)
{
    return length == 4 && memcmp(text, "None", 4) == 0;
}

static const char *const missing_words[] = {"",    "?",   "-",    ".",    "NA",   "N/A",  "n/a",
                                            "nan", "NaN", "null", "NULL", "None", "#N/A", "<NA>"};

const char *drove__cell_missing_word(size_t i)
{
    return i < sizeof missing_words / sizeof *missing_words ? missing_words[i] : NULL;
}

bool drove__cell_is_missing(const char *text, size_t length)
{
    if (length > 4) return false;
    if (length > 0 && memchr("?-.Nn#<", *text, 7) == NULL) return false; /* most cells */
    for (size_t i = 0; i < sizeof missing_words / sizeof *missing_words; i++) {
        const char *word = missing_words[i];
        if (strlen(word) == length && memcmp(word, text, length) == 0) return true;
    }
    return false;
}

/* Lower case.  What databases, spreadsheets and C libraries write for no value ... */
static const char *const notations[] = {"\\n",       "nat",      "(null)", "<null>",  "[null]",
                                        "#n/a",      "#n/a n/a", "#na",    "#div/0!", "#value!",
                                        "#ref!",     "#name?",   "#num!",  "#null!",  "nan(ind)",
                                        "nan(snan)", "1.#qnan",  "1.#ind", "1.#snan", NULL};
/* ... and words that people write. */
static const char *const value_words[] = {
    "nil",     "none",   "null",           "na",           "n.a.",      "n.a",
    "n/d",     "nd",     "n.d.",           "missing",      "(missing)", "(none)",
    "(blank)", "<none>", "unknown",        "(unknown)",    "undefined", "undef",
    "empty",   "blank",  "not available",  "no data",      "nodata",    "no value",
    "tbd",     "unk",    "not applicable", "--",           "---",       "..",
    "...",     "*",      "\xe2\x80\x93",   "\xe2\x80\x94", "#",         NULL};

static bool is_among(const char *text, size_t length, const char *const *words)
{
    if (length == 0) return false;
    for (; *words != NULL; words++) {
        if (((**words ^ *text) & 0xdf) != 0) continue; /* upper and lower case differ by one bit */
        if (strlen(*words) == length && strncasecmp(text, *words, length) == 0) return true;
    }
    return false;
}

bool drove__cell_is_missing_notation(const char *text, size_t length)
{
    const size_t sign = length > 1 && (*text == '-' || *text == '+'); /* -nan(ind), -1.#IND */
    /* Most cells begin like none of them. */
    if (length - sign < 2 || strchr("\\nN(<[#1", text[sign]) == NULL ||
        (text[sign] == '1' && length - sign < 6))
        return false;
    const bool is_nan = length - sign == 3 && strncasecmp(text + sign, "nan", 3) == 0;
    return is_nan || is_among(text + sign, length - sign, notations);
}

bool drove__cell_is_missing_value(const char *text, size_t length)
{
    return drove__cell_is_missing_notation(text, length) || is_among(text, length, value_words);
}

/* ---- numbers ---- */

/* Bytes of the character at text if it is among those of the list, which ends with NULL; 0: it is
 * none of them. */
static size_t match_any(const char *text, const char *end, const char *const *list)
{
    for (; *list != NULL; list++) {
        const size_t n = strlen(*list);
        if ((size_t)(end - text) >= n && memcmp(text, *list, n) == 0) return n;
    }
    return 0;
}

static size_t match_digits(const char *text, const char *end)
{
    const char *c = text;
    while (c < end && drove__is_digit(*c)) c++;
    return (size_t)(c - text);
}

const char *const drove__digit_joints[] = {
    " ", "'", "_", "\xc2\xa0", "\xe2\x80\x87", "\xe2\x80\x89", "\xe2\x80\xaf", "\xe2\x80\x99",
    NULL};

/* Writes the number with an ASCII minus, before it, and without groups that are joined by anything
 * but points and commas; false: it is too long. */
static bool simplify(const char *text, size_t length, char into[NUMBER_MOST], size_t *n_out)
{
    static const char *const minus[] = {"-", "\xe2\x88\x92", "\xe2\x80\x93", "\xef\xbc\x8d", NULL};
    const char *c = text, *end = text + length;
    size_t n = 0, n_sign = match_any(c, end, minus), n_joint;
    if (n_sign > 0) {
        c += n_sign;
        into[n++] = '-';
        if (end - c > 1 && *c == ' ' && drove__is_digit(c[1])) c++;
    } else if (end - c > 1 && drove__is_digit(end[-2]) && end[-1] == '-') {
        end--; /* as SAP writes it */
        into[n++] = '-';
    }
    if ((size_t)(end - c) + n >= NUMBER_MOST) return false;
    /* 1 234 567, every group joined by the same character */
    const size_t n_first = match_digits(c, end);
    const char *joint = c + n_first;
    n_joint = match_any(joint, end, drove__digit_joints);
    if (n_first >= 1 && n_first <= 3 && n_joint > 0) {
        const char *at = joint;
        size_t n_digits = n_first;
        memcpy(into + n, c, n_first);
        while ((size_t)(end - at) >= n_joint + 3 && memcmp(at, joint, n_joint) == 0 &&
               match_digits(at + n_joint, end) == 3) {
            memcpy(into + n + n_digits, at + n_joint, 3);
            n_digits += 3;
            at += n_joint + 3;
        }
        if (n_digits > n_first) {
            n += n_digits;
            c = at;
        }
    }
    memcpy(into + n, c, (size_t)(end - c));
    *n_out = n + (size_t)(end - c);
    return true;
}

/* Digits in groups of three after a first one of one to three, or as in India, 12,34,567; not
 * 0,123.  *n_used: bytes of all of them. */
static bool match_groups(const char *text, size_t length, char group, size_t *n_used)
{
    const char *end = text + length;
    size_t n = match_digits(text, end);
    if (n == 0 || n > 3 || n == length || text[n] != group || *text == '0') return false;
    size_t last = 3;
    while (n < length && text[n] == group) {
        if (last == 0) return false;
        last = match_digits(text + n + 1, end);
        if (last != 2 && last != 3) return false;
        n += 1 + last;
        if (last == 3 && n < length && text[n] == group && match_digits(text + n + 1, end) != 3)
            return false;
    }
    *n_used = n;
    return last == 3;
}

/* 192.168.100.101: an address, not thousands. */
static bool is_address(const char *text, size_t length)
{
    const char *c = text, *end = text + length;
    unsigned n_parts = 0;
    for (; n_parts <= 4 && c < end; n_parts++, c++) {
        const size_t n = match_digits(c, end);
        if (n == 0 || n > 3 ||
            (n == 3 && (c[0] - '0') * 100 + (c[1] - '0') * 10 + c[2] - '0' > 255))
            return false;
        c += n;
        if (c < end && *c != '.') return false;
    }
    return n_parts == 4 && c == end + 1;
}

/* The D of a double that Fortran wrote, 1.5D+03, stands for an E; a code has no such sign. */
static bool is_fortran(char decimal, const char *text, size_t length, size_t i)
{
    return (text[i] | 0x20) == 'd' && i > 0 && i + 2 < length &&
           (drove__is_digit(text[i - 1]) || text[i - 1] == decimal) &&
           (text[i + 1] == '+' || text[i + 1] == '-') && drove__is_digit(text[i + 2]) &&
           memchr(text, decimal, i) != NULL;
}

/* Writes the number with a point and without groups. */
static bool make_plain(char decimal, char group, const char *text, size_t length, char *into,
                       size_t *n_out)
{
    size_t n = 0, i = 0, n_grouped = 0;
    if (length == 0 || length >= NUMBER_MOST) return false;
    if (*text == '-' || *text == '+') into[n++] = text[i++];
    if (group != 0 && match_groups(text + i, length - i, group, &n_grouped)) {
        for (size_t k = 0; k < n_grouped; k++, i++) {
            if (text[i] != group) into[n++] = text[i];
        }
    }
    for (; i < length; i++) {
        if (text[i] == group || (text[i] == '.' && decimal != '.')) return false;
        into[n++] = text[i] == decimal ? '.' : is_fortran(decimal, text, length, i) ? 'e' : text[i];
    }
    *n_out = n;
    return true;
}

static bool scan_plain(const char *text, size_t length, double *out)
{
    const char *next, *end = text + length;
    double value;
    if (length == 0 || !drove__scan_double(text, end, &next, &value)) return false;
    if (next != end || !(fabs(value) <= (double)FLT_MAX)) return false;
    *out = value;
    return true;
}

bool drove__cell_number(drove_number_form form, const char *text, size_t length, double *out)
{
    static const char decimal[DROVE_N_FORMS] = {'.', '.', ',', ','};
    static const char group[DROVE_N_FORMS] = {0, ',', 0, '.'};
    char simple[NUMBER_MOST], plain[NUMBER_MOST];
    size_t n_simple, n;
    if (length > 0 && ((*text | 0x20) >= 'a' && (*text | 0x20) <= 'z')) return false;
    if (form == DROVE_FORM_POINT && scan_plain(text, length, out)) return true;
    if (length == 0 || length >= 2 * NUMBER_MOST || !simplify(text, length, simple, &n_simple))
        return false;
    if (form == DROVE_FORM_COMMA_GROUPS && is_address(simple, n_simple)) return false;
    if (!make_plain(decimal[form], group[form], simple, n_simple, plain, &n)) return false;
    return scan_plain(plain, n, out);
}

bool drove__cell_is_infinite(const char *text, size_t length)
{
    const char *next, *end = text + length;
    float value;
    return length > 0 && drove__scan_float(text, end, &next, &value) && next == end && isinf(value);
}

bool drove__cell_is_padded(const char *text, size_t length)
{
    return length > 1 && *text == '0' && drove__is_digit(text[1]);
}

bool drove__cell_is_integer(const char *text, size_t length)
{
    size_t i = length > 0 && (*text == '-' || *text == '+');
    if (i == length) return false;
    while (i < length && drove__is_digit(text[i])) i++;
    return i == length;
}

enum { BOOLEAN_WORDS = 6 };
static const char *const boolean_words[2][BOOLEAN_WORDS] = {{"false", "no", "f", "n", "0", "0.0"},
                                                            {"true", "yes", "t", "y", "1", "1.0"}};

const char *drove__cell_boolean_word(unsigned value, size_t i)
{
    return i < BOOLEAN_WORDS ? boolean_words[value][i] : NULL;
}

bool drove__cell_boolean(const char *text, size_t length, float *out)
{
    for (size_t value = 0; value < 2; value++) {
        for (size_t i = 0; i < BOOLEAN_WORDS; i++) {
            const char *word = boolean_words[value][i];
            if (strlen(word) != length || strncasecmp(word, text, length) != 0) continue;
            *out = (float)value;
            return true;
        }
    }
    return false;
}
