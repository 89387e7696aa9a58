/* data/read/vw.c - reads Vowpal Wabbit's text: "label weight 'tag|namespace name:value name |other
 * x".
 *
 * Source: Vowpal Wabbit's wiki, "Input format"; Weinberger et al.: Feature hashing for large scale
 * multitask learning, ICML 2009.
 *
 * A feature is MurmurHash3 of its namespace, '^' and its name, cut to ?bits=; those that fall
 * together in a row are summed.  The hash needs no list of names, so further files fit.  The weight
 * is that of the example; tags are left out.
 */
#include "data/read/labels.h"
#include "data/read/text.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/textfile.h"
#include "table/murmur.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BITS_LEAST = 4, BITS_MOST = 30, NAME_MOST = 1 << 12 };

typedef struct feature {
    uint32_t index;
    float value;
} feature;

typedef struct vw_options {
    uint64_t bits;
    bool is_unlabelled;
    drove_label_options labels;
    const char *encoding; /* NULL: not given */
} vw_options;

static const char *const none[] = {"none", NULL};
static const drove_spec_key keys[] = {
    {"bits", "18", DROVE_AS_COUNT(vw_options, bits, BITS_LEAST, BITS_MOST),
     .help = "names are hashed to 2^bits features"},
    {"label", NULL, DROVE_AS_EITHER(vw_options, is_unlabelled, none),
     .help = "none: rows to predict, without labels"},
    DROVE_SPEC_KEYS_OF(vw_options, labels, drove_label_options, drove__label_keys),
    {"encoding", NULL, DROVE_AS_TEXT(vw_options, encoding), .help = DROVE_ENCODING_HELP},
    DROVE_SPEC_END,
};

typedef struct vw_file { /* being read */
    drove_reader *reader;
    drove_labels *labels;
    drove_storage *storage;
    vw_options opt;
    uint32_t mask;
    bool has_weights; /* some weight is not 1 */
    feature *row;     /* [n_row] of the current line */
    size_t n_row, row_capacity;
    size_t n_stored, n_rows;
    uint64_t n_rounded; /* as in drove_line */
    size_t index_capacity, value_capacity, start_capacity, weight_capacity;
} vw_file;

/* ---- before the first bar ---- */

static void skip_blanks(drove_line *line)
{
    while (line->at < line->end && drove__is_blank(*line->at)) line->at++;
}

/* "label weight base 'tag": what is there of it.  The line is at its bar then. */
static drove_status parse_label(vw_file *f, drove_line *line)
{
    const char *bar = memchr(line->at, '|', (size_t)(line->end - line->at));
    const char *label = NULL, *label_end = NULL;
    float weight = 1.0f, base = 0.0f;
    if (bar == NULL) return drove__line_fail(line, line->end, "\"|\" before the features");
    for (unsigned n = 0; skip_blanks(line), line->at < bar; n++) {
        const char *end = line->at;
        while (end < bar && !drove__is_blank(*end)) end++;
        if (*line->at == '\'' || (end == bar && n > 0)) break; /* a tag */
        if (n == 0) {
            if (memchr(line->at, ':', (size_t)(end - line->at)) != NULL)
                return drove__line_fail(line, line->at, "one label, not costs of several");
            label = line->at;
            label_end = end;
            line->at = end;
        } else {
            DROVE_TRY(drove__line_number(line, " \t",
                                         n == 1 ? "a weight" : "a number to begin from",
                                         n == 1 ? &weight : &base));
        }
        if (n > 2) return drove__line_fail(line, line->at, "a label, a weight and \"|\"");
    }
    if (base != 0.0f)
        return drove__line_fail(line, bar, "no number behind the weight, to begin from");
    if (!(weight >= 0.0f)) return drove__line_fail(line, bar, "a weight that is not negative");
    if (f->opt.is_unlabelled) DROVE_TRY(drove__labels_add_number(f->labels, 0.0));
    else if (label == NULL) return drove__line_fail(line, bar, "a label before \"|\"");
    else DROVE_TRY(drove__labels_add(f->labels, line, label, (size_t)(label_end - label), false));
    DROVE_TRY(drove__labels_end_row(f->labels, line));
    drove_storage *s = f->storage;
    DROVE_TRY(drove__reserve(&s->weight, &f->weight_capacity, f->n_rows + 1, sizeof *s->weight));
    s->weight[f->n_rows] = weight;
    f->has_weights = f->has_weights || weight != 1.0f;
    line->at = bar;
    return DROVE_OK;
}

/* ---- features ---- */

/* ":0.5" at line->at, or 1. */
static drove_status parse_value(drove_line *line, float *value)
{
    *value = 1.0f;
    if (line->at == line->end || *line->at != ':') return DROVE_OK;
    line->at++;
    return drove__line_number(line, " \t|", "a number behind \":\"", value);
}

static size_t name_bytes(const drove_line *line)
{
    const char *c = line->at;
    while (c < line->end && !drove__is_blank(*c) && *c != ':' && *c != '|') c++;
    return (size_t)(c - line->at);
}

