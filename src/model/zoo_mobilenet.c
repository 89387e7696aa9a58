/* model/zoo_mobilenet.c - MobileNetV3, small and large, as in torchvision, whose names the layers
 * have.
 *
 * A row is an inverted residual: a 1 x 1 convolution to more channels, a depthwise one, in some a
 * squeeze-and-excitation block, which scales each channel by a number between 0 and 1 that comes
 * from all channels' means, and a 1 x 1 convolution to fewer channels without activation.  The
 * input is added where it has the output's shape.
 */
#include "model/zoo.h"

#include <string.h>

typedef struct row {
    size_t side, expanded, n_out;
    bool squeezes, is_hard; /* its activation is hard_swish, not that of the network */
    size_t stride;
} row;

/* Tables 1 and 2 of the paper. */
static const row large[] = {
    {3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1},
    {5, 72, 40, true, false, 2},  {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1},
    {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
    {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
    {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1},
};
static const row small[] = {
    {3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
    {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
    {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
    {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1},
};

typedef enum mobilenet_size { SMALL, LARGE } mobilenet_size;
static const struct {
    const row *row;
    size_t n_rows, n_hidden; /* units of the dense layer before the last */
} sizes[] = {[SMALL] = {small, sizeof small / sizeof small[0], 1024},
             [LARGE] = {large, sizeof large / sizeof large[0], 1280}};

static const float epsilon = 1e-3f;
enum { FIRST_CHANNELS = 16, WIDENS = 6, SQUEEZES = 4, CHANNELS_STEP = 8 };

/* The multiple of 8 that is nearest to n / 4, of two the larger one, but at least nine tenths of
 * it. */
static size_t squeezed(size_t n)
{
    const size_t wanted = n / SQUEEZES;
    size_t to = (wanted + CHANNELS_STEP / 2) / CHANNELS_STEP * CHANNELS_STEP;
    if (to < CHANNELS_STEP) to = CHANNELS_STEP;
    return 10 * to < 9 * wanted ? to + CHANNELS_STEP : to;
}

/* "MODULE.PART" */
static const char *part(char into[DROVE_LAYER_NAME_SIZE], const char *module, const char *name)
{
    return drove__zoo_part(into, module, '.', name);
}

/* MODULE.0 and MODULE.1: a convolution and its normalisation. */
static void convolve(drove_net *net, const char *module, const char *bottom,
                     drove_zoo_normalised what)
{
    char conv[DROVE_LAYER_NAME_SIZE], norm[DROVE_LAYER_NAME_SIZE];
    what.epsilon = epsilon;
    drove__zoo_normalised(net, part(conv, module, "0"), part(norm, module, "1"), bottom, &what);
}

/* Of n channels; reads the last layer. */
static void add_squeeze(drove_net *net, const char *module, const char *bottom, size_t n)
{
    char name[DROVE_LAYER_NAME_SIZE], gate[DROVE_LAYER_NAME_SIZE];
    drove__zoo_pool(net, &drove__layer_average_pool, part(name, module, "avgpool"), bottom, 0, 0)
        ->opt.is_global = true;
    drove__zoo_convolution(net, part(name, module, "fc1"), NULL, squeezed(n), 1, 1, 0);
    drove__zoo_convolution(net, part(gate, module, "fc2"), NULL, n, 1, 1, 0)->act =
        DROVEK_CURVE_hard_sigmoid;
    drove__zoo_join(net, &drove__layer_product, module, bottom, gate);
}

static const char *next_module(char module[DROVE_LAYER_NAME_SIZE], size_t number, unsigned *block)
{
    snprintf(module, DROVE_LAYER_NAME_SIZE, "features.%zu.block.%u", number, (*block)++);
    return module;
}

/* Reads blob `bottom`, of n_in channels; the output is called as in `into`. */
static void add_row(drove_net *net, const row *r, size_t number, const char *bottom, size_t n_in,
                    char into[DROVE_LAYER_NAME_SIZE])
{
    char module[DROVE_LAYER_NAME_SIZE], last[DROVE_LAYER_NAME_SIZE];
    const drovek_act act = r->is_hard ? DROVEK_CURVE_hard_swish : net->act;
    const char *from = bottom;
    unsigned block = 0;
    if (r->expanded != n_in) {
        convolve(net, next_module(module, number, &block), from,
                 (drove_zoo_normalised){.n_out = r->expanded, .side = 1, .stride = 1, .act = act});
        from = NULL;
    }
    convolve(net, next_module(module, number, &block), from,
             (drove_zoo_normalised){.n_out = r->expanded,
                                    .side = r->side,
                                    .stride = r->stride,
                                    .groups = r->expanded,
                                    .act = act});
    if (r->squeezes) {
        part(last, module, "1");
        add_squeeze(net, next_module(module, number, &block), last, r->expanded);
    }
    convolve(
        net, next_module(module, number, &block), NULL,
        (drove_zoo_normalised){.n_out = r->n_out, .side = 1, .stride = 1, .act = DROVEK_LINEAR});
    part(last, module, "1");
    if (r->stride == 1 && r->n_out == n_in) {
        snprintf(module, sizeof module, "features.%zu", number);
        drove__zoo_join(net, &drove__layer_sum, module, last, bottom);
        memcpy(into, module, sizeof module);
    } else {
        memcpy(into, last, sizeof last);
    }
}

static const char *const size_words[] = {"small", "large", NULL};
static const drove_spec_key keys[] = {
    {"size", "small", DROVE_AS_WORD(drove_zoo_options, size, size_words),
     .help = "which of the two networks"},
    DROVE_ZOO_DROPOUT,
    DROVE_SPEC_END,
};

static drove_status build_mobilenet(const drove_spec *spec, const drove_model_io *io,
                                    drovek_act act, drove_model *model)
{
    drove_net net;
    drove_zoo_options options = {.dropout = -1.0f};
    char module[DROVE_LAYER_NAME_SIZE], bottom[DROVE_LAYER_NAME_SIZE] = "features.0.1",
                                        top[DROVE_LAYER_NAME_SIZE];
    DROVE_TRY(drove__spec_take(spec, keys, &options));
    const row *r = sizes[options.size].row;
    const size_t n = sizes[options.size].n_rows;
    drove__zoo_begin(&net, "mobilenetv3", io, act, 1, &options);
    convolve(&net, "features.0", NULL,
             (drove_zoo_normalised){
                 .n_out = FIRST_CHANNELS, .side = 3, .stride = 2, .act = DROVEK_CURVE_hard_swish});
    for (size_t i = 0; i < n; i++) {
        add_row(&net, &r[i], i + 1, bottom, i > 0 ? r[i - 1].n_out : FIRST_CHANNELS, top);
        memcpy(bottom, top, sizeof bottom);
    }
    snprintf(module, sizeof module, "features.%zu", n + 1);
    convolve(&net, module, NULL,
             (drove_zoo_normalised){.n_out = WIDENS * r[n - 1].n_out,
                                    .side = 1,
                                    .stride = 1,
                                    .act = DROVEK_CURVE_hard_swish});
    drove__zoo_pool(&net, &drove__layer_average_pool, "avgpool", NULL, 0, 0)->opt.is_global = true;
    drove__zoo_dense(&net, "classifier.0", NULL, sizes[options.size].n_hidden)->act =
        DROVEK_CURVE_hard_swish;
    drove__zoo_dropout(&net, "classifier.2", 0.2f);
    drove__zoo_dense(&net, "classifier.3", NULL, 0);
    return drove__zoo_finish(&net, io, model);
}

const drove_model_ops drove__zoo_mobilenetv3 = {
    .name = "mobilenetv3",
    .help = "MobileNetV3, as in torchvision, made for 224 x 224, dropout 0.2",
    .source = "Howard et al., ICCV 2019",
    .default_rule = "momentum:0.9",
    .keys = keys,
    .build = build_mobilenet,
};
