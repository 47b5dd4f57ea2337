/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables for the rows of each stream, in the words of a database. Pure function. */
#pragma once

/*
 * The statements that make a table for each stream of the catalogue, named as its folder, with how files are read into
 * it. `dialect`: duckdb, clickhouse or postgres. The caller frees the text; NULL: out of memory, or no such dialect.
 */
char *sql_tables(const char *dialect);
