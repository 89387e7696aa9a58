/* data/disk/rows_blocks.c - reads rows:FILE, by blocks or whole; the format is in
 * data/disk/rows_file.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* posix_fadvise */
#endif
#include "data/disk/rows_file.h"

#include "base/checksum.h"
#include "base/direct.h"
#include "base/json.h"
#include "base/mem.h"
#include "data/disk/ahead.h"
#include "table/schema.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    END_BYTES = 3 * 8 + DROVE_ROWS_MAGIC_SIZE,
    DESCRIPTION_MOST = 1 << 30,
    NAMES_MOST = 1 << 24,
    PART_BYTES = 16 << 10
};

typedef struct rows_block {
    uint64_t offset, sum, value_sum;
} rows_block;

typedef struct rows_file { /* impl */
    rows_block *block;     /* [n_blocks] */
    uint32_t *map;         /* [n_map] class of each number; NULL: the same */
    size_t n_map;
    uint32_t index_shift;
    char *source;
    uint64_t end;       /* of the last block */
    uint64_t behind;    /* end of the block that was listed last: blocks do not overlap */
    drove_ahead *ahead; /* NULL: blocks are read through the system's cache */
    drove_checksum *sum, *value_sum; /* of the block that is read */
} rows_file;

static void close_file(drove_blocks *b)
{
    rows_file *f = b->impl;
    drove__ahead_close(f->ahead);
    drove__checksum_end(f->sum);
    drove__checksum_end(f->value_sum);
    free(f->block);
    free(f->map);
    free(f->source);
    free(f);
}

/* ---- the description ---- */

static drove_status want_count(const json_t *o, const char *key, uint64_t most, uint64_t *out)
{
    const json_t *value = json_object_get(o, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > most)
        return drove__fail(DROVE_E_DATA,
                           "its description: expected \"%s\" as a number from 0 to %llu", key,
                           (unsigned long long)most);
    *out = (uint64_t)json_integer_value(value);
    return DROVE_OK;
}

static drove_status want_size(const json_t *o, const char *key, uint64_t most, size_t *out)
{
    uint64_t n;
    DROVE_TRY(want_count(o, key, most, &n));
    *out = (size_t)n;
    return DROVE_OK;
}

static drove_status want_word(const json_t *o, const char *key, const char *const *words,
                              size_t n_words, unsigned *out)
{
    const char *text = json_string_value(json_object_get(o, key));
    for (unsigned i = 0; text != NULL && i < n_words; i++) {
        if (strcmp(text, words[i]) != 0) continue;
        *out = i;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_DATA, "its description: expected \"%s\" as %s .. %s", key, words[0],
                       words[n_words - 1]);
}

/* A marker of one element: in a shape it says that such an array is there. */
static drove_status mark(float **array)
{
    *array = malloc(sizeof **array);
    return *array != NULL ? DROVE_OK : drove__fail_nomem("a description of rows", sizeof **array);
}

/* Without the key: NULL. */
static drove_status read_origin(const json_t *o, const char *key, size_t n, double **out)
{
    const json_t *numbers = json_object_get(o, key);
    if (numbers == NULL) return DROVE_OK;
    if (json_array_size(numbers) != n)
        return drove__fail(DROVE_E_DATA, "its description: \"%s\": expected %zu numbers, found %zu",
                           key, n, json_array_size(numbers));
    *out = drove__grow(NULL, n, sizeof **out);
    if (*out == NULL) return drove__fail_nomem(key, n * sizeof **out);
    for (size_t i = 0; i < n; i++) {
        const json_t *number = json_array_get(numbers, i);
        (*out)[i] = json_number_value(number);
        if (!json_is_number(number) || !isfinite((*out)[i]))
            return drove__fail(DROVE_E_DATA, "its description: \"%s\": expected finite numbers",
                               key);
    }
    return DROVE_OK;
}

