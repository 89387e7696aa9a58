/* run/summary.c - the result of a run: one JSON object (keys and units in docs/formats.md), and
 * text for people. */
#include "run/summary.h"

#include "run/control.h"
#include "run/output.h"
#include "run/procs.h"
#include "run/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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

/* ---- facts that both forms use ---- */

static void add_up(const drove_run *run, drove_totals *out)
{
    *out = (drove_totals){0};
    for (unsigned i = 0; i < run->n_workers; i++) {
        const drove_trace_worker *t = &run->worker[i].trace;
        out->steps += t->steps;
        out->attempts += t->attempts;
        out->dropped += t->dropped;
        out->clamped += t->clamped;
        for (int p = 0; p < DROVE_N_PHASES; p++) out->phase_ns[p] += t->phase_ns[p];
        drove__hist_merge(&out->staleness, &t->staleness);
    }
}

static uint64_t peak_rss_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024u;
}

/* 10^9 numbers of the data set (stored non-zeros of sparse data) processed per second; linear
 * models only. */
static double gnps(const drove_run *run, const drove_progress *p)
{
    drove_data_facts facts;
    if (run->model->n_layers != 1 || !(p->train_s > 0.0)) return NAN;
    drove_data_describe(run->train, &facts);
    double per_row = (double)facts.n_stored / (double)facts.n_rows;
    return (double)p->examples / p->train_s * per_row * 1e-9;
}

/* ---- JSON ---- */

static json_t *histogram_json(const drove_histogram *h)
{
    json_t *pairs = json_array();
    for (unsigned b = 0; b < DROVE_HIST_BUCKETS; b++) {
        if (h->count[b] == 0) continue;
        uint64_t value = b < DROVE_HIST_EXACT ? b : (uint64_t)1 << (b - DROVE_HIST_EXACT + 8);
        json_array_append_new(pairs,
                              json_pack("[I, I]", (json_int_t)value, (json_int_t)h->count[b]));
    }
    return pairs;
}

static json_t *staleness_json(const drove_histogram *h)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:o}", "mean", drove__json_real(drove__hist_mean(h)),
                     "p50", (json_int_t)drove__hist_quantile(h, 0.5), "p99",
                     (json_int_t)drove__hist_quantile(h, 0.99), "max", (json_int_t)h->max,
                     "histogram", histogram_json(h));
}

static void name_worker(const drove_run *run, unsigned i, char name[DROVE_GROUP_NAME_SIZE])
{
    const char *kind = run->ranks.n > 1 ? "rank" : run->procs != NULL ? "process" : "thread";
    if (run->devices.n > 0)
        snprintf(name, DROVE_GROUP_NAME_SIZE, "%s", run->devices.device[i].name);
    else snprintf(name, DROVE_GROUP_NAME_SIZE, "%s:%u", kind, i);
}

static void add_process(const drove_run *run, unsigned i, json_t *worker)
{
    const char *lost = drove__procs_lost(run, i);
    json_object_set_new(worker, "process", json_integer(drove__procs_id(run, i)));
    json_object_set_new(worker, "lost", lost != NULL ? json_string(lost) : json_null());
}

static json_t *workers_json(const drove_run *run)
{
    if (run->crew.n_groups > 0) return drove__report_summary(run);
    json_t *list = json_array();
    double train_ns = (double)run->standing.train_ns;
    for (unsigned i = 0; i < run->n_workers; i++) {
        const drove_trace_worker *t = &run->worker[i].trace;
        char name[DROVE_GROUP_NAME_SIZE];
        name_worker(run, i, name);
        json_t *worker =
            json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:i, s:i}", "name", name, "updates",
                      (json_int_t)atomic_load(&t->updates), "examples",
                      (json_int_t)atomic_load(&t->examples), "batch", (json_int_t)run->update_rows,
                      "busy", drove__json_real((double)t->busy_ns / train_ns), "staleness",
                      drove__json_real(drove__hist_mean(&t->staleness)), "processor",
                      run->place[i].pu, "node", run->place[i].node);
        if (run->procs != NULL) add_process(run, i, worker);
        json_array_append_new(list, worker);
    }
    return list;
}

static json_t *phases_json(const drove_totals *total)
{
    json_t *phases = json_object();
    for (int p = 0; p < DROVE_N_PHASES; p++) {
        double mean_s =
            total->steps == 0 ? 0.0 : (double)total->phase_ns[p] * 1e-9 / (double)total->steps;
        json_object_set_new(phases, drove__phase_names[p], drove__json_real(mean_s));
    }
    return phases;
}

