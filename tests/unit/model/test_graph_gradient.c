/* Convolutions and dense layers in a graph whose branches share a blob, with two heads: outputs,
 * loss and gradient against a float64 transcription and its central differences, by one part and by
 * several, plain C and the best tier; order of after_layer; memory of derivatives. */
#include "model/graph.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, C = 3, H = 9, W = 8, O = 16, H2 = 5, W2 = 4, CLASSES = 4, MOST_PARTS = 3 };
enum { N_CHECKED = 400 }; /* parameters whose derivative is taken by differences */

static const float AUX_WEIGHT = 0.3f;
/* Of an element of the gradient, in units of the layer's largest: products of up to 1152 terms. */
static const double BOUND = 2e-5;

typedef struct net {
    drove_model *model;
    drovek_table kernels;
    float *theta, *grad, *x;
    double *theta64;
    int32_t y[ROWS];
} net;

/* ---- the network ---- */

/* conv1 (relu) feeds conv2 (groups, stride) and the auxiliary head; conv2 (tanh) the main head. */
static void describe(drove_graph *g)
{
    drove_node *n;
    drove__graph_init(g, "two-heads");
    assert_int_equal(drove__graph_add(g, &drove__layer_convolution, "conv1", NULL, &n), DROVE_OK);
    n->opt.n_out = O;
    n->opt.window = (drovek_window){.kh = 3, .kw = 3, .ph = 1, .pw = 1};
    n->opt.padding = (drove_padding){.below = 1, .right = 1};
    n->act = DROVEK_RELU;
    assert_int_equal(drove__graph_add(g, &drove__layer_convolution, "conv2", "conv1", &n),
                     DROVE_OK);
    n->opt.n_out = O;
    n->opt.groups = 2;
    n->opt.window = (drovek_window){.kh = 3, .kw = 3, .sh = 2, .sw = 2, .ph = 1, .pw = 1};
    n->opt.padding = (drove_padding){.below = 1, .right = 1};
    n->act = DROVEK_TANH;
    assert_int_equal(drove__graph_add(g, &drove__layer_dense, "aux", "conv1", &n), DROVE_OK);
    assert_int_equal(drove__graph_add(g, &drove__layer_dense, "main", "conv2", &n), DROVE_OK);
    g->n_heads = 2;
    strcpy(g->head[0].bottom, "aux");
    g->head[0].weight = AUX_WEIGHT;
    strcpy(g->head[1].bottom, "main");
    g->head[1].weight = 1.0f;
}

