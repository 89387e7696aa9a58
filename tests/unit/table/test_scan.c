/* tests/unit/table/test_scan.c - records and cells, and how a file is written. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

static const drove_dialect comma = {',', '\n'};
static const drove_content_options usual = {0};

/* All cells as "[a][b]/[c]": records end in '/'. */
static void cells_of(const drove_dialect *d, const char *text, char *into)
{
    const char *at = text, *end = text + strlen(text), *start, *record_end;
    *into = '\0';
    while (drove__record_next(d, &at, end, &start, &record_end)) {
        bool more = true;
        while (more) {
            drove_cell cell;
            char plain[64] = "";
            more = drove__cell_next(d, &start, record_end, &cell);
            assert_true(cell.length < sizeof plain);
            size_t n = drove__cell_unquote(&cell, plain);
            if (!cell.is_doubled) memcpy(plain, cell.text, n = cell.length);
            sprintf(into + strlen(into), "[%.*s%s]", (int)n, plain, cell.is_broken ? "!" : "");
            if (cell.is_broken) break;
        }
        strcat(into, "/");
    }
}

static void expect_cells(const drove_dialect *d, const char *text, const char *expected)
{
    char found[512];
    cells_of(d, text, found);
    assert_string_equal(found, expected);
}

TEST(test_records)
{
    const drove_dialect cr = {',', '\r'}, blank = {' ', '\n'}, tab = {'\t', '\n'};
    expect_cells(&comma, "a,b\nc,d", "[a][b]/[c][d]/");
    expect_cells(&comma, "a,b\r\nc,d\r\n", "[a][b]/[c][d]/");
    expect_cells(&cr, "a,b\rc,d\r", "[a][b]/[c][d]/");
    expect_cells(&comma, "\n\na,b\n  \n\r\nc,d\n\n", "[a][b]/[c][d]/");
    expect_cells(&comma, "a,,\n,,\n", "[a][][]/[][][]/");
    expect_cells(&comma, " a , b\t\n", "[a][b]/");
    expect_cells(&comma, "\"a,b\",\"c\nd\",\"e\"\"f\"\n\"\",x\n", "[a,b][c\nd][e\"f]/[][x]/");
    expect_cells(&comma, " \"a\" , b\n", "[a][b]/");
    expect_cells(&comma, "5\" pipe,b\"c\n", "[5\" pipe][b\"c]/");
    expect_cells(&comma, "\"a\"x,b\nc,d\n", "[a!]/[c][d]/");
    expect_cells(&comma, "a,\"b\nc,d\n", "[a][b\nc,d\n!]/");
    expect_cells(&blank, "  a   b \n c \"d e\"\n", "[a][b]/[c][d e]/");
    expect_cells(&tab, "a b\t\tc\n", "[a b][][c]/");
    expect_cells(&comma, "", "");
    expect_cells(&comma, "\"", "[!]/");
}

static drove_content content_of(const char *text)
{
    return (drove_content){.text = text, .end = text + strlen(text)};
}

static void expect_dialect(const char *text, char separator, char line_end, bool is_header)
{
    drove_content content = content_of(text);
    drove_dialect d = drove__detect_dialect(&content, 0);
    if (d.separator != separator) fail_msg("%s: separator '%c'", text, d.separator);
    assert_int_equal(d.line_end, line_end);
    if (drove__detect_header(&content, &d) != is_header) fail_msg("%s: header", text);
}

/* The definition, byte by byte: a quote counts where a cell begins. */
static size_t plain_record_end(const drove_dialect *d, const char *text, size_t n)
{
    bool begins = true, is_quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (is_quoted) {
            if (text[i] != '"') continue;
            if (i + 1 < n && text[i + 1] == '"') i++;
            else is_quoted = false;
        } else if (text[i] == d->line_end) {
            return i;
        } else if (text[i] == '"' && begins) {
            is_quoted = true;
            begins = false;
        } else if (text[i] == d->separator) {
            begins = true;
        } else if (text[i] != ' ' && text[i] != '\t') {
            begins = false;
        }
    }
    return n;
}

