/* tests/unit/data/test_broken.c - the files of tests/fuzz/corpus, good and broken: each has an
 * expected status and words that the error must contain.
 *
 * Files of two-file formats are read beside a good other half of three rows: IDX files called
 * labels-* and NPY files called targets-* as labels, all others as examples.  A file called
 * found-* came from a fuzzer: it has no line here and may be refused with any text of one line.  A
 * file called keyed_* begins with keys for the fuzz target (tests/fuzz/fuzz_data.h), and has none.
 * Every other file of the folders must have one.
 */
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CORPUS DROVE_SOURCE_DIR "/tests/fuzz/corpus"

typedef struct corpus_file {
    const char *format, *name;
    drove_status status;
    const char *words;
} corpus_file;

static const corpus_file files[] = {
    {"libsvm", "good", DROVE_OK, ""},
    {"libsvm", "good-multi", DROVE_OK, ""},
    {"libsvm", "good-zero-based", DROVE_OK, ""},
    {"libsvm", "good-regression", DROVE_OK, ""},
    {"libsvm", "good-crlf-comment", DROVE_OK, ""},
    {"libsvm", "good.gz", DROVE_OK, ""},
    {"libsvm", "empty", DROVE_E_DATA, "found none"},
    {"libsvm", "blank-lines", DROVE_E_DATA, "found none"},
    {"libsvm", "only-comment", DROVE_E_DATA, "found none"},
    {"libsvm", "labels-only", DROVE_E_DATA, "no feature"},
    {"libsvm", "word-label", DROVE_E_DATA, ":1:1: expected a number as label"},
    {"libsvm", "nan-label", DROVE_E_DATA, "finite"},
    {"libsvm", "inf-label", DROVE_E_DATA, ":2:1: expected a finite"},
    {"libsvm", "word-value", DROVE_E_DATA, ":1:5: expected a number after ':'"},
    {"libsvm", "nan-value", DROVE_E_DATA, ":1:9: expected a finite number"},
    {"libsvm", "inf-value", DROVE_E_DATA, ":2:5: expected a finite number"},
    {"libsvm", "overflow-value", DROVE_E_DATA, "finite"},
    {"libsvm", "empty-value", DROVE_E_DATA, ":1:5: expected a number"},
    {"libsvm", "no-colon", DROVE_E_DATA, ":1:7: expected feature:value"},
    {"libsvm", "negative-index", DROVE_E_DATA, ":1:3: expected feature:value"},
    {"libsvm", "repeated-index", DROVE_E_DATA, ":1:7: expected feature numbers that ascend"},
    {"libsvm", "unsorted-index", DROVE_E_DATA, ":2:7: expected feature numbers that ascend"},
    {"libsvm", "huge-index", DROVE_E_DATA, "?features=N"},
    {"libsvm", "index-beyond-u64", DROVE_E_DATA, "feature:value"},
    {"libsvm", "fraction-index", DROVE_E_DATA, "feature:value"},
    {"libsvm", "qid", DROVE_OK, ""},
    {"libsvm", "trailing-text", DROVE_E_DATA, ":1:5: expected a number"},
    {"libsvm", "missing-label", DROVE_E_DATA, ":2: expected a label"},
    {"libsvm", "feature-for-label", DROVE_E_DATA, ":1:1: expected a label"},
    {"libsvm", "trailing-comma-label", DROVE_E_DATA, "a label after ','"},
    {"libsvm", "leading-comma-label", DROVE_E_DATA, "label"},
    {"libsvm", "double-comma-label", DROVE_E_DATA, "label"},
    {"libsvm", "repeated-label", DROVE_E_DATA, "each label once"},
    {"libsvm", "same-number-label", DROVE_E_DATA, "a label is repeated"},
    {"libsvm", "fraction-multi-label", DROVE_E_DATA, "whole numbers"},
    {"libsvm", "zero-byte", DROVE_E_DATA, ":2:3"},
    {"libsvm", "zero-byte-value", DROVE_E_DATA, ":1:5"},
    {"libsvm", "binary", DROVE_E_DATA, ""},
    {"libsvm", "hex-value", DROVE_E_DATA, "a number"},
    {"libsvm", "comma-decimal", DROVE_E_DATA, "a number"},
    {"libsvm", "truncated.gz", DROVE_E_DATA, "truncated"},
    {"libsvm", "damaged.gz", DROVE_E_DATA, "gzip"},
    {"libsvm", "no-newline-at-end", DROVE_OK, ""},
    {"libsvm", "long-digits", DROVE_E_DATA, "finite"},
    {"libsvm", "long-fraction", DROVE_OK, ""},
    {"libsvm", "many_labels.svm", DROVE_OK, ""},
    {"libsvm", "values_whole.svm", DROVE_OK, ""},
    {"libsvm", "hash.svm", DROVE_OK, ""},
    {"libsvm", "not_last.svm", DROVE_OK, ""},
    {"csv", "good", DROVE_OK, ""},
    {"csv", "good-header", DROVE_OK, ""},
    {"csv", "good-quoted", DROVE_OK, ""},
    {"csv", "good-semicolon", DROVE_OK, ""},
    {"csv", "good.gz", DROVE_OK, ""},
    {"csv", "good-values", DROVE_OK, ""},
    {"csv", "empty", DROVE_E_DATA, "found none"},
    {"csv", "blank-lines", DROVE_E_DATA, "found none"},
    {"csv", "header-only", DROVE_E_DATA, "found none"},
    {"csv", "one-column", DROVE_E_DATA, "two columns"},
    {"csv", "too-few", DROVE_E_DATA, ":2:4: expected 3 fields as in the first line, not fewer"},
    {"csv", "too-many", DROVE_E_DATA, "not more"},
    {"csv", "trailing-comma", DROVE_E_DATA, ":2:6: expected 3 fields"},
    {"csv", "empty-field", DROVE_E_DATA, ":2:3: expected a number"},
    {"csv", "empty-label", DROVE_E_DATA, "a label"},
    {"csv", "word-field", DROVE_E_DATA, ":2:3: expected a number"},
    {"csv", "nan-field", DROVE_E_DATA, ":2:1: expected a finite"},
    {"csv", "inf-field", DROVE_E_DATA, ":1:3: expected a finite"},
    {"csv", "overflow-field", DROVE_E_DATA, "finite"},
    {"csv", "nan-label", DROVE_E_DATA, "finite number as label"},
    {"csv", "open-quote", DROVE_E_DATA, "closing quote"},
    {"csv", "text-after-quote", DROVE_E_DATA, "separator after"},
    {"csv", "text-after-number", DROVE_E_DATA, "separator after a number"},
    {"csv", "quoted-word", DROVE_E_DATA, "a number"},
    {"csv", "half-header", DROVE_E_DATA, ":1:1: expected a number"},
    {"csv", "two-headers", DROVE_E_DATA, ":2:1: expected a number"},
    {"csv", "zero-byte", DROVE_E_DATA, ":2:3"},
    {"csv", "zero-byte-label", DROVE_E_DATA, "zero byte"},
    {"csv", "binary", DROVE_E_DATA, ""},
    {"csv", "truncated.gz", DROVE_E_DATA, "truncated"},
    {"csv", "quote-at-end", DROVE_E_DATA, "closing quote"},
    {"csv", "doubled-quote-number", DROVE_E_DATA, "a number"},
    {"csv", "many-columns", DROVE_E_DATA, "5001 fields"},
    {"idx", "good-images", DROVE_OK, ""},
    {"idx", "good-table", DROVE_OK, ""},
    {"idx", "good-floats", DROVE_OK, ""},
    {"idx", "good-colour", DROVE_OK, ""},
    {"idx", "good-images.gz", DROVE_OK, ""},
    {"idx", "empty", DROVE_E_DATA, "ends at byte 0"},
    {"idx", "short-magic", DROVE_E_DATA, "ends at byte"},
    {"idx", "bad-first-byte", DROVE_E_DATA, "byte 0"},
    {"idx", "bad-second-byte", DROVE_E_DATA, "byte 1"},
    {"idx", "bad-type", DROVE_E_DATA, "byte 2"},
    {"idx", "no-dimension", DROVE_E_DATA, "byte 3"},
    {"idx", "five-dimensions", DROVE_E_DATA, "byte 3"},
    {"idx", "text", DROVE_E_DATA, "byte 0"},
    {"idx", "short-header", DROVE_E_DATA, "ends at byte"},
    {"idx", "zero-rows", DROVE_E_DATA, "dimension 1"},
    {"idx", "zero-width", DROVE_E_DATA, "dimension 3"},
    {"idx", "truncated", DROVE_E_DATA, "more than the file can hold"},
    {"idx", "one-more-byte", DROVE_E_DATA, "end of the file"},
    {"idx", "oversized-rows", DROVE_E_DATA, "more than the file can hold"},
    {"idx", "overflowing-sizes", DROVE_E_DATA, "overflow"},
    {"idx", "oversized-doubles", DROVE_E_DATA, "more than the file can hold"},
    {"idx", "oversized.gz", DROVE_E_DATA, "more than the file can hold"},
    {"idx", "truncated-content.gz", DROVE_E_DATA, "ends at byte 28"},
    {"idx", "truncated-stream.gz", DROVE_E_DATA, "gzip"},
    {"idx", "nan", DROVE_E_DATA, "byte 20: expected a finite"},
    {"idx", "inf-double", DROVE_E_DATA, "byte 20: expected a finite"},
    {"idx", "too-large-double", DROVE_E_DATA, "byte 28: expected a finite"},
    {"idx", "other-count", DROVE_E_DATA, "expected 4 labels"},
    {"idx", "labels-good", DROVE_OK, ""},
    {"idx", "labels-32-bit", DROVE_OK, ""},
    {"idx", "labels-negative", DROVE_E_DATA, "byte 9: expected a label"},
    {"idx", "labels-too-large", DROVE_E_DATA, "0 to 65535"},
    {"idx", "labels-float", DROVE_E_DATA, "whole numbers"},
    {"idx", "labels-truncated", DROVE_E_DATA, "more than the file can hold"},
    {"idx", "labels-too-few", DROVE_E_DATA, "expected 3 labels"},
    {"idx", "labels-one-more", DROVE_E_DATA, "end of the file"},
    {"npy", "good-floats", DROVE_OK, ""},
    {"npy", "good-bytes", DROVE_OK, ""},
    {"npy", "good-v2", DROVE_OK, ""},
    {"npy", "good-v3", DROVE_OK, ""},
    {"npy", "good-vector", DROVE_OK, ""},
    {"npy", "good-images", DROVE_OK, ""},
    {"npy", "good-floats.gz", DROVE_OK, ""},
    {"npy", "empty", DROVE_E_DATA, "ends at byte 0"},
    {"npy", "bad-magic", DROVE_E_DATA, "not an NPY file"},
    {"npy", "bad-version", DROVE_E_DATA, "version 1, 2 or 3"},
    {"npy", "short-header", DROVE_E_DATA, "ends at byte"},
    {"npy", "huge-header", DROVE_E_DATA, "header of at most"},
    {"npy", "zip", DROVE_E_DATA, "not an NPY file"},
    {"npy", "fortran-order", DROVE_OK, ""},
    {"npy", "big-endian", DROVE_OK, ""},
    {"npy", "complex", DROVE_E_DATA, "a type among"},
    {"npy", "half", DROVE_E_DATA, "end of the file at byte 140"},
    {"npy", "object", DROVE_E_DATA, "no Python objects"},
    {"npy", "structured", DROVE_E_DATA, "quoted word"},
    {"npy", "no-shape", DROVE_E_DATA, "each once"},
    {"npy", "two-shapes", DROVE_E_DATA, "each once"},
    {"npy", "unknown-key", DROVE_E_DATA, "each once"},
    {"npy", "not-a-dictionary", DROVE_E_DATA, "'{'"},
    {"npy", "open-quote", DROVE_E_DATA, "closing quote"},
    {"npy", "no-colon", DROVE_E_DATA, "':'"},
    {"npy", "no-comma", DROVE_E_DATA, "','"},
    {"npy", "order-word", DROVE_E_DATA, "True or False"},
    {"npy", "open-brace", DROVE_E_DATA, "quoted word"},
    {"npy", "text-after", DROVE_E_DATA, "nothing after"},
    {"npy", "scalar", DROVE_E_DATA, "at least one dimension"},
    {"npy", "zero-dimension", DROVE_E_DATA, "at least 1"},
    {"npy", "negative-dimension", DROVE_E_DATA, "at least 1"},
    {"npy", "five-dimensions", DROVE_E_DATA, "at most 4"},
    {"npy", "open-shape", DROVE_E_DATA, ""},
    {"npy", "shape-number", DROVE_E_DATA, "a shape"},
    {"npy", "oversized", DROVE_E_DATA, "more than the file can hold"},
    {"npy", "overflowing", DROVE_E_DATA, "overflow"},
    {"npy", "dimension-beyond-u64", DROVE_E_DATA, "a dimension"},
    {"npy", "truncated", DROVE_E_DATA, "more than the file can hold"},
    {"npy", "one-more-byte", DROVE_E_DATA, "end of the file"},
    {"npy", "nan", DROVE_E_DATA, "finite"},
    {"npy", "too-large-double", DROVE_E_DATA, "finite"},
    {"npy", "other-count", DROVE_E_DATA, "expected 2 targets"},
    {"npy", "header-zeros", DROVE_E_DATA, "'{'"},
    {"npz", "good-stored", DROVE_OK, ""},
    {"npz", "good-deflated", DROVE_OK, ""},
    {"npz", "good-parts", DROVE_OK, ""},
    {"npz", "good-positional", DROVE_OK, ""},
    {"npz", "good-channels-last", DROVE_OK, ""},
    {"npz", "good-zip64", DROVE_OK, ""},
    {"npz", "empty", DROVE_E_DATA, "no ZIP archive"},
    {"npz", "no-archive", DROVE_E_DATA, "no ZIP archive"},
    {"npz", "truncated", DROVE_E_DATA, "no ZIP archive"},
    {"npz", "wrong-crc", DROVE_E_DATA, "expected CRC-32 0x7f6033d0, found"},
    {"npz", "damaged-deflate", DROVE_E_DATA, "images.npy: damaged deflate stream"},
    {"npz", "huge-size", DROVE_E_DATA, "declares 2147483647 bytes, but has 140"},
    {"npz", "huge-deflated", DROVE_E_DATA, "declares 2147483647 bytes, but has 106 compressed"},
    {"npz", "longer-content", DROVE_E_DATA, "its content is longer"},
    {"npz", "shorter-content", DROVE_E_DATA, "its content is shorter"},
    {"npz", "offset-beyond", DROVE_E_DATA, "30 bytes at byte 2147483647, the file has"},
    {"npz", "encrypted", DROVE_E_UNSUPPORTED, "an encrypted one"},
    {"npz", "lzma", DROVE_E_UNSUPPORTED, "found method 14"},
    {"npz", "too-many-entries", DROVE_E_DATA, "declares 9999 entries in 102 bytes"},
    {"npz", "huge-directory", DROVE_E_DATA, "entries in 4294967280 bytes"},
    {"npz", "long-name", DROVE_E_DATA, "entry 1: it is longer than the directory"},
    {"npz", "bad-entry", DROVE_E_DATA, "entry 2: expected a directory entry"},
    {"npz", "zip64-short", DROVE_E_DATA, "zip64 field is too short"},
    {"npz", "zip64-locator", DROVE_E_DATA, "56 bytes at byte 9223372036854775808"},
    {"npz", "zip64-huge", DROVE_E_DATA, "declares 9223372036854775813 bytes"},
    {"npz", "no-arrays", DROVE_E_DATA, "found readme.txt"},
    {"npz", "no-members", DROVE_E_DATA, "found an empty archive"},
    {"npz", "no-targets", DROVE_E_DATA, "targets called y, Y"},
    {"npz", "fewer-targets", DROVE_E_DATA, "y.npy: expected 3 targets"},
    {"npz", "word-targets", DROVE_OK, ""},
    {"npz", "stored.npz", DROVE_OK, ""},
    {"npz", "section_beyond.npz", DROVE_OK, ""}, /* that of a member that is not read */
    {"npz", "bad_crc.npz", DROVE_E_DATA, "x_train.npy: damaged: expected CRC-32"},
    {"npz", "bad_end64.npz", DROVE_E_DATA, "byte 0: expected the zip64 end"},
    {"npz", "bad_local.npz", DROVE_E_DATA, "byte 0: expected a member's header"},
    {"npz", "more_than_packed.npz", DROVE_E_DATA, "declares 1000000000 bytes"},
    {"npz", "nul_name.npz", DROVE_E_DATA, "entry 4: expected a name without zero bytes"},
    {"webdataset", "good-ustar", DROVE_OK, ""},
    {"webdataset", "good-pax", DROVE_OK, ""},
    {"webdataset", "good-gnu", DROVE_OK, ""},
    {"webdataset", "good-others", DROVE_OK, ""},
    {"webdataset", "good.gz", DROVE_OK, ""},
    {"webdataset", "empty", DROVE_E_DATA, "truncated tar archive"},
    {"webdataset", "truncated", DROVE_E_DATA, "ends at byte 700"},
    {"webdataset", "no-end", DROVE_E_DATA, "two blocks of zeros"},
    {"webdataset", "only-end", DROVE_E_DATA, "KEY.jpg or KEY.png"},
    {"webdataset", "only-text", DROVE_E_DATA, "found none"},
    {"webdataset", "bad-checksum", DROVE_E_DATA, "the right checksum"},
    {"webdataset", "bad-size", DROVE_E_DATA, "byte 0: damaged tar archive: expected a size"},
    {"webdataset", "huge-size", DROVE_E_DATA, "expected 8589929984 more"},
    {"webdataset", "huge-base-256", DROVE_E_DATA, "expected 9223372036854771200 more"},
    {"webdataset", "beyond-u64", DROVE_E_DATA, "a size in a header"},
    {"webdataset", "sparse", DROVE_E_UNSUPPORTED, "a sparse one"},
    {"webdataset", "pax-length", DROVE_E_DATA, "a pax record"},
    {"webdataset", "pax-huge", DROVE_E_DATA, "at most 1048576 bytes, found 16777215"},
    {"webdataset", "long-name-huge", DROVE_E_DATA, "at most 1048576 bytes"},
    {"webdataset", "no-label", DROVE_E_DATA, "a .cls or .json file"},
    {"webdataset", "no-image", DROVE_E_DATA, "a .jpg or .png file"},
    {"webdataset", "two-images", DROVE_E_DATA, "found two"},
    {"webdataset", "empty-label", DROVE_E_DATA, "a.cls: expected a label"},
    {"webdataset", "bad-json", DROVE_E_DATA, "a.json: line 1, column 10"},
    {"webdataset", "json-without-label", DROVE_E_DATA, "called label, cls or class"},
    {"webdataset", "json-array", DROVE_E_DATA, "called label, cls or class"},
    {"webdataset", "bad-image", DROVE_E_DATA, "a.png: expected a PNG or JPEG file"},
    {"webdataset", "other-size", DROVE_E_SHAPE, "found 16x32"},
    {"webdataset", "pax_size.tar", DROVE_OK, ""},
    {"webdataset", "global.tar", DROVE_OK, ""},
    {"webdataset", "long_link.tar", DROVE_OK, ""},
    {"webdataset", "pax_size_bad.tar", DROVE_E_DATA, "a size in a pax record"},
    {"webdataset", "truncated_name.tar", DROVE_E_DATA, "ends at byte 900"},
    {"webdataset", "range.tar", DROVE_E_DATA, "truncated tar archive"},
    {"cifar10", "good.gz", DROVE_OK, ""},
    {"cifar10", "good-one", DROVE_OK, ""},
    {"cifar10", "empty", DROVE_E_DATA, "empty"},
    {"cifar10", "one-byte", DROVE_E_DATA, "found 1 bytes at byte 0"},
    {"cifar10", "truncated.gz", DROVE_E_DATA, "found 100 bytes at byte 3073"},
    {"cifar10", "label-ten", DROVE_E_DATA, "byte 0: expected a label"},
    {"cifar10", "cifar100.gz", DROVE_E_DATA, "expected a label from 0 to 9"},
    {"cifar10", "text", DROVE_E_DATA, "found 12 bytes"},
    {"cifar10", "damaged.gz", DROVE_E_DATA, "gzip"},
};

