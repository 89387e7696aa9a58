/* data/disk/rows_description.c - the description in a file of rows, written and read, and where the
 * arrays of a block lie by it; the format is in data/disk/rows_file.h. */
#include "data/disk/rows_file.h"

#include "base/mem.h"
#include "data/scale.h"
#include "table/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MOST = 1 << 24 };

/* In the order of drove_x_kind, drove_y_kind and drove_rows_of. */
static const char *const kinds[] = {"u8", "f32", "sparse", "quantised"};
static const char *const targets[] = {"class", "value", "labels"};
static const char *const parts[] = {"all", "train", "test"};

/* ---- the layout of a block ---- */

bool drove__rows_lay_out(const drove_storage *s, uint64_t n_rows, uint64_t n_stored,
                         uint64_t n_labels, drove_rows_layout *out)
{
    const bool is_sparse = drove__rows_are_sparse(s), has_lists = s->y_kind == DROVE_Y_LABELS;
    const uint64_t each = s->y_kind == DROVE_Y_VALUE ? drove__storage_n_values(s) : 1;
    const drove_quant *q = s->quant;
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
        q != NULL                 ? q->row_bytes
        : s->x_kind == DROVE_X_U8 ? s->n_features
                                  : s->n_features * sizeof(float),
        sizeof(uint64_t),
        q != NULL ? q->index_bits / 8 : sizeof(uint32_t),
        q != NULL && is_sparse ? drove__number_size(q->number) : sizeof(float),
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
        out->size_bytes +=
            (bytes + DROVE_ROWS_ALIGNMENT - 1) / DROVE_ROWS_ALIGNMENT * DROVE_ROWS_ALIGNMENT;
    }
    return out->size_bytes <= INT64_MAX / 2;
}

/* ---- writing ---- */

static json_t *numbers_as_json(const double *number, size_t n)
{
    json_t *numbers = json_array();
    for (size_t i = 0; i < n; i++) drove__json_add(&numbers, json_real(number[i]));
    return numbers;
}

static json_t *floats_as_json(const float *number, size_t n)
{
    json_t *numbers = json_array();
    for (size_t i = 0; i < n; i++) drove__json_add(&numbers, json_real((double)number[i]));
    return numbers;
}

static json_t *describe_quantised(const drove_storage *s, const drove_rows_origin *origin)
{
    const drove_quant *q = s->quant;
    char seed[24];
    json_t *o = json_object();
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)origin->seed);
    drove__json_set(&o, "precision", json_string(drove__quant_name(q->number, q->index_bits)));
    drove__json_set(&o, "quantum", json_real((double)q->scale));
    drove__json_set(&o, "bridges", json_integer((json_int_t)q->n_bridges));
    drove__json_set(&o, "clamped", json_integer((json_int_t)q->n_clamped));
    drove__json_set(&o, "scale", json_string(drove__scaling_name(s->scaling)));
    if (s->factor != NULL) {
        drove__json_set(&o, "shift", floats_as_json(s->shift, s->n_features));
        drove__json_set(&o, "factor", floats_as_json(s->factor, s->n_features));
    }
    drove__json_set(&o, "source_part", json_string(parts[origin->part]));
    drove__json_set(&o, "source_seed", json_string(seed));
    drove__json_set(&o, "source_stored", json_integer((json_int_t)origin->n_stored));
    drove__json_set(&o, "fingerprint", json_string(origin->fingerprint));
    return o;
}

