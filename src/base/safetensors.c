/* base/safetensors.c - reads and writes the safetensors format:
 *
 *   8 bytes     n, the length of the header, little-endian
 *   n bytes     JSON: {"__metadata__": {key: text}, name: {"dtype": "F32", "shape": [2, 3],
 *               "data_offsets": [begin, end]}, ...}; blanks may follow
 *   the rest    the tensors; offsets count from here and leave no byte out
 *
 * What we write has checksums (safetensors_sums.h); files without them are read too.
 *
 * Files are not trusted: memory is allocated only after the file is known to be long enough to need
 * it, and every sum and product is checked for overflow.
 */
#include "base/safetensors.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/safetensors_sums.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are written as they lie in memory, which must be little-endian"
#endif

#define HEADER_MOST_BYTES ((uint64_t)100 << 20)
#define PART_BYTES        ((size_t)1 << 18)

enum { LENGTH_BYTES = 8, NAME_SHOWN = 64 };

static const char metadata_name[] = DROVE_METADATA_NAME;

/* ---- writing ---- */

/* jansson refuses a text and lacks memory in the same way: errno, cleared before, tells them
 * apart. */
static drove_status fail_to_describe(const char *path, const char *what, const char *name)
{
    if (errno == ENOMEM) return drove__fail_nomem(path, strlen(name));
    return drove__fail(DROVE_E_ARG, "%s: %s \"%.*s\" is empty, not UTF-8, or given twice", path,
                       what, NAME_SHOWN, name);
}

/* Adds "name": {dtype, shape, data_offsets} and moves *offset past the tensor. */
static drove_status describe_tensor(json_t *header, const char *path, const drove_tensor *t,
                                    size_t *offset)
{
    size_t size_bytes, end;
    errno = 0;
    bool named = t->name[0] != '\0' && strcmp(t->name, metadata_name) != 0;
    if (!named || json_object_get(header, t->name) != NULL) {
        return fail_to_describe(path, "tensor", t->name);
    }
    if (t->rank > DROVE_TENSOR_MAX_RANK || !drove__tensor_measure(t, &size_bytes) ||
        __builtin_add_overflow(*offset, size_bytes, &end)) {
        return drove__fail(DROVE_E_ARG, "%s: tensor \"%s\" is too large", path, t->name);
    }
    json_t *shape = json_array();
    for (unsigned i = 0; i < t->rank; i++) {
        if (json_array_append_new(shape, json_integer((json_int_t)t->shape[i])) == 0) continue;
        json_decref(shape);
        return drove__fail_nomem(path, 0);
    }
    json_t *description =
        json_pack("{s:s, s:o, s:[I, I]}", "dtype", drove__tensor_formats[t->type].name, "shape",
                  shape, "data_offsets", (json_int_t)*offset, (json_int_t)end);
    if (description == NULL) return drove__fail_nomem(path, 0);
    if (json_object_set_new(header, t->name, description) != 0) {
        return fail_to_describe(path, "tensor", t->name);
    }
    *offset = end;
    return DROVE_OK;
}

static drove_status describe_meta(json_t *header, const char *path, const char *const *meta)
{
    json_t *pairs = json_object();
    errno = 0;
    if (json_object_set_new(header, metadata_name, pairs) != 0) return drove__fail_nomem(path, 0);
    for (; meta[0] != NULL; meta += 2) {
        bool repeated = json_object_get(pairs, meta[0]) != NULL;
        if (repeated || json_object_set_new(pairs, meta[0], json_string(meta[1])) != 0) {
            return fail_to_describe(path, "metadata", meta[0]);
        }
    }
    return DROVE_OK;
}

