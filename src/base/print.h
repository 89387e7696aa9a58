/* base/print.h - floats as text, some ten times faster than by printf; text that is safe to show.
 */
#ifndef DROVE_BASE_PRINT_H
#define DROVE_BASE_PRINT_H

#include <stddef.h>

enum { DROVE_PRINT_FLOAT_SIZE = 24, DROVE_PRINT_FAR_SIZE = 32 };

/* Writes value in the form of "%.9g", which reads back as the same float, without a final NUL;
 * returns the number of bytes.  The last of nine digits may differ from printf's where the value is
 * within 1e-7 of the middle between two. */
size_t drove__print_float(float value, char into[DROVE_PRINT_FLOAT_SIZE]);

/* Writes the double origin + value in the form of "%.15g", or with one or two digits more if these
 * 15 are further from it than value is from the next float; likewise. */
size_t drove__print_far(float value, double origin, char into[DROVE_PRINT_FAR_SIZE]);

/* Copies text with its control characters as \xNN: a name or a cell of a file cannot move a
 * terminal's cursor or begin a line.  Control characters are bytes below 0x20, 0x7f, and U+0080 to
 * U+009F in UTF-8.  Cut to size - 1 bytes, not within an escape; returns into. */
char *drove__print_plain(const char *text, char *into, size_t size);

#endif
