/* study/page/gnuplot.h - draws plots by gnuplot, as SVG for a page or as one PNG.
 *
 * gnuplot is a program of its own that need not be there.  It reads a script that has numbers,
 * labels of ours and, in a PNG, names in single quotes, within which gnuplot interprets nothing.
 */
#ifndef DROVE_STUDY_PAGE_GNUPLOT_H
#define DROVE_STUDY_PAGE_GNUPLOT_H

#include "study/page/plot.h"

enum { DROVE_SVG_WIDTH = 480, DROVE_SVG_HEIGHT = 320 };

/* Finds the program in PATH.  false: it is not there. */
bool drove__gnuplot_find(char *into, size_t size);

/* Draws each plot.  svg[n]: texts of malloc, as gnuplot writes them; the caller frees each.
 * Errors: DROVE_E_SYSTEM (the program failed: what it said), DROVE_E_IO, DROVE_E_NOMEM; then all
 * svg are NULL. */
drove_status drove__gnuplot_svg(const char *program, const drove_plot *plot, size_t n, char **svg);
/* Draws all plots into one PNG, two in a row; the file appears whole or not at all.  Errors: the
 * same, and DROVE_E_FILE. */
drove_status drove__gnuplot_png(const char *program, const drove_plot *plot, size_t n,
                                const char *path);

/* ---- svg.c: such pictures as parts of a page ----
 *
 * Colours follow the page's style, elements belong to series, and names of markers are shared. */

/* The definitions of markers, which all pictures use, once for a page. */
void drove__svg_markers(const char *svg, FILE *stream);
/* One picture, without the svg element round it. */
void drove__svg_picture(const char *svg, const drove_plot *plot, FILE *stream);

#endif
