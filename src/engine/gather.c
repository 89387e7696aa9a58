/* engine/gather.c - gathering of a batch: see gather.h. */
#include "engine/gather.h"

#include "base/mem.h"
#include "data/quant.h"

#include <assert.h>
#include <string.h>

enum {
    PREFETCH_ROWS = 4,    /* examples ahead */
    PREFETCH_BYTES = 4096 /* of one example; the processor's own prefetching follows from there */
};

/* ---- targets ---- */

drove_status drove__targets_init(drove_targets *t, const drove_data *data, size_t max_rows)
{
    const size_t n_values = drove__storage_n_values(data->storage);
    if (n_values > SIZE_MAX / 64 / max_rows)
        return drove__fail(DROVE_E_ARG, "a batch of %zu examples of %zu values is too large",
                           max_rows, n_values);
    t->y_class = drove__alloc(max_rows, sizeof *t->y_class);
    t->y_value = drove__alloc(max_rows * n_values, sizeof *t->y_value);
    t->label_first = drove__alloc(max_rows, sizeof *t->label_first);
    t->label_last = drove__alloc(max_rows, sizeof *t->label_last);
    t->weight = drove__alloc(max_rows, sizeof *t->weight);
    if (t->y_class == NULL || t->y_value == NULL || t->label_first == NULL ||
        t->label_last == NULL || t->weight == NULL) {
        return drove__fail_nomem("targets of a batch", max_rows * sizeof *t->label_first);
    }
    if (data->augment.mixup > 0.0f) {
        t->y_other = drove__alloc(max_rows, sizeof *t->y_other);
        if (t->y_other == NULL)
            return drove__fail_nomem("targets of a batch", max_rows * sizeof *t->y_other);
    }
    return DROVE_OK;
}

void drove__targets_fini(drove_targets *t)
{
    if (t == NULL) return;
    drove__free(t->y_class);
    drove__free(t->y_other);
    drove__free(t->y_value);
    drove__free(t->label_first);
    drove__free(t->label_last);
    drove__free(t->weight);
    memset(t, 0, sizeof *t);
}

void drove__targets_load(drove_targets *t, const drove_data *data, const uint32_t *order,
                         const uint32_t *row, size_t n_rows, drove_target *out)
{
    const drove_storage *s = data->storage;
    const size_t n_values = drove__storage_n_values(s);
    *out = (drove_target){0};
    for (size_t i = 0; i < n_rows; i++) {
        size_t at = drove__data_row(data, order != NULL ? order[row[i]] : row[i]);
        switch (s->y_kind) {
        case DROVE_Y_CLASS: t->y_class[i] = s->y_class[at]; break;
        case DROVE_Y_VALUE:
            memcpy(t->y_value + i * n_values, s->y_value + at * n_values,
                   n_values * sizeof *t->y_value);
            break;
        case DROVE_Y_LABELS:
            t->label_first[i] = s->label_start[at];
            t->label_last[i] = s->label_start[at + 1];
            break;
        }
    }
    if (s->y_kind == DROVE_Y_CLASS) out->y_class = t->y_class;
    if (s->y_kind == DROVE_Y_VALUE) out->y_value = t->y_value;
    if (s->y_kind == DROVE_Y_LABELS) {
        out->label_first = t->label_first;
        out->label_last = t->label_last;
        out->label = s->label;
    }
    if (!drove__data_is_weighted(data)) return;
    for (size_t i = 0; i < n_rows; i++) {
        size_t at = drove__data_row(data, order != NULL ? order[row[i]] : row[i]);
        t->weight[i] = drove__data_loss_weight(data, at);
    }
    out->weight = t->weight;
}

/* ---- scratch ---- */

static drove_status reserve_dense(drove_gather *g)
{
    if (g->x != NULL) return DROVE_OK;
    if (g->n_features > SIZE_MAX / 64 / g->max_rows) {
        return drove__fail(DROVE_E_ARG, "a batch of %zu examples of %zu features is too large",
                           g->max_rows, g->n_features);
    }
    size_t n = g->max_rows * g->n_features;
    g->x = drove__alloc(n, sizeof *g->x);
    return g->x != NULL ? DROVE_OK : drove__fail_nomem("examples of a batch", n * sizeof *g->x);
}

