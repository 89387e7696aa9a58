/* bench/accumulate.c - `drove bench accumulate`: weak scaling on a virtual clock, with the
 * networks, devices and links of Le Duc et al.
 *
 *   AlexNet     forward, backward and update from Table 3 (batch 256), copies and additions of each
 *               layer from Table 4; backward is shared out among the layers in proportion to their
 *               multiply-adds, which backward has twice (the first layer once)
 *   GoogLeNet,  batches of Table 2; layer times by the multiply-adds of our networks at the rates
 *   VGG-16      that AlexNet's times mean; copies and additions by Table 4's totals per byte, and
 *               its smallest layer's time as what each costs beside; update and tree by parameter
 *
 * Reading of Table 4: "accumulation time" is of one device's gradient added once (Algorithm 7); D
 * devices need D of them one after the other, our one addition of all (D + 1) / 3.  While copies
 * run backward takes 111 / 104 times as long (Table 3).
 *
 * Whence these 7 ms come the paper does not say.  A second table varies them: what each of five
 * readings makes of them in the three networks, and the stretch at which four devices would be
 * 90 % efficient.
 */
#include "bench/bench.h"

#include "bench/simulate_accum.h"
#include "base/mem.h"
#include "model/layer.h"
#include "model/model.h"
#include "report/json.h"

#include <stdlib.h>
#include <string.h>

enum { N_NETS = 3, N_TABLE_4 = 8, N_CASES = 5, N_READINGS = 5 };

static const double FORWARD_S = 50.6e-3, BACKWARD_S = 104e-3, UPDATE_S = 5.1e-3; /* Table 3 */
static const double LONGER_S = 7e-3; /* AlexNet's backward while copies run: 111 ms */
static const double STRETCH = 111.0 / 104.0;
/* Bytes/s of the paper's P100, by its maker.  A copied byte is read or written there once. */
static const double DEVICE_MEMORY = 732e9;
static const double COPIED_BYTES = 2.0 * 4.0; /* of a parameter: down and up, floats */
/* Four devices are two levels: 20 ms of broadcast, 23 ms of collecting and adding. */
static const double LINK_S = 10e-3, SUM_S = 1.5e-3;

/* Table 4, from layer 1 on; ms, million parameters. */
static const struct {
    double n_params, down, add, up;
} table_4[N_TABLE_4] = {{0.03, 0.014, 0.018, 0.007}, {0.3, 0.066, 0.155, 0.041},
                        {0.9, 0.275, 0.578, 0.123},  {0.7, 0.174, 0.465, 0.095},
                        {0.4, 0.133, 0.285, 0.064},  {37.8, 12.146, 13.074, 5.538},
                        {16.8, 3.156, 4.441, 2.568}, {4, 0.760, 1.263, 1.786}};

static const struct {
    const char *model;
    double batch; /* Table 2 */
    size_t side;  /* of an image */
} nets[N_NETS] = {{"alexnet", 256, 227}, {"googlenet", 64, 224}, {"vgg16", 32, 224}};

static const struct {
    const char *name;
    drove_sim_method method;
    drove_accum_order order;
    bool shares_link;
} cases[N_CASES] = {
    {"accumulate", DROVE_SIM_ACCUMULATE, DROVE_ACCUM_ONCE, false},
    {"accumulate, one link", DROVE_SIM_ACCUMULATE, DROVE_ACCUM_ONCE, true},
    {"first-come", DROVE_SIM_ACCUMULATE, DROVE_ACCUM_FIRST_COME, false},
    {"at-end", DROVE_SIM_AT_END, DROVE_ACCUM_ONCE, false},
    {"tree", DROVE_SIM_TREE, DROVE_ACCUM_ONCE, false},
};

/* ---- a network as numbers ---- */

typedef struct numbers {
    double forward, backward; /* multiply-adds of an example */
    double n_params;
} numbers;

static double forward_of(const drove_layer *l)
{
    return l->ops->multiply_adds != NULL ? (double)l->ops->multiply_adds(l) : 0.0;
}

static double backward_of(const drove_layer *l)
{
    return forward_of(l) * (l->n_bottoms > 0 && l->bottom[0] == 0 ? 1.0 : 2.0);
}

/* Fills *layer, [n_layers of the model], which *out then points to; the caller frees it.
 * reference: AlexNet's numbers. */
