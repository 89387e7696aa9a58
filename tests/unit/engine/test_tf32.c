/* test_tf32.c - devices opened with tf32=yes: products against the definition, whole gradients
 * against the host's floats, and who is refused.
 *
 * The definition: both factors of a product are rounded to 10 bits of significand behind the point,
 * to nearest; sums are floats.  A tensor core may cut the bits off instead of rounding, which is
 * within the bounds as well.
 *
 * On the GPU that is here, if any, and over the stand-in (DROVE_TEST_STAND_IN).
 */
#include "unit/engine/accel_images.h"
#include "unit/engine/accel_support.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "engine/accel/kind.h"
#include "kernel/bf16.h"

#include <math.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

/* ||found - expected|| / ||expected|| of a product of random factors. */
static const double PRODUCT_BOUND = 3e-4;
/* ... from that of unrounded factors: 2^-12 of each factor in the mean, so about 2^-11.5. */
static const double ROUNDING_LEAST = 5e-5;
/* The same of a network's gradient and of the host's in floats: through several layers, and past
 * kinks and maxima that fall on the other side. */
static const double GRADIENT_BOUND = 2e-2;
/* ... below which nobody has rounded. */
static const double GRADIENT_LEAST = 5e-5;

static drove_device *rounding, *plain; /* NULL: there is no GPU */

FIXTURE(setup)
{
    rounding = accel_open_device("cuda", "0?tf32=yes");
    plain = accel_open_device("cuda", "0?tf32=no");
    return 0;
}

FIXTURE(teardown)
{
    drove__device_close(rounding);
    drove__device_close(plain);
    return 0;
}

GROUP(setup, teardown);

/* ---- products ---- */

/* By bits, not by the C library as the stand-in does: to nearest, ties to even. */
static double to_tf32(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits += 0xfffu + ((bits >> 13) & 1u);
    bits &= ~0x1fffu;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

typedef struct product {
    size_t m, n, k;
    bool trans_a, trans_b, in_bf16;
} product;

static float *random_floats(size_t n, uint64_t seed)
{
    drove_rng rng;
    float *v = drove__alloc(n, sizeof *v);
    assert_non_null(v);
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < n; i++) v[i] = (float)drove__rng_normal(&rng);
    return v;
}

/* c[m][n] by a device. */
static void by_device(const drove_device *device, const product *p, const float *a, const float *b,
                      float *c)
{
    const drove_accel_device *impl = device->impl;
    const drove_accel_ops *ops = impl->ops;
    drove_accel_queue *q;
    drove_accel_event *done;
    drove_accel_buffer *memory;
    size_t n_a = p->m * p->k, n_b = p->k * p->n, n_c = p->m * p->n;
    assert_int_equal(ops->queue_create(impl->accel, &q), DROVE_OK);
    if (p->in_bf16) ops->multiply_in_bf16(q);
    assert_int_equal(ops->alloc(impl->accel, n_a + n_b + n_c, &memory), DROVE_OK);
    const drove_accel_view at_a = {memory, 0}, at_b = {memory, n_a}, at_c = {memory, n_a + n_b};
    assert_int_equal(ops->write(q, at_a, a, n_a), DROVE_OK);
    assert_int_equal(ops->write(q, at_b, b, n_b), DROVE_OK);
    assert_int_equal(ops->gemm(q, p->trans_a, p->trans_b, p->m, p->n, p->k, 1.0f, at_a,
                               p->trans_a ? p->m : p->k, at_b, p->trans_b ? p->k : p->n, 0.0f, at_c,
                               p->n),
                     DROVE_OK);
    assert_int_equal(ops->read(q, c, at_c, n_c), DROVE_OK);
    assert_int_equal(ops->record(q, &done), DROVE_OK);
    assert_int_equal(ops->wait(done, UINT64_MAX), DROVE_OK);
    ops->event_destroy(done);
    ops->free(impl->accel, memory);
    ops->queue_destroy(q);
}

/* The same in double, of rounded factors or of floats. */
static double by_hand(const product *p, const float *a, const float *b, size_t i, size_t j,
                      bool rounds)
{
    double sum = 0.0;
    for (size_t l = 0; l < p->k; l++) {
        float x = a[p->trans_a ? l * p->m + i : i * p->k + l];
        float y = b[p->trans_b ? j * p->k + l : l * p->n + j];
        sum += rounds ? to_tf32(x) * to_tf32(y) : (double)x * (double)y;
    }
    return sum;
}