static drove_status write_all(drove_writer *w, const char *header, const drove_tensor *tensor,
                              size_t n_tensors)
{
    char blanks[DROVE_CACHE_LINE];
    size_t n_header = strlen(header);
    /* The tensors start on a cache line. */
    size_t n_blanks = (0 - (LENGTH_BYTES + n_header)) % DROVE_CACHE_LINE;
    uint64_t length = n_header + n_blanks;
    memset(blanks, ' ', sizeof blanks);
    DROVE_TRY(drove__writer_write(w, &length, LENGTH_BYTES));
    DROVE_TRY(drove__writer_write(w, header, n_header));
    DROVE_TRY(drove__writer_write(w, blanks, n_blanks));
    for (size_t i = 0; i < n_tensors; i++) {
        size_t size_bytes = 0;
        drove__tensor_measure(&tensor[i], &size_bytes);
        if (size_bytes > 0) DROVE_TRY(drove__writer_write(w, tensor[i].bytes, size_bytes));
    }
    return DROVE_OK;
}

/* Reads the header back before the file takes its name. */
static drove_status check_written(drove_writer *w, const char *path, size_t n_tensors)
{
    const char *for_now;
    drove_safetensors st;
    DROVE_TRY(drove__writer_flush(w, &for_now));
    if (for_now == NULL) return DROVE_OK; /* a pipe */
    drove_status status = drove__safetensors_load_header(for_now, &st);
    if (status != DROVE_OK) {
        /* The error names the file, not the name that the content has for now. */
        char why[DROVE_ERROR_TEXT_SIZE];
        const size_t n = strlen(for_now);
        drove__error_copy(why);
        const bool is_named = strncmp(why, for_now, n) == 0 && strncmp(why + n, ": ", 2) == 0;
        return drove__fail(status, "%s: reading what was written: %s", path,
                           is_named ? why + n + 2 : why);
    }
    bool is_whole = st.n_tensors == n_tensors && st.is_checked;
    drove__safetensors_fini(&st);
    if (is_whole) return DROVE_OK;
    return drove__fail(DROVE_E_IO, "%s: expected %zu tensors as they were written, found others",
                       path, n_tensors);
}

drove_status drove__safetensors_write(const char *path, const drove_tensor *tensor,
                                      size_t n_tensors, const char *const *meta)
{
    size_t offset = 0;
    drove_status status = DROVE_OK;
    char *text = NULL;
    drove_writer *w;
    json_t *header = json_object();
    if (header == NULL) return drove__fail_nomem(path, 0);
    if (meta != NULL && (status = describe_meta(header, path, meta)) != DROVE_OK) goto fail;
    for (size_t i = 0; i < n_tensors; i++)
        if ((status = describe_tensor(header, path, &tensor[i], &offset)) != DROVE_OK) goto fail;
    if ((status = drove__sums_add(header, path, tensor, n_tensors)) != DROVE_OK) goto fail;
    text = drove__json_dump(header, JSON_COMPACT);
    if (text == NULL) {
        status = drove__fail_nomem(path, 0);
        goto fail;
    }
    if ((status = drove__writer_create(path, &w)) != DROVE_OK) goto fail;
    status = write_all(w, text, tensor, n_tensors);
    if (status == DROVE_OK) status = check_written(w, path, n_tensors);
    if (status == DROVE_OK) status = drove__writer_commit(w);
    else drove__writer_abort(w);
fail:
    free(text);
    json_decref(header);
    return status;
}

/* ---- reading: the header ---- */

/* State of a load. */
typedef struct loading {
    drove_reader *reader;
    const char *path;
    uint64_t data_most; /* bytes that can follow the header      */
    size_t *begin;      /* [n_tensors] offsets in the file       */
    size_t *end;
    bool is_header;             /* no content of tensors */
    drove_place_tensors *place; /* NULL: all tensors go into st.data */
    void *context;
    json_t *sums;        /* of the tensors' bytes; NULL: a file without checksums */
    drove_checksum *sum; /* of the one that is read */
    drove_safetensors st;
} loading;