/* Two stored images: coloured, and rotated. */
static drove_status reserve_images(drove_gather *g, const drove_data *data)
{
    const drove_augment *a = &data->augment;
    const size_t n = 2 * data->storage->n_features;
    if (g->images != NULL || !(a->rotate > 0.0f || drove__augment_colours(a))) return DROVE_OK;
    g->images = drove__alloc(n, sizeof *g->images);
    return g->images != NULL ? DROVE_OK : drove__fail_nomem("an image", n * sizeof *g->images);
}

static drove_status reserve_pairs(drove_gather *g, size_t n_pairs)
{
    if (n_pairs <= g->n_pairs) return DROVE_OK;
    drove__free(g->index);
    drove__free(g->value);
    g->n_pairs = 0;
    g->index = drove__alloc(n_pairs, sizeof *g->index);
    g->value = drove__alloc(n_pairs, sizeof *g->value);
    if (g->index == NULL || g->value == NULL) {
        return drove__fail_nomem("sparse examples of a batch",
                                 n_pairs * (sizeof *g->index + sizeof *g->value));
    }
    g->n_pairs = n_pairs;
    return DROVE_OK;
}

size_t drove__gather_longest(const drove_data *data)
{
    const drove_storage *s = data->storage;
    if (!drove__storage_is_sparse(s)) return 0;
    if (s->longest_row > 0) return s->longest_row;
    const uint64_t *row_start = s->x_kind == DROVE_X_QUANT ? s->quant->row_start : s->row_start;
    uint64_t longest = 0;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        uint64_t length = row_start[row + 1] - row_start[row];
        longest = length > longest ? length : longest;
    }
    return (size_t)longest;
}

drove_status drove__gather_init(drove_gather *g, const drovek_table *kernels,
                                const drove_data *data, size_t max_rows, size_t n_features,
                                bool with_x)
{
    memset(g, 0, sizeof *g);
    g->kernels = kernels;
    g->max_rows = max_rows;
    g->n_features = n_features;
    DROVE_TRY(drove__targets_init(&g->targets, data, max_rows));
    g->first = drove__alloc(max_rows, sizeof *g->first);
    g->last = drove__alloc(max_rows, sizeof *g->last);
    if (g->first == NULL || g->last == NULL) {
        return drove__fail_nomem("examples of a batch", max_rows * sizeof *g->first);
    }
    if (drove__storage_is_sparse(data->storage)) {
        size_t longest = drove__gather_longest(data);
        if (longest > SIZE_MAX / 64 / g->max_rows) {
            return drove__fail(DROVE_E_ARG, "a batch of %zu examples is too large", g->max_rows);
        }
        if (data->storage->x_kind != DROVE_X_QUANT && data->factor == NULL) return DROVE_OK;
        return reserve_pairs(g, g->max_rows * longest);
    }
    DROVE_TRY(reserve_images(g, data));
    return with_x ? reserve_dense(g) : DROVE_OK;
}

void drove__gather_fini(drove_gather *g)
{
    if (g == NULL) return;
    drove__targets_fini(&g->targets);
    drove__free(g->x);
    drove__free(g->images);
    drove__free(g->first);
    drove__free(g->last);
    drove__free(g->index);
    drove__free(g->value);
    memset(g, 0, sizeof *g);
}

/* ---- gathering ---- */

/* Asks for example i of a batch, if there is one, from x[.][row_bytes], into the second-level
 * cache: it has more requests under way than the first, and a row of floats is 49 lines.  Always
 * inlined: a call of a function that only prefetches counts as one without effect, and gcc 12 drops
 * it. */
__attribute__((always_inline)) static inline void prefetch(const drove_batch *batch, size_t i,
                                                           const void *x, size_t row_bytes)
{
    if (i >= batch->n_rows) return;
    const char *p = (const char *)x + drove__data_row(batch->data, batch->row[i]) * row_bytes;
    size_t most = row_bytes < PREFETCH_BYTES ? row_bytes : PREFETCH_BYTES;
    for (size_t at = 0; at < most; at += DROVE_CACHE_LINE) __builtin_prefetch(p + at, 0, 2);
}

