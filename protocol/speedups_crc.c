/* CRC-32C: by the processor's instruction, three stretches at a time, or by tables.
 *
 * The instruction takes three cycles and one can be begun in each, so three checksums
 * beside each other cost as much as one. A checksum is linear: that of two stretches is
 * that of the first, moved by as many zero bytes as the second has, xor the second's.
 */
#include "speedups.h"

#define STRETCH 512 /* of a multiple of eight bytes */

static uint32_t crc_tables[8][256];

static void
make_crc_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1)));
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
/* What becomes of each byte of a checksum by a stretch of zeros. */
static uint32_t move_tables[4][256];

static void
make_move_tables(void)
{
    for (int i = 0; i < 4; i++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t crc = byte << 8 * i;
            for (int zero = 0; zero < STRETCH; zero++) {
                crc = (crc >> 8) ^ crc_tables[0][crc & 0xff];
            }
            move_tables[i][byte] = crc;
        }
    }
}

static inline uint64_t
move_crc(uint64_t crc)
{
    return move_tables[0][crc & 0xff] ^ move_tables[1][crc >> 8 & 0xff] ^
           move_tables[2][crc >> 16 & 0xff] ^ move_tables[3][crc >> 24 & 0xff];
}

static inline uint64_t
read_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t
crc_by_instruction(const uint8_t *at, Py_ssize_t size)
{
    uint64_t crc = 0xffffffffu;
    for (; size >= 3 * STRETCH; size -= 3 * STRETCH, at += 3 * STRETCH) {
        uint64_t second = 0, third = 0;
        for (int i = 0; i < STRETCH; i += 8) {
            crc = __builtin_ia32_crc32di(crc, read_word(at + i));
            second = __builtin_ia32_crc32di(second, read_word(at + STRETCH + i));
            third = __builtin_ia32_crc32di(third, read_word(at + 2 * STRETCH + i));
        }
        crc = move_crc(move_crc(crc) ^ second) ^ third;
    }
    for (; size >= 8; size -= 8, at += 8) {
        crc = __builtin_ia32_crc32di(crc, read_word(at));
    }
    for (; size > 0; size--, at++) {
        crc = __builtin_ia32_crc32qi((uint32_t)crc, *at);
    }
    return ~(uint32_t)crc;
}

void
prepare_crc32c(void)
{
    make_crc_tables();
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2")) {
        make_move_tables();
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
