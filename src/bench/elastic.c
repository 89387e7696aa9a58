/* bench/elastic.c - `drove bench elastic`: the methods of elastic averaging on a virtual
 * clock, with the networks, devices and links of You, Buluc, Demmel, SC17 ("the paper").
 *
 *   table_3  the paper's breakdown of time on 4 GPUs, MNIST LeNet, beside its figures
 *   links    an update of 4 hosts over the networks of Table 2: LeNet, and the MLP mlp:128,128,128
 *   table_4  weak scaling of GoogLeNet and VGG-19 on 1 to 64 nodes, beside its figures
 *   nodes    the methods on 64 such nodes, and on 64 nodes that compute 20 times as fast
 *
 * Which figures are inputs and which are predictions: docs/results/elastic.md.
 */
#include "bench/bench.h"

#include "base/mem.h"
#include "bench/simulate_elastic.h"
#include "config/registry.h"

#include <math.h>
#include <string.h>

enum { N_PARTS = 6, N_ITERATIONS = 1000, LENET_PARAMS = 431080, MLP_PARAMS = 134794 };

static drove_status simulate(const char *method, const drove_sim_hosts *hosts, unsigned period,
                             drove_sim_times *out)
{
    const drove_sim_run run = {.period = period, .n_iterations = N_ITERATIONS, .seed = 1};
    return drove__simulate_exchange(drove__sim_method(method), hosts, &run, out);
}

static json_t *parts_of(const drove_sim_times *t)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "data_s", t->data_s, "compute_s",
                     t->compute_s, "exchange_s", t->exchange_s, "wait_s", t->wait_s,
                     "worker_update_s", t->worker_update_s, "master_update_s", t->master_update_s);
}

/* Data and exposed parameters over everything. */
static double communication_ratio(const drove_sim_times *t)
{
    return (t->data_s + t->exchange_s + t->wait_s) / t->iteration_s;
}

/* ---- Table 3: 4 GPUs, MNIST, LeNet ---- */

/* Inputs, all of Table 3: times of one iteration, 69 s / 5000 and so on times the part's share.  A
 * batch comes to one GPU in 0.08 ms, to four one after the other. */
static const double LENET_COMPUTE_S = 6.07e-3, LENET_DATA_S = 0.08e-3;
static const double TURNS_UPDATE_S = 0.075e-3, ROUNDS_UPDATE_S = 0.49e-3;
static const double TURNS_MASTER_S = 0.645e-3, ROUNDS_MASTER_S = 1.76e-3;

/* Calibrated.  Original EASGD: 7.05 ms = 2 x (8 alpha + beta n), a message for each of 8 arrays;
 * Sync EASGD1: 2.31 ms = 4 x (alpha + beta n); so beta n = 0.157 ms, 11 GB/s.  Between GPUs the
 * same beta, and Sync EASGD2: 1.31 ms = 4 x (alpha + beta n). */
static const drove_sim_link HOST_LINK = {0.421e-3, 9.1e-11}, GPU_LINK = {0.171e-3, 9.1e-11};

static const struct paper_row {
    const char *paper, *method;
    unsigned n_iterations;
    double total_s, share[N_PARTS]; /* %: gpu-gpu para, cpu-gpu data, cpu-gpu para, for/backward,
                                       gpu update, cpu update */
} table_3[] = {
    {"Original EASGD*", "easgd?overlap=0", 5000, 69, {0, 0.5, 51, 44, 0.5, 4}},
    {"Original EASGD", "easgd", 5000, 41, {0, 1, 86, 3, 1, 9}},
    {"Sync EASGD1", "easgd-sync1", 1000, 11, {1, 3, 21, 55, 4, 16}},
    {"Sync EASGD2", "easgd-sync2", 1000, 8.2, {16, 4, 0, 74, 6, 0}},
    {"Sync EASGD3", "easgd-sync3 (paper)", 1000, 7.7, {10, 4, 0, 79, 7, 0}},
    {NULL, "easgd-sync3", 1000, 0, {0}},
};

