/* Memory that runs out while mailboxes, a transport of messages or its centre are made: the error
 * says so and nothing stays; nor does anything where one is made, used and destroyed.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "cluster/mailbox.h"
#include "cluster/messages.h"
#include "crowd.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "support/no_memory.h"

enum { MOST_CALLS = 1000, N = 100 };

TEST(mailboxes_that_cannot_be_made_leave_nothing)
{
    const drove_mailbox_options box = {.n_ranks = 3, .seed = 1, .n_eager = 4096};
    unsigned long n = 1;
    if (!no_memory_works()) skip();
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_wire *wire[4] = {NULL}; /* one more than there are */
        no_memory_begin(n);
        const drove_status status = drove__mailbox_create(&box, wire);
        has_failed = no_memory_end();
        if (status != (has_failed ? DROVE_E_NOMEM : DROVE_OK))
            fail_msg("allocation %lu: status %d: %s", n, status, drove_error_text());
        for (unsigned i = 0; !has_failed && i < box.n_ranks; i++) wire[i]->ops->fini(wire[i]);
        if (no_memory_live() != 0)
            fail_msg("allocation %lu: %zu pieces of memory stay", n, no_memory_live());
    }
    assert_int_equal(n - 1, 4 + 2 * 3 + 1); /* the box and its lists, two of a wire; the last one */
}

static void serve(void *context, unsigned worker, float *message, size_t n, float *number)
{
    (void)context, (void)worker, (void)n, (void)number;
    message[0] += 1.0f;
}

TEST(a_centre_that_cannot_be_made_leaves_nothing)
{
    const drove_mailbox_options box = {.n_ranks = 3, .seed = 1, .n_eager = 4096};
    const drove_messages_options opt = {.timeout_s = 5, .piece_bytes = 8192};
    const drove_centre centre = {.serve = serve, .is_exclusive = true};
    const drovek_table *kernels = crowd_kernels();
    drove_wire *wire[3];
    unsigned long n = 1;
    if (!no_memory_works()) skip();
    assert_int_equal(drove__mailbox_create(&box, wire), DROVE_OK);
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_transport *t = NULL;
        float x[N] = {3.0f}, back[N] = {0};
        no_memory_begin(0);
        assert_int_equal(drove__transport_messages(wire[0], kernels, &opt, &t), DROVE_OK);
        no_memory.fails_at = no_memory.n_calls + n;
        drove_status status = t->ops->host(t, &centre, N);
        const bool is_there = status == DROVE_OK;
        const drove_exchange rpc = {.kind = DROVE_RPC, .in = x, .out = back, .n = N};
        no_memory.fails_at = 0;
        if (is_there) assert_int_equal(drove__exchange(t, 0, &rpc, NULL), DROVE_OK);
        has_failed = no_memory_end();
        if (status != (has_failed ? DROVE_E_NOMEM : DROVE_OK))
            fail_msg("allocation %lu: status %d: %s", n, status, drove_error_text());
        if (is_there) assert_true(back[0] == 4.0f);
        t->ops->destroy(t);
        if (no_memory_live() != 0)
            fail_msg("allocation %lu: %zu pieces of memory stay", n, no_memory_live());
    }
    assert_in_range(n, 6, MOST_CALLS - 1);
    for (unsigned i = 0; i < 3; i++) wire[i]->ops->fini(wire[i]);
}

TEST(memory_that_runs_out_leaves_nothing)
{
    const drove_mailbox_options box = {.n_ranks = 1, .seed = 1, .n_eager = 4096};
    const drove_messages_options opt = {.timeout_s = 5, .piece_bytes = 8192};
    const drovek_table *kernels = crowd_kernels();
    drove_wire *wire;
    unsigned long n = 1;
    if (!no_memory_works()) skip();
    assert_int_equal(drove__mailbox_create(&box, &wire), DROVE_OK);
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_transport *t = NULL;
        float x[N] = {3.0f}, sum[N] = {0};
        no_memory_begin(n);
        drove_status status = drove__transport_messages(wire, kernels, &opt, &t);
        const bool is_made = status == DROVE_OK;
        assert_int_equal(is_made, t != NULL);
        const drove_exchange all = {.kind = DROVE_ALL_REDUCE, .in = x, .out = sum, .n = N};
        if (is_made) status = drove__exchange(t, 0, &all, NULL);
        has_failed = no_memory_end();
        if (status != (has_failed ? DROVE_E_NOMEM : DROVE_OK))
            fail_msg("allocation %lu: status %d: %s", n, status, drove_error_text());
        if (!has_failed) assert_true(sum[0] == 3.0f);
        if (is_made) t->ops->destroy(t);
        if (no_memory_live() != 0)
            fail_msg("allocation %lu: %zu pieces of memory stay", n, no_memory_live());
    }
    assert_in_range(n, 6, MOST_CALLS - 1);
    wire->ops->fini(wire);
}

