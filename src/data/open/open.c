/* data/open/open.c - opens data sets: reads by format, holds rows out, fits test data to training
 * data; converts them. */
#include "data/data.h"

#include "base/alive.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"
#include "data/common.h"
#include "data/open/formats.h"
#include "data/export.h"
#include "data/open/match.h"
#include "data/parting.h"
#include "data/scale.h"
#include "data/weights.h"
#include "table/schema.h"
#include "table/table.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPLIT_DEFAULT 0.1

typedef struct source { /* a parsed spec */
    drove_spec spec;
    const drove_format_ops *format;
    drove_common_options common;
    drove_scaling scaling;       /* as asked for, or as usual for the format */
    const drove_storage *like;   /* training data are read by its schema; NULL: by their own */
    bool is_test;                /* the test files of the format */
    bool is_more;                /* to train on: each class is one of the model's */
    char size[48], channels[24]; /* of the training data's images, for test data that are resized */
} source;

static bool has_scale(const source *from)
{
    return from->common.scale != DROVE_N_SCALINGS;
}

/* The caller calls drove__spec_fini on *from even after a failure. */
static drove_status parse_source(const char *text, source *from)
{
    memset(from, 0, sizeof *from);
    DROVE_TRY(drove__format_parse(text, &from->spec, &from->format));
    DROVE_TRY(drove__common_read(&from->spec, &from->common));
    from->is_test = from->common.is_test;
    from->scaling = has_scale(from) ? from->common.scale : from->format->default_scaling;
    return DROVE_OK;
}

/* ---- means and deviations that the spec gives ---- */

/* "0.485,0.456,0.406": one number, or one for each channel, into out[channels]; `usual` where the
 * key is absent. */
static drove_status read_numbers(const char *key, const char *text, size_t channels, double least,
                                 double usual, double *out)
{
    size_t n = 0;
    for (size_t c = 0; c < channels; c++) out[c] = usual;
    if (text == NULL) return DROVE_OK;
    for (const char *at = text; n < channels; n++) {
        char number[64];
        const size_t length = strcspn(at, ",");
        snprintf(number, sizeof number, "%.*s", length < sizeof number ? (int)length : 63, at);
        DROVE_TRY(drove__parse_real(key, number, least, 1e6, &out[n]));
        at += length;
        if (*at == '\0') {
            n++;
            break;
        }
        at++;
        if (n + 1 == channels) n = channels + 1; /* more follow */
    }
    for (size_t c = 1; n == 1 && c < channels; c++) out[c] = out[0];
    if (n == 1 || n == channels) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "%s: expected 1 number or %zu, one a channel, found \"%.80s\"",
                       key, channels, text);
}

/* Images, and means and deviations of their numbers after ?scale=unit or none, as torchvision's
 * Normalize has them: they become part of the scaling. */
static drove_status take_means(const source *from, drove_data *data)
{
    enum { CHANNELS_MOST = 64 };
    const drove_spec *spec = &from->spec;
    const drove_storage *s = data->storage;
    double mean[CHANNELS_MOST], std[CHANNELS_MOST];
    const drove_common_options *common = &from->common;
    if (common->mean == NULL && common->std == NULL) return DROVE_OK;
    if (s->channels == 0 || s->channels > CHANNELS_MOST || s->x_kind == DROVE_X_QUANT)
        return drove__fail(DROVE_E_ARG, "%s: ?mean= and ?std= are for images", spec->name);
    if (data->scaling != DROVE_SCALE_UNIT && data->scaling != DROVE_SCALE_NONE)
        return drove__fail(DROVE_E_ARG,
                           "%s: ?mean= and ?std= go with ?scale=unit or none, found %s", spec->name,
                           drove__scaling_name(data->scaling));
    DROVE_TRY(read_numbers("mean", common->mean, s->channels, -1e6, 0, mean));
    DROVE_TRY(read_numbers("std", common->std, s->channels, 1e-6, 1, std));
    DROVE_TRY(drove__scale_apply(data, mean, std));
    return DROVE_OK;
}

/* ---- views ---- */

