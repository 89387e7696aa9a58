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

#include "trace/recording.h"

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

void drove__u32_pack(unsigned char *to, uint32_t value);
/* bytes[size]: what follows it. */
void drove__block_head_pack(unsigned char head[DROVE_BLOCK_HEAD_SIZE], uint32_t kind,
                            uint64_t n_steps, const void *bytes, size_t size);
void drove__mark_pack(unsigned char to[DROVE_MARK_SIZE], const drove_recorded_mark *mark);
/* Returns the bytes written, at most DROVE_STEP_MOST_BYTES.  before: the step before it in its
 * block, or zeros. */
size_t drove__step_pack(unsigned char *to, const drove_recorded *before,
                        const drove_recorded *step);

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
