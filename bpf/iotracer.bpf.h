/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one header that the programs of every stream include. */
#pragma once

#include "maps.bpf.h"
#include "read.bpf.h"
#include "count.bpf.h"
#include "filters.bpf.h"
#include "sample.bpf.h"
#include "rows.bpf.h"
