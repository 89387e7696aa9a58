/* data/storage.c - creates, releases and checks the memory of a data set, and knows the rows of a
 * shard. */
#include "data/data.h"

#include "base/mem.h"
#include "base/rng.h"
#include "data/quant.h"
#include "table/content.h"
#include "table/schema.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

drove_status drove__storage_create(drove_storage **out)
{
    *out = NULL;
    drove_storage *storage = calloc(1, sizeof *storage);
    if (storage == NULL) return drove__fail_nomem("data set", sizeof *storage);
    atomic_init(&storage->n_views, 1);
    storage->index_base = -1;
    *out = storage;
    return DROVE_OK;
}

void drove__storage_release(drove_storage *storage)
{
    if (storage == NULL) return;
    /* Release: this view's reads are done.  Acquire, by the last view: so are all others' reads. */
    if (atomic_fetch_sub_explicit(&storage->n_views, 1, memory_order_acq_rel) > 1) return;
    if (storage->arrays != NULL) {
        drove__named_release(storage->arrays);
    } else {
        drove__free(storage->x_u8);
        drove__free(storage->x_f32);
        free(storage->row_start);
        free(storage->index);
        free(storage->value);
    }
    free(storage->x_origin);
    free(storage->y_origin);
    drove__quant_release(storage->quant);
    drove__free(storage->shift);
    drove__free(storage->factor);
    free(storage->y_class);
    free(storage->y_value);
    free(storage->label_start);
    free(storage->label);
    free(storage->unseen.is_row);
    free(storage->parting.group);
    free(storage->parting.hash);
    free(storage->row_names);
    free(storage->row_name_at);
    drove__texts_free(storage->kept_name, storage->n_kept);
    free(storage->weight);
    drove__texts_free(storage->class_name, drove__storage_n_names(storage));
    drove__schema_release(storage->schema);
    free(storage);
}

void drove__storage_note(drove_storage *storage, const char *format, ...)
{
    char text[sizeof storage->notes];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n < 0) return;
    size_t used = strlen(storage->notes);
    snprintf(storage->notes + used, sizeof storage->notes - used, "%s%s", used > 0 ? "; " : "",
             text);
}

void drove__storage_note_rounded(drove_storage *storage, uint64_t n)
{
    if (n == 0) return;
    drove__storage_note(storage,
                        "%llu number%s above 16777216 %s digits as floats: subtract what they have "
                        "in common first (of a table, table:FILE, that is done)",
                        (unsigned long long)n, n == 1 ? "" : "s", n == 1 ? "loses" : "lose");
}

const char *drove__class_text(const drove_storage *storage, size_t class,
                              char number[DROVE_CLASS_TEXT_SIZE])
{
    if (storage->class_name != NULL) return storage->class_name[class];
    snprintf(number, DROVE_CLASS_TEXT_SIZE, "%zu", class);
    return number;
}

const char *drove__storage_name(const drove_storage *storage)
{
    if (storage->x_kind == DROVE_X_U8) return "u8";
    if (storage->x_kind == DROVE_X_F32) return "f32";
    if (storage->x_kind == DROVE_X_QUANT)
        return drove__quant_name(storage->quant->number, storage->quant->index_bits);
    return storage->value != NULL ? "sparse f32" : "sparse ones";
}

const char *drove__target_name(drove_y_kind kind)
{
    static const char *const names[] = {"class", "value", "labels"};
    return names[kind];
}

bool drove__storage_is_sparse(const drove_storage *storage)
{
    if (storage->x_kind == DROVE_X_QUANT) return storage->quant->index_bits != 0;
    return storage->x_kind == DROVE_X_CSR;
}

drove_status drove__storage_set_unlabelled(drove_storage *s)
{
    s->y_kind = DROVE_Y_CLASS;
    s->n_classes = 1;
    s->y_class = calloc(s->n_rows > 0 ? s->n_rows : 1, sizeof *s->y_class);
    return s->y_class != NULL ? DROVE_OK
                              : drove__fail_nomem("labels", s->n_rows * sizeof *s->y_class);
}

/* ---- shards ---- */

