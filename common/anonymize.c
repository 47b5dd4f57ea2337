// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <nettle/hmac.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "extensions.h"
#include "mix.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define ARROW	" -> "
#define DELETED " (deleted)"
#define UNKNOWN "..."

enum {
	DIGEST = 10, /* bytes of the HMAC that are used */
	SETS = 1024,
	WAYS = 4,
	KEPT_TEXT = 62,	  /* bytes; a longer text is not cached */
	KEPT_RESULT = 32, /* bytes, always copied as a whole */
	PATHS = 512,
	KEPT_PATH = 168, /* bytes; a longer path is assembled from its components each time */
	KEPT_PATH_RESULT = 332,
};

_Static_assert((int)KEPT_RESULT >= (int)IOTR_ANONYMIZED_NAME && IOTR_ANONYMIZED_MAX(0) >= (int)KEPT_RESULT,
	       "there is room behind each name for a whole result");
_Static_assert(IOTR_PRIVACY_COUNT <= 8, "three bits of a tag");
_Static_assert(sizeof(ARROW) - 1 + sizeof(DELETED) - 1 == IOTR_ANONYMIZED_BETWEEN, "marks between names");

_Static_assert(DIGEST * 8 / 5 == IOTR_ANONYMIZED_HASH, "a letter is five bits");
_Static_assert(1 + EXTENSION_MAX + IOTR_ANONYMIZED_HASH == IOTR_ANONYMIZED_NAME, "hash and extension");

struct entry {
	uint8_t length; /* of the text; 0: the entry is free */
	uint8_t result_length;
	char text[KEPT_TEXT];
	char result[KEPT_RESULT];
};

/* One set of the cache: its least recently used entry is replaced. */
struct set {
	uint32_t tags[WAYS];
	uint32_t used[WAYS];
	struct entry entries[WAYS];
};

/*
 * Cache entry of a whole path, as most rows repeat a recent one. A newer path replaces the one in its slot.
 */
struct kept_path {
	uint32_t tag;
	uint32_t length; /* 0: the entry is free */
	uint32_t result_length;
	char text[KEPT_PATH];
	char result[KEPT_PATH_RESULT];
};

struct iotr_anonymizer {
	struct hmac_sha256_ctx hmac;
	uint32_t clock;
	struct set sets[SETS];
	struct kept_path paths[PATHS];
};

int iotr_anonymizer_new(const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], struct iotr_anonymizer **ret)
{
	struct iotr_anonymizer *anonymizer = calloc(1, sizeof(*anonymizer));

	if (!anonymizer)
		return -ENOMEM;
	hmac_sha256_set_key(&anonymizer->hmac, IOTR_ANONYMIZE_KEY_SIZE, key);
	*ret = anonymizer;
	return 0;
}

void iotr_anonymizer_free(struct iotr_anonymizer *anonymizer)
{
	if (!anonymizer)
		return;
	explicit_bzero(&anonymizer->hmac, sizeof(anonymizer->hmac));
	free(anonymizer);
}

/* ---- hash of one name ---- */

/*
 * Whether the text begins with a printable byte as \xNN: as the beginning of a cell it may be escaped, where the same
 * name is not within a path, and has the same hash nevertheless.
 */
static bool is_first_escaped(const char *text, size_t length, uint8_t *byte)
{
	return length && escape_undo(text, length, byte) > 1 && isprint(*byte);
}

static size_t hash_text(struct iotr_anonymizer *anonymizer, const char *text, size_t length, char *out)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint8_t digest[DIGEST];
	uint32_t bits = 0;
	size_t held = 0, written = 0, first = 0;
	uint8_t byte;

	if (is_first_escaped(text, length, &byte)) {
		hmac_sha256_update(&anonymizer->hmac, 1, &byte);
		first = ESCAPE_MAX(1);
	}
	hmac_sha256_update(&anonymizer->hmac, length - first, (const uint8_t *)text + first);
	hmac_sha256_digest(&anonymizer->hmac, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++) {
		bits = bits << 8 | digest[i];
		for (held += 8; held >= 5; held -= 5)
			out[written++] = letters[bits >> (held - 5) & 31];
	}
	return written;
}

