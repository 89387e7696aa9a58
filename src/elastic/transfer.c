/* elastic/transfer.c - sends a vector as one message, or as one message for each part of theta,
 * several of them under way. */
#include "elastic/common.h"

enum { MANTISSA = 24 }; /* a float holds whole numbers of so many bits */

static drove_status start_part(drove_elastic *e, unsigned worker, drove_transfer *p)
{
    size_t i = p->n_started++;
    const drove_span *part = &e->part[i];
    const drove_elastic_worker *me = &e->of[worker];
    drove_exchange x = p->x;
    x.channel += (unsigned)(i % p->n_channels);
    x.n = part->length;
    if (x.in != NULL) x.in += part->offset;
    if (x.out != NULL) x.out += part->offset;
    if (x.kind == DROVE_ALL_REDUCE && me->codec != NULL) x.codec = me->codec[i];
    x.number[3] = (float)i;
    return e->transport->ops->start(e->transport, worker, &x);
}

drove_status drove__transfer_begin(drove_elastic *e, unsigned worker, drove_transfer *p,
                                   const drove_exchange *x, unsigned n_channels, bool is_early)
{
    *p = (drove_transfer){.x = *x, .n_channels = n_channels, .is_open = true, .is_early = is_early};
    while (p->n_started < e->n_parts && p->n_started < n_channels)
        DROVE_TRY(start_part(e, worker, p));
    return DROVE_OK;
}

drove_status drove__transfer_end(drove_elastic *e, unsigned worker, drove_transfer *p)
{
    drove_elastic_worker *me = &e->of[worker];
    p->is_open = false;
    for (; p->n_done < e->n_parts; p->n_done++) {
        drove_exchange_info one = {0};
        unsigned channel = p->x.channel + (unsigned)(p->n_done % p->n_channels);
        DROVE_TRY(e->transport->ops->finish(e->transport, worker, channel, &one));
        if (p->n_done == 0) me->before = drove__elastic_join(one.number);
        if (p->is_early && p->n_done < p->n_channels && one.transit_ns > one.wait_ns)
            me->hidden_ns += one.transit_ns - one.wait_ns;

        me->met.wait_ns += one.wait_ns;
        me->met.work_ns += one.work_ns;
        me->met.centre_ns += one.centre_ns;
        me->met.transit_ns += one.transit_ns;
        me->met.bytes += one.bytes;
        me->met.messages += one.messages;

        if (p->n_started < e->n_parts) DROVE_TRY(start_part(e, worker, p));
    }
    return DROVE_OK;
}

void drove__elastic_split(uint64_t value, float *number)
{
    number[0] = (float)(value & ((1u << MANTISSA) - 1));
    number[1] = (float)(value >> MANTISSA);
}

/* NaN and numbers out of range count as 0. */
uint64_t drove__elastic_join(const float *number)
{
    const float most = (float)(1u << MANTISSA);
    uint64_t low = number[0] >= 0.0f && number[0] < most ? (uint64_t)number[0] : 0;
    uint64_t high = number[1] >= 0.0f && number[1] < most ? (uint64_t)number[1] : 0;
    return low | high << MANTISSA;
}
