/* table/rewriting.h - a text that grows, as one text is rewritten as another. */
#ifndef DROVE_TABLE_REWRITING_H
#define DROVE_TABLE_REWRITING_H

#include "base/status.h"
#include "table/text.h"

/* A text that grows.  Where memory ends, or the text becomes much larger than what it is made from,
 * `failure` says so and nothing more is added. */
typedef struct drove_rewriting {
    const char  *path; /* for messages */
    char        *text; /* [n], malloc */
    size_t       n, capacity, most;
    drove_status failure;
} drove_rewriting;

void drove__rewrite_init(drove_rewriting *to, const char *path, const drove_content *from);
void drove__rewrite_add(drove_rewriting *to, const char *text, size_t n);
/* The same as a quoted cell, with "" for each quote. */
void drove__rewrite_add_quoted(drove_rewriting *to, const char *text, size_t n);
/* Makes the new text that of *content, and frees it.  status: of what made it.  Returns that, or
 * the failure. */
drove_status drove__rewrite_finish(drove_rewriting *to, drove_status status,
                                   drove_content *content);

#endif
