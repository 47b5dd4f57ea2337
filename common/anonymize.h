/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names replaced by keyed hashes: what identifies somebody goes, what a reader can do with it stays.
 * The same name and key give the same hash, wherever the name stands: in rows of any stream, in
 * snapshots, in a manifest. Without the key nobody can try whether a hash is that of a name.
 *
 * A hash is HMAC-SHA256 cut to 80 bits, as 16 letters and digits (base32, lower case). All texts are
 * taken as rows hold them: escaped by escape.h. Raw bytes are to be escaped first, or their hash is
 * not that of the rows. Results hold no comma and no quote, and need no escaping.
 *
 * What becomes of a text is a function of that text and the key alone, so that a trace which is
 * anonymised later has the very rows that it would have had at once.
 *
 * An anonymizer serves one thread at a time. Its cache is bounded, and changes no result.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	IOTR_ANONYMIZE_KEY_SIZE = 32,
	IOTR_ANONYMIZED_HASH = 16,	    /* bytes of a hash */
	IOTR_ANONYMIZED_NAME = 16 + 1 + 8,  /* and at most of a name: with its extension */
	IOTR_ANONYMIZED_BETWEEN = 4 + 10,   /* between two names: " -> " and " (deleted)" */
	IOTR_ANONYMIZE_COMPONENTS_MAX = 4700, /* deeper than any path that the kernel takes */
	/* Most bytes that any path becomes. */
	IOTR_ANONYMIZED_PATH = IOTR_ANONYMIZE_COMPONENTS_MAX * (IOTR_ANONYMIZED_NAME + IOTR_ANONYMIZED_BETWEEN) + 64,
};

/* Most bytes that a text of this length becomes. */
#define IOTR_ANONYMIZED_MAX(length) (9 * (length) + 32)

/* What a text is, and so what becomes of it. */
enum iotr_privacy {
	/* As it is: words of the kernel and of this program. */
	IOTR_PRIVACY_PUBLIC,

	/*
	 * A hash of the whole: command lines, names of hosts.
	 */
	IOTR_PRIVACY_TEXT,

	/*
	 * One component of a path, a command, a unit: the hash of the whole name, and behind it its
	 * extension where that is one of extensions.h. Others go, since a name may stand there
	 * (john.smith). "." and ".." stay.
	 */
	IOTR_PRIVACY_NAME,

	/*
	 * Each component as a name; slashes, " -> ", " (deleted)" at the end and "..." at the
	 * beginning stay. With IOTR_ANONYMIZE_COMPONENTS_MAX slashes and arrows or more it becomes
	 * ".../" and a hash of the whole.
	 */
	IOTR_PRIVACY_PATH,

	/*
	 * The hash of an IP address, as inet_ntop() writes it, with ".ipv4" or ".ipv6", or what tells
	 * about nobody: ".loopback", ".any". Of a Unix socket the path, or '@' and a path.
	 */
	IOTR_PRIVACY_ADDRESS,

	/*
	 * The value of an option: numbers (7, 1:30, 0.500000) and words of the kernel (cubic) stay, of
	 * all else, as names of devices and bytes in hex, which may hold addresses, the hash.
	 */
	IOTR_PRIVACY_VALUE,

	IOTR_PRIVACY_COUNT,
};

struct iotr_anonymizer;

/* The key is copied. -ENOMEM. */
int iotr_anonymizer_new(const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], struct iotr_anonymizer **ret);

/* Forgets the key. Takes NULL. */
void iotr_anonymizer_free(struct iotr_anonymizer *anonymizer);

/*
 * Writes what the text becomes and returns how many bytes that is, without a NUL. There must be room
 * for IOTR_ANONYMIZED_MAX(length) bytes, of a PATH for IOTR_ANONYMIZED_PATH where that is less. `out`
 * is not `text`. An empty text stays empty.
 */
size_t iotr_anonymize(struct iotr_anonymizer *anonymizer, enum iotr_privacy privacy, const char *text,
		      size_t length, char *out);
