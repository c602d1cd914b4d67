/* The tokens of JSON: strings, numbers, and dates as strings, of which only what nobody
 * doubts is read; see speedups_json.c. A 0 or NULL is a doubt.
 */
#include "speedups_json.h"

#define DIGITS_MAX 19 /* as many fit into 64 bits, whatever they are */
#define POWER_MAX 250 /* far from what a double cannot hold */
#define US_PER_S 1000000
#define FRACTION_SIZE 6

int
take_word(Text *text, const char *word, Py_ssize_t size)
{
    if (text->end - text->at < size || memcmp(text->at, word, (size_t)size) != 0) {
        return 0;
    }
    text->at += size;
    return 1;
}

/* Four hexadecimal digits; -1: they are none. */
static int32_t
read_unit(const uint8_t *at)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t byte = at[i], low = byte | 0x20;
        if (is_digit(byte)) {
            unit = unit * 16 + (byte - '0');
        }
        else if (low >= 'a' && low <= 'f') {
            unit = unit * 16 + (low - 'a' + 10);
        }
        else {
            return -1;
        }
    }
    return unit;
}

static inline int
is_surrogate(int32_t unit, int32_t first)
{
    return (unit & 0xfc00) == first;
}

/* How many bytes an escape has behind its backslash; 0: it is none. */
static Py_ssize_t
escape_size(const uint8_t *at, const uint8_t *end)
{
    if (at == end) {
        return 0;
    }
    if (*at != 'u') {
        return strchr("\"\\/bfnrt", *at) != NULL && *at != 0;
    }
    int32_t unit = end - at < 5 ? -1 : read_unit(at + 1);
    if (unit < 0 || is_surrogate(unit, 0xdc00)) {
        return 0;
    }
    if (!is_surrogate(unit, 0xd800)) {
        return 5;
    }
    if (end - at < 11 || at[5] != '\\' || at[6] != 'u') {
        return 0;
    }
    return is_surrogate(read_unit(at + 7), 0xdc00) ? 11 : 0;
}

/* What ends a string, or must not be in one, or begins an escape. */
static const uint8_t IS_SPECIAL[256] = {
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, ['"'] = 1, ['\\'] = 1,
};

/* Behind the quote that begins it. */
int
read_string(Text *text, String *string)
{
    uint8_t *at = text->at;
    string->at = at;
    string->has_escapes = 0;
    while (at < text->end) {
        uint8_t byte = *at++;
        if (!IS_SPECIAL[byte]) {
            continue;
        }
        if (byte == '"') {
            string->size = at - 1 - string->at;
            text->at = at;
            return 1;
        }
        if (byte < 0x20) {
            return 0;
        }
        if (byte == '\\') {
            Py_ssize_t size = escape_size(at, text->end);
            if (size == 0) {
                return 0;
            }
            at += size;
            string->has_escapes = 1;
        }
    }
    return 0;
}

static uint8_t *
write_utf8(uint8_t *to, int32_t point)
{
    if (point < 0x80) {
        *to++ = (uint8_t)point;
        return to;
    }
    if (point < 0x800) {
        *to++ = (uint8_t)(0xc0 | point >> 6);
    }
    else {
        if (point < 0x10000) {
            *to++ = (uint8_t)(0xe0 | point >> 12);
        }
        else {
            *to++ = (uint8_t)(0xf0 | point >> 18);
            *to++ = (uint8_t)(0x80 | (point >> 12 & 0x3f));
        }
        *to++ = (uint8_t)(0x80 | (point >> 6 & 0x3f));
    }
    *to++ = (uint8_t)(0x80 | (point & 0x3f));
    return to;
}

/* Without its escapes it is shorter. */
void
unescape(String *string)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const uint8_t *at = string->at, *end = at + string->size;
    uint8_t *to = string->at;
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        at++;
        if (*at != 'u') {
            *to++ = (uint8_t)meanings[strchr(names, *at++) - names];
            continue;
        }
        int32_t point = read_unit(at + 1);
        at += 5;
        if (is_surrogate(point, 0xd800)) {
            point = 0x10000 + ((point & 0x3ff) << 10) + (read_unit(at + 2) & 0x3ff);
            at += 6;
        }
        to = write_utf8(to, point);
    }
    string->size = to - string->at;
}

