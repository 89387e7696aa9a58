/* data/read/arrow_cells.h - the cells of an array of the Arrow C data interface, and how they get
 * into a column of a frame.
 *
 * Checked is what the interface allows: counts, offsets, presence of buffers, the bitmap of valid
 * cells against the count of the others, ascending offsets of texts, views within their buffers,
 * indices within their dictionary.  The sizes of most buffers are not known to a consumer.
 */
#ifndef DROVE_DATA_READ_ARROW_CELLS_H
#define DROVE_DATA_READ_ARROW_CELLS_H

#include "data/read/arrow_type.h"

/* Appends cells first to first + n - 1 of the array, counted behind its own offset, as rows row to
 * row + n - 1 of the column, whose type is that of the field (CATEGORY: a dictionary).  Errors:
 * DROVE_E_DATA (against the specification, or a cell that a table cannot hold: its row),
 * DROVE_E_NOMEM. */
drove_status drove__arrow_read(const drove_arrow_field *field, const struct ArrowArray *array,
                               size_t first, size_t n, drove_frame_column *column, size_t row);

#endif