/* In each group of n rows the parts are rotated at random. */
uint64_t drove__shard_row(const drove_shard *s, uint64_t i)
{
    if (!drove__shard_is_part(s)) return i;
    drove_rng rng;
    drove__rng_seed(&rng, s->seed, DROVE_RNG_SHARD, i);
    const uint64_t rotation = drove__rng_below(&rng, s->n);
    return i * s->n + (s->index + rotation) % s->n;
}

bool drove__shard_has(const drove_shard *s, uint64_t row)
{
    return !drove__shard_is_part(s) || drove__shard_row(s, row / s->n) == row;
}

drove_status drove__reserve(void *memory, size_t *capacity, size_t needed, size_t size_bytes)
{
    if (needed <= *capacity) return DROVE_OK;
    size_t count = needed + needed / 2 + 64;
    void *old;
    memcpy(&old, memory, sizeof old);
    void *grown = drove__grow(old, count, size_bytes);
    if (grown == NULL) return drove__fail_nomem("data set", count * size_bytes);
    memcpy(memory, &grown, sizeof grown);
    *capacity = count;
    return DROVE_OK;
}

drove_status drove__storage_check_shard(const drove_shard *shard, size_t n_rows, const char *where)
{
    if (drove__shard_size(shard, n_rows) > 0 || !drove__shard_is_part(shard)) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "%s: expected at least as many training examples as workers with their own "
                       "part, %llu, found %zu",
                       where, (unsigned long long)shard->n, n_rows);
}

/* Rows of a part ascend, so nothing is overwritten before it is read. */
void drove__storage_keep_targets(drove_storage *s, const drove_shard *shard)
{
    if (!drove__shard_is_part(shard)) return;
    size_t n = drove__shard_size(shard, s->n_rows), n_values = drove__storage_n_values(s);
    uint64_t n_labels = 0;
    for (size_t i = 0; i < n; i++) {
        size_t row = (size_t)drove__shard_row(shard, i);
        if (s->weight != NULL) s->weight[i] = s->weight[row];
        if (s->y_kind == DROVE_Y_CLASS) s->y_class[i] = s->y_class[row];
        if (s->y_kind == DROVE_Y_VALUE)
            memmove(s->y_value + i * n_values, s->y_value + row * n_values,
                    n_values * sizeof *s->y_value);
        if (s->y_kind != DROVE_Y_LABELS) continue;
        uint64_t first = s->label_start[row], end = s->label_start[row + 1];
        memmove(s->label + n_labels, s->label + first, (size_t)(end - first) * sizeof *s->label);
        s->label_start[i] = n_labels;
        n_labels += end - first;
    }
    if (s->y_kind == DROVE_Y_LABELS) s->label_start[n] = n_labels;
    s->n_rows_whole = s->n_rows;
    s->n_rows = n;
}

/* ---- checks ---- */

/* By the bits of the exponent, in integers, because that vectorises. */
bool drove__floats_are_finite(const float *x, size_t n)
{
    /* An exponent of ones, and no other, carries into the highest bit. */
    const uint32_t exponent = 0x7f800000u, one = 0x00800000u;
    uint32_t carried = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        carried |= (bits & exponent) + one;
    }
    return carried >> 31 == 0;
}

/* Position of the first number that is not finite, or n. */
static size_t first_not_finite(const float *value, size_t n)
{
    enum { BLOCK = 1024 };
    size_t i = 0;
    while (n - i >= BLOCK && drove__floats_are_finite(value + i, BLOCK)) i += BLOCK;
    while (i < n && isfinite(value[i])) i++;
    return i;
}

