/* data/open/delivered.c - batches that the program delivers, asked for one by one; and written to a
 * file of rows. */
#include "data/open/delivered.h"

#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/spec.h"
#include "data/arrays.h"
#include "data/read/class_order.h"
#include "data/open/formats.h"
#include "data/origin.h"
#include "data/disk/rows_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_SIZE = 512 };

drove_status drove__delivered_next(const drove_batch_source *source, uint64_t number,
                                   drove_arrays *rows, bool *is_over, const uint32_t **class_number)
{
    char why[WHY_SIZE] = "";
    drove_batch_request request = {.rows = rows, .why = why, .why_size = sizeof why};
    *is_over = false;
    drove__arrays_clear(rows); /* what was borrowed for the last batch may be gone */
    const drove_status status = source->next(source->context, &request);
    why[sizeof why - 1] = '\0';
    if (status != DROVE_OK && why[0] != '\0')
        return drove__fail(status, "batch %llu: %s", (unsigned long long)number, why);
    if (status != DROVE_OK) return drove__fail_in(status, "batch %llu", (unsigned long long)number);
    *is_over = request.is_over != 0;
    *class_number = request.class_number;
    if (*is_over || drove__arrays_have_targets(rows)) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "batch %llu: expected rows with targets, found none",
                       (unsigned long long)number);
}

/* ---- into a file of rows ---- */

typedef struct writing {
    drove_rows_writer *writer;
    drove_storage *shape; /* what describes the rows so far; NULL: there are none */
    bool has_weights;
    uint64_t n_rows;
    const uint32_t *class_number; /* the program's, at the end */
} writing;

static drove_status fail_kind(uint64_t number, const char *expected, const char *found)
{
    return drove__fail(DROVE_E_SHAPE, "batch %llu: expected %s as in the batches before, found %s",
                       (unsigned long long)number, expected, found);
}

static drove_status fail_count(uint64_t number, const char *what, size_t expected, size_t found)
{
    return drove__fail(DROVE_E_SHAPE,
                       "batch %llu: expected %zu %s as in the batches before, found %zu",
                       (unsigned long long)number, expected, what, found);
}

/* The file has one layout for all of its rows. */
static drove_status check(const writing *w, const drove_storage *s, uint64_t number)
{
    const drove_storage *all = w->shape;
    if (s->x_kind != all->x_kind)
        return fail_kind(number, drove__storage_name(all), drove__storage_name(s));
    if (s->n_features != all->n_features)
        return fail_count(number, "features", all->n_features, s->n_features);
    if (s->channels != all->channels || s->height != all->height || s->width != all->width)
        return fail_kind(number, "images of the same size", "others");
    if (s->y_kind != all->y_kind)
        return fail_kind(number, drove__target_name(all->y_kind), drove__target_name(s->y_kind));
    if (s->y_kind == DROVE_Y_VALUE && drove__storage_n_values(s) != drove__storage_n_values(all))
        return fail_count(number, "values", drove__storage_n_values(all),
                          drove__storage_n_values(s));
    if (s->y_kind == DROVE_Y_LABELS && s->n_classes != all->n_classes)
        return fail_count(number, "labels", all->n_classes, s->n_classes);
    /* Classes and labels are written by number, so each number has to mean the same in all
     * batches. */
    const size_t n_all = drove__storage_n_names(all), n_s = drove__storage_n_names(s);
    const bool has_names = all->class_name != NULL;
    if ((s->class_name != NULL) != has_names)
        return fail_kind(number, has_names ? "names of the classes" : "classes without names",
                         has_names ? "none" : "some");
    for (size_t i = 0; has_names && i < n_all && i < n_s; i++) {
        if (strcmp(s->class_name[i], all->class_name[i]) == 0) continue;
        return drove__fail(DROVE_E_SHAPE,
                           "batch %llu: class %zu: expected \"%s\" as in the batches before, "
                           "found \"%s\"",
                           (unsigned long long)number, i, all->class_name[i], s->class_name[i]);
    }
    if ((s->weight != NULL) != w->has_weights)
        return fail_kind(number, w->has_weights ? "weights" : "no weights",
                         w->has_weights ? "none" : "some");
    return DROVE_OK;
}

static drove_status append(writing *w, drove_storage *s, uint64_t number)
{
    const drove_data view = {.storage = s, .n_rows = s->n_rows};
    if (w->shape != NULL) DROVE_TRY(check(w, s, number));
    if (w->shape != NULL) DROVE_TRY(drove__origin_match(w->shape, s, true));
    else w->has_weights = s->weight != NULL;
    /* The most classes, and their names, count. */
    if (w->shape == NULL || s->n_classes > w->shape->n_classes) {
        drove_storage *shape;
        DROVE_TRY(drove__storage_create(&shape));
        const drove_status status = drove__storage_describe(s, shape);
        if (status != DROVE_OK) {
            drove__storage_release(shape);
            return status;
        }
        drove__storage_release(w->shape);
        w->shape = shape;
    }
    DROVE_TRY(drove__rows_append(w->writer, &view, NULL, NULL));
    w->n_rows += s->n_rows;
    return DROVE_OK;
}

