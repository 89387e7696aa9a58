/* run/recording.h - --record, --replay and --replay-steps of a run. */
#ifndef DROVE_RUN_RECORDING_H
#define DROVE_RUN_RECORDING_H

#include "loop/replay.h"
#include "run/run.h"

/* With --replay: reads the header, and makes the options those of the record where that is left to
 * them.  Errors: those of drove__recorded_open; DROVE_E_ARG: an option that the record does not
 * have so. */
drove_status drove__replay_open(drove_run *run);
void         drove__replay_close(drove_run *run);

/* With either, once the strategy is there: sets run->repeat, and serialises a strategy that has no
 * order.  Errors: DROVE_E_ARG: it cannot be recorded. */
drove_status drove__run_record_strategy(drove_run *run);
/* Once the first parameters are there: is what the record begins with the same?
 * Errors: DROVE_E_DATA. */
drove_status drove__replay_begin(drove_run *run);
/* Begins the file of --record.  Errors: those of drove__recording_create. */
drove_status drove__run_record_begin(drove_run *run);

/* What repeats the run in its order; NULL: it is not repeated so. */
drove_replay *drove__run_replay(drove_run *run);
/* The width of the recorded source (strategy/source.h). */
unsigned drove__run_replay_width(const drove_run *run);

/* Is there another stretch of training?  True where nothing is repeated. */
bool drove__replay_goes_on(const drove_run *run);
/* Before a stretch: the batch that it goes up to, and no other limit. */
void drove__replay_stretch(drove_run *run, uint64_t *limit);
/* After it, workers parked: writes the mark, or compares the parameters with it.
 * Errors: DROVE_E_IO; DROVE_E_DATA: they differ. */
drove_status drove__run_record_parked(drove_run *run);
/* The run is over: run->outcome becomes the recorded one where the record alone has ended it. */
void drove__replay_outcome(drove_run *run);
/* The last mark of --record; says what was written or compared. */
drove_status drove__run_record_end(drove_run *run);

#endif
