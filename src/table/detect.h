/* table/detect.h - finds out how a table is written: separator, line ends, header. */
#ifndef DROVE_TABLE_DETECT_H
#define DROVE_TABLE_DETECT_H

#include "base/status.h"
#include "table/scan.h"
#include "table/text.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum drove_header { DROVE_HEADER_AUTO, DROVE_HEADER_YES, DROVE_HEADER_NO } drove_header;

/* The line end outside quotes that comes first; the separator, unless it is given (not 0), by which
 * the first records have the same number of cells, at least two: the first such of tab, semicolon,
 * bar, comma and blank; else the first, blanks apart, by which all do but lines of one cell at the
 * start and the end; else the one by which most records agree. */
drove_dialect drove__detect_dialect(const drove_content *content, char separator);

/* Whether the first record is a header: none of its cells is a number or a date, none that may also
 * be a name, such as 25%, stands above another one, and one stands above numbers or dates alone, or
 * none is found again in its column.  Of the first 100 records. */
bool drove__detect_header(const drove_content *content, const drove_dialect *d);

/* Names of the columns: those of the header, or column1, column2 ...  An empty name becomes
 * columnN; a repeated one gets a number, "age.2".  The array and each name are from malloc.
 * Errors: DROVE_E_DATA (quotes that do not close, too many columns), DROVE_E_NOMEM. */
drove_status drove__detect_names(const char *path, const drove_dialect *d, const char *start,
                                 const char *end, bool is_header, char ***out, size_t *n_out);

#endif
