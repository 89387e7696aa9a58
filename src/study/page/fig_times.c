/* study/page/fig_times.c - how long the runs of each setting took: a box each. */
#include "study/page/figures.h"

#include "base/sort.h"
#include "study/page/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

drove_status drove__figure_times(const drove_figure *f, const drove_page_settings *s,
                                 drove_plot *plot)
{
    char name[DROVE_PLOT_TEXT], number[24];
    double least, most;
    drove__figure_begin(f, plot, DROVE_PLOT_BOXES);
    for (size_t i = 0; i < s->n; i++) {
        drove__setting_label(s, i, name, sizeof name);
        drove_series *box = drove__plot_add(plot, name, s->setting[i].n_runs, false);
        if (box == NULL) return drove__fail_nomem("boxes", 1);
        snprintf(number, sizeof number, "%zu", s->setting[i].number);
        drove__plot_add_category(plot, number);

        /* the figure of the runs that have it, sorted */
        const drove_page_setting *x = &s->setting[i];
        box->n = 0;
        for (size_t r = 0; r < x->n_runs; r++) {
            const double value = drove__run_figure(drove__settings_run(s, i, r), f->y);
            if (isfinite(value)) box->y[box->n++] = value;
        }
        drove__sort(box->y, box->n);
        for (size_t k = 0; k < box->n; k++) box->x[k] = (double)i + 1.0;
        if (strcmp(f->y, "examples_per_s") == 0) continue;

        /* how many have none, and why */
        const size_t n_without = x->n_runs - box->n;
        box->n_all = x->n_runs;
        int used = snprintf(box->note, sizeof box->note, "%zu of %zu", box->n, x->n_runs);
        if (n_without > 0)
            snprintf(box->note + used, sizeof box->note - (size_t)used, "; %zu crashed, %zu missed",
                     x->n_crashed, n_without > x->n_crashed ? n_without - x->n_crashed : 0);
    }
    drove__plot_range(plot, false, &least, &most);

    /* how many runs are in no box, and why */
    size_t n_has = 0, n_all = 0, n_crashed = 0;
    for (size_t i = 0; i < plot->n_series; i++) {
        n_has += plot->series[i].n;
        n_all += plot->series[i].n_all;
        n_crashed += s->setting[i].n_crashed;
    }
    if (n_has < n_all) {
        char text[4 * DROVE_PLOT_TEXT];
        const size_t n_without = n_all - n_has;
        snprintf(text, sizeof text, "%s %zu of %zu runs did; %zu crashed, %zu missed it.",
                 plot->about, n_has, n_all, n_crashed,
                 n_without > n_crashed ? n_without - n_crashed : 0);
        drove__html_copy(plot->about, sizeof plot->about, text);
    }

    if (plot->is_cut) return drove__fail_nomem("settings", s->n);
    const bool is_empty = isnan(least) || json_array_size(s->runs) < 2;
    if (is_empty) drove__plot_fini(plot);
    else drove__plot_choose_axes(plot, false, true, 30.0);
    return DROVE_OK;
}
