/* bench/micro/step.c - what one training step costs beside the bare matrix products of the same
 * step: MLP 784-128-128-128-10, or another model, ReLU, softmax, one thread.
 *
 * For each batch size, interleaved in one run, fastest of the rounds, by the thread's own time:
 *   bare      the step's eleven matrix products alone, on buffers that are already filled
 *   gradient  gather and scale random rows of 60,000 x 784 bytes, forward, loss, backward
 *   step      gradient, then theta -= eta gradient over the whole vector
 *   fused     the engine's fused step: no gradient vector
 *   bf16_...  bare, gradient, step and fused with factors in bf16
 *   D8M8, D16M16, D8M16   steps of networks in fixed point, rounding shared; D8M8_channel: with a
 *             unit for each channel; bf16_words: bf16?masters=bf16
 *   ..._adam  the same by the rule adam, state shared
 * A ratio is the bare products' time over the other's.  Of models that are no chains of dense
 * layers there are no bare products, and no fused steps: ratios are to `step`.
 *
 * usage: bench_step [--isa TIER] [--rounds N] [--batches 1,16,64] [--data SPEC] [--model SPEC]
 *                   [--only D8M8]
 * --only: that variant alone, for a profiler.
 * Output: one JSON object a line.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/topo.h"
#include "engine/engine.h"
#include "engine/fixed/engine.h"
#include "optim/optim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROWS = 60000, SIDE = 28, N_FEATURES = SIDE * SIDE, N_CLASSES = 10, MAX_BATCHES = 32 };
enum { SEED = 1, ROUND_NS = 10000000 }; /* one measurement of one variant */
static const float ETA = 1e-3f;

typedef struct of_words { /* a variant whose parameters are words */
    const char *name, *precision;
    bool by_adam;
} of_words;

static const of_words fixed[] = {{"D8M8", "D8M8", false},
                                 {"D16M16", "D16M16", false},
                                 {"D8M8_channel", "D8M8?scales=channel", false},
                                 {"D8M16", "D8M16", false},
                                 {"bf16_words", "bf16?masters=bf16", false},
                                 {"D8M8_adam", "D8M8", true},
                                 {"D16M16_adam", "D16M16", true},
                                 {"bf16_words_adam", "bf16?masters=bf16", true}};
enum { N_FIXED = DROVE_COUNT(fixed) };

typedef struct adam { /* of one variant */
    drove_optim *optim;
    float *state; /* [2][n_params] */
    uint64_t t;
    drove_engine_rule rule;
} adam;

typedef struct bench {
    drove_data *data;
    drove_model *model;
    drovek_table kernels, narrow; /* narrow: bf16 */
    drove_engine *engine, *bf16, *fixed[N_FIXED];
    drove_engine_shared *shared[N_FIXED];
    uint32_t *words[N_FIXED]; /* parameters of fixed */
    adam adam[N_FIXED + 1];   /* the last is that of floats */
    uint32_t *order;          /* [n_rows] shuffled */
    size_t at;                /* next place in order */
    size_t n_batch;
    float *theta, *grad;          /* [n_params] */
    float *out[8], *delta[8], *x; /* of the bare products */
} bench;

static void check(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "bench_step: %s\n", drove_error_text());
    exit(2);
}

static void *zeroed(size_t count, size_t size_bytes)
{
    void *memory = drove__alloc(count, size_bytes);
    if (memory == NULL) check(drove__fail_nomem("benchmark", count * size_bytes));
    return memory;
}

/* ---- the problem ---- */

/* Rings of random place and size: a fifth of the pixels is not zero, as in handwritten digits. */
static void draw_ring(uint8_t *pixel, drove_rng *rng)
{
    double cx = 10.0 + 8.0 * drove__rng_uniform(rng), cy = 10.0 + 8.0 * drove__rng_uniform(rng);
    double radius = 5.0 + 5.0 * drove__rng_uniform(rng);
    for (int r = 0; r < SIDE; r++) {
        for (int c = 0; c < SIDE; c++) {
            double d2 = (r - cy) * (r - cy) + (c - cx) * (c - cx);
            bool is_ink =
                d2 < (radius + 1.7) * (radius + 1.7) && d2 > (radius - 1.7) * (radius - 1.7);
            if (is_ink) pixel[r * SIDE + c] = (uint8_t)(1 + drove__rng_below(rng, 255));
        }
    }
}

