/* study/page/tables.h - the parts of a page that are tables: settings, runs with their commands,
 * heat maps, and what the summary of a single run says of its model.
 */
#ifndef DROVE_STUDY_PAGE_TABLES_H
#define DROVE_STUDY_PAGE_TABLES_H

#include "study/page/settings.h"

#include <stdbool.h>
#include <stdio.h>

void drove__page_settings(const drove_page_settings *s, FILE *stream);
/* Outcome, figures, message and the command that repeats it, of each run. */
void drove__page_runs(const drove_page_settings *s, FILE *stream);
/* Step size against batch size, where the runs have two values or more of both: median time to the
 * target, or else median loss; one map for each set of the other options. */
void drove__page_heat(const drove_page_settings *s, FILE *stream);
/* Whether there is one run alone, with a summary. */
bool drove__page_has_model(const drove_page_settings *s);
/* Metrics, confusion matrix and calibration of the only run. */
void drove__page_model(const drove_page_settings *s, FILE *stream);

/* The columns of a table with the largest weights, of the only run. */
void drove__page_inputs(const drove_page_settings *s, FILE *stream);
/* Measured and predicted throughput of the only run, if it has a DMGC signature. */
void drove__page_throughput(const drove_page_settings *s, FILE *stream);

/* The command line that repeats a run: the options that are not the program's defaults, quoted for
 * a shell. */
void drove__page_command(const json_t *options, FILE *stream);

#endif
