/* files/recording.h - --record, --replay and --replay-steps of a run.
 *
 *   recording.c   what can be recorded, and its record
 *   repeating.c   reading a record, and repeating the run
 *
 * A record that cannot be written any more does not end its run, which says so once and fails when
 * all else is done (drove__run_record_status).
 */
#ifndef DROVE_FILES_RECORDING_H
#define DROVE_FILES_RECORDING_H

#include "base/safetensors.h"
#include "loop/replay.h"
#include "values/values.h"

/* With --replay: reads the header, and chooses what the record says where that is left to it.
 * Errors: those of drove__recorded_open; DROVE_E_ARG: an option that the record has otherwise. */
drove_status drove__replay_open(const drove_config *config, drove_workers *workers,
                                drove_choice *choice);
void         drove__replay_close(drove_workers *workers);

/* Ranks of the recorded run; 1: it was no job. */
unsigned drove__replay_ranks(const drove_workers *workers);
/* The plan's workers as threads of this process, where they were none.  Errors: DROVE_E_NOMEM. */
drove_status drove__replay_plan(drove_workers *workers);
/* The state that the recorded run went on from, if it did not begin at its beginning; *st is
 * freed by drove__safetensors_fini.  Errors: those of drove__safetensors_load. */
bool         drove__replay_has_state(const drove_workers *workers);
drove_status drove__replay_state(const drove_workers *workers, drove_safetensors *st);
/* The word of a record's header. */
const char *drove__record_host(drove_host_kind kind);

/* With either, once the strategy is there and before the workers start: sets workers->repeat,
 * serialises a strategy that has no order, and opens the file of --record.  With processes, while
 * memory is shared.  Errors: DROVE_E_ARG: it cannot be recorded; those of drove__recording_open. */
drove_status drove__run_record_strategy(const drove_config *config, const drove_problem *problem,
                                        drove_workers *workers);
/* Once the first parameters are there: is what the record begins with the same?
 * Errors: DROVE_E_DATA. */
drove_status drove__replay_begin(const drove_problem *problem, const drove_workers *workers,
                                 drove_state *state, const drove_callbacks *cb);
/* Begins the file of --record, by rank 0.  recovers: of the standing.  resumed_name: the file in
 * --resume that the run goes on from, which comes into the record; NULL: none.  Errors: DROVE_E_IO,
 * DROVE_E_NOMEM. */
drove_status drove__run_record_begin(const drove_config *config, const drove_problem *problem,
                                     const drove_workers *workers, bool recovers,
                                     const char *resumed_name);

/* The replay that repeats the run in its order; NULL: it is not repeated so. */
drove_replay *drove__run_replay(const drove_workers *workers);
/* The width of the recorded source (strategy/source.h). */
unsigned drove__run_replay_width(const drove_workers *workers);

/* Is there another stretch of training?  True where nothing is repeated. */
bool drove__replay_goes_on(const drove_workers *workers);
/* Before a stretch: the batch that it goes up to, and no other limit. */
void drove__replay_stretch(const drove_workers *workers, uint64_t *limit);
/* After it, workers parked: writes the mark, or compares the parameters with it; by all ranks.
 * record: its file; NULL: none.
 * Errors: DROVE_E_DATA: they differ; those of exchanges of ranks. */
drove_status drove__run_record_parked(const char *record, const drove_workers *workers,
                                      drove_state *state, const drove_callbacks *cb);
drove_status drove__replay_parked(const drove_workers *workers, const drove_state *state);
/* After a stretch that ended with an error: the record goes up to the last publication.  Returns
 * `status`, with its text. */
drove_status drove__run_record_failed(const drove_workers *workers, drove_state *state,
                                      drove_status status, const drove_callbacks *cb);
/* Checksum of the shared parameters, workers parked. */
uint64_t drove__run_checksum(const drove_workers *workers);
/* The standing of the run, workers parked. */
drove_recorded_mark drove__run_record_mark(const drove_workers *workers, const drove_state *state);
/* The run is over: state->outcome becomes the recorded one where the record alone has ended it. */
void drove__replay_outcome(const drove_workers *workers, drove_state *state);
/* The last mark of the record, as above; says what was written or compared. */
drove_status drove__run_record_end(const char *record, const drove_workers *workers,
                                   drove_state *state, const drove_callbacks *cb);
drove_status drove__replay_end(const drove_workers *workers, const drove_state *state,
                               const drove_callbacks *cb);
/* At the very end.  Errors: DROVE_E_IO: the record could not be written. */
drove_status drove__run_record_status(const drove_state *state);

#endif