enum { N_FILES = sizeof files / sizeof *files };

static const char *const formats[] = {"libsvm", "csv",        "idx",    "npy",
                                      "npz",    "webdataset", "cifar10"};

static void make_spec(const char *format, const char *name, char spec[8192])
{
    if (strcmp(format, "idx") == 0 && strncmp(name, "labels-", 7) == 0) {
        snprintf(spec, 8192, "idx:three.idx,%s/idx/%s", CORPUS, name);
    } else if (strcmp(format, "npy") == 0 && strncmp(name, "targets-", 8) == 0) {
        snprintf(spec, 8192, "npy:three.npy,%s/npy/%s", CORPUS, name);
    } else if (strcmp(format, "idx") == 0 || strcmp(format, "npy") == 0) {
        snprintf(spec, 8192, "%s:%s/%s/%s,y.%s", format, CORPUS, format, name, format);
    } else {
        snprintf(spec, 8192, "%s:%s/%s/%s", format, CORPUS, format, name);
    }
}

static void write_other_halves(void)
{
    const uint8_t targets[3] = {0, 1, 2}, examples[6] = {1, 2, 3, 4, 5, 6};
    write_idx_file("three.idx", 3, (const uint32_t[]){3, 2, 2}, 12, 1);
    write_idx_file("y.idx", 1, (const uint32_t[]){3}, 3, 1);
    write_npy_file("three.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }",
                   examples, 6);
    write_npy_file("y.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", targets,
                   3);
}

