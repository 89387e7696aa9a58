/* report/text.c - the result of a run for people: how good the model is and where it lies, then how
 * it was trained and how the workers fared. */
#include "report/report.h"
#include "report/sections.h"

#include "base/print.h"

#include <math.h>
#include <signal.h>
#include <string.h>

static void print_headline(const drove_facts *f, FILE *stream)
{
    const drove_progress *p = &f->now.progress;
    switch (f->outcome) {
    case DROVE_REACHED: fprintf(stream, "Target reached"); break;
    case DROVE_FINISHED: fprintf(stream, "Finished"); break;
    case DROVE_MISSED: fprintf(stream, "Target missed (--until %s)", f->start.said.until); break;
    case DROVE_CRASHED:
        fprintf(stream, "Crashed: the loss became infinite or not a number (try a smaller --lr)");
        break;
    case DROVE_INTERRUPTED:
        if (f->signal_number == SIGINT) fputs("Interrupted by Ctrl-C (SIGINT)", stream);
        else if (f->signal_number == SIGTERM) fputs("Interrupted by SIGTERM", stream);
        else fprintf(stream, "Interrupted by signal %d", f->signal_number);
        break;
    }
    if (f->start.pack.n > 0) {
        const unsigned n = f->start.pack.n_networks;
        fprintf(stream, " after %.2f s: ", p->train_s);
        if (n == 0) fputs("the constant guess.\n\n", stream);
        else fprintf(stream, "a pack of %u network%s.\n\n", n, n == 1 ? "" : "s");
        return;
    }
    fprintf(stream, " after %.2f s of training: %.2f epochs, %s updates.\n\n", p->train_s,
            p->epochs, drove__report_grouped((double)p->updates));
}

/* The C library writes -nan for some. */
static void print_loss(FILE *stream, double loss)
{
    if (isnan(loss)) fputs("not a number", stream);
    else fprintf(stream, "%.4g", loss);
}

static void print_quality(const drove_facts *f, FILE *stream)
{
    const drove_progress *p = &f->now.progress;
    const char *weighted = f->weighs_classes ? ", weighted by class" : "";
    fputs("  loss        ", stream);
    if (f->start.pack.n == 0) { /* a pack makes no steps */
        print_loss(stream, p->loss_initial);
        fputs(" -> ", stream);
    }
    print_loss(stream, p->loss);
    fputs(weighted, stream);
    if (!isnan(p->test_loss)) fprintf(stream, "   (held-out %.4g)", p->test_loss);
    fputc('\n', stream);
    if (isnan(p->accuracy)) return;
    fprintf(stream, "  %-10s  %.2f %%%s", f->is_multi_label ? "micro-F1" : "accuracy",
            100.0 * p->accuracy, weighted);
    if (!isnan(p->test_accuracy)) {
        fprintf(stream, "   (held-out %.2f %% of %s)", 100.0 * p->test_accuracy,
                drove__report_grouped((double)f->n_test_rows));
    }
    fputc('\n', stream);
}

static void print_precision(const drove_facts *f, const drove_totals *total, FILE *stream)
{
    const drove_precision_facts *p = &f->precision;
    if (!p->is_there) return;
    if (!p->is_words) {
        fprintf(stream, "  precision   products in %s (%s), sums and parameters in floats\n",
                p->name, f->start.machine.gemm);
        return;
    }
    if (strncmp(p->name, "bf16", 4) == 0) {
        fprintf(stream, "  precision   products and parameters in bf16 (%s), rounding %s\n",
                f->start.machine.gemm, f->start.said.rounding);
        return;
    }
    fprintf(stream, "  precision   %s, rounding %s", p->name, f->start.said.rounding);
    if (p->model_range > 0.0) {
        fprintf(stream, ", parameters up to %.3g, %s writes saturated", p->model_range,
                drove__report_grouped((double)total->clamped));
    }
    fputc('\n', stream);
}

static void print_tuning(const drove_facts *f, FILE *stream)
{
    const drove_tuning_facts *t = &f->tuning;
    if (!t->is_there || f->start.pack.n > 0) return;
    fprintf(stream, "  chosen      %s, step size %.4g, schedule %s", f->start.said.rule,
            f->start.said.lr, f->start.said.schedule);
    if (t->n_trials > 0)
        fprintf(stream, "; %u trials of %s updates in %.1f s", t->n_trials,
                drove__report_grouped((double)t->trial_updates), t->trials_s);
    fputc('\n', stream);
    if (t->n_validation_rows > 0) {
        fprintf(stream, "  validation  loss %.4g of %s examples", t->validation_loss,
                drove__report_grouped((double)t->n_validation_rows));
        if (isfinite(t->best_epochs)) fprintf(stream, ", best at epoch %.2f", t->best_epochs);
        fputc('\n', stream);
    }
    if (t->n_cuts + t->n_recoveries > 0)
        fprintf(stream, "  steps back  %llu from a plateau, %llu from a loss that was not finite\n",
                (unsigned long long)t->n_cuts, (unsigned long long)t->n_recoveries);
}

