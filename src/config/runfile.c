/* config/runfile.c - run files: a YAML mapping from option names to scalars. */
#include "base/alive.h"
#include "base/file.h"
#include "base/foreign.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/yaml.h"

#include "config/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RUNFILE_MOST_BYTES = 1 << 20, MOST_GIVEN = 64 };

typedef struct runfile {
    drove_yaml *yaml;
    drove_options options;  /* becomes the caller's when the whole file was good          */
    const char *wanted;     /* drove_options_locate: the error; else NULL                  */
    drove_options alone;    /* defaults with one value                                     */
    int at_line, at_column; /* of the value that gives it; 0: none so far                 */
    size_t n_given;
    char given[MOST_GIVEN][32]; /* keys so far, with '_'                                    */
    int given_line[MOST_GIVEN];
} runfile;

static drove_status remember(runfile *f, const char *key, int line, int column)
{
    char plain[sizeof f->given[0]];
    snprintf(plain, sizeof plain, "%s", key);
    for (char *c = plain; *c != '\0'; c++) {
        if (*c == '-') *c = '_';
    }
    if (strcmp(plain, "workers") == 0) strcpy(plain, "threads");
    for (size_t i = 0; i < f->n_given; i++) {
        if (strcmp(f->given[i], plain) != 0) continue;
        return drove__yaml_fail(f->yaml, line, column,
                                "expected each option once, found \"%s\" again (first on line %d)",
                                key, f->given_line[i]);
    }
    if (f->n_given < MOST_GIVEN) {
        memcpy(f->given[f->n_given], plain, sizeof plain);
        f->given_line[f->n_given++] = line;
    }
    return DROVE_OK;
}

/* One key with its value, or the end of the mapping. */
static drove_status read_pair(runfile *f, const char *path, bool *ended)
{
    drove_status status = DROVE_OK;
    char present[DROVE_TEXT_SIZE];
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_next(f->yaml, &item));
    *ended = item.kind == DROVE_YAML_MAPPING_END;
    if (*ended) return DROVE_OK;
    if (item.kind != DROVE_YAML_VALUE)
        return drove__yaml_unexpected(f->yaml, &item, "the name of an option");
    char *key = strdup(item.text);
    if (key == NULL) return drove__fail_nomem(path, strlen(item.text));
    if (strcmp(key, "workers") != 0)
        status = drove_options_get(&f->options, key, present, sizeof present);
    if (status != DROVE_OK)
        status = drove__fail_in(status, "%s:%d:%d", path, item.line, item.column);
    if (status != DROVE_OK) goto fail;
    if ((status = remember(f, key, item.line, item.column)) != DROVE_OK) goto fail;
    char expected[64];
    drove_yaml_item value = {.line = item.line, .column = item.column};
    snprintf(expected, sizeof expected, "one value for \"%.32s\"", key);
    if ((status = drove__yaml_expect(f->yaml, DROVE_YAML_VALUE, expected, &value)) != DROVE_OK)
        goto fail;
    if (f->wanted != NULL && f->at_line == 0) { /* is this the value of which the error tells? */
        f->alone = drove__options_default();
        if (drove_options_set(&f->alone, key, value.text) == DROVE_OK &&
            drove_options_validate(&f->alone) != DROVE_OK &&
            strcmp(drove_error_text(), f->wanted) == 0) {
            f->at_line = value.line;
            f->at_column = value.column;
        }
    }
    status = drove__options_set(&f->options, key, value.text, DROVE_FROM_FILE);
    if (status != DROVE_OK)
        status = drove__fail_in(status, "%s:%d:%d", path, value.line, value.column);
fail:
    free(key);
    return status;
}

/* The header of a table: columns with a mark between them, and no option. */
static bool is_like_table(const char *text)
{
    size_t n = strcspn(text, "\r\n"), mark = strcspn(text, ",;\t");
    return mark < n && strcspn(text, ":#{[") > n;
}

/* A file that is neither options nor a table; what may be a pipe is not looked into. */
static drove_status check_kind(const char *path)
{
    struct stat about;
    char head[DROVE_FOREIGN_BYTES], what[DROVE_FOREIGN_SIZE];
    if (stat(path, &about) != 0) return DROVE_OK; /* loading says why */
    if (S_ISCHR(about.st_mode))
        return drove__fail(DROVE_E_DATA, "%s: expected a run file or a data file, found a device",
                           path);
    FILE *stream = S_ISREG(about.st_mode) ? fopen(path, "r") : NULL;
    if (stream == NULL) return DROVE_OK;
    const char *foreign =
        drove__foreign_binary(path, head, fread(head, 1, sizeof head, stream), what);
    fclose(stream);
    if (foreign == NULL) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: expected a run file or a table as text, found %s", path,
                       foreign);
}

static drove_status read_file(runfile *f, const char *path)
{
    char *text = NULL;
    size_t size_bytes;
    DROVE_TRY(check_kind(path));
    drove_status status;
    if ((status = drove__file_load(path, RUNFILE_MOST_BYTES, &text, &size_bytes)) != DROVE_OK)
        goto fail;
    if ((status = drove__yaml_open(text, size_bytes, path, DROVE_E_ARG, "option: value",
                                   &f->yaml)) != DROVE_OK)
        goto fail;
    int is_empty;
    if ((status = drove__yaml_begin(f->yaml, "lines of the form option: value", &is_empty)) !=
        DROVE_OK)
        goto fail;
    if (!is_empty) {
        for (bool ended = false; !ended;)
            if ((status = read_pair(f, path, &ended)) != DROVE_OK) goto fail;
        status = drove__yaml_finish(f->yaml);
    }
fail:
    if (status != DROVE_OK && text != NULL && is_like_table(text)) {
        char why[DROVE_ERROR_TEXT_SIZE];
        drove__error_copy(why);
        status = drove__fail(status, "%s; a data file without .csv: --data %s", why, path);
    }
    drove__yaml_close(f->yaml);
    free(text);
    return status;
}

drove_status drove_options_load(drove_options *options, const char *path)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(path);
    DROVE_IN_C_LOCALE;
    runfile *f = calloc(1, sizeof *f);
    if (f == NULL) return drove__fail_nomem("run file", sizeof *f);
    f->options = *options;
    drove_status status = read_file(f, path);
    if (status == DROVE_OK) *options = f->options;
    free(f);
    return status;
}

void drove_options_locate(const char *path)
{
    if (path == NULL) return;
    char wanted[DROVE_ERROR_TEXT_SIZE];
    drove__error_copy(wanted);
    runfile *f = calloc(1, sizeof *f);
    if (f == NULL) return; /* the text is there, without its place */
    f->options = drove__options_default();
    f->wanted = wanted;
    (void)read_file(f, path);
    drove__fail(DROVE_E_ARG, "%s", wanted);
    if (f->at_line > 0)
        (void)drove__fail_in(DROVE_E_ARG, "%s:%d:%d", path, f->at_line, f->at_column);
    free(f);
}
