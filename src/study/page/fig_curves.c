/* study/page/fig_curves.c - loss, accuracy and speed against time, epochs and updates. */
#include "study/page/figures.h"

#include "base/mem.h"
#include "base/sort.h"
#include "study/page/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_PLACES = 64, LOG_RATIO = 30, LOG_LOSS_RATIO = 10 };

typedef struct curve { /* of a run: x ascends */
    double *x, *y;
    size_t n;
    double after; /* the value after its end */
} curve;

static bool is_share(const drove_figure *f)
{
    return strstr(f->y, "accuracy") != NULL;
}

/* A key that a run never has a number for has no curve: n is 0.  If a loss is no number, the run
 * has left the range of floats. */
static drove_status load(const drove_figure *f, const json_t *run, curve *c)
{
    const json_t *all = json_object_get(run, "evaluations");
    const size_t n = json_array_size(all);
    const double worst = is_share(f) ? -INFINITY : INFINITY;
    size_t n_numbers = 0;
    *c = (curve){.x = drove__alloc(n, sizeof *c->x), .y = drove__alloc(n, sizeof *c->y)};
    if (c->x == NULL || c->y == NULL) return drove__fail_nomem("curves", 2 * n * sizeof *c->x);
    for (size_t i = 0; i < n; i++) {
        const json_t *record = json_array_get(all, i);
        const double x = drove__html_get(record, f->x), y = drove__html_get(record, f->y);
        if (!isfinite(x) || (c->n > 0 && x < c->x[c->n - 1])) continue;
        if (strcmp(f->y, "examples_per_s") == 0 && !(y > 0.0)) continue; /* of the first */
        n_numbers += isfinite(y);
        c->x[c->n] = x;
        c->y[c->n++] = isfinite(y) ? y : worst;
    }
    if (n_numbers == 0) c->n = 0;
    if (c->n > 0) c->after = drove__run_is(run, "crashed") ? worst : c->y[c->n - 1];
    return DROVE_OK;
}

/* The value at x, which is no less than x[0]. */
static double value_at(const curve *c, double x)
{
    size_t i = 0;
    if (x > c->x[c->n - 1]) return c->after;
    while (i + 1 < c->n && c->x[i + 1] < x) i++;
    if (i + 1 >= c->n || c->x[i] >= x) return c->y[i];
    const double part = (x - c->x[i]) / (c->x[i + 1] - c->x[i]);
    if (part >= 1.0 || c->y[i] == c->y[i + 1]) return c->y[i + 1];
    if (isinf(c->y[i]) || isinf(c->y[i + 1])) return isinf(c->y[i]) ? c->y[i] : c->y[i + 1];
    return c->y[i] + part * (c->y[i + 1] - c->y[i]);
}

static double blank(double value)
{
    return isfinite(value) ? value : NAN;
}

/* Median and quartiles of c[n] at places from the latest begin to the latest end. */
static drove_status merge(const curve *c, size_t n, bool is_log, const char *name, drove_plot *plot)
{
    double begin = 0.0, end = 0.0, *at = drove__alloc(n, sizeof *at);
    drove_series *s = drove__plot_add(plot, name, N_PLACES, true);
    if (s == NULL || at == NULL) {
        drove__free(at);
        return drove__fail_nomem("curves", n * sizeof *at);
    }
    for (size_t r = 0; r < n; r++) {
        size_t first = 0;
        while (is_log && first + 1 < c[r].n && c[r].x[first] <= 0.0) first++;
        begin = fmax(begin, c[r].x[first]);
        end = fmax(end, c[r].x[c[r].n - 1]);
    }
    const double ratio = is_log && begin > 0.0 ? end / begin : 0.0;
    for (size_t i = 0; i < N_PLACES; i++) {
        const double part = (double)i / (N_PLACES - 1);
        s->x[i] = ratio > 0.0 ? begin * pow(ratio, part) : begin + part * (end - begin);
        for (size_t r = 0; r < n; r++) at[r] = value_at(&c[r], fmin(s->x[i], end));
        drove__sort(at, n);
        s->y[i] = blank(drove__quantile(at, n, 0.5));
        s->low[i] = blank(drove__quantile(at, n, 0.25));
        s->high[i] = blank(drove__quantile(at, n, 0.75));
    }
    drove__free(at);
    return DROVE_OK;
}

static drove_status add_setting(const drove_figure *f, const drove_page_settings *s, size_t setting,
                                bool is_log, drove_plot *plot)
{
    char name[DROVE_PLOT_TEXT];
    const size_t n_runs = s->setting[setting].n_runs;
    size_t n = 0;
    curve *c = drove__alloc(n_runs, sizeof *c);
    if (c == NULL) return drove__fail_nomem("curves", n_runs * sizeof *c);
    drove_status status = DROVE_OK;
    for (size_t r = 0; r < n_runs; r++) {
        status = load(f, drove__settings_run(s, setting, r), &c[n]);
        if (status == DROVE_OK && c[n].n > 0) {
            n++;
            continue;
        }
        drove__free(c[n].x);
        drove__free(c[n].y);
        c[n] = (curve){0};
        if (status != DROVE_OK) goto fail;
    }
    drove__setting_label(s, setting, name, sizeof name);
    if (n == 1) {
        size_t first = 0;
        while (is_log && first < c->n && c->x[first] <= 0.0) first++;
        drove__plot_add_points(plot, name, c->x + first, c->y + first, c->n - first);
        drove_series *line = plot->is_cut ? NULL : &plot->series[plot->n_series - 1];
        for (size_t i = 0; line != NULL && i < line->n; i++) line->y[i] = blank(line->y[i]);
    }
    if (n > 1) status = merge(c, n, is_log, name, plot);
fail:
    for (size_t r = 0; r < n; r++) {
        drove__free(c[r].x);
        drove__free(c[r].y);
    }
    drove__free(c);
    return status;
}

drove_status drove__figure_curves(const drove_figure *f, const drove_page_settings *s,
                                  drove_plot *plot)
{
    const bool is_speed = strcmp(f->y, "examples_per_s") == 0;
    /* fig_learning.c has the other curves of a single run; the speeds of many only cross. */
    if ((json_array_size(s->runs) == 1) != is_speed) return DROVE_OK;
    /* The settings may last so differently long that only a logarithmic axis shows all. */
    double least = INFINITY, most = 0.0;
    for (size_t i = 0; i < s->n_shown; i++) {
        for (size_t r = 0; r < s->setting[s->shown[i]].n_runs; r++) {
            const json_t *run = drove__settings_run(s, s->shown[i], r);
            const json_t *all = json_object_get(run, "evaluations");
            const double x = drove__html_get(json_array_get(all, json_array_size(all) - 1), f->x);
            if (!(x > 0.0)) continue;
            least = fmin(least, x);
            most = fmax(most, x);
        }
    }
    const bool is_log = most > LOG_RATIO * least;
    drove__figure_begin(f, plot, DROVE_PLOT_LINES);
    plot->is_share = is_share(f);
    for (size_t i = 0; i < s->n_shown; i++) DROVE_TRY(add_setting(f, s, s->shown[i], is_log, plot));
    plot->n_left_out = plot->n_series > 0 ? s->n - s->n_shown : 0;
    drove__plot_choose_axes(plot, is_log, !plot->is_share, LOG_LOSS_RATIO);
    return plot->is_cut ? drove__fail_nomem("curves", 1) : DROVE_OK;
}
