/* values/say.c - see say.h. */
#include "values/say.h"

#include "base/print.h"

#include <drove/options.h>

#include <stdarg.h>
#include <stdio.h>

static void say(const drove_callbacks *cb, const char *beginning, const char *format,
                va_list arguments)
{
    char line[DROVE_TEXT_SIZE], plain[DROVE_TEXT_SIZE];
    if (cb->message == NULL) return;
    const int n = snprintf(line, sizeof line, "%s", beginning);
    vsnprintf(line + n, sizeof line - (size_t)n, format, arguments);
    cb->message(cb->context, drove__print_plain(line, plain, sizeof plain));
}

void drove__run_say(const drove_callbacks *cb, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(cb, "", format, arguments);
    va_end(arguments);
}

void drove__run_warn(const drove_callbacks *cb, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(cb, "warning: ", format, arguments);
    va_end(arguments);
}