static drove_status describe(unsigned net, numbers *reference, drove_sim_layer **layer,
                             drove_sim_net *out)
{
    drove_model *m = NULL;
    drove_sim_layer *to;
    const size_t side = nets[net].side;
    const drove_model_io io = {.n_features = 3 * side * side,
                               .n_classes = 1000,
                               .image = {.c = 3, .h = side, .w = side}};
    DROVE_TRY(drove__model_create(nets[net].model, NULL, NULL, &io, &m));
    to = *layer = calloc(m->n_layers, sizeof *to);
    if (to == NULL) {
        const size_t n_layers = m->n_layers;
        drove__model_destroy(m);
        return drove__fail_nomem("layers", n_layers * sizeof *to);
    }

    numbers n = {0};
    for (size_t l = 0; l < m->n_layers; l++) {
        n.forward += forward_of(&m->layer[l]);
        n.backward += backward_of(&m->layer[l]);
        n.n_params += (double)m->layer[l].n_params;
    }
    if (net == 0) *reference = n;
    const double alexnet_batch = nets[0].batch, share = n.n_params / reference->n_params;
    const double forward_rate = reference->forward * alexnet_batch / FORWARD_S;
    const double backward_rate = reference->backward * alexnet_batch / BACKWARD_S;
    double params = 0.0, down = 0.0, add = 0.0, up = 0.0; /* of Table 4 */
    for (unsigned i = 0; i < N_TABLE_4; i++) {
        params += table_4[i].n_params * 1e6;
        down += table_4[i].down;
        add += table_4[i].add;
        up += table_4[i].up;
    }

    unsigned k = 0;
    for (size_t l = 0; l < m->n_layers; l++) {
        const drove_layer *of = &m->layer[l];
        to[l] = (drove_sim_layer){.backward_s = backward_of(of) * nets[net].batch / backward_rate};
        if (of->n_params == 0) continue;
        to[l].n_params = (double)of->n_params;
        if (net > 0 || k >= N_TABLE_4) { /* copies and additions at Table 4's rates */
            to[l].down_s = (table_4[0].down + to[l].n_params * down / params) * 1e-3;
            to[l].add_s = (table_4[0].add + to[l].n_params * add / params) * 1e-3;
            to[l].up_s = (table_4[0].up + to[l].n_params * up / params) * 1e-3;
            continue;
        }
        to[l].down_s = table_4[k].down * 1e-3;
        to[l].add_s = table_4[k].add * 1e-3;
        to[l].up_s = table_4[k++].up * 1e-3;
    }
    *out = (drove_sim_net){.name = nets[net].model,
                           .forward_s = n.forward * nets[net].batch / forward_rate,
                           .update_s = UPDATE_S * share,
                           .n_layers = m->n_layers,
                           .layer = to,
                           .link_s = LINK_S * share,
                           .sum_s = SUM_S * share};
    drove__model_destroy(m);
    return DROVE_OK;
}

/* ---- how much longer backward takes while copies run ---- */

static double backward_of_all(const drove_sim_net *net)
{
    double s = 0.0;
    for (size_t l = 0; l < net->n_layers; l++) s += net->layer[l].backward_s;
    return s;
}

static double params_of(const drove_sim_net *net)
{
    double n = 0.0;
    for (size_t l = 0; l < net->n_layers; l++) n += net->layer[l].n_params;
    return n;
}

static double parts_of(const drove_sim_net *net)
{
    double n = 0.0;
    for (size_t l = 0; l < net->n_layers; l++) n += net->layer[l].n_params > 0.0;
    return n;
}

static const struct {
    const char *name;
    enum { NO_LONGER, BY_MEMORY, BY_PARAMETER, BY_LAYER, BY_TIME } by;
} readings[N_READINGS] = {
    {"none", NO_LONGER},              /* copies cost a device nothing */
    {"device memory", BY_MEMORY},     /* backward is bound by memory, which copies use too */
    {"by parameter", BY_PARAMETER},   /* AlexNet's 7 ms, by what is copied */
    {"by layer", BY_LAYER},           /* AlexNet's 7 ms, by calls: the paper's own words */
    {"by time of backward", BY_TIME}, /* AlexNet's 7 ms of 104, as in the first table */
};

/* Seconds that backward takes longer; first: AlexNet, of which Table 3 is. */
static double longer(unsigned reading, const drove_sim_net *net, const drove_sim_net *first)
{
    switch (readings[reading].by) {
    case NO_LONGER: break;
    case BY_MEMORY: return COPIED_BYTES * params_of(net) / DEVICE_MEMORY;
    case BY_PARAMETER: return LONGER_S * params_of(net) / params_of(first);
    case BY_LAYER: return LONGER_S * parts_of(net) / parts_of(first);
    case BY_TIME: return (STRETCH - 1.0) * backward_of_all(net);
    }
    return 0.0;
}

/* ---- the tables ---- */

/* One device needs no exchange at all. */
static double alone(const drove_sim_net *net)
{
    return net->forward_s + net->update_s + backward_of_all(net);
}

static drove_status simulate_net(const drove_sim_net *net, json_t **rows)
{
    static const unsigned n_devices[] = {1, 2, 4};
    double one_s = alone(net);
    for (unsigned c = 0; c < N_CASES; c++) {
        for (unsigned i = 0; i < DROVE_COUNT(n_devices); i++) {
            bool overlaps = n_devices[i] > 1 && cases[c].method == DROVE_SIM_ACCUMULATE;
            const drove_sim_options opt = {.method = cases[c].method,
                                           .n_devices = n_devices[i],
                                           .order = cases[c].order,
                                           .shares_link = cases[c].shares_link,
                                           .stretch = overlaps ? STRETCH : 1.0};
            drove_sim_result r = {.iteration_s = one_s};
            if (n_devices[i] > 1) DROVE_TRY(drove__simulate_accumulation(net, &opt, &r));
            drove__json_add(rows, json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:f}", "model",
                                            net->name, "method", cases[c].name, "devices",
                                            (int)n_devices[i], "iteration_s", r.iteration_s,
                                            "exchange_s", r.exchange_s, "broadcast_s",
                                            r.broadcast_s, "efficiency", one_s / r.iteration_s));
        }
    }
    return DROVE_OK;
}