/* "1 thread", "4 ranks" */
static const char *kind_of_workers(const drove_facts *f)
{
    static const char *const name[DROVE_N_WORKER_KINDS][2] = {
        [DROVE_WORKER_THREAD] = {"thread", "threads"},
        [DROVE_WORKER_PROCESS] = {"process", "processes"},
        [DROVE_WORKER_RANK] = {"rank", "ranks"},
        [DROVE_WORKER_CORES] = {"group of cores", "groups of cores"}};
    return name[f->start.kind][f->now.n_workers == 1 ? 0 : 1];
}

static void print_speed(const drove_facts *f, FILE *stream)
{
    const drove_progress *p = &f->now.progress;
    drove_totals total;
    drove__report_add_up(&f->now, 0, f->now.n_workers, &total);
    if (!(p->train_s > 0.0) || total.steps == 0) return;
    const drove_rates rates = drove__report_rates(&f->now);
    fprintf(stream, "  speed       %s examples/s, %s updates/s: %s, %u %s, batch %s, kernels %s\n",
            drove__report_grouped(rates.examples), drove__report_grouped(rates.updates),
            f->start.strategy, f->now.n_workers, kind_of_workers(f),
            drove__report_grouped((double)f->start.update_rows), f->start.isa);
    if (f->now.parked.n_beside > 0)
        fprintf(stream, "  beside      %s evaluation%s while the workers went on\n",
                drove__report_grouped((double)f->now.parked.n_beside),
                f->now.parked.n_beside == 1 ? "" : "s");
    if (f->now.parked.n > 0)
        fprintf(stream,
                "  parked      %s time%s for %.2f s, to evaluate or save; the speed leaves out "
                "%.2f s of starting\n",
                drove__report_grouped((double)f->now.parked.n), f->now.parked.n == 1 ? "" : "s",
                f->now.parked.s, rates.start_s);
    print_precision(f, &total, stream);

    /* The parts of a step. */
    double us[DROVE_N_PHASES];
    for (int i = 0; i < DROVE_N_PHASES; i++)
        us[i] = (double)total.phase_ns[i] * 1e-3 / (double)total.steps;
    fprintf(stream,
            "  a step      forward %.1f, backward %.1f, update %.1f, publish %.1f, pull %.1f, "
            "wait %.1f, other %.1f us\n",
            us[DROVE_PHASE_FORWARD], us[DROVE_PHASE_BACKWARD], us[DROVE_PHASE_UPDATE],
            us[DROVE_PHASE_PUBLISH], us[DROVE_PHASE_ACQUIRE],
            us[DROVE_PHASE_WAIT] + us[DROVE_PHASE_BACKOFF], us[DROVE_PHASE_OTHER]);
    drove__report_communication_print(f, stream);

    /* Reading of the data, and where copies of them lie. */
    const drove_loader_facts *l = &f->loader;
    if (l->is_there) {
        fprintf(stream, "  loading     %.2f s by ", l->busy_s);
        if (l->n_threads == 0) fputs("the workers", stream);
        else fprintf(stream, "%u thread%s", l->n_threads, l->n_threads == 1 ? "" : "s");
        fprintf(stream, ", %.2f s of the workers' time: %.0f %% hidden\n", l->exposed_s,
                100.0 * l->hidden);
    }
    const drove_disk_facts *d = &f->disk;
    if (d->is_there) {
        fprintf(stream,
                "  from disk   %.3g GiB in %llu windows of %.3g MiB, read in %.2f s; the workers "
                "waited %.2f s\n",
                d->read_bytes / (1 << 30), (unsigned long long)d->n_windows_read,
                d->window_bytes / 2 / (1 << 20), d->read_s, d->wait_s);
    }
    const drove_partition_facts *part = &f->start.partition;
    if (part->n > 0) {
        fprintf(stream,
                "  partition   %u group%s of cores; copies of %.1f MB %s in %.1f MB of %s\n",
                part->n, part->n == 1 ? "" : "s", part->copies_bytes / 1e6,
                part->fits ? "fit" : "do not fit", part->fast_bytes / 1e6, part->fast_name);
    }
    if (strcmp(f->start.said.prefetch, "on") != 0) {
        fprintf(stream, "  prefetch    %s asked; the processor's prefetchers: %s\n",
                f->start.said.prefetch, f->prefetch_hardware);
    }
    if (f->now.n_workers > 1) {
        fprintf(stream, "  staleness   mean %.2f, 99 %% within %llu, largest %llu; %s dropped",
                drove__hist_mean(&total.staleness),
                (unsigned long long)drove__hist_quantile(&total.staleness, 0.99),
                (unsigned long long)total.staleness.max,
                drove__report_grouped((double)total.dropped));
        if (total.attempts > total.steps)
            fprintf(stream, ", %s attempts for %s steps",
                    drove__report_grouped((double)total.attempts),
                    drove__report_grouped((double)total.steps));
        if (drove__report_lost(f, &total) > 0.0)
            fprintf(stream, ", %.4g updates overwritten", drove__report_lost(f, &total));
        fputc('\n', stream);
    }
}

