/* engine/host/blocks.h - large batches, some hundred rows after the other.
 *
 * A pass writes the outputs of each layer for all rows, and reads them again in the next layer and
 * on the way back.  Those of 512 examples are beyond the caches that are a core's own, and their
 * inputs are so already.  So the gradient of a large batch is the sum of its blocks', each of them
 * forward and backward before the next is loaded; the products of the later ones add to it.
 *
 * Measured with 784-128-128-128-10: docs/results/limits.md, in bf16: docs/results/bf16.md.
 */
#ifndef DROVE_ENGINE_HOST_BLOCKS_H
#define DROVE_ENGINE_HOST_BLOCKS_H

#include "engine/engine.h"

/* Memory for batches in blocks, where batches may be that large and the model can be cut: a chain
 * of dense layers with not too many parameters, dense data, one thread.  Errors: DROVE_E_NOMEM. */
drove_status drove__host_blocks_init(drove_engine *e, const drove_engine_options *opt);
void         drove__host_blocks_fini(drove_engine *e);

/* Whether a batch of so many rows is computed in blocks. */
bool drove__host_cuts(const drove_engine *e, size_t n_rows);

/* The gradient of a batch that is cut: as the engine's begin.  Score and times go to e->done. */
drove_status drove__host_gradient_in_blocks(drove_engine *e, const drove_batch *batch,
                                            const float *theta, drove_gradient *grad);

/* The same, and theta -= eta gradient. */
drove_status drove__host_step_in_blocks(drove_engine *e, const drove_batch *batch, float *theta,
                                        float eta);

#endif
