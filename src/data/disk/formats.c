/* data/disk/formats.c - rows:FILE and quant:FILE: their keys, reading them whole, writing them.
 *
 * Both are one kind of file (data/disk/rows_file.h).  rows:FILE reads any, and writes rows as they
 * are; quant:FILE wants quantised rows, and quantises what it writes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* posix_fadvise */
#endif
#include "data/disk/rows_file.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/print.h"
#include "data/common.h"
#include "data/export.h"
#include "data/fingerprint.h"

#include <fcntl.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- keys ---- */

typedef struct quant_keys {
    const char *precision, *from; /* NULL: not given */
    double range;                 /* 0: not given */
    drove_rows_keys rows;
} quant_keys;

const drove_spec_key drove__blocks_keys[] = {
    {"window", NULL, DROVE_AS_BYTES(drove_blocks_options, window),
     .help = "of a file that is read: bytes of it in memory at a time"},
    DROVE_SPEC_END,
};
static const drove_spec_key common_keys[] = {
    {"block", NULL, DROVE_AS_BYTES(drove_rows_keys, block),
     .help = "of a file that is written: bytes that are read at a time; without it 1MiB"},
    DROVE_SPEC_KEYS_OF(drove_rows_keys, blocks, drove_blocks_options, drove__blocks_keys),
    DROVE_SPEC_END,
};
const drove_spec_key drove__rows_keys[] = {
    DROVE_SPEC_KEYS_TOO(common_keys),
    DROVE_SPEC_KEYS_OF(drove_rows_keys, written, drove_export_options, drove__export_keys),
    DROVE_SPEC_END,
};
static const drove_spec_key quant_table[] = {
    {"precision", NULL, DROVE_AS_TEXT(quant_keys, precision),
     .help = "of the numbers, D8, D16i16 ...: to write, or as a file that is read must have it"},
    {"range", NULL, DROVE_AS_REAL(quant_keys, range, DBL_MIN, (double)FLT_MAX),
     .help = "of a file that is written: largest magnitude; without it by the data"},
    {"from", NULL, DROVE_AS_TEXT(quant_keys, from),
     .help = "of a file that is read: the data that it must have been made of"},
    DROVE_SPEC_KEYS_OF(quant_keys, rows, drove_rows_keys, common_keys),
    DROVE_SPEC_END,
};

static bool is_quant(const drove_spec *spec)
{
    return strcmp(spec->name, "quant") == 0;
}

/* Of either format. */
static drove_status take_keys(const drove_spec *spec, quant_keys *out)
{
    *out = (quant_keys){.range = 0.0};
    return is_quant(spec) ? drove__spec_take(spec, quant_table, out)
                          : drove__spec_take(spec, drove__rows_keys, &out->rows);
}

/* ?precision=D8, D16i16, D8[i16] ...; both outputs are unchanged if text is NULL.
 * Errors: DROVE_E_ARG (not a format, or not valid for such data). */
static drove_status read_precision(const drove_spec *spec, const char *text, bool is_sparse,
                                   drove_number *number, unsigned *index_bits)
{
    static const char *const numbers[DROVE_NUMBERS] = {"D4", "D8", "D16", "D32f"};
    static const struct {
        const char *text;
        unsigned bits;
        bool has_brackets; /* for sparse data alone */
    } indices[] = {{"", 0, false},    {"i8", 8, false},    {"i16", 16, false}, {"i32", 32, false},
                   {"[i8]", 8, true}, {"[i16]", 16, true}, {"[i32]", 32, true}};
    if (text == NULL) return DROVE_OK;
    size_t n = 0, index = 0;
    for (; n < DROVE_NUMBERS; n++) {
        const size_t length = strlen(numbers[n]);
        if (strncmp(text, numbers[n], length) != 0) continue;
        for (index = 0; index < DROVE_COUNT(indices); index++)
            if (strcmp(text + length, indices[index].text) == 0) break;
        if (index < DROVE_COUNT(indices)) break;
    }
    if (n == DROVE_NUMBERS)
        return drove__fail(DROVE_E_ARG,
                           "%s?precision: expected D4, D8, D16 or D32f, of sparse data D8, D16 or "
                           "D32f with i8, i16 or i32 (D8i16), found \"%.40s\"",
                           spec->name, text);
    if (is_sparse && n == DROVE_I4)
        return drove__fail(DROVE_E_ARG,
                           "%s?precision: the data are sparse: expected D8, D16 or D32f with i8, "
                           "i16 or i32, as 4 bits are for dense data, found \"%s\"",
                           spec->name, text);
    if (is_sparse != (indices[index].bits > 0) && !indices[index].has_brackets)
        return drove__fail(DROVE_E_ARG,
                           "%s?precision: the data are %s: expected %s%s, found \"%s\"", spec->name,
                           is_sparse ? "sparse" : "dense", numbers[n],
                           is_sparse ? " with i8, i16 or i32" : "", text);
    *number = (drove_number)n;
    *index_bits = is_sparse ? indices[index].bits : 0;
    return DROVE_OK;
}

