/* trace/recording_file.c - see recording_file.h. */
#include "trace/recording_file.h"

#include "base/checksum.h"
#include "base/mem.h"

#include <string.h>

/* ---- numbers ---- */

void drove__u32_pack(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(value >> 8 * i);
}

uint64_t drove__u64_unpack(const unsigned char *from)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value |= (uint64_t)from[i] << 8 * i;
    return value;
}

uint32_t drove__u32_unpack(const unsigned char *from)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value |= (uint32_t)from[i] << 8 * i;
    return value;
}

/* Seven bits a byte, the lowest first; the highest bit: another one follows. */
static unsigned char *put(unsigned char *to, uint64_t value)
{
    for (; value >= 128; value >>= 7) *to++ = (unsigned char)(value | 128);
    *to++ = (unsigned char)value;
    return to;
}

static unsigned char *put_change(unsigned char *to, uint64_t before, uint64_t now)
{
    return put(to, drove__change_of(before, now));
}

typedef struct reading {
    const unsigned char *at, *end;
    bool is_good;
} reading;

static uint64_t get(reading *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end) break;
        unsigned char byte = *r->at++;
        if (shift == 63 && byte > 1) break;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    r->is_good = false;
    return 0;
}

static uint64_t get_change(reading *r, uint64_t before)
{
    uint64_t coded = get(r);
    return before + (coded >> 1 ^ (0 - (coded & 1)));
}

static double get_double(reading *r)
{
    double value = 0.0;
    r->is_good = r->is_good && r->end - r->at >= (ptrdiff_t)sizeof value;
    if (!r->is_good) return value;
    uint64_t bits = drove__u64_unpack(r->at);
    memcpy(&value, &bits, sizeof value);
    r->at += sizeof value;
    return value;
}

/* ---- steps ---- */

/* What drove__step_pack_usual does not write. */
size_t drove__step_pack_other(unsigned char *to, const drove_recorded *before,
                              const drove_recorded *s)
{
    unsigned flags = drove__step_flags(s);
    bool is_range = s->first != 0 || s->n_rows != 0 || s->lr_factor != 1.0;
    unsigned char *at = to + 1;
    if (s->retried != 0) flags |= DROVE_STEP_RETRIED;
    if (is_range && !s->is_settling) flags |= DROVE_STEP_RANGE;
    if (s->n_steps != 1) flags |= DROVE_STEP_SEVERAL;
    *to = (unsigned char)flags;
    at = put_change(at, before->number, s->number);
    at = put_change(at, before->read, s->read);
    at = put_change(at, s->read, s->view_order);
    at = put(at, s->staleness);
    if (flags & DROVE_STEP_ORDER) at = put_change(at, s->read + s->staleness, s->order);
    if (flags & DROVE_STEP_RETRIED) at = put_change(at, s->read, s->retried);
    if (flags & DROVE_STEP_SEVERAL) at = put(at, s->n_steps);
    if ((flags & DROVE_STEP_RANGE) == 0) return (size_t)(at - to);
    uint64_t bits;
    memcpy(&bits, &s->lr_factor, sizeof bits);
    at = put_change(at, before->first, s->first);
    at = put(at, s->n_rows);
    drove__u64_pack(at, bits);
    return (size_t)(at + 8 - to);
}

size_t drove__step_unpack(const unsigned char *from, size_t n, const drove_recorded *before,
                          drove_recorded *s)
{
    reading r = {.at = from, .end = from + n, .is_good = n > 0};
    if (n == 0) return 0;
    unsigned flags = *r.at++;
    *s = (drove_recorded){.is_dropped = (flags & DROVE_STEP_DROPPED) != 0,
                          .is_updated = (flags & DROVE_STEP_UPDATED) != 0,
                          .is_early = (flags & DROVE_STEP_EARLY) != 0,
                          .is_settling = (flags & DROVE_STEP_SETTLING) != 0,
                          .n_steps = 1,
                          .order = DROVE_RECORDED_NO_ORDER,
                          .lr_factor = (flags & DROVE_STEP_SETTLING) != 0 ? 0.0 : 1.0};
    s->number = get_change(&r, before->number);
    s->read = get_change(&r, before->read);
    s->view_order = get_change(&r, s->read);
    s->staleness = get(&r);
    if (flags & DROVE_STEP_ORDER) s->order = get_change(&r, s->read + s->staleness);
    if (flags & DROVE_STEP_RETRIED) s->retried = get_change(&r, s->read);
    if (flags & DROVE_STEP_SEVERAL) s->n_steps = get(&r);
    if (flags & DROVE_STEP_RANGE) {
        s->first = get_change(&r, before->first);
        s->n_rows = get(&r);
        s->lr_factor = get_double(&r);
    }
    return r.is_good ? (size_t)(r.at - from) : 0;
}

/* ---- blocks ---- */

/* Of the head without the checksum, then the bytes. */
uint64_t drove__block_sum(const unsigned char head[DROVE_BLOCK_HEAD_SIZE], const void *bytes,
                          size_t size)
{
    unsigned char both[20 + 8];
    memcpy(both, head, 20);
    drove__u64_pack(both + 20, drove__checksum(bytes, size));
    return drove__checksum(both, sizeof both);
}

void drove__block_head_pack(unsigned char head[DROVE_BLOCK_HEAD_SIZE], uint32_t kind,
                            uint64_t n_steps, const void *bytes, size_t size)
{
    drove__u32_pack(head, kind);
    drove__u64_pack(head + 4, n_steps);
    drove__u64_pack(head + 12, size);
    drove__u64_pack(head + 20, drove__block_sum(head, bytes, size));
}

void drove__mark_pack(unsigned char to[DROVE_MARK_SIZE], const drove_recorded_mark *m)
{
    const uint64_t all[] = {m->next,     m->published, m->checksum,
                            m->train_ns, m->n_steps,   m->outcome};
    for (size_t i = 0; i < DROVE_COUNT(all); i++) drove__u64_pack(to + 8 * i, all[i]);
}

void drove__mark_unpack(const unsigned char from[DROVE_MARK_SIZE], drove_recorded_mark *m)
{
    *m = (drove_recorded_mark){.next = drove__u64_unpack(from),
                               .published = drove__u64_unpack(from + 8),
                               .checksum = drove__u64_unpack(from + 16),
                               .train_ns = drove__u64_unpack(from + 24),
                               .n_steps = drove__u64_unpack(from + 32),
                               .outcome = drove__u64_unpack(from + 40)};
}
