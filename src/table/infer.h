/* table/infer.h - what the files that learn a table share (infer.c, roles.c).  Of their own:
 * callers have table/table.h. */
#ifndef DROVE_TABLE_INFER_H
#define DROVE_TABLE_INFER_H

#include "table/table.h"

typedef enum role { ROLE_AUTO, ROLE_UNUSED, ROLE_LABEL, ROLE_WEIGHT, ROLE_GROUP, ROLE_FORCED } role;

typedef struct learner {
    const drove_table_options *opt;
    drove_known_table         *known;
    drove_table               *table; /* of known */
    drove_sample              *sample;
    role                      *role;
    drove_column_type         *forced;
    drove_slot_stats          *stats;  /* [n_slots] */
    size_t                     n_rows; /* with a label */
    size_t n_with_words;   /* columns of numbers or dates in which some words count as missing */
    size_t n_with_digits;  /* columns of texts that hold digits, of which there was a remark */
    bool   takes_counters; /* numbers that count up are used: there is nothing else to learn from */
    bool  *was_widened;    /* [n_columns] read as text, which was said */
    bool  *was_turned;     /* [n_columns] dates read again with day and month the other way round */
    bool  *is_both;        /* [n_columns] a number that also= names */
    role   next_role;      /* for the columns of a list */
    drove_column_type next_type;
    drove_date_order *order; /* [n_columns] that types= gives; DROVE_N_DATE_ORDERS: by the cells */
} learner;

/* Roles and forced types of the columns by the options.  Errors: DROVE_E_ARG. */
drove_status drove__learner_give_roles(learner *l);

#endif
