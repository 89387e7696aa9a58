/* stream/stream.h - training data that stay on disk: two windows of them in memory, one that is
 * trained on and one that is read meanwhile.
 *
 *   windows.h   which rows are in memory when, and which batch has them
 *   stream.c    the two windows and the thread that reads
 *   sample.c    the rows that judge the run, and those that stand for all: in memory
 *
 * A batch names rows of drove__stream_data, whose arrays hold both windows; workers, engines and
 * loaders need not know that the rows change.  A worker waits for the window of its batch before it
 * reads the rows (drove__stream_wait), and says when batches are trained (drove__stream_done): when
 * all of a window are, the window after the next one takes its place.  Every batch of a window must
 * be trained exactly once, by workers of this process.
 *
 * Threads: docs/inside/memory-model.md, A15.  wait and done: any worker; the rest: the controlling
 * thread, workers parked.
 */
#ifndef DROVE_STREAM_STREAM_H
#define DROVE_STREAM_STREAM_H

#include "base/clock.h"
#include "data/disk/blocks.h"
#include "stream/windows.h"

typedef struct drove_stream drove_stream;

typedef struct drove_stream_options {
    drove_blocks      *blocks; /* taken over, also after a failure */
    uint64_t           seed;
    uint64_t           memory;    /* bytes for all of it */
    size_t             held_rows; /* wanted for judging; 0: none */
    const drove_clock *clock;
} drove_stream_options;

/* Errors: DROVE_E_SHAPE (fewer than four whole blocks), DROVE_E_NOMEM, those of reading. */
drove_status drove__stream_open(const drove_stream_options *opt, drove_stream **out);
void         drove__stream_destroy(drove_stream *s); /* NULL accepted */

/* Rows that are trained on. */
uint64_t drove__stream_rows(const drove_stream *s);
/* Some of them, in memory, unscaled; and rows that are not trained on, NULL if none were wanted.
 * The caller owns both. */
drove_data *drove__stream_take_sample(drove_stream *s);
drove_data *drove__stream_take_held(drove_stream *s);

typedef struct drove_stream_start {
    const drove_data *like;   /* scaling, weights and images are those of this view */
    double            memory; /* bytes for both windows */
    const double     *target_shift,
        *target_scale; /* [n_values] of values; NULL: as they are.  Borrowed */
} drove_stream_start;

/* What two windows of one block each take. */
double drove__stream_least_bytes(const drove_stream *s);

/* Makes the windows and starts the thread.  Errors: DROVE_E_ARG (memory for less than that),
 * DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove__stream_begin(drove_stream *s, const drove_stream_start *start);

/* After begin; both belong to the stream. */
const drove_data    *drove__stream_data(const drove_stream *s);
const drove_windows *drove__stream_windows(const drove_stream *s);

/* Batches of this size will be trained from `number` on. */
void drove__stream_seek(drove_stream *s, uint64_t batch, uint64_t number);

/* Waits until the window is in memory.  Errors: those of reading; that of a cancel. */
drove_status drove__stream_wait(drove_stream *s, uint64_t window);
bool         drove__stream_has(drove_stream *s, uint64_t window);
/* Would wait end without any further batch being trained? */
bool drove__stream_comes(drove_stream *s, uint64_t window);
/* So many batches of the window are trained; none of its rows is read for them any more. */
void drove__stream_done(drove_stream *s, uint64_t window, uint64_t n_batches);

/* All waits end with this error; by any thread, when no further batch will be trained. */
void drove__stream_cancel(drove_stream *s, drove_status status);

typedef struct drove_stream_facts {
    uint64_t n_blocks, n_windows;
    double   file_bytes, window_bytes; /* of both windows */
    uint64_t n_windows_read;           /* so far */
    double   read_bytes;               /* in them, as they lie in memory */
    uint64_t read_ns, wait_ns;         /* of its thread, reading; of workers, waiting for windows */
} drove_stream_facts;
void drove__stream_facts(drove_stream *s, drove_stream_facts *out);

#endif
