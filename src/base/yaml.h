/* base/yaml.h - YAML read as a sequence of items, each with its line and column.
 *
 * No tree is built: a reader refuses the first item that does not belong there, however deep the
 * text nests.  Tags and anchors have no use here; an alias is an item that no reader accepts.
 */
#ifndef DROVE_BASE_YAML_H
#define DROVE_BASE_YAML_H

#include "base/status.h"

#include <stddef.h>

typedef enum drove_yaml_kind {
    DROVE_YAML_VALUE, /* a scalar */
    DROVE_YAML_MAPPING,
    DROVE_YAML_MAPPING_END,
    DROVE_YAML_LIST,
    DROVE_YAML_LIST_END,
    DROVE_YAML_ALIAS,
    DROVE_YAML_DOCUMENT,
    DROVE_YAML_DOCUMENT_END,
    DROVE_YAML_END, /* of the text */
    DROVE_YAML_OTHER
} drove_yaml_kind;

typedef struct drove_yaml_item {
    drove_yaml_kind kind;
    int             line, column; /* from 1 */
    /* text of a value, valid until the next item; "" for a plain ~ or null and for no text */
    const char *text;
} drove_yaml_item;

typedef struct drove_yaml drove_yaml;

/* text[size_bytes] and path are borrowed until close.  bad: status of an error in the text;
 * content: describes the text's lines in errors ("option: value").  Errors: bad ("path:line:column:
 * ..."), DROVE_E_NOMEM. */
drove_status drove__yaml_open(const char *text, size_t size_bytes, const char *path,
                              drove_status bad, const char *content, drove_yaml **out);
void         drove__yaml_close(drove_yaml *y); /* NULL accepted */

/* Errors: bad, DROVE_E_NOMEM. */
drove_status drove__yaml_next(drove_yaml *y, drove_yaml_item *out);
/* The next item, which must be of this kind. */
drove_status drove__yaml_expect(drove_yaml *y, drove_yaml_kind kind, const char *expected,
                                drove_yaml_item *out);
/* Enters the mapping that is the whole content.  *is_empty: there is none. */
drove_status drove__yaml_begin(drove_yaml *y, const char *expected, int *is_empty);
/* After that mapping: checks that nothing else follows. */
drove_status drove__yaml_finish(drove_yaml *y);

/* "path:line:column: expected EXPECTED, found a list" and the like. */
drove_status drove__yaml_unexpected(const drove_yaml *y, const drove_yaml_item *item,
                                    const char *expected);
/* "path:line:column: ..." */
drove_status drove__yaml_fail(const drove_yaml *y, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
