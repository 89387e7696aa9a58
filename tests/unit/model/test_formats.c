/* Conversions between image formats in a pass: a layer that needs another format than several of
 * its inputs have gives the same outputs and gradient as where all have that format. */
#include "model/graph.h"
#include "model/layer.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { ROWS = 5, C = 3, H = 4, W = 3, N_IN = C * H * W, CLASSES = 4 };

/* ---- a layer that copies its input, into a format of its own ---- */

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    (void)n_bottoms, (void)n_outputs;
    l->in = l->out = bottom[0];
    l->n_in = l->n_out = drove__shape_floats(l->in);
    return DROVE_OK;
}

static drove_status blocked_formats(const drove_pass_options *opt, const drove_layer *l,
                                    const drovek_format *in, drovek_format *want,
                                    drovek_format *out)
{
    (void)opt, (void)l;
    want[0] = in[0];
    *out = DROVEK_NCHW16;
    return DROVE_OK;
}

static drove_status plain_formats(const drove_pass_options *opt, const drove_layer *l,
                                  const drovek_format *in, drovek_format *want, drovek_format *out)
{
    (void)opt, (void)l;
    want[0] = in[0];
    *out = DROVEK_NHWC;
    return DROVE_OK;
}

static void forward(const drove_call *c)
{
    const drove_shape s = c->layer->out;
    const size_t first = c->first_row * c->layer->n_out;
    drovek_reformat(c->bottom[0].x + first, c->bottom[0].format, c->y + first, c->format,
                    c->last_row - c->first_row, s.c, s.h, s.w, false);
}

static void backward(const drove_call *c)
{
    const drove_shape s = c->layer->out;
    const size_t first = c->first_row * c->layer->n_out;
    drovek_reformat(c->dy + first, c->format, c->bottom[0].dx + first, c->bottom[0].format,
                    c->last_row - c->first_row, s.c, s.h, s.w, c->bottom[0].adds);
}

static const drove_layer_ops blocked = {.name = "blocked",
                                        .help = "",
                                        .source = "",
                                        .least_bottoms = 1,
                                        .most_bottoms = 1,
                                        .format = DROVE_FORMAT_OWN,
                                        .shape = shape,
                                        .formats = blocked_formats,
                                        .forward = forward,
                                        .backward = backward};

/* ---- the network ---- */

static drove_node *add(drove_graph *g, const drove_layer_ops *ops, const char *name,
                       const char *bottom)
{
    drove_node *node;
    assert_int_equal(drove__graph_add(g, ops, name, bottom, &node), DROVE_OK);
    return node;
}

static void add_convolution(drove_graph *g, const char *name, const char *bottom, size_t n_out)
{
    drove_node *node = add(g, &drove__layer_convolution, name, bottom);
    node->opt.n_out = n_out;
    node->opt.window = (drovek_window){.kh = 1, .kw = 1};
}

static void add_concat(drove_graph *g, const char *name, const char *first, const char *second,
                       const char *third)
{
    drove_node *node = add(g, &drove__layer_concat, name, first);
    strcpy(node->bottom[node->n_bottoms++], second);
    if (third != NULL) strcpy(node->bottom[node->n_bottoms++], third);
}

/* `odd` has 3 channels, which make no blocks, so the layers that join it to `a` and `b` are plain.
 * Each of a and b has two readers: the second one to go back adds to its derivative. */
