/* engine/module.c - see module.h.
 *
 * The table of modules belongs to the process, as the dynamic linker's list of libraries does.  It
 * is a cache of facts: a row is made once, by the first call for its name, and never changes, and
 * the answer is the same for every caller.  So two runs at once cannot see each other through it.
 */
#include "engine/module.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/module.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

enum { MOST_MODULES = 16, NAME_SIZE = 32 };

typedef struct module {
    char name[NAME_SIZE];
    const drove_accel_ops *ops; /* NULL: status and why */
    drove_status status;
    char why[DROVE_ERROR_TEXT_SIZE];
} module;

/* Protects all below.  Held while a module is opened, so that it is opened once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static module known[MOST_MODULES];
static size_t n_known;
static drove_accel_host host; /* fail NULL: not made yet; constant afterwards */

static drove_status open_new(module *m)
{
    static char folder[PATH_MAX];
    drove_module found;
    if (host.fail == NULL) {
        host.cache_folder = drove__cache_folder(folder, sizeof folder) ? folder : NULL;
        host.fail = drove__fail;
    }
    DROVE_TRY(drove__module_load(m->name, DROVE_ACCEL_ENTRY, &found));
    drove__fail(DROVE_E_UNSUPPORTED, "it does not say why");
    const drove_accel_ops *ops = ((drove_accel_entry_fn *)found.entry)(&host);
    if (ops == NULL) return drove__fail_in(DROVE_E_UNSUPPORTED, "%s", found.path);
    if (ops->version != DROVE_ACCEL_VERSION)
        return drove__fail(DROVE_E_UNSUPPORTED, "%s: expected a module of version %d, found %u",
                           found.path, DROVE_ACCEL_VERSION, ops->version);
    m->ops = ops;
    return DROVE_OK;
}

drove_status drove__module_open(const char *name, const drove_accel_ops **out)
{
    module *m = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_known && m == NULL; i++)
        if (strcmp(known[i].name, name) == 0) m = &known[i];
    if (m == NULL && n_known < MOST_MODULES && strlen(name) < NAME_SIZE) {
        m = &known[n_known++];
        memcpy(m->name, name, strlen(name) + 1);
        m->status = open_new(m);
        if (m->status != DROVE_OK) drove__error_copy(m->why);
    }
    pthread_mutex_unlock(&lock);
    if (m == NULL) return drove__fail(DROVE_E_NOMEM, "%s: too many modules", name);
    /* a row does not change after it was made, and the lock orders that before this */
    if (m->status != DROVE_OK) return drove__fail(m->status, "%s", m->why);
    *out = m->ops;
    return DROVE_OK;
}
