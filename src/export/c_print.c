/* export/c_print.c - comments, numbers and arrays of them as C. */
#include "export/c_source.h"

#include "base/print.h"

#include <math.h>
#include <string.h>

void drove__c_comment(FILE *to, const char *text)
{
    char plain[1024];
    drove__print_plain(text, plain, sizeof plain);
    for (const char *c = plain; *c != '\0'; c++) {
        putc(*c, to);
        if ((*c == '*' && c[1] == '/') || (*c == '/' && c[1] == '*')) putc(' ', to);
    }
}

void drove__c_float(FILE *to, float value)
{
    char digits[32];
    if (isinf(value)) {
        fputs(value < 0.0f ? "-INFINITY" : "INFINITY", to);
        return;
    }
    snprintf(digits, sizeof digits, "%.9g", (double)value);
    fprintf(to, "%s%sf", digits, strpbrk(digits, ".e") != NULL ? "" : ".0");
}

void drove__c_floats(FILE *to, const char *name, const float *value, size_t n)
{
    enum { A_LINE = 6 };
    fprintf(to, "static const float %s[%zu] = {", name, n);
    for (size_t i = 0; i < n; i++) {
        float v = fpclassify(value[i]) == FP_SUBNORMAL ? 0.0f : value[i];
        fprintf(to, "%s%af,", i % A_LINE == 0 ? "\n    " : " ", (double)v);
    }
    fputs("\n};\n", to);
}

void drove__c_doubles(FILE *to, const char *name, const double *value, size_t n)
{
    enum { A_LINE = 4 };
    fprintf(to, "static const double %s[%zu] = {", name, n);
    for (size_t i = 0; i < n; i++) fprintf(to, "%s%a,", i % A_LINE == 0 ? "\n    " : " ", value[i]);
    fputs("\n};\n", to);
}