static drove_model *make(const drove_layer_ops *copies)
{
    static const drove_model_io io = {.n_features = N_IN, .n_classes = CLASSES, .image = {C, H, W}};
    drove_graph g;
    drove_model *m;
    drove__graph_init(&g, "formats");
    add_convolution(&g, "under", NULL, 16);
    add_convolution(&g, "beside", "data", 32);
    add(&g, copies, "a", "under");
    add(&g, copies, "b", "beside");
    add_convolution(&g, "odd", "under", 3);
    add_concat(&g, "one", "a", "b", "odd");
    add_concat(&g, "two", "b", "odd", "a");
    add_concat(&g, "both", "one", "two", NULL);
    add(&g, &drove__layer_dense, "out", "both");
    if (drove__model_create_graph(&g, "formats", NULL, &io, &m) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    drove__graph_fini(&g);
    return m;
}

/* *n_converted: inputs of layers in another format than the layer's. */
static float *gradient_of(const drove_model *m, float *out, size_t *n_converted)
{
    static float x[ROWS * N_IN];
    static const int32_t y[ROWS] = {0, 3, 1, 2, 1};
    const drove_input in = {.n_rows = ROWS, .dense = x};
    const drove_target target = {.y_class = y};
    drovek_table kernels;
    drove_pass pass;
    drove_score score = {0};
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), NULL), DROVE_OK);
    for (size_t i = 0; i < ROWS * N_IN; i++) x[i] = (float)((i * 37) % 101) / 50.0f - 1.0f;
    float *theta = drove__alloc(m->n_params, sizeof *theta);
    float *grad = drove__alloc(m->n_params, sizeof *grad);
    assert_int_equal(drove__model_init(m, "he:1", 3, theta), DROVE_OK);
    const drove_pass_options opt = {.model = m,
                                    .kernels = &kernels,
                                    .rows = ROWS,
                                    .max_rows = ROWS,
                                    .n_parts = 1,
                                    .trains = true};
    if (drove__pass_create(&opt, &pass) != DROVE_OK) fail_msg("%s", drove_error_text());
    pass.is_training = true;
    *n_converted = 0;
    for (size_t l = 0; l < m->n_layers; l++) {
        for (unsigned i = 0; i < m->layer[l].n_bottoms; i++)
            *n_converted += m->layer[l].ops == &drove__layer_concat &&
                            pass.format[l + 1] != pass.format[m->layer[l].bottom[i]];
    }
    drove__model_forward(m, &kernels, theta, &in, &pass);
    drove__model_loss(m, &kernels, &target, ROWS, 1.0f / ROWS, &pass, &score);
    drove__model_backward(m, &kernels, theta, &in, &pass, &(drove_backward){.grad = grad});
    memcpy(out, pass.out[m->n_layers - 1], ROWS * CLASSES * sizeof *out);
    drove__pass_fini(&pass);
    drove__free(theta);
    return grad;
}

TEST(several_inputs_are_converted_and_their_derivatives_back)
{
    drove_layer_ops plain = blocked;
    plain.name = "plain";
    plain.formats = plain_formats;
    drove_model *converts = make(&blocked), *usual = make(&plain);
    float out[2][ROWS * CLASSES], largest = 0.0f;
    size_t n[2];
    float *found = gradient_of(converts, out[0], &n[0]);
    float *wanted = gradient_of(usual, out[1], &n[1]);
    assert_int_equal(n[0], n[1] + 4); /* a and b, twice */
    assert_int_equal(converts->n_params, usual->n_params);
    for (size_t i = 0; i < ROWS * CLASSES; i++)
        assert_true(fabsf(out[0][i] - out[1][i]) <= 1e-5f * fmaxf(1.0f, fabsf(out[1][i])));
    for (size_t i = 0; i < usual->n_params; i++) largest = fmaxf(largest, fabsf(wanted[i]));
    assert_true(largest > 0.01f);
    for (size_t i = 0; i < usual->n_params; i++)
        assert_true(fabsf(found[i] - wanted[i]) <= 1e-5f * largest);
    drove__free(found);
    drove__free(wanted);
    drove__model_destroy(converts);
    drove__model_destroy(usual);
}

/* The data's format is not handed on: what reads a product finds channels last, or blocks. */
TEST(a_product_of_the_data_has_channels_last)
{
    static const drove_model_io io = {.n_features = N_IN, .n_classes = CLASSES, .image = {C, H, W}};
    float x[N_IN], wanted[N_IN];
    const drove_input in = {.n_rows = 1, .dense = x};
    drovek_table kernels;
    drove_graph g;
    drove_model *m;
    drove_pass pass;
    drove__graph_init(&g, "square");
    drove_node *square = add(&g, &drove__layer_product, "square", NULL);
    strcpy(square->bottom[square->n_bottoms++], "data");
    add(&g, &drove__layer_dense, "out", "square");
    if (drove__model_create_graph(&g, "square", NULL, &io, &m) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    drove__graph_fini(&g);
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), NULL), DROVE_OK);
    assert_int_equal(drove__pass_init(&pass, m, &kernels, 1), DROVE_OK);
    float *theta = drove__alloc(m->n_params, sizeof *theta);
    assert_int_equal(drove__model_init(m, "he:1", 3, theta), DROVE_OK);
    for (size_t i = 0; i < N_IN; i++) x[i] = (float)i;
    for (size_t i = 0; i < N_IN; i++) wanted[i % (H * W) * C + i / (H * W)] = x[i] * x[i];
    drove__model_forward(m, &kernels, theta, &in, &pass);
    assert_true(pass.format[0] == DROVEK_NCHW && pass.format[1] == DROVEK_NHWC);
    assert_memory_equal(pass.out[0], wanted, sizeof wanted);
    drove__free(theta);
    drove__pass_fini(&pass);
    drove__model_destroy(m);
}