static void load_u8(const drove_gather *g, const drove_batch *batch, float *to)
{
    const drove_data *data = batch->data;
    const size_t n = g->n_features;
    const uint8_t *x = data->storage->x_u8;
    for (size_t i = 1; i < PREFETCH_ROWS; i++) prefetch(batch, i, x, n);
    for (size_t i = 0; i < batch->n_rows; i++) {
        prefetch(batch, i + PREFETCH_ROWS, x, n);
        g->kernels->widen_u8_f32(to + i * n, x + drove__data_row(data, batch->row[i]) * n,
                                 data->shift, data->factor, n);
    }
}

static void load_f32(const drove_gather *g, const drove_batch *batch, float *to)
{
    const drove_data *data = batch->data;
    const size_t n = g->n_features;
    const float *x = data->storage->x_f32;
    for (size_t i = 1; i < PREFETCH_ROWS; i++) prefetch(batch, i, x, n * sizeof *x);
    for (size_t i = 0; i < batch->n_rows; i++) {
        prefetch(batch, i + PREFETCH_ROWS, x, n * sizeof *x);
        const float *from = x + drove__data_row(data, batch->row[i]) * n;
        if (data->factor != NULL) {
            g->kernels->affine_f32(to + i * n, from, data->shift, data->factor, n);
        } else {
            memcpy(to + i * n, from, n * sizeof *x);
        }
    }
}

/* ---- images ---- */

/* n pixels from `from` on (of the storage, or of image if that is not NULL) to to[n], scaled. */
static void load_pixels(const drove_gather *g, const drove_data *data, size_t row,
                        const float *image, size_t from, size_t n, float *to)
{
    const drove_storage *s = data->storage;
    if (image != NULL) {
        memcpy(to, image + from, n * sizeof *to);
        return;
    }
    const float *shift = data->factor != NULL ? data->shift + from : NULL;
    const float *factor = data->factor != NULL ? data->factor + from : NULL;
    size_t at = row * s->n_features + from;
    if (s->x_kind == DROVE_X_U8) g->kernels->widen_u8_f32(to, s->x_u8 + at, shift, factor, n);
    else if (factor != NULL) g->kernels->affine_f32(to, s->x_f32 + at, shift, factor, n);
    else memcpy(to, s->x_f32 + at, n * sizeof *to);
}

static void turn_round(float *x, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        float left = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = left;
    }
}

/* A side of `size` with `pad` zeros at both ends.  Counts in the `crop` from `begin` on the zeros
 * before the image, and the numbers of the image, from *first on. */
static void cut(size_t size, size_t pad, size_t begin, size_t crop, size_t *n_zeros, size_t *first,
                size_t *n)
{
    size_t low = begin > pad ? begin : pad, high = begin + crop;
    if (high > pad + size) high = pad + size;
    *n = high > low ? high - low : 0;
    *n_zeros = *n > 0 ? low - begin : crop;
    *first = low - pad;
}

/* A whole image, coloured, scaled and rotated, in g->images; NULL: as it is stored. */
static const float *retouch(const drove_gather *g, const drove_data *data, size_t row,
                            const drove_window *w)
{
    const size_t n = data->storage->n_features;
    float *image = g->images;
    if (!w->is_coloured && !w->is_rotated) return NULL;
    if (w->is_coloured) {
        g->kernels->widen_u8_f32(image, data->storage->x_u8 + row * n, NULL, NULL, n);
        drove__augment_colour(&data->augment, w, image);
        if (data->factor != NULL)
            g->kernels->affine_f32(image, image, data->shift, data->factor, n);
    } else load_pixels(g, data, row, NULL, 0, n, image);
    if (!w->is_rotated) return image;
    drove__augment_rotate(&data->augment, w, image, image + n);
    return image + n;
}

/* One image through its window. */
static void load_window(const drove_gather *g, const drove_data *data, size_t row,
                        const drove_window *w, float *to)
{
    const drove_augment *a = &data->augment;
    const float *image = retouch(g, data, row, w);
    const size_t n = a->crop_width;
    size_t above, top, rows, before, left, columns;
    cut(a->height, a->pad, w->top, a->crop_height, &above, &top, &rows);
    cut(a->width, a->pad, w->left, n, &before, &left, &columns);
    for (size_t c = 0; c < a->channels; c++) {
        for (size_t y = 0; y < a->crop_height; y++, to += n) {
            if (y < above || y >= above + rows) {
                memset(to, 0, n * sizeof *to);
                continue;
            }
            size_t from = (c * a->height + top + y - above) * a->width + left;
            if (columns < n) memset(to, 0, n * sizeof *to);
            load_pixels(g, data, row, image, from, columns, to + before);
            if (w->is_mirrored) turn_round(to, n);
        }
    }
}

