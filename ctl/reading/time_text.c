// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/time_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "units.h"

#define NS 1000000000UL

static const char shape[] = "dddd-dd-dd dd:dd:dd.ddddddddd";

/* Whether it is a timestamp, or the beginning of one; its length is at least that of a day. */
static bool has_shape(const char *text, size_t length)
{
	if (length < strlen("dddd-dd-dd") || length > strlen(shape))
		return false;
	for (size_t i = 0; i < length; i++)
		if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return false;
	return true;
}

static uint64_t number(const char *text, size_t digits)
{
	uint64_t sum = 0;

	while (digits--)
		sum = sum * 10 + (uint64_t)(*text++ - '0');
	return sum;
}

/* Days since 1970 in the Gregorian calendar, with years that begin in March, so that the leap day is the last. */
static uint64_t days_of(uint64_t year, uint64_t month, uint64_t day)
{
	uint64_t shifted = month > 2 ? month - 3 : month + 9;

	year -= month <= 2;
	return year * 365 + year / 4 - year / 100 + year / 400 + (153 * shifted + 2) / 5 + day - 1 - 719468;
}

bool time_text_ns(struct trace_text timestamp, uint64_t *ns)
{
	const char *at = timestamp.at;
	uint64_t days, seconds;

	if (timestamp.length != strlen(shape) || !has_shape(at, timestamp.length))
		return false;
	days = days_of(number(at, 4), number(at + 5, 2), number(at + 8, 2));
	seconds = number(at + 11, 2) * 3600 + number(at + 14, 2) * 60 + number(at + 17, 2);
	*ns = (days * 86400 + seconds) * NS + number(at + 20, 9);
	return true;
}

/*
 * Whether a calendar and a clock show such a time, as far as it is written out: a typing error is told, and is not a time
 * at which there was nothing.
 */
static bool exists(const char *text, size_t length)
{
	static const struct {
		uint8_t at, least, most;
	} parts[] = { { 5, 1, 12 }, { 8, 1, 31 }, { 11, 0, 23 }, { 14, 0, 59 }, { 17, 0, 59 } };
	uint64_t year = number(text, 4), month = number(text + 5, 2);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && parts[i].at + 2U <= length; i++) {
		uint64_t part = number(text + parts[i].at, 2);

		if (part < parts[i].least || part > parts[i].most)
			return false;
	}
	return number(text + 8, 2) <= days_of(year + month / 12, month % 12 + 1, 1) - days_of(year, month, 1);
}

static void format(uint64_t ns, char ret[TIME_TEXT_SIZE])
{
	time_t seconds = (time_t)(ns / NS);
	struct tm parts;

	gmtime_r(&seconds, &parts);
	strftime(ret, TIME_TEXT_SIZE, "%Y-%m-%d %H:%M:%S", &parts);
	snprintf(ret + strlen(ret), TIME_TEXT_SIZE - strlen(ret), ".%09" PRIu64, ns % NS);
}

int time_text_parse(const char *text, const char *started, uint64_t now_ns, char ret[TIME_TEXT_SIZE])
{
	uint64_t from = now_ns, distance;
	size_t length;

	if (*text == '+' && !time_text_ns((struct trace_text){ started, strlen(started) }, &from))
		return -EINVAL;
	if (*text == '+' || *text == '-') {
		if (iotr_parse_duration(text + 1, &distance) < 0 || (*text == '-' && distance > from))
			return -EINVAL;
		format(*text == '+' ? from + distance : from - distance, ret);
		return 0;
	}
	if (strlen(text) > 4 && text[2] == ':' && strlen(started) >= 10)
		length = (size_t)snprintf(ret, TIME_TEXT_SIZE, "%.10s %s", started, text);
	else
		length = (size_t)snprintf(ret, TIME_TEXT_SIZE, "%s", text);
	if (length >= TIME_TEXT_SIZE)
		return -EINVAL;
	if (length > 10 && ret[10] == 'T')
		ret[10] = ' ';
	if (length && ret[length - 1] == 'Z')
		ret[--length] = '\0';
	return has_shape(ret, length) && exists(ret, length) ? 0 : -EINVAL;
}
