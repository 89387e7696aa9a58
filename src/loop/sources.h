/* loop/sources.h - the sources that need nothing but a counter. */
#ifndef DROVE_LOOP_SOURCES_H
#define DROVE_LOOP_SOURCES_H

#include "strategy/source.h"

extern const drove_source_ops drove__source_claimed, drove__source_rounds;

#endif
