/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many messages of one kind the log takes from one user, or of one text where no user has to do with it: a journal that gets
 * too many drops those of other services. What is left out is counted. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	LOG_LIMIT_BURST = 100, /* that are taken at once */
	LOG_LIMIT_RATE = 10,   /* and in each second after them */
	LOG_LIMIT_KEYS = 64,   /* that are told apart; the one that has been quiet longest makes room */
};

struct log_limit_key {
	int kind;
	bool of_user;
	uid_t user;
	const char *format; /* of a text without a kind; it lives as long as the program */
};

struct log_limit_verdict {
	bool taken;
	uint64_t left_out; /* of that key before it, if it is taken */
};

struct log_limit_verdict log_limit(const struct log_limit_key *key, uint64_t now_ns);

/* The next key of which some were left out and which may have a message again; false: there is none. */
bool log_limit_next(uint64_t now_ns, struct log_limit_key *key, uint64_t *left_out);
