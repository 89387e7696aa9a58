/* bench/micro/accel.c - what a step on a device costs beside the bare matrix products of the same
 * step on the same device, and how copying overlaps computing.
 *
 * For each network and batch size, interleaved in one run, fastest of the rounds:
 *   bare     the step's matrix products alone, on buffers of the device that are filled already
 *   clblast  the same by CLBlast (OpenCL)
 *   step     submit, stage of the next batch, collect: examples gathered and copied, parameters
 *            copied, the pass, gradients copied back, losses summed
 *   alone    gradient: the same without a batch in advance
 * A ratio is the time of the bare products over the other's.  Then the intervals of a few steps on
 * the device's clock, in us from the first: the examples of a step's batch are copied while the
 * step before computes, its gradients while it does itself.
 *
 * usage: bench_accel [--device opencl:0] [--rounds N] [--batches 64,512,8192] [--clblast yes|no]
 *                    [--json]
 * Output: a table and a time line for people, or one JSON object a line.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "engine/accel/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROWS = 60000, SEED = 1, ROUND_NS = 20000000, MAX_BATCHES = 16, N_LINES = 4 };
static const uint64_t TIMEOUT_NS = 60000000000u;

typedef struct network {
    const char *model, *activation;
    size_t n_features, n_classes;
} network;

static const network networks[] = {
    {"mlp:128,128,128", "relu", 784, 10},
    {"mlp:512,512,512,512,512,512", "sigmoid", 54, 2},
};

typedef struct bench {
    const network *net;
    drove_storage storage;
    drove_data data;
    drove_model *model;
    drovek_table kernels;
    drove_device *device, *clblast; /* clblast NULL: not measured */
    drove_engine *engine;
    uint32_t *order;
    size_t at, n_batch;
    float *theta, *grad;
    bool is_staged; /* next is, on the device */
    drove_batch next;
    drove_work_done done; /* of the batches in advance */
} bench;

typedef struct bare { /* buffers of the products alone, on one device */
    const drove_accel_ops *ops;
    drove_accel *accel;
    drove_accel_queue *queue;
    drove_accel_buffer *x, *theta, *grad, **out, **delta;
} bare;

static void check(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "bench_accel: %s\n", drove_error_text());
    exit(2);
}

static void *zeroed(size_t count, size_t size_bytes)
{
    void *memory = drove__alloc(count, size_bytes);
    if (memory == NULL) check(drove__fail_nomem("benchmark", count * size_bytes));
    return memory;
}

/* ---- the problem ---- */

static void make_problem(bench *b)
{
    drove_rng rng;
    drove_permutation p;
    size_t n = b->net->n_features;
    drove__rng_seed(&rng, SEED, DROVE_RNG_TEST, 0);
    b->storage = (drove_storage){.n_rows = N_ROWS,
                                 .n_features = n,
                                 .x_kind = DROVE_X_U8,
                                 .y_kind = DROVE_Y_CLASS,
                                 .n_classes = b->net->n_classes};
    b->storage.x_u8 = zeroed(N_ROWS * n, 1);
    b->storage.y_class = zeroed(N_ROWS, sizeof(int32_t));
    for (size_t i = 0; i < N_ROWS * n; i++) b->storage.x_u8[i] = (uint8_t)drove__rng_u64(&rng);
    for (size_t i = 0; i < N_ROWS; i++)
        b->storage.y_class[i] = (int32_t)drove__rng_below(&rng, b->net->n_classes);
    b->data = (drove_data){.storage = &b->storage, .n_rows = N_ROWS};
    b->data.shift = zeroed(n, sizeof(float));
    b->data.factor = zeroed(n, sizeof(float));
    for (size_t j = 0; j < n; j++) b->data.factor[j] = 1.0f / 255.0f;
    b->order = zeroed(N_ROWS, sizeof *b->order);
    drove__permutation_init(&p, N_ROWS, SEED, 0);
    for (size_t i = 0; i < N_ROWS; i++) b->order[i] = (uint32_t)drove__permutation_at(&p, i);
    const drove_model_io io = {.n_features = n, .n_classes = b->net->n_classes};
    check(drove__model_create(b->net->model, b->net->activation, NULL, &io, &b->model));
    b->theta = zeroed(b->model->n_params, sizeof(float));
    b->grad = zeroed(b->model->n_params, sizeof(float));
    check(drove__model_init(b->model, "", SEED, b->theta));
}

