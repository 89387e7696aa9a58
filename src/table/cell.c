/* table/cell.c - see cell.h. */
#include "table/cell.h"

#include "base/spec.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_MOST = 64 }; /* bytes of a number that is not in the plain form */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

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
    for (size_t i = 0; i < sizeof missing_words / sizeof *missing_words; i++) {
        const char *word = missing_words[i];
        if (strlen(word) == length && memcmp(word, text, length) == 0) return true;
    }
    return false;
}

/* ---- numbers ---- */

/* Digits in groups of three after a first one of one to three; *n_digits: bytes of all of them. */
static bool match_groups(const char *text, size_t length, char group, size_t *n_used)
{
    size_t n = 0;
    while (n < length && is_digit(text[n])) n++;
    if (n == 0 || n > 3 || n == length || text[n] != group) return false;
    while (n < length && text[n] == group) {
        if (n + 3 >= length) return false;
        for (size_t i = 1; i <= 3; i++) {
            if (!is_digit(text[n + i])) return false;
        }
        n += 4;
    }
    *n_used = n;
    return n == length || !is_digit(text[n]);
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
        into[n++] = text[i] == decimal ? '.' : text[i];
    }
    *n_out = n;
    return true;
}

static bool scan_plain(const char *text, size_t length, float *out)
{
    const char *next, *end = text + length;
    float value;
    if (length == 0 || !drove__scan_float(text, end, &next, &value)) return false;
    if (next != end || !isfinite(value)) return false;
    *out = value;
    return true;
}

bool drove__cell_number(drove_number_form form, const char *text, size_t length, float *out)
{
    static const char decimal[DROVE_N_FORMS] = {'.', '.', ',', ','};
    static const char group[DROVE_N_FORMS] = {0, ',', 0, '.'};
    char plain[NUMBER_MOST];
    size_t n;
    if (form == DROVE_FORM_POINT) return scan_plain(text, length, out);
    if (!make_plain(decimal[form], group[form], text, length, plain, &n)) return false;
    return scan_plain(plain, n, out);
}

bool drove__cell_is_infinite(const char *text, size_t length)
{
    const char *next, *end = text + length;
    float value;
    return length > 0 && drove__scan_float(text, end, &next, &value) && next == end &&
           !isfinite(value);
}

