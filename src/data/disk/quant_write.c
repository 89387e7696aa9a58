/* data/disk/quant_write.c - writes quant:FILE; the format is in data/disk/quant_file.h. */
#include "data/disk/quant_file.h"

#include "base/mem.h"
#include "data/export.h"
#include "data/scale.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS_MOST = 9, META_MOST = 32, TEXT_SIZE = 32, TARGET_BYTES = 4 };

typedef struct cache { /* content of the file */
    const drove_data *data;
    drove_quant *q;
    void *target; /* I32 or F32 [n_rows] */
    uint64_t *label_start;
    uint32_t *label;
    char *class_names, *source;
    size_t block_rows;
    uint64_t *block_sum; /* [n_blocks] */
    drove_tensor tensor[TENSORS_MOST];
    size_t n_tensors;
    const char *meta[2 * META_MOST + 1];
    size_t n_meta;
    char text[META_MOST][TEXT_SIZE]; /* numbers of the metadata */
} cache;

static void fini(cache *c)
{
    drove__quant_release(c->q);
    free(c->target);
    free(c->label_start);
    free(c->label);
    free(c->class_names);
    free(c->source);
    free(c->block_sum);
}

static void put_tensor(cache *c, const char *name, drove_tensor_type type, size_t n,
                       const void *bytes)
{
    drove_tensor *t = &c->tensor[c->n_tensors++];
    *t = (drove_tensor){.type = type, .rank = 1, .shape = {n}, .bytes = bytes};
    snprintf(t->name, sizeof t->name, "%s", name);
}

static void put_meta(cache *c, const char *key, const char *value)
{
    c->meta[2 * c->n_meta] = key;
    c->meta[2 * c->n_meta++ + 1] = value;
}

static void put_count(cache *c, const char *key, uint64_t count)
{
    char *text = c->text[c->n_meta];
    snprintf(text, TEXT_SIZE, "%llu", (unsigned long long)count);
    put_meta(c, key, text);
}

/* ---- examples ---- */

static drove_status quantise(cache *c, const drove_spec *to)
{
    const drove_storage *s = c->data->storage;
    bool is_sparse = drove__storage_is_sparse(s);
    drove_quant_options opt = {.number = DROVE_I8, .index_bits = is_sparse ? 16 : 0};
    double range = 0;
    if (s->x_kind == DROVE_X_QUANT) {
        opt.number = s->quant->number;
        opt.index_bits = s->quant->index_bits;
    }
    DROVE_TRY(drove__quant_precision(to, is_sparse, &opt.number, &opt.index_bits));
    DROVE_TRY(drove__spec_real(to, "range", DBL_MIN, (double)FLT_MAX, &range));
    if (range > 0 && opt.number == DROVE_F32) {
        return drove__fail(DROVE_E_ARG, "%s?range: does not apply to floats", to->name);
    }
    if (range > 0) {
        opt.scale = (float)(range / drove__number_most(opt.number));
        if (opt.scale == 0) opt.scale = FLT_TRUE_MIN; /* 0 would choose one; this is refused */
    }
    return drove__quant_create(c->data, &opt, &c->q);
}

static void put_examples(cache *c)
{
    const drove_quant *q = c->q;
    const drove_tensor_type type = drove__quant_tensor_type(q->number);
    if (q->index_bits == 0) {
        size_t n_columns = q->row_bytes / drove__quant_element_bytes(q->number);
        put_tensor(c, "value", type, q->n_rows, q->value);
        c->tensor[c->n_tensors - 1].rank = 2;
        c->tensor[c->n_tensors - 1].shape[1] = n_columns;
        return;
    }
    put_tensor(c, "value", type, (size_t)q->n_stored, q->value);
    put_tensor(c, "index",
               q->index_bits == 8    ? DROVE_T_U8
               : q->index_bits == 16 ? DROVE_T_U16
                                     : DROVE_T_U32,
               (size_t)q->n_stored, q->index);
    put_tensor(c, "row_start", DROVE_T_U64, q->n_rows + 1, q->row_start);
}

/* ---- targets ---- */

static drove_status put_label_sets(cache *c)
{
    const drove_data *data = c->data;
    const drove_storage *s = data->storage;
    uint64_t n = 0;
    c->label_start = drove__grow(NULL, data->n_rows + 1, sizeof *c->label_start);
    c->label = drove__grow(NULL, (size_t)s->label_start[s->n_rows], sizeof *c->label);
    if (c->label_start == NULL || c->label == NULL)
        return drove__fail_nomem("labels", (size_t)s->label_start[s->n_rows] * sizeof *c->label);
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        c->label_start[i] = n;
        for (uint64_t k = s->label_start[row]; k < s->label_start[row + 1]; k++)
            c->label[n++] = s->label[k];
    }
    c->label_start[data->n_rows] = n;
    put_tensor(c, "label_start", DROVE_T_U64, data->n_rows + 1, c->label_start);
    put_tensor(c, "label", DROVE_T_U32, (size_t)n, c->label);
    return DROVE_OK;
}