static drove_status run_table_3(json_t **rows)
{
    for (unsigned i = 0; i < DROVE_COUNT(table_3); i++) {
        const struct paper_row *p = &table_3[i];
        const drove_exchange_pattern *method = drove__sim_method(p->method);
        bool is_turns = method->order == DROVE_EXCHANGE_TURNS;
        const drove_sim_hosts hosts = {.n_workers = 4,
                                       .n_bytes = 4.0 * LENET_PARAMS,
                                       .n_messages = is_turns ? 8 : 1,
                                       .data_s = (is_turns ? 1 : 4) * LENET_DATA_S,
                                       .compute_s = LENET_COMPUTE_S,
                                       .stretch = 1.0,
                                       .worker_update_s =
                                           is_turns ? TURNS_UPDATE_S : ROUNDS_UPDATE_S,
                                       /* without a master GPU 1's is in its update */
                                       .master_update_s = is_turns            ? TURNS_MASTER_S
                                                          : method->at_master ? ROUNDS_MASTER_S
                                                                              : 0.0,
                                       .master = HOST_LINK,
                                       .peer = GPU_LINK};
        const double *share = p->share;
        drove_sim_times t;
        DROVE_TRY(simulate(p->method, &hosts, 1, &t));
        json_t *paper =
            json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "total_s", p->total_s, "ratio",
                      (share[0] + share[1] + share[2]) / 100.0, "exchange",
                      (share[0] + share[2]) / 100.0, "data", share[1] / 100.0, "compute",
                      share[3] / 100.0, "update", (share[4] + share[5]) / 100.0);
        /* Where both go on at once the paper calls it communication: Original EASGD's forward and
         * backward are 3 % there. */
        const double both_s =
            2.0 * (hosts.n_messages * hosts.master.alpha_s + hosts.n_bytes * hosts.master.beta_s);
        const double ratio =
            is_turns ? (t.data_s + both_s) / t.iteration_s : communication_ratio(&t);
        json_t *row = json_pack("{s:s, s:i, s:f, s:f, s:o}", "method", p->method, "iterations",
                                (int)p->n_iterations, "total_s", p->n_iterations * t.iteration_s,
                                "ratio", ratio, "parts", parts_of(&t));
        if (p->paper == NULL) { /* not in the table */
            json_decref(paper);
        } else {
            drove__json_set(&row, "paper_name", json_string(p->paper));
            drove__json_set(&row, "paper", paper);
        }
        drove__json_add(rows, row);
    }
    return DROVE_OK;
}

/* ---- 4 hosts over the networks of Table 2 ---- */

static const struct network {
    const char *name;
    drove_sim_link link;
} networks[] = {{"Mellanox 56Gb/s FDR IB", {0.7e-6, 0.2e-9}},
                {"Intel 40Gb/s QDR IB", {1.2e-6, 0.3e-9}},
                {"Intel 10GbE NetEffect NE020", {7.2e-6, 0.9e-9}}};

/* LeNet: times of Table 3 (one GPU a host; the master updates in its processor).  The MLP: batch 32
 * on one core of the development machine, measured: 0.346 ms, 0.037 ms a pass of the update, and
 * 0.14 ms to encode and decode in 8 bits; and hosts whose 8 cores would share all perfectly. */
static const struct problem {
    const char *name;
    double n_params, compute_s, data_s, worker_update_s, master_update_s, codec_s;
} problems[] = {{"lenet", LENET_PARAMS, 6.07e-3, LENET_DATA_S, 0.08e-3, 0.645e-3, 0.32e-3},
                {"mlp", MLP_PARAMS, 0.346e-3, 0.0, 0.037e-3, 0.037e-3, 0.14e-3},
                {"mlp, 8 cores", MLP_PARAMS, 0.346e-3 / 8, 0.0, 0.037e-3 / 8, 0.037e-3 / 8,
                 0.14e-3 / 8}};

