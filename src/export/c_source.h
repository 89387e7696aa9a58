/* export/c_source.h - declarations shared by the files that write C. */
#ifndef DROVE_EXPORT_C_SOURCE_H
#define DROVE_EXPORT_C_SOURCE_H

#include "export/export.h"
#include "use/modelfile.h"

#include <stdio.h>

enum { DROVE_C_NAME_SIZE = 64 };

/* Numbers that the function takes. */
size_t drove__c_n_inputs(const drove_modelfile *f);

/* ---- c_print.c: comments and arrays of numbers ---- */

/* Text as part of a comment: printable, and it does not end the comment. */
void drove__c_comment(FILE *to, const char *text);
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