/* Errors: DROVE_E_ARG for keys that apply only in the other direction, and for ?scale, but none and
 * auto where they are read: training asks so for what is best, which here is nothing more. */
static drove_status refuse_keys(const drove_spec *spec, const quant_keys *set, bool is_written)
{
    drove_common_options common;
    DROVE_TRY(drove__common_read(spec, &common));
    const bool is_more = common.scale != DROVE_SCALE_NONE && common.scale != DROVE_SCALE_AUTO;
    if (common.scale != DROVE_N_SCALINGS && (is_written || is_more))
        return drove__fail(DROVE_E_ARG,
                           "%s?scale: values are scaled before they are quantised; expected scale "
                           "with the data to be converted",
                           spec->name);
    const char *other = NULL;
    if (!is_quant(spec)) return DROVE_OK;
    if (is_written) other = set->from != NULL ? "from" : NULL;
    else if (set->range > 0) other = "range";
    else if (set->rows.block > 0) other = "block";
    if (other != NULL)
        return drove__fail(DROVE_E_ARG, "%s?%s: does not apply to a file that is %s", spec->name,
                           other, is_written ? "written" : "read");
    return DROVE_OK;
}

/* ---- reading ---- */

/* Opens the file and checks the keys by its content. */
static drove_status open_blocks(const drove_spec *spec, const quant_keys *set, drove_blocks **out)
{
    drove_blocks *b;
    *out = NULL;
    if (is_quant(spec)) DROVE_TRY(refuse_keys(spec, set, false));
    DROVE_TRY(drove__rows_open(spec, &b));
    const drove_quant *q = b->shape->quant;
    drove_status status = DROVE_OK;
    if (q == NULL && is_quant(spec)) {
        status = drove__fail(DROVE_E_DATA,
                             "%s: expected quantised rows, found others, which rows:FILE reads",
                             b->path);
        goto fail;
    }
    if (q != NULL) {
        drove_number number = q->number;
        unsigned index_bits = q->index_bits;
        if ((status = refuse_keys(spec, set, false)) != DROVE_OK) goto fail;
        status = read_precision(spec, set->precision, index_bits != 0, &number, &index_bits);
        if (status == DROVE_OK && (number != q->number || index_bits != q->index_bits))
            status = drove__fail(DROVE_E_DATA, "expected %s (?precision), found %s",
                                 drove__quant_name(number, index_bits),
                                 drove__quant_name(q->number, q->index_bits));
        if (status != DROVE_OK) {
            drove__fail_in(status, "%s", b->path);
            goto fail;
        }
    }
    *out = b;
    return DROVE_OK;
fail:
    drove__blocks_close(b);
    return status;
}

drove_status drove__blocks_can(const drove_spec *spec, bool *can)
{
    drove_reader *r;
    struct stat about;
    *can = false;
    if (strcmp(spec->name, "rows") != 0 && !is_quant(spec)) return DROVE_OK;
    quant_keys set;
    DROVE_TRY(take_keys(spec, &set));
    if (set.from != NULL || spec->n_args != 1) return DROVE_OK;
    /* What looking into would use up: a pipe, or standard input. */
    if (strcmp(spec->arg[0], "-") == 0) return DROVE_OK;
    if (stat(spec->arg[0], &about) == 0 && !S_ISREG(about.st_mode)) return DROVE_OK;
    DROVE_TRY(drove__reader_open(spec->arg[0], &r));
    *can = drove__reader_is_regular(r);
    drove__reader_close(r);
    return DROVE_OK;
}

drove_status drove__blocks_open(const char *text, drove_blocks **out)
{
    drove_spec spec;
    quant_keys set;
    bool can;
    *out = NULL;
    DROVE_TRY(drove__spec_parse(text, &spec));
    drove_status status = drove__blocks_can(&spec, &can);
    if (status != DROVE_OK) goto end;
    if (!can) {
        status = drove__fail(DROVE_E_ARG,
                             "%s: expected rows:FILE or quant:FILE, not compressed and without "
                             "?from, which are read by blocks",
                             text);
        goto end;
    }
    if ((status = take_keys(&spec, &set)) != DROVE_OK) goto end;
    status = open_blocks(&spec, &set, out);
end:
    drove__spec_fini(&spec);
    return status;
}

static void add_sized(drove_checksum *sum, const void *bytes, size_t n)
{
    const uint64_t size_bytes = n;
    drove__checksum_add(sum, &size_bytes, sizeof size_bytes);
    drove__checksum_add(sum, bytes, n);
}

