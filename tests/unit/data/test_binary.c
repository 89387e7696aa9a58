/* tests/unit/data/test_binary.c - IDX, MNIST's folder, NPY and CIFAR-10 files written here, read
 * with known values. */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(test_idx_images)
{
    write_idx_file("x", 3, (const uint32_t[]){5, 2, 3}, 251, 7);
    write_idx_file("y", 1, (const uint32_t[]){5}, 3, 1);
    drove_data *d = open_data("idx:x,y");
    const drove_storage *s = d->storage;
    assert_int_equal(s->x_kind, DROVE_X_U8);
    assert_int_equal(s->n_rows, 5);
    assert_int_equal(s->n_features, 6);
    assert_int_equal(s->channels, 1);
    assert_int_equal(s->height, 2);
    assert_int_equal(s->width, 3);
    assert_int_equal(s->x_u8[4 * 6 + 5], 29 * 7);
    assert_int_equal(s->n_classes, 3);
    const int32_t class[] = {0, 1, 2, 0, 1};
    assert_memory_equal(s->y_class, class, sizeof class);
    assert_int_equal(d->scaling, DROVE_SCALE_UNIT);
    assert_true(scaled_at(d, 0, 1) == 7.0f * (1.0f / 255.0f));
    drove_data_destroy(d);
    d = open_data("idx:x,y?classes=10");
    assert_int_equal(d->storage->n_classes, 10);
    drove_data_destroy(d);
    expect_refusal("idx:x,y?classes=2", NULL, DROVE_E_DATA, "y: byte 10", "0 to 1", "found 2",
                   NULL);
    write_idx_file("colour", 4, (const uint32_t[]){5, 3, 2, 2}, 251, 1);
    d = open_data("idx:colour,y");
    assert_int_equal(d->storage->channels, 3);
    assert_int_equal(d->storage->n_features, 12);
    drove_data_destroy(d);
    write_idx_file("four", 1, (const uint32_t[]){4}, 3, 1);
    expect_refusal("idx:x,four", NULL, DROVE_E_DATA, "four", "5 labels", "found 4", NULL);
}

TEST(test_idx_types)
{
    /* two rows of two: 16-bit, 32-bit, float and double, big-endian */
    static const uint8_t i16[] = {0, 0, 0x0b, 2,    0,    0,    0, 2, 0, 0,
                                  0, 2, 0xff, 0xfe, 0x01, 0x00, 0, 3, 0, 4};
    static const uint8_t i32[] = {0, 0, 0x0c, 2,    0,    0,    0, 2, 0, 0,
                                  0, 1, 0xff, 0xff, 0xff, 0xfe, 0, 1, 0, 0};
    static const uint8_t f32[] = {0, 0, 0x0d, 2,    0, 0, 0,    2, 0, 0,
                                  0, 1, 0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0};
    static const uint8_t f64[] = {0, 0, 0x0e, 2, 0, 0, 0,    2, 0, 0, 0, 1, 0x3f, 0xf8,
                                  0, 0, 0,    0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0,    0};
    write_idx_file("two", 1, (const uint32_t[]){2}, 2, 1);
    write_bytes("i16", i16, sizeof i16);
    write_bytes("i32", i32, sizeof i32);
    write_bytes("f32", f32, sizeof f32);
    write_bytes("f64", f64, sizeof f64);
    drove_data *d = open_data("idx:i16,two");
    assert_int_equal(d->storage->x_kind, DROVE_X_F32);
    assert_true(value_at(d, 0, 0) == -2 && value_at(d, 0, 1) == 256 && value_at(d, 1, 0) == 3 &&
                value_at(d, 1, 1) == 4);
    drove_data_destroy(d);
    d = open_data("idx:i32,two");
    assert_true(value_at(d, 0, 0) == -2 && value_at(d, 1, 0) == 65536);
    drove_data_destroy(d);
    static const char *const floats[] = {"idx:f32,two", "idx:f64,two"};
    for (int i = 0; i < 2; i++) {
        d = open_data(floats[i]);
        assert_true(value_at(d, 0, 0) == 1.5f && value_at(d, 1, 0) == -2);
        drove_data_destroy(d);
    }
}

