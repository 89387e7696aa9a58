/* data/glyphs.h - the digits 0 to 9 as strokes, several variants of each. */
#ifndef DROVE_DATA_GLYPHS_H
#define DROVE_DATA_GLYPHS_H

#include <stdbool.h>
#include <stdint.h>

enum { DROVE_STROKES_MOST = 3, DROVE_STROKE_POINTS_MOST = 13 };

/* Points in a box of 100 x 100, x to the right, y down. */
typedef struct drove_stroke {
    bool    curved; /* a smooth curve through the points; else straight lines between them */
    uint8_t n_points;
    uint8_t point[DROVE_STROKE_POINTS_MOST][2];
} drove_stroke;

typedef struct drove_glyph {
    uint8_t      digit;
    uint8_t      n_strokes;
    drove_stroke stroke[DROVE_STROKES_MOST];
} drove_glyph;

typedef struct drove_glyph_range { /* the glyphs of one digit: glyph[first .. first + n - 1] */
    uint8_t first, n;
} drove_glyph_range;

extern const drove_glyph       drove__glyphs[];
extern const drove_glyph_range drove__glyph_ranges[10];

#endif
