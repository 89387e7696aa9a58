/* test_graph.c - descriptions of networks made into layers: order, merging, heads, who adds to a
 * derivative, and what is refused. */
#include "model/graph.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const drove_model_io images = {.n_features = 192, .n_classes = 4, .image = {3, 8, 8}};
static const drove_model_io vectors = {.n_features = 6, .n_classes = 4};

static drove_node *add(drove_graph *g, const drove_layer_ops *ops, const char *name,
                       const char *bottom)
{
    drove_node *node;
    assert_int_equal(drove__graph_add(g, ops, name, bottom, &node), DROVE_OK);
    node->line = (int)g->n_nodes * 10;
    return node;
}

static void add_bottom(drove_node *node, const char *bottom)
{
    strcpy(node->bottom[node->n_bottoms++], bottom);
}

static void add_head(drove_graph *g, const char *bottom, float weight)
{
    drove_graph_head *head = &g->head[g->n_heads++];
    strcpy(head->bottom, bottom);
    head->weight = weight;
    head->line = 7;
}

static drove_model *build(drove_graph *g, const drove_model_io *io)
{
    drove_model *m = NULL;
    if (drove__model_create_graph(g, g->name, "", io, &m) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    drove__graph_fini(g);
    return m;
}

/* The whole text of the error is `text`, in one line. */
static void refuse(drove_graph *g, const drove_model_io *io, drove_status status, const char *text)
{
    drove_model *m = NULL;
    assert_int_equal(drove__model_create_graph(g, g->name, "", io, &m), status);
    assert_null(m);
    assert_string_equal(drove_error_text(), text);
    drove__graph_fini(g);
}

TEST(a_chain_of_dense_layers_is_one)
{
    drove_graph g;
    drove__graph_init(&g, "chain");
    add(&g, &drove__layer_dense, "a", NULL)->opt.n_out = 5;
    add(&g, &drove__layer_activation, "r", NULL)->act = DROVEK_RELU;
    add(&g, &drove__layer_dense, "b", NULL);
    drove_model *m = build(&g, &vectors);
    assert_true(m->is_chain);
    assert_false(m->is_random);
    assert_int_equal(m->n_layers, 2);
    assert_int_equal(m->layer[0].act, DROVEK_RELU);
    assert_int_equal(m->layer[1].act, DROVEK_LINEAR);
    assert_int_equal(m->layer[1].n_out, 4); /* as the data ask for */
    assert_int_equal(m->n_weights, 6 * 5 + 5 + 5 * 4 + 4);
    assert_int_equal(m->n_heads, 1);
    assert_int_equal(m->head[0].layer, 1);
    assert_true(drove__model_fuses(m));
    drove__model_destroy(m);
}

/* A dropout of nothing needs no random numbers. */
TEST(dropout_is_random_if_it_drops)
{
    for (int drops = 0; drops < 2; drops++) {
        drove_graph g;
        drove__graph_init(&g, "drops");
        add(&g, &drove__layer_dense, "a", NULL)->opt.n_out = 5;
        add(&g, &drove__layer_dropout, "d", NULL)->opt.ratio = drops ? 0.5f : 0.0f;
        add(&g, &drove__layer_dense, "b", NULL);
        drove_model *m = build(&g, &vectors);
        assert_int_equal(m->is_random, drops);
        drove__model_destroy(m);
    }
}

/* Given backwards; the order of those that are free stays as given. */
TEST(layers_are_put_in_order)
{
    drove_graph g;
    drove__graph_init(&g, "order");
    add(&g, &drove__layer_dense, "out", "both");
    add_bottom(add(&g, &drove__layer_sum, "both", "right"), "left");
    add(&g, &drove__layer_dense, "left", "data")->opt.n_out = 3;
    add(&g, &drove__layer_dense, "right", "data")->opt.n_out = 3;
    drove_model *m = build(&g, &vectors);
    static const char *const expected[] = {"right", "left", "both", "out"};
    for (size_t l = 0; l < 4; l++) assert_string_equal(m->layer[l].name, expected[l]);
    assert_int_equal(m->layer[2].bottom[0], 1);
    assert_int_equal(m->layer[2].bottom[1], 2);
    assert_false(m->is_chain);
    drove__model_destroy(m);
}

TEST(a_graph_in_order_stays_as_it_is)
{
    drove_graph g;
    char name[16];
    drove__graph_init(&g, "order");
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "n%d", i);
        add(&g, &drove__layer_dense, name, i < 3 ? "data" : NULL)->opt.n_out = 4;
    }
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "n%d", i);
        add(&g, &drove__layer_sum, i == 0 ? "s0" : "s1", NULL);
        add_bottom(&g.node[g.n_nodes - 1], name);
    }
    drove_model *m = build(&g, &vectors);
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_string_equal(m->layer[i].name, name);
    }
    drove__model_destroy(m);
}

