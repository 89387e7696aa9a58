/* tests/unit/engine/accel_images.c - see accel_images.h. */
#include "unit/engine/accel_images.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "model/freeze.h"
#include "support/engine_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SEED = 77; /* of the masks */

/* ---- models ---- */

static drove_node *add(drove_graph *g, const drove_layer_ops *ops, const char *name,
                       const char *bottom)
{
    drove_node *n;
    assert_int_equal(drove__graph_add(g, ops, name, bottom, &n), DROVE_OK);
    return n;
}

static drove_node *window(drove_node *n, size_t side, size_t step, size_t margin)
{
    n->opt.window = (drovek_window){side, side, step, step, margin, margin, 1, 1};
    n->opt.padding = (drove_padding){.below = margin, .right = margin};
    return n;
}

static drove_node *convolution(drove_graph *g, const char *name, const char *bottom, size_t o,
                               size_t side, size_t step, size_t margin)
{
    drove_node *n = window(add(g, &drove__layer_convolution, name, bottom), side, step, margin);
    n->opt.n_out = o;
    n->opt.groups = 1;
    n->act = DROVEK_RELU;
    return n;
}

static void join(drove_node *n, const char *second, const char *third)
{
    strcpy(n->bottom[n->n_bottoms++], second);
    if (third != NULL) strcpy(n->bottom[n->n_bottoms++], third);
}

static void end(drove_graph *g)
{
    add(g, &drove__layer_dense, "end", NULL);
}

static void build_strides(drove_graph *g)
{
    convolution(g, "conv1", NULL, 6, 3, 2, 1);
    drove_node *n = convolution(g, "conv2", NULL, 8, 3, 1, 2);
    n->opt.window.dh = n->opt.window.dw = 2;
    n->opt.groups = 2;
    n->act = DROVEK_TANH;
    n = convolution(g, "conv3", NULL, 4, 2, 1, 0);
    n->opt.window.kw = 3;
    n->opt.window.sw = 2;
    n->opt.no_bias = true;
    n->act = DROVEK_SIGMOID;
    end(g);
}

static void build_plain(drove_graph *g) /* 1 x 1, with and without groups */
{
    convolution(g, "conv1", NULL, 300, 1, 1, 0);
    drove_node *n = convolution(g, "conv2", NULL, 6, 1, 1, 0);
    n->opt.groups = 3;
    n = convolution(g, "conv3", NULL, 5, 1, 2, 0);
    n->act = DROVEK_LINEAR;
    n->opt.no_bias = true;
    end(g);
}

static void build_deep(drove_graph *g) /* columns of several chunks */
{
    convolution(g, "conv1", NULL, 48, 5, 1, 2);
    convolution(g, "conv2", NULL, 20, 5, 1, 2);
    end(g);
}

static void build_max_pool(drove_graph *g)
{
    convolution(g, "conv1", NULL, 7, 3, 1, 1);
    window(add(g, &drove__layer_max_pool, "over", NULL), 3, 2, 0)->opt.rounds_up = true;
    convolution(g, "conv2", NULL, 7, 3, 1, 1);
    window(add(g, &drove__layer_max_pool, "margin", NULL), 3, 1, 1);
    convolution(g, "conv3", NULL, 4, 3, 1, 1);
    add(g, &drove__layer_max_pool, "all", NULL)->opt.is_global = true;
    end(g);
}

static void build_average_pool(drove_graph *g)
{
    window(add(g, &drove__layer_average_pool, "first", NULL), 2, 1, 0);
    convolution(g, "conv1", NULL, 7, 3, 1, 1);
    window(add(g, &drove__layer_average_pool, "over", NULL), 3, 2, 0)->opt.rounds_up = true;
    convolution(g, "conv2", NULL, 7, 3, 1, 1);
    window(add(g, &drove__layer_average_pool, "margin", NULL), 3, 2, 1)->opt.rounds_up = true;
    convolution(g, "conv3", NULL, 4, 3, 1, 1);
    add(g, &drove__layer_average_pool, "all", NULL)->opt.is_global = true;
    end(g);
}