static drove_status fail_tensor(const loading *l, const char *name, const char *what)
{
    return drove__fail(DROVE_E_DATA, "%s: tensor \"%.*s\": %s", l->path, NAME_SHOWN, name, what);
}

/* Reads and parses the JSON.  *out: the caller's to release. */
static drove_status read_header(loading *l, json_t **out)
{
    uint64_t length;
    uint64_t file_bytes = drove__reader_most_bytes(l->reader);
    uint64_t after = file_bytes > LENGTH_BYTES ? file_bytes - LENGTH_BYTES : 0;
    uint64_t most = after < HEADER_MOST_BYTES ? after : HEADER_MOST_BYTES;
    DROVE_TRY(drove__reader_read(l->reader, &length, LENGTH_BYTES));
    if (length < 2 || length > most) {
        return drove__fail(DROVE_E_DATA,
                           "%s: byte 0: expected the length of a safetensors header, which the "
                           "file limits to %llu, found %llu",
                           l->path, (unsigned long long)most, (unsigned long long)length);
    }
    char *text = malloc((size_t)length);
    if (text == NULL) return drove__fail_nomem(l->path, (size_t)length);
    drove_status status = drove__reader_read(l->reader, text, (size_t)length);
    if (status == DROVE_OK) {
        json_error_t error;
        status = drove__json_parse(text, (size_t)length, JSON_REJECT_DUPLICATES, &error, out);
        if (status == DROVE_E_NOMEM) status = drove__fail_nomem(l->path, (size_t)length);
        else if (status != DROVE_OK) {
            status = drove__fail(DROVE_E_DATA, "%s: byte %d: header is not valid JSON: %s", l->path,
                                 LENGTH_BYTES + error.position, error.text);
        }
    }
    free(text);
    l->data_most = after - length;
    return status;
}

static drove_status read_metadata(loading *l, const json_t *pairs)
{
    const char *key;
    json_t *value;
    drove_safetensors *st = &l->st;
    if (!json_is_object(pairs)) {
        return drove__fail(DROVE_E_DATA, "%s: expected an object as %s", l->path, metadata_name);
    }
    size_t n = json_object_size(pairs);
    st->meta_key = calloc(n + 1, sizeof *st->meta_key);
    st->meta_value = calloc(n + 1, sizeof *st->meta_value);
    if (st->meta_key == NULL || st->meta_value == NULL) return drove__fail_nomem(l->path, n);
    json_object_foreach((json_t *)pairs, key, value)
    {
        if (!json_is_string(value)) {
            return drove__fail(DROVE_E_DATA, "%s: %s: expected text as \"%.*s\"", l->path,
                               metadata_name, NAME_SHOWN, key);
        }
        st->meta_key[st->n_meta] = strdup(key);
        st->meta_value[st->n_meta] = strdup(json_string_value(value));
        st->n_meta++;
        if (st->meta_key[st->n_meta - 1] == NULL || st->meta_value[st->n_meta - 1] == NULL) {
            return drove__fail_nomem(l->path, strlen(key));
        }
    }
    return DROVE_OK;
}

static bool read_count(const json_t *value, size_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *out = (size_t)json_integer_value(value);
    return true;
}

/* Parses one entry of the header into st.tensor[i], begin[i], end[i], and checks it against itself
 * and the file. */
