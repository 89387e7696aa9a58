/* data/open/path.c - data sets named by the path of a file alone. */
#include "data/data.h"

#include "base/file.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/textfile.h"
#include "base/zip.h"
#include "data/open/formats.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the first n bytes of a text are the path of a folder. */
static bool is_folder_text(const char *text, size_t n)
{
    char path[PATH_MAX];
    if (n == 0 || n >= sizeof path) return false;
    memcpy(path, text, n);
    path[n] = '\0';
    return drove__is_folder(path);
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

/* The ending of a text with rows, also with that of a compression behind it. */
static bool has_table_ending(const char *path, size_t n)
{
    static const char *const endings[] = {".csv", ".tsv",  ".tab",    ".psv",     ".txt",
                                          ".dat", ".data", ".arff",   ".jsonl",   ".ndjson",
                                          ".svm", ".vw",   ".libsvm", ".svmlight"};
    n -= drove__compression_ending(path, n);
    for (size_t i = 0; i < DROVE_COUNT(endings); i++) {
        if (ends_with(path, n, endings[i])) return true;
    }
    return false;
}

/* Files that are no run file, though nothing more is known by their name. */
static bool has_data_ending(const char *path, size_t n)
{
    static const char *const endings[] = {".zip",     ".xlsx",    ".xls",   ".ods",
                                          ".parquet", ".feather", ".arrow", ".h5",
                                          ".hdf5",    ".sqlite",  ".pkl",   ".rds"};
    for (size_t i = 0; i < DROVE_COUNT(endings); i++) {
        if (ends_with(path, n, endings[i])) return true;
    }
    return false;
}

/* Formats whose files end so; the first that fits counts.  A tar archive may be compressed. */
static const struct {
    const char *ending, *format;
} binary_endings[] = {
    {".rows", "rows"},
    {".vw", "vw"},
    {".npz", "npz"},
    {".tar", "webdataset"},
    {".tar.gz", "webdataset"},
    {".tgz", "webdataset"},
    {".tar.zst", "webdataset"},
    {".png", "images"},
    {".jpg", "images"},
    {".jpeg", "images"},
    {".webp", "images"}, /* refused there, with the formats that are read */
    {".bmp", "images"},
    {".tif", "images"},
    {".tiff", "images"},
    {".gif", "images"},
};

/* The format of files with this ending; NULL: none of them. */
static const char *format_of_ending(const char *path, size_t n)
{
    for (size_t i = 0; i < DROVE_COUNT(binary_endings); i++) {
        if (ends_with(path, n, binary_endings[i].ending)) return binary_endings[i].format;
    }
    return NULL;
}

/* ---- by content ---- */

/* Bytes of a number at the start of a text, also of nan and inf, which are refused where they are
 * read. */
static size_t number_bytes(const char *text)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    const size_t sign = *text == '-' || *text == '+', n = strcspn(text, " \t\r");
    for (size_t i = 0; i < DROVE_COUNT(words); i++) {
        if (n == sign + strlen(words[i]) && strncasecmp(text + sign, words[i], n - sign) == 0)
            return n;
    }
    return strspn(text, "0123456789+-.eE");
}

/* Behind "qid:N", if the text begins so. */
static const char *skip_group(const char *text)
{
    return strncmp(text, "qid:", 4) == 0 ? text + 4 + strspn(text + 4, "0123456789") : text;
}

/* A label, perhaps the number of its group, and then pairs of an index and a value: "+1 qid:2 3:0.5
 * 17:1".  n_parts: numbers joined by ':' in a pair; of LIBFFM 3.  false: something else. */
static bool is_sparse_line(const char *line, size_t n_parts)
{
    size_t n_pairs = 0;
    line += strspn(line, " \t");
    line += strcspn(line, " \t");
    line += strspn(line, " \t");
    line = skip_group(line);
    while (*(line += strspn(line, " \t\r")) != '\0' && *line != '#') {
        for (size_t i = 1; i < n_parts; i++) {
            const size_t n_digits = strspn(line, "0123456789");
            if (n_digits == 0 || line[n_digits] != ':') return false;
            line += n_digits + 1;
        }
        const size_t n = number_bytes(line);
        if (n == 0 || (line[n] != '\0' && strchr(" \t\r", line[n]) == NULL)) return false;
        line += n;
        n_pairs++;
    }
    return n_pairs > 0;
}