static void free_problem(bench *b)
{
    drove__model_destroy(b->model);
    drove__free(b->storage.x_u8);
    drove__free(b->storage.y_class);
    drove__free(b->data.shift);
    drove__free(b->data.factor);
    drove__free(b->order);
    drove__free(b->theta);
    drove__free(b->grad);
}

static drove_batch next_batch(bench *b)
{
    if (b->at + b->n_batch > N_ROWS) b->at = 0;
    b->at += b->n_batch;
    return (
        drove_batch){.data = &b->data, .row = b->order + b->at - b->n_batch, .n_rows = b->n_batch};
}

/* ---- products alone ---- */

static drove_accel_buffer *filled(const bare *r, size_t n)
{
    drove_rng rng;
    drove_accel_buffer *buffer;
    drove_accel_event *done;
    float *host = r->ops->host_alloc(r->accel, n * sizeof *host);
    if (host == NULL) check(drove__fail_nomem("benchmark", n * sizeof *host));
    drove__rng_seed(&rng, SEED, DROVE_RNG_TEST, n);
    for (size_t i = 0; i < n; i++) host[i] = (float)drove__rng_uniform(&rng) - 0.5f;
    check(r->ops->alloc(r->accel, n, &buffer));
    check(r->ops->write(r->queue, drove__accel_view(buffer, 0), host, n));
    check(r->ops->record(r->queue, &done));
    check(r->ops->wait(done, TIMEOUT_NS));
    r->ops->event_destroy(done);
    r->ops->host_free(r->accel, host);
    return buffer;
}

static void make_bare(bare *r, const bench *b, const drove_device *device)
{
    const drove_accel_device *impl = device->impl;
    const drove_model *m = b->model;
    *r = (bare){.ops = impl->ops, .accel = impl->accel};
    check(r->ops->queue_create(r->accel, &r->queue));
    r->out = zeroed(m->n_layers, sizeof *r->out);
    r->delta = zeroed(m->n_layers, sizeof *r->delta);
    r->x = filled(r, b->n_batch * m->n_inputs);
    r->theta = filled(r, m->n_params);
    r->grad = filled(r, m->n_params);
    for (size_t l = 0; l < m->n_layers; l++) {
        r->out[l] = filled(r, b->n_batch * m->layer[l].n_out);
        r->delta[l] = filled(r, b->n_batch * m->layer[l].n_out);
    }
}

static void free_bare(bare *r, const bench *b)
{
    r->ops->queue_destroy(r->queue);
    for (size_t l = 0; l < b->model->n_layers; l++) {
        r->ops->free(r->accel, r->out[l]);
        r->ops->free(r->accel, r->delta[l]);
    }
    r->ops->free(r->accel, r->x);
    r->ops->free(r->accel, r->theta);
    r->ops->free(r->accel, r->grad);
    drove__free(r->out);
    drove__free(r->delta);
}

static void put_products(const bare *r, const bench *b)
{
    const size_t n = b->n_batch, n_layers = b->model->n_layers;
    drove_accel_view x = {.buffer = r->x};
    for (size_t l = 0; l < n_layers; l++) {
        const drove_layer *y = &b->model->layer[l];
        check(r->ops->gemm(r->queue, false, false, n, y->n_out, y->n_in, 1.0f,
                           l == 0 ? x : drove__accel_view(r->out[l - 1], 0), y->n_in,
                           drove__accel_view(r->theta, y->w_offset), y->n_out, 0.0f,
                           drove__accel_view(r->out[l], 0), y->n_out));
    }
    for (size_t l = n_layers; l-- > 0;) {
        const drove_layer *y = &b->model->layer[l];
        drove_accel_view d = drove__accel_view(r->delta[l], 0);
        check(r->ops->gemm(r->queue, true, false, y->n_in, y->n_out, n, 1.0f,
                           l == 0 ? x : drove__accel_view(r->out[l - 1], 0), y->n_in, d, y->n_out,
                           0.0f, drove__accel_view(r->grad, y->w_offset), y->n_out));
        if (l == 0) break;
        check(r->ops->gemm(r->queue, false, true, n, y->n_in, y->n_out, 1.0f, d, y->n_out,
                           drove__accel_view(r->theta, y->w_offset), y->n_out, 0.0f,
                           drove__accel_view(r->delta[l - 1], 0), y->n_in));
    }
}