/* Room for a sum of 1000 floats, 1008 with their padding, and for the larger half that comes, 512
 * of them. */
TEST(an_error_says_how_much_was_wanted)
{
    const drove_mailbox_options box = {.n_ranks = 1, .seed = 1, .n_eager = 4096};
    const drove_messages_options opt = {.timeout_s = 5, .piece_bytes = 8192, .ends_wire = true};
    unsigned long n = 1;
    unsigned n_told = 0;
    if (!no_memory_works()) skip();
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_transport *t = NULL;
        drove_wire *wire;
        assert_int_equal(drove__mailbox_create(&box, &wire), DROVE_OK);
        assert_int_equal(drove__transport_messages(wire, crowd_kernels(), &opt, &t), DROVE_OK);
        no_memory_begin(n);
        const drove_status status = drove__messages_reserve(t, 1000, 1);
        has_failed = no_memory_end();
        assert_int_equal(status, has_failed ? DROVE_E_NOMEM : DROVE_OK);
        n_told += has_failed && strcmp(drove_error_text(), "messages between ranks: not enough "
                                                           "memory for 6080 bytes") == 0;
        t->ops->destroy(t);
    }
    assert_int_equal(n_told, 1);
}

/* The first time for heads, flows and the sum's memory, later for a longer sum alone. */
TEST(what_was_reserved_is_reserved_no_more)
{
    const drove_mailbox_options box = {.n_ranks = 1, .seed = 1, .n_eager = 4096};
    const drove_messages_options opt = {.timeout_s = 5, .piece_bytes = 8192, .ends_wire = true};
    static const struct {
        size_t n;
        unsigned long n_allocations;
    } cases[] = {{1000, 3}, {1000, 0}, {500, 0}, {2000, 1}, {2000, 0}, {1000, 0}};
    drove_transport *t = NULL;
    drove_wire *wire;
    if (!no_memory_works()) skip();
    assert_int_equal(drove__mailbox_create(&box, &wire), DROVE_OK);
    assert_int_equal(drove__transport_messages(wire, crowd_kernels(), &opt, &t), DROVE_OK);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        no_memory_begin(0);
        assert_int_equal(drove__messages_reserve(t, cases[i].n, 1), DROVE_OK);
        const unsigned long n_allocations = no_memory.n_calls;
        (void)no_memory_end();
        assert_int_equal(n_allocations, cases[i].n_allocations);
    }
    t->ops->destroy(t);
}

/* Bytes that were wanted for the states of n workers; 0: nobody said. */
static unsigned long wanted_by_workers(unsigned n)
{
    static const char says[] = "workers' exchanges: not enough memory for ";
    unsigned long n_bytes = 0, at = 1;
    for (bool has_failed = true; has_failed && at < MOST_CALLS; at++) {
        drove_transport *t = NULL;
        no_memory_begin(at);
        const drove_status status =
            drove__transport_shared(n, false, N, crowd_kernels(), NULL, NULL, &t);
        has_failed = no_memory_end();
        assert_int_equal(status, has_failed ? DROVE_E_NOMEM : DROVE_OK);
        if (has_failed && strncmp(drove_error_text(), says, sizeof says - 1) == 0)
            n_bytes = strtoul(drove_error_text() + sizeof says - 1, NULL, 10);
        if (t != NULL) t->ops->destroy(t);
    }
    return n_bytes;
}

TEST(each_worker_wants_the_same_memory)
{
    if (!no_memory_works()) skip();
    const unsigned long of_one = wanted_by_workers(1);
    assert_true(of_one > 0);
    assert_int_equal(wanted_by_workers(7), 7 * of_one);
}

/* What is not copied when it is sent stays as it is, and may be constant. */
TEST(a_long_message_is_only_read)
{
    static const char sent[100] = "sent from memory that cannot be written to";
    const drove_mailbox_options box = {.n_ranks = 2, .seed = 1, .n_eager = sizeof sent - 1};
    char received[sizeof sent] = {0};
    drove_wire *wire[2];
    drove_wire_request out, in;
    bool is_done = false;
    assert_int_equal(drove__mailbox_create(&box, wire), DROVE_OK);
    assert_int_equal(wire[0]->ops->isend(wire[0], sent, sizeof sent, 1, 5, &out), 0);
    assert_int_equal(wire[1]->ops->irecv(wire[1], received, sizeof sent, 0, 5, &in), 0);
    while (!is_done) assert_int_equal(wire[1]->ops->test(wire[1], &in, &is_done, NULL, NULL), 0);
    assert_memory_equal(received, sent, sizeof sent);
    assert_int_equal(wire[0]->ops->test(wire[0], &out, &is_done, NULL, NULL), 0);
    assert_true(is_done);
    for (unsigned i = 0; i < 2; i++) wire[i]->ops->fini(wire[i]);
}
