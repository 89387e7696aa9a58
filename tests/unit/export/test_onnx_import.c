/* Networks of ONNX, written here node by node and read as models: their outputs are those that
 * plain loops in ONNX's order give; what drove does not have is refused by the node's name; no
 * damage of a file does harm. */
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "export/onnx_graph.h"
#include "model/graph.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static drove_rng rng;

/* n random numbers that stay until the test ends. */
static float *numbers(size_t n)
{
    static float all[20000];
    static size_t used;
    assert_true(used + n <= DROVE_COUNT(all));
    float *own = all + used;
    for (size_t i = 0; i < n; i++) own[i] = (float)drove__rng_normal(&rng) * 0.3f;
    used += n;
    return own;
}

static const char *constant(drove_onnx *g, const float *values, size_t a, size_t b, size_t c,
                            size_t d)
{
    const size_t dims[] = {a, b, c, d};
    return drove__onnx_floats(g, values, dims, d > 0 ? 4 : c > 0 ? 3 : b > 0 ? 2 : 1);
}

static void write_graph(drove_onnx *g, const char *output, const char *path)
{
    const size_t dims[] = {1, 3};
    drove__onnx_output(g, "y", output, DROVE_ONNX_FLOAT, dims, 2, "");
    assert_int_equal(drove__onnx_write(g, path), DROVE_OK);
    drove__onnx_fini(g);
}

/* ---- a network ---- */

enum { C = 2, SIDE = 6, OUT = 4, HALF = 3, HIDDEN = 5, CLASSES = 3, ROWS = 3 };

typedef struct network {
    float *conv, *conv_b;   /* [OUT][C][3][3] */
    float *dense, *dense_b; /* [HIDDEN][OUT * HALF * HALF] */
    float *last, *last_b;   /* [HIDDEN][CLASSES] */
} network;

static void write_network(const network *n, const char *path)
{
    static const int64_t pads[] = {1, 1, 1, 1}, two[] = {2, 2};
    drove_onnx g = {.prefix = ""};
    const size_t dims[] = {1, C, SIDE, SIDE};
    drove__onnx_input(&g, "image", DROVE_ONNX_FLOAT, dims, 4, "");
    const char *x = drove__onnx_node(&g, "Conv", "image", constant(&g, n->conv, OUT, C, 3, 3),
                                     constant(&g, n->conv_b, OUT, 0, 0, 0));
    drove__onnx_set_ints(&g, "pads", pads, 4);
    x = drove__onnx_node(&g, "Relu", x, NULL, NULL);
    x = drove__onnx_node(&g, "MaxPool", x, NULL, NULL);
    drove__onnx_set_ints(&g, "kernel_shape", two, 2);
    drove__onnx_set_ints(&g, "strides", two, 2);
    x = drove__onnx_node(&g, "Flatten", x, NULL, NULL);
    x = drove__onnx_node(&g, "Gemm", x, constant(&g, n->dense, HIDDEN, OUT * HALF * HALF, 0, 0),
                         constant(&g, n->dense_b, HIDDEN, 0, 0, 0));
    drove__onnx_set_int(&g, "transB", 1);
    x = drove__onnx_node(&g, "Tanh", x, NULL, NULL);
    x = drove__onnx_node(&g, "MatMul", x, constant(&g, n->last, HIDDEN, CLASSES, 0, 0), NULL);
    x = drove__onnx_node(&g, "Add", constant(&g, n->last_b, CLASSES, 0, 0, 0), x, NULL);
    x = drove__onnx_node(&g, "Softmax", x, NULL, NULL);
    write_graph(&g, x, path);
}

static double convolved(const network *n, const float *x, size_t o, size_t row, size_t col)
{
    double sum = n->conv_b[o];
    for (size_t c = 0; c < C; c++) {
        for (size_t i = 0; i < 9; i++) {
            size_t r = row + i / 3, k = col + i % 3; /* in the padded image */
            if (r < 1 || r > SIDE || k < 1 || k > SIDE) continue;
            sum += (double)n->conv[(o * C + c) * 9 + i] * x[(c * SIDE + r - 1) * SIDE + k - 1];
        }
    }
    return sum > 0 ? sum : 0;
}

/* Raw outputs of one example, in ONNX's order of everything. */
static void expect(const network *n, const float *x, double z[CLASSES])
{
    double flat[OUT * HALF * HALF], hidden[HIDDEN];
    for (size_t i = 0; i < OUT * HALF * HALF; i++) {
        size_t o = i / (HALF * HALF), row = i / HALF % HALF * 2, col = i % HALF * 2;
        flat[i] = 0;
        for (size_t k = 0; k < 4; k++)
            flat[i] = fmax(flat[i], convolved(n, x, o, row + k / 2, col + k % 2));
    }
    for (size_t h = 0; h < HIDDEN; h++) {
        double sum = n->dense_b[h];
        for (size_t i = 0; i < OUT * HALF * HALF; i++)
            sum += n->dense[h * OUT * HALF * HALF + i] * flat[i];
        hidden[h] = tanh(sum);
    }
    for (size_t c = 0; c < CLASSES; c++) {
        z[c] = n->last_b[c];
        for (size_t h = 0; h < HIDDEN; h++) z[c] += n->last[h * CLASSES + c] * hidden[h];
    }
}

