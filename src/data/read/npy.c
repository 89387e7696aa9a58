/* data/read/npy.c - reads and writes NumPy's array files: examples in one, targets in the other.
 *
 * Format (NumPy Enhancement Proposal 1): "\x93NUMPY", version, length of the header, a Python
 * dictionary with descr, fortran_order and shape, then the elements.  Here: versions 1 to 3, either
 * order of bytes, types b1 u1 i1 u2 i2 f2 u4 i4 f4 u8 i8 f8, of labels also U and S (text); X may
 * be stored column by column (fortran_order).  X is [n], [n][features],
 * [n][height][width], [n][channels][height][width] or [n][height][width][channels]; bytes stay
 * bytes.  Y is [n] or [n][1]: classes or values by the rule of data/read/labels.h; [n][labels] of
 * zeros and ones: multi-label, or with ?target=class one class a row.  data/read/npz.c reads the
 * same arrays from an archive.
 */
#include "data/read/elements.h"
#include "data/export.h"
#include "data/read/labels.h"
#include "data/read/npy.h"
#include "data/read/text.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANK_MOST = 4,
    HEADER_MOST = 65536,
    HEADER_ALIGN = 64,
    LABELS_MOST = 1 << 24,
    TEXT_MOST = 4096 /* characters of a label */
};

typedef struct npy_file {
    drove_reader *reader;
    drove_elements elements;
    unsigned rank;
    uint64_t shape[RANK_MOST];
    bool is_fortran;
    uint64_t text_bytes; /* of a label that is text; 0: numbers */
    bool is_wide;        /* text of 32-bit code points, else of bytes */
} npy_file;

/* ---- the header ---- */

typedef struct header { /* the dictionary's text */
    const npy_file *file;
    uint64_t offset; /* of text in the file   */
    const char *text, *at, *end;
} header;

static drove_status fail_header(const header *h, const char *expected)
{
    int n = h->end - h->at < 20 ? (int)(h->end - h->at) : 20;
    return drove__fail(DROVE_E_DATA, "%s: byte %llu of its NPY header: expected %s, found \"%.*s\"",
                       drove__reader_path(h->file->reader),
                       (unsigned long long)(h->offset + (uint64_t)(h->at - h->text)), expected, n,
                       h->at);
}

static void skip_blanks(header *h)
{
    while (h->at < h->end && (drove__is_blank(*h->at) || *h->at == '\n')) h->at++;
}

/* Skips a punctuation mark if it is there. */
static bool take(header *h, char mark)
{
    skip_blanks(h);
    if (h->at == h->end || *h->at != mark) return false;
    h->at++;
    return true;
}

static bool take_word(header *h, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n) != 0) return false;
    h->at += n;
    return true;
}

/* 'text' or "text". */
static drove_status read_string(header *h, const char **text, size_t *length)
{
    skip_blanks(h);
    if (h->at == h->end || (*h->at != '\'' && *h->at != '"'))
        return fail_header(h, "a quoted word");
    const char *first = h->at + 1;
    const char *last = first < h->end ? memchr(first, *h->at, (size_t)(h->end - first)) : NULL;
    if (last == NULL) return fail_header(h, "a closing quote");
    *text = first;
    *length = (size_t)(last - first);
    h->at = last + 1;
    return DROVE_OK;
}

