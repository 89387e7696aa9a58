/* data/disk/quant_header.c - reads all of quant:FILE but its rows: what describes them, and whether
 * its tensors can hold them; the format is in data/disk/quant_file.h. */
#include "data/disk/quant_file.h"

#include "base/mem.h"
#include "data/scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MOST = 1 << 24 };

/* ---- metadata ---- */

drove_status drove__quant_meta(const drove_quant_file *f, const char *key, const char **out)
{
    *out = drove__safetensors_meta(&f->file, key);
    if (*out == NULL) return drove__fail(DROVE_E_DATA, "expected metadata \"%s\", found none", key);
    for (const char *at = *out; *at != '\0'; at++) {
        if (*at >= 0x20 && *at < 0x7f) continue;
        return drove__fail(DROVE_E_DATA, "metadata \"%s\": expected plain text", key);
    }
    return DROVE_OK;
}

drove_status drove__quant_count(const drove_quant_file *f, const char *key, uint64_t most,
                                uint64_t *out)
{
    const char *text;
    DROVE_TRY(drove__quant_meta(f, key, &text));
    return drove__parse_u64(key, text, 0, most, out);
}

drove_status drove__quant_word(const drove_quant_file *f, const char *key, const char *const *words,
                               size_t n, size_t *out)
{
    const char *text;
    DROVE_TRY(drove__quant_meta(f, key, &text));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, words[i]) != 0) continue;
        *out = i;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_DATA, "metadata \"%s\": expected %s .. %s, found \"%.40s\"", key,
                       words[0], words[n - 1], text);
}

/* ---- examples ---- */

static drove_status read_format(drove_quant_file *f)
{
    drove_quant *q = f->q;
    const char *precision, *quantum;
    double scale;
    uint64_t rows, features;
    DROVE_TRY(drove__quant_meta(f, "precision", &precision));
    for (unsigned i = 0; i < DROVE_NUMBERS * 4; i++) {
        static const unsigned bits[] = {0, 8, 16, 32};
        const char *name = drove__quant_name((drove_number)(i / 4), bits[i % 4]);
        if (name == NULL || strcmp(precision, name) != 0) continue;
        q->number = (drove_number)(i / 4);
        q->index_bits = bits[i % 4];
        DROVE_TRY(drove__quant_meta(f, "quantum", &quantum));
        DROVE_TRY(drove__parse_real("quantum", quantum, 0, HUGE_VAL, &scale));
        DROVE_TRY(drove__quant_count(f, "n_rows", UINT32_MAX, &rows));
        DROVE_TRY(drove__quant_count(f, "n_features", UINT32_MAX, &features));
        DROVE_TRY(drove__quant_count(f, "n_clamped", UINT64_MAX, &q->n_clamped));
        q->scale = (float)scale;
        q->n_rows = f->s->n_rows = (size_t)rows;
        q->n_features = f->s->n_features = (size_t)features;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_DATA, "expected a precision such as D8 or D16i16, found \"%.40s\"",
                       precision);
}

static drove_status want(const drove_quant_file *f, const char *name, drove_tensor_type type,
                         size_t n)
{
    return drove__safetensors_want(&f->file, name, type, n, NULL);
}

static drove_status check_dense(const drove_quant_file *f, drove_tensor_type type)
{
    drove_quant *q = f->q;
    size_t size_bytes = drove__quant_element_bytes(q->number), n;
    q->row_bytes = drove__quant_row_bytes(q->number, q->n_features);
    if (__builtin_mul_overflow(q->n_rows, q->row_bytes / size_bytes, &n) || q->n_stored != 0)
        return drove__fail(DROVE_E_DATA, "expected fewer examples, found %zu of %zu features",
                           q->n_rows, q->n_features);
    return want(f, "value", type, n);
}

/* What the tensors of the examples must be. */
static drove_status check_examples(const drove_quant_file *f)
{
    drove_quant *q = f->q;
    const drove_tensor_type type = drove__quant_tensor_type(q->number);
    DROVE_TRY(drove__quant_count(f, "n_stored", SIZE_MAX / 64, &q->n_stored));
    DROVE_TRY(drove__quant_count(f, "n_bridges", q->n_stored, &q->n_bridges));
    if (q->index_bits == 0) return check_dense(f, type);
    DROVE_TRY(want(f, "value", type, (size_t)q->n_stored));
    DROVE_TRY(want(f, "index",
                   q->index_bits == 8    ? DROVE_T_U8
                   : q->index_bits == 16 ? DROVE_T_U16
                                         : DROVE_T_U32,
                   (size_t)q->n_stored));
    return want(f, "row_start", DROVE_T_U64, q->n_rows + 1);
}

static drove_status read_blocks(drove_quant_file *f)
{
    uint64_t rows;
    DROVE_TRY(drove__quant_count(f, "block_rows", UINT32_MAX, &rows));
    if (rows == 0) return drove__fail(DROVE_E_DATA, "expected block_rows above 0");
    f->block_rows = (size_t)rows;
    return want(f, DROVE_QUANT_BLOCKS, DROVE_T_U64,
                (f->s->n_rows + f->block_rows - 1) / f->block_rows);
}