TEST(test_mnist_folder)
{
    mkdir("folder", 0777);
    write_idx_file("folder/train-images-idx3-ubyte", 3, (const uint32_t[]){4, 2, 2}, 16, 1);
    write_idx_file("folder/train-labels-idx1-ubyte", 1, (const uint32_t[]){4}, 4, 1);
    unlink("folder/t10k-images-idx3-ubyte"); /* of an earlier run */
    expect_refusal("mnist:folder", "split", DROVE_E_FILE, "t10k-images-idx3-ubyte", NULL);
    write_idx_file("folder/t10k-images-idx3-ubyte", 3, (const uint32_t[]){2, 2, 2}, 8, 30);
    size_t n;
    write_idx_file("labels", 1, (const uint32_t[]){2}, 10, 9);
    char *labels = read_bytes("labels", &n);
    write_gzip("folder/t10k-labels-idx1-ubyte.gz", labels, n);
    free(labels);
    drove_data *train, *test;
    open_both("mnist:folder", "split", 1, &train, &test);
    assert_int_equal(train->n_rows, 4);
    assert_int_equal(test->n_rows, 2);
    assert_int_equal(test->storage->n_classes, 10);
    assert_int_equal(test->storage->y_class[1], 9);
    assert_true(scaled_at(test, 1, 3) == 210.0f * (1.0f / 255.0f));
    drove_data *part = open_data("mnist:folder?part=test");
    expect_same(part, test);
    drove_data_destroy(part);
    drove_data_destroy(train);
    drove_data_destroy(test);
    open_both("mnist:folder?split=0.25", "split", 1, &train, &test); /* an explicit fraction wins */
    assert_int_equal(train->n_rows, 3);
    assert_int_equal(test->n_rows, 1);
    assert_ptr_equal(train->storage, test->storage);
    drove_data_destroy(train);
    drove_data_destroy(test);
    write_idx_file("folder/train-labels-idx1-ubyte", 1, (const uint32_t[]){4}, 4, 4);
    expect_refusal("mnist:folder", NULL, DROVE_E_DATA, "byte 11", "0 to 9", "found 12", NULL);
}

TEST(test_npy)
{
    const uint8_t bytes[6] = {1, 2, 3, 250, 5, 6};
    const float floats[6] = {1.5f, -2, 3, 4, 5, 6e-3f};
    const double doubles[6] = {1.5, -2, 3, 4, 5, 0.0060000000521540641};
    const int64_t classes[3] = {-1, 1, -1};
    const float values[3] = {0.5f, 1.5f, 0.5f};
    const uint8_t indicators[6] = {1, 0, 0, 0, 1, 1};
    write_npy_file("u1", "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }", bytes,
                   sizeof bytes);
    write_npy_file("f4", "{\"shape\":(3,2),\"fortran_order\":False,\"descr\":\"<f4\"}", floats,
                   sizeof floats);
    write_npy_file("f8", "{'descr': '<f8', 'fortran_order': False, 'shape': (3L, 2L), }", doubles,
                   sizeof doubles);
    write_npy_file("i8", "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", classes,
                   sizeof classes);
    write_npy_file("y4", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1), }", values,
                   sizeof values);
    write_npy_file("yb", "{'descr': '|b1', 'fortran_order': False, 'shape': (3, 2), }", indicators,
                   sizeof indicators);
    drove_data *d = open_data("npy:u1,i8");
    assert_int_equal(d->storage->x_kind, DROVE_X_U8);
    assert_memory_equal(d->storage->x_u8, bytes, sizeof bytes);
    assert_string_equal(class_of(d, 0), "-1");
    assert_string_equal(class_of(d, 1), "1");
    drove_data_destroy(d);
    drove_data *a = open_data("npy:f4,y4"), *b = open_data("npy:f8,y4");
    assert_memory_equal(a->storage->x_f32, floats, sizeof floats);
    expect_same(a, b);
    assert_true(target_of(a, 1) == 1.5f);
    drove_data_destroy(a);
    drove_data_destroy(b);
    const uint8_t counts[6] = {1, 0, 0, 0, 2, 1}; /* of multi-label, no indicators */
    write_npy_file("yc", "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }", counts,
                   sizeof counts);
    expect_refusal("npy:f4,yc", NULL, DROVE_E_DATA, "yc",
                   "row 3, column 1: expected 0 or 1 (multi-label), found 2", NULL);
    d = open_data("npy:f4,yb");
    const uint64_t start[] = {0, 1, 1, 3};
    const uint32_t label[] = {0, 0, 1};
    assert_int_equal(d->storage->y_kind, DROVE_Y_LABELS);
    assert_memory_equal(d->storage->label_start, start, sizeof start);
    assert_memory_equal(d->storage->label, label, sizeof label);
    drove_data_destroy(d);
    write_npy_file("images", "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 1, 2), }",
                   bytes, sizeof bytes);
    d = open_data("npy:images,i8");
    assert_int_equal(d->storage->height, 1);
    assert_int_equal(d->storage->width, 2);
    drove_data_destroy(d);
}