TEST(activations_are_merged_where_nobody_sees_it)
{
    const struct {
        const char *what;
        const drove_layer_ops *ops;
        bool second_reader, is_head, twice;
        size_t n_layers;
    } rows[] = {
        {"dense", &drove__layer_dense, false, false, false, 2},
        {"read by another", &drove__layer_dense, true, false, false, 4},
        {"head", &drove__layer_dense, false, true, false, 3},
        {"two in a row", &drove__layer_dense, false, false, true, 3},
        {"takes none", &drove__layer_dropout, false, false, false, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        drove_graph g;
        drove__graph_init(&g, rows[i].what);
        add(&g, rows[i].ops, "a", NULL)->opt.n_out = 4;
        add(&g, &drove__layer_activation, "r", NULL)->act = DROVEK_TANH;
        if (rows[i].twice) add(&g, &drove__layer_activation, "r2", NULL)->act = DROVEK_RELU;
        if (rows[i].second_reader) add_bottom(add(&g, &drove__layer_sum, "s", "a"), "r");
        add(&g, &drove__layer_dense, "b", NULL);
        if (rows[i].is_head) {
            add_head(&g, "a", 0.5f);
            add_head(&g, "b", 1.0f);
        }
        drove_model *m = build(&g, &vectors);
        if (m->n_layers != rows[i].n_layers) fail_msg("%s: %zu layers", rows[i].what, m->n_layers);
        bool merged = rows[i].n_layers == 2 || rows[i].twice;
        assert_int_equal(m->layer[0].act, merged ? DROVEK_TANH : DROVEK_LINEAR);
        drove__model_destroy(m);
    }
}

/* data -> a -> b, c, d -> s; a is also a head, the first or the second one. */
TEST(the_last_reader_writes_and_the_others_add)
{
    for (int with_head = 0; with_head < 3; with_head++) {
        drove_graph g;
        drove__graph_init(&g, "adds");
        add(&g, &drove__layer_dense, "a", NULL)->opt.n_out = 4;
        add(&g, &drove__layer_dense, "b", "a")->opt.n_out = 4;
        add(&g, &drove__layer_dense, "c", "a")->opt.n_out = 4;
        drove_node *s = add(&g, &drove__layer_sum, "s", "b");
        add_bottom(s, "a");
        add_bottom(s, "c");
        add_bottom(s, "a");
        if (with_head) {
            add_head(&g, with_head == 1 ? "a" : "s", 0.25f);
            add_head(&g, with_head == 1 ? "s" : "a", 1.0f);
        }
        drove_model *m = build(&g, &vectors);
        assert_int_equal(m->layer[1].adds[0], true);
        assert_int_equal(m->layer[2].adds[0], true);
        assert_int_equal(m->layer[3].adds[0], false); /* b */
        assert_int_equal(m->layer[3].adds[1], with_head > 0);
        assert_int_equal(m->layer[3].adds[2], false); /* c */
        assert_int_equal(m->layer[3].adds[3], true);  /* a again */
        assert_int_equal(m->n_heads, 1 + (with_head > 0));
        assert_true(m->head[0].weight == (with_head ? 0.25f : 1.0f));
        drove__model_destroy(m);
    }
}

TEST(what_only_training_needs_is_marked)
{
    drove_graph g;
    drove__graph_init(&g, "heads");
    add(&g, &drove__layer_dense, "a", NULL)->opt.n_out = 5;
    add(&g, &drove__layer_dropout, "side", "a")->opt.ratio = 0.5f;
    add(&g, &drove__layer_dense, "side-out", "side");
    add(&g, &drove__layer_dense, "out", "a");
    add_head(&g, "side-out", 0.3f);
    add_head(&g, "out", 1.0f);
    drove_model *m = build(&g, &vectors);
    static const bool trains_only[] = {false, true, true, false};
    for (size_t l = 0; l < 4; l++) assert_int_equal(m->layer[l].training.is_only, trains_only[l]);
    assert_true(m->is_random);
    assert_false(m->is_chain);
    assert_int_equal(m->head[1].layer, 3);
    drove__model_destroy(m);
}

/* ---- memory of derivatives ---- */

enum { PASS_ROWS = 5, N_NODES = 14 };

/* A random network without loops: each layer reads one or two earlier ones; what nobody has read
 * is summed up before the output. */
static drove_model *random_network(uint64_t seed)
{
    drove_graph g;
    drove_rng rng;
    char name[N_NODES][8];
    bool is_read[N_NODES] = {false};
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 0);
    drove__graph_init(&g, "random");
    for (unsigned i = 0; i < N_NODES; i++) {
        unsigned a = i > 0 ? (unsigned)drove__rng_below(&rng, i) : 0;
        unsigned b = i > 0 ? (unsigned)drove__rng_below(&rng, i) : 0;
        snprintf(name[i], sizeof name[i], "n%u", i);
        if (i == 0 || a == b) {
            add(&g, &drove__layer_dense, name[i], i == 0 ? "data" : name[a])->opt.n_out = 6;
        } else {
            add_bottom(add(&g, &drove__layer_sum, name[i], name[a]), name[b]);
        }
        is_read[a] = is_read[b] = true;
        is_read[i] = false;
    }
    drove_node *all = add(&g, &drove__layer_sum, "all", name[N_NODES - 1]);
    for (unsigned i = 0, n = 1; i + 1 < N_NODES && n < DROVE_LAYER_MOST_BOTTOMS; i++) {
        if (is_read[i]) continue;
        add_bottom(all, name[i]);
        n++;
    }
    add(&g, &drove__layer_dense, "out", "all");
    return build(&g, &vectors);
}

