/* report/strategy.c - --strategy auto: what was tried, and what was chosen. */
#include "report/json.h"
#include "report/sections.h"

#include <math.h>
#include <string.h>

static json_t *rival_json(const drove_rival_facts *r)
{
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o}", "strategy", r->strategy, "threads",
                     (int)r->n_threads, "rate", drove__json_real(r->rate), "train_s",
                     drove__json_real(r->train_s), "examples_per_s",
                     drove__json_real(r->examples_per_s), "loss", drove__json_real(r->loss));
}

json_t *drove__report_strategy_json(const drove_strategy_facts *s)
{
    if (s->how == NULL) return json_null();
    const drove_rival_facts *chosen = &s->rival[s->chosen];
    json_t *list = json_array();
    for (unsigned i = 0; i < s->n; i++) drove__json_add(&list, rival_json(&s->rival[i]));
    return json_pack("{s:s, s:s, s:i, s:i, s:o, s:o}", "chosen", chosen->strategy, "how", s->how,
                     "threads", (int)chosen->n_threads, "allowed", (int)s->n_allowed, "seconds",
                     drove__json_real(s->seconds), "compared", list);
}

/* The fastest of those that were not chosen; NULL: none was measured. */
static const drove_rival_facts *runner_up(const drove_strategy_facts *s)
{
    const drove_rival_facts *best = NULL;
    for (unsigned i = 1; i < s->n; i++)
        if (isfinite(s->rival[i].rate) && (best == NULL || s->rival[i].rate > best->rate))
            best = &s->rival[i];
    return best;
}

/* Two decimals, rounded down: a rate below the margin does not look like it. */
static double rounded(double rate)
{
    return floor(rate * 100.0 + 1e-6) / 100.0;
}

/* Why one thread was kept. */
static void print_runner_up(const drove_strategy_facts *s, FILE *stream)
{
    const drove_rival_facts *other = runner_up(s);
    if (other == NULL) {
        fputs("no other was measured", stream);
        return;
    }
    fprintf(stream, "%s on %u threads: %.2f times its rate, ", other->strategy, other->n_threads,
            rounded(other->rate));
    if (other->is_measured) fprintf(stream, "%.2f is needed", s->margin);
    else fputs("measured too few times", stream);
}

static void print_probe(const drove_strategy_facts *s, FILE *stream)
{
    if (s->chosen > 0)
        fprintf(stream, "%.2f times the rate of one thread", rounded(s->rival[s->chosen].rate));
    else print_runner_up(s, stream);
    fprintf(stream, "; a probe of %.1f s)\n", s->seconds);
}

void drove__report_strategy_print(const drove_strategy_facts *s, FILE *stream)
{
    if (s->how == NULL) return;
    const drove_rival_facts *chosen = &s->rival[s->chosen];
    fprintf(stream, "  strategy    %s, %u of %u threads (", chosen->strategy, chosen->n_threads,
            s->n_allowed);
    if (strcmp(s->how, "probe") == 0) print_probe(s, stream);
    else if (strcmp(s->how, "short") == 0) fputs("not measured: too short a run)\n", stream);
    else fputs("not measured: a probe would cost too much of the run)\n", stream);
}
