/* model/loss.h - the interface of a loss.  One file per loss family, one row in model/support.c. */
#ifndef DROVE_MODEL_LOSS_H
#define DROVE_MODEL_LOSS_H

#include "model/model.h"

#include <drove/custom.h>

struct drove_loss_ops {
    const char *name, *help, *source;
    /* Outputs that the model needs for these data; 0: the loss does not fit them, and *why says
     * why. */
    size_t (*n_outputs)(const drove_model_io *io, const char **why);
    /* z[n_rows][n_outputs]; dz NULL: only the loss; else dz = scale * d(sum of losses)/dz.  dz may
     * not be z. */
    void (*eval)(const drovek_table *k, const float *z, const drove_target *target, size_t n_rows,
                 size_t n_outputs, float scale, float *dz, drove_score *score);
    void (*predict)(const float *z, size_t n_rows, size_t n_outputs, float *prob);
    /* Mean loss of the best constant outputs where share[n] of the rows have each class or label;
     * NULL: it does not follow from shares. */
    double (*constant)(const double *share, size_t n);
    bool gives_probability;          /* of a class or label, by predict; else values or margins */
    bool is_cross_entropy;           /* loss and dz are linear in targets from 0 to 1 */
    const drove_custom_loss *custom; /* the program's own, in place of eval; else NULL */
};

extern const drove_loss_ops drove__loss_softmax, drove__loss_sigmoid, drove__loss_logistic,
    drove__loss_hinge, drove__loss_squared;

extern const drove_loss_ops *const drove__losses[]; /* all of them; NULL-terminated */

#endif