/* Backward as far as memory is concerned: who wrote each float last? */
static void check_derivatives(const drove_model *m, uint64_t seed)
{
    drovek_table kernels;
    drove_pass pass;
    assert_int_equal(drovek_select(&kernels, 0, "ref"), DROVE_OK);
    assert_int_equal(drove__pass_init(&pass, m, &kernels, PASS_ROWS), DROVE_OK);
    size_t n_floats = pass.n_bytes / sizeof(float);
    size_t *owner = calloc(n_floats, sizeof *owner); /* 1 + layer; 0: nobody */
    bool *is_written = calloc(m->n_layers, sizeof *is_written);
    assert_true(owner != NULL && is_written != NULL);
    for (size_t t = m->n_layers; t-- > 0;) {
        const drove_layer *l = &m->layer[t];
        size_t at = (size_t)(pass.delta[t] - pass.memory);
        for (size_t i = 0; is_written[t] && i < PASS_ROWS * l->n_out; i++)
            if (owner[at + i] != t + 1)
                fail_msg("seed %llu: layer %zu reads what layer %zu has overwritten",
                         (unsigned long long)seed, t, owner[at + i] - 1);
        for (size_t i = 0; i < PASS_ROWS * l->n_out; i++) owner[at + i] = t + 1;
        for (unsigned b = 0; b < l->n_bottoms; b++) {
            if (l->bottom[b] == 0) continue;
            size_t to = l->bottom[b] - 1, first = (size_t)(pass.delta[to] - pass.memory);
            for (size_t i = 0; i < PASS_ROWS * m->layer[to].n_out; i++) {
                if (is_written[to]) assert_int_equal(owner[first + i], to + 1);
                else if (first + i >= at && first + i < at + PASS_ROWS * l->n_out)
                    fail_msg("seed %llu: layer %zu writes over what it reads",
                             (unsigned long long)seed, t);
                owner[first + i] = to + 1;
            }
            is_written[to] = true;
        }
    }
    free(owner);
    free(is_written);
    drove__pass_fini(&pass);
}

