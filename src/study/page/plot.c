/* study/page/plot.c - see plot.h. */
#include "study/page/plot.h"

#include "base/mem.h"
#include "study/page/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void free_series(drove_series *s)
{
    drove__free(s->x);
    drove__free(s->y);
    drove__free(s->low);
    drove__free(s->high);
}

void drove__plot_fini(drove_plot *plot)
{
    for (size_t i = 0; i < plot->n_series; i++) free_series(&plot->series[i]);
    free(plot->series);
    free(plot->category);
    memset(plot, 0, sizeof *plot);
}

drove_series *drove__plot_add(drove_plot *plot, const char *name, size_t n, bool has_band)
{
    drove_series *grown = drove__grow(plot->series, plot->n_series + 1, sizeof *grown);
    if (grown == NULL) {
        plot->is_cut = true;
        return NULL;
    }
    plot->series = grown;
    drove_series *s = &grown[plot->n_series];
    *s = (drove_series){.n = n};
    drove__html_copy(s->name, sizeof s->name, name);
    s->x = drove__alloc(n, sizeof *s->x);
    s->y = drove__alloc(n, sizeof *s->y);
    if (has_band) s->low = drove__alloc(n, sizeof *s->low);
    if (has_band) s->high = drove__alloc(n, sizeof *s->high);
    if (s->x != NULL && s->y != NULL && (!has_band || (s->low != NULL && s->high != NULL))) {
        plot->n_series++;
        return s;
    }
    free_series(s);
    plot->is_cut = true;
    return NULL;
}

void drove__plot_add_points(drove_plot *plot, const char *name, const double *x, const double *y,
                            size_t n)
{
    const size_t kept = n > DROVE_PLOT_MOST_POINTS ? DROVE_PLOT_MOST_POINTS : n;
    drove_series *s = drove__plot_add(plot, name, kept, false);
    if (s == NULL) return;
    for (size_t i = 0; i < kept; i++) {
        const size_t from = kept > 1 ? i * (n - 1) / (kept - 1) : 0;
        s->x[i] = x[from];
        s->y[i] = y[from];
    }
    s->is_thinned = kept < n;
}

void drove__plot_add_category(drove_plot *plot, const char *name)
{
    char(*grown)[32] = drove__grow(plot->category, plot->n_categories + 1, sizeof *grown);
    if (grown == NULL) {
        plot->is_cut = true;
        return;
    }
    plot->category = grown;
    drove__html_copy(grown[plot->n_categories++], sizeof *grown, name);
}

void drove__plot_range(const drove_plot *plot, bool of_x, double *least, double *most)
{
    *least = *most = NAN;
    for (size_t i = 0; i < plot->n_series; i++) {
        const drove_series *s = &plot->series[i];
        for (size_t k = 0; k < s->n; k++) {
            const double v = of_x ? s->x[k] : s->y[k];
            if (!isfinite(v)) continue;
            *least = fmin(*least, v);
            *most = fmax(*most, v);
        }
    }
}

void drove__plot_choose_axes(drove_plot *plot, bool may_x, bool may_y, double ratio)
{
    double least, most;
    drove__plot_range(plot, true, &least, &most);
    plot->log_x = may_x && least > 0.0 && most > ratio * least;
    drove__plot_range(plot, false, &least, &most);
    plot->log_y = may_y && least > 0.0 && most > ratio * least;
}

double drove__quantile(const double *sorted, size_t n, double p)
{
    const double at = p * (double)(n - 1);
    const size_t i = (size_t)at;
    const double part = at - (double)i;
    if (part == 0.0 || i + 1 >= n || isinf(sorted[i]) || sorted[i] == sorted[i + 1])
        return sorted[i];
    return sorted[i] + part * (sorted[i + 1] - sorted[i]);
}
