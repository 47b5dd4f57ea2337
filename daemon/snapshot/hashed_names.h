/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of a snapshot as keyed hashes: the same that the rows of an anonymised session have for the same names.
 * hashed_name() is a function of text and key alone. One thread at a time.
 */
#pragma once

#include <stdint.h>

#include "anonymize.h"
#include "job.h"

struct hashed_names;

/* The key is copied. -ENOMEM. */
int hashed_names_new(const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], struct hashed_names **ret);
/* Forgets the key. Takes NULL. */
void hashed_names_free(struct hashed_names *names);

/*
 * A job_names; `names` is a struct hashed_names. The hash holds nothing that is to be escaped or
 * quoted. It is empty when there is no memory for it, so that a name is never written in the clear.
 */
const char *hashed_name(enum job_name kind, const char *text, size_t length, size_t *new_length,
			void *names);
