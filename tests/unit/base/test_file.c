/* The reader: plain and gzip files give the same content in pieces and lines, and every damage is
 * named. */
#include "support.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define PLAIN "content.txt"
#define GZIP  "content.gz"

/* Lines of all sizes, some with NUL bytes and carriage returns, some longer than the reader's
 * buffer. */
static char *make_text(size_t size_bytes)
{
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    char *text = malloc(size_bytes);
    assert_non_null(text);
    size_t next_break = 0;
    for (size_t i = 0; i < size_bytes; i++) {
        if (i == next_break) {
            uint64_t kind = drove__rng_below(&rng, 60);
            next_break += 1 + drove__rng_below(&rng, kind == 0 ? 900000 : kind < 40 ? 80 : 3);
            text[i] = '\n';
            if (i > 0 && kind % 7 == 0) text[i - 1] = '\r';
        } else
            text[i] = (char)drove__rng_below(&rng, 40) == 0 ? '\0' : "0123456789.e-+,: abc"[i % 20];
    }
    return text;
}

static void write_both(const void *bytes, size_t size_bytes)
{
    write_bytes(PLAIN, bytes, size_bytes);
    write_gzip(GZIP, bytes, size_bytes, 1);
}

/* The whole content, read in random pieces by both reading functions. */
static void check_content(const char *path, const char *expected, size_t size_bytes, uint64_t seed)
{
    drove_reader *r;
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 1);
    assert_ok(drove__reader_open(path, &r));
    assert_true(drove__reader_most_bytes(r) >= size_bytes);
    char *piece = malloc(size_bytes + 1);
    assert_non_null(piece);
    size_t done = 0;
    while (done < size_bytes) {
        size_t n = (size_t)drove__rng_below(&rng, drove__rng_below(&rng, 3) == 0 ? 700000 : 300),
               n_read = 0;
        if (drove__rng_below(&rng, 2) == 0 && n > 0) {
            assert_ok(drove__reader_read_some(r, piece, n < size_bytes ? n : size_bytes, &n_read));
            assert_true(n_read > 0 && n_read <= n);
        } else {
            n_read = n < size_bytes - done ? n : size_bytes - done;
            assert_ok(drove__reader_read(r, piece, n_read));
        }
        assert_memory_equal(piece, expected + done, n_read);
        done += n_read;
        assert_int_equal(drove__reader_offset(r), done);
    }
    size_t n_read = 1;
    assert_ok(drove__reader_read_some(r, piece, 1, &n_read));
    assert_int_equal(n_read, 0);
    assert_ok(drove__reader_read(r, piece, 0));
    assert_fails(drove__reader_read(r, piece, 7), DROVE_E_DATA, "expected 7 more");
    assert_error_has(path);
    free(piece);
    drove__reader_close(r);
}

TEST(test_pieces)
{
    enum { SIZE = 3000001 };
    char *text = make_text(SIZE);
    static const size_t sizes[] = {0, 1, 2, 3, 100, 262143, 262144, 262145, 524288, SIZE};
    for (size_t i = 0; i < DROVE_COUNT(sizes); i++) {
        write_both(text, sizes[i]);
        for (uint64_t seed = 0; seed < 3; seed++) {
            check_content(PLAIN, text, sizes[i], seed);
            check_content(GZIP, text, sizes[i], seed);
        }
    }
    free(text);
}

/* "-" is standard input; its descriptor stays open for the program. */
TEST(test_standard_input)
{
    drove_reader *r;
    char *line;
    size_t length;
    int before = dup(STDIN_FILENO);
    write_bytes(PLAIN, "one\ntwo\n", 8);
    assert_non_null(freopen(PLAIN, "r", stdin));
    assert_ok(drove__reader_open("-", &r));
    assert_string_equal(drove__reader_path(r), "standard input");
    assert_int_equal(drove__reader_plain_bytes(r), 8);
    assert_false(drove__reader_is_regular(r));
    assert_ok(drove__reader_line(r, &line, &length));
    assert_string_equal(line, "one");
    drove__reader_close(r);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    assert_true(dup2(before, STDIN_FILENO) >= 0);
    close(before);
}

