/* study/page/fig_predictions.c - predictions against the truth, of one run or a few: the curves of
 * two classes, and a sample of values.  They are those of the held-out data, else of the training
 * data.
 */
#include "study/page/figures.h"

#include "study/page/html.h"

#include <math.h>
#include <string.h>

enum { MOST_CURVES = DROVE_PLOT_MOST_SERIES - 1, MOST_SAMPLES = 4 /* dots of more hide others */ };
enum { RECALL = 1, FALSE_POSITIVE_RATE, PRECISION }; /* places in a point of a curve */
enum { TARGET, PREDICTION };                         /* places in a pair of a sample */

static double element(const json_t *list, size_t i)
{
    const json_t *value = json_array_get(list, i);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* What a run has of its last model; *held_out: of which data.  NULL: nothing. */
static const json_t *list_of(const json_t *run, const char *key, bool *held_out)
{
    const json_t *summary = json_object_get(run, "summary");
    const json_t *of_test = json_object_get(json_object_get(summary, "test_metrics"), key);
    const json_t *of_train = json_object_get(json_object_get(summary, "metrics"), key);
    *held_out = json_array_size(of_test) > 0;
    if (*held_out) return of_test;
    return json_array_size(of_train) > 0 ? of_train : NULL;
}

/* The list of the first run of a setting that has one, and the name of its line. */
static const json_t *list_of_setting(const drove_page_settings *s, size_t setting, const char *key,
                                     char name[DROVE_PLOT_TEXT])
{
    bool held_out = false;
    const json_t *list = NULL;
    for (size_t r = 0; list == NULL && r < s->setting[setting].n_runs; r++)
        list = list_of(drove__settings_run(s, setting, r), key, &held_out);
    const char *of = held_out ? "held-out data" : "training data";
    if (json_array_size(s->runs) == 1) drove__html_copy(name, DROVE_PLOT_TEXT, of);
    else drove__setting_label(s, setting, name, DROVE_PLOT_TEXT);
    return list;
}

/* ---- two classes ---- */

/* One row in so many has the class: what precision is by chance. */
static double share_of_positive(const json_t *list)
{
    return element(json_array_get(list, json_array_size(list) - 1), PRECISION);
}

drove_status drove__figure_classes(const drove_figure *f, const drove_page_settings *s,
                                   drove_plot *plot)
{
    static const double ends[] = {0.0, 1.0};
    const bool is_roc = strcmp(f->y, "recall") == 0;
    const size_t x_at = is_roc ? FALSE_POSITIVE_RATE : RECALL, y_at = is_roc ? RECALL : PRECISION;
    double level[2] = {NAN, NAN};
    drove__figure_begin(f, plot, DROVE_PLOT_LINES);
    plot->is_share = true;
    for (size_t i = 0; i < s->n_shown && plot->n_series < MOST_CURVES; i++) {
        char name[DROVE_PLOT_TEXT];
        const json_t *list = list_of_setting(s, s->shown[i], "curve", name);
        const size_t n = json_array_size(list), n_before = is_roc ? 1 : 0;
        drove_series *line = n > 0 ? drove__plot_add(plot, name, n + n_before, false) : NULL;
        if (line == NULL) continue;
        line->x[0] = line->y[0] = 0.0; /* a curve of ROC begins where nothing is predicted */
        for (size_t k = 0; k < n; k++) {
            line->x[k + n_before] = element(json_array_get(list, k), x_at);
            line->y[k + n_before] = element(json_array_get(list, k), y_at);
        }
        if (isnan(level[0])) level[0] = level[1] = share_of_positive(list);
    }
    if (plot->n_series > 0) drove__plot_add_points(plot, "chance", ends, is_roc ? ends : level, 2);
    return plot->is_cut ? drove__fail_nomem("curves", 1) : DROVE_OK;
}

/* ---- values ---- */

drove_status drove__figure_values(const drove_figure *f, const drove_page_settings *s,
                                  drove_plot *plot)
{
    const bool is_residual = strcmp(f->y, "residual") == 0;
    double least = INFINITY, most = -INFINITY;
    drove__figure_begin(f, plot, DROVE_PLOT_POINTS);
    for (size_t i = 0; i < s->n_shown && plot->n_series < MOST_SAMPLES; i++) {
        char name[DROVE_PLOT_TEXT];
        const json_t *list = list_of_setting(s, s->shown[i], "sample", name);
        const size_t n = json_array_size(list);
        drove_series *dots = n > 0 ? drove__plot_add(plot, name, n, false) : NULL;
        if (dots == NULL) continue;
        for (size_t k = 0; k < n; k++) {
            const double target = element(json_array_get(list, k), TARGET);
            const double prediction = element(json_array_get(list, k), PREDICTION);
            dots->x[k] = is_residual ? prediction : target;
            dots->y[k] = is_residual ? prediction - target : prediction;
            if (!isfinite(target) || !isfinite(prediction)) continue;
            least = fmin(least, is_residual ? prediction : fmin(target, prediction));
            most = fmax(most, is_residual ? prediction : fmax(target, prediction));
        }
    }
    if (plot->n_series > 0 && least <= most) {
        const double across[] = {least, most}, none[] = {0.0, 0.0};
        drove__plot_add_points(plot, "exact", across, is_residual ? none : across, 2);
        if (!plot->is_cut) plot->series[plot->n_series - 1].is_line = true;
    }
    return plot->is_cut ? drove__fail_nomem("values", 1) : DROVE_OK;
}
