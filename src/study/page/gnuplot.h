/* study/page/gnuplot.h - draws plots by gnuplot, as SVG for a page or as files of their own.
 *
 * gnuplot is a program of its own that need not be there.  It reads a script that has numbers,
 * labels of ours and, in files, names in single quotes, within which gnuplot interprets nothing.
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
/* Draws each plot for print, without a title: FOLDER/ID.svg or ID.pdf; each appears whole or not at
 * all.  Errors: the same, DROVE_E_FILE, DROVE_E_DATA (no plot), DROVE_E_UNSUPPORTED (this gnuplot
 * has no PDF). */
drove_status drove__gnuplot_files(const char *program, const drove_plot *plot, size_t n,
                                  bool is_pdf, const char *folder);

/* ---- svg.c: such pictures as parts of a page ----
 *
 * Colours follow the page's style, elements belong to series, and names of markers are shared. */

/* The definitions of markers, which all pictures use, once for a page. */
void drove__svg_markers(const char *svg, FILE *stream);
/* One picture, without the svg element round it. */
void drove__svg_picture(const char *svg, const drove_plot *plot, FILE *stream);

#endif
