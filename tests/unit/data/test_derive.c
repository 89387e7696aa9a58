/* Copies of data sets, which workers on other NUMA nodes make: the same rows, targets, weights,
 * scaling, and the same crops and mirror images. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

/* Every third row, backwards: a view whose rows are not those of its storage. */
static void thin_out(drove_data *data)
{
    size_t n = data->n_rows / 3;
    uint32_t *row = calloc(n, sizeof *row);
    assert_non_null(row);
    for (size_t i = 0; i < n; i++) row[i] = (uint32_t)drove__data_row(data, 3 * (n - 1 - i));
    free(data->row);
    data->row = row;
    data->n_rows = n;
}

static void expect_same_input(const drove_data *a, const drove_data *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->scaling, b->scaling);
    assert_int_equal(drove__data_n_inputs(a), drove__data_n_inputs(b));
    expect_same(a, b);
    for (size_t i = 0; i < a->n_rows; i += 7)
        for (size_t f = 0; f < a->storage->n_features; f++)
            assert_true(scaled_at(a, i, f) == scaled_at(b, i, f));
}

static void expect_copy(const char *spec)
{
    drove_data *data = open_data(spec), *copy;
    for (unsigned thin = 0; thin < 2; thin++) {
        if (thin == 1) thin_out(data);
        if (drove__data_copy(data, &copy) != DROVE_OK) fail_msg("%s: %s", spec, drove_error_text());
        expect_same_input(data, copy);
        assert_ptr_not_equal(data->storage, copy->storage);
        assert_int_equal(copy->storage->n_rows, data->n_rows); /* no more in memory */
        drove_data_destroy(copy);
    }
    drove_data_destroy(data);
}

TEST(copies_are_equal)
{
    write_text("rows.svm", "1 1:0.5 3:2\n-1 2:1\n1 1:7\n-1 3:0.25 4:1\n1 2:3 4:4\n-1 1:1\n1 4:2\n");
    write_text("labels.svm", "0,2 1:0.5 3:2\n1 2:1\n 1:7\n0 3:0.25\n2 2:3\n0,1,2 1:1\n1 2:2\n");
    expect_copy("synth:digits?n=100");
    expect_copy("libsvm:rows.svm");
    expect_copy("libsvm:labels.svm");
}

/* The windows that a copy draws are those of the data set it was made from. */
TEST(a_copy_crops_and_mirrors_alike)
{
    drove_data *data = open_data("synth:images?n=60&size=28&crop=20x24&pad=2&mirror=1"), *copy;
    unsigned n_mirrored = 0, n_moved = 0;
    assert_int_equal(drove__data_copy(data, &copy), DROVE_OK);
    assert_true(drove__augment_is_on(&copy->augment));
    assert_int_equal(drove__data_n_inputs(copy) % (20 * 24), 0);
    assert_int_equal(drove__data_n_inputs(copy), drove__data_n_inputs(data));
    for (uint32_t row = 0; row < 60; row++) {
        drove_window a = drove__augment_draw(&data->augment, 5, row);
        drove_window b = drove__augment_draw(&copy->augment, 5, row);
        assert_int_equal(a.top, b.top);
        assert_int_equal(a.left, b.left);
        assert_int_equal(a.is_mirrored, b.is_mirrored);
        n_mirrored += a.is_mirrored;
        n_moved += a.top != 0 || a.left != 0;
    }
    assert_in_range(n_mirrored, 10, 50); /* of 60; five standard deviations */
    assert_in_range(n_moved, 40, 60);
    drove_data_destroy(copy);
    drove_data_destroy(data);
}
