/* study/page/svg.c - see gnuplot.h. */
#include "study/page/gnuplot.h"

#include "study/page/script.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* "rgb(  1,   0,  17)" as a variable of the style; 0: it is no colour of ours. */
static size_t replace_colour(const char *at, FILE *stream)
{
    long part[3];
    const char *from = at + 4;
    for (int i = 0; i < 3; i++) {
        char *end;
        part[i] = strtol(from, &end, 10);
        if (end == from || *end != (i < 2 ? ',' : ')')) return 0;
        from = end + 1;
    }
    if (part[0] != 1 || part[1] != 0) return 0;
    if (part[2] == DROVE_ROLE_TEXT) fputs("var(--text)", stream);
    else if (part[2] == DROVE_ROLE_GRID) fputs("var(--grid)", stream);
    else fprintf(stream, "var(--s%ld)", part[2] - DROVE_ROLE_SERIES);
    return (size_t)(from - at);
}

static bool begins(const char *at, const char *word)
{
    return strncmp(at, word, strlen(word)) == 0;
}

/* Copies the word at `at`, or its replacement; returns how much of the text that was. */
static size_t copy_one(const char *at, FILE *stream)
{
    static const char *const dropped[] = {" font-family=\"sans\"", " font-size=\"13.00\"",
                                          " stroke-linecap=\"butt\"", " stroke-linejoin=\"miter\"",
                                          " shape-rendering='crispEdges'"};
    size_t n = begins(at, "rgb(") ? replace_colour(at, stream) : 0;
    if (n > 0) return n;
    if (begins(at, "xlink:href")) {
        fputs("href", stream);
        return strlen("xlink:href");
    }
    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
        if (begins(at, dropped[i])) return strlen(dropped[i]);
    if (isspace((unsigned char)*at)) {
        while (isspace((unsigned char)at[n])) n++;
        fputc(' ', stream);
        return n;
    }
    fputc(*at, stream);
    return 1;
}

/* A group without anything in it; 0: it is none. */
static size_t empty_group(const char *at)
{
    const char *end = begins(at, "<g fill=\"none\"") ? strchr(at, '>') : NULL;
    if (end == NULL) return 0;
    for (end++; isspace((unsigned char)*end); end++) {}
    return begins(end, "</g>") ? (size_t)(end - at) + 4 : 0;
}

void drove__svg_markers(const char *svg, FILE *stream)
{
    const char *at = strstr(svg, "<defs>"), *stop = strstr(svg, "<filter");
    if (at == NULL || stop == NULL || stop < at) return;
    while (at < stop) at += copy_one(at, stream);
    fputs("</defs>", stream);
}

void drove__svg_picture(const char *svg, const drove_plot *plot, FILE *stream)
{
    const char *at = strstr(svg, "</defs>");
    const char *stop = svg + strlen(svg);
    if (at == NULL) return;
    while (stop > at && !begins(stop, "</g>\n</svg>")) stop--;
    at += strlen("</defs>");
    while (at < stop) {
        size_t n = empty_group(at);
        /* An element of a drawing begins: <g id="gnuplot_plot_1" ><title>...</title>. */
        static const char element[] = "<g id=\"gnuplot_plot_";
        if (n == 0 && begins(at, element)) {
            const long number = strtol(at + sizeof element - 1, NULL, 10);
            const char *title_end = strstr(at, "</title>");
            if (title_end != NULL && number >= 1) {
                fprintf(stream, "<g class=\"s%zu\">",
                        drove__script_element(plot, (size_t)number - 1));
                n = (size_t)(title_end - at) + strlen("</title>");
            }
        }
        if (n == 0) n = copy_one(at, stream);
        at += n;
    }
}
