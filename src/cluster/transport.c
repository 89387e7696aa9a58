/* cluster/transport.c - an exchange that is finished at once. */
#include "cluster/transport.h"

drove_status drove__exchange(drove_transport *t, unsigned worker, const drove_exchange *x,
                             drove_exchange_info *info)
{
    DROVE_TRY(t->ops->start(t, worker, x));
    return t->ops->finish(t, worker, x->channel, info);
}
