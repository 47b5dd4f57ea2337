// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "anonymize/trace.h"
#include "anonymize_key.h"
#include "anonymize_manifest.h"
#include "cleanup.h"
#include "command_line/options.h"
#include "output/complain.h"
#include "output/interrupt.h"
#include "output/json.h"
#include "output/new_folder.h"
#include "output/text.h"
#include "units.h"
#include "verbs/problems.h"
#include "verify/folder.h"
#include "verify/manifest.h"
#include "verify/verify.h"

#define FOLDER_MODE 0750

DEFINE_CLEANUP(DIR *, closedir);
DEFINE_CLEANUP(struct iotr_anonymizer *, iotr_anonymizer_free);

static bool has_open_segment(const struct verify_trace *trace)
{
	for (size_t i = 0; i < trace->segment_count; i++)
		if (trace->segments[i].state == VERIFY_OPEN)
			return true;
	return false;
}

/* Reads the whole trace, and prints why it cannot be anonymised. */
static int check(const char *path, struct verify_trace *trace, struct verify_report *report)
{
	bool read = verify_manifest_read(trace, report);

	if (read && json_object_get_boolean(member_of(trace->json, IOTR_MANIFEST_ANONYMIZED))) {
		complain(NULL, "%s is anonymised already", path);
		return EXIT_FAILED;
	}
	if (read && (trace->running || has_open_segment(trace))) {
		complain("Stop it first; after the end of a daemon, the next one closes what it left.",
			 "the session of %s has not ended", path);
		return EXIT_FAILED;
	}
	if (!read)
		return complain_no_trace(path, report);
	verify_contents(trace, report);
	verify_progress_end(report);
	if (complain_problems(report) == EXIT_DONE)
		return EXIT_DONE;
	/* Its copy would look intact. */
	complain(NULL, "%s differs from its manifest, and is not anonymised", path);
	return EXIT_FAILED;
}

static int load_key(struct json_object *parameters, struct iotr_anonymizer **ret)
{
	const char *path = text_of(parameters, "key", "");
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];
	char message[512] = "no random numbers";
	int r;

	if (*path)
		r = iotr_anonymize_key_read(path, key, message, sizeof(message));
	else
		r = getrandom(key, sizeof(key), 0) == sizeof(key) ? 0 : -EIO;
	if (r < 0) {
		complain(r == -ENOENT ? "iotracerd makes it when it first starts; --key names another." :
			 r == -EACCES ? "Root may read it." : NULL,
			 "key: %s", message);
		return r == -EACCES ? EXIT_DENIED : EXIT_FAILED;
	}
	r = iotr_anonymizer_new(key, ret);
	explicit_bzero(key, sizeof(key));
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static bool is_empty(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closedirp) DIR *folder = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			return false;
	return folder;
}

/* Returns a descriptor, or -1; `made`: there was no such folder. */
static int make_output(const char *path, bool *made)
{
	_cleanup_close_ int fd = -1;

	*made = mkdir(path, FOLDER_MODE) == 0;
	if (*made || errno == EEXIST)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		complain(NULL, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (!is_empty(fd)) {
		complain("Give an empty folder, or one that does not exist yet.", "%s is not empty", path);
		return -1;
	}
	return take_fd(&fd);
}

/* Files that the manifest does not know: their content is unknown, so they are left out. */
static struct json_object *find_left_out(struct verify_trace *trace)
{
	struct json_object *left_out = json_object_new_array();
	struct verify_report report;

	verify_report_init(&report, true, false);
	verify_folder(trace, &report);
	for (size_t i = 0; i < count_of(report.lists[VERIFY_NOTE]); i++) {
		struct json_object *note = json_object_array_get_idx(report.lists[VERIFY_NOTE], i);

		json_object_array_add(left_out, json_object_new_string(text_of(note, "file", "")));
	}
	verify_report_done(&report);
	return left_out;
}

static void print_document(const char *path, const struct anonymize_totals *totals)
{
	_cleanup_json_ struct json_object *document = json_object_new_object();

	json_object_object_add(document, "output", json_escaped(path));
	json_object_object_add(document, "segments", json_object_new_uint64(totals->segments));
	json_object_object_add(document, "rows", json_object_new_uint64(totals->rows));
	json_object_object_add(document, "snapshots", json_object_new_uint64(totals->snapshots));
	json_object_object_add(document, "bytes", json_object_new_uint64(totals->bytes));
	json_object_object_add(document, "stored_bytes", json_object_new_uint64(totals->stored));
	json_object_object_add(document, "left_out", json_object_get(totals->left_out));
	print_json(document);
}

static void print_summary(const char *path, const struct anonymize_totals *totals)
{
	char rows[32], size[32];

	put_text(stdout, path);
	printf(": wrote %" PRIu64 " segments, %s rows, ", totals->segments,
	       format_count(rows, sizeof(rows), totals->rows));
	if (totals->snapshots)
		printf("%" PRIu64 " files of snapshots, ", totals->snapshots);
	puts(iotr_format_size(size, sizeof(size), totals->stored));
	fflush(stdout);
	for (size_t i = 0; i < count_of(totals->left_out); i++) {
		struct json_object *file = json_object_array_get_idx(totals->left_out, i);

		fputs("iotracectl: not copied, as the names in it are not known: ", stderr);
		put_text(stderr, json_object_get_string(file));
		putc('\n', stderr);
	}
}

static int anonymize(struct context *context, struct json_object *parameters, struct verify_trace *trace,
		     const char *to)
{
	_cleanup_(iotr_anonymizer_freep) struct iotr_anonymizer *anonymizer = NULL;
	_cleanup_json_ struct json_object *left_out = find_left_out(trace);
	struct anonymize_totals totals = { .left_out = left_out };
	_cleanup_close_ int fd = -1;
	int code = load_key(parameters, &anonymizer);
	bool made;

	if (code != EXIT_DONE)
		return code;
	interrupt_catch();
	fd = make_output(to, &made);
	if (fd < 0)
		return EXIT_FAILED;
	code = anonymize_trace(anonymizer, trace, fd, &totals);
	if (code != EXIT_DONE) {
		folder_remove(to, made); /* part of a trace would look like one */
		return code;
	}
	if (context->json)
		print_document(to, &totals);
	else
		print_summary(to, &totals);
	return EXIT_DONE;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_close_ int folder = verify_open(argv[0]);
	struct verify_trace trace = { .folder_fd = folder };
	struct verify_report report;
	int code;

	(void)argc;
	if (folder < 0)
		return EXIT_FAILED;
	verify_report_init(&report, true, false);
	code = check(argv[0], &trace, &report);
	if (code == EXIT_DONE)
		code = anonymize(context, parameters, &trace, argv[1]);
	verify_report_done(&report);
	verify_trace_done(&trace);
	return code;
}

static const struct option_row own_rows[] = {
	{ .name = "key",
	  .kind = OPTION_PATH,
	  .parameter = "key",
	  .value = "FILE",
	  .help = "use the key in this file, such as " IOTR_ANONYMIZE_KEY_PATH ", instead of a new one" },
};
static const struct option_group own_options = OPTION_GROUP("Key", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_anonymize = {
	.name = "anonymize",
	.run = run,
	.group = VERBS_TRACES,
	.synopsis = "DIR OUT [--key FILE]",
	.summary = "copy a trace, with keyed hashes for names and addresses",
	.options = options,
	.arguments_min = 2,
	.arguments_max = 2,
};