/* Any part of a regular file, the position left alone. */
TEST(test_reading_at)
{
    drove_reader *r;
    char part[8];
    size_t n = 99;
    write_bytes("parts", "0123456789", 10);
    assert_ok(drove__reader_open("parts", &r));
    assert_true(drove__reader_is_regular(r));
    assert_ok(drove__reader_read_at(r, 3, part, 4, &n));
    assert_int_equal(n, 4);
    assert_memory_equal(part, "3456", 4);
    assert_ok(drove__reader_read_at(r, 7, part, 8, &n));
    assert_int_equal(n, 3);
    assert_memory_equal(part, "789", 3);
    assert_ok(drove__reader_read_at(r, 10, part, 1, &n));
    assert_int_equal(n, 0);
    assert_ok(drove__reader_read(r, part, 2));
    assert_memory_equal(part, "01", 2);
    drove__reader_close(r);
}

/* A file of two streams that hold "one\ntw" and 40 times "o"; without its last byte; with one byte
 * changed. */
static void check_compressed(const char *name, const unsigned char *bytes, size_t n, size_t damaged,
                             unsigned char wrong)
{
    drove_reader *r;
    char *line, text[64], word[32];
    size_t length;
    unsigned char *other = malloc(n);
    assert_non_null(other);
    write_bytes("content.packed", bytes, n);
    drove_status status = drove__reader_open("content.packed", &r);
    if (status == DROVE_E_UNSUPPORTED) {
        assert_error_has(name);
        print_message("skipped: this build does not read %s\n", name);
        free(other);
        return;
    }
    assert_ok(status);
    assert_true(drove__reader_plain_bytes(r) == UINT64_MAX);
    assert_true(drove__reader_most_bytes(r) == UINT64_MAX);
    assert_ok(drove__reader_line(r, &line, &length));
    assert_string_equal(line, "one");
    assert_ok(drove__reader_line(r, &line, &length));
    assert_int_equal(length, 42);
    assert_memory_equal(line, "twoooo", 6);
    assert_ok(drove__reader_line(r, &line, &length));
    assert_null(line);
    drove__reader_close(r);
    write_bytes("content.packed", bytes, n - 1);
    assert_ok(drove__reader_open("content.packed", &r));
    assert_fails(drove__reader_read(r, text, 47), DROVE_E_DATA, "truncated");
    drove__reader_close(r);
    memcpy(other, bytes, n);
    other[damaged] = wrong;
    write_bytes("content.packed", other, n);
    assert_ok(drove__reader_open("content.packed", &r));
    snprintf(word, sizeof word, "damaged %s", name);
    assert_fails(drove__reader_read(r, text, 46), DROVE_E_DATA, word);
    drove__reader_close(r);
    free(other);
}

/* Two frames, one of a raw block and one of a repeated byte, written by hand. */
TEST(test_zstd)
{
    static const unsigned char frames[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 6,   0x31, 0,    0,
                                           'o',  'n',  'e',  '\n', 't',  'w', 0x28, 0xb5, 0x2f,
                                           0xfd, 0x20, 40,   0x43, 0x01, 0,   'o'};
    check_compressed("zstd", frames, sizeof frames, 6, 0x37); /* a block of the reserved type */
}

/* As bzip2 1.0.8 writes two streams. */
TEST(test_bzip2)
{
    static const unsigned char streams[] = {
        0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x4f, 0x07, 0x49, 0x32,
        0x00, 0x00, 0x01, 0xc1, 0x80, 0x00, 0x10, 0x02, 0x01, 0x84, 0x80, 0x20, 0x00, 0x21,
        0x80, 0x0c, 0x01, 0x39, 0xae, 0xe2, 0xee, 0x48, 0xa7, 0x0a, 0x12, 0x09, 0xe0, 0xe9,
        0x26, 0x40, 0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x31, 0xec,
        0x0f, 0xb8, 0x00, 0x00, 0x02, 0x11, 0x00, 0x04, 0x00, 0x00, 0x00, 0xa0, 0x00, 0x21,
        0x00, 0x82, 0x0b, 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0x31, 0xec, 0x0f, 0xb8};
    check_compressed("bzip2", streams, sizeof streams, 20, 0x55);
}

