/* data/quant_read.c - reads quant:FILE; the format is in data/quant_file.h.
 *
 * The file is read into one block, which then backs the quantised data.  The file is not trusted:
 * the checksum finds damage, but an attacker can compute it too, so every size, index and number is
 * checked separately.
 */
#include "data/quant_file.h"

#include "base/mem.h"
#include "data/scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MOST = 1 << 24 };

typedef struct cache { /* a file being read */
    const char *path;
    drove_safetensors file;
    drove_storage *s;
    drove_quant *q;
} cache;

/* ---- metadata ---- */

static drove_status want_meta(const cache *c, const char *key, const char **out)
{
    *out = drove__safetensors_meta(&c->file, key);
    if (*out == NULL) return drove__fail(DROVE_E_DATA, "expected metadata \"%s\", found none", key);
    for (const char *at = *out; *at != '\0'; at++) {
        if (*at >= 0x20 && *at < 0x7f) continue;
        return drove__fail(DROVE_E_DATA, "metadata \"%s\": expected plain text", key);
    }
    return DROVE_OK;
}

static drove_status want_count(const cache *c, const char *key, uint64_t most, uint64_t *out)
{
    const char *text;
    DROVE_TRY(want_meta(c, key, &text));
    return drove__parse_u64(key, text, 0, most, out);
}

static drove_status want_word(const cache *c, const char *key, const char *const *words, size_t n,
                              size_t *out)
{
    const char *text;
    DROVE_TRY(want_meta(c, key, &text));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, words[i]) != 0) continue;
        *out = i;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_DATA, "metadata \"%s\": expected %s .. %s, found \"%.40s\"", key,
                       words[0], words[n - 1], text);
}

static drove_status check_sum(const cache *c)
{
    const drove_safetensors *f = &c->file;
    const char *format, *recorded;
    char found[DROVE_QUANT_SUM_SIZE];
    uint64_t hash = 0;
    DROVE_TRY(want_meta(c, "format", &format));
    if (strcmp(format, DROVE_QUANT_FORMAT) != 0) {
        return drove__fail(DROVE_E_DATA, "expected metadata format \"%s\", found \"%.40s\"",
                           DROVE_QUANT_FORMAT, format);
    }
    DROVE_TRY(want_meta(c, DROVE_QUANT_CHECKSUM, &recorded));
    for (size_t i = 0; i < f->n_tensors; i++) hash = drove__quant_hash_tensor(hash, &f->tensor[i]);
    for (size_t i = 0; i < f->n_meta; i++) {
        if (strcmp(f->meta_key[i], DROVE_QUANT_CHECKSUM) != 0)
            hash = drove__quant_hash_meta(hash, f->meta_key[i], f->meta_value[i]);
    }
    drove__quant_hash_text(hash, found);
    if (strcmp(found, recorded) == 0) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "damaged: expected checksum %.16s, found %s", recorded, found);
}

/* ---- examples ---- */

static drove_status read_format(cache *c)
{
    drove_quant *q = c->q;
    const char *precision, *quantum;
    double scale;
    uint64_t rows, features;
    DROVE_TRY(want_meta(c, "precision", &precision));
    for (unsigned i = 0; i < DROVE_NUMBERS * 4; i++) {
        static const unsigned bits[] = {0, 8, 16, 32};
        if (strcmp(precision, drove__quant_name((drove_number)(i / 4), bits[i % 4])) != 0) continue;
        q->number = (drove_number)(i / 4);
        q->index_bits = bits[i % 4];
        DROVE_TRY(want_meta(c, "quantum", &quantum));
        DROVE_TRY(drove__parse_real("quantum", quantum, 0, HUGE_VAL, &scale));
        DROVE_TRY(want_count(c, "n_rows", UINT32_MAX, &rows));
        DROVE_TRY(want_count(c, "n_features", UINT32_MAX, &features));
        DROVE_TRY(want_count(c, "n_clamped", UINT64_MAX, &q->n_clamped));
        q->scale = (float)scale;
        q->n_rows = c->s->n_rows = (size_t)rows;
        q->n_features = c->s->n_features = (size_t)features;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_DATA, "expected a precision such as D8 or D16i16, found \"%.40s\"",
                       precision);
}

/* The tensor's bytes, in place. */
static drove_status want(const cache *c, const char *name, drove_tensor_type type, size_t n,
                         void **out)
{
    const void *bytes;
    DROVE_TRY(drove__safetensors_want(&c->file, name, type, n, &bytes));
    *out = c->file.data + ((const char *)bytes - c->file.data);
    return DROVE_OK;
}