static drove_status put_targets(cache *c)
{
    const drove_data *data = c->data;
    const drove_storage *s = data->storage;
    if (s->y_kind == DROVE_Y_LABELS) return put_label_sets(c);
    bool is_class = s->y_kind == DROVE_Y_CLASS;
    const char *from = is_class ? (const char *)s->y_class : (const char *)s->y_value;
    char *target = c->target = drove__grow(NULL, data->n_rows, TARGET_BYTES);
    if (target == NULL) return drove__fail_nomem("targets", data->n_rows * TARGET_BYTES);
    for (size_t i = 0; i < data->n_rows; i++)
        memcpy(target + i * TARGET_BYTES, from + drove__data_row(data, i) * TARGET_BYTES,
               TARGET_BYTES);
    put_tensor(c, "target", is_class ? DROVE_T_I32 : DROVE_T_F32, data->n_rows, target);
    return DROVE_OK;
}

/* ---- blocks ---- */

/* The size of the tensors that were put, which are all of rows. */
static drove_status choose_blocks(cache *c, const drove_spec *to)
{
    uint64_t block_bytes = 1 << 20;
    const char *text = drove__spec_get(to, "block", NULL);
    double bytes = 0;
    if (text != NULL) DROVE_TRY(drove__parse_bytes("quant?block", text, &block_bytes));
    for (size_t i = 0; i < c->n_tensors; i++) bytes += (double)drove__tensor_bytes(&c->tensor[i]);
    const double n = (double)c->q->n_rows, rows = (double)block_bytes / (bytes / n);
    c->block_rows = !(rows >= 1.0) ? 1 : rows < n ? (size_t)rows : c->q->n_rows;
    return DROVE_OK;
}

/* Rows first .. first + n - 1, in the order that data/disk/quant_file.h says. */
static void add_block(const cache *c, size_t first, size_t n, drove_checksum *sum)
{
    const drove_quant *q = c->q;
    const char *value = q->value, *index = q->index, *target = c->target;
    if (q->index_bits == 0) {
        drove__checksum_add(sum, value + first * q->row_bytes, n * q->row_bytes);
    } else {
        const size_t size_bytes = drove__number_size(q->number), index_bytes = q->index_bits / 8;
        const uint64_t *start = q->row_start + first;
        const size_t at = (size_t)start[0], pairs = (size_t)(start[n] - start[0]);
        drove__checksum_add(sum, start, (n + 1) * sizeof *start);
        drove__checksum_add(sum, value + at * size_bytes, pairs * size_bytes);
        drove__checksum_add(sum, index + at * index_bytes, pairs * index_bytes);
    }
    if (target != NULL) {
        drove__checksum_add(sum, target + first * TARGET_BYTES, n * TARGET_BYTES);
        return;
    }
    const uint64_t *start = c->label_start + first;
    drove__checksum_add(sum, start, (n + 1) * sizeof *start);
    drove__checksum_add(sum, c->label + start[0], (size_t)(start[n] - start[0]) * sizeof *c->label);
}

static drove_status put_blocks(cache *c, const drove_spec *to)
{
    drove_checksum *sum;
    DROVE_TRY(choose_blocks(c, to));
    const size_t n_rows = c->q->n_rows, n = (n_rows + c->block_rows - 1) / c->block_rows;
    c->block_sum = calloc(n, sizeof *c->block_sum);
    if (c->block_sum == NULL) return drove__fail_nomem("checksums", n * sizeof *c->block_sum);
    DROVE_TRY(drove__checksum_begin(&sum));
    for (size_t i = 0; i < n; i++) {
        const size_t first = i * c->block_rows, left = n_rows - first;
        drove__checksum_reset(sum);
        add_block(c, first, left < c->block_rows ? left : c->block_rows, sum);
        c->block_sum[i] = drove__checksum_value(sum);
    }
    drove__checksum_end(sum);
    put_tensor(c, DROVE_QUANT_BLOCKS, DROVE_T_U64, n, c->block_sum);
    return DROVE_OK;
}

/* ---- the rest ---- */