FIXTURE(seed)
{
    drove__rng_seed(&rng, 7, DROVE_RNG_INIT, 1);
    return 0;
}

GROUP(seed, NULL);

TEST(a_network_computes_what_its_file_says)
{
    const network n = {numbers(OUT * C * 9),
                       numbers(OUT),
                       numbers(HIDDEN * OUT * HALF * HALF),
                       numbers(HIDDEN),
                       numbers(HIDDEN * CLASSES),
                       numbers(CLASSES)};
    const drove_model_io io = {.n_features = C * SIDE * SIDE,
                               .n_classes = CLASSES,
                               .image = {C, SIDE, SIDE}};
    const float *x = numbers(ROWS * C * SIDE * SIDE);
    drove_model *m;
    drovek_table kernels;
    drove_pass pass;
    write_network(&n, "network.onnx");
    if (drove__model_create("network.onnx", "", "", &io, &m) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    assert_non_null(m->initial);
    assert_non_null(m->graph_text); /* so that a saved model needs no file */
    float *theta = drove__alloc(m->n_params, sizeof *theta);
    assert_int_equal(drove__model_init(m, "", 1, theta), DROVE_OK);
    assert_int_equal(drovek_select(&kernels, 0, NULL), DROVE_OK);
    assert_int_equal(drove__pass_init(&pass, m, &kernels, ROWS), DROVE_OK);
    const drove_input in = {.n_rows = ROWS, .dense = x};
    drove__model_forward(m, &kernels, theta, &in, &pass);
    const float *z = pass.out[m->head[0].layer];
    for (size_t i = 0; i < ROWS; i++) {
        double expected[CLASSES];
        expect(&n, x + i * C * SIDE * SIDE, expected);
        for (size_t c = 0; c < CLASSES; c++)
            assert_true(fabs(z[i * CLASSES + c] - expected[c]) < 1e-5);
    }
    assert_int_equal(drove__model_init(m, "he:1", 1, theta), DROVE_OK); /* asked for: other ones */
    assert_true(memcmp(theta, m->initial, m->n_params * sizeof *theta) != 0);
    drove__pass_fini(&pass);
    drove__free(theta);
    drove__model_destroy(m);
}

/* ---- what is refused ---- */

typedef const char *build_fn(drove_onnx *g);

static const char *unknown_operator(drove_onnx *g)
{
    return drove__onnx_node(g, "ConvTranspose", "x", constant(g, numbers(36), 2, 2, 3, 3), NULL);
}

static const char *cut_pads(drove_onnx *g)
{
    static const int64_t pads[] = {0, -1, 0, 0};
    const char *y = drove__onnx_node(g, "Conv", "x", constant(g, numbers(36), 2, 2, 3, 3), NULL);
    drove__onnx_set_ints(g, "pads", pads, 4);
    return y;
}

static const char *missing_input(drove_onnx *g)
{
    return drove__onnx_node(g, "Relu", "nothing", NULL, NULL);
}

static const char *free_constant(drove_onnx *g)
{
    return drove__onnx_node(g, "Add", "x", constant(g, numbers(2), 2, 0, 0, 0), NULL);
}

static const char *product_of_parts(drove_onnx *g)
{
    return drove__onnx_node(g, "MatMul", "x", "x", NULL);
}

static const char *scaled_product(drove_onnx *g)
{
    const char *y = drove__onnx_node(g, "Gemm", "x", constant(g, numbers(6), 2, 3, 0, 0), NULL);
    drove__onnx_set_float(g, "alpha", 2.0f);
    return y;
}

static const char *dilated_mean(drove_onnx *g)
{
    static const int64_t two[] = {2, 2};
    const char *y = drove__onnx_node(g, "AveragePool", "x", NULL, NULL);
    drove__onnx_set_ints(g, "kernel_shape", two, 2);
    drove__onnx_set_ints(g, "dilations", two, 2);
    return y;
}

static const char *norm_without_size(drove_onnx *g)
{
    return drove__onnx_node(g, "LRN", "x", NULL, NULL);
}

static const char *norm_of_even_size(drove_onnx *g)
{
    const char *y = drove__onnx_node(g, "LRN", "x", NULL, NULL);
    drove__onnx_set_int(g, "size", 4);
    return y;
}

static const char *huge_constant(drove_onnx *g)
{
    const char *w = constant(g, numbers(6), 2, 3, 0, 0);
    Drove__Onnx__Tensor *t = g->constants.item[g->constants.n - 1];
    t->dims[0] = 1 << 20; /* with the bytes of six numbers */
    t->dims[1] = 1 << 10;
    return drove__onnx_node(g, "Gemm", "x", w, NULL);
}

TEST(what_is_not_there_is_named)
{
    static const struct {
        build_fn *build;
        const char *words;
    } cases[] = {
        {unknown_operator, "ConvTranspose\" (ConvTranspose): drove has no layer"},
        {cut_pads, "(Conv): pads: expected 0 to 65536, found -1"},
        {missing_input, "(Relu): input \"nothing\": no node before it"},
        {free_constant, "(Add): expected constants that fit [N, 2, 5, 5], found [2]"},
        {product_of_parts, "(MatMul): expected a constant matrix"},
        {scaled_product, "(Gemm): expected alpha and beta of 1, found 2 and 1"},
        {dilated_mean, "(AveragePool): dilations: expected pooling without"},
        {norm_without_size, "(LRN): expected an odd size"},
        {norm_of_even_size, "(LRN): expected an odd size"},
        {huge_constant, "expected as many numbers as its sides say"},
    };
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        drove_onnx g = {.prefix = ""};
        drove_graph graph;
        const size_t dims[] = {1, 2, 5, 5};
        drove__onnx_input(&g, "x", DROVE_ONNX_FLOAT, dims, 4, "");
        write_graph(&g, cases[i].build(&g), "refused.onnx");
        assert_int_equal(drove__graph_read_file("refused.onnx", &graph), DROVE_E_DATA);
        if (strstr(drove_error_text(), cases[i].words) == NULL ||
            strncmp(drove_error_text(), "refused.onnx: node ", 19) != 0)
            fail_msg("expected \"%s\", found \"%s\"", cases[i].words, drove_error_text());
    }
}