TEST(test_record_ends)
{
    static const drove_dialect dialects[] = {{',', '\n'}, {' ', '\n'}, {'\t', '\n'}, {';', '\r'}};
    static const char alphabet[] = "a,\"\" \t\n;\r";
    char text[24];
    uint32_t random = 1;
    for (unsigned trial = 0; trial < 200000; trial++) {
        const drove_dialect *d = &dialects[trial % 4];
        const size_t n = 1 + trial % sizeof text;
        for (size_t i = 0; i < n; i++) {
            random = random * 1664525u + 1013904223u;
            text[i] = alphabet[(random >> 16) % (sizeof alphabet - 1)];
        }
        const size_t found = (size_t)(drove__record_end(d, text, text + n) - text);
        if (found != plain_record_end(d, text, n))
            fail_msg("\"%.*s\", separator '%c': %zu, expected %zu", (int)n, text, d->separator,
                     found, plain_record_end(d, text, n));
    }
}

TEST(test_dialects)
{
    expect_dialect("a,b\n1,2\n", ',', '\n', true);
    expect_dialect("a;b\n1,5;2,5\n", ';', '\n', true);
    expect_dialect("1,5;2,5\n3,5;4,5\n", ';', '\n', false);
    expect_dialect("a\tb c\n1\t2 3\n", '\t', '\n', true);
    expect_dialect("a|b\n1|x,y\n", '|', '\n', true);
    expect_dialect("a b c\n1 2 3\n4 5 6\n", ' ', '\n', true);
    expect_dialect("a,b\r1,2\r", ',', '\r', true);
    expect_dialect("\"a\r\nx\",b\n1,2\n", ',', '\n', true);
    expect_dialect("a,b,c\n1,2,3\n4,5\n6,7,8\n", ',', '\n', true);
    expect_dialect("one\n1\n", ',', '\n', true);
    expect_dialect("red,big\nblue,small\nred,small\n", ',', '\n', false);
    expect_dialect("colour,size\nblue,small\nred,small\n", ',', '\n', true);
    expect_dialect("2020-01-01,x\n2020-01-02,y\n", ',', '\n', false);
    expect_dialect("y,week\nn,0\ny,2\nn,NA\n", ',', '\n', true); /* y recurs, week is a name */
    expect_dialect("hours,kids,married\n9,1,married\n7,0,single\n", ',', '\n', true);
    expect_dialect("red,?\nblue,1\nred,2\n", ',', '\n', false); /* a missing cell is no name */
    expect_dialect("red,big\nblue,1\nred,small\n", ',', '\n', false);
    drove_content content = content_of("a,b;c\n");
    assert_int_equal(drove__detect_dialect(&content, ',').separator, ',');
}

TEST(test_names)
{
    static const char *const expected[] = {"a", "column2", "a.2", "say \"x\"", "a.3", "b c"};
    const char *text = "a,,a,\"say \"\"x\"\"\",a,\"b\nc\"";
    char **name;
    size_t n;
    assert_int_equal(drove__detect_names("f", &comma, text, text + strlen(text), true, &name, &n),
                     DROVE_OK);
    assert_int_equal(n, 6);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(name[i], expected[i]);
        free(name[i]);
    }
    free(name);
}

static drove_status load(const char *path)
{
    drove_content content;
    drove_status status = drove__content_load(path, &usual, 2, &content);
    drove__content_fini(&content);
    return status;
}

