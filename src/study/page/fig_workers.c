/* study/page/fig_workers.c - what the workers of one run did: shares, use, batch sizes.
 *
 * Several runs have no such figure: their workers are not the same.
 */
#include "study/page/figures.h"

#include "base/mem.h"
#include "study/page/html.h"

#include <math.h>
#include <stdio.h>

enum { MOST_BARS = 64 };

/* The workers of the only run; NULL: there are several, or it has no workers. */
static const json_t *workers_of(const drove_page_settings *s)
{
    if (json_array_size(s->runs) != 1) return NULL;
    return json_object_get(json_object_get(json_array_get(s->runs, 0), "summary"), "workers");
}

drove_status drove__figure_workers(const drove_figure *f, const drove_page_settings *s,
                                   drove_plot *plot)
{
    const json_t *workers = workers_of(s);
    const size_t n_all = json_array_size(workers), n = n_all < MOST_BARS ? n_all : MOST_BARS;
    const bool is_count = f->y[0] == 'u'; /* updates */
    double sum = is_count ? 0.0 : 1.0;
    for (size_t i = 0; is_count && i < n_all; i++) {
        const double value = drove__html_get(json_array_get(workers, i), f->y);
        if (isfinite(value)) sum += value;
    }
    char name[128];
    if (n < 2 || !(sum > 0.0)) return DROVE_OK;
    drove__figure_begin(f, plot, DROVE_PLOT_BARS);
    drove_series *bars = drove__plot_add(plot, f->y_label, n, false);
    for (size_t i = 0; bars != NULL && i < n; i++) {
        const double value = drove__html_get(json_array_get(workers, i), f->y) / sum;
        bars->x[i] = (double)i + 1.0;
        bars->y[i] = isfinite(value) ? value : 0.0;
        snprintf(name, sizeof name, "%zu: %.100s", i + 1,
                 drove__html_word(json_array_get(workers, i), "name"));
        drove__plot_add_category(plot, name);
    }
    plot->is_share = !is_count;
    plot->n_left_out = n_all - n;
    return plot->is_cut ? drove__fail_nomem("workers", 1) : DROVE_OK;
}

static size_t shown_of(const json_t *workers, drove_plot *plot)
{
    const size_t n = json_array_size(workers);
    if (n <= DROVE_PLOT_MOST_SERIES) return n;
    plot->n_left_out = n - DROVE_PLOT_MOST_SERIES;
    return DROVE_PLOT_MOST_SERIES;
}

drove_status drove__figure_use(const drove_figure *f, const drove_page_settings *s,
                               drove_plot *plot)
{
    const json_t *workers = workers_of(s);
    drove__figure_begin(f, plot, DROVE_PLOT_STEPS);
    plot->is_share = true;
    for (size_t i = 0; i < shown_of(workers, plot); i++) {
        const json_t *worker = json_array_get(workers, i);
        const json_t *line = json_object_get(worker, "timeline");
        const json_t *use = json_object_get(line, "utilisation");
        const double width = drove__html_get(line, "width_s");
        const size_t n = json_array_size(use);
        if (n == 0 || !isfinite(width)) continue;
        drove_series *steps = drove__plot_add(plot, drove__html_word(worker, "name"), n, false);
        for (size_t k = 0; steps != NULL && k < n; k++) {
            const json_t *value = json_array_get(use, k);
            steps->x[k] = (double)k * width;
            steps->y[k] = json_is_number(value) ? json_number_value(value) : NAN;
        }
    }
    return plot->is_cut ? drove__fail_nomem("workers", 1) : DROVE_OK;
}

static double element(const json_t *list, size_t i)
{
    const json_t *value = json_array_get(list, i);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Changes: [epochs, seconds, batch, counted updates]. */
drove_status drove__figure_batches(const drove_figure *f, const drove_page_settings *s,
                                   drove_plot *plot)
{
    const json_t *workers = workers_of(s);
    drove__figure_begin(f, plot, DROVE_PLOT_STEPS);
    for (size_t i = 0; i < shown_of(workers, plot); i++) {
        const json_t *worker = json_array_get(workers, i);
        const json_t *history = json_object_get(worker, "batch_history");
        const double end = drove__run_figure(json_array_get(s->runs, 0), "train_s");
        const size_t n = json_array_size(history);
        if (n == 0) continue;
        drove_series *steps = drove__plot_add(plot, drove__html_word(worker, "name"), n + 1, false);
        for (size_t k = 0; steps != NULL && k < n; k++) {
            steps->x[k] = element(json_array_get(history, k), 1);
            steps->y[k] = element(json_array_get(history, k), 2);
        }
        if (steps == NULL) continue;
        steps->x[n] = fmax(end, steps->x[n - 1]);
        steps->y[n] = steps->y[n - 1];
    }
    drove__plot_choose_axes(plot, false, true, 8.0);
    return plot->is_cut ? drove__fail_nomem("batches", 1) : DROVE_OK;
}
