/* base/cache_folder.c - drove's folder in the user's cache; declared in base/file.h. */
#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
