/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Dump method: answered when the files are written. */
#pragma once

#include "call.h"
#include "context.h"

int dump_call(struct call *call);
