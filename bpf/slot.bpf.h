/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slots, by thread: see common/slot.h. */
#pragma once

#include "calls.bpf.h"

#define BEGINS_NOW (~0ULL) /* later than any time: the start of a call whose slot is still being filled in */
