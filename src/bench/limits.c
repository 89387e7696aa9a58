/* bench/limits.c - `drove bench limits`: how near a step of training comes to what this machine
 * can do, for a fully connected network and some numbers of examples, in one run.
 *
 *   peak      multiply-adds in registers alone, by the tier's widest vectors
 *   products  each product of the step alone, on the same memory again and again: by the tier's own
 *             kernel, by the library, and up to FEW_ROWS examples by the kernels of one example
 *   step      the host engine's, plain SGD: loads random rows, forward, loss, backward, update;
 *             straight into the parameters where one worker does so in training
 *   reading   bytes a second by one thread, of each cache and of memory (memory.c)
 *   line      from one core to another;  devices: launches and copies (limits_machine.c)
 *
 * Peak, products and step take turns of STRETCH_NS in one pinned thread, so that all have the same
 * disturbances; the best turn of each counts.
 */
#include "bench/limits.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "kernel/apart.h"
#include "model/layer.h"
#include "model/model.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 28, N_INPUTS = SIDE * SIDE, N_OUTPUTS = 10, N_ROWS = 8192 };
enum { MOST_BATCHES = 8, FEW_ROWS = 2, PEAK_TURNS = 2000, LEAST_ROUNDS = 5, SEED = 1 };
static const uint64_t STRETCH_NS = 500000;
static const float ETA = 1e-4f;

typedef enum part { FORWARD, WEIGHTS, INPUTS, N_PARTS } part;
static const char *const part_name[N_PARTS] = {"forward", "weights", "inputs"};

/* C[m][n] = op(A) op(B), k long; of the weights A is transposed, of the inputs B. */
typedef struct product {
    size_t layer;
    part part;
    size_t m, n, k;
    float *a, *b, *c;
} product;

/* OWN, LIBRARY, ROWS: of one product. */
typedef enum kind { PEAK, STEP, OWN, LIBRARY, ROWS } kind;
typedef struct work {
    kind kind;
    const product *product;
    size_t n_calls; /* of a stretch */
    double ns;      /* of a call, the best; 0: not measured */
} work;

typedef struct core { /* all that the measuring thread needs */
    const drove_bench_context *context;
    const drove_model *model;
    drovek_gemm_f32_fn *own, *library; /* library: may be NULL */
    drove_peak peak;
    size_t batch[MOST_BATCHES + 1], n_batches;
    json_t *rows;       /* out: one for each batch */
    double peak_gflops; /* out */
    drove_status status;
    char error[DROVE_ERROR_TEXT_SIZE];

    drove_data data;
    uint32_t *order;              /* [N_ROWS] */
    float *theta, *grad, *memory; /* [n_params] both; that of products */
    drove_engine *engine;         /* of the batch in hand, n_rows examples */
    size_t n_rows, at;
    float sink;
} core;

/* ---- data and products ---- */

static drove_status make_data(core *c)
{
    drove_rng rng;
    drove_storage *s = NULL;
    DROVE_TRY(drove__storage_create(&s));
    c->data = (drove_data){.storage = s, .n_rows = N_ROWS};
    s->n_rows = N_ROWS;
    s->n_features = N_INPUTS;
    s->x_kind = DROVE_X_F32;
    s->x_f32 = drove__alloc((size_t)N_ROWS * N_INPUTS, sizeof *s->x_f32);
    s->y_kind = DROVE_Y_CLASS;
    s->n_classes = N_OUTPUTS;
    s->y_class = malloc(N_ROWS * sizeof *s->y_class);
    c->order = drove__alloc(N_ROWS, sizeof *c->order);
    c->theta = drove__alloc(c->model->n_params, sizeof(float));
    c->grad = drove__alloc(c->model->n_params, sizeof(float));
    if (s->x_f32 == NULL || s->y_class == NULL || c->order == NULL || c->theta == NULL ||
        c->grad == NULL)
        return drove__fail_nomem("random examples", (size_t)N_ROWS * N_INPUTS * sizeof(float));
    drove__rng_seed(&rng, SEED, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < (size_t)N_ROWS * N_INPUTS; i++)
        s->x_f32[i] = (float)drove__rng_uniform(&rng);
    drove_permutation p;
    drove__permutation_init(&p, N_ROWS, SEED, 0);
    for (size_t i = 0; i < N_ROWS; i++) {
        s->y_class[i] = (int32_t)drove__rng_below(&rng, N_OUTPUTS);
        c->order[i] = (uint32_t)drove__permutation_at(&p, i);
    }
    return drove__model_init(c->model, "", SEED, c->theta);
}

