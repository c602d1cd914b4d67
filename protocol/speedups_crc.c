/* CRC-32C: by the processor's instruction, three stretches at a time, or by tables.
 *
 * The instruction takes three cycles and one can be begun in each, so three checksums
 * beside each other cost as much as one. A checksum is linear: that of two stretches is
 * that of the first, moved by as many zero bytes as the second has, xor the second's.
 * Moving is a multiplication by a power of x, without carries. A stretch is a line of
 * the cache: with longer ones the processor does not see that memory is read in order.
 */
#include "speedups.h"

#define STRETCH 64 /* bytes; a multiple of eight */
#define POLYNOMIAL 0x82f63b78u

static uint32_t crc_tables[8][256];

static void
make_crc_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (POLYNOMIAL & (0u - (crc & 1)));
        }
        crc_tables[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        for (int i = 1; i < 8; i++) {
            uint32_t crc = crc_tables[i - 1][byte];
            crc_tables[i][byte] = (crc >> 8) ^ crc_tables[0][crc & 0xff];
        }
    }
}

static uint32_t
crc_by_tables(const uint8_t *at, Py_ssize_t size)
{
    uint32_t crc = 0xffffffffu;
    for (; size >= 8; size -= 8, at += 8) {
        crc ^= (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
               (uint32_t)at[3] << 24;
        crc = crc_tables[7][crc & 0xff] ^ crc_tables[6][crc >> 8 & 0xff] ^
              crc_tables[5][crc >> 16 & 0xff] ^ crc_tables[4][crc >> 24] ^
              crc_tables[3][at[4]] ^ crc_tables[2][at[5]] ^
              crc_tables[1][at[6]] ^ crc_tables[0][at[7]];
    }
    for (; size > 0; size--, at++) {
        crc = (crc >> 8) ^ crc_tables[0][(crc ^ *at) & 0xff];
    }
    return ~crc;
}

uint32_t (*compute_crc32c)(const uint8_t *at, Py_ssize_t size) = crc_by_tables;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(CRC_BY_TABLES)
#include <immintrin.h>

/* What moves a checksum by one, two and three stretches. */
static int64_t moves[3];

static void
make_moves(void)
{
    uint32_t power = 0x80000000u; /* of x, modulo the polynomial: the first is one */
    for (int exponent = 0, i = 0; i < 3; exponent++) {
        /* Of the shift 32 are done by the instruction, one by the reversed bits. */
        if (exponent == 8 * STRETCH * (i + 1) - 33) {
            moves[i++] = power;
        }
        power = (power >> 1) ^ (POLYNOMIAL & (0u - (power & 1)));
    }
}

static inline uint64_t
read_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

__attribute__((target("sse4.2,pclmul"))) static inline __m128i
multiply(uint64_t crc, int64_t power)
{
    return _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc),
                                _mm_cvtsi64_si128(power), 0);
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t
crc_by_instruction(const uint8_t *at, Py_ssize_t size)
{
    const int64_t one = moves[0], two = moves[1], three = moves[2];
    uint64_t crc = 0xffffffffu;
    for (; size >= 3 * STRETCH; size -= 3 * STRETCH, at += 3 * STRETCH) {
        uint64_t first = 0, second = 0, third = 0;
        for (int i = 0; i < STRETCH; i += 8) {
            first = _mm_crc32_u64(first, read_word(at + i));
            second = _mm_crc32_u64(second, read_word(at + STRETCH + i));
            third = _mm_crc32_u64(third, read_word(at + 2 * STRETCH + i));
        }
        __m128i moved = _mm_xor_si128(multiply(first, two), multiply(second, one));
        moved = _mm_xor_si128(moved, multiply(crc, three));
        crc = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(moved)) ^ third;
    }
    for (; size >= 8; size -= 8, at += 8) {
        crc = _mm_crc32_u64(crc, read_word(at));
    }
    for (; size > 0; size--, at++) {
        crc = _mm_crc32_u8((uint32_t)crc, *at);
    }
    return ~(uint32_t)crc;
}

void
prepare_crc32c(void)
{
    make_crc_tables();
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) {
        make_moves();
        compute_crc32c = crc_by_instruction;
    }
}
#else
void
prepare_crc32c(void)
{
    make_crc_tables();
}
#endif
