/* test_accel_graph.c - graphs of layers on accelerators: gradients of each kind of layer, of LeNet
 * and of a net with ways that part and meet and two heads, against the host's engine in plain C and
 * against finite differences; scores, predictions, population statistics; memory.
 *
 * On operations in plain C, and on each kind of device that is here.
 * ctest: home=release: drivers of OpenCL are not sanitized; the stand-in for CUDA is.
 * ctest: slow: drivers compile, and finite differences of each kind of layer */
#include "unit/engine/accel_images.h"
#include "unit/engine/accel_plain.h"
#include "unit/engine/accel_support.h"
#include "base/mem.h"
#include "support/engine_calls.h"
#include "support/test.h"

#include <math.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Largest difference of a layer's gradient from the host's: this part of its largest element.  Sums
 * of up to 24 * 24 * 24 float products in orders of their own, through several layers. */
static const double GRADIENT_BOUND = 2e-4;
/* Relative, summed over a batch; of less than LEAST_LOSS, where rounding of the outputs decides, of
 * that. */
static const double LOSS_BOUND = 2e-5, LEAST_LOSS = 0.01;
/* Relative, of a finite difference of losses in float, across some kinks of rectified units. */
static const double DIFFERENCE_BOUND = 0.05;

enum { MAX_ROWS = 8, SLOPE_ROWS = 16 };

static void on_each(void (*test)(drove_device *device, const images_case *how))
{
    for (size_t i = 0; i < ACCEL_N_DEVICES; i++) {
        if (accel_devices[i] == NULL) continue;
        for (const images_case *c = images_cases; c->name != NULL; c++) test(accel_devices[i], c);
    }
}

/* ---- gradients ---- */

static void gradients_on(drove_device *device, const images_case *how)
{
    static const size_t sizes[] = {1, 5, MAX_ROWS};
    images p;
    images_setup(&p, how, device, MAX_ROWS);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        drove_score score[2];
        images_choose(&p, s, sizes[s], 100 + s);
        images_gradients(&p, score);
        images_compare(&p, GRADIENT_BOUND);
        assert_int_equal(score[0].n_rows, score[1].n_rows);
        assert_int_equal(score[0].n_correct, score[1].n_correct);
        const double bound = LOSS_BOUND * fmax(fabs(score[0].loss), LEAST_LOSS);
        if (!(fabs(score[0].loss - score[1].loss) <= bound))
            fail_msg("%s: loss %.9g, expected %.9g", how->name, score[1].loss, score[0].loss);
    }
    images_teardown(&p);
}

static double distance(const images *p, const float *a, const float *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < p->model->n_params; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sqrt(sum);
}

/* Two orders of sums round a few numbers differently, but a device that did not round would be as
 * far from the host as the host's floats are. */
static void bf16_on(drove_device *device, const images_case *how)
{
    images p;
    drove_engine *floats;
    images_case narrow = *how;
    drove_score score[2];
    narrow.in_bf16 = true;
    images_setup(&p, &narrow, device, MAX_ROWS);
    images_choose(&p, 0, 5, 100);
    images_gradients(&p, score);
    float *unrounded = drove__alloc(p.model->n_params, sizeof *unrounded);
    const drove_engine_options opt = {
        .model = p.model, .kernels = &p.kernels, .data = &p.data, .max_rows = MAX_ROWS};
    drove_gradient g = {.value = unrounded};
    p.model->factors = DROVEK_FACTORS_F32;
    assert_int_equal(drove__engine_host.create(&opt, &floats), DROVE_OK);
    assert_int_equal(engine_gradient(&drove__engine_host, floats, p.theta, &p.batch, &g, &score[1]),
                     DROVE_OK);
    double of_device = distance(&p, p.grad[0], p.grad[1]);
    double of_floats = distance(&p, p.grad[0], unrounded);
    if (!(of_device < 0.5 * of_floats))
        fail_msg("%s: %g from the host in bf16, whose floats are at %g", how->name, of_device,
                 of_floats);
    drove__engine_host.destroy(floats);
    drove__free(unrounded);
    images_teardown(&p);
}

