/* cluster/messages.c - see messages.h. */
#include "cluster/messages.h"

drove_status drove__transport_messages(drove_wire *w, const drovek_table *kernels,
                                       const drove_messages_options *opt, drove_transport **out)
{
    (void)kernels;
    (void)opt;
    (void)out;
    return drove__fail(DROVE_E_UNSUPPORTED, "%s: exchanges by messages are not there yet",
                       w->library);
}

drove_status drove__messages_reserve(drove_transport *t, size_t n, unsigned n_lanes)
{
    (void)t;
    (void)n;
    (void)n_lanes;
    return DROVE_OK;
}

drove_status drove__messages_library_reduce(drove_transport *t, bool is_on)
{
    (void)t;
    (void)is_on;
    return DROVE_OK;
}

const drove_wire *drove__transport_wire(const drove_transport *t)
{
    (void)t;
    return NULL;
}
