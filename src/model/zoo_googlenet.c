/* model/zoo_googlenet.c - GoogLeNet, the first Inception network, as in Caffe's bvlc_googlenet.
 *
 * Nine inception modules, each with four parallel branches: 1 x 1; 3 x 3 and 5 x 5, each after a
 * reduction of channels; a 3 x 3 maximum and 1 x 1.  Auxiliary heads follow modules 4a and 4d;
 * their losses count 0.3 in training.
 */
#include "model/zoo.h"

static const drove_filler xavier = {"lecun", 1.0f}; /* as defined by Caffe */
static const float conv_bias = 0.2f;

typedef struct inception {
    const char *name;
    size_t one, three_reduce, three, five_reduce, five, pool; /* channels */
} inception;

static const inception module_3a = {"inception_3a", 64, 96, 128, 16, 32, 32};
static const inception module_3b = {"inception_3b", 128, 128, 192, 32, 96, 64};
static const inception module_4a = {"inception_4a", 192, 96, 208, 16, 48, 64};
static const inception module_4b = {"inception_4b", 160, 112, 224, 24, 64, 64};
static const inception module_4c = {"inception_4c", 128, 128, 256, 24, 64, 64};
static const inception module_4d = {"inception_4d", 112, 144, 288, 32, 64, 64};
static const inception module_4e = {"inception_4e", 256, 160, 320, 32, 128, 128};
static const inception module_5a = {"inception_5a", 256, 160, 320, 32, 128, 128};
static const inception module_5b = {"inception_5b", 384, 192, 384, 48, 128, 128};

/* "MODULE/PART" */
static const char *part(char into[DROVE_LAYER_NAME_SIZE], const char *module, const char *name)
{
    return drove__zoo_part(into, module, '/', name);
}

static void convolve(drove_net *net, const char *name, const char *bottom, size_t n_out,
                     size_t side, size_t stride)
{
    drove_node *n = drove__zoo_convolution(net, name, bottom, n_out, side, stride, side / 2);
    drove__zoo_fill(n, xavier, conv_bias);
}

/* Reads blob *bottom and sets *bottom to the output's name, stored in `into`. */
static void add_module(drove_net *net, const inception *m, const char **bottom,
                       char into[DROVE_LAYER_NAME_SIZE])
{
    static const char *const ends[] = {"1x1", "3x3", "5x5", "pool_proj"};
    char name[DROVE_LAYER_NAME_SIZE];
    convolve(net, part(name, m->name, "1x1"), *bottom, m->one, 1, 1);
    convolve(net, part(name, m->name, "3x3_reduce"), *bottom, m->three_reduce, 1, 1);
    convolve(net, part(name, m->name, "3x3"), NULL, m->three, 3, 1);
    convolve(net, part(name, m->name, "5x5_reduce"), *bottom, m->five_reduce, 1, 1);
    convolve(net, part(name, m->name, "5x5"), NULL, m->five, 5, 1);
    drove_node *pool =
        drove__zoo_pool(net, &drove__layer_max_pool, part(name, m->name, "pool"), *bottom, 3, 1);
    pool->opt.window.ph = pool->opt.window.pw = 1;
    pool->opt.padding.below = pool->opt.padding.right = 1;
    convolve(net, part(name, m->name, "pool_proj"), NULL, m->pool, 1, 1);
    drove_node *joined =
        drove__zoo_add(net, &drove__layer_concat, part(name, m->name, "output"), NULL);
    for (joined->n_bottoms = 0; joined->n_bottoms < 4; joined->n_bottoms++)
        part(joined->bottom[joined->n_bottoms], m->name, ends[joined->n_bottoms]);
    *bottom = part(into, m->name, "output");
}

