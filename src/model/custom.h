/* model/custom.h - losses and layers of the program's own (drove/custom.h), as models have them.
 *
 * Threads: an object is made, kept and released by the thread that makes or destroys a model; while
 * workers use it only has_failed changes.
 */
#ifndef DROVE_MODEL_CUSTOM_H
#define DROVE_MODEL_CUSTOM_H

#include "base/options.h"
#include "model/layer.h"
#include "model/loss.h"

struct drove_kinds {
    drove_custom    given;
    drove_loss_ops  loss;                       /* if given.has_loss */
    drove_layer_ops layer[DROVE_CUSTOM_LAYERS]; /* [given.n_layers] */
    unsigned        n_users;
    /* Some function has failed: the run ends, whatever its source of batches could bear.  Relaxed:
     * no other data depend on it. */
    _Atomic int has_failed;
};

/* *out NULL: custom is NULL or empty.  Errors: DROVE_E_NOMEM. */
drove_status drove__kinds_create(const drove_custom *custom, drove_kinds **out);
drove_kinds *drove__kinds_keep(drove_kinds *kinds); /* returns kinds, which may be NULL */
void         drove__kinds_release(drove_kinds *kinds);

/* Did a function of the program's own fail, for this model? */
bool drove__custom_has_failed(const drove_model *model);

/* The calling part's function has failed; why: its text, may be "".  what: "loss huber". */
void drove__custom_fail(drove_pass *pass, const char *what, const char *name, drove_status status,
                        const char *why);
/* Status and text of a failure outside a pass; a status without a name counts as SYSTEM. */
drove_status drove__custom_fail_now(const char *what, const char *name, drove_status status,
                                    const char *why);

/* ---- loss ---- */

/* Sets the slots of a loss by what its outputs mean. */
void drove__custom_loss_init(const drove_custom *custom, drove_loss_ops *out);
/* As drove_loss_ops.n_outputs. */
size_t drove__custom_outputs(const drove_loss_ops *loss, const drove_model_io *io,
                             const char **why);
/* As drove_loss_ops.eval, with the weights of the examples; a failure goes to the pass. */
void drove__custom_loss_eval(const drove_model *model, const drove_target *target, size_t n_rows,
                             const float *z, float scale, float *dz, drove_pass *pass,
                             drove_score *score);
/* "plain", "sigmoid", "softmax", with ":1" where two classes have one output: in saved models.
 * Writes into[32]. */
void drove__custom_outputs_print(const drove_custom_loss *loss, char into[32]);
/* A loss of this name and meaning that fails when it is called.  Errors: DROVE_E_DATA. */
drove_status drove__custom_absent_loss(const char *name, const char *outputs, drove_custom *into);

/* ---- layers ---- */

void drove__custom_layer_init(const drove_custom *custom, unsigned which, drove_layer_ops *out);
/* The first parameters[n_w] of a layer.  Errors: the program's. */
drove_status drove__custom_layer_start(const drove_layer *layer, uint64_t seed, float *parameters);

#endif
