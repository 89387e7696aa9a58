/* data/synth_images.c - colour images of blobs, for convolutional networks without files.
 *
 * Each class is an arrangement of coloured blobs; an image shows its class's arrangement shifted
 * (wrapping at the edges), mirrored half of the time, with random contrast and noise.  An image
 * depends only on (seed, part, its number) and the arrangement on (seed, class), so training and
 * test part show the same classes.
 */
#include "data/synth.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

enum { CHANNELS = 3, BLOBS = 5, LEAST_SIDE = 4, MOST_SIDE = 4096, MOST_CLASSES = 65536 };

#define TEST_PART  (UINT64_C(1) << 63) /* stream numbers: images of the test part   */
#define CLASS_PART (UINT64_C(1) << 62) /* and of the classes' arrangements          */

typedef struct blob {
    float x, y;             /* centre, in image sizes            */
    float radius;           /* where it has faded to 1 / e       */
    float colour[CHANNELS]; /* added at the centre, -0.5 .. 0.5  */
} blob;

static float uniform(drove_rng *rng, float least, float most)
{
    return least + (most - least) * (float)drove__rng_uniform(rng);
}

/* Profile of a blob with this centre and radius along one side, wrapping at the edges: [n]. */
static void draw_profile(float centre, float radius, size_t n, float *profile)
{
    for (size_t i = 0; i < n; i++) {
        float d = fabsf(((float)i + 0.5f) / (float)n - centre);
        if (d > 0.5f) d = 1 - d;
        profile[i] = expf(-(d * d) / (radius * radius));
    }
}

/* picture[CHANNELS][height][width] of a class, values around 0.5.  A blob is the product of two
 * profiles, [BLOBS][width] and [BLOBS][height] in `profile`: that needs few exponentials. */
static void draw_class(uint64_t seed, uint64_t class, size_t height, size_t width, float *profile,
                       float *picture)
{
    drove_rng rng;
    blob blobs[BLOBS];
    float *across = profile, *down = profile + BLOBS * width;
    drove__rng_seed(&rng, seed, DROVE_RNG_SYNTH, CLASS_PART | class);
    for (size_t i = 0; i < BLOBS; i++) {
        blobs[i].x = uniform(&rng, 0, 1);
        blobs[i].y = uniform(&rng, 0, 1);
        blobs[i].radius = uniform(&rng, 0.08f, 0.25f);
        for (size_t c = 0; c < CHANNELS; c++) blobs[i].colour[c] = uniform(&rng, -0.5f, 0.5f);
    }
    for (size_t i = 0; i < BLOBS; i++) {
        draw_profile(blobs[i].x, blobs[i].radius, width, across + i * width);
        draw_profile(blobs[i].y, blobs[i].radius, height, down + i * height);
    }
    for (size_t c = 0; c < CHANNELS; c++) {
        for (size_t y = 0; y < height; y++) {
            float *row = picture + (c * height + y) * width;
            for (size_t x = 0; x < width; x++) row[x] = 0.5f;
            for (size_t i = 0; i < BLOBS; i++) {
                const float *profile_x = across + i * width;
                float colour = blobs[i].colour[c] * down[i * height + y];
                for (size_t x = 0; x < width; x++) row[x] += colour * profile_x[x];
            }
        }
    }
}

static void draw_image(drove_rng *rng, const float *picture, size_t height, size_t width,
                       uint8_t *image)
{
    size_t right = (size_t)drove__rng_below(rng, width),
           down = (size_t)drove__rng_below(rng, height);
    bool mirrored = drove__rng_below(rng, 2) == 1;
    float contrast = 255 * uniform(rng, 0.5f, 1.0f), noise = 0.25f * uniform(rng, 0.2f, 1.0f);
    for (size_t c = 0; c < CHANNELS; c++) {
        for (size_t y = 0; y < height; y++) {
            const float *from = picture + (c * height + (y + down) % height) * width;
            uint64_t bits = 0;
            for (size_t x = 0; x < width; x++) {
                if (x % 4 == 0) bits = drove__rng_u64(rng);
                size_t column = (mirrored ? width - 1 - x : x) + right;
                float grain = (float)((int)(bits & 255) + (int)(bits >> 8 & 255) - 255);
                float pixel = from[column < width ? column : column - width];
                float value = 127.5f + contrast * (pixel - 0.5f) + noise * grain;
                *image++ = (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : (int)(value + 0.5f));
                bits >>= 16;
            }
        }
    }
}

/* The stream of image i, and its class, the first number drawn from it. */
static size_t begin_image(uint64_t seed, uint64_t part, size_t i, size_t n_classes, drove_rng *rng)
{
    drove__rng_seed(rng, seed, DROVE_RNG_SYNTH, part | i);
    return (size_t)drove__rng_below(rng, n_classes);
}

