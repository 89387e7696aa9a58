/* trace/recording_file.h - the bytes of a record; inside trace/ only.
 *
 *     8 bytes    "DROVEREC"
 *     u32        workers
 *     blocks     u32 kind, u64 steps in it, u64 bytes, u64 checksum of all that and of the bytes,
 *                bytes
 *
 * Numbers are little-endian.  The first block is the header; then the state that the run goes on
 * from, if it does, in blocks of at most DROVE_BLOCK_MOST_BYTES.
 */
#ifndef DROVE_TRACE_RECORDING_FILE_H
#define DROVE_TRACE_RECORDING_FILE_H

#include "trace/recorded.h"

#include <stddef.h>

static const char drove__recording_magic[8] = {'D', 'R', 'O', 'V', 'E', 'R', 'E', 'C'};

enum {
    DROVE_BLOCK_HEADER = 0,
    DROVE_BLOCK_MARK = 1,
    DROVE_BLOCK_STEPS = 2, /* + worker */
    DROVE_BLOCK_STATE = 0x7fffffff,
    DROVE_BLOCK_HEAD_SIZE = 28,
    DROVE_MARK_SIZE = 48,
    DROVE_STEP_MOST_BYTES = 128,
    DROVE_BLOCK_MOST_BYTES = 1 << 20
};

/* What a step has besides its usual numbers: the first byte of its bytes. */
enum {
    DROVE_STEP_ORDER = 1,
    DROVE_STEP_DROPPED = 2,
    DROVE_STEP_UPDATED = 4,
    DROVE_STEP_EARLY = 8,
    DROVE_STEP_SETTLING = 16,
    DROVE_STEP_RETRIED = 32,
    DROVE_STEP_RANGE = 64, /* first, n_rows, lr_factor */
    DROVE_STEP_SEVERAL = 128
};

void               drove__u32_pack(unsigned char *to, uint32_t value);
static inline void drove__u64_pack(unsigned char *to, uint64_t value)
{
    for (int i = 0; i < 8; i++) to[i] = (unsigned char)(value >> 8 * i);
}
/* bytes[size]: what follows it. */
void drove__block_head_pack(unsigned char head[DROVE_BLOCK_HEAD_SIZE], uint32_t kind,
                            uint64_t n_steps, const void *bytes, size_t size);
void drove__mark_pack(unsigned char to[DROVE_MARK_SIZE], const drove_recorded_mark *mark);

/* ---- steps ---- */

/* A difference modulo 2^64: small ones of either sign are small. */
static inline uint64_t drove__change_of(uint64_t before, uint64_t now)
{
    uint64_t change = now - before;
    return change << 1 ^ (0 - (change >> 63));
}

/* Those that a usual step has. */
static inline unsigned drove__step_flags(const drove_recorded *s)
{
    return (s->order != DROVE_RECORDED_NO_ORDER ? DROVE_STEP_ORDER : 0u) |
           (s->is_dropped ? DROVE_STEP_DROPPED : 0u) | (s->is_updated ? DROVE_STEP_UPDATED : 0u) |
           (s->is_early ? DROVE_STEP_EARLY : 0u) | (s->is_settling ? DROVE_STEP_SETTLING : 0u);
}

/* Nearly all steps have only numbers that take a byte each.  All are looked at together and written
 * as one word: this costs a run of the shortest steps the most.  Returns 0 if this one is another;
 * else the bytes written.  Eight are, of which the last two or three do not count. */
static inline size_t drove__step_pack_usual(unsigned char *to, const drove_recorded *before,
                                            const drove_recorded *s)
{
    const uint64_t has_order = s->order != DROVE_RECORDED_NO_ORDER;
    const uint64_t number = drove__change_of(before->number, s->number),
                   read = drove__change_of(before->read, s->read),
                   view = drove__change_of(s->read, s->view_order), stale = s->staleness,
                   order = drove__change_of(s->read + stale, s->order) & (0 - has_order);
    const uint64_t large = (number | read | view | stale | order) >> 7,
                   other = s->retried | s->first | s->n_rows | (s->n_steps ^ 1);
    if ((large | other) != 0 || s->lr_factor != 1.0) return 0;
    drove__u64_pack(to, drove__step_flags(s) | number << 8 | read << 16 | view << 24 | stale << 32 |
                            order << 40);
    return 5 + has_order;
}

size_t drove__step_pack_other(unsigned char *to, const drove_recorded *before,
                              const drove_recorded *s);

/* Returns the bytes that count, at most DROVE_STEP_MOST_BYTES, for which `to` has room.
 * before: the step before it in its block, or zeros. */
static inline size_t drove__step_pack(unsigned char *to, const drove_recorded *before,
                                      const drove_recorded *step)
{
    const size_t n = drove__step_pack_usual(to, before, step);
    return n > 0 ? n : drove__step_pack_other(to, before, step);
}

uint32_t drove__u32_unpack(const unsigned char *from);
uint64_t drove__u64_unpack(const unsigned char *from);
/* What the head says the checksum is, of the head's rest and bytes[size]. */
uint64_t drove__block_sum(const unsigned char head[DROVE_BLOCK_HEAD_SIZE], const void *bytes,
                          size_t size);
void     drove__mark_unpack(const unsigned char from[DROVE_MARK_SIZE], drove_recorded_mark *mark);
/* Returns the bytes read; 0: from[n] holds no step. */
size_t drove__step_unpack(const unsigned char *from, size_t n, const drove_recorded *before,
                          drove_recorded *step);

#endif
