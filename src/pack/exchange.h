/* pack/exchange.h - how processes that share no memory make one pack together: each calls
 * drove__pack_train with the same options and data.
 */
#ifndef DROVE_PACK_EXCHANGE_H
#define DROVE_PACK_EXCHANGE_H

#include "base/status.h"

#include <stddef.h>

typedef struct drove_pack_exchange {
    unsigned n, rank; /* n 0 or 1: this process alone */
    unsigned n_local; /* of them on this host, whose memory they share; 0: as 1 */
    /* all[n][size_bytes] = mine of every rank; all call it, in the same order. */
    drove_status (*gather)(void *context, const void *mine, size_t size_bytes, void *all);
    void *context;
} drove_pack_exchange;

#endif
