/* model/onnx_tensor.c - constants of ONNX files: numbers in the file, or in one beside it. */
#include "model/onnx_file.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { FLOAT = 1, INT64 = 7, DOUBLE = 11 }; /* ONNX's numbers of types */
enum { IS_EXTERNAL = 1, MOST_DIMS = 8 };

size_t drove__onnx_count(const Drove__Onnx__Tensor *t)
{
    size_t n = 1;
    if (t->n_dims > MOST_DIMS) return SIZE_MAX;
    for (size_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i] <= 0 || t->dims[i] > INT32_MAX || n > (size_t)INT32_MAX) return SIZE_MAX;
        n *= (size_t)t->dims[i];
    }
    return n <= (size_t)INT32_MAX ? n : SIZE_MAX;
}

static const char *name_of(const Drove__Onnx__Tensor *t)
{
    return t->name != NULL && t->name[0] != '\0' ? t->name : "constant";
}

static const char *find_pair(const Drove__Onnx__Tensor *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++) {
        const Drove__Onnx__StringPair *pair = t->external_data[i];
        if (pair->key != NULL && pair->value != NULL && strcmp(pair->key, key) == 0)
            return pair->value;
    }
    return NULL;
}

/* The folder of the file, and a name in it. */
static drove_status beside(const drove_onnx_reader *r, const char *name, char **out)
{
    const char *slash = strrchr(r->file, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(r->file, (size_t)(slash - r->file) + 1);
    *out = folder != NULL ? drove__path_join(folder, name) : NULL;
    free(folder);
    return *out != NULL ? DROVE_OK : drove__fail_nomem("a file's name", strlen(r->file));
}

/* Bytes of a tensor in a file beside this one. */
static drove_status read_beside(const drove_onnx_reader *r, const drove_onnx_node *n,
                                const Drove__Onnx__Tensor *t, size_t n_bytes, void *into)
{
    const char *name = find_pair(t, "location"), *from = find_pair(t, "offset");
    drove_reader *reader;
    uint64_t offset = 0;
    size_t n_read = 0;
    char *path;
    if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL)
        return drove__onnx_fail(r, n,
                                "\"%.60s\": expected its numbers in a file of the same "
                                "folder, found \"%.60s\"",
                                name_of(t), name != NULL ? name : "");
    if (from != NULL) DROVE_TRY(drove__parse_u64("offset", from, 0, INT64_MAX, &offset));
    DROVE_TRY(beside(r, name, &path));
    drove_status status = drove__reader_open(path, &reader);
    free(path);
    DROVE_TRY(status);
    if (drove__reader_is_regular(reader))
        status = drove__reader_read_at(reader, offset, into, n_bytes, &n_read);
    drove__reader_close(reader);
    DROVE_TRY(status);
    if (n_read == n_bytes) return DROVE_OK;
    return drove__onnx_fail(r, n,
                            "\"%.60s\": expected %zu bytes from byte %llu of %.60s, found %zu",
                            name_of(t), n_bytes, (unsigned long long)offset, name, n_read);
}

/* The bytes of n elements of raw data into[n * size]; false in *is_raw: there are none. */
static drove_status read_raw(const drove_onnx_reader *r, const drove_onnx_node *n,
                             const Drove__Onnx__Tensor *t, size_t n_bytes, void *into, bool *is_raw)
{
    bool is_external = t->has_data_location && t->data_location == IS_EXTERNAL;
    *is_raw = is_external || t->has_raw_data;
    if (is_external) return read_beside(r, n, t, n_bytes, into);
    if (!t->has_raw_data) return DROVE_OK;
    if (t->raw_data.len != n_bytes)
        return drove__onnx_fail(r, n, "\"%.60s\": expected %zu bytes, found %zu", name_of(t),
                                n_bytes, t->raw_data.len);
    memcpy(into, t->raw_data.data, n_bytes);
    return DROVE_OK;
}

