/* data/read/libsvm.c - reads and writes LIBSVM's text format, single-label and multi-label: "label
 * index:value index:value ...", also with "qid:N" behind the label.
 *
 * Indices ascend within a line.  The file counts features from 0 if index 0 occurs in it, else
 * from 1.  Values of 0 are not stored, but their index counts for the number of features.  "#
 * ..." ends a line.  A multi-label line starts with "l1,l2,..." or, without a label, with a
 * blank.
 */
#include "data/export.h"
#include "data/read/libsvm.h"
#include "data/read/text.h"

#include "base/mem.h"
#include "base/textfile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An index beyond both this and the bytes of the file needs ?features=N: a model has at least one
 * number per feature, and a few bytes of input must not make it ask for gigabytes. */
#define INDEX_ALWAYS_ALLOWED ((uint64_t)1 << 24)
#define INDEX_MOST           ((uint64_t)1 << 31)

typedef struct libsvm_file { /* a file being read */
    drove_reader *reader;
    drove_labels *labels;
    drove_storage *storage;
    const drove_shard *shard; /* rows to keep */
    size_t n_stored, n_kept;
    size_t n_rows; /* of the file */
    size_t index_capacity, value_capacity, row_capacity;
    uint64_t most_index;    /* allowed                                  */
    uint64_t largest_index; /* found                                    */
    bool has_zero;          /* index 0 occurs                           */
    uint64_t n_groups;      /* rows with a "qid:N"                      */
    uint64_t n_rounded;     /* as in drove_line                         */
    drove_libsvm_options opt;
    uint64_t base; /* if given, else 0: the smallest index     */
} libsvm_file;

/* The value of a stored feature; the array exists only once a value differs from 1. */
static drove_status store(libsvm_file *f, uint32_t index, float value)
{
    drove_storage *s = f->storage;
    size_t n = f->n_stored;
    DROVE_TRY(drove__reserve(&s->index, &f->index_capacity, n + 1, sizeof *s->index));
    s->index[n] = index;
    if (s->value == NULL && value != 1.0f) {
        DROVE_TRY(drove__reserve(&s->value, &f->value_capacity, n + 1, sizeof *s->value));
        for (size_t i = 0; i < n; i++) s->value[i] = 1.0f;
    }
    if (s->value != NULL) {
        DROVE_TRY(drove__reserve(&s->value, &f->value_capacity, n + 1, sizeof *s->value));
        s->value[n] = value;
    }
    f->n_stored++;
    return DROVE_OK;
}

/* least: smallest index allowed here. */
static drove_status parse_feature(libsvm_file *f, drove_line *line, uint64_t least, uint64_t *index)
{
    const char *where = line->at, *next;
    if (!drove__scan_u64(where, line->end, &next, index) || next == line->end || *next != ':') {
        return drove__line_fail(line, where, "feature:value");
    }
    if (*index < least) {
        return drove__line_fail(line, where,
                                least > f->base ? "feature numbers that ascend without repetition"
                                                : "feature numbers from 1 (?base=1)");
    }
    if (*index > f->most_index) {
        char expected[96];
        const unsigned long long most = (unsigned long long)f->most_index;
        if (f->opt.n_features > 0) {
            snprintf(expected, sizeof expected, "feature numbers up to %llu (?features=%llu)", most,
                     (unsigned long long)f->opt.n_features);
        } else {
            snprintf(expected, sizeof expected,
                     "a feature number up to %llu (larger ones: ?features=N)", most);
        }
        return drove__line_fail(line, where, expected);
    }
    line->at = next + 1;
    float value;
    DROVE_TRY(drove__line_number(line, " \t#", "a number after ':'", &value));
    if (*index == 0) f->has_zero = true;
    if (*index > f->largest_index) f->largest_index = *index;
    return value != 0.0f ? store(f, (uint32_t)*index, value) : DROVE_OK;
}

static drove_status parse_line(libsvm_file *f, drove_line *line)
{
    while (line->at < line->end && !drove__is_blank(*line->at) && *line->at != '#') {
        const char *label = line->at;
        while (line->at < line->end && !drove__is_blank(*line->at) && *line->at != ',') line->at++;
        if (memchr(label, ':', (size_t)(line->at - label)) != NULL) {
            return drove__line_fail(line, label,
                                    "a label (or a blank, where a multi-label row has none)");
        }
        DROVE_TRY(drove__labels_add(f->labels, line, label, (size_t)(line->at - label), false));
        if (line->at == line->end || *line->at != ',') break;
        line->at++;
        if (line->at == line->end || drove__is_blank(*line->at)) {
            return drove__line_fail(line, line->at, "a label after ','");
        }
    }
    DROVE_TRY(drove__labels_end_row(f->labels, line));
    /* "qid:7" behind the label: the query whose documents are ranked, which is left out. */
    static const char word[] = "qid:";
    const size_t n_word = sizeof word - 1;
    while (line->at < line->end && drove__is_blank(*line->at)) line->at++;
    if ((size_t)(line->end - line->at) >= n_word && memcmp(line->at, word, n_word) == 0) {
        uint64_t number;
        const char *next;
        if (!drove__scan_u64(line->at + n_word, line->end, &next, &number) ||
            (next < line->end && !drove__is_blank(*next)))
            return drove__line_fail(line, line->at, "a whole number behind \"qid:\"");
        line->at = next;
        f->n_groups++;
    }
    uint64_t least = f->base;
    while (true) {
        while (line->at < line->end && drove__is_blank(*line->at)) line->at++;
        if (line->at == line->end || *line->at == '#') break;
        uint64_t index;
        DROVE_TRY(parse_feature(f, line, least, &index));
        least = index + 1;
    }
    /* Ends a row; removes it again if it belongs to another shard. */
    drove_storage *s = f->storage;
    DROVE_TRY(drove__reserve(&s->row_start, &f->row_capacity, f->n_kept + 2, sizeof *s->row_start));
    s->row_start[0] = 0;
    if (drove__shard_has(f->shard, f->n_rows)) s->row_start[++f->n_kept] = f->n_stored;
    else f->n_stored = s->row_start[f->n_kept];
    f->n_rows++;
    return DROVE_OK;
}

