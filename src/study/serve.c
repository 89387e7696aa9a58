/* study/serve.c - drove_watch_serve: the page of runs by HTTP.
 *
 * libmicrohttpd parses requests; this thread alone answers them, so nothing is shared.  Nothing is
 * written, and only the page itself can be asked for.  Slow connections shut nobody out: a request
 * must be whole in time, and where all places are taken, the oldest connection ends for a new one.
 */
#include "base/clock.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "study/page/page.h"
#include "study/runs_read.h"

#include <drove/watch.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifdef DROVE_HAVE_MICROHTTPD

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_SIZE = 4096,
    MOMENT_MS = 200,
    MOST_CONNECTIONS = 200,
    ENDING = 64,   /* more, that were told to end, until libmicrohttpd has closed them */
    IDLE_S = 3,    /* without a byte */
    REQUEST_S = 10 /* for a whole request */
};

typedef struct visit { /* a connection; all zero: none */
    struct MHD_Connection *connection;
    uint64_t since_ns;           /* when it was opened, or its last answer sent */
    bool is_answered, is_ending; /* its request is whole; its socket is shut */
} visit;

typedef struct server {
    const drove_watch_server *opt;
    char *page; /* of malloc; NULL: not made yet */
    size_t n_bytes;
    uint64_t made_of; /* what the folders held then */
    bool is_loopback;
    visit visit[MOST_CONNECTIONS + ENDING];
} server;

/* ---- the page ---- */

static uint64_t mix(uint64_t h, uint64_t value)
{
    return (h ^ value) * 0x100000001b3u; /* FNV-1a, by words */
}

static drove_status make_page(server *s)
{
    json_t *runs;
    char *page;
    size_t n_bytes;
    /* Sizes and times of the files that a page is made of. */
    static const char *const names[] = {"run.json", "log.jsonl", "summary.json", "results.jsonl"};
    uint64_t state = 0xcbf29ce484222325u;
    for (size_t i = 0; i < s->opt->n_folders; i++) {
        for (size_t k = 0; k < DROVE_COUNT(names); k++) {
            char path[PATH_SIZE];
            struct stat about = {0};
            snprintf(path, sizeof path, "%.3800s/%s", s->opt->folder[i], names[k]);
            if (stat(path, &about) != 0) memset(&about, 0, sizeof about);
            state = mix(state, (uint64_t)about.st_size);
            state = mix(state, (uint64_t)about.st_mtim.tv_sec);
            state = mix(state, (uint64_t)about.st_mtim.tv_nsec);
        }
    }
    const drove_report_options opt = {.folder = s->opt->folder, .n_folders = s->opt->n_folders};
    if (s->page != NULL && state == s->made_of) return DROVE_OK;
    DROVE_TRY(drove__runs_read(&opt, &runs));
    const drove_status status = drove__page_text(runs, true, NULL, NULL, &page, &n_bytes);
    json_decref(runs);
    DROVE_TRY(status);
    free(s->page);
    s->page = page;
    s->n_bytes = n_bytes;
    s->made_of = state;
    return DROVE_OK;
}

/* ---- connections ---- */

/* libmicrohttpd finds the socket at its end, and closes it. */
static void end_visit(visit *v)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(v->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info != NULL) (void)shutdown(info->connect_fd, SHUT_RDWR);
    v->is_ending = true;
}

/* Opened or closed.  Where this is one too many, the oldest ends: with one request after the other
 * answered at once, that is one that waits, or lets others wait. */
static void notice_connection(void *context, struct MHD_Connection *connection,
                              void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    server *s = context;
    visit *oldest = NULL, *free_one = NULL;
    size_t n = 0;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*socket_context != NULL) memset(*socket_context, 0, sizeof(visit));
        return;
    }
    for (visit *v = s->visit; v < s->visit + DROVE_COUNT(s->visit); v++) {
        if (v->connection == NULL) free_one = v;
        if (v->connection == NULL || v->is_ending) continue;
        n++;
        if (oldest == NULL || v->since_ns < oldest->since_ns) oldest = v;
    }
    if (n >= MOST_CONNECTIONS) end_visit(oldest);
    *socket_context = free_one; /* there is one: libmicrohttpd has as many connections at most */
    if (free_one != NULL)
        *free_one = (visit){.connection = connection, .since_ns = drove__now_ns()};
}

static visit *visit_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* An answer is sent; the connection may stay for another request. */
static void notice_completed(void *context, struct MHD_Connection *connection, void **request,
                             enum MHD_RequestTerminationCode code)
{
    visit *v = visit_of(connection);
    (void)context;
    (void)request;
    (void)code;
    if (v == NULL) return;
    v->is_answered = false;
    v->since_ns = drove__now_ns();
}

/* ---- requests ---- */

/* A page of another site can make a browser ask for a name of its own that leads here; so only
 * names of this machine are answered. */