/* A checksum of the view's content before scaling: values, indices, targets, class names. */
static drove_status sum_view(const drove_data *data, char into[DROVE_CHECKSUM_TEXT_SIZE])
{
    const drove_storage *s = data->storage;
    const char *kind = drove__storage_name(s);
    drove_checksum *sum;
    DROVE_TRY(drove__checksum_begin(&sum));
    add_sized(sum, kind, strlen(kind));
    for (size_t i = 0; i < data->n_rows; i++) {
        drove_row_part part[DROVE_MOST_ROW_PARTS];
        unsigned n = drove__row_parts(s, drove__data_row(data, i), part);
        for (unsigned k = 0; k < n; k++) add_sized(sum, part[k].bytes, part[k].n);
    }
    for (size_t i = 0; s->class_name != NULL && i < s->n_classes; i++)
        add_sized(sum, s->class_name[i], strlen(s->class_name[i]));
    drove__checksum_print(drove__checksum_value(sum), into);
    drove__checksum_end(sum);
    return DROVE_OK;
}

/* ?from: the data that the file was made from, read again, must be what they were. */
static drove_status check_from(const drove_blocks *b, const char *from)
{
    const drove_storage *s = b->shape;
    const drove_rows_origin *origin = &b->file->origin;
    char found[DROVE_CHECKSUM_TEXT_SIZE], source[512], text[128] = "";
    drove_data *data = NULL, *test = NULL;
    drove_status status = drove_data_open(from, origin->part == DROVE_ROWS_ALL ? NULL : "split",
                                          origin->seed, &data, &test);
    if (status != DROVE_OK) return drove__fail_in(status, "?from");
    if (drove__augment_is_on(&data->augment)) {
        status =
            drove__fail(DROVE_E_ARG,
                        "?from: expected data without augmentation (crop, mirror ...), found %s",
                        from);
        goto end;
    }
    const drove_data *view = origin->part == DROVE_ROWS_TEST ? test : data;
    if ((status = sum_view(view, found)) != DROVE_OK) goto end;

    drove_data_facts facts;
    const drove_scale scale = drove__data_scale(view);
    const size_t n_bytes = s->n_features * sizeof *s->shift;
    drove_data_describe(view, &facts);
    if (facts.n_rows != b->n_rows)
        snprintf(text, sizeof text, "expected %zu rows, found %zu", b->n_rows, facts.n_rows);
    else if (facts.n_features != s->n_features)
        snprintf(text, sizeof text, "expected %zu features, found %zu", s->n_features,
                 facts.n_features);
    else if (facts.n_stored != origin->n_stored)
        snprintf(text, sizeof text, "expected %llu stored numbers, found %zu",
                 (unsigned long long)origin->n_stored, facts.n_stored);
    else if (strcmp(found, origin->fingerprint) != 0)
        snprintf(text, sizeof text, "other values or labels");
    else if ((scale.factor == NULL) != (s->factor == NULL) ||
             (s->factor != NULL && (memcmp(scale.shift, s->shift, n_bytes) != 0 ||
                                    memcmp(scale.factor, s->factor, n_bytes) != 0)))
        snprintf(text, sizeof text, "another scaling");
    if (text[0] != '\0')
        status =
            drove__fail(DROVE_E_DATA,
                        "a quantised cache that does not match its data: made from \"%.120s\", "
                        "compared with \"%.120s\": %s",
                        drove__print_plain(b->file->source, source, sizeof source), from, text);
end:
    drove_data_destroy(data);
    drove_data_destroy(test);
    return status;
}

