// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cleanup.h"
#include "config/config_file.h"
#include "config/config_parse.h"
#include "log.h"
#include "nearest.h"
#include "protocol.h"
#include "config/settings.def"
#include "units.h"

#define SYSTEM	     "System " /* and a name: the section of a storage system's rules */

enum { SECTION_MAX = 64 };

static const struct config defaults = {
	.log_level = LOG_INFO,
	.runtime_dir = IOTR_RUNTIME_DIR,
	.log_dir = CONFIG_LOG_DIR,
	.state_dir = CONFIG_STATE_DIR,
	.snapshots = {
		.system = true,
		.process_ns = 300 * 1000000000ULL,
		.filesystem_ns = 3600 * 1000000000ULL,
		.root = "/",
		.depth = 3,
	},
	.resume = true,
	.queue_size = IOTR_QUEUE_SIZE_DEFAULT,
	.metrics.interval_ns = 15 * 1000000000ULL,
	.keep_free = { .percent = 5, .bytes = 1ULL << 30 },
};

struct setting {
	const char *section;
	const char *key;
	/* Returns NULL, or what is wrong with the value. */
	const char *(*parse)(const char *value, void *field);
	size_t offset; /* offset of the field in struct config */
	size_t size;
	bool text;     /* ended by a NUL */
	bool at_start; /* it is taken up when the daemon starts, and not later */
};

#define AT_START  true
#define AT_RELOAD false
#define SETTING(section, key, parse, field, when, ...)                                                   \
	{ #section, #key, config_parse_##parse, offsetof(struct config, field), sizeof(defaults.field), \
	  _Generic(defaults.field, const char *: true, default: false), AT_##when },

static const struct setting settings[] = { IOTR_SETTINGS(SETTING) };

/* The receiver of findings about what cannot be understood, with its argument. */
struct audience {
	enum config_use use; /* of the main file */
	config_critic critic;
	config_listener listener; /* NULL: nobody wants to know where values come from */
	void *userdata;
};

static void vtell(const struct audience *audience, enum config_finding finding, const char *format, va_list arguments)
{
	_cleanup_free_ char *sentence = NULL;

	if (vasprintf(&sentence, format, arguments) < 0)
		sentence = NULL;
	else
		audience->critic(finding, sentence, audience->userdata);
}

static void __attribute__((format(printf, 3, 4)))
tell(const struct audience *audience, enum config_finding finding, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vtell(audience, finding, format, arguments);
	va_end(arguments);
}

/* The file that is being read; a warning names its path and line. */
struct reader {
	const struct audience *audience;
	const char *path;
	unsigned line;
	char section[SECTION_MAX];
	bool skip; /* the section is unknown and its lines are ignored; one warning was given */
	struct config *config;
};

/* Findings go before it; what is told here holds, unless another line takes it back. */
static void tell_taken(const struct reader *reader, const char *key, const char *value)
{
	if (reader->audience->listener)
		reader->audience->listener(reader->section, key, value, reader->path, reader->line,
					   reader->audience->userdata);
}

static bool is_system(const char *section)
{
	return !strncmp(section, SYSTEM, strlen(SYSTEM));
}

static bool section_known(const char *section)
{
	if (is_system(section))
		return true;
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!strcmp(settings[i].section, section))
			return true;
	return false;
}

static void read_section(struct reader *reader, char *text)
{
	size_t length = strlen(text);

	reader->skip = true;
	if (text[length - 1] != ']' || length - 2 >= sizeof(reader->section)) {
		tell(reader->audience, CONFIG_WRONG, "%s:%u: '%s' is not a section", reader->path, reader->line,
		     text);
		return;
	}
	text[length - 1] = '\0';
	strcpy(reader->section, text + 1);
	if (is_system(reader->section) && !system_name_valid(reader->section + strlen(SYSTEM))) {
		tell(reader->audience, CONFIG_WRONG, "%s:%u: [%s]: this cannot be the name of a system", reader->path,
		     reader->line, reader->section);
		return;
	}
	reader->skip = !section_known(reader->section);
	if (reader->skip && strncmp(reader->section, "X-", 2))
		tell(reader->audience, CONFIG_UNKNOWN, "%s:%u: there is no section [%s]", reader->path,
		     reader->line, reader->section);
}

static const struct setting *find_setting(const char *section, const char *key)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!strcmp(settings[i].section, section) && !strcmp(settings[i].key, key))
			return &settings[i];
	return NULL;
}

/* An empty value restores the default. */
static void apply(struct reader *reader, const struct setting *setting, const char *value)
{
	void *field = (char *)reader->config + setting->offset;
	const char *wrong = NULL;

	if (*value)
		wrong = setting->parse(value, field);
	else
		memcpy(field, (const char *)&defaults + setting->offset, setting->size);
	if (wrong)
		tell(reader->audience, CONFIG_WRONG, "%s:%u: %s=%s: %s", reader->path, reader->line,
		     setting->key, value, wrong);
	else
		tell_taken(reader, setting->key, value);
}

static int find_kind(const char *key)
{
	for (int kind = 0; kind < SYSTEM_RULE_KINDS; kind++)
		if (!strcmp(system_rule_key(kind), key))
			return kind;
	return -ENOENT;
}

/* A key that is given again adds a rule; an empty value removes those of the system that came before. */
static void add_rule(struct reader *reader, enum system_rule_kind kind, const char *value)
{
	struct system_rules *rules = &reader->config->systems;
	const char *system = reader->section + strlen(SYSTEM), *wrong = NULL;

	if (*value)
		wrong = system_rules_add(rules, system, kind, value);
	else
		system_rules_remove(rules, system, kind);
	if (wrong)
		tell(reader->audience, CONFIG_WRONG, "%s:%u: %s=%s: %s", reader->path, reader->line, system_rule_key(kind),
		     value, wrong);
	else
		tell_taken(reader, system_rule_key(kind), value);
}

