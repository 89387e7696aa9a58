/* report/totals.c - for all sections: sums over workers, large numbers, JSON text. */
#include "report/json.h"
#include "report/sections.h"

#include <math.h>

void drove__report_add_up(const drove_present_facts *f, unsigned first, unsigned n,
                          drove_totals *out)
{
    *out = (drove_totals){0};
    for (unsigned i = first; i < first + n; i++) {
        const drove_trace_worker *t = f->worker[i].trace;
        out->examples += atomic_load(&t->examples);
        out->updates += atomic_load(&t->updates);
        out->steps += t->steps;
        out->attempts += t->attempts;
        out->dropped += t->dropped;
        out->clamped += t->clamped;
        out->overwritten += t->overwritten;
        out->busy_ns += t->busy_ns;
        for (int p = 0; p < DROVE_N_PHASES; p++) out->phase_ns[p] += t->phase_ns[p];
        drove__hist_merge(&out->staleness, &t->staleness);
    }
}

drove_rates drove__report_rates(const drove_present_facts *f)
{
    const drove_progress *p = &f->progress;
    const double train_s = p->train_s;
    drove_rates rates = {.examples = NAN, .updates = NAN};
    double all = 0.0, rest = 0.0; /* rates with the starts and without */
    if (!(train_s > 0.0)) return rates;
    for (unsigned i = 0; i < f->n_workers; i++) {
        const drove_trace_worker *t = f->worker[i].trace;
        const uint64_t n = atomic_load(&t->examples);
        const double start_s = (double)t->start_ns * 1e-9;
        all += (double)n / train_s;
        rates.start_s += start_s / f->n_workers;
        if (start_s < train_s && t->start_examples < n)
            rest += (double)(n - t->start_examples) / (train_s - start_s);
        else rest += (double)n / train_s;
    }
    const double factor = all > 0.0 ? rest / all : 1.0;
    rates.examples = (double)p->examples / train_s * factor;
    rates.updates = (double)p->updates / train_s * factor;
    return rates;
}

double drove__report_lost(const drove_facts *f, const drove_totals *total)
{
    if (!f->start.modelled.is_there || f->start.n_params == 0) return NAN;
    return (double)total->overwritten / (double)f->start.n_params;
}

const char *drove__report_grouped(double value)
{
    static _Thread_local char buffers[4][40];
    static _Thread_local unsigned next;
    char digits[32], *out = buffers[next++ % 4], *o = out;
    int n = snprintf(digits, sizeof digits, "%.0f", value);
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-') *o++ = ',';
        *o++ = digits[i];
    }
    *o = '\0';
    return out;
}

/* ---- JSON ---- */

json_t *drove__json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

drove_status drove__json_text(json_t *object, int digits, char **out)
{
    char *text =
        object != NULL
            ? drove__json_dump(object, JSON_INDENT(2) | JSON_REAL_PRECISION((size_t)digits))
            : NULL;
    json_decref(object);
    if (text == NULL) return drove__fail_nomem("JSON text", 1);
    *out = text;
    return DROVE_OK;
}