static size_t with_suffix(char *out, size_t length, const char *suffix)
{
	size_t more = strlen(suffix);

	if (!more)
		return length;
	out[length] = '.';
	memcpy(out + length + 1, suffix, more);
	return length + 1 + more;
}

static size_t hash_name(struct iotr_anonymizer *anonymizer, const char *text, size_t length, char *out)
{
	size_t written = hash_text(anonymizer, text, length, out);

	return with_suffix(out, written, extension_of(text, length));
}

struct ip {
	int family; /* 0: not an IP address */
	uint8_t bytes[16];
};

static struct ip parse_ip(const char *text, size_t length)
{
	char copy[INET6_ADDRSTRLEN];
	struct ip ip = { 0 };

	if (length >= sizeof(copy))
		return ip;
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (inet_pton(AF_INET, copy, ip.bytes) == 1)
		ip.family = AF_INET;
	else if (inet_pton(AF_INET6, copy, ip.bytes) == 1)
		ip.family = AF_INET6;
	return ip;
}

static const char *kind_of(const struct ip *ip)
{
	static const uint8_t any[16], loopback[16] = { [15] = 1 };

	if (!memcmp(ip->bytes, any, sizeof(any)))
		return "any";
	if (ip->family == AF_INET ? ip->bytes[0] == 127 : !memcmp(ip->bytes, loopback, sizeof(loopback)))
		return "loopback";
	return ip->family == AF_INET ? "ipv4" : "ipv6";
}

/* Returns 0 if the text is not an IP address. */
static size_t hash_ip(struct iotr_anonymizer *anonymizer, const char *text, size_t length, char *out)
{
	struct ip ip = parse_ip(text, length);
	char canonical[INET6_ADDRSTRLEN];
	size_t written;

	if (!ip.family || !inet_ntop(ip.family, ip.bytes, canonical, sizeof(canonical)))
		return 0;
	written = hash_text(anonymizer, canonical, strlen(canonical), out);
	return with_suffix(out, written, kind_of(&ip));
}

static size_t hash(struct iotr_anonymizer *anonymizer, enum iotr_privacy privacy, const char *text,
		   size_t length, char *out)
{
	switch (privacy) {
	case IOTR_PRIVACY_NAME:
		return hash_name(anonymizer, text, length, out);
	case IOTR_PRIVACY_ADDRESS:
		return hash_ip(anonymizer, text, length, out);
	default:
		return hash_text(anonymizer, text, length, out);
	}
}

/* ---- cache of hashes ---- */

/* Index of the cache, which needs no cryptographic hash: chosen collisions only make the cache slower. */
static uint64_t cache_index(enum iotr_privacy privacy, const char *text, size_t length)
{
	uint64_t sum = iotr_mix(length, privacy), word;

	for (; length >= sizeof(word); text += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		sum = iotr_mix(sum, word);
	}
	word = 0;
	memcpy(&word, text, length);
	return iotr_mix(sum, word);
}

/* Compares the text only, as the tag contains the privacy. */
static bool holds(const struct entry *entry, const char *text, size_t length)
{
	return entry->length == length && !memcmp(entry->text, text, length);
}

/* Those bits of the index that do not select the set, and the privacy. */
static uint32_t tag_of(uint64_t index, enum iotr_privacy privacy)
{
	return (uint32_t)(index >> 32) << 3 | (uint32_t)privacy;
}

static size_t oldest(const struct set *set, uint32_t clock)
{
	size_t found = 0;

	for (size_t way = 1; way < WAYS; way++)
		if (clock - set->used[way] > clock - set->used[found])
			found = way;
	return found;
}

