/* model/custom_failure.c - failures of a program's own losses and layers. */
#include "model/custom.h"

#include <stdatomic.h>
#include <string.h>

bool drove__custom_has_failed(const drove_model *model)
{
    return model->kinds != NULL &&
           atomic_load_explicit(&model->kinds->has_failed, memory_order_relaxed) != 0;
}

static drove_status named(drove_status status)
{
    return status > DROVE_OK && status <= DROVE_E_SYSTEM ? status : DROVE_E_SYSTEM;
}

/* One line, and no more than an error can hold. */
static void describe(char into[DROVE_ERROR_TEXT_SIZE], const char *what, const char *name,
                     drove_status status, const char *why)
{
    const int n = (int)strcspn(why, "\r\n");
    snprintf(into, DROVE_ERROR_TEXT_SIZE, "%s %s: %.*s%s%s", what, name, n < 800 ? n : 800, why,
             n == 0 ? "its function failed with " : "", n == 0 ? drove_status_name(status) : "");
}

void drove__custom_fail(drove_pass *pass, const char *what, const char *name, drove_status status,
                        const char *why)
{
    drove_pass_failure *f = &pass->failure;
    atomic_store_explicit(&pass->model->kinds->has_failed, 1, memory_order_relaxed);
    /* Relaxed: only chooses who writes; the barrier at the pass's end orders what is written. */
    if (atomic_exchange_explicit(&f->is_claimed, 1, memory_order_relaxed) != 0) return;
    f->status = named(status);
    describe(f->text, what, name, f->status, why);
}

drove_status drove__custom_fail_now(const char *what, const char *name, drove_status status,
                                    const char *why)
{
    char text[DROVE_ERROR_TEXT_SIZE];
    describe(text, what, name, named(status), why);
    return drove__fail(named(status), "%s", text);
}

drove_status drove__pass_outcome(drove_pass *pass)
{
    drove_pass_failure *f = &pass->failure;
    if (atomic_load_explicit(&f->is_claimed, memory_order_relaxed) == 0) return DROVE_OK;
    atomic_store_explicit(&f->is_claimed, 0, memory_order_relaxed);
    return drove__fail(f->status, "%s", f->text);
}
