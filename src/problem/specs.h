/* problem/specs.h - the specs of a run's data. */
#ifndef DROVE_PROBLEM_SPECS_H
#define DROVE_PROBLEM_SPECS_H

#include "config/config.h"

/* --data with --label and --weights as keys. */
enum { DROVE_SPEC_WITH_LABEL_SIZE = 7 * DROVE_TEXT_SIZE + 32 };
enum { DROVE_SPEC_SIZE = DROVE_SPEC_WITH_LABEL_SIZE + 16 }; /* and with &scale=auto */

/* The specs of both: --data with --label and --weights as keys and the scaling that the run chooses
 * where it is not given; --test, "" or "split" as they are.  Errors: DROVE_E_ARG. */
drove_status drove__problem_specs(const drove_config *config, char data[DROVE_SPEC_SIZE],
                                  char test[DROVE_SPEC_WITH_LABEL_SIZE]);

#endif
