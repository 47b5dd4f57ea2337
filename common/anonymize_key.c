// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize_key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "cleanup.h"

enum {
	TEXT_SIZE = IOTR_ANONYMIZE_KEY_TEXT,
	KEY_MODE = 0600,
	FOLDER_MODE = 0700,
};

struct complaint {
	const char *path;
	char *message;
	size_t size;
};

__attribute__((format(printf, 3, 4))) static int fail(const struct complaint *complaint, int error,
						      const char *format, ...)
{
	va_list arguments;
	int length = snprintf(complaint->message, complaint->size, "%s: ", complaint->path);

	if (length < 0 || (size_t)length >= complaint->size)
		return error;
	va_start(arguments, format);
	vsnprintf(complaint->message + length, complaint->size - (size_t)length, format, arguments);
	va_end(arguments);
	return error;
}

static int fail_errno(const struct complaint *complaint, const char *what)
{
	int error = -errno;

	return fail(complaint, error, "%s: %s", what, strerror(-error));
}

/* ---- reading ---- */

static int digit(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

int iotr_anonymize_key_decode(const char text[IOTR_ANONYMIZE_KEY_TEXT], uint8_t key[IOTR_ANONYMIZE_KEY_SIZE])
{
	uint8_t any = 0;

	for (size_t i = 0; i < IOTR_ANONYMIZE_KEY_SIZE; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EBADMSG;
		key[i] = (uint8_t)(high << 4 | low);
		any |= key[i];
	}
	return any && text[TEXT_SIZE - 1] == '\n' ? 0 : -EBADMSG;
}

/* The key must be readable by its owner alone: with a key that others know, hashes hide nothing from them. */
static int check_owner(int fd, const struct complaint *complaint)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return fail_errno(complaint, "cannot be read");
	if (!S_ISREG(status.st_mode))
		return fail(complaint, -EBADMSG, "is not a file");
	if (status.st_uid && status.st_uid != geteuid())
		return fail(complaint, -EPERM, "belongs to user %u, and not to root", status.st_uid);
	if (status.st_mode & 077)
		return fail(complaint, -EPERM,
			    "others than its owner may read or write it (mode %04o): a key that others know "
			    "hides nothing from them",
			    status.st_mode & 07777);
	return 0;
}

static int read_key(int fd, uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], const struct complaint *complaint)
{
	char text[TEXT_SIZE + 1];
	ssize_t size = read(fd, text, sizeof(text));
	int r;

	if (size < 0)
		return fail_errno(complaint, "cannot be read");
	r = size == TEXT_SIZE ? iotr_anonymize_key_decode(text, key) : -EBADMSG;
	explicit_bzero(text, sizeof(text));
	if (r < 0)
		return fail(complaint, r, "is damaged: a key is 64 hexadecimal digits and a line end");
	return 0;
}

int iotr_anonymize_key_read(const char *path, uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], char *message,
			    size_t message_size)
{
	const struct complaint complaint = { path, message, message_size };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int r;

	if (fd < 0)
		return fail_errno(&complaint, "cannot be opened");
	r = check_owner(fd, &complaint);
	return r < 0 ? r : read_key(fd, key, &complaint);
}

/* ---- making ---- */

void iotr_anonymize_key_encode(const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], char text[IOTR_ANONYMIZE_KEY_TEXT])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < IOTR_ANONYMIZE_KEY_SIZE; i++) {
		text[2 * i] = digits[key[i] >> 4];
		text[2 * i + 1] = digits[key[i] & 15];
	}
	text[TEXT_SIZE - 1] = '\n';
}

static int write_new(int fd, const struct complaint *complaint)
{
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];
	char text[TEXT_SIZE];
	ssize_t written;

	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return fail_errno(complaint, "no random numbers");
	iotr_anonymize_key_encode(key, text);
	written = write(fd, text, sizeof(text));
	explicit_bzero(key, sizeof(key));
	explicit_bzero(text, sizeof(text));
	if (written >= 0 && written != sizeof(text))
		errno = ENOSPC;
	if (written != sizeof(text) || fsync(fd) < 0)
		return fail_errno(complaint, "cannot be written");
	return 0;
}

/* The key gets its name only when it is complete, and never replaces another one. */
static int make(int folder, const struct complaint *complaint)
{
	_cleanup_close_ int fd = -1;
	char temporary[64];
	int r;

	snprintf(temporary, sizeof(temporary), IOTR_ANONYMIZE_KEY_NAME ".%d.tmp", gettid());
	unlinkat(folder, temporary, 0);
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, KEY_MODE);
	if (fd < 0)
		return fail_errno(complaint, "cannot be created");
	r = write_new(fd, complaint);
	if (!r && linkat(folder, temporary, folder, IOTR_ANONYMIZE_KEY_NAME, 0) < 0 && errno != EEXIST)
		r = fail_errno(complaint, "cannot be created");
	unlinkat(folder, temporary, 0);
	fsync(folder);
	return r;
}

int iotr_anonymize_key_ensure(const char *folder, uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], char *message,
			      size_t message_size)
{
	char path[PATH_MAX + sizeof(IOTR_ANONYMIZE_KEY_NAME) + 1];
	const struct complaint complaint = { path, message, message_size };
	_cleanup_close_ int fd = -1;
	int r = 0;

	snprintf(path, sizeof(path), "%s/" IOTR_ANONYMIZE_KEY_NAME, folder);
	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
		if (mkdir(folder, FOLDER_MODE) < 0 && errno != EEXIST)
			return fail_errno(&complaint, "its folder cannot be created");
		fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = fd < 0 ? fail_errno(&complaint, "its folder cannot be opened") : make(fd, &complaint);
	}
	return r < 0 ? r : iotr_anonymize_key_read(path, key, message, message_size);
}

int iotr_anonymize_key_choose(const char *state_dir, bool host, uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], char *message,
			      size_t message_size)
{
	if (host)
		return iotr_anonymize_key_ensure(state_dir, key, message, message_size) < 0 ? -EIO : 0;
	if (getrandom(key, IOTR_ANONYMIZE_KEY_SIZE, 0) == IOTR_ANONYMIZE_KEY_SIZE)
		return 0;
	snprintf(message, message_size, "no random numbers for a key");
	return -EIO;
}
