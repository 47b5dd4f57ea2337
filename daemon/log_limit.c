// SPDX-License-Identifier: GPL-2.0-or-later
#include "log_limit.h"

#include <pthread.h>

#define RATE_NS (1000000000ULL / LOG_LIMIT_RATE)

struct entry {
	struct log_limit_key key;
	bool used;
	unsigned int left;    /* messages that may still come */
	uint64_t counted_ns;  /* when `left` was reckoned */
	uint64_t left_out;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry entries[LOG_LIMIT_KEYS];

static bool is_of(const struct entry *entry, const struct log_limit_key *key)
{
	return entry->used && entry->key.kind == key->kind && entry->key.of_user == key->of_user &&
	       (!key->of_user || entry->key.user == key->user) && (key->kind || entry->key.format == key->format);
}

static struct entry *find(const struct log_limit_key *key)
{
	struct entry *oldest = &entries[0];

	for (struct entry *entry = entries; entry < entries + LOG_LIMIT_KEYS; entry++) {
		if (is_of(entry, key))
			return entry;
		if (!entry->used || (oldest->used && entry->counted_ns < oldest->counted_ns))
			oldest = entry;
	}
	*oldest = (struct entry){ .key = *key, .used = true, .left = LOG_LIMIT_BURST };
	return oldest;
}

static void reckon(struct entry *entry, uint64_t now_ns)
{
	uint64_t more = entry->counted_ns ? (now_ns - entry->counted_ns) / RATE_NS : LOG_LIMIT_BURST;

	if (entry->left + more >= LOG_LIMIT_BURST) {
		entry->left = LOG_LIMIT_BURST;
		entry->counted_ns = now_ns;
	} else {
		entry->left += (unsigned int)more;
		entry->counted_ns += more * RATE_NS;
	}
}

struct log_limit_verdict log_limit(const struct log_limit_key *key, uint64_t now_ns)
{
	struct log_limit_verdict verdict = { 0 };
	struct entry *entry;

	pthread_mutex_lock(&lock);
	entry = find(key);
	reckon(entry, now_ns);
	verdict.taken = entry->left > 0;
	if (verdict.taken) {
		entry->left--;
		verdict.left_out = entry->left_out;
		entry->left_out = 0;
	} else {
		entry->left_out++;
	}
	pthread_mutex_unlock(&lock);
	return verdict;
}

bool log_limit_next(uint64_t now_ns, struct log_limit_key *key, uint64_t *left_out)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (struct entry *entry = entries; entry < entries + LOG_LIMIT_KEYS && !found; entry++) {
		if (!entry->left_out)
			continue;
		reckon(entry, now_ns);
		if (!entry->left)
			continue;
		found = true;
		*key = entry->key;
		*left_out = entry->left_out;
		entry->left_out = 0;
		entry->left--;
	}
	pthread_mutex_unlock(&lock);
	return found;
}