GROUP(accel_open_devices, accel_close_devices);

TEST(every_layer_agrees_with_the_host)
{
    on_each(gradients_on);
}

TEST(factors_are_rounded_to_bf16)
{
    for (size_t i = 0; i < ACCEL_N_DEVICES; i++)
        if (accel_devices[i] != NULL) bf16_on(accel_devices[i], images_find("lenet"));
}

/* The same bits for the same batch, whatever came between. */
static void bits_on(drove_device *device, const images_case *how)
{
    images p;
    drove_score score[2];
    images_setup(&p, how, device, MAX_ROWS);
    images_choose(&p, 3, 5, 5);
    images_gradients(&p, score);
    size_t n_bytes = p.model->n_params * sizeof(float);
    float *first = malloc(n_bytes);
    assert_non_null(first);
    memcpy(first, p.grad[1], n_bytes);
    images_choose(&p, 9, MAX_ROWS, 6);
    images_gradients(&p, score);
    images_choose(&p, 3, 5, 5);
    images_gradients(&p, score);
    assert_memory_equal(first, p.grad[1], n_bytes);
    free(first);
    images_teardown(&p);
}

TEST(bits_repeat)
{
    on_each(bits_on);
}

/* ---- a library of convolutions ---- */

/* The stand-in for cuDNN computes what it is thought to: all parts, or with DROVE_CUDA_CONV=im2col
 * none; it says how many it has computed. */
TEST(a_library_computes_convolutions)
{
    /* forward, derivatives of images and of weights, in three batches; forward of the second one,
     * and of `strides` the weights of conv2 and the images of conv3, are turned down */
    static const struct {
        const char *name;
        unsigned long runs[3];
    } expected[] = {{"deep", {2 * 2, 3 * 1, 3 * 2}}, {"strides", {2 * 3, 3 * 1, 3 * 2}}};
    char path[1024];
    const char *folder = getenv("DROVE_MODULE_PATH"), *wish = getenv("DROVE_CUDA_CONV");
    if (getenv("DROVE_TEST_STAND_IN") == NULL || folder == NULL) {
        print_message("skipped: not on the stand-in for CUDA\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/cudnn.so", folder);
    void *library = dlopen(path, RTLD_NOW);
    assert_non_null(library);
    atomic_ulong *runs = dlsym(library, "stand_in_cudnn_runs");
    assert_non_null(runs);
    assert_non_null(accel_devices[ACCEL_CUDA]);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        unsigned long before[3];
        for (size_t part = 0; part < 3; part++) before[part] = atomic_load(&runs[part]);
        gradients_on(accel_devices[ACCEL_CUDA], images_find(expected[i].name));
        for (size_t part = 0; part < 3; part++)
            assert_int_equal(atomic_load(&runs[part]) - before[part],
                             wish == NULL ? expected[i].runs[part] : 0);
    }
    unsigned long before = atomic_load(&runs[1]);
    bf16_on(accel_devices[ACCEL_CUDA], images_find("deep")); /* in bf16, too */
    assert_int_equal(atomic_load(&runs[1]) - before, wish == NULL ? 1 : 0);
    dlclose(library);
}

/* ---- finite differences ---- */

/* What the gradient is of: the mean loss of all heads, of which a score tells the main one's. */
static double loss_at(images *p)
{
    drove_score score = {0};
    drove_gradient g = {.value = p->grad[0]};
    assert_int_equal(engine_gradient(p->device->engine, p->accel, p->theta, &p->batch, &g, &score),
                     DROVE_OK);
    return score.loss / (double)score.n_rows;
}

