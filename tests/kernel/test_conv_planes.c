/* Convolutions of integers kept as bytes against the plain loops on the same numbers as floats,
 * which are exact here: no difference at all. */
#include "conv_support.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static size_t n_rows; /* images */

/* n integers within +-most, as floats and as planes. */
typedef struct array {
    float *x;
    drovek_planes planes;
} array;

static array integers(size_t n, int most, bool is_wide, uint64_t seed, float unit)
{
    array a = {guarded_floats(NULL, n, PLACE_END), {.unit = unit}};
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, n);
    a.planes.high = guarded(n + DROVEK_PLANES_SLACK, 1, PLACE_END);
    if (is_wide) a.planes.low = guarded(n + DROVEK_PLANES_SLACK, 1, PLACE_END);
    for (size_t i = 0; i < n; i++) {
        const int q = (int)drove__rng_below(&rng, 2 * (uint64_t)most + 1) - most;
        a.x[i] = (float)q * unit;
        a.planes.high[i] = (uint8_t)(is_wide ? q >> 8 : q);
        if (is_wide) a.planes.low[i] = (uint8_t)(q & 255);
    }
    return a;
}

/* The images of a in [c][h][w]. */
static array turned(const array *a, const drovek_conv_shape *s)
{
    const size_t n = n_rows * conv_n_in(s), n_places = s->h * s->w;
    array out = integers(n, 1, a->planes.low != NULL, 0, a->planes.unit);
    for (size_t i = 0; i < n; i++) {
        const size_t image = i / conv_n_in(s) * conv_n_in(s), at = i % conv_n_in(s);
        const size_t to = image + at % s->c * n_places + at / s->c;
        out.planes.high[to] = a->planes.high[i];
        if (out.planes.low != NULL) out.planes.low[to] = a->planes.low[i];
    }
    return out;
}

typedef struct numbers {
    array x, w, dy;
    float *b, *dx;
} numbers;

static drovek_conv *make(const drovek_conv_shape *s, const drovek_table *t, const char *way,
                         drovek_format in, bool wants_data)
{
    drovek_conv *conv;
    const drovek_conv_options opt = {.shape = *s,
                                     .act = DROVEK_RELU,
                                     .rows = n_rows,
                                     .max_rows = n_rows,
                                     .passes = DROVEK_CONV_FORWARD | DROVEK_CONV_WEIGHTS |
                                               (wants_data ? DROVEK_CONV_DATA : 0),
                                     .in = in,
                                     .out = DROVEK_NHWC,
                                     .way = way,
                                     .kernels = t};
    assert_int_equal(drovek_conv_create(&opt, &conv), DROVE_OK);
    return conv;
}

static conv_results compute(const drovek_conv_shape *s, const numbers *n, drovek_conv *conv,
                            bool wants_data, bool adds)
{
    conv_results r = {.y = guarded_floats(NULL, n_rows * conv_n_out(s), PLACE_END),
                      .dx = guarded_floats(n->dx, n_rows * conv_n_in(s), PLACE_END),
                      .dw = guarded_floats(NULL, conv_n_weights(s), PLACE_END)};
    drovek_conv_forward(conv, n->x.x, n->w.x, n->b, r.y, n_rows);
    if (wants_data) drovek_conv_data(conv, n->dy.x, n->w.x, r.dx, n_rows, adds);
    drovek_conv_weights(conv, n->x.x, n->dy.x, r.dw, n_rows);
    return r;
}

/* Channels of w and dy get units of their own, whose products are one. */
static void split_channels(const drovek_conv_shape *s, numbers *n)
{
    float *by = guarded_floats(NULL, s->o, PLACE_END);
    float *inverse = guarded_floats(NULL, s->o, PLACE_END);
    const size_t og = s->o / s->groups, n_w = conv_n_weights(s), of_group = n_w / s->groups;
    for (size_t c = 0; c < s->o; c++) {
        by[c] = c % 3 == 0 ? 1.0f : c % 3 == 1 ? 0.25f : 0.5f;
        inverse[c] = 1.0f / by[c];
    }
    for (size_t i = 0; i < n_w; i++) n->w.x[i] *= by[i / of_group * og + i % og];
    for (size_t i = 0; i < n_rows * conv_n_out(s); i++) n->dy.x[i] *= inverse[i % s->o];
    n->w.planes.by = by;
    n->dy.planes.by = inverse;
}

/* Whether each derivative at the input is one sum: windows move by 1, and none is all padding; and
 * where products are dear, not too many are with the zeros round the images. */
