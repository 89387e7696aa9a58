/* tests/support/status.h - what a call of the library returns, and what its error says. */
#ifndef DROVE_TESTS_SUPPORT_STATUS_H
#define DROVE_TESTS_SUPPORT_STATUS_H

#include "base/status.h"
#include "support/test.h"

#include <string.h>

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        drove_status assert_ok_status_ = (call);                                                   \
        if (assert_ok_status_ != DROVE_OK) fail_msg("%s: %s", #call, drove_error_text());          \
    } while (0)

/* The call fails with this status and a text that contains part. */
#define assert_fails(call, status, part)                                                           \
    do {                                                                                           \
        drove_status assert_fails_status_ = (call);                                                \
        if (assert_fails_status_ != (status))                                                      \
            fail_msg("%s: expected %s, found %s", #call, drove_status_name(status),                \
                     drove_status_name(assert_fails_status_));                                     \
        assert_error_has(part);                                                                    \
    } while (0)

static inline void assert_error_has(const char *part)
{
    if (strstr(drove_error_text(), part) == NULL)
        fail_msg("expected \"%s\" in the error text, found \"%s\"", part, drove_error_text());
}

#endif
