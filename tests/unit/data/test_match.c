/* Test data against the training data's features, classes, labels and values (data/open/match.h),
 * on storages made by hand. */
#include "support.h"

#include "base/mem.h"
#include "data/open/match.h"

#include <stdlib.h>
#include <string.h>

static drove_storage dense(size_t n_features)
{
    return (
        drove_storage){.n_features = n_features, .x_kind = DROVE_X_F32, .y_kind = DROVE_Y_VALUE};
}

static void refused(const drove_storage *train, drove_storage *test, bool use_labels,
                    const char *text)
{
    assert_int_equal(drove__match(train, test, use_labels), DROVE_E_SHAPE);
    if (strstr(drove_error_text(), text) == NULL)
        fail_msg("expected \"%s\", found \"%s\"", text, drove_error_text());
}

static void accepted(const drove_storage *train, drove_storage *test, bool use_labels)
{
    if (drove__match(train, test, use_labels) != DROVE_OK) fail_msg("%s", drove_error_text());
}

TEST(features_are_as_many)
{
    drove_storage train = dense(5), test = dense(5);
    accepted(&train, &test, true);
    test.n_features = 4;
    refused(&train, &test, false, "expected 5 features as in the training data, found 4");
    assert_null(strstr(drove_error_text(), "allows more"));
    test.n_features = 6;
    refused(&train, &test, false, "found 6");
    assert_null(strstr(drove_error_text(), "allows more")); /* of dense data nothing does */
    test.x_kind = DROVE_X_CSR;
    refused(&train, &test, false, "expected dense data like the training data, found sparse");
    train.x_kind = DROVE_X_CSR;
    refused(&train, &test, false,
            "expected 5 features as in the training data, found 6 (?features=N in the training "
            "data's spec allows more)");
    test.n_features = 3; /* of sparse data, those that do not occur are 0 */
    accepted(&train, &test, false);
    assert_int_equal(test.n_features, 5);
    float factor[3] = {1, 1, 1};
    test.n_features = 3;
    test.factor = factor; /* scaled already, by as many factors */
    refused(&train, &test, false, "expected 5 features as in the training data, found 3");
    test.x_kind = DROVE_X_F32;
    refused(&train, &test, false, "expected sparse data like the training data, found dense");
}

TEST(images_have_one_shape)
{
    for (int side = 0; side < 3; side++) {
        drove_storage train = dense(24), test = dense(24);
        train.channels = test.channels = 2;
        train.height = test.height = 3;
        train.width = test.width = 4;
        accepted(&train, &test, false);
        if (side == 0) test.channels = 1;
        if (side == 1) test.height = 6;
        if (side == 2) test.width = 12;
        refused(&train, &test, false, "expected images of 2 x 3 x 4 (channels, height, width)");
        test.channels = 0; /* rows of numbers, not said to be images */
        accepted(&train, &test, false);
        test.channels = 1;
        train.channels = 0;
        accepted(&train, &test, false);
    }
}

TEST(targets_are_of_one_kind)
{
    static const drove_y_kind kinds[] = {DROVE_Y_CLASS, DROVE_Y_VALUE, DROVE_Y_LABELS};
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            drove_storage train = dense(5), test = dense(5);
            train.y_kind = kinds[a];
            test.y_kind = kinds[b];
            if (a == b) continue;
            refused(&train, &test, true, "expected the same (?target=)");
            accepted(&train, &test, false);
        }
    }
    drove_storage train = dense(5), test = dense(5);
    train.n_values = 1; /* 0 counts as 1 */
    accepted(&train, &test, true);
    test.n_values = 2;
    refused(&train, &test, true,
            "expected 1 values of each example as in the training data, found 2");
    train.n_values = 2;
    accepted(&train, &test, true);
}

/* ---- classes and labels, by name ---- */

static char **copies(size_t n, const char *const *name)
{
    char **own = calloc(n, sizeof *own);
    assert_non_null(own);
    for (size_t i = 0; i < n; i++) assert_non_null(own[i] = strdup(name[i]));
    return own;
}

