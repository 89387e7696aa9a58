/* data/read/picture_decode.c - which files are pictures, and by which decoder.  See picture.h. */
#include "data/read/picture.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

bool drove__picture_is_named(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending != NULL && i < DROVE_COUNT(endings); i++) {
        if (strcasecmp(ending, endings[i]) == 0) return true;
    }
    return false;
}

drove_status drove__picture_decode(const uint8_t *bytes, size_t n_bytes, const char *where,
                                   drove_picture *out)
{
    *out = (drove_picture){0};
    if (n_bytes >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
        return drove__picture_decode_png(bytes, n_bytes, where, out);
    if (n_bytes >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
        return drove__picture_decode_jpeg(bytes, n_bytes, where, out);
    if (n_bytes == 0)
        return drove__fail(DROVE_E_DATA, "%s: expected a PNG or JPEG file, found an empty one",
                           where);
    return drove__fail(DROVE_E_DATA, "%s: expected a PNG or JPEG file, found first byte 0x%02x",
                       where, bytes[0]);
}
