/* data/open/formats.h - finds the format that a spec names. */
#ifndef DROVE_DATA_OPEN_FORMATS_H
#define DROVE_DATA_OPEN_FORMATS_H

#include "data/data.h"

/* Errors: DROVE_E_ARG, with the nearest name. */
drove_status drove__format_find(const drove_spec *spec, const drove_format_ops **out);

/* Checks the number of arguments and the names of keys.  Errors: DROVE_E_ARG. */
drove_status drove__format_check(const drove_format_ops *format, const drove_spec *spec);

/* The spec of a text, and its format, both checked.  The caller calls drove__spec_fini on *spec,
 * zeroed before, even after a failure.  Errors: DROVE_E_ARG, DROVE_E_NOMEM. */
drove_status drove__format_parse(const char *text, drove_spec *spec, const drove_format_ops **out);

#endif
