/* data/disk/rows_write.c - writes rows:FILE, block by block; the format is in
 * data/disk/rows_file.h. */
#include "data/disk/rows_file.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "data/export.h"
#include "table/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_BYTES = 1 << 20,
    BLOCK_ROWS_MOST = 1 << 16,
    ALIGNMENT = 64,
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
    drove_storage like; /* kinds and sizes of the first view; owns nothing */
    size_t block_rows;
    buffer part[DROVE_ROWS_SECTIONS];
    uint64_t n_rows, n_stored, n_labels; /* of the block */
    uint64_t n_written;                  /* rows of the blocks before it */
    bool has_values;                     /* some value is not 1 */
    buffer list;                         /* text of the list of blocks, without brackets */
    drove_checksum *sum, *value_sum;
};

bool drove__rows_lay_out(const drove_storage *s, uint64_t n_rows, uint64_t n_stored,
                         uint64_t n_labels, drove_rows_layout *out)
{
    const bool is_sparse = s->x_kind == DROVE_X_CSR, has_lists = s->y_kind == DROVE_Y_LABELS;
    const uint64_t each = s->y_kind == DROVE_Y_VALUE ? drove__storage_n_values(s) : 1;
    const uint64_t count[DROVE_ROWS_SECTIONS] = {
        is_sparse ? 0 : n_rows,
        is_sparse ? n_rows + 1 : 0,
        n_stored,
        n_stored,
        has_lists ? n_rows + 1 : n_rows,
        n_labels,
        s->weight != NULL ? n_rows : 0,
    };
    const uint64_t size[DROVE_ROWS_SECTIONS] = {
        s->x_kind == DROVE_X_U8 ? s->n_features : s->n_features * sizeof(float),
        sizeof(uint64_t),
        sizeof(uint32_t),
        sizeof(float),
        has_lists ? sizeof(uint64_t) : each * sizeof(float),
        sizeof(uint32_t),
        sizeof(float),
    };
    *out = (drove_rows_layout){0};
    for (int i = 0; i < DROVE_ROWS_SECTIONS; i++) {
        uint64_t bytes;
        if (__builtin_mul_overflow(count[i], size[i], &bytes) || bytes > INT64_MAX / 16)
            return false;
        out->at[i] = out->size_bytes;
        out->bytes[i] = bytes;
        out->size_bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return out->size_bytes <= INT64_MAX / 2;
}

drove_status drove__rows_create(const char *path, size_t block_bytes, drove_rows_writer **out)
{
    *out = NULL;
    drove_rows_writer *w = calloc(1, sizeof *w);
    if (w == NULL) return drove__fail_nomem(path, sizeof *w);
    w->block_bytes = block_bytes > 0 ? block_bytes : BLOCK_BYTES;
    drove_status status = drove__checksum_begin(&w->sum);
    if (status == DROVE_OK) status = drove__checksum_begin(&w->value_sum);
    if (status == DROVE_OK) status = drove__writer_create(path, &w->file);
    if (status == DROVE_OK)
        status = drove__writer_write(w->file, DROVE_ROWS_MAGIC, DROVE_ROWS_MAGIC_SIZE);
    if (status != DROVE_OK) {
        drove__rows_abort(w);
        return status;
    }
    w->offset = DROVE_ROWS_MAGIC_SIZE;
    *out = w;
    return DROVE_OK;
}

static void free_writer(drove_rows_writer *w)
{
    for (int i = 0; i < DROVE_ROWS_SECTIONS; i++) free(w->part[i].bytes);
    free(w->list.bytes);
    drove__checksum_end(w->sum);
    drove__checksum_end(w->value_sum);
    free(w);
}

void drove__rows_abort(drove_rows_writer *w)
{
    if (w == NULL) return;
    drove__writer_abort(w->file);
    free_writer(w);
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
        w->has_values = w->has_values || value[i] != 1.0f;
    }
    w->n_stored += n;
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

static drove_status put_row(drove_rows_writer *w, const drove_storage *s, size_t row,
                            const uint32_t *map)
{
    const size_t n = s->n_features;
    if (s->x_kind == DROVE_X_CSR) DROVE_TRY(put_sparse(w, s, row));
    if (s->x_kind == DROVE_X_U8) DROVE_TRY(put(&w->part[DROVE_ROWS_X], s->x_u8 + row * n, n));
    if (s->x_kind == DROVE_X_F32)
        DROVE_TRY(put(&w->part[DROVE_ROWS_X], s->x_f32 + row * n, n * sizeof *s->x_f32));
    if (s->weight != NULL)
        DROVE_TRY(put(&w->part[DROVE_ROWS_WEIGHT], s->weight + row, sizeof *s->weight));
    DROVE_TRY(put_target(w, s, row, map));
    w->n_rows++;
    return DROVE_OK;
}

/* ---- blocks ---- */

static drove_status write_padded(drove_rows_writer *w, const void *bytes, size_t size_bytes)
{
    static const char zeros[ALIGNMENT];
    size_t padding = (ALIGNMENT - size_bytes % ALIGNMENT) % ALIGNMENT;
    if (size_bytes > 0) DROVE_TRY(drove__writer_write(w->file, bytes, size_bytes));
    w->offset += size_bytes + padding;
    return drove__writer_write(w->file, zeros, padding);
}

/* Before a block: reads around the system's cache begin at a page. */
static drove_status pad_block(drove_rows_writer *w)
{
    static const char zeros[PAGE];
    const size_t to = w->block_bytes >= PAGED_BLOCK ? PAGE : ALIGNMENT;
    const size_t padding = (to - w->offset % to) % to;
    w->offset += padding;
    return padding > 0 ? drove__writer_write(w->file, zeros, padding) : DROVE_OK;
}

static drove_status put_entry(drove_rows_writer *w, uint64_t offset)
{
    char text[ENTRY_TEXT_SIZE];
    int n = snprintf(text, sizeof text, "%s[%llu,%llu,%llu,\"%016llx\",\"%016llx\"]",
                     w->list.n > 0 ? "," : "", (unsigned long long)offset,
                     (unsigned long long)w->n_stored, (unsigned long long)w->n_labels,
                     (unsigned long long)drove__checksum_value(w->sum),
                     (unsigned long long)drove__checksum_value(w->value_sum));
    return put(&w->list, text, (size_t)n);
}

static drove_status end_block(drove_rows_writer *w)
{
    if (w->like.x_kind == DROVE_X_CSR)
        DROVE_TRY(put(&w->part[DROVE_ROWS_START], &w->n_stored, sizeof w->n_stored));
    if (w->like.y_kind == DROVE_Y_LABELS)
        DROVE_TRY(put(&w->part[DROVE_ROWS_TARGET], &w->n_labels, sizeof w->n_labels));
    DROVE_TRY(pad_block(w));
    const uint64_t offset = w->offset;
    drove__checksum_reset(w->sum);
    drove__checksum_reset(w->value_sum);
    for (int i = 0; i < DROVE_ROWS_SECTIONS; i++) {
        const buffer *part = &w->part[i];
        drove_checksum *sum = i == DROVE_ROWS_VALUE ? w->value_sum : w->sum;
        if (part->n > 0) drove__checksum_add(sum, part->bytes, part->n);
        if (part->n > 0) DROVE_TRY(write_padded(w, part->bytes, part->n));
        w->part[i].n = 0;
    }
    DROVE_TRY(put_entry(w, offset));
    w->n_written += w->n_rows;
    w->n_rows = w->n_stored = w->n_labels = 0;
    return DROVE_OK;
}

/* Rather fewer dense rows, so that they fill pages or sectors and are read without a copy. */
static size_t round_rows(size_t rows, size_t row_bytes)
{
    for (size_t to = PAGE; to >= SECTOR; to /= 8) {
        size_t n = 1;
        while (n * row_bytes % to != 0) n *= 2;
        if (2 * n <= rows) return rows / n * n;
    }
    return rows;
}

/* By the first view: which arrays there are, and how many rows a block has. */
static void settle(drove_rows_writer *w, const drove_data *view)
{
    const drove_storage *s = view->storage;
    drove_data_facts facts;
    drove_data_describe(view, &facts);
    double per_row = (double)s->n_features * (s->x_kind == DROVE_X_U8 ? 1 : sizeof(float));
    if (s->x_kind == DROVE_X_CSR)
        per_row = 16 + 8.0 * (double)facts.n_stored / (double)view->n_rows;
    double rows = (double)w->block_bytes / (per_row + sizeof(float));
    w->block_rows = rows < 1 ? 1 : rows > BLOCK_ROWS_MOST ? BLOCK_ROWS_MOST : (size_t)rows;
    if (s->x_kind != DROVE_X_CSR && w->block_bytes >= PAGED_BLOCK)
        w->block_rows = round_rows(w->block_rows, (size_t)per_row);
    w->like = (drove_storage){.x_kind = s->x_kind,
                              .y_kind = s->y_kind,
                              .n_values = s->n_values,
                              .n_features = s->n_features,
                              .weight = s->weight};
    w->has_shape = true;
}

drove_status drove__rows_append(drove_rows_writer *w, const drove_data *view, const uint32_t *map)
{
    const drove_storage *s = view->storage;
    if (s->x_kind == DROVE_X_QUANT)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "rows: expected data that are not quantised (quant:FILE holds those)");
    if (!w->has_shape) settle(w, view);
    if (s->x_kind != w->like.x_kind || s->y_kind != w->like.y_kind ||
        (s->weight == NULL) != (w->like.weight == NULL))
        return drove__fail(DROVE_E_SHAPE, "rows: expected %s rows as before, found %s",
                           drove__target_name(w->like.y_kind), drove__target_name(s->y_kind));
    for (size_t i = 0; i < view->n_rows; i++) {
        DROVE_TRY(put_row(w, s, drove__data_row(view, i), map));
        if (w->n_rows == w->block_rows) DROVE_TRY(end_block(w));
    }
    return DROVE_OK;
}

