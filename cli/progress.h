/* cli/progress.h - what a person sees on stderr while a run goes on. */
#ifndef DROVE_CLI_PROGRESS_H
#define DROVE_CLI_PROGRESS_H

#include <drove/train.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_progress {
    bool is_quiet;          /* nothing but warnings                                             */
    bool is_terminal;       /* a bar; else lines of evaluations, at most one a second           */
    bool is_utf8;           /* the locale's character set: blocks instead of number signs       */
    bool is_begun;          /* the first evaluation is done, or a pack begun                    */
    void (*on_begin)(void); /* called then; NULL: nothing                                       */
    uint64_t drawn_ns;      /* when the bar was drawn last; 0 = it is not on the screen         */
    uint64_t printed_ns;    /* when the last line of an evaluation was printed; 0: none         */
    bool     holds_last;    /* ... and this one waits, unless a later one takes its place       */
    uint64_t printed_examples; /* of that line */
    double   printed_train_s;
    drove_progress last;
} cli_progress;

void cli_progress_init(cli_progress *progress, bool is_quiet);
/* Callbacks of a run; context: the cli_progress. */
drove_callbacks cli_progress_callbacks(cli_progress *progress);
/* Takes the bar off the screen. */
void cli_progress_clear(cli_progress *progress);
/* Something else is to be printed: the bar is taken off, or the line that still waits printed. */
void cli_progress_end(cli_progress *progress);
/* The same from a signal handler, for whichever bar is drawn. */
void cli_progress_clear_by_signal(void);

enum { CLI_FIELD_SIZE = 48, CLI_MOST_FIELDS = 8 };
/* Draws a bar of other work: fraction done, NaN: unknown, and fields, most important first.  Not
 * on a terminal, or quiet: nothing. */
void cli_progress_draw(cli_progress *progress, double fraction, char (*field)[CLI_FIELD_SIZE],
                       size_t n_fields);
/* "1:05", "12 s" */
void cli_progress_duration(double seconds, char into[CLI_FIELD_SIZE]);

/* The bar as text of at most n_columns columns into into[size]; progress->is_utf8 decides the
 * characters. */
void cli_progress_line(const cli_progress *progress, const drove_progress *p, int n_columns,
                       char *into, size_t size);

#endif
