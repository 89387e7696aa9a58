/* Messages from any rank that a library has received and then cannot give, or cannot wait for: the
 * rank that sent one would wait for the answer, so all stop, with a line that says why.
 */
#include "base/mem.h"
#include "cluster/mailbox.h"
#include "cluster/messages.h"
#include "cluster/request.h"
#include "crowd.h"
#include "support/test.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N_RANKS = 3, N = 16 };

/* What fails at rank 0: nothing, the end of a receive, its beginning. */
static _Atomic enum { NOTHING, TEST, IRECV } fails;
static unsigned failing_tag;
static const drove_wire_ops *real;
static drove_wire_request *request_of_tag;

static int lose(drove_wire *w)
{
    atomic_store(&fails, NOTHING); /* once */
    snprintf(w->error, sizeof w->error, "lost by the test");
    return 1;
}

static int irecv(drove_wire *w, void *bytes, size_t n_bytes, int from, unsigned tag,
                 drove_wire_request *r)
{
    if (w->rank == 0 && tag == failing_tag) request_of_tag = r;
    if (w->rank == 0 && tag == failing_tag && atomic_load(&fails) == IRECV) return lose(w);
    return real->irecv(w, bytes, n_bytes, from, tag, r);
}

static int test(drove_wire *w, drove_wire_request *r, bool *is_done, unsigned *from,
                size_t *n_bytes)
{
    const int failed = real->test(w, r, is_done, from, n_bytes);
    if (w->rank == 0 && r == request_of_tag && *is_done && atomic_load(&fails) == TEST)
        return lose(w);
    return failed;
}

typedef struct ranks {
    drove_wire *wire[N_RANKS];
    drove_transport *t[N_RANKS];
    drove_status status[N_RANKS];
    char text[N_RANKS][DROVE_ERROR_TEXT_SIZE];
} ranks;

static void serve(void *context, unsigned worker, float *message, size_t n, float *number)
{
    (void)context, (void)worker, (void)message, (void)n, (void)number;
}

static void keep(ranks *r, unsigned worker, drove_status status)
{
    r->status[worker] = status;
    snprintf(r->text[worker], sizeof r->text[worker], "%s",
             status == DROVE_OK ? "" : drove_error_text());
}

/* The last rank calls the centre, or stops; the others meet meanwhile. */
static void call(void *context, unsigned worker)
{
    ranks *r = context;
    float message[N] = {0};
    const drove_exchange rpc = {
        .kind = DROVE_RPC, .channel = 1, .in = message, .out = message, .n = N};
    const drove_exchange barrier = {.kind = DROVE_BARRIER};
    const bool stops = failing_tag == TAG_CONTROL;
    if (worker == N_RANKS - 1 && stops) r->t[worker]->ops->stop(r->t[worker]);
    keep(r, worker,
         drove__exchange(r->t[worker], worker, worker == N_RANKS - 1 && !stops ? &rpc : &barrier,
                         NULL));
}

static void try_it(unsigned tag, int what)
{
    static const drove_messages_options opt = {.timeout_s = 60,
                                               .has_progress_thread = true,
                                               .piece_bytes = 8192};
    const drove_mailbox_options box = {.n_ranks = N_RANKS, .seed = 1, .n_eager = 4096};
    static float vector[N];
    static drove_wire_ops ops;
    static ranks r;
    memset(&r, 0, sizeof r);
    failing_tag = tag;
    assert_int_equal(drove__mailbox_create(&box, r.wire), DROVE_OK);
    real = r.wire[0]->ops;
    ops = *real;
    ops.irecv = irecv;
    ops.test = test;
    atomic_store(&fails, what);
    for (unsigned i = 0; i < N_RANKS; i++) {
        r.wire[i]->ops = &ops;
        const drove_centre c = {.vector = i == 0 ? vector : NULL, .serve = serve};
        assert_int_equal(drove__transport_messages(r.wire[i], crowd_kernels(), &opt, &r.t[i]),
                         DROVE_OK);
        assert_int_equal(r.t[i]->ops->host(r.t[i], &c, N), DROVE_OK);
    }
    crowd_run(N_RANKS, call, &r);
    assert_int_equal(atomic_load(&fails), NOTHING); /* it did come to that */
    for (unsigned i = 0; i < N_RANKS; i++) assert_int_equal(r.status[i], DROVE_E_SYSTEM);
    assert_string_equal(r.text[0],
                        "rank 0 on host host0: messages from any rank: lost by the test");
    if (tag == TAG_RPC) assert_string_equal(r.text[1], r.text[0]); /* its order to stop */
    for (unsigned i = 0; i < N_RANKS; i++) r.t[i]->ops->destroy(r.t[i]);
    for (unsigned i = 0; i < N_RANKS; i++) r.wire[i]->ops->fini(r.wire[i]);
}

TEST(a_call_of_the_centre_that_is_lost_stops_all)
{
    try_it(TAG_RPC, TEST);
    try_it(TAG_RPC, IRECV);
}

TEST(an_order_to_stop_that_is_lost_stops_all)
{
    try_it(TAG_CONTROL, TEST);
    try_it(TAG_CONTROL, IRECV);
}