/* Inputs, derivatives and weights of each layer, the inputs of all but the first half zeros as
 * behind a ReLU, and the products of a step of n examples: to[N_PARTS n_layers], *n_products.  What
 * products of examples give goes to one place, so that it is nobody's input. */
static drove_status make_products(core *c, size_t n, product *to, size_t *n_products)
{
    const drove_model *m = c->model;
    size_t n_floats = 0, widest = 0;
    drove_rng rng;
    for (size_t l = 0; l < m->n_layers; l++) {
        const drove_layer *y = &m->layer[l];
        n_floats += drove__pad_floats(n * y->n_in) + drove__pad_floats(n * y->n_out) +
                    drove__pad_floats(y->n_w);
        if (y->n_in > widest) widest = y->n_in;
        if (y->n_out > widest) widest = y->n_out;
    }
    drove__free(c->memory);
    c->memory = drove__alloc(n_floats + n * widest, sizeof *c->memory);
    if (c->memory == NULL) return drove__fail_nomem("products", n_floats * sizeof *c->memory);
    drove__rng_seed(&rng, SEED, DROVE_RNG_TEST, 1);
    for (size_t i = 0; i < n_floats; i++) c->memory[i] = 1e-3f * (float)drove__rng_uniform(&rng);

    float *next = c->memory, *out = next + n_floats;
    *n_products = 0;
    for (size_t l = 0; l < m->n_layers; l++) {
        const drove_layer *y = &m->layer[l];
        float *x = next, *d = x + drove__pad_floats(n * y->n_in);
        float *w = d + drove__pad_floats(n * y->n_out);
        next = w + drove__pad_floats(y->n_w);
        for (size_t i = 0; l > 0 && i < n * y->n_in; i++)
            if (drove__rng_u64(&rng) % 2 == 0) x[i] = 0.0f;
        to[(*n_products)++] = (product){l, FORWARD, n, y->n_out, y->n_in, x, w, out};
        to[(*n_products)++] =
            (product){l, WEIGHTS, y->n_in, y->n_out, n, x, d, c->grad + y->w_offset};
        if (l > 0) to[(*n_products)++] = (product){l, INPUTS, n, y->n_in, y->n_out, d, w, out};
    }
    return DROVE_OK;
}

/* ---- one call ---- */

static void multiply(drovek_gemm_f32_fn *gemm, const product *p)
{
    const bool trans_a = p->part == WEIGHTS, trans_b = p->part == INPUTS;
    gemm(trans_a, trans_b, p->m, p->n, p->k, 1.0f, p->a, trans_a ? p->m : p->k, p->b,
         trans_b ? p->k : p->n, 0.0f, p->c, p->n);
}

static void multiply_rows(const drovek_table *k, const product *p)
{
    const size_t n_rows = p->part == WEIGHTS ? p->k : p->m;
    for (size_t i = 0; i < n_rows; i++) {
        if (p->part == FORWARD) k->matvec_f32(p->c + i * p->n, p->a + i * p->k, p->b, p->k, p->n);
        if (p->part == INPUTS) k->matvec_t_f32(p->c + i * p->n, p->b, p->a + i * p->k, p->n, p->k);
        if (p->part == WEIGHTS)
            k->ger_f32(p->c, p->a + i * p->m, p->b + i * p->n, p->m, p->n, 1e-9f);
    }
}

static drove_status step(core *c)
{
    if (c->at + c->n_rows > N_ROWS) c->at = 0;
    const drove_batch batch = {.data = &c->data, .row = c->order + c->at, .n_rows = c->n_rows};
    c->at += c->n_rows;
    if (drove__model_fuses_exactly(c->model, c->n_rows)) {
        const drove_params live = {.theta = c->theta};
        drove_steps made;
        return drove__engine_host.steps(c->engine, &live, &batch, ETA, &made);
    }
    drove_gradient gradient = {.value = c->grad, .spans_wanted = true};
    const drove_work task = {.batch = &batch, .theta = c->theta, .grad = &gradient};
    drove_work_done done = {0};
    DROVE_TRY(drove__engine_do(&drove__engine_host, c->engine, &task, UINT64_MAX, &done));
    c->context->kernels.sgd_f32(c->theta, c->theta, c->grad, c->model->n_params, ETA);
    return DROVE_OK;
}

