/* safetensors: bytes worked by hand in both directions, then everything that a broken or hostile
 * file can say. */
#include "support.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILE_NAME "x.safetensors"

/* A file of this header and n_data bytes of data 0, 1, 2 ... */
static void write_file(const char *header, size_t n_data)
{
    uint64_t n_header = strlen(header);
    unsigned char *file = malloc(8 + n_header + n_data);
    assert_non_null(file);
    for (int i = 0; i < 8; i++) file[i] = (unsigned char)(n_header >> 8 * i);
    memcpy(file + 8, header, n_header);
    for (size_t i = 0; i < n_data; i++) file[8 + n_header + i] = (unsigned char)i;
    write_bytes(FILE_NAME, file, 8 + n_header + n_data);
    free(file);
}

static void expect_empty(const drove_safetensors *st)
{
    static const drove_safetensors empty;
    assert_memory_equal(st, &empty, sizeof empty);
}

static void expect_refused(const char *header, size_t n_data, const char *part)
{
    drove_safetensors st;
    write_file(header, n_data);
    drove_status status = drove__safetensors_load(FILE_NAME, &st);
    if (status != DROVE_E_DATA) fail_msg("%s: %s", header, drove_status_name(status));
    assert_error_has(FILE_NAME);
    assert_error_has(part);
    expect_empty(&st);
    /* without its tensors no less */
    if (drove__safetensors_load_header(FILE_NAME, &st) != DROVE_E_DATA)
        fail_msg("%s: opened", header);
    assert_error_has(part);
    expect_empty(&st);
}

/* ---- what is right ---- */

TEST(test_read_by_hand)
{
    static const unsigned char file[] =
        "\xb4\0\0\0\0\0\0\0"
        "{\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
        "\"__metadata__\":{\"model\":\"mlp\",\"\\u00e9\":\"\"},"
        "\"a\":{\"data_offsets\":[3,11],\"shape\":[2,1],\"dtype\":\"F32\",\"more\":0}}"
        "            " /* to 0xb4 bytes */
        "\x07\x08\x09"
        "\0\0\x80\x3f\0\0\x20\xc1"; /* 1, -10 */
    const size_t n_header = 0xb4, n_text = sizeof file - 1 - 8 - 11;
    assert_true(n_text >= 160 && n_text <= n_header);
    unsigned char padded[8 + 0xb4 + 11];
    memcpy(padded, file, 8 + n_text);
    memset(padded + 8 + n_text, ' ', n_header - n_text);
    memcpy(padded + 8 + n_header, file + 8 + n_text, 11);
    for (int gzip = 0; gzip < 2; gzip++) {
        if (gzip) write_gzip(FILE_NAME, padded, sizeof padded, 1);
        else write_bytes(FILE_NAME, padded, sizeof padded);
        drove_safetensors st;
        assert_ok(drove__safetensors_load(FILE_NAME, &st));
        assert_int_equal(st.n_tensors, 2);
        assert_string_equal(st.tensor[0].name, "b");
        const drove_tensor *a = drove__safetensors_find(&st, "a");
        assert_ptr_equal(a, &st.tensor[1]);
        assert_int_equal(a->type, DROVE_T_F32);
        assert_int_equal(a->rank, 2);
        assert_int_equal(a->shape[0], 2);
        assert_int_equal(a->shape[1], 1);
        const void *bytes;
        assert_ok(drove__safetensors_want(&st, "a", DROVE_T_F32, 2, &bytes));
        assert_int_equal((uintptr_t)bytes % 64, 0); /* though it lies at an odd place in the file */
        assert_true(((const float *)bytes)[0] == 1.0f && ((const float *)bytes)[1] == -10.0f);
        assert_ok(drove__safetensors_want(&st, "b", DROVE_T_U8, 3, &bytes));
        assert_memory_equal(bytes, "\x07\x08\x09", 3);
        assert_string_equal(drove__safetensors_meta(&st, "model"), "mlp");
        assert_string_equal(drove__safetensors_meta(&st, "\xc3\xa9"), "");
        assert_null(drove__safetensors_meta(&st, "a"));
        assert_null(drove__safetensors_find(&st, "__metadata__"));
        assert_fails(drove__safetensors_want(&st, "c", DROVE_T_F32, 2, &bytes), DROVE_E_DATA,
                     "\"c\"");
        assert_fails(drove__safetensors_want(&st, "a", DROVE_T_F32, 3, &bytes), DROVE_E_DATA,
                     "tensor \"a\": expected 3 elements of type F32, found 2 of F32");
        assert_fails(drove__safetensors_want(&st, "a", DROVE_T_I32, 2, &bytes), DROVE_E_DATA,
                     "I32");
        drove__safetensors_fini(&st);
        expect_empty(&st);
        drove__safetensors_fini(&st);
    }
    drove__safetensors_fini(NULL);
}

