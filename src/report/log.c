/* report/log.c - what is written while a run goes on: run.json, a record for each evaluation,
 * TensorBoard's events; and the time line at its end. */
#include "report/json.h"
#include "report/report.h"
#include "report/sections.h"

#include <drove/version.h>

#include <math.h>
#include <stdlib.h>

enum { LOG_DIGITS = 9 };

/* ---- run.json ---- */

/* Significant digits with which every real option reads back as it is: 15 keep what people type as
 * they typed it, 17 are enough for any number. */
static int exact_digits(const drove_start_facts *f)
{
    const drove_option_info *info = f->said.option;
    for (size_t i = 0; i < f->said.n_options; i++) {
        char text[40];
        if (info[i].kind != DROVE_OPTION_REAL) continue;
        double value = *(const double *)drove__options_field(f->said.options, &info[i]);
        snprintf(text, sizeof text, "%.15g", value);
        if (strtod(text, NULL) != value) return 17;
    }
    return 15;
}

json_t *drove__report_options_json(const drove_start_facts *f)
{
    const drove_option_info *info = f->said.option;
    json_t *object = json_object();
    for (size_t i = 0; i < f->said.n_options; i++) {
        const void *field = drove__options_field(f->said.options, &info[i]);
        json_t *value = NULL;
        switch (info[i].kind) {
        case DROVE_OPTION_TEXT: value = json_string(field); break;
        case DROVE_OPTION_REAL: value = json_real(*(const double *)field); break;
        case DROVE_OPTION_COUNT:
            value = json_integer((json_int_t) * (const uint64_t *)field);
            break;
        }
        drove__json_set(&object, info[i].name, value);
    }
    return object;
}

drove_status drove__report_run(const drove_start_facts *f, char **out)
{
    const drove_machine_facts *m = &f->machine;
    json_t *object =
        json_pack("{s:s, s:o, s:s, s:i, s:o, s:s, s:o, s:o, s:o}", "drove", DROVE_VERSION,
                  "options", drove__report_options_json(f), "strategy", f->strategy, "n_workers",
                  (int)f->n_workers, "machine",
                  json_pack("{s:s, s:s, s:i, s:i, s:i, s:s, s:s}", "host", m->host, "cpu", m->cpu,
                            "cores", (int)m->n_cores, "processors", (int)m->n_processors,
                            "numa_nodes", (int)m->n_nodes, "isa", f->isa, "gemm", m->gemm),
                  "clock", drove__report_clock(f), "modelled_machine",
                  drove__report_modelled_json(&f->modelled), "cluster",
                  drove__report_cluster_json(f), "pack", drove__report_pack_json(&f->pack));
    return drove__json_text(object, exact_digits(f), out);
}

/* ---- evaluations ---- */

drove_status drove__report_evaluation(const drove_present_facts *f, char **out)
{
    const drove_progress *p = &f->progress;
    json_t *record = json_pack(
        "{s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "examples", (json_int_t)p->examples,
        "epochs", drove__json_real(p->epochs), "updates", (json_int_t)p->updates, "train_s",
        drove__json_real(p->train_s), "examples_per_s", drove__json_real(p->examples_per_s), "loss",
        drove__json_real(p->loss), "accuracy", drove__json_real(p->accuracy), "test_loss",
        drove__json_real(p->test_loss), "test_accuracy", drove__json_real(p->test_accuracy));
    double distance = drove__report_distance(f);
    if (f->n_workers > 0) { /* not of a copy, beside which they go on */
        drove_totals total;
        drove__report_add_up(f, 0, f->n_workers, &total);
        drove__json_set(&record, "attempts", json_integer((json_int_t)total.attempts));
        drove__json_set(&record, "dropped", json_integer((json_int_t)total.dropped));
    }
    if (!isnan(f->validation_loss))
        drove__json_set(&record, "validation_loss", drove__json_real(f->validation_loss));
    if (!isnan(distance)) drove__json_set(&record, "distance", drove__json_real(distance));
    if (f->n_groups > 0) drove__json_set(&record, "workers", drove__report_groups_log(f));
    char *text = record != NULL
                     ? drove__json_dump(record, JSON_COMPACT | JSON_REAL_PRECISION(LOG_DIGITS))
                     : NULL;
    json_decref(record);
    if (text == NULL) return drove__fail_nomem("a log record", 1);
    *out = text;
    return DROVE_OK;
}

drove_status drove__report_events(const drove_present_facts *f, drove_events *events)
{
    const drove_progress *p = &f->progress;
    const int64_t step = (int64_t)p->updates;
    const struct {
        const char *tag;
        double value;
    } scalars[] = {{"loss/train", p->loss},
                   {"loss/test", p->test_loss},
                   {"accuracy/train", p->accuracy},
                   {"accuracy/test", p->test_accuracy},
                   {"speed/examples_per_s", p->examples_per_s},
                   {"progress/epochs", p->epochs}};
    for (size_t i = 0; i < DROVE_COUNT(scalars); i++) {
        if (isnan(scalars[i].value)) continue;
        DROVE_TRY(drove__events_scalar(events, scalars[i].tag, step, scalars[i].value));
    }
    drove_totals all, t;
    drove__report_add_up(f, 0, f->n_workers, &all);
    if (f->n_workers > 0) {
        DROVE_TRY(drove__events_scalar(events, "contention/attempts", step, (double)all.attempts));
        DROVE_TRY(drove__events_scalar(events, "contention/dropped", step, (double)all.dropped));
    }
    for (unsigned i = 0; i < f->n_groups; i++) {
        const drove_group_facts *g = &f->group[i];
        drove__report_add_up(f, g->first, g->n, &t);
        const struct {
            const char *what;
            double value;
        } scalar[] = {
            {"batch", (double)g->batch},
            {"share", all.updates > 0 ? (double)t.updates / (double)all.updates : 0.0},
            {"utilisation", drove__report_utilisation(f, g)},
        };
        for (size_t k = 0; k < DROVE_COUNT(scalar); k++) {
            char tag[DROVE_FACTS_NAME_SIZE + 32];
            snprintf(tag, sizeof tag, "worker/%s/%s", g->name, scalar[k].what);
            DROVE_TRY(drove__events_scalar(events, tag, step, scalar[k].value));
        }
    }
    for (unsigned i = 0; i < f->n_workers; i++) {
        const drove_histogram *staleness = &f->worker[i].trace->staleness;
        char tag[48];
        snprintf(tag, sizeof tag, "staleness/worker%u", i);
        if (staleness->n == 0) continue;
        DROVE_TRY(drove__events_histogram(events, tag, step, staleness));
    }
    return DROVE_OK;
}

/* ---- the time line ---- */

drove_status drove__report_timeline(const drove_facts *f, const char *path)
{
    return drove__spans_write(f->spans, path, f->span_part, f->n_span_parts);
}
