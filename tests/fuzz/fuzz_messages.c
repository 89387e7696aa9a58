/* tests/fuzz/fuzz_messages.c - messages between ranks: one rank's transport on a wire whose other
 * ends say whatever the input has.
 *
 * The first byte chooses the number of ranks, the rank and whether there is a centre; then a byte
 * each chooses an exchange.  Each message that the rank waits for takes a byte: the message that a
 * peer of the same version would send, one with some bytes changed, a short or a foreign one, or
 * none yet.  With the end of the input the wire fails.  An exchange succeeds or ends with a text,
 * and never writes outside its memory; what arrived unchanged is what the exchange gives.
 */
#include "base/cpu.h"
#include "base/mem.h"
#include "cluster/codec.h"
#include "cluster/messages.h"
#include "cluster/request.h"

#include "fuzz_text.h"

#include <stdio.h>

enum {
    N_SHORT = 12,
    N_LONG = 5000,
    PIECE = 4096,
    N_MOST_NONE = 64,
    MOST_EXCHANGES = 6,
    RANKS_MOST = 16
};

typedef struct pending { /* a message that is sent or awaited; from malloc */
    struct pending *next;
    bool is_receive;
    char *bytes;
    size_t n_bytes;
    int from;
    unsigned tag;
} pending;

typedef struct fake { /* the wire */
    drove_wire wire;
    const uint8_t *input, *end;
    messages *m;
    pending *open;
    unsigned n_none;
    bool has_changed;   /* a message was not the right one */
    drove_codec *codec; /* of an exchange that failed */
    char host[RANKS_MOST][DROVE_WIRE_NAME_SIZE];
} fake;

static uint8_t next_byte(fake *f)
{
    return f->input < f->end ? *f->input++ : 0;
}

static int post(drove_wire *w, const void *bytes, size_t n_bytes, int from, unsigned tag,
                bool is_receive, drove_wire_request *r)
{
    fake *f = w->impl;
    pending *p = malloc(sizeof *p);
    if (p == NULL) abort();
    *p = (pending){f->open, is_receive, (char *)(uintptr_t)bytes, n_bytes, from, tag};
    f->open = p;
    r->handle = p;
    return 0;
}

static int isend(drove_wire *w, const void *bytes, size_t n_bytes, unsigned to, unsigned tag,
                 drove_wire_request *r)
{
    uint8_t sum = 0; /* all of it can be read */
    if (to >= w->n_ranks || to == w->rank) abort();
    for (size_t i = 0; i < n_bytes; i++) sum ^= ((const uint8_t *)bytes)[i];
    volatile uint8_t sink = sum;
    (void)sink;
    return post(w, bytes, n_bytes, (int)to, tag, false, r);
}

static int irecv(drove_wire *w, void *bytes, size_t n_bytes, int from, unsigned tag,
                 drove_wire_request *r)
{
    return post(w, bytes, n_bytes, from, tag, true, r);
}

static void forget(fake *f, drove_wire_request *r)
{
    for (pending **at = &f->open; *at != NULL; at = &(*at)->next) {
        pending *p = *at;
        if (p != r->handle) continue;
        *at = p->next;
        free(p);
        break;
    }
    r->handle = NULL;
}

static void drop(drove_wire *w, drove_wire_request *r)
{
    forget(w->impl, r);
}

static int cancel(drove_wire *w, drove_wire_request *r)
{
    forget(w->impl, r);
    return 0;
}

/* The flow whose header goes to these bytes; NULL: it is none. */
static const flow *flow_of(const fake *f, const void *bytes, const request **of)
{
    for (unsigned i = 0; i < N_REQUESTS; i++) {
        const request *req = &f->m->request[i];
        for (unsigned k = 0; req->flow != NULL && k < f->m->most_flows; k++) {
            if ((const void *)req->flow[k].buffer != bytes) continue;
            *of = req;
            return &req->flow[k];
        }
    }
    return NULL;
}

