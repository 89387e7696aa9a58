/* Tar archives: headers made here field by field, in every format; members by hand; damage. */
#include "support.h"

#include "base/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "x.tar"

typedef struct archive {
    unsigned char bytes[64 << 10];
    size_t n;
} archive;

/* One header; the checksum is the sum of its bytes with blanks in its place. */
static unsigned char *put_header(archive *a, const char *name, char type, const char *size)
{
    unsigned char *block = a->bytes + a->n;
    unsigned sum = 0;
    memset(block, 0, 512);
    memcpy(block, name, strlen(name));
    memcpy(block + 124, size, strlen(size));
    block[156] = (unsigned char)type;
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < 512; i++) sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum);
    a->n += 512;
    return block;
}

static void put_content(archive *a, const char *text)
{
    const size_t n = strlen(text);
    memset(a->bytes + a->n, 0, (n + 511) / 512 * 512);
    memcpy(a->bytes + a->n, text, n);
    a->n += (n + 511) / 512 * 512;
}

static void put(archive *a, const char *name, char type, const char *text)
{
    char size[13];
    snprintf(size, sizeof size, "%011o", (unsigned)strlen(text));
    put_header(a, name, type, size);
    put_content(a, text);
}

static void finish(archive *a)
{
    memset(a->bytes + a->n, 0, 1024);
    a->n += 1024;
    write_bytes(FILE_NAME, a->bytes, a->n);
}

/* The next member is this one, and there it is. */
static void expect(drove_tar *tar, const char *name, const char *text)
{
    drove_tar_member member;
    bool found;
    char *content;
    size_t n;
    assert_ok(drove__tar_next(tar, &member, &found));
    assert_true(found);
    assert_string_equal(member.name, name);
    assert_int_equal(member.size_bytes, strlen(text));
    assert_ok(drove__tar_load(tar, 1000, &content, &n));
    assert_int_equal(n, strlen(text));
    assert_string_equal(content, text);
    free(content);
}

static void expect_end(drove_tar *tar)
{
    drove_tar_member member;
    bool found = true;
    assert_ok(drove__tar_next(tar, &member, &found));
    assert_false(found);
    drove__tar_close(tar);
}

TEST(test_members)
{
    static archive a;
    drove_tar *tar;
    char long_name[300];
    a.n = 0;
    memset(long_name, 'n', sizeof long_name);
    long_name[299] = '\0';
    put(&a, "plain", '0', "one");
    put(&a, "old", '\0', "two");       /* before POSIX */
    put(&a, "folder/", '5', "");       /* no file */
    put(&a, "link", '2', "");          /* nor this */
    put(&a, "contiguous", '7', "7th"); /* a file all the same */
    put(&a, "long", 'L', long_name);   /* GNU: the name of the next */
    put(&a, "short", '0', "three");
    put(&a, "target", 'K', long_name); /* GNU: of a link, not wanted */
    put(&a, "four", '0', "");
    put(&a, "global", 'g', "19 comment=nothing\n");
    put(&a, "five", '0', "5");
    finish(&a);
    assert_ok(drove__tar_open(FILE_NAME, &tar));
    expect(tar, "plain", "one");
    expect(tar, "old", "two");
    expect(tar, "contiguous", "7th");
    expect(tar, long_name, "three");
    expect(tar, "four", "");
    expect(tar, "five", "5");
    expect_end(tar);
}

/* Pax: path and size of the next member stand in records; others are skipped. */
TEST(test_pax)
{
    static archive a;
    drove_tar *tar;
    a.n = 0;
    put(&a, "pax", 'x', "14 path=a/b/c\n13 mtime=1.5\n10 size=6\n");
    put_header(&a, "cut", '0', "00000000000"); /* its own size is not the one that counts */
    put_content(&a, "secret");
    put(&a, "next", '0', "plain");
    finish(&a);
    assert_ok(drove__tar_open(FILE_NAME, &tar));
    expect(tar, "a/b/c", "secret");
    expect(tar, "next", "plain");
    expect_end(tar);
}

/* A size in base 256, as GNU writes those beyond eight octal digits. */
TEST(test_base_256)
{
    static archive a;
    drove_tar *tar;
    a.n = 0;
    unsigned char *block = put_header(&a, "binary", '0', "");
    unsigned sum = 0;
    memset(block + 124, 0, 12);
    block[124] = 0x80;
    block[135] = 4;
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < 512; i++) sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum);
    put_content(&a, "four");
    finish(&a);
    assert_ok(drove__tar_open(FILE_NAME, &tar));
    expect(tar, "binary", "four");
    expect_end(tar);
}

TEST(test_refusals)
{
    static archive a;
    static const struct {
        char type;
        const char *content, *part;
        drove_status status;
    } cases[] = {
        {'x', "10 size=x\n", "a size in a pax record", DROVE_E_DATA},
        {'x', "11 size=-1\n", "a size in a pax record", DROVE_E_DATA},
        {'x', "29 size=18446744073709551615\n", "a size in a pax record", DROVE_E_DATA},
        {'x', "12 size=1 2\n", "a size in a pax record", DROVE_E_DATA},
        {'x', "9 size=1", "a pax record", DROVE_E_DATA},
        {'x', "99 size=1\n", "a pax record", DROVE_E_DATA},
        {'x', "7 sizes\n", "a pax record", DROVE_E_DATA},
        {'x', "path=a\n", "a pax record", DROVE_E_DATA},
        {'x', "15 size=100000\n", "the content of a member", DROVE_E_DATA},
        {'S', "", "sparse", DROVE_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drove_tar *tar;
        drove_tar_member member;
        bool found;
        char *content;
        size_t n;
        a.n = 0;
        put(&a, "extension", cases[i].type, cases[i].content);
        put(&a, "file", '0', "content");
        finish(&a);
        assert_ok(drove__tar_open(FILE_NAME, &tar));
        drove_status status = drove__tar_next(tar, &member, &found);
        if (status == DROVE_OK) status = drove__tar_load(tar, 1 << 20, &content, &n);
        if (status != cases[i].status) fail_msg("case %zu: %s", i, drove_status_name(status));
        assert_error_has(cases[i].part);
        drove__tar_close(tar);
    }
}

/* More than the caller wants; an archive that ends too early; no archive. */
TEST(test_sizes)
{
    static archive a;
    drove_tar *tar;
    drove_tar_member member;
    bool found;
    char *content;
    size_t n;
    a.n = 0;
    put(&a, "file", '0', "content");
    finish(&a);
    assert_ok(drove__tar_open(FILE_NAME, &tar));
    assert_ok(drove__tar_next(tar, &member, &found));
    assert_fails(drove__tar_load(tar, 6, &content, &n), DROVE_E_DATA, "at most 6 bytes, found 7");
    drove__tar_close(tar);
    for (size_t cut = 513; cut < 1536; cut += 211) {
        write_bytes(FILE_NAME, a.bytes, cut);
        assert_ok(drove__tar_open(FILE_NAME, &tar));
        drove_status status = drove__tar_next(tar, &member, &found);
        if (status == DROVE_OK) status = drove__tar_next(tar, &member, &found);
        assert_int_equal(status, DROVE_E_DATA);
        drove__tar_close(tar);
    }
    a.bytes[0] ^= 1;
    write_bytes(FILE_NAME, a.bytes, a.n);
    assert_ok(drove__tar_open(FILE_NAME, &tar));
    assert_fails(drove__tar_next(tar, &member, &found), DROVE_E_DATA, "the right checksum");
    drove__tar_close(tar);
    drove__tar_close(NULL);
}
