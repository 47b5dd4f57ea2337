/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The key of anonymisation: FOLDER/anonymize.key, 32 random bytes as 64 hexadecimal digits and a line
 * end, readable by its owner alone. It is made once and never replaced: with another key the same
 * names have other hashes. Errors are a negative errno, with a sentence for the user.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "anonymize.h"

#define IOTR_STATE_DIR		"/var/lib/iotracer"
#define IOTR_ANONYMIZE_KEY_NAME "anonymize.key"
#define IOTR_ANONYMIZE_KEY_PATH IOTR_STATE_DIR "/" IOTR_ANONYMIZE_KEY_NAME

/*
 * Reads a key. -EBADMSG: the file does not hold one; -EPERM: others than its owner may read it, or
 * the owner is neither root nor the caller; else what open() said.
 */
int iotr_anonymize_key_read(const char *path, uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], char *message,
			    size_t message_size);

/* The same for the key of a state folder; where there is none the folder and a new key are made. */
int iotr_anonymize_key_ensure(const char *folder, uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], char *message,
			      size_t message_size);