static drove_status read_description(loading *l, const char *name, const json_t *description,
                                     size_t i)
{
    drove_tensor *t = &l->st.tensor[i];
    if (name[0] == '\0' || strlen(name) >= sizeof t->name) {
        return drove__fail(DROVE_E_DATA, "%s: tensor \"%.*s\": expected a name of 1 to %zu bytes",
                           l->path, NAME_SHOWN, name, sizeof t->name - 1);
    }
    strcpy(t->name, name);
    if (!json_is_object(description)) return fail_tensor(l, name, "expected an object");
    const char *type = json_string_value(json_object_get(description, "dtype"));
    size_t row = 0;
    while (row < DROVE_COUNT(drove__tensor_formats) &&
           (type == NULL || strcmp(type, drove__tensor_formats[row].name) != 0))
        row++;
    if (row == DROVE_COUNT(drove__tensor_formats))
        return drove__fail(DROVE_E_DATA,
                           "%s: tensor \"%s\": expected a dtype of F32, F64, F16, BF16, U64, "
                           "I64, U32, I32, U16, I16, U8 or I8, found \"%.16s\"",
                           l->path, t->name, type != NULL ? type : "no text");
    t->type = (drove_tensor_type)row;
    const json_t *shape = json_object_get(description, "shape");
    if (!json_is_array(shape)) return fail_tensor(l, t->name, "expected an array as shape");
    size_t rank = json_array_size(shape);
    if (rank > DROVE_TENSOR_MAX_RANK) {
        return drove__fail(DROVE_E_DATA,
                           "%s: tensor \"%s\": expected at most %d dimensions, found %zu", l->path,
                           t->name, DROVE_TENSOR_MAX_RANK, rank);
    }
    t->rank = (unsigned)rank;
    for (size_t k = 0; k < rank; k++) {
        if (!read_count(json_array_get(shape, k), &t->shape[k])) {
            return fail_tensor(l, t->name, "expected whole numbers in its shape");
        }
    }
    const json_t *offsets = json_object_get(description, "data_offsets");
    if (json_array_size(offsets) != 2 || !read_count(json_array_get(offsets, 0), &l->begin[i]) ||
        !read_count(json_array_get(offsets, 1), &l->end[i]) || l->begin[i] > l->end[i]) {
        return fail_tensor(l, name, "expected data_offsets of [begin, end]");
    }
    if (l->end[i] > l->data_most) {
        return drove__fail(DROVE_E_DATA,
                           "%s: tensor \"%s\" ends at byte %zu of the data; the file cannot "
                           "hold more than %llu",
                           l->path, name, l->end[i], (unsigned long long)l->data_most);
    }
    size_t size_bytes;
    if (!drove__tensor_measure(t, &size_bytes)) return fail_tensor(l, name, "its shape overflows");
    if (size_bytes != l->end[i] - l->begin[i]) {
        return drove__fail(DROVE_E_DATA,
                           "%s: tensor \"%s\": its type and shape need %zu bytes, its "
                           "data_offsets span %zu",
                           l->path, name, size_bytes, l->end[i] - l->begin[i]);
    }
    return DROVE_OK;
}

static drove_status read_descriptions(loading *l, const json_t *header)
{
    const char *name;
    json_t *description;
    size_t i = 0;
    if (!json_is_object(header)) {
        return drove__fail(DROVE_E_DATA, "%s: byte %d: expected a JSON object", l->path,
                           LENGTH_BYTES);
    }
    const json_t *pairs = json_object_get(header, metadata_name);
    size_t n = json_object_size(header) - (pairs != NULL);
    l->begin = calloc(n + 1, sizeof *l->begin);
    l->end = calloc(n + 1, sizeof *l->end);
    l->st.tensor = calloc(n + 1, sizeof *l->st.tensor);
    if (l->begin == NULL || l->end == NULL || l->st.tensor == NULL) {
        return drove__fail_nomem(l->path, n * sizeof *l->st.tensor);
    }
    if (pairs != NULL) DROVE_TRY(read_metadata(l, pairs));
    l->st.n_tensors = n;
    json_object_foreach((json_t *)header, name, description)
    {
        if (strcmp(name, metadata_name) == 0) continue;
        DROVE_TRY(read_description(l, name, description, i));
        i++;
    }
    return DROVE_OK;
}

/* ---- reading: the data ---- */

typedef struct span { /* of one tensor in the file */
    size_t begin, end, tensor;
} span;