static drove_status read_type(header *h, npy_file *f)
{
    static const struct {
        char name[3];
        drove_element_type type;
    } types[] = {
        /* booleans are no bytes to be divided by 255 */
        {"b1", DROVE_ELEMENT_I8},  {"u1", DROVE_ELEMENT_U8},  {"i1", DROVE_ELEMENT_I8},
        {"i2", DROVE_ELEMENT_I16}, {"i4", DROVE_ELEMENT_I32}, {"i8", DROVE_ELEMENT_I64},
        {"f4", DROVE_ELEMENT_F32}, {"f8", DROVE_ELEMENT_F64}, {"u2", DROVE_ELEMENT_U16},
        {"u4", DROVE_ELEMENT_U32}, {"u8", DROVE_ELEMENT_U64}, {"f2", DROVE_ELEMENT_F16},
    };
    const char *text;
    size_t length;
    DROVE_TRY(read_string(h, &text, &length));
    for (size_t i = 0; length == 3 && i < DROVE_COUNT(types); i++) {
        if (memcmp(text + 1, types[i].name, 2) != 0) continue;
        if (strchr("<|>=", text[0]) == NULL) break;
        f->elements.type = types[i].type;
        f->elements.big_endian = text[0] == '>';
        return DROVE_OK;
    }
    uint64_t n_chars;
    const char *next;
    if (length >= 3 && strchr("<|>=", text[0]) != NULL && (text[1] == 'U' || text[1] == 'S') &&
        drove__scan_u64(text + 2, text + length, &next, &n_chars) && next == text + length &&
        n_chars > 0 && n_chars <= TEXT_MOST) {
        f->elements.type = DROVE_ELEMENT_U8;
        f->elements.big_endian = text[0] == '>';
        f->is_wide = text[1] == 'U';
        f->text_bytes = f->is_wide ? 4 * n_chars : n_chars;
        return DROVE_OK;
    }
    h->at = text;
    if (length == 2 && memcmp(text, "|O", 2) == 0)
        return fail_header(h, "numbers or text (numpy.array(y).astype(str)), no Python objects");
    return fail_header(h,
                       "a type among b1, u1 to u8, i1 to i8, f2, f4, f8 and, of labels, U and S");
}

static drove_status fail_fortran(const npy_file *f)
{
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "%s: is stored column by column (fortran_order); expected row by row here: "
                       "save numpy.ascontiguousarray(x)",
                       drove__reader_path(f->reader));
}

static drove_status read_shape(header *h, npy_file *f)
{
    f->rank = 0;
    if (!take(h, '(')) return fail_header(h, "a shape such as (60000, 784)");
    while (!take(h, ')')) {
        if (f->rank == RANK_MOST) return fail_header(h, "at most 4 dimensions");
        skip_blanks(h);
        uint64_t n;
        const char *next;
        if (!drove__scan_u64(h->at, h->end, &next, &n) || n == 0)
            return fail_header(h, "a dimension of at least 1");
        h->at = next;
        if (h->at < h->end && *h->at == 'L') h->at++; /* Python 2 */
        f->shape[f->rank++] = n;
        if (take(h, ',')) continue;
        skip_blanks(h);
        if (h->at == h->end || *h->at != ')') return fail_header(h, "',' or ')'");
    }
    if (f->rank == 0) return fail_header(h, "at least one dimension");
    return DROVE_OK;
}

static drove_status read_dictionary(header *h, npy_file *f)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    bool seen[DROVE_COUNT(keys)] = {false};
    if (!take(h, '{')) return fail_header(h, "'{'");
    while (!take(h, '}')) {
        const char *key;
        size_t length, which = 0;
        DROVE_TRY(read_string(h, &key, &length));
        while (which < DROVE_COUNT(keys) &&
               (length != strlen(keys[which]) || memcmp(key, keys[which], length) != 0)) {
            which++;
        }
        if (which == DROVE_COUNT(keys) || seen[which]) {
            h->at = key;
            return fail_header(h, "descr, fortran_order and shape, each once");
        }
        seen[which] = true;
        if (!take(h, ':')) return fail_header(h, "':'");
        if (which == 0) DROVE_TRY(read_type(h, f));
        if (which == 1) {
            skip_blanks(h);
            f->is_fortran = take_word(h, "True");
            if (!f->is_fortran && !take_word(h, "False")) return fail_header(h, "True or False");
        }
        if (which == 2) DROVE_TRY(read_shape(h, f));
        if (take(h, ',')) continue;
        skip_blanks(h);
        if (h->at == h->end || *h->at != '}') return fail_header(h, "',' or '}'");
    }
    for (size_t i = 0; i < DROVE_COUNT(keys); i++) {
        if (!seen[i]) return fail_header(h, "descr, fortran_order and shape, each once");
    }
    skip_blanks(h);
    return h->at == h->end ? DROVE_OK : fail_header(h, "nothing after '}'");
}

