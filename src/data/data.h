/* data/data.h - a data set in memory, in its natural width, and views of it.
 *
 * A storage (reference counted) may serve several drove_data: the training part and the held-out
 * part of a split share it, each with its own list of rows.  Everything is immutable after opening.
 */
#ifndef DROVE_DATA_DATA_H
#define DROVE_DATA_DATA_H

#include <drove/data.h>

#include "base/named.h"
#include "base/spec.h"
#include "base/status.h"
#include "data/augment.h"
#include "data/shard.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef enum drove_x_kind { DROVE_X_U8, DROVE_X_F32, DROVE_X_CSR, DROVE_X_QUANT } drove_x_kind;
typedef enum drove_y_kind { DROVE_Y_CLASS, DROVE_Y_VALUE, DROVE_Y_LABELS } drove_y_kind;
typedef enum drove_scaling {
    DROVE_SCALE_NONE,
    DROVE_SCALE_UNIT,
    DROVE_SCALE_STANDARD,
    DROVE_SCALE_ROBUST,
    DROVE_SCALE_MEAN,
    DROVE_SCALE_MEAN_CHANNEL,
    DROVE_SCALE_UNIT_MEAN,
    DROVE_SCALE_UNIT_MEAN_CHANNEL,
    DROVE_SCALE_AUTO, /* by the data: one of the others once they are fitted */
    DROVE_N_SCALINGS
} drove_scaling;

/* Of test data: rows of classes that the training data do not have, which no view holds; they count
 * as wrong in the accuracy, with this weight. */
typedef struct drove_unseen {
    bool  *is_row; /* [n_rows] malloc; NULL: none */
    double weight;
} drove_unseen;

/* How the rows may be parted for validation (data/parting.h): by ?split=, read with the rows, kept
 * in copies and derived sets. */
typedef struct drove_parting {
    bool      is_timed; /* split=last: the rows are in the order of time */
    uint32_t *group;    /* [n_rows] split=group: the group of each row, malloc; NULL: none   */
    uint32_t *hash;     /* [n_groups] of its value: the same in any file; malloc             */
    size_t    n_groups; /* of the storage; a view may have rows of fewer                     */
} drove_parting;

/* Filled by a reader.  x_u8 and x_f32 come from drove__alloc, the other arrays from malloc; the
 * last view releases them.  n_rows is below 2^32. */
typedef struct drove_storage {
    size_t n_rows, n_features;
    size_t n_rows_whole; /* rows of all shards, if it holds one shard; else 0 */
    /* stored numbers of the longest sparse row that can come to be in it; 0: that of its rows */
    size_t       longest_row;
    drove_x_kind x_kind;
    uint8_t     *x_u8;      /* [n_rows][n_features]                      DROVE_X_U8   */
    float       *x_f32;     /* [n_rows][n_features]                      DROVE_X_F32  */
    uint64_t    *row_start; /* [n_rows + 1] into index and value         DROVE_X_CSR  */
    uint32_t    *index;     /* ascending within a row, < n_features                   */
    float       *value;     /* NULL: every stored value is 1                          */
    /* What was subtracted, in double, from the numbers of dense examples and from the values, whose
     * digits floats would lose (base/digits.h): x = x_origin[f] + x_f32.  NULL: zeros. */
    double             *x_origin; /* [n_features], malloc */
    double             *y_origin; /* [n_values], malloc   */
    struct drove_quant *quant;    /* data/quant.h; one reference                 DROVE_X_QUANT */
    /* DROVE_X_QUANT: the scaling that its values have had already, as in drove_data; shift and
     * factor come from drove__alloc */
    drove_scaling scaling;
    float        *shift, *factor; /* [n_features], or both NULL                          */
    drove_y_kind  y_kind;
    size_t        n_classes;   /* classes or labels; 0 for values                        */
    int32_t      *y_class;     /* [n_rows], 0 .. n_classes-1                DROVE_Y_CLASS  */
    size_t        n_values;    /* of an example; 0 counts as 1              DROVE_Y_VALUE  */
    float        *y_value;     /* [n_rows][n_values]                                      */
    uint64_t     *label_start; /* [n_rows + 1] into label                   DROVE_Y_LABELS */
    uint32_t     *label;       /* ascending within a row                                  */
    float        *weight;      /* [n_rows] of each example, finite, not negative; NULL: 1 each  */
    /* [n_classes], as written in the file; NULL = the numbers 0 ..; of several values their names,
     * [n_values] */
    char **class_name;
    size_t channels, height, width; /* of images; 0 = not images                              */
    bool   has_feature_0;           /* LIBSVM: number 0 occurs, be it with the value 0 */
    int    index_base; /* LIBSVM: number of the first feature in the file, 0 or 1; else -1 */
    /* Of rows that are files: row i is called row_names + row_name_at[i]; NULL: no names.  Of a
     * table with n_kept > 0 columns to keep: their cells as the file has them. */
    char         *row_names;
    size_t       *row_name_at; /* [n_rows], or [n_rows][n_kept]                             */
    size_t        n_kept;
    char        **kept_name; /* [n_kept] */
    drove_unseen  unseen;
    drove_parting parting;
    struct drove_schema *schema; /* table/schema.h; one reference; NULL: columns have no names */
    /* Not NULL: one reference, and x_u8, x_f32, row_start, index and value belong to it
     * (data/arrays.h). */
    drove_named_object *arrays;
    char                notes[2048];
    atomic_uint         n_views; /* reference count                                         */
} drove_storage;

