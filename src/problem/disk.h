/* problem/disk.h - training data that are larger than the run's memory: they stay on disk, and
 * are read by blocks while they are trained on (stream/stream.h).
 *
 * problem->train is then a sample of them: for scales, step sizes, losses, metrics; what is held
 * out comes from other blocks.  Workers train on loop->data.train, the windows.
 */
#ifndef DROVE_PROBLEM_DISK_H
#define DROVE_PROBLEM_DISK_H

#include "values/values.h"

enum { DROVE_MOST_VALIDATION_ROWS = 10000 };

/* Opens the data for reading from disk if they are larger than --memory: problem->stream is set
 * then, and problem->train, problem->test and problem->kept.  Text is written to a file of rows
 * in the cache first, whose spec then is data[size].  like: data of the model to go on from, as
 * which the rows of a table are read; NULL: none.  Errors: those of drove__stream_open;
 * DROVE_E_ARG (options that need all data in memory). */
drove_status drove__disk_open(const drove_config *config, drove_problem *problem,
                              const drove_workers *workers, const drove_storage *like, char *data,
                              size_t size, const char *test, const drove_callbacks *cb);

/* For a comparison of models: some of the rows of --data where these are larger than the memory,
 * scaled.  *out NULL: they are not.  Errors: those of reading. */
drove_status drove__disk_read_some(const drove_config *config, drove_data **out);

/* The model is there, the workers are not: makes the windows of what is left of the memory.
 * Errors: those of drove__stream_begin. */
drove_status drove__disk_begin(const drove_config *config, const drove_problem *problem,
                               const drove_workers *workers, const drove_callbacks *cb);

/* After the order was made.  Errors: DROVE_E_ARG (--order). */
drove_status drove__disk_order(const drove_problem *problem, const drove_workers *workers);

/* Examples to judge by that --until auto may count on. */
size_t drove__disk_held_rows(const drove_problem *problem);

#endif