static int compare_spans(const void *left, const void *right)
{
    const span *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static size_t pad_to_line(size_t size_bytes)
{
    return (size_bytes + DROVE_CACHE_LINE - 1) & ~(size_t)(DROVE_CACHE_LINE - 1);
}

/* spans[n], sorted: each must begin where the one before it ends.  *size_bytes: memory for those
 * that are loaded, padded. */
static drove_status check_spans(const loading *l, const span *spans, size_t *size_bytes)
{
    size_t expected = 0;
    *size_bytes = 0;
    for (size_t i = 0; i < l->st.n_tensors; i++) {
        const char *name = l->st.tensor[spans[i].tensor].name;
        if (spans[i].begin != expected) {
            return drove__fail(DROVE_E_DATA,
                               "%s: tensor \"%s\": expected its data at byte %zu, right after "
                               "the one before it, found %zu",
                               l->path, name, expected, spans[i].begin);
        }
        expected = spans[i].end;
        if (!l->is_header) *size_bytes += pad_to_line(spans[i].end - spans[i].begin);
    }
    return DROVE_OK;
}

/* A tensor's bytes, and whether they are those that were written: in parts, which are still in the
 * cache when they are summed.  What comes short is summed as it is: then the reader has none left,
 * and reads whole parts to where they belong. */
static drove_status read_tensor(loading *l, const char *name, char *into, size_t size_bytes)
{
    if (l->sums == NULL) return drove__reader_read(l->reader, into, size_bytes);
    drove__checksum_reset(l->sum);
    for (size_t done = 0, n; done < size_bytes; done += n) {
        const size_t n_part = size_bytes - done < PART_BYTES ? size_bytes - done : PART_BYTES;
        DROVE_TRY(drove__reader_read_some(l->reader, into + done, n_part, &n));
        if (n == 0) { /* the end, of which this tells */
            n = n_part;
            DROVE_TRY(drove__reader_read(l->reader, into + done, n));
        }
        drove__checksum_add(l->sum, into + done, n);
    }
    return drove__sums_check(l->sums, l->path, name, drove__checksum_value(l->sum));
}

static drove_status read_spans(loading *l, const span *spans)
{
    size_t at = 0;
    for (size_t i = 0; i < l->st.n_tensors; i++) {
        size_t size_bytes = spans[i].end - spans[i].begin;
        drove_tensor *t = &l->st.tensor[spans[i].tensor];
        if (l->is_header) {
            DROVE_TRY(drove__reader_skip(l->reader, size_bytes));
            continue;
        }
        if (t->bytes == NULL) {
            t->bytes = l->st.data + at;
            at += pad_to_line(size_bytes);
        }
        DROVE_TRY(read_tensor(l, t->name, (char *)(uintptr_t)t->bytes, size_bytes));
    }
    char byte;
    size_t n_read;
    DROVE_TRY(drove__reader_read_some(l->reader, &byte, 1, &n_read));
    if (n_read == 0) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "%s: expected the end of the file at byte %llu, after the last tensor; "
                       "found more",
                       l->path, (unsigned long long)drove__reader_offset(l->reader) - 1);
}

static drove_status read_data(loading *l)
{
    size_t n = l->st.n_tensors;
    span *spans = calloc(n + 1, sizeof *spans);
    if (spans == NULL) return drove__fail_nomem(l->path, n * sizeof *spans);
    for (size_t i = 0; i < n; i++) spans[i] = (span){l->begin[i], l->end[i], i};
    qsort(spans, n, sizeof *spans, compare_spans);
    drove_status status = check_spans(l, spans, &l->st.size_bytes);
    if (status != DROVE_OK) goto fail;

    /* What has no other place needs memory of ours. */
    if (l->place != NULL) {
        if ((status = l->place(l->context, &l->st)) != DROVE_OK) goto fail;
        for (size_t i = 0; i < n; i++)
            if (l->st.tensor[i].bytes != NULL)
                l->st.size_bytes -= pad_to_line(drove__tensor_bytes(&l->st.tensor[i]));
    }
    l->st.data = drove__alloc(l->st.size_bytes, 1);
    status =
        l->st.data != NULL ? read_spans(l, spans) : drove__fail_nomem(l->path, l->st.size_bytes);
fail:
    free(spans);
    return status;
}