/* A number, and then pairs of a name and a number: "1 age:31 height:1.7". */
static bool is_named_line(const char *line)
{
    size_t n = strspn(line, "0123456789+-.eE"), n_names = 0;
    if (n == 0) return false;
    line = skip_group(line + n + strspn(line + n, " \t"));
    for (; *(line += strspn(line, " \t\r")) != '\0'; line += n) {
        n = strcspn(line, " \t\r");
        const char *colon = memchr(line, ':', n);
        if (colon == NULL || colon == line) return false;
        const size_t n_value = strspn(colon + 1, "0123456789+-.eE");
        if (n_value == 0 || colon + 1 + n_value != line + n) return false;
        n_names += strspn(line, "0123456789") < (size_t)(colon - line);
    }
    return n_names > 0;
}

/* Vowpal Wabbit's text: "1 0.5 'tag|namespace name:0.5 name |other name".  Numbers and a tag stand
 * before the first bar; behind one a namespace, or a blank and features, of which one has a
 * value. */
static bool is_vw_line(const char *line)
{
    const char *bar = strchr(line, '|');
    if (bar == NULL) return false;
    for (bool is_first = true; line += strspn(line, " "), line < bar; is_first = false) {
        const size_t n = strspn(line, "0123456789+-.eE:"), n_word = strcspn(line, " ");
        /* a tag begins with a quote, or touches the bar behind a label */
        if (*line == '\'' || (!is_first && line + n_word > bar)) break;
        if (n == 0 || (line + n < bar && line[n] != ' ')) return false;
        line += n;
    }
    for (const char *next = strchr(bar + 1, '|'); next != NULL; next = strchr(next + 1, '|')) {
        if (next[-1] != ' ') return false;
    }
    if ((bar[1] >= 'A' && bar[1] <= 'Z') || (bar[1] >= 'a' && bar[1] <= 'z')) {
        const size_t n = strcspn(bar + 1, " \r");
        return memchr(bar + 1, ',', n) == NULL && bar[1 + n] == ' ';
    }
    const char *colon = bar[1] == ' ' ? strchr(bar, ':') : NULL;
    return colon != NULL && strchr("0123456789+-.", colon[1]) != NULL && colon[1] != '\0';
}

/* "20 10 4": rows, features and labels of the extreme classification repository's files. */
static bool is_size_line(const char *line)
{
    size_t n = 0;
    while (*(line += strspn(line, " \t\r")) != '\0') {
        const size_t n_digits = strspn(line, "0123456789");
        if (n_digits == 0 || (line[n_digits] != '\0' && strchr(" \t\r", line[n_digits]) == NULL))
            return false;
        line += n_digits;
        n++;
    }
    return n == 2 || n == 3;
}

enum { HEAD_BYTES = 1 << 16, TAR_MAGIC = 257 /* where a tar archive says so */ };

/* Text that is not read. */
typedef enum foreign_text { NOT_FOREIGN, NAMED, LIBFFM, SIZES } foreign_text;

/* The format of text, by the first line that has more than labels.  head: [n + 1]; is_cut: more
 * follows. */
static const char *format_of_text(char *head, size_t n, bool is_cut, foreign_text *foreign)
{
    head[n] = '\0';
    if (strlen(head) < n) return "table"; /* binary */
    if (is_cut) {                         /* at the end of a line, or of a pair of a long one */
        char *last = strrchr(head, '\n');
        if (last == NULL) last = strrchr(head, ' ');
        if (last != NULL) *last = '\0';
    }
    if (strncmp(head, "\xef\xbb\xbf", 3) == 0) head += 3;
    bool has_sizes = false;
    for (char *line = head, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) *next++ = '\0';
        if (line[strspn(line, " \t\r")] == '\0' || *line == '#') continue;
        if (has_sizes && is_sparse_line(line, 2)) *foreign = SIZES;
        if (has_sizes) break;
        has_sizes = is_size_line(line);
        if (has_sizes) continue;
        if (is_vw_line(line)) return "vw";
        if (is_sparse_line(line, 2)) return "libsvm";
        if (is_named_line(line)) *foreign = NAMED;
        if (is_sparse_line(line, 3)) *foreign = LIBFFM;
        /* A row of LIBSVM all of whose features are 0: its labels alone, perhaps with a group. */
        const char *rest = line + strspn(line, " \t");
        rest += strspn(rest, "0123456789+-.eE,");
        rest = skip_group(rest + strspn(rest, " \t"));
        if (rest[strspn(rest, " \t\r")] != '\0') break;
    }
    return "table";
}

