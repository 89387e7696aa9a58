/* data/open/match.c - matches test data to the training data's features and classes. */
#include "data/open/match.h"

#include "data/read/labels.h"
#include "data/origin.h"
#include "data/quant.h"
#include "table/cell.h"

#include "base/mem.h"
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

#define NO_CLASS UINT32_MAX

/* ---- features ---- */

static drove_status match_features(const drove_storage *train, drove_storage *test)
{
    bool is_sparse = drove__storage_is_sparse(test);
    bool wants_sparse = drove__storage_is_sparse(train);
    if (is_sparse != wants_sparse) {
        return drove__fail(DROVE_E_SHAPE,
                           "expected %s data like the training data, found %s (stored as %s)",
                           wants_sparse ? "sparse" : "dense", is_sparse ? "sparse" : "dense",
                           drove__storage_name(test));
    }
    bool same_image = train->channels == test->channels && train->height == test->height &&
                      train->width == test->width;
    if (!same_image && train->channels != 0 && test->channels != 0) {
        return drove__fail(DROVE_E_SHAPE,
                           "expected images of %zu x %zu x %zu (channels, height, width) as in the "
                           "training data, found %zu x %zu x %zu",
                           train->channels, train->height, train->width, test->channels,
                           test->height, test->width);
    }
    if (is_sparse && test->n_features < train->n_features && test->factor == NULL) {
        test->n_features = train->n_features;
        if (test->quant != NULL) test->quant->n_features = train->n_features; /* sole reference */
    }
    if (test->n_features == train->n_features) return DROVE_OK;
    return drove__fail(DROVE_E_SHAPE, "expected %zu features as in the training data, found %zu%s",
                       train->n_features, test->n_features,
                       !is_sparse || test->n_features < train->n_features
                           ? ""
                           : " (?features=N in the training data's spec allows more)");
}

/* ---- classes ---- */

typedef struct class_name {
    const char *text;
    double number; /* of the text */
    bool is_number;
    uint32_t class;
} class_name;

/* Numbers before words, numbers by value, words by bytes. */
static int compare_names(const void *a, const void *b)
{
    const class_name *x = a, *y = b;
    if (x->is_number != y->is_number) return x->is_number ? -1 : 1;
    if (!x->is_number) return strcmp(x->text, y->text);
    return x->number < y->number ? -1 : x->number > y->number;
}

static class_name make_name(const drove_storage *s, size_t class,
                            char number[DROVE_CLASS_TEXT_SIZE])
{
    class_name out = {.text = drove__class_text(s, class, number), .class = (uint32_t) class};
    out.is_number = drove__label_number(out.text, strlen(out.text), &out.number);
    return out;
}

/* Class of a truth value, such as True where the training data have TRUE and FALSE, or NO_CLASS. */
static uint32_t find_truth(const drove_storage *train, const char *text)
{
    float wanted, found;
    uint32_t class = NO_CLASS;
    if (train->n_classes != 2 || train->class_name == NULL ||
        !drove__cell_boolean(text, strlen(text), &wanted))
        return NO_CLASS;
    for (uint32_t i = 0; i < 2; i++) {
        const char *name = train->class_name[i];
        if (!drove__cell_boolean(name, strlen(name), &found)) return NO_CLASS;
        if (found == wanted) class = i;
    }
    return class;
}

/* mapping[c] = the training data's number of test's class c, or NO_CLASS. */
static drove_status map_classes(const drove_storage *train, const drove_storage *test,
                                uint32_t *mapping)
{
    char number[DROVE_CLASS_TEXT_SIZE];
    class_name *names = drove__grow(NULL, train->n_classes, sizeof *names);
    if (names == NULL) return drove__fail_nomem("classes", train->n_classes * sizeof *names);
    /* The names of train's classes, sorted; without texts that are plain class numbers. */
    for (size_t i = 0; i < train->n_classes; i++) {
        names[i] = make_name(train, i, number);
        if (names[i].text == number) names[i].text = "";
    }
    qsort(names, train->n_classes, sizeof *names, compare_names);
    for (size_t c = 0; c < test->n_classes; c++) {
        class_name wanted = make_name(test, c, number);
        const class_name *found =
            bsearch(&wanted, names, train->n_classes, sizeof *names, compare_names);
        mapping[c] = found != NULL ? found->class : find_truth(train, wanted.text);
    }
    free(names);
    return DROVE_OK;
}

static drove_status fail_class(const drove_storage *train, const drove_storage *test, size_t row,
                               size_t class)
{
    char number[DROVE_CLASS_TEXT_SIZE], first[DROVE_CLASS_TEXT_SIZE], last[DROVE_CLASS_TEXT_SIZE];
    return drove__fail(
        DROVE_E_SHAPE,
        "row %zu: expected one of the training data's %zu %s (%.60s .. %.60s), found "
        "\"%.60s\"",
        row + 1, train->n_classes, train->y_kind == DROVE_Y_LABELS ? "labels" : "classes",
        drove__class_text(train, 0, first), drove__class_text(train, train->n_classes - 1, last),
        drove__class_text(test, class, number));
}