static double distance(const product *p, const float *a, const float *b, const float *c,
                       bool rounds)
{
    double off = 0.0, all = 0.0;
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) {
            double expected = by_hand(p, a, b, i, j, rounds);
            double d = (double)c[i * p->n + j] - expected;
            off += d * d;
            all += expected * expected;
        }
    }
    return sqrt(off / all);
}

TEST(products_follow_the_definition)
{
    static const product products[] = {{64, 128, 784, false, false, false},
                                       {128, 128, 64, true, false, false},
                                       {64, 784, 128, false, true, false},
                                       {33, 65, 17, true, true, false}};
    if (rounding == NULL) skip();
    for (size_t i = 0; i < DROVE_COUNT(products); i++) {
        const product *p = &products[i];
        float *a = random_floats(p->m * p->k, 2 * i), *b = random_floats(p->k * p->n, 2 * i + 1);
        float *c = random_floats(p->m * p->n, 99); /* every element is written */
        by_device(rounding, p, a, b, c);
        double far = distance(p, a, b, c, true), from_floats = distance(p, a, b, c, false);
        print_message("product %zu: %g from that of rounded factors, %g from that of floats\n", i,
                      far, from_floats);
        if (!(far <= PRODUCT_BOUND))
            fail_msg("product %zu: %g from that of rounded factors", i, far);
        if (i < 3 && !(from_floats >= ROUNDING_LEAST)) /* odd shapes may go without tensor cores */
            fail_msg("product %zu: %g from that of floats: nobody rounds", i, from_floats);
        by_device(plain, p, a, b, c);
        from_floats = distance(p, a, b, c, false);
        if (!(from_floats <= 1e-6)) fail_msg("product %zu: %g without tf32", i, from_floats);
        drove__free(a);
        drove__free(b);
        drove__free(c);
    }
}

/* ---- convolutions of the library ---- */

enum { ROWS = 3, SIDE = 9, CHANNELS = 4, OUTPUTS = 8, WINDOW = 3, MARGIN = 1 };
enum {
    N_X = ROWS * SIDE * SIDE * CHANNELS,
    N_W = OUTPUTS * WINDOW * WINDOW * CHANNELS,
    N_Y = ROWS * SIDE * SIDE * OUTPUTS
};

/* One output, y[row][i][j][o] of x[row][.][.][c] and w[o][.][.][c]. */
static double one_output(const float *x, const float *w, int row, int i, int j, int o,
                         double (*rounded)(float v))
{
    double sum = 0.0;
    for (int p = i - MARGIN; p < i - MARGIN + WINDOW; p++) {
        for (int q = j - MARGIN; q < j - MARGIN + WINDOW; q++) {
            if (p < 0 || q < 0 || p >= SIDE || q >= SIDE) continue;
            const float *at_x = x + ((row * SIDE + p) * SIDE + q) * CHANNELS;
            const float *at_w =
                w + ((o * WINDOW + p - i + MARGIN) * WINDOW + q - j + MARGIN) * CHANNELS;
            for (int c = 0; c < CHANNELS; c++) sum += rounded(at_x[c]) * rounded(at_w[c]);
        }
    }
    return sum;
}

static double as_it_is(float v)
{
    return (double)v;
}

static double to_bf16(float v)
{
    return (double)drovek_bf16(v);
}

static double distance_of_outputs(const float *x, const float *w, const float *y,
                                  double (*rounded)(float v))
{
    double off = 0.0, all = 0.0;
    for (int n = 0; n < N_Y; n++) {
        int place = n / OUTPUTS;
        double expected = one_output(x, w, place / (SIDE * SIDE), place / SIDE % SIDE, place % SIDE,
                                     n % OUTPUTS, rounded);
        double d = (double)y[n] - expected;
        off += d * d;
        all += expected * expected;
    }
    return sqrt(off / all);
}