static drove_status read_shape(drove_quant_file *f)
{
    static const char *const bases[] = {"-1", "0", "1"};
    drove_storage *s = f->s;
    uint64_t channels, height, width;
    size_t base, scaling;
    const char *notes;
    DROVE_TRY(drove__quant_count(f, "channels", UINT16_MAX, &channels));
    DROVE_TRY(drove__quant_count(f, "height", UINT16_MAX, &height));
    DROVE_TRY(drove__quant_count(f, "width", UINT16_MAX, &width));
    if (channels != 0 && channels * height * width != s->n_features) {
        return drove__fail(DROVE_E_DATA, "expected images of %zu features, found %zu x %zu x %zu",
                           s->n_features, (size_t)channels, (size_t)height, (size_t)width);
    }
    s->channels = (size_t)channels;
    s->height = (size_t)height;
    s->width = (size_t)width;
    DROVE_TRY(drove__quant_word(f, "index_base", bases, DROVE_COUNT(bases), &base));
    DROVE_TRY(drove__quant_word(f, "scale", drove__scaling_names, DROVE_N_SCALINGS, &scaling));
    s->index_base = (int)base - 1;
    s->scaling = (drove_scaling)scaling;
    DROVE_TRY(drove__quant_meta(f, "notes", &notes));
    if (notes[0] != '\0') drove__storage_note(s, "%s", notes);
    return DROVE_OK;
}

/* Copies a tensor of n floats if it exists. */
static drove_status copy_floats(const drove_quant_file *f, const char *name, size_t n, float **out)
{
    const void *bytes;
    if (drove__safetensors_find(&f->file, name) == NULL) return DROVE_OK;
    DROVE_TRY(drove__safetensors_want(&f->file, name, DROVE_T_F32, n, &bytes));
    float *copy = drove__alloc(n, sizeof *copy);
    if (copy == NULL) return drove__fail_nomem("scaling", n * sizeof *copy);
    memcpy(copy, bytes, n * sizeof *copy);
    *out = copy;
    bool is_finite = true;
    for (size_t i = 0; i < n; i++) is_finite &= isfinite(copy[i]);
    return is_finite ? DROVE_OK : drove__fail(DROVE_E_DATA, "%s: a number is not finite", name);
}

static drove_status read_scaling(drove_quant_file *f)
{
    size_t n = f->s->n_features;
    DROVE_TRY(copy_floats(f, "input.shift", n, &f->s->shift));
    DROVE_TRY(copy_floats(f, "input.factor", n, &f->s->factor));
    if ((f->s->shift == NULL) == (f->s->factor == NULL)) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "expected input.shift and input.factor, found one of them");
}

/* ---- targets ---- */

static drove_status check_targets(const drove_quant_file *f)
{
    static const char *const kinds[] = {"class", "value", "labels"};
    drove_storage *s = f->s;
    size_t kind;
    uint64_t n_classes;
    DROVE_TRY(drove__quant_word(f, "target", kinds, DROVE_COUNT(kinds), &kind));
    DROVE_TRY(drove__quant_count(f, "n_classes", CLASSES_MOST, &n_classes));
    if ((kind == DROVE_Y_VALUE) != (n_classes == 0)) {
        return drove__fail(DROVE_E_DATA, "expected classes or values, found %s and %zu classes",
                           kinds[kind], (size_t)n_classes);
    }
    s->y_kind = (drove_y_kind)kind;
    s->n_classes = (size_t)n_classes;
    if (s->y_kind == DROVE_Y_LABELS) return want(f, "label_start", DROVE_T_U64, s->n_rows + 1);
    return want(f, "target", s->y_kind == DROVE_Y_CLASS ? DROVE_T_I32 : DROVE_T_F32, s->n_rows);
}

static drove_status read_class_names(drove_quant_file *f)
{
    drove_storage *s = f->s;
    const drove_tensor *t = drove__safetensors_find(&f->file, "class_names");
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

/* ---- opening ---- */

static drove_status check_precision(const drove_quant_file *f, const drove_spec *spec)
{
    drove_number number = f->q->number;
    unsigned index_bits = f->q->index_bits;
    DROVE_TRY(drove__quant_precision(spec, index_bits != 0, &number, &index_bits));
    if (number == f->q->number && index_bits == f->q->index_bits) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "expected %s (?precision), found %s",
                       drove__quant_name(number, index_bits),
                       drove__quant_name(f->q->number, f->q->index_bits));
}

drove_status drove__quant_file_open(drove_quant_file *f, bool is_whole)
{
    static const char *const small[] = {"class_names", "input.shift", "input.factor",
                                        DROVE_QUANT_BLOCKS};
    DROVE_TRY(drove__storage_create(&f->s));
    f->s->x_kind = DROVE_X_QUANT;
    f->s->quant = f->q = calloc(1, sizeof *f->q);
    if (f->q == NULL) return drove__fail_nomem("quantised data", sizeof *f->q);
    atomic_init(&f->q->n_users, 1);
    return is_whole ? drove__safetensors_load(f->path, &f->file)
                    : drove__safetensors_open(f->path, small, DROVE_COUNT(small), &f->file);
}

drove_status drove__quant_file_describe(drove_quant_file *f, const drove_spec *spec)
{
    const char *format;
    DROVE_TRY(drove__quant_meta(f, "format", &format));
    if (strcmp(format, DROVE_QUANT_FORMAT) != 0)
        return drove__fail(DROVE_E_DATA, "expected metadata format \"%s\", found \"%.40s\"",
                           DROVE_QUANT_FORMAT, format);
    if (!f->file.is_checked)
        return drove__fail(DROVE_E_DATA, "expected checksums in its header, found none");
    DROVE_TRY(read_format(f));
    DROVE_TRY(check_precision(f, spec));
    DROVE_TRY(check_examples(f));
    DROVE_TRY(read_blocks(f));
    DROVE_TRY(read_shape(f));
    DROVE_TRY(read_scaling(f));
    DROVE_TRY(check_targets(f));
    return read_class_names(f);
}
