/* run/device_report.c - what is told of workers that are devices: Table 4 of Le Duc et al., the
 * devices' memory, whether all parameters are the same; see devices.h. */
#include "run/run.h"

#include "accum/accum.h"
#include "run/output.h"

#include <math.h>
#include <stdlib.h>

/* ---- facts ---- */

typedef struct layer_times { /* means of an iteration, s */
    double down_s, add_s, threads_s, up_s;
    double hidden; /* of all of it, 0 to 1; NaN: there was nothing */
} layer_times;

static layer_times times_of(const drove_accum_part *p)
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

typedef struct memory {                          /* bytes */
    double parameters, gradient, state, receive; /* of a device; receive: of the one with most */
    double host;                                 /* sums that are no device's */
    double example; /* what one more example of a batch takes: activations and itself */
} memory;

static memory memory_of(const drove_run *run, const drove_accum_facts *f)
{
    const drove_optim *o = run->optim;
    double vector = (double)o->n * sizeof(float);
    memory out = {.parameters = vector,
                  .gradient = vector,
                  .state = (double)(o->n_vector - o->n) * sizeof(float),
                  .receive = f->receive_vectors * vector,
                  .host = f->host_vectors * vector};
    drove_pass_options pass = {.model = run->model,
                               .kernels = &run->kernels,
                               .rows = run->update_rows,
                               .max_rows = run->update_rows,
                               .n_parts = 1,
                               .trains = true};
    double bytes = (double)drove__pass_bytes(&pass);
    pass.max_rows *= 2;
    out.example = ((double)drove__pass_bytes(&pass) - bytes) / (double)run->update_rows +
                  (double)run->model->n_inputs * sizeof(float);
    return out;
}

/* ---- JSON ---- */

static json_t *layers_json(const drove_run *run, const drove_accum_facts *f)
{
    if (f->part == NULL) return json_null();
    json_t *list = json_array();
    for (size_t i = f->n_parts; i-- > 0;) { /* as backward goes */
        const drove_layer *l = &run->model->layer[run->devices.layer[i]];
        layer_times t = times_of(&f->part[i]);
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "name", l->name, "parameters",
                            (json_int_t)l->n_params, "copy_down_s", drove__json_real(t.down_s),
                            "accumulate_s", drove__json_real(t.add_s), "accumulate_threads_s",
                            drove__json_real(t.threads_s), "copy_up_s", drove__json_real(t.up_s),
                            "hidden", drove__json_real(t.hidden)));
    }
    return list;
}

static json_t *memory_json(const memory *m)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "parameters", m->parameters, "gradient",
                     m->gradient, "rule_state", m->state, "receive", m->receive, "host", m->host,
                     "example", m->example, "receive_examples", floor(m->receive / m->example));
}

void drove__device_report_json(const drove_run *run, json_t *summary)
{
    drove_accum_facts f;
    if (run->devices.n == 0 || !drove__accum_facts(run->sync, &f)) return;
    memory m = memory_of(run, &f);
    json_object_set_new(summary, "layers", layers_json(run, &f));
    json_object_set_new(summary, "device_memory", memory_json(&m));
    /* A parking at which they differed ended the run. */
    json_object_set_new(summary, "replicas_equal", f.n_checks > 0 ? json_true() : json_null());
    json_object_set_new(summary, "replica_checks", json_integer((json_int_t)f.n_checks));
    if (!f.is_first_come) return;
    json_object_set_new(
        summary, "order_error",
        json_pack("{s:I, s:I, s:o, s:o}", "compared", (json_int_t)f.error.n_compared, "different",
                  (json_int_t)f.error.n_different, "max", drove__json_real(f.error.most),
                  "max_relative", drove__json_real(f.error.relative)));
}

/* ---- for people ---- */

static void print_layers(const drove_run *run, const drove_accum_facts *f, FILE *stream)
{
    fprintf(stream, "\n  %-20s %12s %10s %12s %10s %8s\n", "layer", "parameters", "down ms",
            "accumulate ms", "up ms", "hidden");
    for (size_t i = f->n_parts; i-- > 0;) {
        const drove_layer *l = &run->model->layer[run->devices.layer[i]];
        layer_times t = times_of(&f->part[i]);
        fprintf(stream, "  %-20s %12zu %10.3f %13.3f %10.3f", l->name, l->n_params, t.down_s * 1e3,
                t.add_s * 1e3, t.up_s * 1e3);
        if (isnan(t.hidden)) fprintf(stream, " %8s\n", "-");
        else fprintf(stream, " %6.1f %%\n", t.hidden * 100.0);
    }
}

void drove__device_report_print(const drove_run *run, FILE *stream)
{
    drove_accum_facts f;
    if (run->devices.n == 0 || !drove__accum_facts(run->sync, &f)) return;
    memory m = memory_of(run, &f);
    uint64_t steps = 0, exchange = 0, accumulate = 0, broadcast = 0;
    for (unsigned i = 0; i < run->n_workers; i++) {
        const drove_trace_worker *t = &run->worker[i].trace;
        steps += t->steps;
        exchange += t->phase_ns[DROVE_PHASE_EXCHANGE];
        accumulate += t->phase_ns[DROVE_PHASE_ACCUMULATE];
        broadcast += t->phase_ns[DROVE_PHASE_BROADCAST];
    }
    double us = steps > 0 ? 1e-3 / (double)steps : 0.0;
    fprintf(stream,
            "  devices     exchange exposed %.1f, additions before %.1f, broadcast %.1f us a step; "
            "parameters equal at all of %llu looks\n",
            (double)exchange * us, (double)accumulate * us, (double)broadcast * us,
            (unsigned long long)f.n_checks);
    fprintf(stream, "  memory      %.1f MB a device (receive buffers %.1f), %.1f MB on the host\n",
            (m.parameters + m.gradient + m.state + m.receive) * 1e-6, m.receive * 1e-6,
            m.host * 1e-6);
    if (f.is_first_come) {
        fprintf(stream,
                "  order       %llu of %llu sums differ from the tree's, at most by %.3g (%.3g of "
                "the sum)\n",
                (unsigned long long)f.error.n_different, (unsigned long long)f.error.n_compared,
                f.error.most, f.error.relative);
    }
    if (f.part != NULL) print_layers(run, &f, stream);
}

/* ---- the time line ---- */

static drove_status write_timeline(const drove_run *run, const char *path)
{
    const char **name = calloc(run->devices.n_parts, sizeof *name);
    if (name == NULL) return drove__fail_nomem("a time line", run->devices.n_parts);
    for (size_t i = 0; i < run->devices.n_parts; i++)
        name[i] = run->model->layer[run->devices.layer[i]].name;
    drove_status status = drove__spans_write(run->devices.spans, path, name, run->devices.n_parts);
    free(name);
    return status;
}

drove_status drove__device_timeline(const drove_run *run)
{
    if (run->devices.spans == NULL) return DROVE_OK;
    if (run->opt.timeline[0] != '\0') {
        drove_status status = write_timeline(run, run->opt.timeline);
        return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "--timeline");
    }
    char *path = drove__path_join(run->opt.out, "timeline.json");
    if (path == NULL) return drove__fail_nomem("a path", sizeof run->opt.out);
    drove_status status = write_timeline(run, path);
    free(path);
    return status;
}
