/* use/importance.h - which columns of a table a model's predictions rest on.
 *
 * Permutation importance (Breiman, Random Forests, Machine Learning 45, 2001, section 10): the
 * values of one column change places among the examples, and the mean loss grows by as much as the
 * model had known from them.  Where two columns say the same, neither gets the credit.
 */
#ifndef DROVE_USE_IMPORTANCE_H
#define DROVE_USE_IMPORTANCE_H

#include "report/facts.h"
#include "use/infer.h"

typedef struct drove_importance {    /* all zero: not measured */
    struct drove_schema     *schema; /* one reference; it has the names                  */
    drove_importance_column *column; /* malloc, by loss_increase, the largest first      */
    size_t                   n_columns, n_rows;
    double                   rmse, accuracy; /* with all columns in place */
} drove_importance;

/* The used columns of `on`'s data, a table as it was encoded, by at most 2,000 of its examples and
 * three permutations of each column, which depend on the seed alone.  loss_scale: of a unit of the
 * loss in the unit that is reported.  Everything zero where the data are no such table, have
 * fewer than 20 examples or one column, or where it would take more than most_work multiply-adds of
 * work_per_row each.  The caller calls drove__importance_fini, also after an error.
 * Errors: DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove__importance_measure(const drove_infer *on, double loss_scale,
                                       double work_per_row, double most_work, uint64_t seed,
                                       drove_importance *out);
void         drove__importance_fini(drove_importance *importance);

#endif
