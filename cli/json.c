/* cli/json.c - the little JSON that the program writes by itself, and text without control
 * characters. */
#include "cli.h"

#include <math.h>

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

void cli_json_real(double value, FILE *stream)
{
    if (isfinite(value)) fprintf(stream, "%.9g", value); /* as in the summary of a run */
    else fputs("null", stream);
}
