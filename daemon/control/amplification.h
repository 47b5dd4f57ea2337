/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method Amplification. */
#pragma once

#include "call.h"

int amplification_call(struct call *call);
