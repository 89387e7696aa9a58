/* Convolutions: the plain loops against a formula of their own in double arithmetic, every other
 * way and format against the plain loops, on every tier; the same bits from many threads. */
#include "conv_support.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const drovek_format in_formats[] = {DROVEK_NCHW, DROVEK_NHWC, DROVEK_NCHW8, DROVEK_NCHW16};
static const drovek_format out_formats[] = {DROVEK_NHWC, DROVEK_NCHW8, DROVEK_NCHW16};

/* ---- the definition ---- */

/* Sums one product for every pair of an output element and an element of its window, the output
 * being described as the header does: y[p][o] uses x[p * stride - pad + q * dilation]. */
static void by_formula(const conv_case *c, const conv_inputs *in, double *y, double *dx, double *dw)
{
    const drovek_conv_shape *s = c->shape;
    const drovek_window *win = &s->window;
    const long cg = (long)(s->c / s->groups), og = (long)(s->o / s->groups);
    for (long i = 0; i < (long)c->n_rows; i++) {
        for (long at = 0; at < (long)(s->oh * s->ow * s->o); at++) {
            long o = at % (long)s->o, p = at / (long)s->o, g = o / og;
            size_t to = (size_t)(i * (long)conv_n_out(s) + at);
            double dy = in->dy[to];
            y[to] = in->b[o];
            for (long q = 0; q < (long)(win->kh * win->kw) * cg; q++) {
                long ch = q % cg, kx = q / cg % (long)win->kw, ky = q / cg / (long)win->kw;
                long row = p / (long)s->ow * (long)win->sh - (long)win->ph + ky * (long)win->dh;
                long col = p % (long)s->ow * (long)win->sw - (long)win->pw + kx * (long)win->dw;
                if (row < 0 || col < 0 || row >= (long)s->h || col >= (long)s->w) continue;
                long from = ((i * (long)s->h + row) * (long)s->w + col) * (long)s->c + g * cg + ch;
                long weight = ((g * (long)(win->kh * win->kw) * cg) + q) * og + o % og;
                y[to] += (double)in->x[from] * in->w[weight];
                dx[from] += dy * in->w[weight];
                dw[weight] += dy * in->x[from];
            }
            if (c->act == DROVEK_RELU && y[to] < 0.0) y[to] = 0.0;
        }
    }
}

static float *narrow(const double *x, size_t n)
{
    float *out = guarded_floats(NULL, n, PLACE_TURN);
    for (size_t i = 0; i < n; i++) out[i] = (float)x[i];
    return out;
}

static void check_formula(const conv_case *c)
{
    const drovek_conv_shape *s = c->shape;
    const size_t n_y = c->n_rows * conv_n_out(s), n_x = c->n_rows * conv_n_in(s);
    const size_t n_w = conv_n_weights(s);
    double *y = calloc(n_y, sizeof *y), *dx = calloc(n_x, sizeof *dx), *dw = calloc(n_w, sizeof *y);
    conv_inputs in = conv_inputs_of(c);
    conv_results got;
    assert_true(y != NULL && dx != NULL && dw != NULL);
    for (size_t i = 0; c->adds && i < n_x; i++) dx[i] = in.dx[i];
    by_formula(c, &in, y, dx, dw);
    conv_results wanted = {narrow(y, n_y), narrow(dx, n_x), narrow(dw, n_w)};
    assert_true(conv_compute(c, &got));
    conv_compare(c, &got, &wanted);
    free(y);
    free(dx);
    free(dw);
    guarded_free_all();
}

TEST(test_definition)
{
    for (const drovek_conv_shape *s = conv_shapes(); s->c > 0; s++) {
        conv_case c = {.shape = s,
                       .act = DROVEK_RELU,
                       .rows = 2,
                       .n_rows = 2,
                       .tier = &drovek_ref,
                       .way = "ref",
                       .in = DROVEK_NHWC,
                       .out = DROVEK_NHWC};
        check_formula(&c);
        c.adds = true;
        c.act = DROVEK_LINEAR;
        c.n_rows = 1;
        check_formula(&c);
    }
}

/* ---- ways and formats ---- */

enum { MOST_PRODUCTS = 5000000, OF_SEVERAL = 1500000 }; /* of one pass: the plain loops are slow */

static size_t n_compared; /* of one way: a test that skips everything is none */

static float *kept(const float *x, size_t n)
{
    float *copy = malloc(n * sizeof *copy);
    assert_non_null(copy);
    return memcpy(copy, x, n * sizeof *copy);
}