/* An order of bytes says nothing of numbers of one byte, whichever the header names. */
TEST(test_npy_byte_order)
{
    static const char orders[] = "<>|=";
    const uint8_t bytes[6] = {1, 2, 3, 250, 5, 6};
    const int64_t classes[3] = {-1, 1, -1};
    write_npy_file("i8", "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", classes,
                   sizeof classes);
    for (size_t i = 0; i < sizeof orders - 1; i++) {
        char dictionary[80];
        snprintf(dictionary, sizeof dictionary,
                 "{'descr': '%cu1', 'fortran_order': False, 'shape': (3, 2), }", orders[i]);
        write_npy_file("u1", dictionary, bytes, sizeof bytes);
        drove_data *d = open_data("npy:u1,i8");
        assert_int_equal(d->storage->x_kind, DROVE_X_U8);
        assert_memory_equal(d->storage->x_u8, bytes, sizeof bytes);
        drove_data_destroy(d);
    }
}

TEST(test_cifar10)
{
    static uint8_t records[3][3073];
    for (unsigned i = 0; i < 3; i++) {
        records[i][0] = (uint8_t)(4 * i);
        for (unsigned j = 1; j < 3073; j++) records[i][j] = (uint8_t)(i + j);
    }
    write_bytes("c2", records, 2 * 3073);
    write_bytes("c1", records[2], 3073);
    drove_data *d = open_data("cifar10:c2,c1");
    assert_int_equal(d->n_rows, 3);
    assert_int_equal(d->storage->n_features, 3072);
    assert_int_equal(d->storage->channels, 3);
    assert_string_equal(class_of(d, 0), "airplane");
    assert_string_equal(class_of(d, 1), "deer");
    assert_string_equal(class_of(d, 2), "ship");
    for (unsigned i = 0; i < 3; i++)
        assert_memory_equal(d->storage->x_u8 + i * 3072, records[i] + 1, 3072);
    drove_data_destroy(d);
    write_bytes("short", records, 2 * 3073 - 1);
    expect_refusal("cifar10:c1,short", NULL, DROVE_E_DATA, "short", "3073", "byte 3073", NULL);
    records[1][0] = 10;
    write_bytes("label", records, 2 * 3073);
    expect_refusal("cifar10:label", NULL, DROVE_E_DATA, "byte 3073", "0 to 9", "found 10", NULL);
    write_bytes("empty", records, 0);
    expect_refusal("cifar10:empty", NULL, DROVE_E_DATA, "empty", NULL);
}
