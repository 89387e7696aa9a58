/* problem/problem.h - data, features, model and first parameters. */
#ifndef DROVE_PROBLEM_PROBLEM_H
#define DROVE_PROBLEM_PROBLEM_H

#include "problem/specs.h"
#include "values/values.h"

/* The data of the options; *test may be NULL.  shard NULL: all rows.  like: as for
 * drove__data_open_shard, whose errors come. */
drove_status drove__problem_read(const drove_config *config, const drove_shard *shard,
                                 const drove_storage *like, drove_data **train, drove_data **test,
                                 size_t *n_rows_whole);
/* problem->train and problem->test.  Errors: those of drove__data_open_shard. */
drove_status drove__problem_open(const drove_config *config, drove_problem *problem,
                                 const drove_workers *workers, const drove_callbacks *cb);
/* Moves the examples that --until validation names out of problem->train.  Errors: DROVE_E_ARG (too
 * many rows, or ranks with parts of their own). */
drove_status drove__problem_hold_out(const drove_config *config, drove_problem *problem,
                                     const drove_workers *workers);
/* Errors: DROVE_E_ARG: a target that such data cannot reach. */
drove_status drove__problem_check_target(const drove_config *config, const drove_problem *problem);
/* problem->model, and its first parameters.  Errors: those of a model's spec or file, DROVE_E_ARG,
 * DROVE_E_SHAPE, DROVE_E_NOMEM. */
drove_status drove__problem_model(const drove_config *config, drove_problem *problem,
                                  const drove_workers *workers, const drove_callbacks *cb);
/* After the data were opened, before the model is made: what --features and a model file to go on
 * from say, and train and test as the model will see them. */
drove_status drove__run_features(const drove_config *config, drove_problem *problem,
                                 const drove_workers *workers, const drove_callbacks *cb);

enum { DROVE_PROBLEM_TEXT_SIZE = 128 };
/* Which data they are, whatever is held out of them; from disk there are no rows to compare.
 * Errors: DROVE_E_NOMEM. */
drove_status drove__problem_describe(const drove_problem *problem,
                                     char                 text[DROVE_PROBLEM_TEXT_SIZE]);

#endif