/* What the plain loops give, which every tier, way and format is compared with: computed once. */
static const conv_results *plain_of(const conv_case *c)
{
    static struct {
        conv_case c;
        conv_results r;
    } known[256];
    static size_t n_known;
    const drovek_conv_shape *s = c->shape;
    for (size_t i = 0; i < n_known; i++) {
        const conv_case *k = &known[i].c;
        if (k->shape == s && k->act == c->act && k->rows == c->rows && k->n_rows == c->n_rows &&
            k->adds == c->adds)
            return &known[i].r;
    }
    conv_case plain = *c;
    conv_results r;
    plain.tier = &drovek_ref;
    plain.way = "ref";
    plain.in = plain.out = DROVEK_NHWC;
    assert_true(n_known < DROVE_COUNT(known));
    assert_true(conv_compute(&plain, &r));
    known[n_known].c = plain;
    known[n_known].r = (conv_results){.y = kept(r.y, c->n_rows * conv_n_out(s)),
                                      .dx = kept(r.dx, c->n_rows * conv_n_in(s)),
                                      .dw = kept(r.dw, conv_n_weights(s))};
    return &known[n_known++].r;
}

static void check_case(conv_case c)
{
    conv_results got;
    if (!conv_compute(&c, &got)) return;
    conv_compare(&c, &got, plain_of(&c));
    n_compared++;
    guarded_free_all();
}

/* Numbers of images as a call may have them, beside what the convolution was made for. */
static void check_formats(const drovek_table *tier, const char *way, const drovek_conv_shape *s)
{
    static const size_t rows[][2] = {{3, 3}, {2, 5}, {4, 1}, {16, 19}};
    static const drovek_act acts[] = {DROVEK_RELU, DROVEK_TANH, DROVEK_LINEAR, DROVEK_SIGMOID};
    for (size_t i = 0; i < DROVE_COUNT(in_formats); i++) {
        for (size_t o = 0; o < DROVE_COUNT(out_formats); o++) {
            for (size_t r = 0; r < DROVE_COUNT(rows); r++) {
                size_t most = rows[r][1] > 1 ? OF_SEVERAL : MOST_PRODUCTS;
                if (rows[r][1] * conv_n_out(s) * conv_n_weights(s) / s->o > most) continue;
                check_case((conv_case){.shape = s,
                                       .act = acts[r],
                                       .rows = rows[r][0],
                                       .n_rows = rows[r][1],
                                       .adds = r % 2 == 1,
                                       .tier = tier,
                                       .way = way,
                                       .in = in_formats[i],
                                       .out = out_formats[o]});
            }
        }
    }
}

static void check_way(const drovek_table *tier, const char *way)
{
    n_compared = 0;
    for (const drovek_conv_shape *s = conv_shapes(); s->c > 0; s++) check_formats(tier, way, s);
    print_message("%s, %s: %zu cases\n", tier->isa, way, n_compared);
}

static void check_plain(const drovek_table *tier)
{
    if (strcmp(tier->isa, "ref") != 0) return;
    check_way(tier, "ref");
    assert_true(n_compared > 100);
}

static void check_gemm(const drovek_table *tier)
{
    check_way(tier, "gemm");
    assert_true(n_compared > 100);
}

static void check_windows(const drovek_table *tier)
{
    check_way(tier, "windows");
    assert_true(n_compared > 50);
    check_way(tier, "taps");
    assert_true(n_compared >= 16);
}

static void check_depthwise(const drovek_table *tier)
{
    check_way(tier, "depthwise");
    assert_true(n_compared >= 40);
}

static void check_widest(const char *way)
{
    drovek_table t;
    assert_int_equal(drovek_select(&t, drove__cpu_features(), NULL), DROVE_OK);
    check_way(&t, way);
}

TEST(test_ref)
{
    for_each_tier(check_plain);
}

TEST(test_gemm_of_the_widest)
{
    check_widest("gemm");
}

TEST(test_onednn)
{
    drovek_table t;
    assert_int_equal(drovek_select(&t, drove__cpu_features(), NULL), DROVE_OK);
    if (strstr(t.gemm_source, "oneDNN") == NULL) {
        print_message("skipped: this build has no oneDNN\n");
        skip();
    }
    check_widest("onednn");
    assert_true(n_compared > 50);
}

TEST(test_gemm)
{
    for_each_tier(check_gemm);
}

TEST(test_windows)
{
    for_each_tier(check_windows);
}

TEST(test_depthwise)
{
    for_each_tier(check_depthwise);
}

/* --isa ref bypasses the library. */
TEST(test_ref_has_no_library)
{
    drovek_conv_shape s = conv_shape(16, 6, 6, 16, 1, square(3, 1, 1, 1));
    conv_case c = {.shape = &s,
                   .rows = 1,
                   .n_rows = 1,
                   .tier = &drovek_ref,
                   .way = "onednn",
                   .in = DROVEK_NHWC,
                   .out = DROVEK_NHWC};
    conv_results unused;
    assert_false(conv_compute(&c, &unused));
    c.way = "quick";
    assert_false(conv_compute(&c, &unused));
}

/* ---- no images ---- */