/* A build without the libraries of images. */
static bool is_left_out(drove_status status)
{
    return status == DROVE_E_UNSUPPORTED && strstr(drove_error_text(), "this build") != NULL;
}

TEST(test_each_file)
{
    size_t n_wrong = 0;
    write_other_halves();
    for (size_t i = 0; i < N_FILES; i++) {
        const corpus_file *f = &files[i];
        char spec[8192];
        drove_data *data, *none;
        make_spec(f->format, f->name, spec);
        drove_status status = drove_data_open(spec, NULL, 1, &data, &none);
        const char *text = status == DROVE_OK ? "" : drove_error_text();
        bool names_file =
            status == DROVE_OK || strstr(text, f->name) != NULL || strstr(text, "y.") != NULL;
        if (is_left_out(status)) continue;
        if (status != f->status || strstr(text, f->words) == NULL || !names_file ||
            strchr(text, '\n') != NULL) {
            print_error("%s/%s: expected %s with \"%s\", got %s: %s\n", f->format, f->name,
                        drove_status_name(f->status), f->words, drove_status_name(status), text);
            n_wrong++;
        }
        drove_data_destroy(data);
    }
    assert_int_equal(n_wrong, 0);
}

static bool is_listed(const char *format, const char *name)
{
    for (size_t i = 0; i < N_FILES; i++) {
        if (strcmp(files[i].format, format) == 0 && strcmp(files[i].name, name) == 0) return true;
    }
    return false;
}

