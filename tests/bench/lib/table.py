# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of figures, and the bars that the figures are held against."""

BARS = []


def median(values):
    return sorted(values)[len(values) // 2]


def cell(value):
    if value is None:
        return '-'
    if isinstance(value, float):
        return '%.*f' % (0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2, value)
    return str(value)


class Table:
    def __init__(self, title, *columns):
        self.title, self.rows = title, [columns]

    def add(self, *row):
        self.rows.append(tuple(cell(value) for value in row))

    def line(self, row, widths):
        first = row[0].ljust(widths[0])
        return '  '.join([first] + [text.rjust(width) for text, width in zip(row[1:], widths[1:])])

    def show(self):
        widths = [max(map(len, column)) for column in zip(*self.rows)]
        print('\n' + self.title)
        for row in self.rows:
            print('  ' + self.line(row, widths).rstrip(), flush=True)


def bar(what, value, sign, limit, unit=''):
    """Prints whether a figure is as good as it is to be; a figure of None was not taken."""
    said, verdict = 'not measured', ''
    if value is not None:
        met = value <= limit if sign == '<=' else value >= limit
        said, verdict = cell(value) + unit, ': met' if met else ': MISSED'
    text = '%s: %s (bar %s %s%s)%s' % (what, said, sign, cell(limit), unit, verdict)
    BARS.append(text)
    print('  ' + text, flush=True)


def note(text):
    print('  ' + text, flush=True)
