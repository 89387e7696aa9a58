/* cluster/request.h - what messages.c and its neighbours share; nobody else includes it.
 *
 * A request is one exchange under way: one to a channel, and one more for gathering.  It goes in
 * rounds (rounds.c); a round is a set of flows, to and from peers, that go at once (flow.c), and then
 * additions.  A flow is a header, with short contents in the same message, and longer contents in
 * pieces straight from and to their memory, a few of them at a time.
 *
 * Thread rules: everything here is protected by messages.lock, unless it says otherwise.
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
    MESSAGE_MAGIC = 0x44524f56,      /* and one more with each change of what travels */
    MESSAGE_INLINE = 8192,           /* bytes of contents that travel with the header */
    FLOW_WINDOW = 4,                 /* pieces of one flow at a time */
    GATHER_CHANNEL = DROVE_CHANNELS, /* a request of its own */
    N_REQUESTS = DROVE_CHANNELS + 1,
    CONTROL_TEXT_SIZE = 400,
};

/* Tags: of channel l tag + l. */
enum {
    TAG_COLLECTIVE = 0,
    TAG_PAIR = TAG_COLLECTIVE + N_REQUESTS,
    TAG_BODY = TAG_PAIR + N_REQUESTS, /* of an RPC, in pieces */
    TAG_REPLY = TAG_BODY + N_REQUESTS,
    TAG_RPC = TAG_REPLY + N_REQUESTS, /* header of an RPC, from whomever */
    TAG_CONTROL
};

enum { KIND_GATHER = DROVE_RPC + 1 }; /* beside those of drove_exchange_kind */

typedef struct drove_message { /* header of a flow */
    uint32_t magic, kind;
    uint32_t worker, channel; /* of the sender */
    uint32_t order;           /* of collective ones: how many the channel has had */
    uint32_t halts;           /* somebody wishes that all stop */
    uint64_t n_bytes;         /* of this flow */
    uint64_t n;               /* of the whole exchange */
    uint64_t centre_ns;       /* of a reply */
    float    number[DROVE_EXCHANGE_NUMBERS];
} DROVE_ALIGNED_CACHE_LINE drove_message;

typedef struct message_buffer {
    drove_message head;
    char          content[MESSAGE_INLINE];
} message_buffer;

typedef enum flow_kind { FLOW_SEND, FLOW_PLACE, FLOW_ADD } flow_kind;

typedef struct flow {
    flow_kind    kind;
    unsigned     peer;
    unsigned     tag, body_tag; /* of the header and of pieces */
    const char  *from;          /* SEND */
    char        *to;            /* PLACE, ADD: to = with + what arrives */
    const float *with;
    char        *spare; /* ADD: [FLOW_WINDOW] pieces */
    size_t       n_bytes, piece, n_begun, n_done;
    bool         head_is_done, is_done;
    unsigned     first, n_open; /* of request[] */

    drove_wire_request head_request, request[FLOW_WINDOW];
    message_buffer    *buffer;
} flow;

typedef enum request_way {
    WAY_DOUBLING, /* short, 2^k ranks: everything to the partner at distance 1, 2, 4 ... */
    WAY_HALVING,  /* 2^k ranks: halves likewise, then all that was added back or to the root */
    WAY_SLICES,   /* rank r adds slice r of all */
    WAY_CODES,    /* the same in fewer bits: codes.c */
    WAY_TREE,     /* short: up the tree to rank 0, and down again or to the root */
    WAY_SCATTER,  /* long broadcast: slices to all, which give them to each other */
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
    _Atomic int     is_done;   /* nothing is under way any more; also read without the lock */
    bool            halts, is_by_library;
    uint32_t        order;
    float          *sum;  /* where is added: x.out or scratch */
    float          *rows; /* WAY_SLICES: [n_ranks][row]; WAY_HALVING: spare of ADD */
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
    uint64_t heard_ns, asked_ns; /* last message from it; last ping to it */
} peer_news;

typedef enum control_kind { CONTROL_PING, CONTROL_PONG, CONTROL_STOP } control_kind;

