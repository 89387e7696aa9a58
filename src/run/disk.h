/* run/disk.h - training data that are larger than the run's memory: they stay on disk, and are read
 * by blocks while they are trained on (stream/stream.h).
 *
 * run->train is then a sample of them: for scales, step sizes, losses, metrics; what is held out
 * comes from other blocks.  Workers train on loop->train, the windows.
 */
#ifndef DROVE_RUN_DISK_H
#define DROVE_RUN_DISK_H

#include "run/run.h"

/* Opens the data of these specs so if --memory asks for it: run->stream is set then, and
 * run->train, run->test and run->kept.  Errors: those of drove__stream_open; DROVE_E_ARG (options
 * that need all data in memory). */
drove_status drove__disk_open(drove_run *run, const char *data, const char *test);

/* The model is there, the workers are not: makes the windows of what is left of the memory.
 * Errors: those of drove__stream_begin. */
drove_status drove__disk_begin(drove_run *run);

/* After the order was made.  Errors: DROVE_E_ARG (--order). */
drove_status drove__disk_order(drove_run *run);

/* Examples to judge by that --until auto may count on. */
size_t drove__disk_held_rows(const drove_run *run);

#endif
