/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method Rotate, which replies when the segments are closed. Main thread only. */
#pragma once

#include "call.h"

int rotate_call(struct call *call);
