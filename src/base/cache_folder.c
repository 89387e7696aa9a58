/* base/cache_folder.c - drove's folder in the user's cache, and what lies in it; declared in
 * base/cache_folder.h. */
#include "base/cache_folder.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The specification calls a relative XDG_CACHE_HOME invalid: it is ignored. */
bool drove__cache_folder(char *into, size_t size_bytes)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (cache != NULL && cache[0] == '/') n = snprintf(into, size_bytes, "%s/drove", cache);
    else if (home != NULL && home[0] == '/')
        n = snprintf(into, size_bytes, "%s/.cache/drove", home);
    if (n <= 0 || (size_t)n >= size_bytes) return false;
    for (char *slash = strchr(into + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(into, 0777);
        *slash = '/';
    }
    mkdir(into, 0777);
    return drove__is_folder(into) && access(into, W_OK | X_OK) == 0;
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
    if (!drove__cache_folder(folder, sizeof folder))
        return drove__fail(DROVE_E_FILE, "cache: expected $XDG_CACHE_HOME/drove or ~/.cache/drove, "
                                         "found none that can be written");
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be read", folder);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
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
    closedir(dir);
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
    uint64_t cached = 0, removable = 0;
    *n_removed = 0;
    if (!drove__cache_folder(folder, sizeof folder) || statvfs(folder, &disk) != 0) return DROVE_OK;
    DROVE_TRY(drove__cache_list(&file, &n));
    for (size_t i = 0; i < n; i++) {
        cached += file[i].n_bytes;
        if (is_rows(file[i].path)) removable += file[i].n_bytes;
    }
    const char *text = getenv("DROVE_CACHE_LIMIT");
    const bool is_given = text != NULL && text[0] != '\0';
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize, limit = UINT64_MAX;
    drove_status status =
        is_given ? drove__parse_bytes("DROVE_CACHE_LIMIT", text, &limit) : DROVE_OK;
    /* A twentieth of what is free is left to others. */
    const uint64_t usable = removable + free_bytes / 20 * 19, kept = cached - removable;
    const uint64_t allowed = limit > kept ? limit - kept : 0;
    const uint64_t room = usable < allowed ? usable : allowed;
    if (status == DROVE_OK && n_bytes > room)
        status = drove__fail(DROVE_E_IO, "%s: expected room for %.3g GB, found %.3g GB (%s)",
                             folder, (double)n_bytes * 1e-9, (double)room * 1e-9,
                             allowed < usable ? "DROVE_CACHE_LIMIT" : "what the disk has free");
    /* Those that were used longest ago go first. */
    for (size_t i = 0; i < n && status == DROVE_OK; i++) {
        if (cached + n_bytes <= limit && n_bytes <= free_bytes / 20 * 19) break;
        if (!is_rows(file[i].path) || unlink(file[i].path) != 0) continue;
        cached -= file[i].n_bytes;
        free_bytes += file[i].n_bytes;
        *n_removed += file[i].n_bytes;
    }
    free(file);
    return status;
}