static drove_status read_header(npy_file *f)
{
    const char *path = drove__reader_path(f->reader);
    uint8_t start[8], bytes[4] = {0};
    DROVE_TRY(drove__reader_read(f->reader, start, sizeof start));
    if (memcmp(start, "\x93NUMPY", 6) != 0) {
        return drove__fail(
            DROVE_E_DATA,
            "%s: not an NPY file: expected \"\\x93NUMPY\" at its start, found byte 0x%02x", path,
            start[0]);
    }
    if (start[6] < 1 || start[6] > 3) {
        return drove__fail(DROVE_E_DATA, "%s: byte 6: expected NPY version 1, 2 or 3, found %u",
                           path, start[6]);
    }
    DROVE_TRY(drove__reader_read(f->reader, bytes, start[6] == 1 ? 2 : 4));
    uint32_t length = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                      (uint32_t)bytes[3] << 24;
    if (length > HEADER_MOST) {
        return drove__fail(DROVE_E_DATA,
                           "%s: byte 8: expected a header of at most %d bytes, found %u", path,
                           HEADER_MOST, length);
    }
    header h = {.file = f, .offset = drove__reader_offset(f->reader)};
    char *text = drove__grow(NULL, length, 1);
    if (text == NULL) return drove__fail_nomem(drove__reader_path(f->reader), length);
    drove_status status = drove__reader_read(f->reader, text, length);
    if (status == DROVE_OK) {
        h.text = h.at = text;
        h.end = text + length;
        status = read_dictionary(&h, f);
    }
    free(text);
    return status;
}

/* ---- content ---- */

static bool is_channel_count(uint64_t n)
{
    return n == 1 || n == 3 || n == 4;
}

/* Images of n rows from [height][width][channels] to [channels][height][width]. */
static drove_status put_channels_first(drove_storage *s, size_t n)
{
    size_t element = s->x_kind == DROVE_X_U8 ? 1 : sizeof *s->x_f32;
    size_t row_bytes = s->n_features * element;
    char *x = s->x_kind == DROVE_X_U8 ? (char *)s->x_u8 : (char *)s->x_f32;
    char *scratch = drove__grow(NULL, row_bytes, 1);
    if (scratch == NULL) return drove__fail_nomem("an image", row_bytes);
    const size_t channels = s->channels, n_pixels = s->height * s->width;
    for (size_t i = 0; i < n && channels > 1; i++) {
        memcpy(scratch, x + i * row_bytes, row_bytes);
        for (size_t c = 0; c < channels; c++) {
            char *plane = x + i * row_bytes + c * n_pixels * element;
            const char *from = scratch + c * element;
            for (size_t k = 0; k < n_pixels; k++)
                memcpy(plane + k * element, from + k * channels * element, element);
        }
    }
    free(scratch);
    return DROVE_OK;
}

/* The numbers of all rows, stored with the first index fastest, in the order of rows. */
static drove_status put_rows_first(const npy_file *f, drove_storage *s)
{
    const size_t element = s->x_kind == DROVE_X_U8 ? 1 : sizeof *s->x_f32;
    const size_t n = s->n_rows * s->n_features;
    char *x = s->x_kind == DROVE_X_U8 ? (char *)s->x_u8 : (char *)s->x_f32;
    char *from = drove__grow(NULL, n, element);
    if (from == NULL) return drove__fail_nomem("data set", n * element);
    memcpy(from, x, n * element);
    for (size_t i = 0; i < n; i++) {
        size_t at = 0, rest = i, stride = n;
        for (unsigned d = f->rank; d-- > 0;) {
            stride /= (size_t)f->shape[d];
            at += rest % (size_t)f->shape[d] * stride;
            rest /= (size_t)f->shape[d];
        }
        memcpy(x + i * element, from + at * element, element);
    }
    free(from);
    return DROVE_OK;
}

