/* tests/unit/engine/test_no_bias.c - dense layers without biases: losses, gradients and steps are,
 * bit for bit, those of the same layers with biases of 0, whose own gradient nobody uses: dense and
 * sparse examples, one output and several, one row and many, alone and by a team. */
#include "engine/engine.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "model/graph.h"
#include "support/engine_calls.h"

#include <string.h>

enum { N_ROWS = 50, N_FEATURES = 20, HIDDEN = 9, N_CLASSES = 3, LARGEST = 512 };
enum { WITH, WITHOUT, N_MODELS };

typedef struct problem {
    drove_storage storage;
    drove_data data;
    drovek_table kernels;
    drove_model *model[N_MODELS];
    drove_engine *engine[N_MODELS];
    float theta[N_MODELS][LARGEST], grad[N_MODELS][LARGEST];
    uint32_t row[N_ROWS];
} problem;

static void make_data(problem *p, bool is_sparse, bool has_classes)
{
    drove_storage *s = &p->storage;
    drove_rng rng;
    size_t n_pairs = 0;
    drove__rng_seed(&rng, 2, DROVE_RNG_TEST, 0);
    s->n_rows = N_ROWS;
    s->n_features = N_FEATURES;
    s->x_kind = is_sparse ? DROVE_X_CSR : DROVE_X_F32;
    s->y_kind = has_classes ? DROVE_Y_CLASS : DROVE_Y_VALUE;
    s->n_classes = has_classes ? N_CLASSES : 0;
    s->n_values = has_classes ? 0 : 1;
    s->x_f32 = drove__alloc(N_ROWS * N_FEATURES, sizeof *s->x_f32);
    s->row_start = drove__alloc(N_ROWS + 1, sizeof *s->row_start);
    s->index = drove__alloc(N_ROWS * N_FEATURES, sizeof *s->index);
    s->value = drove__alloc(N_ROWS * N_FEATURES, sizeof *s->value);
    s->y_class = drove__alloc(N_ROWS, sizeof *s->y_class);
    s->y_value = drove__alloc(N_ROWS, sizeof *s->y_value);
    s->row_start[0] = 0;
    for (size_t i = 0; i < N_ROWS; i++) {
        for (size_t j = 0; j < N_FEATURES; j++) {
            float x = drove__rng_below(&rng, 3) == 0 ? (float)drove__rng_normal(&rng) : 0.0f;
            s->x_f32[i * N_FEATURES + j] = x;
            if (x == 0.0f) continue;
            s->index[n_pairs] = (uint32_t)j;
            s->value[n_pairs++] = x;
        }
        s->row_start[i + 1] = n_pairs;
        s->y_class[i] = (int32_t)drove__rng_below(&rng, N_CLASSES);
        s->y_value[i] = (float)drove__rng_normal(&rng);
        p->row[i] = (uint32_t)(N_ROWS - 1 - i);
    }
    p->data = (drove_data){.storage = s, .n_rows = N_ROWS};
}