static drove_status check_listed(const drove_onnx_reader *r, const drove_onnx_node *n,
                                 const Drove__Onnx__Tensor *t, size_t n_wanted, size_t n_found)
{
    if (n_found == n_wanted) return DROVE_OK;
    return drove__onnx_fail(r, n, "\"%.60s\": expected %zu numbers, found %zu", name_of(t),
                            n_wanted, n_found);
}

static drove_status read_floats(const drove_onnx_reader *r, const drove_onnx_node *n,
                                const Drove__Onnx__Tensor *t, size_t count, float *into)
{
    bool is_raw;
    DROVE_TRY(read_raw(r, n, t, count * sizeof *into, into, &is_raw));
    if (is_raw) return DROVE_OK;
    DROVE_TRY(check_listed(r, n, t, count, t->n_float_data));
    memcpy(into, t->float_data, count * sizeof *into);
    return DROVE_OK;
}

static drove_status read_doubles(const drove_onnx_reader *r, const drove_onnx_node *n,
                                 const Drove__Onnx__Tensor *t, size_t count, float *into)
{
    bool is_raw;
    double *wide = malloc(count * sizeof *wide);
    if (wide == NULL) return drove__fail_nomem("parameters", count * sizeof *wide);
    drove_status status = read_raw(r, n, t, count * sizeof *wide, wide, &is_raw);
    if (status == DROVE_OK && !is_raw) {
        status = check_listed(r, n, t, count, t->n_double_data);
        if (status == DROVE_OK) memcpy(wide, t->double_data, count * sizeof *wide);
    }
    for (size_t i = 0; status == DROVE_OK && i < count; i++) into[i] = (float)wide[i];
    free(wide);
    return status;
}

/* Whether the file can hold so many numbers, before memory is asked for them. */
static bool can_hold(const Drove__Onnx__Tensor *t, size_t count)
{
    bool is_external = t->has_data_location && t->data_location == IS_EXTERNAL;
    if (is_external) return true;
    if (t->has_raw_data) return t->raw_data.len >= count;
    return t->n_float_data >= count || t->n_double_data >= count;
}

drove_status drove__onnx_floats_of(const drove_onnx_reader *r, const drove_onnx_node *n,
                                   const Drove__Onnx__Tensor *t, float **out)
{
    const size_t count = drove__onnx_count(t);
    const int32_t type = t->has_data_type ? t->data_type : 0;
    *out = NULL;
    if (type != FLOAT && type != DOUBLE)
        return drove__onnx_fail(r, n, "\"%.60s\": expected floats or doubles, found ONNX's type %d",
                                name_of(t), (int)type);
    if (count == SIZE_MAX || !can_hold(t, count))
        return drove__onnx_fail(r, n, "\"%.60s\": expected as many numbers as its sides say",
                                name_of(t));
    float *values = malloc(count * sizeof *values);
    if (values == NULL) return drove__fail_nomem("parameters", count * sizeof *values);
    drove_status status =
        type == FLOAT ? read_floats(r, n, t, count, values) : read_doubles(r, n, t, count, values);
    if (status == DROVE_OK) *out = values;
    else free(values);
    return status;
}

drove_status drove__onnx_ints_of(const drove_onnx_reader *r, const drove_onnx_node *n,
                                 const Drove__Onnx__Tensor *t, size_t most, int64_t *out,
                                 size_t *n_out)
{
    const size_t count = drove__onnx_count(t);
    bool is_raw;
    if (!t->has_data_type || t->data_type != INT64 || count > most)
        return drove__onnx_fail(r, n, "\"%.60s\": expected at most %zu 64-bit integers", name_of(t),
                                most);
    DROVE_TRY(read_raw(r, n, t, count * sizeof *out, out, &is_raw));
    if (!is_raw) {
        DROVE_TRY(check_listed(r, n, t, count, t->n_int64_data));
        memcpy(out, t->int64_data, count * sizeof *out);
    }
    *n_out = count;
    return DROVE_OK;
}
