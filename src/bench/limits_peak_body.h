/* bench/limits_peak_body.h - the loop of limits_peak.c, for registers of one width.
 *
 *   PEAK_NAME    of the function
 *   PEAK_TARGET  its attribute
 *   PEAK_LANES   floats of a register
 */
PEAK_TARGET static float PEAK_NAME(size_t n, float first, float second)
{
    typedef float lanes __attribute__((vector_size(PEAK_LANES * sizeof(float))));
    const lanes   b = (lanes){0} + second;
    lanes         a = (lanes){0} + first, x[N_REGISTERS] = {{0}}, sum = {0};
    float         all = 0.0f;
    for (; n > 0; n--) {
        for (int i = 0; i < N_REGISTERS; i++) {
            HIDE(a); /* or the product would be computed once */
            x[i] += a * b;
        }
    }
    for (int i = 0; i < N_REGISTERS; i++) sum += x[i];
    for (int i = 0; i < PEAK_LANES; i++) all += sum[i];
    return all;
}
#undef PEAK_NAME
#undef PEAK_TARGET
#undef PEAK_LANES
