/* study/page/plot.h - one figure as plain data: what to draw, in which units, and what to say.
 *
 * A figure fills a plot; gnuplot.c draws it, figure.c writes its legend and its table.  A plot owns
 * its arrays.  Where memory runs out, is_cut is set, and the functions that draw refuse the plot.
 */
#ifndef DROVE_STUDY_PAGE_PLOT_H
#define DROVE_STUDY_PAGE_PLOT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum drove_plot_kind {
    DROVE_PLOT_LINES,   /* y over x, with a band from low to high where there is one */
    DROVE_PLOT_POINTS,  /* dots, and lines where a series is one */
    DROVE_PLOT_STEPS,   /* y holds until the next x */
    DROVE_PLOT_NEEDLES, /* a needle from 0 to y at each x: histograms */
    DROVE_PLOT_BARS,    /* for each category a bar of every series, side by side */
    DROVE_PLOT_STACKED, /* ... on top of each other */
    DROVE_PLOT_BOXES    /* a box for each series: its category is its number from 1 */
} drove_plot_kind;

enum {
    DROVE_PLOT_MOST_SERIES = 8, /* of lines and bars: as many colours, dashes and markers */
    DROVE_PLOT_MOST_POINTS = 200,
    DROVE_PLOT_TEXT = 160
};

typedef struct drove_series {
    char    name[DROVE_PLOT_TEXT]; /* from files: to be escaped */
    char    note[DROVE_PLOT_TEXT]; /* counts, beside the name; "": none */
    size_t  n, n_all;   /* boxes: n_all runs, of which n have the figure; 0: nobody asked */
    double *x, *y;      /* [n]; bars: x is the category, from 1; boxes: y alone, sorted */
    double *low, *high; /* [n], the quartiles; NULL: no band */
    bool    is_line;    /* of a plot of points */
    bool    is_thinned; /* of more than DROVE_PLOT_MOST_POINTS points some are left out */
} drove_series;

typedef struct drove_plot {
    drove_plot_kind kind;
    const char     *id; /* of the page, unique */
    char            title[DROVE_PLOT_TEXT], about[2 * DROVE_PLOT_TEXT];
    char            x_label[64], y_label[64]; /* with units */
    bool            log_x, log_y, is_share;   /* share: y from 0 to 1 */
    drove_series   *series;                   /* [n_series] */
    size_t          n_series, n_room;
    char (*category)
        [32]; /* [n_categories] bars: in the table; stacked: also below the bars, so ours alone */
    size_t n_categories;
    size_t n_left_out; /* series that are in no picture */
    bool   is_cut;
} drove_plot;

void drove__plot_fini(drove_plot *plot); /* accepts a zeroed one */
/* A new series with room for n points, which are not set; NULL: no memory, and the plot is cut.
 * has_band: with low and high. */
drove_series *drove__plot_add(drove_plot *plot, const char *name, size_t n, bool has_band);
/* A series of these n points, of which at most DROVE_PLOT_MOST_POINTS are kept, the ends always. */
void drove__plot_add_points(drove_plot *plot, const char *name, const double *x, const double *y,
                            size_t n);
void drove__plot_add_category(drove_plot *plot, const char *name);
/* Decides log_x and log_y by what is in the plot: all values above 0, and the largest more than
 * `ratio` times the least.  allow: which of the two may be. */
void drove__plot_choose_axes(drove_plot *plot, bool may_x, bool may_y, double ratio);
/* Largest and least finite values of one axis; NaN: there are none. */
void drove__plot_range(const drove_plot *plot, bool of_x, double *least, double *most);

/* figure.c: writes picture, legend and table.  svg: as gnuplot wrote it; NULL: there is none, and
 * the table stands open. */
void drove__figure_print(const drove_plot *plot, const char *svg, FILE *stream);

/* Quantile p of x[n], sorted, n >= 1: linear between the neighbours of p (n - 1).  May be
 * infinite. */
double drove__quantile(const double *sorted, size_t n, double p);

#endif
