/* data/disk/rows_write.c - writes a file of rows, block by block; the format is in
 * data/disk/rows_file.h. */
#include "data/disk/rows_file.h"

#include "base/file.h"
#include "base/mem.h"
#include "table/schema.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_BYTES = 1 << 20,
    BLOCK_ROWS_MOST = 1 << 16,
    PAGE = 4096,
    SECTOR = 512,
    PAGED_BLOCK = 64 << 10, /* blocks of so many bytes begin at a page */
    ENTRY_TEXT_SIZE = 120
};

typedef struct buffer { /* bytes of one array of the block that is being filled */
    char *bytes;
    size_t n, capacity;
} buffer;

struct drove_rows_writer {
    drove_writer *file;
    size_t block_bytes;
    uint64_t offset; /* in the file */
    bool has_shape;
    drove_storage like;       /* kinds and sizes of the first view; borrows its quantised rows */
    drove_rows_counts counts; /* rows: those of the blocks before this one */
    buffer part[DROVE_ROWS_SECTIONS];
    uint64_t n_rows, n_stored, n_labels; /* of the block */
    buffer list;                         /* text of the list of blocks, without brackets */
    drove_checksum *sum, *value_sum;
};

void drove__rows_abort(drove_rows_writer *w)
{
    if (w == NULL) return;
    drove__writer_abort(w->file);
    for (int i = 0; i < DROVE_ROWS_SECTIONS; i++) free(w->part[i].bytes);
    free(w->list.bytes);
    drove__checksum_end(w->sum);
    drove__checksum_end(w->value_sum);
    free(w);
}

drove_status drove__rows_create(const char *path, size_t block_bytes, drove_rows_writer **out)
{
    *out = NULL;
    drove_status status;
    drove_rows_writer *w = calloc(1, sizeof *w);
    if (w == NULL) return drove__fail_nomem(path, sizeof *w);
    w->block_bytes = block_bytes > 0 ? block_bytes : BLOCK_BYTES;
    w->offset = DROVE_ROWS_MAGIC_SIZE;
    if ((status = drove__checksum_begin(&w->sum)) != DROVE_OK) goto fail;
    if ((status = drove__checksum_begin(&w->value_sum)) != DROVE_OK) goto fail;
    if ((status = drove__writer_create(path, &w->file)) != DROVE_OK) goto fail;
    status = drove__writer_write(w->file, DROVE_ROWS_MAGIC, DROVE_ROWS_MAGIC_SIZE);
    if (status != DROVE_OK) goto fail;
    *out = w;
    return DROVE_OK;
fail:
    drove__rows_abort(w);
    return status;
}

/* ---- rows into the block ---- */

/* Room for size_bytes more; NULL: no memory. */
static void *extend(buffer *b, size_t size_bytes)
{
    if (b->capacity - b->n < size_bytes) {
        size_t wanted = 2 * (b->n + size_bytes) + 4096;
        char *bytes = realloc(b->bytes, wanted);
        if (bytes == NULL) return NULL;
        b->bytes = bytes;
        b->capacity = wanted;
    }
    b->n += size_bytes;
    return b->bytes + b->n - size_bytes;
}

static drove_status put(buffer *b, const void *bytes, size_t size_bytes)
{
    void *into = extend(b, size_bytes);
    if (into == NULL) return drove__fail_nomem("a block of rows", b->n + size_bytes);
    if (size_bytes > 0) memcpy(into, bytes, size_bytes);
    return DROVE_OK;
}

static drove_status put_sparse(drove_rows_writer *w, const drove_storage *s, size_t row)
{
    const uint64_t first = s->row_start[row], n = s->row_start[row + 1] - first;
    DROVE_TRY(put(&w->part[DROVE_ROWS_START], &w->n_stored, sizeof w->n_stored));
    DROVE_TRY(put(&w->part[DROVE_ROWS_INDEX], s->index + first, (size_t)n * sizeof *s->index));
    float *value = extend(&w->part[DROVE_ROWS_VALUE], (size_t)n * sizeof *value);
    if (value == NULL) return drove__fail_nomem("a block of rows", (size_t)n * sizeof *value);
    if (s->value != NULL && n > 0) memcpy(value, s->value + first, (size_t)n * sizeof *value);
    for (uint64_t i = 0; i < n; i++) {
        if (s->value == NULL) value[i] = 1.0f;
        w->counts.has_values = w->counts.has_values || value[i] != 1.0f;
    }
    w->n_stored += n;
    if (n > w->counts.longest_row) w->counts.longest_row = n;
    return DROVE_OK;
}

