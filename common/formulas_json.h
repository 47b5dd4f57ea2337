/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quotients of formulas.h as JSON, for the daemon and reports. One thread. */
#pragma once

#include <json-c/json.h>

#include "formulas.h"

/* {value, at_least, reason}: value is null where it is not known. A new object, the caller's. */
struct json_object *factor_describe(struct factor factor);
