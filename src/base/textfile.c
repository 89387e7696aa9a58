/* base/textfile.c - see textfile.h. */
#include "base/textfile.h"

#include "base/unpack.h"
#include "base/zip.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_SHOWN = 4 };

/* Folders, and what macOS adds to its archives, are no files of the archive's maker. */
static bool is_file(const char *name)
{
    const char *last = strrchr(name, '/');
    if (strncmp(name, "__MACOSX/", 9) == 0) return false;
    last = last != NULL ? last + 1 : name;
    return *last != '\0' && strcmp(last, ".DS_Store") != 0;
}

static drove_status fail_members(const drove_zip *zip, const char *path, size_t n_files,
                                 size_t first)
{
    char names[256] = "";
    size_t used = 0, n_shown = 0;
    for (size_t i = 0; i < drove__zip_count(zip); i++) {
        const char *name = drove__zip_name(zip, i);
        if (strcmp(name, "xl/workbook.xml") == 0 || strcmp(name, "xl/workbook.bin") == 0)
            return drove__fail(DROVE_E_DATA,
                               "%s: expected a table as text, found an Excel workbook (python3 -c "
                               "\"import pandas; pandas.read_excel('%s').to_csv('%s.csv', "
                               "index=False)\" writes its first sheet as %s.csv)",
                               path, path, path, path);
        if (strcmp(name, "mimetype") == 0)
            return drove__fail(DROVE_E_DATA,
                               "%s: expected a table as text, found an OpenDocument file "
                               "(libreoffice --headless --convert-to csv '%s' writes a sheet as "
                               "CSV)",
                               path, path);
        if (!is_file(name) || n_shown == NAMES_SHOWN || used >= sizeof names) continue;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s",
                                 n_shown > 0 ? ", " : "", name);
        n_shown++;
    }
    if (n_files == 0)
        return drove__fail(DROVE_E_DATA, "%s: expected a ZIP archive with a file in it, found none",
                           path);
    const char *name = drove__zip_name(zip, first), *base = strrchr(name, '/');
    return drove__fail(DROVE_E_DATA,
                       "%s: expected a ZIP archive of one file, found %zu: %s%s (unzip -p '%s' "
                       "'%s' > '%s' unpacks one)",
                       path, n_files, names, n_files > n_shown ? " ..." : "", path, name,
                       base != NULL ? base + 1 : name);
}

/* The one file in an archive. */
static drove_status open_only_member(const char *path, drove_reader **out)
{
    drove_zip *zip;
    size_t n_files = 0, only = 0;
    DROVE_TRY(drove__zip_open(path, &zip));
    for (size_t i = drove__zip_count(zip); i-- > 0;) {
        if (!is_file(drove__zip_name(zip, i))) continue;
        only = i;
        n_files++;
    }
    drove_status status =
        n_files == 1 ? drove__zip_member(zip, only, out) : fail_members(zip, path, n_files, only);
    const char *head, *name = n_files == 1 ? drove__zip_name(zip, only) : "";
    size_t n;
    if (status == DROVE_OK) status = drove__reader_head(*out, &head, &n);
    if (status == DROVE_OK && drove__unpack_find(head, n) != NULL)
        status = drove__fail(DROVE_E_DATA,
                             "%s: expected text in the archive, found a compressed file (unzip -p "
                             "'%s' '%s' > '%s' unpacks it)",
                             path, path, name,
                             strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name);
    drove__zip_close(zip);
    return status;
}

drove_status drove__textfile_open(const char *path, const char *encoding, drove_reader **out)
{
    drove_reader *r;
    const char *head;
    size_t n;
    *out = NULL;
    DROVE_TRY(drove__reader_open(path, &r));
    drove_status status = drove__reader_head(r, &head, &n);
    if (status == DROVE_OK && n >= 4 && memcmp(head, "PK\3\4", 4) == 0 &&
        drove__reader_is_regular(r)) {
        drove__reader_close(r);
        r = NULL;
        status = open_only_member(path, &r);
    }
    if (status == DROVE_OK) status = drove__reader_decode(r, encoding);
    if (status == DROVE_OK) *out = r;
    else drove__reader_close(r);
    return status;
}
