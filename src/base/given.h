/* base/given.h - NULL where a program has to give something: refused by name, in every build.
 *
 * Public functions that return a status ask it first; those that return something else give NULL or
 * 0 of NULL.  Nothing inside a run asks.
 */
#ifndef DROVE_BASE_GIVEN_H
#define DROVE_BASE_GIVEN_H

#include "base/status.h"

#include <stddef.h>

/* name: what the header calls it. */
#define DROVE_GIVEN_AS(pointer, name)                                                              \
    do {                                                                                           \
        if ((pointer) == NULL)                                                                     \
            return drove__fail(DROVE_E_ARG, "%s: %s: expected a pointer, found NULL", __func__,    \
                               name);                                                              \
    } while (0)
#define DROVE_GIVEN(pointer) DROVE_GIVEN_AS(pointer, #pointer)

#endif