static void load_images(const drove_gather *g, const drove_batch *batch, bool is_training,
                        float *to)
{
    const drove_data *data = batch->data;
    const drove_storage *s = data->storage;
    const drove_augment *a = &data->augment;
    const bool is_u8 = s->x_kind == DROVE_X_U8;
    const void *x = is_u8 ? (const void *)s->x_u8 : (const void *)s->x_f32;
    const size_t row_bytes = s->n_features * (is_u8 ? 1 : sizeof(float));
    for (size_t i = 0; i < batch->n_rows; i++) {
        prefetch(batch, i + 1, x, row_bytes);
        drove_window w = is_training ? drove__augment_draw(a, batch->number, batch->row[i])
                                     : drove__augment_centre(a);
        load_window(g, data, drove__data_row(data, batch->row[i]), &w, to + i * g->n_features);
    }
}

void drove__gather_mix(drove_gather *g, const drove_batch *batch, drove_input *in,
                       drove_target *target)
{
    enum { CHUNK = 256 };
    const drove_augment *a = &batch->data->augment;
    const size_t n = g->n_features, n_rows = in->n_rows;
    if (!(a->mixup > 0.0f)) return;
    assert(in->dense == g->x);
    const float own = drove__augment_share(a, batch->number), rest = 1.0f - own;
    for (size_t i = 0; i < n_rows / 2; i++) {
        float *x = g->x + i * n, *y = g->x + (n_rows - 1 - i) * n, before[CHUNK];
        for (size_t at = 0, length; at < n; at += length) {
            length = n - at < CHUNK ? n - at : CHUNK;
            memcpy(before, x + at, length * sizeof *before);
            g->kernels->blend_f32(x + at, x + at, y + at, length, own, rest);
            g->kernels->blend_f32(y + at, y + at, before, length, own, rest);
        }
    }
    if (target == NULL || target->y_class == NULL) return;
    for (size_t i = 0; i < n_rows; i++) g->targets.y_other[i] = target->y_class[n_rows - 1 - i];
    target->y_other = g->targets.y_other;
    target->own_share = own;
}

/* ---- sparse and quantised examples ---- */

/* Packs the rows of *in, each value times its feature's factor, into the engine's own arrays. */
static drove_status scale_sparse(drove_gather *g, const drove_data *data, size_t n_pairs,
                                 drove_input *in)
{
    const drove_storage *s = data->storage;
    size_t to = 0;
    DROVE_TRY(reserve_pairs(g, n_pairs));
    for (size_t i = 0; i < in->n_rows; i++) {
        size_t begin = to;
        for (uint64_t at = g->first[i]; at < g->last[i]; at++, to++) {
            g->index[to] = s->index[at];
            g->value[to] = (s->value != NULL ? s->value[at] : 1.0f) * data->factor[s->index[at]];
        }
        g->first[i] = begin;
        g->last[i] = to;
    }
    in->index = g->index;
    in->value = g->value;
    return DROVE_OK;
}

static drove_status load_sparse(drove_gather *g, const drove_batch *batch, drove_input *in)
{
    const drove_data *data = batch->data;
    const drove_storage *s = data->storage;
    size_t n_pairs = 0;
    for (size_t i = 0; i < batch->n_rows; i++) {
        size_t row = drove__data_row(data, batch->row[i]);
        g->first[i] = s->row_start[row];
        g->last[i] = s->row_start[row + 1];
        n_pairs += (size_t)(g->last[i] - g->first[i]);
        __builtin_prefetch(s->index + g->first[i]);
        if (s->value != NULL) __builtin_prefetch(s->value + g->first[i]);
    }
    in->first = g->first;
    in->last = g->last;
    in->index = s->index;
    in->value = s->value;
    return data->factor != NULL ? scale_sparse(g, data, n_pairs, in) : DROVE_OK;
}

static void load_quantised(const drove_gather *g, const drove_batch *batch, float *to)
{
    const drove_quant *q = batch->data->storage->quant;
    for (size_t i = 1; i < PREFETCH_ROWS; i++) prefetch(batch, i, q->value, q->row_bytes);
    for (size_t i = 0; i < batch->n_rows; i++) {
        prefetch(batch, i + PREFETCH_ROWS, q->value, q->row_bytes);
        drove__quant_row(q, drove__data_row(batch->data, batch->row[i]), NULL,
                         to + i * g->n_features);
    }
}

