/* drove/data.h - open, inspect and convert data sets.
 *
 * A data set is named by a spec (docs/use/data.md):
 *   table:FILE?label=NAME&weights=NAME  mnist:DIR  idx:IMAGES,LABELS  libsvm:FILE
 *   csv:FILE?label=last  npy:X,Y  npz:FILE?x=NAME&y=NAME  images:DIR?size=HxW
 *   webdataset:FILE,...  cifar10:FILE,...
 *   synth:digits?n=60000&seed=1  synth:logistic?n=..&d=..&density=..  quant:FILE?from=SPEC
 * All of them accept ?scale=none|unit|standard|mean and ?split=0.1; images also ?crop=28&pad=4
 * and mirror=1.  Every file may be compressed with gzip or zstd.  The path of a file alone,
 * "people.csv", is a table, or an NPZ or tar archive or LIBSVM data by its content; that of a
 * folder is MNIST's files or images; "-" is a table on standard input.
 */
#ifndef DROVE_DATA_H
#define DROVE_DATA_H

#include <drove/status.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* opaque; read-only after opening, so any thread may use it */
typedef struct drove_data drove_data;

/* Opens the training data that `spec` names.  `test` names the held-out data: NULL or "": none;
 * "split": the format's own test files if it has them and spec has no ?split=, else the fraction
 * ?split= of spec (default 0.1) drawn by `seed`; any other text is a spec.  ?part=test opens a
 * format's own test files as training data.  Test data get the training data's number of
 * features, classes and scaling.  *test_out is NULL when there is none.  The caller owns both and
 * may destroy them in any order.  Errors: DROVE_E_ARG (spec, a name in memory that nothing has),
 * DROVE_E_FILE (cannot be opened), DROVE_E_IO (reading failed), DROVE_E_DATA (file, line or byte,
 * expected, found), DROVE_E_SHAPE (test does not fit train), DROVE_E_UNSUPPORTED (zstd, PNG or JPEG
 * in a build without them), DROVE_E_NOMEM, DROVE_E_SYSTEM (a thread). */
drove_status drove_data_open(const char *spec, const char *test, uint64_t seed,
                             drove_data **train_out, drove_data **test_out);
void         drove_data_destroy(drove_data *data); /* may be NULL */

/* Whether a text names data, not a run file: a spec of a known format, "-", or a path that ends as
 * tables do (.csv, .tsv, .txt ..., also with .gz or .zst). */
int drove_data_is_named(const char *text);
/* Writes spec with ?label=label into into[size]; spec alone if label is NULL or "".
 * Errors: DROVE_E_ARG (too long). */
drove_status drove_data_set_label(const char *spec, const char *label, char *into, size_t size);
/* The same with ?keep=columns, whose cells stand beside predictions.  Errors: the same. */
drove_status drove_data_set_keep(const char *spec, const char *columns, char *into, size_t size);
/* The same with ?weights=column.  Errors: the same. */
drove_status drove_data_set_weights(const char *spec, const char *column, char *into, size_t size);

/* What drove_data_describe tells. */
typedef struct drove_data_facts {
    size_t n_rows;     /* examples */
    size_t n_features; /* numbers of an example as loaded */
    size_t n_classes;  /* classes, or labels of multi-label data; 0 for regression */
    /* numbers in memory: rows x features, or the stored non-zeros */
    size_t      n_stored;
    size_t      channels, height, width; /* of images; 0 = not images */
    const char *storage;                 /* "u8", "f32", "sparse f32", "sparse ones", "D8i16" */
    const char *target;                  /* "class", "value", "labels" */
    const char *scale;                   /* "none", "unit", "standard", "mean" ... */
    /* the reader's remarks ("indices start at 1"); never NULL */
    const char *notes;
    size_t      memory_bytes; /* bytes that the data set holds in memory */
    double      quantum;      /* quantised data: value of the integer 1 (1 for floats); else 0 */
    uint64_t    n_clamped;    /* quantised data: values outside the format's range; else 0 */
    uint64_t    n_bridges; /* quantised data: pairs that only bridge gaps between indices; else 0 */
    size_t      n_inputs;  /* numbers per example as a model sees it, after ?crop and ?pad */
    size_t      crop_height, crop_width; /* pixels; 0: images are used as loaded */
    size_t      pad;                     /* pixels of zeros on each side, before the crop */
    int         mirror;                  /* half of the training images are mirrored */
} drove_data_facts;
/* Fills *out, whose strings live as long as data.  Counts the stored numbers: reads every row. */
void drove_data_describe(const drove_data *data, drove_data_facts *out);

/* *out: a JSON array of the columns of a table, {"name", "type", "distinct", "missing",
 * "features"}; "distinct" null where it was not counted, and no less than it says where the values
 * were too many to count; [] for data that are no table.  Freed by the caller.
 * Errors: DROVE_E_NOMEM. */
drove_status drove_data_columns_json(const drove_data *data, char **out);

/* *out: the names of a table's columns, each with a line end behind it, by its first lines alone.
 * Freed by the caller.  Errors: DROVE_E_ARG (no table), those of drove_data_open. */
drove_status drove_data_list_columns(const char *spec, char **out);

/* Writes a description for people to stream: rows, features, storage, value range, class counts,
 * notes; of a table also its columns.  Errors: DROVE_E_IO (stream), DROVE_E_NOMEM. */
drove_status drove_data_print_info(const drove_data *data, FILE *stream);

/* Writes the data set to a file whose format the spec `to` names: libsvm:FILE, csv:FILE, npy:X,Y,
 * idx:IMAGES,LABELS, quant:FILE?precision=D8i16.  Values are written unscaled unless `to` has
 * ?scaled=1 or is quant.  The file appears whole or not at all.
 * Errors: DROVE_E_ARG, DROVE_E_UNSUPPORTED (why the data does not fit that format),
 * DROVE_E_EXISTS, DROVE_E_FILE (cannot be created), DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove_data_convert(const drove_data *data, const char *to);

/* The same for data that need not fit into memory: `from` is read in pieces of a few MiB and
 * written to a new file in the format rows.  Text (libsvm, table) and synth:logistic can be read
 * so.  What needs all rows of a table (categories, fill values) comes from a sample of them.
 * Errors: those of drove_data_open and drove_data_convert, DROVE_E_UNSUPPORTED (another format). */
drove_status drove_data_convert_large(const char *from, const char *to);
/* Whether it can, and that takes less than an eighth of the memory that is free. */
int drove_data_is_large(const char *from, const char *to);

/* ---- the cache: files that may be deleted at any time ----
 *
 * XDG_CACHE_HOME/drove or ~/.cache/drove: rows of data that are larger than the memory, programs of
 * devices, times of convolutions. */

/* Prints its files, those that were used longest ago first, as text or as one JSON object.  Errors:
 * DROVE_E_FILE (no such folder), DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove_cache_print(int as_json, FILE *stream);
/* Removes all of them; *n_bytes: their size.  Errors: DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove_cache_clear(uint64_t *n_bytes);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
