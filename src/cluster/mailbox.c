/* cluster/mailbox.c - a wire between threads of one process, for tests. */
#include "cluster/mailbox.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct letter { /* one send or one receive */
    struct letter *next;
    bool is_receive, is_done, is_listed, is_own; /* is_own: no request refers to it */
    unsigned to;
    int from;
    unsigned tag;
    char *bytes; /* of the caller, or a copy after the letter */
    size_t n_bytes;
    uint64_t ready_ns;
} letter;

typedef struct mailbox {
    drove_mailbox_options opt;
    pthread_mutex_t lock; /* protects all below and every letter */
    drove_rng rng;
    unsigned n_open;   /* wires */
    letter **sent;     /* [n_ranks] messages to a rank, in order */
    letter **wanted;   /* [n_ranks] receives of a rank, in order */
    uint64_t *last_ns; /* [n_ranks][n_ranks] when the last message of a pair is ready */
} mailbox;

static mailbox *box_of(drove_wire *w)
{
    return w->impl;
}

static void append(letter **list, letter *l)
{
    while (*list != NULL) list = &(*list)->next;
    *list = l;
    l->is_listed = true;
}

static void take_out(letter **list, letter *l)
{
    while (*list != NULL && *list != l) list = &(*list)->next;
    if (*list == l) *list = l->next;
    l->is_listed = false;
    l->next = NULL;
}

static int fail(drove_wire *w, const char *what)
{
    snprintf(w->error, sizeof w->error, "%s", what);
    return 1;
}

/* ---- sending, receiving ---- */

static uint64_t ready_at(mailbox *b, unsigned from, unsigned to, size_t n_bytes)
{
    double delay_ns = drove__rng_uniform(&b->rng) * b->opt.most_delay_us * 1e3 +
                      (double)n_bytes * b->opt.ns_per_byte;
    uint64_t *last = &b->last_ns[from * b->opt.n_ranks + to];
    uint64_t at = drove__now_ns() + (uint64_t)delay_ns;
    if (at > *last) *last = at;
    return *last;
}

static int isend(drove_wire *w, const void *bytes, size_t n_bytes, unsigned to, unsigned tag,
                 drove_wire_request *r)
{
    mailbox *b = box_of(w);
    bool copies = n_bytes <= b->opt.n_eager;
    letter *l = calloc(1, sizeof *l + (copies ? n_bytes : 0));
    if (l == NULL) return fail(w, "no memory");
    *l = (letter){.to = to, .from = (int)w->rank, .tag = tag, .n_bytes = n_bytes};
    l->bytes = copies ? (char *)(l + 1) : (char *)(uintptr_t)bytes;
    if (copies && n_bytes > 0) memcpy(l->bytes, bytes, n_bytes);
    pthread_mutex_lock(&b->lock);
    l->ready_ns = ready_at(b, w->rank, to, n_bytes);
    append(&b->sent[to], l);
    l->is_own = copies;
    r->handle = copies ? NULL : l; /* NULL: done */
    pthread_mutex_unlock(&b->lock);
    return 0;
}

static int irecv(drove_wire *w, void *bytes, size_t n_bytes, int from, unsigned tag,
                 drove_wire_request *r)
{
    mailbox *b = box_of(w);
    letter *l = calloc(1, sizeof *l);
    if (l == NULL) return fail(w, "no memory");
    *l = (letter){.is_receive = true,
                  .to = w->rank,
                  .from = from,
                  .tag = tag,
                  .bytes = bytes,
                  .n_bytes = n_bytes};
    pthread_mutex_lock(&b->lock);
    append(&b->wanted[w->rank], l);
    r->handle = l;
    pthread_mutex_unlock(&b->lock);
    return 0;
}

/* The first match; messages of one sender become ready in order. */
static letter *find_sent(const mailbox *b, const letter *want, uint64_t now)
{
    for (letter *s = b->sent[want->to]; s != NULL; s = s->next) {
        if (s->tag != want->tag || s->ready_ns > now) continue;
        if (want->from == DROVE_WIRE_ANY || want->from == s->from) return s;
    }
    return NULL;
}

/* Lock held. */
static int deliver(drove_wire *w)
{
    mailbox *b = box_of(w);
    uint64_t now = drove__now_ns();
    for (letter *want = b->wanted[w->rank], *next; want != NULL; want = next) {
        next = want->next;
        letter *s = find_sent(b, want, now);
        if (s == NULL) continue;
        if (s->n_bytes > want->n_bytes) return fail(w, "a message is longer than its receive");
        if (s->n_bytes > 0) memcpy(want->bytes, s->bytes, s->n_bytes);
        want->n_bytes = s->n_bytes;
        want->from = s->from;
        want->is_done = s->is_done = true;
        take_out(&b->wanted[w->rank], want);
        take_out(&b->sent[w->rank], s);
        if (s->is_own) free(s);
    }
    return 0;
}