static const uint8_t *
read_digits(const uint8_t *at, const uint8_t *end, Number *number, int *count)
{
    for (; at < end && is_digit(*at); at++) {
        if (*count > 0 || *at != '0') {
            ++*count;
        }
        number->digits = number->digits * 10 + (uint64_t)(*at - '0');
    }
    return at;
}

/* The part of a number behind its e; NULL: it is none. */
static const uint8_t *
read_exponent(const uint8_t *at, const uint8_t *end, Number *number)
{
    int is_negative = 0, exponent = 0;
    const uint8_t *first;
    if (at < end && (*at == '+' || *at == '-')) {
        is_negative = *at++ == '-';
    }
    for (first = at; at < end && is_digit(*at); at++) {
        if (at - first == 3) {
            return NULL;
        }
        exponent = exponent * 10 + (*at - '0');
    }
    number->power += is_negative ? -exponent : exponent;
    return at == first ? NULL : at;
}

/* As JSON has them, and none that a double cannot hold. */
int
read_number(Text *text, Number *number)
{
    const uint8_t *at = text->at, *end = text->end, *first;
    int count = 0;
    if (end - at > NUMBER_SIZE_MAX) {
        end = at + NUMBER_SIZE_MAX;
    }
    *number = (Number){.at = at, .is_whole = 1};
    if (at < end && *at == '-') {
        number->is_negative = 1;
        at++;
    }
    first = at;
    at = read_digits(at, end, number, &count);
    if (at == first || (*first == '0' && at - first > 1)) {
        return 0;
    }
    if (at < end && *at == '.') {
        number->is_whole = 0;
        first = ++at;
        at = read_digits(at, end, number, &count);
        if (at == first) {
            return 0;
        }
        number->power = -(int)(at - first);
    }
    if (at < end && (*at | 0x20) == 'e') {
        number->is_whole = 0;
        at = read_exponent(at + 1, end, number);
        if (at == NULL) {
            return 0;
        }
    }
    number->size = at - number->at;
    number->is_long = count > DIGITS_MAX;
    text->at += number->size;
    /* Where it was cut off there may be more of it. */
    return number->size < NUMBER_SIZE_MAX && number->power <= POWER_MAX &&
           number->power >= -POWER_MAX;
}

/* So many digits; -1: something else. */
static int
read_fixed(const uint8_t *at, int size)
{
    int number = 0;
    for (int i = 0; i < size; i++) {
        if (!is_digit(at[i])) {
            return -1;
        }
        number = number * 10 + (at[i] - '0');
    }
    return number;
}

/* Days since 1970 of YYYY-MM-DD. */
int
read_date(const uint8_t *at, int64_t *days)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int year = read_fixed(at, 4), month = read_fixed(at + 5, 2),
        day = read_fixed(at + 8, 2);
    if (at[4] != '-' || at[7] != '-' || year < 1 || month < 1 || month > 12) {
        return 0;
    }
    int is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (day < 1 || day > lengths[month - 1] + (is_leap && month == 2)) {
        return 0;
    }
    int past = year - 1;
    *days = (int64_t)past * 365 + past / 4 - past / 100 + past / 400 +
            before[month - 1] + (is_leap && month > 2) + day - 1 - 719162;
    return 1;
}

/* Microseconds since 1970 of YYYY-MM-DD hh:mm:ss, with a T, a fraction or a Z. */
int
read_moment(const String *string, int64_t *found)
{
    const uint8_t *at = string->at, *end = at + string->size;
    int64_t days, fraction = 0;
    if (string->size < 19 || !read_date(at, &days) || (at[10] != 'T' && at[10] != ' ') ||
        at[13] != ':' || at[16] != ':') {
        return 0;
    }
    int hour = read_fixed(at + 11, 2), minute = read_fixed(at + 14, 2),
        second = read_fixed(at + 17, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
        return 0;
    }
    at += 19;
    if (at < end && *at == '.') {
        const uint8_t *first = ++at;
        for (; at < end && is_digit(*at) && at - first < FRACTION_SIZE; at++) {
            fraction = fraction * 10 + (*at - '0');
        }
        if (at == first) {
            return 0;
        }
        for (Py_ssize_t size = at - first; size < FRACTION_SIZE; size++) {
            fraction *= 10;
        }
    }
    if (at < end && *at == 'Z') {
        at++;
    }
    *found = ((days * 24 + hour) * 60 + minute) * 60 + second;
    *found = *found * US_PER_S + fraction;
    return at == end;
}
