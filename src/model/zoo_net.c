/* model/zoo_net.c - builds the zoo's networks layer by layer. */
#include "model/zoo.h"

#include <string.h>

/* Keeps the first failure. */
static void keep(drove_net *net, drove_status status)
{
    if (status == DROVE_OK || net->status != DROVE_OK) return;
    net->status = status;
    drove__error_copy(net->error);
}

const drove_spec_key drove__zoo_units_keys[] = {
    DROVE_ZOO_DROPOUT,
    {"units", "4096", DROVE_AS_COUNT(drove_zoo_options, units, 1, 1 << 20),
     .help = "of each dense layer but the last"},
    DROVE_SPEC_END,
};

void drove__zoo_begin(drove_net *net, const char *name, const drove_model_io *io, drovek_act act,
                      size_t least_side, const drove_zoo_options *options)
{
    *net = (drove_net){.act = act, .dropout = options != NULL ? options->dropout : -1.0f};
    drove__graph_init(&net->graph, name);
    bool is_image = drove__shape_floats(io->image) != 0;
    if (!is_image || (io->image.h >= least_side && io->image.w >= least_side)) return;
    keep(net, drove__fail(DROVE_E_SHAPE,
                          "model %s: expected images of at least %zu x %zu, found %zu x %zu", name,
                          least_side, least_side, io->image.h, io->image.w));
}

drove_status drove__zoo_finish(drove_net *net, const drove_model_io *io, drove_model *model)
{
    if (net->status == DROVE_OK) keep(net, drove__graph_split_curves(&net->graph));
    drove_status status = net->status != DROVE_OK ? drove__fail(net->status, "%s", net->error)
                                                  : drove__graph_build(&net->graph, io, model);
    drove__graph_fini(&net->graph);
    return status;
}

const char *drove__zoo_part(char into[DROVE_LAYER_NAME_SIZE], const char *module, char between,
                            const char *part)
{
    snprintf(into, DROVE_LAYER_NAME_SIZE, "%s%c%s", module, between, part);
    return into;
}

drove_node *drove__zoo_add(drove_net *net, const drove_layer_ops *ops, const char *name,
                           const char *bottom)
{
    drove_node *node = &net->spare;
    if (net->status == DROVE_OK) keep(net, drove__graph_add(&net->graph, ops, name, bottom, &node));
    return node;
}

static drovek_window square(size_t side, size_t stride, size_t pad)
{
    return (drovek_window){
        .kh = side, .kw = side, .sh = stride, .sw = stride, .ph = pad, .pw = pad, .dh = 1, .dw = 1};
}

drove_node *drove__zoo_convolution(drove_net *net, const char *name, const char *bottom,
                                   size_t n_out, size_t side, size_t stride, size_t pad)
{
    drove_node *node = drove__zoo_add(net, &drove__layer_convolution, name, bottom);
    node->opt.n_out = n_out;
    node->opt.window = square(side, stride, pad);
    node->opt.padding.below = node->opt.padding.right = pad;
    node->act = net->act;
    return node;
}

void drove__zoo_normalised(drove_net *net, const char *convolution, const char *norm,
                           const char *bottom, const drove_zoo_normalised *what)
{
    drove_node *node = drove__zoo_convolution(net, convolution, bottom, what->n_out, what->side,
                                              what->stride, what->side / 2);
    node->act = DROVEK_LINEAR;
    node->opt.no_bias = true;
    node->opt.groups = what->groups;
    node = drove__zoo_add(net, &drove__layer_batch_norm, norm, NULL);
    node->opt.epsilon = what->epsilon;
    node->act = what->act;
}

drove_node *drove__zoo_join(drove_net *net, const drove_layer_ops *ops, const char *name,
                            const char *one, const char *other)
{
    drove_node *node = drove__zoo_add(net, ops, name, one);
    node->n_bottoms = 2;
    snprintf(node->bottom[1], sizeof node->bottom[1], "%s", other);
    return node;
}

drove_node *drove__zoo_pool(drove_net *net, const drove_layer_ops *ops, const char *name,
                            const char *bottom, size_t side, size_t stride)
{
    drove_node *node = drove__zoo_add(net, ops, name, bottom);
    node->opt.window = square(side, stride, 0);
    node->opt.rounds_up = true;
    return node;
}

drove_node *drove__zoo_dense(drove_net *net, const char *name, const char *bottom, size_t n_out)
{
    drove_node *node = drove__zoo_add(net, &drove__layer_dense, name, bottom);
    node->opt.n_out = n_out;
    node->act = n_out > 0 ? net->act : DROVEK_LINEAR;
    return node;
}

void drove__zoo_lrn(drove_net *net, const char *name, size_t size, float alpha, float beta)
{
    drove_node *node = drove__zoo_add(net, &drove__layer_lrn, name, NULL);
    node->opt.lrn = (drove_lrn){.size = size, .alpha = alpha, .beta = beta, .kappa = 1.0f};
}

void drove__zoo_dropout(drove_net *net, const char *name, float ratio)
{
    if (net->dropout >= 0.0f) ratio = net->dropout;
    if (ratio > 0.0f) drove__zoo_add(net, &drove__layer_dropout, name, NULL)->opt.ratio = ratio;
}

void drove__zoo_activation(drove_net *net, const char *name)
{
    drove__zoo_add(net, &drove__layer_activation, name, NULL)->act = net->act;
}

void drove__zoo_head(drove_net *net, const char *bottom, float weight)
{
    drove_graph_head *head = &net->graph.head[net->graph.n_heads++];
    *head = (drove_graph_head){.weight = weight};
    snprintf(head->bottom, sizeof head->bottom, "%s", bottom);
}