static void make_model(problem *p, int which, bool is_deep)
{
    const drove_model_io io = {.n_features = N_FEATURES,
                               .n_classes = p->storage.n_classes,
                               .n_values = p->storage.n_values};
    drove_graph g;
    drove_node *n;
    drove__graph_init(&g, "dense");
    if (is_deep) {
        assert_int_equal(drove__graph_add(&g, &drove__layer_dense, "hidden", NULL, &n), DROVE_OK);
        n->opt.n_out = HIDDEN;
        n->opt.no_bias = which == WITHOUT;
        n->act = DROVEK_TANH;
    }
    assert_int_equal(
        drove__graph_add(&g, &drove__layer_dense, "last", is_deep ? "hidden" : NULL, &n), DROVE_OK);
    n->opt.no_bias = which == WITHOUT;
    if (drove__model_create_graph(&g, "dense", NULL, &io, &p->model[which]) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    drove__graph_fini(&g);
    assert_true(p->model[which]->n_params <= LARGEST);
}

/* theta of WITHOUT's weights, and of WITH's the same and biases of 0. */
static void make_parameters(problem *p)
{
    assert_int_equal(drove__model_init(p->model[WITHOUT], "normal:0.3", 1, p->theta[WITHOUT]),
                     DROVE_OK);
    for (size_t l = 0; l < p->model[WITH]->n_layers; l++) {
        const drove_layer *from = &p->model[WITHOUT]->layer[l], *to = &p->model[WITH]->layer[l];
        assert_int_equal(from->n_b, 0);
        assert_int_equal(to->n_b, to->n_out);
        memcpy(p->theta[WITH] + to->w_offset, p->theta[WITHOUT] + from->w_offset,
               to->n_w * sizeof(float));
    }
}

static void setup(problem *p, bool is_sparse, bool has_classes, bool is_deep, unsigned n_threads)
{
    memset(p, 0, sizeof *p);
    make_data(p, is_sparse, has_classes);
    assert_int_equal(drovek_select(&p->kernels, drove__cpu_features(), NULL), DROVE_OK);
    for (int which = WITH; which < N_MODELS; which++) make_model(p, which, is_deep);
    make_parameters(p);
    for (int which = WITH; which < N_MODELS; which++) {
        drove_engine_options opt = {.model = p->model[which],
                                    .kernels = &p->kernels,
                                    .data = &p->data,
                                    .max_rows = N_ROWS,
                                    .n_threads = n_threads};
        assert_int_equal(drove__engine_host.create(&opt, &p->engine[which]), DROVE_OK);
    }
}

static void teardown(problem *p)
{
    for (int which = WITH; which < N_MODELS; which++) {
        drove__engine_host.destroy(p->engine[which]);
        drove__model_destroy(p->model[which]);
    }
    drove__free(p->storage.x_f32);
    drove__free(p->storage.row_start);
    drove__free(p->storage.index);
    drove__free(p->storage.value);
    drove__free(p->storage.y_class);
    drove__free(p->storage.y_value);
}

static void assert_same_weights(const problem *p, float of[N_MODELS][LARGEST])
{
    for (size_t l = 0; l < p->model[WITH]->n_layers; l++) {
        const drove_layer *a = &p->model[WITH]->layer[l], *b = &p->model[WITHOUT]->layer[l];
        assert_memory_equal(of[WITH] + a->w_offset, of[WITHOUT] + b->w_offset,
                            a->n_w * sizeof(float));
    }
}

static void check_gradient(problem *p, size_t n, bool spans_wanted)
{
    drove_score score[N_MODELS] = {{0}};
    const drove_batch batch = {.data = &p->data, .row = p->row, .n_rows = n};
    for (int which = WITH; which < N_MODELS; which++) {
        drove_gradient g = {.value = p->grad[which], .spans_wanted = spans_wanted};
        memset(p->grad[which], 0, sizeof p->grad[which]);
        assert_int_equal(engine_gradient(&drove__engine_host, p->engine[which], p->theta[which],
                                         &batch, &g, &score[which]),
                         DROVE_OK);
        for (size_t i = 0; g.span != NULL && i < g.n_spans; i++)
            assert_true(g.span[i].length > 0 &&
                        g.span[i].offset + g.span[i].length <= p->model[which]->n_params);
    }
    assert_true(score[WITH].loss == score[WITHOUT].loss);
    assert_same_weights(p, p->grad);
}

static void check_step(problem *p, size_t n)
{
    static float theta[N_MODELS][LARGEST];
    const drove_batch batch = {.data = &p->data, .row = p->row, .n_rows = n};
    memcpy(theta, p->theta, sizeof theta);
    for (int which = WITH; which < N_MODELS; which++) {
        drove_steps made;
        const drove_params live = {.theta = theta[which]};
        assert_int_equal(drove__engine_host.steps(p->engine[which], &live, &batch, 0.5f, &made),
                         DROVE_OK);
    }
    assert_same_weights(p, theta);
    assert_true(memcmp(theta[WITHOUT], p->theta[WITHOUT], sizeof theta[0]) != 0);
}

TEST(equal_those_with_biases_of_zero)
{
    static const size_t sizes[] = {1, 2, 3, N_ROWS};
    for (unsigned how = 0; how < 16; how++) {
        problem p;
        const unsigned n_threads = how & 8 ? 2 : 1;
        setup(&p, how & 1, how & 2, how & 4, n_threads);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            check_gradient(&p, sizes[i], false);
            check_gradient(&p, sizes[i], true);
            if (n_threads == 1) check_step(&p, sizes[i]);
        }
        teardown(&p);
    }
}