static drove_status read_rows(const drove_spec *spec, int part, const drove_shard *shard,
                              drove_storage **out)
{
    drove_blocks *b;
    drove_place_in to = {0};
    (void)part, (void)shard;
    *out = NULL;
    quant_keys set;
    DROVE_TRY(take_keys(spec, &set));
    DROVE_TRY(open_blocks(spec, &set, &b));
    const uint64_t n_stored = b->first_stored != NULL ? b->first_stored[b->n_blocks] : 0;
    const uint64_t n_labels = b->first_label != NULL ? b->first_label[b->n_blocks] : 0;
    if (b->fd >= 0) (void)posix_fadvise(b->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    drove_status status = drove__blocks_storage(b, b->n_rows, n_stored, n_labels, out);
    for (size_t i = 0; status == DROVE_OK && i < b->n_blocks; i++)
        status = drove__blocks_read(b, i, *out, &to);
    if (status == DROVE_OK && set.from != NULL && (status = check_from(b, set.from)) != DROVE_OK)
        drove__fail_in(status, "%s", b->path);
    drove__blocks_close(b);
    if (status == DROVE_OK) return DROVE_OK;
    drove__storage_release(*out);
    *out = NULL;
    return status;
}

/* ---- writing ---- */

/* text with %XX for all but plain ASCII: a path may hold any bytes, JSON is UTF-8; free(). */
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

static drove_status write_quant(const drove_data *data, const drove_spec *to)
{
    bool scaled;
    quant_keys set;
    DROVE_TRY(take_keys(to, &set));
    DROVE_TRY(refuse_keys(to, &set, true));
    DROVE_TRY(drove__export_begin(to, &scaled));
    const drove_scale scale = drove__data_scale(data);
    drove_rows_writer *w = NULL;
    drove_quant *q;
    const drove_storage *s = data->storage;
    bool is_sparse = drove__storage_is_sparse(s);
    drove_quant_options opt = {.number = DROVE_I8, .index_bits = is_sparse ? 16 : 0};
    const double range = set.range;
    if (s->x_kind == DROVE_X_QUANT) {
        opt.number = s->quant->number;
        opt.index_bits = s->quant->index_bits;
    }
    DROVE_TRY(read_precision(to, set.precision, is_sparse, &opt.number, &opt.index_bits));
    if (range > 0 && opt.number == DROVE_F32)
        return drove__fail(DROVE_E_ARG, "%s?range: does not apply to floats", to->name);
    if (range > 0) {
        opt.scale = (float)(range / drove__number_most(opt.number));
        if (opt.scale == 0) opt.scale = FLT_TRUE_MIN; /* 0 would choose one; this is refused */
    }
    DROVE_TRY(drove__quant_create(data, &opt, &q));
    drove_storage shape = *data->storage; /* borrows its arrays */
    shape.x_kind = DROVE_X_QUANT;
    shape.quant = q;
    shape.scaling = scale.scaling;
    shape.shift = (float *)scale.shift;
    shape.factor = (float *)scale.factor;
    shape.schema = NULL;

    drove_data_facts facts;
    drove_data_describe(data, &facts);
    drove_rows_origin origin = {.part = data->part, .seed = data->seed, .n_stored = facts.n_stored};
    drove_rows_end end = {.shape = &shape, .origin = &origin};
    char *source = encode(data->spec != NULL ? data->spec : "");
    drove_status status = DROVE_OK;
    if (source == NULL) {
        status = drove__fail_nomem("a spec", 0);
        goto end;
    }
    end.source = source;
    if ((status = sum_view(data, origin.fingerprint)) != DROVE_OK) goto end;
    if ((status = drove__rows_create(to->arg[0], (size_t)set.rows.block, &w)) != DROVE_OK) goto end;
    if ((status = drove__rows_append(w, data, q, NULL)) != DROVE_OK) goto end;
    status = drove__rows_commit(w, &end);
    w = NULL;
end:
    drove__rows_abort(w);
    drove__quant_release(q);
    free(source);
    return status;
}

static drove_status write_rows(const drove_data *data, const drove_spec *to)
{
    drove_rows_writer *w;
    bool scaled;
    if (data->storage->x_kind == DROVE_X_QUANT) return write_quant(data, to);
    DROVE_TRY(drove__export_begin(to, &scaled));
    if (scaled)
        return drove__fail(DROVE_E_UNSUPPORTED, "rows: holds unscaled values; expected no ?scaled");
    quant_keys set;
    DROVE_TRY(take_keys(to, &set));
    DROVE_TRY(drove__rows_create(to->arg[0], (size_t)set.rows.block, &w));
    drove_status status = drove__rows_append(w, data, NULL, NULL);
    const drove_rows_end end = {.shape = data->storage};
    if (status == DROVE_OK) return drove__rows_commit(w, &end);
    drove__rows_abort(w);
    return status;
}

/* ---- rows of the table ---- */

const drove_format_ops drove__format_quant = {
    .name = "quant",
    .help = "a data set in 4, 8 or 16-bit fixed point or floats, as drove data convert made it",
    .source = "De Sa et al., ISCA 2017, section 3",
    .arguments = "FILE",
    .least_args = 1,
    .most_args = 1,
    .keys = quant_table,
    .read = read_rows,
    .write = write_quant,
    .default_scaling = DROVE_SCALE_NONE,
};

const drove_format_ops drove__format_rows = {
    .name = "rows",
    .help = "rows in blocks as they lie in memory, for data larger than it (--memory)",
    .source = "drove's own",
    .arguments = "FILE",
    .least_args = 1,
    .most_args = 1,
    .keys = drove__rows_keys,
    .read = read_rows,
    .write = write_rows,
    .holds_all = true,
    .default_scaling = DROVE_SCALE_NONE,
};
