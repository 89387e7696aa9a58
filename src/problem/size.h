/* problem/size.h - how large the pieces of a run are, and whether they fit: before they are
 * made. */
#ifndef DROVE_PROBLEM_SIZE_H
#define DROVE_PROBLEM_SIZE_H

#include "values/values.h"

/* The model is there, the workers are not.  Errors: DROVE_E_ARG: more memory than there is, with
 * the need and what there is. */
drove_status drove__run_check_memory(const drove_config *config, const drove_problem *problem,
                                     const drove_workers *workers);
/* Bytes that the model, its copies and the workers' outputs take. */
drove_status drove__run_need_bytes(const drove_config *config, const drove_problem *problem,
                                   const drove_workers *workers, double *out);
/* Bytes of memory that the run may take: --memory, or most of what is free. */
double drove__run_memory(const drove_config *config);
/* Examples of an update: --batch, or all rows if there are fewer. */
size_t drove__update_rows(const drove_config *config, const drove_problem *problem);

#endif