enum { N_ARRAYS = 8 }; /* of either network: weights and biases of 4 layers */

/* A method with options.  Those without are the registry's: add_methods. */
struct variant {
    const char *label, *method;
    double bits; /* of a number that travels */
    unsigned period;
    bool is_layers; /* a message for each layer */
};

static const struct variant options_of_four[] = {
    {"easgd --messages layers", "easgd", 32, 1, true},
    {"easgd-sync3 (paper)", "easgd-sync3 (paper)", 32, 1, false},
    {"easgd-sync3 --precision C16s", "easgd-sync3", 16, 1, false},
    {"easgd-sync3 --precision C8s", "easgd-sync3", 8, 1, false},
    {"easgd-sync3 --precision G1C1s", "easgd-sync3", 1, 1, false},
    {"easgd-sync3 --period 4", "easgd-sync3", 32, 4, false},
    {"easgd-sync3 --period 16", "easgd-sync3", 32, 16, false},
    {"allreduce --precision C8s", "allreduce", 8, 1, false},
    {"allreduce --precision G1C1s", "allreduce", 1, 1, false},
    {"local?h=8", "local", 32, 8, false},
    {"diloco?h=8", "diloco", 32, 8, false},
    {"diloco?h=8 --precision C8s", "diloco", 8, 8, false},
};

enum { MOST_VARIANTS = 128 };

/* Every variant of the registry whose workers exchange, then option[n_options]; how many. */
static size_t list_variants(const struct variant *option, size_t n_options,
                            struct variant out[MOST_VARIANTS])
{
    size_t n = 0;
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++)
        for (const char *const *v = (*row)->variants;
             (*row)->exchange_pattern != NULL && *v != NULL; v++)
            if (n < MOST_VARIANTS) out[n++] = (struct variant){*v, *v, 32, 1, false};
    for (size_t i = 0; i < n_options && n < MOST_VARIANTS; i++) out[n++] = option[i];
    return n;
}

/* Exchange with the master's memory costs its update; where every worker has the centre, that of a
 * worker.  psgd-async's workers do not update. */
static drove_sim_hosts four_hosts(const struct problem *p, const struct network *n,
                                  const struct variant *v)
{
    const drove_exchange_pattern *m = drove__sim_method(v->method);
    bool is_master = m->order != DROVE_EXCHANGE_ROUNDS || m->at_master;
    return (drove_sim_hosts){.n_workers = 4,
                             .n_bytes = 4.0 * p->n_params * v->bits / 32.0,
                             .n_messages = v->is_layers ? N_ARRAYS : 1,
                             .data_s = p->data_s,
                             .compute_s = p->compute_s,
                             .stretch = 1.0,
                             .add_s = p->worker_update_s,
                             .worker_update_s = m->steps_at_centre ? 0.0 : p->worker_update_s,
                             .master_update_s = is_master        ? p->master_update_s
                                                : !m->has_centre ? 0.0
                                                                 : p->worker_update_s,
                             .codec_s = v->bits < 32 ? p->codec_s : 0.0,
                             .master = n->link,
                             .peer = n->link};
}

static json_t *row_of(const char *model, const char *method, unsigned period,
                      const drove_sim_times *t)
{
    return json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:o}", "model", model, "method", method,
                     "period", (int)period, "iteration_s", t->iteration_s, "update_s", t->update_s,
                     "ratio", communication_ratio(t), "parts", parts_of(t));
}

static drove_status run_links(json_t **rows)
{
    struct variant all[MOST_VARIANTS];
    size_t n_variants = list_variants(options_of_four, DROVE_COUNT(options_of_four), all);
    for (unsigned p = 0; p < DROVE_COUNT(problems); p++) {
        for (unsigned n = 0; n < DROVE_COUNT(networks); n++) {
            for (size_t v = 0; v < n_variants; v++) {
                const struct variant *of = &all[v];
                const drove_sim_hosts hosts = four_hosts(&problems[p], &networks[n], of);
                drove_sim_times t;
                DROVE_TRY(simulate(of->method, &hosts, of->period, &t));
                json_t *row = row_of(problems[p].name, of->label, of->period, &t);
                drove__json_set(&row, "network", json_string(networks[n].name));
                drove__json_add(rows, row);
            }
        }
    }
    return DROVE_OK;
}

