/* report/communication.c - workers that exchange parameters: what they sent and what it cost; the
 * ranks of a cluster.
 *
 * Source: You, Buluc, Demmel, SC17, section 6.1.1 (eight parts of the time) and Table 3.
 */
#include "report/json.h"
#include "report/sections.h"

#include <math.h>

/* The paper's parts 3 to 8, seconds of a worker, and the sums of all workers. */
typedef struct parts {
    double worker_worker, host_device_data, host_device_parameters;
    double forward_backward, worker_update, master_update;
    double hidden, ratio;
    uint64_t bytes, messages;
} parts;

static double mean_s(const drove_present_facts *f, uint64_t sum_ns)
{
    return (double)sum_ns * 1e-9 / (double)f->n_workers;
}

static parts parts_of(const drove_facts *f)
{
    drove_totals all;
    uint64_t centre_ns = 0, hidden_ns = 0;
    parts p = {0};
    drove__report_add_up(&f->now, 0, f->now.n_workers, &all);
    for (unsigned i = 0; i < f->now.n_workers; i++) {
        const drove_traffic *t = f->now.worker[i].traffic;
        centre_ns += t->centre_ns;
        hidden_ns += t->hidden_ns;
        p.bytes += t->bytes;
        p.messages += t->messages;
    }
    const uint64_t *phase = all.phase_ns;
    double exchange = mean_s(&f->now, phase[DROVE_PHASE_EXCHANGE]);
    p.master_update = fmin(mean_s(&f->now, centre_ns), exchange);
    *(f->communication.has_master ? &p.host_device_parameters : &p.worker_worker) =
        exchange - p.master_update;
    p.host_device_data = mean_s(&f->now, phase[DROVE_PHASE_LOAD]);
    p.forward_backward = mean_s(&f->now, phase[DROVE_PHASE_FORWARD] + phase[DROVE_PHASE_BACKWARD]);
    p.worker_update = mean_s(&f->now, phase[DROVE_PHASE_UPDATE]);
    p.hidden = mean_s(&f->now, hidden_ns);
    double sent = p.worker_worker + p.host_device_data + p.host_device_parameters;
    p.ratio = sent / (sent + p.forward_backward + p.worker_update + p.master_update);
    return p;
}

double drove__report_distance(const drove_present_facts *f)
{
    double sum = 0.0;
    if (!f->exchanges) return NAN;
    for (unsigned i = 0; i < f->n_workers; i++) sum += f->worker[i].traffic->distance;
    return sum / (double)f->n_workers;
}

json_t *drove__report_communication_json(const drove_facts *f)
{
    const drove_communication_facts *c = &f->communication;
    if (!c->is_there) return json_null();
    const parts p = parts_of(f);
    json_t *part = json_pack("{s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "data", c->data_s, "start",
                             c->start_s, "worker_worker", drove__json_real(p.worker_worker),
                             "host_device_data", drove__json_real(p.host_device_data),
                             "host_device_parameters", drove__json_real(p.host_device_parameters),
                             "forward_backward", drove__json_real(p.forward_backward),
                             "worker_update", drove__json_real(p.worker_update), "master_update",
                             drove__json_real(p.master_update));
    return json_pack("{s:s, s:I, s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "transport", c->transport,
                     "period", (json_int_t)c->period, "alpha", drove__json_real(c->alpha), "ratio",
                     drove__json_real(p.ratio), "bytes", (json_int_t)p.bytes, "messages",
                     (json_int_t)p.messages, "hidden", drove__json_real(p.hidden), "distance",
                     drove__json_real(drove__report_distance(&f->now)), "parts", part);
}

json_t *drove__report_cluster_json(const drove_start_facts *f)
{
    const drove_cluster_facts *c = &f->cluster;
    if (!c->is_there) return json_null();
    json_t *hosts = json_array();
    for (unsigned i = 0; i < c->n_ranks; i++) drove__json_add(&hosts, json_string(c->host[i]));
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:o}", "transport", c->transport, "library",
                     c->mpi_library, "ranks", (int)c->n_ranks, "local_ranks", (int)c->n_local,
                     "threads", (int)c->n_threads, "hosts", hosts);
}

void drove__report_communication_print(const drove_facts *f, FILE *stream)
{
    const drove_communication_facts *c = &f->communication;
    if (!c->is_there || f->now.n_workers == 1) return;
    const parts p = parts_of(f);
    if (!isfinite(p.ratio)) return;
    if (p.messages == 0) {
        fprintf(stream, "  exchange    every %llu step%s: none was reached in this run\n",
                (unsigned long long)c->period, c->period == 1 ? "" : "s");
        return;
    }
    fprintf(stream,
            "  exchange    every %llu step%s; %.0f %% of a worker's time, %.2f s hidden behind "
            "computing; %.1f MB in %llu messages; workers %.3g from the centre\n",
            (unsigned long long)c->period, c->period == 1 ? "" : "s", 100.0 * p.ratio, p.hidden,
            (double)p.bytes * 1e-6, (unsigned long long)p.messages,
            drove__report_distance(&f->now));
}