/* What a peer would send. */
static size_t make_good(fake *f, const pending *p, unsigned from)
{
    const request *req = NULL;
    const flow *o = flow_of(f, p->bytes, &req);
    drove_message head = {.magic = MESSAGE_MAGIC, .worker = from};
    size_t n_content = 0;
    if (p->tag == TAG_CONTROL) {
        control c = {.magic = MESSAGE_MAGIC, .kind = next_byte(f) % 4, .worker = from};
        snprintf(c.text, sizeof c.text, "rank %u has stopped", from);
        memcpy(p->bytes, &c, sizeof c);
        return sizeof c;
    }
    if (o == NULL && p->tag != TAG_RPC) { /* a piece of contents */
        memset(p->bytes, next_byte(f), p->n_bytes);
        return p->n_bytes;
    }
    if (o == NULL) {
        const size_t n = next_byte(f) % 2 == 0 ? N_SHORT : N_LONG;
        head.kind = DROVE_RPC;
        head.channel = next_byte(f) % DROVE_CHANNELS;
        head.n = n;
        head.n_bytes = n * sizeof(float);
    } else {
        head.kind = req->kind == DROVE_RECEIVE ? DROVE_SEND : req->kind;
        head.channel = req->channel;
        head.order = req->order;
        head.halts = next_byte(f) % 8 == 0;
        head.n = req->x.n;
        head.n_bytes = o->n_bytes;
    }
    if (head.n_bytes <= MESSAGE_INLINE) n_content = head.n_bytes;
    if (sizeof head + n_content > p->n_bytes) abort(); /* no room for what it asked for */
    memcpy(p->bytes, &head, sizeof head);
    memset(p->bytes + sizeof head, next_byte(f), n_content);
    return sizeof head + n_content;
}

static size_t change(fake *f, const pending *p, size_t n)
{
    f->has_changed = true;
    for (int i = next_byte(f) % 4; i >= 0 && n > 0; i--) {
        const size_t at = next_byte(f) | (size_t)next_byte(f) << 8;
        p->bytes[at % n] = (char)(p->bytes[at % n] ^ next_byte(f));
    }
    return n;
}

static size_t make_raw(fake *f, const pending *p)
{
    size_t n = (size_t)(f->end - f->input) < p->n_bytes ? (size_t)(f->end - f->input) : p->n_bytes;
    f->has_changed = true;
    memcpy(p->bytes, f->input, n);
    f->input += n;
    return n;
}

static int test(drove_wire *w, drove_wire_request *r, bool *is_done, unsigned *from,
                size_t *n_bytes)
{
    fake *f = w->impl;
    pending *p = r->handle;
    *is_done = p == NULL || !p->is_receive;
    if (p == NULL) return 0;
    if (!p->is_receive) {
        forget(f, r);
        return 0;
    }
    if (f->input == f->end || f->n_none == N_MOST_NONE) {
        snprintf(w->error, sizeof w->error, "the end of the input");
        return 1;
    }
    const uint8_t what = next_byte(f);
    if (what % 8 == 7) {
        f->n_none++;
        return 0;
    }
    const unsigned other = (w->rank + 1 + what / 8 % (w->n_ranks - 1)) % w->n_ranks;
    const unsigned sender = p->from == DROVE_WIRE_ANY ? other : (unsigned)p->from;
    size_t n = 0;
    if (what % 8 == 6) {
        n = make_raw(f, p);
    } else {
        n = make_good(f, p, sender);
        if (what % 8 == 5) n = change(f, p, n);
        if (what % 8 == 4) {
            f->has_changed = true;
            n = n * next_byte(f) / 256;
        }
    }
    *is_done = true;
    if (from != NULL) *from = sender;
    if (n_bytes != NULL) *n_bytes = n;
    f->n_none = 0;
    forget(f, r);
    return 0;
}

static void end_all(drove_wire *w, int status)
{
    (void)w, (void)status;
    abort();
}

static void no_fini(drove_wire *w)
{
    (void)w;
}

static const drove_wire_ops fake_ops = {.version = DROVE_WIRE_VERSION,
                                        .name = "fuzz",
                                        .fini = no_fini,
                                        .isend = isend,
                                        .irecv = irecv,
                                        .test = test,
                                        .cancel = cancel,
                                        .drop = drop,
                                        .abort = end_all};

static void serve(void *context, unsigned worker, float *message, size_t n, float *number)
{
    (void)context;
    if (worker >= RANKS_MOST) abort();
    for (size_t i = 0; i < n; i++) message[i] += 1.0f;
    number[0] += 1.0f;
}

