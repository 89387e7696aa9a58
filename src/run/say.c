/* run/say.c - see say.h. */
#include "run/say.h"

#include "base/print.h"

#include <stdarg.h>
#include <stdio.h>

static void say(const drove_output *output, const char *beginning, const char *format,
                va_list arguments)
{
    char line[DROVE_TEXT_SIZE], plain[DROVE_TEXT_SIZE];
    if (output->cb.message == NULL || output->is_silent) return;
    const int n = snprintf(line, sizeof line, "%s", beginning);
    vsnprintf(line + n, sizeof line - (size_t)n, format, arguments);
    output->cb.message(output->cb.context, drove__print_plain(line, plain, sizeof plain));
}

void drove__run_say(const drove_output *output, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(output, "", format, arguments);
    va_end(arguments);
}

void drove__run_warn(const drove_output *output, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(output, "warning: ", format, arguments);
    va_end(arguments);
}
