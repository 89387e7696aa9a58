/* Text files as strangers have them: in a ZIP archive, in another encoding, named by a URL. */
#include "support.h"

#include "base/mem.h"
#include "base/textfile.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- ZIP archives, by hand ---- */

typedef struct archive {
    uint8_t bytes[4096], directory[2048];
    size_t n, n_directory, n_files;
} archive;

static size_t put(uint8_t *to, uint64_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++) to[i] = (uint8_t)(value >> 8 * i);
    return n;
}

/* A stored member: its local header, its content, its entry in the directory. */
static void add_member(archive *a, const char *name, const char *content)
{
    const size_t n = strlen(content), n_name = strlen(name), offset = a->n;
    const uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)content, n);
    uint8_t common[22]; /* flags, method, time, date, crc, sizes */
    memset(common, 0, sizeof common);
    put(common + 8, crc, 4);
    put(common + 12, n, 4);
    put(common + 16, n, 4);
    put(common + 20, n_name, 2);
    memcpy(a->bytes + a->n, "PK\3\4\n\0", 6);
    memcpy(a->bytes + a->n + 6, common, 22);
    a->n += 30;
    memcpy(a->bytes + a->n, name, n_name);
    a->n += n_name;
    memcpy(a->bytes + a->n, content, n);
    a->n += n;
    uint8_t *entry = a->directory + a->n_directory;
    memset(entry, 0, 46);
    memcpy(entry, "PK\1\2\n\0\n\0", 8);
    memcpy(entry + 8, common, 22);
    put(entry + 42, offset, 4);
    memcpy(entry + 46, name, n_name);
    a->n_directory += 46 + n_name;
    a->n_files++;
}

static void write_archive(archive *a, const char *path)
{
    uint8_t end[22] = {'P', 'K', 5, 6};
    put(end + 8, a->n_files, 2);
    put(end + 10, a->n_files, 2);
    put(end + 12, a->n_directory, 4);
    put(end + 16, a->n, 4);
    memcpy(a->bytes + a->n, a->directory, a->n_directory);
    memcpy(a->bytes + a->n + a->n_directory, end, sizeof end);
    write_bytes(path, a->bytes, a->n + a->n_directory + sizeof end);
}

/* The whole content, in memory that lives until the next call. */
static const char *content_of(const char *path, const char *encoding, size_t *n_out)
{
    static char text[1 << 20];
    drove_reader *r;
    size_t n = 0, n_more = 1;
    assert_ok(drove__textfile_open(path, encoding, &r));
    while (n_more > 0) {
        assert_ok(drove__reader_read_some(r, text + n, 100 + n, &n_more));
        n += n_more;
    }
    text[n] = '\0';
    assert_true(n <= drove__reader_most_bytes(r));
    drove__reader_close(r);
    if (n_out != NULL) *n_out = n;
    return text;
}

TEST(an_archive_of_one_file_is_that_file)
{
    archive a = {0};
    add_member(&a, "data/", "");
    add_member(&a, "data/train.csv", "a,b\n1,2\n");
    add_member(&a, "__MACOSX/data/._train.csv", "?");
    add_member(&a, "data/.DS_Store", "?");
    write_archive(&a, "one.zip");
    assert_string_equal(content_of("one.zip", NULL, NULL), "a,b\n1,2\n");
}

TEST(other_archives_name_the_way_out)
{
    drove_reader *r;
    archive two = {0}, none = {0}, excel = {0}, office = {0};
    add_member(&two, "data/train.csv", "a,b\n1,2\n");
    add_member(&two, "test.csv", "a,b\n1,2\n");
    write_archive(&two, "two.zip");
    assert_fails(drove__textfile_open("two.zip", NULL, &r), DROVE_E_DATA, "found 2:");
    assert_error_has("data/train.csv, test.csv");
    assert_error_has("unzip -p 'two.zip' 'data/train.csv' > 'train.csv'");
    assert_null(r);
    add_member(&none, "folder/", "");
    write_archive(&none, "none.zip");
    assert_fails(drove__textfile_open("none.zip", NULL, &r), DROVE_E_DATA, "found none");
    add_member(&excel, "[Content_Types].xml", "<Types/>");
    add_member(&excel, "xl/workbook.xml", "<workbook/>");
    write_archive(&excel, "book.xlsx");
    assert_fails(drove__textfile_open("book.xlsx", NULL, &r), DROVE_E_DATA, "an Excel workbook");
    assert_error_has("pandas.read_excel('book.xlsx').to_csv('book.xlsx.csv'");
    add_member(&office, "mimetype", "application/vnd.oasis.opendocument.spreadsheet");
    add_member(&office, "content.xml", "<office/>");
    write_archive(&office, "book.ods");
    assert_fails(drove__textfile_open("book.ods", NULL, &r), DROVE_E_DATA, "OpenDocument");
    write_bytes("half.zip", two.bytes, 40);
    assert_fails(drove__textfile_open("half.zip", NULL, &r), DROVE_E_DATA, "truncated");
}

/* ---- encodings ---- */

/* "x: a umlaut, euro, sheep" and a line end, by the tables of Unicode. */
static const char sheep[] = "x\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x91\n";