typedef enum drove_rows_of { DROVE_ROWS_ALL, DROVE_ROWS_TRAIN, DROVE_ROWS_TEST } drove_rows_of;

struct drove_data {
    drove_storage *storage;
    size_t         n_rows;
    uint32_t      *row; /* [n_rows] rows of storage, or NULL: all, in order         */
    drove_scaling  scaling;
    /* Applied when an engine loads an example: x' = (x - shift[f]) * factor[f]; both NULL: nothing
     * to do.  Sparse data are only multiplied (shift is 0), so that zeros stay zeros. */
    float        *shift, *factor; /* [n_features], owned by this view                    */
    drove_augment augment;        /* applied after that, to images                       */
    float        *class_weight;   /* [n_classes] factor of an example's weight in the loss; NULL */
    double        mean_weight;    /* by which these weights are divided; 0: not (data/weights.h) */
    /* Origin: what drove_data_open(spec, "split", seed) gives, or, for all rows,
     * drove_data_open(spec, NULL, ..).  NULL: not known. */
    char         *spec;
    drove_rows_of part;
    uint64_t      seed;
};

static inline size_t drove__data_row(const drove_data *d, size_t i)
{
    return d->row != NULL ? d->row[i] : i;
}

static inline size_t drove__storage_n_values(const drove_storage *s)
{
    return s->n_values > 0 ? s->n_values : 1;
}

/* Length of class_name, where that is not NULL. */
static inline size_t drove__storage_n_names(const drove_storage *s)
{
    return s->y_kind == DROVE_Y_VALUE ? drove__storage_n_values(s) : s->n_classes;
}

static inline bool drove__data_is_weighted(const drove_data *d)
{
    return d->storage->weight != NULL || d->class_weight != NULL;
}

/* The weight of a row of the storage: in the loss, and in metrics. */
static inline float drove__data_loss_weight(const drove_data *d, size_t row)
{
    const drove_storage *s = d->storage;
    double               weight = s->weight != NULL ? (double)s->weight[row] : 1.0;
    if (d->class_weight != NULL) weight *= (double)d->class_weight[s->y_class[row]];
    return (float)(d->mean_weight > 0.0 ? weight / d->mean_weight : weight);
}
static inline double drove__data_metric_weight(const drove_data *d, size_t row)
{
    return d->storage->weight != NULL ? (double)d->storage->weight[row] : 1.0;
}

/* Numbers per example as a model sees it. */
static inline size_t drove__data_n_inputs(const drove_data *d)
{
    const drove_augment *a = &d->augment;
    if (!drove__augment_is_on(a)) return d->storage->n_features;
    return a->channels * a->crop_height * a->crop_width;
}

/* Channels, height and width of an example as a model sees it; zeros if it is no image. */
static inline void drove__data_image(const drove_data *d, size_t shape[3])
{
    const drove_augment *a = &d->augment;
    bool                 is_on = drove__augment_is_on(a);
    shape[0] = d->storage->channels;
    shape[1] = is_on ? a->crop_height : d->storage->height;
    shape[2] = is_on ? a->crop_width : d->storage->width;
    if (is_on) shape[0] = a->channels;
}

/* Moves n_held rows of *data, drawn by the seed, into a view of the same storage, scaled alike:
 * 1 <= n_held < data->n_rows.  The caller owns *out.  Errors: DROVE_E_NOMEM; *data is unchanged. */
drove_status drove__data_draw(drove_data *data, size_t n_held, uint64_t seed, drove_data **out);
/* The same to judge a model by: rows as ?split= parts them (data/parting.h), the last ones, or
 * whole groups of about so many.  Errors: also DROVE_E_SHAPE (a single group). */