/* ---- Table 4: weak scaling ---- */

enum { N_COLUMNS = 7, N_CORES = 68, MOST_NODES = 64 };

static const struct large {
    const char *name;
    double n_bytes; /* of this library's network, as it is trained: GoogLeNet with both heads */
    unsigned n_layers, n_iterations;
    double total_s[N_COLUMNS]; /* of 1, 2, 4 ... 64 nodes */
} table_4[] = {
    {"GoogLeNet", 4.0 * 13378280, 64, 300, {1533, 1590, 1608, 1641, 1630, 1662, 1674}},
    {"VGG-19", 4.0 * 143667240, 19, 80, {1318, 1440, 1482, 1524, 1634, 1679, 1642}},
};

/* Fitted to the 12 efficiencies of Table 4, the same for both networks (bench/run/weak_scaling.py
 * fits them anew): spread of compute; s of a byte whenever there are others (packing, equations 1
 * and 2, by one core); s of a byte on each level of the tree.  Of the last, how much is addition is
 * an assumption: three streams of one core at 12 GB/s.  Latency: Aries, 1.3 us. */
static const double SPREAD = 0.0077, UPDATE_BYTE_S = 2.2e-9, LEVEL_BYTE_S = 0.866e-9;
static const double ADD_BYTE_S = 0.25e-9, ARIES_ALPHA_S = 1.3e-6;

/* What is ours beyond the paper's: encoding and decoding, and updates of fast nodes, pass over
 * memory with all cores: 475 GB/s (MCDRAM of a node, section 2.1); so many passes over a vector. */
static const double NODE_BYTE_S = 1.0 / 475e9, CODEC_PASSES = 6.0, UPDATE_PASSES = 7.0;

static drove_sim_hosts nodes(const struct large *net, unsigned n_nodes, double in_place)
{
    bool is_alone = n_nodes == 1;
    return (drove_sim_hosts){.n_workers = n_nodes,
                             .n_bytes = net->n_bytes,
                             .n_messages = 1,
                             .compute_s = net->total_s[0] / net->n_iterations,
                             .spread = is_alone ? 0.0 : SPREAD,
                             .in_place = in_place,
                             .stretch = 1.0,
                             .add_s = ADD_BYTE_S * net->n_bytes,
                             .worker_update_s = is_alone ? 0.0 : UPDATE_BYTE_S * net->n_bytes,
                             .master = {ARIES_ALPHA_S, LEVEL_BYTE_S - ADD_BYTE_S},
                             .peer = {ARIES_ALPHA_S, LEVEL_BYTE_S - ADD_BYTE_S}};
}

static drove_status run_table_4(json_t **rows)
{
    for (unsigned i = 0; i < DROVE_COUNT(table_4); i++) {
        const struct large *net = &table_4[i];
        for (unsigned c = 0; c < N_COLUMNS; c++) {
            const drove_sim_hosts hosts = nodes(net, 1u << c, 0.0);
            drove_sim_times t;
            DROVE_TRY(simulate("easgd-sync3 (paper)", &hosts, 1, &t));
            double paper = net->total_s[0] / net->total_s[c];
            double ours = hosts.compute_s / t.iteration_s;
            drove__json_add(rows,
                            json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:o}", "model",
                                      net->name, "nodes", (int)hosts.n_workers, "cores",
                                      (int)(N_CORES * hosts.n_workers), "total_s",
                                      t.iteration_s * net->n_iterations, "efficiency", ours,
                                      "paper_total_s", net->total_s[c], "paper_efficiency", paper,
                                      "points", 100.0 * (ours - paper), "parts", parts_of(&t)));
        }
    }
    return DROVE_OK;
}

