/* run/problem.h - data, features, model and first parameters. */
#ifndef DROVE_RUN_PROBLEM_H
#define DROVE_RUN_PROBLEM_H

#include "run/values.h"

/* --data with --label and --weights as keys. */
enum { DROVE_SPEC_WITH_LABEL_SIZE = 7 * DROVE_TEXT_SIZE + 32 };
enum { DROVE_SPEC_SIZE = DROVE_SPEC_WITH_LABEL_SIZE + 16 }; /* and with &scale=auto */

/* The data of the options; *test may be NULL.  shard NULL: all rows.  like: as for
 * drove__data_open_shard, whose errors come. */
drove_status drove__problem_read(const drove_options *opt, const drove_shard *shard,
                                 const drove_storage *like, drove_data **train, drove_data **test,
                                 size_t *n_rows_whole);
/* The specs of both: --data with --label and --weights as keys and the scaling that the run chooses
 * where it is not given; --test, "" or "split" as they are.  Errors: DROVE_E_ARG. */
drove_status drove__problem_specs(const drove_options *opt, char data[DROVE_SPEC_SIZE],
                                  char test[DROVE_SPEC_WITH_LABEL_SIZE]);
/* problem->train and problem->test.  Errors: those of drove__data_open_shard. */
drove_status drove__problem_open(drove_run *run);
/* Errors: DROVE_E_ARG: a target that such data cannot reach. */
drove_status drove__problem_check_target(const drove_config *config, const drove_problem *problem);
/* problem->model, and its first parameters: theta[n_params], the caller frees it, also after a
 * failure. Errors: those of a model's spec or file, DROVE_E_ARG, DROVE_E_SHAPE, DROVE_E_NOMEM. */
drove_status drove__problem_model(drove_run *run, float **theta);
/* After the data were opened, before the model is made: what --features and a model file to go on
 * from say, and train and test as the model will see them. */
drove_status drove__run_features(drove_run *run);

#endif