static bool turns_round(const drovek_table *t, const drovek_conv_shape *s)
{
    const drovek_window *w = &s->window;
    const bool wastes = (double)(s->h * s->w) > 1.25 * (double)(s->oh * s->ow);
    if (t->planes->cost.spares_products && wastes) return false;
    return w->sh == 1 && w->sw == 1 && w->ph <= (w->kh - 1) * w->dh && w->pw <= (w->kw - 1) * w->dw;
}

static void check_shape(const drovek_table *t, const drovek_conv_shape *s, bool is_wide, bool adds,
                        bool is_input, bool by_channel)
{
    numbers n = {integers(n_rows * conv_n_in(s), is_wide ? 300 : 60, is_wide, 1, 0.5f),
                 integers(conv_n_weights(s), is_wide ? 129 : 9, is_wide, 2, 0.25f),
                 integers(n_rows * conv_n_out(s), 11, is_wide, 3, 4.0f),
                 integers(s->o, 100, true, 4, 0.125f).x,
                 integers(n_rows * conv_n_in(s), 100, true, 5, 1.0f).x};
    const array images = is_input ? turned(&n.x, s) : n.x;
    if (by_channel) split_channels(s, &n);
    drovek_conv *plain = make(s, &drovek_ref, "ref", DROVEK_NHWC, !is_input);
    const conv_results wanted = compute(s, &n, plain, !is_input, adds);
    drovek_conv *conv = make(s, t, NULL, is_input ? DROVEK_NCHW : DROVEK_NHWC, !is_input);
    assert_true(drovek_conv_takes_planes(conv) && !drovek_conv_takes_planes(plain));
    drovek_conv_take(conv, &images.planes, &n.w.planes, &n.dy.planes);
    n.x.x = n.w.x = n.dy.x = NULL; /* not to be read */
    const conv_results got = compute(s, &n, conv, !is_input, adds);
    assert_same_bits(conv_name(s), "y", n_rows * conv_n_out(s), got.y, wanted.y);
    assert_same_bits(conv_name(s), "dx", n_rows * conv_n_in(s), got.dx, wanted.dx);
    assert_same_bits(conv_name(s), "dw", conv_n_weights(s), got.dw, wanted.dw);
    assert_int_equal(drovek_conv_largest(conv),
                     drovek_ref.largest_f32(got.y, n_rows * conv_n_out(s)));
    const uint32_t of_dx = drovek_ref.largest_f32(got.dx, n_rows * conv_n_in(s));
    if (!is_input)
        assert_int_equal(drovek_conv_largest_dx(conv), turns_round(t, s) ? of_dx : UINT32_MAX);
    drovek_conv_destroy(conv);
    drovek_conv_destroy(plain);
    guarded_free_all();
}

static void check_tier(const drovek_table *tier)
{
    if (tier->integers == NULL) return;
    for (unsigned variant = 0; variant < 16; variant++) {
        const bool is_wide = variant & 1, adds = variant & 2, is_input = variant & 4;
        drovek_table t = drovek_narrow(tier, DROVEK_FACTORS_I8);
        t.planes = tier->integers; /* of 16 bits as well where floats are faster */
        for (const drovek_conv_shape *s = conv_shapes(); s->c > 0; s++)
            check_shape(&t, s, is_wide, adds, is_input, variant & 8);
    }
}

static void test_every_shape(void **state)
{
    (void)state;
    n_rows = 3;
    for_each_tier(check_tier);
}

/* ---- images in place ---- */

static const drovek_planes_ops *own;
static size_t n_lines_calls, n_places_calls;

static void count_lines(const drovek_strips *b, size_t first, size_t n_lines, size_t m,
                        const drovek_planes *a, size_t lda, bool adds, float *c, size_t ldc,
                        drovek_planes_end *end)
{
    n_lines_calls++;
    own->lines(b, first, n_lines, m, a, lda, adds, c, ldc, end);
}

static void count_places(size_t m, size_t n, size_t n_places, const drovek_planes *a,
                         const uint32_t *row, const drovek_planes *b, const uint32_t *tile,
                         bool adds, float *c, size_t ldc)
{
    n_places_calls++;
    own->places(m, n, n_places, a, row, b, tile, adds, c, ldc);
}

/* Shapes of which some passes, at least, take images in place: two blocks of 64, the last strip
 * and the last block not full. */