static drove_status put_class_names(cache *c)
{
    const drove_storage *s = c->data->storage;
    size_t n_bytes = 0, at = 0;
    if (s->class_name == NULL) return DROVE_OK;
    for (size_t i = 0; i < s->n_classes; i++) n_bytes += strlen(s->class_name[i]) + 1;
    c->class_names = drove__grow(NULL, n_bytes, 1);
    if (c->class_names == NULL) return drove__fail_nomem("class names", n_bytes);
    for (size_t i = 0; i < s->n_classes; i++) {
        size_t length = strlen(s->class_name[i]) + 1;
        memcpy(c->class_names + at, s->class_name[i], length);
        at += length;
    }
    put_tensor(c, "class_names", DROVE_T_U8, n_bytes, c->class_names);
    return DROVE_OK;
}

/* text with %XX for all but plain ASCII: a path may hold any bytes, metadata are UTF-8; free(). */
static char *encode(const char *text)
{
    char *out = malloc(3 * strlen(text) + 1), *to = out;
    if (out == NULL) return NULL;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at >= 0x20 && *at < 0x7f) *to++ = (char)*at;
        else to += sprintf(to, "%%%02X", *at);
    }
    *to = '\0';
    return out;
}

static void put_facts(cache *c)
{
    const drove_storage *s = c->data->storage;
    const drove_quant *q = c->q;
    static const char *const bases[] = {"-1", "0", "1"};
    char *scale = c->text[META_MOST - 1];
    snprintf(scale, TEXT_SIZE, "%.9g", (double)q->scale);
    put_meta(c, "format", DROVE_QUANT_FORMAT);
    put_meta(c, "precision", drove__quant_name(q->number, q->index_bits));
    put_meta(c, "quantum", scale);
    put_count(c, "n_rows", q->n_rows);
    put_count(c, "n_features", q->n_features);
    put_count(c, "n_stored", q->n_stored);
    put_count(c, "n_bridges", q->n_bridges);
    put_count(c, "n_clamped", q->n_clamped);
    put_count(c, "block_rows", c->block_rows);
    put_meta(c, "target", drove__target_name(s->y_kind));
    put_count(c, "n_classes", s->n_classes);
    put_count(c, "channels", s->channels);
    put_count(c, "height", s->height);
    put_count(c, "width", s->width);
    put_meta(c, "index_base", bases[s->index_base + 1]);
    put_meta(c, "scale", drove__scaling_name(drove__data_scale(c->data).scaling));
    put_meta(c, "notes", s->notes);
}

static drove_status put_source(cache *c)
{
    static const char *const parts[] = {"all", "train", "test"};
    const drove_data *data = c->data;
    char *fingerprint = c->text[META_MOST - 2];
    drove_data_facts facts;
    drove_data_describe(data, &facts);
    DROVE_TRY(drove__quant_fingerprint(data, fingerprint));
    c->source = encode(data->spec != NULL ? data->spec : "");
    if (c->source == NULL) return drove__fail_nomem("a spec", 0);
    put_meta(c, "source", c->source);
    put_meta(c, "source_part", parts[data->part]);
    put_count(c, "source_seed", data->seed);
    put_count(c, "source_stored", facts.n_stored);
    put_meta(c, "fingerprint", fingerprint);
    return DROVE_OK;
}

static void put_scaling(cache *c)
{
    drove_scale scale = drove__data_scale(c->data);
    if (scale.factor == NULL) return;
    put_tensor(c, "input.shift", DROVE_T_F32, c->q->n_features, scale.shift);
    put_tensor(c, "input.factor", DROVE_T_F32, c->q->n_features, scale.factor);
}

static drove_status fill(cache *c, const drove_spec *to)
{
    DROVE_TRY(quantise(c, to));
    put_examples(c);
    DROVE_TRY(put_targets(c));
    DROVE_TRY(put_blocks(c, to));
    DROVE_TRY(put_class_names(c));
    put_scaling(c);
    put_facts(c);
    return put_source(c);
}

drove_status drove__quant_write(const drove_data *data, const drove_spec *to)
{
    bool scaled;
    DROVE_TRY(drove__quant_refuse_keys(to, true));
    DROVE_TRY(drove__export_begin(to, &scaled));
    cache *c = calloc(1, sizeof *c);
    if (c == NULL) return drove__fail_nomem("a quantised file", sizeof *c);
    c->data = data;
    drove_status status = fill(c, to);
    if (status == DROVE_OK)
        status = drove__safetensors_write(to->arg[0], c->tensor, c->n_tensors, c->meta);
    fini(c);
    free(c);
    return status;
}
