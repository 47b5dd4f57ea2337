# SPDX-License-Identifier: GPL-2.0-or-later
"""Chromium without a window, driven over a pipe by the DevTools protocol."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = 'chromium'
PATIENCE = 60  # seconds for one answer


class Chromium:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix='report-chromium-')
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4, which the shell gives it whatever ours are.
        self.process = subprocess.Popen(
            ['sh', '-c', f'exec 3<&{to_browser} 4>&{from_browser} "$@"', 'sh', PROGRAM, '--headless=new', '--no-sandbox',
             '--disable-gpu', '--no-first-run', '--disable-extensions', '--disable-background-networking', '--disable-dev-shm-usage',
             '--hide-scrollbars', '--user-data-dir=' + self.profile, '--remote-debugging-pipe', 'about:blank'],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.events = b'', 0, None, []
        target = next(one for one in self.call('Target.getTargets')['targetInfos'] if one['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')

    def receive(self):
        until = time.monotonic() + PATIENCE
        while b'\0' not in self.buffer:
            if not select.select([self.read_end], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError('the browser does not answer')
            part = os.read(self.read_end, 1 << 20)
            if not part:
                raise EOFError('the browser has ended')
            self.buffer += part
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.receive()
            if answer.get('id') != self.number:
                self.events.append(answer)
            elif 'error' in answer:
                raise RuntimeError(f'{method}: {answer["error"]}')
            else:
                return answer['result']

    def wait(self, method):
        while not any(event.get('method') == method for event in self.events):
            self.events.append(self.receive())

    def show(self, path, width, scheme):
        """Opens the page; what the browser said of it is in `events` afterwards."""
        self.events = []
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        self.call('Page.navigate', url='file://' + os.path.realpath(path))
        self.wait('Page.loadEventFired')

    def value(self, expression):
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError(f'{expression}: {answer["exceptionDetails"]}')
        return answer['result'].get('value')

    def picture(self, path):
        """The whole page, however long it is."""
        size = self.call('Page.getLayoutMetrics')['cssContentSize']
        clip = {'x': 0, 'y': 0, 'width': size['width'], 'height': size['height'], 'scale': 1}
        data = self.call('Page.captureScreenshot', format='png', captureBeyondViewport=True, clip=clip)['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.profile, ignore_errors=True)