static drove_status load(loading *l, drove_safetensors *out)
{
    json_t *header = NULL;
    memset(out, 0, sizeof *out);
    DROVE_TRY(drove__reader_open(l->path, &l->reader));
    drove_status status;
    if (l->is_header && drove__reader_plain_bytes(l->reader) == UINT64_MAX) {
        status = drove__fail(DROVE_E_DATA, "%s: expected a regular file that is not compressed",
                             l->path);
        goto fail;
    }
    if ((status = read_header(l, &header)) != DROVE_OK) goto fail;
    if ((status = drove__sums_take(header, l->path, &l->sums)) != DROVE_OK) goto fail;
    if ((status = drove__checksum_begin(&l->sum)) != DROVE_OK) goto fail;
    l->st.is_checked = l->sums != NULL;
    if ((status = read_descriptions(l, header)) != DROVE_OK) goto fail;
    status = read_data(l);
fail:
    if (status == DROVE_OK) *out = l->st;
    else drove__safetensors_fini(&l->st);
    json_decref(header);
    json_decref(l->sums);
    drove__checksum_end(l->sum);
    free(l->begin);
    free(l->end);
    drove__reader_close(l->reader);
    return status;
}

drove_status drove__safetensors_load(const char *path, drove_safetensors *out)
{
    loading l = {.path = path};
    return load(&l, out);
}

drove_status drove__safetensors_load_header(const char *path, drove_safetensors *out)
{
    loading l = {.path = path, .is_header = true};
    return load(&l, out);
}

drove_status drove__safetensors_load_into(const char *path, drove_place_tensors *place,
                                          void *context, drove_safetensors *out)
{
    loading l = {.path = path, .place = place, .context = context};
    return load(&l, out);
}

void drove__safetensors_fini(drove_safetensors *st)
{
    if (st == NULL) return;
    for (size_t i = 0; i < st->n_meta; i++) {
        free(st->meta_key[i]);
        free(st->meta_value[i]);
    }
    free(st->meta_key);
    free(st->meta_value);
    free(st->tensor);
    drove__free(st->data);
    memset(st, 0, sizeof *st);
}

/* ---- looking up ---- */

const drove_tensor *drove__safetensors_find(const drove_safetensors *st, const char *name)
{
    for (size_t i = 0; i < st->n_tensors; i++) {
        if (strcmp(st->tensor[i].name, name) == 0) return &st->tensor[i];
    }
    return NULL;
}

const char *drove__safetensors_meta(const drove_safetensors *st, const char *key)
{
    for (size_t i = 0; i < st->n_meta; i++) {
        if (strcmp(st->meta_key[i], key) == 0) return st->meta_value[i];
    }
    return NULL;
}

drove_status drove__safetensors_want(const drove_safetensors *st, const char *name,
                                     drove_tensor_type type, size_t n, const void **bytes)
{
    const drove_tensor *t = drove__safetensors_find(st, name);
    if (t == NULL) return drove__fail(DROVE_E_DATA, "expected a tensor \"%s\", found none", name);
    size_t size_bytes = 0;
    drove__tensor_measure(t, &size_bytes);
    size_t n_found = size_bytes / drove__tensor_formats[t->type].size_bytes;
    if (t->type != type || n_found != n) {
        return drove__fail(DROVE_E_DATA,
                           "tensor \"%s\": expected %zu elements of type %s, found %zu of %s", name,
                           n, drove__tensor_formats[type].name, n_found,
                           drove__tensor_formats[t->type].name);
    }
    if (bytes != NULL) *bytes = t->bytes;
    return DROVE_OK;
}