/* One part; what it writes is read back.  False: the library does not have it. */
static bool convolve(const drove_device *device, bool in_bf16, drove_accel_conv_part part, float *x,
                     float *w, float *y)
{
    static const drove_numbers k = {.c = CHANNELS,
                                    .h = SIDE,
                                    .w = SIDE,
                                    .o = OUTPUTS,
                                    .oh = SIDE,
                                    .ow = SIDE,
                                    .kh = WINDOW,
                                    .kw = WINDOW,
                                    .sh = 1,
                                    .sw = 1,
                                    .ph = MARGIN,
                                    .pw = MARGIN,
                                    .dh = 1,
                                    .dw = 1,
                                    .groups = 1};
    const drove_accel_device *impl = device->impl;
    const drove_accel_ops *ops = impl->ops;
    drove_accel_queue *q;
    drove_accel_conv *conv = NULL;
    drove_accel_buffer *memory;
    drove_accel_event *done;
    if (ops->conv == NULL) return false;
    assert_int_equal(ops->queue_create(impl->accel, &q), DROVE_OK);
    if (in_bf16) ops->multiply_in_bf16(q);
    assert_int_equal(ops->alloc(impl->accel, N_X + N_W + N_Y, &memory), DROVE_OK);
    const drove_accel_view at_x = {memory, 0}, at_w = {memory, N_X}, at_y = {memory, N_X + N_W};
    assert_int_equal(ops->conv->create(q, &k, ROWS, &conv), DROVE_OK);
    bool can = conv != NULL && ops->conv->can(conv, part, ROWS);
    if (can) {
        assert_int_equal(ops->write(q, at_x, x, N_X), DROVE_OK);
        assert_int_equal(ops->write(q, at_w, w, N_W), DROVE_OK);
        assert_int_equal(ops->write(q, at_y, y, N_Y), DROVE_OK);
        assert_int_equal(ops->conv->run(conv, part, ROWS, at_x, at_w, at_y, false), DROVE_OK);
        assert_int_equal(ops->read(q, x, at_x, N_X), DROVE_OK);
        assert_int_equal(ops->read(q, w, at_w, N_W), DROVE_OK);
        assert_int_equal(ops->read(q, y, at_y, N_Y), DROVE_OK);
        assert_int_equal(ops->record(q, &done), DROVE_OK);
        assert_int_equal(ops->wait(done, UINT64_MAX), DROVE_OK);
        ops->event_destroy(done);
    }
    if (conv != NULL) ops->conv->destroy(conv);
    ops->free(impl->accel, memory);
    ops->queue_destroy(q);
    return can;
}

TEST(convolutions_follow_the_definition)
{
    if (rounding == NULL) skip();
    float *x = random_floats(N_X, 1), *w = random_floats(N_W, 2), *y = random_floats(N_Y, 3);
    bool is_stand_in = getenv("DROVE_TEST_STAND_IN") != NULL;
    bool can = convolve(rounding, false, DROVE_ACCEL_CONV_FORWARD, x, w, y);
    assert_true(can || !is_stand_in);
    double far = can ? distance_of_outputs(x, w, y, to_tf32) : 0.0;
    double from_floats = can ? distance_of_outputs(x, w, y, as_it_is) : 0.0;
    print_message("convolution: %g from that of rounded factors, %g from that of floats\n", far,
                  from_floats);
    if (!(far <= PRODUCT_BOUND)) fail_msg("%g from that of rounded factors", far);
    /* the real library may have chosen an algorithm of floats */
    if (is_stand_in && !(from_floats >= ROUNDING_LEAST))
        fail_msg("%g from that of floats: nobody rounds", from_floats);
    drove__free(x);
    drove__free(w);
    drove__free(y);
}

/* In bf16 numbers in memory stay as they are, and each part is that of rounded factors: bit by bit
 * what it gives where they have been rounded before. */
TEST(convolutions_round_to_bf16)
{
    static const size_t n[3] = {N_X, N_W, N_Y}, written[] = {2, 0, 1};
    if (plain == NULL) skip();
    for (unsigned part = 0; part < DROVE_ACCEL_CONV_PARTS; part++) {
        float *exact[3], *rounded[3];
        for (size_t k = 0; k < 3; k++) {
            exact[k] = random_floats(n[k], k);
            rounded[k] = random_floats(n[k], k);
            for (size_t i = 0; i < n[k]; i++) rounded[k][i] = drovek_bf16(exact[k][i]);
        }
        float *before = random_floats(n[(written[part] + 1) % 3], (written[part] + 1) % 3);
        bool can = convolve(plain, true, (drove_accel_conv_part)part, exact[0], exact[1], exact[2]);
        assert_true(can || getenv("DROVE_TEST_STAND_IN") == NULL);
        assert_int_equal(convolve(plain, true, (drove_accel_conv_part)part, rounded[0], rounded[1],
                                  rounded[2]),
                         can);
        const size_t k = written[part], other = (k + 1) % 3;
        if (can) assert_memory_equal(exact[k], rounded[k], n[k] * sizeof(float));
        assert_memory_equal(exact[other], before, n[other] * sizeof(float));
        if (can && part == DROVE_ACCEL_CONV_FORWARD) {
            double far = distance_of_outputs(exact[0], exact[1], exact[2], to_bf16);
            if (!(far <= 1e-6)) fail_msg("%g from the convolution of rounded factors", far);
        }
        drove__free(before);
        for (size_t i = 0; i < 3; i++) {
            drove__free(exact[i]);
            drove__free(rounded[i]);
        }
    }
}

