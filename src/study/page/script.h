/* study/page/script.h - a plot as lines of a gnuplot script. */
#ifndef DROVE_STUDY_PAGE_SCRIPT_H
#define DROVE_STUDY_PAGE_SCRIPT_H

#include "study/page/plot.h"

#include <stdint.h>
#include <stdio.h>

/* What a colour is for.  In an SVG it is a number that svg.c turns into a variable of the page's
 * style: red 1, green 0, blue the role. */
enum { DROVE_ROLE_TEXT = 1, DROVE_ROLE_GRID = 2, DROVE_ROLE_SERIES = 16 };

/* Writes the lines that draw one plot; number: of its data, unique in the script.  is_page: for the
 * page, with colours by role and without a legend. */
void drove__script_plot(const drove_plot *plot, size_t number, bool is_page, FILE *stream);
/* How many lines of text the key of a plot in a file has. */
unsigned drove__script_key_rows(const drove_plot *plot);
/* How a series of lines looks: numbers of its marker, and its dashes in units of SVG, "": none. */
int         drove__script_marker(size_t series);
int         drove__script_dot(size_t series); /* of a plot of points */
const char *drove__script_dash(size_t series);
/* The series that the k-th element drawn belongs to, from 0: bands come before lines. */
size_t drove__script_element(const drove_plot *plot, size_t k);

#endif