static void check_in_place(const drovek_table *tier)
{
    const drovek_conv_shape shapes[] = {conv_shape(20, 12, 12, 50, 1, square(5, 1, 0, 1)),
                                        conv_shape(6, 7, 6, 20, 1, square(3, 1, 1, 1)),
                                        conv_shape(9, 5, 8, 16, 1, square(3, 1, 2, 1)),
                                        conv_shape(16, 9, 9, 8, 1, square(3, 2, 0, 1)),
                                        conv_shape(1, 14, 14, 20, 1, square(5, 1, 0, 1)),
                                        conv_shape(16, 2, 3, 2048, 1, square(1, 1, 0, 1)),
                                        conv_shape(12, 6, 7, 10, 1,
                                                   (drovek_window){2, 3, 1, 1, 1, 0, 1, 1})};
    if (tier->integers == NULL) return;
    n_rows = 100;
    for (unsigned variant = 0; variant < 8 * DROVE_COUNT(shapes); variant++) {
        if (variant % 8 == 7 || (variant / 8 > 0 && variant % 3 > 0)) continue;
        drovek_table t = drovek_narrow(tier, DROVEK_FACTORS_I8);
        drovek_planes_ops counting = *tier->integers;
        own = tier->integers;
        if (own->lines != NULL) counting.lines = count_lines, counting.places = count_places;
        t.planes = &counting;
        n_lines_calls = n_places_calls = 0;
        check_shape(&t, &shapes[variant / 8], variant & 1, variant & 2, false, variant & 4);
        if (own->lines == NULL || variant / 8 > 0) continue;
        assert_int_equal(n_places_calls, 2 * 5); /* two blocks of images, five lines of windows */
        assert_int_equal(n_lines_calls, 2 * (8 + 12)); /* forward and back */
    }
}

static void test_in_place(void **state)
{
    (void)state;
    for_each_tier(check_in_place);
}

/* ---- max pooling in the passes of a convolution ---- */

/* Windows of kh x kw that cover y once, or not. */
typedef struct pooled_case {
    drovek_conv_shape s;
    size_t kh, kw, sh, sw;
    bool takes_derivatives; /* with products of packed factors */
} pooled_case;

static drovek_pool pool_of(const pooled_case *f)
{
    return (drovek_pool){.c = f->s.o,
                         .h = f->s.oh,
                         .w = f->s.ow,
                         .oh = (f->s.oh - f->kh) / f->sh + 1,
                         .ow = (f->s.ow - f->kw) / f->sw + 1,
                         .kh = f->kh,
                         .kw = f->kw,
                         .sh = f->sh,
                         .sw = f->sw};
}

/* The derivatives at the places of the maxima, and zeros: of the convolution's output. */
static array spread_back(const drovek_pool *p, const array *pooled, const uint8_t *which)
{
    array out = integers(n_rows * p->h * p->w * p->c, 1, pooled->planes.low != NULL, 7, 1.0f);
    const size_t n = n_rows * p->h * p->w * p->c;
    memset(out.x, 0, n * sizeof *out.x);
    for (size_t i = 0; i < n_rows * p->oh * p->ow * p->c; i++) {
        const size_t at = i / p->c, c = i % p->c, image = at / (p->oh * p->ow);
        const size_t y = at / p->ow % p->oh * p->sh + which[i] / p->kw;
        const size_t x = at % p->ow * p->sw + which[i] % p->kw;
        out.x[((image * p->h + y) * p->w + x) * p->c + c] = pooled->x[i];
    }
    return out;
}

static drovek_conv *make_pooled(const pooled_case *f, const drovek_table *t, const char *way)
{
    const drovek_conv_options opt = {.shape = f->s,
                                     .act = DROVEK_LINEAR,
                                     .rows = n_rows,
                                     .max_rows = n_rows,
                                     .passes = DROVEK_CONV_FORWARD | DROVEK_CONV_WEIGHTS,
                                     .in = DROVEK_NHWC,
                                     .out = DROVEK_NHWC,
                                     .way = way,
                                     .kernels = t};
    drovek_conv *conv;
    assert_int_equal(drovek_conv_create(&opt, &conv), DROVE_OK);
    return conv;
}

/* Pooled outputs, places and the gradient of the weights against the plain loops, max_pool_f32 of
 * plain C, and derivatives spread out above. */