/* ---- whole passes ---- */

static double gradient_distance(const images *p)
{
    double off = 0.0, all = 0.0;
    for (size_t i = 0; i < p->model->n_params; i++) {
        double d = (double)p->grad[0][i] - (double)p->grad[1][i];
        off += d * d;
        all += (double)p->grad[0][i] * (double)p->grad[0][i];
    }
    return sqrt(off / all);
}

enum { N_IMAGES = 4 };

static void assert_near(double found, const char *what)
{
    if (!(found <= GRADIENT_BOUND)) fail_msg("%s: %g from the host's floats", what, found);
    if (!(found >= GRADIENT_LEAST)) fail_msg("%s: %g from the host's floats: exact", what, found);
}

/* Convolutions by the library where it has them, else by columns and products. */
TEST(networks_of_images_are_near_the_host)
{
    static const char *const names[] = {"lenet", "strides", "residual"};
    if (rounding == NULL) skip();
    for (size_t i = 0; i < DROVE_COUNT(names); i++) {
        images p;
        drove_score score[2];
        images_setup(&p, images_find(names[i]), rounding, N_IMAGES);
        images_choose(&p, 0, N_IMAGES, 100);
        images_gradients(&p, score);
        assert_near(gradient_distance(&p), names[i]);
        assert_true(fabs(score[0].loss - score[1].loss) <= 1e-3 * fabs(score[0].loss));
        images_teardown(&p);
    }
}

/* bf16 of the model goes before TF32 of the device: the same bits with both. */
TEST(bf16_goes_before)
{
    static const product p = {64, 128, 100, false, false, true};
    if (rounding == NULL) skip();
    float *a = random_floats(p.m * p.k, 1), *b = random_floats(p.k * p.n, 2);
    float *c[2] = {random_floats(p.m * p.n, 3), random_floats(p.m * p.n, 4)};
    by_device(rounding, &p, a, b, c[0]);
    by_device(plain, &p, a, b, c[1]);
    assert_memory_equal(c[0], c[1], p.m * p.n * sizeof **c);
    double from_tf32 = distance(&p, a, b, c[0], true);
    if (!(from_tf32 >= 5e-4)) fail_msg("%g from TF32: not in bf16", from_tf32);
    for (size_t d = 0; d < 2; d++) drove__free(c[d]);
    drove__free(a);
    drove__free(b);
}

/* ---- refusals ---- */

static void assert_refuses(const char *text, drove_status expected, const char *words)
{
    drove_spec spec;
    drove_device *device = NULL;
    assert_int_equal(drove__spec_parse(text, &spec), DROVE_OK);
    assert_int_equal(drove__device_open(&spec, &device), expected);
    assert_null(device);
    drove__spec_fini(&spec);
    if (strstr(drove_error_text(), words) == NULL)
        fail_msg("\"%s\" not in: %s", words, drove_error_text());
}

TEST(what_cannot_is_refused)
{
    if (rounding == NULL) skip();
    assert_refuses("cuda:0?tf32=perhaps", DROVE_E_ARG, "cuda?tf32");
    if (getenv("DROVE_TEST_STAND_IN") == NULL) return;
    setenv("DROVE_STAND_IN_CAPABILITY", "7.5", 1);
    assert_refuses("cuda:0?tf32=yes", DROVE_E_UNSUPPORTED,
                   "cuda:0 (stand-in for a GPU): tf32=yes: expected compute capability 8.0 or "
                   "later, found 7.5");
    unsetenv("DROVE_STAND_IN_CAPABILITY");
}
