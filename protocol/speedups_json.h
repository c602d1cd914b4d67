/* What speedups_json.c reads JSON with; see speedups_json_text.c. */
#ifndef ODRADEK_SPEEDUPS_JSON_H
#define ODRADEK_SPEEDUPS_JSON_H

#include "speedups.h"

#define NUMBER_SIZE_MAX 40 /* a number has less */

typedef struct {
    uint8_t *at; /* strings with escapes are written anew, where they are */
    const uint8_t *end;
} Text;

typedef struct {
    uint8_t *at;
    Py_ssize_t size;
    int has_escapes;
} String;

typedef struct {
    const uint8_t *at;
    Py_ssize_t size;
    uint64_t digits; /* times 10 to the power; not if it is long */
    int power;
    int is_negative;
    int is_whole;
    int is_long;
} Number;

static inline int
is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static inline void
skip_space(Text *text)
{
    while (text->at < text->end && *text->at <= ' ' &&
           (*text->at == ' ' || *text->at == '\n' || *text->at == '\t' ||
            *text->at == '\r')) {
        text->at++;
    }
}

static inline int
take(Text *text, uint8_t byte)
{
    if (text->at == text->end || *text->at != byte) {
        return 0;
    }
    text->at++;
    return 1;
}

#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif

int take_word(Text *text, const char *word, Py_ssize_t size);
int read_string(Text *text, String *string);
void unescape(String *string);
int read_number(Text *text, Number *number);
int read_date(const uint8_t *at, int64_t *days);
int read_moment(const String *string, int64_t *found);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#endif
