/* data/path.c - data sets named by the path of a file alone. */
#include "data/data.h"

#include "base/file.h"
#include "base/locale.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Whether the first n bytes of a text are the path of a folder. */
static bool is_folder_text(const char *text, size_t n)
{
    char path[PATH_MAX];
    if (n == 0 || n >= sizeof path) return false;
    memcpy(path, text, n);
    path[n] = '\0';
    return is_folder(path);
}

/* Does text begin with the word of a format?  A word alone may also be the name of a folder, such
 * as images. */
static bool names_format(const char *text)
{
    size_t n = strcspn(text, ":?");
    for (size_t i = 0; drove__formats[i] != NULL; i++) {
        const char *name = drove__formats[i]->name;
        if (strcspn(name, ":") == n && strncmp(name, text, n) == 0)
            return text[n] == ':' || !is_folder_text(text, n);
    }
    return false;
}

static bool ends_with(const char *text, size_t n, const char *ending)
{
    size_t n_ending = strlen(ending);
    if (n <= n_ending) return false;
    for (size_t i = 0; i < n_ending; i++) {
        if (tolower((unsigned char)text[n - n_ending + i]) != ending[i]) return false;
    }
    return true;
}

/* .csv, .tsv, .tab, .psv, .txt, .dat or .data, also with .gz or .zst behind it. */
static bool has_table_ending(const char *path, size_t n)
{
    static const char *const endings[] = {".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".data"};
    if (ends_with(path, n, ".gz")) n -= 3;
    if (ends_with(path, n, ".zst")) n -= 4;
    for (size_t i = 0; i < DROVE_COUNT(endings); i++) {
        if (ends_with(path, n, endings[i])) return true;
    }
    return false;
}

/* Formats whose files end so; the first that fits counts.  A tar archive may be compressed. */
static const struct {
    const char *ending, *format;
} binary_endings[] = {
    {".rows", "rows"},         {".npz", "npz"},        {".tar", "webdataset"},
    {".tar.gz", "webdataset"}, {".tgz", "webdataset"}, {".tar.zst", "webdataset"},
    {".png", "images"},        {".jpg", "images"},     {".jpeg", "images"},
};

/* The format of files with this ending; NULL: none of them. */
static const char *format_of_ending(const char *path, size_t n)
{
    for (size_t i = 0; i < DROVE_COUNT(binary_endings); i++) {
        if (ends_with(path, n, binary_endings[i].ending)) return binary_endings[i].format;
    }
    return NULL;
}

/* A label, and then pairs of an index and a value: "+1 3:0.5 17:1". */
static bool is_libsvm_line(const char *line)
{
    size_t n_pairs = 0;
    line += strspn(line, " \t");
    line += strcspn(line, " \t");
    while (*(line += strspn(line, " \t\r")) != '\0' && *line != '#') {
        size_t n_digits = strspn(line, "0123456789"), n = strcspn(line, " \t\r");
        if (n_digits == 0 || line[n_digits] != ':' || n_digits + 1 >= n) return false;
        if (strspn(line + n_digits + 1, "0123456789+-.eE") < n - n_digits - 1) return false;
        line += n;
        n_pairs++;
    }
    return n_pairs > 0;
}

enum { HEAD_BYTES = 1024, TAR_MAGIC = 257 /* where a tar archive says so */ };

static const char *format_of_head(char *head, size_t n)
{
    if (n >= 4 && memcmp(head, "PK\3\4", 4) == 0) return "npz";
    if (n >= 12 && memcmp(head, "drove-rows-1", 12) == 0) return "rows";
    if (n >= TAR_MAGIC + 5 && memcmp(head + TAR_MAGIC, "ustar", 5) == 0) return "webdataset";
    head[n] = '\0';
    head[strcspn(head, "\n")] = '\0';
    return is_libsvm_line(head) ? "libsvm" : "table";
}

/* The format of a regular file by its first bytes.  A pipe is not looked into: what it holds can be
 * read once.  Errors: DROVE_E_NOMEM, DROVE_E_IO; what is wrong with the file, its reader says. */
static drove_status format_of_content(const char *path, const char **out)
{
    drove_reader *reader;
    char head[HEAD_BYTES];
    size_t n = 0;
    *out = "table";
    drove_status status = drove__reader_open(path, &reader);
    if (status == DROVE_OK) {
        status = drove__reader_read_some(reader, head, sizeof head - 1, &n);
        drove__reader_close(reader);
        if (status == DROVE_OK) *out = format_of_head(head, n);
    }
    return drove_status_exit(status) == 1 ? status : DROVE_OK;
}

/* A folder with MNIST's files, or of images. */
static const char *format_of_folder(const char *path)
{
    static const char *const files[] = {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"};
    for (size_t i = 0; i < DROVE_COUNT(files); i++) {
        char file[PATH_MAX];
        int n = snprintf(file, sizeof file, "%s/%s", path, files[i]);
        if (n > 0 && (size_t)n < sizeof file && access(file, F_OK) == 0) return "mnist";
    }
    return "images";
}

/* The format of a path; NULL: the text is no path.  Errors: of format_of_content. */
static drove_status format_of_path(const char *path, bool is_named, const char **out)
{
    struct stat about;
    size_t n = strlen(path);
    *out = strcmp(path, "-") == 0 ? "table" : NULL;
    if (*out != NULL || n == 0 || is_named) return DROVE_OK;
    if (is_folder(path)) {
        *out = has_table_ending(path, n) ? "table" : format_of_folder(path);
        return DROVE_OK;
    }
    *out = format_of_ending(path, n);
    bool exists = stat(path, &about) == 0;
    if (*out != NULL) return DROVE_OK;
    if (exists && S_ISREG(about.st_mode) && !ends_with(path, n, ".csv"))
        return format_of_content(path, out);
    if (exists || has_table_ending(path, n)) *out = "table";
    return DROVE_OK;
}

/* Escapes what a spec would take for something else; is_plain: '%' is one, too. */
static char *make_spec(const char *format, const char *path, size_t n, const char *keys,
                       bool is_plain)
{
    size_t at = strlen(format) + 1, size = at + 3 * n + strlen(keys) + 1;
    char *spec = malloc(size);
    if (spec == NULL) return NULL;
    snprintf(spec, size, "%s:", format);
    for (size_t i = 0; i < n; i++) {
        bool is_special = path[i] == ',' || path[i] == '&' || (path[i] == '%' && is_plain);
        if (is_special) at += (size_t)snprintf(spec + at, 4, "%%%02X", (unsigned)path[i]);
        else spec[at++] = path[i];
    }
    strcpy(spec + at, keys);
    return spec;
}

drove_status drove__data_expand(const char *text, char **out)
{
    *out = NULL;
    size_t n = strcspn(text, "?");
    char *path = strndup(text, n);
    if (path == NULL) return drove__fail_nomem("spec", n);
    const char *format;
    drove_status status = format_of_path(path, names_format(text), &format);
    if (status != DROVE_OK) {
        free(path);
        return status;
    }
    bool is_plain = format != NULL && access(path, F_OK) == 0;
    *out = format != NULL ? make_spec(format, text, n, text + n, is_plain) : strdup(text);
    free(path);
    return *out != NULL ? DROVE_OK : drove__fail_nomem("spec", strlen(text));
}

/* ---- for programs ---- */

int drove_data_is_named(const char *text)
{
    DROVE_IN_C_LOCALE;
    size_t n = strcspn(text, "?");
    if (n == 1 && *text == '-') return 1;
    if (!names_format(text) && is_folder_text(text, n)) return 1;
    if (format_of_ending(text, n) != NULL) return 1;
    return (names_format(text) && (text[strcspn(text, ":?")] != '\0')) || has_table_ending(text, n);
}

drove_status drove__data_parse(const char *text, drove_spec *out)
{
    char *expanded;
    DROVE_TRY(drove__data_expand(text, &expanded));
    drove_status status = drove__spec_parse(expanded, out);
    free(expanded);
    return status;
}

drove_status drove__data_takes_label(const char *text, bool *takes)
{
    char *spec;
    *takes = false;
    DROVE_TRY(drove__data_expand(text, &spec));
    size_t n = strcspn(spec, ":?");
    for (size_t i = 0; drove__formats[i] != NULL; i++) {
        const drove_format_ops *f = drove__formats[i];
        if (strlen(f->name) != n || strncmp(f->name, spec, n) != 0) continue;
        for (size_t k = 0; f->keys != NULL && f->keys[k] != NULL; k++)
            *takes = *takes || strcmp(f->keys[k], "label") == 0;
    }
    free(spec);
    return DROVE_OK;
}

/* Writes spec with key=value into into[size], which may be spec; spec alone without a value. */
static drove_status set_key(const char *spec, const char *key, const char *value, char *into,
                            size_t size)
{
    size_t n = strlen(spec), at = n;
    if (value == NULL) value = "";
    if (n + strlen(key) + 2 + 3 * strlen(value) >= size)
        return drove__fail(DROVE_E_ARG, "%s: expected a shorter text, found %zu bytes", key,
                           strlen(value));
    memmove(into, spec, n + 1);
    if (*value == '\0') return DROVE_OK;
    at +=
        (size_t)snprintf(into + at, size - at, "%c%s=", strchr(spec, '?') == NULL ? '?' : '&', key);
    drove__spec_escape(value, into + at, size - at);
    return DROVE_OK;
}

drove_status drove__data_set_columns(const char *spec, const char *label, const char *weights,
                                     char *into, size_t size)
{
    DROVE_TRY(set_key(spec, "label", label, into, size));
    return set_key(into, "weights", weights, into, size);
}

drove_status drove_data_set_label(const char *spec, const char *label, char *into, size_t size)
{
    DROVE_IN_C_LOCALE;
    return set_key(spec, "label", label, into, size);
}

drove_status drove_data_set_weights(const char *spec, const char *column, char *into, size_t size)
{
    DROVE_IN_C_LOCALE;
    return set_key(spec, "weights", column, into, size);
}
