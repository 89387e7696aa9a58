/* model/prototxt_layers.c - the types of Caffe's layers that can be imported: converts each type's
 * message to options.  Fields that no function here reads are refused as unknown. */
#include "model/prototxt.h"

#include <float.h>
#include <stdarg.h>
#include <string.h>

enum { MOST_CHANNELS = 1 << 24, MOST_SIDE = 1 << 16 };

drove_status drove__caffe_fail(const drove_caffe *c, const drove_caffe_layer *l, const char *format,
                               ...)
{
    char text[DROVE_ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return drove__prototext_fail(&c->tree, l->line, "layer \"%s\": %s", l->name, text);
}

/* ---- parts of messages ---- */

/* A field that must have this one value if it exists: others are not supported. */
static drove_status only(const drove_caffe *c, const drove_message *m, const char *name,
                         const char *const *allowed)
{
    const char *value = NULL;
    DROVE_TRY(drove__prototext_text(&c->tree, m, name, &value));
    if (value == NULL) return DROVE_OK;
    for (size_t i = 0; allowed[i] != NULL; i++) {
        if (strcmp(allowed[i], value) == 0) return DROVE_OK;
    }
    return drove__prototext_fail(&c->tree, drove__prototext_next(&c->tree, m, name, NULL)->line,
                                 "%s: expected %s, found \"%.60s\"", name, allowed[0], value);
}

/* Skips the choice of Caffe's implementation: here the fastest is measured. */
static drove_status skip_engine(const drove_caffe *c, const drove_message *m)
{
    static const char *const engines[] = {"DEFAULT", "CAFFE", "CUDNN", "0", "1", "2", NULL};
    return only(c, m, "engine", engines);
}

/* Reads sides: name: n, or twice, or name_h and name_w. */
static drove_status read_sides(const drove_caffe *c, const drove_message *m, const char *name,
                               const char *name_h, const char *name_w, size_t least, size_t *h,
                               size_t *w)
{
    const drove_prototext *t = &c->tree;
    drove_prototext_field *f = drove__prototext_next(t, m, name, NULL), *second = NULL;
    if (f != NULL) {
        DROVE_TRY(drove__prototext_take_count(t, f, least, MOST_SIDE, h));
        second = drove__prototext_next(t, m, name, f);
        *w = *h;
    }
    if (second != NULL) {
        DROVE_TRY(drove__prototext_take_count(t, second, least, MOST_SIDE, w));
        drove_prototext_field *third = drove__prototext_next(t, m, name, second);
        if (third != NULL)
            return drove__prototext_fail(t, third->line, "%s: expected one or two, found more",
                                         name);
    }
    if (name_h == NULL) return DROVE_OK;
    DROVE_TRY(drove__prototext_count(t, m, name_h, least, MOST_SIDE, h));
    return drove__prototext_count(t, m, name_w, least, MOST_SIDE, w);
}

/* Caffe's xavier is uniform with variance 1 / fan_in: LeCun's; with variance_norm: AVERAGE it is
 * Glorot's.  Its msra is He's. */
static drove_status read_filler(const drove_caffe *c, const drove_message *parent, const char *name,
                                drove_filler *out)
{
    static const char *const zero[] = {"0", "0.0", NULL};
    static const char *const norms[] = {"FAN_IN", "AVERAGE", "0", "2", NULL};
    enum { CONSTANT, GAUSSIAN, XAVIER };
    static const struct {
        const char *caffe, *here;
    } words[] = {[CONSTANT] = {"constant", "constant"},
                 [GAUSSIAN] = {"gaussian", "normal"},
                 [XAVIER] = {"xavier", "lecun"},
                 {"msra", "he"}};
    const drove_prototext *t = &c->tree;
    drove_message *m = NULL;
    const char *type = "constant", *norm = "FAN_IN";
    float value = 0.0f, deviation = 1.0f;
    DROVE_TRY(drove__prototext_message(t, parent, name, &m));
    if (m == NULL) return DROVE_OK;
    DROVE_TRY(drove__prototext_text(t, m, "type", &type));
    DROVE_TRY(drove__prototext_real(t, m, "value", -1e6, 1e6, &value));
    DROVE_TRY(drove__prototext_real(t, m, "std", 0, 1e6, &deviation));
    DROVE_TRY(only(c, m, "mean", zero));
    DROVE_TRY(only(c, m, "variance_norm", norms));
    DROVE_TRY(drove__prototext_text(t, m, "variance_norm", &norm));
    bool is_average = norm[0] == 'A' || norm[0] == '2';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].caffe, type) != 0) continue;
        DROVE_TRY(drove__graph_read_filler(words[i].here, out));
        if (i == CONSTANT) out->value = value;
        if (i == GAUSSIAN) out->value = deviation;
        if (i == XAVIER && is_average) return drove__graph_read_filler("xavier", out);
        return DROVE_OK;
    }
    return drove__prototext_fail(t, m->line,
                                 "%s: expected type constant, gaussian, xavier or msra, found "
                                 "\"%.60s\"",
                                 name, type);
}

