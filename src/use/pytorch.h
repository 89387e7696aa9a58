/* use/pytorch.h - --init pytorch:FILE: the first parameters are those of a PyTorch module. */
#ifndef DROVE_USE_PYTORCH_H
#define DROVE_USE_PYTORCH_H

#include "data/data.h"
#include "model/model.h"

/* The file of "pytorch:FILE"; NULL: the option names another initialiser. */
const char *drove__pytorch_file(const char *init);

/* Reads the state_dict of a module whose layers are called as those of the model, safetensors, as
 * the model's initial parameters.  data: whose scaling the model sees, and the module does not.
 * Auxiliary heads, which are for training alone, may be missing; theta[n_params] has their first
 * parameters.  Errors: DROVE_E_DATA (a tensor that is missing, unknown or not finite, or has
 * another type), DROVE_E_SHAPE, DROVE_E_UNSUPPORTED (tables, a scaling that the first layer cannot
 * take), DROVE_E_NOMEM, those of reading. */
drove_status drove__pytorch_load(const char *path, const drove_data *data, const float *theta,
                                 drove_model *model);
/* The same of a run that goes on, whose state has the parameters: theta[n_params] as the initial
 * ones, without the file.  Errors: DROVE_E_NOMEM. */
drove_status drove__pytorch_resume(const float *theta, drove_model *model);

#endif
