/* base/status.h - raising and forwarding errors inside the library.
 *
 * Threads: the text is thread-local; a status that crosses threads carries its text by
 * drove__error_copy.
 */
#ifndef DROVE_BASE_STATUS_H
#define DROVE_BASE_STATUS_H

#include <drove/status.h>

#include <stddef.h>

#define DROVE_ERROR_TEXT_SIZE 1024 /* bytes, with the final NUL */

/* Forward a failure where nothing is held. */
#define DROVE_TRY(call)                                                                            \
    do {                                                                                           \
        drove_status drove_try_status_ = (call);                                                   \
        if (drove_try_status_ != DROVE_OK) return drove_try_status_;                               \
    } while (0)

/* Sets the calling thread's error text and returns `status`, so that `return drove__fail(...)`
 * reads well. */
drove_status drove__fail(drove_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the current text (to add a file name or an option) and returns `status`.
 * */
drove_status drove__fail_in(drove_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For a failed open, creation or first read: DROVE_E_FILE if the name or its permissions are wrong,
 * DROVE_E_IO if the system failed (a full disk, too many open files). */
drove_status drove__open_status(int error_number);

/* DROVE_E_NOMEM with "what: not enough memory for size_bytes bytes" in the text; 0: the
 * size is not known. */
drove_status drove__fail_nomem(const char *what, size_t size_bytes);

/* As drove__fail, with ": REASON" after the text: the system's text for this errno, but for EAGAIN
 * with DROVE_E_SYSTEM, which is of a thread or a process that does not start. */
drove_status drove__fail_errno(drove_status status, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies the calling thread's text, so that another thread can raise it again with
 * drove__fail(status, "%s", text). */
void drove__error_copy(char into[DROVE_ERROR_TEXT_SIZE]);

#endif