/* As xz 5.4 writes two streams, with zeros between them. */
TEST(test_xz)
{
    static const unsigned char streams[] = {
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21,
        0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x05, 0x6f, 0x6e, 0x65,
        0x0a, 0x74, 0x77, 0x00, 0x00, 0x00, 0x8a, 0x0f, 0x3f, 0xea, 0x00, 0x01, 0x1a, 0x06, 0xc5,
        0xea, 0xc8, 0x79, 0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
        0x00, 0x00, 0x00, 0x00, 0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde,
        0x36, 0x02, 0x00, 0x21, 0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0xe0, 0x00,
        0x27, 0x00, 0x06, 0x5d, 0x00, 0x37, 0xee, 0x26, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x8f,
        0xd8, 0x9b, 0x28, 0x00, 0x01, 0x1e, 0x28, 0x0e, 0x22, 0x72, 0xc1, 0x90, 0x42, 0x99, 0x0d,
        0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a};
    check_compressed("xz", streams, sizeof streams, 32, 0x55);
}

/* Lines as a loop over the bytes finds them. */
static void check_lines(const char *path, const char *text, size_t size_bytes)
{
    drove_reader *r;
    assert_ok(drove__reader_open(path, &r));
    size_t start = 0;
    uint64_t number = 0;
    while (start < size_bytes) {
        size_t end = start;
        while (end < size_bytes && text[end] != '\n') end++;
        size_t after = end < size_bytes ? end + 1 : end;
        if (end > start && text[end - 1] == '\r') end--;
        char *line;
        size_t length;
        assert_ok(drove__reader_line(r, &line, &length));
        assert_non_null(line);
        if (length != end - start) fail_msg("%s: line %d", path, (int)number + 1);
        assert_memory_equal(line, text + start, length);
        assert_int_equal(line[length], '\0');
        memset(line, '#', length); /* it is ours until the next call */
        assert_int_equal(drove__reader_line_number(r), ++number);
        assert_int_equal(drove__reader_offset(r), after);
        start = after;
    }
    for (int i = 0; i < 2; i++) {
        char *line = "";
        size_t length = 1;
        assert_ok(drove__reader_line(r, &line, &length));
        assert_null(line);
        assert_int_equal(length, 0);
        assert_int_equal(drove__reader_line_number(r), number);
    }
    drove__reader_close(r);
}

TEST(test_lines)
{
    enum { SIZE = 3000001 };
    char *text = make_text(SIZE);
    write_both(text, SIZE);
    check_lines(PLAIN, text, SIZE);
    check_lines(GZIP, text, SIZE);
    static const char *const small[] = {"",    "\n",         "\r\n",      "a",     "a\n",
                                        "a\r", "a\r\n\r\nb", "\n\n\nx\n", "\r\r\n"};
    for (size_t i = 0; i < DROVE_COUNT(small); i++) {
        write_both(small[i], strlen(small[i]));
        check_lines(PLAIN, small[i], strlen(small[i]));
        check_lines(GZIP, small[i], strlen(small[i]));
    }
    /* A last line without newline that ends exactly with the buffer, and line ends around that
     * place. */
    memset(text, 'x', SIZE);
    for (size_t n = 262142; n <= 262146; n++) {
        write_bytes(PLAIN, text, n);
        check_lines(PLAIN, text, n);
        memcpy(text + n - 2, "\r\n", 2);
        write_bytes(PLAIN, text, n + 10);
        check_lines(PLAIN, text, n + 10);
        memset(text + n - 2, 'x', 2);
    }
    free(text);
}

