/* base/alone.c - see alone.h. */
#include "base/alone.h"

#include "base/racy.h" /* DROVE_TSAN */

#include <stdio.h>

drove_status drove__process_is_alone(const char *who)
{
    unsigned n_threads = 1;
    char text[128];
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(text, sizeof text, file) != NULL &&
           sscanf(text, "Threads: %u", &n_threads) != 1)
        continue;
    if (file != NULL) {
        fclose(file);
        n_threads -= DROVE_TSAN ? 1 : 0; /* the sanitizer's own */
    }
    if (n_threads <= 1) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM,
                       "%s: expected a process of one thread, which alone lives on in forked "
                       "ones; found %u threads",
                       who, n_threads);
}
