/* elastic/elastic.h - elastic averaging and its successors: every worker has its own parameters and
 * exchanges them every so many steps.
 *
 * Source: You, Buluc, Demmel, SC17 ("the paper"), equations (1)-(6), Algorithms 1-4; after Zhang,
 * Choromanska, LeCun, NIPS 2015.  Symbols: W^i parameters of worker i, c the centre (W-bar), eta
 * step size, rho pull, alpha = eta rho, mu momentum, tau steps between two exchanges, P workers, g
 * mean gradient of a batch at W^i.  One exchange, all values as they were before it:
 *     W^i = W^i - eta g - alpha (W^i - c)                                          (1)
 *     c   = c + alpha (sum of W^i - P c), or for one worker c + alpha (W^i - c)    (2)
 * With the rule's state at the worker, "- eta g" is the rule's step: momentum gives (5) and (6).
 *
 * Strategies (drove list strategies): easgd, easgd-async, measgd-async, easgd-hogwild, easgd-sync1,
 * easgd-sync2, easgd-sync3, psgd-async, pmsgd-async, psgd-hogwild, allreduce, local, diloco.  They
 * see a transport (cluster/transport.h) and nothing behind it.
 */
#ifndef DROVE_ELASTIC_ELASTIC_H
#define DROVE_ELASTIC_ELASTIC_H

#include "cluster/transport.h"
#include "strategy/strategy.h"

extern const drove_sync_ops drove__sync_easgd, drove__sync_easgd_async, drove__sync_measgd_async,
    drove__sync_easgd_hogwild, drove__sync_easgd_sync1, drove__sync_easgd_sync2,
    drove__sync_easgd_sync3, drove__sync_psgd_async, drove__sync_pmsgd_async,
    drove__sync_psgd_hogwild, drove__sync_allreduce, drove__sync_local, drove__sync_diloco;

/* Most steps between two exchanges: a message carries them as a float. */
enum { DROVE_MOST_PERIOD = (1 << 24) - 1 };

/* Settings that a strategy has chosen.  Workers parked. */
typedef struct drove_elastic_facts {
    uint64_t period;         /* steps between two exchanges, now */
    bool     period_is_auto; /* chosen by measuring */
    bool     has_pull;
    double   alpha; /* of the pull, at the first step size */
} drove_elastic_facts;
bool drove__elastic_facts(const drove_sync    *s,
                          drove_elastic_facts *out); /* false: not one of these */

#endif