/* Of this process: what an earlier one of a continued run did is not known. */
static json_t *loader_json(const drove_run *run)
{
    uint64_t busy_ns, exposed_ns;
    if (run->loader == NULL) return json_null();
    double hidden = drove__loader_times(run->loader, &busy_ns, &exposed_ns);
    return json_pack("{s:i, s:o, s:o, s:o}", "threads", (int)run->n_loaders, "busy_s",
                     drove__json_real((double)busy_ns * 1e-9), "exposed_s",
                     drove__json_real((double)exposed_ns * 1e-9), "hidden",
                     drove__json_real(hidden));
}

static json_t *marks_json(const drove_run *run, int what)
{
    json_t *object = json_object();
    for (int i = 0; i < DROVE_N_MARKS; i++) {
        const drove_mark *m = &run->standing.mark[i];
        char key[16];
        snprintf(key, sizeof key, "%g%%", drove__mark_percent[i]);
        json_t *value = what == 0   ? drove__json_real(m->train_s)
                        : what == 1 ? json_integer((json_int_t)m->updates)
                                    : drove__json_real(m->epochs);
        if (!m->met) {
            json_decref(value);
            value = json_null();
        }
        json_object_set_new(object, key, value);
    }
    return object;
}

static void set_staleness(const drove_run *run, const drove_totals *total, json_t *object)
{
    json_t *staleness = staleness_json(&total->staleness), *per_worker = json_array();
    for (unsigned i = 0; i < run->n_workers; i++) {
        json_array_append_new(per_worker, staleness_json(&run->worker[i].trace.staleness));
    }
    json_object_set_new(staleness, "per_worker", per_worker);
    json_object_set_new(object, "staleness", staleness);
}

static void set_precision(const drove_run *run, const drove_totals *total, json_t *object)
{
    if (run->shared == NULL) {
        json_object_set_new(object, "precision", json_null());
        return;
    }
    drove_engine_facts f;
    run->engine_ops->facts(run->shared, &f);
    json_object_set_new(object, "precision", json_string(f.precision));
    json_object_set_new(object, "rounding", json_string(run->opt.rounding));
    json_object_set_new(object, "model_range", drove__json_real(f.model_range));
    json_object_set_new(object, "data_scale", drove__json_real(f.data_scale));
    json_object_set_new(object, "data_clamped", json_integer((json_int_t)f.data_clamped));
    json_object_set_new(object, "bridges", json_integer((json_int_t)f.bridges));
    json_object_set_new(object, "bytes_per_example", drove__json_real(f.bytes_per_example));
    json_object_set_new(object, "clamped", json_integer((json_int_t)total->clamped));
}

drove_status drove__summary_json(const drove_run *run, char **out)
{
    const drove_progress *p = &run->final;
    drove_totals total;
    add_up(run, &total);
    double rate = p->train_s > 0.0 ? (double)p->examples / p->train_s : NAN;
    double updates_rate = p->train_s > 0.0 ? (double)p->updates / p->train_s : NAN;
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:f, s:I, s:s}", "strategy", run->plan.spec,
                  "rule", run->opt.rule, "model", run->model->spec, "data", run->opt.data,
                  "workers", workers_json(run), "phases", phases_json(&total), "batch",
                  (json_int_t)run->update_rows, "lr", run->opt.lr, "seed",
                  (json_int_t)run->opt.seed, "outcome", drove_outcome_name(run->outcome));
    const struct {
        const char *key;
        double value;
    } reals[] = {{"epochs", p->epochs},
                 {"train_s", p->train_s},
                 {"examples_per_s", rate},
                 {"updates_per_s", updates_rate},
                 {"loss_initial", p->loss_initial},
                 {"loss", p->loss},
                 {"accuracy", p->accuracy},
                 {"test_loss", p->test_loss},
                 {"test_accuracy", p->test_accuracy},
                 {"gnps", gnps(run, p)}};
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"examples", p->examples},
                  {"updates", p->updates},
                  {"attempts", total.attempts},
                  {"dropped", total.dropped},
                  {"peak_rss_bytes", peak_rss_bytes()}};
    for (size_t i = 0; i < DROVE_COUNT(counts); i++) {
        json_object_set_new(object, counts[i].key, json_integer((json_int_t)counts[i].value));
    }
    for (size_t i = 0; i < DROVE_COUNT(reals); i++) {
        json_object_set_new(object, reals[i].key, drove__json_real(reals[i].value));
    }
    json_object_set_new(object, "time_to", marks_json(run, 0));
    json_object_set_new(object, "updates_to", marks_json(run, 1));
    json_object_set_new(object, "epochs_to", marks_json(run, 2));
    char features[DROVE_FEATURES_TEXT_SIZE];
    drove__features_print(&run->features, features);
    json_object_set_new(object, "loader", loader_json(run));
    json_object_set_new(object, "features", features[0] ? json_string(features) : json_null());
    json_object_set_new(object, "isa", json_string(run->kernels.isa));
    json_object_set_new(object, "prefetch", json_string(run->opt.prefetch));
    json_object_set_new(object, "prefetch_hardware",
                        json_string(drove__prefetch_state_name(run->prefetch_hardware)));
    set_precision(run, &total, object);
    set_staleness(run, &total, object);
    json_object_set_new(object, "communication", drove__communication_json(run));
    json_object_set_new(object, "cluster", drove__cluster_json(run));
    json_object_set_new(object, "partition", drove__partition_json(&run->partition));
    drove__device_report_json(run, object);
    return drove__json_text(object, SUMMARY_DIGITS, out);
}