json_t *drove__rows_describe(const drove_rows_end *end, const drove_rows_counts *counts,
                             const char *schema)
{
    const drove_storage *s = end->shape;
    json_t *o = json_object();
    const struct {
        const char *key;
        size_t n;
    } numbers[] = {{"rows", (size_t)counts->n_rows},
                   {"features", s->n_features},
                   {"block_rows", counts->block_rows},
                   {"longest_row", (size_t)counts->longest_row},
                   {"classes", s->n_classes},
                   {"values_per_row", s->n_values},
                   {"channels", s->channels},
                   {"height", s->height},
                   {"width", s->width},
                   {"index_shift", end->index_shift}};
    drove__json_set(&o, "x", json_string(kinds[s->x_kind]));
    drove__json_set(&o, "target", json_string(targets[s->y_kind]));
    for (size_t i = 0; i < DROVE_COUNT(numbers); i++)
        drove__json_set(&o, numbers[i].key, json_integer((json_int_t)numbers[i].n));
    drove__json_set(&o, "index_base", json_integer(s->index_base));
    drove__json_set(&o, "all_one", json_boolean(!counts->has_values));
    drove__json_set(&o, "weights", json_boolean(counts->has_weights));
    drove__json_set(&o, "notes", json_string(s->notes));
    drove__json_set(&o, "source", json_string(end->source != NULL ? end->source : ""));
    if (s->class_name != NULL) {
        json_t *names = json_array();
        for (size_t i = 0; i < drove__storage_n_names(s); i++)
            drove__json_add(&names, json_string(s->class_name[i]));
        drove__json_set(&o, "names", names);
    }
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
    if (s->x_kind == DROVE_X_QUANT)
        drove__json_set(&o, "quantised", describe_quantised(s, end->origin));
    return o;
}

/* ---- reading: values ---- */

