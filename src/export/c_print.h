/* export/c_print.h - comments and arrays of numbers as C. */
#ifndef DROVE_EXPORT_C_PRINT_H
#define DROVE_EXPORT_C_PRINT_H

#include <stddef.h>
#include <stdio.h>

/* Text as part of a comment: printable, and it does not end the comment. */
void drove__c_comment(FILE *to, const char *text);
/* static const float name[n] = {...}; */
void drove__c_floats(FILE *to, const char *name, const float *value, size_t n);
void drove__c_doubles(FILE *to, const char *name, const double *value, size_t n);

#endif
