/* study/page/fig_phases.c - where the time of a step goes: a stacked bar for each setting. */
#include "study/page/figures.h"

#include "study/page/html.h"

#include <math.h>
#include <string.h>

enum { MOST_PHASES = 16, MOST_BARS = 24 };

typedef struct phases {
    const char *name[MOST_PHASES]; /* of a summary, which outlives this */
    double mean_us[MOST_BARS][MOST_PHASES], sum_us[MOST_PHASES];
    size_t n, n_bars;
} phases;

/* The mean over the runs of a setting that have a summary; false: none has one. */
static bool add_bar(const drove_page_settings *s, size_t setting, phases *p)
{
    size_t n_runs = 0;
    double sum[MOST_PHASES] = {0};
    for (size_t r = 0; r < s->setting[setting].n_runs; r++) {
        const char *name;
        json_t *value;
        json_t *of = json_object_get(json_object_get(drove__settings_run(s, setting, r), "summary"),
                                     "phases");
        n_runs += json_object_size(of) > 0;
        json_object_foreach(of, name, value)
        {
            size_t i = 0;
            while (i < p->n && strcmp(p->name[i], name) != 0) i++;
            if (i == p->n && p->n < MOST_PHASES) p->name[p->n++] = name;
            if (i < MOST_PHASES && json_is_number(value)) sum[i] += json_number_value(value);
        }
    }
    if (n_runs == 0) return false;
    for (size_t i = 0; i < p->n; i++) {
        p->mean_us[p->n_bars][i] = sum[i] * 1e6 / (double)n_runs;
        p->sum_us[i] += p->mean_us[p->n_bars][i];
    }
    p->n_bars++;
    return true;
}

/* True if a phase has a colour of its own: it is one of the seven longest. */
static bool is_large(const phases *p, size_t phase)
{
    size_t n_longer = 0;
    for (size_t i = 0; i < p->n; i++)
        n_longer +=
            p->sum_us[i] > p->sum_us[phase] || (p->sum_us[i] == p->sum_us[phase] && i < phase);
    return n_longer < DROVE_PLOT_MOST_SERIES - 1 && p->sum_us[phase] > 0.0;
}

drove_status drove__figure_phases(const drove_figure *f, const drove_page_settings *s,
                                  drove_plot *plot)
{
    phases p = {.n = 0};
    char number[24];
    drove__figure_begin(f, plot, DROVE_PLOT_STACKED);
    for (size_t i = 0; i < s->n; i++) {
        if (p.n_bars == MOST_BARS) {
            plot->n_left_out++;
            continue;
        }
        snprintf(number, sizeof number, "%zu", s->setting[i].number);
        if (add_bar(s, i, &p)) drove__plot_add_category(plot, s->n > 1 ? number : "all steps");
    }

    if (s->n == 1) plot->x_label[0] = '\0'; /* a bar alone needs no number */

    /* A series for each long phase, and one for the sum of the others. */
    double rest_us = 0.0;
    for (size_t i = 0; i < p.n; i++) {
        if (!is_large(&p, i)) {
            rest_us += p.sum_us[i];
            continue;
        }
        drove_series *bars = drove__plot_add(plot, p.name[i], p.n_bars, false);
        for (size_t b = 0; bars != NULL && b < p.n_bars; b++) {
            bars->x[b] = (double)b + 1.0;
            bars->y[b] = p.mean_us[b][i];
        }
    }
    if (plot->n_series > 0 && rest_us != 0.0) {
        drove_series *bars = drove__plot_add(plot, "all others", p.n_bars, false);
        for (size_t b = 0; bars != NULL && b < p.n_bars; b++) {
            bars->x[b] = (double)b + 1.0;
            for (size_t i = 0; i < p.n; i++) bars->y[b] += is_large(&p, i) ? 0.0 : p.mean_us[b][i];
        }
    }
    return plot->is_cut ? drove__fail_nomem("phases", 1) : DROVE_OK;
}