static drove_data *make_data(void)
{
    static drove_storage storage;
    static drove_data data;
    drove_rng rng;
    drove__rng_seed(&rng, SEED, DROVE_RNG_TEST, 0);
    storage = (drove_storage){.n_rows = N_ROWS,
                              .n_features = N_FEATURES,
                              .x_kind = DROVE_X_U8,
                              .y_kind = DROVE_Y_CLASS,
                              .n_classes = N_CLASSES};
    storage.x_u8 = zeroed((size_t)N_ROWS * N_FEATURES, 1);
    storage.y_class = zeroed(N_ROWS, sizeof *storage.y_class);
    for (size_t i = 0; i < N_ROWS; i++) {
        draw_ring(storage.x_u8 + i * N_FEATURES, &rng);
        storage.y_class[i] = (int32_t)drove__rng_below(&rng, N_CLASSES);
    }
    data = (drove_data){.storage = &storage, .n_rows = N_ROWS, .scaling = DROVE_SCALE_UNIT};
    data.shift = zeroed(N_FEATURES, sizeof *data.shift);
    data.factor = zeroed(N_FEATURES, sizeof *data.factor);
    for (size_t j = 0; j < N_FEATURES; j++) data.factor[j] = 1.0f / 255.0f;
    return &data;
}

static void make_model(bench *b, const char *spec)
{
    drove_model_io io = {.n_features = b->data->storage->n_features,
                         .n_classes = b->data->storage->n_classes,
                         .is_multi_label = b->data->storage->y_kind == DROVE_Y_LABELS};
    if (io.n_features == N_FEATURES) io.image = (drove_shape){1, SIDE, SIDE};
    check(drove__model_create(spec, "relu", NULL, &io, &b->model));
    b->theta = zeroed(b->model->n_params, sizeof *b->theta);
    b->grad = zeroed(b->model->n_params, sizeof *b->grad);
    check(drove__model_init(b->model, "", SEED, b->theta));
    b->order = zeroed(b->data->n_rows, sizeof *b->order);
    drove_permutation p;
    drove__permutation_init(&p, b->data->n_rows, SEED, 0);
    for (size_t i = 0; i < b->data->n_rows; i++)
        b->order[i] = (uint32_t)drove__permutation_at(&p, i);
}

static void step_by_adam(void *context, uint64_t step, size_t offset, size_t n, float *theta,
                         float *g, float eta)
{
    adam *a = context;
    drove__optim_step(a->optim, NULL, a->state, a->t + step, offset, n, theta, g, eta);
}

static void make_adam(bench *b, adam *a)
{
    const drove_optim_options opt = {.rule = "adam",
                                     .schedule = "constant",
                                     .lr = (double)ETA,
                                     .n_params = b->model->n_params,
                                     .n_workers = 1,
                                     .kernels = &b->kernels};
    check(drove__optim_create(&opt, &a->optim));
    a->state = zeroed(2 * b->model->n_params, sizeof *a->state);
    a->t = 1;
    a->rule = (drove_engine_rule){.step = step_by_adam, .context = a};
}

static void free_adam(adam *a)
{
    drove__optim_destroy(a->optim);
    drove__free(a->state);
}

/* Products round their factors to bf16 where the words are bf16. */
static void set_factors(bench *b, unsigned which)
{
    const bool in_bf16 = strncmp(fixed[which].precision, "bf16", 4) == 0;
    b->model->factors = in_bf16 ? DROVEK_FACTORS_BF16 : DROVEK_FACTORS_F32;
}