static drove_status read_rows(libsvm_file *f)
{
    drove_storage *s = f->storage;
    const char *path = drove__reader_path(f->reader);
    while (true) {
        drove_line line;
        bool found;
        DROVE_TRY(drove__line_next(f->reader, &line, &found));
        if (!found) break;
        if (*line.at == '#') continue;
        DROVE_TRY(parse_line(f, &line));
        f->n_rounded += line.n_rounded;
    }
    if (f->n_rows == 0)
        return drove__fail(DROVE_E_DATA, "%s: expected lines \"label index:value ...\", found none",
                           path);
    DROVE_TRY(drove__storage_check_shard(f->shard, f->n_rows, path));
    s->x_kind = DROVE_X_CSR;
    s->n_rows = f->n_rows;
    f->n_stored = s->row_start[drove__shard_size(f->shard, f->n_rows)];
    /* Makes indices start at 0 and releases unused capacity. */
    uint64_t base = f->opt.base != DROVE_BASE_AUTO ? f->base : f->has_zero ? 0 : 1;
    s->index_base = (int)base;
    s->has_feature_0 = f->has_zero;
    if (base == 1) {
        for (size_t i = 0; i < f->n_stored; i++) s->index[i]--;
    }
    s->n_features =
        f->opt.n_features > 0 ? (size_t)f->opt.n_features : (size_t)(f->largest_index + 1 - base);
    if (f->opt.base == DROVE_BASE_AUTO)
        drove__storage_note(s, "feature numbers start at %d in the file", (int)base);
    void *fitting = f->n_stored > 0 ? drove__grow(s->index, f->n_stored, sizeof *s->index) : NULL;
    if (fitting != NULL) s->index = fitting;
    fitting = s->value != NULL ? drove__grow(s->value, f->n_stored, sizeof *s->value) : NULL;
    if (fitting != NULL) s->value = fitting;
    if (f->opt.n_features > 0 &&
        f->largest_index + 1 > f->opt.n_features + (uint64_t)s->index_base) {
        return drove__fail(
            DROVE_E_DATA,
            "%s: expected feature numbers from 0 to %llu (?features=%llu), found %llu", path,
            (unsigned long long)f->opt.n_features - 1, (unsigned long long)f->opt.n_features,
            (unsigned long long)f->largest_index);
    }
    if (f->n_groups > 0)
        drove__storage_note(s,
                            "the groups of %llu rows (qid) are left out: rows are learned one by "
                            "one, not ranked",
                            (unsigned long long)f->n_groups);
    DROVE_TRY(drove__labels_finish(f->labels, &f->opt.labels, path, s));
    drove__storage_keep_targets(s, f->shard);
    drove__storage_note_rounded(s, f->n_rounded);
    return drove__storage_check(s, path);
}

static const char *const bases[] = {
    [DROVE_BASE_AUTO] = "auto", [DROVE_BASE_0] = "0", [DROVE_BASE_1] = "1", NULL};
const drove_spec_key drove__libsvm_keys[] = {
    {"base", "auto", DROVE_AS_WORD(drove_libsvm_options, base, bases),
     .help = "number of the first feature"},
    {"features", NULL, DROVE_AS_COUNT(drove_libsvm_options, n_features, 1, INDEX_MOST),
     .help = "their number; without it the largest that occurs"},
    DROVE_SPEC_KEYS_OF(drove_libsvm_options, labels, drove_label_options, drove__label_keys),
    DROVE_SPEC_KEYS_OF(drove_libsvm_options, written, drove_export_options, drove__export_keys),
    {"encoding", NULL, DROVE_AS_TEXT(drove_libsvm_options, encoding), .help = DROVE_ENCODING_HELP},
    DROVE_SPEC_END,
};

