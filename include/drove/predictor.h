/* drove/predictor.h - a trained model in memory: predictions into memory, its parameters, and its
 * bytes.
 *
 * Threads: any number of threads may predict with one predictor at once.  Nothing else may be going
 * on while drove_predictor_set_tensor changes it.  A child of fork may predict with the parent's.
 */
#ifndef DROVE_PREDICTOR_H
#define DROVE_PREDICTOR_H

#include <drove/arrays.h>
#include <drove/status.h>

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* A trained model in memory; opaque. */
typedef struct drove_predictor drove_predictor;

/* Loads a model: a file, the folder of a run, or a name in memory (drove_result_model, or that of a
 * drove_memory_file).  isa: the highest kernel tier, NULL or "" = best.  What it needs is copied;
 * parameters are in memory once, 4 bytes each, beside a pass's activations for each thread.
 * Errors: DROVE_E_ARG (isa), DROVE_E_FILE, DROVE_E_IO, DROVE_E_DATA, DROVE_E_UNSUPPORTED (a layer
 * of a program's own: drove_predictor_open_with), DROVE_E_NOMEM. */
drove_status drove_predictor_open(const char *model, const char *isa, drove_predictor **out);
void         drove_predictor_destroy(drove_predictor *predictor); /* NULL accepted */

/* Made by the library, which may add fields at the end; texts belong to the predictor. */
typedef struct drove_predictor_facts {
    size_t      n_features;        /* numbers of an example, before a feature map */
    size_t      n_outputs;         /* numbers of a prediction */
    size_t      n_classes;         /* classes or labels; 0: values */
    size_t      n_parameters;      /* numbers that training changes */
    size_t      n_tensors;         /* in the model file: i < n_tensors for drove_predictor_tensor */
    int         is_multi_label;    /* an example has a set of labels */
    int         gives_probability; /* outputs are probabilities; else scores, or values */
    int         is_table;          /* its data are a table, whose columns have names */
    int         is_sparse;         /* its data are sparse rows */
    const char *model;             /* as --model: "mlp:16" */
    const char *loss;              /* as --loss */
} drove_predictor_facts;
/* What the model is; owned by the predictor. */
const drove_predictor_facts *drove_predictor_describe(const drove_predictor *predictor);
/* Name of class or label i < n_classes, as in the data; NULL: it is its number.  Of several values
 * the name of value i < n_outputs. */
const char *drove_predictor_class_name(const drove_predictor *predictor, size_t i);

/* ---- predictions ----
 *
 * An example's n_outputs numbers: of classes a probability or score each; where a loss has one
 * output for two classes, that of class 1; of labels a probability each; else values in the unit of
 * the targets.  Results do not depend on threads or on how rows are divided among calls, but for
 * the last bit: products of other shapes round differently. */

/* Rows of numbers as they were in the training data: into[n_rows][n_outputs].  The calling thread
 * computes; up to 64 rows take microseconds.  Models of tables and models with a feature map go by
 * drove_predictor_apply.  Errors: DROVE_E_SHAPE, DROVE_E_ARG (a type), DROVE_E_DATA (a number is
 * not finite), DROVE_E_UNSUPPORTED, DROVE_E_NOMEM. */
drove_status drove_predictor_rows(drove_predictor *predictor, const drove_matrix *x, float *into);
/* The same in double: of values that are large beside their spread, such as times since 1970, a
 * float has too few digits. */
drove_status drove_predictor_rows_f64(drove_predictor *predictor, const drove_matrix *x,
                                      double *into);
/* Any data: a spec, or the name of a drove_arrays.  *into: [*n_rows][n_outputs], freed by the
 * caller.  threads: 0 = as many as processors.  Errors: those of drove_predict. */
drove_status drove_predictor_apply(drove_predictor *predictor, const char *data, unsigned threads,
                                   float **into, size_t *n_rows);
/* The same in double. */
drove_status drove_predictor_apply_f64(drove_predictor *predictor, const char *data,
                                       unsigned threads, double **into, size_t *n_rows);
/* Reads data as drove_predictor_apply does and says what there is to remark, *out, freed by the
 * caller: cells that count as missing, columns of no use, with "; " between two; "": nothing.
 * Errors: those of drove_predict. */
drove_status drove_predictor_remarks(drove_predictor *predictor, const char *data, char **out);

/* ---- parameters ---- */

/* A tensor of the model file; texts and numbers are the predictor's. */
typedef struct drove_tensor_info {
    const char  *name;     /* "layer0.weight": of the model file, docs/inside/formats.md */
    size_t       n;        /* product of shape */
    unsigned     rank;     /* <= 5 */
    size_t       shape[5]; /* the first rank of them */
    const float *values;   /* [n], the predictor's; NULL: numbers of another kind */
} drove_tensor_info;

/* Tensor i < n_tensors of the model file.  Errors: DROVE_E_ARG (no such tensor). */
drove_status drove_predictor_tensor(const drove_predictor *predictor, size_t i,
                                    drove_tensor_info *out);
/* New values[n] for a tensor, which must keep its shape; copied.  Errors: DROVE_E_ARG (no such
 * tensor), DROVE_E_SHAPE, DROVE_E_NONFINITE, DROVE_E_NOMEM. */
drove_status drove_predictor_set_tensor(drove_predictor *predictor, const char *name,
                                        const float *values, size_t n);

/* ---- the model itself ---- */

/* "memory:7.safetensors", the predictor's: as --model it is what training goes on from.  The first
 * call makes the file in memory, which takes as much as the parameters.  NULL: no memory for it. */
const char *drove_predictor_name(const drove_predictor *predictor);
/* The model file, *bytes[*n_bytes], the predictor's; valid until it is changed or destroyed.  Made
 * by the first call, as by drove_predictor_name; NULL and 0: no memory for it. */
void drove_predictor_bytes(const drove_predictor *predictor, const void **bytes, size_t *n_bytes);
/* Writes it: the file appears whole or not at all.  Errors: DROVE_E_FILE, DROVE_E_IO. */
drove_status drove_predictor_save(const drove_predictor *predictor, const char *path);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
