/* The bytes of one step in the file of --record, against a plain writer after
 * docs/inside/formats.md. */
#include "support.h"

#include "base/mem.h"
#include "trace/recording_file.h"

#include <string.h>

typedef struct writer {
    unsigned char bytes[DROVE_STEP_MOST_BYTES];
    size_t n;
} writer;

static void number(writer *w, uint64_t value)
{
    while (value > 127) {
        w->bytes[w->n++] = (unsigned char)(128 + value % 128);
        value /= 128;
    }
    w->bytes[w->n++] = (unsigned char)value;
}

/* d is written as 2d, or as -2d - 1 where it is negative. */
static void difference(writer *w, uint64_t before, uint64_t now)
{
    const uint64_t up = now - before, down = before - now;
    if (up < (uint64_t)1 << 63) number(w, 2 * up);
    else number(w, 2 * down - 1);
}

static void write_plainly(writer *w, const drove_recorded *before, const drove_recorded *s)
{
    const bool has_range =
        !s->is_settling && (s->first > 0 || s->n_rows > 0 || s->lr_factor != 1.0);
    const bool flags[8] = {s->order != UINT64_MAX, s->is_dropped,   s->is_updated, s->is_early,
                           s->is_settling,         s->retried != 0, has_range,     s->n_steps != 1};
    w->n = 1;
    w->bytes[0] = 0;
    for (int i = 0; i < 8; i++) w->bytes[0] |= (unsigned char)(flags[i] << i);
    difference(w, before->number, s->number);
    difference(w, before->read, s->read);
    difference(w, s->read, s->view_order);
    number(w, s->staleness);
    if (flags[0]) difference(w, s->read + s->staleness, s->order);
    if (flags[5]) difference(w, s->read, s->retried);
    if (flags[7]) number(w, s->n_steps);
    if (!has_range) return;
    difference(w, before->first, s->first);
    number(w, s->n_rows);
    memcpy(w->bytes + w->n, &s->lr_factor,
           8); /* little-endian: as every machine that tests run on */
    w->n += 8;
}

static void check(const drove_recorded *before, const drove_recorded *s)
{
    writer want;
    unsigned char bytes[DROVE_STEP_MOST_BYTES];
    drove_recorded again;
    write_plainly(&want, before, s);
    memset(bytes, 0xa5, sizeof bytes);
    const size_t n = drove__step_pack(bytes, before, s);
    assert_int_equal(n, want.n);
    assert_memory_equal(bytes, want.bytes, n);
    assert_int_equal(drove__step_unpack(bytes, n, before, &again), n);
    assert_int_equal(again.number, s->number);
    assert_int_equal(again.read, s->read);
    assert_int_equal(again.view_order, s->view_order);
    assert_int_equal(again.staleness, s->staleness);
    assert_int_equal(again.order, s->order);
    assert_int_equal(again.retried, s->retried);
    assert_int_equal(again.n_steps, s->n_steps);
}

/* By hand. */
TEST(a_usual_step_has_six_bytes)
{
    static const unsigned char want[6] = {1 + 4, 2 * 3, 2 * 5, 2 * 2 - 1, 7, 2 * 1 - 1};
    const drove_recorded before = {.number = 10, .read = 100};
    const drove_recorded s = {.number = 13,
                              .read = 105,
                              .view_order = 103,
                              .staleness = 7,
                              .order = 111,
                              .n_steps = 1,
                              .lr_factor = 1.0,
                              .is_updated = true};
    unsigned char bytes[DROVE_STEP_MOST_BYTES];
    assert_int_equal(drove__step_pack(bytes, &before, &s), sizeof want);
    assert_memory_equal(bytes, want, sizeof want);
}

/* Each number on either side of where it takes a second byte, alone and all together, with and
 * without a place. */
TEST(numbers_of_one_byte_and_more)
{
    static const uint64_t edge[] = {0,       1,         63,        64,
                                    126,     127,       128,       (uint64_t)1 << 56,
                                    1 << 14, 0 - 64ull, 0 - 65ull, (uint64_t)1 << 63};
    const drove_recorded before = {.number = 1000, .read = 5000, .first = 70};
    for (size_t i = 0; i < DROVE_COUNT(edge); i++) {
        for (unsigned which = 1; which < 64;
             which++) { /* a bit for each number, and has it a place */
            drove_recorded s = {.n_steps = 1, .lr_factor = 1.0, .is_updated = true};
            s.number = before.number + (which & 1 ? edge[i] : 2);
            s.read = before.read + (which & 2 ? edge[i] : 3);
            s.view_order = s.read + (which & 4 ? edge[i] : 0 - 4ull);
            s.staleness = which & 8 ? edge[i] : 5;
            s.order = s.read + s.staleness + (which & 16 ? edge[i] : 6);
            if (which & 32) s.order = UINT64_MAX;
            check(&before, &s);
        }
    }
}

/* Each word and flag that a usual step has not. */
TEST(what_a_step_may_have_besides)
{
    const drove_recorded before = {.number = 1000, .read = 5000, .first = 70};
    for (unsigned which = 0; which < 512; which++) {
        drove_recorded s = {.number = 1001, .read = 5002, .view_order = 5001, .order = 5003};
        s.is_dropped = which & 1;
        s.is_updated = which & 2;
        s.is_early = which & 4;
        s.is_settling = which & 8;
        s.retried = which & 16 ? 5001 : 0;
        s.first = which & 32 ? 77 : 0;
        s.n_rows = which & 64 ? 300 : 0;
        s.lr_factor = which & 128 ? 0.75 : 1.0;
        s.n_steps = which & 256 ? 12 : 1;
        check(&before, &s);
    }
}
