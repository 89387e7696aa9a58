/* study/place.c - see place.h. */
#include "study/place.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/* A study may go on in its own folder, but begins in no folder with other files. */
drove_status drove__study_folder_make(const char *folder, const char *what)
{
    char path[PATH_SIZE], found[256] = "";
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created", folder);
    snprintf(path, sizeof path, "%s/study.json", folder);
    DIR *dir = access(path, F_OK) != 0 ? opendir(folder) : NULL;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            snprintf(found, sizeof found, "%s", e->d_name);
    if (dir != NULL) closedir(dir);
    if (found[0] == '\0') return DROVE_OK;
    return drove__fail(DROVE_E_EXISTS,
                       "--out: expected a new or empty folder, or that of %s, found %s with %s in "
                       "it",
                       what, folder, found);
}
