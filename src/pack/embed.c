/* pack/embed.c - see embed.h. */
#include "pack/embed.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

enum {
    MOST_SORTED = 20000, /* rows of which quantiles are found */
    MOST_MORE = 512,     /* numbers behind the clipped ones: of many features each has fewer */
    MOST_LEVELS = 600,
    LEAST_LEVEL_ROWS = 3 /* of a level, on average */
};
static const float CLIP_LEVEL = 3.0f, FAR = 1e5f;
static const float MOST_ANGLE = 8192.0f;  /* of a network's curve, too */
static const double WAVE_DEVIATION = 1.0; /* of the factors of x */

/* Feature f of example i as an engine loads it. */
static float number(const drove_data *d, size_t i, size_t f)
{
    const drove_storage *s = d->storage;
    const size_t at = drove__data_row(d, i) * s->n_features + f;
    const float x = s->x_kind == DROVE_X_U8 ? (float)s->x_u8[at] : s->x_f32[at];
    return d->shift != NULL ? (x - d->shift[f]) * d->factor[f] : x;
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Some of the feature's numbers, in order: at most MOST_SORTED, which is how many there are. */
static size_t sort_some(const drove_data *d, size_t f, float *into)
{
    const size_t step = (d->n_rows + MOST_SORTED - 1) / MOST_SORTED;
    size_t n = 0;
    for (size_t i = 0; i < d->n_rows; i += step) into[n++] = number(d, i, f);
    qsort(into, n, sizeof *into, compare);
    return n;
}

/* Up to most + 1. */
static unsigned count_values(const float *sorted, size_t n, unsigned most)
{
    unsigned n_values = 1;
    for (size_t i = 1; i < n && n_values <= most; i++) n_values += sorted[i] > sorted[i - 1];
    return n_values;
}

/* None between numbers that are too close, or too far from each other, for a factor: one that is
 * not normal may be taken for 0, and far numbers times 0 are none. */
static void add_cut(drove_embedding *e, uint32_t f, float low, float high, bool is_level)
{
    if (!isnormal(1.0f / (high - low))) return;
    e->source[e->n_more] = f;
    e->offset[e->n_more] = low;
    e->factor[e->n_more] = 1.0f / (high - low);
    e->is_level[e->n_more++] = is_level;
}

/* Bins between the quantiles of sorted[n]. */
static void add_bins(drove_embedding *e, const float *sorted, size_t n, uint32_t f, unsigned n_bins)
{
    float low = sorted[0];
    for (unsigned k = 1; k <= n_bins; k++) {
        const float high = sorted[k * (n - 1) / n_bins];
        if (!(high > low)) continue;
        add_cut(e, f, low, high, false);
        low = high;
    }
}

static void add_levels(drove_embedding *e, const float *sorted, size_t n, uint32_t f)
{
    for (size_t i = 1; i < n; i++)
        if (sorted[i] > sorted[i - 1]) add_cut(e, f, sorted[i - 1], sorted[i], true);
}

static void add_waves(drove_embedding *e, uint64_t seed, uint32_t f, unsigned n_waves)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_FEATURES, f);
    for (unsigned k = 0; k < n_waves; k++) {
        const float factor = (float)(WAVE_DEVIATION * drove__rng_normal(&rng));
        const float phase = (float)(2.0 * M_PI * drove__rng_uniform(&rng));
        e->source[e->n_more] = f;
        e->offset[e->n_more] = factor != 0.0f ? -phase / factor : 0.0f;
        e->factor[e->n_more++] = factor;
    }
}

