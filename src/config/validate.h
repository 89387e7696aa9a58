/* config/validate.h - checks of the options before any data is read. */
#ifndef DROVE_CONFIG_VALIDATE_H
#define DROVE_CONFIG_VALIDATE_H

#include <drove/options.h>

/* As drove_options_validate, for a run of so many ranks. */
drove_status drove__options_validate_for(const drove_options *options, unsigned n_ranks);

#endif