typedef struct control {
    uint32_t magic, kind, worker, spare;
    char     text[CONTROL_TEXT_SIZE];
} control;

typedef struct control_send { /* to one rank; the second for STOP */
    control            message;
    drove_wire_request request;
    bool               is_open;
} control_send;

typedef struct messages {
    drove_transport  base;
    drove_wire      *wire;
    unsigned         most_flows;
    pthread_mutex_t  lock;
    pthread_cond_t   wake; /* of the progress thread */
    pthread_t        progress_thread;
    bool             has_progress_thread, is_ending;
    bool             ends_wire, by_library; /* options, as in messages.h */
    size_t           piece_bytes;
    unsigned         n_waiting;  /* threads in finish, which move everything meanwhile */
    _Atomic unsigned n_wanting;  /* threads that want the lock; any thread */
    unsigned         n_pending;  /* requests that are not done */
    uint64_t         work_ns;    /* copying and adding, ever */
    _Atomic int      is_stopped; /* why: text; any thread may read it */
    char             text[DROVE_ERROR_TEXT_SIZE];
    request          request[N_REQUESTS];
    float           *tree_spare;
    const float    **term; /* [n_ranks] of drove__tree_add */

    peer_news         *peer;    /* [n_ranks] */
    control_send      *sending; /* [2 n_ranks] */
    control            heard;   /* of the receive that is always there */
    drove_wire_request heard_request;
    bool               is_listening;
    centre            *centre;
} messages;

static inline messages *messages_of(const drove_transport *t)
{
    return t->impl;
}

/* Nothing goes on after this, also at the other ranks; the first text stays.  Lock held. */
drove_status drove__messages_fail(messages *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- flow.c ---- */
/* Posts the header, and the first pieces; f's fields up to n_bytes and the head's own are set. */
drove_status drove__flow_begin(messages *m, request *f, flow *o);
/* Moves what can be moved; *has_moved is set if something was. */
drove_status drove__flow_advance(messages *m, request *f, flow *o, bool *has_moved);
/* Pieces alone, where the header came another way. */
drove_status drove__flow_begin_body(messages *m, request *f, flow *o);
/* Bytes of one piece of contents that long. */
size_t drove__flow_piece(const messages *m, size_t n_bytes);
void   drove__flow_drop(messages *m, flow *o);

/* ---- rounds.c ---- */
/* Chooses the way and begins the first round. */
drove_status drove__request_begin(messages *m, request *f);
drove_status drove__request_advance(messages *m, request *f, bool *has_moved);
/* Room in a channel for exchanges of n floats. */
drove_status drove__request_reserve(messages *m, request *f, size_t n);
/* Whom the request waits for; *is_sending: to take something. */
unsigned drove__request_awaited(const request *f, bool *is_sending);

/* Flows of the next round. */
void drove__request_send(request *f, unsigned peer, const void *from, size_t n_bytes);
void drove__request_place(request *f, unsigned peer, void *to, size_t n_bytes);

/* ---- codes.c ---- */
/* The flows of round f->round of 3, after what is to be computed before them. */
void   drove__codes_round(messages *m, request *f);
size_t drove__codes_spare(const messages *m, request *f); /* floats; sets f->row */
bool   drove__codes_fit(const messages *m, const drove_exchange *x);

/* ---- progress.c ---- */
drove_status drove__progress_start(messages *m);
void         drove__progress_end(messages *m);
/* Moves everything once; lock held. */
bool drove__messages_advance(messages *m);
/* Until the request is done; lock held, let go in between. */
drove_status drove__messages_wait(messages *m, request *f);
void         drove__messages_lock(messages *m); /* before the progress thread's next turn */
void         drove__messages_tell(messages *m, unsigned to, control_kind kind, const char *text);
drove_status drove__messages_stopped(const messages *m); /* the failure, for another thread */

/* ---- rpc.c ---- */
drove_status drove__centre_create(messages *m, const drove_centre *c, size_t n);
void         drove__centre_destroy(messages *m);
bool         drove__centre_advance(messages *m);
/* An RPC of this process's own worker, where the centre is here. */
drove_status drove__centre_enter(messages *m, request *f);

#endif