static drove_status read_libsvm(const drove_spec *spec, int part, const drove_shard *shard,
                                drove_storage **out)
{
    libsvm_file f = {.shard = shard};
    (void)part;
    DROVE_TRY(drove__spec_take(spec, drove__libsvm_keys, &f.opt));
    drove_status status = spec->piece != NULL
                              ? drove__reader_open_piece(spec->arg[0], spec->piece, &f.reader)
                              : drove__textfile_open(spec->arg[0], f.opt.encoding, &f.reader);
    if (status != DROVE_OK) goto end;
    if ((status = drove__storage_create(&f.storage)) != DROVE_OK) goto end;
    if ((status = drove__labels_create(&f.labels)) != DROVE_OK) goto end;
    f.base = f.opt.base == DROVE_BASE_1 ? 1 : 0;
    if (f.opt.n_features > 0) {
        f.most_index = f.opt.base == DROVE_BASE_0 ? f.opt.n_features - 1 : f.opt.n_features;
    } else {
        uint64_t most_bytes = drove__reader_most_bytes(f.reader);
        f.most_index = most_bytes > INDEX_ALWAYS_ALLOWED ? most_bytes : INDEX_ALWAYS_ALLOWED;
        if (f.most_index > INDEX_MOST) f.most_index = INDEX_MOST;
    }
    status = read_rows(&f);
end:
    drove__labels_destroy(f.labels);
    drove__reader_close(f.reader);
    if (status != DROVE_OK) drove__storage_release(f.storage);
    else *out = f.storage;
    return status;
}

/* ---- writing ---- */

static void write_class(FILE *stream, const drove_storage *s, size_t class, bool by_name)
{
    if (by_name) fputs(s->class_name[class], stream);
    else fprintf(stream, "%zu", class);
}

/* Whether any row of the view has the last feature: then the file shows how many there are. */
static bool last_feature_occurs(const drove_data *data, bool scaled, float *dense)
{
    const drove_storage *s = data->storage;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        if (s->x_kind == DROVE_X_CSR) {
            uint64_t end = s->row_start[row + 1];
            if (end > s->row_start[row] && s->index[end - 1] + (size_t)1 == s->n_features)
                return true;
        } else {
            drove__export_row(data, i, scaled, dense);
            if (dense[s->n_features - 1] != 0.0f) return true;
        }
    }
    return false;
}

static drove_status write_libsvm(const drove_data *data, const drove_spec *to)
{
    const drove_storage *s = data->storage;
    bool scaled;
    drove_writer *writer;
    DROVE_TRY(drove__export_begin(to, &scaled));
    float *dense = drove__grow(NULL, s->x_kind == DROVE_X_CSR ? 0 : s->n_features, sizeof *dense);
    if (dense == NULL) return drove__fail_nomem("a row", s->n_features * sizeof *dense);
    drove_status status = drove__writer_create(to->arg[0], &writer);
    if (status != DROVE_OK) {
        free(dense);
        return status;
    }
    FILE *stream = drove__writer_stream(writer);
    bool by_name = drove__export_names_are_numbers(s);
    bool shows_width = last_feature_occurs(data, scaled, dense);
    for (size_t i = 0; i < data->n_rows && !ferror(stream); i++) {
        size_t row = drove__data_row(data, i);
        if (s->y_kind == DROVE_Y_VALUE) {
            drove__export_number(stream, s->y_value[row], 0.0);
        } else if (s->y_kind == DROVE_Y_CLASS) {
            write_class(stream, s, (size_t)s->y_class[row], by_name);
        } else {
            for (uint64_t k = s->label_start[row]; k < s->label_start[row + 1]; k++) {
                if (k > s->label_start[row]) putc(',', stream);
                write_class(stream, s, s->label[k], by_name);
            }
        }
        if (s->x_kind == DROVE_X_CSR) {
            for (uint64_t k = s->row_start[row]; k < s->row_start[row + 1]; k++) {
                float value = s->value != NULL ? s->value[k] : 1.0f;
                if (scaled && data->factor != NULL) value *= data->factor[s->index[k]];
                fprintf(stream, " %zu:", (size_t)s->index[k] + 1);
                drove__export_number(stream, value, 0.0);
            }
        } else {
            drove__export_row(data, i, scaled, dense);
            for (size_t j = 0; j < s->n_features; j++) {
                if (dense[j] == 0.0f) continue;
                fprintf(stream, " %zu:", j + 1);
                drove__export_number(stream, dense[j], 0.0);
            }
        }
        if (i == 0 && !shows_width) fprintf(stream, " %zu:0", s->n_features);
        putc('\n', stream);
    }
    free(dense);
    return drove__writer_commit(writer);
}

const drove_format_ops drove__format_libsvm = {
    .name = "libsvm",
    .help = "text, \"label index:value ...\", also \"l1,l2 index:value ...\"; sparse",
    .source = "Chang, Lin: LIBSVM, ACM TIST 2, 2011",
    .arguments = "FILE",
    .least_args = 1,
    .most_args = 1,
    .keys = drove__libsvm_keys,
    .read = read_libsvm,
    .reads_shards = true,
    .write = write_libsvm,
    .reads_pieces = true,
    .default_scaling = DROVE_SCALE_NONE,
};
