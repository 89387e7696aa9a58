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

/* Copies text so that a name or a cell of a file cannot move a terminal's cursor, begin a line or
 * turn around what stands beside it: control characters and bytes that are no UTF-8 as \xNN,
 * characters that change the direction or cannot be seen as \uNNNN.  Cut to size - 1 bytes, not
 * within a character; returns into. */
char *drove__print_plain(const char *text, char *into, size_t size);
/* prefix + text as a cell of a CSV file, in quotes where it needs them.  A text that a spreadsheet
 * would take for a formula, =, @, tab, or + and - before what is no number, has ' before it.
 * into: DROVE_PRINT_CELL_SIZE(bytes of both).  Returns into. */
#define DROVE_PRINT_CELL_SIZE(n_bytes) (2 * (n_bytes) + 4)
char *drove__print_cell(const char *prefix, const char *text, char *into);
/* The same as a word of a shell, in quotes where it needs them, for commands that people copy. */
char *drove__print_word(const char *text, char *into, size_t size);

#endif
