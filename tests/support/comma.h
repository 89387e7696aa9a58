/* tests/support/comma.h - a locale with a decimal comma, for tests. */
#ifndef DROVE_TESTS_SUPPORT_COMMA_H
#define DROVE_TESTS_SUPPORT_COMMA_H

/* Calls setlocale for all categories: an installed locale, or one that localedef makes in the
 * working folder.  Its name, or NULL: none here. */
const char *drove_test_set_comma_locale(void);

#endif