static drove_status call(core *c, const work *w)
{
    switch (w->kind) {
    case PEAK: c->sink += c->peak.turn(PEAK_TURNS, 0.5f, 1.0f); break;
    case STEP: return step(c);
    case OWN: multiply(c->own, w->product); break;
    case LIBRARY: multiply(c->library, w->product); break;
    case ROWS: multiply_rows(&c->context->kernels, w->product); break;
    }
    return DROVE_OK;
}

/* Behind a call that brings its data back to the caches from which other work has taken them. */
static drove_status stretch(core *c, work *w)
{
    DROVE_TRY(call(c, w));
    for (;; w->n_calls *= 2) {
        const uint64_t start_ns = drove__now_ns();
        for (size_t i = 0; i < w->n_calls; i++) DROVE_TRY(call(c, w));
        const uint64_t took_ns = drove__now_ns() - start_ns;
        if (2 * took_ns < STRETCH_NS) continue;
        const double ns = (double)took_ns / (double)w->n_calls;
        if (w->ns == 0.0 || ns < w->ns) w->ns = ns;
        return DROVE_OK;
    }
}

/* ---- one batch ---- */

static json_t *rate(double flops, double ns)
{
    return ns > 0.0 ? json_real(flops / ns) : json_null();
}

/* work: PEAK, STEP, then those of each product, OWN first. */
static json_t *batch_row(const core *c, const work *all, size_t n_works)
{
    json_t *products = json_array();
    double flops = 0.0, best_ns = 0.0, kind_ns[ROWS + 1] = {0};
    for (size_t i = OWN; i < n_works;) {
        const product *p = all[i].product;
        double ns[ROWS + 1] = {0}, least_ns = all[i].ns;
        for (; i < n_works && all[i].product == p; i++) {
            ns[all[i].kind] = all[i].ns;
            kind_ns[all[i].kind] += all[i].ns;
            if (all[i].ns < least_ns) least_ns = all[i].ns;
        }
        const double of_product = 2.0 * (double)p->m * (double)p->n * (double)p->k;
        flops += of_product;
        best_ns += least_ns;
        json_t *row = json_pack("{s:i, s:s, s:I, s:I, s:I}", "layer", (int)p->layer, "part",
                                part_name[p->part], "m", (json_int_t)p->m, "n", (json_int_t)p->n,
                                "k", (json_int_t)p->k);
        drove__json_set(&row, "own_gflops", rate(of_product, ns[OWN]));
        drove__json_set(&row, "library_gflops", rate(of_product, ns[LIBRARY]));
        drove__json_set(&row, "rows_gflops", rate(of_product, ns[ROWS]));
        drove__json_add(&products, row);
    }
    const double examples = 1e9 * (double)c->n_rows; /* over ns: examples/s */
    json_t *row = json_pack("{s:I, s:f}", "batch", (json_int_t)c->n_rows, "flops_per_example",
                            flops / (double)c->n_rows);
    drove__json_set(&row, "products", products);
    drove__json_set(&row, "own_examples_per_s", rate(examples, kind_ns[OWN]));
    drove__json_set(&row, "library_examples_per_s", rate(examples, kind_ns[LIBRARY]));
    drove__json_set(&row, "rows_examples_per_s", rate(examples, kind_ns[ROWS]));
    drove__json_set(&row, "products_gflops", json_real(flops / best_ns));
    drove__json_set(&row, "products_examples_per_s", json_real(examples / best_ns));
    drove__json_set(&row, "step_gflops", json_real(flops / all[STEP].ns));
    drove__json_set(&row, "step_examples_per_s", json_real(examples / all[STEP].ns));
    drove__json_set(&row, "step_of_products", json_real(best_ns / all[STEP].ns));
    return row;
}