static drove_status read_rates(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    const drove_prototext *t = &c->tree;
    float *const to[2] = {&node->opt.w_lr, &node->opt.b_lr};
    float lr[2] = {1, 1}, decay[2] = {1, 1};
    unsigned n = 0;
    for (drove_prototext_field *f = NULL;
         (f = drove__prototext_next(t, l->message, "param", f)) != NULL; n++) {
        if (n == 2 || f->value != NULL)
            return drove__prototext_fail(t, f->line, "param: expected one or two messages");
        DROVE_TRY(drove__prototext_real(t, f, "lr_mult", 0, 1e6, &lr[n]));
        DROVE_TRY(drove__prototext_real(t, f, "decay_mult", 0, 1e6, &decay[n]));
    }
    n = 0;
    for (drove_prototext_field *f = NULL;
         (f = drove__prototext_next(t, l->message, "blobs_lr", f)) != NULL && n < 2; n++)
        DROVE_TRY(drove__prototext_take_real(t, f, 0, 1e6, &lr[n]));
    n = 0;
    for (drove_prototext_field *f = NULL;
         (f = drove__prototext_next(t, l->message, "weight_decay", f)) != NULL && n < 2; n++)
        DROVE_TRY(drove__prototext_take_real(t, f, 0, 1e6, &decay[n]));
    for (unsigned i = 0; i < 2; i++) {
        *to[i] = lr[i] > 0.0f ? lr[i] : DROVE_LR_NONE;
        if (lr[i] != 1.0f && lr[i] != 0.0f) c->notes |= DROVE_NOTE_LR;
        if (decay[i] != 1.0f) c->notes |= DROVE_NOTE_DECAY;
    }
    return DROVE_OK;
}

/* The type's own message, or NULL. */
static drove_status own_message(const drove_caffe *c, const drove_caffe_layer *l, const char *name,
                                drove_message **out)
{
    *out = NULL;
    return drove__prototext_message(&c->tree, l->message, name, out);
}

/* A required message. */
static drove_status need_message(const drove_caffe *c, const drove_caffe_layer *l, const char *name,
                                 drove_message **out)
{
    DROVE_TRY(own_message(c, l, name, out));
    return *out != NULL ? DROVE_OK : drove__caffe_fail(c, l, "expected %s, found none", name);
}

static const char *const axis_1[] = {"1", NULL};

/* num_output, bias_term, fillers, rates. */
static drove_status read_weighted(drove_caffe *c, const drove_caffe_layer *l,
                                  const drove_message *m, drove_node *node)
{
    bool has_bias = true;
    DROVE_TRY(
        drove__prototext_count(&c->tree, m, "num_output", 1, MOST_CHANNELS, &node->opt.n_out));
    if (node->opt.n_out == 0) return drove__caffe_fail(c, l, "expected num_output, found none");
    DROVE_TRY(drove__prototext_flag(&c->tree, m, "bias_term", &has_bias));
    node->opt.no_bias = !has_bias;
    DROVE_TRY(read_filler(c, m, "weight_filler", &node->opt.w_filler));
    DROVE_TRY(read_filler(c, m, "bias_filler", &node->opt.b_filler));
    DROVE_TRY(only(c, m, "axis", axis_1));
    return read_rates(c, l, node);
}

