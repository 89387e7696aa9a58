/* data/read/picture.c - memory, turning and resizing of pictures.  See picture.h. */
#include "data/read/picture.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ITU-R BT.601: luma = 0.299 red + 0.587 green + 0.114 blue, in 2^16ths, which add up to 2^16 */
enum { LUMA_RED = 19595, LUMA_GREEN = 38470, LUMA_BLUE = 7471 };

drove_status drove__picture_init(drove_picture *out, size_t height, size_t width, const char *where)
{
    if (height == 0 || width == 0 || height > DROVE_PICTURE_SIDE_MOST ||
        width > DROVE_PICTURE_SIDE_MOST || height * width > DROVE_PICTURE_PIXELS_MOST) {
        return drove__fail(DROVE_E_DATA,
                           "%s: expected an image of at most %d pixels, %d a side, found %zux%zu",
                           where, DROVE_PICTURE_PIXELS_MOST, DROVE_PICTURE_SIDE_MOST, height,
                           width);
    }
    uint8_t *rgb = drove__grow(NULL, height * width, 3);
    if (rgb == NULL) return drove__fail_nomem(where, 3 * height * width);
    *out = (drove_picture){.rgb = rgb, .height = height, .width = width};
    return DROVE_OK;
}

void drove__picture_fini(drove_picture *picture)
{
    free(picture->rgb);
    picture->rgb = NULL;
}

/* ---- orientation ---- */

drove_status drove__picture_turn(drove_picture *p, unsigned orientation)
{
    const size_t h = p->height, w = p->width;
    bool swaps = orientation >= 5, from_bottom, from_right;
    if (orientation < 2 || orientation > 8) return DROVE_OK;
    /* which end of the source's rows and columns comes first */
    from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const size_t height = swaps ? w : h, width = swaps ? h : w;
    uint8_t *turned = drove__grow(NULL, h * w, 3), *to = turned;
    if (turned == NULL) return drove__fail_nomem("an image", 3 * h * w);
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++, to += 3) {
            size_t row = swaps ? x : y, column = swaps ? y : x;
            if (from_bottom) row = h - 1 - row;
            if (from_right) column = w - 1 - column;
            memcpy(to, p->rgb + 3 * (row * w + column), 3);
        }
    }
    free(p->rgb);
    p->rgb = turned;
    p->height = height;
    p->width = width;
    return DROVE_OK;
}

/* ---- size ---- */

typedef struct taps { /* along one side: the source pixels of each output pixel */
    size_t n_most;    /* of an output pixel */
    size_t *first, *n;
    float *weight; /* [outputs][n_most]; of an output pixel they add up to 1 */
} taps;

static void taps_fini(taps *t)
{
    free(t->first);
    free(t->n);
    free(t->weight);
}

/* Output pixel i lies at (n_source - n step) / 2 + (i + 1/2) step of the source. */
static drove_status taps_init(taps *t, size_t n_source, size_t n, double step)
{
    double reach = step > 1 ? step : 1, begin = ((double)n_source - (double)n * step) / 2;
    *t = (taps){.n_most = (size_t)ceil(2 * reach) + 1};
    t->first = drove__grow(NULL, n, sizeof *t->first);
    t->n = drove__grow(NULL, n, sizeof *t->n);
    t->weight = drove__grow(NULL, n * t->n_most, sizeof *t->weight);
    if (t->first == NULL || t->n == NULL || t->weight == NULL)
        return drove__fail_nomem("an image", n * t->n_most * sizeof *t->weight);
    for (size_t i = 0; i < n; i++) {
        const double centre = begin + ((double)i + 0.5) * step, least = floor(centre - reach);
        double sum = 0;
        size_t first = least > 0 ? (size_t)least : 0, n_taps = 0;
        float *weight = t->weight + i * t->n_most;
        while (first < n_source - 1 && (double)first + 0.5 <= centre - reach) first++;
        for (size_t j = first; j < n_source && n_taps < t->n_most; j++) {
            double w = 1.0 - fabs((double)j + 0.5 - centre) / reach;
            if (w <= 0) break;
            weight[n_taps++] = (float)w;
            sum += w;
        }
        t->first[i] = first;
        t->n[i] = n_taps;
        for (size_t k = 0; k < n_taps; k++) weight[k] = (float)((double)weight[k] / sum);
    }
    return DROVE_OK;
}

