/* study/page/page.h - runs as one HTML page: pictures as SVG, tables, commands; nothing outside. */
#ifndef DROVE_STUDY_PAGE_PAGE_H
#define DROVE_STUDY_PAGE_PAGE_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>

/* Writes the page of runs (drove__runs_read) to a file, which appears whole or not at all.  Without
 * gnuplot it has the tables alone; that and failures of gnuplot are said to message, which may be
 * NULL.  Errors: DROVE_E_FILE, DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__page_write(const json_t *runs, const char                         *path,
                               void (*message)(void *context, const char *line), void *context);
/* The same as a text of malloc, which the caller frees.  is_live: it fetches itself anew. */
drove_status drove__page_text(const json_t *runs, bool                                is_live,
                              void (*message)(void *context, const char *line), void *context,
                              char **out, size_t *n_bytes);
/* A file of each figure, ID.svg or ID.pdf, in a folder, which is made if it is not there.  Errors:
 * DROVE_E_UNSUPPORTED (no gnuplot, or one without PDF), DROVE_E_DATA (nothing to draw),
 * DROVE_E_SYSTEM, DROVE_E_FILE, DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__page_figures(const json_t *runs, bool is_pdf, const char *folder);

/* ---- style.c ---- */

extern const char *const drove__page_style;
extern const char *const drove__page_script; /* fetches the page anew, and keeps the place in it */

#endif
