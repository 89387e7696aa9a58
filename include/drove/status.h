/* drove/status.h - how every function of the library reports failure.
 *
 * A function that can fail returns a drove_status; its results go to its last pointer arguments
 * and are untouched (objects: NULL) when the status is not DROVE_OK.  The library never prints,
 * exits or aborts on input; but a build with assertions aborts, with one line, where a handle is
 * used after it was destroyed.  NULL for what a function needs is DROVE_E_ARG with the argument's
 * name, and gives NULL or 0 where no status is returned.  An error text is one line that says what
 * failed, where, what was expected and what was found.
 */
#ifndef DROVE_STATUS_H
#define DROVE_STATUS_H

#include <stddef.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* Result of a function that can fail. */
typedef enum drove_status {
    DROVE_OK = 0,        /* it was done */
    DROVE_E_ARG,         /* invalid option, name or argument */
    DROVE_E_SHAPE,       /* two objects do not fit together (data and model ...) */
    DROVE_E_DATA,        /* the content of a file violates its format */
    DROVE_E_FILE,        /* a named file or folder cannot be opened or created */
    DROVE_E_IO,          /* reading or writing an open file failed */
    DROVE_E_NOMEM,       /* not enough memory */
    DROVE_E_NONFINITE,   /* a number became infinite or not-a-number */
    DROVE_E_EXISTS,      /* would overwrite existing output */
    DROVE_E_UNSUPPORTED, /* valid, but impossible in this build or on this machine */
    DROVE_E_SYSTEM       /* a system call failed (threads, clocks ...) */
} drove_status;

/* "DROVE_E_DATA" and so on; never NULL. */
const char *drove_status_name(drove_status status);

/* One line about the calling thread's most recent failure of a drove function; "" before the first
 * one.  The library owns the text; it is valid until the next failure in the same thread. */
const char *drove_error_text(void);

/* Copies text from a file for people to read, into[size]: control characters, bytes that are no
 * UTF-8 and what turns around the text beside it become \xNN and \uNNNN.  Cut to size - 1 bytes;
 * returns into. */
char *drove_plain_text(const char *text, char *into, size_t size);

/* The program's exit status for this error: 0 for DROVE_OK, 2 for a bad option, file or
 * configuration (ARG, SHAPE, DATA, FILE, EXISTS, UNSUPPORTED), 3 for NONFINITE, 1 for the rest. */
int drove_status_exit(drove_status status);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
