/* about/list.h - a registry of the program itself, which drove_list shows beside the library's. */
#ifndef DROVE_ABOUT_LIST_H
#define DROVE_ABOUT_LIST_H

#include "strategy/strategy.h"

#include <stddef.h>

typedef struct drove_list_more {
    drove_named kind;
    bool (*at)(size_t i, drove_named *out); /* entry i; false: there are no more */
} drove_list_more;

/* Replaces the one before.  Call it before any other thread runs. */
void drove__list_add(drove_list_more registry);

#endif