TEST(derivatives_keep_until_they_are_read)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        drove_model *m = random_network(seed);
        check_derivatives(m, seed);
        drove__model_destroy(m);
    }
}

TEST(wrong_names_are_told)
{
    drove_graph g;
    drove__graph_init(&g, "net");
    g.file = "net.yaml";
    add(&g, &drove__layer_dense, "conv1", NULL);
    add(&g, &drove__layer_dense, "conv2", "con1");
    refuse(
        &g, &vectors, DROVE_E_ARG,
        "net.yaml:20: layer \"conv2\": input \"con1\" is not the output of a layer; did you mean "
        "\"conv1\"?");

    drove__graph_init(&g, "net");
    g.file = "net.yaml";
    add(&g, &drove__layer_dense, "a", NULL);
    add(&g, &drove__layer_dense, "a", NULL);
    refuse(&g, &vectors, DROVE_E_ARG,
           "net.yaml:20: layer \"a\": expected each name once, found it again (first on line 10)");

    drove__graph_init(&g, "net");
    add(&g, &drove__layer_dense, "a", NULL);
    strcpy(add(&g, &drove__layer_dense, "b", NULL)->top, "a");
    refuse(&g, &vectors, DROVE_E_ARG,
           "model net: layer \"b\": output \"a\" is already that of layer \"a\"");

    drove__graph_init(&g, "net");
    add(&g, &drove__layer_dense, "data", "data");
    refuse(&g, &vectors, DROVE_E_ARG,
           "model net: layer \"data\": output \"data\" is already the model's input");

    drove__graph_init(&g, "net");
    g.file = "net.yaml";
    add(&g, &drove__layer_dense, "a", NULL);
    add_head(&g, "b", 1);
    refuse(&g, &vectors, DROVE_E_ARG, "net.yaml:7: head \"b\" is not the output of a layer");
}

TEST(a_cycle_is_told_with_its_layers)
{
    drove_graph g;
    drove__graph_init(&g, "net");
    g.file = "net.yaml";
    add(&g, &drove__layer_dense, "first", NULL);
    add_bottom(add(&g, &drove__layer_sum, "a", "first"), "c");
    add(&g, &drove__layer_dense, "b", "a");
    add(&g, &drove__layer_dense, "c", "b");
    add(&g, &drove__layer_dense, "out", "c");
    refuse(&g, &vectors, DROVE_E_ARG,
           "net.yaml:20: layers in a cycle: \"a\" reads \"c\" reads \"b\" reads \"a\"");

    drove__graph_init(&g, "net");
    add(&g, &drove__layer_dense, "self", "self");
    refuse(&g, &vectors, DROVE_E_ARG, "model net: layers in a cycle: \"self\" reads \"self\"");
}

TEST(outputs_without_use_are_told)
{
    drove_graph g;
    drove__graph_init(&g, "net");
    g.file = "net.yaml";
    add(&g, &drove__layer_dense, "a", NULL);
    add(&g, &drove__layer_dense, "b", "data");
    add_head(&g, "b", 1);
    refuse(&g, &vectors, DROVE_E_ARG,
           "net.yaml:10: layer \"a\": no layer reads output \"a\", and it is not a head");

    drove__graph_init(&g, "net");
    add(&g, &drove__layer_dense, "a", NULL);
    add(&g, &drove__layer_dense, "b", "data");
    refuse(&g, &vectors, DROVE_E_ARG,
           "model net: layer \"b\": expected one output that no layer reads, or named "
           "heads; found \"a\" and \"b\"");

    drove__graph_init(&g, "net");
    refuse(&g, &vectors, DROVE_E_ARG, "model net: expected layers, found none");
}