/* The features of one namespace; the line is at its bar. */
static drove_status parse_namespace(vw_file *f, drove_line *line)
{
    char name[2 * NAME_MOST + 1];
    float scale = 1.0f, value;
    line->at++;
    size_t n_space = name_bytes(line);
    if (n_space > NAME_MOST) return drove__line_fail(line, line->at, "shorter names");
    memcpy(name, line->at, n_space);
    line->at += n_space;
    if (n_space > 0) DROVE_TRY(parse_value(line, &scale));
    name[n_space++] = '^';
    while (skip_blanks(line), line->at < line->end && *line->at != '|') {
        const size_t n = name_bytes(line);
        if (n == 0 || n > NAME_MOST - 1)
            return drove__line_fail(line, line->at, "a name of a feature before \":\"");
        memcpy(name + n_space, line->at, n);
        line->at += n;
        DROVE_TRY(parse_value(line, &value));
        if (line->at < line->end && !drove__is_blank(*line->at) && *line->at != '|')
            return drove__line_fail(line, line->at, "a blank behind a feature");
        DROVE_TRY(drove__reserve(&f->row, &f->row_capacity, f->n_row + 1, sizeof *f->row));
        f->row[f->n_row++] = (feature){.index = drove__murmur32(name, n_space + n, 0) & f->mask,
                                       .value = value * scale};
    }
    return DROVE_OK;
}

static drove_status read_rows(vw_file *f)
{
    drove_storage *s = f->storage;
    const char *path = drove__reader_path(f->reader);
    while (true) {
        drove_line line;
        bool found;
        DROVE_TRY(drove__line_next(f->reader, &line, &found));
        if (!found) break;
        DROVE_TRY(parse_label(f, &line));
        while (line.at < line.end) DROVE_TRY(parse_namespace(f, &line));
        /* Sorts the features of a line, sums those that fall together, and stores them. */
        size_t n = f->n_stored;
        if (f->n_row > 1) qsort(f->row, f->n_row, sizeof *f->row, drove__compare_u32);
        DROVE_TRY(drove__reserve(&s->index, &f->index_capacity, n + f->n_row, sizeof *s->index));
        DROVE_TRY(drove__reserve(&s->value, &f->value_capacity, n + f->n_row, sizeof *s->value));
        DROVE_TRY(
            drove__reserve(&s->row_start, &f->start_capacity, f->n_rows + 2, sizeof *s->row_start));
        for (size_t i = 0; i < f->n_row; i++) {
            const bool is_same = n > f->n_stored && s->index[n - 1] == f->row[i].index;
            if (is_same) s->value[n - 1] += f->row[i].value;
            else s->value[n] = f->row[i].value;
            s->index[n - is_same] = f->row[i].index;
            n += !is_same;
            if (!isfinite(s->value[n - 1]))
                return drove__line_fail(&line, line.start, "features with finite sums");
        }
        s->row_start[0] = 0;
        s->row_start[++f->n_rows] = f->n_stored = n;
        f->n_row = 0;
        f->n_rounded += line.n_rounded;
    }
    if (f->n_rows == 0)
        return drove__fail(DROVE_E_DATA, "%s: expected lines \"label |features\", found none",
                           path);
    s->x_kind = DROVE_X_CSR;
    s->n_rows = f->n_rows;
    s->n_features = (size_t)f->mask + 1;
    if (!f->has_weights) {
        free(s->weight);
        s->weight = NULL;
    }
    drove__storage_note(s, "names of features are hashed to %zu numbers (?bits=)", s->n_features);
    drove__storage_note_rounded(s, f->n_rounded);
    DROVE_TRY(drove__labels_finish(f->labels, &f->opt.labels, path, s));
    return drove__storage_check(s, path);
}

static drove_status read_vw(const drove_spec *spec, int part, const drove_shard *shard,
                            drove_storage **out)
{
    vw_file f = {0};
    (void)part, (void)shard;
    DROVE_TRY(drove__spec_take(spec, keys, &f.opt));
    f.mask = ((uint32_t)1 << f.opt.bits) - 1;
    drove_status status = drove__textfile_open(spec->arg[0], f.opt.encoding, &f.reader);
    if (status == DROVE_OK) status = drove__storage_create(&f.storage);
    if (status == DROVE_OK) status = drove__labels_create(&f.labels);
    if (status == DROVE_OK) status = read_rows(&f);
    drove__labels_destroy(f.labels);
    drove__reader_close(f.reader);
    free(f.row);
    if (status != DROVE_OK) drove__storage_release(f.storage);
    else *out = f.storage;
    return status;
}

const drove_format_ops drove__format_vw = {
    .name = "vw",
    .help = "Vowpal Wabbit's text, \"label |namespace name:value ...\"; names are hashed; sparse",
    .source = "Weinberger et al., ICML 2009",
    .arguments = "FILE",
    .least_args = 1,
    .most_args = 1,
    .keys = keys,
    .read = read_vw,
    .reads_unlabelled = true,
    .default_scaling = DROVE_SCALE_NONE,
};
