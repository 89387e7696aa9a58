/* What a pass tells the functions that round its numbers, and where integers lie that layers read
 * instead of floats, against the rules of model/layer.h and model/model.h by hand. */
#include "base/mem.h"
#include "base/rng.h"
#include "kernel/tiers.h"
#include "model/graph.h"
#include "model/integers.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_ROWS = 3, SIDE = 8, N_CHANNELS = 2, N_INPUTS = N_CHANNELS * SIDE * SIDE, N_CLASSES = 4 };
enum { MOST_LAYERS = 5, MOST_PARAMS = 4096 };
static const drove_model_io images = {.n_features = N_INPUTS,
                                      .n_classes = N_CLASSES,
                                      .image = {N_CHANNELS, SIDE, SIDE}};

/* ---- networks: a letter is a layer that reads the one before ----
 *
 *   c, r  convolution: linear, with ReLU     p, o  pooling: windows apart, windows that overlap
 *   d, e  dense: linear, with ReLU           q     p that reads the layer before the last
 *   s     sum of the last two */

static const drove_layer_ops *ops_of(char kind)
{
    return strchr("cr", kind)    ? &drove__layer_convolution
           : strchr("poq", kind) ? &drove__layer_max_pool
           : kind == 's'         ? &drove__layer_sum
                                 : &drove__layer_dense;
}

static drove_model *make_model(const char *kinds)
{
    static const char *const name[MOST_LAYERS] = {"n0", "n1", "n2", "n3", "n4"};
    drove_graph g;
    drove_model *m = NULL;
    drove__graph_init(&g, kinds);
    for (size_t i = 0; kinds[i] != '\0'; i++) {
        const char kind = kinds[i];
        drove_node *n;
        assert_int_equal(drove__graph_add(&g, ops_of(kind), name[i],
                                          kind == 'q' ? name[i - 2] : NULL, &n),
                         DROVE_OK);
        if (kind == 's') strcpy(n->bottom[n->n_bottoms++], name[i - 2]);
        if (strchr("cro", kind))
            n->opt.window = (drovek_window){.kh = 3, .kw = 3, .ph = 1, .pw = 1};
        n->opt.padding = (drove_padding){.below = 1, .right = 1};
        if (strchr("pq", kind)) n->opt.window = (drovek_window){.kh = 2, .kw = 2};
        if (strchr("poq", kind)) n->opt.window.sh = n->opt.window.sw = 2;
        if (strchr("crde", kind) && kinds[i + 1] != '\0') n->opt.n_out = 5;
        n->act = strchr("re", kind) ? DROVEK_RELU : DROVEK_LINEAR;
    }
    if (drove__model_create_graph(&g, kinds, "", &images, &m) != DROVE_OK)
        fail_msg("%s: %s", kinds, drove_error_text());
    drove__graph_fini(&g);
    assert_true(m->n_params <= MOST_PARAMS);
    return m;
}

/* ---- what is told ---- */

typedef struct told {
    const char *kinds;
    drove_model *model;
    drove_pass pass;
    size_t next; /* layer */
    bool is_back;
    char values[MOST_LAYERS + 1], to[MOST_LAYERS + 1], derivatives[MOST_LAYERS + 1];
} told;

/* Numbers that are rounded in place are those of layer l. */
static void assert_told(const told *t, size_t l, const drove_rounded *of, const float *x,
                        const float *to, size_t n, const float *expected)
{
    const drove_shape s = t->model->layer[l].out;
    assert_ptr_equal(x, expected);
    assert_ptr_equal(to, expected);
    assert_int_equal(n, N_ROWS * s.c * s.h * s.w);
    assert_int_equal(of->n_places, s.h * s.w);
    assert_int_equal(of->block, s.c); /* channels last */
}

static void take_values(void *context, const drove_rounded *of, const float *x, float *to, size_t n,
                        uint32_t largest, drovek_planes *planes)
{
    told *t = context;
    const size_t l = of->layer;
    assert_true(l >= t->next && l < t->model->n_layers);
    t->next = l + 1;
    assert_told(t, l, of, x, to, n, t->pass.out[l]);
    assert_int_equal(largest, (uint32_t)DROVE_LARGEST_UNKNOWN);
    assert_null(planes);
    t->values[l] = of->is_rounded ? '1' : '0';
}