TEST(shapes_that_do_not_match_are_told)
{
    drove_graph g;
    drove__graph_init(&g, "net");
    add(&g, &drove__layer_convolution, "c", NULL)->opt.window.kw = 2;
    refuse(&g, &vectors, DROVE_E_SHAPE,
           "model net: layer \"c\": convolution needs images (mnist, cifar10, idx, "
           "synth:images), found vectors of 6 numbers");

    drove__graph_init(&g, "net");
    add(&g, &drove__layer_dense, "a", NULL)->opt.n_out = 3;
    refuse(&g, &vectors, DROVE_E_SHAPE,
           "model net: layer \"a\": expected 4 outputs, as the data and the loss require, found 3");

    drove__graph_init(&g, "net");
    g.file = "n.yaml";
    drove_node *c = add(&g, &drove__layer_convolution, "c", NULL);
    c->opt.window.kh = c->opt.window.kw = 9;
    drove_model *m = NULL;
    assert_int_equal(drove__model_create_graph(&g, "n", "", &images, &m), DROVE_E_SHAPE);
    assert_non_null(strstr(drove_error_text(), "n.yaml:10: layer \"c\": a window of 9 x 9"));
    assert_non_null(strstr(drove_error_text(), "larger than its input of 8 x 8"));
    drove__graph_fini(&g);

    drove__graph_init(&g, "net");
    add(&g, &drove__layer_sum, "s", NULL)->act = DROVEK_RELU;
    g.node[0].n_bottoms = 0;
    refuse(&g, &vectors, DROVE_E_ARG,
           "model net: layer \"s\": sum takes at least 1 input, found 0");

    drove__graph_init(&g, "net");
    add(&g, &drove__layer_dense, "d", NULL)->opt.b_filler = (drove_filler){"xavier", 1.0f};
    refuse(
        &g, &vectors, DROVE_E_ARG,
        "model net: layer \"d\": expected biases that start as constant or normal, found xavier");

    drove__graph_init(&g, "net");
    add(&g, &drove__layer_gather, "g", NULL);
    refuse(&g, &vectors, DROVE_E_SHAPE, "model net: layer \"g\": expected an index, found none");

    drove__graph_init(&g, "net");
    uint32_t *index = malloc(2 * sizeof *index);
    assert_non_null(index);
    index[0] = 0;
    index[1] = (uint32_t)vectors.n_features;
    add(&g, &drove__layer_gather, "g", NULL)->opt.index = (drove_indices){2, index};
    refuse(&g, &vectors, DROVE_E_SHAPE,
           "model net: layer \"g\": index: expected 0 to 5, as its input has 6 numbers, found 6");

    drove__graph_init(&g, "net");
    add(&g, &drove__layer_lrn, "n", NULL)->act = DROVEK_RELU;
    refuse(&g, &images, DROVE_E_ARG,
           "model net: layer \"n\": lrn takes no activation; expected a layer of type activation "
           "after it");
}

/* A convolution of 1 x 1 on a vector is a product of each group's numbers. */
TEST(vectors_have_groups)
{
    enum { ROWS = 3, GROUPS = 2, IN = 3, OUT = 2 };
    static const char *const tiers[] = {"ref", NULL};
    for (size_t t = 0; t < DROVE_COUNT(tiers); t++) {
        drove_graph g;
        drovek_table k;
        drove_pass pass;
        float x[ROWS * GROUPS * IN];
        drove__graph_init(&g, "net");
        drove_node *node = add(&g, &drove__layer_convolution, "c", NULL);
        node->opt.groups = GROUPS;
        drove_model *m = build(&g, &vectors);
        float *theta = drove__alloc(m->n_params, sizeof *theta);
        assert_int_equal(drovek_select(&k, drove__cpu_features(), tiers[t]), DROVE_OK);
        assert_int_equal(m->layer[0].n_w, GROUPS * IN * OUT);
        for (size_t i = 0; i < m->n_params; i++) theta[i] = (float)(i * 7919 % 13) - 6;
        for (size_t i = 0; i < ROWS * GROUPS * IN; i++) x[i] = (float)(i * 31 % 7) - 3;
        const drove_input in = {.n_rows = ROWS, .dense = x};
        assert_int_equal(drove__pass_init(&pass, m, &k, ROWS), DROVE_OK);
        drove__model_forward(m, &k, theta, &in, &pass);
        for (size_t i = 0; i < ROWS * GROUPS * OUT; i++) {
            const size_t row = i / (GROUPS * OUT), group = i / OUT % GROUPS;
            float sum = theta[m->layer[0].b_offset + i % (GROUPS * OUT)];
            for (size_t j = 0; j < IN; j++)
                sum += x[(row * GROUPS + group) * IN + j] * theta[(group * IN + j) * OUT + i % OUT];
            assert_true(pass.out[0][i] == sum); /* whole numbers */
        }
        drove__pass_fini(&pass);
        drove__free(theta);
        drove__model_destroy(m);
    }
}

