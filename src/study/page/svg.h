/* study/page/svg.h - pictures as gnuplot writes them, made part of a page: colours follow the
 * page's style, elements belong to series, and names of markers are shared.
 */
#ifndef DROVE_STUDY_PAGE_SVG_H
#define DROVE_STUDY_PAGE_SVG_H

#include "study/page/plot.h"

#include <stdio.h>

/* The definitions of markers, which all pictures use, once for a page. */
void drove__svg_markers(const char *svg, FILE *stream);
/* One picture, without the svg element round it. */
void drove__svg_picture(const char *svg, const drove_plot *plot, FILE *stream);

#endif
