/* data/disk/blocks.c - memory for rows of a data set on disk, checks of rows that were read. */
#include "data/disk/blocks.h"

#include "base/mem.h"
#include "data/quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

double drove__blocks_bytes(const drove_blocks *b, double n_rows, double n_stored, double n_labels)
{
    const drove_storage *s = b->shape;
    const double n_features = (double)s->n_features;
    double bytes = 0;
    if (s->x_kind == DROVE_X_U8) bytes = n_rows * n_features;
    if (s->x_kind == DROVE_X_F32) bytes = n_rows * n_features * sizeof(float);
    if (s->x_kind == DROVE_X_CSR)
        bytes = n_rows * sizeof(uint64_t) + n_stored * (s->value != NULL ? 8.0 : 4.0);
    const drove_quant *q = s->quant;
    if (s->x_kind == DROVE_X_QUANT && q->index_bits == 0) bytes = n_rows * (double)q->row_bytes;
    if (s->x_kind == DROVE_X_QUANT && q->index_bits != 0)
        bytes = n_rows * sizeof *q->row_start +
                n_stored * (double)(drove__number_size(q->number) + q->index_bits / 8);
    if (s->y_kind == DROVE_Y_CLASS) bytes += n_rows * sizeof(int32_t);
    if (s->y_kind == DROVE_Y_VALUE)
        bytes += n_rows * (double)drove__storage_n_values(s) * sizeof(float);
    if (s->y_kind == DROVE_Y_LABELS)
        bytes += n_rows * sizeof(uint64_t) + n_labels * sizeof(uint32_t);
    return bytes + (s->weight != NULL ? n_rows * sizeof(float) : 0);
}

/* An array like that of another storage, or NULL. */
static drove_status copy_scale(const float *from, size_t n, float **out)
{
    if (from == NULL) return DROVE_OK;
    *out = drove__alloc(n, sizeof **out);
    if (*out == NULL) return drove__fail_nomem("scaling", n * sizeof **out);
    memcpy(*out, from, n * sizeof **out);
    return DROVE_OK;
}

static drove_status allocate_examples(const drove_storage *shape, size_t n_rows, uint64_t n_stored,
                                      drove_storage *s)
{
    size_t n;
    if (s->x_kind == DROVE_X_QUANT) {
        /* n_bridges and n_clamped are those of the whole file, n_stored is the room. */
        const drove_quant *like = shape->quant;
        drove_quant *q = s->quant = calloc(1, sizeof *q);
        if (q == NULL) return drove__fail_nomem("quantised data", sizeof *q);
        *q = *like;
        q->n_rows = n_rows;
        q->n_stored = n_stored;
        atomic_init(&q->n_users, 1);
        s->scaling = shape->scaling;
        DROVE_TRY(copy_scale(shape->shift, s->n_features, &s->shift));
        DROVE_TRY(copy_scale(shape->factor, s->n_features, &s->factor));
        if (q->index_bits == 0) {
            q->value = drove__alloc(n_rows, q->row_bytes);
            return q->value != NULL ? DROVE_OK
                                    : drove__fail_nomem("quantised data", n_rows * q->row_bytes);
        }
        q->row_start = drove__alloc(n_rows + 1, sizeof *q->row_start);
        q->value = drove__alloc((size_t)n_stored, drove__number_size(q->number));
        q->index = drove__alloc((size_t)n_stored, q->index_bits / 8);
        return q->row_start != NULL && q->value != NULL && q->index != NULL
                   ? DROVE_OK
                   : drove__fail_nomem("quantised data", (size_t)n_stored);
    }
    if (s->x_kind == DROVE_X_CSR) {
        s->row_start = calloc(n_rows + 1, sizeof *s->row_start);
        s->index = drove__grow(NULL, (size_t)n_stored, sizeof *s->index);
        if (shape->value != NULL) s->value = drove__grow(NULL, (size_t)n_stored, sizeof *s->value);
        if (s->row_start != NULL && s->index != NULL && (s->value != NULL || shape->value == NULL))
            return DROVE_OK;
        return drove__fail_nomem("sparse examples", (size_t)n_stored * sizeof *s->index);
    }
    if (__builtin_mul_overflow(n_rows, s->n_features, &n)) n = SIZE_MAX;
    if (s->x_kind == DROVE_X_U8) s->x_u8 = drove__alloc(n, sizeof *s->x_u8);
    else s->x_f32 = drove__alloc(n, sizeof *s->x_f32);
    return s->x_u8 != NULL || s->x_f32 != NULL ? DROVE_OK : drove__fail_nomem("examples", n);
}

