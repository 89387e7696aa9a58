/* report/replicas.c - devices with parameters of their own: times of every layer, memory, whether
 * all parameters are the same.
 *
 * Source: Le Duc et al., Table 4.
 */
#include "report/json.h"
#include "report/sections.h"

#include <math.h>

typedef struct layer_times { /* means of an iteration, s */
    double down_s, add_s, threads_s, up_s;
    double hidden; /* of all of it, 0 to 1; NaN: there was nothing */
} layer_times;

static layer_times times_of(const drove_layer_facts *p)
{
    double per = p->n_iterations > 0 ? 1e-9 / (double)p->n_iterations : NAN;
    double all = (double)(p->down_ns + p->add_span_ns + p->up_ns);
    double exposed = (double)(p->down_exposed_ns + p->add_exposed_ns + p->up_exposed_ns);
    return (layer_times){.down_s = (double)p->down_ns * per,
                         .add_s = (double)p->add_span_ns * per,
                         .threads_s = (double)p->add_ns * per,
                         .up_s = (double)p->up_ns * per,
                         .hidden = all > 0.0 ? 1.0 - exposed / all : NAN};
}

/* ---- JSON ---- */

static json_t *layers_json(const drove_replica_facts *r)
{
    if (r->layer == NULL) return json_null();
    json_t *list = json_array();
    for (size_t i = r->n_layers; i-- > 0;) { /* as backward goes */
        const drove_layer_facts *l = &r->layer[i];
        layer_times t = times_of(l);
        drove__json_add(
            &list, json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "name", l->name, "parameters",
                             (json_int_t)l->n_params, "copy_down_s", drove__json_real(t.down_s),
                             "accumulate_s", drove__json_real(t.add_s), "accumulate_threads_s",
                             drove__json_real(t.threads_s), "copy_up_s", drove__json_real(t.up_s),
                             "hidden", drove__json_real(t.hidden)));
    }
    return list;
}

void drove__report_replicas_json(const drove_facts *f, json_t **summary)
{
    const drove_replica_facts *r = &f->replicas;
    if (!r->is_there) return;
    drove__json_set(summary, "layers", layers_json(r));
    drove__json_set(summary, "device_memory",
                    json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "parameters",
                              r->parameters_bytes, "gradient", r->gradient_bytes, "rule_state",
                              r->state_bytes, "receive", r->receive_bytes, "host", r->host_bytes,
                              "example", r->example_bytes, "receive_examples",
                              floor(r->receive_bytes / r->example_bytes)));
    /* A parking at which they differed ended the run. */
    drove__json_set(summary, "replicas_equal", r->n_checks > 0 ? json_true() : json_null());
    drove__json_set(summary, "replica_checks", json_integer((json_int_t)r->n_checks));
    if (!r->is_first_come) return;
    drove__json_set(summary, "order_error",
                    json_pack("{s:I, s:I, s:o, s:o}", "compared", (json_int_t)r->n_compared,
                              "different", (json_int_t)r->n_different, "max",
                              drove__json_real(r->error_max), "max_relative",
                              drove__json_real(r->error_relative)));
}

/* ---- for people ---- */

void drove__report_replicas_print(const drove_facts *f, FILE *stream)
{
    const drove_replica_facts *r = &f->replicas;
    drove_totals all;
    if (!r->is_there) return;
    drove__report_add_up(&f->now, 0, f->now.n_workers, &all);
    double us = all.steps > 0 ? 1e-3 / (double)all.steps : 0.0;
    fprintf(stream,
            "  devices     exchange exposed %.1f, additions before %.1f, broadcast %.1f us a step; "
            "parameters equal at all of %llu looks\n",
            (double)all.phase_ns[DROVE_PHASE_EXCHANGE] * us,
            (double)all.phase_ns[DROVE_PHASE_ACCUMULATE] * us,
            (double)all.phase_ns[DROVE_PHASE_BROADCAST] * us, (unsigned long long)r->n_checks);
    fprintf(stream, "  memory      %.1f MB a device (receive buffers %.1f), %.1f MB on the host\n",
            (r->parameters_bytes + r->gradient_bytes + r->state_bytes + r->receive_bytes) * 1e-6,
            r->receive_bytes * 1e-6, r->host_bytes * 1e-6);
    if (r->is_first_come) {
        fprintf(stream,
                "  order       %llu of %llu sums differ from the tree's, at most by %.3g (%.3g of "
                "the sum)\n",
                (unsigned long long)r->n_different, (unsigned long long)r->n_compared, r->error_max,
                r->error_relative);
    }
    if (r->layer != NULL) {
        fprintf(stream, "\n  %-20s %12s %10s %12s %10s %8s\n", "layer", "parameters", "down ms",
                "accumulate ms", "up ms", "hidden");
        for (size_t i = r->n_layers; i-- > 0;) {
            const drove_layer_facts *l = &r->layer[i];
            layer_times t = times_of(l);
            fprintf(stream, "  %-20s %12zu %10.3f %13.3f %10.3f", l->name, l->n_params,
                    t.down_s * 1e3, t.add_s * 1e3, t.up_s * 1e3);
            if (isnan(t.hidden)) fprintf(stream, " %8s\n", "-");
            else fprintf(stream, " %6.1f %%\n", t.hidden * 100.0);
        }
    }
}