static void lrn(drove_graph *g, const char *name, size_t size, float alpha, float beta, float kappa)
{
    drove_node *n = add(g, &drove__layer_lrn, name, NULL);
    n->opt.lrn = (drove_lrn){.size = size, .alpha = alpha, .beta = beta, .kappa = kappa};
}

static void build_lrn(drove_graph *g)
{
    convolution(g, "conv1", NULL, 9, 3, 1, 1);
    lrn(g, "usual", 5, 0.5f, 0.75f, 1.0f);
    convolution(g, "conv2", NULL, 4, 3, 1, 1);
    lrn(g, "wide", 11, 0.3f, 0.6f, 2.0f);
    convolution(g, "conv3", NULL, 270, 1, 1, 0);
    lrn(g, "long", 3, 1.0f, 0.5f, 1.0f);
    end(g);
}

static void build_dropout(drove_graph *g)
{
    convolution(g, "conv1", NULL, 6, 3, 1, 1);
    add(g, &drove__layer_dropout, "some", NULL)->opt.ratio = 0.3f;
    convolution(g, "conv2", NULL, 6, 3, 1, 1);
    drove_node *n = add(g, &drove__layer_dense, "fc", NULL);
    n->opt.n_out = 300;
    n->act = DROVEK_RELU;
    add(g, &drove__layer_dropout, "half", NULL)->opt.ratio = 0.5f;
    end(g);
}

static void build_batch_norm(drove_graph *g)
{
    convolution(g, "conv1", NULL, 6, 3, 1, 1)->act = DROVEK_LINEAR;
    drove_node *n = add(g, &drove__layer_batch_norm, "norm1", NULL);
    n->opt.epsilon = 1e-3f;
    n->act = DROVEK_RELU;
    n->opt.w_lr = 0.5f;
    convolution(g, "conv2", NULL, 260, 1, 1, 0)->act = DROVEK_LINEAR;
    add(g, &drove__layer_batch_norm, "norm2", NULL)->opt.epsilon = 1e-5f;
    end(g);
}

static void build_residual(drove_graph *g)
{
    convolution(g, "conv1", NULL, 6, 3, 1, 1);
    convolution(g, "conv2", NULL, 6, 3, 1, 1)->act = DROVEK_LINEAR;
    drove_node *n = add(g, &drove__layer_sum, "sum", NULL);
    join(n, "conv1", NULL);
    n->opt.coefficient[0] = 1.0f;
    n->opt.coefficient[1] = -0.7f;
    n->act = DROVEK_TANH;
    add(g, &drove__layer_activation, "again", NULL)->act = DROVEK_SIGMOID;
    add(g, &drove__layer_flatten, "flat", NULL);
    end(g);
}

static void build_softmax(drove_graph *g)
{
    convolution(g, "conv1", NULL, 6, 3, 1, 1);
    add(g, &drove__layer_softmax, "softmax", NULL);
    end(g);
}

static void head(drove_graph *g, const char *bottom, float weight)
{
    drove_graph_head *h = &g->head[g->n_heads++];
    strcpy(h->bottom, bottom);
    h->weight = weight;
}

/* Two ways that meet twice, and a second head. */
static void build_inception(drove_graph *g)
{
    convolution(g, "one", NULL, 5, 1, 1, 0);
    convolution(g, "three", "one", 7, 3, 1, 1)->opt.w_lr = 2.0f;
    convolution(g, "five", "one", 3, 5, 1, 2)->opt.b_lr = 0.5f;
    window(add(g, &drove__layer_max_pool, "pool", "one"), 3, 1, 1);
    join(add(g, &drove__layer_concat, "joint", "three"), "five", "pool");
    convolution(g, "next", "joint", 6, 3, 2, 1);
    convolution(g, "side", "joint", 6, 1, 2, 0);
    join(add(g, &drove__layer_concat, "again", "next"), "side", NULL);
    add(g, &drove__layer_average_pool, "mean", NULL)->opt.is_global = true;
    add(g, &drove__layer_dense, "aside", "joint");
    add(g, &drove__layer_dense, "end", "mean");
    head(g, "aside", 0.3f);
    head(g, "end", 1.0f);
}