/* A channel of a pixel: red, green or blue, or of one channel the luma. */
static uint8_t channel_of(const uint8_t *rgb, size_t channels, size_t c)
{
    if (channels > 1) return rgb[c];
    unsigned sum = LUMA_RED * rgb[0] + LUMA_GREEN * rgb[1] + LUMA_BLUE * rgb[2];
    return (uint8_t)((sum + (1u << 15)) >> 16);
}

static uint8_t round_byte(float value)
{
    /* NOLINTNEXTLINE(bugprone-incorrect-roundings): above 0 and below 255 it is right, and fast */
    return value <= 0 ? 0 : value >= 255 ? 255 : (uint8_t)(value + 0.5f);
}

typedef struct resampling { /* of a picture to another size */
    taps across, down;
    uint8_t *line;  /* [width of the picture] */
    float *scratch; /* [height of the picture][width] */
} resampling;

/* One channel, into[height][width]: first along the rows that are needed, then down. */
static void resample(const resampling *r, const drove_picture *p, size_t channels, size_t c,
                     size_t height, size_t width, uint8_t *into)
{
    const taps *across = &r->across, *down = &r->down;
    size_t begin = down->first[0], end = down->first[height - 1] + down->n[height - 1];
    for (size_t y = begin; y < end; y++) {
        const uint8_t *row = p->rgb + 3 * y * p->width;
        for (size_t x = 0; x < p->width; x++) r->line[x] = channel_of(row + 3 * x, channels, c);
        float *to = r->scratch + (y - begin) * width;
        for (size_t x = 0; x < width; x++) {
            const float *weight = across->weight + x * across->n_most;
            const uint8_t *from = r->line + across->first[x];
            float sum = 0;
            for (size_t k = 0; k < across->n[x]; k++) sum += weight[k] * (float)from[k];
            to[x] = sum;
        }
    }
    for (size_t y = 0; y < height; y++) {
        const float *weight = down->weight + y * down->n_most;
        const float *from = r->scratch + (down->first[y] - begin) * width;
        for (size_t x = 0; x < width; x++) {
            float sum = 0;
            for (size_t k = 0; k < down->n[y]; k++) sum += weight[k] * from[k * width + x];
            into[y * width + x] = round_byte(sum);
        }
    }
}

drove_status drove__picture_fit(const drove_picture *p, size_t channels, size_t height,
                                size_t width, uint8_t *into)
{
    if (p->height == height && p->width == width) {
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < height * width; i++)
                *into++ = channel_of(p->rgb + 3 * i, channels, c);
        return DROVE_OK;
    }
    const double step_down = (double)p->height / (double)height;
    const double step_across = (double)p->width / (double)width;
    const double step = step_down < step_across ? step_down : step_across;
    resampling r = {.line = drove__grow(NULL, p->width, 1),
                    .scratch = drove__grow(NULL, p->height * width, sizeof *r.scratch)};
    drove_status status = taps_init(&r.across, p->width, width, step);
    if (status == DROVE_OK) status = taps_init(&r.down, p->height, height, step);
    if (r.line == NULL || r.scratch == NULL)
        status = drove__fail_nomem("an image", p->height * width * sizeof *r.scratch);
    for (size_t c = 0; c < channels && status == DROVE_OK; c++)
        resample(&r, p, channels, c, height, width, into + c * height * width);
    taps_fini(&r.across);
    taps_fini(&r.down);
    free(r.line);
    free(r.scratch);
    return status;
}
