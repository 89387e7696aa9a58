/* drove/batches.h - data that the program delivers batch by batch, by a function that drove calls.
 *
 * For data that no array and no file holds: rows of a database, of a socket, of a generator.
 * drove_batches_write puts them into a file of rows, for runs of every kind; a run reads that from
 * disk where it is larger than the option memory.  drove_trainer_batches trains on each batch once
 * and keeps none.
 *
 * Threads: the function is called by the thread that called drove, one call after the other.
 */
#ifndef DROVE_BATCHES_H
#define DROVE_BATCHES_H

#include <drove/arrays.h>
#include <drove/status.h>
#include <drove/trainer.h>

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* What drove asks the program for: the next rows, or that there are none. */
typedef struct drove_batch_request {
    drove_arrays *rows;    /* drove's; its setters take examples, targets and weights */
    int           is_over; /* out: not 0, there are no further rows, and rows is not looked at */
    /* out, with is_over, for drove_batches_write: [n_classes] the number in the file of each class;
     * NULL: classes with names in the order of the names, others as they are */
    const uint32_t *class_number;
    char           *why;      /* out [why_size] why the function failed, one line; "" before */
    size_t          why_size; /* bytes of why, with the NUL */
} drove_batch_request;

/* A source of batches. */
typedef struct drove_batch_source {
    void *context; /* first argument of next */
    /* Delivers the next rows, at least one, with targets.  Arrays that the setters do not copy stay
     * as they are until the next call, or until the function that was given the source has
     * returned.  Another status than DROVE_OK ends that function with this status, and
     * drove_error_text() is "batch N: WHY"; without a why it is the text that the thread has. */
    drove_status (*next)(void *context, drove_batch_request *request);
} drove_batch_source;

/* Writes all rows to a file, which the spec rows:FILE names as data: examples and targets as they
 * are, float or uint8_t, dense or sparse, with their weights.  No more than one batch and 1 MiB are
 * in memory.  All batches have one kind of examples and targets and the same number of features,
 * values and labels.  Later batches may have further classes behind those before, and the file has
 * those of the batch that has most; but a number is the same class in all: under the same name, or
 * without names in all batches.  Names are put in order: numbers by value, texts by their bytes.
 * *n_rows: how many rows, only set on DROVE_OK; may be NULL.
 * The file appears whole or not at all.  Errors: DROVE_E_SHAPE (batches that do not go together),
 * DROVE_E_ARG (class_number), DROVE_E_DATA (no rows, rows without targets), DROVE_E_FILE,
 * DROVE_E_IO, DROVE_E_NOMEM, those of next. */
drove_status drove_batches_write(const drove_batch_source *source, const char *path,
                                 uint64_t *n_rows);

/* Trains on all batches, each as by drove_trainer_begin and drove_trainer_advance until it is over;
 * a pass that was under way is given up.  *n_rows: rows of the batches that were completed; *loss:
 * the mean loss of these rows, each before its own step; NaN without rows.  Both are set whatever
 * the status, and may be NULL.  Errors: those of the two and of next; the parameters are those
 * after the last step, also where that was of a batch that then failed and is not counted. */
drove_status drove_trainer_batches(drove_trainer *trainer, const drove_batch_source *source,
                                   double *loss, uint64_t *n_rows);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