/* A model as drove__model_create would make it of this graph. */
static void setup(net *t, const char *isa)
{
    static const drove_model_io io = {.n_features = C * H * W,
                                      .n_classes = CLASSES,
                                      .image = {C, H, W}};
    drove_graph g;
    drove_rng rng;
    memset(t, 0, sizeof *t);
    assert_int_equal(drovek_select(&t->kernels, drove__cpu_features(), isa), DROVE_OK);
    describe(&g);
    if (drove__model_create_graph(&g, "two-heads", NULL, &io, &t->model) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    drove__graph_fini(&g);
    size_t n = t->model->n_params;
    t->theta = drove__alloc(n, sizeof *t->theta);
    t->grad = drove__alloc(n, sizeof *t->grad);
    t->theta64 = drove__alloc(n, sizeof *t->theta64);
    t->x = drove__alloc(ROWS * C * H * W, sizeof *t->x);
    assert_int_equal(drove__model_init(t->model, "he:1", 3, t->theta), DROVE_OK);
    drove__rng_seed(&rng, 11, DROVE_RNG_SYNTH, 0);
    for (size_t l = 0; l < t->model->n_layers; l++) {
        const drove_layer *layer = &t->model->layer[l];
        for (size_t i = 0; i < layer->n_b; i++)
            t->theta[layer->b_offset + i] = 0.3f * (float)drove__rng_normal(&rng);
    }
    for (size_t i = 0; i < n; i++) t->theta64[i] = t->theta[i];
    for (size_t i = 0; i < ROWS * C * H * W; i++) t->x[i] = (float)drove__rng_normal(&rng);
    for (int i = 0; i < ROWS; i++) t->y[i] = (int32_t)drove__rng_below(&rng, CLASSES);
}

static void teardown(net *t)
{
    drove__free(t->theta);
    drove__free(t->grad);
    drove__free(t->theta64);
    drove__free(t->x);
    drove__model_destroy(t->model);
}

/* ---- the same in float64 ---- */

static const drove_layer *named(const net *t, const char *name)
{
    for (size_t l = 0; l < t->model->n_layers; l++) {
        if (strcmp(t->model->layer[l].name, name) == 0) return &t->model->layer[l];
    }
    fail_msg("no layer %s", name);
    return NULL;
}

/* y[h][w][o] of x[h][w][c], window 3, padding 1. */
static void convolve64(const net *t, const drove_layer *l, const double *x, size_t groups,
                       size_t step, double *y)
{
    size_t c = l->in.c / groups, o = l->out.c / groups;
    const double *w = t->theta64 + l->w_offset, *b = t->theta64 + l->b_offset;
    for (size_t i = 0; i < l->out.h * l->out.w * l->out.c; i++) {
        size_t to = i % l->out.c, g = to / o, px = i / l->out.c % l->out.w,
               py = i / l->out.c / l->out.w;
        double sum = b[to];
        for (size_t q = 0; q < 9; q++) {
            long iy = (long)(py * step + q / 3) - 1, ix = (long)(px * step + q % 3) - 1;
            if (iy < 0 || ix < 0 || iy >= (long)l->in.h || ix >= (long)l->in.w) continue;
            for (size_t k = 0; k < c; k++)
                sum += x[((size_t)iy * l->in.w + (size_t)ix) * l->in.c + g * c + k] *
                       w[((g * 9 + q) * c + k) * o + to % o];
        }
        y[i] = sum;
    }
}

static void dense64(const net *t, const drove_layer *l, const double *x, double *z)
{
    for (size_t o = 0; o < l->n_out; o++) {
        z[o] = t->theta64[l->b_offset + o];
        for (size_t i = 0; i < l->n_in; i++)
            z[o] += x[i] * t->theta64[l->w_offset + i * l->n_out + o];
    }
}

static double cross_entropy64(const double *z, int32_t y)
{
    double most = z[0], sum = 0;
    for (int i = 1; i < CLASSES; i++) most = fmax(most, z[i]);
    for (int i = 0; i < CLASSES; i++) sum += exp(z[i] - most);
    return log(sum) + most - z[y];
}

/* Mean over the rows; main_loss: of the main head alone, summed. */
static double loss64(const net *t, double *main_loss)
{
    static double x[H * W * C], y1[H * W * O], y2[H2 * W2 * O];
    double total = 0, of_main = 0, z[CLASSES];
    for (int r = 0; r < ROWS; r++) {
        for (size_t i = 0; i < H * W * C; i++)
            x[i] = t->x[(size_t)r * C * H * W + i % C * (H * W) + i / C];
        convolve64(t, named(t, "conv1"), x, 1, 1, y1);
        for (size_t i = 0; i < H * W * O; i++) y1[i] = fmax(y1[i], 0);
        convolve64(t, named(t, "conv2"), y1, 2, 2, y2);
        for (size_t i = 0; i < H2 * W2 * O; i++) y2[i] = tanh(y2[i]);
        dense64(t, named(t, "aux"), y1, z);
        total += (double)AUX_WEIGHT * cross_entropy64(z, t->y[r]);
        dense64(t, named(t, "main"), y2, z);
        of_main += cross_entropy64(z, t->y[r]);
    }
    if (main_loss != NULL) *main_loss = of_main;
    return (total + of_main) / ROWS;
}

/* ---- drove's, by one part or several ---- */

typedef struct team {
    net *t;
    drove_pass pass;
    drove_score score;
    pthread_barrier_t barrier;
    size_t done[8], n_done;
} team;

typedef struct member {
    team *of;
    unsigned part, n_parts;
} member;

static void meet(void *context, unsigned part)
{
    team *m = context;
    (void)part;
    pthread_barrier_wait(&m->barrier);
}

static void log_layer(void *context, size_t layer)
{
    team *m = context;
    m->done[m->n_done++] = layer;
}

static void *work(void *argument)
{
    const member *me = argument;
    team *m = me->of;
    net *t = m->t;
    const drove_part part = {me->part, me->n_parts, meet, m};
    const drove_input in = {.n_rows = ROWS, .dense = t->x};
    const drove_target target = {.y_class = t->y};
    drove__model_forward_part(t->model, &t->kernels, t->theta, &in, &m->pass, &part);
    if (me->part == 0)
        drove__model_loss(t->model, &t->kernels, &target, ROWS, 1.0f / ROWS, &m->pass, &m->score);
    pthread_barrier_wait(&m->barrier);
    drove__model_backward_part(
        t->model, &t->kernels, t->theta, &in, &m->pass,
        &(drove_backward){.grad = t->grad, .after_layer = log_layer, .context = m}, &part);
    return NULL;
}

static void run(net *t, team *m, unsigned n_parts)
{
    pthread_t thread[MOST_PARTS];
    member me[MOST_PARTS];
    const drove_pass_options opt = {.model = t->model,
                                    .kernels = &t->kernels,
                                    .rows = 4,
                                    .max_rows = ROWS + 1,
                                    .n_parts = n_parts,
                                    .trains = true};
    memset(m, 0, sizeof *m);
    m->t = t;
    if (drove__pass_create(&opt, &m->pass) != DROVE_OK) fail_msg("%s", drove_error_text());
    m->pass.is_training = true;
    for (size_t i = 0; i < t->model->n_params; i++) t->grad[i] = NAN;
    pthread_barrier_init(&m->barrier, NULL, n_parts);
    for (unsigned i = 0; i < n_parts; i++) {
        me[i] = (member){m, i, n_parts};
        assert_int_equal(pthread_create(&thread[i], NULL, work, &me[i]), 0);
    }
    for (unsigned i = 0; i < n_parts; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&m->barrier);
}

static size_t layer_of(const drove_model *model, size_t at)
{
    for (size_t l = model->n_layers; l-- > 0;) {
        if (at >= model->layer[l].w_offset) return l;
    }
    return 0;
}

/* Central differences at places drawn once: the network, its parameters and its rows are the same
 * in every case. */
static void take_slopes(net *t, size_t place[static N_CHECKED], double slope[static N_CHECKED])
{
    const double h = 1e-5;
    drove_rng rng;
    drove__rng_seed(&rng, 5, DROVE_RNG_SYNTH, 1);
    for (int n = 0; n < N_CHECKED; n++) {
        size_t at = place[n] = (size_t)drove__rng_below(&rng, t->model->n_params);
        double before = t->theta64[at];
        t->theta64[at] = before + h;
        double above = loss64(t, NULL);
        t->theta64[at] = before - h;
        slope[n] = (above - loss64(t, NULL)) / (2 * h);
        t->theta64[at] = before;
    }
}

static void check_gradient(net *t)
{
    static size_t place[N_CHECKED];
    static double slope[N_CHECKED];
    static bool has_slopes;
    double largest[8] = {0};
    for (size_t i = 0; i < t->model->n_params; i++) {
        size_t l = layer_of(t->model, i);
        assert_true(isfinite(t->grad[i])); /* written, the gaps too */
        largest[l] = fmax(largest[l], fabs(t->grad[i]));
    }
    if (!has_slopes) take_slopes(t, place, slope);
    has_slopes = true;
    for (int n = 0; n < N_CHECKED; n++) {
        size_t at = place[n], l = layer_of(t->model, at);
        if (!(fabs(slope[n] - t->grad[at]) <= BOUND * largest[l] + 1e-9))
            fail_msg("layer %s, number %zu: expected %.9g, found %.9g", t->model->layer[l].name,
                     at - t->model->layer[l].w_offset, slope[n], (double)t->grad[at]);
    }
}

static void check_all(const char *isa, unsigned n_parts)
{
    net t;
    team m;
    double main_loss;
    setup(&t, isa);
    (void)loss64(&t, &main_loss);
    run(&t, &m, n_parts);
    assert_true(fabs(m.score.loss - main_loss) < 1e-4);
    assert_int_equal(m.score.n_rows, ROWS);
    assert_int_equal(m.n_done, t.model->n_layers);
    for (size_t i = 0; i < m.n_done; i++) assert_int_equal(m.done[i], m.n_done - 1 - i);
    check_gradient(&t);
    drove__pass_fini(&m.pass);
    teardown(&t);
}

TEST(one_part_of_plain_c)
{
    check_all("ref", 1);
}

TEST(one_part_of_the_best_tier)
{
    check_all(NULL, 1);
}

TEST(several_parts)
{
    for (unsigned n = 2; n <= MOST_PARTS; n++) {
        check_all("ref", n);
        check_all(NULL, n);
    }
}

TEST(several_parts_give_the_same_bits_every_time)
{
    net t;
    team m;
    setup(&t, NULL);
    float *first = drove__alloc(t.model->n_params, sizeof *first);
    for (int i = 0; i < 10; i++) {
        run(&t, &m, MOST_PARTS);
        drove__pass_fini(&m.pass);
        if (i == 0) memcpy(first, t.grad, t.model->n_params * sizeof *first);
        assert_memory_equal(first, t.grad, t.model->n_params * sizeof *first);
    }
    drove__free(first);
    teardown(&t);
}

/* In inference the auxiliary branch is not computed. */
TEST(inference_leaves_out_what_only_training_needs)
{
    net t;
    setup(&t, "ref");
    drove_pass pass;
    const drove_pass_options opt = {.model = t.model, .kernels = &t.kernels, .max_rows = ROWS};
    const drove_input in = {.n_rows = ROWS, .dense = t.x};
    assert_int_equal(drove__pass_create(&opt, &pass), DROVE_OK);
    size_t aux = (size_t)(named(&t, "aux") - t.model->layer);
    for (size_t i = 0; i < ROWS * CLASSES; i++) pass.out[aux][i] = 77.0f;
    drove__model_forward(t.model, &t.kernels, t.theta, &in, &pass);
    for (size_t i = 0; i < ROWS * CLASSES; i++) assert_true(pass.out[aux][i] == 77.0f);
    drove__pass_fini(&pass);
    teardown(&t);
}
