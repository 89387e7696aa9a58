/* export/c_source.h - declarations shared by the files that write C. */
#ifndef DROVE_EXPORT_C_SOURCE_H
#define DROVE_EXPORT_C_SOURCE_H

#include "export/export.h"
#include "use/modelfile.h"

#include <stdio.h>

enum { DROVE_C_NAME_SIZE = 64 };

/* Numbers that the function takes. */
size_t drove__c_n_inputs(const drove_modelfile *f);

/* ---- c_plan.c: where the arrays of a network lie ---- */

/* Blob 0 is the input, blob l + 1 the output of layer l, as in model/model.h.  Images are
 * [h][w][c], but dense layers read an input that is an image as the data have it, [c][h][w]. */
typedef struct drove_c_plan {
    const drove_modelfile *file;
    size_t                 n_layers; /* up to the main head */
    bool   *is_folded;               /* [n_layers] a batch normalisation in the weights before it */
    size_t *place;                /* [n_layers + 2] of each blob in the scratch memory; the last: of
                                   * the input [c][h][w] */
    bool    has_plain, has_image; /* is the input needed [c][h][w], or [h][w][c]? */
    size_t  n_scratch;            /* floats */
} drove_c_plan;

/* f is borrowed.  Errors: DROVE_E_UNSUPPORTED (a kind of layer), DROVE_E_NOMEM. */
drove_status drove__c_plan_make(const drove_modelfile *f, drove_c_plan *out);
void         drove__c_plan_fini(drove_c_plan *p); /* accepts a zeroed one */

/* ---- c_layers.c: kinds of layers ---- */

typedef enum drove_c_memory {
    DROVE_C_NEW,      /* the output has memory of its own */
    DROVE_C_IN_PLACE, /* it may be that of an input of the same size that nobody reads later */
    DROVE_C_SAME      /* it is the input */
} drove_c_memory;

/* The array that a layer reads: a blob, or n_layers + 1, the input [c][h][w]. */
size_t drove__c_array(const drove_c_plan *p, const drove_layer *l, unsigned bottom);
/* is_folded of the plan is known, places are not.  Errors: DROVE_E_UNSUPPORTED. */
drove_status drove__c_layer_memory(const drove_c_plan *p, size_t layer, drove_c_memory *out);
/* The functions that the calls below need, and `more` of c_parts.h, NULL at its end. */
void drove__c_layer_parts(FILE *to, const drove_c_plan *p, const char *const *more);
/* Weights and sizes.  Errors: DROVE_E_NONFINITE, DROVE_E_NOMEM. */
drove_status drove__c_layer_constants(FILE *to, const drove_c_plan *p, size_t layer);
/* Statements that make the output of the inputs. */
void drove__c_layer_call(FILE *to, const drove_c_plan *p, size_t layer);

/* ---- c_input.c: the input of the network ---- */

/* static void input(const float *x, float *to): features, scaling, the middle of an image.
 * Errors: DROVE_E_NONFINITE. */
drove_status drove__c_input(FILE *to, const drove_c_plan *p);
void         drove__c_input_call(FILE *to, const drove_c_plan *p);
/* Type of the numbers that the function takes: doubles if floats would lose digits. */
const char *drove__c_input_type(const drove_modelfile *f);

/* ---- c_print.c: comments, numbers and arrays of them ---- */

/* Text as part of a comment: printable, and it does not end the comment. */
void drove__c_comment(FILE *to, const char *text);
/* A constant of type float. */
void drove__c_float(FILE *to, float value);
/* static const float name[n] = {...}; */
void drove__c_floats(FILE *to, const char *name, const float *value, size_t n);
void drove__c_doubles(FILE *to, const char *name, const double *value, size_t n);

/* ---- c_table.c: the columns of a table ---- */

/* schema NULL: nothing to check.  Errors: DROVE_E_UNSUPPORTED (a hashed column, a text). */
drove_status drove__c_check_columns(const drove_schema *schema);
size_t       drove__c_n_cells(const drove_schema *schema);
/* Lines of the head's comment: the meaning of each number. */
void drove__c_describe_columns(FILE *to, const drove_schema *schema);
/* Whether a cell is a double, since a float would lose its digits; then all are. */
bool drove__c_has_doubles(const drove_schema *schema);
/* static void features(const float *x, float *f), or of doubles */
void drove__c_columns(FILE *to, const drove_schema *schema);

#endif
