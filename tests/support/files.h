/* tests/support/files.h - whole files, written and read by a test in its own folder, and the page
 * of the manual that prints one. */
#ifndef DROVE_TESTS_SUPPORT_FILES_H
#define DROVE_TESTS_SUPPORT_FILES_H

#include <stddef.h>

/* The file has these bytes, whatever it had before. */
void write_bytes(const char *path, const void *bytes, size_t size_bytes);
void write_text(const char *path, const char *text);

/* Whole file with a NUL after it; free().  *size_bytes may be NULL. */
char *read_bytes(const char *path, size_t *size_bytes);

/* The page has a block of C that is the file, to the letter; both lie under the source folder. */
void assert_page_prints(const char *page, const char *file);

#endif
