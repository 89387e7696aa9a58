/* cluster/request.h - internals of the transport over messages: requests and their flows.  Included
 * by messages.c, rounds.c, flow.c, codes.c, control.c, progress.c and rpc.c only.
 *
 * A request is an exchange under way: one per channel, and one for gathering.  It runs in rounds
 * (rounds.c).  A round is a set of flows to and from peers that run together (flow.c), followed by
 * additions.  A flow is a header, which carries short contents; long contents follow in messages
 * straight from and to their memory.
 *
 * Between two hosts a library asks the receiver before it sends a long message.  If contents travel
 * the other way at the same time, the answer waits behind them in the connection's buffer: then one
 * direction runs after the other, at half of the line's rate.  So there flows with an opposite one
 * go in messages that need no answer.  They begin when the header of the opposite flow has arrived:
 * its sender has then posted its receives, and no more than a slice waits in the library's memory.
 *
 * Thread rules: everything here is protected by messages.lock unless a comment says otherwise.
 */
#ifndef DROVE_CLUSTER_REQUEST_H
#define DROVE_CLUSTER_REQUEST_H

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/transport.h"
#include "cluster/tree.h"
#include "cluster/wire.h"

#include <pthread.h>

enum {
    MESSAGE_MAGIC = 0x44524f56,      /* add one when the format of messages changes */
    MESSAGE_INLINE = 8192,           /* bytes of contents sent with the header */
    FLOW_WINDOW = 16,                /* most messages of one flow at a time */
    LONG_WINDOW = 4,                 /* of those longer than the wire's eager_bytes */
    GATHER_CHANNEL = DROVE_CHANNELS, /* gathering */
    N_REQUESTS = DROVE_CHANNELS + 1,
    CONTROL_TEXT_SIZE = 400,
};

/* Tags; + channel. */
enum {
    TAG_COLLECTIVE = 0,
    TAG_PAIR = TAG_COLLECTIVE + N_REQUESTS,
    TAG_BODY = TAG_PAIR + N_REQUESTS, /* long contents of an RPC */
    TAG_REPLY = TAG_BODY + N_REQUESTS,
    TAG_RPC = TAG_REPLY + N_REQUESTS, /* header of an RPC, from any rank */
    TAG_CONTROL
};

enum { KIND_GATHER = DROVE_RPC + 1 }; /* after those of drove_exchange_kind */

typedef struct drove_message { /* header of a flow */
    uint32_t magic, kind;
    uint32_t worker, channel; /* of the sender */
    uint32_t order;           /* collective: number of the exchange in this channel */
    uint32_t halts;           /* a request to stop */
    uint64_t n_bytes;         /* of this flow */
    uint64_t n;               /* of the whole exchange */
    uint64_t centre_ns;       /* of a reply */
    float    number[DROVE_EXCHANGE_NUMBERS];
} DROVE_ALIGNED_CACHE_LINE drove_message;

typedef struct message_buffer {
    drove_message head;
    char          content[MESSAGE_INLINE];
} message_buffer;

typedef enum flow_kind { FLOW_SEND, FLOW_RECEIVE, FLOW_ADD } flow_kind;

typedef struct flow {
    flow_kind          kind;
    unsigned           peer;
    unsigned           tag, body_tag; /* of the header and of long contents */
    const char        *from;          /* SEND */
    char              *to;            /* RECEIVE; ADD: to = with + contents */
    const float       *with;
    char              *spare; /* ADD: [window][piece] */
    size_t             n_bytes, piece, n_begun, n_done;
    bool               head_is_done, is_done;
    bool               is_eager; /* in messages that need no answer, behind the opposite's header */
    unsigned           window, first, n_open; /* of request[] */
    const struct flow *opposite;              /* same round and peer; NULL: none */

    drove_wire_request head_request, request[FLOW_WINDOW];
    message_buffer    *buffer;
} flow;

typedef enum request_way {
    WAY_DOUBLING, /* short, 2^k ranks: all to rank ^ 1, 2, 4 ... */
    WAY_HALVING,  /* 2^k ranks: halves to rank ^ 1, 2, 4 ..., then sums back or to the root */
    WAY_SLICES,   /* few ranks, or not 2^k: rank r adds slice r of all */
    WAY_CODES,    /* slices in fewer bits: codes.c */
    WAY_TREE,     /* short: up the tree to rank 0, then to all or the root */
    WAY_SCATTER,  /* long broadcast: a slice to each, then all to all */
    WAY_BARRIER,
    WAY_PAIR,
    WAY_RPC,
    WAY_GATHER
} request_way;

typedef struct request {
    drove_exchange  x;
    unsigned        kind; /* drove_exchange_kind, or KIND_GATHER */
    unsigned        channel;
    request_way     way;
    unsigned        round;
    bool            is_active; /* from start to finish */
    _Atomic int     is_done;   /* nothing is under way; also read without the lock */
    bool            halts, is_by_library;
    uint32_t        order;
    float          *sum;  /* x.out or scratch */
    float          *rows; /* SLICES: [n_ranks][row]; HALVING: spare of ADD */
    size_t          row;
    size_t          each_bytes; /* GATHER */
    char           *all;
    const char     *mine;
    flow           *flow; /* [most_flows] */
    unsigned        n_flows, n_flows_done;
    float          *scratch; /* [n_scratch] */
    size_t          n_scratch;
    message_buffer *buffer; /* [most_flows] */
    uint64_t        begun_ns, done_ns, moved_ns, start_ns, bytes, messages, centre_ns;
    float           number[DROVE_EXCHANGE_NUMBERS];
} request;

