/* loop/batches.h - a worker's next batch: its task from the source, its examples from the order,
 * loaded ahead where the run has a loader, staged ahead where its device copies while it computes.
 *
 * A worker takes at most one task before its time.  Every task that was taken is trained before the
 * worker parks, also after a halt, so the source's counter is the number of batches trained.
 *
 * Of data that are read from disk, the worker waits for the window of its next batch, and says how
 * many batches of a window it has trained when it comes to another window, and before it parks.
 *
 * Threads: the worker's own.
 */
#ifndef DROVE_LOOP_BATCHES_H
#define DROVE_LOOP_BATCHES_H

#include "loop/loop.h"

/* false: none until the next open.  A batch that could not be loaded is *status, with its text. */
bool drove__batches_next(drove_worker *w, drove_task *task, drove_batch *batch,
                         drove_status *status);
/* The next of several batches that the worker has claimed at once.  false: none is left, or the
 * source must be asked first. */
bool drove__batches_more(drove_worker *w, drove_task *task, drove_batch *batch);
/* The engine has read the batch in hand, or the worker parks. */
void drove__batches_end(drove_worker *w);
/* While the device computes: the batch after this one, if it can be known now, begins to be copied.
 * Does nothing for other engines. */
void drove__batches_stage(drove_worker *w);

#endif