/* Of the examples, before any is read; *n_features: numbers of one. */
static drove_status check_x(const npy_file *f, const drove_shard *shard, uint64_t *n_features)
{
    size_t n;
    *n_features = 1;
    if (f->text_bytes > 0)
        return drove__fail(DROVE_E_DATA, "%s: expected examples of numbers, found text",
                           drove__reader_path(f->reader));
    if (f->is_fortran && f->rank > 1 && drove__shard_is_part(shard)) return fail_fortran(f);
    for (unsigned i = 1; i < f->rank; i++) {
        if (!__builtin_mul_overflow(*n_features, f->shape[i], n_features)) continue;
        return drove__fail(DROVE_E_DATA, "%s: its dimensions overflow",
                           drove__reader_path(f->reader));
    }
    return drove__elements_check(f->reader, f->elements, f->shape[0], *n_features, &n);
}

static drove_status read_x(npy_file *f, const drove_npy_options *opt, uint64_t n_features,
                           const drove_shard *shard, drove_storage *s)
{
    /* TensorFlow and Keras keep images with their channels last. */
    bool is_last = f->rank == 4 && opt->channels == DROVE_CHANNELS_LAST;
    if (f->rank == 4 && opt->channels == DROVE_CHANNELS_BY_SHAPE)
        is_last = !is_channel_count(f->shape[1]) && is_channel_count(f->shape[3]);
    const bool is_fortran = f->is_fortran && f->rank > 1;
    if (f->rank >= 3) {
        s->channels = f->rank == 4 ? (size_t)f->shape[is_last ? 3 : 1] : 1;
        s->height = (size_t)f->shape[f->rank - (is_last ? 3u : 2u)];
        s->width = (size_t)f->shape[f->rank - (is_last ? 2u : 1u)];
    }
    f->elements.begin = drove__reader_offset(f->reader);
    f->elements.columns = is_fortran ? 0 : n_features;
    f->elements.is_by_columns = is_fortran;
    DROVE_TRY(
        drove__elements_read_examples(f->reader, f->elements, f->shape[0], n_features, shard, s));
    if (is_fortran) DROVE_TRY(put_rows_first(f, s));
    return is_last ? put_channels_first(s, drove__shard_size(shard, s->n_rows)) : DROVE_OK;
}

/* A label that is text, without the zeros behind it, as UTF-8 in into[4 * TEXT_MOST]. */
static drove_status read_text(npy_file *f, uint8_t *bytes, char *into, size_t *length)
{
    const size_t size = f->is_wide ? 4 : 1, n = (size_t)f->text_bytes / size;
    *length = 0;
    DROVE_TRY(drove__reader_read(f->reader, bytes, (size_t)f->text_bytes));
    for (size_t i = 0; i < n; i++) {
        uint32_t c = 0;
        for (size_t k = 0; k < size; k++)
            c |= (uint32_t)bytes[i * size + k] << 8 * (f->elements.big_endian ? size - 1 - k : k);
        if (c == 0) break;
        if (size == 1 || c < 0x80) {
            into[(*length)++] = (char)c;
            continue;
        }
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            return drove__fail(DROVE_E_DATA, "%s: expected labels of Unicode, found code point %u",
                               drove__reader_path(f->reader), (unsigned)c);
        const unsigned n_more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        into[(*length)++] = (char)((0xf0u << (3 - n_more) & 0xffu) | c >> 6 * n_more);
        for (unsigned k = n_more; k-- > 0;)
            into[(*length)++] = (char)(0x80u | (c >> 6 * k & 0x3fu));
    }
    if (*length > 0) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "%s: expected labels of at least one character, found an empty "
                       "one",
                       drove__reader_path(f->reader));
}

