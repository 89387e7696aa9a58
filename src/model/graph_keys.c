/* model/graph_keys.c - the table of keys, the kinds of layers, defaults and names. */
#include "model/graph_keys.h"

#include "model/custom.h"
#include "model/support.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

enum { MOST_SIDE = 1 << 16, MOST_CHANNELS = 1 << 24 };

enum {
    DENSE = 1 << 0,
    CONVOLUTION = 1 << 1,
    MAX_POOL = 1 << 2,
    AVERAGE_POOL = 1 << 3,
    LRN = 1 << 4,
    DROPOUT = 1 << 5,
    BATCH_NORM = 1 << 6,
    SUM = 1 << 7,
    CUSTOM = 1 << 8,
    RESHAPE = 1 << 9,
    SCALE = 1 << 10,
    NORMALIZE = 1 << 11,
    CLIP = 1 << 12,
    ACTIVATION = 1 << 13,
    LAYER_NORM = 1 << 14,
    PRELU = 1 << 15,
    GATHER = 1 << 16,
    NORM = BATCH_NORM | LAYER_NORM,
    POOL = MAX_POOL | AVERAGE_POOL,
    WEIGHTED = DENSE | CONVOLUTION,
    PARAMETERS = WEIGHTED | NORM | PRELU | CUSTOM
};

#define AT(field) offsetof(drove_layer_options, field), 0
#define PAIR_AT(y, x)                                                                              \
    offsetof(drove_layer_options, window) + offsetof(drovek_window, y),                            \
        offsetof(drove_layer_options, window) + offsetof(drovek_window, x)

const drove_graph_key drove__graph_keys[] = {
    {"channels", DROVE_KEY_COUNT, AT(n_out), 1, MOST_CHANNELS, CONVOLUTION | RESHAPE},
    {"height", DROVE_KEY_COUNT, AT(sides.height), 1, MOST_SIDE, RESHAPE},
    {"width", DROVE_KEY_COUNT, AT(sides.width), 1, MOST_SIDE, RESHAPE},
    {"channels_last", DROVE_KEY_FLAG, AT(sides.is_last), 0, 0, RESHAPE},
    {"slopes", DROVE_KEY_COUNT, AT(n_out), 1, MOST_CHANNELS, PRELU},
    {"units", DROVE_KEY_COUNT, AT(n_out), 1, MOST_CHANNELS, DENSE | CUSTOM},
    {"kernel", DROVE_KEY_PAIR, PAIR_AT(kh, kw), 1, MOST_SIDE, CONVOLUTION | POOL},
    {"stride", DROVE_KEY_PAIR, PAIR_AT(sh, sw), 1, MOST_SIDE, CONVOLUTION | POOL},
    {"pad", DROVE_KEY_SIDES, PAIR_AT(ph, pw), 0, MOST_SIDE, CONVOLUTION | POOL},
    {"dilation", DROVE_KEY_PAIR, PAIR_AT(dh, dw), 1, MOST_SIDE, CONVOLUTION},
    {"groups", DROVE_KEY_COUNT, AT(groups), 1, MOST_CHANNELS, CONVOLUTION},
    {"bias", DROVE_KEY_NO, AT(no_bias), 0, 0, WEIGHTED},
    {"global", DROVE_KEY_FLAG, AT(is_global), 0, 0, POOL},
    {"rounds_up", DROVE_KEY_FLAG, AT(rounds_up), 0, 0, POOL},
    {"counts_pad", DROVE_KEY_NO, AT(padding.is_uncounted), 0, 0, AVERAGE_POOL},
    {"size", DROVE_KEY_COUNT, AT(lrn.size), 1, MOST_SIDE, LRN},
    {"alpha", DROVE_KEY_REAL, AT(lrn.alpha), 0, 1e6, LRN},
    {"beta", DROVE_KEY_REAL, AT(lrn.beta), 0, 100, LRN},
    {"kappa", DROVE_KEY_REAL, AT(lrn.kappa), 1e-6, 1e6, LRN},
    {"ratio", DROVE_KEY_REAL, AT(ratio), 0, 0.99, DROPOUT},
    {"epsilon", DROVE_KEY_REAL, AT(epsilon), 1e-12, 1, NORM},
    {"over_channels", DROVE_KEY_FLAG, AT(over.channels), 0, 0, LAYER_NORM},
    {"over_height", DROVE_KEY_FLAG, AT(over.height), 0, 0, LAYER_NORM},
    {"over_width", DROVE_KEY_FLAG, AT(over.width), 0, 0, LAYER_NORM},
    {"coefficients", DROVE_KEY_REALS, AT(coefficient), -1e6, 1e6, SUM},
    {"weight_init", DROVE_KEY_FILLER, AT(w_filler), 0, 0, WEIGHTED | PRELU},
    {"bias_init", DROVE_KEY_FILLER, AT(b_filler), 0, 0, WEIGHTED},
    {"weight_lr", DROVE_KEY_RATE, AT(w_lr), 0, 1e6, PARAMETERS},
    {"bias_lr", DROVE_KEY_RATE, AT(b_lr), 0, 1e6, WEIGHTED | NORM},
    {"offsets", DROVE_KEY_LIST, AT(offset), -FLT_MAX, FLT_MAX, SCALE},
    {"factors", DROVE_KEY_LIST, AT(factor), -FLT_MAX, FLT_MAX, SCALE},
    {"low", DROVE_KEY_REAL, AT(bounds.low), -FLT_MAX, FLT_MAX, CLIP},
    {"high", DROVE_KEY_REAL, AT(bounds.high), -FLT_MAX, FLT_MAX, CLIP},
    {"slope", DROVE_KEY_REAL, AT(slope), -1e6, 1e6, ACTIVATION},
    {"level", DROVE_KEY_REAL, AT(level), -1e6, 1e6, ACTIVATION},
    {"power", DROVE_KEY_COUNT, AT(power), 1, 2, NORMALIZE},
    {"index", DROVE_KEY_INDICES, AT(index), 0, UINT32_MAX, GATHER},
    {NULL, DROVE_KEY_COUNT, 0, 0, 0, 0, 0},
};

