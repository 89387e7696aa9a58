/* Numbers that are large beside their spread: arrays and targets lose no digits, and data of other
 * origins are brought to that of the training data.  Classes of test data alone, truth values. */
#include "support.h"

#include "base/mem.h"
#include "data/arrays.h"
#include "data/open/match.h"
#include "data/origin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 50 };

static drove_data *open_arrays(const drove_matrix *x, const drove_matrix *y, drove_arrays **arrays)
{
    drove_data *data;
    assert_int_equal(drove_arrays_create(arrays), DROVE_OK);
    assert_int_equal(drove_arrays_set_dense(*arrays, x), DROVE_OK);
    assert_int_equal(drove_arrays_set_values(*arrays, y), DROVE_OK);
    assert_int_equal(drove_data_open(drove_arrays_name(*arrays), NULL, 1, &data, NULL), DROVE_OK);
    return data;
}

static void fill(double *x, double *y, double offset, double step)
{
    for (size_t i = 0; i < N; i++) {
        x[2 * i] = offset + step * (double)(i * 7 % N);
        x[2 * i + 1] = (double)i / 8;
        y[i] = -offset + step * (double)i;
    }
}

TEST(arrays_of_doubles_keep_their_digits)
{
    double x[2 * N], y[N];
    drove_arrays *arrays;
    fill(x, y, 1e9, 0.001);
    const drove_matrix mx = drove_matrix_dense(x, DROVE_TYPE_F64, N, 2),
                       my = drove_matrix_dense(y, DROVE_TYPE_F64, N, 1);
    drove_data *data = open_arrays(&mx, &my, &arrays);
    const drove_storage *s = data->storage;
    assert_non_null(s->x_origin);
    assert_true(s->x_origin[1] == 0);
    for (size_t i = 0; i < N; i++) {
        /* half a unit in the last place of a float, of numbers up to 0.05 */
        assert_true(fabs(s->x_origin[0] + (double)s->x_f32[2 * i] - x[2 * i]) < 2e-7);
        assert_true((double)s->x_f32[2 * i + 1] == x[2 * i + 1]);
        assert_true(fabs(s->y_origin[0] + (double)s->y_value[i] - y[i]) < 2e-7);
    }
    drove_data_destroy(data);
    drove_arrays_destroy(arrays);
}

/* What floats hold is stored as it is: bit for bit, and floats without a copy. */
TEST(other_arrays_stay_as_they_are)
{
    double x[2 * N], y[N];
    float narrow[2 * N];
    drove_arrays *arrays;
    fill(x, y, 10, 0.37);
    for (size_t i = 0; i < 2 * N; i++) narrow[i] = 1e9f + (float)x[i] * 1000;
    const drove_matrix mx = drove_matrix_dense(x, DROVE_TYPE_F64, N, 2),
                       my = drove_matrix_dense(y, DROVE_TYPE_F64, N, 1),
                       mf = drove_matrix_dense(narrow, DROVE_TYPE_F32, N, 2);
    drove_data *data = open_arrays(&mx, &my, &arrays);
    assert_true(data->storage->x_origin == NULL && data->storage->y_origin == NULL);
    for (size_t i = 0; i < 2 * N; i++) assert_true(data->storage->x_f32[i] == (float)x[i]);
    drove_data_destroy(data);
    drove_arrays_destroy(arrays);
    data = open_arrays(&mf, &my, &arrays);
    assert_ptr_equal(data->storage->x_f32, narrow);
    assert_int_equal(drove_arrays_copied_bytes(arrays), 0);
    drove_data_destroy(data);
    drove_arrays_destroy(arrays);
}

TEST(test_data_take_the_origins_of_training_data)
{
    double x[2 * N], y[N], more_x[2 * N], more_y[N];
    drove_arrays *arrays, *more;
    fill(x, y, 1e9, 0.001);
    fill(more_x, more_y, 1e9 + 3, 0.002); /* other means, so other origins */
    const drove_matrix mx = drove_matrix_dense(x, DROVE_TYPE_F64, N, 2),
                       my = drove_matrix_dense(y, DROVE_TYPE_F64, N, 1),
                       m2 = drove_matrix_dense(more_x, DROVE_TYPE_F64, N, 2),
                       m3 = drove_matrix_dense(more_y, DROVE_TYPE_F64, N, 1);
    drove_data *train = open_arrays(&mx, &my, &arrays), *test = open_arrays(&m2, &m3, &more);
    assert_true(test->storage->x_origin[0] != train->storage->x_origin[0]);
    assert_int_equal(drove__match(train->storage, test->storage, true), DROVE_OK);
    const drove_storage *s = test->storage;
    assert_true(s->x_origin[0] == train->storage->x_origin[0]);
    assert_true(s->y_origin[0] == train->storage->y_origin[0]);
    for (size_t i = 0; i < N; i++) {
        assert_true(fabs(s->x_origin[0] + (double)s->x_f32[2 * i] - more_x[2 * i]) < 1e-6);
        assert_true(fabs(s->y_origin[0] + (double)s->y_value[i] - more_y[i]) < 1e-6);
    }
    drove_data_destroy(test);
    drove_data_destroy(train);
    drove_arrays_destroy(more);
    drove_arrays_destroy(arrays);
}

/* 1700000100.6 is a value; as a float it was the name of a class. */
TEST(labels_of_tables_keep_their_digits)
{
    drove_data *data;
    FILE *file = fopen("stamps", "w");
    assert_non_null(file);
    fputs("a,y\n", file);
    for (unsigned row = 0; row < N; row++)
        fprintf(file, "%u,%.1f\n", row % 9, 1700000100.6 + row % 7);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(drove_data_open("table:stamps?label=y", NULL, 1, &data, NULL), DROVE_OK);
    const drove_storage *s = data->storage;
    assert_int_equal(s->y_kind, DROVE_Y_VALUE);
    for (unsigned row = 0; row < N; row++)
        assert_true(fabs(s->y_origin[0] + (double)s->y_value[row] - 1700000100.6 - row % 7) < 1e-6);
    drove_data_destroy(data);
    assert_int_equal(remove("stamps"), 0);
}

TEST(truth_values_in_any_case_are_two_classes)
{
    drove_data *train, *test;
    write_text("train.csv", "a,y\n1,TRUE\n2,False\n3,True\n4,FALSE\n5,TRUE\n6,FALSE\n");
    write_text("test.csv", "a,y\n1,true\n2,false\n");
    assert_int_equal(drove_data_open("table:train.csv?label=y", "table:test.csv", 1, &train, &test),
                     DROVE_OK);
    assert_int_equal(train->storage->n_classes, 2);
    assert_string_equal(train->storage->class_name[0], "FALSE");
    assert_string_equal(train->storage->class_name[1], "TRUE");
    static const int32_t expected[] = {1, 0, 1, 0, 1, 0};
    assert_memory_equal(train->storage->y_class, expected, sizeof expected);
    assert_true(test->storage->y_class[0] == 1 && test->storage->y_class[1] == 0);
    drove_data_destroy(train);
    drove_data_destroy(test);
    assert_int_equal(remove("train.csv") | remove("test.csv"), 0);
}