/* A view of all rows; owns the caller's reference to storage, also on failure. */
static drove_status create_view(drove_storage *storage, drove_data **out)
{
    drove_data *data = calloc(1, sizeof *data);
    if (data == NULL) {
        drove__storage_release(storage);
        return drove__fail_nomem("data set", sizeof *data);
    }
    data->storage = storage;
    data->n_rows = storage->n_rows;
    *out = data;
    return DROVE_OK;
}

/* Which rows of a shuffle by the seed are held out: [first, end).  Of groups: about as many, or
 * those of the fold. */
typedef struct held_rows {
    size_t first, end;
    uint32_t fold;
    uint64_t n_folds; /* 0: a share */
} held_rows;

/* test[end - first] and train[the others] ascend. */
static drove_status draw_rows(size_t n, held_rows held, uint64_t seed, uint32_t *train,
                              uint32_t *test)
{
    const size_t n_test = held.end - held.first;
    uint32_t *all = drove__grow(NULL, n, sizeof *all);
    if (all == NULL) return drove__fail_nomem("split", n * sizeof *all);
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_SPLIT, 0);
    for (size_t i = 0; i < n; i++) all[i] = (uint32_t)i;
    for (size_t i = 0; i < held.end; i++) { /* as many steps of the shuffle as it takes */
        size_t j = i + (size_t)drove__rng_below(&rng, n - i);
        uint32_t drawn = all[j];
        all[j] = all[i];
        all[i] = drawn;
    }
    memcpy(test, all + held.first, n_test * sizeof *all);
    memcpy(train, all, held.first * sizeof *all);
    memcpy(train + held.first, all + held.end, (n - held.end) * sizeof *all);
    qsort(test, n_test, sizeof *test, drove__compare_u32);
    qsort(train, n - n_test, sizeof *train, drove__compare_u32);
    free(all);
    return DROVE_OK;
}

/* The same by storage->parting: the last rows, or whole groups. */
static drove_status part_rows(const drove_data *all, held_rows held, uint64_t seed, uint32_t *train,
                              uint32_t *test, size_t *n_test)
{
    const size_t n = all->n_rows;
    bool *is_held = calloc(n, sizeof *is_held);
    uint32_t *fold = held.n_folds > 0 ? drove__grow(NULL, n, sizeof *fold) : NULL;
    drove_status status = DROVE_OK;
    if (is_held == NULL || (held.n_folds > 0 && fold == NULL)) {
        status = drove__fail_nomem("split", n * sizeof *fold);
    } else if (held.n_folds > 0) {
        status = drove__data_folds(all, (size_t)held.n_folds, seed, fold);
        for (size_t i = 0; i < n && status == DROVE_OK; i++) is_held[i] = fold[i] == held.fold;
    } else {
        status = drove__parting_hold(all, held.end - held.first, seed, is_held, n_test);
    }
    *n_test = 0;
    for (size_t i = 0; i < n && status == DROVE_OK; i++) {
        if (is_held[i]) test[(*n_test)++] = (uint32_t)i;
        else train[i - *n_test] = (uint32_t)i;
    }
    free(is_held);
    free(fold);
    return status;
}

/* ?fold=I/K: the I-th of K parts that differ by one row at most; ?split=FRACTION, or SPLIT_DEFAULT:
 * so much of it, but neither none nor all. */
static drove_status find_held(const source *from, size_t n, held_rows *out)
{
    const drove_common_options *common = &from->common;
    const double fraction = common->split.share > 0 ? common->split.share : SPLIT_DEFAULT;
    if (n < 2) return drove__fail(DROVE_E_SHAPE, "split: expected at least 2 rows, found %zu", n);
    if (common->fold != NULL) {
        char part[24];
        uint64_t i, k;
        if (common->split.share > 0)
            return drove__fail(DROVE_E_ARG, "%s: expected split or fold, found both",
                               from->spec.name);
        if (common->split.by == DROVE_SPLIT_LAST)
            return drove__fail(
                DROVE_E_ARG,
                "%s: expected split=last or fold, found both: all folds but one come "
                "before rows that are trained on",
                from->spec.name);
        const size_t n_part = strcspn(common->fold, "/");
        if (common->fold[n_part] != '/' || n_part >= sizeof part)
            return drove__fail(DROVE_E_ARG, "fold: expected I/K, such as 1/5, found \"%.80s\"",
                               common->fold);
        memcpy(part, common->fold, n_part);
        part[n_part] = '\0';
        DROVE_TRY(drove__parse_u64("fold: parts", common->fold + n_part + 1, 2, UINT32_MAX, &k));
        DROVE_TRY(drove__parse_u64("fold: number", part, 1, k, &i));
        if (k > n)
            return drove__fail(DROVE_E_SHAPE, "fold: expected at least %llu rows, found %zu",
                               (unsigned long long)k, n);
        *out = (held_rows){.first = (size_t)(n * (i - 1) / k),
                           .end = (size_t)(n * i / k),
                           .fold = (uint32_t)(i - 1),
                           .n_folds = k};
        return DROVE_OK;
    }
    *out = (held_rows){.end = (size_t)llround(fraction * (double)n)};
    if (out->end < 1) out->end = 1;
    if (out->end > n - 1) out->end = n - 1;
    return DROVE_OK;
}