static void make_fixed(bench *b, unsigned which, size_t n_batch)
{
    const drove_prepare_options prepare = {.model = b->model,
                                           .kernels = &b->kernels,
                                           .data = b->data,
                                           .theta = b->theta,
                                           .precision = fixed[which].precision,
                                           .rounding = "shared",
                                           .eta = (double)ETA,
                                           .each = n_batch,
                                           .seed = SEED};
    drove_engine_options opt = {
        .model = b->model, .kernels = &b->kernels, .data = b->data, .max_rows = n_batch};
    set_factors(b, which);
    check(drove__engine_fixed.typed->prepare(&prepare, &b->shared[which]));
    opt.shared = b->shared[which];
    if (fixed[which].by_adam) make_adam(b, &b->adam[which]);
    if (fixed[which].by_adam) opt.rule = &b->adam[which].rule;
    check(drove__engine_fixed.create(&opt, &b->fixed[which]));
    b->words[which] =
        zeroed(drove__engine_fixed.typed->n_words(opt.shared), sizeof *b->words[which]);
    drove__engine_fixed.typed->pack(opt.shared, NULL, b->theta, b->words[which]);
    b->model->factors = DROVEK_FACTORS_F32;
}

static void make_batch_size(bench *b, size_t n_batch)
{
    drove_engine_options opt = {
        .model = b->model, .kernels = &b->kernels, .data = b->data, .max_rows = n_batch};
    drove_rng rng;
    drove__rng_seed(&rng, SEED, DROVE_RNG_TEST, 1);
    b->model->factors = DROVEK_FACTORS_BF16;
    check(drove__engine_host.create(&opt, &b->bf16));
    b->model->factors = DROVEK_FACTORS_F32;
    check(drove__engine_host.create(&opt, &b->engine));
    for (unsigned f = 0; f < N_FIXED; f++) make_fixed(b, f, n_batch);
    make_adam(b, &b->adam[N_FIXED]);
    b->n_batch = n_batch;
    b->x = zeroed(n_batch * b->model->n_inputs, sizeof *b->x);
    for (size_t i = 0; i < n_batch * b->model->n_inputs; i++)
        b->x[i] = (float)drove__rng_uniform(&rng);
    for (size_t l = 0; l < b->model->n_layers; l++) {
        size_t n = n_batch * b->model->layer[l].n_out;
        b->out[l] = zeroed(n, sizeof(float));
        b->delta[l] = zeroed(n, sizeof(float));
        for (size_t i = 0; i < n; i++) {
            b->out[l][i] = (float)drove__rng_uniform(&rng);
            b->delta[l][i] = 1e-3f * (float)drove__rng_normal(&rng);
        }
    }
}

static void free_batch_size(bench *b)
{
    drove__engine_host.destroy(b->engine);
    drove__engine_host.destroy(b->bf16);
    for (unsigned f = 0; f < N_FIXED; f++) {
        drove__engine_fixed.destroy(b->fixed[f]);
        drove__engine_fixed.typed->dismiss(b->shared[f]);
        drove__free(b->words[f]);
        if (fixed[f].by_adam) free_adam(&b->adam[f]);
    }
    free_adam(&b->adam[N_FIXED]);
    drove__free(b->x);
    for (size_t l = 0; l < b->model->n_layers; l++) {
        drove__free(b->out[l]);
        drove__free(b->delta[l]);
    }
}

static drove_batch next_batch(bench *b)
{
    if (b->at + b->n_batch > b->data->n_rows) b->at = 0;
    b->at += b->n_batch;
    return (
        drove_batch){.data = b->data, .row = b->order + b->at - b->n_batch, .n_rows = b->n_batch};
}

/* ---- the variants ---- */

static void multiply(bench *b, const drovek_table *k)
{
    const size_t n = b->n_batch, n_layers = b->model->n_layers;
    for (size_t l = 0; l < n_layers; l++) {
        const drove_layer *y = &b->model->layer[l];
        k->gemm_f32(false, false, n, y->n_out, y->n_in, 1.0f, l == 0 ? b->x : b->out[l - 1],
                    y->n_in, b->theta + y->w_offset, y->n_out, 0.0f, b->out[l], y->n_out);
    }
    for (size_t l = n_layers; l-- > 0;) {
        const drove_layer *y = &b->model->layer[l];
        if (l > 0) {
            k->gemm_f32(false, true, n, y->n_in, y->n_out, 1.0f, b->delta[l], y->n_out,
                        b->theta + y->w_offset, y->n_out, 0.0f, b->delta[l - 1], y->n_in);
        }
        k->gemm_f32(true, false, y->n_in, y->n_out, n, 1.0f, l == 0 ? b->x : b->out[l - 1], y->n_in,
                    b->delta[l], y->n_out, 0.0f, b->grad + y->w_offset, y->n_out);
    }
}

