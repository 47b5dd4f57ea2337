/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces names by keyed hashes: what identifies a person or a machine is removed, while rows can still be
 * related to each other. The same name and key give the same hash wherever the name occurs: in rows of any
 * stream, in snapshots, in a manifest. Without the key nobody can test whether a hash belongs to a given name.
 *
 * A hash is HMAC-SHA256 truncated to 80 bits, written as 16 letters and digits (base32, lower case). Texts are
 * taken in the form in which rows contain them, escaped by escape.h. Raw bytes must be escaped first,
 * otherwise their hash differs from that in the rows. Results contain no comma and no quote, and need no
 * escaping.
 *
 * A result depends on the text and the key alone, so a trace that is anonymised later contains exactly the
 * rows that it would have had if it had been recorded anonymised.
 *
 * An anonymizer serves one thread at a time. Its cache is bounded and does not affect any result.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	IOTR_ANONYMIZE_KEY_SIZE = 32,
	IOTR_ANONYMIZED_HASH = 16,	    /* bytes of a hash */
	IOTR_ANONYMIZED_NAME = 16 + 1 + 8,  /* most bytes of an anonymised name: hash, dot and extension */
	IOTR_ANONYMIZED_BETWEEN = 4 + 10,   /* most bytes between two names: " -> " and " (deleted)" */
	IOTR_ANONYMIZE_COMPONENTS_MAX = 4700, /* more than any path that the kernel accepts */
	/* Most bytes of an anonymised path. */
	IOTR_ANONYMIZED_PATH = IOTR_ANONYMIZE_COMPONENTS_MAX * (IOTR_ANONYMIZED_NAME + IOTR_ANONYMIZED_BETWEEN) + 64,
};

/* Most bytes of the anonymised form of a text of this length. */
#define IOTR_ANONYMIZED_MAX(length) (9 * (length) + 32)

/* Kind of a text, which determines how it is anonymised. */
enum iotr_privacy {
	/* Left as it is: words of the kernel and of this program. */
	IOTR_PRIVACY_PUBLIC,

	/*
	 * A hash of the whole: command lines, names of hosts.
	 */
	IOTR_PRIVACY_TEXT,

	/*
	 * One component of a path, a command, a unit: the hash of the whole name, followed by its extension if
	 * that is one of extensions.h. Other extensions are removed, as they may be a name (john.smith). "."
	 * and ".." stay.
	 */
	IOTR_PRIVACY_NAME,

	/*
	 * Each component is anonymised as a name; slashes, " -> ", " (deleted)" at the end and "..." at the
	 * beginning stay. A text with IOTR_ANONYMIZE_COMPONENTS_MAX or more slashes and arrows becomes ".../"
	 * and a hash of the whole.
	 */
	IOTR_PRIVACY_PATH,

	/*
	 * An IP address as inet_ntop() writes it becomes a hash with ".ipv4" or ".ipv6", or, for addresses that
	 * identify nobody, with ".loopback" or ".any". The name of a Unix socket is a path, or '@' and a path, and
	 * is anonymised as such.
	 */
	IOTR_PRIVACY_ADDRESS,

	/*
	 * The value of an option: numbers (7, 1:30, 0.500000) and words of the kernel (cubic) stay; anything
	 * else, such as names of devices and bytes in hex, which may contain addresses, is hashed.
	 */
	IOTR_PRIVACY_VALUE,

	IOTR_PRIVACY_COUNT,
};

struct iotr_anonymizer;

/* Copies the key. -ENOMEM. */
int iotr_anonymizer_new(const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], struct iotr_anonymizer **ret);

/* Erases the key. Takes NULL. */
void iotr_anonymizer_free(struct iotr_anonymizer *anonymizer);

/*
 * Writes the anonymised text and returns its length, without a NUL. `out` must have room for
 * IOTR_ANONYMIZED_MAX(length) bytes; for a PATH, IOTR_ANONYMIZED_PATH bytes suffice if that is less. `out`
 * must not be `text`. An empty text stays empty.
 */
size_t iotr_anonymize(struct iotr_anonymizer *anonymizer, enum iotr_privacy privacy, const char *text,
		      size_t length, char *out);
