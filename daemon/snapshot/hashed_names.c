// SPDX-License-Identifier: GPL-2.0-or-later
#include "hashed_names.h"

#include <errno.h>
#include <stdlib.h>

#include "escape.h"

struct buffer {
	char *text;
	size_t size;
};

struct hashed_names {
	struct iotr_anonymizer *hashes;
	struct buffer escaped, hashed;
};

/* As for the columns of streams that hold such names: see iotr_type_privacy(). */
static const enum iotr_privacy privacies[] = {
	[JOB_NAME_PATH] = IOTR_PRIVACY_PATH,	     [JOB_NAME_COMMAND] = IOTR_PRIVACY_NAME,
	[JOB_NAME_COMMAND_LINE] = IOTR_PRIVACY_TEXT, [JOB_NAME_CGROUP] = IOTR_PRIVACY_PATH,
	[JOB_NAME_HOST] = IOTR_PRIVACY_TEXT,	     [JOB_NAME_LINK] = IOTR_PRIVACY_NAME,
};

int hashed_names_new(const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], struct hashed_names **ret)
{
	struct hashed_names *names = calloc(1, sizeof(*names));
	int r = names ? iotr_anonymizer_new(key, &names->hashes) : -ENOMEM;

	if (r < 0) {
		free(names);
		return r;
	}
	*ret = names;
	return 0;
}

void hashed_names_free(struct hashed_names *names)
{
	if (!names)
		return;
	iotr_anonymizer_free(names->hashes);
	free(names->escaped.text);
	free(names->hashed.text);
	free(names);
}

static bool has_room(struct buffer *buffer, size_t size)
{
	char *grown;

	if (size <= buffer->size)
		return true;
	grown = realloc(buffer->text, size);
	if (!grown)
		return false;
	*buffer = (struct buffer){ grown, size };
	return true;
}

static size_t most_of(enum iotr_privacy privacy, size_t length)
{
	size_t most = IOTR_ANONYMIZED_MAX(length);

	return privacy == IOTR_PRIVACY_PATH && most > IOTR_ANONYMIZED_PATH ? IOTR_ANONYMIZED_PATH : most;
}

const char *hashed_name(enum job_name kind, const char *text, size_t length, size_t *new_length,
			void *userdata)
{
	struct hashed_names *names = userdata;
	enum iotr_privacy privacy = privacies[kind];

	*new_length = 0;
	if (!length || !has_room(&names->escaped, ESCAPE_MAX(length)))
		return "";
	length = kind == JOB_NAME_COMMAND_LINE ? escape_words(text, length, names->escaped.text) :
						 escape_field(text, length, names->escaped.text);
	if (!has_room(&names->hashed, most_of(privacy, length)))
		return "";
	*new_length = iotr_anonymize(names->hashes, privacy, names->escaped.text, length,
				     names->hashed.text);
	return names->hashed.text;
}