static drove_status write_all(writing *w, const drove_batch_source *source, drove_arrays *rows)
{
    for (uint64_t number = 1;; number++) {
        drove_storage *s;
        bool is_over;
        DROVE_TRY(drove__delivered_next(source, number, rows, &is_over, &w->class_number));
        if (is_over) return DROVE_OK;
        drove_spec spec;
        const drove_format_ops *format;
        DROVE_TRY(drove__format_parse(drove_arrays_name(rows), &spec, &format));
        drove_status status = format->read(&spec, 0, NULL, &s);
        drove__spec_fini(&spec);
        DROVE_TRY(status);
        status = append(w, s, number);
        drove__storage_release(s);
        DROVE_TRY(status);
    }
}

static drove_status commit(writing *w, const uint32_t *map)
{
    const drove_rows_end end = {.shape = w->shape,
                                .map = map,
                                .n_map = map != NULL ? w->shape->n_classes : 0};
    const drove_status status = drove__rows_commit(w->writer, &end);
    w->writer = NULL;
    return status;
}

static drove_status commit_as_given(writing *w)
{
    drove_storage *s = w->shape;
    const size_t n = s->n_classes;
    char **name = calloc(n, sizeof *name);
    if (name == NULL) return drove__fail_nomem("classes", n * sizeof *name);
    /* The names in the order of the program's numbers, each of which it uses once. */
    drove_status status = DROVE_OK;
    char *seen = calloc(n, 1);
    if (seen == NULL) {
        status = drove__fail_nomem("classes", n);
        goto end;
    }
    for (size_t i = 0; i < n; i++) {
        if (w->class_number[i] >= n || seen[w->class_number[i]]) {
            free(seen);
            status =
                drove__fail(DROVE_E_ARG,
                            "class_number: expected each of 0 to %zu once, found %lu for class "
                            "%zu",
                            n - 1, (unsigned long)w->class_number[i], i);
            goto end;
        }
        seen[w->class_number[i]] = 1;
        if (s->class_name != NULL) name[w->class_number[i]] = s->class_name[i];
    }
    free(seen);
end:
    if (status == DROVE_OK && s->class_name != NULL) memcpy(s->class_name, name, n * sizeof *name);
    free(name);
    return status == DROVE_OK ? commit(w, w->class_number) : status;
}

/* Names in the order of those of any file. */
static drove_status commit_by_name(writing *w)
{
    drove_storage *s = w->shape;
    const size_t n = s->n_classes;
    char **name = s->class_name;
    uint32_t *map = drove__grow(NULL, n, sizeof *map);
    s->class_name = NULL; /* settled anew, out of these */
    drove_status status = map != NULL ? drove__classes_settle(s, (const char *const *)name, n, map)
                                      : drove__fail_nomem("classes", n * sizeof *map);
    if (status == DROVE_OK) status = commit(w, map);
    drove__texts_free(name, n);
    free(map);
    return status;
}

drove_status drove_batches_write(const drove_batch_source *source, const char *path,
                                 uint64_t *n_rows)
{
    DROVE_GIVEN(source);
    DROVE_GIVEN_AS(source->next, "source->next");
    DROVE_GIVEN(path);
    DROVE_IN_C_LOCALE;
    writing w = {0};
    drove_status status = DROVE_OK;
    drove_arrays *rows;
    if ((status = drove_arrays_create(&rows)) != DROVE_OK) goto end;
    status = drove__rows_create(path, 0, &w.writer);
    if (status == DROVE_OK) status = write_all(&w, source, rows);
    drove_arrays_destroy(rows);
    if (status != DROVE_OK) goto end;
    if (w.shape == NULL) {
        status =
            drove__fail(DROVE_E_DATA, "%s: expected at least one batch of rows, found none", path);
        goto end;
    }
    const drove_storage *s = w.shape;
    if (s->y_kind == DROVE_Y_CLASS && w.class_number != NULL) {
        status = commit_as_given(&w);
        goto end;
    }
    if (s->y_kind == DROVE_Y_CLASS && s->class_name != NULL) {
        status = commit_by_name(&w);
        goto end;
    }
    status = commit(&w, NULL);
end:
    drove__rows_abort(w.writer);
    drove__storage_release(w.shape);
    if (n_rows != NULL && status == DROVE_OK) *n_rows = w.n_rows;
    return status;
}
