/* study/page/fig_staleness.c - histograms of staleness: of one run in all and for each worker, of
 * many workers for the stalest; else of each setting, over all of its runs.
 */
#include "study/page/figures.h"

#include "base/mem.h"
#include "study/page/html.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_VALUES = 4096, MOST_WORKERS = 4 }; /* needles of more hide each other */

typedef struct histogram {
    double value[MOST_VALUES], steps[MOST_VALUES], sum;
    size_t n;
} histogram;

/* Adds what a summary has: pairs of value and steps. */
static void add_summary(histogram *h, const json_t *staleness)
{
    size_t i;
    const json_t *pair;
    json_array_foreach(json_object_get(staleness, "histogram"), i, pair)
    {
        if (!json_is_number(json_array_get(pair, 0)) || !json_is_number(json_array_get(pair, 1)))
            continue;
        const double value = json_number_value(json_array_get(pair, 0));
        const double steps = json_number_value(json_array_get(pair, 1));
        size_t at = 0;
        while (at < h->n && h->value[at] < value) at++;
        if (at == h->n || h->value[at] != value) {
            if (h->n == MOST_VALUES) continue;
            for (size_t k = h->n++; k > at; k--) {
                h->value[k] = h->value[k - 1];
                h->steps[k] = h->steps[k - 1];
            }
            h->value[at] = value;
            h->steps[at] = 0.0;
        }
        h->steps[at] += steps;
        h->sum += steps;
    }
}

static void add_series(drove_plot *plot, const char *name, const histogram *h)
{
    if (h->n == 0 || !(h->sum > 0.0)) return;
    drove_series *s = drove__plot_add(plot, name, h->n, false);
    for (size_t i = 0; s != NULL && i < h->n; i++) {
        s->x[i] = h->value[i];
        s->y[i] = h->steps[i] / h->sum;
    }
}

static const json_t *staleness_of(const json_t *run)
{
    return json_object_get(json_object_get(run, "summary"), "staleness");
}

/* The workers to draw, in their order: all, or of many those with the largest mean.  chosen
 * [MOST_WORKERS].  Returns how many. */
static size_t choose_workers(const json_t *each, histogram *h, size_t *chosen)
{
    double mean[MOST_WORKERS];
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(each); i++) {
        *h = (histogram){.n = 0};
        add_summary(h, json_array_get(each, i));
        double sum = 0.0;
        for (size_t k = 0; k < h->n; k++) sum += h->value[k] * h->steps[k];
        const double stale = h->sum > 0.0 ? sum / h->sum : -1.0;
        size_t out = n < MOST_WORKERS ? n : 0;
        for (size_t k = 1; n == MOST_WORKERS && k < n; k++)
            if (mean[k] < mean[out]) out = k;
        if (n == MOST_WORKERS && stale <= mean[out]) continue;
        for (; n == MOST_WORKERS && out + 1 < n; out++) {
            mean[out] = mean[out + 1];
            chosen[out] = chosen[out + 1];
        }
        mean[out] = stale;
        chosen[out] = i;
        if (n < MOST_WORKERS) n++;
    }
    return n;
}

drove_status drove__figure_staleness(const drove_figure *f, const drove_page_settings *s,
                                     drove_plot *plot)
{
    double least, most;
    histogram *h = drove__alloc(1, sizeof *h);
    if (h == NULL) return drove__fail_nomem("histogram", sizeof *h);
    drove__figure_begin(f, plot, DROVE_PLOT_NEEDLES);
    if (json_array_size(s->runs) == 1) {
        size_t chosen[MOST_WORKERS];
        const json_t *run = json_array_get(s->runs, 0), *staleness = staleness_of(run);
        const json_t *each = json_object_get(staleness, "per_worker");
        const json_t *workers = json_object_get(json_object_get(run, "summary"), "workers");
        const size_t n = json_array_size(each);
        add_summary(h, staleness);
        add_series(plot, "all workers", h);
        const size_t n_chosen = n > 1 ? choose_workers(each, h, chosen) : 0;
        for (size_t i = 0; i < n_chosen; i++) {
            *h = (histogram){.n = 0};
            add_summary(h, json_array_get(each, chosen[i]));
            add_series(plot, drove__html_word(json_array_get(workers, chosen[i]), "name"), h);
        }
        plot->n_left_out = n_chosen > 0 ? n - n_chosen : 0;
    } else {
        char name[DROVE_PLOT_TEXT];
        for (size_t i = 0; i < s->n_shown; i++) {
            *h = (histogram){.n = 0};
            for (size_t r = 0; r < s->setting[s->shown[i]].n_runs; r++)
                add_summary(h, staleness_of(drove__settings_run(s, s->shown[i], r)));
            drove__setting_label(s, s->shown[i], name, sizeof name);
            add_series(plot, name, h);
        }
        plot->n_left_out = plot->n_series > 0 ? s->n - s->n_shown : 0;
    }
    drove__free(h);
    if (plot->is_cut) return drove__fail_nomem("histogram", 1);
    drove__plot_range(plot, true, &least, &most);
    if (!(most > 0.0)) drove__plot_fini(plot); /* one worker has no staleness */
    else drove__plot_choose_axes(plot, false, true, 100.0);
    return DROVE_OK;
}