/* Unpacks the rows of a batch into the engine's own arrays. */
static drove_status load_quantised_pairs(drove_gather *g, const drove_batch *batch, drove_input *in)
{
    const drove_quant *q = batch->data->storage->quant;
    size_t n_pairs = 0, to = 0;
    for (size_t i = 0; i < batch->n_rows; i++) {
        size_t row = drove__data_row(batch->data, batch->row[i]);
        n_pairs += (size_t)(q->row_start[row + 1] - q->row_start[row]);
    }
    DROVE_TRY(reserve_pairs(g, n_pairs));
    for (size_t i = 0; i < batch->n_rows; i++) {
        g->first[i] = to;
        to += drove__quant_row(q, drove__data_row(batch->data, batch->row[i]), g->index + to,
                               g->value + to);
        g->last[i] = to;
    }
    in->first = g->first;
    in->last = g->last;
    in->index = g->index;
    in->value = g->value;
    return DROVE_OK;
}

/* The examples of a dense batch, if they lie as a pass takes them; NULL: they need gathering. */
static const float *in_place(const drove_gather *g, const drove_batch *batch)
{
    const drove_data *data = batch->data;
    if (data->storage->x_kind != DROVE_X_F32 || data->factor != NULL) return NULL;
    if (drove__augment_is_on(&data->augment)) return NULL;
    const size_t first = drove__data_row(data, batch->row[0]);
    for (size_t i = 1; i < batch->n_rows; i++) /* one behind the other */
        if (drove__data_row(data, batch->row[i]) != first + i) return NULL;
    return data->storage->x_f32 + first * g->n_features;
}

static drove_status check_batch(const drove_gather *g, const drove_batch *batch)
{
    const size_t n_inputs = drove__data_n_inputs(batch->data);
    if (batch->n_rows == 0 || batch->n_rows > g->max_rows) {
        return drove__fail(DROVE_E_ARG, "batch of %zu examples: expected 1 to %zu", batch->n_rows,
                           g->max_rows);
    }
    if (n_inputs != g->n_features) {
        return drove__fail(DROVE_E_SHAPE, "the data have %zu features, the model takes %zu",
                           n_inputs, g->n_features);
    }
    return DROVE_OK;
}

bool drove__gather_has_bytes(const drove_data *data)
{
    return data->storage->x_kind == DROVE_X_U8 && !drove__augment_is_on(&data->augment);
}

drove_status drove__gather_bytes(const drove_gather *g, const drove_batch *batch, uint8_t *into)
{
    const size_t n = g->n_features;
    const uint8_t *x = batch->data->storage->x_u8;
    DROVE_TRY(check_batch(g, batch));
    for (size_t i = 1; i < PREFETCH_ROWS; i++) prefetch(batch, i, x, n);
    for (size_t i = 0; i < batch->n_rows; i++) {
        prefetch(batch, i + PREFETCH_ROWS, x, n);
        memcpy(into + i * n, x + drove__data_row(batch->data, batch->row[i]) * n, n);
    }
    return DROVE_OK;
}

drove_status drove__gather_load(drove_gather *g, const drove_batch *batch, bool is_training,
                                float *into, drove_input *in)
{
    const drove_storage *s = batch->data->storage;
    DROVE_TRY(check_batch(g, batch));
    *in = (drove_input){.n_rows = batch->n_rows};
    if (s->x_kind == DROVE_X_CSR) return load_sparse(g, batch, in);
    if (drove__storage_is_sparse(s)) return load_quantised_pairs(g, batch, in);
    if (into == NULL) {
        in->dense = in_place(g, batch);
        if (in->dense != NULL) return DROVE_OK;
        DROVE_TRY(reserve_dense(g));
        into = g->x;
    }
    if (is_training) DROVE_TRY(reserve_images(g, batch->data));
    if (drove__augment_is_on(&batch->data->augment)) load_images(g, batch, is_training, into);
    else if (s->x_kind == DROVE_X_U8) load_u8(g, batch, into);
    else if (s->x_kind == DROVE_X_F32) load_f32(g, batch, into);
    else load_quantised(g, batch, into);
    in->dense = into;
    return DROVE_OK;
}
