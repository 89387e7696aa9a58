/* drove/report.h - what folders of runs and of sweeps hold, as a table, a page and pictures
 * (docs/use/report.md). */
#ifndef DROVE_REPORT_H
#define DROVE_REPORT_H

#include <drove/status.h>

#include <stddef.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* What to report on and where to; texts are borrowed.  NULL or "": not that. */
typedef struct drove_report_options {
    const char *const *folder;    /* [n_folders] of --out, or of drove sweep */
    size_t             n_folders; /* at least 1 */
    const char        *csv;       /* files to write, at least one of the four */
    const char        *html;      /* a page; without gnuplot in PATH it has no pictures */
    const char        *svg;       /* folders for a file of each figure; need gnuplot */
    const char        *pdf;       /* as svg */
    void (*message)(void *context, const char *line); /* what was left out; may be NULL */
    void *context;                                    /* first argument of message */
} drove_report_options;

/* Writes what runs have shown: as a table with a row for each evaluation of each run, as a page in
 * HTML, as a picture of each figure.  Only reads the folders, so it may be called while runs go on.
 * Each file appears whole or not at all.
 * Errors: DROVE_E_ARG (no folder, no file), DROVE_E_FILE (a folder without a run), DROVE_E_DATA (a
 * file that is no record of a run, or nothing to draw), DROVE_E_UNSUPPORTED (svg or pdf without
 * gnuplot, or one without PDF), DROVE_E_SYSTEM (gnuplot failed), DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove_report(const drove_report_options *options);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