typedef struct centre centre; /* rpc.c */

typedef struct peer_news {
    uint64_t heard_ns, asked_ns; /* last message from it; last heartbeat asked of it */
    flow    *sent, *received;    /* of a round while it begins; else NULL */
} peer_news;

typedef enum control_kind { CONTROL_PING, CONTROL_PONG, CONTROL_STOP } control_kind;

typedef struct control {
    uint32_t magic, kind, worker, spare;
    char     text[CONTROL_TEXT_SIZE];
} control;

typedef struct control_send { /* two per rank: heartbeats; STOP */
    control            message;
    drove_wire_request request;
    bool               is_open;
} control_send;

typedef enum messages_stop { GOES_ON, STOPPED_HERE, STOPPED_BY_OTHER } messages_stop;

typedef struct messages {
    drove_transport  base;
    drove_wire      *wire;
    unsigned         most_flows;
    pthread_mutex_t  lock;
    pthread_cond_t   wake; /* wakes the progress thread */
    pthread_t        progress_thread;
    bool             has_progress_thread, is_ending;
    bool             ends_wire, by_library; /* options, as in messages.h */
    size_t           piece_bytes;
    unsigned         n_waiting;  /* threads in finish; they advance all requests */
    _Atomic unsigned n_wanting;  /* threads that wait for the lock; a hint */
    unsigned         n_pending;  /* requests not done */
    uint64_t         work_ns;    /* spent copying and adding */
    _Atomic int      is_stopped; /* messages_stop; reason in text; any thread reads it */
    char             text[DROVE_ERROR_TEXT_SIZE];
    request          request[N_REQUESTS];
    float           *tree_spare;
    const float    **term; /* [n_ranks] of drove__tree_add */

    peer_news         *peer;    /* [n_ranks] */
    control_send      *sending; /* [2 n_ranks] */
    control            heard;   /* by the receive that is always posted */
    drove_wire_request heard_request;
    bool               is_listening;
    centre            *centre;
} messages;

static inline messages *messages_of(const drove_transport *t)
{
    return t->impl;
}

/* ---- control.c ---- */
/* Stops the transport at all ranks; the first text is kept.  Lock held. */
drove_status drove__messages_fail(messages *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same where the reason was told: the others get no text.  Lock held. */
void drove__messages_fail_told(messages *m, const char *text);
void drove__messages_lock(messages *m); /* ahead of the progress thread */
/* The next message of this tag from any rank: into[size], *from, *n_bytes (may be NULL); false:
 * there is none yet, or a call of the wire has failed, which stops all.  pending, is_listening:
 * kept by the caller from call to call.  Lock held. */
bool drove__messages_hear(messages *m, void *into, size_t size, unsigned tag,
                          drove_wire_request *pending, bool *is_listening, unsigned *from,
                          size_t *n_bytes);
void drove__messages_send_control(messages *m, unsigned to, control_kind kind, const char *text);
drove_status drove__messages_stopped(
    const messages *m); /* the failure as an error of this thread */
/* Takes what others have to tell, and goes on with what was told to them.  Lock held. */
void drove__messages_advance_control(messages *m);

/* ---- flow.c ---- */
/* Posts the header and the first messages of contents.  Fields of o up to n_bytes are set. */
drove_status drove__flow_begin(messages *m, request *req, flow *o);
/* Advances without blocking; sets *has_moved if something moved. */
drove_status drove__flow_advance(messages *m, request *req, flow *o, bool *has_moved);
/* Begins with the contents, where the header was received elsewhere. */
drove_status drove__flow_begin_body(messages *m, request *req, flow *o);
/* Floats of the spare memory of an ADD of n floats, whoever the peer is. */
size_t drove__flow_spare(const messages *m, size_t n);
void   drove__flow_drop(messages *m, flow *o);

/* Add a flow to the next round; _next: one whose `from` or `to` is not set yet. */
flow *drove__flow_next(request *req, flow_kind kind, unsigned peer, size_t n_bytes);
void  drove__request_send(request *req, unsigned peer, const void *from, size_t n_bytes);
void  drove__request_receive(request *req, unsigned peer, void *to, size_t n_bytes);

/* ---- rounds.c ---- */
/* Chooses the way and begins the first round. */
drove_status drove__request_begin(messages *m, request *req);
drove_status drove__request_advance(messages *m, request *req, bool *has_moved);
/* Makes room for exchanges of n floats. */
drove_status drove__request_reserve(messages *m, request *req, size_t n);
/* The rank that the request waits for; *is_sending: for it to receive. */
unsigned drove__request_awaited(const request *req, bool *is_sending);

/* ---- codes.c ---- */
/* Computes and sets the flows of round req->round, one of 3. */
void   drove__codes_round(messages *m, request *req);
size_t drove__codes_spare(const messages *m, request *req); /* floats; sets req->row */
bool   drove__codes_fit(const messages *m, const drove_exchange *x);

/* ---- progress.c ---- */
drove_status drove__progress_start(messages *m);
void         drove__progress_end(messages *m);
/* Advances all requests once.  Lock held. */
bool drove__messages_advance(messages *m);
/* Until the request is done.  Lock held; released in between. */
drove_status drove__messages_wait(messages *m, request *req);

/* ---- rpc.c ---- */
drove_status drove__centre_create(messages *m, const drove_centre *of, size_t n);
void         drove__centre_destroy(messages *m);
bool         drove__centre_advance(messages *m);
/* An RPC of this process's worker to the centre here. */
drove_status drove__centre_call(messages *m, request *req);

#endif
