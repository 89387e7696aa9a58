/* study/journal.c - see journal.h. */
#include "study/journal.h"

#include "base/file.h"
#include "files/folder.h"
#include "study/records.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, MOST_BYTES = 16 << 20, SHOWN = 60 };

/* ---- the folder ---- */

static bool is_own(const char *name)
{
    static const char *const names[] = {"study.json", "results.jsonl", "trials.jsonl",
                                        "runs",       "trials",        "best"};
    for (size_t i = 0; i < DROVE_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* study.json.tmp.PROCESS.N */
static bool is_temporary(const char *name)
{
    static const char beginning[] = "study.json.tmp.";
    const char *at = name + sizeof beginning - 1;
    if (strncmp(name, beginning, sizeof beginning - 1) != 0) return false;
    const size_t n = strspn(at, "0123456789");
    return n > 0 && at[n] == '.' && at[n + 1] != '\0' &&
           strspn(at + n + 1, "0123456789") == strlen(at + n + 1);
}

drove_status drove__study_folder_make(const char *folder, const char *what)
{
    char path[PATH_SIZE], found[256] = "";
    if (mkdir(folder, 0777) == 0) drove__folder_keep_name(folder);
    else if (errno != EEXIST)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created", folder);
    snprintf(path, sizeof path, "%s/study.json", folder);
    const bool is_new = access(path, F_OK) != 0;
    drove_status status = DROVE_OK;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && status == DROVE_OK && (e = readdir(dir)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (is_temporary(e->d_name)) continue; /* it was being written: no study yet */
        if (is_own(e->d_name)) status = drove__folder_refuse_link(folder, dirfd(dir), e->d_name);
        if (is_new) snprintf(found, sizeof found, "%s", e->d_name);
    }
    if (dir != NULL) closedir(dir);
    DROVE_TRY(status);
    if (found[0] == '\0') return DROVE_OK;
    return drove__fail(DROVE_E_EXISTS,
                       "--out: expected a new or empty folder, or that of %s, found %s with %s in "
                       "it",
                       what, folder, found);
}

/* The first key of two objects with different values; NULL: they are equal. */
static const char *first_difference(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)a, key,
                        value) if (!json_equal(value, json_object_get(b, key))) return key;
    json_object_foreach((json_t *)b, key, value) if (json_object_get(a, key) == NULL) return key;
    return NULL;
}

void drove__study_difference(const json_t *expected, const json_t *found, char *into, size_t size)
{
    const json_t *side[2] = {expected, found};
    char shown[2][SHOWN], path[256] = "";
    while (json_is_object(side[0]) && json_is_object(side[1])) {
        const char *key = first_difference(side[0], side[1]);
        const size_t n = strlen(path);
        if (key == NULL) break;
        snprintf(path + n, sizeof path - n, "%s%s", n > 0 ? "." : "", key);
        for (int i = 0; i < 2; i++) side[i] = json_object_get(side[i], key);
    }
    for (int i = 0; i < 2; i++) {
        char *text = drove__json_dump(side[i], JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        snprintf(shown[i], SHOWN, "%s", text != NULL ? text : "nothing");
        if (text != NULL && strlen(text) >= SHOWN) strcpy(shown[i] + SHOWN - 4, "...");
        free(text);
    }
    snprintf(into, size, "%s%sexpected %s, found %s", path, path[0] != '\0' ? ": " : "", shown[0],
             shown[1]);
}

/* Compares the study with the text of study.json; own: the text that it would have, in which
 * numbers are rounded as in the file. */
static drove_status compare(const char *folder, const char *own, const char *text, const char *part)
{
    char what[512];
    json_error_t why;
    json_t *expected = NULL, *found = NULL;
    drove_status status = drove__json_parse(own, strlen(own), 0, &why, &expected);
    if (status == DROVE_OK) status = drove__json_parse(text, strlen(text), 0, &why, &found);
    if (status != DROVE_OK) {
        json_decref(expected);
        return drove__fail_in(status, "%s/study.json", folder);
    }
    const json_t *a = part != NULL ? json_object_get(expected, part) : expected;
    const json_t *b = part != NULL ? json_object_get(found, part) : found;
    if (b == NULL) snprintf(what, sizeof what, "it is not of a %s", part);
    else if (!json_equal(a, b)) drove__study_difference(a, b, what, sizeof what);
    else what[0] = '\0';
    json_decref(expected);
    json_decref(found);
    if (what[0] == '\0') return DROVE_OK;
    return drove__fail(DROVE_E_EXISTS,
                       "--out: expected a folder of this study, found %s of another: %s", folder,
                       what);
}

drove_status drove__study_claim(const char *folder, const json_t *study, const char *part,
                                size_t flags)
{
    char path[PATH_SIZE], *found = NULL;
    size_t n_bytes;
    drove_writer *w;
    drove_status status = DROVE_OK;
    char *own = drove__json_dump(study, flags);
    if (own == NULL) return drove__fail_nomem("study", sizeof *study);
    snprintf(path, sizeof path, "%s/study.json", folder);
    if (access(path, F_OK) == 0) {
        status = drove__file_load(path, MOST_BYTES, &found, &n_bytes);
        if (status == DROVE_OK) status = compare(folder, own, found, part);
    } else {
        status = drove__writer_create(path, &w);
        if (status == DROVE_OK) {
            fprintf(drove__writer_stream(w), "%s\n", own);
            status = drove__writer_commit(w);
        }
    }
    free(found);
    free(own);
    return status;
}

/* ---- the journal ---- */

static off_t size_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? about.st_size : 0;
}

drove_status drove__journal_open(const char *path,
                                 drove_status (*visit)(void *to, const json_t *record), void *to,
                                 drove_jsonl **out, bool *had_half)
{
    const drove_records in = {.path = path, .is_strict = true};
    if (out != NULL) {
        const off_t before = size_of(path);
        DROVE_TRY(drove__jsonl_open(path, out));
        if (before == 0) drove__folder_keep_name(path);
        *had_half = size_of(path) < before;
    }
    if (access(path, F_OK) != 0 && errno == ENOENT) return DROVE_OK;
    const drove_status status = drove__records_each(&in, visit, to, NULL);
    if (status == DROVE_OK) return DROVE_OK;
    if (out != NULL) {
        drove__jsonl_close(*out);
        *out = NULL;
    }
    if (status != DROVE_E_DATA) return status;
    char why[DROVE_ERROR_TEXT_SIZE];
    drove__error_copy(why);
    return drove__fail(DROVE_E_DATA,
                       "%s; without this line the same command goes on, and runs again what it "
                       "told of",
                       why);
}

drove_status drove__journal_add(drove_jsonl *journal, const json_t *record)
{
    char *line = drove__json_dump(record, JSON_COMPACT | JSON_REAL_PRECISION(9));
    drove_status status =
        line != NULL ? drove__jsonl_append(journal, line) : drove__fail_nomem("a record", 1);
    if (status == DROVE_OK) status = drove__jsonl_sync(journal); /* what is said to be done is */
    free(line);
    return status;
}