static drove_status measure_batch(core *c, size_t n)
{
    const size_t most = N_PARTS * c->model->n_layers;
    product *products = drove__alloc(most, sizeof *products);
    work *all = drove__alloc(2 + (ROWS + 1 - OWN) * most, sizeof *all);
    const drove_engine_options opt = {
        .model = c->model, .kernels = &c->context->kernels, .data = &c->data, .max_rows = n};
    size_t n_products, n_works = OWN;
    drove_status status = DROVE_OK;
    c->n_rows = n;
    if (products == NULL || all == NULL) {
        status = drove__fail_nomem("measurements", most * sizeof *all);
        goto fail;
    }
    if ((status = make_products(c, n, products, &n_products)) != DROVE_OK) goto fail;
    if ((status = drove__engine_host.create(&opt, &c->engine)) != DROVE_OK) goto fail;
    all[PEAK] = (work){.kind = PEAK, .n_calls = 1};
    all[STEP] = (work){.kind = STEP, .n_calls = 1};
    for (size_t i = 0; i < n_products; i++) {
        for (kind k = OWN; k <= ROWS; k++) {
            if ((k == LIBRARY && c->library == NULL) || (k == ROWS && n > FEW_ROWS)) continue;
            all[n_works++] = (work){.kind = k, .product = &products[i], .n_calls = 1};
        }
    }

    /* all of them by turns; the seconds are those of own products, the library's, and the step */
    const uint64_t begin_ns = drove__now_ns();
    const double ns = 3e9 * c->context->seconds;
    for (int r = 0; r < LEAST_ROUNDS || (double)(drove__now_ns() - begin_ns) < ns; r++)
        for (size_t i = 0; i < n_works; i++)
            if ((status = stretch(c, &all[i])) != DROVE_OK) goto fail;
    drove__json_add(&c->rows, batch_row(c, all, n_works));
    const double peak = c->peak.n_flops * (double)PEAK_TURNS / all[PEAK].ns;
    if (peak > c->peak_gflops) c->peak_gflops = peak;

fail:
    drove__engine_host.destroy(c->engine);
    c->engine = NULL;
    drove__free(all);
    drove__free(products);
    return status;
}

static void *core_main(void *argument)
{
    core *c = argument;
    drove_place place;
    drovek_thread_init();
    drove__topo_place(c->context->topo, DROVE_BIND_COMPACT, 1, &place);
    c->status = drove__topo_bind_self(c->context->topo, &place);
    if (c->status == DROVE_OK) c->status = make_data(c);
    for (size_t i = 0; i < c->n_batches && c->status == DROVE_OK; i++)
        c->status = measure_batch(c, c->batch[i]);
    if (c->status != DROVE_OK) drove__error_copy(c->error);
    drove__storage_release(c->data.storage);
    drove__free(c->order);
    drove__free(c->theta);
    drove__free(c->grad);
    drove__free(c->memory);
    return NULL;
}

/* ---- the result ---- */

/* What a step of one example moves of the parameters: forward reads all, the derivatives of the
 * inputs read all but the first layer's weights, the update reads and writes all. */
static json_t *one_example(const core *c, const json_t *levels, double examples_per_s)
{
    const drove_topo_facts *f = &c->context->facts;
    const struct {
        const char *name;
        size_t n_bytes;
    } caches[] = {
        {"l1", f->l1d_bytes}, {"l2", f->l2_bytes}, {"l3", f->l3_bytes}, {"memory", SIZE_MAX}};
    double held = 0.0, moved = 0.0;
    for (size_t l = 0; l < c->model->n_layers; l++) {
        const drove_layer *y = &c->model->layer[l];
        held += 4.0 * (double)y->n_params;
        moved += 4.0 * (3.0 * (double)y->n_params + (l > 0 ? (double)y->n_w : 0.0));
    }
    for (size_t i = 0; i < DROVE_COUNT(caches); i++) {
        size_t r;
        const json_t *row;
        if ((double)caches[i].n_bytes < held) continue;
        json_array_foreach(levels, r, row)
        {
            if (strcmp(drove__bench_text(row, "level"), caches[i].name) != 0) continue;
            const double limit = 1e9 * drove__bench_number(row, "gb_per_s") / moved;
            return json_pack("{s:f, s:f, s:s, s:f, s:f, s:f, s:f}", "parameter_bytes", held,
                             "moved_bytes", moved, "level", caches[i].name, "gb_per_s",
                             drove__bench_number(row, "gb_per_s"), "limit_examples_per_s", limit,
                             "step_examples_per_s", examples_per_s, "step_of_limit",
                             examples_per_s / limit);
        }
    }
    return json_null();
}