TEST(shapes_that_differ_are_named)
{
    const network n = {numbers(OUT * C * 9),
                       numbers(OUT),
                       numbers(HIDDEN * OUT * HALF * HALF),
                       numbers(HIDDEN),
                       numbers(HIDDEN * CLASSES),
                       numbers(CLASSES)};
    const drove_model_io io = {.n_features = C * 8 * 8, .n_classes = CLASSES, .image = {C, 8, 8}};
    drove_model *m;
    write_network(&n, "shapes.onnx");
    assert_int_equal(drove__model_create("shapes.onnx", "", "", &io, &m), DROVE_E_SHAPE);
    assert_non_null(
        strstr(drove_error_text(),
               "input \"image\": expected examples of [N, 2, 6, 6], found images of 2 x 8 "
               "x 8 (channels, height, width) in the data"));
}

/* ---- damage ---- */

TEST(damage_is_an_error)
{
    const network n = {numbers(OUT * C * 9),
                       numbers(OUT),
                       numbers(HIDDEN * OUT * HALF * HALF),
                       numbers(HIDDEN),
                       numbers(HIDDEN * CLASSES),
                       numbers(CLASSES)};
    char *bytes;
    size_t n_bytes, n_refused = 0;
    drove_graph graph;
    write_network(&n, "whole.onnx");
    assert_int_equal(drove__file_load("whole.onnx", 1 << 20, &bytes, &n_bytes), DROVE_OK);
    for (size_t i = 0; i < n_bytes; i++) { /* cut short: never read as a whole */
        if (drove__graph_read_onnx(bytes, i, "cut.onnx", NULL, NULL, &graph) == DROVE_OK) {
            assert_true(i > n_bytes - 64); /* the sets of operators stand at the end */
            drove__graph_fini(&graph);
        }
    }
    for (size_t i = 0; i < n_bytes; i++) { /* one byte changed: an error or another network */
        char before = bytes[i];
        bytes[i] = (char)(before ^ (1 << drove__rng_below(&rng, 8)));
        drove_status status =
            drove__graph_read_onnx(bytes, n_bytes, "changed.onnx", NULL, NULL, &graph);
        if (status == DROVE_OK) drove__graph_fini(&graph);
        else assert_true(strchr(drove_error_text(), '\n') == NULL);
        n_refused += status != DROVE_OK;
        bytes[i] = before;
    }
    assert_true(n_refused > 100);
    free(bytes);
}

TEST(a_small_file_cannot_take_much_memory)
{
    enum { N = 1 << 20 };
    static char bytes[2 * N];
    drove_graph graph;
    for (size_t i = 0; i < N; i++) {
        bytes[2 * i] = 14 << 3 | 2; /* an empty pair of metadata: two bytes here, many in memory */
        bytes[2 * i + 1] = 0;
    }
    assert_int_equal(drove__graph_read_onnx(bytes, sizeof bytes, "empty.onnx", NULL, NULL, &graph),
                     DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "empty.onnx: expected an ONNX model"));
}
