// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells_private.h"

CELLS_RECORD(PAGEFAULT, struct iotr_pagefault_record);

CELL(PAGEFAULT, fault_type, cell_string(record->write ? "WRITE" : "READ"))
CELL(PAGEFAULT, severity, cell_string(record->major ? "MAJOR" : "MINOR"))
CELL(PAGEFAULT, address, cell_number(CELL_HEX, record->address))
CELL(PAGEFAULT, inode, cell_known(CELL_U64, record->file.inode))
CELL(PAGEFAULT, offset, cell_known(CELL_U64, record->index))
CELL(PAGEFAULT, filename, cell_path(row))
CELL(PAGEFAULT, device, cell_device(record->file.device))
CELL(PAGEFAULT, latency_ns, cell_number(CELL_U64, record->head.latency_ns))

CELLS_FILL(PAGEFAULT, pagefault)
