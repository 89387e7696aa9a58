/* drove/version.h - version of the library.
 *
 * The three numbers are the only place of the version: CMake, the package files, the program and
 * the Python package read them here.  What each number promises: docs/use/library.md
 */
#ifndef DROVE_VERSION_H
#define DROVE_VERSION_H

/* Grows when a program may have to be changed or compiled anew. */
#define DROVE_VERSION_MAJOR 1
/* Grows when something is new. */
#define DROVE_VERSION_MINOR 0
/* Grows when mistakes are mended. */
#define DROVE_VERSION_PATCH 0

/* Versions as numbers that compare: #if DROVE_VERSION_NUMBER >= DROVE_VERSION_MAKE(1, 2, 0) */
#define DROVE_VERSION_MAKE(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
/* Version of these headers as such a number. */
#define DROVE_VERSION_NUMBER                                                                       \
    DROVE_VERSION_MAKE(DROVE_VERSION_MAJOR, DROVE_VERSION_MINOR, DROVE_VERSION_PATCH)

/* "1.2.3" of three numbers. */
#define DROVE_VERSION_JOIN(major, minor, patch) #major "." #minor "." #patch
/* The same of macros that stand for numbers. */
#define DROVE_VERSION_TEXT(major, minor, patch) DROVE_VERSION_JOIN(major, minor, patch)
/* Version of these headers as text: "1.2.3" */
#define DROVE_VERSION                                                                              \
    DROVE_VERSION_TEXT(DROVE_VERSION_MAJOR, DROVE_VERSION_MINOR, DROVE_VERSION_PATCH)

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* Of the library in use, which may be newer than the headers; static, callable from any thread. */
const char *drove_version(void);
/* The same as a number: DROVE_VERSION_NUMBER of the library's own headers. */
int drove_version_number(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
