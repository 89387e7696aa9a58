/* files/output.h - the files of --out: run.json, log.jsonl, summary.json, models, state, events;
 * and the time line.
 *
 * Threads: the caller's of drove_train, workers parked.  Without --out nothing is written.
 */
#ifndef DROVE_FILES_OUTPUT_H
#define DROVE_FILES_OUTPUT_H

#include "report/facts.h"
#include "values/values.h"

#include <jansson.h>

/* Of a write: a folder that is taken away on the way is no mistake in the options. */
drove_status drove__output_status(drove_status status);

/* Errors of all: DROVE_E_IO, DROVE_E_NOMEM; of opening also those of folder.h. */
/* --log, a new file, unless the run goes on, and has done so many examples. */
drove_status drove__output_open_log(const drove_config *config, uint64_t examples,
                                    drove_state *state, drove_output *output);
/* The files of --out, whose folder is made: run.json, the log, the events. */
drove_status drove__output_open(const drove_config *config, const drove_start_facts *facts,
                                uint64_t examples, drove_state *state, drove_output *output);
/* A record of an evaluation, unless these parameters have one. */
drove_status drove__output_evaluation(const drove_workers *workers, drove_state *state,
                                      const drove_output *output, const drove_progress *p);
drove_status drove__output_best(const drove_config *config, const drove_problem *problem,
                                const float *theta);
/* The model that model.safetensors would have, to any file. */
drove_status drove__output_model(const drove_problem *problem, const drove_workers *workers,
                                 drove_state *state, const char *path);
drove_status drove__output_summary(const drove_config *config, const drove_output *output,
                                   const char *json);
/* To --timeline, or timeline.json in --out; nothing where the run has no spans. */
drove_status drove__output_timeline(const drove_config *config, const drove_facts *facts);
void         drove__output_close(drove_output *output);

/* Are state->best the parameters of the best validation loss? */
bool drove__output_has_best(const drove_problem *problem, const drove_state *state);

#endif
