/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method Start, which replies when the session runs. */
#pragma once

#include "call.h"

int start_call(struct call *call);
