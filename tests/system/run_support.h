/* tests/system/run_support.h - small runs in a scratch folder, for tests of whole runs. */
#ifndef DROVE_TESTS_SYSTEM_RUN_SUPPORT_H
#define DROVE_TESTS_SYSTEM_RUN_SUPPORT_H

#include <drove/drove.h>

#include "config/options.h"
#include "values/values.h"

/* Classic defaults with 600 small generated digits, an MLP of one hidden layer, no test data, no
 * evaluation but at the ends. */
drove_options small_run(void);
/* Sets an option or fails the test. */
void set(drove_options *opt, const char *name, const char *value);
/* Runs it; fails the test with the error text unless it ends in `outcome`. */
void run_to(const drove_options *opt, drove_outcome outcome);
/* Runs it and opens the model, which is kept in memory alone; drove_predictor_destroy. */
drove_predictor *train_predictor(const drove_options *opt);
/* A folder name in the working folder that does not exist (removed if it does). */
const char *fresh_folder(const char *name);
/* Parameters of folder/file, in *out (release with drove__modelfile_fini). */
void load_model(const char *folder, const char *file, drove_modelfile *out);
/* Fails the test unless both folders hold the same parameters, bit for bit. */
void assert_same_model(const char *folder_a, const char *folder_b);

#endif