/* ---- for people ---- */

/* 1234567 -> "1,234,567"; four buffers in turn, so that one printf may use several. */
static const char *grouped(double value)
{
    static _Thread_local char buffers[4][40];
    static _Thread_local unsigned turn;
    char digits[32], *out = buffers[turn++ % 4], *o = out;
    int n = snprintf(digits, sizeof digits, "%.0f", value);
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-') *o++ = ',';
        *o++ = digits[i];
    }
    *o = '\0';
    return out;
}

static void print_headline(FILE *f, const drove_run *run)
{
    const drove_progress *p = &run->final;
    switch (run->outcome) {
    case DROVE_REACHED: fprintf(f, "Target reached"); break;
    case DROVE_FINISHED: fprintf(f, "Finished"); break;
    case DROVE_MISSED: fprintf(f, "Target missed (--until %s)", run->opt.until); break;
    case DROVE_CRASHED:
        fprintf(f, "Crashed: the loss became infinite or not a number (try a smaller --lr)");
        break;
    case DROVE_INTERRUPTED: fprintf(f, "Interrupted by signal %d", run->signal_number); break;
    }
    fprintf(f, " after %.2f s of training: %.2f epochs, %s updates.\n\n", p->train_s, p->epochs,
            grouped((double)p->updates));
}

/* The C library writes -nan for some. */
static void print_loss(FILE *f, double loss)
{
    if (isnan(loss)) fputs("not a number", f);
    else fprintf(f, "%.4g", loss);
}

static void print_quality(FILE *f, const drove_run *run)
{
    const drove_progress *p = &run->final;
    const char *measure = run->train->storage->y_kind == DROVE_Y_LABELS ? "micro-F1" : "accuracy";
    fputs("  loss        ", f);
    print_loss(f, p->loss_initial);
    fputs(" -> ", f);
    print_loss(f, p->loss);
    if (!isnan(p->test_loss)) fprintf(f, "   (held-out %.4g)", p->test_loss);
    fputc('\n', f);
    if (isnan(p->accuracy)) return;
    fprintf(f, "  %-10s  %.2f %%", measure, 100.0 * p->accuracy);
    if (!isnan(p->test_accuracy)) {
        fprintf(f, "   (held-out %.2f %% of %s)", 100.0 * p->test_accuracy,
                grouped((double)run->test->n_rows));
    }
    fputc('\n', f);
}

static void print_loader(FILE *f, const drove_run *run)
{
    uint64_t busy_ns, exposed_ns;
    if (run->loader == NULL) return;
    double hidden = drove__loader_times(run->loader, &busy_ns, &exposed_ns);
    fprintf(f, "  loading     %.2f s by ", (double)busy_ns * 1e-9);
    if (run->n_loaders == 0) fputs("the workers", f);
    else fprintf(f, "%u thread%s", run->n_loaders, run->n_loaders == 1 ? "" : "s");
    fprintf(f, ", %.2f s of the workers' time: %.0f %% hidden\n", (double)exposed_ns * 1e-9,
            100.0 * hidden);
}

