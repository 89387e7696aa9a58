/* base/locale.h - text and numbers of the library do not depend on the program's locale.
 *
 * A program may have called setlocale: then printf and strtod have a decimal comma where the locale
 * has one.  Every public function that reads or prints numbers begins with DROVE_IN_C_LOCALE, and
 * so do the threads that may: until the block ends the calling thread has the locale "C".
 * Callbacks run in it too.
 */
#ifndef DROVE_BASE_LOCALE_H
#define DROVE_BASE_LOCALE_H

#include <locale.h>

/* Switches the calling thread; what it had before. */
static inline locale_t drove__locale_begin(void)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* one constant object in glibc */
    return c != (locale_t)0 ? uselocale(c) : (locale_t)0;
}

static inline void drove__locale_end(locale_t *before)
{
    if (*before != (locale_t)0) (void)uselocale(*before);
}

#define DROVE_IN_C_LOCALE                                                                          \
    __attribute__((cleanup(drove__locale_end), unused)) locale_t locale_before =                   \
        drove__locale_begin()

#endif