TEST(test_content)
{
    drove_content content;
    write_bytes("bom",
                "\xef\xbb\xbf"
                "a,b\n",
                7);
    assert_int_equal(drove__content_load("bom", &usual, 2, &content), DROVE_OK);
    assert_int_equal(*content.text, 'a');
    drove__content_fini(&content);
    write_text("latin", "na\xefve,\xff\n");
    assert_int_equal(drove__content_load("latin", &usual, 2, &content), DROVE_OK);
    assert_true(content.was_cp1252);
    assert_int_equal(content.end - content.text, 10);
    assert_memory_equal(content.text, "na\xc3\xafve,\xc3\xbf\n", 10);
    drove__content_fini(&content);
    /* The euro, quotes, a byte without a character, the last. */
    write_text("windows", "a,b\n1 \x80,\x93x\x94\x81\x9f\n");
    assert_int_equal(drove__content_load("windows", &usual, 2, &content), DROVE_OK);
    assert_true(content.was_cp1252);
    const char expected[] = "a,b\n1 \xe2\x82\xac,\xe2\x80\x9cx\xe2\x80\x9d\xc2\x81\xc5\xb8\n";
    assert_int_equal(content.end - content.text, sizeof expected - 1);
    assert_memory_equal(content.text, expected, sizeof expected - 1);
    drove__content_fini(&content);
    write_text("utf8", "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\x91\n");
    assert_int_equal(drove__content_load("utf8", &usual, 2, &content), DROVE_OK);
    assert_false(content.was_cp1252);
    drove__content_fini(&content);
    write_bytes("utf16",
                "\xff\xfe"
                "a\0,\0",
                6);
    write_bytes("zip", "PK\x03\x04 and so on", 14);
    write_bytes("zero", "a,b\n1,\0\n", 8);
    write_text("empty", "");
    write_text("blank", " \n\r\n\t\n");
    assert_int_equal(drove__content_load("utf16", &usual, 2, &content), DROVE_OK);
    assert_int_equal(content.end - content.text, 2);
    assert_memory_equal(content.text, "a,", 2);
    drove__content_fini(&content);
    write_bytes("no-mark", "a\0,\0b\0\n\0", 8);
    static const char *const refused[][2] = {{"no-mark", "'no-mark?encoding=utf-16le' reads it"},
                                             {"zip", "truncated"},
                                             {"zero", "byte 6"},
                                             {"empty", "empty file"},
                                             {"blank", "empty file"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(load(refused[i][0]), DROVE_E_DATA);
        assert_non_null(strstr(drove_error_text(), refused[i][1]));
    }
    assert_int_equal(load("absent"), DROVE_E_FILE);
}

/* Rows "row,3*row,-row/8" with blank lines between some; *n_bytes of them, in malloc. */
static char *many_rows(unsigned n_rows, size_t *n_bytes)
{
    char *text = malloc((size_t)n_rows * 48 + 16);
    assert_non_null(text);
    size_t n = (size_t)sprintf(text, "a,b,c\n");
    for (unsigned i = 0; i < n_rows; i++)
        n += (size_t)sprintf(text + n, "%u,%u,%.3f\r\n%s", i, 3 * i, -0.125 * i,
                             i % 1000 == 7 ? "\n \n" : "");
    *n_bytes = n;
    return text;
}

/* A file that several threads read in pieces; what is special stands in the last one, or across
 * the border of two. */
TEST(test_large_content)
{
    size_t n, border = (size_t)3 << 20;
    char *text = many_rows(300000, &n);
    drove_content content;
    assert_true(n > (size_t)5 << 20);
    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
        write_bytes("large", text, n);
        assert_int_equal(drove__content_load("large", &usual, n_threads, &content), DROVE_OK);
        assert_int_equal(content.end - content.text, n);
        assert_memory_equal(content.text, text, n);
        assert_false(content.has_quote || content.was_cp1252);
        drove__content_fini(&content);
    }
    memcpy(text + border - 1, "\xc3\xaf", 2);
    text[n - 9] = '"';
    write_bytes("large", text, n);
    assert_int_equal(drove__content_load("large", &usual, 2, &content), DROVE_OK);
    assert_true(content.has_quote && !content.was_cp1252);
    drove__content_fini(&content);
    text[border] = 'x'; /* the first byte of a character without its second */
    write_bytes("large", text, n);
    assert_int_equal(drove__content_load("large", &usual, 2, &content), DROVE_OK);
    assert_true(content.was_cp1252);
    assert_int_equal(content.end - content.text, n + 1);
    drove__content_fini(&content);
    text[n - 5] = '\0';
    write_bytes("large", text, n);
    assert_int_equal(load("large"), DROVE_E_DATA);
    char where[40];
    snprintf(where, sizeof where, "byte %zu is zero", n - 5);
    assert_non_null(strstr(drove_error_text(), where));
    assert_int_equal(remove("large"), 0);
    free(text);
}

