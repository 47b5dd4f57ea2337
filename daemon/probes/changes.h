/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "control.h"

/*
 * Finds where the kernel counts what may change the path of a file, for page->changes: see bpf/remembered.bpf.h. Nothing is
 * told unless all is found: kernels without CONFIG_KALLSYMS_ALL have no names for data. `symbols` is from symbols_open(). It
 * takes tens of milliseconds. Any thread.
 */
void changes_find(int symbols, struct iotr_control *page);
