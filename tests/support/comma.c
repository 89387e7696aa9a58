/* tests/support/comma.c - see comma.h. */
#include "support/comma.h"

#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *set_installed(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8",
                                        "fr_FR"};
    const char *set = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && set == NULL; i++)
        set = setlocale(LC_ALL, names[i]);
    return set != NULL && *localeconv()->decimal_point == ',' ? set : NULL;
}

const char *drove_test_set_comma_locale(void)
{
    char folder[4096];
    const char *set = set_installed();
    if (set != NULL || getcwd(folder, sizeof folder) == NULL) return set;
    if (system("mkdir -p locales && localedef -i de_DE -f UTF-8 ./locales/de_DE.UTF-8 "
               ">/dev/null 2>&1") != 0)
        return NULL;
    char path[sizeof folder + 16];
    (void)snprintf(path, sizeof path, "%s/locales", folder);
    (void)setenv("LOCPATH", path, 1);
    return set_installed();
}