drove_status drove__data_hold_out(drove_data *data, size_t n_held, uint64_t seed, drove_data **out);

/* A second view of the same rows, scaled alike; the caller destroys it.  Errors: DROVE_E_NOMEM. */
drove_status drove__data_view(const drove_data *data, drove_data **out);

/* A format: one row of the table in data/open/formats.c; `drove list data` walks it. */
typedef struct drove_format_ops {
    const char *name, *help,
        *source;           /* name "synth:digits": spec name and first argument           */
    const char *arguments; /* "IMAGES,LABELS", for help and errors                           */
    unsigned    least_args, most_args;
    const drove_spec_key *keys; /* beside those of data/common.h; NULL: none */
    /* Reads the training part (part 0) or the format's own test part (part 1; only with has_test).
     * *out is one storage from drove__storage_create.  The spec has been checked against the
     * table.  shard: rows to keep, NULL: all; only with reads_shards. */
    drove_status (*read)(const drove_spec *spec, int part, const drove_shard *shard,
                         drove_storage **out);
    /* Reads further data by the schema of `like` (only its descriptive part is used): columns by
     * name.  NULL: columns have no names.  Without use_labels no label is read. */
    drove_status (*read_like)(const drove_spec *spec, const drove_storage *like, bool use_labels,
                              drove_storage **out);
    bool has_test; /* `--test split` and ?part=test name files of the format         */
    /* With has_test: whether this data set has a test part of its own.  NULL: each has. */
    bool (*finds_test)(const drove_spec *spec);
    /* ?label=none: rows without targets, to predict; `drove predict` reads them so */
    bool reads_unlabelled;
    bool resizes;      /* ?size=HxW and ?channels=C: test images take those of training    */
    bool reads_shards; /* keeps only the shard's rows in memory                          */
    bool takes_first;  /* ?n= and ?first=: any of its rows can be made by themselves */
    bool reads_pieces; /* heeds spec->piece: text of which every line is a row, or a record */
    bool holds_all;    /* also weights and several values; data of a schema with it */
    drove_scaling default_scaling;
    drove_status (*write)(const drove_data *data,
                          const drove_spec *to); /* NULL: cannot be written  */
} drove_format_ops;

extern const drove_format_ops *const drove__formats[]; /* NULL-terminated */

drove_status drove__storage_create(drove_storage **out);
void drove__storage_release(drove_storage *storage); /* drops one reference; NULL accepted */

