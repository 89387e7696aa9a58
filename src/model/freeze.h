/* model/freeze.h - layers that training leaves as they are, and networks that are trained from such
 * layers on.
 *
 * Source: Yosinski, Clune, Bengio, Lipson, NIPS 2014 (transferred layers, frozen and tuned).
 *
 * Frozen parameters are constants of a model, as the numbers of a layer `scale` are: they lie in
 * model->frozen and not in theta.  So no rule, decay, average or exchange can move them, and none
 * has to know of them.  A batch normalisation that is frozen normalises by the population.
 *
 * A model whose layers are all trained, as files and saved models have it, is called whole here.
 * What is trained is a part of it: all its layers, some of them frozen, or those above a blob that
 * nothing trained reaches.  That blob is then the part's input, and can be computed once for each
 * example.
 */
#ifndef DROVE_MODEL_FREEZE_H
#define DROVE_MODEL_FREEZE_H

#include "model/model.h"

/* The last layer with parameters below head h: only layers without parameters and with one input
 * follow it.  n_layers: there is none. */
size_t drove__head_layer(const drove_model *model, unsigned h);

/* Whether layer l is that of some head. */
bool drove__is_of_head(const drove_model *model, size_t l);

/* is_frozen[n_layers]: the layers whose step size the model's file sets to 0, and those that
 * `names` has: names of layers with commas in between, NAME* for all whose name begins with NAME,
 * and `body` for all but the last of each head; "": none.
 * Errors: DROVE_E_ARG (a name that no layer with parameters has, with the nearest; all layers;
 * `body` where a head has no single last layer). */
drove_status drove__freeze_choose(const drove_model *whole, const char *names, bool *is_frozen);

typedef struct drove_model_cut {
    size_t n_below; /* layers below it; 0: none, the part has all layers */
    bool   is_flat; /* its blob is a vector for the layers above, of an image in [h][w][c] */
} drove_model_cut;

/* The highest blob that nothing trained or random reaches, and through which alone the layers below
 * are read. */
drove_model_cut drove__freeze_cut(const drove_model *whole, const bool *is_frozen);

/* The layers from `cut` on, with is_frozen as their state; theta: [whole->n_params].  Owns copies
 * of all that it needs.  Errors: DROVE_E_NOMEM, DROVE_E_ARG (too large). */
drove_status drove__part_above(const drove_model *whole, const float *theta, const bool *is_frozen,
                               const drove_model_cut *cut, drove_model **out);
/* The layers below it, all frozen: its outputs are the numbers of the blob as the input of the part
 * above has them, images as [c][h][w]. */
drove_status drove__part_below(const drove_model *whole, const float *theta,
                               const drove_model_cut *cut, drove_model **out);

/* The trained parameters and statistics of `part`, whose first layer is layer n_below of the whole
 * model: into part_theta, or into the whole model's theta.  Layers of other sizes, as new heads
 * are, stay 0, or as they are. */
void drove__part_take(const drove_model *whole, size_t n_below, const drove_model *part,
                      const float *theta, float *part_theta);
void drove__part_give(const drove_model *whole, size_t n_below, const drove_model *part,
                      const float *part_theta, float *theta);

#endif
