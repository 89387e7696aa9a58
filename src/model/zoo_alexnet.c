/* model/zoo_alexnet.c - AlexNet as in Caffe's bvlc_alexnet: five convolutions, three of them in two
 * groups, local response normalisation, three dense layers, two with dropout.
 *
 * alexnet-cifar is ours: the same eight layers for images of 32 x 32.  The elastic-averaging paper
 * trains "AlexNet" on CIFAR without saying how it is adapted.  Here the first convolution is 5 x 5
 * at every pixel instead of 11 x 11 at every fourth, and --init sets the initial weights.
 */
#include "model/zoo.h"

typedef struct alexnet_kind {
    const char *name;
    size_t least_side, side, stride, pad; /* of images, and of the first convolution */
    bool fills;                           /* uses Caffe's initial values */
} alexnet_kind;

static const alexnet_kind imagenet = {"alexnet", 55, 11, 4, 0, true};
static const alexnet_kind cifar = {"alexnet-cifar", 12, 5, 1, 2, false};

static void convolve(drove_net *net, const alexnet_kind *kind, int layer, size_t n_out,
                     size_t groups, float bias)
{
    char name[] = {'c', 'o', 'n', 'v', (char)('0' + layer), '\0'};
    size_t side = layer == 1 ? kind->side : layer == 2 ? 5 : 3;
    size_t stride = layer == 1 ? kind->stride : 1;
    size_t pad = layer == 1 ? kind->pad : side / 2;
    drove_node *n = drove__zoo_convolution(net, name, NULL, n_out, side, stride, pad);
    n->opt.groups = groups;
    if (kind->fills) drove__zoo_fill(n, (drove_filler){"normal", 0.01f}, bias);
}

static void connect(drove_net *net, const alexnet_kind *kind, const char *name, size_t n_out,
                    float deviation, float bias)
{
    drove_node *n = drove__zoo_dense(net, name, NULL, n_out);
    if (kind->fills) drove__zoo_fill(n, (drove_filler){"normal", deviation}, bias);
}

static drove_status build_alexnet(const alexnet_kind *kind, const drove_spec *spec,
                                  const drove_model_io *io, drovek_act act, drove_model *model)
{
    drove_net net;
    drove_zoo_options options = {.dropout = -1.0f};
    DROVE_TRY(drove__spec_take(spec, drove__zoo_units_keys, &options));
    drove__zoo_begin(&net, kind->name, io, act, kind->least_side, &options);
    convolve(&net, kind, 1, 96, 1, 0.0f);
    drove__zoo_lrn(&net, "norm1", 5, 0.0001f, 0.75f);
    drove__zoo_pool(&net, &drove__layer_max_pool, "pool1", NULL, 3, 2);
    convolve(&net, kind, 2, 256, 2, 0.1f);
    drove__zoo_lrn(&net, "norm2", 5, 0.0001f, 0.75f);
    drove__zoo_pool(&net, &drove__layer_max_pool, "pool2", NULL, 3, 2);
    convolve(&net, kind, 3, 384, 1, 0.0f);
    convolve(&net, kind, 4, 384, 2, 0.1f);
    convolve(&net, kind, 5, 256, 2, 0.1f);
    drove__zoo_pool(&net, &drove__layer_max_pool, "pool5", NULL, 3, 2);
    connect(&net, kind, "fc6", (size_t)options.units, 0.005f, 0.1f);
    drove__zoo_dropout(&net, "drop6", 0.5f);
    connect(&net, kind, "fc7", (size_t)options.units, 0.005f, 0.1f);
    drove__zoo_dropout(&net, "drop7", 0.5f);
    connect(&net, kind, "fc8", 0, 0.01f, 0.0f);
    return drove__zoo_finish(&net, io, model);
}

static drove_status build_imagenet(const drove_spec *spec, const drove_model_io *io, drovek_act act,
                                   drove_model *model)
{
    return build_alexnet(&imagenet, spec, io, act, model);
}

static drove_status build_cifar(const drove_spec *spec, const drove_model_io *io, drovek_act act,
                                drove_model *model)
{
    return build_alexnet(&cifar, spec, io, act, model);
}

const drove_model_ops drove__zoo_alexnet = {
    .name = "alexnet",
    .help = "AlexNet as in Caffe, made for 227 x 227 (from 55 x 55), dropout 0.5",
    .source = "Krizhevsky, Sutskever, Hinton, NIPS 2012",
    .default_rule = "momentum:0.9",
    .keys = drove__zoo_units_keys,
    .build = build_imagenet,
};

const drove_model_ops drove__zoo_alexnet_cifar = {
    .name = "alexnet-cifar",
    .help = "AlexNet's eight layers for images of 32 x 32 (from 12 x 12)",
    .source = "after Krizhevsky, Sutskever, Hinton, NIPS 2012",
    .default_rule = "momentum:0.9",
    .keys = drove__zoo_units_keys,
    .build = build_cifar,
};
