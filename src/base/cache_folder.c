/* base/cache_folder.c - drove's folder in the user's cache, and what lies in it; declared in
 * base/cache_folder.h. */
#include "base/cache_folder.h"

#include "base/mem.h"
#include "base/number.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Creates a folder and its parents.  false: it does not exist and cannot be created, or is not
 * writable. */
static bool make_folder(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    struct stat about;
    mkdir(path, 0777);
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode) && access(path, W_OK | X_OK) == 0;
}

/* The specification calls a relative XDG_CACHE_HOME invalid: it is ignored. */
bool drove__cache_folder(char *into, size_t size_bytes)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (cache != NULL && cache[0] == '/') n = snprintf(into, size_bytes, "%s/drove", cache);
    else if (home != NULL && home[0] == '/')
        n = snprintf(into, size_bytes, "%s/.cache/drove", home);
    return n > 0 && (size_t)n < size_bytes && make_folder(into);
}

/* ---- what lies there ---- */

static int compare_uses(const void *a, const void *b)
{
    const drove_cached *x = a, *y = b;
    return x->used_s < y->used_s ? -1 : x->used_s > y->used_s;
}

drove_status drove__cache_list(drove_cached **out, size_t *n_out)
{
    char folder[PATH_MAX - NAME_MAX - 2];
    drove_status status = DROVE_OK;
    *out = NULL;
    *n_out = 0;
    DIR *dir = drove__cache_folder(folder, sizeof folder) ? opendir(folder) : NULL;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        struct stat about;
        if (fstatat(dirfd(dir), e->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(about.st_mode))
            continue;
        drove_cached *grown = drove__grow(*out, *n_out + 1, sizeof *grown);
        if (grown == NULL) {
            status = drove__fail_nomem("the files of the cache", (*n_out + 1) * sizeof *grown);
            break;
        }
        *out = grown;
        drove_cached *file = &grown[(*n_out)++];
        const time_t used = about.st_atime > about.st_mtime ? about.st_atime : about.st_mtime;
        *file = (drove_cached){.n_bytes = (uint64_t)about.st_blocks * 512, .used_s = (int64_t)used};
        snprintf(file->path, sizeof file->path, "%s/%s", folder, e->d_name);
    }
    if (dir != NULL) closedir(dir);
    if (status != DROVE_OK) {
        free(*out);
        *out = NULL;
        *n_out = 0;
    }
    if (*n_out > 1) qsort(*out, *n_out, sizeof **out, compare_uses);
    return status;
}

/* ---- room ---- */

static bool is_rows(const char *path)
{
    const size_t n = strlen(path), n_ending = strlen(".rows");
    return n > n_ending && strcmp(path + n - n_ending, ".rows") == 0;
}

drove_status drove__cache_room(uint64_t n_bytes, uint64_t *n_removed)
{
    char folder[PATH_MAX];
    struct statvfs disk;
    drove_cached *file;
    size_t n;
    uint64_t cached = 0, limit;
    *n_removed = 0;
    if (!drove__cache_folder(folder, sizeof folder) || statvfs(folder, &disk) != 0) return DROVE_OK;
    DROVE_TRY(drove__cache_list(&file, &n));
    for (size_t i = 0; i < n; i++) cached += file[i].n_bytes;
    const uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    const char *text = getenv("DROVE_CACHE_LIMIT");
    drove_status status = DROVE_OK;
    limit = (free_bytes + cached) / 5 * 4;
    if (text != NULL && text[0] != '\0')
        status = drove__parse_bytes("DROVE_CACHE_LIMIT", text, &limit);
    if (status == DROVE_OK && n_bytes > limit)
        status =
            drove__fail(DROVE_E_IO, "%s: expected room for %.3g GB, found %.3g GB (%s)", folder,
                        (double)n_bytes * 1e-9, (double)limit * 1e-9,
                        text != NULL && text[0] != '\0' ? "DROVE_CACHE_LIMIT"
                                                        : "four fifths of the disk's free space");
    /* Those that were used longest ago go first. */
    for (size_t i = 0; i < n && status == DROVE_OK && cached + n_bytes > limit; i++) {
        if (!is_rows(file[i].path) || unlink(file[i].path) != 0) continue;
        cached -= file[i].n_bytes;
        *n_removed += file[i].n_bytes;
    }
    free(file);
    return status;
}
