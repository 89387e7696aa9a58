/* tests/unit/data/test_npz.c - NumPy archives that NumPy wrote (tests/fuzz/corpus/npz), and the
 * meaning of bytes in all formats.  Broken archives: test_broken.c. */
#include "support.h"

#include "data/read/npy.h"

#include <stdio.h>
#include <string.h>

#define CORPUS DROVE_SOURCE_DIR "/tests/fuzz/corpus/npz/"

/* x = arange(12) * 7, [3][2][2]; y = 0, 1, 2 */
static void expect_good(const drove_data *d, float factor)
{
    assert_int_equal(d->n_rows, 3);
    assert_int_equal(d->storage->channels, 1);
    assert_int_equal(d->storage->height, 2);
    assert_int_equal(d->storage->width, 2);
    for (size_t i = 0; i < 12; i++) assert_true(value_at(d, i / 4, i % 4) == (float)i * 7 * factor);
    for (int i = 0; i < 3; i++) assert_int_equal(d->storage->y_class[i], i);
}

TEST(test_members)
{
    static const char *const specs[] = {
        "npz:" CORPUS "good-stored",         "npz:" CORPUS "good-stored?x=x&y=y",
        "npz:" CORPUS "good-stored?x=x.npy", "npz:" CORPUS "good-zip64",
        "npz:" CORPUS "good-positional",     "npz:" CORPUS "good-positional?x=arr_0&y=arr_1",
        "npz:" CORPUS "good-parts",          CORPUS "good-stored", /* by its content */
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        drove_data *d = open_data(specs[i]);
        assert_int_equal(d->storage->x_kind, DROVE_X_U8);
        expect_good(d, 1);
        drove_data_destroy(d);
    }
    drove_data *d = open_data("npz:" CORPUS "good-deflated");
    assert_int_equal(d->storage->x_kind, DROVE_X_F32);
    expect_good(d, 0.25f);
    drove_data_destroy(d);
    expect_refusal("npz:" CORPUS "good-stored?x=z", NULL, DROVE_E_DATA, "a member \"z\"", "?x=NAME",
                   "found x, y", NULL);
    expect_refusal("npz:" CORPUS "good-stored?part=test", NULL, DROVE_E_DATA, "x_test", NULL);
    expect_refusal("npz:" CORPUS "good-stored?label=y", NULL, DROVE_E_ARG, "none", NULL);
}

/* good-stored, whose targets take the name of the examples. */
TEST(test_two_members_of_one_name)
{
    char bytes[4096];
    const char *path = "twice.npz";
    FILE *file = fopen(CORPUS "good-stored", "rb");
    assert_non_null(file);
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    assert_true(n > 5 && n < sizeof bytes);
    fclose(file);
    unsigned n_renamed = 0;
    for (size_t i = 0; i + 5 <= n; i++) {
        if (memcmp(bytes + i, "y.npy", 5) != 0) continue;
        bytes[i] = 'x';
        n_renamed++;
    }
    assert_int_equal(n_renamed, 2); /* before the member, and in the directory */
    assert_non_null(file = fopen(path, "wb"));
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    expect_refusal("npz:twice.npz?y=x", NULL, DROVE_E_DATA, "one member \"x\", found two", NULL);
    remove(path);
}

TEST(test_parts)
{
    drove_data *train, *test;
    open_both("npz:" CORPUS "good-parts", "split", 1, &train, &test);
    expect_good(train, 1);
    assert_int_equal(test->n_rows, 2);
    assert_true(value_at(test, 1, 3) == 7 * 7 + 1);
    assert_ptr_not_equal(train->storage, test->storage);
    drove_data_destroy(train);
    drove_data_destroy(test);
    open_both("npz:" CORPUS "good-parts?split=0.34", "split", 1, &train, &test);
    assert_ptr_equal(train->storage, test->storage);
    drove_data_destroy(train);
    drove_data_destroy(test);
    open_both("npz:" CORPUS "good-stored", "split", 1, &train, &test); /* no test members */
    assert_ptr_equal(train->storage, test->storage);
    drove_data_destroy(train);
    drove_data_destroy(test);
}

