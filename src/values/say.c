/* values/say.c - see say.h. */
#include "values/say.h"

#include "base/print.h"

#include <stdarg.h>
#include <stdio.h>

static void say(const drove_config *config, const char *beginning, const char *format,
                va_list arguments)
{
    char line[DROVE_TEXT_SIZE], plain[DROVE_TEXT_SIZE];
    if (config->cb.message == NULL || config->is_silent) return;
    const int n = snprintf(line, sizeof line, "%s", beginning);
    vsnprintf(line + n, sizeof line - (size_t)n, format, arguments);
    config->cb.message(config->cb.context, drove__print_plain(line, plain, sizeof plain));
}

void drove__run_say(const drove_config *config, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(config, "", format, arguments);
    va_end(arguments);
}

void drove__run_warn(const drove_config *config, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(config, "warning: ", format, arguments);
    va_end(arguments);
}