/* Of an exchange that worked: a broadcast of short contents gives one number in all places. */
static void check_result(const fake *f, const drove_exchange *x)
{
    const bool is_copy = (x->kind == DROVE_BROADCAST || x->kind == DROVE_RECEIVE) &&
                         x->peer != f->wire.rank && x->n == N_SHORT;
    if (!is_copy || f->has_changed || f->wire.n_ranks > 2) return;
    for (size_t i = 1; i < x->n; i++) {
        if (memcmp(&x->out[i], &x->out[0], sizeof *x->out) != 0) abort();
    }
}

/* Of this length and rank, in 8 bits. */
static drove_codec *make_codec(const fake *f, size_t n)
{
    drove_codec *codec;
    const drove_codec_options opt = {.bits = 8,
                                     .n = n,
                                     .n_workers = f->wire.n_ranks,
                                     .worker = f->wire.rank,
                                     .seed = 1,
                                     .kernels = f->m->base.kernels};
    if (drove__codec_create(&opt, &codec) != DROVE_OK) abort();
    return codec;
}

static bool exchange(fake *f, drove_transport *t, uint8_t what, float *in, float *out)
{
    const unsigned rank = f->wire.rank, n_ranks = f->wire.n_ranks;
    drove_exchange x = {.kind = (drove_exchange_kind)(what % 7),
                        .channel = what / 7 % 2,
                        .peer = (rank + 1) % n_ranks,
                        .in = in,
                        .out = out,
                        .n = what / 14 % 2 == 0 ? N_SHORT : N_LONG};
    if (what >= 128 && x.kind != DROVE_SEND && x.kind != DROVE_RECEIVE) x.peer = rank;
    if (x.kind == DROVE_BARRIER) x.n = 0;
    if (what >= 128 && x.kind == DROVE_ALL_REDUCE) x.codec = make_codec(f, x.n);
    const drove_status status = drove__exchange(t, rank, &x, NULL);
    f->codec = x.codec; /* in use until the transport has ended, if the exchange failed */
    if (status == DROVE_OK) {
        drove__codec_destroy(x.codec);
        f->codec = NULL;
    }
    if (status == DROVE_OK) {
        check_result(f, &x);
        return true;
    }
    if (drove_error_text()[0] == '\0') abort();
    return false;
}

/* A gather of 8 bytes of each rank. */
static void gather(fake *f, drove_transport *t)
{
    uint64_t all[RANKS_MOST] = {0}, mine = 0x0123456789abcdef;
    if (t->ops->gather(t, &mine, sizeof mine, all) != DROVE_OK) {
        if (drove_error_text()[0] == '\0') abort();
        return;
    }
    if (all[f->wire.rank] != mine) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static const unsigned counts[] = {2, 3, 4, RANKS_MOST};
    static drovek_table kernels;
    static float in[N_LONG], out[N_LONG];
    fake f = {.input = data, .end = data + size_bytes};
    drove_transport *t;
    const drove_messages_options opt = {.timeout_s = 1.0, .piece_bytes = PIECE};
    const drove_centre server = {.serve = serve, .is_exclusive = true};
    if (kernels.isa == NULL && drovek_select(&kernels, 0, NULL) != DROVE_OK) abort();
    const uint8_t first = next_byte(&f);
    f.wire = (drove_wire){.ops = &fake_ops,
                          .n_ranks = counts[first % 4],
                          .rank = first / 4 % counts[first % 4],
                          .takes_threads = true,
                          .host = f.host,
                          .impl = &f};
    for (unsigned i = 0; i < RANKS_MOST; i++) snprintf(f.host[i], sizeof f.host[i], "host%u", i);
    if (drove__transport_messages(&f.wire, &kernels, &opt, &t) != DROVE_OK) abort();
    f.m = messages_of(t);
    if (first >= 128 && t->ops->host(t, &server, N_LONG) != DROVE_OK) abort();
    bool is_good = true;
    for (int i = 0; i < MOST_EXCHANGES && is_good && f.input < f.end; i++) {
        const uint8_t what = next_byte(&f);
        if (what % 7 == DROVE_RPC && first < 128 && f.wire.rank == 0) continue; /* no centre */
        is_good = exchange(&f, t, what, in, out);
    }
    if (is_good) gather(&f, t);
    t->ops->destroy(t);
    drove__codec_destroy(f.codec);
    while (f.open != NULL) { /* receives that a transport that has not failed leaves posted */
        pending *p = f.open;
        f.open = p->next;
        free(p);
    }
    return 0;
}
