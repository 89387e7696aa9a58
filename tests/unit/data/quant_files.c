/* tests/unit/data/quant_files.c - see quant_files.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "quant_files.h"

#include "base/mem.h"
#include "data/disk/rows_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { NO = -1 };

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
    "csv:values.csv?scale=robust",
    "libsvm:sparse.svm?scale=robust",
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
    {"csv:words.csv", "D8", "\"D8\"", "\"D9\"", NO, 0, 0, "D9"},
    {"csv:words.csv", "D8", "\"precision\"", "\"precisioN\"", NO, 0, 0, "precision"},
    {"csv:words.csv", "D8", "\"quantum\":", "\"quantum\":0,\"was\":", NO, 0, 0, "scale"},
    {"csv:words.csv", "D8", "\"quantum\":", "\"quantum\":1e300,\"was\":", NO, 0, 0, "scale"},
    {"csv:words.csv", "D32f", "\"quantum\":1.0", "\"quantum\":2.0", NO, 0, 0, "scale"},
    {"csv:words.csv", "D8", "\"rows\":5", "\"rows\":0", NO, 0, 0, "rows"},
    {"csv:words.csv", "D8", "\"features\":2", "\"features\":4294967295", NO, 0, 0, "block 0"},
    {"csv:words.csv", "D8", "\"classes\":3", "\"classes\":2", NO, 0, 0, "expected 2 names"},
    {"csv:words.csv", "D8", "\"target\":\"class\"", "\"target\":\"value\"", NO, 0, 0,
     "classes or values"},
    {"csv:words.csv", "D8", "\"channels\":0", "\"channels\":3", NO, 0, 0, "images"},
    {"csv:words.csv", "D8", "\"scale\":\"none\"", "\"scale\":\"half\"", NO, 0, 0, "\"scale\""},
    {"csv:words.csv", "D8", "\"weights\":false", "\"weights\":true", NO, 0, 0, "weights"},
    {"csv:words.csv", "D8", "\"notes\"", "\"x_origin\":[1,2],\"notes\"", NO, 0, 0, "origins"},
    {"csv:words.csv", "D8", "\"notes\"", "\"schema\":\"{}\",\"notes\"", NO, 0, 0, "schema"},
    {"csv:words.csv", "D8", "\"quantised\":", "\"quantisEd\":", NO, 0, 0, "precision"},
    {"csv:words.csv", "D8", "\"bridges\":0", "\"bridges\":1", NO, 0, 0, "at most 0 \"bridges\""},
    {"csv:words.csv", "D8", "\"clamped\":0", "\"clamped\":-1", NO, 0, 0, "\"clamped\""},
    {"csv:words.csv", "D8", "\"index_shift\":0", "\"index_shift\":1", NO, 0, 0, "index_shift"},
    {"csv:words.csv", "D8", "\"source_part\":\"all\"", "\"source_part\":\"al\"", NO, 0, 0,
     "source_part"},
    {"csv:words.csv", "D8", "\"source_seed\":\"", "\"source_seed\":\"-", NO, 0, 0, "source_seed"},
    {"csv:words.csv", "D8", "\"fingerprint\"", "\"fingerprinT\"", NO, 0, 0, "fingerprint"},
    {"csv:words.csv", "D8", NULL, NULL, DROVE_ROWS_X, 1, -128, "outside"},
    {"csv:words.csv", "D8", NULL, NULL, DROVE_ROWS_X, 2, 1, "outside"}, /* of the padding */
    {"csv:words.csv", "D32f", NULL, NULL, DROVE_ROWS_X, 3, 0x7f, NULL}, /* large, but a number */
    {"csv:words.csv", "D8", NULL, NULL, DROVE_ROWS_TARGET, 0, 9, "row 1: its target"},
    {"csv:words.csv", "D8", NULL, NULL, DROVE_ROWS_TARGET, 3, -1, "row 1: its target"},
    {"libsvm:sparse.svm", "D8i8", "\"bridges\":4", "\"bridges\":80", NO, 0, 0, "bridges"},
    {"libsvm:sparse.svm", "D8i8", "\"longest_row\":4", "\"longest_row\":3", NO, 0, 0, "longer"},
    {"libsvm:sparse.svm", "D8i8", "\"longest_row\":4", "\"longest\":3", NO, 0, 0, "longest_row"},
    {"libsvm:sparse.svm", "D8i8", "\"D8i8\"", "\"D4\"", NO, 0, 0, NULL},
    {"libsvm:sparse.svm", "D8i8", "\"features\":600", "\"features\":599", NO, 0, 0,
     "not below 599"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, DROVE_ROWS_INDEX, 1, 0, "ascend"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, DROVE_ROWS_VALUE, 0, -128, "outside"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, DROVE_ROWS_START, 0, 1, "ascend"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, DROVE_ROWS_START, 8, 100, "ascend"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, DROVE_ROWS_START, 15, -1, "ascend"},
    {"libsvm:sparse.svm", "D8i8", NULL, NULL, DROVE_ROWS_START, 32, 1, "ascend"},
    {"libsvm:sparse.svm", "D8i32", NULL, NULL, DROVE_ROWS_INDEX, 1, 9, "not below"},
    {"libsvm:sets.svm", "D8i16", NULL, NULL, DROVE_ROWS_TARGET, 8, 99, "ascend"},
    {"libsvm:sets.svm", "D8i16", NULL, NULL, DROVE_ROWS_TARGET, 32, 99, "ascend"},
    {"libsvm:sets.svm", "D8i16", NULL, NULL, DROVE_ROWS_LABEL, 0, 3, "row 1: its target"},
    {"libsvm:sets.svm", "D8i16", NULL, NULL, DROVE_ROWS_LABEL, 0, 2, "row 1: its target"},
    {"csv:words.csv?scale=unit", "D8", "\"shift\":[", "\"shift\":[1e39,", NO, 0, 0, "2 numbers"},
    {"csv:words.csv?scale=unit", "D8", "\"shift\":[-3.0", "\"shift\":[1e39", NO, 0, 0, "finite"},
    {"csv:words.csv?scale=unit", "D8", "\"shift\"", "\"shifT\"", NO, 0, 0, "one of them"},
};
const size_t quant_n_forgeries = DROVE_COUNT(quant_forgeries);