static drove_status read_shape(drove_blocks *b, const json_t *o)
{
    static const char *const kinds[] = {"u8", "f32", "sparse"};
    static const char *const targets[] = {"class", "value", "labels"};
    drove_storage *s = b->shape;
    unsigned kind, target;
    DROVE_TRY(want_word(o, "x", kinds, DROVE_COUNT(kinds), &kind));
    DROVE_TRY(want_word(o, "target", targets, DROVE_COUNT(targets), &target));
    s->x_kind = (drove_x_kind)kind;
    s->y_kind = (drove_y_kind)target;
    DROVE_TRY(want_size(o, "rows", UINT32_MAX, &b->n_rows));
    DROVE_TRY(want_size(o, "block_rows", UINT32_MAX, &b->block_rows));
    DROVE_TRY(want_size(o, "features", UINT32_MAX, &s->n_features));
    DROVE_TRY(want_size(o, "classes", NAMES_MOST, &s->n_classes));
    DROVE_TRY(want_size(o, "values_per_row", UINT16_MAX, &s->n_values));
    if (s->y_kind != DROVE_Y_VALUE && s->n_values > 1)
        return drove__fail(DROVE_E_DATA, "its description: expected one value of a row of classes");
    DROVE_TRY(want_size(o, "channels", UINT16_MAX, &s->channels));
    DROVE_TRY(want_size(o, "height", UINT16_MAX, &s->height));
    DROVE_TRY(want_size(o, "width", UINT16_MAX, &s->width));
    s->index_base = json_integer_value(json_object_get(o, "index_base")) == 1   ? 1
                    : json_integer_value(json_object_get(o, "index_base")) == 0 ? 0
                                                                                : -1;
    if (b->n_rows == 0 || b->block_rows == 0 || s->n_features == 0)
        return drove__fail(DROVE_E_DATA, "its description: expected rows, rows of a block and "
                                         "features above 0");
    if (s->channels != 0 && s->channels * s->height * s->width != s->n_features)
        return drove__fail(DROVE_E_DATA, "its description: expected images of %zu features",
                           s->n_features);
    if (kind == DROVE_X_CSR && !json_is_true(json_object_get(o, "all_one")))
        DROVE_TRY(mark(&s->value));
    if (json_is_true(json_object_get(o, "weights"))) DROVE_TRY(mark(&s->weight));
    DROVE_TRY(read_origin(o, "x_origin", s->n_features, &s->x_origin));
    if (s->y_kind == DROVE_Y_VALUE)
        DROVE_TRY(read_origin(o, "y_origin", drove__storage_n_values(s), &s->y_origin));
    const char *notes = json_string_value(json_object_get(o, "notes"));
    if (notes != NULL && *notes != '\0') drove__storage_note(s, "%s", notes);
    return DROVE_OK;
}

static drove_status read_names(drove_blocks *b, const json_t *names)
{
    drove_storage *s = b->shape;
    const size_t n = drove__storage_n_names(s);
    if (names == NULL) return DROVE_OK;
    if (!json_is_array(names) || json_array_size(names) != n)
        return drove__fail(DROVE_E_DATA, "its description: expected %zu names", n);
    s->class_name = calloc(n, sizeof *s->class_name);
    if (s->class_name == NULL) return drove__fail_nomem("class names", n * sizeof(char *));
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (name == NULL)
            return drove__fail(DROVE_E_DATA, "its description: expected names as texts");
        s->class_name[i] = strdup(name);
        if (s->class_name[i] == NULL) return drove__fail_nomem("class names", n);
    }
    return DROVE_OK;
}

static drove_status read_map(drove_blocks *b, rows_file *f, const json_t *map)
{
    if (map == NULL) return DROVE_OK;
    if (!json_is_array(map))
        return drove__fail(DROVE_E_DATA, "its description: expected \"class_map\" as a list");
    f->n_map = json_array_size(map);
    f->map = drove__grow(NULL, f->n_map, sizeof *f->map);
    if (f->map == NULL) return drove__fail_nomem("classes", f->n_map * sizeof *f->map);
    for (size_t i = 0; i < f->n_map; i++) {
        json_int_t class = json_integer_value(json_array_get(map, i));
        if (class < 0 || (uint64_t) class >= b->shape->n_classes)
            return drove__fail(DROVE_E_DATA, "its description: expected classes below %zu",
                               b->shape->n_classes);
        f->map[i] = (uint32_t) class;
    }
    return DROVE_OK;
}