/* Splits train, a view of all rows, into two views of its storage. */
static drove_status split_view(const source *from, drove_data *train, uint64_t seed,
                               drove_data **test_out)
{
    size_t n = train->n_rows, n_test;
    held_rows held;
    drove_data *test = NULL;
    DROVE_TRY(find_held(from, n, &held));
    n_test = held.end - held.first;
    /* Relaxed: this thread holds a reference already, so the count cannot reach 0 meanwhile. */
    atomic_fetch_add_explicit(&train->storage->n_views, 1, memory_order_relaxed);
    DROVE_TRY(create_view(train->storage, &test));
    const bool is_parted = drove__data_is_parted(train); /* groups may be of more or fewer rows */
    uint32_t *train_row = drove__grow(NULL, is_parted ? n : n - n_test, sizeof *train_row);
    test->row = drove__grow(NULL, is_parted ? n : n_test, sizeof *test->row);
    drove_status status = DROVE_OK;
    if (train_row == NULL || test->row == NULL)
        status = drove__fail_nomem("split", n * sizeof *train_row);
    else if (is_parted) status = part_rows(train, held, seed, train_row, test->row, &n_test);
    else status = draw_rows(n, held, seed, train_row, test->row);
    train->row = train_row;
    if (status != DROVE_OK) {
        drove_data_destroy(test);
        return status;
    }
    train->n_rows = n - n_test;
    test->n_rows = n_test;
    test->augment = train->augment;
    *test_out = test;
    return DROVE_OK;
}

/* ---- opening ---- */

/* Reads the augmentation that a spec asks for. */
static drove_status read_augment(const source *from, const drove_storage *s, uint64_t seed,
                                 drove_augment *out)
{
    if (drove__augment_is_asked(&from->common.augment) && s->x_kind != DROVE_X_U8 &&
        s->x_kind != DROVE_X_F32) {
        return drove__fail(DROVE_E_ARG, "%s?%s: expected images of bytes or floats, found %s data",
                           from->spec.name, drove__augment_asked(&from->common.augment),
                           drove__storage_name(s));
    }
    DROVE_TRY(drove__augment_make(&from->common.augment, from->spec.name, s->channels, s->height,
                                  s->width, seed, out));
    if (!drove__augment_colours(out) || s->x_kind == DROVE_X_U8) return DROVE_OK;
    return drove__fail(
        DROVE_E_ARG,
        "%s: expected images of bytes for brightness, contrast and saturation, found "
        "%s data",
        from->spec.name, drove__storage_name(s));
}

static void add_key(source *from, const char *key, const char *value)
{
    drove__spec_add(&from->spec, from->format->keys, key, value);
}

