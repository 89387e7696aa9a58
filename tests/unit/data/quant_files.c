/* tests/unit/data/quant_files.c - see quant_files.h. */
#include "quant_files.h"

#include "base/mem.h"
#include "data/disk/quant_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

void write_sources(void)
{
    write_text("words.csv", "1,2.5,cat\n0,0,dog\n-3,0.125,cat\n7,7,a cow\n0,0,dog\n");
    write_text("values.csv", "1,2,0.5\n3,4,1.25\n0,0,-7\n5,6,0.1\n");
    write_text("sets.svm", "0,2 1:1 300:2.5\n 2:1\n1 1:0 256:4\n0,1,2 70000:1\n");
    write_text("sparse.svm", "+1 1:0.5 600:-2\n-1\n+1 2:0 3:1\n-1 600:1\n");
}

const char *const quant_sources[] = {
    "csv:words.csv",
    "csv:values.csv",
    "csv:words.csv?scale=standard",
    "libsvm:sets.svm",
    "libsvm:sparse.svm?scale=unit",
    "libsvm:sparse.svm?features=1000",
    "synth:images?n=7&size=6",
    "synth:images?n=7&size=6&scale=none",
    "synth:logistic?n=9&d=130",
    "synth:logistic?n=30&d=900&density=0.01",
    NULL,
};

const char *const quant_dense[] = {"D4", "D8", "D16", "D32f", "D8[i8]", NULL};
const char *const quant_sparse[] = {"D8i8",   "D8i16",   "D8i32",   "D16i8",   "D16i16", "D16i32",
                                    "D32fi8", "D32fi16", "D32fi32", "D16[i8]", NULL};

void convert(const drove_data *data, const char *to)
{
    unlink("q");
    if (drove_data_convert(data, to) != DROVE_OK) fail_msg("%s: %s", to, drove_error_text());
}

void convert_spec(const char *from, const char *to)
{
    drove_data *data = open_data(from);
    convert(data, to);
    drove_data_destroy(data);
}

const quant_forgery quant_forgeries[] = {
    {"csv:words.csv", "D8", "format", "drove-quant-1", NULL, 0, 0, "drove-quant-2"},
    {"csv:words.csv", "D8", "format", "drove-quant-3", NULL, 0, 0, "drove-quant-2"},
    {"csv:words.csv", "D8", "precision", "D9", NULL, 0, 0, "D9"},
    {"csv:words.csv", "D8", "precision", "D16", NULL, 0, 0, "I16"},
    {"csv:words.csv", "D8", "quantum", "0", NULL, 0, 0, "scale"},
    {"csv:words.csv", "D8", "quantum", "1e300", NULL, 0, 0, "scale"},
    {"csv:words.csv", "D32f", "quantum", "2", NULL, 0, 0, "scale"},
    {"csv:words.csv", "D8", "n_rows", "4", NULL, 0, 0, "value"},
    {"csv:words.csv", "D8", "n_rows", "0", NULL, 0, 0, "value"},
    {"csv:words.csv", "D8", "n_rows", "x", NULL, 0, 0, "n_rows"},
    {"csv:words.csv", "D8", "n_features", "4294967295", NULL, 0, 0, "value"},
    {"csv:words.csv", "D8", "n_classes", "2", NULL, 0, 0, "class_names"},
    {"csv:words.csv", "D8", "n_classes", "0", NULL, 0, 0, "classes"},
    {"csv:words.csv", "D8", "target", "value", NULL, 0, 0, "values"},
    {"csv:words.csv", "D8", "channels", "3", NULL, 0, 0, "images"},
    {"csv:words.csv", "D8", "index_base", "2", NULL, 0, 0, "index_base"},
    {"csv:words.csv", "D8", "scale", "half", NULL, 0, 0, "scale"},
    {"csv:words.csv", "D8", "notes", "a\nb", NULL, 0, 0, "plain"},
    {"csv:words.csv", "D8", NULL, NULL, "value", 1, -128, "outside"},
    {"csv:words.csv", "D8", NULL, NULL, "value", 2, 1, "outside"}, /* of the padding */
    {"csv:words.csv", "D32f", NULL, NULL, "value", 3, 0x7f, NULL}, /* large, but a number */
    {"csv:words.csv", "D8", NULL, NULL, "target", 0, 9, "class below 3"},
    {"csv:words.csv", "D8", NULL, NULL, "target", 3, -1, "class below 3"},
    {"csv:words.csv", "D8", NULL, NULL, "class_names", 1, '\n', "class_names"},
    {"csv:words.csv", "D8", NULL, NULL, "class_names", 0, 0, "class_names"},
    {"libsvm:sparse.svm", "D8i8", "n_stored", "9", NULL, 0, 0, "value"},
    {"libsvm:sparse.svm", "D8i8", "n_bridges", "80", NULL, 0, 0, "n_bridges"},
    {"libsvm:sparse.svm", "D8i8", "n_features", "599", NULL, 0, 0, "not below 599"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, "index", 1, 0, "ascend"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, "value", 0, -128, "outside"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, "row_start", 0, 1, "ascend"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, "row_start", 8, 100, "ascend"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, "row_start", 15, -1, "ascend"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, "row_start", 32, 1, "ascend"},
    {"libsvm:sparse.svm", "D8i32", NULL, NULL, "index", 1, 9, "not below"},
    {"libsvm:sets.svm", "D8i16", NULL, NULL, "label_start", 8, 99, "ascend"},
    {"libsvm:sets.svm", "D8i16", NULL, NULL, "label_start", 32, 99, "label"},
    {"libsvm:sets.svm", "D8i16", NULL, NULL, "label", 0, 3, "label 3"},
    {"libsvm:sets.svm", "D8i16", NULL, NULL, "label", 0, 2, "repeated"},
    {"csv:words.csv?scale=unit", "D8", NULL, NULL, "input.shift", 3, 0x7f, NULL},
};
const size_t quant_n_forgeries = DROVE_COUNT(quant_forgeries);

