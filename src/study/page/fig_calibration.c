/* study/page/fig_calibration.c - predicted probabilities of a run against observed shares. */
#include "study/page/figures.h"

#include "study/page/html.h"

#include <math.h>

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
