/* bench/micro/accel.c - what a step on a device costs beside the bare matrix products of the same
 * step on the same device, and how copying overlaps computing; or the time of the step on cores.
 *
 * For each network and batch size, interleaved in one run, medians of the rounds:
 *   bare     the step's matrix products alone, on buffers of the device that are filled already
 *   clblast  the same by CLBlast (OpenCL)
 *   step     submit, stage of the next batch, collect: examples gathered and copied, parameters
 *            copied, the pass, gradients copied back, losses summed
 *   alone    gradient: the same without a batch in advance
 * A ratio is the time of the bare products over the other's.  Networks with convolutions have no
 * bare products, and neither have cores (host:N, a team of N threads).  Then the intervals of a few
 * steps on the device's clock, in us from the first: the examples of a step's batch are copied
 * while the step before computes, its gradients while it does itself.
 *
 * usage: bench_accel [--device opencl:0 | cuda:0?tf32=yes | host:N] [--rounds N]
 *                    [--networks mlp,covtype,w8a,lenet] [--batches 64,512,8192]
 *                    [--precision float|bf16] [--clblast yes|no] [--lines yes|no] [--json]
 * Output: a table and a time line for people, or one JSON object a line.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "engine/accel/state.h"
#include "use/modelfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_ROWS = 60000,
    SEED = 1,
    ROUND_NS = 20000000,
    MAX_BATCHES = 16,
    MAX_ROUNDS = 64,
    N_LINES = 4
};
static const uint64_t TIMEOUT_NS = 60000000000u;

typedef struct network {
    const char *name, *model, *activation;
    size_t n_features, n_classes, side; /* side: of square images; 0: none */
} network;

/* covtype and w8a: Table 2 of the heterogeneous paper, here with dense random bytes. */
static const network networks[] = {
    {"mlp", "mlp:128,128,128", "relu", 784, 10, 0},
    {"covtype", "mlp:512,512,512,512,512,512", "sigmoid", 54, 2, 0},
    {"w8a", "mlp:512,512,512,512,512,512,512", "sigmoid", 300, 2, 0},
    {"lenet", "lenet", "", 784, 10, 28},
};

typedef struct bench {
    const network *net;
    drove_storage storage;
    drove_data data;
    drove_model *model;
    drovek_table kernels;
    bool in_bf16;
    unsigned n_threads;             /* of cores; 0: the device computes */
    drove_device *device, *clblast; /* clblast NULL: not measured */
    const drove_engine_ops *ops;    /* of the engine */
    drove_engine *engine;
    uint32_t *order;
    size_t at, n_batch;
    float *theta, *grad;
    bool is_staged; /* next is, on the device */
    drove_batch next;
    drove_work_done done; /* of the batches in advance */
    uint64_t begin_ns, stage_ns, finish_ns;
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
    if (b->net->side > 0) {
        b->storage.channels = 1;
        b->storage.height = b->storage.width = b->net->side;
    }
    const drove_model_io io = drove__data_io(&b->data);
    check(drove__model_create(b->net->model, b->net->activation, NULL, &io, &b->model));
    if (b->in_bf16) b->model->factors = DROVEK_FACTORS_BF16;
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
    void *memory;
    check(r->ops->host_alloc(r->accel, n * sizeof(float), &memory));
    float *host = memory;
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
    if (b->in_bf16) r->ops->multiply_in_bf16(r->queue);
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
    const drove_engine_ops *ops = b->ops;
    drove_gradient grad = {.value = b->grad};
    if (!b->is_staged) b->next = next_batch(b);
    const drove_batch batch = b->next;
    const drove_work work = {.batch = &batch, .theta = b->theta, .grad = &grad};
    const uint64_t start = drove__now_ns();
    check(ops->begin(b->engine, &work));
    const uint64_t begun = drove__now_ns();
    b->next = next_batch(b);
    if (ops->stage != NULL) check(ops->stage(b->engine, &b->next));
    const uint64_t staged = drove__now_ns();
    b->is_staged = true;
    check(ops->finish(b->engine, TIMEOUT_NS, &b->done));
    b->begin_ns += begun - start;
    b->stage_ns += staged - begun;
    b->finish_ns += drove__now_ns() - staged;
}