/* Kinds of layers that have keys, and the defaults of those that differ from zero. */
static const struct {
    const drove_layer_ops *ops;
    unsigned bit;
    drove_layer_options defaults;
} keyed[] = {
    {.ops = &drove__layer_dense, .bit = DENSE},
    {.ops = &drove__layer_convolution, .bit = CONVOLUTION},
    {.ops = &drove__layer_max_pool, .bit = MAX_POOL},
    {.ops = &drove__layer_average_pool, .bit = AVERAGE_POOL},
    /* AlexNet's, except kappa, which is 2 there and 1 in Caffe */
    {.ops = &drove__layer_lrn,
     .bit = LRN,
     .defaults.lrn = {.size = 5, .alpha = 0.0001f, .beta = 0.75f, .kappa = 1.0f}},
    {.ops = &drove__layer_dropout, .bit = DROPOUT, .defaults.ratio = 0.5f},
    {.ops = &drove__layer_sum, .bit = SUM}, /* coefficients are 1 */
    {.ops = &drove__layer_batch_norm, .bit = BATCH_NORM, .defaults.epsilon = 1e-5f},
    {.ops = &drove__layer_reshape, .bit = RESHAPE, .defaults.sides = {.height = 1, .width = 1}},
    {.ops = &drove__layer_layer_norm,
     .bit = LAYER_NORM,
     .defaults = {.epsilon = 1e-5f, .over = {true, true, true}}},
    {.ops = &drove__layer_prelu, .bit = PRELU, .defaults.w_filler = {"constant", 0.25f}},
    {.ops = &drove__layer_scale, .bit = SCALE},
    {.ops = &drove__layer_clip, .bit = CLIP, .defaults.bounds = {.low = -FLT_MAX, .high = FLT_MAX}},
    {.ops = &drove__layer_activation,
     .bit = ACTIVATION,
     .defaults = {.slope = DROVE_ACT_OWN, .level = DROVE_ACT_OWN}},
    {.ops = &drove__layer_normalize, .bit = NORMALIZE, .defaults.power = 2},
    {.ops = &drove__layer_gather, .bit = GATHER},
};

unsigned drove__graph_kind_bit(const drove_layer_ops *ops)
{
    if (ops->custom != NULL) return CUSTOM;
    for (size_t i = 0; i < sizeof keyed / sizeof keyed[0]; i++) {
        if (keyed[i].ops == ops) return keyed[i].bit;
    }
    return 0;
}