/* From the last layer to the first, each once. */
static void take_derivatives(void *context, const drove_rounded *of, const float *x, float *to,
                             size_t n, uint32_t largest, drovek_planes *planes)
{
    told *t = context;
    if (!t->is_back) t->next = t->model->n_layers;
    t->is_back = true;
    assert_true(t->next > 0);
    const size_t l = --t->next;
    assert_told(t, l, of, x, to, n, t->pass.delta[l]);
    assert_int_equal(largest, (uint32_t)DROVE_LARGEST_UNKNOWN);
    assert_null(planes);
    t->to[l] = (char)('0' + of->layer);
    t->derivatives[l] = of->is_rounded ? '1' : '0';
}

static void run(told *t, const drovek_table *k)
{
    static float theta[MOST_PARAMS], grad[MOST_PARAMS], x[N_ROWS * N_INPUTS];
    static const int32_t y[N_ROWS] = {1, 0, 3};
    const drove_input in = {.n_rows = N_ROWS, .dense = x};
    const drove_target target = {.y_class = y};
    const drove_round round = {.values = take_values,
                               .derivatives = take_derivatives,
                               .context = t};
    const drove_pass_options opt = {
        .model = t->model, .kernels = k, .max_rows = N_ROWS, .trains = true, .round = &round};
    drove_score score = {0};
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < N_ROWS * N_INPUTS; i++) x[i] = (float)drove__rng_normal(&rng);
    assert_int_equal(drove__model_init(t->model, "normal:0.2", 1, theta), DROVE_OK);
    assert_int_equal(drove__pass_create(&opt, &t->pass), DROVE_OK);
    t->pass.is_training = true;
    drove__model_forward(t->model, k, theta, &in, &t->pass);
    drove__model_loss(t->model, k, &target, N_ROWS, 1.0f, &t->pass, &score);
    drove__model_backward(t->model, k, theta, &in, &t->pass, &(drove_backward){.grad = grad});
    assert_int_equal(t->next, t->model->layer[0].training.is_constant ? 1 : 0);
    drove__pass_fini(&t->pass);
}

/* Pooling's numbers are its input's: they need no rounding where those are rounded, and where they
 * are the only use of those, these are rounded instead.  Derivatives of windows that are apart go
 * back as they are.  A layer that no parameter changes has none. */
TEST(what_is_rounded_already_is_told)
{
    static const struct {
        const char *kinds, *values;   /* of each layer: -: none, 0: to be rounded, 1: rounded */
        const char *to, *derivatives; /* the layer in whose units, and the same */
    } cases[] = {
        {"pd", "10", "-1", "-0"},
        {"od", "10", "-1", "-0"},
        {"cpd", "-00", "002", "100"},
        {"rpd", "010", "002", "100"},
        {"cod", "-00", "012", "000"},
        {"rod", "010", "012", "000"},
        {"cppd", "--00", "0003", "1100"},
        {"ed", "00", "01", "00"},
        {"cpqsd", "01100", "01234", "00000"},
        {"rced", "0000", "0123", "0000"},
    };
    drovek_table k;
    assert_int_equal(drovek_select(&k, 0, "ref"), DROVE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        told t = {.kinds = cases[i].kinds, .model = make_model(cases[i].kinds)};
        memset(t.values, '-', t.model->n_layers);
        memset(t.to, '-', t.model->n_layers);
        memset(t.derivatives, '-', t.model->n_layers);
        run(&t, &k);
        if (strcmp(t.values, cases[i].values) != 0 || strcmp(t.to, cases[i].to) != 0 ||
            strcmp(t.derivatives, cases[i].derivatives) != 0)
            fail_msg("%s: expected %s, %s, %s, found %s, %s, %s", t.kinds, cases[i].values,
                     cases[i].to, cases[i].derivatives, t.values, t.to, t.derivatives);
        drove__model_destroy(t.model);
    }
}

/* ---- integers ---- */

/* Marks the bytes of a plane and, as long as `checks`, fails where they are another's. */
static void mark(uint8_t *plane, size_t n, uint8_t own, bool checks)
{
    for (size_t i = 0; i < n + DROVEK_PLANES_SLACK; i++) {
        if (!checks) plane[i] = own;
        else assert_int_equal(plane[i], own);
    }
}

static void check_planes(const drovek_planes *p, size_t n, bool is_expected, bool is_wide,
                         uint8_t own, bool checks)
{
    assert_int_equal(p->high != NULL, is_expected);
    assert_int_equal(p->low != NULL, is_expected && is_wide);
    if (p->high != NULL) mark(p->high, n, own, checks);
    if (p->low != NULL) mark(p->low, n, (uint8_t)(own + 1), checks);
}