static void tell_unknown(const struct reader *reader, const char *key)
{
	struct iotr_nearest near = { .word = key };

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!strcmp(settings[i].section, reader->section))
			iotr_nearest_try(&near, settings[i].key);
	tell(reader->audience, CONFIG_UNKNOWN, near.best ? "%s:%u: [%s] has no key %s (is it %s?)" : "%s:%u: [%s] has no key %s",
	     reader->path, reader->line, reader->section, key, near.best);
}

static void set(struct reader *reader, const char *key, const char *value)
{
	const struct setting *setting = find_setting(reader->section, key);
	int kind = is_system(reader->section) ? find_kind(key) : -ENOENT;

	if (setting)
		apply(reader, setting, value);
	else if (kind >= 0)
		add_rule(reader, kind, value);
	else
		tell_unknown(reader, key);
}

static void read_assignment(struct reader *reader, char *text)
{
	char *equals = strchr(text, '=');

	if (!equals) {
		tell(reader->audience, CONFIG_WRONG, "%s:%u: '%s' is not KEY=VALUE", reader->path, reader->line,
		     text);
		return;
	}
	if (!*reader->section) {
		tell(reader->audience, CONFIG_WRONG, "%s:%u: '%s' stands before any section", reader->path,
		     reader->line, text);
		return;
	}
	*equals = '\0';
	set(reader, config_file_strip(text), config_file_strip(equals + 1));
}

static void read_line(unsigned number, char *text, void *userdata)
{
	struct reader *reader = userdata;

	reader->line = number;
	if (!text)
		tell(reader->audience, CONFIG_WRONG, "%s:%u: " CONFIG_FILE_NO_TEXT, reader->path, number);
	else if (*text == '[')
		read_section(reader, text);
	else if (!reader->skip)
		read_assignment(reader, text);
}

/* If `*why` is set, it explains the failure better than the error number. */
static int read_file(const char *path, const struct audience *audience, enum config_use use, struct config *config,
		     const char **why)
{
	struct reader reader = { .audience = audience, .path = path, .config = config };
	_cleanup_fclose_ FILE *file = NULL;
	int r = config_file_open(AT_FDCWD, path, use, true, &file, why);

	return r < 0 ? r : config_file_lines(file, read_line, &reader);
}

/* It lies where the daemon reads it, whichever the main file is. */
static void read_drop_in(const char *path, const struct audience *audience, struct config *config)
{
	const char *why = NULL;
	int r = read_file(path, audience, CONFIG_DECIDES, config, &why);

	if (r < 0)
		tell(audience, CONFIG_WRONG, "%s: %s", path, why ?: strerror(-r));
}

static int is_drop_in(const struct dirent *entry)
{
	return !fnmatch("*.conf", entry->d_name, FNM_PERIOD);
}

static void read_drop_ins(const char *path, const struct audience *audience, struct config *config)
{
	_cleanup_free_ struct dirent **entries = NULL;
	_cleanup_free_ char *folder = NULL;
	int count;

	if (asprintf(&folder, "%s.d", path) < 0) {
		folder = NULL;
		return;
	}
	count = scandir(folder, &entries, is_drop_in, alphasort);
	for (int i = 0; i < count; i++) {
		_cleanup_free_ struct dirent *entry = entries[i];
		_cleanup_free_ char *file = NULL;

		if (asprintf(&file, "%s/%s", folder, entry->d_name) < 0)
			continue;
		read_drop_in(file, audience, config);
	}
	if (count < 0 && errno != ENOENT)
		tell(audience, CONFIG_WRONG, "%s: %s", folder, strerror(errno));
}

static int examine(const char *path, bool required, struct config *config, const struct audience *audience)
{
	const char *why = NULL;
	int r;

	*config = defaults;
	r = read_file(path, audience, audience->use, config, &why);
	if (r < 0 && (required || r != -ENOENT)) {
		tell(audience, CONFIG_REFUSED, "%s: %s", path, why ?: strerror(-r));
		return r;
	}
	read_drop_ins(path, audience, config);
	return 0;
}

int config_examine(const char *path, bool required, enum config_use use, struct config *config, config_critic critic,
		   void *userdata)
{
	return examine(path, required, config, &(struct audience){ use, critic, NULL, userdata });
}

int config_follow(const char *path, bool required, struct config *config, config_critic critic,
		  config_listener listener, void *userdata)
{
	return examine(path, required, config, &(struct audience){ CONFIG_DECIDES, critic, listener, userdata });
}

static void log_finding(enum config_finding finding, const char *sentence, void *userdata)
{
	(void)userdata;
	if (finding == CONFIG_REFUSED)
		log_message(ABOUT(CONFIG_WRONG), "%s", sentence);
	else
		log_message(ABOUT(CONFIG_UNKNOWN), "%s, ignored", sentence);
}

int config_load(const char *path, bool required, struct config *config)
{
	return config_examine(path, required, CONFIG_DECIDES, config, log_finding, NULL);
}

static bool same(const struct setting *setting, const struct config *left, const struct config *right)
{
	const char *a = (const char *)left + setting->offset, *b = (const char *)right + setting->offset;

	return setting->text ? !strcmp(a, b) : !memcmp(a, b, setting->size);
}

void config_tell_later(const struct config *in_force, const struct config *fresh, config_critic critic, void *userdata)
{
	const struct audience audience = { CONFIG_DECIDES, critic, NULL, userdata };

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (settings[i].at_start && !same(&settings[i], in_force, fresh))
			tell(&audience, CONFIG_LATER, "[%s] %s has changed, and is taken up when the daemon starts next",
			     settings[i].section, settings[i].key);
}