static drove_status put_quantised(drove_rows_writer *w, const drove_quant *q, size_t row)
{
    const char *value = q->value, *index = q->index;
    if (q->index_bits == 0)
        return put(&w->part[DROVE_ROWS_X], value + row * q->row_bytes, q->row_bytes);
    const size_t size_bytes = drove__number_size(q->number), index_bytes = q->index_bits / 8;
    const size_t first = (size_t)q->row_start[row], n = (size_t)q->row_start[row + 1] - first;
    DROVE_TRY(put(&w->part[DROVE_ROWS_START], &w->n_stored, sizeof w->n_stored));
    DROVE_TRY(put(&w->part[DROVE_ROWS_INDEX], index + first * index_bytes, n * index_bytes));
    DROVE_TRY(put(&w->part[DROVE_ROWS_VALUE], value + first * size_bytes, n * size_bytes));
    w->n_stored += n;
    if (n > w->counts.longest_row) w->counts.longest_row = n;
    return DROVE_OK;
}

static drove_status put_target(drove_rows_writer *w, const drove_storage *s, size_t row,
                               const uint32_t *map)
{
    buffer *to = &w->part[DROVE_ROWS_TARGET];
    const size_t n_values = drove__storage_n_values(s);
    if (s->y_kind == DROVE_Y_VALUE)
        return put(to, s->y_value + row * n_values, n_values * sizeof *s->y_value);
    if (s->y_kind == DROVE_Y_CLASS) {
        int32_t class = map != NULL ? (int32_t)map[s->y_class[row]] : s->y_class[row];
        return put(to, &class, sizeof class);
    }
    DROVE_TRY(put(to, &w->n_labels, sizeof w->n_labels));
    for (uint64_t k = s->label_start[row]; k < s->label_start[row + 1]; k++, w->n_labels++) {
        uint32_t label = map != NULL ? map[s->label[k]] : s->label[k];
        DROVE_TRY(put(&w->part[DROVE_ROWS_LABEL], &label, sizeof label));
    }
    return DROVE_OK;
}

/* ---- blocks ---- */

/* Zeros up to a multiple of `to`. */
static drove_status pad(drove_rows_writer *w, size_t to)
{
    static const char zeros[PAGE];
    const size_t padding = (to - w->offset % to) % to;
    w->offset += padding;
    return padding > 0 ? drove__writer_write(w->file, zeros, padding) : DROVE_OK;
}

static drove_status end_block(drove_rows_writer *w)
{
    if (drove__rows_are_sparse(&w->like))
        DROVE_TRY(put(&w->part[DROVE_ROWS_START], &w->n_stored, sizeof w->n_stored));
    if (w->like.y_kind == DROVE_Y_LABELS)
        DROVE_TRY(put(&w->part[DROVE_ROWS_TARGET], &w->n_labels, sizeof w->n_labels));

    /* Reads around the system's cache begin at a page. */
    DROVE_TRY(pad(w, w->block_bytes >= PAGED_BLOCK ? PAGE : DROVE_ROWS_ALIGNMENT));
    const uint64_t offset = w->offset;
    drove__checksum_reset(w->sum);
    drove__checksum_reset(w->value_sum);
    for (int i = 0; i < DROVE_ROWS_SECTIONS; i++) {
        buffer *part = &w->part[i];
        if (part->n == 0) continue;
        drove__checksum_add(i == DROVE_ROWS_VALUE ? w->value_sum : w->sum, part->bytes, part->n);
        DROVE_TRY(drove__writer_write(w->file, part->bytes, part->n));
        w->offset += part->n;
        DROVE_TRY(pad(w, DROVE_ROWS_ALIGNMENT));
        part->n = 0;
    }

    char entry[ENTRY_TEXT_SIZE];
    int n = snprintf(entry, sizeof entry, "%s[%llu,%llu,%llu,\"%016llx\",\"%016llx\"]",
                     w->list.n > 0 ? "," : "", (unsigned long long)offset,
                     (unsigned long long)w->n_stored, (unsigned long long)w->n_labels,
                     (unsigned long long)drove__checksum_value(w->sum),
                     (unsigned long long)drove__checksum_value(w->value_sum));
    DROVE_TRY(put(&w->list, entry, (size_t)n));
    w->counts.n_rows += w->n_rows;
    w->n_rows = w->n_stored = w->n_labels = 0;
    return DROVE_OK;
}

/* By the first view: which arrays there are, and how many rows a block has. */
static void settle(drove_rows_writer *w, const drove_data *view, const drove_quant *q)
{
    const drove_storage *s = view->storage;
    w->like = (drove_storage){.x_kind = q != NULL ? DROVE_X_QUANT : s->x_kind,
                              .y_kind = s->y_kind,
                              .n_values = s->n_values,
                              .n_features = s->n_features,
                              .quant = (drove_quant *)q,
                              .weight = s->weight};
    const bool is_sparse = drove__rows_are_sparse(&w->like);
    double per_row = (double)s->n_features * (s->x_kind == DROVE_X_U8 ? 1 : sizeof(float));
    if (q != NULL) per_row = (double)q->row_bytes;
    if (is_sparse) {
        drove_data_facts facts;
        drove_data_describe(view, &facts);
        const double n_stored = q != NULL ? (double)q->n_stored : (double)facts.n_stored;
        const size_t pair = q != NULL ? drove__number_size(q->number) + q->index_bits / 8 : 8;
        per_row = 16 + (double)pair * n_stored / (double)view->n_rows;
    }
    double rows = (double)w->block_bytes / (per_row + sizeof(float));
    w->counts.block_rows = rows < 1 ? 1 : rows > BLOCK_ROWS_MOST ? BLOCK_ROWS_MOST : (size_t)rows;
    w->counts.has_weights = s->weight != NULL;
    /* Rather fewer dense rows, so that they fill pages or sectors and are read without a copy. */
    for (size_t to = PAGE; !is_sparse && w->block_bytes >= PAGED_BLOCK && to >= SECTOR; to /= 8) {
        size_t n = 1;
        while (n * (size_t)per_row % to != 0) n *= 2;
        if (2 * n > w->counts.block_rows) continue;
        w->counts.block_rows -= w->counts.block_rows % n;
        break;
    }
    w->has_shape = true;
}