static bool is_own_name(const char *host)
{
    char name[64];
    struct in_addr address;
    if (host == NULL) return true; /* HTTP 1.0 */
    const char *bracket = host[0] == '[' ? strchr(host, ']') : NULL;
    const size_t n = bracket != NULL ? (size_t)(bracket + 1 - host) : strcspn(host, ":");
    if (n >= sizeof name) return false;
    memcpy(name, host, n);
    name[n] = '\0';
    const char *port = host + n;
    if (*port != '\0' && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1)))
        return false;
    if (strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0) return true;
    return inet_pton(AF_INET, name, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              const char *text, size_t n_bytes)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(n_bytes, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (response == NULL) return MHD_NO;
    (void)MHD_add_response_header(response, "Content-Type", type);
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    (void)MHD_add_response_header(response, "Content-Security-Policy",
                                  "default-src 'none'; style-src 'unsafe-inline'; script-src "
                                  "'unsafe-inline'; connect-src 'self'; img-src data:; "
                                  "frame-ancestors 'none'");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
    const enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
    return answer(connection, status, "text/plain; charset=utf-8", why, strlen(why));
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *n_upload, void **request)
{
    server *s = context;
    visit *v = visit_of(connection);
    (void)version;
    (void)upload;
    (void)n_upload;
    (void)request;
    if (v != NULL) v->is_answered = true;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    if (s->is_loopback &&
        !is_own_name(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
        return refuse(connection, MHD_HTTP_FORBIDDEN, "not a name of this machine\n");
    if (strcmp(url, "/") != 0) return refuse(connection, MHD_HTTP_NOT_FOUND, "there is only /\n");
    if (make_page(s) != DROVE_OK) {
        char why[512];
        snprintf(why, sizeof why, "%.500s\n", drove_error_text());
        return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, why);
    }
    return answer(connection, MHD_HTTP_OK, "text/html; charset=utf-8", s->page, s->n_bytes);
}

/* ---- the socket ---- */

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address;

static drove_status parse_address(const char *text, uint16_t port, address *out, bool *is_loopback)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(port);
        *is_loopback = ntohl(out->v4.sin_addr.s_addr) >> 24 == 127;
        return DROVE_OK;
    }
    if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(port);
        *is_loopback = IN6_IS_ADDR_LOOPBACK(&out->v6.sin6_addr);
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG,
                       "--bind-address: expected a numeric address such as 127.0.0.1 or ::1, found "
                       "\"%.80s\"",
                       text);
}

/* libmicrohttpd says only that it failed; so the socket is opened here. */
static drove_status open_socket(const address *at, const char *text, uint16_t port, int *out)
{
    const int yes = 1;
    const bool is_v4 = at->any.sa_family == AF_INET;
    const int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return drove__fail_errno(DROVE_E_SYSTEM, errno, "--http: no socket");
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, &at->any, is_v4 ? sizeof at->v4 : sizeof at->v6) == 0 &&
        listen(fd, MOST_CONNECTIONS) == 0) {
        *out = fd;
        return DROVE_OK;
    }
    const int error = errno;
    close(fd);
    if (error == EADDRINUSE)
        return drove__fail(DROVE_E_EXISTS,
                           "--http: expected a free port, found %u at %s in use by another program",
                           (unsigned)port, text);
    return drove__fail_errno(DROVE_E_SYSTEM, error, "--http: cannot listen at %s, port %u", text,
                             (unsigned)port);
}

static drove_status run(server *s, int fd, const char *host)
{
    char line[256];
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_AUTO, 0, NULL, NULL, handle, s, MHD_OPTION_LISTEN_SOCKET, fd,
                         MHD_OPTION_CONNECTION_LIMIT, (unsigned)DROVE_COUNT(s->visit),
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
                         MHD_OPTION_NOTIFY_CONNECTION, notice_connection, s,
                         MHD_OPTION_NOTIFY_COMPLETED, notice_completed, s, MHD_OPTION_END);
    if (daemon == NULL) {
        close(fd);
        return drove__fail(DROVE_E_SYSTEM, "--http: the server cannot be started");
    }
    const bool is_v6 = strchr(host, ':') != NULL;
    address at;
    socklen_t n = sizeof at;
    unsigned port = s->opt->port; /* 0: any, which the socket tells */
    if (getsockname(fd, &at.any, &n) == 0) port = ntohs(is_v6 ? at.v6.sin6_port : at.v4.sin_port);
    snprintf(line, sizeof line, "http://%s%s%s:%u/", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
             port);
    if (s->opt->message != NULL) s->opt->message(s->opt->context, line);
    while (s->opt->is_stopped == NULL || !s->opt->is_stopped(s->opt->context)) {
        (void)MHD_run_wait(daemon, MOMENT_MS);
        const uint64_t now = drove__now_ns();
        for (visit *v = s->visit; v < s->visit + DROVE_COUNT(s->visit); v++) {
            if (v->connection == NULL || v->is_answered || v->is_ending) continue;
            if (now - v->since_ns > (uint64_t)REQUEST_S * 1000000000u) end_visit(v);
        }
    }
    MHD_stop_daemon(daemon);
    return DROVE_OK;
}

drove_status drove_watch_serve(const drove_watch_server *options)
{
    DROVE_GIVEN_AS(options, "server");
    DROVE_GIVEN_AS(options->folder, "server->folder");
    for (size_t i = 0; i < options->n_folders; i++)
        DROVE_GIVEN_AS(options->folder[i], "server->folder");
    DROVE_IN_C_LOCALE;
    int fd;
    address at;
    server s = {.opt = options};
    const char *host = options->address != NULL ? options->address : "127.0.0.1";
    if (options->n_folders == 0)
        return drove__fail(DROVE_E_ARG, "watch: expected folders of runs, found none");
    DROVE_TRY(parse_address(host, options->port, &at, &s.is_loopback));
    DROVE_TRY(make_page(&s)); /* a folder without a run is refused before anything is opened */
    drove_status status = open_socket(&at, host, options->port, &fd);
    if (status == DROVE_OK) status = run(&s, fd, host);
    free(s.page);
    return status;
}

#else

drove_status drove_watch_serve(const drove_watch_server *options)
{
    (void)options;
    return drove__fail(
        DROVE_E_UNSUPPORTED,
        "--http: this build has no HTTP server (Debian: libmicrohttpd-dev, when drove "
        "is built)");
}

#endif
