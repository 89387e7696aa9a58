/* data/disk/quant_read.c - reads quant:FILE whole, and its row in the table of formats; the format
 * is in data/disk/quant_file.h.
 *
 * The file is read into one block, which then backs the quantised data.  The file is not trusted:
 * its checksums find damage, but an attacker can compute it too, so every size, index and number is
 * checked separately.
 */
#include "data/disk/quant_file.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MOST = 1 << 24 };

/* ---- rows ---- */

/* The bytes, in place, of a tensor whose type and size drove__quant_file_describe has checked. */
static void *bytes_of(const drove_quant_file *f, const char *name)
{
    const char *bytes = drove__safetensors_find(&f->file, name)->bytes;
    return f->file.data + (bytes - f->file.data);
}

static void read_examples(drove_quant_file *f)
{
    drove_quant *q = f->q;
    q->value = bytes_of(f, "value");
    if (q->index_bits == 0) return;
    q->index = bytes_of(f, "index");
    q->row_start = bytes_of(f, "row_start");
}

/* malloc'd copy of a tensor. */
static drove_status copy_tensor(const drove_quant_file *f, const char *name, size_t n,
                                size_t size_bytes, void **out)
{
    *out = drove__grow(NULL, n, size_bytes);
    if (*out == NULL) return drove__fail_nomem(name, n * size_bytes);
    memcpy(*out, bytes_of(f, name), n * size_bytes);
    return DROVE_OK;
}

static drove_status read_label_sets(drove_quant_file *f)
{
    drove_storage *s = f->s;
    void *start = NULL, *label = NULL;
    DROVE_TRY(copy_tensor(f, "label_start", s->n_rows + 1, sizeof(uint64_t), &start));
    s->label_start = start;
    bool ascends = s->label_start[0] == 0;
    for (size_t i = 0; i < s->n_rows; i++) ascends &= s->label_start[i] <= s->label_start[i + 1];
    if (!ascends) return drove__fail(DROVE_E_DATA, "the rows' first labels do not ascend");
    const size_t n = (size_t)s->label_start[s->n_rows];
    DROVE_TRY(drove__safetensors_want(&f->file, "label", DROVE_T_U32, n, NULL));
    DROVE_TRY(copy_tensor(f, "label", n, sizeof(uint32_t), &label));
    s->label = label;
    return DROVE_OK;
}

static drove_status read_targets(drove_quant_file *f)
{
    drove_storage *s = f->s;
    void *target = NULL;
    if (s->y_kind == DROVE_Y_LABELS) return read_label_sets(f);
    DROVE_TRY(copy_tensor(f, "target", s->n_rows, sizeof(int32_t), &target));
    if (s->y_kind == DROVE_Y_CLASS) s->y_class = target;
    else s->y_value = target;
    return DROVE_OK;
}

/* ---- ?from ---- */

/* The first difference between the data, whose fingerprint is `found`, and those that the file was
 * made from, or NULL. */
static const char *find_difference(const drove_quant_file *f, const drove_data *data,
                                   uint64_t n_stored, const char *fingerprint, const char *found,
                                   char into[128])
{
    const drove_storage *s = f->s;
    drove_data_facts facts;
    drove_scale scale = drove__data_scale(data);
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
    if (strcmp(found, fingerprint) != 0) return "other values or labels";
    size_t n_bytes = s->n_features * sizeof *s->shift;
    if ((scale.factor == NULL) != (s->factor == NULL) ||
        (s->factor != NULL && (memcmp(scale.shift, s->shift, n_bytes) != 0 ||
                               memcmp(scale.factor, s->factor, n_bytes) != 0)))
        return "another scaling";
    return NULL;
}

static drove_status check_from(const drove_quant_file *f, const char *from)
{
    static const char *const parts[] = {"all", "train", "test"};
    const char *source, *fingerprint;
    char text[128], found[DROVE_CHECKSUM_TEXT_SIZE];
    uint64_t n_stored, seed;
    size_t part;
    drove_data *data = NULL, *test = NULL;
    DROVE_TRY(drove__quant_meta(f, "source", &source));
    DROVE_TRY(drove__quant_meta(f, "fingerprint", &fingerprint));
    DROVE_TRY(drove__quant_word(f, "source_part", parts, DROVE_COUNT(parts), &part));
    DROVE_TRY(drove__quant_count(f, "source_seed", UINT64_MAX, &seed));
    DROVE_TRY(drove__quant_count(f, "source_stored", UINT64_MAX, &n_stored));
    drove_status status =
        drove_data_open(from, part == DROVE_ROWS_ALL ? NULL : "split", seed, &data, &test);
    if (status != DROVE_OK) return drove__fail_in(status, "?from");
    if (drove__augment_is_on(&data->augment)) {
        drove_data_destroy(data);
        drove_data_destroy(test);
        return drove__fail(DROVE_E_ARG,
                           "?from: expected data without crop, pad and mirror, found %s", from);
    }
    const drove_data *view = part == DROVE_ROWS_TEST ? test : data;
    const char *difference = NULL;
    status = drove__quant_fingerprint(view, found);
    if (status == DROVE_OK)
        difference = find_difference(f, view, n_stored, fingerprint, found, text);
    drove_data_destroy(data);
    drove_data_destroy(test);
    DROVE_TRY(status);
    if (difference == NULL) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "a quantised cache that does not match its data: made from \"%.120s\", "
                       "compared with \"%.120s\": %s",
                       source, from, difference);
}

/* ---- opening ---- */

static drove_status read_all(drove_quant_file *f, const drove_spec *spec)
{
    DROVE_TRY(drove__quant_file_describe(f, spec));
    read_examples(f);
    DROVE_TRY(read_targets(f));
    const char *from = drove__spec_get(spec, "from", NULL);
    return from != NULL ? check_from(f, from) : DROVE_OK;
}

drove_status drove__quant_read(const drove_spec *spec, int part, const drove_shard *shard,
                               drove_storage **out)
{
    drove_quant_file f = {.path = spec->arg[0]};
    (void)part;
    (void)shard;
    *out = NULL;
    DROVE_TRY(drove__quant_refuse_keys(spec, false));
    drove_status status = drove__quant_file_open(&f, true);
    if (status == DROVE_OK) {
        f.q->block = f.file.data; /* owned by the quantised data from here on */
        status = read_all(&f, spec);
        if (status != DROVE_OK) drove__fail_in(status, "%s", f.path);
    }
    if (status == DROVE_OK) status = drove__storage_check(f.s, f.path);
    f.file.data = NULL;
    drove__safetensors_fini(&f.file);
    if (status != DROVE_OK) drove__storage_release(f.s);
    else *out = f.s;
    return status;
}

static const char *const keys[] = {"precision", "range", "block", "from", "window", NULL};

const drove_format_ops drove__format_quant = {
    .name = "quant",
    .help = "a data set in 4, 8 or 16-bit fixed point or floats, as drove data convert made it",
    .source = "De Sa et al., ISCA 2017, section 3",
    .arguments = "FILE",
    .least_args = 1,
    .most_args = 1,
    .keys = keys,
    .read = drove__quant_read,
    .write = drove__quant_write,
    .default_scaling = DROVE_SCALE_NONE,
};