drove_status drove__rows_append(drove_rows_writer *w, const drove_data *view, const drove_quant *q,
                                const uint32_t *map)
{
    const drove_storage *s = view->storage;
    const size_t n = s->n_features;
    const drove_x_kind kind = q != NULL ? DROVE_X_QUANT : s->x_kind;
    assert(q != NULL || s->x_kind != DROVE_X_QUANT);
    if (!w->has_shape) settle(w, view, q);
    if (kind != w->like.x_kind || s->y_kind != w->like.y_kind ||
        (s->weight == NULL) != (w->like.weight == NULL))
        return drove__fail(DROVE_E_SHAPE, "rows: expected %s rows as before, found %s",
                           drove__target_name(w->like.y_kind), drove__target_name(s->y_kind));
    for (size_t i = 0; i < view->n_rows; i++) {
        const size_t row = drove__data_row(view, i);
        buffer *x = &w->part[DROVE_ROWS_X];
        switch (kind) {
        case DROVE_X_U8: DROVE_TRY(put(x, s->x_u8 + row * n, n)); break;
        case DROVE_X_F32: DROVE_TRY(put(x, s->x_f32 + row * n, n * sizeof *s->x_f32)); break;
        case DROVE_X_CSR: DROVE_TRY(put_sparse(w, s, row)); break;
        case DROVE_X_QUANT: DROVE_TRY(put_quantised(w, q, i)); break;
        }
        if (s->weight != NULL)
            DROVE_TRY(put(&w->part[DROVE_ROWS_WEIGHT], s->weight + row, sizeof *s->weight));
        DROVE_TRY(put_target(w, s, row, map));
        w->n_rows++;
        if (w->n_rows == w->counts.block_rows) DROVE_TRY(end_block(w));
    }
    return DROVE_OK;
}

/* ---- the end ---- */

/* The text of the description, which takes the list of blocks over. */
static drove_status put_description(drove_rows_writer *w, const drove_rows_end *end)
{
    static const char key[] = ",\"blocks\":[";
    char *schema = NULL;
    if (end->shape->schema != NULL) DROVE_TRY(drove__schema_to_json(end->shape->schema, &schema));
    json_t *description = drove__rows_describe(end, &w->counts, schema);
    char *rest = description != NULL ? drove__json_dump(description, JSON_COMPACT) : NULL;
    json_decref(description);
    free(schema);
    if (rest == NULL) return drove__fail_nomem("the description of rows", 1);
    const size_t n = strlen(rest) - 1, n_key = sizeof key - 1, n_list = w->list.n; /* no brace */
    char *text = extend(&w->list, n + n_key + 2) != NULL ? w->list.bytes : NULL;
    if (text != NULL) {
        memmove(text + n + n_key, text, n_list);
        memcpy(text, rest, n);
        memcpy(text + n, key, n_key);
        memcpy(text + n + n_key + n_list, "]}", 2);
    }
    free(rest);
    return text != NULL ? DROVE_OK : drove__fail_nomem("the description of rows", n + n_list);
}

drove_status drove__rows_commit(drove_rows_writer *w, const drove_rows_end *end)
{
    drove_status status = w->n_rows > 0 ? end_block(w) : DROVE_OK;
    if (status != DROVE_OK) goto end;
    if (w->counts.n_rows == 0) {
        status = drove__fail(DROVE_E_DATA, "rows: expected at least one row, found none");
        goto end;
    }
    if ((status = put_description(w, end)) != DROVE_OK) goto end;
    const buffer *text = &w->list;
    const uint64_t facts[3] = {w->offset, text->n, drove__checksum(text->bytes, text->n)};
    if ((status = drove__writer_write(w->file, text->bytes, text->n)) != DROVE_OK) goto end;
    if ((status = drove__writer_write(w->file, facts, sizeof facts)) != DROVE_OK) goto end;
    status = drove__writer_write(w->file, DROVE_ROWS_MAGIC, DROVE_ROWS_MAGIC_SIZE);
    if (status != DROVE_OK) goto end;
    drove_writer *file = w->file;
    w->file = NULL;
    status = drove__writer_commit(file);
end:
    drove__rows_abort(w);
    return status;
}
