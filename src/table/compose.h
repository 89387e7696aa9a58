/* table/compose.h - a letter and a mark behind it as one character: Unicode's normal form C of most
 * texts, so that a name is the same whichever way it was typed. */
#ifndef DROVE_TABLE_COMPOSE_H
#define DROVE_TABLE_COMPOSE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a text in UTF-8 has combining diacritical marks. */
bool drove__has_marks(const char *text, size_t n);
/* Composes a text in UTF-8 in place, which makes it no longer; returns its new size. */
size_t drove__compose(char *text, size_t n);

#endif