static void check_pass(const drove_pass *pass, const drove_round *r, const char *values,
                       const char *derivatives, const char *floats)
{
    const drove_model *m = pass->model;
    for (int checks = 0; checks < 2; checks++) {
        for (size_t b = 0; b <= m->n_layers; b++) {
            const size_t n = N_ROWS * drove__shape_floats(drove__blob_shape(m, (uint32_t)b));
            check_planes(&pass->integers->value[b], n, values[b] == '1', r->is_wide_value,
                         (uint8_t)(4 * b), checks);
            assert_int_equal(pass->integers->has_floats[b], floats[b] == '1');
            if (b < m->n_layers)
                check_planes(&pass->integers->derivative[b], N_ROWS * m->layer[b].n_out,
                             derivatives[b] == '1', r->is_wide_derivative, (uint8_t)(4 * b + 2),
                             checks);
        }
    }
}

/* Layers with weights, and pooling between two of them, read integers; the loss, other pooling and
 * what is rounded behind its reader are floats. */
TEST(integers_lie_where_they_are_read)
{
    static const struct {
        const char *kinds, *values, *derivatives, *floats; /* of each blob, the input first */
    } cases[] = {
        {"ed", "110", "11", "001"},         {"pd", "010", "01", "111"},
        {"cpd", "1010", "111", "0101"},     {"rpd", "1110", "111", "0001"},
        {"rod", "1110", "101", "0111"},     {"cod", "1010", "101", "0111"},
        {"rpcd", "11110", "1111", "00001"},
    };
    drovek_table k;
    assert_int_equal(drovek_select(&k, 0, "ref"), DROVE_OK);
    k.planes = &drovek_planes_ref;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        drove_model *m = make_model(cases[i].kinds);
        for (unsigned wide = 0; wide < 4; wide++) {
            const drove_round round = {.values = take_values,
                                       .derivatives = take_derivatives,
                                       .is_wide_value = wide & 1,
                                       .is_wide_derivative = wide & 2};
            const drove_pass_options opt = {
                .model = m, .kernels = &k, .max_rows = N_ROWS, .trains = true, .round = &round};
            drove_pass pass;
            assert_int_equal(drove__pass_create(&opt, &pass), DROVE_OK);
            check_pass(&pass, &round, cases[i].values, cases[i].derivatives, cases[i].floats);
            drove__pass_fini(&pass);
        }
        drove__model_destroy(m);
    }
}

/* ---- integers and floats ---- */

static const float derivative_unit = 0x1p-12f;

static void round_to(float unit, const float *x, float *to, size_t n, drovek_planes *planes)
{
    if (planes != NULL) planes->unit = unit, planes->by = NULL;
    for (size_t i = 0; i < n; i++) {
        const float whole = fminf(fmaxf(floorf(x[i] / unit + 0.5f), -32767.0f), 32767.0f);
        if (to != NULL) to[i] = whole * unit;
        if (planes == NULL) continue;
        planes->high[i] = (uint8_t)((int)whole >> 8);
        planes->low[i] = (uint8_t)((int)whole & 255);
    }
}

static void round_values(void *context, const drove_rounded *of, const float *x, float *to,
                         size_t n, uint32_t largest, drovek_planes *planes)
{
    (void)context, (void)of, (void)largest;
    round_to(1.0f, x, to, n, planes);
}

static void round_derivatives(void *context, const drove_rounded *of, const float *x, float *to,
                              size_t n, uint32_t largest, drovek_planes *planes)
{
    (void)context, (void)of, (void)largest;
    round_to(derivative_unit, x, to, n, planes);
}

