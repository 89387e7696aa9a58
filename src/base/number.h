/* base/number.h - strict numbers of options and of data files. */
#ifndef DROVE_BASE_NUMBER_H
#define DROVE_BASE_NUMBER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whole-string numbers: no blanks, no trailing text, finite, in range.  what: for the error text
 * ("--batch").  For an open range pass the neighbouring value: least = DBL_MIN reads "above 0" in
 * an error, most = 1 - DBL_EPSILON / 2 "below 1". */
drove_status drove__parse_u64(const char *what, const char *text, uint64_t least, uint64_t most,
                              uint64_t *out);
/* words: what else the caller takes, such as "auto or ", for the error. */
drove_status drove__parse_real_or(const char *what, const char *text, const char *words,
                                  double least, double most, double *out);
drove_status drove__parse_real(const char *what, const char *text, double least, double most,
                               double *out);
/* " from 0 to 1", " of at least 0", " above 0 and below 1", or "" where all is allowed. */
enum { DROVE_RANGE_SIZE = 96 };
void drove__name_range(double least, double most, char into[DROVE_RANGE_SIZE]);
/* Bytes, at least 1: "4096", "64MiB", "1GiB". */
drove_status drove__parse_bytes(const char *what, const char *text, uint64_t *out);

static inline bool drove__is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Fast strict float for data files: parses [text, end); *next is the first byte not used; false: no
 * number there.  Accepts inf and nan (the caller refuses them, with line and column).
 * Locale-independent. */
bool drove__scan_float(const char *text, const char *end, const char **next, float *out);
bool drove__scan_double(const char *text, const char *end, const char **next, double *out);
bool drove__scan_u64(const char *text, const char *end, const char **next, uint64_t *out);

#endif
