/* run/traffic.c - see traffic.h. */
#include "run/traffic.h"

#include "cluster/messages.h"
#include "elastic/elastic.h"
#include "run/output.h"
#include "run/run.h"

#include <math.h>

/* The paper's parts 3 to 8, seconds of a worker, and what else is told. */
typedef struct parts {
    double worker_worker, host_device_data, host_device_parameters;
    double forward_backward, worker_update, master_update;
    double hidden, ratio;
    uint64_t bytes, messages;
} parts;

static bool exchanges(const drove_run *run)
{
    return (run->plan.ops->needs & DROVE_SYNC_SPREAD) != 0;
}

static double mean_s(const drove_run *run, uint64_t sum_ns)
{
    return (double)sum_ns * 1e-9 / (double)run->n_workers;
}

static parts add_up(const drove_run *run)
{
    uint64_t phase[DROVE_N_PHASES] = {0}, centre_ns = 0, hidden_ns = 0;
    parts p = {0};
    for (unsigned i = 0; i < run->n_workers; i++) {
        const drove_worker *w = &run->worker[i];
        for (int k = 0; k < DROVE_N_PHASES; k++) phase[k] += w->trace.phase_ns[k];
        centre_ns += w->traffic.centre_ns;
        hidden_ns += w->traffic.hidden_ns;
        p.bytes += w->traffic.bytes;
        p.messages += w->traffic.messages;
    }
    double exchange = mean_s(run, phase[DROVE_PHASE_EXCHANGE]);
    p.master_update = fmin(mean_s(run, centre_ns), exchange);
    bool has_master = (run->plan.ops->needs & DROVE_SYNC_MASTER) != 0;
    *(has_master ? &p.host_device_parameters : &p.worker_worker) = exchange - p.master_update;
    p.host_device_data = mean_s(run, phase[DROVE_PHASE_LOAD]);
    p.forward_backward = mean_s(run, phase[DROVE_PHASE_FORWARD] + phase[DROVE_PHASE_BACKWARD]);
    p.worker_update = mean_s(run, phase[DROVE_PHASE_UPDATE]);
    p.hidden = mean_s(run, hidden_ns);
    double sent = p.worker_worker + p.host_device_data + p.host_device_parameters;
    p.ratio = sent / (sent + p.forward_backward + p.worker_update + p.master_update);
    return p;
}

double drove__communication_distance(const drove_run *run)
{
    double sum = 0.0;
    if (!exchanges(run)) return NAN;
    for (unsigned i = 0; i < run->n_workers; i++) sum += run->worker[i].traffic.distance;
    return sum / (double)run->n_workers;
}

json_t *drove__communication_json(const drove_run *run)
{
    if (!exchanges(run)) return json_null();
    const parts p = add_up(run);
    json_t *part = json_pack(
        "{s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "data", (double)run->beginning.data_ns * 1e-9,
        "start", (double)run->beginning.start_ns * 1e-9, "worker_worker",
        drove__json_real(p.worker_worker), "host_device_data", drove__json_real(p.host_device_data),
        "host_device_parameters", drove__json_real(p.host_device_parameters), "forward_backward",
        drove__json_real(p.forward_backward), "worker_update", drove__json_real(p.worker_update),
        "master_update", drove__json_real(p.master_update));
    drove_elastic_facts facts = {0};
    (void)drove__elastic_facts(run->sync, &facts);
    return json_pack("{s:s, s:I, s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "transport",
                     run->transport->ops->name, "period", (json_int_t)facts.period, "alpha",
                     facts.has_pull ? drove__json_real(facts.alpha) : json_null(), "ratio",
                     drove__json_real(p.ratio), "bytes", (json_int_t)p.bytes, "messages",
                     (json_int_t)p.messages, "hidden", drove__json_real(p.hidden), "distance",
                     drove__json_real(drove__communication_distance(run)), "parts", part);
}

json_t *drove__cluster_json(const drove_run *run)
{
    const drove_wire *wire = run->ranks.n > 1 ? drove__transport_wire(run->transport) : NULL;
    json_t *hosts = json_array();
    if (wire == NULL) {
        json_decref(hosts);
        return json_null();
    }
    for (unsigned i = 0; i < wire->n_ranks; i++)
        json_array_append_new(hosts, json_string(wire->host[i]));
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:o}", "transport", run->transport->ops->name,
                     "library", wire->library, "ranks", (int)run->ranks.n, "local_ranks",
                     (int)run->ranks.n_local, "threads", (int)run->ranks.n_threads, "hosts", hosts);
}

void drove__communication_print(const drove_run *run, FILE *f)
{
    if (!exchanges(run) || run->n_workers == 1) return;
    const parts p = add_up(run);
    drove_elastic_facts facts = {0};
    if (!isfinite(p.ratio)) return;
    (void)drove__elastic_facts(run->sync, &facts);
    if (p.messages == 0) {
        fprintf(f, "  exchange    every %llu step%s: none was reached in this run\n",
                (unsigned long long)facts.period, facts.period == 1 ? "" : "s");
        return;
    }
    fprintf(f,
            "  exchange    every %llu step%s; %.0f %% of a worker's time, %.2f s hidden behind "
            "computing; %.1f MB in %llu messages; workers %.3g from the centre\n",
            (unsigned long long)facts.period, facts.period == 1 ? "" : "s", 100.0 * p.ratio,
            p.hidden, (double)p.bytes * 1e-6, (unsigned long long)p.messages,
            drove__communication_distance(run));
}
