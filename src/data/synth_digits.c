/* data/synth_digits.c - images of digits drawn from strokes: a stand-in for MNIST that needs no
 * file.
 *
 * An image depends only on (seed, part, its number), so more images never change the first ones.
 * Steps: choose a variant of the digit (data/glyphs.c); move its control points at random; draw
 * smooth curves through them; apply a random affine map; turn the distance of each pixel to the
 * nearest segment into ink, with a random pen; add noise.
 *
 * The strength of the distortions below sets how hard the data are.  With the default 60,000 and
 * 10,000 images of seed 1, multinomial logistic regression (L-BFGS, 300 iterations, L2 weight 1e-4)
 * is right on 87.1 % of the test part, and an MLP 784-128-128-128-10 (ReLU, SGD, batch 32, step
 * 0.05) on 97.7, 98.5, 99.0, 99.0 and 99.1 % after 1 to 5 epochs.
 */
#include "data/glyphs.h"
#include "data/synth.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum {
    SIDE = 28,
    PIXELS = SIDE * SIDE,
    DIGITS = 10,
    CURVE_STEPS = 5, /* segments between two control points of a curve */
    SEGMENTS_MOST = DROVE_STROKES_MOST * DROVE_STROKE_POINTS_MOST * CURVE_STEPS
};

#define TEST_PART (UINT64_C(1) << 63) /* set in the stream number of images of the test part */

/* Strength of the distortions.  Lengths in pixels unless noted otherwise. */
static const float box_height = 19.0f; /* of the undistorted digit                            */
static const float wobble = 0.030f;    /* deviation of a control point, in boxes              */
static const float rotation = 0.20f;   /* deviation, radians                                  */
static const float shear = 0.20f;      /* deviation                                           */
static const float log_size = 0.12f;   /* deviation of the logarithm of the size              */
static const float log_aspect = 0.14f; /* deviation of the logarithm of width over height     */
static const float shift = 1.35f;      /* deviation of the centre                             */
static const float pen_least = 0.7f, pen_most = 1.7f; /* half the width of the line              */
static const float ink_least = 0.65f;  /* darkest pixel of the palest digit, of 1             */
static const float noise_most = 0.16f; /* largest amplitude of the noise, of 1                */

typedef struct point {
    float x, y;
} point;

typedef struct segment {
    point from, to;
} segment;

typedef struct drawing { /* a digit as segments, in pixels */
    segment segment[SEGMENTS_MOST];
    unsigned n_segments;
} drawing;

typedef struct affine { /* x' = xx x + xy y + x0, y' = yx x + yy y + y0 */
    float xx, xy, yx, yy, x0, y0;
} affine;

static float uniform(drove_rng *rng, float least, float most)
{
    return least + (most - least) * (float)drove__rng_uniform(rng);
}

/* Normal, limited to 2.5 deviations, so that no digit leaves the image. */
static float normal(drove_rng *rng, float deviation)
{
    float z = (float)drove__rng_normal(rng);
    return deviation * (z < -2.5f ? -2.5f : z > 2.5f ? 2.5f : z);
}

/* From the glyph's box (unit square around 0) to pixels. */
static affine draw_affine(drove_rng *rng)
{
    float angle = normal(rng, rotation), lean = normal(rng, shear);
    float size = box_height * expf(normal(rng, log_size)), aspect = expf(normal(rng, log_aspect));
    float c = cosf(angle) * size, s = sinf(angle) * size;
    float width = 0.78f * aspect;
    affine out;
    out.xx = c * width;
    out.xy = -c * lean - s;
    out.yx = s * width;
    out.yy = c - s * lean;
    out.x0 = SIDE / 2.0f + normal(rng, shift);
    out.y0 = SIDE / 2.0f + normal(rng, shift);
    return out;
}

/* Catmull-Rom curve from b to c at t in [0, 1]; a and d are the points before and after. */
static float curve_at(float a, float b, float c, float d, float t)
{
    float linear = c - a, square = 2 * a - 5 * b + 4 * c - d, cube = 3 * (b - c) + d - a;
    return b + 0.5f * t * (linear + t * (square + t * cube));
}

static void add_stroke(drawing *out, const point *p, unsigned n, bool curved)
{
    unsigned steps = curved ? CURVE_STEPS : 1;
    point last = p[0];
    for (unsigned i = 0; i + 1 < n; i++) {
        point before = p[i > 0 ? i - 1 : 0], after = p[i + 2 < n ? i + 2 : n - 1];
        for (unsigned j = 1; j <= steps; j++) {
            float t = (float)j / (float)steps;
            point next = p[i + 1];
            if (j < steps) {
                next.x = curve_at(before.x, p[i].x, p[i + 1].x, after.x, t);
                next.y = curve_at(before.y, p[i].y, p[i + 1].y, after.y, t);
            }
            out->segment[out->n_segments++] = (segment){last, next};
            last = next;
        }
    }
}