bool drove__cell_is_integer(const char *text, size_t length)
{
    size_t i = length > 0 && (*text == '-' || *text == '+');
    if (i == length) return false;
    while (i < length && is_digit(text[i])) i++;
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

/* ---- dates ---- */

/* Days since 1970-01-01 of a date of the Gregorian calendar: years begin in March, so that a leap
 * day is the last of its year; 400 years are 146097 days. */
static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

drove_date drove__date_of(int32_t minutes)
{
    int64_t days = minutes >= 0 ? minutes / 1440 : -((1439 - (int64_t)minutes) / 1440);
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* 0 = March */
    drove_date date = {.day = (unsigned)(of_year - (153 * month + 2) / 5 + 1)};
    date.month = (unsigned)(month < 10 ? month + 3 : month - 9);
    date.year = (int)(year + era * 400 + (date.month <= 2));
    date.weekday = (unsigned)(((days + 3) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
    date.hour = (unsigned)(((int64_t)minutes - days * 1440) / 60);
    return date;
}

/* n digits at *at, which moves behind them; the number must be from least to most. */
static bool take_digits(const char **at, const char *end, int n, unsigned least, unsigned most,
                        unsigned *out)
{
    unsigned value = 0;
    if (end - *at < n) return false;
    for (int i = 0; i < n; i++) {
        if (!is_digit((*at)[i])) return false;
        value = value * 10 + (unsigned)((*at)[i] - '0');
    }
    *at += n;
    *out = value;
    return value >= least && value <= most;
}

/* One or two digits. */
static bool take_short(const char **at, const char *end, unsigned least, unsigned most,
                       unsigned *out)
{
    bool has_two = end - *at >= 2 && is_digit((*at)[1]);
    return take_digits(at, end, has_two ? 2 : 1, least, most, out);
}

static bool take_char(const char **at, const char *end, char c)
{
    if (*at == end || **at != c) return false;
    ++*at;
    return true;
}

/* "Z", "+02", "+02:00" or "+0200" to the end of the text; *minutes is 0 without one. */
static bool take_offset(const char **at, const char *end, int *minutes)
{
    unsigned hours, rest = 0;
    *minutes = 0;
    if (*at == end) return true;
    if (take_char(at, end, 'Z')) return *at == end;
    bool is_behind = **at == '-';
    if (!take_char(at, end, is_behind ? '-' : '+')) return false;
    if (!take_digits(at, end, 2, 0, 23, &hours)) return false;
    (void)take_char(at, end, ':');
    if (*at < end && !take_digits(at, end, 2, 0, 59, &rest)) return false;
    *minutes = (int)(hours * 60 + rest) * (is_behind ? -1 : 1);
    return *at == end;
}

/* " AM" or " pm" after an hour of 1 to 12; without it the hour stays. */
static bool take_half(const char **at, const char *end, unsigned *hour)
{
    const char *c = *at;
    while (c < end && *c == ' ') c++;
    if (end - c < 2 || (c[1] | 0x20) != 'm') return true;
    bool is_pm = (*c | 0x20) == 'p';
    if ((!is_pm && (*c | 0x20) != 'a') || *hour < 1 || *hour > 12) return false;
    *hour = *hour % 12 + (is_pm ? 12 : 0);
    *at = c + 2;
    return true;
}

/* "hh:mm", ":ss", ".fraction", AM or PM, and the offset. */
static bool take_time(const char **at, const char *end, int *minutes)
{
    unsigned hour, minute, second;
    int offset;
    if (!take_short(at, end, 0, 23, &hour) || !take_char(at, end, ':')) return false;
    if (!take_digits(at, end, 2, 0, 59, &minute)) return false;
    if (take_char(at, end, ':')) {
        if (!take_digits(at, end, 2, 0, 60, &second)) return false;
        if (take_char(at, end, '.'))
            while (*at < end && is_digit(**at)) ++*at;
    }
    if (!take_half(at, end, &hour) || !take_offset(at, end, &offset)) return false;
    *minutes = (int)(hour * 60 + minute) - offset;
    return true;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && is_leap ? 1u : 0u);
}

typedef struct day { /* of the calendar */
    unsigned year, month, day;
} day;

static bool is_joint(char c)
{
    return c == '-' || c == '/' || c == '.';
}

static bool take_ymd(const char **at, const char *end, day *d)
{
    if (!take_digits(at, end, 4, 0, 9999, &d->year) || *at == end || !is_joint(**at)) return false;
    const char joint = **at;
    const bool is_short = joint != '-';
    ++*at;
    if (!(is_short ? take_short(at, end, 1, 12, &d->month)
                   : take_digits(at, end, 2, 1, 12, &d->month)))
        return false;
    if (!take_char(at, end, joint)) return false;
    return is_short ? take_short(at, end, 1, 31, &d->day) : take_digits(at, end, 2, 1, 31, &d->day);
}

/* Four digits, or two, as strptime reads them. */
static bool take_year(const char **at, const char *end, unsigned *year, bool *is_short)
{
    *is_short = end - *at < 4 || !is_digit((*at)[2]);
    if (!*is_short) return take_digits(at, end, 4, 0, 9999, year);
    if (!take_digits(at, end, 2, 0, 99, year)) return false;
    *year += *year < 69 ? 2000 : 1900;
    return true;
}

/* day/month/year, or month/day/year. */
static bool take_year_last(const char **at, const char *end, bool is_day_first, day *d)
{
    const char *first = *at;
    bool is_short_year;
    unsigned part[2];
    if (!take_short(at, end, 1, 31, &part[0]) || *at == end || !is_joint(**at)) return false;
    const char joint = **at;
    ++*at;
    if (!take_short(at, end, 1, 31, &part[1]) || !take_char(at, end, joint)) return false;
    const bool is_full = *at - first == 6; /* dd/mm/ */
    if (!take_year(at, end, &d->year, &is_short_year)) return false;
    if (!is_full && (joint == '-' || (joint == '.' && is_short_year))) return false;
    d->day = part[is_day_first ? 0 : 1];
    d->month = part[is_day_first ? 1 : 0];
    return d->month <= 12;
}

bool drove__cell_date(drove_date_order order, const char *text, size_t length, int32_t *minutes,
                      bool *has_time)
{
    const char *at = text, *end = text + length;
    int time = 0;
    day d;
    bool is_day = order == DROVE_DATE_YMD ? take_ymd(&at, end, &d)
                                          : take_year_last(&at, end, order == DROVE_DATE_DMY, &d);
    if (!is_day || d.day > days_in_month(d.year, d.month)) return false;
    bool is_timed = at < end;
    if (is_timed) {
        if (*at != 'T' && *at != 't' && *at != ' ') return false;
        at++;
        if (!take_time(&at, end, &time)) return false;
    }
    int64_t total = days_of(d.year, d.month, d.day) * 1440 + time;
    if (total <= INT32_MIN || total > INT32_MAX) return false; /* years before -2114, after 6053 */
    *minutes = (int32_t)total;
    *has_time = is_timed;
    return true;
}