drove_status drove__blocks_storage(const drove_blocks *b, size_t n_rows, uint64_t n_stored,
                                   uint64_t n_labels, drove_storage **out)
{
    drove_storage *s;
    *out = NULL;
    DROVE_TRY(drove__storage_create(&s));
    drove_status status = drove__storage_describe(b->shape, s);
    s->n_rows = n_rows;
    s->longest_row = b->shape->longest_row;
    if (status == DROVE_OK) status = allocate_examples(b->shape, n_rows, n_stored, s);
    if (status != DROVE_OK) goto end;
    const size_t n_values = n_rows * drove__storage_n_values(s);
    if (b->shape->weight != NULL) {
        s->weight = calloc(n_rows, sizeof *s->weight);
        if (s->weight == NULL) {
            status = drove__fail_nomem("weights", n_rows * sizeof *s->weight);
            goto end;
        }
    }
    if (s->y_kind == DROVE_Y_CLASS) {
        s->y_class = calloc(n_rows, sizeof *s->y_class);
        if (s->y_class == NULL) status = drove__fail_nomem("classes", n_rows * sizeof *s->y_class);
        goto end;
    }
    if (s->y_kind == DROVE_Y_VALUE) {
        s->y_value = calloc(n_values, sizeof *s->y_value);
        if (s->y_value == NULL) status = drove__fail_nomem("values", n_values * sizeof *s->y_value);
        goto end;
    }
    s->label_start = calloc(n_rows + 1, sizeof *s->label_start);
    s->label = drove__grow(NULL, (size_t)n_labels, sizeof *s->label);
    if (s->label_start == NULL)
        status = drove__fail_nomem("labels", (n_rows + 1) * sizeof *s->label_start);
    else if (s->label == NULL) status = drove__fail_nomem("labels", n_labels * sizeof *s->label);
end:
    if (status != DROVE_OK) {
        drove__storage_release(s);
        return status;
    }
    *out = s;
    return DROVE_OK;
}

/* ---- checks ---- */

static drove_status fail_row(const drove_blocks *b, size_t row, const char *what)
{
    return drove__fail(DROVE_E_DATA, "%s: row %zu: %s", b->path, row + 1, what);
}

static bool has_good_target(const drove_storage *s, size_t row)
{
    const size_t n_values = drove__storage_n_values(s);
    if (s->weight != NULL && !(isfinite(s->weight[row]) && s->weight[row] >= 0.0f)) return false;
    if (s->y_kind == DROVE_Y_VALUE)
        return drove__floats_are_finite(s->y_value + row * n_values, n_values);
    if (s->y_kind == DROVE_Y_CLASS)
        return s->y_class[row] >= 0 && (size_t)s->y_class[row] < s->n_classes;
    for (uint64_t k = s->label_start[row]; k < s->label_start[row + 1]; k++) {
        bool ascends = k == s->label_start[row] || s->label[k - 1] < s->label[k];
        if (!ascends || s->label[k] >= s->n_classes) return false;
    }
    return true;
}

drove_status drove__blocks_check_rows(const drove_blocks *b, const drove_storage *s, size_t first,
                                      size_t n, bool is_finite, drove_place_in *to)
{
    const drove_quant_span span = {
        .first = to->row, .n = n, .shown = first, .n_features = s->n_features, .where = b->path};
    if (s->x_kind == DROVE_X_QUANT) DROVE_TRY(drove__quant_check_rows(s->quant, &span));
    if (s->x_kind == DROVE_X_CSR) {
        const size_t n_features = s->n_features;
        for (size_t i = 0; i < n; i++) {
            uint64_t begin = s->row_start[to->row + i], end = s->row_start[to->row + i + 1];
            uint32_t bad = 0, last = 0;
            for (uint64_t k = begin; k < end; k++) {
                bad |= (uint32_t)(s->index[k] >= n_features) |
                       (uint32_t)(k > begin && s->index[k] <= last);
                last = s->index[k];
            }
            if (bad != 0)
                return fail_row(b, first + i, "feature numbers do not ascend, or are too large");
        }
    }
    if (!is_finite) {
        for (size_t i = 0; i < n; i++) {
            size_t row = to->row + i, length = s->n_features;
            const float *x = NULL;
            if (s->x_kind == DROVE_X_F32) x = s->x_f32 + row * length;
            if (s->x_kind == DROVE_X_CSR && s->value != NULL) {
                x = s->value + s->row_start[row];
                length = (size_t)(s->row_start[row + 1] - s->row_start[row]);
            }
            if (x != NULL && !drove__floats_are_finite(x, length))
                return fail_row(b, first + i, "expected finite numbers, found another");
        }
    }
    for (size_t i = 0; i < n; i++)
        if (!has_good_target(s, to->row + i))
            return fail_row(b, first + i, "its target or weight is out of range");
    to->row += n;
    if (s->x_kind == DROVE_X_CSR) to->stored = s->row_start[to->row];
    if (s->x_kind == DROVE_X_QUANT && s->quant->index_bits != 0)
        to->stored = s->quant->row_start[to->row];
    if (s->y_kind == DROVE_Y_LABELS) to->label = s->label_start[to->row];
    return DROVE_OK;
}
