/* data/arrays.h - data in the program's memory: <drove/arrays.h>, and the format that reads it.
 *
 * A storage that was read from arrays borrows their examples: storage->arrays holds a reference,
 * and x_u8, x_f32, row_start, index and value belong to it.  Targets are the storage's own, as
 * readers may renumber or rescale them. */
#ifndef DROVE_DATA_ARRAYS_H
#define DROVE_DATA_ARRAYS_H

#include <drove/arrays.h>

#include <stdbool.h>

/* Without rows, targets and weights again. */
void drove__arrays_clear(drove_arrays *arrays);
bool drove__arrays_have_targets(const drove_arrays *arrays);

#endif
