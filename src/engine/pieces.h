/* engine/pieces.h - a batch of more examples than a device's memory holds, computed in pieces: its
 * gradient is the mean of theirs, weighted by their numbers of examples.
 *
 * An engine gives its own functions for one piece, and those in its drove_engine_ops call the ones
 * below.  A batch that fits goes straight through.
 *
 * Memory: the first batch that does not fit allocates two vectors [n_params].
 * Threads: one at a time, as the engine itself.
 */
#ifndef DROVE_ENGINE_PIECES_H
#define DROVE_ENGINE_PIECES_H

#include "engine/engine.h"

/* The engine's functions of these names (engine.h) for at most max_rows examples. */
typedef struct drove_piece_ops {
    drove_status (*begin)(drove_engine *e, const drove_work *work);
    drove_status (*part)(drove_engine *e, uint64_t timeout_ns, size_t *n_left);
    drove_status (*finish)(drove_engine *e, uint64_t timeout_ns, drove_work_done *done);
    drove_status (*predict)(drove_engine *e, const float *theta, const drove_batch *batch,
                            float *prob);
    drove_status (*statistics)(drove_engine *e, const float *theta, const drove_batch *batch,
                               float share, float *into);
} drove_piece_ops;

typedef struct drove_pieces {
    const drove_piece_ops *ops;
    const drove_model     *model;
    const drovek_table    *kernels;
    size_t                 max_rows;

    const drove_work *whole;         /* the caller's; NULL: it is computed as it is */
    size_t            first, n_rows; /* the present piece's examples in it */
    float             share;         /* n_rows / those of the whole */
    drove_work        work;          /* the present piece's */
    drove_batch       batch;
    drove_loaded      loaded;
    drove_gradient    grad;
    drove_work_done   done;          /* by the pieces before */
    float            *theta, *value; /* [n_params] a copy; a piece's gradient.  NULL until needed */
} drove_pieces;

/* Model and kernels of opt are borrowed. */
void drove__pieces_init(drove_pieces *p, const drove_piece_ops *ops,
                        const drove_engine_options *opt);
void drove__pieces_fini(drove_pieces *p); /* a zeroed one is accepted */

/* engine.h: begin, part and finish.  Further errors: DROVE_E_NOMEM, DROVE_E_ARG (parameters that
 * the device keeps, and a batch of more than max_rows). */
drove_status drove__pieces_begin(drove_pieces *p, drove_engine *e, const drove_work *work);
drove_status drove__pieces_part(drove_pieces *p, drove_engine *e, uint64_t timeout_ns,
                                size_t *n_left);
/* The time-out is that of each piece. */
drove_status drove__pieces_finish(drove_pieces *p, drove_engine *e, uint64_t timeout_ns,
                                  drove_work_done *done);

/* engine.h: predict; and statistics, whose means and variances are those within each piece, as in
 * training. */
drove_status drove__pieces_predict(drove_pieces *p, drove_engine *e, const float *theta,
                                   const drove_batch *batch, float *prob);
drove_status drove__pieces_statistics(drove_pieces *p, drove_engine *e, const float *theta,
                                      const drove_batch *batch, float share, float *into);

#endif
