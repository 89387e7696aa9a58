/* base/named.h - objects of this process that a text can name: "memory:7".
 *
 * Options, specs and file names are texts.  What a program holds in its own memory gets a number,
 * and so a name that can stand where the name of a file would: data (data/arrays.c) and files
 * (base/memfile.h).  A number is never given twice in a process; a name whose object is gone names
 * nothing.
 *
 * Threads: any.  The table of names has a lock; an object lives until its last reference is
 * released.  A forked process has the objects that were there when it began.
 */
#ifndef DROVE_BASE_NAMED_H
#define DROVE_BASE_NAMED_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdint.h>

#define DROVE_NAMED_WORD "memory"

enum { DROVE_NAMED_SIZE = 32 };

typedef struct drove_named_object drove_named_object;

/* Every object that has a name begins with this. */
struct drove_named_object {
    const char *kind; /* compared by address */
    uint64_t    number;
    atomic_uint n_references;
    void (*destroy)(drove_named_object *object);
    drove_named_object *next;
};

/* Gives the object a number and its first reference, the caller's. */
void drove__named_add(drove_named_object *object, const char *kind,
                      void (*destroy)(drove_named_object *object));
/* "memory:7" */
void drove__named_print(const drove_named_object *object, char into[DROVE_NAMED_SIZE]);
/* The object of this kind that "memory:7", "memory:7.something" or "7" names, with one more
 * reference; NULL: there is none. */
drove_named_object *drove__named_find(const char *text, const char *kind);
void                drove__named_take(drove_named_object *object);
void                drove__named_release(drove_named_object *object); /* NULL accepted */

#endif