drove_blocks *open_rows(const char *path)
{
    char text[80];
    drove_spec spec;
    drove_blocks *b;
    snprintf(text, sizeof text, "rows:%s", path);
    assert_int_equal(drove__spec_parse(text, &spec), DROVE_OK);
    if (drove__rows_open(&spec, &b) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove__spec_fini(&spec);
    return b;
}

void lay_out_block(const drove_blocks *b, size_t block, drove_rows_layout *lay)
{
    assert_true(drove__rows_lay_out(b->shape, drove__blocks_rows(b, block),
                                    drove__blocks_stored(b, block), drove__blocks_labels(b, block),
                                    lay));
}

/* Puts the checksums of all blocks right: each entry ends ..."0123456789abcdef","0123456789abcdef"]
 */
static void correct_blocks(const drove_blocks *b, char *file, char *description, size_t n)
{
    drove_rows_list list;
    drove_rows_entry entry;
    char *bytes[2] = {malloc(b->size_bytes), malloc(b->size_bytes)}, digits[17];
    assert_true(drove__rows_list_find(description, n, &list));
    for (size_t i = 0; i < b->n_blocks; i++) {
        drove_rows_layout lay;
        size_t size[2] = {0, 0};
        lay_out_block(b, i, &lay);
        assert_true(drove__rows_list_next(&list, &entry));
        for (int k = 0; k < DROVE_ROWS_SECTIONS; k++) {
            const int of = k == DROVE_ROWS_VALUE;
            memcpy(bytes[of] + size[of], file + entry.offset + lay.at[k], lay.bytes[k]);
            size[of] += lay.bytes[k];
        }
        char *behind = description + (list.at - description);
        for (int of = 0; of < 2; of++) {
            snprintf(digits, sizeof digits, "%016llx",
                     (unsigned long long)XXH3_64bits(bytes[of], size[of]));
            memcpy(behind - (of == 1 ? 18 : 37), digits, 16);
        }
    }
    free(bytes[0]);
    free(bytes[1]);
}

void quant_forge(const quant_forgery *how)
{
    static const quant_forgery nothing = {.section = NO};
    uint64_t facts[3];
    size_t n;
    char *file = read_bytes("q", &n);
    drove_blocks *b = open_rows("q");
    if (how == NULL) how = &nothing;
    if (how->section != NO) {
        drove_rows_layout lay;
        lay_out_block(b, 0, &lay);
        file[b->file->block[0].offset + lay.at[how->section] + how->at] = how->byte;
    }
    memcpy(facts, file + n - 40, sizeof facts);
    char *text = file + facts[0];
    correct_blocks(b, file, text, (size_t)facts[1]);
    drove__blocks_close(b);

    const size_t n_part = how->part != NULL ? strlen(how->part) : 0;
    const size_t n_by = how->part != NULL ? strlen(how->by) : 0;
    const char *at = n_part > 0 ? memmem(text, (size_t)facts[1], how->part, n_part) : text;
    if (at == NULL) fail_msg("%s is not in the description", how->part);
    const size_t before = (size_t)(at - file), after = (size_t)facts[1] - (size_t)(at - text);
    char *forged = malloc(n + n_by);
    memcpy(forged, file, before);
    if (n_by > 0) memcpy(forged + before, how->by, n_by);
    memcpy(forged + before + n_by, at + n_part, after - n_part);
    facts[1] += n_by - n_part;
    facts[2] = XXH3_64bits(forged + facts[0], (size_t)facts[1]);
    memcpy(forged + facts[0] + facts[1], facts, sizeof facts);
    memcpy(forged + facts[0] + facts[1] + sizeof facts, file, 16);
    write_bytes("forged", forged, (size_t)(facts[0] + facts[1]) + 40);
    free(forged);
    free(file);
}
