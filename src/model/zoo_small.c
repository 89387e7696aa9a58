/* model/zoo_small.c - networks for small images: LeNet and Caffe's CIFAR-10 network, "quick". */
#include "model/zoo.h"

static const drove_filler xavier = {"lecun", 1.0f}; /* as defined by Caffe */

/* Caffe's LeNet: LeCun's with rectified units in the dense layer, and no activation after its
 * convolutions. */
static drove_status build_lenet(const drove_spec *spec, const drove_model_io *io, drovek_act act,
                                drove_model *model)
{
    drove_net net;
    (void)spec;
    drove__zoo_begin(&net, "lenet", io, act, 15, NULL);
    drove_node *n = drove__zoo_convolution(&net, "conv1", NULL, 20, 5, 1, 0);
    drove__zoo_fill(n, xavier, 0.0f);
    n->act = DROVEK_LINEAR;
    drove__zoo_pool(&net, &drove__layer_max_pool, "pool1", NULL, 2, 2);
    n = drove__zoo_convolution(&net, "conv2", NULL, 50, 5, 1, 0);
    drove__zoo_fill(n, xavier, 0.0f);
    n->act = DROVEK_LINEAR;
    drove__zoo_pool(&net, &drove__layer_max_pool, "pool2", NULL, 2, 2);
    drove__zoo_fill(drove__zoo_dense(&net, "ip1", NULL, 500), xavier, 0.0f);
    drove__zoo_fill(drove__zoo_dense(&net, "ip2", NULL, 0), xavier, 0.0f);
    return drove__zoo_finish(&net, io, model);
}

/* Its first activation comes after the pooling, on a quarter of the numbers. */
static drove_status build_cifar_quick(const drove_spec *spec, const drove_model_io *io,
                                      drovek_act act, drove_model *model)
{
    drove_net net;
    (void)spec;
    drove__zoo_begin(&net, "cifar-quick", io, act, 12, NULL);
    drove_node *n = drove__zoo_convolution(&net, "conv1", NULL, 32, 5, 1, 2);
    drove__zoo_fill(n, (drove_filler){"normal", 0.0001f}, 0.0f);
    n->act = DROVEK_LINEAR;
    drove__zoo_pool(&net, &drove__layer_max_pool, "pool1", NULL, 3, 2);
    drove__zoo_activation(&net, "relu1");
    n = drove__zoo_convolution(&net, "conv2", NULL, 32, 5, 1, 2);
    drove__zoo_fill(n, (drove_filler){"normal", 0.01f}, 0.0f);
    drove__zoo_pool(&net, &drove__layer_average_pool, "pool2", NULL, 3, 2);
    n = drove__zoo_convolution(&net, "conv3", NULL, 64, 5, 1, 2);
    drove__zoo_fill(n, (drove_filler){"normal", 0.01f}, 0.0f);
    drove__zoo_pool(&net, &drove__layer_average_pool, "pool3", NULL, 3, 2);
    n = drove__zoo_dense(&net, "ip1", NULL, 64);
    drove__zoo_fill(n, (drove_filler){"normal", 0.1f}, 0.0f);
    n->act = DROVEK_LINEAR;
    drove__zoo_fill(drove__zoo_dense(&net, "ip2", NULL, 0), (drove_filler){"normal", 0.1f}, 0.0f);
    return drove__zoo_finish(&net, io, model);
}

const drove_model_ops drove__zoo_lenet = {
    .name = "lenet",
    .help = "LeNet as in Caffe: 20 and 50 convolutions of 5 x 5, 500 units; images from 15 x 15",
    .source = "LeCun, Bottou, Bengio, Haffner, Proc. IEEE 1998",
    .default_rule = "momentum:0.9",
    .build = build_lenet,
};

const drove_model_ops drove__zoo_cifar_quick = {
    .name = "cifar-quick",
    .help = "Caffe's quick network for CIFAR-10: three convolutions of 5 x 5; images from 12 x 12",
    .source = "Krizhevsky, cuda-convnet, 2012; Jia et al., Caffe, ACM MM 2014",
    .default_rule = "momentum:0.9",
    .build = build_cifar_quick,
};
