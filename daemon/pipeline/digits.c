// SPDX-License-Identifier: GPL-2.0-or-later
#include "digits.h"

#include <string.h>

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
			    "25262728293031323334353637383940414243444546474849"
			    "50515253545556575859606162636465666768697071727374"
			    "75767778798081828384858687888990919293949596979899";

static const uint64_t powers[] = {
	1ULL, 10ULL, 100ULL, 1000ULL, 10000ULL, 100000ULL, 1000000ULL, 10000000ULL, 100000000ULL,
	1000000000ULL, 10000000000ULL, 100000000000ULL, 1000000000000ULL, 10000000000000ULL,
	100000000000000ULL, 1000000000000000ULL, 10000000000000000ULL, 100000000000000000ULL,
	1000000000000000000ULL, 10000000000000000000ULL,
};

/* log10(2) is about 1233 / 4096. */
static unsigned int width_of(uint64_t number)
{
	unsigned int bits = 64 - (unsigned int)__builtin_clzll(number | 1);
	unsigned int guess = bits * 1233 >> 12;

	return guess + (number >= powers[guess]);
}

/* Fills [out, end) from its end. */
static void fill_u32(char *out, char *end, uint32_t number)
{
	while (end - out >= 2) {
		end -= 2;
		memcpy(end, pairs + 2 * (number % 100), 2);
		number /= 100;
	}
	if (end > out)
		*out = (char)('0' + number);
}

char *digits_padded(char *out, uint32_t number, unsigned int width)
{
	fill_u32(out, out + width, number);
	return out + width;
}

char *digits_u64(char *out, uint64_t number)
{
	unsigned int width;
	char *end, *at;

	if (number < 10) {
		*out = (char)('0' + number);
		return out + 1;
	}
	width = width_of(number);
	end = at = out + width;
	while (number > UINT32_MAX) {
		at -= 8;
		fill_u32(at, at + 8, (uint32_t)(number % 100000000));
		number /= 100000000;
	}
	fill_u32(out, at, (uint32_t)number);
	return end;
}

char *digits_s64(char *out, int64_t number)
{
	uint64_t magnitude = (uint64_t)number;

	if (number < 0) {
		*out++ = '-';
		magnitude = -magnitude;
	}
	return digits_u64(out, magnitude);
}

char *digits_hex(char *out, uint64_t number)
{
	unsigned int bits = 64 - (unsigned int)__builtin_clzll(number | 1);
	unsigned int width = (bits + 3) / 4;

	*out++ = '0';
	*out++ = 'x';
	for (unsigned int left = width; left--;)
		*out++ = "0123456789abcdef"[number >> 4 * left & 15];
	return out;
}