/* A block must lie before the description, and behind the block before it. */
static drove_status keep_entry(drove_blocks *b, rows_file *f, const drove_rows_entry *entry,
                               size_t i)
{
    drove_rows_layout lay;
    bool is_good = entry->offset >= DROVE_ROWS_MAGIC_SIZE && entry->offset <= f->end;
    is_good = is_good &&
              drove__rows_lay_out(b->shape, drove__blocks_rows(b, i), entry->n_stored,
                                  entry->n_labels, &lay) &&
              lay.size_bytes <= f->end - entry->offset;
    if (!is_good)
        return drove__fail(DROVE_E_DATA, "its description: block %zu is not in the file", i);
    if (i > 0 && entry->offset < f->behind)
        return drove__fail(DROVE_E_DATA, "its description: block %zu is not behind the one before",
                           i);
    f->behind = entry->offset + lay.size_bytes;
    f->block[i] =
        (rows_block){.offset = entry->offset, .sum = entry->hash, .value_sum = entry->value_hash};
    if (b->first_stored != NULL) b->first_stored[i + 1] = b->first_stored[i] + entry->n_stored;
    if (b->first_label != NULL) b->first_label[i + 1] = b->first_label[i] + entry->n_labels;
    return DROVE_OK;
}

static drove_status read_list(drove_blocks *b, rows_file *f, drove_rows_list *list)
{
    drove_rows_entry entry;
    size_t i = 0;
    for (; i < b->n_blocks && drove__rows_list_next(list, &entry); i++)
        DROVE_TRY(keep_entry(b, f, &entry, i));
    if (i == b->n_blocks && drove__rows_list_is_over(list)) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "its description: expected %zu blocks, found %s%zu",
                       b->n_blocks, i == b->n_blocks ? "more than " : "", i);
}

static drove_status read_blocks(drove_blocks *b, rows_file *f, drove_rows_list *list)
{
    b->n_blocks = (b->n_rows + b->block_rows - 1) / b->block_rows;
    if (b->n_blocks > (size_t)(list->end - list->begin))
        return drove__fail(DROVE_E_DATA, "its description: expected %zu blocks, found fewer",
                           b->n_blocks);
    const size_t n = b->n_blocks + 1;
    f->block = calloc(n, sizeof *f->block);
    if (b->shape->x_kind == DROVE_X_CSR) b->first_stored = calloc(n, sizeof *b->first_stored);
    if (b->shape->y_kind == DROVE_Y_LABELS) b->first_label = calloc(n, sizeof *b->first_label);
    if (f->block == NULL || (b->shape->x_kind == DROVE_X_CSR && b->first_stored == NULL) ||
        (b->shape->y_kind == DROVE_Y_LABELS && b->first_label == NULL))
        return drove__fail_nomem("blocks", n * sizeof *f->block);
    return read_list(b, f, list);
}

static drove_status read_json(drove_blocks *b, rows_file *f, const json_t *o, drove_rows_list *list)
{
    const char *schema = json_string_value(json_object_get(o, "schema"));
    const char *source = json_string_value(json_object_get(o, "source"));
    uint64_t shift;
    DROVE_TRY(read_shape(b, o));
    DROVE_TRY(read_names(b, json_object_get(o, "names")));
    DROVE_TRY(read_map(b, f, json_object_get(o, "class_map")));
    DROVE_TRY(want_count(o, "index_shift", 1, &shift));
    f->index_shift = (uint32_t)shift;
    f->source = strdup(source != NULL ? source : "");
    if (f->source == NULL) return drove__fail_nomem("a description of rows", 1);
    if (schema != NULL) DROVE_TRY(drove__schema_from_json(schema, &b->shape->schema));
    if (b->shape->schema != NULL) b->shape->schema->n_rows = b->n_rows;
    if (b->shape->schema != NULL && b->shape->schema->n_features != b->shape->n_features)
        return drove__fail(DROVE_E_DATA, "its description: expected a schema of %zu features",
                           b->shape->n_features);
    return read_blocks(b, f, list);
}

/* The tree of the description without its list of blocks. */
static drove_status load_rest(const char *text, size_t n, const drove_rows_list *list, json_t **out)
{
    const size_t before = (size_t)(list->begin - text), after = n - (size_t)(list->end - text);
    json_error_t error;
    char *rest = malloc(before + 2 + after);
    if (rest == NULL) return drove__fail_nomem("a description of rows", before + after);
    memcpy(rest, text, before);
    memcpy(rest + before, "[]", 2);
    memcpy(rest + before + 2, list->end, after);
    drove_status status = drove__json_parse(rest, before + 2 + after, 0, &error, out);
    free(rest);
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "its description");
}

