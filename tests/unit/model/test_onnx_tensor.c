/* Constants of ONNX files: in lists, as bytes, and in a file beside; what does not fit is an error
 * that names the constant, and nothing stays.
 */
#include "model/onnx_file.h"
#include "support/test.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLOAT = 1, INT64 = 7, DOUBLE = 11, N = 6 };

static float floats[N] = {1.5f, -2.0f, 0.25f, 8.0f, -0.5f, 3.0f};
static double doubles[N] = {1.5, -2.0, 0.25, 8.0, -0.5, 3.0};
static int64_t sizes[N] = {2, 3, -1, 7, 0, 5}, sides[2] = {2, 3};

static char operator_name[] = "Gemm", node_name[] = "last", constant_name[] = "w";
static Drove__Onnx__Node file_node = DROVE__ONNX__NODE__INIT;
static const drove_onnx_node node = {.node = &file_node};
static const drove_onnx_reader reader = {.file = "net.onnx"};

static Drove__Onnx__Tensor tensor_of(int32_t type)
{
    Drove__Onnx__Tensor t = DROVE__ONNX__TENSOR__INIT;
    t.name = constant_name;
    t.has_data_type = true;
    t.data_type = type;
    t.dims = sides;
    t.n_dims = 2;
    return t;
}

static Drove__Onnx__Tensor raw(int32_t type, const void *bytes, size_t n)
{
    Drove__Onnx__Tensor t = tensor_of(type);
    t.has_raw_data = true;
    t.raw_data = (ProtobufCBinaryData){.len = n, .data = (uint8_t *)(uintptr_t)bytes};
    return t;
}