static void run_bare(bench *b)
{
    multiply(b, &b->kernels);
}

static void run_bare_bf16(bench *b)
{
    multiply(b, &b->narrow);
}

static void compute(bench *b, drove_engine *engine)
{
    drove_batch batch = next_batch(b);
    drove_gradient gradient = {.value = b->grad, .spans_wanted = true};
    const drove_work work = {.batch = &batch, .theta = b->theta, .grad = &gradient};
    drove_work_done done = {0};
    check(drove__engine_do(&drove__engine_host, engine, &work, UINT64_MAX, &done));
}

static void run_gradient(bench *b)
{
    compute(b, b->engine);
}

static void run_gradient_bf16(bench *b)
{
    compute(b, b->bf16);
}

static void run_step(bench *b)
{
    run_gradient(b);
    b->kernels.sgd_f32(b->theta, b->theta, b->grad, b->model->n_params, ETA);
}

static void run_step_adam(bench *b)
{
    adam *a = &b->adam[N_FIXED];
    run_gradient(b);
    drove__optim_step(a->optim, NULL, a->state, a->t++, 0, b->model->n_params, b->theta, b->grad,
                      ETA);
}

static void run_step_bf16(bench *b)
{
    run_gradient_bf16(b);
    b->kernels.sgd_f32(b->theta, b->theta, b->grad, b->model->n_params, ETA);
}

static void step_fixed(bench *b, unsigned which)
{
    drove_batch batch = next_batch(b);
    const drove_params live = {.words = b->words[which]};
    drove_steps made;
    batch.number = b->at;
    set_factors(b, which);
    check(drove__engine_fixed.steps(b->fixed[which], &live, &batch, ETA, &made));
    b->model->factors = DROVEK_FACTORS_F32;
    b->adam[which].t++;
}

static void step_in_place(bench *b, drove_engine *engine)
{
    drove_batch batch = next_batch(b);
    const drove_params live = {.theta = b->theta};
    drove_steps made;
    check(drove__engine_host.steps(engine, &live, &batch, ETA, &made));
}

static void run_fused(bench *b)
{
    step_in_place(b, b->engine);
}

static void run_fused_bf16(bench *b)
{
    step_in_place(b, b->bf16);
}

typedef struct variant {
    const char *name;
    void (*run)(bench *b); /* NULL: fixed[which] */
    bool of_chains;        /* of chains of dense layers alone */
    unsigned which;
    double best_ns; /* of one step; 0: not measured yet */
} variant;

enum { N_FLOATS = 9 };
static const variant of_floats[N_FLOATS] = {
    {.name = "bare", .run = run_bare, .of_chains = true},
    {.name = "step", .run = run_step},
    {.name = "gradient", .run = run_gradient},
    {.name = "fused", .run = run_fused, .of_chains = true},
    {.name = "step_adam", .run = run_step_adam},
    {.name = "bf16_bare", .run = run_bare_bf16, .of_chains = true},
    {.name = "bf16_gradient", .run = run_gradient_bf16},
    {.name = "bf16_step", .run = run_step_bf16},
    {.name = "bf16_fused", .run = run_fused_bf16, .of_chains = true}};

static double measure(bench *b, const variant *v)
{
    uint64_t start = drove__thread_ns(), now = start;
    size_t n_steps = 0;
    for (; now - start < ROUND_NS; now = drove__thread_ns()) {
        for (size_t i = 0; i < 1 + 256 / b->n_batch; i++, n_steps++) {
            if (v->run != NULL) v->run(b);
            else step_fixed(b, v->which);
        }
    }
    return (double)(now - start) / (double)n_steps;
}