static drove_node *layer_norm(drove_graph *g, const char *name, bool channels, bool height,
                              bool width)
{
    drove_node *n = add(g, &drove__layer_layer_norm, name, NULL);
    n->opt.epsilon = 1e-3f;
    n->opt.over = (drove_over){channels, height, width};
    return n;
}

/* Every kind of layer reads one blob, and all but the last add to its derivative. */
static void build_readers(drove_graph *g)
{
    convolution(g, "one", NULL, 4, 3, 1, 1);
    window(add(g, &drove__layer_max_pool, "max", "one"), 3, 1, 1);
    window(add(g, &drove__layer_average_pool, "mean", "one"), 3, 1, 1);
    drove_node *n = add(g, &drove__layer_lrn, "lrn", "one");
    n->opt.lrn.size = 3;
    n->opt.lrn.alpha = n->opt.lrn.beta = 0.5f;
    n->opt.lrn.kappa = 1.0f;
    add(g, &drove__layer_activation, "tanh", "one")->act = DROVEK_TANH;
    add(g, &drove__layer_batch_norm, "norm", "one")->opt.epsilon = 1e-3f;
    layer_norm(g, "layer", true, true, true);
    strcpy(g->node[g->n_nodes - 1].bottom[0], "one");
    add(g, &drove__layer_prelu, "prelu", "one");
    add(g, &drove__layer_dropout, "some", "one")->opt.ratio = 0.3f;
    add(g, &drove__layer_softmax, "softmax", "one");
    convolution(g, "three", "one", 4, 3, 1, 1);
    join(add(g, &drove__layer_sum, "sum", "one"), "max", "three");
    join(add(g, &drove__layer_concat, "first", "sum"), "mean", "lrn");
    join(add(g, &drove__layer_concat, "second", "tanh"), "norm", "some");
    join(add(g, &drove__layer_concat, "third", "softmax"), "one", "layer");
    join(add(g, &drove__layer_concat, "all", "first"), "second", "third");
    convolution(g, "last", "one", 4, 1, 1, 0);
    join(add(g, &drove__layer_concat, "both", "all"), "last", "prelu");
    end(g);
}

/* Every curve reads one blob, and all but the last add to its derivative. */
static void build_curves(drove_graph *g)
{
    convolution(g, "one", NULL, 4, 3, 1, 1)->act = DROVEK_LINEAR;
    unsigned n = 0;
    drove_node *all = NULL;
    for (const drove_activation *a = drove__activations; a->name != NULL; a++) {
        if (!drovek_is_curve(a->act)) continue;
        add(g, &drove__layer_activation, a->name, "one")->act = a->act;
    }
    all = add(g, &drove__layer_sum, "sum", "one");
    for (const drove_activation *a = drove__activations; a->name != NULL; a++) {
        if (drovek_is_curve(a->act)) strcpy(all->bottom[n++], a->name);
    }
    all->n_bottoms = n;
    end(g);
}

/* A factor for each number, and one for each channel. */
static void build_products(drove_graph *g)
{
    convolution(g, "one", NULL, 4, 3, 1, 1)->act = DROVEK_LINEAR;
    convolution(g, "gate", "one", 4, 1, 1, 0)->act = DROVEK_SIGMOID;
    join(add(g, &drove__layer_product, "each", "one"), "gate", NULL);
    add(g, &drove__layer_average_pool, "mean", "each")->opt.is_global = true;
    convolution(g, "weight", "mean", 4, 1, 1, 0)->act = DROVEK_SIGMOID;
    join(add(g, &drove__layer_product, "channels", "each"), "weight", NULL);
    end(g);
}

