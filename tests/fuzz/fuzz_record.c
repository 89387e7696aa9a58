/* tests/fuzz/fuzz_record.c - records of runs of any content.
 *
 * The first byte says what the rest is: a whole file, or the bytes of blocks, which get heads and
 * checksums: a byte for the kind (255: a part of a state), two for the length.  What is read is
 * packed again and must be the same step.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "trace/recording.h"
#include "trace/recording_file.h"

#include "memory_file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 100000 };

/* A file whose blocks are good, whatever they hold; malloc. */
static uint8_t *frame(const uint8_t *data, size_t n, size_t *size)
{
    uint8_t *out = malloc(12 + n * (DROVE_BLOCK_HEAD_SIZE + 1) + 1);
    if (out == NULL) abort();
    memcpy(out, drove__recording_magic, 8);
    drove__u32_pack(out + 8, n > 0 ? 1 + data[0] % 4 : 1);
    *size = 12;
    for (size_t at = 1; at + 3 <= n;) {
        size_t length = data[at + 1] + (size_t)data[at + 2] * 256;
        const uint32_t kind = data[at] == UINT8_MAX ? DROVE_BLOCK_STATE : data[at];
        at += 3;
        if (length > n - at) length = n - at;
        const uint64_t n_steps = kind == DROVE_BLOCK_STATE ? 0 : length / 5;
        drove__block_head_pack(out + *size, kind, n_steps, data + at, length);
        memcpy(out + *size + DROVE_BLOCK_HEAD_SIZE, data + at, length);
        *size += DROVE_BLOCK_HEAD_SIZE + length;
        at += length;
    }
    return out;
}

static void check_step(const drove_recorded *s)
{
    static const drove_recorded none = {0};
    unsigned char bytes[DROVE_STEP_MOST_BYTES];
    drove_recorded again;
    size_t n = drove__step_pack(bytes, &none, s);
    if (n > sizeof bytes || drove__step_unpack(bytes, n, &none, &again) != n) abort();
    if (again.number != s->number || again.order != s->order || again.retried != s->retried ||
        again.read != s->read || again.view_order != s->view_order)
        abort();
}

static void read_all(drove_recorded_run *r)
{
    drove_recorded_mark mark;
    drove_recorded s;
    size_t n = 0;
    while (drove__recorded_goes_on(r)) {
        if (!drove__recorded_stretch(r, &mark)) abort();
        for (unsigned w = 0; w < drove__recorded_workers(r) && w < 8; w++) {
            for (bool is_there = true; is_there && n < MOST_STEPS; n++) {
                if (drove__recorded_next(r, w, &s, &is_there) != DROVE_OK) return;
                if (is_there) check_step(&s);
            }
        }
    }
    (void)drove__recorded_end(r, &mark);
}

static void read_state(const drove_recorded_run *r, size_t most)
{
    char *bytes;
    size_t size;
    if (drove__recorded_state(r, &bytes, &size) != DROVE_OK) return;
    if (size > most || (size > 0 && !drove__recorded_has_state(r))) abort();
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    memory_file file;
    drove_recorded_run *r;
    size_t n = size_bytes > 0 ? size_bytes - 1 : 0;
    uint8_t *framed = n > 0 && data[0] % 2 == 1 ? frame(data + 1, n, &n) : NULL;
    memory_file_init(&file, framed != NULL ? framed : data + 1, n);
    free(framed);
    if (drove__recorded_open(file.path, &r) == DROVE_OK) {
        size_t size;
        const char *header = drove__recorded_header(r, &size);
        if (header[size] != '\0' || drove__recorded_rest(r) > n) abort();
        read_state(r, n);
        read_all(r);
        drove__recorded_close(r);
    } else if (drove_error_text()[0] == '\0') {
        abort();
    }
    memory_file_fini(&file);
    return 0;
}
