/* model/zoo_resnet.c - residual networks of 18, 34 and 50 layers with weights, as in torchvision,
 * whose names the layers have.
 *
 * Four stages of blocks with a shortcut around each, from the second stage on at half the side.  A
 * basic block has two 3 x 3 convolutions; a bottleneck 1 x 1, 3 x 3 (with the stride: "v1.5") and
 * 1 x 1 to four times the channels.  A shortcut between other shapes is a 1 x 1 convolution.
 */
#include "model/zoo.h"

#include <string.h>

enum { STAGES = 4 };

typedef struct resnet_kind {
    const char *name;
    size_t depth[STAGES]; /* blocks */
    bool has_bottlenecks;
} resnet_kind;

static const resnet_kind of_18 = {"resnet18", {2, 2, 2, 2}, false};
static const resnet_kind of_34 = {"resnet34", {3, 4, 6, 3}, false};
static const resnet_kind of_50 = {"resnet50", {3, 4, 6, 3}, true};

typedef struct convolution {
    size_t n_out, side, stride;
} convolution;

static const float epsilon = 1e-5f;

/* "BLOCK.PART" */
static const char *part(char into[DROVE_LAYER_NAME_SIZE], const char *block, const char *name)
{
    return drove__zoo_part(into, block, '.', name);
}

/* Reads blob `bottom`; the output is called as the block. */
static void add_block(drove_net *net, const char *block, const char *bottom, const convolution *all,
                      size_t n, bool has_shortcut)
{
    char conv[DROVE_LAYER_NAME_SIZE], norm[DROVE_LAYER_NAME_SIZE], number[32];
    const convolution *last = &all[n - 1];
    size_t stride = 1;
    for (size_t i = 0; i < n; i++) {
        snprintf(number, sizeof number, "conv%zu", i + 1);
        part(conv, block, number);
        snprintf(number, sizeof number, "bn%zu", i + 1);
        drove__zoo_normalised(net, conv, part(norm, block, number), i == 0 ? bottom : NULL,
                              &(drove_zoo_normalised){.n_out = all[i].n_out,
                                                      .side = all[i].side,
                                                      .stride = all[i].stride,
                                                      .epsilon = epsilon,
                                                      .act = i + 1 < n ? net->act : DROVEK_LINEAR});
        stride *= all[i].stride;
    }
    char shortcut[DROVE_LAYER_NAME_SIZE];
    if (has_shortcut)
        drove__zoo_normalised(
            net, part(conv, block, "downsample.0"), part(shortcut, block, "downsample.1"), bottom,
            &(drove_zoo_normalised){
                .n_out = last->n_out, .side = 1, .stride = stride, .epsilon = epsilon});
    drove__zoo_join(net, &drove__layer_sum, block, norm, has_shortcut ? shortcut : bottom)->act =
        net->act;
}

static drove_status build_resnet(const resnet_kind *kind, const drove_model_io *io, drovek_act act,
                                 drove_model *model)
{
    drove_net net;
    char block[DROVE_LAYER_NAME_SIZE], bottom[DROVE_LAYER_NAME_SIZE] = "maxpool";
    drove__zoo_begin(&net, kind->name, io, act, 1, NULL);
    drove__zoo_normalised(&net, "conv1", "bn1", NULL,
                          &(drove_zoo_normalised){
                              .n_out = 64, .side = 7, .stride = 2, .epsilon = epsilon, .act = act});
    drove_node *pool = drove__zoo_pool(&net, &drove__layer_max_pool, "maxpool", NULL, 3, 2);
    pool->opt.window.ph = pool->opt.window.pw = 1;
    pool->opt.padding.below = pool->opt.padding.right = 1;
    pool->opt.rounds_up = false;

    for (size_t s = 0; s < STAGES; s++) {
        const size_t n = (size_t)64 << s, step = s > 0 ? 2 : 1;
        for (size_t i = 0; i < kind->depth[s]; i++) {
            const size_t stride = i == 0 ? step : 1;
            const convolution basic[] = {{n, 3, stride}, {n, 3, 1}};
            const convolution bottleneck[] = {{n, 1, 1}, {n, 3, stride}, {4 * n, 1, 1}};
            snprintf(block, sizeof block, "layer%zu.%zu", s + 1, i);
            add_block(&net, block, bottom, kind->has_bottlenecks ? bottleneck : basic,
                      kind->has_bottlenecks ? 3 : 2, i == 0 && (s > 0 || kind->has_bottlenecks));
            memcpy(bottom, block, sizeof bottom);
        }
    }
    drove__zoo_pool(&net, &drove__layer_average_pool, "avgpool", NULL, 0, 0)->opt.is_global = true;
    drove__zoo_dense(&net, "fc", NULL, 0);
    return drove__zoo_finish(&net, io, model);
}

static drove_status build_18(const drove_spec *spec, const drove_model_io *io, drovek_act act,
                             drove_model *model)
{
    (void)spec;
    return build_resnet(&of_18, io, act, model);
}

static drove_status build_34(const drove_spec *spec, const drove_model_io *io, drovek_act act,
                             drove_model *model)
{
    (void)spec;
    return build_resnet(&of_34, io, act, model);
}

static drove_status build_50(const drove_spec *spec, const drove_model_io *io, drovek_act act,
                             drove_model *model)
{
    (void)spec;
    return build_resnet(&of_50, io, act, model);
}

const drove_model_ops drove__zoo_resnet18 = {
    .name = "resnet18",
    .help = "ResNet of 18 layers, basic blocks, as in torchvision, made for 224 x 224",
    .source = "He, Zhang, Ren, Sun, CVPR 2016",
    .default_rule = "momentum:0.9",
    .build = build_18,
};

const drove_model_ops drove__zoo_resnet34 = {
    .name = "resnet34",
    .help = "ResNet of 34 layers, basic blocks, as in torchvision, made for 224 x 224",
    .source = "He, Zhang, Ren, Sun, CVPR 2016",
    .default_rule = "momentum:0.9",
    .build = build_34,
};

const drove_model_ops drove__zoo_resnet50 = {
    .name = "resnet50",
    .help = "ResNet of 50 layers, bottleneck blocks, as in torchvision, made for 224 x 224",
    .source = "He, Zhang, Ren, Sun, CVPR 2016",
    .default_rule = "momentum:0.9",
    .build = build_50,
};
