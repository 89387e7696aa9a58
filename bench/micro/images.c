/* bench/micro/images.c - what loading images costs beside the step that they are for: gathering a
 * batch with crop, mirror and mean, the same images as they are, and forward and backward pass of
 * a loaded batch, on one thread, the fastest of several; what is asked for is what a loader's
 * thread takes off a worker.  share = load / (load + step) is the most that loading ahead can gain.
 *
 *     bench_images [REPEATS]
 *
 * JSON lines, times in microseconds per image.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "engine/gather.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 7, MOST_ROWS = 64 };

typedef struct bench_case {
    const char *name, *model, *cut, *whole;
    size_t n_rows;
} bench_case;

static const bench_case cases[] = {
    {"cifar", "cifar-quick", "synth:images?size=32&n=512&pad=4&crop=32&mirror=1&scale=unit-mean",
     "synth:images?size=32&n=512&scale=unit-mean", 64},
    {"crop28", "mlp:128,128,128", "synth:images?size=32&n=512&crop=28&mirror=1&scale=unit-mean",
     "synth:images?size=28&n=512&scale=unit-mean", 64},
    {"crop227", "alexnet", "synth:images?size=256&n=128&classes=1000&crop=227&mirror=1&scale=mean",
     "synth:images?size=227&n=128&classes=1000&scale=mean", 16},
};

static void check(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "%s\n", drove_error_text());
    exit(1);
}

/* Other rows each time, as in training. */
static void choose_rows(drove_batch *b, uint32_t *row, uint64_t number)
{
    for (size_t i = 0; i < b->n_rows; i++)
        row[i] = (uint32_t)((number * 7919 + i * 104729) % b->data->n_rows);
    b->number = number;
}

/* Microseconds per image; the last batch stays in *in. */
static double load_us(const drovek_table *kernels, const drove_data *data, size_t n_rows,
                      int repeats, drove_gather *g, drove_loaded *loaded)
{
    uint32_t row[MOST_ROWS];
    uint64_t best = UINT64_MAX;
    drove_batch b = {.data = data, .row = row, .n_rows = n_rows};
    check(drove__gather_init(g, kernels, data, n_rows, drove__data_n_inputs(data), true));
    for (int r = 0; r < 10 * repeats; r++) {
        choose_rows(&b, row, (uint64_t)r);
        uint64_t begin = drove__now_ns();
        check(drove__gather_load(g, &b, true, NULL, &loaded->in));
        uint64_t spent = drove__now_ns() - begin;
        if (spent < best) best = spent;
    }
    drove__targets_load(&g->targets, data, NULL, row, n_rows, &loaded->target);
    return (double)best * 1e-3 / (double)n_rows;
}

static double step_us(const drovek_table *kernels, const drove_data *data, const bench_case *c,
                      int repeats, const drove_loaded *loaded)
{
    drove_model *model;
    drove_engine *e;
    uint64_t best = UINT64_MAX;
    static const uint32_t row[MOST_ROWS];
    size_t image[3];
    drove__data_image(data, image);
    const drove_model_io io = {.n_features = drove__data_n_inputs(data),
                               .n_classes = data->storage->n_classes,
                               .image = {.c = image[0], .h = image[1], .w = image[2]}};
    check(drove__model_create(c->model, NULL, NULL, &io, &model));
    float *theta = drove__alloc(model->n_params, sizeof *theta),
          *grad = drove__alloc(model->n_params, sizeof *grad);
    if (theta == NULL || grad == NULL) exit(1);
    check(drove__model_init(model, "", 1, theta));
    const drove_engine_options opt = {
        .model = model, .kernels = kernels, .data = data, .max_rows = c->n_rows, .rows = c->n_rows};
    check(drove__engine_host.create(&opt, &e));
    drove_batch b = {.data = data, .row = row, .n_rows = c->n_rows, .loaded = loaded};
    drove_gradient g = {.value = grad};
    const drove_work work = {.batch = &b, .theta = theta, .grad = &g};
    for (int r = 0; r < repeats; r++) {
        uint64_t begin = drove__now_ns();
        check(drove__engine_do(&drove__engine_host, e, &work, UINT64_MAX, NULL));
        uint64_t spent = drove__now_ns() - begin;
        if (spent < best) best = spent;
    }
    drove__engine_host.destroy(e);
    drove__model_destroy(model);
    drove__free(theta);
    drove__free(grad);
    return (double)best * 1e-3 / (double)c->n_rows;
}

static void measure(const bench_case *c, const drovek_table *kernels, int repeats)
{
    drove_data *cut, *whole, *none;
    drove_gather g, g_whole;
    drove_loaded loaded, unused;
    check(drove_data_open(c->cut, NULL, 1, &cut, &none));
    check(drove_data_open(c->whole, NULL, 1, &whole, &none));
    double plain = load_us(kernels, whole, c->n_rows, repeats, &g_whole, &unused);
    double load = load_us(kernels, cut, c->n_rows, repeats, &g, &loaded);
    double step = step_us(kernels, cut, c, repeats, &loaded);
    printf("{\"bench\": \"images\", \"case\": \"%s\", \"model\": \"%s\", \"batch\": %zu, \"isa\": "
           "\"%s\", \"load_us\": %.2f, \"whole_us\": %.2f, \"step_us\": %.1f, \"share\": %.4f, "
           "\"whole_share\": %.4f}\n",
           c->name, c->model, c->n_rows, kernels->isa, load, plain, step, load / (load + step),
           plain / (plain + step));
    fflush(stdout);
    drove__gather_fini(&g);
    drove__gather_fini(&g_whole);
    drove_data_destroy(cut);
    drove_data_destroy(whole);
}

int main(int argc, char **argv)
{
    drovek_table kernels;
    int repeats = argc > 1 ? atoi(argv[1]) : REPEATS;
    drovek_thread_init();
    check(drovek_select(&kernels, drove__cpu_features(), NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) measure(&cases[i], &kernels, repeats);
    return 0;
}