/* Reads test data with the properties found in the training data. */
static drove_status read_test(source *from, const drove_data *train, bool use_labels,
                              drove_storage **out)
{
    const drove_storage *s = train->storage;
    drove_scaling scaling = drove__data_scale(train).scaling;
    /* unit or robust of sparse ones is none: drove__modelfile_save */
    const bool is_unit_of_ones =
        (from->scaling == DROVE_SCALE_UNIT || from->scaling == DROVE_SCALE_ROBUST) &&
        scaling == DROVE_SCALE_NONE && drove__storage_is_sparse(s);
    if (has_scale(from) && from->scaling != DROVE_SCALE_AUTO && from->scaling != scaling &&
        !is_unit_of_ones) {
        return drove__fail(DROVE_E_ARG,
                           "%s?scale: test data take the scaling of the training data (%s)",
                           from->spec.name, drove__scaling_name(scaling));
    }
    if (use_labels) add_key(from, "target", drove__target_name(s->y_kind));
    else if (from->format->reads_unlabelled) add_key(from, "label", "none");
    if (s->index_base >= 0) add_key(from, "base", s->index_base == 0 ? "0" : "1");
    if (from->format->resizes && s->channels > 0) {
        /* Images of other sizes become as large as those of the training data. */
        snprintf(from->size, sizeof from->size, "%zux%zu", s->height, s->width);
        snprintf(from->channels, sizeof from->channels, "%zu", s->channels);
        add_key(from, "size", from->size);
        add_key(from, "channels", from->channels);
    }
    if (s->schema != NULL && from->format->read_like != NULL)
        return from->format->read_like(&from->spec, s, use_labels, out);
    if (s->schema != NULL && from->format->holds_all) {
        /* Rows made from a table, which must be encoded as the training data are. */
        DROVE_TRY(from->format->read(&from->spec, from->is_test, NULL, out));
        if ((*out)->schema != NULL && drove__schema_equal(s->schema, (*out)->schema))
            return DROVE_OK;
        drove__storage_release(*out);
        *out = NULL;
        return drove__fail(
            DROVE_E_SHAPE,
            "%s: expected rows of a table with the columns, categories and fill values "
            "of the training data, found others (the table itself is matched by the "
            "names of its columns)",
            from->spec.arg[0]);
    }
    if (s->schema != NULL)
        return drove__fail(DROVE_E_SHAPE,
                           "%s: expected a table, like the training data, so that columns can be "
                           "matched by name",
                           from->spec.name);
    if (from->format->read_like != NULL)
        return drove__fail(
            DROVE_E_SHAPE,
            "%s: expected data in the format of the training data, whose columns have "
            "no names (csv:FILE for a table of numbers)",
            from->spec.name);
    return from->format->read(&from->spec, from->is_test, NULL, out);
}

static drove_status open_test(source *from, const drove_data *train, bool use_labels,
                              drove_data **out)
{
    drove_storage *storage = NULL;
    drove_data *test = NULL;
    DROVE_TRY(read_test(from, train, use_labels, &storage));
    drove_status status = from->is_more ? drove__match(train->storage, storage, use_labels)
                                        : drove__match_test(train->storage, storage, use_labels);
    if (status != DROVE_OK) {
        const drove_spec *spec = &from->spec;
        drove__storage_release(storage);
        return drove__fail_in(status, "%s", spec->n_args > 0 ? spec->arg[0] : spec->name);
    }
    DROVE_TRY(create_view(storage, &test));
    /* The rows of classes that the training data have. */
    if (storage->unseen.is_row != NULL) {
        test->row = drove__grow(NULL, storage->n_rows, sizeof *test->row);
        if (test->row == NULL) {
            status = drove__fail_nomem("rows", storage->n_rows * sizeof *test->row);
            goto end;
        }
        test->n_rows = 0;
        for (size_t row = 0; row < storage->n_rows; row++)
            if (!storage->unseen.is_row[row]) test->row[test->n_rows++] = (uint32_t)row;
    }
    /* Test data get the augmentation of the training data; their spec may repeat it. */
    drove_augment own;
    test->augment = train->augment;
    if (!drove__augment_is_asked(&from->common.augment)) goto end;
    if ((status = read_augment(from, test->storage, train->augment.seed, &own)) != DROVE_OK)
        goto end;
    if (!drove__augment_same_parts(&own, &train->augment))
        status = drove__fail(
            DROVE_E_ARG,
            "%s?%s: images of test data are cut and changed as those of the training data; "
            "expected none, or the same",
            from->spec.name, drove__augment_asked(&from->common.augment));
end:
    if (status != DROVE_OK) {
        drove_data_destroy(test);
        return status;
    }
    *out = test;
    return DROVE_OK;
}

