/* run/output.h - JSON helpers and small text files, shared by what writes results. */
#ifndef DROVE_RUN_OUTPUT_H
#define DROVE_RUN_OUTPUT_H

#include "run/run.h"

#include <jansson.h>

/* A number, or null where it is not finite (JSON has no NaN). */
json_t *drove__json_real(double value);
/* Text of an object, which is released, with so many significant digits; the caller frees *out. */
drove_status drove__json_text(json_t *object, int digits, char **out);
/* folder/name with text and a final newline, whole or not at all. */
drove_status drove__write_text(const char *folder, const char *name, const char *text);

#endif