/* ---- our methods on the same nodes ---- */

static const struct variant options_of_nodes[] = {
    {"easgd-sync3 (paper)", "easgd-sync3 (paper)", 32, 1, false},
    {"easgd-sync3 (paper) layers", "easgd-sync3 (paper)", 32, 1, true},
    {"easgd-sync3 C16s", "easgd-sync3", 16, 1, false},
    {"easgd-sync3 C8s", "easgd-sync3", 8, 1, false},
    {"easgd-sync3 G1C1s", "easgd-sync3", 1, 1, false},
    {"easgd-sync3 --period 4", "easgd-sync3", 32, 4, false},
    {"easgd-sync3 --period 16", "easgd-sync3", 32, 16, false},
    {"allreduce C8s", "allreduce", 8, 1, false},
    {"allreduce G1C1s", "allreduce", 1, 1, false},
    {"local --period 16", "local", 32, 16, false},
    {"diloco --period 64", "diloco", 32, 64, false},
};

static const struct sort_of_nodes {
    const char *name;
    double in_place, speed; /* of compute */
    bool is_paper_s;        /* updates at the rate that Table 4 means; else by all cores */
} sorts[] = {{"Table 4, spread by iteration", 0.0, 1.0, true},
             {"Table 4, spread by node", 1.0, 1.0, true},
             {"20 times as fast, updates by all cores", 1.0, 20.0, false}};

static drove_status run_nodes(json_t **rows)
{
    struct variant all[MOST_VARIANTS];
    size_t n_variants = list_variants(options_of_nodes, DROVE_COUNT(options_of_nodes), all);
    for (unsigned i = 0; i < DROVE_COUNT(table_4); i++) {
        const struct large *net = &table_4[i];
        for (unsigned k = 0; k < DROVE_COUNT(sorts); k++) {
            for (size_t v = 0; v < n_variants; v++) {
                /* A message's own core is missing in compute while messages travel beside it.
                 * The updates of an exchange happen once in a period. */
                drove_sim_hosts hosts = nodes(net, MOST_NODES, sorts[k].in_place);
                double update_s = sorts[k].is_paper_s ? hosts.worker_update_s
                                                      : UPDATE_PASSES * NODE_BYTE_S * net->n_bytes;
                bool is_round = drove__sim_method(all[v].method)->order == DROVE_EXCHANGE_ROUNDS;
                hosts.compute_s /= sorts[k].speed;
                hosts.master_update_s = is_round ? 0.0 : ADD_BYTE_S * net->n_bytes;
                hosts.stretch = (double)N_CORES / (N_CORES - 1);
                hosts.n_bytes *= all[v].bits / 32.0;
                hosts.n_messages = all[v].is_layers ? net->n_layers : 1;
                hosts.worker_update_s = update_s / all[v].period;
                if (all[v].bits < 32) hosts.codec_s = CODEC_PASSES * NODE_BYTE_S * net->n_bytes;
                drove_sim_times t;
                DROVE_TRY(simulate(all[v].method, &hosts, all[v].period, &t));
                json_t *row = row_of(net->name, all[v].label, all[v].period, &t);
                drove__json_set(&row, "nodes", json_string(sorts[k].name));
                drove__json_set(&row, "efficiency",
                                json_real(hosts.compute_s / MOST_NODES / t.update_s));
                drove__json_add(rows, row);
            }
        }
    }
    return DROVE_OK;
}

/* ---- the benchmark ---- */

static drove_status run(const drove_bench_context *context, json_t **result)
{
    static const struct {
        const char *key;
        drove_status (*fill)(json_t **rows);
    } tables[] = {{"table_3", run_table_3},
                  {"links", run_links},
                  {"table_4", run_table_4},
                  {"nodes", run_nodes}};
    (void)context; /* the clock is virtual */
    for (unsigned i = 0; i < DROVE_COUNT(tables); i++) {
        json_t *rows = json_array();
        drove_status status = tables[i].fill(&rows);
        drove__json_set(result, tables[i].key, rows);
        DROVE_TRY(status);
    }
    return DROVE_OK;
}