/* x = arange(36) * 5 of [2][2][3][3]: height 2, width 3, channels last */
TEST(test_channels_last)
{
    drove_data *d = open_data("npz:" CORPUS "good-channels-last");
    assert_int_equal(d->storage->channels, 3);
    assert_int_equal(d->storage->height, 2);
    assert_int_equal(d->storage->width, 3);
    for (size_t i = 0; i < 36; i++) {
        size_t row = i / 18, pixel = i % 18 / 3, channel = i % 3;
        assert_true(value_at(d, row, channel * 6 + pixel) == (float)(i * 5 % 256));
    }
    drove_data_destroy(d);
    d = open_data("npz:" CORPUS "good-channels-last?channels=first");
    assert_int_equal(d->storage->channels, 2);
    assert_true(value_at(d, 0, 17) == 17 * 5);
    drove_data_destroy(d);
}

TEST(test_without_targets)
{
    drove_data *like = open_data("npz:" CORPUS "good-stored"), *d;
    assert_int_equal(drove__data_open_like("npz:" CORPUS "no-targets", like, true, &d),
                     DROVE_E_DATA);
    assert_int_equal(drove__data_open_like("npz:" CORPUS "no-targets", like, false, &d), DROVE_OK);
    assert_int_equal(d->n_rows, 3);
    drove_data_destroy(d);
    drove_data_destroy(like);
}

/* The same bytes as IDX, NPY and NPZ are the same inputs; booleans and floats are not bytes. */
TEST(test_bytes_alike)
{
    uint8_t bytes[12], targets[3] = {0, 1, 2};
    const uint8_t booleans[6] = {0, 1, 1, 0, 1, 1};
    for (unsigned i = 0; i < 12; i++) bytes[i] = (uint8_t)(7 * i);
    write_idx_file("x.idx", 3, (const uint32_t[]){3, 2, 2}, 251, 7);
    write_idx_file("y.idx", 1, (const uint32_t[]){3}, 3, 1);
    write_npy_file("x", "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2, 2), }", bytes,
                   12);
    write_npy_file("y", "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", targets, 3);
    static const char *const specs[] = {"idx:x.idx,y.idx", "npy:x,y", "npz:" CORPUS "good-stored"};
    for (size_t i = 0; i < 3; i++) {
        drove_data *d = open_data(specs[i]);
        assert_int_equal(d->scaling, DROVE_SCALE_UNIT);
        for (size_t k = 0; k < 12; k++)
            assert_true(scaled_at(d, k / 4, k % 4) == (float)(7 * k) * (1.0f / 255.0f));
        drove_data_destroy(d);
    }
    drove_data *d = open_data("npy:x,y?scale=none");
    assert_true(scaled_at(d, 0, 1) == 7);
    drove_data_destroy(d);
    write_npy_file("b", "{'descr': '|b1', 'fortran_order': False, 'shape': (3, 2), }", booleans, 6);
    d = open_data("npy:b,y");
    assert_int_equal(d->scaling, DROVE_SCALE_NONE);
    assert_true(scaled_at(d, 0, 1) == 1);
    drove_data_destroy(d);
    d = open_data("npz:" CORPUS "good-deflated"); /* floats stay as they are */
    assert_int_equal(d->scaling, DROVE_SCALE_NONE);
    drove_data_destroy(d);
}

/* Version 1: a dictionary, then blanks and a newline up to the next multiple of 64, and no more. */
TEST(test_header_is_aligned)
{
    char header[DROVE_NPY_HEADER_SIZE], dictionary[DROVE_NPY_HEADER_SIZE];
    unsigned n_full = 0;
    for (unsigned digits = 4; digits < 68; digits++) { /* of four sides */
        size_t shape[4], used = 0;
        for (unsigned i = 0; i < 4; i++) {
            shape[i] = 1;
            for (unsigned k = 1; k < (digits + i) / 4; k++) shape[i] *= 10;
        }
        used = (size_t)snprintf(dictionary, sizeof dictionary,
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu, %zu, "
                                "%zu), }",
                                shape[0], shape[1], shape[2], shape[3]);
        const size_t n = drove__npy_header("<f4", 4, shape, header);
        assert_int_equal(n % 64, 0);
        assert_in_range(n, 10 + used + 1, 10 + used + 64);
        n_full += n == 10 + used + 1;
        assert_memory_equal(header, "\223NUMPY\1\0", 8);
        assert_int_equal((unsigned char)header[8] + 256 * (unsigned char)header[9], n - 10);
        assert_memory_equal(header + 10, dictionary, used);
        for (size_t i = 10 + used; i < n - 1; i++) assert_int_equal(header[i], ' ');
        assert_int_equal(header[n - 1], '\n');
    }
    assert_int_equal(n_full, 1); /* no blank at all */
}
