/* loop/evaluation.h - work besides training that the workers do together: losses in chunks, batch
 * normalisation's statistics, measuring devices.
 *
 * drove__worker_*: on a worker's thread, for one command.  The rest: on the controlling thread,
 * workers parked.  While they train that thread does it by itself: on a virtual clock (it is an
 * actor then, and runs alone) in no virtual time, so that nothing it looks at is changed; else at a
 * copy of the parameters (drove_beside).
 */
#ifndef DROVE_LOOP_EVALUATION_H
#define DROVE_LOOP_EVALUATION_H

#include "loop/loop.h"

void drove__worker_score(drove_worker *w);      /* evaluation.c */
void drove__worker_statistics(drove_worker *w); /* population.c */
void drove__worker_probe(drove_worker *w);      /* probe.c */

/* ---- evaluation.c ---- */

/* Room for the chunks of evaluations of at most n_rows examples.  Errors: DROVE_E_NOMEM. */
drove_status drove__scoring_init(drove_loop *loop, size_t n_rows);
/* Scores chunks first, first + stride, ... of n_rows examples of data (0: all), evenly spread, at
 * theta[n_params], by all workers here, into loop->scoring.chunk.  A worker that is lost meanwhile
 * leaves its chunk to others.  Errors: those of the workers; DROVE_E_SYSTEM: none is left. */
drove_status drove__scoring_run(drove_loop *loop, const drove_data *data, const float *theta,
                                size_t n_rows, unsigned first, unsigned stride);
/* The sum of all chunks, in their order. */
drove_score drove__scoring_sum(const drove_loop *loop);

/* ---- population.c ---- */

/* loop->statistics.theta = theta with batch normalisation's statistics at it.  Errors: those of the
 * engine. */
drove_status drove__population_run(drove_loop *loop, const float *theta);

/* ---- probe.c ---- */

/* Measures the devices of all workers whose batch sizes the source wants to know; the sizes are in
 * worker->measured_*.  A device that fails is lost, with its error.  Errors: DROVE_E_SYSTEM. */
drove_status drove__probe_run(drove_loop *loop, const drove_spec *spec);

#endif
