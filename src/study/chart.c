/* study/chart.c - see chart.h. */
#include "study/chart.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    LABEL = 9,
    RATIO = 10
}; /* columns of a label; from which ratio on the axis is logarithmic */

typedef struct canvas {
    uint8_t *dot; /* [high][wide] */
    size_t wide, high;
    double x_least, x_most, y_least, y_most; /* y: of the axis, as logarithms where is_log */
    bool is_log;
} canvas;

static size_t place(double value, double least, double most, size_t n)
{
    if (!(most > least)) return n / 2;
    const double part = (value - least) / (most - least);
    return (size_t)(fmin(fmax(part, 0.0), 1.0) * (double)(n - 1) + 0.5);
}

/* Dots from (x, y) to the right, up to (x2, y2). */
static void draw_line(canvas *v, size_t x, size_t y, size_t x2, size_t y2)
{
    const double width = x2 > x ? (double)(x2 - x) : 1.0;
    size_t before = y;
    for (size_t k = x; k <= x2; k++) {
        const double part = x2 > x ? (double)(k - x) / width : 1.0;
        const size_t row = (size_t)((double)y + part * ((double)y2 - (double)y) + 0.5);
        for (size_t r = before < row ? before : row; r <= (before > row ? before : row); r++)
            v->dot[r * v->wide + k] = 1;
        before = row;
    }
}

/* U+2800 has eight dots: left column 1 2 3 7, right column 4 5 6 8, from the top. */
static void print_braille(const canvas *v, size_t row, size_t column, FILE *stream)
{
    static const uint8_t bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    unsigned mask = 0;
    for (size_t r = 0; r < 4; r++)
        for (size_t k = 0; k < 2; k++)
            if (v->dot[(4 * row + r) * v->wide + 2 * column + k]) mask |= bit[r][k];
    if (mask == 0) fputc(' ', stream);
    else fprintf(stream, "\xe2%c%c", (int)(0xa0 | mask >> 6), (int)(0x80 | (mask & 0x3f)));
}

static void print_rows(const drove_chart *c, const canvas *v, FILE *stream)
{
    const size_t rows = c->rows - 1, columns = c->columns - LABEL - 1;
    for (size_t row = 0; row < rows; row++) {
        const double part = 1.0 - (double)row / (double)(rows - 1);
        const double y = v->y_least + part * (v->y_most - v->y_least);
        const bool has_label = row == 0 || row == rows - 1 || row == rows / 2;
        /* A label is never wider than its columns: a line that wraps would spoil the picture. */
        char label[32] = "";
        for (int digits = has_label ? 4 : 0; digits > 0; digits--)
            if (snprintf(label, sizeof label, "%.*g", digits, v->is_log ? exp(y) : y) < LABEL)
                break;
        fprintf(stream, "%*s ", LABEL - 1, label);
        fputc('|', stream);
        for (size_t k = 0; k < columns; k++) {
            if (c->is_ascii) fputc(v->dot[row * v->wide + k] ? '*' : ' ', stream);
            else print_braille(v, row, k, stream);
        }
        fputc('\n', stream);
    }
    char least[32], most[64];
    snprintf(least, sizeof least, "%.4g", v->x_least);
    snprintf(most, sizeof most, "%.4g %.40s", v->x_most, c->x_name);
    fprintf(stream, "%*s%-*s%s\n", LABEL + 1, "", (int)(columns - strlen(most)), least, most);
}

drove_status drove__chart_print(const drove_chart *c, FILE *stream, size_t *n_lines)
{
    canvas v = {.wide = c->columns - LABEL - 1, .high = c->rows - 1};
    *n_lines = 1;

    /* the ranges of what is finite */
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (!isfinite(c->x[i]) || !isfinite(c->y[i])) continue;
        v.x_least = n > 0 ? fmin(v.x_least, c->x[i]) : c->x[i];
        v.x_most = n > 0 ? fmax(v.x_most, c->x[i]) : c->x[i];
        v.y_least = n > 0 ? fmin(v.y_least, c->y[i]) : c->y[i];
        v.y_most = n > 0 ? fmax(v.y_most, c->y[i]) : c->y[i];
        n++;
    }
    v.is_log = n > 0 && v.y_least > 0.0 && v.y_most > RATIO * v.y_least;
    if (v.is_log) {
        v.y_least = log(v.y_least);
        v.y_most = log(v.y_most);
    }
    if (n == 0) {
        fputs("  (no loss yet that is a number)\n", stream);
        return DROVE_OK;
    }
    if (!c->is_ascii) {
        v.wide *= 2;
        v.high *= 4;
    }
    v.dot = drove__alloc(v.wide * v.high, 1);
    if (v.dot == NULL) return drove__fail_nomem("chart", v.wide * v.high);

    /* a line through all points, in their order */
    bool has_last = false;
    size_t x_last = 0, y_last = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (!isfinite(c->x[i]) || !isfinite(c->y[i])) continue;
        const double height = v.is_log ? log(c->y[i]) : c->y[i];
        const size_t x = place(c->x[i], v.x_least, v.x_most, v.wide);
        const size_t y = v.high - 1 - place(height, v.y_least, v.y_most, v.high);
        if (has_last && x >= x_last) draw_line(&v, x_last, y_last, x, y);
        v.dot[y * v.wide + x] = 1;
        x_last = x;
        y_last = y;
        has_last = true;
    }
    print_rows(c, &v, stream);
    drove__free(v.dot);
    *n_lines = c->rows;
    return DROVE_OK;
}