static drove_status want_count(const json_t *o, const char *key, uint64_t most, uint64_t *out)
{
    const json_t *value = json_object_get(o, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > most)
        return drove__fail(DROVE_E_DATA, "expected \"%s\" as a number from 0 to %llu", key,
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
    return drove__fail(DROVE_E_DATA, "expected \"%s\" as %s .. %s", key, words[0],
                       words[n_words - 1]);
}

/* Finite numbers, from malloc; without the key: NULL. */
static drove_status read_numbers(const json_t *o, const char *key, size_t n, double **out)
{
    const json_t *numbers = json_object_get(o, key);
    if (numbers == NULL) return DROVE_OK;
    if (json_array_size(numbers) != n)
        return drove__fail(DROVE_E_DATA, "\"%s\": expected %zu numbers, found %zu", key, n,
                           json_array_size(numbers));
    *out = drove__grow(NULL, n, sizeof **out);
    if (*out == NULL) return drove__fail_nomem(key, n * sizeof **out);
    for (size_t i = 0; i < n; i++) {
        const json_t *number = json_array_get(numbers, i);
        (*out)[i] = json_number_value(number);
        if (!json_is_number(number) || !isfinite((*out)[i]))
            return drove__fail(DROVE_E_DATA, "\"%s\": expected finite numbers", key);
    }
    return DROVE_OK;
}

/* The same as floats, from drove__alloc. */
static drove_status read_floats(const json_t *o, const char *key, size_t n, float **out)
{
    double *number = NULL;
    drove_status status = read_numbers(o, key, n, &number);
    if (status != DROVE_OK || number == NULL) goto end;
    *out = drove__alloc(n, sizeof **out);
    if (*out == NULL) {
        status = drove__fail_nomem(key, n * sizeof **out);
        goto end;
    }
    for (size_t i = 0; i < n; i++) (*out)[i] = (float)number[i];
    if (!drove__floats_are_finite(*out, n))
        status = drove__fail(DROVE_E_DATA, "\"%s\": expected finite numbers", key);
end:
    free(number);
    return status;
}

/* A marker of one element: in a shape it says that such an array is there. */
static drove_status mark(float **array)
{
    *array = malloc(sizeof **array);
    return *array != NULL ? DROVE_OK : drove__fail_nomem("a description of rows", sizeof **array);
}

/* ---- reading: the shape ---- */

static drove_status read_quantised(drove_blocks *b, const json_t *o)
{
    drove_storage *s = b->shape;
    drove_rows_origin *origin = &b->file->origin;
    unsigned scaling, format = 0;
    static const unsigned bits[] = {0, 8, 16, 32};
    drove_quant *q = s->quant = calloc(1, sizeof *q);
    if (q == NULL) return drove__fail_nomem("quantised data", sizeof *q);
    atomic_init(&q->n_users, 1);

    const char *precision = json_string_value(json_object_get(o, "precision"));
    for (; format < DROVE_NUMBERS * DROVE_COUNT(bits); format++) {
        q->number = (drove_number)(format / DROVE_COUNT(bits));
        q->index_bits = bits[format % DROVE_COUNT(bits)];
        const char *name = drove__quant_name(q->number, q->index_bits);
        if (precision != NULL && name != NULL && strcmp(precision, name) == 0) break;
    }
    if (format == DROVE_NUMBERS * DROVE_COUNT(bits))
        return drove__fail(DROVE_E_DATA,
                           "expected a precision such as D8 or D16i16, found \"%.40s\"",
                           precision != NULL ? precision : "");
    q->n_rows = b->n_rows;
    q->n_features = s->n_features;
    if (q->index_bits == 0) q->row_bytes = drove__quant_row_bytes(q->number, q->n_features);
    q->scale = (float)json_number_value(json_object_get(o, "quantum"));
    DROVE_TRY(drove__quant_check_scale(q, "\"quantum\""));
    DROVE_TRY(want_count(o, "bridges", INT64_MAX, &q->n_bridges));
    DROVE_TRY(want_count(o, "clamped", INT64_MAX, &q->n_clamped));

    DROVE_TRY(want_word(o, "scale", drove__scaling_names, DROVE_N_SCALINGS, &scaling));
    s->scaling = (drove_scaling)scaling;
    DROVE_TRY(read_floats(o, "shift", s->n_features, &s->shift));
    DROVE_TRY(read_floats(o, "factor", s->n_features, &s->factor));
    if ((s->shift == NULL) != (s->factor == NULL))
        return drove__fail(DROVE_E_DATA, "expected \"shift\" and \"factor\", found one of them");

    const char *seed = json_string_value(json_object_get(o, "source_seed"));
    const char *fingerprint = json_string_value(json_object_get(o, "fingerprint"));
    if (seed == NULL || fingerprint == NULL)
        return drove__fail(DROVE_E_DATA, "expected \"source_seed\" and \"fingerprint\" as texts");
    DROVE_TRY(drove__parse_u64("\"source_seed\"", seed, 0, UINT64_MAX, &origin->seed));
    DROVE_TRY(want_word(o, "source_part", parts, DROVE_COUNT(parts), &origin->part));
    DROVE_TRY(want_count(o, "source_stored", INT64_MAX, &origin->n_stored));
    snprintf(origin->fingerprint, sizeof origin->fingerprint, "%s", fingerprint);
    return DROVE_OK;
}

static drove_status read_shape(drove_blocks *b, const json_t *o)
{
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
    /* Lists of labels may all be empty. */
    if (s->y_kind == DROVE_Y_VALUE ? s->n_classes > 0
                                   : s->n_classes == 0 && s->y_kind == DROVE_Y_CLASS)
        return drove__fail(DROVE_E_DATA, "expected classes or values, found %s and %zu classes",
                           targets[target], s->n_classes);
    if (s->y_kind != DROVE_Y_VALUE && s->n_values > 1)
        return drove__fail(DROVE_E_DATA, "expected one value of a row of classes");
    DROVE_TRY(want_size(o, "channels", UINT16_MAX, &s->channels));
    DROVE_TRY(want_size(o, "height", UINT16_MAX, &s->height));
    DROVE_TRY(want_size(o, "width", UINT16_MAX, &s->width));
    const json_t *base = json_object_get(o, "index_base");
    s->index_base = json_integer_value(base) == 1                            ? 1
                    : json_is_integer(base) && json_integer_value(base) == 0 ? 0
                                                                             : -1;
    if (b->n_rows == 0 || b->block_rows == 0 || s->n_features == 0)
        return drove__fail(DROVE_E_DATA, "expected rows, rows of a block and features above 0");
    if (s->channels != 0 && s->channels * s->height * s->width != s->n_features)
        return drove__fail(DROVE_E_DATA, "expected images of %zu features", s->n_features);
    if (s->x_kind == DROVE_X_CSR && !json_is_true(json_object_get(o, "all_one")))
        DROVE_TRY(mark(&s->value));
    if (json_is_true(json_object_get(o, "weights"))) DROVE_TRY(mark(&s->weight));
    DROVE_TRY(read_numbers(o, "x_origin", s->n_features, &s->x_origin));
    if (s->y_kind == DROVE_Y_VALUE)
        DROVE_TRY(read_numbers(o, "y_origin", drove__storage_n_values(s), &s->y_origin));
    const char *notes = json_string_value(json_object_get(o, "notes"));
    if (notes != NULL && *notes != '\0') drove__storage_note(s, "%s", notes);
    if (s->x_kind == DROVE_X_QUANT) DROVE_TRY(read_quantised(b, json_object_get(o, "quantised")));
    if (s->quant != NULL && (s->weight != NULL || s->x_origin != NULL || s->y_origin != NULL ||
                             s->n_values > 1 || json_object_get(o, "schema") != NULL))
        return drove__fail(DROVE_E_DATA, "expected quantised rows with one target, without "
                                         "weights, origins and a schema");
    return drove__rows_are_sparse(s) ? want_size(o, "longest_row", UINT32_MAX, &s->longest_row)
                                     : DROVE_OK;
}

/* ---- reading: the blocks ---- */

/* Each must lie before the description, and behind the block before it. */
static drove_status read_blocks(drove_blocks *b, drove_rows_list *list)
{
    drove_rows_file *f = b->file;
    const bool is_sparse = drove__rows_are_sparse(b->shape);
    const bool has_lists = b->shape->y_kind == DROVE_Y_LABELS;
    b->n_blocks = (b->n_rows + b->block_rows - 1) / b->block_rows;
    if (b->n_blocks > (size_t)(list->end - list->begin))
        return drove__fail(DROVE_E_DATA, "expected %zu blocks, found fewer", b->n_blocks);
    const size_t n = b->n_blocks + 1;
    f->block = calloc(n, sizeof *f->block);
    if (is_sparse) b->first_stored = calloc(n, sizeof *b->first_stored);
    if (has_lists) b->first_label = calloc(n, sizeof *b->first_label);
    if (f->block == NULL || (is_sparse && b->first_stored == NULL) ||
        (has_lists && b->first_label == NULL))
        return drove__fail_nomem("blocks", n * sizeof *f->block);

    uint64_t behind = DROVE_ROWS_MAGIC_SIZE;
    size_t i = 0;
    drove_rows_entry entry;
    for (; i < b->n_blocks && drove__rows_list_next(list, &entry); i++) {
        drove_rows_layout lay;
        if (entry.offset < DROVE_ROWS_MAGIC_SIZE || entry.offset > f->end ||
            !drove__rows_lay_out(b->shape, drove__blocks_rows(b, i), entry.n_stored, entry.n_labels,
                                 &lay) ||
            lay.size_bytes > f->end - entry.offset)
            return drove__fail(DROVE_E_DATA, "block %zu is not in the file", i);
        if (entry.offset < behind)
            return drove__fail(DROVE_E_DATA, "block %zu is not behind the one before", i);
        behind = entry.offset + lay.size_bytes;
        f->block[i] = (drove_rows_block){.offset = entry.offset,
                                         .sum = entry.hash,
                                         .value_sum = entry.value_hash};
        if (is_sparse) b->first_stored[i + 1] = b->first_stored[i] + entry.n_stored;
        if (has_lists) b->first_label[i + 1] = b->first_label[i] + entry.n_labels;
    }
    if (i < b->n_blocks || !drove__rows_list_is_over(list))
        return drove__fail(DROVE_E_DATA, "expected %zu blocks, found %s%zu", b->n_blocks,
                           i == b->n_blocks ? "more than " : "", i);

    drove_quant *q = b->shape->quant;
    if (q == NULL) return DROVE_OK;
    q->n_stored = is_sparse ? b->first_stored[b->n_blocks] : 0;
    if (q->n_bridges <= q->n_stored) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "expected at most %llu \"bridges\", found %llu",
                       (unsigned long long)q->n_stored, (unsigned long long)q->n_bridges);
}

