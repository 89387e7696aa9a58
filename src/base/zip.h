/* base/zip.h - reads the directory of a ZIP archive and opens its members.
 *
 * Format: PKWARE's APPNOTE.TXT 6.3.  Here: one disk, members stored or deflated, not encrypted;
 * zip64 sizes and offsets.  The directory at the end of the file is what counts; of a member's own
 * header only the lengths before its content are used.
 */
#ifndef DROVE_BASE_ZIP_H
#define DROVE_BASE_ZIP_H

#include "base/file.h"
#include "base/status.h"

typedef struct drove_zip drove_zip; /* for one thread */

/* Reads the whole directory; path must be a regular file.  Errors: DROVE_E_IO, DROVE_E_FILE,
 * DROVE_E_DATA (no archive, or damaged: which byte), DROVE_E_NOMEM. */
drove_status drove__zip_open(const char *path, drove_zip **out);
void         drove__zip_close(drove_zip *zip); /* may be NULL */

size_t      drove__zip_count(const drove_zip *zip);
const char *drove__zip_name(const drove_zip *zip, size_t member); /* < count; lives with zip */

/* Opens the content of a member; outlives zip.  Errors: also DROVE_E_UNSUPPORTED (encrypted, or
 * another compression). */
drove_status drove__zip_member(const drove_zip *zip, size_t member, drove_reader **out);

#endif