TEST(test_written_by_hand)
{
    const float w[2] = {1.0f, -10.0f};
    const uint8_t flag = 7;
    const drove_tensor tensor[] = {
        {"w", DROVE_T_F32, 2, {1, 2}, w},
        {"flag", DROVE_T_U8, 0, {0}, &flag},
    };
    static const char *const meta[] = {"k", "v\"", NULL};
    /* sums of the bytes below and of the rest of the header, by a short Python program */
    static const char header[] = "{\"__metadata__\":{\"k\":\"v\\\"\","
                                 "\"checksums\":\"{\\\"flag\\\":\\\"4c5cca45d0f4811f\\\","
                                 "\\\"w\\\":\\\"885d7b6569fc0a09\\\"}\","
                                 "\"header_checksum\":\"fc3243ca8bf4948f\"},"
                                 "\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                                 "\"flag\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[8,9]}}";
    assert_ok(drove__safetensors_write(FILE_NAME, tensor, 2, meta));
    size_t n;
    char *file = read_bytes(FILE_NAME, &n);
    size_t n_header = (unsigned char)file[0] + 256u * (unsigned char)file[1];
    assert_memory_equal(file + 2, "\0\0\0\0\0", 6);
    assert_int_equal((8 + n_header) % 64, 0);
    assert_int_equal(n, 8 + n_header + 9);
    assert_memory_equal(file + 8, header, sizeof header - 1);
    for (size_t i = sizeof header - 1; i < n_header; i++) assert_int_equal(file[8 + i], ' ');
    assert_memory_equal(file + 8 + n_header, "\0\0\x80\x3f\0\0\x20\xc1\x07", 9);
    free(file);
}

TEST(test_round_trip_of_every_type)
{
    enum { N = 1000 };
    static const size_t size_bytes[] = {4, 8, 8, 8, 4, 4, 1};
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    uint64_t *content = malloc(N * sizeof *content);
    assert_non_null(content);
    for (int i = 0; i < N; i++) content[i] = drove__rng_u64(&rng);
    drove_tensor tensor[9];
    for (unsigned i = 0; i < 7; i++) {
        tensor[i] = (drove_tensor){
            .type = (drove_tensor_type)i, .rank = 3, .shape = {5, i + 1, 3}, .bytes = content + i};
        snprintf(tensor[i].name, sizeof tensor[i].name, "layer.%u/weight \"\xc3\xa9\"", i);
    }
    tensor[7] = (drove_tensor){"empty", DROVE_T_F64, 4, {3, 0, 9, SIZE_MAX / 8}, NULL};
    tensor[8] = (drove_tensor){"last", DROVE_T_U64, 1, {N}, content};
    tensor[8].shape[0] = N;
    tensor[7].shape[3] = 9;
    assert_ok(drove__safetensors_write(FILE_NAME, tensor, 9, NULL));
    drove_safetensors st;
    assert_ok(drove__safetensors_load(FILE_NAME, &st));
    assert_int_equal(st.n_tensors, 9);
    assert_int_equal(st.n_meta, 0);
    for (unsigned i = 0; i < 7; i++) {
        const void *bytes;
        size_t n = 15 * (i + 1);
        assert_ok(drove__safetensors_want(&st, tensor[i].name, (drove_tensor_type)i, n, &bytes));
        assert_memory_equal(bytes, content + i, n * size_bytes[i]);
        assert_int_equal((uintptr_t)bytes % 64, 0);
        assert_memory_equal(st.tensor[i].shape, tensor[i].shape, sizeof tensor[i].shape);
    }
    const void *bytes;
    assert_ok(drove__safetensors_want(&st, "empty", DROVE_T_F64, 0, &bytes));
    assert_ok(drove__safetensors_want(&st, "last", DROVE_T_U64, N, &bytes));
    assert_memory_equal(bytes, content, N * sizeof *content);
    drove__safetensors_fini(&st);
    size_t n_first, n_second; /* the same arguments give the same bytes */
    char *first = read_bytes(FILE_NAME, &n_first);
    assert_ok(drove__safetensors_write(FILE_NAME, tensor, 9, NULL));
    char *second = read_bytes(FILE_NAME, &n_second);
    assert_int_equal(n_first, n_second);
    assert_memory_equal(first, second, n_first);
    free(first);
    free(second);
    free(content);
}