/* ---- types ---- */

static drove_status read_convolution(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    drovek_window *v = &node->opt.window;
    drove_message *m;
    DROVE_TRY(need_message(c, l, "convolution_param", &m));
    DROVE_TRY(read_weighted(c, l, m, node));
    v->kh = v->kw = 0;
    DROVE_TRY(read_sides(c, m, "kernel_size", "kernel_h", "kernel_w", 1, &v->kh, &v->kw));
    if (v->kh == 0 || v->kw == 0) return drove__caffe_fail(c, l, "expected kernel_size");
    DROVE_TRY(read_sides(c, m, "stride", "stride_h", "stride_w", 1, &v->sh, &v->sw));
    DROVE_TRY(read_sides(c, m, "pad", "pad_h", "pad_w", 0, &v->ph, &v->pw));
    node->opt.padding = (drove_padding){.below = v->ph, .right = v->pw};
    DROVE_TRY(read_sides(c, m, "dilation", NULL, NULL, 1, &v->dh, &v->dw));
    DROVE_TRY(drove__prototext_count(&c->tree, m, "group", 1, MOST_CHANNELS, &node->opt.groups));
    return skip_engine(c, m);
}

static drove_status read_dense(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    static const char *const no[] = {"false", "0", NULL};
    drove_message *m;
    DROVE_TRY(need_message(c, l, "inner_product_param", &m));
    DROVE_TRY(only(c, m, "transpose", no));
    return read_weighted(c, l, m, node);
}

/* Rounds up unless round_mode says otherwise. */
static drove_status read_pooling(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    drovek_window *v = &node->opt.window;
    drove_message *m;
    const char *pool = "MAX", *rounds = "CEIL";
    DROVE_TRY(need_message(c, l, "pooling_param", &m));
    DROVE_TRY(drove__prototext_text(&c->tree, m, "pool", &pool));
    DROVE_TRY(drove__prototext_text(&c->tree, m, "round_mode", &rounds));
    if (strcmp(pool, "AVE") == 0 || strcmp(pool, "1") == 0) node->ops = &drove__layer_average_pool;
    else if (strcmp(pool, "MAX") != 0 && strcmp(pool, "0") != 0)
        return drove__caffe_fail(c, l, "pool: expected MAX or AVE, found \"%.60s\"", pool);
    node->opt.rounds_up = strcmp(rounds, "CEIL") == 0 || strcmp(rounds, "0") == 0;
    if (!node->opt.rounds_up && strcmp(rounds, "FLOOR") != 0 && strcmp(rounds, "1") != 0)
        return drove__caffe_fail(c, l, "round_mode: expected CEIL or FLOOR, found \"%.60s\"",
                                 rounds);
    DROVE_TRY(drove__prototext_flag(&c->tree, m, "global_pooling", &node->opt.is_global));
    v->kh = v->kw = 0;
    DROVE_TRY(read_sides(c, m, "kernel_size", "kernel_h", "kernel_w", 1, &v->kh, &v->kw));
    if (!node->opt.is_global && (v->kh == 0 || v->kw == 0))
        return drove__caffe_fail(c, l, "expected kernel_size or global_pooling");
    if (node->opt.is_global) v->kh = v->kw = 1;
    DROVE_TRY(read_sides(c, m, "stride", "stride_h", "stride_w", 1, &v->sh, &v->sw));
    DROVE_TRY(read_sides(c, m, "pad", "pad_h", "pad_w", 0, &v->ph, &v->pw));
    node->opt.padding = (drove_padding){.below = v->ph, .right = v->pw};
    return skip_engine(c, m);
}