/* Appends a remark to storage->notes ("; " between two); drops what does not fit. */
void drove__storage_note(drove_storage *storage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The remark on n numbers of examples that lost digits as floats; 0: none. */
void drove__storage_note_rounded(drove_storage *storage, uint64_t n);

/* Gives an empty storage all that describes the data of another one, whatever rows it has.  Errors:
 * DROVE_E_NOMEM. */
drove_status drove__storage_describe(const drove_storage *from, drove_storage *to);

/* Gives the n_rows rows of a storage no target: one class for all.  Errors: DROVE_E_NOMEM. */
drove_status drove__storage_set_unlabelled(drove_storage *storage);

/* Name of a class or label as in the file; a number is written into `number`. */
enum { DROVE_CLASS_TEXT_SIZE = 24 };
const char *drove__class_text(const drove_storage *storage, size_t class,
                              char                 number[DROVE_CLASS_TEXT_SIZE]);

/* "u8", "f32", "sparse f32", "sparse ones", or for quantised data "D8", "D16i8" ...; "class",
 * "value" or "labels". */
const char *drove__storage_name(const drove_storage *storage);
const char *drove__target_name(drove_y_kind kind);

/* Whether examples are pairs of an index and a value. */
bool drove__storage_is_sparse(const drove_storage *storage);

/* The scaling between the numbers read and those that a model sees: that of the view or, for
 * quantised data, the one applied before quantisation.  Borrowed. */
typedef struct drove_scale {
    drove_scaling scaling;
    const float  *shift, *factor; /* [n_features], or both NULL */
} drove_scale;
drove_scale drove__data_scale(const drove_data *data);

/* The spec that a text stands for, from malloc: the text itself, or, for the path of a file (or
 * "-"), the path with the word of its format before it: table, or libsvm by its content.
 * Errors, with *out NULL: DROVE_E_NOMEM, and where the file cannot be read to look for its format
 * DROVE_E_IO or DROVE_E_FILE. */
drove_status drove__data_expand(const char *text, char **out);
/* The same, taken apart.  Errors: also those of drove__spec_parse. */
drove_status drove__data_parse(const char *text, drove_spec *out);
/* Writes spec with ?label= and ?weights= into into[size], without those that are NULL or "".
 * Errors: DROVE_E_ARG (too long). */
drove_status drove__data_set_columns(const char *spec, const char *label, const char *weights,
                                     char *into, size_t size);
/* The keys of a spec of a table; *opt borrows from it.  Errors: DROVE_E_ARG. */
struct drove_table_options;
drove_status drove__table_read_options(const drove_spec *spec, struct drove_table_options *opt);
/* Whether a spec takes ?label=.  Errors: DROVE_E_NOMEM. */
drove_status drove__data_takes_label(const char *text, bool *takes);

/* Opens spec as further data for a model: read, matched (features, classes by name, target) and
 * scaled as test data of `like`.  Only the descriptive part of `like` is used (it may have no
 * rows).  Rows of classes that `like` does not have are marked.  Without use_labels any labels are
 * accepted, and must not be used.  Errors: as drove_data_open. */
drove_status drove__data_open_like(const char *spec, const drove_data *like, bool use_labels,
                                   drove_data **out);
/* The same of data to train on: a class that `like` does not have is an error (DROVE_E_SHAPE). */
drove_status drove__data_open_more(const char *spec, const drove_data *like, drove_data **out);

/* Data sets made from others; the caller destroys both.  An outline is the descriptive part with
 * the scaling: no rows, and for a quantised set the storage kind it was made from.  A derived set
 * has the rows of the view, in its order, with the same targets, and new features:
 * x_f32[n_rows][n_features], zero, for the caller to fill, unscaled.  Errors: DROVE_E_NOMEM. */
drove_status drove__data_outline(const drove_data *data, drove_data **out);
/* A copy has the rows of the view, in its order, unchanged, in new memory that the calling thread
 * touches first.  Errors: DROVE_E_NOMEM, DROVE_E_UNSUPPORTED (quantised data). */
drove_status drove__data_copy(const drove_data *data, drove_data **out);
drove_status drove__data_derive(const drove_data *data, size_t n_features, drove_data **out);

/* Views that were read by blocks (data/disk/blocks.h) as drove_data_open would have opened them:
 * scaled and cut as the spec says, statistics from `train`.  test: as for drove_data_open; of
 * "split" the held-out data are `held`, taken over if *test_out is set.  Without that, `held`,
 * which may be NULL, is only scaled alike.  Errors: those of drove_data_open. */
drove_status drove__data_finish_open(const char *spec, const char *test, uint64_t seed,
                                     drove_data *train, drove_data *held, drove_data **test_out);

/* As drove_data_open, but the training data are one shard of the rows.  *n_rows_whole: the rows of
 * all shards together with the remainder.  Scaling and classes are those of all rows.  Formats that
 * read shards keep only the shard in memory, except for a split of its rows and for a scaling that
 * needs statistics of all of them.  Then, and from other formats, the shard is a copy, or for
 * quantised data a view of the whole.  like, which may be NULL: of a model of a table; a table is
 * then read with its columns, categories, fill values and classes, as further data are.  Errors:
 * also DROVE_E_ARG (fewer rows than shards). */
drove_status drove__data_open_shard(const char *spec, const char *test, uint64_t seed,
                                    const drove_shard *shard, const drove_storage *like,
                                    drove_data **train_out, drove_data **test_out,
                                    size_t *n_rows_whole);

/* For readers: makes room for `needed` elements in *memory (malloc family), growing by half;
 * *capacity is in elements.  Errors: DROVE_E_NOMEM. */
drove_status drove__reserve(void *memory, size_t *capacity, size_t needed, size_t size_bytes);

/* For readers: checks that each shard can have a row.  Names `where` in errors: DROVE_E_ARG. */
drove_status drove__storage_check_shard(const drove_shard *shard, size_t n_rows, const char *where);
/* For readers: reduces a storage with targets of all n_rows, and examples of the shard, to the
 * targets of the shard; n_rows_whole is then the old n_rows. */
void drove__storage_keep_targets(drove_storage *storage, const drove_shard *shard);

bool drove__floats_are_finite(const float *x, size_t n);

/* Checks for every format, after reading: finite values, labels in range, sizes.  Names `where` in
 * errors. */
drove_status drove__storage_check(const drove_storage *storage, const char *where);
/* The same of all but the rows. */
drove_status drove__storage_check_description(const drove_storage *storage, const char *where);

#endif