TEST(test_no_images)
{
    drovek_conv_shape s = conv_shape(3, 6, 6, 16, 1, square(3, 1, 1, 1));
    drovek_conv_options opt = {.shape = s,
                               .rows = 2,
                               .max_rows = 4,
                               .passes =
                                   DROVEK_CONV_FORWARD | DROVEK_CONV_DATA | DROVEK_CONV_WEIGHTS,
                               .in = DROVEK_NHWC,
                               .out = DROVEK_NHWC,
                               .way = "gemm",
                               .kernels = &drovek_ref};
    drovek_conv *conv;
    float dw[3 * 9 * 16];
    memset(dw, 0xff, sizeof dw);
    assert_int_equal(drovek_conv_create(&opt, &conv), DROVE_OK);
    drovek_conv_forward(conv, NULL, NULL, NULL, NULL, 0);
    drovek_conv_data(conv, NULL, NULL, NULL, 0, false);
    drovek_conv_weights(conv, NULL, NULL, dw, 0);
    for (size_t i = 0; i < DROVE_COUNT(dw); i++) assert_true(dw[i] == 0.0f);
    drovek_conv_destroy(conv);
    drovek_conv_destroy(NULL);
}

/* ---- the same bits from every thread ---- */

enum { N_THREADS = 4, N_REPEATS = 3 };

typedef struct run {
    conv_case c;
    float *y, *dx, *dw, *x, *w, *b, *dy;
} run;

/* Several times, as the threads then meet at different places. */
static void *compute_run(void *argument)
{
    run *r = argument;
    drovek_conv_options opt = {.shape = *r->c.shape,
                               .act = DROVEK_RELU,
                               .rows = r->c.rows,
                               .max_rows = r->c.n_rows,
                               .passes =
                                   DROVEK_CONV_FORWARD | DROVEK_CONV_DATA | DROVEK_CONV_WEIGHTS,
                               .in = r->c.in,
                               .out = r->c.out,
                               .way = r->c.way,
                               .kernels = r->c.tier};
    drovek_conv *conv;
    drovek_thread_init();
    if (drovek_conv_create(&opt, &conv) != DROVE_OK) return r;
    for (size_t i = 0; i < N_REPEATS; i++) {
        drovek_conv_forward(conv, r->x, r->w, r->b, r->y, r->c.n_rows);
        drovek_conv_data(conv, r->dy, r->w, r->dx, r->c.n_rows, false);
        drovek_conv_weights(conv, r->x, r->dy, r->dw, r->c.n_rows);
    }
    drovek_conv_destroy(conv);
    return NULL;
}

static run make_run(const conv_case *c)
{
    conv_inputs in = conv_inputs_of(c);
    run r = {.c = *c, .x = in.x, .w = in.w, .b = in.b, .dy = in.dy};
    r.y = guarded_floats(NULL, c->n_rows * conv_n_out(c->shape), PLACE_TURN);
    r.dx = guarded_floats(NULL, c->n_rows * conv_n_in(c->shape), PLACE_TURN);
    r.dw = guarded_floats(NULL, conv_n_weights(c->shape), PLACE_TURN);
    return r;
}

static void check_threads(const conv_case *c)
{
    run alone = make_run(c), together[N_THREADS];
    pthread_t thread[N_THREADS];
    void *failed;
    if (compute_run(&alone) != NULL) return;
    for (size_t i = 0; i < N_THREADS; i++) {
        together[i] = make_run(c);
        assert_int_equal(pthread_create(&thread[i], NULL, compute_run, &together[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        pthread_join(thread[i], &failed);
        assert_null(failed);
        const char *isa = c->tier->isa;
        assert_same_bits("y", isa, c->n_rows * conv_n_out(c->shape), together[i].y, alone.y);
        assert_same_bits("dx", isa, c->n_rows * conv_n_in(c->shape), together[i].dx, alone.dx);
        assert_same_bits("dw", isa, conv_n_weights(c->shape), together[i].dw, alone.dw);
    }
    n_compared++;
    guarded_free_all();
}

TEST(test_threads)
{
    static const char *const ways[] = {"ref", "gemm", "windows", "taps", "depthwise", "onednn"};
    const drovek_conv_shape shapes[] = {
        conv_shape(20, 12, 12, 50, 1, square(5, 1, 0, 1)),
        conv_shape(64, 6, 5, 48, 1, square(3, 1, 1, 1)),
        conv_shape(40, 11, 10, 40, 40, square(5, 2, 2, 1)),
    };
    drovek_table t;
    n_compared = 0;
    assert_int_equal(drovek_select(&t, drove__cpu_features(), NULL), DROVE_OK);
    for (size_t w = 0; w < DROVE_COUNT(ways); w++) {
        for (size_t s = 0; s < DROVE_COUNT(shapes); s++) {
            for (drovek_format f = DROVEK_NHWC; f <= DROVEK_NCHW16; f++) {
                if (shapes[s].c % drovek_block(f, shapes[s].c) != 0) continue;
                check_threads(&(conv_case){.shape = &shapes[s],
                                           .rows = 4,
                                           .n_rows = 9,
                                           .tier = &t,
                                           .way = ways[w],
                                           .in = f,
                                           .out = f});
            }
        }
    }
    assert_true(n_compared >= 7);
}