/* Whether `test` names rows of the training file itself. */
static bool splits(const source *from, const char *test)
{
    if (test == NULL || strcmp(test, "split") != 0) return false;
    if (from->common.split_text != NULL || from->common.fold != NULL || from->is_test) return true;
    const drove_format_ops *f = from->format;
    return !f->has_test || (f->finds_test != NULL && !f->finds_test(&from->spec));
}

/* Opens the held-out part that `test` names; a split removes its rows from train. */
static drove_status hold_out(source *from, const char *test, uint64_t seed, drove_data *train,
                             drove_data **out)
{
    if (test == NULL || *test == '\0') return DROVE_OK;
    if (strcmp(test, "split") != 0) {
        source other;
        drove_status status = parse_source(test, &other);
        if (status == DROVE_OK) status = open_test(&other, train, true, out);
        drove__spec_fini(&other.spec);
        return status == DROVE_OK ? status : drove__fail_in(status, "test data");
    }
    if (splits(from, test)) return split_view(from, train, seed, out);
    from->is_test = true;
    return open_test(from, train, true, out);
}

static drove_status check_parting(const source *from, const drove_storage *s)
{
    if (from->common.split.by != DROVE_SPLIT_GROUP || s->parting.group != NULL) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "%s?split=group: expected a table, which has a column of groups, found data "
                       "of another format",
                       from->spec.name);
}

/* Reads training data, only the rows of the shard if possible: then (*out)->n_rows_whole says
 * so. */
static drove_status read_train(source *from, const char *test, const drove_shard *shard,
                               drove_storage **out)
{
    const drove_format_ops *f = from->format;
    if (from->like != NULL && f->read_like != NULL) {
        /* Rows for a model of a table: with its columns, categories and classes. */
        drove_storage *storage;
        add_key(from, "target", drove__target_name(from->like->y_kind));
        DROVE_TRY(from->format->read_like(&from->spec, from->like, true, &storage));
        drove_status status = drove__match(from->like, storage, true);
        /* Keys that ask for features which the model may not have. */
        if (status != DROVE_OK) goto end;
        drove_table_options asked;
        if ((status = drove__table_read_options(&from->spec, &asked)) != DROVE_OK) goto end;
        const struct {
            const char *key;
            bool is_asked;
        } keys[] = {{"onehot", asked.onehot != DROVE_ONEHOT_DEFAULT},
                    {"hash", asked.hash > 0},
                    {"bins", asked.bins > 0},
                    {"also", asked.also != NULL}};
        for (size_t i = 0; i < DROVE_COUNT(keys); i++)
            if (keys[i].is_asked)
                drove__storage_note(storage,
                                    "?%s is left out: columns are encoded as for the model",
                                    keys[i].key);
    end:
        if (status == DROVE_OK) *out = storage;
        else drove__storage_release(storage);
        return status == DROVE_OK ? status : drove__fail_in(status, "%s", from->spec.arg[0]);
    }
    bool may_fit = from->scaling != DROVE_SCALE_NONE && from->scaling != DROVE_SCALE_UNIT;
    if (drove__shard_is_part(shard) && f->reads_shards && !splits(from, test) && !may_fit) {
        DROVE_TRY(f->read(&from->spec, from->is_test, shard, out));
        if (!drove__scaling_is_fitted(from->scaling, *out)) return DROVE_OK;
        drove__storage_release(*out);
        *out = NULL;
    }
    return f->read(&from->spec, from->is_test, NULL, out);
}

/* Replaces a view by one whose storage has only the view's rows. */
static drove_status make_own(drove_data **data)
{
    drove_data *copy;
    DROVE_TRY(drove__data_copy(*data, &copy));
    drove_data_destroy(*data);
    *data = copy;
    return DROVE_OK;
}

