/* Predictions over HTTP: the thread pool of libmicrohttpd, and one predictor that all its threads
 * share.  It listens on this machine alone (127.0.0.1).
 *
 *     cc predict_server.c -ldrove -lmicrohttpd -ljansson -lpthread -o predict_server
 *     ./predict_server MODEL [PORT [THREADS]]
 *     curl -H 'Content-Type: application/json' -d '{"rows": [[0.1, 0.9]]}' \
 *         http://127.0.0.1:PORT/predict
 *     curl http://127.0.0.1:PORT/figures
 *
 * POST /predict takes {"rows": [[number, ...], ...]} and answers {"outputs": [[number, ...], ...]},
 * for classes with "classes": [name, ...]; null is a number that is not finite.  GET /figures: how
 * many predictions were answered and where their time went.
 *
 * Bounds: BODY_BYTES a request, MOST_ROWS rows, MOST_CONNECTIONS connections, TIMEOUT_S seconds of
 * silence.  A page of another site that a browser of this machine shows cannot use it: Host has to
 * be a name of this machine, and Content-Type JSON, which such a page may not send.  SIGINT and
 * SIGTERM end it.
 */
#include <drove/drove.h>

#include <arpa/inet.h>
#include <jansson.h>
#include <math.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { BODY_BYTES = 1 << 20, MOST_ROWS = 1000, MOST_CONNECTIONS = 256, TIMEOUT_S = 10 };

typedef struct server {
    drove_predictor *predictor; /* any number of threads may predict with it at once */
    _Atomic uint64_t n_requests, n_rows, predictor_ns, handler_ns;
} server;

typedef struct request { /* of one connection, while its body comes in */
    char *body;
    size_t n_bytes;
} request;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- answers ---- */

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, json_t *body)
{
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(body);
    if (text == NULL) return MHD_NO;
    struct MHD_Response *r =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (r == NULL) {
        free(text);
        return MHD_NO;
    }
    MHD_add_response_header(r, "Content-Type", "application/json");
    const enum MHD_Result done = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return done;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
    return answer(c, status, json_pack("{s:s}", "error", why));
}

static enum MHD_Result answer_figures(const server *s, struct MHD_Connection *c)
{
    return answer(c, MHD_HTTP_OK,
                  json_pack("{s:I, s:I, s:f, s:f}", "requests", (json_int_t)s->n_requests, "rows",
                            (json_int_t)s->n_rows, "predictor_s", (double)s->predictor_ns * 1e-9,
                            "handler_s", (double)s->handler_ns * 1e-9));
}

/* ---- predictions ---- */

/* x[n_rows][n_columns] of a JSON array of arrays; false: it is something else. */
static int read_rows(const json_t *rows, size_t n_columns, float *x)
{
    size_t i, j;
    const json_t *row, *number;
    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        if (json_array_size(row) != n_columns) return 0;
        json_array_foreach((json_t *)(uintptr_t)row, j, number)
        {
            if (!json_is_number(number)) return 0;
            x[i * n_columns + j] = (float)json_number_value(number);
        }
    }
    return 1;
}

/* JSON has no word for a number that is not finite. */
static json_t *print_number(double y)
{
    return isfinite(y) ? json_real(y) : json_null();
}

static json_t *print_rows(const float *y, size_t n_rows, size_t n_columns)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < n_rows; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < n_columns; j++)
            json_array_append_new(row, print_number((double)y[i * n_columns + j]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *print_classes(const server *s)
{
    json_t *names = json_array();
    const size_t n = drove_predictor_describe(s->predictor)->n_classes;
    for (size_t i = 0; i < n; i++) {
        const char *name = drove_predictor_class_name(s->predictor, i);
        json_array_append_new(names,
                              name != NULL ? json_string(name) : json_integer((json_int_t)i));
    }
    return names;
}

/* y[n_rows][n_outputs] */
static drove_status predict(server *s, const float *x, size_t n_rows, float *y)
{
    const drove_predictor_facts *facts = drove_predictor_describe(s->predictor);
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F32, n_rows, facts->n_features);
    const uint64_t begun_ns = now_ns();
    const drove_status status = drove_predictor_rows(s->predictor, &rows, y);
    atomic_fetch_add(&s->predictor_ns, now_ns() - begun_ns);
    return status;
}

static enum MHD_Result answer_rows(server *s, struct MHD_Connection *c, const json_t *rows)
{
    const drove_predictor_facts *facts = drove_predictor_describe(s->predictor);
    const size_t n = json_array_size(rows);
    enum MHD_Result done;
    if (n == 0 || n > MOST_ROWS)
        return refuse(c, MHD_HTTP_BAD_REQUEST, "rows: expected an array of 1 to 1000 arrays");
    float *x = malloc(n * facts->n_features * sizeof *x);
    float *y = malloc(n * facts->n_outputs * sizeof *y);
    if (x == NULL || y == NULL) done = refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "not enough memory");
    else if (!read_rows(rows, facts->n_features, x))
        done = refuse(c, MHD_HTTP_BAD_REQUEST, "rows: expected as many numbers as the model takes");
    else if (predict(s, x, n, y) != DROVE_OK)
        done = refuse(c, MHD_HTTP_BAD_REQUEST, drove_error_text());
    else {
        json_t *body = json_pack("{s:o}", "outputs", print_rows(y, n, facts->n_outputs));
        if (facts->n_classes > 0) json_object_set_new(body, "classes", print_classes(s));
        done = answer(c, MHD_HTTP_OK, body);
        atomic_fetch_add(&s->n_requests, 1);
        atomic_fetch_add(&s->n_rows, n);
    }
    free(x);
    free(y);
    return done;
}

