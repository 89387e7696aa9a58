/* study/page/figures.h - the figures of a page.  A new one is a row of the table in figures.c, and
 * where it is of another kind a file fig_NAME.c with its function.
 */
#ifndef DROVE_STUDY_PAGE_FIGURES_H
#define DROVE_STUDY_PAGE_FIGURES_H

#include "study/page/html.h"
#include "study/page/plot.h"
#include "study/page/settings.h"

typedef struct drove_figure drove_figure;
struct drove_figure {
    const char *id, *title, *about;
    const char *x, *y; /* keys of log.jsonl, or y of figures; NULL: the function knows */
    const char *x_label, *y_label; /* with units */
    /* Fills a zeroed plot; one without a series is not shown.  Errors: DROVE_E_NOMEM. */
    drove_status (*fill)(const drove_figure *f, const drove_page_settings *s, drove_plot *plot);
};

extern const drove_figure drove__figures[]; /* ends with a row without id */

/* Curves of a key of log.jsonl against another: of a setting with one run its evaluations; of
 * several runs the median, and the quartiles as a band, at 64 places.  Between two evaluations a
 * run is on the line that joins them; after its end it counts with its last value, and with
 * infinite loss (or no accuracy) where it crashed. */
drove_status drove__figure_curves(const drove_figure *f, const drove_page_settings *s,
                                  drove_plot *plot);
/* Learning curves of a single run: y is loss or accuracy. */
drove_status drove__figure_learning(const drove_figure *f, const drove_page_settings *s,
                                    drove_plot *plot);
/* A box for each setting with the runs that have the figure; the note counts those without. */
drove_status drove__figure_times(const drove_figure *f, const drove_page_settings *s,
                                 drove_plot *plot);
/* Shares of steps by staleness: of one run for each worker and in all, else of each setting. */
drove_status drove__figure_staleness(const drove_figure *f, const drove_page_settings *s,
                                     drove_plot *plot);
/* For each worker of a run a key of the summary's workers. */
drove_status drove__figure_workers(const drove_figure *f, const drove_page_settings *s,
                                   drove_plot *plot);
/* Over training time, for each worker of a run: its use in intervals, and its batch size. */
drove_status drove__figure_use(const drove_figure *f, const drove_page_settings *s,
                               drove_plot *plot);
drove_status drove__figure_batches(const drove_figure *f, const drove_page_settings *s,
                                   drove_plot *plot);
/* Mean seconds of a step in each phase, stacked, for each setting. */
drove_status drove__figure_phases(const drove_figure *f, const drove_page_settings *s,
                                  drove_plot *plot);
/* Observed shares by predicted probability, of a single run. */
drove_status drove__figure_calibration(const drove_figure *f, const drove_page_settings *s,
                                       drove_plot *plot);
/* Of two classes the curves of ROC, y "recall", and of precision and recall; of values a sample of
 * predictions against targets, and of what they differ by, y "residual". */
drove_status drove__figure_classes(const drove_figure *f, const drove_page_settings *s,
                                   drove_plot *plot);
drove_status drove__figure_values(const drove_figure *f, const drove_page_settings *s,
                                  drove_plot *plot);

/* Labels, titles and identity of a row. */
static inline void drove__figure_begin(const drove_figure *f, drove_plot *plot,
                                       drove_plot_kind kind)
{
    plot->kind = kind;
    plot->id = f->id;
    drove__html_copy(plot->title, sizeof plot->title, f->title);
    drove__html_copy(plot->about, sizeof plot->about, f->about);
    drove__html_copy(plot->x_label, sizeof plot->x_label, f->x_label);
    drove__html_copy(plot->y_label, sizeof plot->y_label, f->y_label);
}

#endif
