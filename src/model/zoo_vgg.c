/* model/zoo_vgg.c - VGG's networks D (16 layers with weights) and E (19): 3 x 3 convolutions in
 * five stages, each followed by a 2 x 2 maximum, then three dense layers, two with dropout. */
#include "model/zoo.h"

enum { STAGES = 5 };

typedef struct vgg_kind {
    const char *name;
    size_t depth[STAGES]; /* convolutions */
} vgg_kind;

static const vgg_kind model_d = {"vgg16", {2, 2, 3, 3, 3}};
static const vgg_kind model_e = {"vgg19", {2, 2, 4, 4, 4}};

static drove_status build_vgg(const vgg_kind *kind, const drove_spec *spec,
                              const drove_model_io *io, drovek_act act, drove_model *model)
{
    static const size_t channels[STAGES] = {64, 128, 256, 512, 512};
    drove_net net;
    char name[32];
    drove_zoo_options options = {.dropout = -1.0f};
    DROVE_TRY(drove__spec_take(spec, drove__zoo_units_keys, &options));
    drove__zoo_begin(&net, kind->name, io, act, 32, &options);
    for (size_t s = 0; s < STAGES; s++) {
        for (size_t i = 0; i < kind->depth[s]; i++) {
            snprintf(name, sizeof name, "conv%zu_%zu", s + 1, i + 1);
            drove__zoo_convolution(&net, name, NULL, channels[s], 3, 1, 1);
        }
        snprintf(name, sizeof name, "pool%zu", s + 1);
        drove__zoo_pool(&net, &drove__layer_max_pool, name, NULL, 2, 2);
    }
    drove__zoo_dense(&net, "fc6", NULL, (size_t)options.units);
    drove__zoo_dropout(&net, "drop6", 0.5f);
    drove__zoo_dense(&net, "fc7", NULL, (size_t)options.units);
    drove__zoo_dropout(&net, "drop7", 0.5f);
    drove__zoo_dense(&net, "fc8", NULL, 0);
    return drove__zoo_finish(&net, io, model);
}

static drove_status build_vgg16(const drove_spec *spec, const drove_model_io *io, drovek_act act,
                                drove_model *model)
{
    return build_vgg(&model_d, spec, io, act, model);
}

static drove_status build_vgg19(const drove_spec *spec, const drove_model_io *io, drovek_act act,
                                drove_model *model)
{
    return build_vgg(&model_e, spec, io, act, model);
}

const drove_model_ops drove__zoo_vgg16 = {
    .name = "vgg16",
    .help = "VGG's model D, made for 224 x 224 (from 32 x 32), dropout 0.5",
    .source = "Simonyan, Zisserman, ICLR 2015",
    .default_rule = "momentum:0.9",
    .keys = drove__zoo_units_keys,
    .build = build_vgg16,
};

const drove_model_ops drove__zoo_vgg19 = {
    .name = "vgg19",
    .help = "VGG's model E, made for 224 x 224 (from 32 x 32), dropout 0.5",
    .source = "Simonyan, Zisserman, ICLR 2015",
    .default_rule = "momentum:0.9",
    .keys = drove__zoo_units_keys,
    .build = build_vgg19,
};