TEST(a_mark_tells_the_encoding)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {{"\xff\xfex\0\xe4\0\xac\x20\x3d\xd8\x11\xdc\n\0", 14},
                 {"\xfe\xff\0x\0\xe4\x20\xac\xd8\x3d\xdc\x11\0\n", 14},
                 {"\xff\xfe\0\0x\0\0\0\xe4\0\0\0\xac\x20\0\0\x11\xf4\1\0\n\0\0\0", 24},
                 {"\0\0\xfe\xff\0\0\0x\0\0\0\xe4\0\0\x20\xac\0\1\xf4\x11\0\0\0\n", 24}};
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        write_bytes("marked", cases[i].bytes, cases[i].n);
        assert_string_equal(content_of("marked", NULL, NULL), sheep);
        assert_string_equal(content_of("marked", "latin1", NULL), sheep);
        write_gzip("marked.gz", cases[i].bytes, cases[i].n, 1);
        assert_string_equal(content_of("marked.gz", NULL, NULL), sheep);
    }
    write_bytes("marked", "\xef\xbb\xbfx\n", 5); /* left to the reader of lines */
    assert_string_equal(content_of("marked", "latin1", NULL), "\xef\xbb\xbfx\n");
}

TEST(a_name_tells_the_encoding)
{
    static const struct {
        const char *encoding, *bytes, *text;
    } cases[] = {{"latin-1", "\xe4,\xff", "\xc3\xa4,\xc3\xbf"},
                 {"latin1", "\xe4", "\xc3\xa4"},
                 {"cp1252", "\x80", "\xe2\x82\xac"},
                 {"windows-1251", "\xc4\xe0", "\xd0\x94\xd0\xb0"},
                 {"cp1251", "\xc4\xe0", "\xd0\x94\xd0\xb0"},
                 {"shift_jis", "\x93\xfa\x96\x7b", "\xe6\x97\xa5\xe6\x9c\xac"},
                 {"gbk", "\xd6\xd0", "\xe4\xb8\xad"},
                 {"utf-8", "\xc3\xa4", "\xc3\xa4"},
                 {"UTF8", "\xe4", "\xe4"}};
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        write_bytes("named", cases[i].bytes, strlen(cases[i].bytes));
        assert_string_equal(content_of("named", cases[i].encoding, NULL), cases[i].text);
    }
    write_bytes("named", "x\0\xe4\0", 4);
    assert_string_equal(content_of("named", "utf-16le", NULL), "x\xc3\xa4");
    assert_string_equal(content_of("named", "utf_16", NULL), "x\xc3\xa4");
    drove_reader *r;
    static const char *const unknown[] = {"klingon", "", "latin1//TRANSLIT", "utf-8//IGNORE"};
    for (size_t i = 0; i < DROVE_COUNT(unknown); i++)
        assert_fails(drove__textfile_open("named", unknown[i], &r), DROVE_E_ARG, "encoding:");
}

/* A lone surrogate, and half a character at the end. */
TEST(what_is_no_character_is_replaced_and_counted)
{
    drove_reader *r;
    char text[64];
    size_t n;
    write_bytes("broken", "\xff\xfex\0\x00\xd8y\0z", 9);
    assert_ok(drove__textfile_open("broken", NULL, &r));
    assert_ok(drove__reader_read_some(r, text, sizeof text, &n));
    assert_int_equal(n, 8);
    assert_memory_equal(text, "x\xef\xbf\xbdy\xef\xbf\xbd", 8);
    assert_int_equal(drove__reader_n_replaced(r), 2);
    drove__reader_close(r);
}

/* Characters that stand across the buffers, read in pieces of every size. */
TEST(long_texts_are_decoded_whole)
{
    enum { N = 150000 };
    uint8_t *bytes = malloc(2 + 6 * N);
    size_t n = 0;
    assert_non_null(bytes);
    n += put(bytes, 0xfeff, 2);
    for (unsigned i = 0; i < N; i++) {
        n += put(bytes + n, 0xd83d, 2); /* the sheep */
        n += put(bytes + n, 0xdc11, 2);
        n += put(bytes + n, '0' + i % 10, 2);
    }
    write_bytes("long", bytes, n);
    const char *text = content_of("long", NULL, &n);
    assert_int_equal(n, 5 * N);
    for (unsigned i = 0; i < N; i++) {
        assert_memory_equal(text + (size_t)5 * i, "\xf0\x9f\x90\x91", 4);
        assert_int_equal(text[5 * i + 4], '0' + i % 10);
    }
    free(bytes);
}

/* ---- names ---- */

TEST(a_url_is_no_file)
{
    drove_reader *r;
    assert_fails(drove__reader_open("https://example.org/a/b.csv?raw=1", &r), DROVE_E_FILE,
                 "(curl -fL -o 'b.csv' 'https://example.org/a/b.csv?raw=1' fetches it)");
    assert_fails(drove__reader_open("http://example.org/", &r), DROVE_E_FILE, "-o 'FILE'");
    assert_fails(drove__reader_open("file:///etc/a.csv", &r), DROVE_E_FILE, "(/etc/a.csv is");
    assert_fails(drove__reader_open("s3://bucket/a.csv", &r), DROVE_E_FILE, "a store");
    assert_fails(drove__reader_open("absent.csv", &r), DROVE_E_FILE, "No such file");
    write_bytes("there.csv.bz2", "x", 1);
    assert_fails(drove__reader_open("there.csv", &r), DROVE_E_FILE, "did you mean there.csv.bz2?");
    write_bytes("plain.csv", "x", 1);
    assert_fails(drove__reader_open("plain.csv.xz", &r), DROVE_E_FILE, "did you mean plain.csv?");
}