/* Zeros at one end of a side, or more than at the other; averages that do not count them. */
static void build_uneven(drove_graph *g)
{
    drove_node *n = convolution(g, "conv1", NULL, 6, 3, 2, 0);
    n->opt.padding = (drove_padding){.below = 1, .right = 1};
    n = convolution(g, "conv2", NULL, 5, 2, 1, 1);
    n->opt.padding = (drove_padding){.below = 0, .right = 2};
    n = window(add(g, &drove__layer_average_pool, "uncounted", NULL), 3, 1, 1);
    n->opt.padding = (drove_padding){.below = 2, .right = 1, .is_uncounted = true};
    convolution(g, "conv3", NULL, 7, 1, 1, 0);
    n = window(add(g, &drove__layer_average_pool, "counted", NULL), 3, 2, 0);
    n->opt.padding = (drove_padding){.below = 1, .right = 2};
    convolution(g, "conv4", NULL, 7, 1, 1, 0);
    n = window(add(g, &drove__layer_max_pool, "max", NULL), 3, 2, 0);
    n->opt.padding = (drove_padding){.below = 2, .right = 1};
    end(g);
}

static void build_layer_norm(drove_graph *g)
{
    convolution(g, "conv1", NULL, 6, 3, 1, 1)->act = DROVEK_LINEAR;
    layer_norm(g, "all", true, true, true)->act = DROVEK_RELU;
    convolution(g, "conv2", NULL, 9, 3, 1, 1)->act = DROVEK_LINEAR;
    layer_norm(g, "places", true, false, false);
    convolution(g, "conv3", NULL, 5, 3, 1, 1);
    layer_norm(g, "channels", false, true, true);
    convolution(g, "conv4", NULL, 6, 3, 1, 1);
    layer_norm(g, "rows", false, false, true);
    convolution(g, "conv5", NULL, 4, 3, 1, 1);
    layer_norm(g, "columns", true, true, false);
    drove_node *n = add(g, &drove__layer_dense, "fc", NULL);
    n->opt.n_out = 300;
    layer_norm(g, "vector", true, true, true);
    end(g);
}

static void build_prelu(drove_graph *g)
{
    convolution(g, "conv1", NULL, 6, 3, 1, 1)->act = DROVEK_LINEAR;
    add(g, &drove__layer_prelu, "channels", NULL);
    convolution(g, "conv2", NULL, 5, 3, 1, 1)->act = DROVEK_LINEAR;
    add(g, &drove__layer_prelu, "one", NULL)->opt.n_out = 1;
    convolution(g, "conv3", NULL, 4, 1, 1, 0)->act = DROVEK_LINEAR;
    add(g, &drove__layer_prelu, "each", NULL)->opt.n_out = 4 * 6 * 7;
    end(g);
}

const images_case images_cases[] = {
    {"lenet", "lenet", NULL, 1, 17, 19, false, NULL},
    {"strides", NULL, build_strides, 4, 13, 12, false, NULL},
    {"plain", NULL, build_plain, 3, 6, 5, false, NULL},
    {"deep", NULL, build_deep, 3, 24, 24, false, NULL},
    {"max pool", NULL, build_max_pool, 3, 9, 8, false, NULL},
    {"average pool", NULL, build_average_pool, 3, 9, 8, false, NULL},
    {"lrn", NULL, build_lrn, 2, 6, 7, false, NULL},
    {"dropout", NULL, build_dropout, 3, 6, 7, false, NULL},
    {"batch norm", NULL, build_batch_norm, 3, 6, 7, false, NULL},
    {"layer norm", NULL, build_layer_norm, 3, 6, 7, false, NULL},
    {"prelu", NULL, build_prelu, 3, 6, 7, false, NULL},
    {"uneven", NULL, build_uneven, 3, 13, 12, false, NULL},
    {"residual", NULL, build_residual, 3, 6, 7, false, NULL},
    {"softmax", NULL, build_softmax, 3, 6, 7, false, NULL},
    {"inception", NULL, build_inception, 4, 9, 9, false, NULL},
    {"curves", NULL, build_curves, 3, 6, 7, false, NULL},
    {"products", NULL, build_products, 3, 6, 7, false, NULL},
    {"readers", NULL, build_readers, 2, 5, 6, false, NULL},
    {"frozen below", NULL, build_batch_norm, 3, 6, 7, false, "conv1,norm1"},
    {"frozen norm", NULL, build_batch_norm, 3, 6, 7, false, "conv2,norm2"},
    {"frozen above", NULL, build_residual, 3, 6, 7, false, "conv2,end"},
    {.name = NULL},
};

