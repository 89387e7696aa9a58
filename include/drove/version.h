/* drove/version.h - version of the library. */
#ifndef DROVE_VERSION_H
#define DROVE_VERSION_H

#define DROVE_VERSION_MAJOR 0
#define DROVE_VERSION_MINOR 1
#define DROVE_VERSION_PATCH 0
#define DROVE_VERSION       "0.1.0"

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

const char *drove_version(void); /* of the library in use */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