/* Hashes the text into the cache entry. */
static void keep(struct iotr_anonymizer *anonymizer, struct entry *entry, enum iotr_privacy privacy,
		 const char *text, size_t length)
{
	entry->length = (uint8_t)length;
	memcpy(entry->text, text, length);
	entry->result_length = (uint8_t)hash(anonymizer, privacy, text, length, entry->result);
}

/*
 * Writes the hash of a text that is not empty. Returns its length, at most IOTR_ANONYMIZED_NAME; up to
 * KEPT_RESULT bytes are written. Returns 0 for an ADDRESS that is not an IP address.
 */
static size_t hashed(struct iotr_anonymizer *anonymizer, enum iotr_privacy privacy, const char *text,
		     size_t length, char *out)
{
	uint64_t index = cache_index(privacy, text, length);
	struct set *set = &anonymizer->sets[index % SETS];
	uint32_t tag = tag_of(index, privacy);
	size_t way;

	if (length > KEPT_TEXT)
		return hash(anonymizer, privacy, text, length, out);
	for (way = 0; way < WAYS; way++)
		if (set->tags[way] == tag && holds(&set->entries[way], text, length))
			break;
	if (way == WAYS) {
		way = oldest(set, anonymizer->clock);
		set->tags[way] = tag;
		keep(anonymizer, &set->entries[way], privacy, text, length);
	}
	set->used[way] = ++anonymizer->clock;
	memcpy(out, set->entries[way].result, KEPT_RESULT);
	return set->entries[way].result_length;
}

/* ---- texts of several names ---- */

static bool is(const char *text, size_t length, const char *word)
{
	return length == strlen(word) && !memcmp(text, word, length);
}

static size_t copy(const char *text, size_t length, char *out)
{
	memcpy(out, text, length);
	return length;
}

static size_t name(struct iotr_anonymizer *anonymizer, const char *text, size_t length, char *out)
{
	if (!length || is(text, length, ".") || is(text, length, ".."))
		return copy(text, length, out);
	return hashed(anonymizer, IOTR_PRIVACY_NAME, text, length, out);
}

/* Anonymises a single path without the mark " (deleted)". */
static size_t components(struct iotr_anonymizer *anonymizer, const char *text, size_t length, char *out)
{
	size_t written = 0;

	for (size_t at = 0, end; at < length; at = end) {
		const char *slash = memchr(text + at, '/', length - at);

		end = slash ? (size_t)(slash - text) : length;
		if (!at && is(text, end, UNKNOWN))
			written += copy(text, end, out);
		else
			written += name(anonymizer, text + at, end - at, out + written);
		if (slash) {
			out[written++] = '/';
			end++;
		}
	}
	return written;
}

static size_t single_path(struct iotr_anonymizer *anonymizer, const char *text, size_t length, char *out)
{
	size_t mark = sizeof(DELETED) - 1, written;

	if (length < mark || !is(text + length - mark, mark, DELETED))
		return components(anonymizer, text, length, out);
	written = components(anonymizer, text, length - mark, out);
	return written + copy(DELETED, mark, out + written);
}

