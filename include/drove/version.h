/* drove/version.h - which drove this is. */
#ifndef DROVE_VERSION_H
#define DROVE_VERSION_H

#define DROVE_VERSION_MAJOR 0
#define DROVE_VERSION_MINOR 1
#define DROVE_VERSION_PATCH 0
#define DROVE_VERSION       "0.1.0"

#pragma GCC visibility push(default) /* what a shared library exports */
#ifdef __cplusplus
extern "C" {
#endif

const char *drove_version(void); /* of the library in use */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