TEST(test_nothing_in_it)
{
    static const char *const no_meta[] = {NULL};
    drove_safetensors st;
    assert_ok(drove__safetensors_write(FILE_NAME, NULL, 0, no_meta));
    assert_ok(drove__safetensors_load(FILE_NAME, &st));
    assert_int_equal(st.n_tensors + st.n_meta, 0);
    drove__safetensors_fini(&st);
    write_file("{}", 0);
    assert_ok(drove__safetensors_load(FILE_NAME, &st));
    drove__safetensors_fini(&st);
}

/* What there is, without the content. */
TEST(test_header)
{
    const drove_tensor tensor[] = {{"b", DROVE_T_U8, 1, {5}, "hello"},
                                   {"c", DROVE_T_U8, 1, {0}, NULL},
                                   {"d", DROVE_T_U8, 1, {3}, "end"}};
    drove_safetensors st;
    size_t n;
    assert_ok(drove__safetensors_write(FILE_NAME, tensor, 3, NULL));
    assert_ok(drove__safetensors_load_header(FILE_NAME, &st));
    assert_int_equal(st.n_tensors, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(st.tensor[i].name, tensor[i].name);
        assert_int_equal(drove__tensor_bytes(&st.tensor[i]), tensor[i].shape[0]);
        assert_null(st.tensor[i].bytes);
    }
    assert_ok(drove__safetensors_want(&st, "b", DROVE_T_U8, 5, NULL));
    drove__safetensors_fini(&st);
    char *file = read_bytes(FILE_NAME, &n);
    write_bytes(FILE_NAME, file, n - 1);
    assert_fails(drove__safetensors_load_header(FILE_NAME, &st), DROVE_E_DATA, "cannot hold");
    write_gzip(FILE_NAME, (unsigned char *)file, n, 1);
    assert_fails(drove__safetensors_load_header(FILE_NAME, &st), DROVE_E_DATA, "compressed");
    free(file);
}

/* ---- other memory for tensors ---- */

typedef struct places {
    char word[5];
    size_t size_bytes; /* of all tensors, when they were placed */
    bool refuses;
} places;

static drove_status place_word(void *context, drove_safetensors *st)
{
    places *p = context;
    p->size_bytes = st->size_bytes;
    assert_null(st->tensor[0].bytes); /* nothing is read yet */
    if (p->refuses) return drove__fail(DROVE_E_SHAPE, "no place for it");
    st->tensor[1].bytes = p->word;
    return DROVE_OK;
}

/* A tensor goes where it is asked for, is checked there, and takes no room among the others. */
TEST(test_into_other_memory)
{
    const drove_tensor tensor[] = {{"a", DROVE_T_U8, 1, {3}, "one"},
                                   {"b", DROVE_T_U8, 1, {5}, "hello"},
                                   {"c", DROVE_T_U8, 1, {3}, "end"}};
    places p = {.refuses = false};
    drove_safetensors st;
    size_t n;
    assert_ok(drove__safetensors_write(FILE_NAME, tensor, 3, NULL));
    assert_ok(drove__safetensors_load_into(FILE_NAME, place_word, &p, &st));
    assert_memory_equal(p.word, "hello", 5);
    assert_ptr_equal(st.tensor[1].bytes, p.word);
    assert_memory_equal(st.tensor[0].bytes, "one", 3);
    assert_memory_equal(st.tensor[2].bytes, "end", 3);
    assert_int_equal(p.size_bytes, 3 * DROVE_CACHE_LINE);
    assert_int_equal(st.size_bytes, 2 * DROVE_CACHE_LINE);
    drove__safetensors_fini(&st);
    p.refuses = true;
    assert_fails(drove__safetensors_load_into(FILE_NAME, place_word, &p, &st), DROVE_E_SHAPE,
                 "no place for it");
    p.refuses = false;
    char *file = read_bytes(FILE_NAME, &n);
    char *word = memchr(file, 'h', n);
    while (word != NULL && memcmp(word, "hello", 5) != 0)
        word = memchr(word + 1, 'h', n - (size_t)(word + 1 - file));
    assert_non_null(word);
    word[4] = '!';
    write_bytes(FILE_NAME, file, n);
    assert_fails(drove__safetensors_load_into(FILE_NAME, place_word, &p, &st), DROVE_E_DATA,
                 "\"b\"");
    free(file);
}