static void print(const json_t *result, FILE *stream)
{
    size_t i;
    json_t *row;

    fprintf(stream, "simulated; the paper's Table 3: 4 GPUs, MNIST, LeNet\n");
    fprintf(stream, "%-20s %10s %8s %8s %12s %8s\n", "method", "iterations", "total s", "paper s",
            "ratio", "paper");
    json_array_foreach(json_object_get(result, "table_3"), i, row)
    {
        const json_t *paper = json_object_get(row, "paper");
        fprintf(stream, "%-20s %10d %8.1f ", drove__bench_text(row, "method"),
                (int)json_integer_value(json_object_get(row, "iterations")),
                drove__bench_number(row, "total_s"));
        if (paper == NULL) {
            fprintf(stream, "%8s %10.1f %% %8s\n", "-", 100 * drove__bench_number(row, "ratio"),
                    "-");
            continue;
        }
        fprintf(stream, "%8.1f %10.1f %% %6.0f %%\n", drove__bench_number(paper, "total_s"),
                100 * drove__bench_number(row, "ratio"), 100 * drove__bench_number(paper, "ratio"));
    }

    fprintf(stream, "4 hosts over the networks of Table 2\n%-12s %-12s %-29s %8s %8s %7s\n",
            "model", "network", "method", "iter. ms", "step ms", "ratio");
    json_array_foreach(json_object_get(result, "links"), i, row)
    {
        fprintf(stream, "%-12.12s %-12.12s %-29s %8.3f %8.4f %5.1f %%\n",
                drove__bench_text(row, "model"), drove__bench_text(row, "network"),
                drove__bench_text(row, "method"), drove__bench_number(row, "iteration_s") * 1e3,
                drove__bench_number(row, "update_s") * 1e3,
                100 * drove__bench_number(row, "ratio"));
    }

    fprintf(stream, "weak scaling, the paper's Table 4\n%-10s %6s %6s %8s %8s %11s %8s %7s\n",
            "model", "nodes", "cores", "total s", "paper s", "efficiency", "paper", "points");
    json_array_foreach(json_object_get(result, "table_4"), i, row)
    {
        fprintf(stream, "%-10s %6d %6d %8.0f %8.0f %9.1f %% %6.1f %% %7.2f\n",
                drove__bench_text(row, "model"),
                (int)json_integer_value(json_object_get(row, "nodes")),
                (int)json_integer_value(json_object_get(row, "cores")),
                drove__bench_number(row, "total_s"), drove__bench_number(row, "paper_total_s"),
                100 * drove__bench_number(row, "efficiency"),
                100 * drove__bench_number(row, "paper_efficiency"),
                drove__bench_number(row, "points"));
    }

    const char *last = "";
    fprintf(stream, "64 nodes of 68 cores\n%-10s %-28s %12s %10s %11s\n", "model", "method",
            "iteration s", "exposed s", "efficiency");
    json_array_foreach(json_object_get(result, "nodes"), i, row)
    {
        const char *sort = drove__bench_text(row, "nodes");
        if (strcmp(sort, last) != 0) fprintf(stream, "- %s\n", sort);
        last = sort;
        fprintf(stream, "%-10s %-28s %12.3f %10.4f %9.1f %%\n", drove__bench_text(row, "model"),
                drove__bench_text(row, "method"), drove__bench_number(row, "iteration_s"),
                drove__bench_number(json_object_get(row, "parts"), "exchange_s"),
                100 * drove__bench_number(row, "efficiency"));
    }
}

const drove_bench_ops drove__bench_elastic = {
    .name = "elastic",
    .help = "elastic averaging on clusters, on a virtual clock",
    .source = "You, Buluc, Demmel, SC17, Tables 2-4",
    .run = run,
    .print = print,
};