/* Reduces training data that were read whole to the rows of the shard. */
static drove_status keep_shard(const source *from, const drove_shard *shard, drove_data **train,
                               drove_data **held_out)
{
    drove_data *data = *train;
    size_t n = drove__shard_size(shard, data->n_rows);
    bool is_split = *held_out != NULL && (*held_out)->storage == data->storage;
    const char *where = from->spec.n_args > 0 ? from->spec.arg[0] : from->spec.name;
    DROVE_TRY(drove__storage_check_shard(shard, data->n_rows, where));
    uint32_t *row = drove__grow(NULL, n, sizeof *row);
    if (row == NULL) return drove__fail_nomem("rows of a shard", n * sizeof *row);
    for (size_t i = 0; i < n; i++)
        row[i] = (uint32_t)drove__data_row(data, (size_t)drove__shard_row(shard, i));
    free(data->row);
    data->row = row;
    data->n_rows = n;
    if (data->storage->x_kind == DROVE_X_QUANT) return DROVE_OK;
    DROVE_TRY(make_own(train));
    if (!is_split) return DROVE_OK;
    DROVE_TRY(make_own(held_out));
    (*held_out)->storage->notes[0] = '\0'; /* the training part has them */
    return DROVE_OK;
}

/* Records the origin of a view. */
static drove_status set_origin(drove_data *data, const char *spec, drove_rows_of part,
                               uint64_t seed)
{
    data->spec = strdup(spec);
    data->part = part;
    data->seed = seed;
    return data->spec != NULL ? DROVE_OK : drove__fail_nomem("data set", strlen(spec));
}

drove_status drove_data_open(const char *spec, const char *test, uint64_t seed,
                             drove_data **train_out, drove_data **test_out)
{
    DROVE_GIVEN(spec);
    DROVE_GIVEN(train_out);
    DROVE_IN_C_LOCALE;
    size_t n_rows;
    return drove__data_open_shard(spec, test, seed, NULL, NULL, train_out, test_out, &n_rows);
}

drove_status drove__data_open_shard(const char *spec, const char *test, uint64_t seed,
                                    const drove_shard *shard, const drove_storage *like,
                                    drove_data **train_out, drove_data **test_out,
                                    size_t *n_rows_whole)
{
    drove_data *train = NULL, *held_out = NULL;
    source from;
    *train_out = NULL;
    if (test_out != NULL) *test_out = NULL;
    if (test_out == NULL) test = NULL;
    drove_status status = parse_source(spec, &from);
    from.like = like;
    if (status != DROVE_OK) goto end;
    drove_storage *storage = NULL;
    if ((status = read_train(&from, test, shard, &storage)) != DROVE_OK) goto end;
    if ((status = create_view(storage, &train)) != DROVE_OK) goto end;
    if ((status = check_parting(&from, storage)) != DROVE_OK) goto end;
    storage->parting.is_timed = from.common.split.by == DROVE_SPLIT_LAST;
    train->scaling = from.scaling;
    /* bytes mean the same whatever format they come in */
    if (!has_scale(&from) && storage->x_kind == DROVE_X_U8) train->scaling = DROVE_SCALE_UNIT;
    if ((status = read_augment(&from, storage, seed, &train->augment)) != DROVE_OK) goto end;
    if ((status = hold_out(&from, test, seed, train, &held_out)) != DROVE_OK) goto end;
    if ((status = drove__weights_normalise(train)) != DROVE_OK) goto end;
    if ((status = drove__scale_fit(train)) != DROVE_OK) goto end;
    if ((status = take_means(&from, train)) != DROVE_OK) goto end;
    if (held_out != NULL && (status = drove__scale_copy(train, held_out)) != DROVE_OK) goto end;
    *n_rows_whole = storage->n_rows_whole;
    if (*n_rows_whole > 0) goto end;
    *n_rows_whole = train->n_rows;
    status = drove__shard_is_part(shard) ? keep_shard(&from, shard, &train, &held_out) : DROVE_OK;
end:
    if (status == DROVE_OK && !drove__shard_is_part(shard)) {
        const bool is_split = test != NULL && strcmp(test, "split") == 0;
        status = set_origin(train, spec, is_split ? DROVE_ROWS_TRAIN : DROVE_ROWS_ALL, seed);
        if (status == DROVE_OK && held_out != NULL)
            status = set_origin(held_out, is_split ? spec : test,
                                is_split ? DROVE_ROWS_TEST : DROVE_ROWS_ALL, seed);
    }
    drove__spec_fini(&from.spec);
    if (status != DROVE_OK) {
        drove_data_destroy(train);
        drove_data_destroy(held_out);
        return status;
    }
    *train_out = train;
    if (test_out != NULL) *test_out = held_out;
    return DROVE_OK;
}