/* ---- what a writer must refuse ---- */

TEST(test_write_refuses)
{
    const float w = 1.0f;
    unlink(FILE_NAME);
    const drove_tensor twice[] = {{"w", DROVE_T_F32, 0, {0}, &w}, {"w", DROVE_T_F32, 0, {0}, &w}};
    assert_fails(drove__safetensors_write(FILE_NAME, twice, 2, NULL), DROVE_E_ARG, "tensor \"w\"");
    const drove_tensor unnamed = {"", DROVE_T_F32, 0, {0}, &w};
    assert_fails(drove__safetensors_write(FILE_NAME, &unnamed, 1, NULL), DROVE_E_ARG, "is empty");
    const drove_tensor reserved = {"__metadata__", DROVE_T_F32, 0, {0}, &w};
    assert_fails(drove__safetensors_write(FILE_NAME, &reserved, 1, NULL), DROVE_E_ARG,
                 "__metadata__");
    const drove_tensor latin = {"\xe9", DROVE_T_F32, 0, {0}, &w};
    assert_fails(drove__safetensors_write(FILE_NAME, &latin, 1, NULL), DROVE_E_ARG, "not UTF-8");
    const drove_tensor huge = {"w", DROVE_T_F32, 2, {SIZE_MAX / 4, 2}, &w};
    assert_fails(drove__safetensors_write(FILE_NAME, &huge, 1, NULL), DROVE_E_ARG, "too large");
    static const char *const latin_meta[] = {"label", "caf\xe9", NULL};
    assert_fails(drove__safetensors_write(FILE_NAME, &twice[0], 1, latin_meta), DROVE_E_ARG,
                 "\"label\"");
    static const char *const same_key[] = {"k", "1", "k", "2", NULL};
    assert_fails(drove__safetensors_write(FILE_NAME, &twice[0], 1, same_key), DROVE_E_ARG, "\"k\"");
    assert_fails(drove__safetensors_write("absent/x", &twice[0], 1, NULL), DROVE_E_FILE,
                 "absent/x");
    assert_int_equal(count_files(FILE_NAME), 0);
}

/* ---- what a reader must refuse ---- */

#define T(name, dtype, shape, offsets)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

TEST(test_wrong_descriptions)
{
    static const struct {
        const char *header;
        size_t n_data;
        const char *part;
    } wrong[] = {
        {"[]", 0, "expected a JSON object"},
        {"12", 0, "header is not valid JSON"},
        {"{ ", 0, "header is not valid JSON"},
        {"{}}", 0, "header is not valid JSON"},
        {"{\"a\":}", 0, "header is not valid JSON"},
        {"{\"\xff\":1}", 0, "header is not valid JSON"},
        {"{\"a\":1}", 0, "expected an object"},
        {"{\"a\":{}}", 0, "expected a dtype"},
        {"{" T("a", "F8_E4M3", "[1]", "[0,1]") "}", 1, "found \"F8_E4M3\""},
        {"{" T("a", "f32", "[1]", "[0,4]") "}", 4, "found \"f32\""},
        {"{\"a\":{\"dtype\":3,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "found \"no text\""},
        {"{" T("", "U8", "[1]", "[0,1]") "}", 1, "a name of 1 to 95 bytes"},
        {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "expected an array as shape"},
        {"{" T("a", "U8", "3", "[0,3]") "}", 3, "expected an array as shape"},
        {"{" T("a", "U8", "[1.0]", "[0,1]") "}", 1, "whole numbers in its shape"},
        {"{" T("a", "U8", "[-1]", "[0,1]") "}", 1, "whole numbers in its shape"},
        {"{" T("a", "U8", "[\"1\"]", "[0,1]") "}", 1, "whole numbers in its shape"},
        {"{" T("a", "U8", "[null]", "[0,1]") "}", 1, "whole numbers in its shape"},
        {"{" T("a", "U8", "[1,1,1,1,1,1]", "[0,1]") "}", 1, "at most 5 dimensions, found 6"},
        {"{" T("a", "U8", "[99999999999999999999]", "[0,1]") "}", 1, "not valid JSON"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "data_offsets of [begin, end]"},
        {"{" T("a", "U8", "[1]", "1") "}", 1, "data_offsets of [begin, end]"},
        {"{" T("a", "U8", "[1]", "[0]") "}", 1, "data_offsets of [begin, end]"},
        {"{" T("a", "U8", "[1]", "[0,1,2]") "}", 1, "data_offsets of [begin, end]"},
        {"{" T("a", "U8", "[1]", "[1,0]") "}", 1, "data_offsets of [begin, end]"},
        {"{" T("a", "U8", "[1]", "[-1,0]") "}", 1, "data_offsets of [begin, end]"},
        {"{" T("a", "U8", "[1]", "[0,true]") "}", 1, "data_offsets of [begin, end]"},
        {"{" T("a", "U8", "[1]", "[0.0,1.0]") "}", 1, "data_offsets of [begin, end]"},
    };
    for (size_t i = 0; i < DROVE_COUNT(wrong); i++) {
        expect_refused(wrong[i].header, wrong[i].n_data, wrong[i].part);
    }
}