/* ---- the description ---- */

static json_t *names_as_json(const drove_storage *s)
{
    json_t *names = json_array();
    for (size_t i = 0; i < drove__storage_n_names(s); i++)
        drove__json_add(&names, json_string(s->class_name[i]));
    return names;
}

static json_t *numbers_as_json(const double *number, size_t n)
{
    json_t *numbers = json_array();
    for (size_t i = 0; i < n; i++) drove__json_add(&numbers, json_real(number[i]));
    return numbers;
}

static json_t *describe(const drove_rows_writer *w, const drove_rows_end *end, const char *schema)
{
    static const char *const kinds[] = {"u8", "f32", "sparse", "quant"};
    const drove_storage *s = end->shape;
    json_t *o = json_object();
    const struct {
        const char *key;
        size_t n;
    } counts[] = {{"rows", (size_t)w->n_written},
                  {"features", s->n_features},
                  {"block_rows", w->block_rows},
                  {"classes", s->n_classes},
                  {"values_per_row", s->n_values},
                  {"channels", s->channels},
                  {"height", s->height},
                  {"width", s->width},
                  {"index_shift", end->index_shift}};
    drove__json_set(&o, "x", json_string(kinds[w->like.x_kind]));
    drove__json_set(&o, "target", json_string(drove__target_name(s->y_kind)));
    for (size_t i = 0; i < DROVE_COUNT(counts); i++)
        drove__json_set(&o, counts[i].key, json_integer((json_int_t)counts[i].n));
    drove__json_set(&o, "index_base", json_integer(s->index_base));
    drove__json_set(&o, "all_one", json_boolean(!w->has_values));
    drove__json_set(&o, "weights", json_boolean(w->like.weight != NULL));
    drove__json_set(&o, "notes", json_string(s->notes));
    drove__json_set(&o, "source", json_string(end->source != NULL ? end->source : ""));
    if (s->class_name != NULL) drove__json_set(&o, "names", names_as_json(s));
    if (s->x_origin != NULL)
        drove__json_set(&o, "x_origin", numbers_as_json(s->x_origin, s->n_features));
    if (s->y_origin != NULL)
        drove__json_set(&o, "y_origin", numbers_as_json(s->y_origin, drove__storage_n_values(s)));
    if (schema != NULL) drove__json_set(&o, "schema", json_string(schema));
    if (end->map != NULL) {
        json_t *map = json_array();
        for (size_t i = 0; i < end->n_map; i++) drove__json_add(&map, json_integer(end->map[i]));
        drove__json_set(&o, "class_map", map);
    }
    return o;
}

