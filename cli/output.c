/* cli/output.c - what the program says: errors, text without control characters, and the little
 * JSON that it writes by itself. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = 8000 };

/* ---- errors ---- */

int cli_error(int status, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "drove: %s\n", line); /* at once: other ranks and launchers write, too */
    return status;
}

bool cli_reader_has_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int cli_output_error(void)
{
    static bool is_said;
    if (cli_reader_has_gone()) return CLI_OK;
    if (!is_said) {
        cli_error(CLI_FAILED, "standard output: %s",
                  errno != 0 ? strerror(errno) : "cannot be written");
    }
    is_said = true;
    return CLI_FAILED;
}

int cli_exit_status(drove_status status)
{
    if (status == DROVE_OK) return CLI_OK;
    if (status == DROVE_E_IO && ferror(stdout)) return cli_output_error();
    if (drove_error_text()[0] == '\0') return drove_status_exit(status); /* another rank says it */
    return cli_error(drove_status_exit(status), "%s", drove_error_text());
}

/* ---- text ---- */

void cli_json_string(const char *text, FILE *stream)
{
    fputc('"', stream);
    for (const char *c = text; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\') fprintf(stream, "\\%c", byte);
        else if (byte < 0x20) fprintf(stream, "\\u%04x", byte);
        else fputc(byte, stream);
    }
    fputc('"', stream);
}

void cli_print_plain(const char *text, FILE *stream)
{
    for (const char *c = text; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c, next = (unsigned char)c[1];
        bool is_control = (byte < 0x20 && byte != '\n') || byte == 0x7f;
        if (byte == 0xc2 && next >= 0x80 && next < 0xa0) { /* U+0080 to U+009F */
            is_control = true;
            byte = next;
            c++;
        }
        if (is_control) fprintf(stream, "\\x%02x", byte);
        else fputc(byte, stream);
    }
}

void cli_print_line(void *stream, const char *text)
{
    cli_print_plain(text, stream);
    fputc('\n', stream);
    if (stream == stdout) fflush(stdout);
}

void cli_json_real(double value, FILE *stream)
{
    if (isfinite(value)) fprintf(stream, "%.9g", value); /* as in the summary of a run */
    else fputs("null", stream);
}
