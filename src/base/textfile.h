/* base/textfile.h - opens a file of text: in any encoding, compressed, also the one file in a ZIP
 * archive. */
#ifndef DROVE_BASE_TEXTFILE_H
#define DROVE_BASE_TEXTFILE_H

#include "base/file.h"

/* encoding: as of drove__reader_decode.  A ZIP archive is read where it holds one file; what else
 * it is, and the way out, is in the error.  Errors: those of drove__reader_open, drove__zip_open
 * and drove__reader_decode. */
drove_status drove__textfile_open(const char *path, const char *encoding, drove_reader **out);

#endif
