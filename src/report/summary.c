/* report/summary.c - the result of a run as one JSON object. */
#include "report/json.h"
#include "report/report.h"
#include "report/sections.h"

#include <math.h>

enum { SUMMARY_DIGITS = 9 };

const char *drove_outcome_name(drove_outcome outcome)
{
    static const char *const names[] = {[DROVE_REACHED] = "reached",
                                        [DROVE_FINISHED] = "finished",
                                        [DROVE_MISSED] = "missed",
                                        [DROVE_CRASHED] = "crashed",
                                        [DROVE_INTERRUPTED] = "interrupted"};
    return names[outcome];
}

static json_t *staleness_json(const drove_histogram *h)
{
    json_t *pairs = json_array();
    for (unsigned b = 0; b < DROVE_HIST_BUCKETS; b++) {
        if (h->count[b] == 0) continue;
        drove__json_add(&pairs, json_pack("[I, I]", (json_int_t)drove__hist_least(b),
                                          (json_int_t)h->count[b]));
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:o}", "mean", drove__json_real(drove__hist_mean(h)),
                     "p50", (json_int_t)drove__hist_quantile(h, 0.5), "p99",
                     (json_int_t)drove__hist_quantile(h, 0.99), "max", (json_int_t)h->max,
                     "histogram", pairs);
}

static json_t *workers_json(const drove_facts *f)
{
    if (f->now.n_groups > 0) return drove__report_groups_json(&f->now);
    json_t *list = json_array();
    for (unsigned i = 0; i < f->now.n_workers; i++) {
        const drove_worker_facts *w = &f->now.worker[i];
        const drove_trace_worker *t = w->trace;
        json_t *worker =
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:i, s:i}", "name", w->name,
                      "attempts", (json_int_t)t->attempts, "dropped", (json_int_t)t->dropped,
                      "updates", (json_int_t)atomic_load(&t->updates), "examples",
                      (json_int_t)atomic_load(&t->examples), "batch",
                      (json_int_t)f->start.update_rows, "busy",
                      drove__json_real((double)t->busy_ns / (double)f->now.train_ns), "staleness",
                      drove__json_real(drove__hist_mean(&t->staleness)), "processor", w->processor,
                      "node", w->node);
        if (f->start.kind == DROVE_WORKER_PROCESS) {
            drove__json_set(&worker, "process", json_integer(w->process));
            drove__json_set(&worker, "lost", w->lost != NULL ? json_string(w->lost) : json_null());
        }
        drove__json_add(&list, worker);
    }
    return list;
}

static json_t *tuning_json(const drove_tuning_facts *t)
{
    if (!t->is_there) return json_null();
    json_t *list = json_array();
    for (unsigned i = 0; i < t->n_trials; i++)
        drove__json_add(&list, json_pack("{s:o, s:o}", "lr", drove__json_real(t->trial_lr[i]),
                                         "loss", drove__json_real(t->trial_loss[i])));
    return json_pack("{s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:I, s:I}", "trials", list,
                     "trial_updates", (json_int_t)t->trial_updates, "trials_s",
                     drove__json_real(t->trials_s), "validation_examples",
                     (json_int_t)t->n_validation_rows, "validation_loss",
                     drove__json_real(t->validation_loss), "validation_accuracy",
                     drove__json_real(t->validation_accuracy), "best_epochs",
                     drove__json_real(t->best_epochs), "cuts", (json_int_t)t->n_cuts, "recoveries",
                     (json_int_t)t->n_recoveries);
}

typedef enum mark_part { MARK_TIME, MARK_UPDATES, MARK_EPOCHS } mark_part;

static json_t *marks_json(const drove_facts *f, mark_part part)
{
    json_t *object = json_object();
    for (unsigned i = 0; i < f->n_marks; i++) {
        const drove_mark_facts *m = &f->mark[i];
        json_t *value = NULL;
        char key[16];
        if (!m->is_met) value = json_null();
        else if (part == MARK_UPDATES) value = json_integer((json_int_t)m->updates);
        else value = drove__json_real(part == MARK_TIME ? m->train_s : m->epochs);
        snprintf(key, sizeof key, "%g%%", m->percent);
        drove__json_set(&object, key, value);
    }
    return object;
}

static void set_numbers(const drove_facts *f, const drove_totals *total, json_t **object)
{
    const drove_progress *p = &f->now.progress;
    const drove_rates rates = drove__report_rates(&f->now);
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"examples", p->examples},   {"updates", p->updates},
                  {"steps", total->steps},     {"attempts", total->attempts},
                  {"dropped", total->dropped}, {"peak_rss_bytes", f->peak_rss_bytes}};
    const struct {
        const char *key;
        double value;
    } reals[] = {{"epochs", p->epochs},
                 {"train_s", p->train_s},
                 {"examples_per_s", rates.examples},
                 {"updates_per_s", rates.updates},
                 {"loss_initial", p->loss_initial},
                 {"loss", p->loss},
                 {"accuracy", p->accuracy},
                 {"test_loss", p->test_loss},
                 {"test_accuracy", p->test_accuracy},
                 {"gnps", rates.examples * f->numbers_per_row * 1e-9}};
    drove__json_set(object, "lost_updates", drove__json_real(drove__report_lost(f, total)));
    for (size_t i = 0; i < DROVE_COUNT(counts); i++)
        drove__json_set(object, counts[i].key, json_integer((json_int_t)counts[i].value));
    for (size_t i = 0; i < DROVE_COUNT(reals); i++)
        drove__json_set(object, reals[i].key, drove__json_real(reals[i].value));
    drove__json_set(object, "parked",
                    json_pack("{s:I, s:o, s:o, s:I}", "times", (json_int_t)f->now.parked.n, "s",
                              drove__json_real(f->now.parked.s), "start_s",
                              drove__json_real(rates.start_s), "beside",
                              (json_int_t)f->now.parked.n_beside));
}