/* Whether a ZIP archive holds NumPy's arrays. */
static bool is_npz(const char *path)
{
    drove_zip *zip;
    bool found = false;
    if (drove__zip_open(path, &zip) != DROVE_OK) return false;
    for (size_t i = 0; i < drove__zip_count(zip) && !found; i++) {
        const char *name = drove__zip_name(zip, i);
        found = ends_with(name, strlen(name), ".npy");
    }
    drove__zip_close(zip);
    return found;
}

/* The format of a regular file by its first bytes.  A pipe is not looked into: what it holds can be
 * read once.  Errors: DROVE_E_NOMEM, DROVE_E_IO, DROVE_E_DATA (a format that is not read); what
 * else is wrong with the file, its reader says. */
static drove_status format_of_content(const char *path, const char **out)
{
    drove_reader *reader = NULL;
    const char *start;
    foreign_text foreign = NOT_FOREIGN;
    size_t n = 0, n_more = 1;
    char *head = malloc(HEAD_BYTES + 1);
    if (head == NULL) return drove__fail_nomem(path, HEAD_BYTES);
    *out = is_npz(path) ? "npz" : "table";
    drove_status status = DROVE_OK;
    if (strcmp(*out, "npz") != 0) status = drove__textfile_open(path, NULL, &reader);
    while (reader != NULL && status == DROVE_OK && n < HEAD_BYTES && n_more > 0) {
        status = drove__reader_read_some(reader, head + n, HEAD_BYTES - n, &n_more);
        if (status == DROVE_OK) n += n_more;
    }
    if (reader != NULL && status == DROVE_OK) {
        start = head;
        if (n >= 12 && memcmp(start, "drove-rows-", 11) == 0) *out = "rows";
        else if (n >= TAR_MAGIC + 5 && memcmp(start + TAR_MAGIC, "ustar", 5) == 0)
            *out = "webdataset";
        else *out = format_of_text(head, n, n == HEAD_BYTES, &foreign);
    }
    drove__reader_close(reader);
    free(head);
    if (foreign == NOT_FOREIGN) return drove_status_exit(status) == 1 ? status : DROVE_OK;
    if (foreign == NAMED)
        return drove__fail(DROVE_E_DATA,
                           "%s: expected a table or LIBSVM, found lines of SVMlight whose features "
                           "have names (sed -E 's/^([^ ]+) /\\1 | /' '%s' > '%s.vw' writes Vowpal "
                           "Wabbit's text, which is read)",
                           path, path, path);
    if (foreign == SIZES)
        return drove__fail(DROVE_E_DATA,
                           "%s: expected a table or LIBSVM, found LIBSVM below a line of its sizes "
                           "(tail -n +2 '%s' > '%s.libsvm' leaves that line out)",
                           path, path, path);
    return drove__fail(
        DROVE_E_DATA,
        "%s: expected a table or LIBSVM, found LIBFFM, whose pairs have a field (sed "
        "-E 's/ [0-9]+:([0-9]+:)/ \\1/g' '%s' > '%s.libsvm' writes LIBSVM, without "
        "fields)",
        path, path, path);
}

/* The format of a path; NULL: the text is no path.  Errors: of format_of_content. */
static drove_status format_of_path(const char *path, bool is_named, const char **out)
{
    struct stat about;
    size_t n = strlen(path);
    *out = strcmp(path, "-") == 0 ? "table" : NULL;
    if (*out != NULL || n == 0 || is_named) return DROVE_OK;
    if (drove__is_folder(path)) {
        /* a folder with MNIST's files, or of images */
        static const char *const files[] = {"train-images-idx3-ubyte",
                                            "train-images-idx3-ubyte.gz"};
        *out = has_table_ending(path, n) ? "table" : "images";
        for (size_t i = 0; strcmp(*out, "images") == 0 && i < DROVE_COUNT(files); i++) {
            char file[PATH_MAX];
            int n_file = snprintf(file, sizeof file, "%s/%s", path, files[i]);
            if (n_file > 0 && (size_t)n_file < sizeof file && access(file, F_OK) == 0)
                *out = "mnist";
        }
        return DROVE_OK;
    }
    *out = format_of_ending(path, n);
    bool exists = stat(path, &about) == 0;
    if (*out != NULL) return DROVE_OK;
    if (exists && S_ISREG(about.st_mode) && !ends_with(path, n, ".csv"))
        return format_of_content(path, out);
    if (exists || has_table_ending(path, n) || has_data_ending(path, n)) *out = "table";
    return DROVE_OK;
}