static void alone(bench *b)
{
    drove_gradient grad = {.value = b->grad};
    drove_batch batch = next_batch(b);
    const drove_work work = {.batch = &batch, .theta = b->theta, .grad = &grad};
    drove_work_done done = {0};
    b->is_staged = false;
    check(drove__engine_do(b->ops, b->engine, &work, TIMEOUT_NS, &done));
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

enum { BARE, CLBLAST, STEP, ALONE, N_MEASURES };

typedef struct result {
    double ns[N_MEASURES][MAX_ROUNDS]; /* 0: not measured */
    double middle[N_MEASURES], least[N_MEASURES];
} result;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void find_middles(result *r, unsigned n_rounds)
{
    for (size_t i = 0; i < N_MEASURES; i++) {
        qsort(r->ns[i], n_rounds, sizeof r->ns[i][0], compare_doubles);
        r->middle[i] = r->ns[i][n_rounds / 2];
        r->least[i] = r->ns[i][0];
    }
}

static double n_flops(const bench *b)
{
    double sum = 0.0;
    if (b->net->side > 0) return 0.0;
    for (size_t l = 0; l < b->model->n_layers; l++) {
        const drove_layer *y = &b->model->layer[l];
        sum += (l == 0 ? 4.0 : 6.0) * (double)(b->n_batch * y->n_in * y->n_out);
    }
    return sum;
}

/* 0 where nothing was measured. */
static double ratio(double a, double b)
{
    return b > 0.0 ? a / b : 0.0;
}

static void print_json(const bench *b, const result *r, double better)
{
    const drove_device_facts none = {.name = "cores"},
                             *facts = b->device != NULL ? &b->device->facts : &none;
    const drove_engine_times *t = &b->done.times;
    const double n = (double)b->done.score.n_rows / (double)b->n_batch,
                 us_each = n > 0 ? 1e-3 / n : 0;
    printf("{\"bench\":\"accel\",\"device\":\"%s\",\"driver\":\"%s\",\"units\":%u,\"threads\":%u,"
           "\"network\":\"%s\",\"model\":\"%s\",\"inputs\":%zu,\"params\":%zu,\"precision\":\"%s\","
           "\"batch\":%zu,\"flops\":%.0f,",
           facts->name, facts->driver, facts->n_units, b->n_threads, b->net->name, b->model->spec,
           b->net->n_features, b->model->n_params, b->in_bf16 ? "bf16" : "float", b->n_batch,
           n_flops(b));
    printf("\"bare_us\":%.1f,\"bare_gflops\":%.1f,\"clblast_us\":%.1f,\"step_us\":%.1f,"
           "\"step_least_us\":%.1f,\"step_ratio\":%.3f,\"alone_us\":%.1f,\"alone_ratio\":%.3f,",
           r->middle[BARE] * 1e-3, ratio(n_flops(b), r->middle[BARE]), r->middle[CLBLAST] * 1e-3,
           r->middle[STEP] * 1e-3, r->least[STEP] * 1e-3, ratio(better, r->middle[STEP]),
           r->middle[ALONE] * 1e-3, ratio(better, r->middle[ALONE]));
    printf("\"compute_us\":%.1f,\"copy_us\":%.1f,\"hidden_us\":%.1f,\"wait_us\":%.1f,"
           "\"begin_us\":%.1f,\"stage_us\":%.1f,\"finish_us\":%.1f,"
           "\"seed\":%d,\"cpu\":\"%s\",\"compiler\":\"%s\"}\n",
           (double)t->compute_ns * us_each, (double)t->copy_ns * us_each,
           (double)t->hidden_ns * us_each, (double)t->wait_ns * us_each,
           (double)b->begin_ns * us_each, (double)b->stage_ns * us_each,
           (double)b->finish_ns * us_each, SEED, drove__cpu_model(), __VERSION__);
}

static void print_result(const bench *b, const result *r, bool is_json)
{
    double hidden = (double)b->done.times.hidden_ns / (double)(b->done.times.copy_ns + 1);
    double better = r->middle[CLBLAST] > 0 && r->middle[CLBLAST] < r->middle[BARE]
                        ? r->middle[CLBLAST]
                        : r->middle[BARE];
    if (is_json) {
        print_json(b, r, better);
        return;
    }
    printf("%zu-%s-%zu, batch %zu: bare %.1f us (%.0f GFLOP/s), CLBlast %.1f us, step %.1f us "
           "(ratio %.2f), alone %.1f us (%.2f); %.0f %% of copying hidden\n",
           b->net->n_features, b->model->spec, b->net->n_classes, b->n_batch,
           r->middle[BARE] * 1e-3, ratio(n_flops(b), r->middle[BARE]), r->middle[CLBLAST] * 1e-3,
           r->middle[STEP] * 1e-3, ratio(better, r->middle[STEP]), r->middle[ALONE] * 1e-3,
           ratio(better, r->middle[ALONE]), 100.0 * hidden);
}

static void make_engine(bench *b)
{
    drove_engine_options opt = {.model = b->model,
                                .kernels = &b->kernels,
                                .data = &b->data,
                                .max_rows = b->n_batch,
                                .n_threads = b->n_threads,
                                .device = b->device};
    b->ops = b->device != NULL ? b->device->engine : &drove__engine_host;
    check(b->ops->create(&opt, &b->engine));
}

static void compare(bench *b, size_t n_batch, unsigned n_rounds, bool has_lines, bool is_json)
{
    bare own, library;
    result r = {0};
    b->n_batch = n_batch;
    b->at = 0;
    b->is_staged = false;
    make_engine(b);
    const bool has_bare = b->device != NULL && b->net->side == 0, has_library = b->clblast != NULL;
    if (has_bare) make_bare(&own, b, b->device);
    if (has_library) make_bare(&library, b, b->clblast);
    for (unsigned round = 0; round <= n_rounds; round++) { /* the first warms up, and is replaced */
        unsigned i = round > 0 ? round - 1 : 0;
        r.ns[BARE][i] = has_bare ? measure_bare(&own, b) : 0.0;
        r.ns[CLBLAST][i] = has_library ? measure_bare(&library, b) : 0.0;
        b->done = (drove_work_done){0};
        b->begin_ns = b->stage_ns = b->finish_ns = 0;
        r.ns[STEP][i] = measure(b, step);
        r.ns[ALONE][i] = b->device != NULL ? measure(b, alone) : 0.0;
    }
    find_middles(&r, n_rounds);
    print_result(b, &r, is_json);
    if (has_lines && b->device != NULL) print_lines(b, is_json);
    fflush(stdout);
    if (has_bare) free_bare(&own, b);
    if (has_library) free_bare(&library, b);
    b->ops->destroy(b->engine);
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

/* Does the list "mlp,lenet" have it? */
static bool names(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0')) return true;
    return false;
}

int main(int argc, char **argv)
{
    bench b = {0};
    const char *device = "opencl:0", *batches = "64,512,8192", *clblast = "no", *lines = "yes";
    const char *wanted = "mlp,covtype", *precision = "float";
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
        else if (strcmp(flag, "--networks") == 0) wanted = value;
        else if (strcmp(flag, "--precision") == 0) precision = value;
        else if (strcmp(flag, "--lines") == 0) lines = value;
        else check(drove__fail(DROVE_E_ARG, "unknown option %s", flag));
        i++;
    }
    size_t size[MAX_BATCHES], n_sizes = parse_batches(batches, size);
    drovek_thread_init();
    if (n_rounds == 0 || n_rounds > MAX_ROUNDS)
        check(drove__fail(DROVE_E_ARG, "rounds: expected 1 to %d", MAX_ROUNDS));
    check(drovek_select(&b.kernels, drove__cpu_features(), NULL));
    b.in_bf16 = strcmp(precision, "bf16") == 0;
    if (strncmp(device, "host:", 5) == 0) b.n_threads = (unsigned)strtoul(device + 5, NULL, 10);
    else b.device = open_device(device);
    if (strcmp(clblast, "yes") == 0 && setenv("DROVE_OPENCL_GEMM", "clblast", 1) == 0)
        b.clblast = open_device(device);
    for (size_t i = 0; i < DROVE_COUNT(networks); i++) {
        b.net = &networks[i];
        if (!names(wanted, b.net->name)) continue;
        make_problem(&b);
        for (size_t s = 0; s < n_sizes; s++)
            compare(&b, size[s], n_rounds, strcmp(lines, "yes") == 0, is_json);
        free_problem(&b);
    }
    drove__device_close(b.clblast);
    drove__device_close(b.device);
    return 0;
}
