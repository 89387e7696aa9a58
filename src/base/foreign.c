/* base/foreign.c - see foreign.h. */
#include "base/foreign.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

typedef struct beginning {
    const char *bytes;
    size_t n;
    const char *what;    /* "a Parquet file" */
    const char *command; /* %s: the file; NULL: see advice */
    const char *advice;  /* what the command does; NULL: writes FILE.csv */
} beginning;

#define BYTES(text) (text), sizeof(text) - 1

#define BY_PANDAS(call)                                                                            \
    "python3 -c \"import pandas; pandas." call ".to_csv('%s.csv', index=False)\""

static const beginning binary[] = {
    {BYTES("PK\x03\x04"), "a ZIP archive or a spreadsheet", NULL,
     "--data FILE reads an archive of one table; in a pipe, funzip unpacks its first file"},
    {BYTES("PK\x05\x06"), "an empty ZIP archive", NULL, "it holds no file"},
    {BYTES("\xd0\xcf\x11\xe0"), "a file of an office program before 2007",
     BY_PANDAS("read_excel('%s')"), NULL},
    {BYTES("PAR1"), "a Parquet file", BY_PANDAS("read_parquet('%s')"), NULL},
    {BYTES("ARROW1"), "an Arrow file", BY_PANDAS("read_feather('%s')"), NULL},
    {BYTES("FEA1"), "a Feather file", BY_PANDAS("read_feather('%s')"), NULL},
    {BYTES("ORC"), "an ORC file", BY_PANDAS("read_orc('%s')"), NULL},
    {BYTES("\x89HDF"), "an HDF5 file", BY_PANDAS("read_hdf('%s')"),
     "writes %s.csv of what pandas stored in it"},
    {BYTES("SQLite format 3"), "an SQLite database", "sqlite3 '%s' .tables",
     "lists its tables, sqlite3 -header -csv FILE 'select * from TABLE' > table.csv writes one"},
    {BYTES("\x93NUMPY"), "a NumPy array", NULL, "--data npy:X.npy,Y.npy reads features and labels"},
    {BYTES("BZh"), "a file compressed by bzip2", NULL, "--data reads it where it is a table"},
    {BYTES("\xfd"
           "7zXZ"),
     "a file compressed by xz", NULL, "--data reads it where it is a table"},
    {BYTES("\x04\x22\x4d\x18"), "a file compressed by lz4", "lz4 -dc '%s' > '%s.csv'", NULL},
    {BYTES("\x1f\x9d"), "a file compressed by compress", "gzip -dc < '%s' > '%s.csv'", NULL},
    {BYTES("]\0\0"), "a file compressed by lzma", "xz -dc '%s' > '%s.csv'", NULL},
    {BYTES("7z\xbc\xaf\x27\x1c"), "a 7z archive", "7z x '%s'", "unpacks it"},
    {BYTES("Rar!"), "a RAR archive", "unrar x '%s'", "unpacks it"},
    {BYTES("%PDF-"), "a PDF document", NULL, "save its table as CSV"},
    {BYTES("RDX"), "data of R", "Rscript -e \"print(load('%s'))\"",
     "lists its objects; write.csv(NAME, 'table.csv', row.names=FALSE) writes one"},
    {BYTES("X\n\0\0\0"), "an object of R",
     "Rscript -e \"write.csv(readRDS('%s'), '%s.csv', row.names=FALSE)\"", NULL},
    {BYTES("\x80\x04\x95"), "a pickle of Python", BY_PANDAS("read_pickle('%s')"),
     "writes %s.csv of a frame; a pickle can run any code, so only of a source that is trusted"},
    {BYTES("\x80\x05\x95"), "a pickle of Python", BY_PANDAS("read_pickle('%s')"),
     "writes %s.csv of a frame; a pickle can run any code, so only of a source that is trusted"},
    {BYTES("<stata_dta>"), "a Stata file", BY_PANDAS("read_stata('%s')"), NULL},
    {BYTES("MATLAB 5.0"), "a MATLAB file", NULL, "in MATLAB: writematrix(NAME, 'table.csv')"},
};

static const beginning text[] = {
    {BYTES("<!DOCTYPE"), "a web page", BY_PANDAS("read_html('%s')[0]"), NULL},
    {BYTES("<!doctype"), "a web page", BY_PANDAS("read_html('%s')[0]"), NULL},
    {BYTES("<html"), "a web page", BY_PANDAS("read_html('%s')[0]"), NULL},
    {BYTES("<?xml"), "XML", BY_PANDAS("read_xml('%s')"), NULL},
    {BYTES("{\""), "JSON", BY_PANDAS("read_json('%s')"), NULL},
    {BYTES("{\n"), "JSON", BY_PANDAS("read_json('%s')"), NULL},
    {BYTES("[["), "JSON", BY_PANDAS("read_json('%s')"), NULL},
    {BYTES("[\n"), "JSON", BY_PANDAS("read_json('%s')"), NULL},
    {BYTES("[\""), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
    {BYTES("[0"), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
    {BYTES("[1"), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
    {BYTES("[2"), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
    {BYTES("[3"), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
    {BYTES("[4"), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
    {BYTES("[5"), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
    {BYTES("[6"), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
    {BYTES("[7"), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
    {BYTES("[8"), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
    {BYTES("[9"), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
    {BYTES("[-"), "arrays of JSON", BY_PANDAS("read_json('%s', lines=True)"), NULL},
};

/* A text with the path in place of each %s; what does not fit is cut. */
static void put_path(const char *from, const char *path, char *into, size_t size)
{
    size_t n = 0;
    *into = '\0';
    while (n < size) {
        const char *at = strstr(from, "%s");
        const int n_before = (int)(at != NULL ? (size_t)(at - from) : strlen(from));
        n += (size_t)snprintf(into + n, size - n, "%.*s%.120s", n_before, from,
                              at != NULL ? path : "");
        if (at == NULL) return;
        from = at + 2;
    }
}

static const char *find(const beginning *row, size_t n_rows, const char *path, const void *head,
                        size_t n, char into[DROVE_FOREIGN_SIZE])
{
    for (size_t i = 0; i < n_rows; i++) {
        char command[DROVE_FOREIGN_SIZE - 300], advice[200];
        if (n < row[i].n || memcmp(head, row[i].bytes, row[i].n) != 0) continue;
        put_path(row[i].command != NULL ? row[i].command : "", path, command, sizeof command);
        put_path(row[i].advice != NULL ? row[i].advice : "writes %s.csv", path, advice,
                 sizeof advice);
        snprintf(into, DROVE_FOREIGN_SIZE, "%s (%s%s%s)", row[i].what, command,
                 *command != '\0' ? " " : "", advice);
        return into;
    }
    return NULL;
}

const char *drove__foreign_binary(const char *path, const void *head, size_t n,
                                  char into[DROVE_FOREIGN_SIZE])
{
    return find(binary, DROVE_COUNT(binary), path, head, n, into);
}

const char *drove__foreign_text(const char *path, const void *head, size_t n,
                                char into[DROVE_FOREIGN_SIZE])
{
    return find(text, DROVE_COUNT(text), path, head, n, into);
}