/* Of one example first, then those asked for. */
static drove_status parse_batches(const char *text, core *c)
{
    const char *at = text != NULL ? text : "32,64,512";
    c->batch[c->n_batches++] = 1;
    for (;; at++) {
        char number[24];
        uint64_t n;
        const size_t length = strcspn(at, ",");
        snprintf(number, sizeof number, "%.*s", (int)(length < 23 ? length : 23), at);
        DROVE_TRY(drove__parse_u64("--batch", number, 1, N_ROWS, &n));
        if (c->n_batches > MOST_BATCHES)
            return drove__fail(DROVE_E_ARG, "--batch: expected at most %d numbers, found \"%s\"",
                               MOST_BATCHES, text);
        if (n > 1) c->batch[c->n_batches++] = (size_t)n;
        at += length;
        if (*at == '\0') return DROVE_OK;
    }
}

static drove_status make_model(const char *spec, drove_model **out)
{
    const drove_model_io io = {.n_features = N_INPUTS,
                               .n_classes = N_OUTPUTS,
                               .image = {1, SIDE, SIDE}};
    const char *name = spec != NULL ? spec : DROVE_MODEL_USUAL;
    DROVE_TRY(drove__model_create(name, "relu", NULL, &io, out));
    bool is_dense = (*out)->is_chain && !(*out)->is_random;
    for (size_t l = 0; l < (*out)->n_layers; l++)
        is_dense = is_dense && (*out)->layer[l].ops == &drove__layer_dense;
    if (is_dense) return DROVE_OK;
    drove__model_destroy(*out);
    *out = NULL;
    return drove__fail(DROVE_E_ARG,
                       "--model: expected a fully connected network, such as %s, found "
                       "%s",
                       DROVE_MODEL_USUAL, name);
}

static drove_status run(const drove_bench_context *context, json_t **result)
{
    drove_model *model = NULL;
    pthread_t thread;
    core c = {.context = context,
              .own = drovek_gemm_own(&context->kernels),
              .library = drovek_gemm_library(&context->kernels),
              .peak = drove__peak_of(context->kernels.isa)};
    DROVE_TRY(parse_batches(context->batch, &c));
    DROVE_TRY(make_model(context->model, &model));
    json_t *levels = json_array(), *devices = json_array();
    double line_ns = 0.0, step_of_one = 0.0;
    c.model = model;
    c.rows = json_array();
    const int error = pthread_create(&thread, NULL, core_main, &c);
    drove_status status = DROVE_OK;
    if (error != 0) status = drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start a thread");
    else pthread_join(thread, NULL);
    if (c.status != DROVE_OK) status = drove__fail(c.status, "%s", c.error);
    if (status == DROVE_OK) status = drove__bench_read(context, result, &levels);
    if (status == DROVE_OK && context->facts.n_pus > 1)
        status = drove__limits_line(context->topo, context->seconds, &line_ns);
    if (status == DROVE_OK) drove__limits_devices(context->seconds, &devices);

    size_t i;
    json_t *row;
    json_array_foreach(c.rows, i, row) /* beside the best peak of the run */
    {
        const double peak = c.peak_gflops, flops = drove__bench_number(row, "flops_per_example");
        const double products = drove__bench_number(row, "products_gflops");
        const double step = drove__bench_number(row, "step_gflops");
        if (json_object_set_new(row, "peak_examples_per_s", json_real(1e9 * peak / flops)) != 0 ||
            json_object_set_new(row, "products_of_peak", json_real(products / peak)) != 0 ||
            json_object_set_new(row, "step_of_peak", json_real(step / peak)) != 0)
            status = drove__fail_nomem("the result", 1);
        if (i == 0) step_of_one = drove__bench_number(row, "step_examples_per_s");
    }
    drove__json_set(result, "seconds", json_real(context->seconds));
    drove__json_set(result, "model", json_string(model->spec));
    drove__json_set(result, "inputs", json_integer(N_INPUTS));
    drove__json_set(result, "outputs", json_integer(N_OUTPUTS));
    drove__json_set(result, "parameters", json_integer((json_int_t)model->n_weights));
    drove__json_set(result, "library",
                    c.library == NULL ? json_null() : json_string(context->kernels.gemm_source));
    drove__json_set(result, "peak_lanes", json_integer(c.peak.n_lanes));
    drove__json_set(result, "peak_gflops", json_real(c.peak_gflops));
    drove__json_set(result, "one_example", one_example(&c, levels, step_of_one));
    drove__json_set(result, "batches", c.rows);
    drove__json_set(result, "reading", levels);
    drove__json_set(result, "line_ns", line_ns > 0.0 ? json_real(line_ns) : json_null());
    drove__json_set(result, "devices", devices);
    drove__model_destroy(model);
    return status;
}

