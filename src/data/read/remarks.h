/* data/read/remarks.h - what a table's cells say about how a model of it can be judged. */
#ifndef DROVE_DATA_READ_REMARKS_H
#define DROVE_DATA_READ_REMARKS_H

#include "data/data.h"
#include "table/table.h"

/* Remarks in s->notes, from a scanned table that is not encoded yet and the labels of its n_kept
 * rows with keep[row] (NULL: all):
 *   a column from which the label of every row follows: of classes, each value has one class, or
 *     each class an interval; of values, they are a straight line
 *   dates that ascend from row to row; only without is_ordered, which says that ?split= knows
 * Only where many rows say so that it is no chance.  Errors: DROVE_E_NOMEM. */
drove_status drove__remark_columns(const drove_known_table *known, const bool *keep, size_t n_kept,
                                   bool is_ordered, drove_storage *s);

#endif
