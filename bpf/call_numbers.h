/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of system calls, by the names in calls.def: NR_ of the native ABI, NR32_ of 32-bit programs. */
#pragma once

enum call_numbers {
#define CALL(name, native, compat, ...) NR_##name = native, NR32_##name = compat,
#include "calls.def"
#undef CALL
};