typedef struct scratch { /* for the pictures */
    size_t *end;         /* [n_classes] */
    uint32_t *order;     /* [n_rows] */
    float *profile;      /* [BLOBS][height + width] */
    float *picture;      /* [n_features] of one class */
} scratch;

static drove_status draw(drove_storage *s, uint64_t seed, uint64_t part)
{
    scratch e = {.end = calloc(s->n_classes, sizeof *e.end),
                 .order = drove__grow(NULL, s->n_rows, sizeof *e.order),
                 .profile = drove__grow(NULL, BLOBS * (s->height + s->width), sizeof *e.profile),
                 .picture = drove__grow(NULL, s->n_features, sizeof *e.picture)};
    bool is_there = e.end != NULL && e.order != NULL && e.profile != NULL && e.picture != NULL;
    if (is_there) {
        /* Class by class, so that only one picture exists at a time. */
        drove_rng rng;
        for (size_t i = 0; i < s->n_rows; i++)
            s->y_class[i] = (int32_t)begin_image(seed, part, i, s->n_classes, &rng);
        /* order[n_rows]: the rows by class; end[c]: the end of class c in it. */
        for (size_t i = 0; i < s->n_rows; i++) e.end[s->y_class[i]]++;
        for (size_t c = 1; c < s->n_classes; c++) e.end[c] += e.end[c - 1];
        for (size_t i = s->n_rows; i-- > 0;) e.order[--e.end[s->y_class[i]]] = (uint32_t)i;
        for (size_t c = 0; c + 1 < s->n_classes; c++) e.end[c] = e.end[c + 1];
        e.end[s->n_classes - 1] = s->n_rows;
        for (size_t c = 0, k = 0; c < s->n_classes; c++) {
            if (k < e.end[c]) draw_class(seed, c, s->height, s->width, e.profile, e.picture);
            for (; k < e.end[c]; k++) {
                size_t i = e.order[k];
                (void)begin_image(seed, part, i, s->n_classes, &rng);
                draw_image(&rng, e.picture, s->height, s->width, s->x_u8 + i * s->n_features);
            }
        }
    }
    free(e.end);
    free(e.order);
    free(e.profile);
    free(e.picture);
    return is_there ? DROVE_OK : drove__fail_nomem("a picture", s->n_features * sizeof *e.picture);
}

typedef struct settings {
    uint64_t n, n_test, seed, n_classes;
    drove_sides size;
} settings;

static const drove_spec_key keys[] = {
    {"n", "10000", DROVE_AS_COUNT(settings, n, 1, UINT32_MAX), .help = "images to train on"},
    {"n_test", NULL, DROVE_AS_COUNT(settings, n_test, 1, UINT32_MAX),
     .help = "held out; without it a fifth of n"},
    {"seed", "1", DROVE_AS_COUNT(settings, seed, 0, UINT64_MAX), .help = "of all random numbers"},
    {"size", "32", DROVE_AS_SIDES(settings, size, LEAST_SIDE, MOST_SIDE), .help = "of an image"},
    {"classes", "10", DROVE_AS_COUNT(settings, n_classes, 2, MOST_CLASSES), .help = "their number"},
    DROVE_SPEC_END,
};

static drove_status read_images(const drove_spec *spec, int part, const drove_shard *shard,
                                drove_storage **out)
{
    settings set = {.n_test = 0};
    drove_storage *s;
    (void)shard;
    DROVE_TRY(drove__spec_take(spec, keys, &set));
    const size_t height = set.size.height, width = set.size.width;
    if (set.n_test == 0) set.n_test = set.n < 5 ? 1 : set.n / 5;
    drove_synth_size of = {.n_rows = part == 1 ? set.n_test : set.n,
                           .n_features = CHANNELS * height * width,
                           .x_kind = DROVE_X_U8};
    DROVE_TRY(drove__synth_create(spec, &of, (size_t)set.n_classes, &s));
    s->channels = CHANNELS;
    s->height = height;
    s->width = width;
    drove_status status = draw(s, set.seed, part == 1 ? TEST_PART : 0);
    if (status != DROVE_OK) drove__storage_release(s);
    else *out = s;
    return status;
}

const drove_format_ops drove__format_synth_images = {
    .name = "synth:images",
    .help = "generated colour images",
    .source = "blobs drawn for drove",
    .arguments = "images",
    .least_args = 1,
    .most_args = 1,
    .keys = keys,
    .read = read_images,
    .has_test = true,
    .default_scaling = DROVE_SCALE_UNIT,
};