TEST(test_lines_after_a_header)
{
    write_both("HEADlines\nmore", 14);
    static const char *const paths[] = {PLAIN, GZIP};
    for (int i = 0; i < 2; i++) {
        drove_reader *r;
        char head[4], *line;
        size_t length;
        assert_ok(drove__reader_open(paths[i], &r));
        assert_string_equal(drove__reader_path(r), paths[i]);
        assert_ok(drove__reader_read(r, head, 4));
        assert_ok(drove__reader_line(r, &line, &length));
        assert_string_equal(line, "lines");
        assert_ok(drove__reader_read(r, head, 4));
        assert_memory_equal(head, "more", 4);
        drove__reader_close(r);
    }
    drove__reader_close(NULL);
}

TEST(test_plain_file_that_starts_like_gzip)
{
    write_bytes(PLAIN, "\x1f", 1);
    check_content(PLAIN, "\x1f", 1, 0);
    write_bytes(PLAIN, "\x1f\x8c rest", 7);
    check_content(PLAIN, "\x1f\x8c rest", 7, 0);
}

TEST(test_members)
{
    enum { SIZE = 600000 };
    char *text = make_text(SIZE);
    write_gzip(GZIP, text, 1, 1);
    write_gzip(GZIP, text + 1, 0, 0);
    write_gzip(GZIP, text + 1, 299999, 0);
    write_gzip(GZIP, text + 300000, 300000, 0);
    check_content(GZIP, text, SIZE, 0);
    check_lines(GZIP, text, SIZE);
    size_t n;
    char *packed = read_bytes(GZIP, &n);
    char *padded = calloc(n + 600000, 1);
    assert_non_null(padded);
    memcpy(padded, packed, n);
    write_bytes(GZIP, padded, n + 600000); /* zeros may follow, as from a tape */
    check_content(GZIP, text, SIZE, 1);
    static const size_t places[] = {599999, 300}; /* in a later part of the file, and in the same */
    for (size_t i = 0; i < 2; i++) {
        drove_reader *r;
        char byte[32];
        padded[n + places[i]] = 'x';
        write_bytes(GZIP, padded, n + 600000);
        assert_ok(drove__reader_open(GZIP, &r));
        assert_fails(drove__reader_read(r, text, SIZE + 1), DROVE_E_DATA, "another gzip member");
        assert_error_has(GZIP);
        snprintf(byte, sizeof byte, "byte %zu,", n + places[i]);
        assert_error_has(byte);
        drove__reader_close(r);
    }
    free(padded);
    free(packed);
    free(text);
}

/* DROVE_OK with the right content, or DROVE_E_DATA that names the file and a byte inside it. */
static drove_status read_damaged(const char *expected, size_t size_bytes, bool *same)
{
    drove_reader *r;
    char into[5000];
    size_t done = 0, n = 1;
    drove_status status = drove__reader_open(GZIP, &r);
    if (status != DROVE_OK) return status;
    while (status == DROVE_OK && n > 0) {
        status = drove__reader_read_some(r, into + done, sizeof into - done, &n);
        if (status == DROVE_OK) done += n;
    }
    *same = status == DROVE_OK && done == size_bytes && memcmp(into, expected, done) == 0;
    drove__reader_close(r);
    if (status != DROVE_OK) assert_error_has(GZIP ": ");
    return status;
}

TEST(test_truncated_gzip)
{
    char *text = make_text(4000);
    write_gzip(GZIP, text, 4000, 1);
    size_t n;
    char *packed = read_bytes(GZIP, &n);
    for (size_t cut = 2; cut < n; cut++) { /* below two bytes nothing says gzip */
        bool same = false;
        char byte[64];
        write_bytes(GZIP, packed, cut);
        assert_int_equal(read_damaged(text, 4000, &same), DROVE_E_DATA);
        snprintf(byte, sizeof byte, "truncated: the file ends at byte %zu,", cut);
        assert_error_has(byte);
    }
    free(packed);
    free(text);
}

