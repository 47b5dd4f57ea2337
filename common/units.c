// SPDX-License-Identifier: GPL-2.0-or-later
#include "units.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct unit {
	const char *name;
	uint64_t factor;
};

/* Largest first: the first unit that is not greater than the value is used. */
static const struct unit time_units[] = {
	{ "d", 86400000000000 }, { "h", 3600000000000 }, { "m", 60000000000 }, { "s", 1000000000 },
	{ "ms", 1000000 },	 { "us", 1000 },	 { "ns", 1 },
};

static const struct unit more_time_units[] = {
	{ "min", 60000000000 }, { "sec", 1000000000 }, { "\xc2\xb5s", 1000 }, /* micro sign */
};

static const struct unit size_units[] = {
	{ "EiB", 1ull << 60 },
	{ "PiB", 1ull << 50 },
	{ "TiB", 1ull << 40 },
	{ "GiB", 1ull << 30 },
	{ "MiB", 1ull << 20 },
	{ "KiB", 1ull << 10 },
	{ "B", 1 },
};

static int multiply(uint64_t number, uint64_t factor, uint64_t *ret)
{
	return __builtin_mul_overflow(number, factor, ret) ? -ERANGE : 0;
}

static int parse_digits(const char **text, uint64_t *number)
{
	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	for (*number = 0; isdigit((unsigned char)**text); (*text)++)
		if (multiply(*number, 10, number) < 0 ||
		    __builtin_add_overflow(*number, (uint64_t)(**text - '0'), number))
			return -ERANGE;
	return 0;
}

/* Parses the digits after a decimal point as a fraction of `factor`, rounded down. */
static int parse_fraction(const char **text, uint64_t factor, uint64_t *part)
{
	*part = 0;
	if (**text != '.')
		return 0;
	(*text)++;
	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	for (unsigned __int128 scale = 10; isdigit((unsigned char)**text); (*text)++) {
		*part += (uint64_t)((unsigned __int128)(**text - '0') * factor / scale);
		if (scale < (unsigned __int128)1e30)
			scale *= 10;
		else
			factor = 0;
	}
	return 0;
}

static size_t skip_number(const char *text)
{
	return strspn(text, "0123456789.");
}

/* Parses "12.5" and multiplies it by the factor. Sets `*text` to the end of the number. */
static int parse_scaled(const char **text, uint64_t factor, uint64_t *ret)
{
	uint64_t whole, part;
	int r;

	r = parse_digits(text, &whole);
	if (r < 0)
		return r;
	r = parse_fraction(text, factor, &part);
	if (r < 0)
		return r;
	if (multiply(whole, factor, &whole) < 0 || __builtin_add_overflow(whole, part, ret))
		return -ERANGE;
	return 0;
}

static const struct unit *find_unit(const struct unit *units, size_t count, const char *name,
				    size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(units[i].name) == length && !strncmp(units[i].name, name, length))
			return &units[i];
	return NULL;
}

static const struct unit *find_time_unit(const char *name, size_t length)
{
	const struct unit *unit = find_unit(time_units, LENGTH(time_units), name, length);

	return unit ?: find_unit(more_time_units, LENGTH(more_time_units), name, length);
}

int iotr_parse_duration(const char *text, uint64_t *ns)
{
	uint64_t sum = 0, part;

	do {
		const char *name = text + skip_number(text);
		size_t length = strcspn(name, "0123456789.");
		const struct unit *unit = find_time_unit(name, length);
		int r;

		if (!unit)
			return -EINVAL;
		r = parse_scaled(&text, unit->factor, &part);
		if (r < 0)
			return r;
		if (text != name)
			return -EINVAL;
		if (__builtin_add_overflow(sum, part, &sum))
			return -ERANGE;
		text = name + length;
	} while (*text);

	if (!sum)
		return -ERANGE;
	*ns = sum;
	return 0;
}

/* K, KB and KiB, in any case, mean the same. */
static int find_size_unit(const char *name, uint64_t *factor)
{
	static const char letters[] = "bkmgtpe";
	const char *letter;

	*factor = 1;
	if (!*name)
		return 0;
	letter = strchr(letters, tolower((unsigned char)*name));
	if (!letter)
		return -EINVAL;
	*factor = 1ull << (10 * (letter - letters));
	name++;
	if (!*name || (*factor > 1 && (!strcasecmp(name, "b") || !strcasecmp(name, "ib"))))
		return 0;
	return -EINVAL;
}

int iotr_parse_size(const char *text, uint64_t *bytes)
{
	const char *name = text + skip_number(text);
	uint64_t factor, size;
	int r;

	r = find_size_unit(name, &factor);
	if (r < 0)
		return r;
	r = parse_scaled(&text, factor, &size);
	if (r < 0)
		return r;
	if (text != name)
		return -EINVAL;
	if (!size)
		return -ERANGE;
	*bytes = size;
	return 0;
}

int iotr_parse_share(const char *text, struct iotr_share *share)
{
	uint64_t percent;
	const char *end = text;
	int r;

	*share = (struct iotr_share){ 0 };
	if (!strcmp(text, "infinity"))
		return 0;
	if (!strchr(text, '%'))
		return iotr_parse_size(text, &share->bytes);
	r = parse_digits(&end, &percent);
	if (r < 0)
		return r;
	if (strcmp(end, "%"))
		return -EINVAL;
	if (!percent || percent > 100)
		return -ERANGE;
	*share = (struct iotr_share){ (unsigned int)percent, UINT64_MAX };
	return 0;
}

uint64_t iotr_share_of(const struct iotr_share *share, uint64_t whole)
{
	uint64_t part;

	if (!share->percent)
		return share->bytes;
	part = (uint64_t)((unsigned __int128)whole * share->percent / 100);
	return part < share->bytes ? part : share->bytes;
}

int iotr_parse_number(const char *text, uint64_t max, uint64_t *number)
{
	uint64_t value;
	int r = parse_digits(&text, &value);

	if (r < 0)
		return r;
	if (*text)
		return -EINVAL;
	if (value > max)
		return -ERANGE;
	*number = value;
	return 0;
}

static const struct unit *fitting(const struct unit *units, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		if (value >= units[i].factor)
			return &units[i];
	return &units[count - 1];
}

/* One decimal for values below 100; none for the smallest unit. */
static void format_scaled(char *text, size_t size, uint64_t value, const struct unit *unit,
			  const char *space)
{
	double scaled = (double)value / (double)unit->factor;
	bool whole = unit->factor == 1 || scaled >= 100 || value % unit->factor == 0;

	snprintf(text, size, "%.*f%s%s", whole ? 0 : 1, scaled, space, unit->name);
}

char *iotr_format_duration(char *text, size_t size, uint64_t ns)
{
	const struct unit *unit = fitting(time_units, LENGTH(time_units), ns);
	uint64_t rest;

	if (!ns) {
		snprintf(text, size, "0s");
		return text;
	}
	if (unit->factor <= 1000000000) {
		format_scaled(text, size, ns, unit, "");
		return text;
	}
	rest = ns % unit->factor / unit[1].factor; /* from one minute on, two units are shown */
	if (rest)
		snprintf(text, size, "%llu%s %llu%s", (unsigned long long)(ns / unit->factor),
			 unit->name, (unsigned long long)rest, unit[1].name);
	else
		snprintf(text, size, "%llu%s", (unsigned long long)(ns / unit->factor), unit->name);
	return text;
}

char *iotr_format_size(char *text, size_t size, uint64_t bytes)
{
	format_scaled(text, size, bytes, fitting(size_units, LENGTH(size_units), bytes), " ");
	return text;
}
