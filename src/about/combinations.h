/* about/combinations.h - `drove list combinations`: which strategy runs on which workers. */
#ifndef DROVE_ABOUT_COMBINATIONS_H
#define DROVE_ABOUT_COMBINATIONS_H

#include "base/status.h"

#include <stdio.h>

/* A row for each strategy, a column for each place (strategy/combine.h); beneath, or in JSON in the
 * cell, why the others do not run.  Errors: DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__combinations_print(int as_json, FILE *stream);

#endif