/* ---- checksums, from the tensors of a loaded file ---- */

typedef struct content {
    const drove_safetensors *st;
    size_t n_rows, block_rows;
    char *bytes; /* of a block, one array after the other */
    size_t n;
} content;

static void append(content *c, const char *name, size_t first, size_t n, size_t size_bytes)
{
    const drove_tensor *t = drove__safetensors_find(c->st, name);
    c->bytes = realloc(c->bytes, c->n + n * size_bytes + 1);
    assert_non_null(c->bytes);
    memcpy(c->bytes + c->n, (const char *)t->bytes + first * size_bytes, n * size_bytes);
    c->n += n * size_bytes;
}

/* Things of each row by a list of starts, which may be forged. */
static void append_listed(content *c, const char *starts, const char *const things[2], size_t first,
                          size_t n)
{
    const uint64_t *start = drove__safetensors_find(c->st, starts)->bytes;
    append(c, starts, first, n + 1, sizeof *start);
    for (unsigned i = 0; i < 2 && things[i] != NULL; i++) {
        const drove_tensor *t = drove__safetensors_find(c->st, things[i]);
        if (start[first] > start[first + n] || start[first + n] > t->shape[0]) continue;
        append(c, things[i], (size_t)start[first], (size_t)(start[first + n] - start[first]),
               drove__tensor_bytes(t) / t->shape[0]);
    }
}

static uint64_t block_sum(content *c, size_t block)
{
    static const char *const pairs[2] = {"value", "index"}, *const labels[2] = {"label"};
    const drove_tensor *value = drove__safetensors_find(c->st, "value");
    const size_t first = block * c->block_rows, left = c->n_rows - first;
    const size_t n = left < c->block_rows ? left : c->block_rows;
    c->n = 0;
    if (drove__safetensors_find(c->st, "row_start") != NULL)
        append_listed(c, "row_start", pairs, first, n);
    else append(c, "value", first, n, drove__tensor_bytes(value) / value->shape[0]);
    if (drove__safetensors_find(c->st, "label_start") != NULL)
        append_listed(c, "label_start", labels, first, n);
    else append(c, "target", first, n, 4);
    return XXH3_64bits(c->bytes, c->n);
}

static size_t count_of(const drove_safetensors *st, const char *key)
{
    const char *text = drove__safetensors_meta(st, key);
    return text != NULL ? (size_t)strtoull(text, NULL, 10) : 0;
}

static void correct_blocks(const drove_safetensors *st)
{
    content c = {.st = st,
                 .n_rows = count_of(st, "n_rows"),
                 .block_rows = count_of(st, "block_rows")};
    const drove_tensor *sums = drove__safetensors_find(st, "block_checksum");
    for (size_t i = 0; i < sums->shape[0]; i++) ((uint64_t *)sums->bytes)[i] = block_sum(&c, i);
    free(c.bytes);
}

void quant_forge(const quant_forgery *how)
{
    static const quant_forgery nothing;
    drove_safetensors st;
    const char *meta[128];
    size_t n = 0;
    if (how == NULL) how = &nothing;
    assert_int_equal(drove__safetensors_load("q", &st), DROVE_OK);
    for (size_t i = 0; i < st.n_tensors; i++)
        if (how->tensor != NULL && strcmp(st.tensor[i].name, how->tensor) == 0)
            ((char *)st.tensor[i].bytes)[how->at] = how->byte;
    for (size_t i = 0; i < st.n_meta; i++, n += 2) {
        const bool is_other = how->key != NULL && strcmp(st.meta_key[i], how->key) == 0;
        meta[n] = st.meta_key[i];
        meta[n + 1] = is_other ? how->value : st.meta_value[i];
    }
    if (how->tensor != NULL) correct_blocks(&st);
    meta[n] = NULL;
    assert_int_equal(drove__safetensors_write("forged", st.tensor, st.n_tensors, meta), DROVE_OK);
    drove__safetensors_fini(&st);
}
