/* tests/unit/data/quant_files.c - see quant_files.h. */
#include "quant_files.h"

#include "base/mem.h"
#include "data/quant_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

const char *const quant_dense[] = {"D8", "D16", "D32f", "D8[i8]", NULL};
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
    {"csv:words.csv", "D8", "format", "drove-quant-2", NULL, 0, 0, "drove-quant-1"},
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

void quant_forge(const quant_forgery *how)
{
    drove_safetensors st;
    const char *meta[128];
    char sum[DROVE_QUANT_SUM_SIZE];
    uint64_t hash = 0;
    size_t n = 0;
    assert_int_equal(drove__safetensors_load("q", &st), DROVE_OK);
    for (size_t i = 0; i < st.n_tensors; i++) {
        if (how->tensor != NULL && strcmp(st.tensor[i].name, how->tensor) == 0)
            ((char *)st.tensor[i].bytes)[how->at] = how->byte;
        hash = drove__quant_hash_tensor(hash, &st.tensor[i]);
    }
    for (size_t i = 0; i < st.n_meta; i++) {
        if (strcmp(st.meta_key[i], DROVE_QUANT_CHECKSUM) == 0) continue;
        meta[n] = st.meta_key[i];
        meta[n + 1] = how->key != NULL && strcmp(st.meta_key[i], how->key) == 0 ? how->value
                                                                                : st.meta_value[i];
        hash = drove__quant_hash_meta(hash, meta[n], meta[n + 1]);
        n += 2;
    }
    drove__quant_hash_text(hash, sum);
    meta[n] = DROVE_QUANT_CHECKSUM;
    meta[n + 1] = sum;
    meta[n + 2] = NULL;
    assert_int_equal(drove__safetensors_write("forged", st.tensor, st.n_tensors, meta), DROVE_OK);
    drove__safetensors_fini(&st);
}
