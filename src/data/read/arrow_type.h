/* data/read/arrow_type.h - types of columns in the Arrow C data interface. */
#ifndef DROVE_DATA_READ_ARROW_TYPE_H
#define DROVE_DATA_READ_ARROW_TYPE_H

#include <drove/arrow.h>

#include "table/frame.h"

typedef enum drove_arrow_kind {
    DROVE_ARROW_NULL,
    DROVE_ARROW_BOOL,
    DROVE_ARROW_INTEGER,
    DROVE_ARROW_FLOAT,
    DROVE_ARROW_DECIMAL,
    DROVE_ARROW_SECONDS, /* a time of day or a duration */
    DROVE_ARROW_DATE,
    DROVE_ARROW_TEXT, /* offsets into bytes */
    DROVE_ARROW_VIEW  /* utf8_view */
} drove_arrow_kind;

typedef struct drove_arrow_type {
    drove_arrow_kind kind;
    unsigned         n_bytes; /* of a value; of TEXT: of an offset; of NULL and BOOL: 0 */
    bool             is_unsigned;
    int64_t          per_day, per_second; /* units, of DATE and of SECONDS */
    int              scale;               /* DECIMAL: digits behind the point */
} drove_arrow_type;

typedef struct drove_arrow_field { /* a column of a schema */
    char            *name;         /* malloc */
    drove_arrow_type type;         /* of a dictionary its indices */
    bool             is_dictionary;
    drove_arrow_type value; /* of a dictionary */
} drove_arrow_field;

/* Column i of a schema; the caller frees out->name even after a failure.  Errors: DROVE_E_DATA
 * (against the specification), DROVE_E_UNSUPPORTED (a type that no table has), DROVE_E_NOMEM. */
drove_status drove__arrow_field(const struct ArrowSchema *schema, size_t i, drove_arrow_field *out);

drove_frame_type drove__arrow_frame_type(const drove_arrow_type *type);
/* Whether its numbers are doubles, or more than floats hold. */
bool drove__arrow_is_wide(const drove_arrow_type *type);

#endif
