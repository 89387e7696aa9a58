/* study/page/figure.h - one figure of a page: picture, legend, and its numbers as a table. */
#ifndef DROVE_STUDY_PAGE_FIGURE_H
#define DROVE_STUDY_PAGE_FIGURE_H

#include "study/page/plot.h"

#include <stdio.h>

/* svg: as gnuplot wrote it; NULL: there is none, and the table stands open. */
void drove__figure_print(const drove_plot *plot, const char *svg, FILE *stream);

#endif