const images_case *images_find(const char *name)
{
    const images_case *c = images_cases;
    while (strcmp(c->name, name) != 0) c++;
    return c;
}

/* ---- data, engines ---- */

static void *zeroed(size_t count, size_t size_bytes)
{
    void *memory = drove__alloc(count, size_bytes);
    assert_non_null(memory);
    return memory;
}

static void fill(images *p)
{
    drove_rng rng;
    drove_storage *s = &p->storage;
    size_t n = p->how->c * p->how->h * p->how->w;
    drove__rng_seed(&rng, 6, DROVE_RNG_TEST, 0);
    *s = (drove_storage){.n_rows = IMAGES_N,
                         .n_features = n,
                         .channels = p->how->c,
                         .height = p->how->h,
                         .width = p->how->w,
                         .x_kind = DROVE_X_F32,
                         .y_kind = DROVE_Y_CLASS,
                         .n_classes = IMAGES_CLASSES};
    s->x_f32 = zeroed(IMAGES_N * n, sizeof *s->x_f32);
    s->y_class = zeroed(IMAGES_N, sizeof *s->y_class);
    for (size_t i = 0; i < IMAGES_N * n; i++) s->x_f32[i] = (float)drove__rng_normal(&rng);
    for (size_t i = 0; i < IMAGES_N; i++)
        s->y_class[i] = (int32_t)drove__rng_below(&rng, IMAGES_CLASSES);
    p->data = (drove_data){.storage = s, .n_rows = IMAGES_N};
}

static void make_model(images *p)
{
    const images_case *how = p->how;
    const drove_model_io io = {.n_features = p->storage.n_features,
                               .n_classes = IMAGES_CLASSES,
                               .image = {how->c, how->h, how->w}};
    drove_graph g;
    drove_status status;
    if (how->spec != NULL) {
        status = drove__model_create(how->spec, NULL, NULL, &io, &p->model);
    } else {
        drove__graph_init(&g, how->name);
        how->build(&g);
        status = drove__model_create_graph(&g, how->name, NULL, &io, &p->model);
        drove__graph_fini(&g);
    }
    if (status != DROVE_OK) fail_msg("%s: %s", how->name, drove_error_text());
}

/* Variances of the population are positive. */
static void make_parameters(images *p)
{
    drove_rng rng;
    p->theta = zeroed(p->model->n_params, sizeof *p->theta);
    assert_int_equal(drove__model_init(p->model, "", 1, p->theta), DROVE_OK);
    drove__rng_seed(&rng, 8, DROVE_RNG_TEST, 0);
    for (size_t l = 0; l < p->model->n_layers; l++) {
        const drove_layer *y = &p->model->layer[l];
        for (size_t i = 0; i < y->n_b; i++)
            p->theta[y->b_offset + i] += 0.2f * (float)drove__rng_normal(&rng);
        for (size_t i = 0; i < y->n_statistics; i++)
            p->theta[y->s_offset + i] = 0.5f + (float)drove__rng_uniform(&rng);
    }
}

/* The model becomes one with frozen layers. */
static void freeze(images *p)
{
    const drove_model_cut none = {0};
    drove_model *whole = p->model;
    float *theta = p->theta;
    bool *is_frozen = zeroed(whole->n_layers, sizeof *is_frozen);
    if (drove__freeze_choose(whole, p->how->freeze, is_frozen) != DROVE_OK ||
        drove__part_above(whole, theta, is_frozen, &none, &p->model) != DROVE_OK)
        fail_msg("%s: %s", p->how->name, drove_error_text());
    p->theta = zeroed(p->model->n_params, sizeof *p->theta);
    drove__part_take(whole, 0, p->model, theta, p->theta);
    drove__model_destroy(whole);
    drove__free(theta);
    drove__free(is_frozen);
}

