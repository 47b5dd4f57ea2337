#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Has pandas read what iotr-awkward-rows wrote into a folder, without any option."""
import glob
import json
import math
import os
import sys
import time
import warnings

import pandas

FOLDER = sys.argv[1]
# Of whole numbers of which some are missing pandas makes floats.
KINDS = {'u64': ('int64', 'float64'), 's64': ('int64', 'float64'), 'milliseconds': ('float64',)}


def load(name):
    with open(os.path.join(FOLDER, name), encoding='utf-8') as file:
        return json.load(file)


TYPES, SUMS = load('types.json'), load('sums.json')


def read(path):
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # as that a column has mixed types
        return pandas.read_csv(path)


def check_type(path, table, stream, name):
    column, kinds = table[name], KINDS.get(TYPES[stream][name], ('object',))
    if column.isna().all():
        return  # nobody can tell what it holds
    if 'int64' in kinds and not column.isna().any():
        kinds = ('int64',)
    if str(column.dtype) not in kinds:
        raise ValueError('%s: %s is %s: %r' % (path, name, column.dtype, column.dropna().iloc[0]))


def same(wanted, got, column):
    if not wanted or (column.dtype == 'float64' and float(wanted) == -2.0**63):
        return pandas.isna(got)  # the least number is what it marks missing ones with while it reads
    if column.dtype == 'int64':
        return int(wanted) == int(got)
    if column.dtype == 'float64':
        return math.isclose(float(wanted), got, rel_tol=1e-15)  # it reads the last bit approximately
    return wanted == got


def check_file(path):
    stream = os.path.basename(path).split('.')[0].split('_')[0]
    table = read(path)
    with open(path, encoding='utf-8', newline='\n') as file:
        header, *lines = [line.rstrip('\n').split(',') for line in file]
    if list(table.columns) != header or header != list(TYPES[stream]) or len(table) != len(lines):
        raise ValueError('%s: %d rows of %d, columns %s' % (path, len(table), len(lines), list(table.columns)))
    for at, name in enumerate(header):
        check_type(path, table, stream, name)
        column = table[name]
        for line, got in zip(lines, column):
            if not same(line[at], got, column):
                raise ValueError('%s: %s is %r, not %r' % (path, name, got, line[at]))


def check_small():
    for folder in ('mixed', 'alone'):
        for path in sorted(glob.glob(os.path.join(FOLDER, folder, '*.csv'))):
            check_file(path)


def check_big():
    """One file after the other: both at once need many gigabytes."""
    values, totals = dict.fromkeys(SUMS, 0), dict.fromkeys(SUMS, 0)
    for path in sorted(glob.glob(os.path.join(FOLDER, 'big', '*.csv.gz'))):
        table = read(path)
        for name in SUMS:
            check_type(path, table, 'vfs', name)
            column = table.pop(name).dropna()
            values[name] += len(column)
            if column.dtype == 'int64':
                totals[name] += int(column.sum())  # modulo 2^64
            elif column.dtype == object and name != 'timestamp':
                counts = column.value_counts()
                totals[name] += sum(len(text.encode()) * count for text, count in counts.items())
            else:
                totals[name] = None
    for name, wanted in SUMS.items():
        if values[name] != wanted['values']:
            raise ValueError('%s: %d values of %d' % (name, values[name], wanted['values']))
        if totals[name] is not None and name != 'timestamp' and (totals[name] - int(wanted['sum'])) % (1 << 64):
            raise ValueError('%s: sum %d, not %s' % (name, totals[name], wanted['sum']))


def check_late():
    """Sizes of which no double holds every bit, of few rows: floats, but exact for who says that they are texts."""
    path = os.path.join(FOLDER, 'late/fs_000001.csv')
    with open(path, encoding='utf-8') as file:
        sizes = [int(line.split(',')[6]) for line in list(file)[1:] if line.split(',')[6]]
    floats, texts = read(path)['size'], pandas.read_csv(path, dtype={'size': str})['size']
    if floats.dtype != 'float64' or list(floats.dropna()) != [float(size) for size in sizes]:
        raise ValueError('size is %s: %s' % (floats.dtype, list(floats.dropna())[:3]))
    numbers = texts.dropna().astype('int64')
    if list(numbers) != sizes:
        raise ValueError('as texts, size is %s, not %s' % (list(numbers)[:3], sizes[:3]))


def main():
    for what, check in (('every stream, every name', check_small), ('millions of rows', check_big),
                        ('numbers that come late', check_late)):
        begin = time.monotonic()
        try:
            check()
            print('ok tools.pandas: %s (%.1f s)' % (what, time.monotonic() - begin), flush=True)
        except Exception as error:  # whatever is wrong with it is what is to be told
            print('not ok tools.pandas: %s\n# %s' % (what, str(error)[:600].replace('\n', '\n# ')), flush=True)


if __name__ == '__main__':
    main()