TEST(test_damaged_gzip)
{
    char *text = make_text(4000);
    write_gzip(GZIP, text, 4000, 1);
    size_t n;
    unsigned n_detected = 0;
    char *packed = read_bytes(GZIP, &n);
    for (size_t at = 2; at < n; at++) {
        for (int bit = 0; bit < 8; bit++) {
            bool same = false;
            packed[at] = (char)(packed[at] ^ 1 << bit);
            write_bytes(GZIP, packed, n);
            drove_status status = read_damaged(text, 4000, &same);
            if (status == DROVE_OK)
                assert_true(same); /* the time stamp, bits that fill a byte ... */
            else {
                assert_int_equal(status, DROVE_E_DATA);
                n_detected++;
            }
            packed[at] = (char)(packed[at] ^ 1 << bit);
        }
    }
    assert_true(n_detected >= 8 * (n - 11));
    packed[n - 1] ^= 1; /* the length, last of all */
    bool same;
    write_bytes(GZIP, packed, n);
    assert_int_equal(read_damaged(text, 4000, &same), DROVE_E_DATA);
    assert_error_has("damaged gzip stream near byte");
    free(packed);
    free(text);
}

TEST(test_cannot_open)
{
    drove_reader *r = (drove_reader *)1;
    unlink("absent");
    assert_fails(drove__reader_open("absent", &r), DROVE_E_FILE,
                 "absent: cannot be opened: No such file");
    assert_null(r);
    write_bytes("present.gz", "x", 1);
    unlink("present");
    assert_fails(drove__reader_open("present", &r), DROVE_E_FILE, "did you mean present.gz?");
    write_bytes("bare", "x", 1);
    unlink("bare.gz");
    assert_fails(drove__reader_open("bare.gz", &r), DROVE_E_FILE,
                 "bare.gz: no such file; did you mean bare?");
    assert_fails(drove__reader_open(".", &r), DROVE_E_FILE, "Is a directory");
    assert_fails(drove__reader_open("bare/x", &r), DROVE_E_FILE, "Not a directory");
    char name[6000];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_fails(drove__reader_open(name, &r), DROVE_E_FILE, "File name too long");
    if (geteuid() == 0) return; /* may read everything */
    write_bytes("secret", "x", 1);
    assert_int_equal(chmod("secret", 0), 0);
    assert_fails(drove__reader_open("secret", &r), DROVE_E_FILE, "Permission denied");
}

TEST(test_most_bytes)
{
    enum { SIZE = 10000000 };
    drove_reader *r;
    char *zeros = calloc(SIZE, 1);
    assert_non_null(zeros);
    write_both(zeros, SIZE);
    assert_ok(drove__reader_open(PLAIN, &r));
    assert_int_equal(drove__reader_most_bytes(r), SIZE);
    drove__reader_close(r);
    assert_ok(drove__reader_open(GZIP, &r)); /* the best that deflate can do */
    assert_true(drove__reader_most_bytes(r) >= SIZE && drove__reader_most_bytes(r) < 2 * SIZE);
    drove__reader_close(r);
    free(zeros);
}

TEST(test_pipe)
{
    int ends[2];
    char path[64], into[5];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    if (access(path, R_OK) != 0) skip();
    assert_int_equal(write(ends[1], "hello", 5), 5);
    close(ends[1]);
    drove_reader *r;
    assert_ok(drove__reader_open(path, &r));
    assert_true(drove__reader_most_bytes(r) == UINT64_MAX);
    assert_ok(drove__reader_read(r, into, 1));
    assert_ok(drove__reader_skip(r, 2)); /* where nobody can seek */
    assert_ok(drove__reader_read(r, into + 3, 2));
    assert_memory_equal(into + 3, "lo", 2);
    drove__reader_close(r);
    close(ends[0]);
}