/* Classes and labels become those of the training data. */
static drove_status renumber(const drove_storage *train, drove_storage *test,
                             const uint32_t *mapping)
{
    for (size_t row = 0; row < test->n_rows && test->y_kind == DROVE_Y_CLASS; row++) {
        size_t class = (size_t)test->y_class[row];
        const bool is_new = mapping[class] == NO_CLASS;
        if (is_new && test->unseen.is_row == NULL) return fail_class(train, test, row, class);
        test->y_class[row] = is_new ? 0 : (int32_t)mapping[class];
    }
    for (size_t row = 0; row < test->n_rows && test->y_kind == DROVE_Y_LABELS; row++) {
        size_t first = test->label_start[row], n = test->label_start[row + 1] - first;
        for (size_t k = first; k < first + n; k++) {
            if (mapping[test->label[k]] == NO_CLASS)
                return fail_class(train, test, row, test->label[k]);
            test->label[k] = mapping[test->label[k]];
        }
        if (n > 1) qsort(test->label + first, n, sizeof *test->label, drove__compare_u32);
    }
    return DROVE_OK;
}

/* Replaces test's class names by a copy of train's. */
static drove_status copy_names(const drove_storage *train, drove_storage *test)
{
    drove__texts_free(test->class_name, test->n_classes);
    test->class_name = NULL;
    test->n_classes = train->n_classes;
    if (train->class_name == NULL) return DROVE_OK;
    test->class_name = drove__texts_copy((const char *const *)train->class_name, train->n_classes);
    return test->class_name != NULL
               ? DROVE_OK
               : drove__fail_nomem("class names", train->n_classes * sizeof(char *));
}

/* Marks the rows whose class has no number, unless no other row is left. */
static drove_status mark_unseen(const drove_storage *train, drove_storage *test,
                                const uint32_t *mapping)
{
    char number[DROVE_CLASS_TEXT_SIZE];
    size_t n = 0, first = 0;
    for (size_t row = test->n_rows; row-- > 0;) {
        if (mapping[test->y_class[row]] != NO_CLASS) continue;
        first = row;
        n++;
    }
    if (n == 0) return DROVE_OK;
    const size_t class = (size_t)test->y_class[first];
    if (n == test->n_rows) return fail_class(train, test, first, class);
    test->unseen.is_row = calloc(test->n_rows, sizeof *test->unseen.is_row);
    if (test->unseen.is_row == NULL) return drove__fail_nomem("rows", test->n_rows);
    drove__storage_note(
        test,
        "%zu row%s of a class that the training data do not have (\"%.60s\", first "
        "in row %zu) count%s as wrong in the accuracy, and %s left out of the other "
        "figures",
        n, n == 1 ? "" : "s", drove__class_text(test, class, number), first + 1, n == 1 ? "s" : "",
        n == 1 ? "is" : "are");
    for (size_t row = 0; row < test->n_rows; row++) {
        if (mapping[test->y_class[row]] != NO_CLASS) continue;
        test->unseen.is_row[row] = true;
        test->unseen.weight += test->weight != NULL ? (double)test->weight[row] : 1.0;
    }
    return DROVE_OK;
}

static drove_status match(const drove_storage *train, drove_storage *test, bool use_labels,
                          bool may_be_new)
{
    DROVE_TRY(match_features(train, test));
    if (!use_labels) return drove__origin_match(train, test, false);
    if (train->y_kind != test->y_kind) {
        return drove__fail(
            DROVE_E_SHAPE,
            "the target is a %s, but in the training data a %s; expected the same (?target=)",
            drove__target_name(test->y_kind), drove__target_name(train->y_kind));
    }
    if (train->y_kind != DROVE_Y_VALUE) {
        DROVE_TRY(drove__origin_match(train, test, false));
        uint32_t *mapping = drove__grow(NULL, test->n_classes, sizeof *mapping);
        if (mapping == NULL) return drove__fail_nomem("classes", test->n_classes * sizeof *mapping);
        drove_status status = map_classes(train, test, mapping);
        if (status != DROVE_OK) goto end;
        if (test->y_kind == DROVE_Y_CLASS && may_be_new &&
            (status = mark_unseen(train, test, mapping)) != DROVE_OK)
            goto end;
        status = renumber(train, test, mapping);
    end:
        free(mapping);
        return status == DROVE_OK ? copy_names(train, test) : status;
    }
    size_t n_wanted = drove__storage_n_values(train), n = drove__storage_n_values(test);
    if (n == n_wanted) return drove__origin_match(train, test, true);
    return drove__fail(DROVE_E_SHAPE,
                       "expected %zu values of each example as in the training data, found %zu",
                       n_wanted, n);
}

drove_status drove__match(const drove_storage *train, drove_storage *test, bool use_labels)
{
    return match(train, test, use_labels, false);
}

drove_status drove__match_test(const drove_storage *train, drove_storage *test, bool use_labels)
{
    return match(train, test, use_labels, true);
}
