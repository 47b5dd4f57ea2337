// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/report.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output/json.h"
#include "output/text.h"
#include "units.h"

enum { TOLD_MAX = 1000, SHOW_MS = 200 };

#define LINE_CLEAR "\r\033[K"

void verify_report_init(struct verify_report *report, bool json, bool strict)
{
	*report = (struct verify_report){ .strict = strict, .terminal = isatty(STDERR_FILENO) };
	for (size_t i = 0; json && i < VERIFY_WEIGHTS; i++)
		report->lists[i] = json_object_new_array();
	clock_gettime(CLOCK_MONOTONIC, &report->begin);
	report->shown = report->begin;
}

void verify_report_done(struct verify_report *report)
{
	for (size_t i = 0; i < VERIFY_WEIGHTS; i++)
		json_object_put(report->lists[i]);
}

const char *verify_file_error(int error)
{
	switch (error) {
	case -ENOENT:
		return "it is missing";
	case -ELOOP:
		return "it is a symbolic link, which is not followed";
	case -EINVAL:
		return "it is not a regular file";
	case -ENODATA:
		return "its gzip data end too early";
	case -EBADMSG:
		return "its gzip data are damaged";
	case -EMSGSIZE:
		return "a row of it is longer than 1 MiB";
	default:
		return strerror(-error);
	}
}

static void keep(struct json_object *list, const char *file, const char *what)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "file", json_escaped(file));
	json_object_object_add(object, "what", json_escaped(what));
	json_object_array_add(list, object);
}

bool verify_fails(const struct verify_report *report, enum verify_weight weight)
{
	return weight >= (report->strict ? VERIFY_CAVEAT : VERIFY_LOSS);
}

static void print(const struct verify_report *report, enum verify_weight weight, const char *file,
		  const char *what)
{
	bool bad = verify_fails(report, weight);

	fputs(bad ? style(stdout, STYLE_BAD) : "", stdout);
	put_text(stdout, file);
	fputs(bad ? style(stdout, STYLE_PLAIN) : "", stdout);
	printf(": %s", bad ? "" : "note: ");
	put_text(stdout, what);
	putchar('\n');
}

void verify_say(struct verify_report *report, enum verify_weight weight, const char *file,
		const char *format, ...)
{
	va_list arguments;
	char what[512];

	if (report->counts[weight]++ >= TOLD_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (report->lists[weight])
		keep(report->lists[weight], file, what);
	else
		print(report, weight, file, what);
}

static double seconds_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

double verify_seconds(const struct verify_report *report)
{
	return seconds_since(&report->begin);
}

/* ---- progress ---- */

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

/* The signal ends the program when this returns, as its action is the default one by then, but leaves no line behind. */
static void on_end(int number)
{
	ssize_t written = write(STDERR_FILENO, LINE_CLEAR, strlen(LINE_CLEAR));

	(void)written;
	raise(number);
}

/* Replaces one action by another. A verb that catches signals itself, and those that are ignored, stay as they are. */
static void replace_action(void (*from)(int), void (*to)(int))
{
	const struct sigaction action = { .sa_handler = to, .sa_flags = (int)SA_RESETHAND };
	struct sigaction before;

	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler == from)
			sigaction(ending[i], &action, NULL);
}

void verify_progress(struct verify_report *report, uint64_t bytes)
{
	uint64_t total = report->bytes_total, done;
	char size[32];

	report->bytes_done += bytes;
	if (!report->terminal || seconds_since(&report->shown) * 1000 < SHOW_MS)
		return;
	clock_gettime(CLOCK_MONOTONIC, &report->shown);
	done = report->bytes_done < total ? report->bytes_done : total;
	fflush(stdout);
	replace_action(SIG_DFL, on_end);
	fprintf(stderr, LINE_CLEAR "%3.0f %%  %s/s  ", total ? 100.0 * (double)done / (double)total : 0,
		iotr_format_size(size, sizeof(size),
				 (uint64_t)((double)report->bytes_done / verify_seconds(report))));
	put_text(stderr, report->file);
}

void verify_progress_end(struct verify_report *report)
{
	if (!report->terminal)
		return;
	fputs(LINE_CLEAR, stderr);
	replace_action(on_end, SIG_DFL);
}
