/* table/date.c - dates, times of day and durations in cells; declared in cell.h. */
#include "table/cell.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/spec.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { DAY_SECONDS = 86400, YEAR_MOST = 9999 };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- the calendar ---- */

/* Days since 1970-01-01 of a date of the Gregorian calendar: years begin in March, so that a leap
 * day is the last of its year; 400 years are 146097 days. */
static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

drove_date drove__date_of(int64_t seconds)
{
    const int64_t days =
        seconds >= 0 ? seconds / DAY_SECONDS : -((DAY_SECONDS - 1 - seconds) / DAY_SECONDS);
    const unsigned of_day = (unsigned)(seconds - days * DAY_SECONDS);
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* 0 = March */
    drove_date date = {.day = (unsigned)(of_year - (153 * month + 2) / 5 + 1)};
    date.month = (unsigned)(month < 10 ? month + 3 : month - 9);
    date.year = (int)(year + era * 400 + (date.month <= 2));
    date.weekday = (unsigned)(((days + 3) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
    date.hour = of_day / 3600;
    date.minute = of_day / 60 % 60;
    date.second = of_day % 60;
    return date;
}

/* ---- parts; each moves *at behind itself ---- */

/* n digits; the number must be from least to most. */
static bool take_digits(const char **at, const char *end, int n, unsigned least, unsigned most,
                        unsigned *out)
{
    unsigned value = 0;
    if (end - *at < n) return false;
    for (int i = 0; i < n; i++) {
        if (!drove__is_digit((*at)[i])) return false;
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
    bool has_two = end - *at >= 2 && drove__is_digit((*at)[1]);
    return take_digits(at, end, has_two ? 2 : 1, least, most, out);
}

static bool take_char(const char **at, const char *end, char c)
{
    if (*at == end || (**at != c && !(is_letter(c) && (**at | 0x20) == (c | 0x20)))) return false;
    ++*at;
    return true;
}

static bool take_blanks(const char **at, const char *end)
{
    const char *from = *at;
    while (*at < end && **at == ' ') ++*at;
    return *at > from;
}

/* The word of n letters at *at, if it is the first so many letters of one of the names, three at
 * least; a point behind it is taken, too.  *out: from 1. */
static bool take_name(const char **at, const char *end, const char *const *names, size_t n_names,
                      unsigned *out)
{
    const char *c = *at;
    while (c < end && is_letter(*c)) c++;
    const size_t n = (size_t)(c - *at);
    for (size_t i = 0; i < n_names && n >= 3; i++) {
        if (((**at ^ *names[i]) & 0xdf) != 0) continue; /* upper and lower case differ by one bit */
        const bool is_sept = n == 4 && i == 8;
        if (strncasecmp(*at, names[i], n) != 0 || (n != 3 && !is_sept && n != strlen(names[i])))
            continue;
        *at = c;
        (void)take_char(at, end, '.');
        *out = (unsigned)i + 1;
        return true;
    }
    return false;
}

static bool take_month_name(const char **at, const char *end, unsigned *month)
{
    static const char *const names[] = {"january",   "february", "march",    "april",
                                        "may",       "june",     "july",     "august",
                                        "september", "october",  "november", "december"};
    return take_name(at, end, names, DROVE_COUNT(names), month);
}

/* "Tue, " or "Tuesday ". */
static void skip_weekday(const char **at, const char *end)
{
    static const char *const names[] = {"monday", "tuesday",  "wednesday", "thursday",
                                        "friday", "saturday", "sunday"};
    const char *c = *at;
    unsigned day;
    if (!take_name(&c, end, names, DROVE_COUNT(names), &day)) return;
    (void)take_char(&c, end, ',');
    if (take_blanks(&c, end)) *at = c;
}

static bool is_joint(char c)
{
    return c == '-' || c == '/' || c == '.';
}

/* -, /, . or blanks, with a comma before them. */
static bool take_any_joint(const char **at, const char *end)
{
    if (*at < end && is_joint(**at)) {
        ++*at;
        return true;
    }
    const bool has_comma = take_char(at, end, ',');
    return take_blanks(at, end) || has_comma;
}

/* Four digits, or two, as strptime reads them. */
static bool take_year(const char **at, const char *end, unsigned *year, bool *is_short)
{
    *is_short = end - *at < 4 || !drove__is_digit((*at)[2]);
    if (!*is_short) return take_digits(at, end, 4, 0, YEAR_MOST, year);
    if (!take_digits(at, end, 2, 0, 99, year)) return false;
    *year += *year < 69 ? 2000 : 1900;
    return true;
}

/* ---- dates ---- */

typedef struct day { /* of the calendar; a month or day of 0: there is none */
    unsigned year, month, day;
} day;

static bool take_ymd(const char **at, const char *end, day *d)
{
    if (!take_digits(at, end, 4, 0, YEAR_MOST, &d->year) || *at == end || !is_joint(**at))
        return false;
    const char joint = **at;
    ++*at;
    return take_short(at, end, 0, 12, &d->month) && take_char(at, end, joint) &&
           take_short(at, end, 0, 31, &d->day);
}

/* day/month/year, or month/day/year. */
static bool take_year_last(const char **at, const char *end, bool is_day_first, day *d)
{
    const char *first = *at;
    bool is_short_year;
    unsigned part[2];
    if (!take_short(at, end, 0, 31, &part[0]) || *at == end || !is_joint(**at)) return false;
    const char joint = **at;
    ++*at;
    if (!take_short(at, end, 0, 31, &part[1]) || !take_char(at, end, joint)) return false;
    const bool is_full = *at - first == 6; /* dd/mm/ */
    if (!take_year(at, end, &d->year, &is_short_year)) return false;
    if (!is_full && joint != '/' && is_short_year) return false;
    d->day = part[is_day_first ? 0 : 1];
    d->month = part[is_day_first ? 1 : 0];
    return d->month <= 12;
}

/* 1 Jan 2019, 01-Jan-19, 2019-Jan-01, Jan 1, 2019, Jan 2019. */
static bool take_named(const char **at, const char *end, day *d)
{
    bool is_short;
    const char *c = *at;
    if (take_month_name(&c, end, &d->month)) {
        const bool is_hyphened = c < end && *c == '-'; /* Jan-19, but Jan 19 may be a day */
        (void)take_any_joint(&c, end);
        const char *number = c;
        if (take_short(&c, end, 1, 31, &d->day) && take_any_joint(&c, end) &&
            take_digits(&c, end, 4, 0, YEAR_MOST, &d->year)) {
            *at = c;
            return true;
        }
        d->day = 1;
        *at = number;
        return take_year(at, end, &d->year, &is_short) && (is_hyphened || !is_short);
    }
    if (take_digits(&c, end, 4, 0, YEAR_MOST, &d->year)) {
        (void)take_any_joint(&c, end);
        if (!take_month_name(&c, end, &d->month)) return false;
        const char *behind = c;
        d->day = 1;
        if (!take_any_joint(&c, end) || !take_short(&c, end, 1, 31, &d->day)) c = behind;
        *at = c;
        return true;
    }
    c = *at;
    if (!take_short(&c, end, 1, 31, &d->day)) return false;
    (void)take_any_joint(&c, end);
    if (!take_month_name(&c, end, &d->month)) return false;
    (void)take_any_joint(&c, end);
    *at = c;
    return take_year(at, end, &d->year, &is_short);
}

/* 2019-01, 01/2019, 2019M01: the whole text. */
static bool take_month(const char **at, const char *end, day *d)
{
    const char *c = *at;
    d->day = 1;
    if (take_digits(&c, end, 4, 0, YEAR_MOST, &d->year)) {
        const bool is_joined = c < end && (*c == '-' || *c == '/');
        c += is_joined;
        if (!take_char(&c, end, 'M') && !is_joined) return false;
        *at = c;
        return take_short(at, end, 1, 12, &d->month) && *at == end;
    }
    if (!take_short(at, end, 1, 12, &d->month) || *at == end || (**at != '-' && **at != '/'))
        return false;
    ++*at;
    return take_digits(at, end, 4, 0, YEAR_MOST, &d->year) && *at == end;
}

/* 2019Q1, 2019-Q1, Q1 2019, 1Q2019: the whole text. */
static bool take_quarter(const char **at, const char *end, day *d)
{
    unsigned quarter;
    const char *c = *at;
    d->day = 1;
    if (take_digits(&c, end, 4, 0, YEAR_MOST, &d->year)) {
        (void)take_any_joint(&c, end);
        if (!take_char(&c, end, 'Q') || !take_digits(&c, end, 1, 1, 4, &quarter)) return false;
    } else {
        c = *at;
        if (take_char(&c, end, 'Q')
                ? !take_digits(&c, end, 1, 1, 4, &quarter)
                : !take_digits(&c, end, 1, 1, 4, &quarter) || !take_char(&c, end, 'Q'))
            return false;
        (void)take_any_joint(&c, end);
        if (!take_digits(&c, end, 4, 0, YEAR_MOST, &d->year)) return false;
    }
    d->month = 3 * (quarter - 1) + 1;
    *at = c;
    return c == end;
}

/* 2019-W05 or 2019-W05-1 (ISO 8601): the whole text.  Week 1 holds January 4. */
static bool take_week(const char **at, const char *end, int64_t *days)
{
    unsigned year, week, weekday = 1;
    if (!take_digits(at, end, 4, 1, YEAR_MOST - 1, &year)) return false;
    (void)take_char(at, end, '-');
    if (!take_char(at, end, 'W') || !take_digits(at, end, 2, 1, 53, &week)) return false;
    if (*at < end && (!take_char(at, end, '-') || !take_digits(at, end, 1, 1, 7, &weekday)))
        return false;
    const int64_t fourth = days_of(year, 1, 4), monday = fourth - ((fourth + 3) % 7 + 7) % 7;
    *days = monday + 7 * ((int64_t)week - 1) + (int64_t)weekday - 1;
    return *at == end;
}

/* ---- times ---- */

/* "Z", "UTC", "GMT", "+02", "+02:00" or "+0200", also behind blanks, to the end of the text;
 * *seconds is 0 without one. */
static bool take_offset(const char **at, const char *end, int *seconds)
{
    unsigned hours, rest = 0;
    *seconds = 0;
    if (*at == end) return true;
    (void)take_blanks(at, end);
    if (take_char(at, end, 'Z')) return *at == end;
    if (end - *at >= 3 && (strncasecmp(*at, "utc", 3) == 0 || strncasecmp(*at, "gmt", 3) == 0)) {
        *at += 3;
        if (*at == end) return true;
    }
    if (*at == end) return false;
    bool is_behind = **at == '-';
    if (!take_char(at, end, is_behind ? '-' : '+')) return false;
    if (!take_digits(at, end, 2, 0, 23, &hours)) return false;
    (void)take_char(at, end, ':');
    if (*at < end && !take_digits(at, end, 2, 0, 59, &rest)) return false;
    *seconds = (int)(hours * 60 + rest) * (is_behind ? -60 : 60);
    return *at == end;
}

/* " AM" or " pm" after an hour of 1 to 12; without it the hour stays. */
static bool take_half(const char **at, const char *end, unsigned *hour)
{
    const char *c = *at;
    while (c < end && *c == ' ') c++;
    if (end - c < 2 || (c[1] | 0x20) != 'm' || ((*c | 0x20) != 'a' && (*c | 0x20) != 'p'))
        return true;
    const bool is_pm = (*c | 0x20) == 'p';
    if (*hour < 1 || *hour > 12) return false;
    *hour = *hour % 12 + (is_pm ? 12 : 0);
    *at = c + 2;
    return true;
}

/* "hh:mm", ":ss", ".fraction", AM or PM. */
static bool take_time(const char **at, const char *end, unsigned *seconds)
{
    unsigned hour, minute, second = 0;
    if (!take_short(at, end, 0, 23, &hour) || !take_char(at, end, ':')) return false;
    if (!take_digits(at, end, 2, 0, 59, &minute)) return false;
    if (take_char(at, end, ':')) {
        if (!take_digits(at, end, 2, 0, 60, &second)) return false;
        if (take_char(at, end, '.') || take_char(at, end, ','))
            while (*at < end && drove__is_digit(**at)) ++*at;
    }
    if (!take_half(at, end, &hour)) return false;
    *seconds = hour * 3600 + minute * 60 + second;
    return true;
}

/* ---- the whole cell ---- */

/* Oct 10 20:19:24 2018, as C's asctime and date(1) write it, also with UTC or an offset before the
 * year: the whole text. */
static bool take_asctime(const char *at, const char *end, day *d, unsigned *time, int *offset)
{
    enum { YEAR_DIGITS = 4 };
    const char *year = end - YEAR_DIGITS;
    if (!take_month_name(&at, end, &d->month) || !take_blanks(&at, end)) return false;
    if (!take_short(&at, end, 1, 31, &d->day) || !take_blanks(&at, end)) return false;
    if (!take_time(&at, end, time) || at >= year || year[-1] != ' ') return false;
    const char *zone_end = year - 1;
    if (!take_digits(&year, end, YEAR_DIGITS, 0, YEAR_MOST, &d->year)) return false;
    return take_offset(&at, at < zone_end ? zone_end : at, offset);
}

/* The day that a text begins with; *at moves behind it. */
static bool take_day(drove_date_order order, const char **at, const char *end, day *d)
{
    const char *first = *at;
    if (order == DROVE_DATE_YMD ? take_ymd(at, end, d)
                                : take_year_last(at, end, order == DROVE_DATE_DMY, d))
        return true;
    *at = first;
    if (take_month(at, end, d)) return true;
    *at = first;
    if (take_quarter(at, end, d)) return true;
    *at = first;
    return take_named(at, end, d);
}

bool drove__cell_date(drove_date_order order, const char *text, size_t length, int64_t *seconds,
                      bool *has_time)
{
    enum { SHORTEST = 6, LONGEST = 48 };
    const char *at = text, *end = text + length;
    unsigned time = 0;
    int offset = 0;
    int64_t days;
    day d;
    if (length < SHORTEST || length > LONGEST) return false;
    if (!drove__is_digit(*text) && !is_letter(*text)) return false;
    if (take_week(&at, end, &days)) {
        *seconds = days * DAY_SECONDS;
        *has_time = false;
        return true;
    }
    at = text;
    skip_weekday(&at, end);
    bool is_timed = take_asctime(at, end, &d, &time, &offset);
    if (!is_timed) {
        if (!take_day(order, &at, end, &d)) return false;
        is_timed = at < end;
        if (is_timed) { /* "T10:30" or " 10:30 PM +02:00": the rest of the text */
            if (*at != 'T' && *at != 't' && *at != ' ' && *at != ',') return false;
            at++;
            (void)take_blanks(&at, end);
            if (!take_time(&at, end, &time) || !take_offset(&at, end, &offset)) return false;
        }
    }
    *has_time = false;
    *seconds = DROVE_NO_DATE;
    /* 0000-00-00 of MySQL, 0001-01-01 of .NET, 9999-12-31 of what has no end. */
    const bool is_zero = d.year == 0 && (d.month == 0) == (d.day == 0);
    if (is_zero || d.year == YEAR_MOST || (d.year == 1 && d.month == 1 && d.day == 1)) return true;
    if (d.month == 0 || d.day == 0) return false;
    static const unsigned char days_of_month[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool is_leap = d.year % 4 == 0 && (d.year % 100 != 0 || d.year % 400 == 0);
    if (d.day > days_of_month[d.month - 1] + (d.month == 2 && is_leap ? 1u : 0u)) return false;
    *has_time = is_timed;
    *seconds = days_of(d.year, d.month, d.day) * DAY_SECONDS + time - offset;
    return true;
}

/* ---- clocks ---- */

/* A number of digits with a fraction. */
static bool take_number(const char **at, const char *end, double *out)
{
    const char *from = *at;
    while (*at < end && (drove__is_digit(**at) || **at == '.')) ++*at;
    const char *next;
    return *at > from && drove__scan_double(from, *at, &next, out) && next == *at;
}

/* hh:mm, hh:mm:ss.fraction or mm:ss.fraction; hours may be many. */
static bool take_hours(const char **at, const char *end, double *seconds)
{
    double hours, second = 0;
    unsigned minute;
    const char *from = *at;
    while (*at < end && drove__is_digit(**at)) ++*at;
    const char *next;
    if (*at == from || *at - from > 6 || !drove__scan_double(from, *at, &next, &hours))
        return false;
    if (!take_char(at, end, ':') || !take_digits(at, end, 2, 0, 59, &minute)) return false;
    if (*at < end && **at == '.') { /* 1:23.45 of a lap: minutes and seconds */
        const char *first = *at - 2;
        *at = first;
        if (!take_number(at, end, &second)) return false;
        *seconds = hours * 60 + second;
        return true;
    }
    if (take_char(at, end, ':')) {
        const char *first = *at;
        if (end - first < 2 || !drove__is_digit(first[1]) || !take_number(at, end, &second))
            return false;
        if (second >= 61 || (first + 2 < *at && first[2] != '.')) return false;
    }
    *seconds = hours * 3600 + minute * 60 + second;
    return true;
}

static const struct {
    const char *name;
    double seconds;
} spans[] = {{"ms", 1e-3},   {"msec", 1e-3},   {"s", 1},         {"sec", 1},     {"secs", 1},
             {"second", 1},  {"seconds", 1},   {"m", 60},        {"min", 60},    {"mins", 60},
             {"minute", 60}, {"minutes", 60},  {"h", 3600},      {"hr", 3600},   {"hrs", 3600},
             {"hour", 3600}, {"hours", 3600},  {"d", 86400},     {"day", 86400}, {"days", 86400},
             {"w", 604800},  {"week", 604800}, {"weeks", 604800}};

/* "1h 30m", "2 days", "PT1H30M": numbers with their units, the larger ones first. */
static bool take_spans(const char *at, const char *end, double *seconds)
{
    const bool is_iso = take_char(&at, end, 'P');
    double before = INFINITY;
    size_t n = 0;
    *seconds = 0;
    while (at < end) {
        double number;
        if (is_iso) (void)take_char(&at, end, 'T');
        if (!take_number(&at, end, &number)) return false;
        (void)take_blanks(&at, end);
        const char *name = at;
        while (at < end && is_letter(*at) && !(is_iso && at > name)) at++;
        double unit = 0;
        for (size_t i = 0; i < DROVE_COUNT(spans); i++) {
            if (strlen(spans[i].name) == (size_t)(at - name) &&
                strncasecmp(spans[i].name, name, (size_t)(at - name)) == 0)
                unit = spans[i].seconds;
        }
        if (at == end && at == name && before == 3600) unit = 60; /* 1h30 */
        if (unit == 0 || unit >= before) return false;
        before = unit;
        *seconds += number * unit;
        n++;
        (void)take_char(&at, end, ',');
        (void)take_blanks(&at, end);
    }
    return n > 0;
}

bool drove__cell_clock(const char *text, size_t length, double *seconds)
{
    enum { LONGEST = 48 };
    const char *at = text, *end = text + length;
    double days = 0, time;
    if (length < 2 || length > LONGEST) return false;
    const double sign = *at == '-' ? -1 : 1;
    if (*at == '-' || *at == '+') at++;
    const char *first = at;
    if (take_spans(at, end, &time)) {
        *seconds = sign * time;
        return true;
    }
    /* 7:30 PM */
    unsigned of_day;
    if (sign > 0 && take_time(&at, end, &of_day) && at == end) {
        at = first;
        if (take_hours(&at, end, &time)) {
            if (at == end) { /* with its fraction */
                *seconds = time;
                return true;
            }
            *seconds = of_day + time - floor(time);
            return true;
        }
    }
    /* -1 days +23:59:00, where the time is added */
    at = first;
    double days_sign = 1;
    if (take_number(&at, end, &days)) {
        (void)take_blanks(&at, end);
        if (end - at >= 3 && strncasecmp(at, "day", 3) == 0) {
            at += 3;
            (void)take_char(&at, end, 's');
            (void)take_char(&at, end, ',');
            (void)take_blanks(&at, end);
            if (at < end && (*at == '+' || *at == '-')) days_sign = *at++ == '-' ? -1 : 1;
            if (!take_hours(&at, end, &time) || at != end) return false;
            *seconds = sign * days * DAY_SECONDS + days_sign * time;
            return true;
        }
    }
    at = first;
    if (!take_hours(&at, end, &time) || at != end) return false;
    *seconds = sign * time;
    return true;
}
