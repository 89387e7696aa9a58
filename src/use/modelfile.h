/* use/modelfile.h - model.safetensors: a trained model with all that prediction needs. */
#ifndef DROVE_USE_MODELFILE_H
#define DROVE_USE_MODELFILE_H

#include <drove/options.h>

#include "base/memfile.h"
#include "base/safetensors.h"
#include "data/data.h"
#include "engine/features.h"
#include "model/model.h"
#include "table/schema.h"

/* data: as they were opened, before the features; only the descriptive part is used.  target_mean:
 * of the training data (use/measure.h); NULL: not known. */
drove_status drove__modelfile_save(const char *path, const drove_model *model,
                                   const drove_data *data, const drove_features_options *features,
                                   const double *target_mean, const float *theta);
/* *theta_out from drove__alloc.  shift, factor, names as they stand in the file. */
typedef struct drove_modelfile {
    drove_model           *model;
    float                 *theta;    /* [n_params] */
    drove_model_io         io;       /* as the model sees it */
    size_t                 n_inputs; /* features of the data; io.n_features where there is no map */
    drove_features_options features;
    drove_augment          augment; /* images, and what is cut out of them; channels 0: none */
    drove_scaling          scaling;
    /* of the training data, with index_base: how to read further data */
    drove_x_kind x_kind;
    int          index_base;
    float       *shift, *factor; /* [n_inputs], or NULL */
    /* Subtracted in double before floats are made of the inputs, and to be added in double to the
     * values that are predicted (data/origin.h); NULL: zeros. */
    double *x_origin;   /* [n_inputs] */
    double *y_origin;   /* [n_values] */
    char  **class_name; /* [n_classes], of several values [n_values]; or NULL */
    /* [n_classes], or [n_values], less y_origin; NULL: not in the file */
    double       *target_mean;
    drove_schema *schema; /* of a table, or NULL */
} drove_modelfile;
/* path: a file, or the folder of a run (drove_model_find). */
drove_status drove__modelfile_load(const char *path, drove_modelfile *out);
/* The same with the program's own loss and layers; custom NULL: none.  Errors: DROVE_E_UNSUPPORTED:
 * a layer of the model's is missing.  A loss that is missing fails when it is called. */
drove_status drove__modelfile_load_with(const char *path, const drove_custom *custom,
                                        drove_modelfile *out);
/* The same, and the file's tensors and metadata, released by drove__safetensors_fini: the values of
 * parameters stand in theta, so they are in memory once. */
drove_status drove__modelfile_load_tensors(const char *path, const drove_custom *custom,
                                           drove_modelfile *out, drove_safetensors *tensors);
/* Writes tensors and metadata that were loaded, as a file of today's format.  Errors: those of
 * drove__safetensors_write. */
drove_status drove__modelfile_write_tensors(const char *path, const drove_safetensors *tensors);
void         drove__modelfile_fini(drove_modelfile *file);
/* The descriptive part of the training data, for drove__data_open_like and for saving anew: it
 * borrows what the file has. */
void drove__modelfile_describe(const drove_modelfile *file, drove_storage *storage,
                               drove_data *like);

/* *out: the model's features of these data, the caller's; NULL: it has no map and sees the data.
 * Errors: those of features. */
drove_status drove__modelfile_map(const drove_modelfile *file, const drovek_table *kernels,
                                  unsigned n_threads, const drove_data *data, drove_data **out);

/* "memory:7.safetensors" */
enum { DROVE_MODEL_NAME_SIZE = DROVE_NAMED_SIZE + 16 };
void drove__model_name(const drove_memfile *file, char into[DROVE_MODEL_NAME_SIZE]);

/* The features alone. */
drove_status drove__modelfile_features(const char *path, drove_features_options *out);

/* Is it the folder of a run, with a model in it? */
bool drove__modelpath_is_run(const char *path);
/* True if `model`, as --model has it, names a saved model: its file, or the folder of a run (./NAME
 * where a kind of model has that name).  All others are specs. */
bool drove__names_model_file(const char *model);
/* True if it is neither a model that can be built nor a file, or run, that is there. */
bool drove__model_is_gone(const char *name, const char *activation);

/* The sizes that these data demand of a model. */
drove_model_io drove__data_io(const drove_data *data);
/* Accuracy of a score: correct / rows, micro-F1 for multi-label, NaN for values. */
double drove__score_accuracy(const drove_data *data, const drove_score *score);

/* What is asked of a model that a file settles; NULL: whatever it is there. */
typedef struct drove_modelfile_wanted {
    const char *model; /* the file, for errors */
    const char *loss, *activation, *init;
} drove_modelfile_wanted;

/* A saved model settles its loss, activation and parameters, which nobody must ask for differently.
 * Errors: DROVE_E_ARG. */
drove_status drove__modelfile_check(const drove_modelfile_wanted *wanted, const drove_model *model);

#endif