/* One target per row. */
static drove_status read_targets(npy_file *f, const drove_npy_options *opt, drove_labels *labels,
                                 drove_storage *s)
{
    if (f->text_bytes > 0) {
        uint8_t *bytes = drove__grow(NULL, (size_t)f->text_bytes, 1);
        char *text = drove__grow(NULL, (size_t)f->text_bytes + 1, 1);
        size_t length;
        drove_status status = bytes != NULL && text != NULL
                                  ? DROVE_OK
                                  : drove__fail_nomem("labels", (size_t)f->text_bytes);
        for (size_t row = 0; status == DROVE_OK && row < s->n_rows; row++) {
            status = read_text(f, bytes, text, &length);
            if (status == DROVE_OK) status = drove__labels_add(labels, NULL, text, length, true);
            if (status == DROVE_OK) status = drove__labels_end_row(labels, NULL);
        }
        free(bytes);
        free(text);
        DROVE_TRY(status);
    }
    for (size_t row = 0; f->text_bytes == 0 && row < s->n_rows; row++) {
        double target;
        DROVE_TRY(drove__elements_read_double(f->reader, f->elements, 1, &target));
        DROVE_TRY(drove__labels_add_number(labels, target));
        DROVE_TRY(drove__labels_end_row(labels, NULL));
    }
    DROVE_TRY(drove__elements_end(f->reader));
    return drove__labels_finish(labels, &opt->labels, drove__reader_path(f->reader), s);
}

/* Rows with one 1 each are one class each, as Keras's to_categorical writes them: made classes by
 * ?target=class, else said. */
static drove_status settle_one_hot(const npy_file *f, const drove_npy_options *opt,
                                   drove_storage *s)
{
    const bool wants_classes = opt->labels.target == DROVE_TARGET_CLASS;
    size_t row = 0;
    while (row < s->n_rows && s->label_start[row + 1] - s->label_start[row] == 1) row++;
    const bool is_one_hot = row == s->n_rows;
    if (is_one_hot && !wants_classes && opt->labels.target != DROVE_TARGET_LABELS)
        drove__storage_note(s,
                            "%s: rows with one 1 each are read as sets of labels (?target=class: "
                            "as classes)",
                            drove__reader_path(f->reader));
    if (!wants_classes) return DROVE_OK;
    if (!is_one_hot)
        return drove__fail(DROVE_E_DATA,
                           "%s: row %zu: expected one 1, as ?target=class asks for, "
                           "found %llu",
                           drove__reader_path(f->reader), row + 1,
                           (unsigned long long)(s->label_start[row + 1] - s->label_start[row]));
    s->y_class = drove__grow(NULL, s->n_rows, sizeof *s->y_class);
    if (s->y_class == NULL) return drove__fail_nomem("labels", s->n_rows * sizeof *s->y_class);
    for (row = 0; row < s->n_rows; row++) s->y_class[row] = (int32_t)s->label[row];
    s->y_kind = DROVE_Y_CLASS;
    free(s->label);
    free(s->label_start);
    s->label = NULL;
    s->label_start = NULL;
    return DROVE_OK;
}

static uint64_t n_columns_of(const npy_file *y)
{
    return y->rank >= 2 ? y->shape[1] : 1;
}

/* Of the targets of n_rows examples, before any of these is read. */
static drove_status check_y(const npy_file *f, uint64_t n_rows)
{
    const char *path = drove__reader_path(f->reader);
    const uint64_t n_columns = n_columns_of(f);
    size_t n;
    if (f->rank > 2 || n_columns > LABELS_MOST) {
        return drove__fail(
            DROVE_E_DATA,
            "%s: expected targets of shape (n,), (n, 1) or (n, labels), found %u dimensions", path,
            f->rank);
    }
    if (f->shape[0] != n_rows) {
        return drove__fail(DROVE_E_DATA,
                           "%s: expected %llu targets, one for each example, found %llu", path,
                           (unsigned long long)n_rows, (unsigned long long)f->shape[0]);
    }
    if (n_columns > 1 && f->text_bytes > 0)
        return drove__fail(DROVE_E_DATA, "%s: expected one text a row, found %llu", path,
                           (unsigned long long)n_columns);
    if (n_columns > 1 && f->is_fortran) return fail_fortran(f);
    return drove__elements_check(f->reader, f->elements, n_rows,
                                 f->text_bytes > 0 ? f->text_bytes : n_columns, &n);
}

