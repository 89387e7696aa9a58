/* drove/watch.h - runs and sweeps while they go on, as text and as a page (docs/use/watch.md).  All
 * of it only reads their folders. */
#ifndef DROVE_WATCH_H
#define DROVE_WATCH_H

#include <drove/status.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* How the text looks. */
typedef struct drove_watch_style {
    unsigned columns;  /* no line is wider; at least 40 */
    int      is_ascii; /* 1 = the curve is of stars; 0 = of Braille characters in UTF-8 */
    int      is_lines; /* 1 = a line for what is new; 0 = the whole, to be drawn over the last */
} drove_watch_style;

/* What has been shown; zeroed to begin with. */
typedef struct drove_watch_state {
    size_t n_seen;    /* evaluations of a run, or results of a sweep */
    size_t n_lines;   /* that the last call printed */
    int    is_over;   /* the run or the sweep has ended */
    int    was_alive; /* a process has been seen that owns the folder */
} drove_watch_state;

/* Prints how the run or the sweep in a folder stands: curve of the loss, rate, time left, best so
 * far.  Control characters in names are printed as "?".
 * Errors: DROVE_E_FILE (no run in the folder), DROVE_E_DATA, DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove_watch_print(const char *folder, const drove_watch_style *style,
                               drove_watch_state *state, FILE *stream);

/* A server of the page of drove_report; texts are borrowed. */
typedef struct drove_watch_server {
    const char *const *folder;    /* [n_folders] of --out, or of drove sweep */
    size_t             n_folders; /* at least 1 */
    const char        *address;   /* numeric, to bind to; NULL: 127.0.0.1 */
    uint16_t           port;      /* 0 = any that is free */
    /* The address of the page, once it is served; may be NULL. */
    void (*message)(void *context, const char *line);
    int (*is_stopped)(void *context); /* asked several times a second */
    void *context;                    /* first argument of both */
} drove_watch_server;

/* Serves the page to browsers by HTTP until is_stopped says so: GET and HEAD of "/" alone, on the
 * calling thread; it is made anew when files of the folders have changed.  On a loopback address
 * only requests to a name of this machine are answered.
 * Errors: DROVE_E_ARG (address), DROVE_E_UNSUPPORTED (a build without libmicrohttpd),
 * DROVE_E_EXISTS (the port is in use), DROVE_E_FILE, DROVE_E_SYSTEM, DROVE_E_NOMEM. */
drove_status drove_watch_serve(const drove_watch_server *server);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
