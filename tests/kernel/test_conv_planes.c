/* Convolutions of integers kept as bytes against the plain loops on the same numbers as floats,
 * which are exact here: no difference at all. */
#include "conv_support.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

static size_t n_rows; /* images */

/* The tiers with products of integers.  What the plain loops give is computed once for all. */
enum { MAX_TIERS = 8 };
static drovek_table tiers[MAX_TIERS];
static size_t n_tiers;

static void add_tier(const drovek_table *tier)
{
    if (tier->integers == NULL) return;
    assert_true(n_tiers < MAX_TIERS);
    tiers[n_tiers++] = *tier;
}

FIXTURE(find_tiers)
{
    for_each_tier(add_tier);
    return 0;
}

GROUP(find_tiers, NULL);

/* A tier whose products of integers these are, also of 16 bits where floats are faster. */
static drovek_table table_of(const drovek_table *tier, const drovek_planes_ops *planes)
{
    drovek_table t = drovek_narrow(tier, DROVEK_FACTORS_I8);
    t.planes = planes;
    return t;
}

/* n integers within +-most, as floats and as planes. */
typedef struct array {
    float *x;
    drovek_planes planes;
} array;

static array integers(size_t n, int most, bool is_wide, uint64_t seed, float unit)
{
    array a = {guarded_floats(NULL, n, PLACE_TURN), {.unit = unit}};
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, n);
    a.planes.high = guarded(n + DROVEK_PLANES_SLACK, 1, PLACE_TURN);
    if (is_wide) a.planes.low = guarded(n + DROVEK_PLANES_SLACK, 1, PLACE_TURN);
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
    conv_results r = {.y = guarded_floats(NULL, n_rows * conv_n_out(s), PLACE_TURN),
                      .dx = guarded_floats(n->dx, n_rows * conv_n_in(s), PLACE_TURN),
                      .dw = guarded_floats(NULL, conv_n_weights(s), PLACE_TURN)};
    drovek_conv_forward(conv, n->x.x, n->w.x, n->b, r.y, n_rows);
    if (wants_data) drovek_conv_data(conv, n->dy.x, n->w.x, r.dx, n_rows, adds);
    drovek_conv_weights(conv, n->x.x, n->dy.x, r.dw, n_rows);
    return r;
}