static drove_status read_y(npy_file *f, const drove_npy_options *opt, drove_storage *s)
{
    const uint64_t n_labels = n_columns_of(f);
    if (n_labels > 1) {
        /* Zeros and ones, [n][labels]; the ones are kept as a list for each row. */
        size_t capacity = 0, n = 0;
        s->y_kind = DROVE_Y_LABELS;
        s->n_classes = (size_t)n_labels;
        s->label_start = drove__grow(NULL, s->n_rows + 1, sizeof *s->label_start);
        if (s->label_start == NULL)
            return drove__fail_nomem("labels", s->n_rows * sizeof *s->label_start);
        s->label_start[0] = 0;
        DROVE_TRY(drove__reserve(&s->label, &capacity, 1, sizeof *s->label));
        for (size_t row = 0; row < s->n_rows; row++) {
            for (uint32_t label = 0; label < n_labels; label++) {
                double one;
                DROVE_TRY(drove__elements_read_double(f->reader, f->elements, 1, &one));
                if (one != 0 && one != 1) {
                    return drove__fail(
                        DROVE_E_DATA,
                        "%s: row %zu, column %u: expected 0 or 1 (multi-label), found %g",
                        drove__reader_path(f->reader), row + 1, label + 1, one);
                }
                if (one == 0) continue;
                DROVE_TRY(drove__reserve(&s->label, &capacity, n + 1, sizeof *s->label));
                s->label[n++] = label;
            }
            s->label_start[row + 1] = n;
        }
        DROVE_TRY(drove__elements_end(f->reader));
        return settle_one_hot(f, opt, s);
    }
    drove_labels *labels;
    DROVE_TRY(drove__labels_create(&labels));
    drove_status status = read_targets(f, opt, labels, s);
    drove__labels_destroy(labels);
    return status;
}

drove_status drove__npy_read_pair(drove_reader *x_reader, drove_reader *y_reader,
                                  const drove_npy_options *opt, const drove_shard *shard,
                                  drove_storage **out)
{
    npy_file x = {.reader = x_reader}, y = {.reader = y_reader};
    uint64_t n_features;
    drove_storage *s = NULL;
    drove_status status = drove__storage_create(&s);
    if (status != DROVE_OK) goto end;
    if ((status = read_header(&x)) != DROVE_OK) goto end;
    if (y_reader != NULL && (status = read_header(&y)) != DROVE_OK) goto end;
    if ((status = check_x(&x, shard, &n_features)) != DROVE_OK) goto end;
    if (y_reader != NULL && (status = check_y(&y, x.shape[0])) != DROVE_OK) goto end;
    if ((status = read_x(&x, opt, n_features, shard, s)) != DROVE_OK) goto end;
    status = y_reader != NULL ? read_y(&y, opt, s) : drove__storage_set_unlabelled(s);
end:
    if (status == DROVE_OK) drove__storage_keep_targets(s, shard);
    if (status == DROVE_OK) status = drove__storage_check(s, drove__reader_path(x_reader));
    if (status != DROVE_OK) drove__storage_release(s);
    else *out = s;
    return status;
}

static const char *const places[] = {
    [DROVE_CHANNELS_FIRST] = "first", [DROVE_CHANNELS_LAST] = "last", NULL};
const drove_spec_key drove__npy_keys[] = {
    DROVE_SPEC_KEYS_OF(drove_npy_options, labels, drove_label_options, drove__label_keys),
    {"channels", NULL, DROVE_AS_WORD(drove_npy_options, channels, places),
     .help = "where an array of images has them; without it by its shape"},
    DROVE_SPEC_END,
};

