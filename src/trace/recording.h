/* trace/recording.h - the file of --record: which worker published what, in which order.
 *
 * With it an asynchronous run can be repeated, to the same bits, on one thread (loop/replay.h).
 * The file (docs/inside/formats.md has every byte): a header of JSON, then blocks.  A block holds
 * steps of one worker, or is a mark: there all workers were parked, and all blocks of the stretch
 * of training before it stand before it.  Each block has a checksum.  A run that is killed leaves a
 * file that is good up to its last mark.
 *
 * Threads: drove__recording_step by worker `worker` on its own thread, or in its own process, if
 * the recording was opened while memory was shared (base/mem.h) and before the fork; all else, and
 * all of reading, by one thread, workers parked.
 */
#ifndef DROVE_TRACE_RECORDING_H
#define DROVE_TRACE_RECORDING_H

#include "base/status.h"
#include "trace/recorded.h"

#include <stddef.h>

/* ---- writing ---- */

typedef struct drove_recording drove_recording;

/* Only what is of this kind is written over.  Errors: DROVE_E_EXISTS (another kind of file),
 * DROVE_E_IO. */
drove_status drove__recording_check(const char *path);
/* path: a new file, or an old one of this kind, which stays as it is until _begin; NULL: blocks are
 * kept in memory, for _take.
 * Errors: DROVE_E_EXISTS (another kind of file), DROVE_E_IO, DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove__recording_open(const char *path, unsigned n_workers, drove_recording **out);
/* Before any step.  header: a text of JSON.  Errors: DROVE_E_IO. */
drove_status drove__recording_begin(drove_recording *r, const char *header);
/* Both at once. */
drove_status drove__recording_create(const char *path, const char *header, unsigned n_workers,
                                     drove_recording **out);
/* Behind _begin, before any step: the next bytes of the state that the run goes on from.
 * Errors: DROVE_E_IO. */
drove_status drove__recording_state(drove_recording *r, const void *bytes, size_t size);
/* Does not fail: the next mark does. */
void drove__recording_step(drove_recording *r, unsigned worker, const drove_recorded *step);
/* Of blocks in memory: all up to here, and the steps in them, which then are the caller's to write
 * into the file of another recording.  *bytes: malloc; NULL: none.  Errors: DROVE_E_NOMEM. */
drove_status drove__recording_take(drove_recording *r, char **bytes, size_t *size,
                                   uint64_t *n_steps);
/* Errors: DROVE_E_IO. */
drove_status drove__recording_add(drove_recording *r, const char *bytes, size_t size,
                                  uint64_t n_steps);
/* Writes what the workers have left to write, then the mark, whose n_steps is set.
 * Errors: DROVE_E_IO, also of steps before; the file is good up to the last mark all the same, and
 * no longer than that. */
drove_status drove__recording_mark(drove_recording *r, drove_recorded_mark *mark);
/* So far, without the state. */
uint64_t drove__recording_bytes(const drove_recording *r);
/* A new file without a header is removed.  NULL accepted. */
void drove__recording_close(drove_recording *r);

/* ---- reading ---- */

typedef struct drove_recorded_run drove_recorded_run;

/* Errors: DROVE_E_IO, DROVE_E_DATA (no such file, another version, damaged), DROVE_E_NOMEM. */
drove_status drove__recorded_open(const char *path, drove_recorded_run **out);
void         drove__recorded_close(drove_recorded_run *r); /* NULL accepted */
const char  *drove__recorded_path(const drove_recorded_run *r);
/* [*size] and a NUL behind it. */
const char *drove__recorded_header(const drove_recorded_run *r, size_t *size);
/* Does it go on from a state? */
bool drove__recorded_has_state(const drove_recorded_run *r);
/* The file of that state: [*size], malloc.  Errors: DROVE_E_DATA (damaged), DROVE_E_IO,
 * DROVE_E_NOMEM. */
drove_status drove__recorded_state(const drove_recorded_run *r, char **bytes, size_t *size);
unsigned     drove__recorded_workers(const drove_recorded_run *r);
/* Bytes behind the last mark: of a run that was killed. */
uint64_t drove__recorded_rest(const drove_recorded_run *r);
/* The last mark of all; its n_steps are all steps.  False: there is no mark. */
bool drove__recorded_end(const drove_recorded_run *r, drove_recorded_mark *out);

/* Is there another stretch of training? */
bool drove__recorded_goes_on(const drove_recorded_run *r);
/* Goes to the next stretch of training; false: there is none.  *mark: where it ends. */
bool drove__recorded_stretch(drove_recorded_run *r, drove_recorded_mark *mark);
/* The worker's next step of this stretch; *is_there false: it has no more.
 * Errors: DROVE_E_DATA (damaged), DROVE_E_IO. */
drove_status drove__recorded_next(drove_recorded_run *r, unsigned worker, drove_recorded *out,
                                  bool *is_there);

#endif