static void draw_digit(drove_rng *rng, unsigned digit, drawing *out)
{
    drove_glyph_range range = drove__glyph_ranges[digit];
    const drove_glyph *glyph = &drove__glyphs[range.first + drove__rng_below(rng, range.n)];
    affine map = draw_affine(rng);
    out->n_segments = 0;
    for (unsigned i = 0; i < glyph->n_strokes; i++) {
        const drove_stroke *stroke = &glyph->stroke[i];
        point p[DROVE_STROKE_POINTS_MOST];
        for (unsigned j = 0; j < stroke->n_points; j++) {
            point moved = {(float)stroke->point[j][0] / 100.0f - 0.5f + normal(rng, wobble),
                           (float)stroke->point[j][1] / 100.0f - 0.5f + normal(rng, wobble)};
            p[j] = (point){map.xx * moved.x + map.xy * moved.y + map.x0,
                           map.yx * moved.x + map.yy * moved.y + map.y0};
        }
        add_stroke(out, p, stroke->n_points, stroke->curved);
    }
}

/* ---- ink ---- */

/* First and last pixel whose centre may lie within reach of [a, b], cut to the image. */
static void pixel_range(float a, float b, float reach, int *first, int *last)
{
    float low = (a < b ? a : b) - reach, high = (a < b ? b : a) + reach;
    *first = low <= 0 ? 0 : (int)low;
    *last = high >= SIDE - 1 ? SIDE - 1 : (int)high;
}

/* nearest[y][x] = min(nearest[y][x], squared distance to the segment), for pixels within reach. */
static void measure_segment(const segment *s, float reach, float nearest[PIXELS])
{
    int x_first, x_last, y_first, y_last;
    pixel_range(s->from.x, s->to.x, reach, &x_first, &x_last);
    pixel_range(s->from.y, s->to.y, reach, &y_first, &y_last);
    float dx = s->to.x - s->from.x, dy = s->to.y - s->from.y;
    float squared = dx * dx + dy * dy;
    float inverse = squared > 0 ? 1.0f / squared : 0.0f;
    for (int y = y_first; y <= y_last; y++) {
        float py = (float)y + 0.5f - s->from.y;
        for (int x = x_first; x <= x_last; x++) {
            float px = (float)x + 0.5f - s->from.x;
            float t = (px * dx + py * dy) * inverse;
            t = t < 0 ? 0 : t > 1 ? 1 : t;
            float ex = px - t * dx, ey = py - t * dy;
            float distance = ex * ex + ey * ey;
            float *at = &nearest[y * SIDE + x];
            *at = distance < *at ? distance : *at;
        }
    }
}

static void ink_pixels(const drawing *digit, drove_rng *rng, uint8_t image[PIXELS])
{
    float nearest[PIXELS];
    float pen = uniform(rng, pen_least, pen_most), reach = pen + 0.5f;
    float ink = 255.0f * uniform(rng, ink_least, 1.0f);
    float noise = 255.0f / 256.0f * uniform(rng, 0.0f, noise_most);
    for (int i = 0; i < PIXELS; i++) nearest[i] = reach * reach;
    for (unsigned i = 0; i < digit->n_segments; i++)
        measure_segment(&digit->segment[i], reach, nearest);
    for (int i = 0; i < PIXELS; i += 4) {
        uint64_t bits = drove__rng_u64(rng);
        for (int j = i; j < i + 4; j++, bits >>= 16) {
            float cover = reach - sqrtf(nearest[j]); /* one pixel wide edge */
            cover = cover > 1 ? 1 : cover;
            /* the sum of two bytes: a triangle from -255 to 255 around 0 */
            float grain = (float)((int)(bits & 255) + (int)(bits >> 8 & 255) - 255);
            float value = cover * ink + noise * grain;
            image[j] = (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : (int)(value + 0.5f));
        }
    }
}

/* ---- the data set ---- */

typedef struct settings {
    uint64_t n, n_test, seed;
} settings;

static const drove_spec_key keys[] = {
    {"n", "60000", DROVE_AS_COUNT(settings, n, 1, UINT32_MAX), .help = "images to train on"},
    {"n_test", "10000", DROVE_AS_COUNT(settings, n_test, 1, UINT32_MAX), .help = "held out"},
    {"seed", "1", DROVE_AS_COUNT(settings, seed, 0, UINT64_MAX), .help = "of all random numbers"},
    DROVE_SPEC_END,
};

static drove_status read_digits(const drove_spec *spec, int part, const drove_shard *shard,
                                drove_storage **out)
{
    settings set;
    (void)shard;
    DROVE_TRY(drove__spec_take(spec, keys, &set));
    drove_storage *s;
    drove_synth_size size = {.n_rows = part == 1 ? set.n_test : set.n,
                             .n_features = PIXELS,
                             .x_kind = DROVE_X_U8};
    DROVE_TRY(drove__synth_create(spec, &size, DIGITS, &s));
    s->channels = 1;
    s->height = s->width = SIDE;
    for (size_t i = 0; i < s->n_rows; i++) {
        drove_rng rng;
        drawing digit;
        drove__rng_seed(&rng, set.seed, DROVE_RNG_SYNTH, (part == 1 ? TEST_PART : 0) | i);
        s->y_class[i] = (int32_t)drove__rng_below(&rng, DIGITS);
        draw_digit(&rng, (unsigned)s->y_class[i], &digit);
        ink_pixels(&digit, &rng, s->x_u8 + i * PIXELS);
    }
    *out = s;
    return DROVE_OK;
}

const drove_format_ops drove__format_synth_digits = {
    .name = "synth:digits",
    .help = "generated 28x28 images of digits",
    .source = "strokes drawn for drove",
    .arguments = "digits",
    .least_args = 1,
    .most_args = 1,
    .keys = keys,
    .read = read_digits,
    .has_test = true,
    .default_scaling = DROVE_SCALE_UNIT,
};
