/* cli/json.c - the little JSON that the program writes by itself. */
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

void cli_json_real(double value, FILE *stream)
{
    if (isfinite(value)) fprintf(stream, "%.9g", value); /* as in the summary of a run */
    else fputs("null", stream);
}
