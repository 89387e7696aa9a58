/* report/json.c - numbers and whole objects as JSON text. */
#include "report/json.h"

#include <math.h>

json_t *drove__json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

drove_status drove__json_text(json_t *object, int digits, char **out)
{
    char *text =
        object != NULL
            ? drove__json_dump(object, JSON_INDENT(2) | JSON_REAL_PRECISION((size_t)digits))
            : NULL;
    json_decref(object);
    if (text == NULL) return drove__fail_nomem("JSON text", 1);
    *out = text;
    return DROVE_OK;
}
