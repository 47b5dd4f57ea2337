// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/session_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "config/config_file.h"
#include "config/session_words.h"
#include "spec/definition.h"
#include "spec/start_arguments.h"

#define FOLDER	"sessions.d"
#define SECTION "[Session]"
#define SUFFIX	".session"

/* Who hears what is wrong. */
struct audience {
	enum config_use use;
	config_critic critic;
	void *userdata;
};

/* The file that is being read. */
struct reader {
	const struct audience *audience;
	const char *path;
	unsigned line;
	bool in_section, foreign; /* foreign: another section, whose lines are skipped */
	bool wrong;
	struct json_object *parameters;
	struct json_object *lines; /* of each parameter, where it was set last */
};

static void __attribute__((format(printf, 3, 4)))
tell(struct reader *reader, unsigned line, const char *format, ...)
{
	_cleanup_free_ char *what = NULL, *sentence = NULL;
	va_list arguments;
	int r;

	reader->wrong = true;
	va_start(arguments, format);
	r = vasprintf(&what, format, arguments);
	va_end(arguments);
	if (r < 0) {
		what = NULL;
		return;
	}
	r = line ? asprintf(&sentence, "%s:%u: %s", reader->path, line, what) :
		   asprintf(&sentence, "%s: %s", reader->path, what);
	if (r < 0)
		sentence = NULL;
	else
		reader->audience->critic(CONFIG_WRONG, sentence, reader->audience->userdata);
}

/* ---- lines ---- */

static void read_section(struct reader *reader, const char *text)
{
	reader->in_section = !strcmp(text, SECTION);
	reader->foreign = !reader->in_section;
	if (reader->foreign && strncmp(text, "[X-", 3))
		tell(reader, reader->line, "there is no section '%.64s': all keys stand in " SECTION, text);
}

static void tell_unknown(struct reader *reader, const char *key, const char *near)
{
	if (!strcmp(key, "pid") || !strcmp(key, "tree"))
		tell(reader, reader->line, "%s: processes have other numbers each time: name them by command, unit or cgroup",
		     key);
	else
		tell(reader, reader->line, "there is no key '%.64s'%s%s%s: keys are the options of 'iotracectl start'", key,
		     near ? ", did you mean '" : "", near ?: "", near ? "'?" : "");
}

static void set(struct reader *reader, const char *key, const char *value)
{
	const struct session_word *word;
	const char *near = NULL, *wrong;

	word = session_word_find(key, &near);
	if (!word) {
		tell_unknown(reader, key, near);
		return;
	}
	wrong = session_word_take(word, value, reader->parameters);
	if (wrong)
		tell(reader, reader->line, "%s=%.256s: %s", key, value, wrong);
	json_object_object_add(reader->lines, session_word_parameter(word), json_object_new_int64(reader->line));
}

static void read_line(unsigned number, char *text, void *userdata)
{
	struct reader *reader = userdata;
	char *equals;

	reader->line = number;
	if (!text) {
		tell(reader, number, CONFIG_FILE_NO_TEXT);
		return;
	}
	if (*text == '[') {
		read_section(reader, text);
		return;
	}
	if (reader->foreign)
		return;
	equals = strchr(text, '=');
	if (!equals) {
		tell(reader, number, "'%.64s' is not KEY=VALUE", text);
	} else if (!reader->in_section) {
		tell(reader, number, "'%.64s' stands before the section " SECTION, text);
	} else {
		*equals = '\0';
		set(reader, config_file_strip(text), config_file_strip(equals + 1));
	}
}

/* ---- a file ---- */

/* The definition as it was declared, but for its filters, which may change while it runs. */
static char *declaration(const struct iotr_session_spec *spec)
{
	_cleanup_json_ struct json_object *definition = definition_note(spec);

	const char *text;

	json_object_object_del(definition, "filters");
	text = json_object_to_json_string_ext(definition, JSON_C_TO_STRING_PLAIN);
	return text ? strdup(text) : NULL;
}

/* Start's own checks know parameters alone. */
static void tell_refused(struct reader *reader, const struct engine_error *error)
{
	unsigned line = (unsigned)json_object_get_int64(json_object_object_get(reader->lines, error->parameter));

	tell(reader, line, "%s: %s", session_word_of(error->parameter), error->message);
}

/* Turns the lines into a definition; false: something is wrong. */
static bool interpret(struct reader *reader, FILE *file, const char *name, struct iotr_session_spec *spec)
{
	struct engine_error error = { 0 };
	int r = config_file_lines(file, read_line, reader);

	if (r < 0)
		tell(reader, 0, "%s", strerror(-r));
	if (!reader->wrong && !json_object_object_get_ex(reader->parameters, "streams", NULL))
		tell(reader, 0, "no stream is recorded: write vfs=yes, block=yes or all=yes in " SECTION);
	if (reader->wrong)
		return false;
	json_object_object_add(reader->parameters, "name", json_object_new_string(name));
	r = start_arguments_read(reader->parameters, spec, &error);
	if (r < 0) {
		tell_refused(reader, &error);
		return false;
	}
	spec->declared = declaration(spec);
	return spec->declared;
}

