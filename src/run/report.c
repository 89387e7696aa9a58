/* run/report.c - see report.h. */
#include "run/report.h"

#include <math.h>
#include <string.h>

typedef struct totals { /* of a group */
    uint64_t examples, updates, busy_ns;
    drove_histogram staleness;
} totals;

static void add_up(const drove_group *g, totals *out)
{
    *out = (totals){0};
    for (unsigned k = 0; k < g->n_threads; k++) {
        const drove_trace_worker *t = &g->run->worker[g->first + k].trace;
        out->examples += atomic_load(&t->examples);
        out->updates += atomic_load(&t->updates);
        out->busy_ns += t->busy_ns;
        drove__hist_merge(&out->staleness, &t->staleness);
    }
}

static double ratio(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

static uint64_t updates_of_all(const drove_run *run)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < run->n_workers; i++) sum += atomic_load(&run->worker[i].trace.updates);
    return sum;
}

/* Training time of these workers. */
static uint64_t time_of_all(const drove_run *run)
{
    return run->standing.train_ns - run->crew.since_ns;
}

/* Part of so much training time in which the group's threads computed, 0 to 1. */
static double busy(const drove_group *g, uint64_t busy_ns, uint64_t train_ns)
{
    return ratio((double)busy_ns, (double)train_ns * g->n_threads);
}

/* ---- the summary ---- */

static json_t *history_json(const drove_run *run, const drove_coord_facts *f)
{
    json_t *list = json_array();
    uint64_t start = f->n_history > 0 ? f->history[0].now_ns : 0;
    for (size_t i = 0; i < f->n_history; i++) {
        const drove_batch_change *h = &f->history[i];
        json_array_append_new(
            list, json_pack("[f, f, I, f]", (double)h->position / (double)run->train->n_rows,
                            (double)(h->now_ns - start) * 1e-9, (json_int_t)h->batch, h->u));
    }
    return list;
}

/* Of the last bucket only that part which the run has reached. */
static json_t *timeline_json(const drove_run *run, const drove_timeline *t)
{
    json_t *list = json_array();
    uint64_t end = run->standing.train_ns;
    for (uint64_t i = 0; t->width_ns > 0 && i * t->width_ns < end; i++) {
        uint64_t width = t->width_ns;
        if (i >= DROVE_TIMELINE_BUCKETS) break;
        if ((i + 1) * width > end) width = end - i * t->width_ns;
        json_array_append_new(list,
                              json_real(fmin(1.0, ratio((double)t->busy_ns[i], (double)width))));
    }
    return json_pack("{s:f, s:o}", "width_s", (double)t->width_ns * 1e-9, "utilisation", list);
}

static json_t *times_json(const drove_group *g)
{
    if (g->device == NULL) return json_null();
    return json_pack("{s:f, s:f, s:f, s:f}", "copy_s", (double)g->times.copy_ns * 1e-9, "compute_s",
                     (double)g->times.compute_ns * 1e-9, "hidden_s",
                     (double)g->times.hidden_ns * 1e-9, "wait_s", (double)g->times.wait_ns * 1e-9);
}

static json_t *group_json(const drove_run *run, const drove_group *g, uint64_t updates_of_all)
{
    totals t;
    drove_coord_facts f;
    add_up(g, &t);
    drove__coord_facts(run->crew.coord, g->index, &f);
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:i}", "name",
                  g->plan->name, "updates", (json_int_t)t.updates, "examples",
                  (json_int_t)t.examples, "share", ratio((double)t.updates, (double)updates_of_all),
                  "batch", (json_int_t)f.batch, "batch_min", (json_int_t)f.least, "batch_max",
                  (json_int_t)f.most, "batches", (json_int_t)f.n_batches, "counted_updates", f.u,
                  "busy", busy(g, t.busy_ns, time_of_all(run)), "staleness",
                  drove__hist_mean(&t.staleness), "examples_per_s", f.examples_per_s, "threads",
                  (int)g->n_threads);
    json_object_set_new(object, "lost",
                        atomic_load(&g->fate) == DROVE_FATE_WORKING ? json_null()
                                                                    : json_string(g->error));
    json_object_set_new(object, "device",
                        g->device != NULL ? json_string(g->device->facts.name) : json_null());
    json_object_set_new(object, "times", times_json(g));
    json_object_set_new(object, "timeline", timeline_json(run, &g->busy));
    json_object_set_new(object, "batch_history", history_json(run, &f));
    return object;
}

json_t *drove__report_summary(const drove_run *run)
{
    json_t *list = json_array();
    uint64_t all = updates_of_all(run);
    for (unsigned i = 0; i < run->crew.n_groups; i++)
        json_array_append_new(list, group_json(run, &run->crew.group[i], all));
    return list;
}

/* ---- as the run goes on ---- */

json_t *drove__report_record(drove_run *run)
{
    json_t *list = json_array();
    drove_crew *crew = &run->crew;
    uint64_t now = run->standing.train_ns, passed = now - crew->told_ns;
    for (unsigned i = 0; i < crew->n_groups; i++) {
        drove_group *g = &crew->group[i];
        totals t;
        drove_coord_facts f;
        add_up(g, &t);
        drove__coord_facts(crew->coord, i, &f);
        g->utilisation = busy(g, t.busy_ns - g->told_busy_ns, passed);
        g->told_busy_ns = t.busy_ns;
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f}", "name", g->plan->name, "updates",
                            (json_int_t)t.updates, "examples", (json_int_t)t.examples, "batch",
                            (json_int_t)f.batch, "counted_updates", f.u, "utilisation",
                            g->utilisation, "staleness", drove__hist_mean(&t.staleness)));
    }
    crew->told_ns = now;
    return list;
}

drove_status drove__report_events(drove_run *run, int64_t step)
{
    uint64_t all = updates_of_all(run);
    for (unsigned i = 0; i < run->crew.n_groups; i++) {
        const drove_group *g = &run->crew.group[i];
        totals t;
        drove_coord_facts f;
        add_up(g, &t);
        drove__coord_facts(run->crew.coord, i, &f);
        const struct {
            const char *what;
            double value;
        } scalar[] = {{"batch", (double)f.batch},
                      {"share", ratio((double)t.updates, (double)all)},
                      {"utilisation", g->utilisation}};
        for (size_t k = 0; k < DROVE_COUNT(scalar); k++) {
            char tag[DROVE_GROUP_NAME_SIZE + 32];
            snprintf(tag, sizeof tag, "worker/%s/%s", g->plan->name, scalar[k].what);
            DROVE_TRY(drove__events_scalar(run->events, tag, step, scalar[k].value));
        }
    }
    return DROVE_OK;
}

/* ---- for people ---- */

void drove__report_print(const drove_run *run, FILE *f)
{
    uint64_t all = updates_of_all(run);
    for (unsigned i = 0; i < run->crew.n_groups; i++) {
        const drove_group *g = &run->crew.group[i];
        totals t;
        drove_coord_facts facts;
        add_up(g, &t);
        drove__coord_facts(run->crew.coord, i, &facts);
        fprintf(f,
                "  %-10s  %.1f %% of the updates, %.1f %% of the examples, batch %llu of %llu to "
                "%llu, busy %.0f %%%s\n",
                g->plan->name, 100.0 * ratio((double)t.updates, (double)all),
                100.0 * ratio((double)t.examples, (double)run->final.examples),
                (unsigned long long)facts.batch, (unsigned long long)facts.least,
                (unsigned long long)facts.most, 100.0 * busy(g, t.busy_ns, time_of_all(run)),
                atomic_load(&g->fate) == DROVE_FATE_WORKING ? "" : ", lost");
    }
}
