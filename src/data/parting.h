/* data/parting.h - which rows may stand on either side of a division into training and held-out
 * rows.
 *
 * Rows of plain data may stand anywhere.  With ?split=group:COLUMN the rows of one group, a
 * patient, a store, stay together; with ?split=last what is held out comes after what is trained
 * on, since the rows are in the order of time.  Groups are drawn by the hash of their value and the
 * seed.
 */
#ifndef DROVE_DATA_PARTING_H
#define DROVE_DATA_PARTING_H

#include "data/data.h"

/* Whether ?split= says more than a share. */
static inline bool drove__data_is_parted(const drove_data *data)
{
    return data->storage->parting.is_timed || data->storage->parting.group != NULL;
}

/* The group of row i of a view, below storage->parting.n_groups; only where parting.group is not
 * NULL. */
static inline uint32_t drove__data_group(const drove_data *data, size_t i)
{
    return data->storage->parting.group[drove__data_row(data, i)];
}

/* Parts the view's rows: fold[n_rows], of each row in 0 .. n_folds - 1.
 *   groups    each group in one fold; the largest first, each into the smallest fold
 *   in time   equal stretches of the rows: to train on folds below k and to judge by k looks ahead
 *   else      drawn by the seed; of classes each has its share in every fold
 * Errors: DROVE_E_SHAPE (fewer groups, or rows, than folds), DROVE_E_NOMEM. */
drove_status drove__data_folds(const drove_data *data, size_t n_folds, uint64_t seed,
                               uint32_t *fold);

/* Marks the rows of the view, which is parted, that are held out: the last n_wanted, or groups of
 * about so many rows, drawn by the seed, one at least and not all; 1 <= n_wanted < n_rows.
 * is_held[n_rows] is false before.  Errors: DROVE_E_SHAPE (a single group), DROVE_E_NOMEM. */
drove_status drove__parting_hold(const drove_data *data, size_t n_wanted, uint64_t seed,
                                 bool *is_held, size_t *n_held);

/* Gives a storage of the view's rows, in its order, their parting.  Errors: DROVE_E_NOMEM. */
drove_status drove__parting_copy(const drove_data *from, drove_parting *to);

/* Groups of rows with these hashes of their values, 0 of one without a value, which is a group of
 * its own: key[n_rows].  Errors: DROVE_E_NOMEM. */
drove_status drove__parting_of(const uint32_t *key, size_t n_rows, drove_parting *out);

#endif