static bool is_too_deep(const char *text, size_t length)
{
	size_t ends = 0;

	if (length < IOTR_ANONYMIZE_COMPONENTS_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		ends += text[i] == '/' || text[i] == '>';
	return ends >= IOTR_ANONYMIZE_COMPONENTS_MAX;
}

static size_t joined_paths(struct iotr_anonymizer *anonymizer, const char *text, size_t length, char *out)
{
	const char *end = text + length, *arrow;
	size_t written = 0;

	if (is_too_deep(text, length)) {
		written = copy(UNKNOWN "/", sizeof(UNKNOWN), out);
		return written + hash_text(anonymizer, text, length, out + written);
	}
	for (; (arrow = memmem(text, (size_t)(end - text), ARROW, sizeof(ARROW) - 1));
	     text = arrow + sizeof(ARROW) - 1) {
		written += single_path(anonymizer, text, (size_t)(arrow - text), out + written);
		written += copy(ARROW, sizeof(ARROW) - 1, out + written);
	}
	return written + single_path(anonymizer, text, (size_t)(end - text), out + written);
}

/* Anonymises one path, or several joined by arrows. */
static size_t path(struct iotr_anonymizer *anonymizer, const char *text, size_t length, char *out)
{
	uint64_t index = cache_index(IOTR_PRIVACY_PATH, text, length);
	struct kept_path *kept = &anonymizer->paths[index % PATHS];
	uint32_t tag = (uint32_t)(index >> 32);
	size_t written;

	if (kept->tag == tag && kept->length == length && length && !memcmp(kept->text, text, length))
		return copy(kept->result, kept->result_length, out);
	written = joined_paths(anonymizer, text, length, out);
	if (length > KEPT_PATH || written > KEPT_PATH_RESULT)
		return written;
	kept->tag = tag;
	kept->length = (uint32_t)length;
	kept->result_length = (uint32_t)written;
	memcpy(kept->text, text, length);
	memcpy(kept->result, out, written);
	return written;
}

static size_t address(struct iotr_anonymizer *anonymizer, const char *text, size_t length, char *out)
{
	size_t written;

	if (text[0] == '@') {
		out[0] = '@';
		return 1 + path(anonymizer, text + 1, length - 1, out + 1);
	}
	written = hashed(anonymizer, IOTR_PRIVACY_ADDRESS, text, length, out);
	return written ?: path(anonymizer, text, length, out);
}

/* ---- values ---- */

static size_t digits(const char *text, size_t length, bool may_be_negative)
{
	size_t sign = may_be_negative && length && text[0] == '-', at = sign;

	while (at < length && isdigit((unsigned char)text[at]))
		at++;
	return at > sign ? at : 0;
}

/* Whether the text is a number, as in #7, #-7, #1:30, #0.500000; in traces before version 3 they had no mark. */
static bool is_number(const char *text, size_t length)
{
	size_t mark = length && text[0] == '#', whole, rest;

	text += mark;
	length -= mark;
	whole = digits(text, length, true);
	rest = length - whole;
	if (!whole || !rest)
		return whole;
	text += whole;
	if (text[0] == ':')
		return rest > 1 && digits(text + 1, rest - 1, true) == rest - 1;
	return text[0] == '.' && rest == 1 + 6 && digits(text + 1, 6, false) == 6;
}

/* Whether the text is a known value of TCP_CONGESTION or TCP_ULP. */
static bool is_known_word(const char *text, size_t length)
{
	static const char *const words[] = {
		"bbr",	 "bic", "bpf_cubic", "cdg",	 "cubic", "dctcp", "espintcp", "highspeed", "htcp",
		"hybla", "illinois", "lp",   "mptcp",	 "nv",	  "reno",  "scalable", "smc",	    "tls",
		"vegas", "veno", "westwood", "yeah",
	};

	for (size_t i = 0; i < LENGTH(words); i++)
		if (is(text, length, words[i]))
			return true;
	return false;
}

static size_t value(struct iotr_anonymizer *anonymizer, const char *text, size_t length, char *out)
{
	if (is_number(text, length) || is_known_word(text, length))
		return copy(text, length, out);
	return hashed(anonymizer, IOTR_PRIVACY_TEXT, text, length, out);
}

size_t iotr_anonymize(struct iotr_anonymizer *anonymizer, enum iotr_privacy privacy, const char *text,
		      size_t length, char *out)
{
	if (!length || privacy == IOTR_PRIVACY_PUBLIC)
		return copy(text, length, out);
	switch (privacy) {
	case IOTR_PRIVACY_NAME:
		return name(anonymizer, text, length, out);
	case IOTR_PRIVACY_PATH:
		return path(anonymizer, text, length, out);
	case IOTR_PRIVACY_ADDRESS:
		return address(anonymizer, text, length, out);
	case IOTR_PRIVACY_VALUE:
		return value(anonymizer, text, length, out);
	default:
		return hashed(anonymizer, IOTR_PRIVACY_TEXT, text, length, out);
	}
}
