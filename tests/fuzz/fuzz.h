/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a fuzzed program has in common with libFuzzer, or with replay.c in its place. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Takes one input; what is wrong ends the process. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
