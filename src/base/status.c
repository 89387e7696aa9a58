/* base/status.c - error texts, one per thread.
 *
 * A text is always one line: control characters, which may come from a broken input file, become
 * '?'.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strerror_r that returns the text */
#endif
#include "base/status.h"

#include "base/locale.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char error_text[DROVE_ERROR_TEXT_SIZE];

const char *drove_status_name(drove_status status)
{
    switch (status) {
    case DROVE_OK: return "DROVE_OK";
    case DROVE_E_ARG: return "DROVE_E_ARG";
    case DROVE_E_SHAPE: return "DROVE_E_SHAPE";
    case DROVE_E_DATA: return "DROVE_E_DATA";
    case DROVE_E_FILE: return "DROVE_E_FILE";
    case DROVE_E_IO: return "DROVE_E_IO";
    case DROVE_E_NOMEM: return "DROVE_E_NOMEM";
    case DROVE_E_NONFINITE: return "DROVE_E_NONFINITE";
    case DROVE_E_EXISTS: return "DROVE_E_EXISTS";
    case DROVE_E_UNSUPPORTED: return "DROVE_E_UNSUPPORTED";
    case DROVE_E_SYSTEM: return "DROVE_E_SYSTEM";
    }
    return "DROVE_E_UNKNOWN";
}

const char *drove_error_text(void)
{
    return error_text;
}

int drove_status_exit(drove_status status)
{
    switch (status) {
    case DROVE_OK: return 0;
    case DROVE_E_ARG:
    case DROVE_E_SHAPE:
    case DROVE_E_DATA:
    case DROVE_E_FILE:
    case DROVE_E_EXISTS:
    case DROVE_E_UNSUPPORTED: return 2;
    case DROVE_E_NONFINITE: return 3;
    case DROVE_E_IO:
    case DROVE_E_NOMEM:
    case DROVE_E_SYSTEM: return 1;
    }
    return 1;
}

drove_status drove__fail(drove_status status, const char *format, ...)
{
    DROVE_IN_C_LOCALE;
    char text[DROVE_ERROR_TEXT_SIZE]; /* a copy: an argument may point into the text that goes */
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0)
        strcpy(text, "error text could not be formatted");
    va_end(arguments);
    for (char *c = text; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c, next = (unsigned char)c[1];
        if (byte < 0x20 || byte == 0x7f) *c = '?';
        if (byte == 0xc2 && next >= 0x80 && next < 0xa0) *c = c[1] = '?'; /* U+0080 to U+009F */
    }
    memcpy(error_text, text, strlen(text) + 1);
    return status;
}

drove_status drove__fail_in(drove_status status, const char *format, ...)
{
    DROVE_IN_C_LOCALE;
    char context[DROVE_ERROR_TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
    if (n < 0) context[0] = '\0';
    /* Cuts a long context: the end of the text says what was found. */
    return drove__fail(status, "%.*s: %s", DROVE_ERROR_TEXT_SIZE / 2, context, error_text);
}

drove_status drove__open_status(int error_number)
{
    switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case ENAMETOOLONG: return DROVE_E_FILE;
    default: return DROVE_E_IO;
    }
}

drove_status drove__fail_nomem(const char *what, size_t size_bytes)
{
    if (size_bytes == 0) return drove__fail(DROVE_E_NOMEM, "%s: not enough memory", what);
    return drove__fail(DROVE_E_NOMEM, "%s: not enough memory for %zu bytes", what, size_bytes);
}

drove_status drove__fail_errno(drove_status status, int error, const char *format, ...)
{
    DROVE_IN_C_LOCALE;
    char what[DROVE_ERROR_TEXT_SIZE];
    char reason[128];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (n < 0) what[0] = '\0';
    const char *text = strerror_r(error, reason, sizeof reason);
    /* Of a thread or a process, the system's text does not say of what there is too little. */
    if (error == EAGAIN && status == DROVE_E_SYSTEM) text = "no memory for it, or too many threads";
    return drove__fail(status, "%.*s: %s", DROVE_ERROR_TEXT_SIZE - (int)sizeof reason, what, text);
}

void drove__error_copy(char into[DROVE_ERROR_TEXT_SIZE])
{
    memcpy(into, error_text, DROVE_ERROR_TEXT_SIZE);
}
