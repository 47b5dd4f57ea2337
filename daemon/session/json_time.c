// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/json_time.h"

#include "json_add.h"
#include "pipeline/clocks.h"

void add_time(struct json_object *object, const char *key, const struct timespec *time)
{
	char text[32];
	struct tm utc;

	gmtime_r(&time->tv_sec, &utc);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	add_string(object, key, text);
}

void add_mono_time(struct json_object *object, const char *key, uint64_t mono_ns)
{
	uint64_t real_ns = mono_ns + (uint64_t)clocks_at(mono_ns).offset_ns;

	add_time(object, key, &(struct timespec){ .tv_sec = (time_t)(real_ns / 1000000000) });
}