/* ---- measuring: ns of a step, of as many as a round holds ---- */

static double measure_bare(const bare *r, const bench *b)
{
    drove_accel_event *done;
    uint64_t start = drove__now_ns(), now = start;
    size_t n_steps = 0;
    for (; now - start < ROUND_NS; now = drove__now_ns()) {
        for (size_t i = 0; i < 1 + 1024 / b->n_batch; i++, n_steps++) put_products(r, b);
        check(r->ops->record(r->queue, &done));
        check(r->ops->flush(r->queue));
        check(r->ops->wait(done, UINT64_MAX));
        r->ops->event_destroy(done);
    }
    return (double)(now - start) / (double)n_steps;
}

static void step(bench *b)
{
    const drove_engine_ops *ops = b->device->engine;
    drove_gradient grad = {.value = b->grad};
    if (!b->is_staged) b->next = next_batch(b);
    const drove_batch batch = b->next;
    const drove_work work = {.batch = &batch, .theta = b->theta, .grad = &grad};
    check(ops->begin(b->engine, &work));
    b->next = next_batch(b);
    check(ops->stage(b->engine, &b->next));
    b->is_staged = true;
    check(ops->finish(b->engine, TIMEOUT_NS, &b->done));
}

static void alone(bench *b)
{
    drove_gradient grad = {.value = b->grad};
    drove_batch batch = next_batch(b);
    const drove_work work = {.batch = &batch, .theta = b->theta, .grad = &grad};
    drove_work_done done = {0};
    b->is_staged = false;
    check(drove__engine_do(b->device->engine, b->engine, &work, TIMEOUT_NS, &done));
}

static double measure(bench *b, void (*run)(bench *b))
{
    uint64_t start = drove__now_ns(), now = start;
    size_t n_steps = 0;
    for (; now - start < ROUND_NS; now = drove__now_ns(), n_steps++) run(b);
    return (double)(now - start) / (double)n_steps;
}

/* ---- output ---- */

static double us(uint64_t ns, uint64_t zero)
{
    return ((double)ns - (double)zero) * 1e-3;
}

static void print_interval(bool is_json, const char *name, drove_accel_interval i, uint64_t zero)
{
    printf(is_json ? ",\"%s\":[%.1f,%.1f]" : "  %s %.0f-%.0f", name, us(i.begin, zero),
           us(i.end, zero));
}

static void print_lines(bench *b, bool is_json)
{
    uint64_t zero = 0;
    for (unsigned i = 0; i <= N_LINES; i++) {
        step(b);
        const drove_accel_line *line = &b->engine->line;
        if (i == 0) continue; /* nothing was staged for it */
        if (zero == 0) zero = line->examples.begin;
        printf(is_json ? "{\"bench\":\"accel_line\",\"model\":\"%s\",\"batch\":%zu,\"step\":%u"
                       : "  %s batch %zu step %u, us:",
               b->model->spec, b->n_batch, i);
        print_interval(is_json, "examples", line->examples, zero);
        print_interval(is_json, "params", line->params, zero);
        print_interval(is_json, "compute", line->compute, zero);
        print_interval(is_json, "results", line->results, zero);
        for (size_t k = 0; k < line->n_reads; k++) {
            char name[32];
            snprintf(name, sizeof name, "layer%zu", line->n_reads - k);
            print_interval(is_json, name, line->read[k], zero);
        }
        printf(is_json ? "}\n" : "\n");
    }
}

typedef struct result {
    double bare, clblast, step, alone; /* ns; clblast 0: not measured */
} result;