static void release(drove_storage *s)
{
    for (size_t i = 0; s->class_name != NULL && i < s->n_classes; i++) free(s->class_name[i]);
    free(s->class_name);
}

enum { N_TRAIN = 6, N_TEST = 5 };
/* Texts of numbers are equal by value, words by their bytes. */
static const char *const of_train[N_TRAIN] = {"pear", "2.0", "-1", "apple", "10", "Pear"};
static const char *const of_test[N_TEST] = {"10", "apple", "1e1", "2", "pear"};
static const uint32_t number_of_test[N_TEST] = {4, 3, 4, 1, 0};

static void begin(drove_storage *train, drove_storage *test, drove_y_kind kind)
{
    *train = dense(5);
    *test = dense(5);
    train->y_kind = test->y_kind = kind;
    train->n_classes = N_TRAIN;
    test->n_classes = N_TEST;
    train->class_name = copies(N_TRAIN, of_train);
    test->class_name = copies(N_TEST, of_test);
}

static void has_trains_names(const drove_storage *test)
{
    assert_int_equal(test->n_classes, N_TRAIN);
    for (size_t i = 0; i < N_TRAIN; i++) assert_string_equal(test->class_name[i], of_train[i]);
}

TEST(classes_get_the_training_datas_numbers)
{
    drove_storage train, test;
    int32_t class[N_TEST] = {0, 1, 2, 3, 4};
    begin(&train, &test, DROVE_Y_CLASS);
    test.y_class = class;
    test.n_rows = N_TEST;
    accepted(&train, &test, true);
    for (size_t i = 0; i < N_TEST; i++) assert_int_equal(class[i], number_of_test[i]);
    has_trains_names(&test);
    release(&train);
    release(&test);
}

TEST(an_unknown_class_is_told_where_it_occurs)
{
    drove_storage train, test;
    int32_t class[3] = {1, 0, 2};
    begin(&train, &test, DROVE_Y_CLASS);
    test.y_class = class;
    test.n_rows = 3;
    free(test.class_name[2]);
    test.class_name[2] = strdup("plum");
    refused(&train, &test, true,
            "row 3: expected one of the training data's 6 classes (pear .. Pear), found \"plum\"");
    test.n_rows = 2; /* a class that no row has does no harm */
    class[0] = 1, class[1] = 0;
    accepted(&train, &test, true);
    release(&train);
    release(&test);
}

TEST(labels_are_renumbered_and_sorted)
{
    drove_storage train, test;
    uint64_t start[] = {0, 3, 3, 4, 6};
    uint32_t label[] = {0, 1, 4, 3, 0, 3};
    static const uint32_t expected[] = {0, 3, 4, 1, 1, 4}; /* 4 3 0; 1; 4 1 */
    begin(&train, &test, DROVE_Y_LABELS);
    test.label_start = start;
    test.label = label;
    test.n_rows = 4;
    accepted(&train, &test, true);
    assert_memory_equal(label, expected, sizeof label);
    has_trains_names(&test);
    release(&test);
    release(&train);
    begin(&train, &test, DROVE_Y_LABELS);
    test.label_start = start;
    test.label = label;
    test.n_rows = 4;
    free(test.class_name[1]);
    test.class_name[1] = strdup("plum");
    refused(&train, &test, true, "row 3: expected one of the training data's 6 labels");
    release(&test);
    release(&train);
}

/* Classes without names are called 0, 1 ... */
TEST(numbers_are_names_too)
{
    static const char *const two[] = {"1", "0"};
    drove_storage train = dense(5), test = dense(5);
    int32_t class[] = {0, 1, 1};
    train.y_kind = test.y_kind = DROVE_Y_CLASS;
    train.n_classes = test.n_classes = 2;
    test.class_name = copies(2, two);
    test.y_class = class;
    test.n_rows = 3;
    accepted(&train, &test, true);
    assert_null(test.class_name);
    assert_true(class[0] == 1 && class[1] == 0 && class[2] == 0);
    train.n_classes = 1;
    class[2] = 1;
    refused(&train, &test, true,
            "row 1: expected one of the training data's 1 classes (0 .. 0), "
            "found \"1\"");
}