static void print_precision(FILE *f, const drove_run *run, const drove_totals *total)
{
    if (run->shared == NULL) return;
    drove_engine_facts facts;
    run->engine_ops->facts(run->shared, &facts);
    fprintf(f, "  precision   %s, rounding %s", facts.precision, run->opt.rounding);
    if (facts.model_range > 0.0) {
        fprintf(f, ", parameters up to %.3g, %s writes saturated", facts.model_range,
                grouped((double)total->clamped));
    }
    fputc('\n', f);
}

/* "1 thread", "4 ranks" */
static const char *kind_of_workers(const drove_run *run)
{
    bool is_one = run->n_workers == 1;
    if (run->ranks.n > 1) return is_one ? "rank" : "ranks";
    if (run->procs != NULL) return is_one ? "process" : "processes";
    if (run->partition.n > 0) return is_one ? "group of cores" : "groups of cores";
    return is_one ? "thread" : "threads";
}

static void print_speed(FILE *f, const drove_run *run, const drove_totals *total)
{
    const drove_progress *p = &run->final;
    if (!(p->train_s > 0.0) || total->steps == 0) return;
    fprintf(f, "  speed       %s examples/s, %s updates/s: %s, %u %s, batch %s, kernels %s\n",
            grouped((double)p->examples / p->train_s), grouped((double)p->updates / p->train_s),
            run->plan.spec, run->n_workers, kind_of_workers(run), grouped((double)run->update_rows),
            run->kernels.isa);
    print_precision(f, run, total);
    double us[DROVE_N_PHASES];
    for (int i = 0; i < DROVE_N_PHASES; i++)
        us[i] = (double)total->phase_ns[i] * 1e-3 / (double)total->steps;
    fprintf(f,
            "  a step      forward %.1f, backward %.1f, update %.1f, publish %.1f, pull %.1f, "
            "wait %.1f, other %.1f us\n",
            us[DROVE_PHASE_FORWARD], us[DROVE_PHASE_BACKWARD], us[DROVE_PHASE_UPDATE],
            us[DROVE_PHASE_PUBLISH], us[DROVE_PHASE_ACQUIRE],
            us[DROVE_PHASE_WAIT] + us[DROVE_PHASE_BACKOFF], us[DROVE_PHASE_OTHER]);
    drove__communication_print(run, f);
    print_loader(f, run);
    drove__partition_print(&run->partition, f);
    if (strcmp(run->opt.prefetch, "on") != 0) {
        fprintf(f, "  prefetch    %s asked; the processor's prefetchers: %s\n", run->opt.prefetch,
                drove__prefetch_state_name(run->prefetch_hardware));
    }
    if (run->n_workers > 1) {
        fprintf(f, "  staleness   mean %.2f, 99 %% within %llu, largest %llu; %s dropped\n",
                drove__hist_mean(&total->staleness),
                (unsigned long long)drove__hist_quantile(&total->staleness, 0.99),
                (unsigned long long)total->staleness.max, grouped((double)total->dropped));
    }
}

static void print_marks(FILE *f, const drove_run *run)
{
    for (int i = 0; i < DROVE_N_MARKS; i++) {
        const drove_mark *m = &run->standing.mark[i];
        if (!m->met) continue;
        fprintf(f, "  to %2g %%     %.2f s, %.2f epochs, %s updates\n", drove__mark_percent[i],
                m->train_s, m->epochs, grouped((double)m->updates));
    }
}

static void print_files(FILE *f, const drove_run *run)
{
    const char *folder = run->opt.out;
    if (folder[0] == '\0') return;
    fprintf(f, "\n  files in %s:\n", folder);
    fprintf(f, "    model.safetensors  last parameters     best.safetensors   best %s loss\n",
            run->test != NULL ? "held-out" : "training");
    fprintf(
        f,
        "    summary.json       this, for programs  log.jsonl          a record per evaluation\n");
    fprintf(
        f,
        "    run.json           every option        state.safetensors  drove train --resume %s\n",
        folder);
}

drove_status drove__summary_print(const drove_run *run, FILE *stream)
{
    drove_totals total;
    add_up(run, &total);
    print_headline(stream, run);
    print_quality(stream, run);
    print_marks(stream, run);
    print_speed(stream, run, &total);
    drove__report_print(run, stream);
    drove__device_report_print(run, stream);
    print_files(stream, run);
    return ferror(stream) ? drove__fail(DROVE_E_IO, "cannot write the summary") : DROVE_OK;
}