/* The text of the description, which takes the list of blocks over. */
static drove_status put_description(drove_rows_writer *w, const drove_rows_end *end,
                                    const char *schema)
{
    static const char key[] = ",\"blocks\":[";
    json_t *description = describe(w, end, schema);
    char *rest = description != NULL ? drove__json_dump(description, JSON_COMPACT) : NULL;
    json_decref(description);
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

static drove_status write_end(drove_rows_writer *w, const drove_rows_end *end)
{
    char *schema = NULL;
    if (end->shape->schema != NULL) DROVE_TRY(drove__schema_to_json(end->shape->schema, &schema));
    drove_status status = put_description(w, end, schema);
    free(schema);
    DROVE_TRY(status);
    const buffer *text = &w->list;
    const uint64_t facts[3] = {w->offset, text->n, drove__checksum(text->bytes, text->n)};
    status = drove__writer_write(w->file, text->bytes, text->n);
    if (status == DROVE_OK) status = drove__writer_write(w->file, facts, sizeof facts);
    if (status == DROVE_OK)
        status = drove__writer_write(w->file, DROVE_ROWS_MAGIC, DROVE_ROWS_MAGIC_SIZE);
    return status;
}

drove_status drove__rows_commit(drove_rows_writer *w, const drove_rows_end *end)
{
    drove_status status = w->n_rows > 0 ? end_block(w) : DROVE_OK;
    if (status == DROVE_OK && w->n_written == 0)
        status = drove__fail(DROVE_E_DATA, "rows: expected at least one row, found none");
    if (status == DROVE_OK) status = write_end(w, end);
    if (status == DROVE_OK) status = drove__writer_commit(w->file);
    else drove__writer_abort(w->file);
    free_writer(w);
    return status;
}

/* ---- the format's writer ---- */

drove_status drove__rows_write(const drove_data *data, const drove_spec *to)
{
    drove_rows_writer *w;
    bool scaled;
    uint64_t block_bytes = 0;
    const char *block = drove__spec_get(to, "block", NULL);
    DROVE_TRY(drove__export_begin(to, &scaled));
    if (block != NULL) DROVE_TRY(drove__parse_bytes("rows?block", block, &block_bytes));
    if (scaled)
        return drove__fail(DROVE_E_UNSUPPORTED, "rows: holds unscaled values; expected no ?scaled");
    DROVE_TRY(drove__rows_create(to->arg[0], (size_t)block_bytes, &w));
    drove_status status = drove__rows_append(w, data, NULL);
    const drove_rows_end end = {.shape = data->storage};
    if (status == DROVE_OK) return drove__rows_commit(w, &end);
    drove__rows_abort(w);
    return status;
}