/* An auxiliary head, or nothing. */
static void add_head(drove_net *net, const char *head, const char *bottom, bool wanted)
{
    char name[DROVE_LAYER_NAME_SIZE];
    if (!wanted) return;
    drove__zoo_pool(net, &drove__layer_average_pool, part(name, head, "ave_pool"), bottom, 5, 3);
    convolve(net, part(name, head, "conv"), NULL, 128, 1, 1);
    drove__zoo_fill(drove__zoo_dense(net, part(name, head, "fc"), NULL, 1024), xavier, conv_bias);
    drove__zoo_dropout(net, part(name, head, "drop_fc"), 0.7f);
    drove__zoo_fill(drove__zoo_dense(net, part(name, head, "classifier"), NULL, 0), xavier, 0.0f);
    drove__zoo_head(net, name, 0.3f);
}

static const drove_spec_key keys[] = {
    DROVE_ZOO_DROPOUT,
    {"auxiliary", "1", DROVE_AS_BIT(drove_zoo_options, has_auxiliary),
     .help = "two more heads while it is trained"},
    DROVE_SPEC_END,
};

static drove_status build_googlenet(const drove_spec *spec, const drove_model_io *io,
                                    drovek_act act, drove_model *model)
{
    drove_net net;
    drove_zoo_options options = {.dropout = -1.0f};
    DROVE_TRY(drove__spec_take(spec, keys, &options));
    drove__zoo_begin(&net, "googlenet", io, act, 79, &options);
    convolve(&net, "conv1/7x7_s2", NULL, 64, 7, 2);
    drove__zoo_pool(&net, &drove__layer_max_pool, "pool1/3x3_s2", NULL, 3, 2);
    drove__zoo_lrn(&net, "pool1/norm1", 5, 0.0001f, 0.75f);
    convolve(&net, "conv2/3x3_reduce", NULL, 64, 1, 1);
    convolve(&net, "conv2/3x3", NULL, 192, 3, 1);
    drove__zoo_lrn(&net, "conv2/norm2", 5, 0.0001f, 0.75f);
    drove__zoo_pool(&net, &drove__layer_max_pool, "pool2/3x3_s2", NULL, 3, 2);
    char into[DROVE_LAYER_NAME_SIZE];
    const char *bottom = "pool2/3x3_s2";
    add_module(&net, &module_3a, &bottom, into);
    add_module(&net, &module_3b, &bottom, into);
    drove__zoo_pool(&net, &drove__layer_max_pool, bottom = "pool3/3x3_s2", NULL, 3, 2);
    add_module(&net, &module_4a, &bottom, into);
    add_head(&net, "loss1", bottom, options.has_auxiliary);
    add_module(&net, &module_4b, &bottom, into);
    add_module(&net, &module_4c, &bottom, into);
    add_module(&net, &module_4d, &bottom, into);
    add_head(&net, "loss2", bottom, options.has_auxiliary);
    add_module(&net, &module_4e, &bottom, into);
    drove__zoo_pool(&net, &drove__layer_max_pool, bottom = "pool4/3x3_s2", NULL, 3, 2);
    add_module(&net, &module_5a, &bottom, into);
    add_module(&net, &module_5b, &bottom, into);
    /* 7 x 7 for images of 224 x 224 */
    drove__zoo_pool(&net, &drove__layer_average_pool, "pool5/7x7_s1", NULL, 0, 0)->opt.is_global =
        true;
    drove__zoo_dropout(&net, "pool5/drop_7x7_s1", 0.4f);
    drove__zoo_fill(drove__zoo_dense(&net, "loss3/classifier", NULL, 0), xavier, 0.0f);
    drove__zoo_head(&net, "loss3/classifier", 1.0f);
    return drove__zoo_finish(&net, io, model);
}

const drove_model_ops drove__zoo_googlenet = {
    .name = "googlenet",
    .help = "GoogLeNet v1 with two auxiliary heads, made for 224 x 224 (from 79 x 79), dropout 0.4",
    .source = "Szegedy et al., CVPR 2015",
    .default_rule = "momentum:0.9",
    .keys = keys,
    .build = build_googlenet,
};