static void gives_the_numbers(const Drove__Onnx__Tensor *t)
{
    float *out;
    if (drove__onnx_floats_of(&reader, &node, t, &out) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    assert_memory_equal(out, floats, sizeof floats);
    free(out);
}

static void is_refused(const Drove__Onnx__Tensor *t, const char *words)
{
    float *out = floats;
    assert_int_equal(drove__onnx_floats_of(&reader, &node, t, &out), DROVE_E_DATA);
    assert_null(out);
    if (strstr(drove_error_text(), words) == NULL ||
        strncmp(drove_error_text(), "net.onnx: ", 10) != 0)
        fail_msg("expected \"%s\", found \"%s\"", words, drove_error_text());
}

FIXTURE(name_the_node)
{
    file_node.op_type = operator_name;
    file_node.name = node_name;
    return 0;
}

GROUP(name_the_node, NULL);

TEST(lists_and_bytes_are_read)
{
    Drove__Onnx__Tensor t = tensor_of(FLOAT);
    t.float_data = floats;
    t.n_float_data = N;
    gives_the_numbers(&t);
    t.n_float_data = N + 1;
    is_refused(&t, "\"w\": expected 6 numbers, found 7");
    t.n_float_data = N - 1; /* before memory is asked for them */
    is_refused(&t, "\"w\": expected as many numbers as its sides say");
    t = tensor_of(DOUBLE);
    t.double_data = doubles;
    t.n_double_data = N;
    gives_the_numbers(&t);
    t.n_double_data = N + 2;
    is_refused(&t, "\"w\": expected 6 numbers, found 8");
    t = raw(FLOAT, floats, sizeof floats);
    gives_the_numbers(&t);
    t.raw_data.len--;
    is_refused(&t, "\"w\": expected 24 bytes, found 23");
    t = raw(DOUBLE, doubles, sizeof doubles);
    gives_the_numbers(&t);
    t.raw_data.len -= 8;
    is_refused(&t, "\"w\": expected 48 bytes, found 40");
    t = tensor_of(8);
    is_refused(&t,
               "\"w\": expected numbers of float, double, float16 or bfloat16, found string (8)");
    t.name = NULL;
    is_refused(&t, "\"constant\": expected numbers of float");
    t = tensor_of(99);
    is_refused(&t, "found a type that ONNX did not have (99)");
}

/* Halves: 1, -2, 0.5, the largest, 2^-24 and 2^-14; bf16: 1, -2, 3.140625, 0, the largest, -0. */
TEST(floats_of_16_bits_are_read)
{
    static const uint16_t half[6] = {0x3c00, 0xc000, 0x3800, 0x7bff, 0x0001, 0x0400};
    static const float halves[6] = {1, -2, 0.5f, 65504, 0x1p-24f, 0x1p-14f};
    static const uint16_t bf16[6] = {0x3f80, 0xc000, 0x4049, 0x0000, 0x7f7f, 0x8000};
    static const float wide[6] = {1, -2, 3.140625f, 0, 0x1.fep127f, -0.0f};
    int32_t listed[6];
    float *out;
    for (int k = 0; k < 4; k++) { /* bytes, then the list of the message */
        const bool is_half = k % 2 == 0;
        Drove__Onnx__Tensor t = k < 2 ? raw(is_half ? 10 : 16, is_half ? half : bf16, sizeof half)
                                      : tensor_of(is_half ? 10 : 16);
        for (size_t i = 0; i < 6; i++) listed[i] = is_half ? half[i] : bf16[i];
        if (k >= 2) {
            t.int32_data = listed;
            t.n_int32_data = 6;
        }
        assert_int_equal(drove__onnx_floats_of(&reader, &node, &t, &out), DROVE_OK);
        assert_memory_equal(out, is_half ? halves : wide, sizeof halves);
        free(out);
    }
}

TEST(sides_are_counted)
{
    int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, large[3] = {1 << 16, 1 << 14, 2};
    Drove__Onnx__Tensor t = tensor_of(FLOAT);
    assert_int_equal(drove__onnx_count(&t), 6);
    t.n_dims = 0;
    assert_int_equal(drove__onnx_count(&t), 1);
    t.dims = nine;
    t.n_dims = 8;
    assert_int_equal(drove__onnx_count(&t), 1);
    t.n_dims = 9;
    assert_true(drove__onnx_count(&t) == SIZE_MAX);
    nine[0] = 0;
    t.n_dims = 1;
    assert_true(drove__onnx_count(&t) == SIZE_MAX);
    t.dims = large;
    t.n_dims = 2;
    assert_int_equal(drove__onnx_count(&t), 1 << 30);
    t.n_dims = 3; /* 2^31 */
    assert_true(drove__onnx_count(&t) == SIZE_MAX);
}

/* The file beside: 5 bytes, then the numbers. */
TEST(numbers_may_lie_in_a_file_beside)
{
    char location[] = "location", name[] = "w.bin", offset[] = "offset", five[] = "5", six[] = "6";
    char elsewhere[] = "../w.bin", nothing[] = "", many[] = "x";
    Drove__Onnx__StringPair where = DROVE__ONNX__STRING_PAIR__INIT,
                            from = DROVE__ONNX__STRING_PAIR__INIT;
    Drove__Onnx__StringPair *both[] = {&where, &from};
    Drove__Onnx__Tensor t = tensor_of(FLOAT);
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite("12345", 1, 5, f), 5);
    assert_int_equal(fwrite(floats, sizeof *floats, N, f), N);
    assert_int_equal(fclose(f), 0);
    where.key = location;
    where.value = name;
    from.key = offset;
    from.value = five;
    t.external_data = both;
    t.n_external_data = 2;
    t.has_data_location = true;
    t.data_location = 1;
    gives_the_numbers(&t);
    from.value = six;
    is_refused(&t, "\"w\": expected 24 bytes from byte 6 of w.bin, found 23");
    where.value = elsewhere;
    is_refused(
        &t,
        "\"w\": expected its numbers in a file of the same folder or below it, found \"../w.bin\"");
    where.value = nothing;
    is_refused(&t,
               "\"w\": expected its numbers in a file of the same folder or below it, found \"\"");
    t.n_external_data = 0;
    is_refused(&t,
               "\"w\": expected its numbers in a file of the same folder or below it, found \"\"");
    t.n_external_data = 2;
    where.value = name;
    from.value = many;
    is_refused(&t, "\"w\": expected a length of 24 bytes of w.bin and an offset, found none and x");
    char length[] = "length", fewer[] = "20", all[] = "24";
    from.key = length; /* in place of the offset */
    from.value = fewer;
    is_refused(&t,
               "\"w\": expected a length of 24 bytes of w.bin and an offset, found 20 and none");
    from.value = all;
    f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(floats, sizeof *floats, N, f), N);
    assert_int_equal(fclose(f), 0);
    gives_the_numbers(&t);
    (void)unlink(name);
}

TEST(whole_numbers_are_read)
{
    int64_t out[N] = {0};
    size_t n = 0;
    Drove__Onnx__Tensor t = tensor_of(INT64);
    t.int64_data = sizes;
    t.n_int64_data = N;
    assert_int_equal(drove__onnx_ints_of(&reader, &node, &t, N, out, &n), DROVE_OK);
    assert_int_equal(n, N);
    assert_memory_equal(out, sizes, sizeof sizes);
    assert_int_equal(drove__onnx_ints_of(&reader, &node, &t, N - 1, out, &n), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "\"w\": expected at most 5 64-bit integers"));
    t.n_int64_data = N - 1;
    assert_int_equal(drove__onnx_ints_of(&reader, &node, &t, N, out, &n), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "\"w\": expected 6 numbers, found 5"));
    t.data_type = FLOAT;
    assert_int_equal(drove__onnx_ints_of(&reader, &node, &t, N, out, &n), DROVE_E_DATA);
    t = raw(INT64, sizes, sizeof sizes);
    memset(out, 0, sizeof out);
    assert_int_equal(drove__onnx_ints_of(&reader, &node, &t, N, out, &n), DROVE_OK);
    assert_memory_equal(out, sizes, sizeof sizes);
}