/* Blocks cover all rows in order, with a quote somewhere or without. */
TEST(test_blocks)
{
    enum { ROWS = 300000 };
    size_t n;
    char *text = many_rows(ROWS, &n);
    for (int has_quote = 0; has_quote < 2; has_quote++) {
        if (has_quote) memcpy(text, "\"\",,c\n", 6);
        drove_table t;
        write_bytes("many", text, n);
        assert_int_equal(drove__table_open("many", &usual, DROVE_HEADER_YES, NULL, 0, &t),
                         DROVE_OK);
        assert_int_equal(t.content.has_quote, has_quote);
        assert_int_equal(t.n_rows, ROWS);
        assert_true(t.n_blocks > 4);
        uint64_t row = 0;
        for (size_t b = 0; b < t.n_blocks; b++) {
            const char *at = t.block[b].start, *start, *end;
            assert_int_equal(t.block[b].first_row, row);
            while (drove__record_next(&t.dialect, &at, t.block[b].end, &start, &end))
                assert_int_equal(strtoull(start, NULL, 10), row++);
            assert_int_equal(row, t.block[b].first_row + t.block[b].n_rows);
        }
        assert_int_equal(row, ROWS);
        drove__table_fini(&t);
    }
    assert_int_equal(remove("many"), 0);
    free(text);
}

/* A line above the limit, and a quote that swallows the file. */
TEST(test_long_line)
{
    size_t n = DROVE_RECORD_MOST_BYTES + 4096;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, 'x', n);
    write_bytes("long", text, n);
    assert_int_equal(load("long"), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "lines of at most"));
    memcpy(text, "a,b\n1,\"2\n", 9);
    write_bytes("quote", text, n);
    free(text);
    drove_table_options opt = options_of("quote", NULL);
    expect_refusal(&opt, DROVE_E_DATA, "quote:3: expected lines of at most", NULL);
    assert_int_equal(remove("long"), 0);
    assert_int_equal(remove("quote"), 0);
}

/* Writes what `begin` says, then n bytes of lines of 64 KiB, of a stream that cannot be mapped. */
static void write_stream(const char *path, const char *begin, size_t n, const char *end)
{
    enum { LINE = 1 << 16 };
    static char line[LINE];
    memset(line, 'x', LINE);
    line[LINE - 1] = '\n';
    gzFile file = gzopen(path, "wb1");
    assert_non_null(file);
    assert_true(gzputs(file, begin) > 0);
    for (size_t written = 0; written < n; written += LINE)
        assert_int_equal(gzwrite(file, line, LINE), LINE);
    assert_true(gzputs(file, end) >= 0);
    assert_int_equal(gzclose(file), Z_OK);
}

/* A quote that is never closed is refused long before the stream ends, and a long cell, too. */
TEST(test_long_cell)
{
    drove_known_table known;
    drove_table_options opt = options_of("stream.gz", NULL);
    write_stream("stream.gz", "a,b\n1,2\n3,\"4\n", 2 * DROVE_RECORD_MOST_BYTES, "");
    expect_refusal(&opt, DROVE_E_DATA, "stream.gz:3: expected records of at most", "never closed",
                   NULL);
    write_stream("stream.gz", "a,b\n1,2\n3,\"", DROVE_CELL_MOST_BYTES, "x\"\n");
    expect_refusal(&opt, DROVE_E_DATA,
                   "stream.gz:3: row 2: column \"b\": expected cells of at most 16777216 bytes, "
                   "found 16777217",
                   NULL);
    write_stream("stream.gz", "a,b\n1,2\n3,\"", DROVE_CELL_MOST_BYTES, "\"\n");
    learn(&opt, &known);
    assert_int_equal(known.table.n_rows, 2);
    drove__known_table_fini(&known);
    assert_int_equal(remove("stream.gz"), 0);
}

TEST(test_ragged)
{
    drove_table_options opt = options_of("ragged", NULL);
    write_text("ragged", "age,\"fa\nre\",alive\n1,2,3\n\n4,5\n");
    expect_refusal(&opt, DROVE_E_DATA, "ragged:5: row 2", "expected 3 cells, found 2",
                   "none for column \"alive\"", NULL);
    write_text("ragged", "age,fare,alive\n1,2,3\n4,5,6,7\n");
    expect_refusal(&opt, DROVE_E_DATA, "ragged:3: row 2", "found 4", "more after column \"alive\"",
                   NULL);
    write_text("ragged", "age,fare,alive\n1,\"2\"x,3\n4,5,6\n");
    expect_refusal(&opt, DROVE_E_DATA, "ragged:2: row 1", "column \"fare\"", "closing quote", NULL);
    write_text("ragged", "age,fare,alive\n");
    opt.header = DROVE_HEADER_YES;
    expect_refusal(&opt, DROVE_E_DATA, "ragged", "rows below the header", NULL);
}