typedef struct settings {
    drove_npy_options read;
    drove_export_options written;
} settings;

static const drove_spec_key keys[] = {
    DROVE_SPEC_KEYS_OF(settings, read, drove_npy_options, drove__npy_keys),
    DROVE_SPEC_KEYS_OF(settings, written, drove_export_options, drove__export_keys),
    DROVE_SPEC_END,
};

static drove_status read_npy(const drove_spec *spec, int part, const drove_shard *shard,
                             drove_storage **out)
{
    drove_reader *x = NULL, *y = NULL;
    settings set = {.read = {.channels = DROVE_CHANNELS_BY_SHAPE}};
    (void)part;
    DROVE_TRY(drove__spec_take(spec, keys, &set));
    drove_status status = drove__reader_open(spec->arg[0], &x);
    if (status != DROVE_OK) goto end;
    if ((status = drove__reader_open(spec->arg[1], &y)) != DROVE_OK) goto end;
    status = drove__npy_read_pair(x, y, &set.read, shard, out);
end:
    drove__reader_close(x);
    drove__reader_close(y);
    return status;
}

/* ---- writing ---- */

size_t drove__npy_header(const char *type, unsigned rank, const size_t *shape,
                         char into[DROVE_NPY_HEADER_SIZE])
{
    enum { START = 10 }; /* bytes before the dictionary */
    char dimensions[128] = "", *text = into + START;
    size_t used = 0;
    for (unsigned i = 0; i < rank; i++) {
        used += (size_t)snprintf(dimensions + used, sizeof dimensions - used,
                                 i == 0 ? "%zu," : " %zu,", shape[i]);
    }
    if (rank > 1) dimensions[used - 1] = '\0'; /* only (n,) keeps its comma */
    size_t n = (size_t)snprintf(text, DROVE_NPY_HEADER_SIZE - START,
                                "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type,
                                dimensions);
    /* Blanks and a newline up to a multiple of HEADER_ALIGN. */
    size_t end = (START + n + 1 + HEADER_ALIGN - 1) / HEADER_ALIGN * HEADER_ALIGN;
    memset(text + n, ' ', end - START - n);
    into[end - 1] = '\n';
    const uint8_t first[START] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)(end - START), (uint8_t)((end - START) >> 8)};
    memcpy(into, first, START);
    return end;
}

static drove_status write_header(drove_writer *w, const char *type, unsigned rank,
                                 const size_t *shape)
{
    char bytes[DROVE_NPY_HEADER_SIZE];
    return drove__writer_write(w, bytes, drove__npy_header(type, rank, shape, bytes));
}

static drove_status write_number(drove_writer *w, uint32_t bits)
{
    uint8_t bytes[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16),
                        (uint8_t)(bits >> 24)};
    return drove__writer_write(w, bytes, sizeof bytes);
}

static drove_status write_float(drove_writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return write_number(w, bits);
}

static drove_status write_x(drove_writer *w, const drove_data *data, bool scaled)
{
    const drove_storage *s = data->storage;
    bool bytes = s->x_kind == DROVE_X_U8 && !(scaled && data->factor != NULL);
    size_t n = s->n_features;
    const size_t table[] = {data->n_rows, n}, grey[] = {data->n_rows, s->height, s->width};
    const size_t colour[] = {data->n_rows, s->channels, s->height, s->width};
    const size_t *shape = s->channels == 0 ? table : s->channels == 1 ? grey : colour;
    unsigned rank = s->channels == 0 ? 2 : s->channels == 1 ? 3 : 4;
    DROVE_TRY(write_header(w, bytes ? "|u1" : "<f4", rank, shape));
    if (bytes) return drove__export_bytes(data, n, w);
    float *row = drove__grow(NULL, n, sizeof *row);
    if (row == NULL) return drove__fail_nomem("a row", n * sizeof *row);
    drove_status status = DROVE_OK;
    for (size_t i = 0; i < data->n_rows && status == DROVE_OK; i++) {
        drove__export_row(data, i, scaled, row);
        for (size_t j = 0; j < n && status == DROVE_OK; j++) status = write_float(w, row[j]);
    }
    free(row);
    return status;
}

