/* use/infer.h - a model's predictions on a data set: by several threads in chunks, which are handed
 * over in their order.  One forward pass gives predictions and loss.
 *
 * What is handed over does not depend on the number of threads: chunks have a fixed size, each is
 * computed by one thread, and they come one at a time, in the order of the rows.
 */
#ifndef DROVE_USE_INFER_H
#define DROVE_USE_INFER_H

#include "data/data.h"
#include "model/model.h"

typedef struct drove_infer_text { /* what a thread prepares for one chunk */
    char  *bytes;                 /* of malloc; freed by drove__infer_run */
    size_t n_bytes, room;
} drove_infer_text;

typedef struct drove_infer_chunk {
    size_t           first, n_rows; /* of the data */
    const float     *prob;          /* [n_rows][n_outputs] as engine.h: predict; values unscaled */
    drove_score      score;         /* with_score */
    drove_infer_text text;
} drove_infer_chunk;

typedef struct drove_infer {
    const drove_model  *model;
    const drovek_table *kernels;
    const drove_data   *data;
    const float        *theta;      /* [n_params] */
    size_t              chunk_rows; /* >= 1 */
    size_t   usual_rows; /* that the model's convolutions are prepared for; 0: chunk_rows */
    unsigned n_threads;  /* most; fewer where they would need much memory */
    bool     with_score; /* needs the targets */
    /* Values that were scaled for training, y' = (y - value_shift) / value_scale, by output:
     * predictions are handed over unscaled.  NULL: they were not. */
    const double *value_shift, *value_scale;
    /* On any thread, several at once: fills chunk->text.  May be NULL. */
    drove_status (*prepare)(void *context, drove_infer_chunk *chunk);
    /* In the chunks' order, one at a time. */
    drove_status (*take)(void *context, const drove_infer_chunk *chunk);
    void *context;
} drove_infer;

/* A value of the data in the unit of its own target. */
static inline double drove__infer_unscaled(const drove_infer *what, size_t output, double value)
{
    if (what->value_scale == NULL) return value;
    return value * what->value_scale[output] + what->value_shift[output];
}

/* Examples of an evaluation's chunk: a function of model and batch, so that sums do not depend
 * on the workers; of a network with images, whole batches, for which its convolutions are
 * prepared. */
size_t drove__score_rows(const drove_model *model, size_t batch);
/* Hands over every chunk, unless something fails.  Errors: those of the engine, of prepare and of
 * take (the first that happened); DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove__infer_run(const drove_infer *what);

/* Room for n_bytes more.  Errors: DROVE_E_NOMEM. */
drove_status drove__infer_reserve(drove_infer_text *text, size_t n_bytes);

#endif
