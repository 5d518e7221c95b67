/* The two loops in which a search by meaning spends its time. kernel.py calls them, checks what it hands over, and says
 * the same in numpy where this file was not built. All numbers are whole, so the order of sums changes nothing.
 *
 * Plain C that compilers turn into vector instructions; on x86 each loop is built for three generations of processors,
 * and the newest that runs here is taken. */

#include <stddef.h>
#include <stdint.h>

#define BLOCK 2048 /* sums that stay in the first cache while word after word is added to them */
#define AHEAD 8    /* codes to fetch early: they lie far apart, and memory is slower than counting */

#if defined(__GNUC__) && defined(__x86_64__)
#define INLINE static inline __attribute__((always_inline))
#define OLD __attribute__((target("avx2,popcnt")))
#define NEW __attribute__((target("avx512f,avx512vl,avx512bw,avx512vpopcntdq,avx512vnni")))
#define CHOOSE 1
#else
#define INLINE static inline
#endif

/* For each row: how far it is, which is the signs that differ from the query's, each counted by what the query's number
 * weighs, 0 to 3. Words lie by number, `stride` rows apart; `weights` holds the low bits of all words, then the high
 * ones. Notes the rows that are no further than the bound, in order, and how far; says how many. Each row is written down,
 * and the next one over it if it is too far, without a branch: both lists have room for every row. */
INLINE size_t within(const uint64_t *words, size_t stride, size_t rows, size_t count, const uint64_t *signs,
                     const uint64_t *weights, uint64_t bound, int64_t *places, uint16_t *apart)
{
    size_t found = 0;
    uint64_t sums[BLOCK];
    for (size_t first = 0; first < rows; first += BLOCK) {
        size_t size = rows - first < BLOCK ? rows - first : BLOCK;
        for (size_t row = 0; row < size; row++)
            sums[row] = 0;
        for (size_t word = 0; word < count; word++) {
            const uint64_t *some = words + word * stride + first;
            uint64_t sign = signs[word], low = weights[word], high = weights[count + word];
            for (size_t row = 0; row < size; row++) {
                uint64_t differing = some[row] ^ sign;
                sums[row] += (uint64_t)__builtin_popcountll(differing & low) +
                             2 * (uint64_t)__builtin_popcountll(differing & high);
            }
        }
        for (size_t row = 0; row < size; row++) {
            places[found] = (int64_t)(first + row);
            apart[found] = (uint16_t)sums[row];
            found += sums[row] <= bound;
        }
    }
    return found;
}

/* For each place: the sum of the query's numbers, each times the step that the place has there. A byte holds the steps
 * of a number and of the one `half` further on. Stops at a place that is not held; says how many it did. */
INLINE size_t fit(const uint8_t *steps, size_t held, size_t half, const int64_t *places, size_t count,
                  const int8_t *numbers, int32_t *fits)
{
    for (size_t at = 0; at < count; at++) {
        if ((uint64_t)places[at] >= held)
            return at;
        if (at + AHEAD < count && (uint64_t)places[at + AHEAD] < held)
            for (size_t byte = 0; byte < half; byte += 64)
                __builtin_prefetch(steps + (size_t)places[at + AHEAD] * half + byte);
        const uint8_t *code = steps + (size_t)places[at] * half;
        int32_t sum = 0;
        for (size_t byte = 0; byte < half; byte++)
            sum += (code[byte] & 15) * numbers[byte] + (code[byte] >> 4) * numbers[half + byte];
        fits[at] = sum;
    }
    return count;
}

#ifdef CHOOSE
#define BUILT_FOR(generation)                                                                                          \
    generation static size_t within_##generation(const uint64_t *words, size_t stride, size_t rows, size_t count,      \
                                                 const uint64_t *signs, const uint64_t *weights, uint64_t bound,       \
                                                 int64_t *places, uint16_t *apart)                                     \
    {                                                                                                                  \
        return within(words, stride, rows, count, signs, weights, bound, places, apart);                               \
    }                                                                                                                  \
    generation static size_t fit_##generation(const uint8_t *steps, size_t held, size_t half, const int64_t *places,   \
                                              size_t count, const int8_t *numbers, int32_t *fits)                      \
    {                                                                                                                  \
        return fit(steps, held, half, places, count, numbers, fits);                                                   \
    }
BUILT_FOR(OLD)
BUILT_FOR(NEW)

static int is_new(void)
{
    return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vnni");
}

static int is_old(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}
#endif

/* The numbers in these two names are raised with every change of what is handed over or answered: an older library that
 * lies about is then not found instead of called wrongly. */
size_t holdfast_within_1(const uint64_t *words, size_t stride, size_t rows, size_t count, const uint64_t *signs,
                         const uint64_t *weights, uint64_t bound, int64_t *places, uint16_t *apart)
{
#ifdef CHOOSE
    if (is_new())
        return within_NEW(words, stride, rows, count, signs, weights, bound, places, apart);
    if (is_old())
        return within_OLD(words, stride, rows, count, signs, weights, bound, places, apart);
#endif
    return within(words, stride, rows, count, signs, weights, bound, places, apart);
}

size_t holdfast_fit_1(const uint8_t *steps, size_t held, size_t half, const int64_t *places, size_t count,
                      const int8_t *numbers, int32_t *fits)
{
#ifdef CHOOSE
    if (is_new())
        return fit_NEW(steps, held, half, places, count, numbers, fits);
    if (is_old())
        return fit_OLD(steps, held, half, places, count, numbers, fits);
#endif
    return fit(steps, held, half, places, count, numbers, fits);
}