static drove_status read_examples(cache *c)
{
    static const drove_tensor_type types[DROVE_NUMBERS] = {DROVE_T_I8, DROVE_T_I16, DROVE_T_F32};
    drove_quant *q = c->q;
    size_t size_bytes = drove__number_size(q->number), n;
    void *start;
    DROVE_TRY(want_count(c, "n_stored", SIZE_MAX / 64, &q->n_stored));
    DROVE_TRY(want_count(c, "n_bridges", q->n_stored, &q->n_bridges));
    if (q->index_bits == 0) {
        q->row_bytes = (q->n_features * size_bytes + DROVE_CACHE_LINE - 1) / DROVE_CACHE_LINE *
                       DROVE_CACHE_LINE;
        if (__builtin_mul_overflow(q->n_rows, q->row_bytes / size_bytes, &n) || q->n_stored != 0)
            return drove__fail(DROVE_E_DATA, "expected fewer examples, found %zu of %zu features",
                               q->n_rows, q->n_features);
        return want(c, "value", types[q->number], n, &q->value);
    }
    DROVE_TRY(want(c, "value", types[q->number], (size_t)q->n_stored, &q->value));
    DROVE_TRY(want(c, "index",
                   q->index_bits == 8    ? DROVE_T_U8
                   : q->index_bits == 16 ? DROVE_T_U16
                                         : DROVE_T_U32,
                   (size_t)q->n_stored, &q->index));
    DROVE_TRY(want(c, "row_start", DROVE_T_U64, q->n_rows + 1, &start));
    q->row_start = start;
    return DROVE_OK;
}

static drove_status read_shape(cache *c)
{
    static const char *const bases[] = {"-1", "0", "1"};
    drove_storage *s = c->s;
    uint64_t channels, height, width;
    size_t base, scaling;
    const char *notes;
    DROVE_TRY(want_count(c, "channels", UINT16_MAX, &channels));
    DROVE_TRY(want_count(c, "height", UINT16_MAX, &height));
    DROVE_TRY(want_count(c, "width", UINT16_MAX, &width));
    if (channels != 0 && channels * height * width != s->n_features) {
        return drove__fail(DROVE_E_DATA, "expected images of %zu features, found %zu x %zu x %zu",
                           s->n_features, (size_t)channels, (size_t)height, (size_t)width);
    }
    s->channels = (size_t)channels;
    s->height = (size_t)height;
    s->width = (size_t)width;
    DROVE_TRY(want_word(c, "index_base", bases, DROVE_COUNT(bases), &base));
    DROVE_TRY(want_word(c, "scale", drove__scaling_names, DROVE_N_SCALINGS, &scaling));
    s->index_base = (int)base - 1;
    s->scaling = (drove_scaling)scaling;
    DROVE_TRY(want_meta(c, "notes", &notes));
    if (notes[0] != '\0') drove__storage_note(s, "%s", notes);
    return DROVE_OK;
}

/* Copies a tensor of n floats if it exists. */
static drove_status copy_floats(const cache *c, const char *name, size_t n, float **out)
{
    void *bytes;
    if (drove__safetensors_find(&c->file, name) == NULL) return DROVE_OK;
    DROVE_TRY(want(c, name, DROVE_T_F32, n, &bytes));
    float *copy = drove__alloc(n, sizeof *copy);
    if (copy == NULL) return drove__fail_nomem("scaling", n * sizeof *copy);
    memcpy(copy, bytes, n * sizeof *copy);
    *out = copy;
    bool is_finite = true;
    for (size_t i = 0; i < n; i++) is_finite &= isfinite(copy[i]);
    return is_finite ? DROVE_OK : drove__fail(DROVE_E_DATA, "%s: a number is not finite", name);
}

static drove_status read_scaling(cache *c)
{
    size_t n = c->s->n_features;
    DROVE_TRY(copy_floats(c, "input.shift", n, &c->s->shift));
    DROVE_TRY(copy_floats(c, "input.factor", n, &c->s->factor));
    if ((c->s->shift == NULL) == (c->s->factor == NULL)) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "expected input.shift and input.factor, found one of them");
}

/* ---- targets ---- */

/* malloc'd copy of a tensor. */
static drove_status copy_tensor(const cache *c, const char *name, drove_tensor_type type, size_t n,
                                size_t size_bytes, void **out)
{
    void *bytes;
    DROVE_TRY(want(c, name, type, n, &bytes));
    *out = drove__grow(NULL, n, size_bytes);
    if (*out == NULL) return drove__fail_nomem(name, n * size_bytes);
    memcpy(*out, bytes, n * size_bytes);
    return DROVE_OK;
}

