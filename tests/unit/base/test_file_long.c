/* The longest line a reader accepts, 64 MiB, and one byte more. */
#include "support.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { MIB = 1 << 20, MOST_MIB = 64 };

static void write_line(const char *path, unsigned extra_bytes)
{
    char *block = malloc(MIB);
    assert_non_null(block);
    memset(block, 'a', MIB);
    gzFile file = gzopen(path, "wb1");
    assert_non_null(file);
    for (int i = 0; i < MOST_MIB; i++) assert_int_equal(gzwrite(file, block, MIB), MIB);
    if (extra_bytes > 0) assert_int_equal(gzwrite(file, block, extra_bytes), extra_bytes);
    assert_int_equal(gzclose(file), Z_OK);
    free(block);
}

TEST(test_longest_line)
{
    drove_reader *r;
    char *line;
    size_t length;
    write_line("line.gz", 0);
    assert_ok(drove__reader_open("line.gz", &r));
    assert_ok(drove__reader_line(r, &line, &length));
    assert_int_equal(length, (size_t)MOST_MIB * MIB);
    drove__reader_close(r);
    write_line("line.gz", 1);
    assert_ok(drove__reader_open("line.gz", &r));
    assert_fails(drove__reader_line(r, &line, &length), DROVE_E_DATA,
                 "line.gz:1: expected lines of at most 67108864 bytes, found more");
    drove__reader_close(r);
    unlink("line.gz");
}
