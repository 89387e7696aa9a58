/* study/page/html.h - text, numbers and tables in HTML.
 *
 * All that comes from files goes through drove__html_text: no name of a run, a column or a class
 * becomes a part of the page's structure.
 */
#ifndef DROVE_STUDY_PAGE_HTML_H
#define DROVE_STUDY_PAGE_HTML_H

#include "base/status.h"

#include <jansson.h>
#include <stdio.h>

/* Writes a file, which appears whole or not at all.  Errors: DROVE_E_FILE, DROVE_E_IO. */
drove_status drove__page_save(const char *path, const void *bytes, size_t n_bytes);
/* Escaped for text and for attributes in double quotes; control characters as "?". */
void drove__html_text(const char *text, FILE *stream);
/* Four digits; a dash where it is NaN, the sign of infinity where it is infinite. */
void drove__html_number(double value, FILE *stream);
/* A cell of a table: a number, or a text. */
void drove__html_cell(double value, FILE *stream);
void drove__html_text_cell(const char *text, FILE *stream);
/* A heading cell of a row or a column; scope is "row" or "col". */
void drove__html_head_cell(const char *text, const char *scope, FILE *stream);
/* Begins a table, which the end of the div ends; caption NULL: none.  Both are ours. */
void drove__html_table(const char *label, const char *caption, FILE *stream);
/* The heading cells of its columns; then its rows follow. */
void drove__html_heads(const char *const *heads, size_t n, FILE *stream);
/* Begins a row, with its heading cell. */
void drove__html_row(const char *name, FILE *stream);
/* Copies a text in UTF-8 that may be too long: cut between two characters, with dots. */
void drove__html_copy(char *into, size_t size, const char *text);
/* A number of a JSON object; NaN: it has none. */
double drove__html_get(const json_t *object, const char *key);
/* A text of a JSON object; "": it has none. */
const char *drove__html_word(const json_t *object, const char *key);

#endif