static enum MHD_Result answer_predict(server *s, struct MHD_Connection *c, const request *r)
{
    json_error_t error;
    const uint64_t begun_ns = now_ns();
    json_t *body = json_loadb(r->body, r->n_bytes, 0, &error);
    const enum MHD_Result done = body != NULL ? answer_rows(s, c, json_object_get(body, "rows"))
                                              : refuse(c, MHD_HTTP_BAD_REQUEST, error.text);
    json_decref(body);
    atomic_fetch_add(&s->handler_ns, now_ns() - begun_ns);
    return done;
}

/* ---- connections ---- */

static int take_body(request *r, const char *bytes, size_t n)
{
    if (n > BODY_BYTES - r->n_bytes) return 0;
    char *body = realloc(r->body, r->n_bytes + n);
    if (body == NULL) return 0;
    memcpy(body + r->n_bytes, bytes, n);
    r->body = body;
    r->n_bytes += n;
    return 1;
}

static int is_own_host(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1"};
    for (size_t i = 0; host != NULL && i < sizeof names / sizeof names[0]; i++) {
        const size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) != 0) continue;
        if (host[n] == '\0') return 1;
        if (host[n] == ':' && strspn(host + n + 1, "0123456789") == strlen(host + n + 1)) return 1;
    }
    return host == NULL; /* HTTP 1.0 */
}

static int is_json(const char *type)
{
    const size_t n = strlen("application/json");
    return type != NULL && strncasecmp(type, "application/json", n) == 0 &&
           (type[n] == '\0' || type[n] == ';' || type[n] == ' ');
}

/* Called when the header has come, for each piece of the body, and at its end. */
static enum MHD_Result handle(void *context, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *bytes,
                              size_t *n_bytes, void **state)
{
    server *s = context;
    request *r = *state;
    (void)version;
    if (r == NULL) {
        *state = calloc(1, sizeof *r);
        return *state != NULL ? MHD_YES : MHD_NO;
    }
    if (*n_bytes > 0) {
        if (!take_body(r, bytes, *n_bytes)) return MHD_NO; /* closes the connection */
        *n_bytes = 0;
        return MHD_YES;
    }
    if (!is_own_host(MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host")))
        return refuse(c, MHD_HTTP_FORBIDDEN, "expected a name of this machine as Host");
    if (strcmp(url, "/figures") == 0 && strcmp(method, "GET") == 0) return answer_figures(s, c);
    if (strcmp(url, "/predict") != 0) return refuse(c, MHD_HTTP_NOT_FOUND, "expected /predict");
    if (strcmp(method, "POST") != 0)
        return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "expected a POST");
    if (!is_json(MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type")))
        return refuse(c, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                      "expected Content-Type: application/json");
    return answer_predict(s, c, r);
}

static void forget(void *context, struct MHD_Connection *c, void **state,
                   enum MHD_RequestTerminationCode why)
{
    request *r = *state;
    (void)context, (void)c, (void)why;
    if (r != NULL) free(r->body);
    free(r);
    *state = NULL;
}

static struct MHD_Daemon *start(server *s, unsigned port, unsigned n_threads)
{
    struct sockaddr_in here;
    memset(&here, 0, sizeof here);
    here.sin_family = AF_INET;
    here.sin_port = htons((uint16_t)port);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)port, NULL, NULL, handle, s,
                            MHD_OPTION_SOCK_ADDR, &here, MHD_OPTION_THREAD_POOL_SIZE, n_threads,
                            MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
                            MHD_OPTION_NOTIFY_COMPLETED, forget, NULL, MHD_OPTION_END);
}

static int serve(server *s, unsigned port, unsigned n_threads)
{
    sigset_t ends;
    int signal_number;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* also of the pool: this thread waits for them */
    struct MHD_Daemon *daemon = start(s, port, n_threads);
    if (daemon == NULL) {
        fprintf(stderr, "cannot listen on 127.0.0.1, port %u\n", port);
        return 1;
    }
    printf("http://127.0.0.1:%u/predict, %u threads\n",
           MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port, n_threads);
    fflush(stdout);
    sigwait(&ends, &signal_number);
    MHD_stop_daemon(daemon); /* its threads have ended when it returns */
    return 0;
}

int main(int argc, char **argv)
{
    static server s;
    const unsigned port = argc > 2 ? (unsigned)atoi(argv[2]) : 0; /* 0: any that is free */
    const unsigned n_threads = argc > 3 && atoi(argv[3]) > 1 ? (unsigned)atoi(argv[3]) : 2;
    if (argc < 2) {
        fprintf(stderr, "usage: predict_server MODEL [PORT [THREADS]]\n");
        return 2;
    }
    if (drove_predictor_open(argv[1], NULL, &s.predictor) != DROVE_OK) {
        fprintf(stderr, "%s\n", drove_error_text());
        return 1;
    }
    const int status = serve(&s, port, n_threads);
    drove_predictor_destroy(s.predictor);
    return status;
}