/* Along the layer's own gradient, so that what is looked for is large beside the rounding. */
static void check_layer(images *p, const drove_layer *y, const float *grad)
{
    double length = 0.0;
    size_t n = y->b_offset + y->n_b - y->w_offset;
    for (size_t i = 0; i < n; i++) length += pow(grad[y->w_offset + i], 2);
    length = sqrt(length);
    if (length < 1e-4) return;
    float step = (float)(2e-3 / length);
    for (size_t i = 0; i < n; i++) p->theta[y->w_offset + i] += step * grad[y->w_offset + i];
    double above = loss_at(p);
    for (size_t i = 0; i < n; i++) p->theta[y->w_offset + i] -= 2 * step * grad[y->w_offset + i];
    double below = loss_at(p);
    for (size_t i = 0; i < n; i++) p->theta[y->w_offset + i] += step * grad[y->w_offset + i];
    double slope = (above - below) / 4e-3;
    if (!(fabs(slope - length) <= DIFFERENCE_BOUND * length))
        fail_msg("%s, layer %s: slope %g, gradient %g", p->how->name, y->name, slope, length);
}

TEST(gradients_are_slopes)
{
    if (accel_devices[ACCEL_PLAIN] == NULL) skip();
    for (const images_case *c = images_cases; c->name != NULL; c++) {
        images p;
        drove_score score[2];
        if (strcmp(c->name, "inception") == 0) continue; /* two heads */
        images_setup(&p, c, accel_devices[ACCEL_PLAIN], SLOPE_ROWS);
        images_choose(&p, 0, SLOPE_ROWS, 9);
        images_gradients(&p, score);
        float *grad = malloc(p.model->n_params * sizeof *grad);
        assert_non_null(grad);
        memcpy(grad, p.grad[1], p.model->n_params * sizeof *grad);
        for (size_t l = 0; l < p.model->n_layers; l++) {
            const drove_layer *y = &p.model->layer[l];
            if (y->n_params > 0 && !y->training.is_frozen && y->opt.w_lr == 0.0f)
                check_layer(&p, y, grad);
        }
        free(grad);
        images_teardown(&p);
    }
}

/* ---- score, predict, statistics ---- */

/* Batches of 7 images through memory for 4, whose statistics are those within each piece. */
static void check_pieces(images *p, const float *prob)
{
    const drove_engine_ops *ops = p->device->engine;
    const drove_engine_options opt = {.model = p->model,
                                      .kernels = &p->kernels,
                                      .data = &p->data,
                                      .max_rows = 4,
                                      .device = p->device};
    drove_engine *small;
    float found[MAX_ROWS * IMAGES_CLASSES];
    float *sum[2] = {p->grad[0], p->grad[1]};
    drove_batch all = p->batch, piece = all;
    for (size_t i = 0; i < p->model->n_params; i++) sum[0][i] = sum[1][i] = 1.0f;
    assert_int_equal(ops->create(&opt, &small), DROVE_OK);
    assert_int_equal(ops->predict(small, p->theta, &all, found), DROVE_OK);
    for (size_t i = 0; i < all.n_rows * IMAGES_CLASSES; i++)
        assert_true(fabsf(prob[i] - found[i]) <= 1e-4f * (1.0f + fabsf(prob[i])));
    assert_int_equal(ops->statistics(small, p->theta, &all, 0.25f, sum[1]), DROVE_OK);
    for (size_t first = 0; first < all.n_rows; first += piece.n_rows) {
        piece.row = all.row + first;
        piece.n_rows = all.n_rows - first < 4 ? all.n_rows - first : 4;
        float share = 0.25f * (float)piece.n_rows / (float)all.n_rows;
        assert_int_equal(drove__engine_host.statistics(p->host, p->theta, &piece, share, sum[0]),
                         DROVE_OK);
    }
    for (size_t i = 0; i < p->model->n_params; i++)
        assert_true(fabsf(sum[0][i] - sum[1][i]) <= 1e-4f * (1.0f + fabsf(sum[0][i])));
    ops->destroy(small);
}

