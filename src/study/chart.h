/* study/chart.h - a curve as lines of text, for a terminal. */
#ifndef DROVE_STUDY_CHART_H
#define DROVE_STUDY_CHART_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct drove_chart {
    const double *x, *y; /* [n] x ascends; y that are not finite are left out */
    size_t        n;
    unsigned columns, rows; /* of the whole: columns >= 40, rows >= 4, the last is of the x axis */
    bool     is_ascii;      /* stars; else Braille characters, 2 x 4 dots each */
    const char *x_name;     /* below, at the right end */
} drove_chart;

/* Prints c->rows lines, none wider than c->columns.  The y axis is logarithmic where all values are
 * above 0 and the largest is more than ten times the least.  Without a value: one line.  *n_lines:
 * how many were printed.  Errors: DROVE_E_NOMEM. */
drove_status drove__chart_print(const drove_chart *c, FILE *stream, size_t *n_lines);

#endif