static bool read_file(int folder, const char *file, const char *path, const char *name, const struct audience *audience,
		      struct iotr_session_spec *spec)
{
	_cleanup_json_ struct json_object *parameters = json_object_new_object(), *lines = json_object_new_object();
	struct reader reader = { .audience = audience, .path = path, .parameters = parameters, .lines = lines };
	_cleanup_fclose_ FILE *stream = NULL;
	const char *why = NULL;
	int r;

	if (!iotr_session_name_valid(name)) {
		tell(&reader, 0, "'%.80s' cannot be the name of a session: it has up to %d letters, digits, '_', '.' and '-'", name,
		     IOTR_SESSION_NAME_MAX);
		return false;
	}
	r = config_file_open(folder, file, audience->use, false, &stream, &why);
	if (r < 0) {
		tell(&reader, 0, "%s", why ?: strerror(-r));
		return false;
	}
	return interpret(&reader, stream, name, spec);
}

bool session_file_is(const char *path)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	const char *why = NULL;
	size_t size = 0;

	if (config_file_open(AT_FDCWD, path, CONFIG_LOOKED_AT, true, &file, &why) < 0)
		return false;
	while (getline(&line, &size, file) >= 0)
		if (!strcmp(config_file_strip(line), SECTION))
			return true;
	return false;
}

/* Whether the file lies in a folder of that name, and so is what a daemon reads, or will. */
static bool is_in_place(const char *path)
{
	_cleanup_free_ char *copy = strdup(path), *folder = copy ? realpath(dirname(copy), NULL) : NULL;
	const char *slash = folder ? strrchr(folder, '/') : NULL;

	return slash && !strcmp(slash + 1, FOLDER);
}

void session_file_check(const char *path, config_critic critic, void *userdata)
{
	const struct audience audience = { is_in_place(path) ? CONFIG_DECIDES : CONFIG_LOOKED_AT, critic, userdata };
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec = { 0 };

	read_file(AT_FDCWD, path, path, IOTR_SESSION_NAME, &audience, &spec);
}

/* ---- a folder ---- */

void session_files_folder(const char *config, char folder[PATH_MAX])
{
	const char *slash = strrchr(config, '/');

	if (snprintf(folder, PATH_MAX, "%.*s" FOLDER, slash ? (int)(slash - config) + 1 : 0, config) >= PATH_MAX)
		*folder = '\0';
}

static int is_session(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name), suffix = strlen(SUFFIX);

	return length > suffix && entry->d_name[0] != '.' && !strcmp(entry->d_name + length - suffix, SUFFIX);
}

/* Returns whether the file was looked at, whatever is in it. */
static bool read_entry(int folder, const char *path, const char *file, const struct audience *audience,
		       session_file_handler found)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec = { 0 };
	_cleanup_free_ char *whole = NULL, *name = strndup(file, strlen(file) - strlen(SUFFIX));
	bool usable;

	if (asprintf(&whole, "%s/%s", path, file) < 0)
		whole = NULL;
	if (!whole || !name)
		return false;
	usable = read_file(folder, file, whole, name, audience, &spec);
	found(name, usable ? &spec : NULL, audience->userdata);
	return true;
}

static void tell_folder(const struct audience *audience, const char *path, const char *what)
{
	_cleanup_free_ char *sentence = NULL;

	if (asprintf(&sentence, "%s: %s", path, what) < 0)
		sentence = NULL;
	else
		audience->critic(CONFIG_WRONG, sentence, audience->userdata);
}

bool session_files_read(const char *path, config_critic critic, session_file_handler found, void *userdata)
{
	_cleanup_close_ int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct audience audience = { CONFIG_DECIDES, critic, userdata };
	struct dirent **entries = NULL;
	int count = folder < 0 ? -1 : scandirat(folder, ".", &entries, is_session, alphasort);
	bool all = count <= SESSION_FILES_MAX && (count >= 0 || errno == ENOENT);

	if (count < 0 && !all)
		tell_folder(&audience, path, strerror(errno));
	if (count > SESSION_FILES_MAX)
		tell_folder(&audience, path, "there are more than 256 files of sessions, of which the first are read");
	for (int i = 0; i < count; i++) {
		if (i < SESSION_FILES_MAX)
			all &= read_entry(folder, path, entries[i]->d_name, &audience, found);
		free(entries[i]);
	}
	free(entries);
	return all;
}
