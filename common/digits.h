/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fast conversion of numbers to text: eight digits at once, by multiplications and without a branch per digit.
 * Each function writes at `out`, without a NUL, and returns the end. It may store up to DIGITS_SLACK bytes
 * past that end, which the caller overwrites. Little endian only, like the rest of the daemon. Pure functions,
 * usable from any thread.
 */
#pragma once

#include <stdint.h>
#include <string.h>

enum {
	DIGITS_SLACK = 8,
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "digits are stored low byte first");

/*
 * Returns the eight digits of a number below 10^8, the first in the lowest byte. First two numbers below 10^4
 * in two halves are divided by 100 at once, then four numbers below 100 in four quarters by 10; over these
 * ranges n * 10486 >> 20 is n / 100, and n * 103 >> 10 is n / 10.
 */
static inline uint64_t digits_of(uint32_t number)
{
	uint64_t halves = number / 10000 | (uint64_t)(number % 10000) << 32;
	uint64_t top = (halves * 10486 >> 20) & 0x7f0000007fULL;
	uint64_t quarters = ((halves - 100 * top) << 16) + top;
	uint64_t tens = (quarters * 103 >> 10) & 0x000f000f000f000fULL;

	return tens + ((quarters - 10 * tens) << 8);
}

#define DIGITS_ASCII 0x3030303030303030ULL

static inline char *digits_store8(char *out, uint64_t digits)
{
	memcpy(out, &digits, sizeof(digits));
	return out + sizeof(digits);
}

/*
 * Returns how many digits a number below 10^8 has. For each highest bit there is at most one power of ten at
 * which the count changes. The table's entry is the count from that power on, in the upper half, minus the
 * power: so the sum with the number has that count in its upper half from the power on, and one less below it.
 */
static inline unsigned int digits_width(uint32_t number)
{
#define DIGITS_STEP(width, power) (((uint64_t)(width) << 32) - (power))
	static const uint64_t steps[27] = {
		1ULL << 32,	       DIGITS_STEP(2, 10),	DIGITS_STEP(2, 10),
		DIGITS_STEP(2, 10),    DIGITS_STEP(3, 100),	DIGITS_STEP(3, 100),
		DIGITS_STEP(3, 100),   DIGITS_STEP(4, 1000),	DIGITS_STEP(4, 1000),
		DIGITS_STEP(4, 1000),  DIGITS_STEP(5, 10000),	DIGITS_STEP(5, 10000),
		DIGITS_STEP(5, 10000), DIGITS_STEP(5, 10000),	DIGITS_STEP(6, 100000),
		DIGITS_STEP(6, 100000), DIGITS_STEP(6, 100000), DIGITS_STEP(7, 1000000),
		DIGITS_STEP(7, 1000000), DIGITS_STEP(7, 1000000), DIGITS_STEP(8, 10000000),
		DIGITS_STEP(8, 10000000), DIGITS_STEP(8, 10000000), DIGITS_STEP(8, 10000000),
		8ULL << 32,	       8ULL << 32,		8ULL << 32,
	};
#undef DIGITS_STEP

	return (unsigned int)((number + steps[31 - __builtin_clz(number | 1)]) >> 32);
}

/* Writes a number below 10^8 without leading zeros. */
static inline char *digits_u27(char *out, uint32_t number)
{
	unsigned int width = digits_width(number);

	digits_store8(out, (digits_of(number) | DIGITS_ASCII) >> (64 - 8 * width));
	return out + width;
}

/* Writes a number below 10^8 with leading zeros. */
static inline char *digits_8(char *out, uint32_t number)
{
	return digits_store8(out, digits_of(number) | DIGITS_ASCII);
}

/* Writes the last `width` digits, at most 8, of a number below 10^width. */
static inline char *digits_padded(char *out, uint32_t number, unsigned int width)
{
	uint64_t digits = digits_of(number) | DIGITS_ASCII;

	digits_store8(out, digits >> 8 * (8 - width));
	return out + width;
}

/* Writes a number of 10^8 or more; apart from digits_u64(), whose common case stays short so. */
__attribute__((noinline, unused)) static char *digits_large(char *out, uint64_t number)
{
	const uint64_t base = 100000000;

	if (number < base * base)
		return digits_8(digits_u27(out, (uint32_t)(number / base)),
				(uint32_t)(number % base));
	out = digits_u27(out, (uint32_t)(number / (base * base)));
	out = digits_8(out, (uint32_t)(number / base % base));
	return digits_8(out, (uint32_t)(number % base));
}

/* Writes at most 20 bytes. */
static inline char *digits_u64(char *out, uint64_t number)
{
	return number < 100000000 ? digits_u27(out, (uint32_t)number) : digits_large(out, number);
}

/* Writes at most 20 bytes. */
static inline char *digits_s64(char *out, int64_t number)
{
	uint64_t magnitude = (uint64_t)number;

	if (number < 0) {
		*out++ = '-';
		magnitude = -magnitude;
	}
	return digits_u64(out, magnitude);
}

/* Writes the minor number of a device, at least three digits of it: 8:16 is a time of day to some who read it. */
static inline char *digits_minor(char *out, uint32_t minor)
{
	return minor < 1000 ? digits_padded(out, minor, 3) : digits_u64(out, minor);
}

/* Writes "0x" and at most 16 digits. */
static inline char *digits_hex(char *out, uint64_t number)
{
	unsigned int bits = 64 - (unsigned int)__builtin_clzll(number | 1);

	*out++ = '0';
	*out++ = 'x';
	for (unsigned int left = (bits + 3) / 4; left--;)
		*out++ = "0123456789abcdef"[number >> 4 * left & 15];
	return out;
}