static void print_result(const bench *b, const result *r, bool is_json)
{
    const drove_device_facts *facts = &b->device->facts;
    double hidden = (double)b->done.times.hidden_ns / (double)(b->done.times.copy_ns + 1),
           flops = 0;
    double better = r->clblast > 0 && r->clblast < r->bare ? r->clblast : r->bare;
    for (size_t l = 0; l < b->model->n_layers; l++) {
        const drove_layer *y = &b->model->layer[l];
        flops += (l == 0 ? 4.0 : 6.0) * (double)(b->n_batch * y->n_in * y->n_out);
    }
    if (!is_json) {
        printf("%zu-%s-%zu, batch %zu: bare %.1f us (%.0f GFLOP/s), CLBlast %.1f us, step %.1f us "
               "(ratio %.2f), alone %.1f us (%.2f); %.0f %% of copying hidden\n",
               b->net->n_features, b->model->spec, b->net->n_classes, b->n_batch, r->bare * 1e-3,
               flops / r->bare, r->clblast * 1e-3, r->step * 1e-3, better / r->step,
               r->alone * 1e-3, better / r->alone, 100.0 * hidden);
        return;
    }
    printf("{\"bench\":\"accel\",\"device\":\"%s\",\"driver\":\"%s\",\"units\":%u,\"model\":\"%s\","
           "\"inputs\":%zu,\"batch\":%zu,\"bare_us\":%.1f,\"bare_gflops\":%.1f,\"clblast_us\":%.1f,"
           "\"step_us\":%.1f,\"step_ratio\":%.3f,\"alone_us\":%.1f,\"alone_ratio\":%.3f,"
           "\"copy_hidden\":%.3f,\"seed\":%d,\"cpu\":\"%s\",\"compiler\":\"%s\"}\n",
           facts->name, facts->driver, facts->n_units, b->model->spec, b->net->n_features,
           b->n_batch, r->bare * 1e-3, flops / r->bare, r->clblast * 1e-3, r->step * 1e-3,
           better / r->step, r->alone * 1e-3, better / r->alone, hidden, SEED, drove__cpu_model(),
           __VERSION__);
}

static void keep_least(double *best, double ns)
{
    if (*best == 0 || ns < *best) *best = ns;
}

static void compare(bench *b, size_t n_batch, unsigned n_rounds, bool is_json)
{
    bare own, library;
    result r = {0};
    b->n_batch = n_batch;
    b->at = 0;
    b->is_staged = false;
    drove_engine_options opt = {.model = b->model,
                                .kernels = &b->kernels,
                                .data = &b->data,
                                .max_rows = n_batch,
                                .device = b->device};
    check(b->device->engine->create(&opt, &b->engine));
    make_bare(&own, b, b->device);
    if (b->clblast != NULL) make_bare(&library, b, b->clblast);
    for (unsigned round = 0; round <= n_rounds; round++) { /* round 0 warms up */
        double ns[4] = {measure_bare(&own, b), b->clblast != NULL ? measure_bare(&library, b) : 0.0,
                        0.0, 0.0};
        b->done = (drove_work_done){0};
        ns[2] = measure(b, step);
        ns[3] = measure(b, alone);
        if (round == 0) continue;
        keep_least(&r.bare, ns[0]);
        keep_least(&r.clblast, ns[1]);
        keep_least(&r.step, ns[2]);
        keep_least(&r.alone, ns[3]);
    }
    print_result(b, &r, is_json);
    print_lines(b, is_json);
    fflush(stdout);
    free_bare(&own, b);
    if (b->clblast != NULL) free_bare(&library, b);
    b->device->engine->destroy(b->engine);
}

static drove_device *open_device(const char *text)
{
    drove_spec spec;
    drove_device *device;
    check(drove__spec_parse(text, &spec));
    check(drove__device_open(&spec, &device));
    drove__spec_fini(&spec);
    return device;
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
    const char *device = "opencl:0", *batches = "64,512,8192", *clblast = "no";
    unsigned n_rounds = 5;
    bool is_json = false;
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(flag, "--json") == 0) {
            is_json = true;
            continue;
        }
        if (strcmp(flag, "--device") == 0) device = value;
        else if (strcmp(flag, "--rounds") == 0) n_rounds = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(flag, "--batches") == 0) batches = value;
        else if (strcmp(flag, "--clblast") == 0) clblast = value;
        else check(drove__fail(DROVE_E_ARG, "unknown option %s", flag));
        i++;
    }
    size_t size[MAX_BATCHES], n_sizes = parse_batches(batches, size);
    drovek_thread_init();
    check(drovek_select(&b.kernels, drove__cpu_features(), NULL));
    b.device = open_device(device);
    if (strcmp(clblast, "yes") == 0 && setenv("DROVE_OPENCL_GEMM", "clblast", 1) == 0)
        b.clblast = open_device(device);
    for (size_t i = 0; i < DROVE_COUNT(networks); i++) {
        b.net = &networks[i];
        make_problem(&b);
        for (size_t s = 0; s < n_sizes; s++) compare(&b, size[s], n_rounds, is_json);
        free_problem(&b);
    }
    drove__device_close(b.clblast);
    drove__device_close(b.device);
    return 0;
}
