/* data/columns.c - the columns of a table, for programs. */
#include "data/data.h"

#include "base/alive.h"
#include "base/locale.h"
#include "table/schema.h"

#include <string.h>

drove_status drove_data_columns_json(const drove_data *data, char **out)
{
    DROVE_IN_C_LOCALE;
    DROVE_ALIVE(data, "data");
    const drove_schema *schema = data->storage->schema;
    if (schema != NULL) return drove__schema_columns_json(schema, out);
    *out = strdup("[]");
    return *out != NULL ? DROVE_OK : drove__fail_nomem("columns", sizeof "[]");
}
