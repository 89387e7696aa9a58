/* base/cache_folder.c - where things are kept that may be lost; declared in base/file.h. */
#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a folder and those above it.  false: it is not there and cannot be made, or not be written
 * to. */
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

/* A relative XDG_CACHE_HOME is not valid by its specification, and is passed over. */
bool drove__cache_folder(char *into, size_t size_bytes)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (cache != NULL && cache[0] == '/') n = snprintf(into, size_bytes, "%s/drove", cache);
    else if (home != NULL && home[0] == '/')
        n = snprintf(into, size_bytes, "%s/.cache/drove", home);
    return n > 0 && (size_t)n < size_bytes && make_folder(into);
}
