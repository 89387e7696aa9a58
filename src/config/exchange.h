/* config/exchange.h - the options of strategies whose workers have parameters of their own and
 * exchange them: --period, --rho, --messages, --precision C8s, --partition.
 */
#ifndef DROVE_CONFIG_EXCHANGE_H
#define DROVE_CONFIG_EXCHANGE_H

#include "strategy/strategy.h"
#include "config/config.h"

/* Fills a strategy's options with them; borrows the texts of `config`. */
void drove__exchange_options(const drove_config *config, drove_sync_options *out);

/* Do they, --rule and --rule-state suit the strategy?  Errors: DROVE_E_ARG. */
drove_status drove__exchange_check(const drove_config *config, const drove_plan *plan);

/* "", "auto" or a number of groups.  Errors: DROVE_E_ARG, naming --partition. */
drove_status drove__partition_check(const char *text);

#endif
