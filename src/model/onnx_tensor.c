/* model/onnx_tensor.c - constants of ONNX files: numbers in the file, or in one beside it. */
#include "model/onnx_file.h"

#include "base/file.h"
#include "base/half.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

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

/* A relative name without "..": nothing outside the file's folder is read. */
static bool is_below(const char *name)
{
    if (name[0] == '\0' || name[0] == '/') return false;
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += part[0] == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return false;
    }
    return true;
}

/* Bytes of a tensor in a file beside this one. */
static drove_status read_beside(const drove_onnx_reader *r, const drove_onnx_node *n,
                                const Drove__Onnx__Tensor *t, size_t n_bytes, void *into)
{
    const char *name = find_pair(t, "location"), *from = find_pair(t, "offset"),
               *length = find_pair(t, "length");
    drove_reader *reader;
    uint64_t offset = 0, said = n_bytes;
    size_t n_read = 0;
    char *path;
    if (name == NULL || !is_below(name))
        return drove__onnx_fail(r, n,
                                "\"%.60s\": expected its numbers in a file of the same folder or "
                                "below it, found \"%.60s\"",
                                name_of(t), name != NULL ? name : "");
    if ((from != NULL && drove__parse_u64("offset", from, 0, INT64_MAX, &offset) != DROVE_OK) ||
        (length != NULL && drove__parse_u64("length", length, 0, INT64_MAX, &said) != DROVE_OK) ||
        said != n_bytes)
        return drove__onnx_fail(
            r, n,
            "\"%.60s\": expected a length of %zu bytes of %.60s and an offset, found %.24s and "
            "%.24s",
            name_of(t), n_bytes, name, length != NULL ? length : "none",
            from != NULL ? from : "none");

    /* The folder of the file, and a name in it. */
    const char *slash = strrchr(r->file, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(r->file, (size_t)(slash - r->file) + 1);
    path = folder != NULL ? drove__path_join(folder, name) : NULL;
    free(folder);
    if (path == NULL) return drove__fail_nomem("a file's name", strlen(r->file));
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

/* ---- types ---- */

/* The list of the message that holds a type. */
typedef enum listed { FLOATS, DOUBLES, INT32S, INT64S } listed;

static const struct {
    int32_t type;
    const char *name;
    size_t size;
    listed list;
} types[] = {
    {DROVE_ONNX_T_FLOAT, "float", 4, FLOATS},
    {2, "uint8", 1, INT32S},
    {3, "int8", 1, INT32S},
    {4, "uint16", 2, INT32S},
    {5, "int16", 2, INT32S},
    {DROVE_ONNX_T_INT32, "int32", 4, INT32S},
    {DROVE_ONNX_T_INT64, "int64", 8, INT64S},
    {8, "string", 0, INT32S},
    {9, "bool", 1, INT32S},
    {DROVE_ONNX_T_FLOAT16, "float16", 2, INT32S},
    {DROVE_ONNX_T_DOUBLE, "double", 8, DOUBLES},
    {12, "uint32", 0, INT32S},
    {13, "uint64", 0, INT32S},
    {14, "complex64", 0, INT32S},
    {15, "complex128", 0, INT32S},
    {DROVE_ONNX_T_BFLOAT16, "bfloat16", 2, INT32S},
    {17, "float8e4m3fn", 0, INT32S},
    {18, "float8e4m3fnuz", 0, INT32S},
    {19, "float8e5m2", 0, INT32S},
    {20, "float8e5m2fnuz", 0, INT32S},
    {21, "uint4", 0, INT32S},
    {22, "int4", 0, INT32S},
    {23, "float4e2m1", 0, INT32S},
};

static size_t row_of(int32_t type)
{
    size_t i = 0;
    while (i < DROVE_COUNT(types) && types[i].type != type) i++;
    return i;
}

const char *drove__onnx_type_name(int32_t type)
{
    const size_t i = row_of(type);
    return i < DROVE_COUNT(types) ? types[i].name : "a type that ONNX did not have";
}

bool drove__onnx_is_float(int32_t type)
{
    return type == DROVE_ONNX_T_FLOAT || type == DROVE_ONNX_T_FLOAT16 ||
           type == DROVE_ONNX_T_DOUBLE || type == DROVE_ONNX_T_BFLOAT16;
}

/* One element of raw data. */
static double raw_number(const unsigned char *at, int32_t type)
{
    union {
        uint16_t bits;
        int16_t s;
    } two = {0};
    int32_t four;
    int64_t eight;
    float real;
    double wide;
    switch (type) {
    case DROVE_ONNX_T_FLOAT: memcpy(&real, at, 4); return (double)real;
    case DROVE_ONNX_T_DOUBLE: memcpy(&wide, at, 8); return wide;
    case DROVE_ONNX_T_INT32: memcpy(&four, at, 4); return four;
    case DROVE_ONNX_T_INT64: memcpy(&eight, at, 8); return (double)eight;
    case 2:
    case 9: return at[0];
    case 3: return (signed char)at[0];
    default: break;
    }
    memcpy(&two, at, 2);
    if (type == DROVE_ONNX_T_FLOAT16) return (double)drove__float_of_half(two.bits);
    if (type == DROVE_ONNX_T_BFLOAT16) return (double)drove__float_of_bf16(two.bits);
    return type == 5 ? two.s : two.bits;
}

/* An element of int32_data: 16-bit floats stand there as their bits. */
static double listed_number(int32_t value, int32_t type)
{
    if (type == DROVE_ONNX_T_FLOAT16) return (double)drove__float_of_half((uint16_t)value);
    if (type == DROVE_ONNX_T_BFLOAT16) return (double)drove__float_of_bf16((uint16_t)value);
    return value;
}

static size_t n_listed(const Drove__Onnx__Tensor *t, listed list)
{
    return list == FLOATS    ? t->n_float_data
           : list == DOUBLES ? t->n_double_data
           : list == INT64S  ? t->n_int64_data
                             : t->n_int32_data;
}

drove_status drove__onnx_floats_of(const drove_onnx_reader *r, const drove_onnx_node *n,
                                   const Drove__Onnx__Tensor *t, float **out)
{
    const size_t count = drove__onnx_count(t);
    const int32_t type = t->has_data_type ? t->data_type : 0;
    const size_t row = row_of(type);
    bool is_raw;
    *out = NULL;
    if (row == DROVE_COUNT(types) || types[row].size == 0)
        return drove__onnx_fail(r, n,
                                "\"%.60s\": expected numbers of float, double, float16 or "
                                "bfloat16, found %s (%d)",
                                name_of(t), drove__onnx_type_name(type), (int)type);

    /* The file must be able to hold so many numbers, before memory is asked for them. */
    const bool is_external = t->has_data_location && t->data_location == IS_EXTERNAL;
    const size_t n_there = t->has_raw_data ? t->raw_data.len : n_listed(t, types[row].list);
    if (count == SIZE_MAX || (!is_external && n_there < count))
        return drove__onnx_fail(r, n, "\"%.60s\": expected as many numbers as its sides say",
                                name_of(t));
    const size_t size = types[row].size;
    float *values = malloc(count * sizeof *values);
    unsigned char *raw = malloc(count * size);
    drove_status status;
    if (values == NULL || raw == NULL) {
        status = drove__fail_nomem("parameters", count * (sizeof *values + size));
        goto fail;
    }
    if ((status = read_raw(r, n, t, count * size, raw, &is_raw)) != DROVE_OK) goto fail;
    if (!is_raw) status = check_listed(r, n, t, count, n_listed(t, types[row].list));
    if (status != DROVE_OK) goto fail;
    for (size_t i = 0; i < count; i++) {
        const listed from = types[row].list;
        values[i] = (float)(is_raw            ? raw_number(raw + i * size, type)
                            : from == FLOATS  ? (double)t->float_data[i]
                            : from == DOUBLES ? t->double_data[i]
                            : from == INT64S  ? (double)t->int64_data[i]
                                              : listed_number(t->int32_data[i], type));
    }
    free(raw);
    *out = values;
    return DROVE_OK;
fail:
    free(raw);
    free(values);
    return status;
}

drove_status drove__onnx_ints_of(const drove_onnx_reader *r, const drove_onnx_node *n,
                                 const Drove__Onnx__Tensor *t, size_t most, int64_t *out,
                                 size_t *n_out)
{
    const size_t count = drove__onnx_count(t);
    bool is_raw;
    if (t->has_data_type && t->data_type == DROVE_ONNX_T_INT32 && count <= most) {
        float *values;
        DROVE_TRY(drove__onnx_floats_of(r, n, t, &values));
        for (size_t i = 0; i < count; i++) out[i] = (int64_t)values[i];
        free(values);
        *n_out = count;
        return DROVE_OK;
    }
    if (!t->has_data_type || t->data_type != DROVE_ONNX_T_INT64 || count > most)
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