static drove_status read_lrn(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    static const char *const across[] = {"ACROSS_CHANNELS", "0", NULL};
    drove_lrn *o = &node->opt.lrn;
    drove_message *m;
    o->alpha = 1.0f; /* Caffe's defaults */
    o->size = 5;
    DROVE_TRY(own_message(c, l, "lrn_param", &m));
    if (m == NULL) return DROVE_OK;
    DROVE_TRY(drove__prototext_count(&c->tree, m, "local_size", 1, MOST_SIDE, &o->size));
    DROVE_TRY(drove__prototext_real(&c->tree, m, "alpha", 0, 1e6, &o->alpha));
    DROVE_TRY(drove__prototext_real(&c->tree, m, "beta", 0, 100, &o->beta));
    DROVE_TRY(drove__prototext_real(&c->tree, m, "k", 1e-6, 1e6, &o->kappa));
    DROVE_TRY(only(c, m, "norm_region", across));
    if (o->size % 2 == 0) return drove__caffe_fail(c, l, "local_size: expected an odd number");
    return skip_engine(c, m);
}

static drove_status read_dropout(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    drove_message *m;
    DROVE_TRY(own_message(c, l, "dropout_param", &m));
    if (m == NULL) return DROVE_OK;
    return drove__prototext_real(&c->tree, m, "dropout_ratio", 0, 0.99, &node->opt.ratio);
}

/* One of Caffe's two layers of batch normalisation; Scale, after it, has the parameters. */
static drove_status read_batch_norm(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    static const char *const no[] = {"false", "0", NULL};
    const drove_prototext *t = &c->tree;
    drove_message *m;
    for (drove_prototext_field *f = NULL;
         (f = drove__prototext_next(t, l->message, "param", f)) != NULL;)
        drove__prototext_skip(t, f); /* of the statistics, which no step changes */
    DROVE_TRY(own_message(c, l, "batch_norm_param", &m));
    if (m == NULL) return DROVE_OK;
    float fraction = 0.999f;
    DROVE_TRY(drove__prototext_real(t, m, "eps", 1e-12, 1, &node->opt.epsilon));
    DROVE_TRY(drove__prototext_real(t, m, "moving_average_fraction", 0, 1, &fraction));
    if (drove__prototext_next(t, m, "moving_average_fraction", NULL) != NULL)
        c->notes |= DROVE_NOTE_AVERAGE;
    return only(c, m, "use_global_stats", no);
}

/* node: the batch normalisation that it belongs to. */
static drove_status read_scale(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    static const char *const yes[] = {"true", "1", NULL};
    drove_message *m;
    drove_filler filler = {NULL, 1.0f}, bias = {NULL, 0.0f};
    DROVE_TRY(need_message(c, l, "scale_param", &m));
    DROVE_TRY(only(c, m, "axis", axis_1));
    DROVE_TRY(only(c, m, "num_axes", axis_1));
    if (drove__prototext_next(&c->tree, m, "bias_term", NULL) == NULL)
        return drove__caffe_fail(c, l, "expected bias_term: true, as batch normalisation has it");
    DROVE_TRY(only(c, m, "bias_term", yes));
    DROVE_TRY(read_filler(c, m, "filler", &filler));
    DROVE_TRY(read_filler(c, m, "bias_filler", &bias));
    if (filler.value != 1.0f || bias.value != 0.0f)
        return drove__caffe_fail(c, l, "expected initial values of 1, and of 0 for the bias");
    return read_rates(c, l, node);
}

static drove_status read_concat(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    drove_message *m;
    (void)node;
    DROVE_TRY(own_message(c, l, "concat_param", &m));
    if (m == NULL) return DROVE_OK;
    DROVE_TRY(only(c, m, "axis", axis_1));
    return only(c, m, "concat_dim", axis_1);
}

