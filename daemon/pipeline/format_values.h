/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of cells as text, the same in every format. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "cells/cells.h"
#include "clock.h"
#include "digits.h"

enum {
	FORMAT_SECOND_NS = 1000000000,
};

/* The text of the second of the last time that was written. */
struct format_date {
	uint64_t second_ns; /* the second that `text` shows; UINT64_MAX: none */
	char text[CLOCK_DATE_SIZE + DIGITS_SLACK];
};

static inline void format_date_set(struct format_date *date, uint64_t ns)
{
	clock_date(date->text, (int64_t)(ns / FORMAT_SECOND_NS));
	date->second_ns = ns - ns % FORMAT_SECOND_NS;
}

static inline char *format_time(struct format_date *date, char *out, uint64_t ns)
{
	uint32_t fraction;

	if (ns - date->second_ns >= FORMAT_SECOND_NS)
		format_date_set(date, ns);
	fraction = (uint32_t)(ns - date->second_ns);
	memcpy(out, date->text, CLOCK_DATE_SIZE);
	out += CLOCK_DATE_SIZE;
	*out++ = (char)('0' + fraction / 100000000);
	return digits_8(out, fraction % 100000000);
}

/* The upper digits of the last time of CLOCK_MONOTONIC. */
struct format_mono {
	uint64_t upper; /* the upper part that `text` shows; 0: none */
	char text[16];
	uint8_t length;
};

static inline char *format_mono(struct format_mono *mono, char *out, uint64_t ns)
{
	const uint64_t base = 100000000;
	uint64_t upper = ns / base;

	if (!upper)
		return digits_u64(out, ns);
	if (upper != mono->upper) {
		char text[20 + DIGITS_SLACK];

		mono->upper = upper;
		mono->length = (uint8_t)(digits_u64(text, upper) - text);
		memcpy(mono->text, text, sizeof(mono->text));
	}
	memcpy(out, mono->text, sizeof(mono->text));
	return digits_8(out + mono->length, (uint32_t)(ns - upper * base));
}

static inline char *format_ms(char *out, uint64_t ns)
{
	out = digits_u64(out, ns / 1000000);
	*out++ = '.';
	return digits_padded(out, (uint32_t)(ns % 1000000), 6);
}

static inline char *format_device(char *out, uint64_t device)
{
	out = digits_u64(out, device >> 20);
	*out++ = ':';
	return digits_minor(out, device & 0xfffff);
}

/* One of 10^8 or more; apart from format_u64(), whose common case stays short so. */
__attribute__((noinline, unused)) static char *format_large(char *out, uint64_t number)
{
	return number >> 63 ? digits_s64(out, (int64_t)number) : digits_large(out, number);
}

/* A number of 2^63 or more is written as the negative one that has the same bits, as databases know no larger ones. */
static inline char *format_u64(char *out, uint64_t number)
{
	return number < 100000000 ? digits_u27(out, (uint32_t)number) : format_large(out, number);
}

/* A number that stands where texts do: see escape_field(). */
static inline char *format_hex(char *out, uint64_t number)
{
	*out++ = '#';
	return digits_hex(out, number);
}

/* Writes a cell of any kind but CELL_TEXT and CELL_TIME. */
static inline char *format_number(char *out, const struct cell *cell)
{
	switch (cell->kind) {
	case CELL_U64:
	case CELL_MONO:
		return format_u64(out, cell->number);
	case CELL_S64:
		return digits_s64(out, (int64_t)cell->number);
	case CELL_HEX:
		return format_hex(out, cell->number);
	case CELL_MS:
		return format_ms(out, cell->number);
	case CELL_DEVICE:
		return format_device(out, cell->number);
	default:
		return out;
	}
}
