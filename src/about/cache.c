/* about/cache.c - drove_cache_print, drove_cache_clear: what drove keeps in the user's cache. */
#include "about/info.h"
#include "base/cache_folder.h"
#include "base/given.h"
#include "base/locale.h"

#include <drove/data.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

drove_status drove_cache_print(int as_json, FILE *stream)
{
    DROVE_GIVEN(stream);
    DROVE_IN_C_LOCALE;
    char folder[PATH_MAX];
    drove_cached *file;
    size_t n;
    uint64_t sum = 0;
    DROVE_TRY(drove__cache_list(&file, &n));
    (void)drove__cache_folder(folder, sizeof folder);
    drove_status status = DROVE_OK;
    if (as_json) {
        json_t *all = json_object(), *list = json_array();
        for (size_t i = 0; i < n; i++)
            drove__json_add(&list,
                            json_pack("{s:s, s:I, s:I}", "file", strrchr(file[i].path, '/') + 1,
                                      "bytes", (json_int_t)file[i].n_bytes, "used_s",
                                      (json_int_t)file[i].used_s));
        drove__json_set(&all, "folder", json_string(folder));
        drove__json_set(&all, "files", list);
        status = drove__about_print_json(all, "cache", stream);
    } else {
        for (size_t i = 0; i < n; i++) {
            char date[32] = "?";
            struct tm then;
            const time_t used = (time_t)file[i].used_s;
            if (localtime_r(&used, &then) != NULL)
                (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M", &then);
            fprintf(stream, "%s  %9.1f MB  %s\n", date, (double)file[i].n_bytes * 1e-6,
                    strrchr(file[i].path, '/') + 1);
            sum += file[i].n_bytes;
        }
        fprintf(stream, "%zu file%s, %.1f MB in %s\n", n, n == 1 ? "" : "s", (double)sum * 1e-6,
                folder);
    }
    free(file);
    if (status == DROVE_OK && ferror(stream))
        status = drove__fail(DROVE_E_IO, "cache: cannot write the list");
    return status;
}

drove_status drove_cache_clear(uint64_t *n_bytes)
{
    DROVE_GIVEN(n_bytes);
    DROVE_IN_C_LOCALE;
    drove_cached *file;
    size_t n;
    *n_bytes = 0;
    DROVE_TRY(drove__cache_list(&file, &n));
    drove_status status = DROVE_OK;
    for (size_t i = 0; i < n; i++) {
        if (unlink(file[i].path) == 0) *n_bytes += file[i].n_bytes;
        else if (errno != ENOENT && status == DROVE_OK)
            status = drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be removed", file[i].path);
    }
    free(file);
    return status;
}
