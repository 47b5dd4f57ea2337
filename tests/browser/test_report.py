#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of `iotracectl report` in Chromium: all charts are drawn, their numbers are those of the rows, nothing is loaded,
nothing that a name says is done, and it fits wide and narrow windows, light and dark.
Usage: test_report.py IOTRACECTL [FOLDER FOR PICTURES]"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import chromium  # noqa: E402
import storage_trace  # noqa: E402

CLIENT = sys.argv[1]
PICTURES = sys.argv[2] if len(sys.argv) > 2 else None
UNIT = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'unit')
CHARTS = ['amplification-bytes', 'amplification-operations', 'operations', 'transfer', 'latency', 'efficiency', 'heat-vfs',
          'heat-block', 'depth', 'rates']
FLOWS = ['call_read', 'call_write', 'disk_read', 'disk_write']
# Colours that a chart drew; a canvas on which nothing was drawn has none.
COLOURS = '''(id => { const canvas = document.getElementById('chart-' + id);
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, found = new Set();
    for (let at = 0; at < data.length; at += 4) if (data[at + 3]) found.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
    return found.size; })'''


def data_of(browser, name):
    return browser.value(f"(({{labels, datasets}}) => ({{labels, sets: datasets.map(one => one.data)}}))"
                         f"(Chart.getChart('chart-{name}').data)")


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix='report-')
        cls.storage = storage_trace.Storage()
        cls.page = cls.make('storage', cls.storage.write)
        cls.browser = chromium.Chromium()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        shutil.rmtree(cls.work)

    @classmethod
    def make(cls, name, write, *options):
        folder = os.path.join(cls.work, name)
        os.mkdir(folder)
        write(folder)
        page = folder + '.html'
        subprocess.run([CLIENT, 'report', folder, '-o', page, *options], check=True, stdout=subprocess.DEVNULL)
        return page

    def show(self, width=1280, scheme='light', page=None):
        self.browser.show(page or self.page, width, scheme)
        self.assertEqual(self.said(), [])
        self.assertEqual(self.browser.value('document.documentElement.dataset.ready'), 'yes')

    def said(self):
        """Errors, warnings, and whatever was asked of the network."""
        found = []
        for event in self.browser.events:
            method, parameters = event['method'], event['params']
            if method in ('Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded',
                          'Page.javascriptDialogOpening'):
                found.append(event)
            elif method == 'Network.requestWillBeSent' and parameters['request']['url'].split(':')[0] not in ('file', 'data'):
                found.append(event)
        return found

    def sums(self, flow, member):
        """By command, those with the most bytes first, as the page has them."""
        names = sorted((system[0] for system in storage_trace.SYSTEMS),
                       key=lambda name: -sum(self.storage.sums[name, one]['bytes'] for one in FLOWS))
        return names, [self.storage.sums[name, flow][member] for name in names]

    def test_flows_are_those_of_the_rows(self):
        self.show()
        for chart, member in (('operations', 'operations'), ('transfer', 'bytes')):
            data = data_of(self.browser, chart)
            for at, flow in enumerate(FLOWS):
                names, wanted = self.sums(flow, member)
                self.assertEqual(data['labels'], names)
                self.assertEqual(data['sets'][at], wanted)

    def almost(self, found, wanted):
        """The document has four decimals of quotients."""
        self.assertEqual(len(found), len(wanted))
        for one, other in zip(found, wanted):
            self.assertAlmostEqual(one, other, places=4)

    def test_factors_are_those_of_the_rows(self):
        self.show()
        by_bytes, by_operations = (data_of(self.browser, 'amplification-' + of) for of in ('bytes', 'operations'))
        points = data_of(self.browser, 'efficiency')
        for at, direction in enumerate(('read', 'write')):
            names, calls = self.sums('call_' + direction, 'bytes')
            disk = self.sums('disk_' + direction, 'bytes')[1]
            factors = [b / a for a, b in zip(calls, disk)]
            self.almost(by_bytes['sets'][at], factors)
            operations = self.sums('call_' + direction, 'operations')[1]
            requests = self.sums('disk_' + direction, 'operations')[1]
            self.almost(by_operations['sets'][at], [(a + b) / a for a, b in zip(operations, requests)])
            self.assertEqual([(one['name'], one['x']) for one in points['sets'][at]], list(zip(names, operations)))
            self.almost([one['y'] for one in points['sets'][at]], factors)

    def test_times_are_those_of_the_rows(self):
        self.show()
        for stream, rows in self.storage.rows.items():
            cells = data_of(self.browser, 'heat-' + stream)['sets'][0]
            self.assertEqual(sum(cell['rows'] for cell in cells), len(rows))
            at = self.storage.columns[stream].index('latency_ns' if stream == 'vfs' else 'latency_ms')
            latencies = [float(row.split(',')[at]) * (1 if stream == 'vfs' else 1e6) for row in rows]
            for cell in cells[:40]:
                wanted = sum(cell['least'] <= round(one) < cell['above'] for one in latencies)
                self.assertEqual(sum(one['rows'] for one in cells if one['least'] == cell['least']), wanted)
        in_flight = sum(sum(point['y'] for point in line[:-1]) * (line[1]['x'] - line[0]['x'])
                        for line in data_of(self.browser, 'depth')['sets'])
        self.assertAlmostEqual(in_flight, self.storage.in_flight_ns / 1e9, places=3)
        # All lines of rates have intervals of one width, and what is below each of them is its rows.
        rates = data_of(self.browser, 'rates')['sets']
        steps = {round(line[i + 1]['x'] - line[i]['x'], 6) for line in rates for i in range(len(line) - 1)}
        self.assertEqual(len(steps), 1)
        self.assertEqual([round(sum(point['y'] for point in line[:-1]) * steps.copy().pop()) for line in rates],
                         [len(rows) for rows in self.storage.rows.values()])
        self.assertIn('12 rows were lost', self.browser.value("document.getElementById('losses').textContent"))

    def test_names_are_text(self):
        self.show(page=self.make('names', self.storage.write, '--top', '60'))
        text = self.browser.value("document.getElementById('files').textContent")
        self.assertIn(storage_trace.HOSTILE, text)
        self.assertIn(storage_trace.HOSTILE_COMMAND, self.browser.value("document.getElementById('processes').textContent"))
        self.assertEqual(self.browser.value("document.querySelectorAll('img, b b, td b, h1 i').length"), 0)
        self.assertEqual(self.browser.value("document.querySelectorAll('script').length"), 3)

    def test_it_fits(self):
        for width in (1280, 400):
            for scheme in ('light', 'dark'):
                with self.subTest(width=width, scheme=scheme):
                    self.show(width, scheme)
                    self.assertEqual(self.browser.value('document.documentElement.scrollWidth'), width)
                    for name in CHARTS:
                        self.assertGreater(self.browser.value(f"{COLOURS}('{name}')"), 3, name)
                        self.assertGreater(self.browser.value(f"Chart.getChart('chart-{name}').chartArea.width"), width / 5, name)
                    cut = "[...document.querySelectorAll('section > .scroll')].filter(one => one.scrollWidth > one.clientWidth).length"
                    self.assertEqual(self.browser.value(cut), 0, 'tables that do not fit')
                    bright = sum(map(int, self.browser.value('getComputedStyle(document.body).backgroundColor')[4:-1].split(',')))
                    self.assertEqual(bright > 384, scheme == 'light')
                    if PICTURES:
                        self.browser.picture(os.path.join(PICTURES, f'{width}-{scheme}.png'))

    def test_an_empty_chart_says_why(self):
        def block_alone(folder):
            storage_trace.Storage().write(folder)
            subprocess.run(['python3', '-c', STRIP, folder], check=True)
        self.show(page=self.make('block', block_alone))
        for section in ('amplification', 'efficiency'):
            self.assertIn('The trace has no stream vfs', self.browser.value(f"document.getElementById('{section}').textContent"))
        self.assertEqual(data_of(self.browser, 'transfer')['sets'][2], self.sums('disk_read', 'bytes')[1])

    def test_lesser_commands_are_one(self):
        self.show(page=self.make('few', self.storage.write, '--top', '2'))
        data = data_of(self.browser, 'transfer')
        names, wanted = self.sums('disk_write', 'bytes')
        self.assertEqual(data['labels'], names[:2] + ['(others)'])
        self.assertEqual(data['sets'][3], wanted[:2] + [sum(wanted[2:])])

    def test_filters_are_told(self):
        def sampled(folder):
            storage_trace.Storage().write(folder, definition={'filters': {'sample': {'vfs': 10}}})
        told = "document.getElementById('amplification').textContent"
        self.show()
        self.assertNotIn('had filters', self.browser.value(told))
        self.show(page=self.make('sampled', sampled))
        self.assertIn('had filters', self.browser.value(told))
        self.assertIn('sample {"vfs":10}', self.browser.value(told))

    def test_a_manifest_in_an_unexpected_form(self):
        def lying(folder):
            storage_trace.Storage().write(folder, definition=7, changes={'filters': None}, gaps='none', host=[], started=1,
                                          session={'a': '<b>'}, level=[1, 2])
        self.show(page=self.make('lying', lying))
        self.assertEqual(data_of(self.browser, 'operations')['sets'][0], self.sums('call_read', 'operations')[1])

    def test_every_stream(self):
        def golden(folder):
            subprocess.run([sys.executable, os.path.join(UNIT, 'make_trace.py'), folder], check=True)
        self.show(page=self.make('golden', golden))


# Leaves the stream block alone.
STRIP = '''
import json, shutil, sys
path = sys.argv[1] + '/manifest.json'
manifest = json.load(open(path))
del manifest['streams']['vfs']
manifest['losses'] = []
manifest['segments'] = [one for one in manifest['segments'] if one['stream'] != 'vfs']
json.dump(manifest, open(path, 'w'))
shutil.rmtree(sys.argv[1] + '/fs')
'''

if __name__ == '__main__':
    if not shutil.which(chromium.PROGRAM):
        print('there is no chromium: run tests/browser/install-deps')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
