/* report/groups.c - the names in --workers to which a coordinator gives batches.
 *
 * Source: Ma and Rusu, Figures 7 (share of the updates) and 8 (utilisation over time).
 */
#include "report/sections.h"

#include <math.h>

static double ratio(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

/* Part of so much training time in which the group's workers computed, 0 to 1. */
static double busy(const drove_group_facts *g, uint64_t busy_ns, uint64_t train_ns)
{
    return ratio((double)busy_ns, (double)train_ns * g->n);
}

static double busy_of_all(const drove_present_facts *f, const drove_group_facts *g,
                          const drove_totals *t)
{
    return busy(g, t->busy_ns, f->train_ns - f->groups_since_ns);
}

double drove__report_utilisation(const drove_present_facts *f, const drove_group_facts *g)
{
    drove_totals t;
    drove__report_add_up(f, g->first, g->n, &t);
    return busy(g, t.busy_ns - g->logged_busy_ns, f->train_ns - f->logged_ns);
}

/* ---- JSON ---- */

static json_t *text_or_null(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

json_t *drove__report_groups_json(const drove_present_facts *f)
{
    json_t *list = json_array();
    drove_totals all;
    drove__report_add_up(f, 0, f->n_workers, &all);
    for (unsigned i = 0; i < f->n_groups; i++) {
        const drove_group_facts *g = &f->group[i];
        drove_totals t;
        drove__report_add_up(f, g->first, g->n, &t);
        json_t *object =
            json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:i}", "name",
                      g->name, "updates", (json_int_t)t.updates, "examples", (json_int_t)t.examples,
                      "share", ratio((double)t.updates, (double)all.updates), "batch",
                      (json_int_t)g->batch, "batch_min", (json_int_t)g->batch_min, "batch_max",
                      (json_int_t)g->batch_max, "batches", (json_int_t)g->n_batches,
                      "counted_updates", g->counted_updates, "busy", busy_of_all(f, g, &t),
                      "staleness", drove__hist_mean(&t.staleness), "examples_per_s",
                      g->examples_per_s, "threads", (int)g->n);
        drove__json_set(&object, "lost", text_or_null(g->lost));
        drove__json_set(&object, "device", text_or_null(g->device));
        drove__json_set(&object, "times",
                        g->device == NULL ? json_null()
                                          : json_pack("{s:f, s:f, s:f, s:f}", "copy_s", g->copy_s,
                                                      "compute_s", g->compute_s, "hidden_s",
                                                      g->hidden_s, "wait_s", g->wait_s));

        /* The last bucket counts as far as the run has reached it. */
        json_t *timeline = json_array();
        const drove_timeline *line = g->busy;
        const uint64_t n_buckets = line->width_ns > 0 ? DROVE_TIMELINE_BUCKETS : 0;
        for (uint64_t k = 0; k < n_buckets && k * line->width_ns < f->train_ns; k++) {
            const uint64_t rest = f->train_ns - k * line->width_ns;
            const double width = (double)(rest < line->width_ns ? rest : line->width_ns);
            drove__json_add(&timeline,
                            json_real(fmin(1.0, ratio((double)line->busy_ns[k], width))));
        }
        drove__json_set(&object, "timeline",
                        json_pack("{s:f, s:o}", "width_s", (double)line->width_ns * 1e-9,
                                  "utilisation", timeline));
        json_t *history = json_array();
        for (size_t k = 0; k < g->n_history; k++) {
            const drove_batch_size *h = &g->history[k];
            drove__json_add(&history, json_pack("[f, f, I, f]", h->epochs, h->time_s,
                                                (json_int_t)h->batch, h->counted_updates));
        }
        drove__json_set(&object, "batch_history", history);
        drove__json_add(&list, object);
    }
    return list;
}

json_t *drove__report_groups_log(const drove_present_facts *f)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < f->n_groups; i++) {
        const drove_group_facts *g = &f->group[i];
        drove_totals t;
        drove__report_add_up(f, g->first, g->n, &t);
        drove__json_add(&list, json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f}", "name", g->name,
                                         "updates", (json_int_t)t.updates, "examples",
                                         (json_int_t)t.examples, "batch", (json_int_t)g->batch,
                                         "counted_updates", g->counted_updates, "utilisation",
                                         drove__report_utilisation(f, g), "staleness",
                                         drove__hist_mean(&t.staleness)));
    }
    return list;
}

/* ---- for people ---- */

void drove__report_groups_print(const drove_present_facts *f, FILE *stream)
{
    drove_totals all, t;
    drove__report_add_up(f, 0, f->n_workers, &all);
    for (unsigned i = 0; i < f->n_groups; i++) {
        const drove_group_facts *g = &f->group[i];
        drove__report_add_up(f, g->first, g->n, &t);
        fprintf(stream,
                "  %-10s  %.1f %% of the updates, %.1f %% of the examples, batch %llu of %llu to "
                "%llu, busy %.0f %%%s\n",
                g->name, 100.0 * ratio((double)t.updates, (double)all.updates),
                100.0 * ratio((double)t.examples, (double)f->progress.examples),
                (unsigned long long)g->batch, (unsigned long long)g->batch_min,
                (unsigned long long)g->batch_max, 100.0 * busy_of_all(f, g, &t),
                g->lost == NULL ? "" : ", lost");
    }
}
