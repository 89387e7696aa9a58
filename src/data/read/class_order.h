/* data/read/class_order.h - classes that were met one after the other, in the order of
 * data/read/labels.h. */
#ifndef DROVE_DATA_READ_CLASS_ORDER_H
#define DROVE_DATA_READ_CLASS_ORDER_H

#include "data/data.h"

/* Gives s the n classes of these texts, all different: numbers by value, texts by their bytes;
 * labels of a table's columns stay in the columns' order.  Names 0, 1, 2 ... in order are left out.
 * map[n], out: the class of each text.  Errors: DROVE_E_NOMEM. */
drove_status drove__classes_settle(drove_storage *s, const char *const *text, size_t n,
                                   uint32_t *map);

/* A remark, where s has classes of so few of n_rows rows that few can be learnt. */
void drove__classes_note_many(drove_storage *s, uint64_t n_rows);

#endif