static drove_status read_sum(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    static const char *const sum[] = {"SUM", "1", NULL};
    drove_message *m;
    unsigned n = 0;
    DROVE_TRY(own_message(c, l, "eltwise_param", &m));
    if (m == NULL) return DROVE_OK;
    DROVE_TRY(only(c, m, "operation", sum));
    for (drove_prototext_field *f = NULL;
         (f = drove__prototext_next(&c->tree, m, "coeff", f)) != NULL; n++) {
        if (n == l->n_bottoms) return drove__caffe_fail(c, l, "expected a coeff for each bottom");
        DROVE_TRY(drove__prototext_take_real(&c->tree, f, -1e6, 1e6, &node->opt.coefficient[n]));
    }
    if (n != 0 && n != l->n_bottoms)
        return drove__caffe_fail(c, l, "expected %u coeff, one for each bottom, found %u",
                                 l->n_bottoms, n);
    static const char *const any[] = {"true", "false", "0", "1", NULL};
    return only(c, m, "stable_prod_grad", any);
}

static drove_status read_flatten(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    static const char *const last[] = {"-1", "3", NULL};
    drove_message *m;
    (void)node;
    DROVE_TRY(own_message(c, l, "flatten_param", &m));
    if (m == NULL) return DROVE_OK;
    DROVE_TRY(only(c, m, "axis", axis_1));
    return only(c, m, "end_axis", last);
}

static drove_status read_activation(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    static const char *const zero[] = {"0", "0.0", NULL};
    static const char *const names[] = {"relu_param", "sigmoid_param", "tanh_param"};
    (void)node;
    for (size_t i = 0; i < 3; i++) {
        drove_message *m;
        DROVE_TRY(own_message(c, l, names[i], &m));
        if (m == NULL) continue;
        DROVE_TRY(skip_engine(c, m));
        if (i == 0) DROVE_TRY(only(c, m, "negative_slope", zero));
    }
    return DROVE_OK;
}

static drove_status read_softmax(drove_caffe *c, const drove_caffe_layer *l, drove_node *node)
{
    drove_message *m;
    (void)node;
    DROVE_TRY(own_message(c, l, "softmax_param", &m));
    if (m == NULL) return DROVE_OK;
    DROVE_TRY(only(c, m, "axis", axis_1));
    return skip_engine(c, m);
}

const drove_caffe_type drove__caffe_types[] = {
    {"Convolution", "CONVOLUTION", &drove__layer_convolution, DROVEK_LINEAR, read_convolution},
    {"Pooling", "POOLING", &drove__layer_max_pool, DROVEK_LINEAR, read_pooling},
    {"LRN", "LRN", &drove__layer_lrn, DROVEK_LINEAR, read_lrn},
    {"Dropout", "DROPOUT", &drove__layer_dropout, DROVEK_LINEAR, read_dropout},
    {"BatchNorm", NULL, &drove__layer_batch_norm, DROVEK_LINEAR, read_batch_norm},
    {"Scale", NULL, NULL, DROVEK_LINEAR, read_scale},
    {"Concat", "CONCAT", &drove__layer_concat, DROVEK_LINEAR, read_concat},
    {"Eltwise", "ELTWISE", &drove__layer_sum, DROVEK_LINEAR, read_sum},
    {"Flatten", "FLATTEN", &drove__layer_flatten, DROVEK_LINEAR, read_flatten},
    {"InnerProduct", "INNER_PRODUCT", &drove__layer_dense, DROVEK_LINEAR, read_dense},
    {"ReLU", "RELU", &drove__layer_activation, DROVEK_RELU, read_activation},
    {"Sigmoid", "SIGMOID", &drove__layer_activation, DROVEK_SIGMOID, read_activation},
    {"TanH", "TANH", &drove__layer_activation, DROVEK_TANH, read_activation},
    {"Softmax", "SOFTMAX", &drove__layer_softmax, DROVEK_LINEAR, read_softmax},
    {NULL, NULL, NULL, DROVEK_LINEAR, NULL},
};
