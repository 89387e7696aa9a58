/* data/open/delivered.h - batches that the program delivers: <drove/batches.h>. */
#ifndef DROVE_DATA_OPEN_DELIVERED_H
#define DROVE_DATA_OPEN_DELIVERED_H

#include <drove/batches.h>

/* Asks for batch `number`, from 1 on, into rows.  *is_over: there is none, and *class_number is
 * what the program says at the end.  Errors: those of next; DROVE_E_DATA (a batch without
 * targets). */
drove_status drove__delivered_next(const drove_batch_source *source, uint64_t number,
                                   drove_arrays *rows, bool *is_over,
                                   const uint32_t **class_number);

#endif
