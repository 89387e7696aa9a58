/* report/json.h - what every writer of JSON needs. */
#ifndef DROVE_REPORT_JSON_H
#define DROVE_REPORT_JSON_H

#include "base/json.h"

/* A number, or null where it is not finite (JSON has no NaN). */
json_t *drove__json_real(double value);
/* Text of an object, which is released, with so many significant digits; the caller frees *out. */
drove_status drove__json_text(json_t *object, int digits, char **out);

#endif
