/* report/choices.c - what --model auto made, and what --strategy auto chose. */
#include "report/json.h"
#include "report/sections.h"

#include <math.h>
#include <string.h>

/* ---- --model auto ---- */

json_t *drove__report_pack_json(const drove_pack_facts *p)
{
    json_t *list = json_array();
    if (p->n == 0) {
        json_decref(list);
        return json_null();
    }
    for (unsigned i = 0; i < p->n; i++) {
        const drove_member_facts *m = &p->member[i];
        drove__json_add(
            &list, json_pack("{s:s, s:i, s:o, s:o, s:o}", "member", m->name, "divisions",
                             (int)m->n_divisions, "loss", drove__json_real(m->loss), "epochs",
                             drove__json_real(m->epochs), "share", drove__json_real(m->share)));
    }
    return json_pack("{s:i, s:o, s:o, s:s, s:o, s:o, s:o, s:i, s:I, s:I, s:o, s:o}", "networks",
                     (int)p->n_networks, "loss", drove__json_real(p->loss), "standard_error",
                     drove__json_real(p->error), "best_member",
                     p->best < p->n ? p->member[p->best].name : "constant guess",
                     "best_member_loss", drove__json_real(p->best_loss), "constant_loss",
                     drove__json_real(p->constant_loss), "sharpness",
                     drove__json_real(p->sharpness), "divisions", (int)p->n_divisions, "examples",
                     (json_int_t)p->n_rows, "judged_examples", (json_int_t)p->n_judged, "seconds",
                     drove__json_real(p->seconds), "members", list);
}

void drove__report_pack_print(const drove_pack_facts *p, FILE *stream)
{
    if (p->n == 0 || p->n_networks == 0) return;
    fprintf(stream, "  model       a pack of %u network%s, chosen from %u kind%s in %.1f s\n",
            p->n_networks, p->n_networks == 1 ? "" : "s", p->n, p->n == 1 ? "" : "s", p->seconds);
}

/* ---- --strategy auto ---- */

json_t *drove__report_strategy_json(const drove_strategy_facts *s)
{
    if (s->how == NULL) return json_null();
    const drove_rival_facts *chosen = &s->rival[s->chosen];
    json_t *list = json_array();
    for (unsigned i = 0; i < s->n; i++) {
        const drove_rival_facts *r = &s->rival[i];
        drove__json_add(&list,
                        json_pack("{s:s, s:i, s:o, s:o, s:o, s:o}", "strategy", r->strategy,
                                  "threads", (int)r->n_threads, "rate", drove__json_real(r->rate),
                                  "train_s", drove__json_real(r->train_s), "examples_per_s",
                                  drove__json_real(r->examples_per_s), "loss",
                                  drove__json_real(r->loss)));
    }
    return json_pack("{s:s, s:s, s:i, s:i, s:o, s:o}", "chosen", chosen->strategy, "how", s->how,
                     "threads", (int)chosen->n_threads, "allowed", (int)s->n_allowed, "seconds",
                     drove__json_real(s->seconds), "compared", list);
}

/* Two decimals, rounded down: a rate below the margin does not look like it. */
static double rounded(double rate)
{
    return floor(rate * 100.0 + 1e-6) / 100.0;
}

void drove__report_strategy_print(const drove_strategy_facts *s, FILE *stream)
{
    if (s->how == NULL) return;
    const drove_rival_facts *chosen = &s->rival[s->chosen];
    fprintf(stream, "  strategy    %s, %u of %u threads (", chosen->strategy, chosen->n_threads,
            s->n_allowed);
    if (strcmp(s->how, "probe") == 0) {
        /* The fastest of those that were not chosen; NULL: none was measured. */
        const drove_rival_facts *other = NULL;
        for (unsigned i = 1; i < s->n; i++)
            if (isfinite(s->rival[i].rate) && (other == NULL || s->rival[i].rate > other->rate))
                other = &s->rival[i];

        if (s->chosen > 0) {
            fprintf(stream, "%.2f times the rate of one thread", rounded(s->rival[s->chosen].rate));
        } else if (other == NULL) {
            fputs("no other was measured", stream);
        } else { /* the reason for one thread */
            fprintf(stream, "%s on %u threads: %.2f times its rate, ", other->strategy,
                    other->n_threads, rounded(other->rate));
            if (other->is_measured) fprintf(stream, "%.2f is needed", s->margin);
            else fputs("measured too few times", stream);
        }
        fprintf(stream, "; a probe of %.1f s)\n", s->seconds);
    } else if (strcmp(s->how, "short") == 0) fputs("not measured: too short a run)\n", stream);
    else fputs("not measured: a probe would cost too much of the run)\n", stream);
}