static void compare(bench *b, size_t n_batch, unsigned n_rounds, const char *only)
{
    variant v[N_FLOATS + N_FIXED];
    memcpy(v, of_floats, sizeof of_floats);
    for (unsigned f = 0; f < N_FIXED; f++)
        v[N_FLOATS + f] = (variant){.name = fixed[f].name, .which = f};
    const unsigned first = b->model->is_chain ? 0 : 1;
    make_batch_size(b, n_batch);
    for (unsigned round = 0; round <= n_rounds; round++) { /* round 0 warms up */
        for (size_t i = 0; i < DROVE_COUNT(v); i++) {
            if (v[i].of_chains && !b->model->is_chain) continue;
            if (only != NULL && strcmp(only, v[i].name) != 0) continue;
            double ns = measure(b, &v[i]);
            if (round > 0 && (v[i].best_ns == 0 || ns < v[i].best_ns)) v[i].best_ns = ns;
        }
    }
    free_batch_size(b);
    printf("{\"bench\":\"step\",\"model\":\"%s\",\"batch\":%zu,\"isa\":\"%s\",\"gemm\":\"%s\","
           "\"bf16\":\"%s\"",
           b->model->spec, n_batch, b->kernels.isa, b->kernels.gemm_source, b->narrow.gemm_source);
    for (size_t i = 0; i < DROVE_COUNT(v); i++) {
        if (v[i].best_ns == 0) continue;
        printf(",\"%s_us\":%.2f,\"%s_examples_per_s\":%.0f", v[i].name, v[i].best_ns / 1e3,
               v[i].name, 1e9 * (double)n_batch / v[i].best_ns);
        if (i > first && v[first].best_ns > 0)
            printf(",\"%s_ratio\":%.3f", v[i].name, v[first].best_ns / v[i].best_ns);
    }
    printf(",\"seed\":%d,\"rounds\":%u,\"cpu\":\"%s\",\"compiler\":\"%s\"}\n", SEED, n_rounds,
           drove__cpu_model(), __VERSION__);
    fflush(stdout);
}

static size_t parse_batches(const char *text, size_t *batch)
{
    size_t n = 0;
    char *end;
    for (; *text != '\0' && n < MAX_BATCHES; text = *end == ',' ? end + 1 : end) {
        batch[n] = strtoul(text, &end, 10);
        if (end == text || batch[n] == 0) check(drove__fail(DROVE_E_ARG, "batches: \"%s\"", text));
        n++;
    }
    return n;
}

int main(int argc, char **argv)
{
    bench b = {0};
    const char *isa = NULL, *batches = "1,2,4,8,16,32,64,128,256,512", *spec = NULL;
    const char *only = NULL, *model = "mlp:128,128,128";
    unsigned n_rounds = 20;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--isa") == 0) {
            isa = value;
        } else if (strcmp(argv[i], "--rounds") == 0) {
            n_rounds = (unsigned)strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--batches") == 0) {
            batches = value;
        } else if (strcmp(argv[i], "--data") == 0) {
            spec = value;
        } else if (strcmp(argv[i], "--only") == 0) {
            only = value;
        } else if (strcmp(argv[i], "--model") == 0) {
            model = value;
        } else {
            check(drove__fail(DROVE_E_ARG, "unknown option %s", argv[i]));
        }
    }
    drove_topo *topo;
    drove_place place;
    check(drove__topo_create(NULL, &topo));
    drove__topo_place(topo, DROVE_BIND_COMPACT, 1, &place);
    check(drove__topo_bind_self(topo, &place));
    drovek_thread_init();
    check(drovek_select(&b.kernels, drove__cpu_features(), isa));
    b.narrow = drovek_narrow(&b.kernels, DROVEK_FACTORS_BF16);
    drove_data *unused = NULL;
    if (spec != NULL) check(drove_data_open(spec, NULL, SEED, &b.data, &unused));
    if (spec == NULL) b.data = make_data();
    make_model(&b, model);
    size_t size[MAX_BATCHES], n_sizes = parse_batches(batches, size);
    for (size_t i = 0; i < n_sizes; i++) compare(&b, size[i], n_rounds, only);
    drove__topo_destroy(topo);
    return 0;
}