drove_status drove__report_json(const drove_facts *f, char **out)
{
    drove_totals total;
    drove__report_add_up(&f->now, 0, f->now.n_workers, &total);

    /* Means of a step. */
    json_t *phases = json_object();
    for (int p = 0; p < DROVE_N_PHASES; p++) {
        double mean_s =
            total.steps == 0 ? 0.0 : (double)total.phase_ns[p] * 1e-9 / (double)total.steps;
        drove__json_set(&phases, drove__phase_names[p], drove__json_real(mean_s));
    }
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:f, s:I, s:s}", "strategy",
                  f->start.strategy, "rule", f->start.said.rule, "model", f->start.model, "data",
                  f->start.said.data, "workers", workers_json(f), "phases", phases, "batch",
                  (json_int_t)f->start.update_rows, "lr", f->start.said.lr, "seed",
                  (json_int_t)f->start.said.seed, "outcome", drove_outcome_name(f->outcome));
    set_numbers(f, &total, &object);
    drove__json_set(&object, "metrics",
                    drove__report_metrics_json(f->metrics, f->test_metrics == NULL));
    drove__json_set(&object, "test_metrics", drove__report_metrics_json(f->test_metrics, true));
    drove__json_set(&object, "importance", drove__report_importance_json(&f->importance));
    drove__json_set(&object, "time_to", marks_json(f, MARK_TIME));
    drove__json_set(&object, "updates_to", marks_json(f, MARK_UPDATES));
    drove__json_set(&object, "epochs_to", marks_json(f, MARK_EPOCHS));
    drove__json_set(&object, "options", drove__report_options_json(&f->start));
    const drove_loader_facts *l = &f->loader;
    drove__json_set(&object, "loader",
                    !l->is_there ? json_null()
                                 : json_pack("{s:i, s:o, s:o, s:o}", "threads", (int)l->n_threads,
                                             "busy_s", drove__json_real(l->busy_s), "exposed_s",
                                             drove__json_real(l->exposed_s), "hidden",
                                             drove__json_real(l->hidden)));
    const drove_disk_facts *d = &f->disk;
    drove__json_set(&object, "disk",
                    !d->is_there
                        ? json_null()
                        : json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "blocks",
                                    (json_int_t)d->n_blocks, "windows", (json_int_t)d->n_windows,
                                    "windows_read", (json_int_t)d->n_windows_read, "window_bytes",
                                    d->window_bytes, "read_bytes", d->read_bytes, "read_s",
                                    d->read_s, "wait_s", d->wait_s));
    drove__json_set(&object, "features",
                    f->start.features[0] != '\0' ? json_string(f->start.features) : json_null());
    drove__json_set(&object, "isa", json_string(f->start.isa));
    drove__json_set(&object, "out",
                    f->start.said.out != NULL ? json_string(f->start.said.out) : json_null());
    drove__json_set(&object, "repeatable", json_boolean(f->start.is_repeatable));
    drove__json_set(&object, "prefetch", json_string(f->start.said.prefetch));
    drove__json_set(&object, "prefetch_hardware", json_string(f->prefetch_hardware));
    const drove_precision_facts *p = &f->precision;
    drove__json_set(&object, "precision", p->is_there ? json_string(p->name) : json_null());
    if (p->is_there && p->is_words) {
        drove__json_set(&object, "rounding", json_string(f->start.said.rounding));
        drove__json_set(&object, "model_range", drove__json_real(p->model_range));
        drove__json_set(&object, "data_scale", drove__json_real(p->data_scale));
        drove__json_set(&object, "data_clamped", json_integer((json_int_t)p->data_clamped));
        drove__json_set(&object, "bridges", json_integer((json_int_t)p->bridges));
        drove__json_set(&object, "bytes_per_example", drove__json_real(p->bytes_per_example));
        drove__json_set(&object, "clamped", json_integer((json_int_t)total.clamped));
    }
    json_t *staleness = staleness_json(&total.staleness), *per_worker = json_array();
    for (unsigned i = 0; i < f->now.n_workers; i++)
        drove__json_add(&per_worker, staleness_json(&f->now.worker[i].trace->staleness));
    drove__json_set(&staleness, "per_worker", per_worker);
    drove__json_set(&object, "staleness", staleness);
    drove__json_set(&object, "communication", drove__report_communication_json(f));
    drove__json_set(&object, "clock", json_string(drove__report_clock(&f->start)));
    drove__json_set(&object, "modelled_machine", drove__report_modelled_json(&f->start.modelled));
    drove__json_set(&object, "cluster", drove__report_cluster_json(&f->start));
    const drove_partition_facts *part = &f->start.partition;
    drove__json_set(&object, "partition",
                    part->n == 0
                        ? json_null()
                        : json_pack("{s:i, s:f, s:f, s:s, s:b, s:i}", "groups", (int)part->n,
                                    "copies_bytes", part->copies_bytes, "fast_bytes",
                                    part->fast_bytes, "fast_memory", part->fast_name, "fits",
                                    (int)part->fits, "suggested", (int)part->suggested));
    drove__json_set(&object, "tuning", tuning_json(&f->tuning));
    drove__json_set(&object, "pack", drove__report_pack_json(&f->start.pack));
    drove__json_set(&object, "strategy_choice",
                    drove__report_strategy_json(&f->start.strategy_choice));
    drove__report_replicas_json(f, &object);
    return drove__json_text(object, SUMMARY_DIGITS, out);
}