static void print_files(const drove_facts *f, FILE *stream)
{
    char folder[2 * DROVE_TEXT_SIZE];
    if (f->start.said.out == NULL) return;
    drove__print_word(f->start.said.out, folder, sizeof folder);
    if (f->outcome != DROVE_CRASHED)
        fprintf(stream,
                "\n  use it      drove predict %s --data FILE\n"
                "  measure it  drove eval %s --data FILE",
                folder, folder);
    fprintf(stream, "\n  files in %s:\n", folder);
    bool is_judged = f->tuning.n_validation_rows > 0;
    if (f->start.pack.n > 0)
        fputs("    model.safetensors  the pack            best.safetensors   the same\n", stream);
    else
        fprintf(stream, "    model.safetensors  %s     best.safetensors   best %s loss\n",
                is_judged ? "best parameters" : "last parameters",
                is_judged ? "validation" : "training");
    fprintf(
        stream,
        "    summary.json       this, for programs  log.jsonl          a record per evaluation\n");
    fprintf(
        stream,
        "    run.json           every option        state.safetensors  drove train --resume %s\n",
        folder);
}

/* Threads that race give other bits each time, whatever the seed. */
static void print_repeatable(const drove_facts *f, FILE *stream)
{
    const drove_strategy_facts *s = &f->start.strategy_choice;
    if (f->start.is_repeatable) return;
    const char *record = f->start.said.record;
    if (record != NULL) {
        char word[2 * DROVE_TEXT_SIZE];
        fprintf(stream, "  repeatable  drove train --replay %s repeats this run bit for bit\n",
                drove__print_word(record, word, sizeof word));
        return;
    }
    if (f->now.n_workers == 1 && s->how != NULL) {
        fprintf(stream,
                "  repeatable  not by itself: --strategy auto has measured times; --strategy %s "
                "repeats this run bit for bit\n",
                f->start.strategy);
        return;
    }
    fprintf(stream, "  repeatable  no: the order in which %u %s meet is left to chance; %s\n",
            f->now.n_workers, kind_of_workers(f),
            f->start.kind == DROVE_WORKER_THREAD && f->now.n_groups == 0
                ? "--threads 1 or --strategy sync repeats a run bit for bit"
                : "one worker repeats a run bit for bit");
}

drove_status drove__report_print(const drove_facts *f, FILE *stream)
{
    print_headline(f, stream);
    print_quality(f, stream);
    drove__report_metrics_print(f, stream);
    drove__report_importance_print(&f->importance, stream);
    print_files(f, stream);
    fputc('\n', stream);
    drove__report_pack_print(&f->start.pack, stream);
    print_tuning(f, stream);
    drove__report_strategy_print(&f->start.strategy_choice, stream);
    for (unsigned i = 0; i < f->n_marks; i++) {
        const drove_mark_facts *m = &f->mark[i];
        if (!m->is_met) continue;
        fprintf(stream, "  to %2g %%     %.2f s, %.2f epochs, %s updates (of the initial loss)\n",
                m->percent, m->train_s, m->epochs, drove__report_grouped((double)m->updates));
    }
    print_repeatable(f, stream);
    drove__report_modelled_print(&f->start.modelled, stream);
    print_speed(f, stream);
    drove__report_groups_print(&f->now, stream);
    drove__report_replicas_print(f, stream);
    return ferror(stream) ? drove__fail(DROVE_E_IO, "cannot write the summary") : DROVE_OK;
}