static drove_status read_label_sets(cache *c)
{
    drove_storage *s = c->s;
    void *start = NULL, *label = NULL;
    DROVE_TRY(copy_tensor(c, "label_start", DROVE_T_U64, s->n_rows + 1, sizeof(uint64_t), &start));
    s->label_start = start;
    bool ascends = s->label_start[0] == 0;
    for (size_t i = 0; i < s->n_rows; i++) ascends &= s->label_start[i] <= s->label_start[i + 1];
    if (!ascends) return drove__fail(DROVE_E_DATA, "the rows' first labels do not ascend");
    DROVE_TRY(copy_tensor(c, "label", DROVE_T_U32, (size_t)s->label_start[s->n_rows],
                          sizeof(uint32_t), &label));
    s->label = label;
    return DROVE_OK;
}

static drove_status read_targets(cache *c)
{
    static const char *const kinds[] = {"class", "value", "labels"};
    drove_storage *s = c->s;
    size_t kind;
    uint64_t n_classes;
    void *target = NULL;
    DROVE_TRY(want_word(c, "target", kinds, DROVE_COUNT(kinds), &kind));
    DROVE_TRY(want_count(c, "n_classes", CLASSES_MOST, &n_classes));
    if ((kind == DROVE_Y_VALUE) != (n_classes == 0)) {
        return drove__fail(DROVE_E_DATA, "expected classes or values, found %s and %zu classes",
                           kinds[kind], (size_t)n_classes);
    }
    s->y_kind = (drove_y_kind)kind;
    s->n_classes = (size_t)n_classes;
    if (s->y_kind == DROVE_Y_LABELS) return read_label_sets(c);
    bool is_class = s->y_kind == DROVE_Y_CLASS;
    DROVE_TRY(copy_tensor(c, "target", is_class ? DROVE_T_I32 : DROVE_T_F32, s->n_rows,
                          sizeof(int32_t), &target));
    if (is_class) s->y_class = target;
    else s->y_value = target;
    return DROVE_OK;
}

static drove_status read_class_names(cache *c)
{
    drove_storage *s = c->s;
    const drove_tensor *t = drove__safetensors_find(&c->file, "class_names");
    if (t == NULL) return DROVE_OK;
    size_t n_bytes = drove__tensor_bytes(t), n_names = 0;
    const unsigned char *text = t->bytes;
    bool is_plain = t->type == DROVE_T_U8 && n_bytes > 0 && text[n_bytes - 1] == '\0';
    for (size_t i = 0; i < n_bytes && is_plain; i++) {
        n_names += text[i] == '\0';
        is_plain = text[i] == '\0' || text[i] >= 0x20;
    }
    if (!is_plain || n_names != s->n_classes) {
        return drove__fail(DROVE_E_DATA, "class_names: expected %zu texts, found %zu bytes",
                           s->n_classes, n_bytes);
    }
    s->class_name = calloc(s->n_classes, sizeof *s->class_name);
    if (s->class_name == NULL) return drove__fail_nomem("class names", n_bytes);
    for (size_t i = 0; i < s->n_classes; i++) {
        s->class_name[i] = strdup((const char *)text);
        if (s->class_name[i] == NULL) return drove__fail_nomem("class names", n_bytes);
        text += strlen((const char *)text) + 1;
    }
    return DROVE_OK;
}

/* ---- ?from ---- */

/* The first difference between the data and those that the file was made from, or NULL. */
static const char *find_difference(const cache *c, const drove_data *data, uint64_t n_stored,
                                   const char *fingerprint, char into[128])
{
    const drove_storage *s = c->s;
    drove_data_facts facts;
    drove_scale scale = drove__data_scale(data);
    char found[DROVE_QUANT_SUM_SIZE];
    drove_data_describe(data, &facts);
    if (facts.n_rows != s->n_rows) {
        snprintf(into, 128, "expected %zu rows, found %zu", s->n_rows, facts.n_rows);
        return into;
    }
    if (facts.n_features != s->n_features) {
        snprintf(into, 128, "expected %zu features, found %zu", s->n_features, facts.n_features);
        return into;
    }
    if (facts.n_stored != n_stored) {
        snprintf(into, 128, "expected %llu stored numbers, found %zu", (unsigned long long)n_stored,
                 facts.n_stored);
        return into;
    }
    drove__quant_hash_text(drove__quant_fingerprint(data), found);
    if (strcmp(found, fingerprint) != 0) return "other values or labels";
    size_t n_bytes = s->n_features * sizeof *s->shift;
    if ((scale.factor == NULL) != (s->factor == NULL) ||
        (s->factor != NULL && (memcmp(scale.shift, s->shift, n_bytes) != 0 ||
                               memcmp(scale.factor, s->factor, n_bytes) != 0)))
        return "another scaling";
    return NULL;
}