static drove_status read_text(drove_blocks *b, rows_file *f, const char *text, size_t n)
{
    drove_rows_list list;
    json_t *o;
    if (!drove__rows_list_find(text, n, &list))
        return drove__fail(DROVE_E_DATA, "its description: expected \"blocks\" as a list");
    DROVE_TRY(load_rest(text, n, &list, &o));
    drove_status status = read_json(b, f, o, &list);
    json_decref(o);
    return status;
}

static drove_status check_description(const char *text, size_t n, uint64_t expected)
{
    const uint64_t found = drove__checksum(text, n);
    if (found == expected) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "damaged: its description: expected checksum %016llx, found %016llx",
                       (unsigned long long)expected, (unsigned long long)found);
}

static drove_status read_description(drove_blocks *b, rows_file *f)
{
    char head[DROVE_ROWS_MAGIC_SIZE], end[END_BYTES];
    uint64_t facts[3];
    if (b->size_bytes < DROVE_ROWS_MAGIC_SIZE + END_BYTES)
        return drove__fail(DROVE_E_DATA, "expected a file of rows, found one of %lld bytes",
                           (long long)b->size_bytes);
    const uint64_t size = (uint64_t)b->size_bytes;
    DROVE_TRY(drove__blocks_read_at(b, 0, head, sizeof head));
    if (memcmp(head, DROVE_ROWS_MAGIC, sizeof head) != 0)
        return drove__fail(DROVE_E_DATA,
                           "expected a file of rows, " DROVE_ROWS_WORD
                           " (drove data convert makes one), found another%s",
                           memcmp(head, "drove-rows-", 11) == 0 ? " version" : "");
    DROVE_TRY(drove__blocks_read_at(b, size - END_BYTES, end, sizeof end));
    if (memcmp(end + sizeof facts, head, sizeof head) != 0)
        return drove__fail(DROVE_E_DATA,
                           "expected a whole file of rows, found one without its end");
    memcpy(facts, end, sizeof facts);
    if (facts[0] > size - END_BYTES || facts[1] != size - END_BYTES - facts[0] ||
        facts[1] > DESCRIPTION_MOST)
        return drove__fail(DROVE_E_DATA, "expected a description before byte %llu, found none",
                           (unsigned long long)(size - END_BYTES));
    f->end = facts[0];
    char *text = malloc((size_t)facts[1] + 1);
    if (text == NULL) return drove__fail_nomem("a description of rows", (size_t)facts[1]);
    drove_status status = drove__blocks_read_at(b, facts[0], text, (size_t)facts[1]);
    if (status == DROVE_OK) status = check_description(text, (size_t)facts[1], facts[2]);
    if (status == DROVE_OK) status = read_text(b, f, text, (size_t)facts[1]);
    free(text);
    return status;
}

/* ---- rows ---- */

typedef struct reading { /* rows of one block into a storage */
    const drove_blocks *b;
    rows_file *f;
    size_t block, n;
    drove_storage *s;
    const drove_place_in *to;
    drove_rows_layout lay;
    drove_ahead_bytes ahead; /* bytes NULL: nothing was read ahead */
    bool has_other;          /* a float of the examples is not finite */
} reading;

/* [n] of the block, which lie at its byte `at`. */
static drove_status fetch(const reading *r, uint64_t at, void *into, size_t n)
{
    if (r->ahead.bytes == NULL)
        return drove__blocks_read_at(r->b, r->f->block[r->block].offset + at, into, n);
    if (at >= r->ahead.first) memcpy(into, r->ahead.bytes + (at - r->ahead.first), n);
    return DROVE_OK;
}

/* Adds floats to a sum and looks for one that is not finite, a part after the other: the second
 * look finds them in the processor's cache. */
static void look_through(reading *r, drove_checksum *sum, const void *bytes, size_t size_bytes)
{
    for (size_t at = 0; at < size_bytes; at += PART_BYTES) {
        const char *part = (const char *)bytes + at;
        const size_t n = size_bytes - at < PART_BYTES ? size_bytes - at : PART_BYTES;
        drove__checksum_add(sum, part, n);
        if (!drove__floats_are_finite((const float *)(const void *)part, n / sizeof(float)))
            r->has_other = true;
    }
}

