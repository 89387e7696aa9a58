/* tests/fuzz/fuzz_picture.c - the input is an image file. */
#include "data/read/picture.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    enum { PIXELS_MOST = 1 << 20 }; /* more are not resized: that would only measure time */
    uint8_t into[3 * 9 * 7];
    drove_picture picture;
    if (drove__picture_decode(data, size_bytes, "fuzz", &picture) != DROVE_OK) {
        if (picture.rgb != NULL) abort();
        return 0;
    }
    if (picture.height == 0 || picture.width == 0) abort();
    if (picture.height * picture.width <= PIXELS_MOST) {
        (void)drove__picture_fit(&picture, 3, 9, 7, into);
        (void)drove__picture_fit(&picture, 1, 1, 5, into);
    }
    drove__picture_fini(&picture);
    return 0;
}