static void inference_on(drove_device *device, const images_case *how)
{
    images p;
    drove_score score[2];
    float prob[2][MAX_ROWS * IMAGES_CLASSES];
    memset(score, 0, sizeof score);
    images_setup(&p, how, device, MAX_ROWS);
    images_choose(&p, 2, 7, 3);
    assert_int_equal(engine_score(&drove__engine_host, p.host, p.theta, &p.batch, &score[0]),
                     DROVE_OK);
    assert_int_equal(engine_score(device->engine, p.accel, p.theta, &p.batch, &score[1]), DROVE_OK);
    if (!(fabs(score[0].loss - score[1].loss) <= LOSS_BOUND * fabs(score[0].loss)))
        fail_msg("%s: loss %.9g, expected %.9g", how->name, score[1].loss, score[0].loss);
    assert_int_equal(score[0].n_correct, score[1].n_correct);
    assert_int_equal(drove__engine_host.predict(p.host, p.theta, &p.batch, prob[0]), DROVE_OK);
    assert_int_equal(device->engine->predict(p.accel, p.theta, &p.batch, prob[1]), DROVE_OK);
    for (size_t i = 0; i < 7 * IMAGES_CLASSES; i++)
        assert_true(fabsf(prob[0][i] - prob[1][i]) <= 1e-4f * (1.0f + fabsf(prob[0][i])));
    float *sum[2] = {p.grad[0], p.grad[1]};
    for (size_t i = 0; i < p.model->n_params; i++) sum[0][i] = sum[1][i] = 1.0f;
    assert_int_equal(drove__engine_host.statistics(p.host, p.theta, &p.batch, 0.25f, sum[0]),
                     DROVE_OK);
    assert_int_equal(device->engine->statistics(p.accel, p.theta, &p.batch, 0.25f, sum[1]),
                     DROVE_OK);
    for (size_t i = 0; i < p.model->n_params; i++)
        assert_true(fabsf(sum[0][i] - sum[1][i]) <= 1e-4f * (1.0f + fabsf(sum[0][i])));
    check_pieces(&p, prob[0]);
    images_teardown(&p);
}

TEST(scores_predictions_and_statistics_agree)
{
    on_each(inference_on);
}

/* ---- memory ---- */

/* An engine of as many images as are said to fit can be made and used; one more cannot. */
TEST(memory_is_counted)
{
    if (accel_devices[ACCEL_PLAIN] == NULL) skip();
    for (const images_case *c = images_cases; c->name != NULL; c++) {
        images p;
        drove_score score = {0};
        drove_engine *engine = NULL;
        images_setup(&p, c, accel_devices[ACCEL_PLAIN], 1);
        drove_engine_options opt = {.model = p.model,
                                    .kernels = &p.kernels,
                                    .data = &p.data,
                                    .max_rows = (size_t)1 << 40,
                                    .device = accel_devices[ACCEL_PLAIN]};
        size_t most = accel_devices[ACCEL_PLAIN]->engine->most_rows(&opt);
        assert_true(most > MAX_ROWS && most < opt.max_rows);
        opt.max_rows = most + 1;
        assert_int_equal(accel_devices[ACCEL_PLAIN]->engine->create(&opt, &engine), DROVE_E_NOMEM);
        accel_plain_elements = 0;
        opt.max_rows = most;
        assert_int_equal(accel_devices[ACCEL_PLAIN]->engine->create(&opt, &engine), DROVE_OK);
        uint64_t limit = accel_devices[ACCEL_PLAIN]->facts.memory_bytes;
        assert_true(accel_plain_elements * sizeof(float) <= limit * 9 / 10);
        assert_true(accel_plain_elements * sizeof(float) >= limit / 8); /* not far from it */
        images_choose(&p, 0, 3, 1);
        assert_int_equal(engine_score(accel_devices[ACCEL_PLAIN]->engine, engine, p.theta, &p.batch,
                                      &score),
                         DROVE_OK);
        accel_devices[ACCEL_PLAIN]->engine->destroy(engine);
        images_teardown(&p);
    }
}
