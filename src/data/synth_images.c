/* data/synth_images.c - colour images of blobs, for convolutional networks without files.
 *
 * Each class is an arrangement of coloured blobs; an image shows its class's arrangement shifted
 * (round the edges), mirrored half of the time, with other contrast, and with noise.  An image
 * depends on (seed, part, its number) and the arrangement on (seed, class), so training and test
 * part show the same classes.
 */
#include "data/synth.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

enum { CHANNELS = 3, BLOBS = 5 };

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

/* picture[CHANNELS][size][size] of a class, values around 0.5. */
static void draw_class(uint64_t seed, uint64_t class, size_t size, float *picture)
{
    drove_rng rng;
    blob blobs[BLOBS];
    drove__rng_seed(&rng, seed, DROVE_RNG_SYNTH, CLASS_PART | class);
    for (size_t i = 0; i < BLOBS; i++) {
        blobs[i].x = uniform(&rng, 0, 1);
        blobs[i].y = uniform(&rng, 0, 1);
        blobs[i].radius = uniform(&rng, 0.08f, 0.25f);
        for (size_t c = 0; c < CHANNELS; c++) blobs[i].colour[c] = uniform(&rng, -0.5f, 0.5f);
    }
    for (size_t c = 0; c < CHANNELS; c++) {
        for (size_t p = 0; p < size * size; p++) {
            float x = ((float)(p % size) + 0.5f) / (float)size,
                  y = ((float)(p / size) + 0.5f) / (float)size;
            float sum = 0.5f;
            for (size_t i = 0; i < BLOBS; i++) {
                float dx = fabsf(x - blobs[i].x), dy = fabsf(y - blobs[i].y);
                if (dx > 0.5f) dx = 1 - dx; /* round the edges */
                if (dy > 0.5f) dy = 1 - dy;
                sum += blobs[i].colour[c] *
                       expf(-(dx * dx + dy * dy) / (blobs[i].radius * blobs[i].radius));
            }
            picture[c * size * size + p] = sum;
        }
    }
}

static void draw_image(drove_rng *rng, const float *picture, size_t size, uint8_t *image)
{
    size_t right = (size_t)drove__rng_below(rng, size), down = (size_t)drove__rng_below(rng, size);
    bool mirrored = drove__rng_below(rng, 2) == 1;
    float contrast = 255 * uniform(rng, 0.5f, 1.0f), noise = 0.25f * uniform(rng, 0.2f, 1.0f);
    for (size_t c = 0; c < CHANNELS; c++) {
        for (size_t y = 0; y < size; y++) {
            const float *from = picture + (c * size + (y + down) % size) * size;
            uint64_t bits = 0;
            for (size_t x = 0; x < size; x++) {
                if (x % 4 == 0) bits = drove__rng_u64(rng);
                size_t column = (mirrored ? size - 1 - x : x) + right;
                float grain = (float)((int)(bits & 255) + (int)(bits >> 8 & 255) - 255);
                float value = 127.5f + contrast * (from[column % size] - 0.5f) + noise * grain;
                *image++ = (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : (int)(value + 0.5f));
                bits >>= 16;
            }
        }
    }
}

static drove_status draw_rows(drove_storage *s, uint64_t seed, uint64_t part)
{
    size_t size = s->width, n_picture = s->n_features;
    float *pictures = drove__grow(NULL, s->n_classes * n_picture, sizeof *pictures);
    if (pictures == NULL)
        return drove__fail_nomem("pictures", s->n_classes * n_picture * sizeof *pictures);
    for (size_t c = 0; c < s->n_classes; c++) draw_class(seed, c, size, pictures + c * n_picture);
    for (size_t i = 0; i < s->n_rows; i++) {
        drove_rng rng;
        drove__rng_seed(&rng, seed, DROVE_RNG_SYNTH, part | i);
        s->y_class[i] = (int32_t)drove__rng_below(&rng, s->n_classes);
        draw_image(&rng, pictures + (size_t)s->y_class[i] * n_picture, size,
                   s->x_u8 + i * n_picture);
    }
    free(pictures);
    return DROVE_OK;
}

static drove_status read_images(const drove_spec *spec, int part, drove_storage **out)
{
    uint64_t n = 10000, n_test = 2000, seed = 1, size = 32, classes = 10;
    drove_storage *s;
    DROVE_TRY(drove__spec_u64(spec, "n", 1, UINT32_MAX, &n));
    DROVE_TRY(drove__spec_u64(spec, "n_test", 1, UINT32_MAX, &n_test));
    DROVE_TRY(drove__spec_u64(spec, "seed", 0, UINT64_MAX, &seed));
    DROVE_TRY(drove__spec_u64(spec, "size", 4, 1024, &size));
    DROVE_TRY(drove__spec_u64(spec, "classes", 2, 1000, &classes));
    drove_synth_size of = {.n_rows = part == 1 ? n_test : n,
                           .n_features = CHANNELS * size * size,
                           .x_kind = DROVE_X_U8};
    DROVE_TRY(drove__synth_create(spec, &of, (size_t)classes, &s));
    s->channels = CHANNELS;
    s->height = s->width = (size_t)size;
    drove_status status = draw_rows(s, seed, part == 1 ? TEST_PART : 0);
    if (status != DROVE_OK) drove__storage_release(s);
    else *out = s;
    return status;
}

static const char *const keys[] = {"n", "n_test", "seed", "size", "classes", NULL};

const drove_format_ops drove__format_synth_images = {
    .name = "synth:images",
    .help = "generated colour images; ?size=32&classes=10&n=10000&n_test=2000&seed=1",
    .source = "blobs drawn for drove",
    .arguments = "images",
    .least_args = 1,
    .most_args = 1,
    .keys = keys,
    .read = read_images,
    .has_test = true,
    .default_scaling = DROVE_SCALE_UNIT,
};