/* Over what lies in the buffer, over its end, and far behind it; the end. */
TEST(test_skip)
{
    enum { SIZE = 3000000 };
    static const uint64_t steps[] = {0, 1, 100000, 300000, 5, 262144, 1000000};
    uint8_t *bytes = malloc(SIZE), found[7];
    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    write_both(bytes, SIZE);
    static const char *const paths[] = {PLAIN, GZIP};
    for (size_t k = 0; k < 2; k++) {
        drove_reader *r;
        uint64_t at = 0;
        assert_int_equal(drove__reader_open(paths[k], &r), DROVE_OK);
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            assert_int_equal(drove__reader_skip(r, steps[i]), DROVE_OK);
            at += steps[i];
            assert_int_equal(drove__reader_offset(r), at);
            assert_int_equal(drove__reader_read(r, found, sizeof found), DROVE_OK);
            assert_memory_equal(found, bytes + at, sizeof found);
            at += sizeof found;
        }
        assert_int_equal(drove__reader_skip(r, SIZE - at), DROVE_OK);
        assert_int_equal(drove__reader_skip(r, 0), DROVE_OK);
        assert_int_equal(drove__reader_skip(r, 1), DROVE_E_DATA);
        assert_non_null(strstr(drove_error_text(), "expected 1 more"));
        drove__reader_close(r);
    }
    free(bytes);
}

TEST(test_load)
{
    char *text = make_text(100000), *loaded = NULL;
    size_t n = 0;
    static const size_t sizes[] = {0, 1, 8190, 8191, 8192, 8193, 16383, 100000};
    for (size_t i = 0; i < DROVE_COUNT(sizes); i++) {
        write_both(text, sizes[i]);
        for (int gzip = 0; gzip < 2; gzip++) {
            assert_ok(drove__file_load(gzip ? GZIP : PLAIN, sizes[i], &loaded, &n));
            assert_int_equal(n, sizes[i]);
            assert_memory_equal(loaded, text, n);
            assert_int_equal(loaded[n], '\0');
            free(loaded);
        }
    }
    loaded = NULL;
    assert_fails(drove__file_load(PLAIN, 99999, &loaded, &n), DROVE_E_DATA, "at most 99999 bytes");
    assert_fails(drove__file_load("absent", 10, &loaded, &n), DROVE_E_FILE, "absent");
    assert_null(loaded);
    free(text);
}

TEST(test_mnist)
{
    const char *folder = getenv("DROVE_TEST_DATA");
    char path[4096];
    snprintf(path, sizeof path, "%s/mnist/train-images-idx3-ubyte.gz",
             folder != NULL ? folder : DROVE_SOURCE_DIR "/../shared/data");
    if (access(path, R_OK) != 0) {
        print_message("%s is not there: skipped\n", path);
        skip();
    }
    enum { SIZE = 16 + 60000 * 784 };
    uint8_t *images = drove__alloc(SIZE, 1);
    assert_non_null(images);
    drove_reader *r;
    assert_ok(drove__reader_open(path, &r));
    assert_true(drove__reader_most_bytes(r) >= SIZE);
    assert_ok(drove__reader_read(r, images, SIZE));
    size_t n;
    char byte;
    assert_ok(drove__reader_read_some(r, &byte, 1, &n));
    assert_int_equal(n, 0);
    drove__reader_close(r);
    static const uint8_t head[] = {0, 0, 8, 3, 0, 0, 0xea, 0x60, 0, 0, 0, 28, 0, 0, 0, 28};
    assert_memory_equal(images, head, sizeof head);
    double sum = 0;
    for (size_t i = 16; i < SIZE; i++) sum += images[i];
    double mean = sum / (60000.0 * 784.0) / 255.0;
    assert_true(mean > 0.13065 && mean < 0.13067); /* the set's well-known mean, 0.1307 */
    drove__free(images);
}

/* A section of a file has its own bytes, and both names. */
TEST(a_section_is_named)
{
    drove_reader *r;
    char bytes[4];
    write_text(PLAIN, "..abcd..");
    drove_section section = {.name = "part", .offset = 2, .packed_bytes = 4, .size_bytes = 4};
    section.crc = (uint32_t)crc32(0, (const unsigned char *)"abcd", 4);
    assert_ok(drove__reader_open_section(PLAIN, &section, &r));
    assert_string_equal(drove__reader_path(r), PLAIN ":part");
    assert_ok(drove__reader_read(r, bytes, 4));
    assert_memory_equal(bytes, "abcd", 4);
    drove__reader_close(r);
}