static drove_status write_y(drove_writer *w, const drove_data *data)
{
    const drove_storage *s = data->storage;
    if (s->y_kind == DROVE_Y_LABELS) {
        static const uint8_t zero = 0, one = 1;

        const size_t shape[] = {data->n_rows, s->n_classes};
        DROVE_TRY(write_header(w, "|u1", 2, shape));
        for (size_t i = 0; i < data->n_rows; i++) {
            size_t row = drove__data_row(data, i);
            uint64_t k = s->label_start[row], end = s->label_start[row + 1];
            for (size_t label = 0; label < s->n_classes; label++) {
                bool set = k < end && s->label[k] == label;
                k += set;
                DROVE_TRY(drove__writer_write(w, set ? &one : &zero, 1));
            }
        }
        return DROVE_OK;
    }
    if (s->y_kind == DROVE_Y_CLASS) {
        /* Classes are written as their names if those are whole numbers that fit, else as
         * numbers from 0. */

        int32_t *number = drove__grow(NULL, s->n_classes, sizeof *number);
        if (number == NULL) return drove__fail_nomem("classes", s->n_classes * sizeof *number);
        bool by_name = drove__export_names_are_numbers(s);
        for (size_t c = 0; c < s->n_classes && by_name; c++) {
            double value = 0;
            by_name = drove__label_number(s->class_name[c], strlen(s->class_name[c]), &value) &&
                      value >= INT32_MIN && value <= INT32_MAX && value == (double)(int32_t)value;
            if (by_name) number[c] = (int32_t)value;
        }
        drove_status status = write_header(w, "<i4", 1, &data->n_rows);
        for (size_t i = 0; i < data->n_rows && status == DROVE_OK; i++) {
            int32_t class = s->y_class[drove__data_row(data, i)];
            status = write_number(w, (uint32_t)(by_name ? number[class] : class));
        }
        free(number);
        return status;
    }
    DROVE_TRY(write_header(w, "<f4", 1, &data->n_rows));
    for (size_t i = 0; i < data->n_rows; i++)
        DROVE_TRY(write_float(w, s->y_value[drove__data_row(data, i)]));
    return DROVE_OK;
}

static drove_status write_npy(const drove_data *data, const drove_spec *to)
{
    bool scaled;
    drove_writer *x = NULL, *y = NULL;
    if (data->storage->y_kind == DROVE_Y_LABELS && data->storage->n_classes < 2) {
        return drove__fail(DROVE_E_UNSUPPORTED, "npy: multi-label data need at least 2 labels");
    }
    DROVE_TRY(drove__export_begin(to, &scaled));
    drove_status status = drove__writer_create(to->arg[0], &x);
    if (status != DROVE_OK) goto end;
    if ((status = drove__writer_create(to->arg[1], &y)) != DROVE_OK) goto end;
    if ((status = write_x(x, data, scaled)) != DROVE_OK) goto end;
    status = write_y(y, data);
end:
    if (status == DROVE_OK) return drove__writer_commit_both(x, y);
    drove__writer_abort(x);
    drove__writer_abort(y);
    return status;
}

const drove_format_ops drove__format_npy = {
    .name = "npy",
    .help = "NumPy array files of examples and of targets; bytes stay bytes",
    .source = "NumPy Enhancement Proposal 1",
    .arguments = "X,Y",
    .least_args = 2,
    .most_args = 2,
    .keys = keys,
    .read = read_npy,
    .reads_shards = true,
    .write = write_npy,
    .default_scaling = DROVE_SCALE_NONE,
};
