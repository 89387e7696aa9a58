/* data/open/overwrite.c - see overwrite.h. */
#include "data/open/overwrite.h"

#include "base/spec.h"
#include "data/data.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

drove_status drove__overwrite_check(const char *what, const char *out, const char *path)
{
    struct stat to, from;
    if (stat(out, &to) != 0 || !S_ISREG(to.st_mode) || stat(path, &from) != 0) return DROVE_OK;
    if (to.st_dev != from.st_dev || to.st_ino != from.st_ino) return DROVE_OK;
    bool is_same_name = strcmp(out, path) == 0;
    return drove__fail(DROVE_E_EXISTS, "%s: expected a file that is not read, found %s%s%s%s", what,
                       out, is_same_name ? "" : " (the input ", is_same_name ? "" : path,
                       is_same_name ? "" : ")");
}

drove_status drove__overwrite_check_data(const char *what, const char *out, const char *spec)
{
    drove_spec parsed;
    drove_status status = DROVE_OK;
    DROVE_TRY(drove__data_parse(spec, &parsed));
    for (unsigned i = 0; i < parsed.n_args && status == DROVE_OK; i++)
        status = drove__overwrite_check(what, out, parsed.arg[i]);
    drove__spec_fini(&parsed);
    return status;
}
