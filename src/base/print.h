/* base/print.h - floats as text, some ten times faster than by printf. */
#ifndef DROVE_BASE_PRINT_H
#define DROVE_BASE_PRINT_H

#include <stddef.h>

enum { DROVE_PRINT_FLOAT_SIZE = 24 };

/* Writes value in the form of "%.9g", which reads back as the same float, without a final NUL;
 * returns the number of bytes.  The last of nine digits may differ from printf's where the value is
 * within 1e-7 of the middle between two. */
size_t drove__print_float(float value, char into[DROVE_PRINT_FLOAT_SIZE]);

#endif
