/* data/retouch.c - changes of a stored image: brightness, contrast, saturation, rotation.
 *
 * Factors are those of torchvision's adjust_brightness, adjust_contrast and adjust_saturation, of
 * images as floats: with f the factor and everything cut to [0, 255],
 *
 *   brightness   f x                   contrast   f x + (1 - f) m     m the mean grey of all pixels
 *   saturation   f x + (1 - f) grey      grey = 0.2989 red + 0.587 green + 0.114 blue
 *
 * in this order.  A rotation takes each pixel from where it was, about the middle of the image,
 * between its four neighbours there, as torchvision's rotate with BILINEAR.
 */
#include "data/augment.h"

#include <math.h>

static const float brightest = 255.0f;
static const float share_of_grey[3] = {0.2989f, 0.587f, 0.114f};

static float cut(float x)
{
    return x < 0.0f ? 0.0f : x > brightest ? brightest : x;
}

static float grey_of(const float *image, size_t n_pixels, size_t channels, size_t pixel)
{
    float sum = 0.0f;
    if (channels != 3) return image[pixel];
    for (size_t c = 0; c < 3; c++) sum += share_of_grey[c] * image[c * n_pixels + pixel];
    return sum;
}

void drove__augment_colour(const drove_augment *a, const drove_window *w, float *image)
{
    const size_t n_pixels = a->height * a->width, n = a->channels * n_pixels;
    if (a->brightness > 0.0f)
        for (size_t i = 0; i < n; i++) image[i] = cut(w->brightness * image[i]);
    if (a->contrast > 0.0f) {
        double sum = 0.0;
        for (size_t i = 0; i < n_pixels; i++)
            sum += (double)grey_of(image, n_pixels, a->channels, i);
        const float rest = (1.0f - w->contrast) * (float)(sum / (double)n_pixels);
        for (size_t i = 0; i < n; i++) image[i] = cut(w->contrast * image[i] + rest);
    }
    if (a->saturation > 0.0f) {
        for (size_t i = 0; i < n_pixels; i++) {
            const float rest = (1.0f - w->saturation) * grey_of(image, n_pixels, a->channels, i);
            for (size_t c = 0; c < a->channels; c++) {
                float *x = &image[c * n_pixels + i];
                *x = cut(w->saturation * *x + rest);
            }
        }
    }
}

void drove__augment_rotate(const drove_augment *a, const drove_window *w, const float *from,
                           float *to)
{
    const size_t height = a->height, width = a->width, n_pixels = height * width;
    const double angle = (double)w->degrees * (M_PI / 180.0);
    const float cosine = (float)cos(angle), sine = (float)sin(angle);
    const float middle_y = 0.5f * (float)(height - 1), middle_x = 0.5f * (float)(width - 1);
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            const float dy = (float)y - middle_y, dx = (float)x - middle_x;
            const float at_y = sine * dx + cosine * dy + middle_y;
            const float at_x = cosine * dx - sine * dy + middle_x;
            const float top = floorf(at_y), left = floorf(at_x);
            const float below = at_y - top, right = at_x - left;
            for (size_t c = 0; c < a->channels; c++) to[c * n_pixels + y * width + x] = 0.0f;
            for (int corner = 0; corner < 4; corner++) {
                const float row = top + (float)(corner / 2), column = left + (float)(corner % 2);
                const float share =
                    (corner / 2 ? below : 1.0f - below) * (corner % 2 ? right : 1.0f - right);
                if (row < 0.0f || row >= (float)height || column < 0.0f || column >= (float)width)
                    continue;
                const size_t pixel = (size_t)row * width + (size_t)column;
                for (size_t c = 0; c < a->channels; c++)
                    to[c * n_pixels + y * width + x] += share * from[c * n_pixels + pixel];
            }
        }
    }
}
