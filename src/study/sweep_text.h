/* study/sweep_text.h - the reports of a sweep as text for people, from their JSON objects
 * (docs/use/sweep.md).  Pure but for the stream. */
#ifndef DROVE_STUDY_SWEEP_TEXT_H
#define DROVE_STUDY_SWEEP_TEXT_H

#include "base/json.h"

#include <stdio.h>

void drove__sweep_print_list(const json_t *report, FILE *stream);    /* --list */
void drove__sweep_print_best(const json_t *report, FILE *stream);    /* --best */
void drove__sweep_print_pair(const json_t *report, FILE *stream);    /* --pair */
void drove__sweep_print_summary(const json_t *report, FILE *stream); /* the end of a sweep */

#endif