/* ---- for people ---- */

static void print_number(const json_t *row, const char *key, int places, FILE *stream)
{
    if (json_is_number(json_object_get(row, key)))
        fprintf(stream, "%10.*f", places, drove__bench_number(row, key));
    else fprintf(stream, "%10s", "-");
}

static void print(const json_t *result, FILE *stream)
{
    size_t i;
    const json_t *row, *one = json_object_get(result, "one_example");
    fprintf(stream,
            "%s of %d inputs and %d outputs, in floats, by one pinned thread.\n"
            "Multiply-adds in registers, %d lanes: %.1f GFLOP/s, the core's peak.\n\n"
            "examples/s      if all     bare products by          share  training   share\n"
            "  batch        at peak     drove   library      best  of peak      step  of best\n",
            drove__bench_text(result, "model"), N_INPUTS, N_OUTPUTS,
            (int)drove__bench_number(result, "peak_lanes"),
            drove__bench_number(result, "peak_gflops"));
    json_array_foreach(json_object_get(result, "batches"), i, row)
    {
        fprintf(stream, "%7d     ", (int)drove__bench_number(row, "batch"));
        print_number(row, "peak_examples_per_s", 0, stream);
        print_number(row, "own_examples_per_s", 0, stream);
        print_number(row, "library_examples_per_s", 0, stream);
        print_number(row, "products_examples_per_s", 0, stream);
        fprintf(stream, "%7.0f %%", 100.0 * drove__bench_number(row, "products_of_peak"));
        print_number(row, "step_examples_per_s", 0, stream);
        fprintf(stream, "%7.0f %%\n", 100.0 * drove__bench_number(row, "step_of_products"));
    }
    fprintf(stream, "best: of each product the fastest kernel, with one example also matvec's\n\n"
                    "read by one thread, GB/s:");
    json_array_foreach(json_object_get(result, "reading"), i, row)
        fprintf(stream, "  %s %.1f", drove__bench_text(row, "level"),
                drove__bench_number(row, "gb_per_s"));
    if (json_is_object(one))
        fprintf(stream,
                "\na step of one example moves %.2f MB of parameters, which %s holds:\n"
                "limit %.0f examples/s, step %.0f, %.0f %%",
                drove__bench_number(one, "moved_bytes") * 1e-6, drove__bench_text(one, "level"),
                drove__bench_number(one, "limit_examples_per_s"),
                drove__bench_number(one, "step_examples_per_s"),
                100.0 * drove__bench_number(one, "step_of_limit"));
    if (json_is_null(json_object_get(result, "line_ns")))
        fprintf(stream, "\na line from core to core: there is one processor\n");
    else
        fprintf(stream, "\na line from core to core: %.0f ns one way\n",
                drove__bench_number(result, "line_ns"));
    fprintf(stream, "\ndevice      launch us  there+back   to GB/s from GB/s\n");
    json_array_foreach(json_object_get(result, "devices"), i, row)
    {
        fprintf(stream, "%-11s", drove__bench_text(row, "device"));
        const char *reason = drove__bench_text(row, "reason");
        if (reason != NULL) {
            fprintf(stream, " none: %s\n", reason);
            continue;
        }
        print_number(row, "launch_us", 2, stream);
        fprintf(stream, "  ");
        print_number(row, "round_trip_us", 2, stream);
        print_number(row, "to_gb_per_s", 1, stream);
        print_number(row, "from_gb_per_s", 1, stream);
        fputc('\n', stream);
    }
}

const drove_bench_ops drove__bench_limits = {
    .name = "limits",
    .help = "how near a training step comes to this core's peak, products and caches",
    .source = "the roofline of Williams, Waterman, Patterson, CACM 2009",
    .run = run,
    .print = print,
};
