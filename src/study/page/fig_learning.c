/* study/page/fig_learning.c - of a single run: its learning curves, with training, validation and
 * held-out data in one figure; predicted probabilities against observed shares.
 */
#include "study/page/figures.h"

#include "base/mem.h"
#include "study/page/html.h"

#include <math.h>
#include <string.h>

static void add_key(const json_t *evaluations, const char *x_key, const char *y_key,
                    const char *name, drove_plot *plot)
{
    size_t i, n = 0, n_numbers = 0;
    const json_t *record;
    const size_t n_all = json_array_size(evaluations);
    double *x = drove__alloc(n_all, sizeof *x), *y = drove__alloc(n_all, sizeof *y);
    plot->is_cut = plot->is_cut || x == NULL || y == NULL;
    if (x != NULL && y != NULL) {
        json_array_foreach(evaluations, i, record)
        {
            x[n] = drove__html_get(record, x_key);
            y[n] = drove__html_get(record, y_key);
            n_numbers += isfinite(y[n]);
            n += isfinite(x[n]);
        }
        if (n_numbers > 0) drove__plot_add_points(plot, name, x, y, n);
    }
    drove__free(x);
    drove__free(y);
}

drove_status drove__figure_learning(const drove_figure *f, const drove_page_settings *s,
                                    drove_plot *plot)
{
    if (json_array_size(s->runs) != 1) return DROVE_OK;
    const json_t *all = json_object_get(json_array_get(s->runs, 0), "evaluations");
    drove__figure_begin(f, plot, DROVE_PLOT_LINES);
    plot->is_share = strcmp(f->y, "accuracy") == 0;
    add_key(all, f->x, f->y, "training data", plot);
    add_key(all, f->x, plot->is_share ? "test_accuracy" : "test_loss", "held-out data", plot);
    if (!plot->is_share) add_key(all, f->x, "validation_loss", "validation examples", plot);
    drove__plot_choose_axes(plot, false, !plot->is_share, 10.0);
    return plot->is_cut ? drove__fail_nomem("curves", 1) : DROVE_OK;
}

/* ---- calibration ---- */

static void add_bins(const json_t *metrics, const char *name, drove_plot *plot)
{
    const json_t *bins = json_object_get(json_object_get(metrics, "calibration"), "bins");
    size_t i, n = 0;
    const json_t *bin;
    drove_series *s = json_array_size(bins) > 0
                          ? drove__plot_add(plot, name, json_array_size(bins), false)
                          : NULL;
    if (s == NULL) return;
    json_array_foreach(bins, i, bin)
    {
        s->x[n] = drove__html_get(bin, "mean");
        s->y[n] = drove__html_get(bin, "observed");
        n += isfinite(s->x[n]) && isfinite(s->y[n]); /* an empty bin has neither */
    }
    s->n = n;
}

drove_status drove__figure_calibration(const drove_figure *f, const drove_page_settings *s,
                                       drove_plot *plot)
{
    static const double ends[] = {0.0, 1.0};
    if (json_array_size(s->runs) != 1) return DROVE_OK;
    const json_t *summary = json_object_get(json_array_get(s->runs, 0), "summary");
    drove__figure_begin(f, plot, DROVE_PLOT_LINES);
    plot->is_share = true;
    add_bins(json_object_get(summary, "metrics"), "training data", plot);
    add_bins(json_object_get(summary, "test_metrics"), "held-out data", plot);
    if (plot->n_series > 0) drove__plot_add_points(plot, "perfect", ends, ends, 2);
    return plot->is_cut ? drove__fail_nomem("calibration", 1) : DROVE_OK;
}