drove_status drove__data_finish_open(const char *spec, const char *test, uint64_t seed,
                                     drove_data *train, drove_data *held, drove_data **test_out)
{
    source from;
    *test_out = NULL;
    drove_status status = parse_source(spec, &from);
    if (status != DROVE_OK) goto end;
    const bool is_split = test != NULL && strcmp(test, "split") == 0;
    train->scaling = from.scaling;
    if (!has_scale(&from) && train->storage->x_kind == DROVE_X_U8)
        train->scaling = DROVE_SCALE_UNIT;
    if ((status = read_augment(&from, train->storage, seed, &train->augment)) != DROVE_OK) goto end;
    if (!is_split && (status = hold_out(&from, test, seed, train, test_out)) != DROVE_OK) goto end;
    if ((status = drove__weights_normalise(train)) != DROVE_OK) goto end;
    if ((status = drove__scale_fit(train)) != DROVE_OK) goto end;
    if ((status = take_means(&from, train)) != DROVE_OK) goto end;
    if (*test_out != NULL && (status = drove__scale_copy(train, *test_out)) != DROVE_OK) goto end;
    if (held != NULL) {
        held->augment = train->augment;
        if ((status = drove__scale_copy(train, held)) != DROVE_OK) goto end;
    }
    if (is_split) *test_out = held;
end:
    drove__spec_fini(&from.spec);
    if (status == DROVE_OK || *test_out == held) return status;
    drove_data_destroy(*test_out);
    *test_out = NULL;
    return status;
}

static drove_status open_like(const char *spec, const drove_data *like, bool use_labels,
                              bool is_more, drove_data **out)
{
    source from;
    drove_data *data = NULL;
    *out = NULL;
    drove_status status = parse_source(spec, &from);
    from.is_more = is_more;
    if (status == DROVE_OK) status = open_test(&from, like, use_labels, &data);
    if (status == DROVE_OK) status = drove__scale_copy(like, data);
    if (status == DROVE_OK) status = set_origin(data, spec, DROVE_ROWS_ALL, 0);
    drove__spec_fini(&from.spec);
    if (status != DROVE_OK) {
        drove_data_destroy(data);
        return status;
    }
    *out = data;
    return DROVE_OK;
}

drove_status drove__data_open_like(const char *spec, const drove_data *like, bool use_labels,
                                   drove_data **out)
{
    return open_like(spec, like, use_labels, false, out);
}

drove_status drove__data_open_more(const char *spec, const drove_data *like, drove_data **out)
{
    return open_like(spec, like, true, true, out);
}

drove_status drove_data_convert(const drove_data *data, const char *to)
{
    DROVE_ALIVE(data, "data");
    DROVE_GIVEN(data);
    DROVE_GIVEN(to);
    DROVE_IN_C_LOCALE;
    source target;
    drove_status status = parse_source(to, &target);
    if (status != DROVE_OK) goto end;
    const drove_format_ops *f = target.format;
    if (f->write == NULL)
        status = drove__fail(DROVE_E_UNSUPPORTED,
                             "%s: data cannot be written in this format; expected libsvm, csv, "
                             "npy, idx, quant or rows",
                             f->name);
    else if (data->storage->weight != NULL && !f->holds_all)
        status = drove__fail(DROVE_E_UNSUPPORTED, "no format holds weights: expected data to be "
                                                  "converted without ?weights=");
    else if (drove__storage_n_values(data->storage) > 1 && !f->holds_all)
        status = drove__fail(DROVE_E_UNSUPPORTED,
                             "no format but a table holds several values of an example");
    else if (drove__augment_is_asked(&target.common.augment) ||
             drove__augment_is_on(&data->augment))
        status = drove__fail(
            DROVE_E_ARG,
            "crop, mirror and other augmentation apply when a model loads images; expected data to "
            "be converted, and their new file, without them");
    else if (!f->holds_all && strcmp(f->name, "csv") != 0) /* those hold doubles */
        status = drove__export_check_origin(data, f->name);
    if (status == DROVE_OK) status = f->write(data, &target.spec);
end:
    drove__spec_fini(&target.spec);
    return status;
}