/* Products of sizes that do not fit a number are refused, not wrapped. */
TEST(sizes_without_bounds_are_refused)
{
    const drove_model_io wide = {.n_features = (size_t)1 << 40, .n_classes = 2};
    drove_graph g;
    drove_model *m = NULL;
    drove__graph_init(&g, "net");
    add(&g, &drove__layer_dense, "a", NULL)->opt.n_out = (size_t)1 << 24;
    add(&g, &drove__layer_dense, "b", NULL);
    assert_int_equal(drove__model_create_graph(&g, "net", "", &wide, &m), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "layer \"a\": the layer is too large"));
    g.node[0].opt.n_out = SIZE_MAX;
    assert_int_equal(drove__model_create_graph(&g, "net", "", &vectors, &m), DROVE_E_ARG);
    drove__graph_fini(&g);

    drove__graph_init(&g, "net");
    drove_node *c = add(&g, &drove__layer_convolution, "c", NULL);
    size_t *const pads[] = {&c->opt.window.ph, &c->opt.window.pw, &c->opt.padding.below,
                            &c->opt.padding.right};
    for (size_t i = 0; i < DROVE_COUNT(pads); i++) {
        *pads[i] = SIZE_MAX / 2;
        assert_int_equal(drove__model_create_graph(&g, "net", "", &images, &m), DROVE_E_ARG);
        *pads[i] = 0;
    }
    drove__graph_fini(&g);
}

/* A convolution of an image [c][side][side] with square windows, of which each size is small. */
TEST(products_of_several_sizes_are_refused)
{
    enum { K = 1024, M = K * K };
    static const struct {
        size_t c, side, window, n_out;
        drove_status status;
        const char *text; /* DROVE_OK: NULL */
    } cases[] = {
        {1, 32 * K, 1, M, DROVE_OK, NULL},
        {1, 32 * K, 1, 16 * M, DROVE_E_ARG,
         "model net: layer \"c\": the layer is too large"}, /* 2^54 outputs */
        {16 * M, K, K, 8, DROVE_OK, NULL},
        {16 * M, K, K, 16 * M, DROVE_E_ARG,
         "model net: layer \"c\": the layer is too large"}, /* 2^68 weights */
        {M, M, 1, 1, DROVE_E_SHAPE,
         "model net: images of 1048576 x 1048576 x 1048576 do not have "
         "1152921504606846976 numbers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t side = cases[i].side;
        const drove_model_io io = {.n_features = cases[i].c * side * side,
                                   .n_classes = 2,
                                   .image = {cases[i].c, side, side}};
        drove_graph g;
        drove__graph_init(&g, "net");
        drove_node *c = add(&g, &drove__layer_convolution, "c", NULL);
        c->opt.n_out = cases[i].n_out;
        c->opt.window.kh = c->opt.window.kw = cases[i].window;
        add(&g, &drove__layer_dense, "d", NULL);
        if (cases[i].status == DROVE_OK) drove__model_destroy(build(&g, &io));
        else refuse(&g, &io, cases[i].status, cases[i].text);
    }
}