static drove_status check_x(const drove_storage *s, const char *where)
{
    if (s->x_kind == DROVE_X_CSR) {
        for (size_t row = 0; row < s->n_rows; row++) {
            for (uint64_t k = s->row_start[row]; k < s->row_start[row + 1]; k++) {
                if (s->index[k] >= s->n_features) {
                    return drove__fail(DROVE_E_DATA, "%s: row %zu: feature %u is not below %zu",
                                       where, row + 1, s->index[k], s->n_features);
                }
                if (k > s->row_start[row] && s->index[k] <= s->index[k - 1]) {
                    return drove__fail(DROVE_E_DATA, "%s: row %zu: feature numbers do not ascend",
                                       where, row + 1);
                }
            }
        }
        size_t n_stored = s->row_start[s->n_rows];
        if (s->value != NULL && first_not_finite(s->value, n_stored) < n_stored) {
            return drove__fail(DROVE_E_DATA, "%s: a value is not finite", where);
        }
        return DROVE_OK;
    }
    if (s->x_kind == DROVE_X_U8) return DROVE_OK;
    if (s->x_kind == DROVE_X_QUANT) return drove__quant_check(s->quant, s->n_features, where);
    size_t n = s->n_rows * s->n_features;
    size_t bad = first_not_finite(s->x_f32, n);
    if (bad == n) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: row %zu, feature %zu: expected a finite number, found %g",
                       where, bad / s->n_features + 1, bad % s->n_features + 1,
                       (double)s->x_f32[bad]);
}

static drove_status check_y(const drove_storage *s, const char *where)
{
    if (s->y_kind == DROVE_Y_VALUE) {
        size_t n_values = drove__storage_n_values(s), n = s->n_rows * n_values;
        size_t bad = first_not_finite(s->y_value, n);
        if (bad == n) return DROVE_OK;
        return drove__fail(DROVE_E_DATA, "%s: row %zu: expected a finite target, found %g", where,
                           bad / n_values + 1, (double)s->y_value[bad]);
    }
    if (s->y_kind == DROVE_Y_CLASS) {
        for (size_t row = 0; row < s->n_rows; row++) {
            if (s->y_class[row] >= 0 && (size_t)s->y_class[row] < s->n_classes) continue;
            return drove__fail(DROVE_E_DATA, "%s: row %zu: expected a class below %zu, found %d",
                               where, row + 1, s->n_classes, (int)s->y_class[row]);
        }
        return DROVE_OK;
    }
    for (size_t row = 0; row < s->n_rows; row++) {
        for (uint64_t k = s->label_start[row]; k < s->label_start[row + 1]; k++) {
            if (s->label[k] < s->n_classes &&
                (k == s->label_start[row] || s->label[k - 1] < s->label[k]))
                continue;
            return drove__fail(DROVE_E_DATA, "%s: row %zu: label %u is repeated or not below %zu",
                               where, row + 1, s->label[k], s->n_classes);
        }
    }
    return DROVE_OK;
}

drove_status drove__storage_check_description(const drove_storage *storage, const char *where)
{
    if (storage->n_rows == 0) return drove__fail(DROVE_E_DATA, "%s: holds no example", where);
    if (storage->n_rows > UINT32_MAX) {
        return drove__fail(DROVE_E_DATA, "%s: expected at most %u rows, found %zu", where,
                           UINT32_MAX, storage->n_rows);
    }
    if (storage->n_features == 0)
        return drove__fail(DROVE_E_DATA, "%s: its examples have no feature", where);
    /* A model file holds the names, and is UTF-8. */
    const size_t n_names = storage->class_name != NULL ? drove__storage_n_names(storage) : 0;
    for (size_t i = 0; i < n_names; i++) {
        const char *name = storage->class_name[i];
        if (drove__is_utf8(name, strlen(name))) continue;
        return drove__fail(DROVE_E_DATA, "%s: expected names of classes in UTF-8, found \"%.60s\"",
                           where, name);
    }
    return DROVE_OK;
}

drove_status drove__storage_check(const drove_storage *storage, const char *where)
{
    DROVE_TRY(drove__storage_check_description(storage, where));
    DROVE_TRY(check_x(storage, where));
    if (storage->weight != NULL) {
        for (size_t row = 0; row < storage->n_rows; row++) {
            if (isfinite(storage->weight[row]) && storage->weight[row] >= 0.0f) continue;
            return drove__fail(
                DROVE_E_DATA,
                "%s: row %zu: expected a finite weight that is not negative, found %g", where,
                row + 1, (double)storage->weight[row]);
        }
    }
    return check_y(storage, where);
}