TEST(test_wrong_sizes)
{
    static const struct {
        const char *header;
        size_t n_data;
        const char *part;
    } wrong[] = {
        {"{" T("a", "F32", "[2]", "[0,4]") "}", 4, "need 8 bytes, its data_offsets span 4"},
        {"{" T("a", "F32", "[]", "[0,0]") "}", 0, "need 4 bytes, its data_offsets span 0"},
        {"{" T("a", "F32", "[0]", "[0,4]") "}", 4, "need 0 bytes, its data_offsets span 4"},
        /* products that are right only when they wrap round */
        {"{" T("a", "U8", "[4294967296,4294967296]", "[0,0]") "}", 0, "shape overflows"},
        {"{" T("a", "F32", "[4611686018427387905]", "[0,4]") "}", 4, "shape overflows"},
        {"{" T("a", "F64", "[2305843009213693952,1,1,1]", "[0,0]") "}", 0, "shape overflows"},
        {"{" T("a", "U8", "[9223372036854775807,2,9223372036854775807,4]", "[0,8]") "}", 8,
         "overflows"},
        /* more than the file has */
        {"{" T("a", "U8", "[5]", "[0,5]") "}", 4, "ends at byte 5 of the data"},
        {"{" T("a", "U8", "[1152921504606846976]", "[0,1152921504606846976]") "}", 4,
         "cannot hold"},
        {"{" T("a", "U8", "[1]", "[9223372036854775806,9223372036854775807]") "}", 4,
         "cannot hold"},
        /* holes, overlaps, leftovers */
        {"{" T("a", "U8", "[4]", "[1,5]") "}", 5, "expected its data at byte 0"},
        {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[3,5]") "}", 5, "at byte 2,"},
        {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[1,3]") "}", 3, "at byte 2,"},
        {"{" T("b", "U8", "[2]", "[0,2]") "," T("a", "U8", "[2]", "[0,2]") "}", 2, "at byte 2,"},
        {"{" T("a", "U8", "[4]", "[0,4]") "," T("b", "U8", "[0]", "[2,2]") "}", 4, "at byte 4,"},
        {"{" T("a", "U8", "[4]", "[0,4]") "}", 5, "expected the end of the file at byte 65"},
        {"{}", 1, "expected the end of the file at byte 10"},
    };
    for (size_t i = 0; i < DROVE_COUNT(wrong); i++) {
        expect_refused(wrong[i].header, wrong[i].n_data, wrong[i].part);
    }
}