static drove_status read_object(drove_blocks *b, const json_t *o, drove_rows_list *list)
{
    drove_storage *s = b->shape;
    const char *schema = json_string_value(json_object_get(o, "schema"));
    const char *source = json_string_value(json_object_get(o, "source"));
    uint64_t shift;
    DROVE_TRY(read_shape(b, o));
    const json_t *names = json_object_get(o, "names");
    if (names != NULL) {
        const size_t n = drove__storage_n_names(s);
        if (!json_is_array(names) || json_array_size(names) != n)
            return drove__fail(DROVE_E_DATA, "expected %zu names", n);
        s->class_name = calloc(n, sizeof *s->class_name);
        if (s->class_name == NULL) return drove__fail_nomem("class names", n * sizeof(char *));
        for (size_t i = 0; i < n; i++) {
            const char *name = json_string_value(json_array_get(names, i));
            if (name == NULL) return drove__fail(DROVE_E_DATA, "expected names as texts");
            s->class_name[i] = strdup(name);
            if (s->class_name[i] == NULL) return drove__fail_nomem("class names", n);
        }
    }
    const json_t *map = json_object_get(o, "class_map");
    drove_rows_file *f = b->file;
    if (map != NULL) {
        if (!json_is_array(map))
            return drove__fail(DROVE_E_DATA, "expected \"class_map\" as a list");
        f->n_map = json_array_size(map);
        f->map = drove__grow(NULL, f->n_map, sizeof *f->map);
        if (f->map == NULL) return drove__fail_nomem("classes", f->n_map * sizeof *f->map);
        for (size_t i = 0; i < f->n_map; i++) {
            json_int_t class = json_integer_value(json_array_get(map, i));
            if (class < 0 || (uint64_t) class >= s->n_classes)
                return drove__fail(DROVE_E_DATA, "expected classes below %zu", s->n_classes);
            f->map[i] = (uint32_t) class;
        }
    }
    DROVE_TRY(want_count(o, "index_shift", s->quant == NULL, &shift));
    f->index_shift = (uint32_t)shift;
    f->source = strdup(source != NULL ? source : "");
    if (f->source == NULL) return drove__fail_nomem("a description of rows", 1);
    if (schema != NULL) DROVE_TRY(drove__schema_from_json(schema, &s->schema));
    if (s->schema != NULL) s->schema->n_rows = b->n_rows;
    if (s->schema != NULL && s->schema->n_features != s->n_features)
        return drove__fail(DROVE_E_DATA, "expected a schema of %zu features", s->n_features);
    return read_blocks(b, list);
}

/* The tree is that of the description without its list of blocks. */
drove_status drove__rows_read_description(drove_blocks *b, const char *text, size_t n)
{
    drove_rows_list list;
    json_t *o;
    json_error_t error;
    if (!drove__rows_list_find(text, n, &list))
        return drove__fail(DROVE_E_DATA, "its description: expected \"blocks\" as a list");
    const size_t before = (size_t)(list.begin - text), after = n - (size_t)(list.end - text);
    char *rest = malloc(before + 2 + after);
    if (rest == NULL) return drove__fail_nomem("a description of rows", before + after);
    memcpy(rest, text, before);
    memcpy(rest + before, "[]", 2);
    memcpy(rest + before + 2, list.end, after);
    drove_status status = drove__json_parse(rest, before + 2 + after, 0, &error, &o);
    free(rest);
    if (status == DROVE_OK) status = read_object(b, o, &list);
    json_decref(o);
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "its description");
}