static int test(drove_wire *w, drove_wire_request *r, bool *is_done, unsigned *from,
                size_t *n_bytes)
{
    mailbox *b = box_of(w);
    letter *l = r->handle;
    *is_done = l == NULL;
    if (l == NULL) return 0;
    pthread_mutex_lock(&b->lock);
    int result = deliver(w);
    if (l->is_done) {
        *is_done = true;
        if (from != NULL) *from = (unsigned)l->from;
        if (n_bytes != NULL) *n_bytes = l->n_bytes;
        r->handle = NULL;
        free(l);
    }
    pthread_mutex_unlock(&b->lock);
    return result;
}

static void drop(drove_wire *w, drove_wire_request *r)
{
    mailbox *b = box_of(w);
    letter *l = r->handle;
    if (l == NULL) return;
    pthread_mutex_lock(&b->lock);
    if (l->is_listed) take_out(l->is_receive ? &b->wanted[w->rank] : &b->sent[l->to], l);
    free(l);
    r->handle = NULL;
    pthread_mutex_unlock(&b->lock);
}

static int cancel(drove_wire *w, drove_wire_request *r)
{
    drop(w, r);
    return 0;
}

static void end_all(drove_wire *w, int status)
{
    (void)w;
    exit(status);
}

/* ---- beginning and end ---- */

static void free_box(mailbox *b)
{
    for (unsigned i = 0; i < b->opt.n_ranks && b->sent != NULL && b->wanted != NULL; i++) {
        for (letter *l = b->sent[i], *next; l != NULL; l = next) {
            next = l->next;
            free(l);
        }
        for (letter *l = b->wanted[i], *next; l != NULL; l = next) {
            next = l->next;
            free(l);
        }
    }
    pthread_mutex_destroy(&b->lock);
    free(b->sent);
    free(b->wanted);
    free(b->last_ns);
    free(b);
}

static void fini(drove_wire *w)
{
    if (w == NULL) return;
    mailbox *b = box_of(w);
    pthread_mutex_lock(&b->lock);
    bool is_last = --b->n_open == 0;
    pthread_mutex_unlock(&b->lock);
    free(w->host);
    free(w);
    if (is_last) free_box(b);
}

static const drove_wire_ops mailbox_ops = {
    .version = DROVE_WIRE_VERSION,
    .eager_bytes = 60 << 10,
    .name = "mailbox",
    .fini = fini,
    .isend = isend,
    .irecv = irecv,
    .test = test,
    .cancel = cancel,
    .drop = drop,
    .abort = end_all,
};

static drove_wire *create_wire(mailbox *b, unsigned rank)
{
    unsigned n = b->opt.n_ranks;
    drove_wire *w = calloc(1, sizeof *w);
    if (w == NULL) return NULL;
    w->ops = &mailbox_ops;
    w->n_ranks = w->n_local = n;
    w->rank = w->local_rank = rank;
    w->takes_threads = true;
    w->impl = b;
    snprintf(w->library, sizeof w->library, "mailbox");
    w->host = calloc(n, sizeof *w->host);
    for (unsigned i = 0; i < n && w->host != NULL; i++) {
        snprintf(w->host[i], sizeof w->host[i], "host%u", i);
    }
    b->n_open++;
    return w;
}

drove_status drove__mailbox_create(const drove_mailbox_options *opt, drove_wire **wire)
{
    unsigned n = opt->n_ranks;
    mailbox *b = calloc(1, sizeof *b);
    if (b == NULL) return drove__fail_nomem("mailbox", sizeof *b);
    b->opt = *opt;
    drove__rng_seed(&b->rng, opt->seed, DROVE_RNG_TEST, 0);
    pthread_mutex_init(&b->lock, NULL);
    b->sent = calloc(n, sizeof(letter *));
    b->wanted = calloc(n, sizeof(letter *));
    b->last_ns = calloc((size_t)n * n, sizeof *b->last_ns);
    bool is_made = b->sent != NULL && b->wanted != NULL && b->last_ns != NULL;
    for (unsigned i = 0; i < n; i++) wire[i] = NULL;
    for (unsigned i = 0; i < n && is_made; i++) {
        wire[i] = create_wire(b, i);
        is_made = wire[i] != NULL && wire[i]->host != NULL;
    }
    if (is_made) return DROVE_OK;
    if (wire[0] == NULL) free_box(b);
    for (unsigned i = 0; i < n; i++) fini(wire[i]); /* the last frees the box */
    return drove__fail_nomem("mailbox", sizeof *b);
}
