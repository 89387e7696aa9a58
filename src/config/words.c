/* config/words.c - see words.h. */
#include "config/words.h"

#include "base/spec.h"
#include "plan/workers.h"

#include <string.h>

bool drove__option_is(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++) {
        char x = *a == '-' ? '_' : *a, y = *b == '-' ? '_' : *b;
        if (x != y) return false;
    }
    return *a == *b;
}

drove_status drove__loaders_parse(const char *text, bool *is_auto, unsigned *out)
{
    uint64_t n = 0;
    *is_auto = strcmp(text, "auto") == 0;
    if (!*is_auto && drove__parse_u64("--loaders", text, 0, DROVE_MOST_THREADS, &n) != DROVE_OK) {
        return drove__fail(DROVE_E_ARG,
                           "--loaders: expected a whole number from 0 to %d, or auto, found "
                           "\"%.80s\"",
                           DROVE_MOST_THREADS, text);
    }
    *out = (unsigned)n;
    return DROVE_OK;
}

bool drove__prefetch_wants_hints(const char *word)
{
    return strcmp(word, "on") == 0 || strcmp(word, "hints") == 0;
}

bool drove__prefetch_wants_hardware_off(const char *word)
{
    return strcmp(word, "off") == 0 || strcmp(word, "hints") == 0;
}