/* Channels of w and dy get units of their own, whose products are one. */
static void split_channels(const drovek_conv_shape *s, numbers *n)
{
    float *by = guarded_floats(NULL, s->o, PLACE_TURN);
    float *inverse = guarded_floats(NULL, s->o, PLACE_TURN);
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

typedef struct shape_case {
    const drovek_conv_shape *s;
    bool is_wide, adds, is_input, by_channel;
    numbers n;
    array images;        /* x as the convolution under test is given it */
    conv_results wanted; /* of the plain loops */
} shape_case;

static void fill_case(shape_case *c)
{
    const drovek_conv_shape *s = c->s;
    const bool is_wide = c->is_wide;
    c->n = (numbers){integers(n_rows * conv_n_in(s), is_wide ? 300 : 60, is_wide, 1, 0.5f),
                     integers(conv_n_weights(s), is_wide ? 129 : 9, is_wide, 2, 0.25f),
                     integers(n_rows * conv_n_out(s), 11, is_wide, 3, 4.0f),
                     integers(s->o, 100, true, 4, 0.125f).x,
                     integers(n_rows * conv_n_in(s), 100, true, 5, 1.0f).x};
    c->images = c->is_input ? turned(&c->n.x, s) : c->n.x;
    if (c->by_channel) split_channels(s, &c->n);
    drovek_conv *plain = make(s, &drovek_ref, "ref", DROVEK_NHWC, !c->is_input);
    assert_false(drovek_conv_takes_planes(plain));
    c->wanted = compute(s, &c->n, plain, !c->is_input, c->adds);
    drovek_conv_destroy(plain);
    c->n.x.x = c->n.w.x = c->n.dy.x = NULL; /* not to be read */
}

static void check_case(const drovek_table *t, const shape_case *c)
{
    const drovek_conv_shape *s = c->s;
    const bool wants_data = !c->is_input;
    drovek_conv *conv = make(s, t, NULL, c->is_input ? DROVEK_NCHW : DROVEK_NHWC, wants_data);
    assert_true(drovek_conv_takes_planes(conv));
    drovek_conv_take(conv, &c->images.planes, &c->n.w.planes, &c->n.dy.planes);
    const conv_results got = compute(s, &c->n, conv, wants_data, c->adds), *wanted = &c->wanted;
    assert_same_bits(conv_name(s), "y", n_rows * conv_n_out(s), got.y, wanted->y);
    assert_same_bits(conv_name(s), "dx", n_rows * conv_n_in(s), got.dx, wanted->dx);
    assert_same_bits(conv_name(s), "dw", conv_n_weights(s), got.dw, wanted->dw);
    assert_int_equal(drovek_conv_largest(conv),
                     drovek_ref.largest_f32(got.y, n_rows * conv_n_out(s)));
    const uint32_t of_dx = drovek_ref.largest_f32(got.dx, n_rows * conv_n_in(s));
    if (wants_data)
        assert_int_equal(drovek_conv_largest_dx(conv), turns_round(t, s) ? of_dx : UINT32_MAX);
    drovek_conv_destroy(conv);
}

TEST(test_every_shape)
{
    n_rows = 3;
    for (unsigned variant = 0; variant < 16; variant++) {
        for (const drovek_conv_shape *s = conv_shapes(); s->c > 0; s++) {
            shape_case c = {.s = s,
                            .is_wide = variant & 1,
                            .adds = variant & 2,
                            .is_input = variant & 4,
                            .by_channel = variant & 8};
            fill_case(&c);
            for (size_t i = 0; i < n_tiers; i++) {
                const drovek_table t = table_of(&tiers[i], tiers[i].integers);
                check_case(&t, &c);
            }
            guarded_free_all();
        }
    }
}

/* ---- images in place ---- */

/* The first shape is counted: which passes took images in place. */
static void check_counted(const drovek_table *tier, const shape_case *c, bool is_first)
{
    drovek_planes_ops planes = *tier->integers;
    drovek_strips_ops counting;
    conv_calls calls;
    const bool has_strips = planes.strips != NULL;
    if (has_strips) {
        counting = conv_counting(planes.strips, &calls);
        planes.strips = &counting;
    }
    const drovek_table t = table_of(tier, &planes);
    check_case(&t, c);
    if (!has_strips || !is_first) return;
    assert_int_equal(calls.n_places, 2 * 5);       /* two blocks of images, five lines of windows */
    assert_int_equal(calls.n_lines, 2 * (8 + 12)); /* forward and back */
}

/* Shapes of which some passes, at least, take images in place: two blocks of 64, the last strip
 * and the last block not full. */
TEST(test_in_place)
{
    const drovek_conv_shape shapes[] = {conv_shape(20, 12, 12, 50, 1, square(5, 1, 0, 1)),
                                        conv_shape(6, 7, 6, 20, 1, square(3, 1, 1, 1)),
                                        conv_shape(9, 5, 8, 16, 1, square(3, 1, 2, 1)),
                                        conv_shape(16, 9, 9, 8, 1, square(3, 2, 0, 1)),
                                        conv_shape(1, 14, 14, 20, 1, square(5, 1, 0, 1)),
                                        conv_shape(16, 2, 3, 2048, 1, square(1, 1, 0, 1)),
                                        conv_shape(12, 6, 7, 10, 1,
                                                   (drovek_window){2, 3, 1, 1, 1, 0, 1, 1})};
    n_rows = 100;
    for (unsigned variant = 0; variant < 8 * DROVE_COUNT(shapes); variant++) {
        if (variant % 8 == 7 || (variant / 8 > 0 && variant % 3 > 0)) continue;
        shape_case c = {.s = &shapes[variant / 8],
                        .is_wide = variant & 1,
                        .adds = variant & 2,
                        .by_channel = variant & 4};
        fill_case(&c);
        for (size_t i = 0; i < n_tiers; i++) check_counted(&tiers[i], &c, variant / 8 == 0);
        guarded_free_all();
    }
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

/* Inputs, and what the plain loops, max_pool_f32 of plain C, and derivatives spread out as above
 * make of them. */
typedef struct pooled_numbers {
    array x, w, dy;
    const float *b;
    float *y, *pooled, *dw;
    uint8_t *where;
} pooled_numbers;

static pooled_numbers pooled_numbers_of(const pooled_case *f, bool is_wide)
{
    const drovek_conv_shape *s = &f->s;
    const drovek_pool p = pool_of(f);
    const size_t n_y = n_rows * conv_n_out(s), n_pooled = n_rows * p.oh * p.ow * p.c;
    const pooled_numbers n = {integers(n_rows * conv_n_in(s), is_wide ? 300 : 60, is_wide, 1, 0.5f),
                              integers(conv_n_weights(s), is_wide ? 129 : 9, is_wide, 2, 0.25f),
                              integers(n_pooled, 11, is_wide, 3, 4.0f),
                              integers(s->o, 100, true, 4, 0.125f).x,
                              guarded_floats(NULL, n_y, PLACE_TURN),
                              guarded_floats(NULL, n_pooled, PLACE_TURN),
                              guarded_floats(NULL, conv_n_weights(s), PLACE_TURN),
                              guarded(n_pooled, 1, PLACE_TURN)};
    drovek_conv *plain = make_pooled(f, &drovek_ref, "ref");
    drovek_conv_forward(plain, n.x.x, n.w.x, n.b, n.y, n_rows);
    drovek_ref.max_pool_f32(&p, n.y, n.pooled, n.where, n_rows);
    if (f->takes_derivatives) {
        const array spread = spread_back(&p, &n.dy, n.where);
        drovek_conv_weights(plain, n.x.x, spread.x, n.dw, n_rows);
    }
    drovek_conv_destroy(plain);
    return n;
}

static void check_pooled(const drovek_table *t, const pooled_case *f, const pooled_numbers *n)
{
    const drovek_conv_shape *s = &f->s;
    const drovek_pool p = pool_of(f);
    const size_t n_y = n_rows * conv_n_out(s), n_pooled = n_rows * p.oh * p.ow * p.c;
    float *scratch = guarded_floats(NULL, n_y, PLACE_TURN);
    float *pooled = guarded_floats(NULL, n_pooled, PLACE_TURN);
    float *dw = guarded_floats(NULL, conv_n_weights(s), PLACE_TURN);
    uint8_t *where = guarded(n_pooled + DROVEK_PLANES_SLACK, 1, PLACE_TURN);
    drovek_conv *conv = make_pooled(f, t, "planes");
    drovek_conv_take(conv, &n->x.planes, &n->w.planes, NULL);
    assert_true(drovek_conv_can_pool(conv));
    drovek_conv_pool(conv, &p, pooled, where);
    drovek_conv_forward(conv, NULL, NULL, n->b, scratch, n_rows);
    assert_same_bits(conv_name(s), "pooled", n_pooled, pooled, n->pooled);
    assert_memory_equal(where, n->where, n_pooled);
    assert_int_equal(drovek_conv_largest(conv), drovek_ref.largest_f32(n->y, n_y));
    const bool can = drovek_conv_can_take_pooled(conv, &p);
    assert_int_equal(can, f->takes_derivatives && t->planes->strips != NULL);
    if (can) {
        drovek_conv_take_pooled(conv, &p, &n->dy.planes, where);
        drovek_conv_weights(conv, NULL, NULL, dw, n_rows);
        assert_same_bits(conv_name(s), "dw", conv_n_weights(s), dw, n->dw);
    }
    drovek_conv_destroy(conv);
}

TEST(test_pooled)
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
    for (unsigned variant = 0; variant < 2 * DROVE_COUNT(cases); variant++) {
        for (size_t i = 0; i < DROVE_COUNT(images); i++) {
            n_rows = images[i];
            const pooled_numbers n = pooled_numbers_of(&cases[variant / 2], variant & 1);
            for (size_t j = 0; j < n_tiers; j++) {
                const drovek_table t = table_of(&tiers[j], tiers[j].integers);
                check_pooled(&t, &cases[variant / 2], &n);
            }
            guarded_free_all();
        }
    }
}

/* Other tables have no such way. */
TEST(test_only_with_planes)
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
    assert_int_equal(drovek_conv_create(&opt, &conv), DROVE_E_UNSUPPORTED);
    assert_null(conv);
}