static drove_status read_section(reading *r, drove_rows_section section, void *into)
{
    const size_t n = (size_t)r->lay.bytes[section];
    if (n == 0) return DROVE_OK;
    DROVE_TRY(fetch(r, r->lay.at[section], into, n));
    drove_checksum *sum = section == DROVE_ROWS_VALUE ? r->f->value_sum : r->f->sum;
    bool is_float =
        section == DROVE_ROWS_VALUE || (section == DROVE_ROWS_X && r->s->x_kind == DROVE_X_F32);
    if (is_float) look_through(r, sum, into, n);
    else drove__checksum_add(sum, into, n);
    return DROVE_OK;
}

/* A section of n + 1 starts, counted from 0 to n_all, becomes those of the storage, from base on.
 */
static drove_status read_starts(reading *r, drove_rows_section section, uint64_t *start,
                                uint64_t n_all, uint64_t base)
{
    const size_t n = r->n;
    DROVE_TRY(read_section(r, section, start));
    bool is_good = start[0] == 0 && start[n] == n_all;
    for (size_t i = 0; i < n; i++) is_good = is_good && start[i] <= start[i + 1];
    for (size_t i = 0; i <= n; i++) start[i] = is_good ? start[i] + base : base;
    if (is_good) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: block %zu: the starts of its rows do not ascend",
                       r->b->path, r->block);
}

static drove_status read_sparse(reading *r)
{
    drove_storage *s = r->s;
    const drove_place_in *to = r->to;
    const uint64_t n = drove__blocks_stored(r->b, r->block);
    uint32_t *index = s->index + to->stored;
    DROVE_TRY(read_starts(r, DROVE_ROWS_START, s->row_start + to->row, n, to->stored));
    DROVE_TRY(read_section(r, DROVE_ROWS_INDEX, index));
    for (uint64_t k = 0; k < n && r->f->index_shift > 0; k++)
        index[k] -= r->f->index_shift; /* 0 becomes too large, which the check finds */
    return s->value == NULL ? DROVE_OK : read_section(r, DROVE_ROWS_VALUE, s->value + to->stored);
}

static drove_status read_examples(reading *r)
{
    drove_storage *s = r->s;
    if (s->x_kind == DROVE_X_CSR) return read_sparse(r);
    const size_t at = r->to->row * s->n_features;
    return read_section(r, DROVE_ROWS_X,
                        s->x_kind == DROVE_X_U8 ? (void *)(s->x_u8 + at) : (void *)(s->x_f32 + at));
}