TEST(test_wrong_names_and_metadata)
{
    expect_refused("{" T("a", "U8", "[1]", "[0,1]") "," T("a", "U8", "[1]", "[1,2]") "}", 2,
                   "duplicate");
    expect_refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "duplicate");
    expect_refused("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, "duplicate");
    expect_refused("{\"__metadata__\":{\"k\":1}}", 0, "expected text as \"k\"");
    expect_refused("{\"__metadata__\":{\"j\":\"x\",\"k\":{}}}", 0, "expected text as \"k\"");
    expect_refused("{\"__metadata__\":{\"k\":null}}", 0, "expected text as \"k\"");
    expect_refused("{\"__metadata__\":[]}", 0, "expected an object as __metadata__");
    expect_refused("{\"__metadata__\":{\"k\":\"a\\u0000b\"}}", 0, "not valid JSON");
    char header[400], name[97];
    memset(name, 'n', sizeof name - 1);
    name[96] = '\0';
    snprintf(header, sizeof header,
             "{\"%s\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", name);
    expect_refused(header, 1, "a name of 1 to 95 bytes");
    name[95] = '\0';
    snprintf(header, sizeof header,
             "{\"%s\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", name);
    write_file(header, 1);
    drove_safetensors st;
    assert_ok(drove__safetensors_load(FILE_NAME, &st));
    assert_string_equal(st.tensor[0].name, name);
    drove__safetensors_fini(&st);
}

TEST(test_wrong_header_length)
{
    static const uint64_t lengths[] = {
        0, 1, 9, 10, 100, UINT32_MAX, (1u << 27), UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63};
    for (size_t i = 0; i < DROVE_COUNT(lengths); i++) {
        char file[16];
        drove_safetensors st;
        memcpy(file, &lengths[i], 8);
        memcpy(file + 8, "{}      ", 8);
        write_bytes(FILE_NAME, file, sizeof file);
        assert_int_equal(drove__safetensors_load(FILE_NAME, &st), DROVE_E_DATA);
        assert_error_has(lengths[i] == 1 || lengths[i] == 0 || lengths[i] > 8 ? "byte 0" : "JSON");
        expect_empty(&st);
    }
}

/* A gzip file may not claim more than gzip can hold, nor end early. */
TEST(test_wrong_gzip)
{
    static const char header[] =
        "{" T("a", "U8", "[1152921504606846976]", "[0,1152921504606846976]") "}";
    char file[8 + sizeof header];
    uint64_t n_header = sizeof header - 1;
    memcpy(file, &n_header, 8);
    memcpy(file + 8, header, sizeof header);
    drove_safetensors st;
    write_gzip(FILE_NAME, file, 8 + n_header, 1);
    assert_fails(drove__safetensors_load(FILE_NAME, &st), DROVE_E_DATA, "cannot hold");
    static const char small[] = "{" T("a", "U8", "[1000]", "[0,1000]") "}";
    n_header = sizeof small - 1;
    memcpy(file, &n_header, 8);
    memcpy(file + 8, small, sizeof small);
    write_gzip(FILE_NAME, file, 8 + n_header + 1, 1);
    assert_fails(drove__safetensors_load(FILE_NAME, &st), DROVE_E_DATA, "expected 999 more");
    expect_empty(&st);
}

static size_t make_sample(void)
{
    static const float w[6] = {1, 2, 3, 4, 5, 6};
    static const uint8_t b[3] = {7, 8, 9};
    const drove_tensor tensor[] = {{"w", DROVE_T_F32, 2, {2, 3}, w},
                                   {"b", DROVE_T_U8, 1, {3}, b},
                                   {"z", DROVE_T_I32, 2, {0, 5}, NULL}};
    static const char *const meta[] = {"model", "mlp:2", "loss", "softmax", NULL};
    assert_ok(drove__safetensors_write(FILE_NAME, tensor, 3, meta));
    size_t n;
    free(read_bytes(FILE_NAME, &n));
    return n;
}

TEST(test_truncated_at_every_byte)
{
    size_t n = make_sample();
    char *file = read_bytes(FILE_NAME, NULL);
    for (size_t cut = 0; cut < n; cut++) {
        drove_safetensors st;
        write_bytes(FILE_NAME, file, cut);
        drove_status status = drove__safetensors_load(FILE_NAME, &st);
        if (status != DROVE_E_DATA) fail_msg("%zu bytes: %s", cut, drove_status_name(status));
        assert_error_has(FILE_NAME);
        expect_empty(&st);
    }
    free(file);
}

/* The same tensors in a file without checksums, as other programs write them. */
static size_t make_plain_sample(void)
{
    write_file("{\"__metadata__\":{\"model\":\"mlp:2\",\"loss\":\"softmax\"},"
               "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
               "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[24,27]},"
               "\"z\":{\"dtype\":\"I32\",\"shape\":[0,5],\"data_offsets\":[27,27]}}  ",
               27);
    size_t n;
    free(read_bytes(FILE_NAME, &n));
    return n;
}

