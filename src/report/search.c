/* report/search.c - --model auto: what was compared, and what was chosen. */
#include "report/json.h"
#include "report/sections.h"

static json_t *candidate_json(const drove_candidate_facts *c)
{
    return json_pack("{s:s, s:i, s:o, s:o, s:o}", "model", c->name, "divisions", (int)c->n_tried,
                     "loss", drove__json_real(c->loss), "constant_loss",
                     drove__json_real(c->constant_loss), "epochs", drove__json_real(c->epochs));
}

json_t *drove__report_search_json(const drove_search_facts *s)
{
    json_t *list = json_array();
    if (s->n == 0) {
        json_decref(list);
        return json_null();
    }
    for (unsigned i = 0; i < s->n; i++) drove__json_add(&list, candidate_json(&s->candidate[i]));
    return json_pack("{s:s, s:o, s:i, s:I, s:I, s:o}", "chosen", s->candidate[s->chosen].name,
                     "compared", list, "divisions", (int)s->n_divisions, "examples",
                     (json_int_t)s->n_rows, "validation_examples", (json_int_t)s->n_held, "seconds",
                     drove__json_real(s->seconds));
}

void drove__report_search_print(const drove_search_facts *s, FILE *stream)
{
    if (s->n == 0) return;
    const drove_candidate_facts *c = &s->candidate[s->chosen];
    if (c->n_tried == 0) return; /* nothing was compared */
    fprintf(stream, "  model       %s, ", c->name);
    if (s->n > 1) fprintf(stream, "chosen from %u in %.1f s\n", s->n, s->seconds);
    else fprintf(stream, "the only candidate; tried for %.1f s\n", s->seconds);
}
