/* loop/host.c - what every host of workers has in common. */
#include "loop/host.h"

drove_status drove__host_create(const drove_host_ops *ops, const drove_host_options *opt,
                                drove_host **out)
{
    drove_host *h = drove__alloc(1, sizeof *h);
    *out = NULL;
    if (h == NULL) return drove__fail_nomem("a host of workers", sizeof *h);
    *h = (drove_host){.ops = ops, .opt = *opt, .loop = opt->loop};
    drove_status status = ops->init(h);
    if (status != DROVE_OK) {
        drove__host_destroy(h);
        return status;
    }
    *out = h;
    return DROVE_OK;
}

void drove__host_destroy(drove_host *h)
{
    if (h == NULL) return;
    h->ops->fini(h);
    drove__free(h);
}

drove_status drove__host_do(drove_host *h, drove_command command)
{
    h->ops->go(h, command);
    (void)h->ops->wait(h, UINT64_MAX);
    return h->ops->status(h);
}