static void check_pooled(const drovek_table *t, const pooled_case *f, bool is_wide)
{
    const drovek_conv_shape *s = &f->s;
    const drovek_pool p = pool_of(f);
    const size_t n_y = n_rows * conv_n_out(s), n_pooled = n_rows * p.oh * p.ow * p.c;
    const array x = integers(n_rows * conv_n_in(s), is_wide ? 300 : 60, is_wide, 1, 0.5f),
                w = integers(conv_n_weights(s), is_wide ? 129 : 9, is_wide, 2, 0.25f),
                dy = integers(n_pooled, 11, is_wide, 3, 4.0f);
    const float *b = integers(s->o, 100, true, 4, 0.125f).x;
    float *y = guarded_floats(NULL, n_y, PLACE_END),
          *scratch = guarded_floats(NULL, n_y, PLACE_END);
    float *wanted = guarded_floats(NULL, n_pooled, PLACE_END);
    float *got = guarded_floats(NULL, n_pooled, PLACE_END);
    float *dw[2] = {guarded_floats(NULL, conv_n_weights(s), PLACE_END),
                    guarded_floats(NULL, conv_n_weights(s), PLACE_END)};
    uint8_t *where[2] = {guarded(n_pooled, 1, PLACE_END),
                         guarded(n_pooled + DROVEK_PLANES_SLACK, 1, PLACE_END)};
    drovek_conv *plain = make_pooled(f, &drovek_ref, "ref"), *conv = make_pooled(f, t, "planes");
    drovek_conv_forward(plain, x.x, w.x, b, y, n_rows);
    drovek_ref.max_pool_f32(&p, y, wanted, where[0], n_rows);
    drovek_conv_take(conv, &x.planes, &w.planes, NULL);
    assert_true(drovek_conv_can_pool(conv));
    drovek_conv_pool(conv, &p, got, where[1]);
    drovek_conv_forward(conv, NULL, NULL, b, scratch, n_rows);
    assert_same_bits(conv_name(s), "pooled", n_pooled, got, wanted);
    assert_memory_equal(where[1], where[0], n_pooled);
    assert_int_equal(drovek_conv_largest(conv), drovek_ref.largest_f32(y, n_y));
    const bool can = drovek_conv_can_take_pooled(conv, &p);
    assert_int_equal(can, f->takes_derivatives && t->planes->places != NULL);
    if (can) {
        const array spread = spread_back(&p, &dy, where[0]);
        drovek_conv_weights(plain, x.x, spread.x, dw[0], n_rows);
        drovek_conv_take_pooled(conv, &p, &dy.planes, where[1]);
        drovek_conv_weights(conv, NULL, NULL, dw[1], n_rows);
        assert_same_bits(conv_name(s), "dw", conv_n_weights(s), dw[1], dw[0]);
    }
    drovek_conv_destroy(conv);
    drovek_conv_destroy(plain);
    guarded_free_all();
}

static void check_pooled_of_tier(const drovek_table *tier)
{
    const pooled_case cases[] = {
        {conv_shape(1, 12, 12, 16, 1, square(5, 1, 0, 1)), 2, 2, 2, 2, true},
        {conv_shape(1, 16, 16, 20, 1, square(5, 1, 0, 1)), 4, 3, 4, 3, true},
        {conv_shape(1, 16, 16, 20, 1, square(5, 1, 0, 1)), 3, 4, 3, 4, false}, /* half a strip */
        {conv_shape(1, 12, 14, 16, 1, square(5, 1, 0, 1)), 4, 2, 4, 2, true},
        {conv_shape(1, 12, 13, 16, 1, square(5, 1, 0, 1)), 2, 2, 2, 2, false}, /* a column left */
        {conv_shape(1, 13, 12, 16, 1, square(5, 1, 0, 1)), 2, 2, 2, 2, false}, /* a line left */
        {conv_shape(1, 12, 12, 16, 1, square(5, 1, 0, 1)), 2, 2, 3, 3, false}, /* gaps */
        {conv_shape(20, 12, 12, 50, 1, square(5, 1, 0, 1)), 2, 2, 2, 2, false}};
    static const size_t images[] = {50, 64, 100};
    if (tier->integers == NULL) return;
    for (unsigned variant = 0; variant < 2 * DROVE_COUNT(cases); variant++) {
        drovek_table t = drovek_narrow(tier, DROVEK_FACTORS_I8);
        t.planes = tier->integers;
        for (size_t i = 0; i < DROVE_COUNT(images); i++) {
            n_rows = images[i];
            check_pooled(&t, &cases[variant / 2], variant & 1);
        }
    }
}

static void test_pooled(void **state)
{
    (void)state;
    for_each_tier(check_pooled_of_tier);
}

/* Other tables have no such way. */
static void test_only_with_planes(void **state)
{
    const drovek_conv_shape s = conv_shape(3, 8, 8, 4, 1, square(3, 1, 0, 1));
    drovek_conv *conv;
    const drovek_conv_options opt = {.shape = s,
                                     .rows = 1,
                                     .max_rows = 1,
                                     .passes = DROVEK_CONV_FORWARD,
                                     .in = DROVEK_NHWC,
                                     .out = DROVEK_NHWC,
                                     .way = "planes",
                                     .kernels = &drovek_ref};
    (void)state;
    assert_int_equal(drovek_conv_create(&opt, &conv), DROVE_E_UNSUPPORTED);
    assert_null(conv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_shape),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_pooled),
        cmocka_unit_test(test_only_with_planes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