static int compare_labels(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static drove_status fail_class(const reading *r)
{
    return drove__fail(DROVE_E_DATA, "%s: block %zu: expected classes below %zu", r->b->path,
                       r->block, r->f->n_map);
}

static drove_status read_lists(reading *r)
{
    drove_storage *s = r->s;
    uint64_t *start = s->label_start + r->to->row;
    DROVE_TRY(read_starts(r, DROVE_ROWS_TARGET, start, drove__blocks_labels(r->b, r->block),
                          r->to->label));
    DROVE_TRY(read_section(r, DROVE_ROWS_LABEL, s->label + r->to->label));
    if (r->f->map == NULL) return DROVE_OK;
    for (uint64_t k = start[0]; k < start[r->n]; k++) {
        if (s->label[k] >= r->f->n_map) return fail_class(r);
        s->label[k] = r->f->map[s->label[k]];
    }
    for (size_t i = 0; i < r->n; i++)
        qsort(s->label + start[i], (size_t)(start[i + 1] - start[i]), sizeof *s->label,
              compare_labels);
    return DROVE_OK;
}

static drove_status read_targets(reading *r)
{
    drove_storage *s = r->s;
    if (s->y_kind == DROVE_Y_LABELS) return read_lists(r);
    if (s->y_kind == DROVE_Y_VALUE)
        return read_section(r, DROVE_ROWS_TARGET,
                            s->y_value + r->to->row * drove__storage_n_values(s));
    int32_t *y = s->y_class + r->to->row;
    DROVE_TRY(read_section(r, DROVE_ROWS_TARGET, y));
    for (size_t i = 0; r->f->map != NULL && i < r->n; i++) {
        if (y[i] < 0 || (size_t)y[i] >= r->f->n_map) return fail_class(r);
        y[i] = (int32_t)r->f->map[y[i]];
    }
    return DROVE_OK;
}

static drove_status check_sum(const reading *r, uint64_t expected, const drove_checksum *sum)
{
    const uint64_t found = drove__checksum_value(sum);
    if (found == expected) return DROVE_OK;
    DROVE_TRY(drove__blocks_check_identity(r->b)); /* it may have changed while it was read */
    return drove__fail(
        DROVE_E_DATA,
        "%s: damaged: block %zu at byte %llu: expected checksum %016llx, found %016llx", r->b->path,
        r->block, (unsigned long long)r->f->block[r->block].offset, (unsigned long long)expected,
        (unsigned long long)found);
}

/* Values that are all 1 are not read. */
static drove_status check_sums(const reading *r)
{
    const rows_block *block = &r->f->block[r->block];
    DROVE_TRY(check_sum(r, block->sum, r->f->sum));
    return r->s->value == NULL ? DROVE_OK : check_sum(r, block->value_sum, r->f->value_sum);
}

static void lay_out(const drove_blocks *b, size_t block, drove_rows_layout *lay)
{
    (void)drove__rows_lay_out(b->shape, drove__blocks_rows(b, block),
                              drove__blocks_stored(b, block), drove__blocks_labels(b, block),
                              lay); /* it could when the file was opened */
}

/* Where a block lies, and where its dense examples are wanted. */
static drove_ahead_block place(const drove_blocks *b, size_t block, const drove_rows_layout *lay,
                               const drove_storage *into, const drove_place_in *to)
{
    const rows_file *f = b->impl;
    const uint64_t offset = f->block[block].offset;
    drove_ahead_block at = {.number = block, .offset = offset, .size_bytes = lay->size_bytes};
    if (at.size_bytes > f->end - offset) at.size_bytes = f->end - offset; /* the last's padding */
    at.front_bytes = lay->bytes[DROVE_ROWS_X];
    const size_t first = to->row * into->n_features;
    if (into->x_kind == DROVE_X_U8) at.front = into->x_u8 + first;
    if (into->x_kind == DROVE_X_F32) at.front = into->x_f32 + first;
    return at;
}

static drove_status read_block(const drove_blocks *b, size_t block, drove_storage *into,
                               drove_place_in *to)
{
    reading r = {.b = b,
                 .f = b->impl,
                 .block = block,
                 .n = drove__blocks_rows(b, block),
                 .s = into,
                 .to = to};
    drove__checksum_reset(r.f->sum);
    drove__checksum_reset(r.f->value_sum);
    lay_out(b, block, &r.lay);
    const drove_ahead_block at = place(b, block, &r.lay, into, to);
    if (r.f->ahead != NULL) (void)drove__ahead_take(r.f->ahead, &at, &r.ahead);
    DROVE_TRY(drove__blocks_check_identity(b));
    DROVE_TRY(read_examples(&r));
    DROVE_TRY(read_targets(&r));
    if (into->weight != NULL)
        DROVE_TRY(read_section(&r, DROVE_ROWS_WEIGHT, into->weight + to->row));
    DROVE_TRY(check_sums(&r));
    return drove__blocks_check_rows(b, into, block * b->block_rows, r.n, !r.has_other, to);
}

/* Reads around the system's cache cost no copy.  But the cache is faster than a device: what it has
 * is not read ahead when somebody waits. */
static void expect_block(const drove_blocks *b, size_t block, drove_storage *into,
                         const drove_place_in *to, bool is_late)
{
    const rows_file *f = b->impl;
    drove_rows_layout lay;
    lay_out(b, block, &lay);
    const drove_ahead_block at = place(b, block, &lay, into, to);
    if (f->ahead == NULL)
        (void)posix_fadvise(b->fd, (off_t)at.offset, (off_t)at.size_bytes, POSIX_FADV_WILLNEED);
    else if (!is_late || !drove__direct_is_cached(b->fd, at.offset + at.size_bytes / 2))
        drove__ahead_begin(f->ahead, &at);
}

static void forget_blocks(const drove_blocks *b)
{
    const rows_file *f = b->impl;
    if (f->ahead != NULL) drove__ahead_drop(f->ahead);
}

/* ---- opening ---- */

static const drove_blocks_ops ops = {.name = "rows",
                                     .read = read_block,
                                     .expect = expect_block,
                                     .forget = forget_blocks,
                                     .close = close_file};

/* Rows from which on dense examples in memory are aligned as reads need it; 1: not those of this
 * file. */
static size_t row_multiple(const drove_blocks *b, size_t alignment)
{
    drove_rows_layout lay;
    size_t n = 1;
    lay_out(b, 0, &lay);
    const size_t bytes = (size_t)lay.bytes[DROVE_ROWS_X], each = bytes / drove__blocks_rows(b, 0);
    if (bytes == 0 || bytes % alignment != 0) return 1;
    while (n * each % alignment != 0) n *= 2;
    return n;
}

static void prepare_ahead(drove_blocks *b, rows_file *f)
{
    f->ahead = drove__ahead_open(b->fd, f->end / b->n_blocks);
    if (f->ahead == NULL) return;
    b->n_ahead = drove__ahead_count(f->ahead);
    b->row_multiple = row_multiple(b, drove__ahead_alignment(f->ahead));
}

drove_status drove__rows_open(const drove_spec *spec, drove_blocks **out)
{
    drove_blocks *b;
    *out = NULL;
    DROVE_TRY(drove__blocks_create(spec->arg[0], &ops, &b));
    drove_status status = DROVE_OK;
    b->impl = calloc(1, sizeof(rows_file));
    if (b->impl == NULL) status = drove__fail_nomem(spec->arg[0], sizeof(rows_file));
    if (status == DROVE_OK) {
        rows_file *f = b->impl;
        status = read_description(b, f);
        if (status == DROVE_OK) status = drove__checksum_begin(&f->sum);
        if (status == DROVE_OK) status = drove__checksum_begin(&f->value_sum);
        b->shape->n_rows = b->n_rows;
        if (status == DROVE_OK)
            status = drove__storage_check_description(b->shape, "its description");
        if (status == DROVE_OK) prepare_ahead(b, b->impl);
        else drove__fail_in(status, "%s", spec->arg[0]);
    }
    if (status != DROVE_OK) {
        drove__blocks_close(b);
        return status;
    }
    *out = b;
    return DROVE_OK;
}

const char *drove__rows_source(const drove_blocks *b)
{
    return ((const rows_file *)b->impl)->source;
}

/* ---- whole ---- */

static drove_status read_whole(drove_blocks *b, drove_storage **out)
{
    drove_place_in to = {0};
    const uint64_t n_stored = b->first_stored != NULL ? b->first_stored[b->n_blocks] : 0;
    const uint64_t n_labels = b->first_label != NULL ? b->first_label[b->n_blocks] : 0;
    (void)posix_fadvise(b->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    DROVE_TRY(drove__blocks_storage(b, b->n_rows, n_stored, n_labels, out));
    for (size_t i = 0; i < b->n_blocks; i++) DROVE_TRY(b->ops->read(b, i, *out, &to));
    return drove__storage_check(*out, b->path);
}

drove_status drove__rows_read(const drove_spec *spec, int part, const drove_shard *shard,
                              drove_storage **out)
{
    drove_blocks *b;
    (void)part, (void)shard;
    *out = NULL;
    DROVE_TRY(drove__rows_open(spec, &b));
    drove_status status = read_whole(b, out);
    drove__blocks_close(b);
    if (status == DROVE_OK) return DROVE_OK;
    drove__storage_release(*out);
    *out = NULL;
    return status;
}

static const char *const keys[] = {"block", "window", "scaled", NULL};

const drove_format_ops drove__format_rows = {
    .name = "rows",
    .help = "rows in blocks as they lie in memory, for data larger than it (--memory)",
    .source = "drove's own",
    .arguments = "FILE",
    .least_args = 1,
    .most_args = 1,
    .keys = keys,
    .read = drove__rows_read,
    .write = drove__rows_write,
    .holds_all = true,
    .default_scaling = DROVE_SCALE_NONE,
};