/* Returns the loss.  Weights, biases and examples are integers, -1 to 1, so that sums are exact. */
static double pass_of(const drove_model *m, const drovek_table *k, float *grad)
{
    static float theta[MOST_PARAMS], x[N_ROWS * N_INPUTS];
    static uint8_t bytes[MOST_PARAMS + DROVEK_PLANES_SLACK];
    static const int32_t y[N_ROWS] = {1, 0, 3};
    drovek_planes weight[MOST_LAYERS] = {{.high = NULL}};
    const drove_round round = {.values = round_values,
                               .derivatives = round_derivatives,
                               .is_wide_value = true,
                               .is_wide_derivative = true,
                               .weight = weight};
    const drove_pass_options opt = {
        .model = m, .kernels = k, .max_rows = N_ROWS, .trains = true, .round = &round};
    const drove_input in = {.n_rows = N_ROWS, .dense = x};
    const drove_target target = {.y_class = y};
    drove_pass pass;
    drove_score score = {0};
    drove_rng rng;
    drove__rng_seed(&rng, 2, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < N_ROWS * N_INPUTS; i++) x[i] = (float)drove__rng_below(&rng, 3) - 1.0f;
    for (size_t i = 0; i < m->n_params; i++) {
        const uint64_t draw = drove__rng_below(&rng, 8);
        theta[i] = draw == 0 ? -1.0f : draw == 1 ? 1.0f : 0.0f;
        bytes[i] = (uint8_t)(int8_t)theta[i];
    }
    for (size_t l = 0; l < m->n_layers; l++)
        weight[l] = (drovek_planes){.high = bytes + m->layer[l].w_offset, .unit = 1.0f};
    memset(grad, 0, m->n_params * sizeof *grad);
    assert_int_equal(drove__pass_create(&opt, &pass), DROVE_OK);
    pass.is_training = true;
    if (pass.integers->value != NULL && pass.integers->value[0].high != NULL)
        round_to(1.0f, x, NULL, N_ROWS * N_INPUTS, &pass.integers->value[0]);
    drove__model_forward(m, k, theta, &in, &pass);
    drove__model_loss(m, k, &target, N_ROWS, 1.0f, &pass, &score);
    drove__model_backward(m, k, theta, &in, &pass, &(drove_backward){.grad = grad});
    drove__pass_fini(&pass);
    return score.loss;
}

static drovek_table usual;
static size_t n_calls, n_images; /* of poolings of floats */

static void count_pooling(const drovek_pool *p, const float *x, float *y, void *place, size_t n)
{
    n_calls++;
    n_images += n;
    usual.max_pool_f32(p, x, y, place, n);
}

/* A convolution on bytes also does the work of a pooling that alone reads what it writes, image by
 * image; a pooling between integers pools these.  Poolings in a row are of floats. */
TEST(pooling_is_done_once)
{
    static const struct {
        const char *kinds;
        size_t n_calls, n_images; /* on bytes */
    } cases[] = {{"cpd", N_ROWS, N_ROWS}, {"rpd", 0, 0},     {"cod", 1, N_ROWS},
                 {"rod", 1, N_ROWS},      {"pd", 1, N_ROWS}, {"cppd", 2, 2 * N_ROWS}};
    static float grad[MOST_PARAMS];
    assert_int_equal(drovek_select(&usual, 0, "ref"), DROVE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        drove_model *m = make_model(cases[i].kinds);
        drovek_table k = usual;
        k.max_pool_f32 = count_pooling;
        k.planes = &drovek_planes_ref;
        n_calls = n_images = 0;
        pass_of(m, &k, grad);
        if (n_calls != cases[i].n_calls || n_images != cases[i].n_images)
            fail_msg("%s: expected %zu of %zu images, found %zu of %zu", cases[i].kinds,
                     cases[i].n_calls, cases[i].n_images, n_calls, n_images);
        drove__model_destroy(m);
    }
}

/* Passes whose layers read bytes find what passes on floats find. */
TEST(integers_give_what_floats_give)
{
    static const char *const kinds[] = {"ed",   "d",     "pd",   "cpd",   "rpd",
                                        "cod",  "rod",   "rpcd", "cpcd",  "cppd",
                                        "rced", "cpqsd", "cped", "rpcpd", "crd"};
    static float grad[2][MOST_PARAMS];
    drovek_table floats, bytes;
    assert_int_equal(drovek_select(&floats, 0, "ref"), DROVE_OK);
    bytes = floats;
    bytes.planes = &drovek_planes_ref;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        drove_model *m = make_model(kinds[i]);
        const double expected = pass_of(m, &floats, grad[0]), found = pass_of(m, &bytes, grad[1]);
        size_t n_moved = 0;
        if (!(fabs(found - expected) <= 1e-6 * fabs(expected)))
            fail_msg("%s: expected a loss of %g, found %g", kinds[i], expected, found);
        for (size_t k = 0; k < m->n_params; k++) {
            const double error = fabs((double)grad[0][k] - (double)grad[1][k]);
            if (!(error <= 1e-5 * (1.0 + fabs((double)grad[0][k]))))
                fail_msg("%s: parameter %zu: expected %g, found %g", kinds[i], k,
                         (double)grad[0][k], (double)grad[1][k]);
            n_moved += grad[0][k] != 0.0f;
        }
        assert_true(n_moved > m->n_params / 4);
        drove__model_destroy(m);
    }
}
