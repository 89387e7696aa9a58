/* base/foreign.c - see foreign.h. */
#include "base/foreign.h"

#include "base/mem.h"

#include <string.h>

typedef struct beginning {
    const char *bytes;
    size_t n;
    const char *what;
} beginning;

#define BYTES(text) (text), sizeof(text) - 1

static const beginning binary[] = {
    {BYTES("PK\x03\x04"), "a ZIP archive or a spreadsheet (save it as CSV)"},
    {BYTES("\xd0\xcf\x11\xe0"), "a spreadsheet or another file of an office program (save it as "
                                "CSV)"},
    {BYTES("PAR1"), "a Parquet file (convert it to CSV)"},
    {BYTES("ARROW1"), "an Arrow file (convert it to CSV)"},
    {BYTES("\x89HDF"), "an HDF5 file (convert it to CSV)"},
    {BYTES("SQLite format 3"), "an SQLite database (save a table as CSV)"},
    {BYTES("\x93NUMPY"), "a NumPy array (--data npy:X.npy,Y.npy reads features and labels)"},
    {BYTES("BZh"), "a file compressed by bzip2 (bunzip2 unpacks it)"},
    {BYTES("\xfd"
           "7zXZ"),
     "a file compressed by xz (unxz unpacks it)"},
    {BYTES("7z\xbc\xaf"), "a 7z archive (unpack it)"},
    {BYTES("%PDF-"), "a PDF document (save its table as CSV)"},
};

static const beginning text[] = {
    {BYTES("<!DOCTYPE"), "a web page (save its table as CSV)"},
    {BYTES("<!doctype"), "a web page (save its table as CSV)"},
    {BYTES("<html"), "a web page (save its table as CSV)"},
    {BYTES("<?xml"), "XML (convert it to CSV)"},
    {BYTES("{\""), "JSON (convert it to CSV)"},
    {BYTES("{\n"), "JSON (convert it to CSV)"},
    {BYTES("[{"), "JSON (convert it to CSV)"},
    {BYTES("[["), "JSON (convert it to CSV)"},
    {BYTES("[\n"), "JSON (convert it to CSV)"},
};

static const char *find(const beginning *row, size_t n_rows, const void *head, size_t n)
{
    for (size_t i = 0; i < n_rows; i++) {
        if (n >= row[i].n && memcmp(head, row[i].bytes, row[i].n) == 0) return row[i].what;
    }
    return NULL;
}

const char *drove__foreign_binary(const void *head, size_t n)
{
    return find(binary, DROVE_COUNT(binary), head, n);
}

const char *drove__foreign_text(const void *head, size_t n)
{
    return find(text, DROVE_COUNT(text), head, n);
}