TEST(test_every_file_is_listed)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char folder[4096];
        snprintf(folder, sizeof folder, "%s/%s", CORPUS, formats[i]);
        DIR *stream = opendir(folder);
        assert_non_null(stream);
        for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
            if (entry->d_name[0] == '.' || strncmp(entry->d_name, "found-", 6) == 0) continue;
            if (strncmp(entry->d_name, "keyed_", 6) == 0) continue;
            if (!is_listed(formats[i], entry->d_name))
                fail_msg("%s/%s is not in the table", folder, entry->d_name);
        }
        closedir(stream);
    }
}

/* Good data convert, and what comes out reads back the same. */
TEST(test_good_files_convert)
{
    size_t n_good = 0;
    write_other_halves();
    for (size_t i = 0; i < N_FILES; i++) {
        if (files[i].status != DROVE_OK) continue;
        char spec[8192];
        make_spec(files[i].format, files[i].name, spec);
        drove_data *before;
        if (is_left_out(drove_data_open(spec, NULL, 1, &before, NULL))) continue;
        assert_non_null(before);
        unlink("good.out");
        bool regression = before->storage->y_kind == DROVE_Y_VALUE;
        assert_int_equal(drove_data_convert(before, "libsvm:good.out"), DROVE_OK);
        drove_data *after =
            open_data(regression                                  ? "libsvm:good.out?target=value"
                      : before->storage->y_kind == DROVE_Y_LABELS ? "libsvm:good.out?target=labels"
                                                                  : "libsvm:good.out?target=class");
        assert_int_equal(after->n_rows, before->n_rows);
        assert_int_equal(after->storage->n_features, before->storage->n_features);
        for (size_t row = 0; row < before->n_rows; row++) {
            for (size_t f = 0; f < before->storage->n_features; f++) {
                assert_true(value_at(before, row, f) == value_at(after, row, f));
            }
            if (regression) assert_true(target_of(before, row) == target_of(after, row));
        }
        drove_data_destroy(before);
        drove_data_destroy(after);
        n_good++;
    }
    assert_true(n_good >= 20);
}