void images_setup(images *p, const images_case *how, drove_device *device, size_t max_rows)
{
    memset(p, 0, sizeof *p);
    p->how = how;
    p->device = device;
    fill(p);
    make_model(p);
    make_parameters(p);
    if (how->freeze != NULL) freeze(p);
    for (size_t i = 0; i < 2; i++) p->grad[i] = zeroed(p->model->n_params, sizeof(float));
    if (how->in_bf16) p->model->factors = DROVEK_FACTORS_BF16;
    assert_int_equal(drovek_select(&p->kernels, drove__cpu_features(), "ref"), DROVE_OK);
    const drove_engine_options opt = {.model = p->model,
                                      .kernels = &p->kernels,
                                      .data = &p->data,
                                      .max_rows = max_rows,
                                      .seed = SEED,
                                      .device = device};
    if (drove__engine_host.create(&opt, &p->host) != DROVE_OK)
        fail_msg("%s: %s", how->name, drove_error_text());
    if (device->engine->create(&opt, &p->accel) != DROVE_OK)
        fail_msg("%s: %s", how->name, drove_error_text());
}

void images_teardown(images *p)
{
    p->device->engine->destroy(p->accel);
    drove__engine_host.destroy(p->host);
    drove__model_destroy(p->model);
    drove__free(p->theta);
    drove__free(p->grad[0]);
    drove__free(p->grad[1]);
    drove__free(p->storage.x_f32);
    drove__free(p->storage.y_class);
}

void images_choose(images *p, size_t first, size_t n, uint64_t number)
{
    for (size_t i = 0; i < n; i++) p->row[i] = (uint32_t)((first + i) % IMAGES_N);
    p->batch = (drove_batch){.data = &p->data, .row = p->row, .n_rows = n, .number = number};
}

void images_gradients(images *p, drove_score score[2])
{
    memset(score, 0, 2 * sizeof *score);
    const drove_engine_ops *ops[2] = {&drove__engine_host, p->device->engine};
    drove_engine *engine[2] = {p->host, p->accel};
    for (size_t i = 0; i < 2; i++) {
        drove_gradient g = {.value = p->grad[i]};
        for (size_t j = 0; j < p->model->n_params; j++) p->grad[i][j] = 7.0f;
        if (engine_gradient(ops[i], engine[i], p->theta, &p->batch, &g, &score[i]) != DROVE_OK)
            fail_msg("%s: %s", p->how->name, drove_error_text());
    }
}

static void compare_part(const images *p, const char *part, size_t layer, size_t offset, size_t n,
                         double bound)
{
    double whole = 0.0; /* what is zero but for rounding (a bias before batch normalisation) */
    for (size_t i = 0; i < p->model->n_params; i++) whole = fmax(whole, fabs(p->grad[0][i]));
    double error = 0.0, largest = 0.0;
    for (size_t i = offset; i < offset + n; i++) {
        double d = fabs((double)p->grad[0][i] - (double)p->grad[1][i]);
        error = d <= error ? error : d; /* a NaN stays */
        largest = fmax(largest, fabs((double)p->grad[0][i]));
    }
    if (!(error <= bound * (largest + 1e-2 * whole)))
        fail_msg("%s, %s, %zu images: %s of layer %s differs by %g of %g", p->device->facts.name,
                 p->how->name, p->batch.n_rows, part, p->model->layer[layer].name, error, largest);
}

void images_compare(const images *p, double bound)
{
    for (size_t l = 0; l < p->model->n_layers; l++) {
        const drove_layer *y = &p->model->layer[l];
        size_t offset, n;
        if (y->training.is_frozen) continue;
        compare_part(p, "W", l, y->w_offset, y->n_w, bound);
        compare_part(p, "b", l, y->b_offset, y->n_b, bound);
        drove__model_layer_part(p->model, l, &offset, &n);
        for (size_t i = offset; i < offset + n; i++) { /* gaps are zero */
            bool is_w = i - y->w_offset < y->n_w, is_b = i - y->b_offset < y->n_b;
            if (!is_w && !is_b) assert_true(p->grad[1][i] == 0.0f);
        }
    }
    for (size_t i = p->model->n_params - p->model->n_statistics; i < p->model->n_params; i++)
        assert_true(p->grad[1][i] == 0.0f);
}