static drove_status check_from(const cache *c, const char *from)
{
    static const char *const parts[] = {"all", "train", "test"};
    const char *source, *fingerprint;
    char text[128];
    uint64_t n_stored, seed;
    size_t part;
    drove_data *data = NULL, *test = NULL;
    DROVE_TRY(want_meta(c, "source", &source));
    DROVE_TRY(want_meta(c, "fingerprint", &fingerprint));
    DROVE_TRY(want_word(c, "source_part", parts, DROVE_COUNT(parts), &part));
    DROVE_TRY(want_count(c, "source_seed", UINT64_MAX, &seed));
    DROVE_TRY(want_count(c, "source_stored", UINT64_MAX, &n_stored));
    drove_status status =
        drove_data_open(from, part == DROVE_ROWS_ALL ? NULL : "split", seed, &data, &test);
    if (status != DROVE_OK) return drove__fail_in(status, "?from");
    if (drove__augment_is_on(&data->augment)) {
        drove_data_destroy(data);
        drove_data_destroy(test);
        return drove__fail(DROVE_E_ARG,
                           "?from: expected data without crop, pad and mirror, found %s", from);
    }
    const char *difference =
        find_difference(c, part == DROVE_ROWS_TEST ? test : data, n_stored, fingerprint, text);
    drove_data_destroy(data);
    drove_data_destroy(test);
    if (difference == NULL) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "a quantised cache that does not match its data: made from \"%.120s\", "
                       "compared with \"%.120s\": %s",
                       source, from, difference);
}

/* ---- opening ---- */

static drove_status check_precision(const cache *c, const drove_spec *spec)
{
    drove_number number = c->q->number;
    unsigned index_bits = c->q->index_bits;
    DROVE_TRY(drove__quant_precision(spec, index_bits != 0, &number, &index_bits));
    if (number == c->q->number && index_bits == c->q->index_bits) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "expected %s (?precision), found %s",
                       drove__quant_name(number, index_bits),
                       drove__quant_name(c->q->number, c->q->index_bits));
}

static drove_status read_all(cache *c, const drove_spec *spec)
{
    DROVE_TRY(check_sum(c));
    DROVE_TRY(read_format(c));
    DROVE_TRY(check_precision(c, spec));
    DROVE_TRY(read_examples(c));
    DROVE_TRY(read_shape(c));
    DROVE_TRY(read_scaling(c));
    DROVE_TRY(read_targets(c));
    DROVE_TRY(read_class_names(c));
    const char *from = drove__spec_get(spec, "from", NULL);
    return from != NULL ? check_from(c, from) : DROVE_OK;
}

/* The storage owns the quantised data from the start, and they own the file's block. */
static drove_status prepare(cache *c)
{
    DROVE_TRY(drove__storage_create(&c->s));
    c->s->x_kind = DROVE_X_QUANT;
    c->s->quant = c->q = calloc(1, sizeof *c->q);
    if (c->q == NULL) return drove__fail_nomem("quantised data", sizeof *c->q);
    c->q->n_users = 1;
    DROVE_TRY(drove__safetensors_load(c->path, &c->file));
    c->q->block = c->file.data;
    return DROVE_OK;
}

drove_status drove__quant_read(const drove_spec *spec, int part, const drove_shard *shard,
                               drove_storage **out)
{
    cache c = {.path = spec->arg[0]};
    (void)part;
    (void)shard;
    *out = NULL;
    DROVE_TRY(drove__quant_refuse_keys(spec, "range"));
    drove_status status = prepare(&c);
    if (status == DROVE_OK) {
        status = read_all(&c, spec);
        if (status != DROVE_OK) drove__fail_in(status, "%s", c.path);
    }
    if (status == DROVE_OK) status = drove__storage_check(c.s, c.path);
    c.file.data = NULL; /* now owned by the quantised data */
    drove__safetensors_fini(&c.file);
    if (status != DROVE_OK) drove__storage_release(c.s);
    else *out = c.s;
    return status;
}
