/* config/words.h - names of options, and single words that are their values. */
#ifndef DROVE_CONFIG_WORDS_H
#define DROVE_CONFIG_WORDS_H

#include <drove/options.h>

#include "base/status.h"

#include <stdbool.h>

/* True if both name the same option, "-" and "_" being alike. */
bool drove__option_is(const char *a, const char *b);
/* DROVE_OK if there is such an option; with value not NULL, if it takes that.  Errors: those of
 * drove_options_set. */
drove_status drove__option_check(const char *name, const char *value);

/* DROVE_OK if each option that has to be one of the words in its row is.  Errors: DROVE_E_ARG. */
drove_status drove__options_check_words(const drove_options *options);
/* "auto", or a number of threads.  Errors: DROVE_E_ARG, naming --loaders. */
drove_status drove__loaders_parse(const char *text, bool *is_auto, unsigned *out);

/* A word of --prefetch asks for these: the kernels' software hints; the processor's own prefetchers
 * switched off. */
bool drove__prefetch_wants_hints(const char *word);
bool drove__prefetch_wants_hardware_off(const char *word);

#endif