static drove_status accumulate_on_four(const drove_sim_net *net, double stretch,
                                       drove_sim_result *out)
{
    const drove_sim_options opt = {.method = DROVE_SIM_ACCUMULATE,
                                   .n_devices = 4,
                                   .stretch = stretch};
    return drove__simulate_accumulation(net, &opt, out);
}

static drove_status vary_stretch(const drove_sim_net *net, const drove_sim_net *first,
                                 json_t **rows)
{
    const double one_s = alone(net), backward_s = backward_of_all(net);
    drove_sim_result r;
    for (unsigned i = 0; i < N_READINGS; i++) {
        double longer_s = longer(i, net, first), stretch = 1.0 + longer_s / backward_s;
        DROVE_TRY(accumulate_on_four(net, stretch, &r));
        drove__json_add(rows, json_pack("{s:s, s:s, s:f, s:f, s:f, s:f}", "model", net->name,
                                        "reading", readings[i].name, "longer_s", longer_s,
                                        "stretch", stretch, "iteration_s", r.iteration_s,
                                        "efficiency", one_s / r.iteration_s));
    }
    /* Nothing but backward grows with the stretch, so this is exact if copies stay hidden. */
    DROVE_TRY(accumulate_on_four(net, 1.0, &r));
    double stretch = 1.0 + (one_s / 0.9 - r.iteration_s) / backward_s;
    DROVE_TRY(accumulate_on_four(net, stretch, &r));
    drove__json_add(rows, json_pack("{s:s, s:s, s:f, s:f, s:f, s:f}", "model", net->name, "reading",
                                    "at 90 %", "longer_s", (stretch - 1.0) * backward_s, "stretch",
                                    stretch, "iteration_s", r.iteration_s, "efficiency",
                                    one_s / r.iteration_s));
    return DROVE_OK;
}

static drove_status run(const drove_bench_context *context, json_t **result)
{
    (void)context; /* the clock is virtual */
    json_t *rows = json_array(), *stretches = json_array();

    numbers reference = {0};
    drove_sim_layer *layer[N_NETS] = {NULL};
    drove_sim_net net[N_NETS];
    drove_status status = DROVE_OK;
    for (unsigned i = 0; i < N_NETS && status == DROVE_OK; i++) {
        status = describe(i, &reference, &layer[i], &net[i]);
        if (status == DROVE_OK) status = simulate_net(&net[i], &rows);
        if (status == DROVE_OK) status = vary_stretch(&net[i], &net[0], &stretches);
    }
    for (unsigned i = 0; i < N_NETS; i++) free(layer[i]);

    drove__json_set(result, "simulation", rows);
    drove__json_set(result, "stretch", stretches);
    return status;
}

static void print(const json_t *result, FILE *stream)
{
    size_t i;
    json_t *row;
    fprintf(stream, "simulated, with the devices of Le Duc et al.; times of an iteration\n");
    fprintf(stream, "%-10s %-21s %7s %12s %12s %12s %10s\n", "model", "method", "devices",
            "iteration ms", "exposed ms", "broadcast ms", "efficiency");
    json_array_foreach(json_object_get(result, "simulation"), i, row)
    {
        fprintf(stream, "%-10s %-21s %7d %12.2f %12.4f %12.2f %8.1f %%\n",
                drove__bench_text(row, "model"), drove__bench_text(row, "method"),
                (int)json_integer_value(json_object_get(row, "devices")),
                drove__bench_number(row, "iteration_s") * 1e3,
                drove__bench_number(row, "exchange_s") * 1e3,
                drove__bench_number(row, "broadcast_s") * 1e3,
                drove__bench_number(row, "efficiency") * 100.0);
    }
    fprintf(stream,
            "\naccumulate on 4 devices, by how much longer backward takes while copies run\n");
    fprintf(stream, "%-10s %-21s %10s %10s %14s %10s\n", "model", "reading", "longer ms", "stretch",
            "iteration ms", "efficiency");
    json_array_foreach(json_object_get(result, "stretch"), i, row)
    {
        fprintf(stream, "%-10s %-21s %10.2f %10.4f %14.2f %8.1f %%\n",
                drove__bench_text(row, "model"), drove__bench_text(row, "reading"),
                drove__bench_number(row, "longer_s") * 1e3, drove__bench_number(row, "stretch"),
                drove__bench_number(row, "iteration_s") * 1e3,
                drove__bench_number(row, "efficiency") * 100.0);
    }
}

const drove_bench_ops drove__bench_accumulate = {
    .name = "accumulate",
    .help = "weak scaling of accumulate, at-end and tree on a virtual clock",
    .source = "Le Duc et al., Tables 2-4",
    .run = run,
    .print = print,
};