/* Whether each part between commas has an image's ending: "a.png,b.png". */
static bool are_images(const char *path)
{
    for (size_t n = strcspn(path, ",");; path += n + 1, n = strcspn(path, ",")) {
        const char *format = format_of_ending(path, n);
        if (format == NULL || strcmp(format, "images") != 0) return false;
        if (path[n] == '\0') return true;
    }
}

/* Escapes what a spec would take for something else; is_plain: '%' is one, too; is_list: commas are
 * none. */
static char *make_spec(const char *format, const char *path, size_t n, const char *keys,
                       bool is_plain, bool is_list)
{
    size_t at = strlen(format) + 1, size = at + 3 * n + strlen(keys) + 1;
    char *spec = malloc(size);
    if (spec == NULL) return NULL;
    snprintf(spec, size, "%s:", format);
    for (size_t i = 0; i < n; i++) {
        bool is_special =
            (path[i] == ',' && !is_list) || path[i] == '&' || (path[i] == '%' && is_plain);
        if (is_special) at += (size_t)snprintf(spec + at, 4, "%%%02X", (unsigned)path[i]);
        else spec[at++] = path[i];
    }
    strcpy(spec + at, keys);
    return spec;
}

drove_status drove__data_expand(const char *text, char **out)
{
    *out = NULL;
    /* A URL may have a query of its own; behind it stand the keys that options have added. */
    static const char *const added[] = {"label=", "weights=", "keep="};
    char *url = strdup(text);
    if (url == NULL) return drove__fail_nomem("spec", strlen(text));
    for (char *c = url; *c != '\0'; c++) {
        for (size_t i = 0; (*c == '?' || *c == '&') && i < DROVE_COUNT(added); i++)
            if (strncmp(c + 1, added[i], strlen(added[i])) == 0) *c = '\0';
    }
    drove_status status = drove__fail_url(url);
    free(url);
    DROVE_TRY(status);

    size_t n = strcspn(text, "?");
    char *path = strndup(text, n);
    if (path == NULL) return drove__fail_nomem("spec", n);
    const char *format;
    status = format_of_path(path, names_format(text), &format);
    if (status != DROVE_OK) {
        free(path);
        return status;
    }
    bool is_plain = format != NULL && access(path, F_OK) == 0;
    *out = format != NULL
               ? make_spec(format, text, n, text + n, is_plain, !is_plain && are_images(path))
               : strdup(text);
    free(path);
    return *out != NULL ? DROVE_OK : drove__fail_nomem("spec", strlen(text));
}

/* ---- for programs ---- */

/* A .json file that holds an array, which no run file does. */
static bool is_json_array(const char *text, size_t n)
{
    char path[PATH_MAX], head[64];
    if (!ends_with(text, n, ".json") || n >= sizeof path) return false;
    memcpy(path, text, n);
    path[n] = '\0';
    FILE *stream = fopen(path, "r");
    const size_t n_head = stream != NULL ? fread(head, 1, sizeof head - 1, stream) : 0;
    if (stream != NULL) fclose(stream);
    head[n_head] = '\0';
    return head[strspn(head, " \t\r\n")] == '[';
}

int drove_data_is_named(const char *text)
{
    if (text == NULL) return 0;
    DROVE_IN_C_LOCALE;
    size_t n = strcspn(text, "?");
    if (n == 1 && *text == '-') return 1;
    if (!names_format(text) && is_folder_text(text, n)) return 1;
    if (format_of_ending(text, n) != NULL) return 1;
    if (names_format(text) && text[strcspn(text, ":?")] != '\0') return 1;
    return has_table_ending(text, n) || has_data_ending(text, n) || is_json_array(text, n);
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
        *takes = *takes || drove__spec_knows(f->keys, "label");
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
    DROVE_GIVEN(spec);
    DROVE_GIVEN(into);
    DROVE_IN_C_LOCALE;
    return set_key(spec, "label", label, into, size);
}

drove_status drove_data_set_keep(const char *spec, const char *columns, char *into, size_t size)
{
    DROVE_GIVEN(spec);
    DROVE_GIVEN(into);
    DROVE_IN_C_LOCALE;
    return set_key(spec, "keep", columns, into, size);
}

drove_status drove_data_set_weights(const char *spec, const char *column, char *into, size_t size)
{
    DROVE_GIVEN(spec);
    DROVE_GIVEN(into);
    DROVE_IN_C_LOCALE;
    return set_key(spec, "weights", column, into, size);
}

drove_status drove__format_parse(const char *text, drove_spec *spec, const drove_format_ops **out)
{
    DROVE_TRY(drove__data_parse(text, spec));
    DROVE_TRY(drove__format_find(spec, out));
    return drove__format_check(*out, spec);
}