/* With checksums no flipped bit goes unnoticed, wherever it is. */
TEST(test_every_flipped_bit)
{
    size_t n = make_sample();
    char *file = read_bytes(FILE_NAME, NULL);
    drove_safetensors st;
    assert_ok(drove__safetensors_load(FILE_NAME, &st));
    assert_true(st.is_checked && st.n_meta == 2);
    drove__safetensors_fini(&st);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        file[bit / 8] = (char)(file[bit / 8] ^ (1 << bit % 8));
        write_bytes(FILE_NAME, file, n);
        drove_status status = drove__safetensors_load(FILE_NAME, &st);
        if (status == DROVE_OK && st.is_checked) fail_msg("bit %zu of %zu", bit, 8 * n);
        if (status == DROVE_OK) fail_msg("bit %zu of %zu: no checksums any more", bit, 8 * n);
        assert_int_equal(status, DROVE_E_DATA);
        expect_empty(&st);
        file[bit / 8] = (char)(file[bit / 8] ^ (1 << bit % 8));
    }
    free(file);
}

/* Which tensor it is. */
TEST(test_damage_is_named)
{
    size_t n = make_sample();
    char *file = read_bytes(FILE_NAME, NULL);
    drove_safetensors st;
    file[n - 1] ^= 1;
    write_bytes(FILE_NAME, file, n);
    assert_fails(drove__safetensors_load(FILE_NAME, &st), DROVE_E_DATA,
                 "tensor \"b\": expected checksum");
    free(file);
    static const float values[2] = {0};
    static const drove_tensor tensor[] = {{"w", DROVE_T_F32, 1, {2}, values}};
    static const char *const meta[] = {"checksums", "{}", NULL};
    assert_fails(drove__safetensors_write(FILE_NAME, tensor, 1, meta), DROVE_E_ARG, "reserved");
}

/* Whatever is changed: loaded or refused, never anything else (the sanitizers watch). */
TEST(test_changed_at_every_byte)
{
    drove_rng rng;
    drove__rng_seed(&rng, 9, DROVE_RNG_TEST, 0);
    size_t n = make_plain_sample();
    char *file = read_bytes(FILE_NAME, NULL);
    unsigned n_loaded = 0, n_refused = 0;
    for (size_t round = 0; round < 20 * n; round++) {
        char saved[3];
        size_t at[3];
        int n_changes = 1 + (int)(round / n) % 3;
        for (int i = 0; i < n_changes; i++) {
            static const char likely[] = "0123456789-,:[]{}\" eE.\0\xff";
            at[i] = i == 0 ? round % n : (size_t)drove__rng_below(&rng, n);
            saved[i] = file[at[i]];
            file[at[i]] = round % 2 == 0 ? (char)drove__rng_below(&rng, 256)
                                         : likely[drove__rng_below(&rng, sizeof likely)];
        }
        drove_safetensors st;
        write_bytes(FILE_NAME, file, n);
        drove_status status = drove__safetensors_load(FILE_NAME, &st);
        if (status == DROVE_OK) {
            n_loaded++;
            assert_true(st.n_tensors <= 3 && st.size_bytes <= 3 * 64);
            drove__safetensors_fini(&st);
        } else {
            n_refused++;
            assert_int_equal(status, DROVE_E_DATA);
            expect_empty(&st);
        }
        for (int i = n_changes; i-- > 0;) file[at[i]] = saved[i];
    }
    assert_true(n_loaded > 0 && n_refused > 0);
    free(file);
}

TEST(test_other_failures)
{
    drove_safetensors st;
    assert_fails(drove__safetensors_load("absent", &st), DROVE_E_FILE, "absent");
    expect_empty(&st);
    assert_fails(drove__safetensors_load(".", &st), DROVE_E_FILE, "directory");
    write_bytes(FILE_NAME, "", 0);
    assert_fails(drove__safetensors_load(FILE_NAME, &st), DROVE_E_DATA, "ends at byte 0");
    char *deep = malloc(1 << 20); /* nesting that would use up a recursive parser's stack */
    assert_non_null(deep);
    memset(deep, '[', 1 << 20);
    deep[(1 << 20) - 1] = '\0';
    expect_refused(deep, 0, "not valid JSON");
    free(deep);
}
