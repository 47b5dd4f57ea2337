# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows against expectations, one to one: nothing missing, nothing extra, nothing wrong."""
import collections

from lib.registry import check
from lib.rows import escape

REPORTED = 20
FLAGS = ('flags', 'mmap_prot', 'mmap_flags', 'event_mask', 'sqe_flags', 'msg_flags')  # joined by '|', no names
ARROW = '\x02\x03'  # as trigger.h has it
META = {'within', 'takes', 'count', 'optional', 'level'}


class Matcher:
    def __init__(self, level):
        self.level = level
        self.cells_of = {}  # by the identity of an expectation: itself, and its cells()

    def columns(self, expected):
        """The columns of an expectation that are checked at this level: {name: (how, value)}."""
        result = {}
        for key, value in expected.items():
            if key in META or value == {}:
                continue
            if key.endswith('_function'):
                if self.level == 'function':
                    result[key[:-9]] = ('is', value)
            elif key.endswith('_has'):
                result[key[:-4]] = ('has', value)
            elif key.endswith('_least'):
                result[key[:-6]] = ('least', value)
            else:
                result[key] = ('is', value)
        return result

    @staticmethod
    def text(name, value):
        if value is None:
            return ''
        if isinstance(value, str) and name not in FLAGS:
            return ' -> '.join(escape(name.encode('latin-1')) for name in value.split(ARROW))
        return str(value)

    def cells(self, expected):
        """[(column, how, text)] of an expectation, made once, as many rows are held against it."""
        known, found = self.cells_of.get(id(expected), (None, None))
        if known is not expected:
            found = [(name, how, self.text(name, value)) for name, (how, value) in self.columns(expected).items()]
            self.cells_of[id(expected)] = expected, found
        return found

    @staticmethod
    def fits(how, got, want):
        if how == 'least':
            return int(got or 0) >= int(want)
        return got == want if how == 'is' else want in got.split('|')

    def differences(self, expected, row):
        """[(column, expected, got)]; the window in time counts as one."""
        found = []
        for name, how, want in self.cells(expected):
            got = row.get(name, '(no such column)')
            if not self.fits(how, got, want):
                found.append((name, want, got))
        return found + time_differences(expected, row)

    def judge(self, expectations, windows, rows):
        """Lines that say what is wrong; none when all is right."""
        rooms = collections.defaultdict(list)
        for one in windows:
            rooms[str(one['tid'])].append(one['window'])
        rows = [row for row in rows
                if row['tid'] in rooms and any(between(window, row) for window in rooms[row['tid']])]
        expectations = [one for one in expectations if one.get('level', self.level) == self.level]
        missing, left = self.assign(expectations, rows)
        return self.report(missing, left)

    def assign(self, expectations, rows):
        """Expectations that found no row, and rows that no expectation claimed."""
        buckets = collections.defaultdict(list)
        for row in rows:
            buckets[row['operation'], row['tid']].append(row)
        missing = []
        for one in sorted(expectations, key=lambda one: one.get('optional', False)):
            found = self.claim(one, buckets[one['operation'], str(one['tid'])])
            if not one.get('optional'):
                missing += [one] * (one.get('count', 1) - found)
        return missing, [row for bucket in buckets.values() for row in bucket]

    def claim(self, one, bucket):
        """Takes as many matching rows out of the bucket as there should be."""
        wanted, kept = one.get('count', 1), []
        for row in bucket:
            if wanted and not self.differences(one, row):
                wanted -= 1
            else:
                kept.append(row)
        bucket[:] = kept
        return one.get('count', 1) - wanted

    def report(self, missing, left):
        lines, near = [], list(left)
        for one in missing[:REPORTED]:
            row = self.nearest(one, near)
            if row is None:
                lines.append('no row: %s' % self.brief(one))
                continue
            near.remove(row)
            lines.append('wrong row: %s' % brief_row(row))
            for name, want, got in self.differences(one, row):
                lines.append('  %s: expected %s, got %s' % (name, short(want), short(got)))
        lines += ['extra row: %s' % brief_row(row) for row in near[:REPORTED]]
        if max(len(missing), len(near)) > REPORTED:
            lines.append('... %d rows missing or wrong, %d not expected' % (len(missing), len(left)))
        return lines

    def nearest(self, one, rows):
        """The row that was probably meant: in the same window first, of the same operation next."""
        def distance(row):
            return (row['operation'] != one['operation'], len(self.differences(one, row)))
        rows = [row for row in rows if between(one['within'], row)]
        return min(rows, key=distance, default=None)

    def brief(self, one):
        told = ['%s=%s' % (name, short(self.text(name, value)))
                for name, (_, value) in self.columns(one).items()
                if value is not None and name != 'operation']
        return '%s %s' % (one['operation'], ' '.join(told))


def complete(level, expected, found, *what):
    """That the rows found are those expected, and no others."""
    lines = Matcher(level).judge(expected.rows, expected.windows, found)
    check(not lines, *what, *lines)


def between(window, row):
    return window[0] <= int(row['mono_ns'] or 0) <= window[1]


def time_differences(expected, row):
    begin, end = expected['within']
    try:
        at, latency = int(row['mono_ns']), int(row['latency_ns'] or 0)
    except ValueError:
        return [('mono_ns, latency_ns', 'numbers', '%s, %s' % (row['mono_ns'], row['latency_ns']))]
    if not begin <= at <= end:
        return [('mono_ns', '%d to %d' % (begin, end), at)]
    if not row['latency_ns']:
        return [('latency_ns', 'a number', '')]
    if at + latency > end:
        return [('mono_ns + latency_ns', 'at most %d' % end, at + latency)]
    if latency < expected.get('takes', 0):
        return [('latency_ns', 'at least %d' % expected['takes'], latency)]
    return []


def short(text, length=120):
    text = str(text) if text != '' else '(empty)'
    if len(text) <= length:
        return text
    return '%s...%s (%d)' % (text[:length // 2], text[-length // 2:], len(text))


def brief_row(row):
    keys = ('operation', 'filename', 'fd', 'size', 'offset', 'bytes_completed', 'return_value',
            'tid')
    return ' '.join('%s=%s' % (key, short(row[key], 60)) for key in keys if row.get(key))
