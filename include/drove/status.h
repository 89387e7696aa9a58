/* drove/status.h - how every function of the library reports failure.
 *
 * A function that can fail returns a drove_status; its results go to its last pointer arguments
 * and are untouched (objects: NULL) when the status is not DROVE_OK.  The library never prints,
 * exits or aborts on input. The text of an error is one line that says what, where, what was
 * expected and what was found.
 */
#ifndef DROVE_STATUS_H
#define DROVE_STATUS_H

#pragma GCC visibility push(default) /* what a shared library exports */
#ifdef __cplusplus
extern "C" {
#endif

typedef enum drove_status {
    DROVE_OK = 0,
    DROVE_E_ARG,         /* an option, a name or an argument is not acceptable */
    DROVE_E_SHAPE,       /* two things that must fit together do not (data and model ...) */
    DROVE_E_DATA,        /* the content of a file is not what its format demands */
    DROVE_E_FILE,        /* a file or folder that was named cannot be opened or made */
    DROVE_E_IO,          /* the operating system refused to read or write what was open */
    DROVE_E_NOMEM,       /* not enough memory */
    DROVE_E_NONFINITE,   /* a number became infinite or not-a-number */
    DROVE_E_EXISTS,      /* would overwrite what must not be overwritten */
    DROVE_E_UNSUPPORTED, /* legal, but this build or machine cannot do it */
    DROVE_E_SYSTEM       /* a call of the operating system failed (threads, clocks ...) */
} drove_status;

/* "DROVE_E_DATA" and so on; never NULL. */
const char *drove_status_name(drove_status status);

/* One line about the most recent failure of a drove function in the calling thread; "" before the
 * first one. The text belongs to the library and is valid until the next failure in the same
 * thread. */
const char *drove_error_text(void);

/* The exit status with which the program ends for this error: 0 for DROVE_OK, 2 for a bad option,
 * file or configuration (ARG, SHAPE, DATA, FILE, EXISTS, UNSUPPORTED), 3 for NONFINITE, 1 for the
 * rest. */
int drove_status_exit(drove_status status);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