bool drove__graph_has_parameters(const drove_layer_ops *ops)
{
    return (drove__graph_kind_bit(ops) & PARAMETERS) != 0;
}

drove_layer_options drove__graph_default_options(const drove_layer_ops *ops)
{
    drove_layer_options o = {0};
    for (size_t i = 0; i < sizeof keyed / sizeof keyed[0]; i++) {
        if (keyed[i].ops == ops) o = keyed[i].defaults;
    }
    o.groups = 1;
    o.w_lr = o.b_lr = 1;
    o.window = (drovek_window){.kh = 1, .kw = 1, .sh = 1, .sw = 1, .dh = 1, .dw = 1};
    if (ops == &drove__layer_sum)
        for (int b = 0; b < DROVE_LAYER_MOST_BOTTOMS; b++) o.coefficient[b] = 1.0f;
    return o;
}

/* ---- words ---- */

drove_status drove__graph_take_name(const char *text, char into[DROVE_LAYER_NAME_SIZE])
{
    size_t n = strlen(text);
    bool is_plain = n > 0 && n < DROVE_LAYER_NAME_SIZE;
    for (const char *c = text; *c != '\0'; c++)
        is_plain = is_plain && *c > ' ' && *c < 0x7f && *c != '"' && *c != '\\';
    if (!is_plain) {
        return drove__fail(DROVE_E_ARG,
                           "expected a name of 1 to %d ASCII characters without blanks, quotation "
                           "marks and backslashes, found \"%.80s\"",
                           DROVE_LAYER_NAME_SIZE - 1, text);
    }
    memcpy(into, text, n + 1);
    return DROVE_OK;
}

drove_status drove__graph_find_kind(const char *word, const drove_kinds *kinds,
                                    const drove_layer_ops **out)
{
    const char *names[DROVE_MODEL_MAX_NAMES];
    size_t n = 0;
    for (; drove__layer_kinds[n] != NULL; n++) {
        names[n] = drove__layer_kinds[n]->name;
        if (strcmp(names[n], word) != 0) continue;
        *out = drove__layer_kinds[n];
        return DROVE_OK;
    }
    for (unsigned i = 0; kinds != NULL && i < kinds->given.n_layers; i++) {
        names[n] = kinds->layer[i].name;
        if (strcmp(names[n++], word) != 0) continue;
        *out = &kinds->layer[i];
        return DROVE_OK;
    }
    return drove__fail_unknown("type of layer", word, names, n);
}

drove_status drove__graph_find_act(const char *word, drovek_act *out)
{
    const char *names[DROVE_MODEL_MAX_NAMES] = {"linear"};
    size_t n = 1;
    *out = DROVEK_LINEAR;
    if (strcmp(word, "linear") == 0) return DROVE_OK;
    for (const drove_activation *a = drove__activations; a->name != NULL; a++) {
        names[n++] = a->name;
        if (strcmp(a->name, word) != 0) continue;
        *out = a->act;
        return DROVE_OK;
    }
    return drove__fail_unknown("activation", word, names, n);
}

const char *drove__graph_act_name(drovek_act act)
{
    return act != DROVEK_LINEAR ? drove__activation(act)->name : "linear";
}

drove_status drove__graph_read_filler(const char *text, drove_filler *out)
{
    const char *names[DROVE_MODEL_MAX_NAMES] = {"constant"};
    size_t n = 1, length = strcspn(text, ":");
    char word[32];
    double value;
    for (size_t i = 0; drove__inits[i] != NULL; i++) names[n++] = drove__inits[i]->name;
    snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : 31, text);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], word) != 0) continue;
        bool is_constant = i == 0;
        value = is_constant ? 0.0 : strcmp(word, "normal") == 0 ? 0.01 : 1.0;
        if (text[length] == ':') {
            DROVE_TRY(
                drove__parse_real(word, text + length + 1, is_constant ? -1e6 : 0.0, 1e6, &value));
        }
        *out = (drove_filler){names[i], (float)value};
        return DROVE_OK;
    }
    return drove__fail_unknown("initialisation", word, names, n);
}