static drove_status choose(const drove_data *data, uint64_t seed, drove_embedding *e)
{
    const size_t wanted = e->opt.bins > 0 ? e->opt.bins : e->opt.waves;
    const size_t room = MOST_MORE / e->n_inputs > 2 ? MOST_MORE / e->n_inputs : 2;
    const size_t each = wanted < room ? wanted : room;
    const size_t most_each = e->opt.levels && each < MOST_LEVELS ? MOST_LEVELS : each;
    const size_t most = data->n_rows < MOST_SORTED ? data->n_rows : MOST_SORTED;
    if (each == 0) return DROVE_OK;
    float *sorted = drove__alloc(most, sizeof *sorted);
    e->source = drove__grow(NULL, e->n_inputs * most_each, sizeof *e->source);
    e->offset = drove__grow(NULL, e->n_inputs * most_each, sizeof *e->offset);
    e->factor = drove__grow(NULL, e->n_inputs * most_each, sizeof *e->factor);
    e->is_level = calloc(e->n_inputs * most_each, sizeof *e->is_level);
    if (sorted == NULL || e->source == NULL || e->offset == NULL || e->factor == NULL ||
        e->is_level == NULL) {
        drove__free(sorted);
        return drove__fail_nomem("embeddings of numbers", e->n_inputs * most_each * 12);
    }
    for (size_t f = 0; f < e->n_inputs; f++) {
        const size_t n = sort_some(data, f, sorted);
        const unsigned n_values = count_values(sorted, n, MOST_LEVELS);
        if (n_values < 3) continue;
        const bool has_levels = e->opt.levels && n_values <= MOST_LEVELS &&
                                n >= (size_t)n_values * LEAST_LEVEL_ROWS &&
                                e->n_more + n_values <= 2 * MOST_MORE;
        if (has_levels) add_levels(e, sorted, n, (uint32_t)f);
        else if (e->opt.bins > 0) add_bins(e, sorted, n, (uint32_t)f, (unsigned)each);
        else add_waves(e, seed, (uint32_t)f, (unsigned)each);
    }
    drove__free(sorted);
    return DROVE_OK;
}

static float clamp(float x, float low, float high)
{
    return fminf(fmaxf(x, low), high);
}

static void fill(const drove_data *data, drove_embedding *e)
{
    const size_t width = drove__embedding_width(e);
    for (size_t i = 0; i < data->n_rows; i++) {
        float *x = e->data->storage->x_f32 + i * width, *more = x + e->n_inputs;
        for (size_t f = 0; f < e->n_inputs; f++) x[f] = number(data, i, f);
        for (size_t k = 0; k < e->n_more; k++) {
            const float z = (x[e->source[k]] - e->offset[k]) * e->factor[k];
            more[k] =
                e->opt.waves > 0 ? sinf(clamp(z, -MOST_ANGLE, MOST_ANGLE)) : clamp(z, 0.0f, 1.0f);
        }
        /* In the order of k, so that the next cut is still one. */
        for (size_t k = 0; k + 1 < e->n_more; k++)
            if (e->is_level[k] && e->source[k + 1] == e->source[k]) more[k] -= more[k + 1];
        for (size_t f = 0; f < e->n_inputs; f++) {
            /* As the network's curve has it: the square of far numbers stays finite. */
            const float r = clamp(x[f] / CLIP_LEVEL, -FAR, FAR);
            x[f] = CLIP_LEVEL * r / sqrtf(1.0f + r * r);
        }
    }
}

drove_status drove__embedding_make(const drove_data *data, const drove_embed_options *opt,
                                   uint64_t seed, double most_bytes, drove_embedding *out)
{
    *out = (drove_embedding){.opt = *opt, .n_inputs = data->storage->n_features};
    drove_status status = choose(data, seed, out);
    const size_t width = drove__embedding_width(out);
    const bool has_room = (double)data->n_rows * (double)width * sizeof(float) <= most_bytes;
    if (status == DROVE_OK && has_room) status = drove__data_derive(data, width, &out->data);
    if (status == DROVE_OK && has_room) fill(data, out);
    if (status != DROVE_OK) drove__embedding_fini(out);
    return status;
}

void drove__embedding_fini(drove_embedding *e)
{
    free(e->source);
    free(e->offset);
    free(e->factor);
    free(e->is_level);
    drove_data_destroy(e->data);
    *e = (drove_embedding){0};
}
