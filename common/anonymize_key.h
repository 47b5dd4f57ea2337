/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The key of anonymisation: FOLDER/anonymize.key, 32 random bytes as 64 hexadecimal digits and a line end,
 * readable by its owner alone. It is made once and never replaced, as with another key the same names would
 * have other hashes. Errors are a negative errno, with a sentence for the user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "anonymize.h"

#define IOTR_STATE_DIR		"/var/lib/iotracer"
#define IOTR_ANONYMIZE_KEY_NAME "anonymize.key"
#define IOTR_ANONYMIZE_KEY_PATH IOTR_STATE_DIR "/" IOTR_ANONYMIZE_KEY_NAME

enum { IOTR_ANONYMIZE_KEY_TEXT = 2 * IOTR_ANONYMIZE_KEY_SIZE + 1 }; /* bytes of the file */

/* Converts a key to the text of the file, without a NUL, and back. -EBADMSG: the text is not a key. */
void iotr_anonymize_key_encode(const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], char text[IOTR_ANONYMIZE_KEY_TEXT]);
int iotr_anonymize_key_decode(const char text[IOTR_ANONYMIZE_KEY_TEXT], uint8_t key[IOTR_ANONYMIZE_KEY_SIZE]);

/*
 * Reads a key. -EBADMSG: the file does not contain one; -EPERM: others than its owner may read it, or the
 * owner is neither root nor the caller; otherwise the error of open().
 */
int iotr_anonymize_key_read(const char *path, uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], char *message,
			    size_t message_size);

/* Reads the key of a state folder; if there is none, the folder and a new key are made. */
int iotr_anonymize_key_ensure(const char *folder, uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], char *message,
			      size_t message_size);

/*
 * A new key for one session or folder of snapshots, so that its hashes cannot be compared with others; or the
 * host's key in its state folder, which is made if there is none. -EIO.
 */
int iotr_anonymize_key_choose(const char *state_dir, bool host, uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], char *message,
			      size_t message_size);
