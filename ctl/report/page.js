/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws the document of a report. What comes from the trace is only ever set as text. */
'use strict';
(() => {
	const report = JSON.parse(document.getElementById('document').textContent);
	const streams = report.streams || {}, amplification = report.amplification;
	const darkness = matchMedia('(prefers-color-scheme: dark)');
	const drawings = []; /* a canvas each, and what makes its configuration */
	const LABEL_LENGTH = 22, OPERATIONS_SHOWN = 12;
	const TO_MILLISECONDS = '2026-11-20 10:00:03.000'.length; /* no more of a time is of use to people */

	/* ---- words for numbers ---- */

	const count = number => Number(number).toLocaleString('en-US');

	function scaled(number, units, step) {
		let at = 0;
		while (Math.abs(number) >= step && at < units.length - 1) {
			number /= step;
			at++;
		}
		return (at && number < 100 ? Number(number.toPrecision(3)) : Math.round(number * 10) / 10) + ' ' + units[at];
	}
	const bytes = number => scaled(number, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'], 1024);
	function time(ns) {
		return ns >= 1e9 ? Number((ns / 1e9).toPrecision(4)) + ' s' : scaled(ns, ['ns', 'µs', 'ms'], 1000);
	}
	const moment = text => String(text).slice(0, TO_MILLISECONDS);
	/* What somebody chose: whole hours and minutes are told as such. */
	const span = ns => ns && ns % 3600e9 === 0 ? ns / 3600e9 + ' h' : ns && ns % 60e9 === 0 ? ns / 60e9 + ' min' : time(ns);
	const factor = number => number === null ? '–' : number >= 100 ? number.toFixed(0) : number.toFixed(2);
	/* One as the document has it; what is not known is no number. */
	const told_factor = one => one.value === null ? '–' : (one.at_least ? '≥ ' : '') + factor(one.value);
	const short = name => name.length > LABEL_LENGTH ? name.slice(0, LABEL_LENGTH - 1) + '…' : name;

	/* ---- elements ---- */

	function add(parent, tag, text, className) {
		const element = document.createElement(tag);
		if (text !== undefined)
			element.textContent = text;
		if (className)
			element.className = className;
		parent.append(element);
		return element;
	}

	function section(id, title, note, wide) {
		const element = add(document.getElementById('sections'), 'section', undefined, wide ? 'wide' : '');
		element.id = id;
		add(element, 'h2', title);
		if (note)
			add(element, 'p', note, 'note');
		return element;
	}

	function table(parent, heads, rows, className) {
		const element = add(add(parent, 'div', undefined, 'scroll'), 'table', undefined, className);
		if (heads) {
			const line = add(add(element, 'thead'), 'tr');
			heads.forEach(head => add(line, 'th', head));
		}
		const body = add(element, 'tbody');
		for (const row of rows) {
			const line = add(body, 'tr');
			row.forEach(cell => add(line, 'td', cell));
		}
	}

	/* The numbers behind a chart, for those who cannot see it or want them exactly. */
	function numbers(parent, heads, rows) {
		const details = add(parent, 'details');
		add(details, 'summary', 'Numbers');
		table(details, heads, rows);
	}

	/* `why`: the reason for which there is nothing to draw. */
	function chart(parent, name, height, why, make) {
		if (why) {
			add(parent, 'p', why, 'why');
			return;
		}
		const box = add(parent, 'div', undefined, 'chart');
		box.style.height = height + 'px';
		const canvas = add(box, 'canvas');
		canvas.id = 'chart-' + name;
		canvas.setAttribute('role', 'img');
		canvas.setAttribute('aria-label', parent.querySelector('h2').textContent);
		drawings.push({ canvas, make });
	}

	/* ---- colours and axes ---- */

	function theme() {
		const dark = darkness.matches;
		return {
			read: dark ? '#6ea8ff' : '#2563eb', write: dark ? '#ffb454' : '#d97706',
			diskRead: dark ? '#5eead4' : '#0d9488', diskWrite: dark ? '#f48fb1' : '#be185d',
			heat: dark ? '110, 168, 255' : '29, 78, 216', text: dark ? '#c3ccd8' : '#3b4654',
			grid: dark ? '#323b47' : '#e3e7ec',
			/* As many as there are streams. */
			series: dark ? ['#6ea8ff', '#ffb454', '#5eead4', '#f48fb1', '#c4b5fd', '#fde047', '#86efac', '#fca5a5', '#7dd3fc',
				'#cbd5e1'] : ['#2563eb', '#d97706', '#0d9488', '#be185d', '#7c3aed', '#a16207', '#15803d', '#b91c1c', '#0e7490',
				'#475569'],
		};
	}
	const pick = (list, at) => list[at % list.length];
	/* What has the colour of another line is dashed. */
	const dash = (list, at) => at < list.length ? [] : [6, 3];

	function axis(colours, title, options) {
		return Object.assign({ title: { display: true, text: title, color: colours.text },
			grid: { color: colours.grid, borderColor: colours.grid } }, options,
			{ ticks: Object.assign({ color: colours.text, maxRotation: 40 }, (options || {}).ticks) });
	}

	/* A logarithmic axis says its powers of ten alone. */
	function powers(say) {
		return { callback: value => Math.abs(Math.log10(value) % 1) < 1e-9 ? say(value) : null };
	}

	function options(colours, x, y, label, more) {
		return Object.assign({ responsive: true, maintainAspectRatio: false, animation: false, scales: { x, y },
			plugins: { legend: { labels: Object.assign({ color: colours.text, boxWidth: 14, padding: 14 },
				more && more.shapes ? { usePointStyle: true, boxHeight: 7 } : {}) },
				tooltip: { callbacks: { label } } } }, more);
	}

	/* ---- what the charts of amplification show ---- */

	const FLOWS = [['call_read', 'Reads of files', 'read'], ['call_write', 'Writes of files', 'write'],
		['disk_read', 'Reads of disks', 'diskRead'], ['disk_write', 'Writes of disks', 'diskWrite']];
	const DIRECTIONS = [['read', 'Reads'], ['write', 'Writes']];
	const commands = amplification.commands.concat(amplification.others ? [amplification.others] : []);
	const nameOf = command => command === amplification.all ? '(all)' : command.name === null ? '(others)' :
		command.name || '(none)';

	/* All of them have a name, also where it is narrow. */
	const commandAxis = colours => axis(colours, 'command', { ticks: { autoSkip: false, maxRotation: 60 } });

	/* Quotients are those of iotracectl amplification, made by the same formulas. */
	const BY = { bytes: 'by_bytes', operations: 'by_operations' };
	const quotient = (command, direction, by) => command[direction][BY[by]];

	function whyNoFactors() {
		for (const stream of ['vfs', 'block'])
			if (!amplification[stream])
				return 'The trace has no stream ' + stream + ': without its rows, what reached the disks cannot be ' +
					'compared with what was asked of files. Record with --vfs --block.';
		if (!['call_read', 'call_write', 'mapped_read', 'mapped_write'].some(flow => amplification.all[flow].operations))
			return 'The trace has no call that moves data of a file to compare with.';
		return '';
	}

	function whyNoFlows() {
		if (!amplification.vfs && !amplification.block)
			return 'The trace has neither the stream vfs nor the stream block.';
		return commands.length ? '' : 'The trace has no reads and writes of files or disks.';
	}

	const COMPUTED = 'Computed from the rows of this trace, by command: calls of vfs that move data of files, copies included; ' +
		'reads and writes of block by disks that are made of no others. ';

	/* What moves data, and this trace has no rows of. */
	const unseen = () => [amplification.pagefault ? '' : 'what is read through mapped files (record with --pagefault)',
		amplification.cache ? '' : 'what is written through them (--cache)'].filter(Boolean).join(' and ');

	function factorAxis(colours, title, by) {
		const all = commands.flatMap(command => DIRECTIONS.map(([direction]) => quotient(command, direction, by).value));
		const steep = Math.max(...all) > 50;
		return axis(colours, title, steep ? { type: 'logarithmic', ticks: powers(value => '×' + value) } :
			{ beginAtZero: true, ticks: { callback: value => '×' + value } });
	}

	function drawFactors(parent, name, title, by) {
		chart(parent, name, 270, whyNoFactors(), colours => ({
			type: 'bar',
			data: { labels: commands.map(command => short(nameOf(command))),
				datasets: DIRECTIONS.map(([direction, label]) => ({ label, backgroundColor: colours[direction],
					data: commands.map(command => quotient(command, direction, by).value) })) },
			options: options(colours, commandAxis(colours), factorAxis(colours, title, by),
				item => item.dataset.label + ': ×' +
					told_factor(quotient(commands[item.dataIndex], DIRECTIONS[item.datasetIndex][0], by))),
		}));
	}

	/* The session's filters, and those that it had after a change; a sample above all makes quotients wrong. */
	function filters() {
		const trace = report.trace, found = new Set();
		for (const one of [trace.definition].concat(trace.changes || []))
			for (const [name, value] of Object.entries(((one && one.definition) || one || {}).filters || {}))
				found.add(name + ' ' + (typeof value === 'string' ? value : JSON.stringify(value)));
		return [...found];
	}

	function tellFilters(parent) {
		if (filters().length)
			add(parent, 'p', 'This session had filters, so that only what passed them is compared, of each stream for itself: ' +
				filters().join('; '), filters().some(filter => filter.startsWith('sample ')) ? 'bad' : 'note');
	}

	function drawAmplification() {
		const parent = section('amplification', 'Amplification compared', COMPUTED + 'By bytes: those of disks / those of ' +
			'calls; below 1, the page cache served or kept the rest. By operations: (calls + requests) / calls. ≥: not all ' +
			'that was written had reached the disks when the trace ended. What the session’s filters left out is missing' +
			(unseen() ? ', and so is ' + unseen() : '') + '.', true);
		tellFilters(parent);
		if (whyNoFactors()) {
			chart(parent, 'amplification-bytes', 0, whyNoFactors());
			return;
		}
		drawFactors(parent, 'amplification-bytes', 'by bytes', 'bytes');
		drawFactors(parent, 'amplification-operations', 'by operations', 'operations');
		numbers(parent, ['command', 'reads by bytes', 'writes by bytes', 'reads by operations', 'writes by operations'],
			commands.concat([amplification.all]).map(command => [nameOf(command)].concat(
				Object.keys(BY).flatMap(by => DIRECTIONS.map(([direction]) => told_factor(quotient(command, direction, by)))))));
	}

	function drawFlows(name, title, note, member, say, y) {
		const parent = section(name, title, note);
		chart(parent, name, 300, whyNoFlows(), colours => ({
			type: 'bar',
			data: { labels: commands.map(command => short(nameOf(command))),
				datasets: FLOWS.map(([flow, label, colour]) => ({ label, backgroundColor: colours[colour],
					data: commands.map(command => command[flow][member]) })) },
			options: options(colours, commandAxis(colours), y(colours), item => item.dataset.label + ': ' + say(item.raw)),
		}));
		if (!whyNoFlows())
			numbers(parent, ['command'].concat(FLOWS.map(([, label]) => label)),
				commands.concat([amplification.all]).map(command =>
					[nameOf(command)].concat(FLOWS.map(([flow]) => count(command[flow][member])))));
	}

	function drawOperations() {
		drawFlows('operations', 'Operations breakdown', COMPUTED + 'The scale is logarithmic.', 'operations', count,
			colours => axis(colours, 'operations', { type: 'logarithmic', min: 0.8, ticks: powers(count) }));
	}

	function drawTransfer() {
		const most = Math.max(1, ...commands.flatMap(command => FLOWS.map(([flow]) => command[flow].bytes)));
		const step = 2 ** Math.max(0, Math.ceil(Math.log2(most / 5)));
		drawFlows('transfer', 'Data transfer', COMPUTED + 'What was transferred, failed requests not included.',
			'bytes', bytes,
			colours => axis(colours, 'bytes', { beginAtZero: true, ticks: { stepSize: step, callback: bytes } }));
	}

	function drawEfficiency() {
		const parent = section('efficiency', 'Efficiency', COMPUTED + 'Each point is a command: how often it called, and ' +
			'how many bytes of disks there were for each of its own.');
		const points = direction => commands.map(command => ({ x: command['call_' + direction].operations,
			y: quotient(command, direction, 'bytes').value, name: nameOf(command) })).filter(point => point.y !== null);
		const why = whyNoFactors() || (points('read').length + points('write').length ? '' :
			'No command moved a byte to or from a file.');
		chart(parent, 'efficiency', 300, why, colours => ({
			type: 'scatter',
			data: { datasets: DIRECTIONS.map(([direction, label]) => ({ label, data: points(direction), clip: false,
				pointRadius: 5,
				pointHoverRadius: 7, pointStyle: direction === 'read' ? 'circle' : 'triangle',
				backgroundColor: colours[direction], borderColor: colours[direction] })) },
			options: options(colours, axis(colours, 'calls', { type: 'logarithmic', ticks: powers(count) }),
				factorAxis(colours, 'bytes of disks / of calls', 'bytes'),
				item => item.raw.name + ': ' + count(item.raw.x) + ' ' + item.dataset.label.toLowerCase() + ', ×' +
					factor(item.raw.y), { shapes: true }),
		}));
	}

	/* ---- latencies ---- */

	const MARKS = [['p50_ns', 'half', 'circle'], ['p90_ns', '90 %', 'rect'], ['p99_ns', '99 %', 'triangle'],
		['max_ns', 'longest', 'crossRot']];

	function drawLatency() {
		const timed = Object.entries(streams).flatMap(([stream, of]) => of.operations.filter(one => one.latency)
			.map(one => Object.assign({ label: stream + ' ' + one.name }, one))).sort((a, b) => b.rows - a.rows);
		const shown = timed.slice(0, OPERATIONS_SHOWN);
		const parent = section('latency', 'Latency', 'How long operations took: half of the rows at most so long, 90 %, ' +
			'99 %, and the longest; percentiles to ' + report.latency_error * 100 + ' %.' +
			(timed.length > shown.length ? ' The ' + shown.length + ' with the most rows of ' + timed.length + '.' : ''));
		chart(parent, 'latency', 90 + 26 * shown.length, shown.length ? '' :
			'No row of this trace has a latency.', colours => ({
			type: 'line',
			data: { labels: shown.map(one => short(one.label)), datasets: MARKS.map(([mark, label, pointStyle], at) => ({ label,
				pointStyle, showLine: false, clip: false, pointRadius: 5, borderColor: pick(colours.series, at), borderWidth: 2,
				backgroundColor: pick(colours.series, at), data: shown.map(one => one.latency[mark]) })) },
			options: options(colours, axis(colours, 'latency', { type: 'logarithmic', ticks: powers(time) }),
				axis(colours, '', { offset: true, title: { display: false }, ticks: { autoSkip: false, maxRotation: 0 } }),
				item => item.dataset.label + ': ' + time(item.raw), { indexAxis: 'y', shapes: true }),
		}));
		if (timed.length)
			numbers(parent, ['operation', 'rows', 'errors', 'half', '90 %', '99 %', 'longest'], timed.map(one =>
				[one.label, count(one.rows), count(one.errors)].concat(MARKS.map(([mark]) => time(one.latency[mark])))));
	}

	/* ---- over time ---- */

	/* All charts over time begin with the first row that has a time. */
	const begin = Math.min(...Object.values(streams).filter(of => of.rate.interval_ns).map(of => of.rate.from_mono_ns));
	const seconds = ns => (ns - begin) / 1e9;
	const end = Math.max(...Object.values(streams).filter(of => of.rate.interval_ns).map(of =>
		seconds(of.rate.from_mono_ns + of.rate.rows.length * of.rate.interval_ns)));

	const cells = {
		id: 'cells',
		beforeDatasetsDraw(drawn, args, settings) {
			if (!settings.colour)
				return;
			const { ctx, scales: { x, y }, chartArea: area } = drawn;
			ctx.save();
			ctx.beginPath();
			ctx.rect(area.left, area.top, area.width, area.height);
			ctx.clip();
			for (const raw of drawn.data.datasets[0].data) {
				const left = x.getPixelForValue(raw.from), top = y.getPixelForValue(raw.above);
				ctx.fillStyle = 'rgba(' + settings.colour + ', ' + (0.15 + 0.85 * Math.log(raw.rows) /
					Math.log(Math.max(2, settings.most))) + ')';
				ctx.fillRect(left, top, Math.max(2, x.getPixelForValue(raw.to) - left),
					Math.max(2, y.getPixelForValue(raw.least) - top));
			}
			ctx.restore();
		},
	};

	/* The cells of a heat map in which there are rows. */
	function cellsOf(heat) {
		return heat.rows.flatMap((intervals, bucket) => intervals.map((rows, at) => {
			const least = heat.first_ns * 2 ** (bucket - 1), from = seconds(heat.from_mono_ns + at * heat.interval_ns);
			const to = from + heat.interval_ns / 1e9;
			return { rows, from, to, least, above: 2 * least, x: (from + to) / 2, y: least * Math.SQRT2 };
		})).filter(cell => cell.rows);
	}

	function drawHeat(parent, stream, heat) {
		const data = cellsOf(heat), most = Math.max(...data.map(cell => cell.rows));
		add(parent, 'p', stream + ': the darkest or brightest cell has ' + count(most) + (most === 1 ? ' row.' : ' rows.'),
			'note');
		chart(parent, 'heat-' + stream, 230, '', colours => ({
			type: 'scatter', plugins: [cells],
			data: { datasets: [{ label: stream, data, pointRadius: 0, pointHitRadius: 8, pointHoverRadius: 0 }] },
			options: options(colours,
				axis(colours, 'seconds', { min: 0, max: end,
					ticks: { maxTicksLimit: 8, includeBounds: false } }),
				axis(colours, 'latency', { type: 'logarithmic', min: Math.min(...data.map(cell => cell.least)),
					max: Math.max(...data.map(cell => cell.above)), ticks: powers(time) }),
				() => '', {
					interaction: { mode: 'nearest', intersect: false },
					plugins: { cells: { colour: colours.heat, most }, legend: { display: false }, tooltip: { callbacks: {
						label: ({ raw }) => count(raw.rows) + ' rows of ' + time(raw.least) + ' to ' + time(raw.above) +
							' in ' + raw.from.toFixed(3) + ' s to ' + raw.to.toFixed(3) + ' s' } } },
				}),
		}));
	}

	function drawHeats() {
		const parent = section('heat', 'Latency over time', 'Rows by when they began and how long they took; the colour is ' +
			'their number, on a logarithmic scale.', true);
		const heats = Object.entries(report.heat).sort((a, b) => streams[b[0]].rows - streams[a[0]].rows);
		if (!heats.length)
			chart(parent, 'heat', 0, 'No row of this trace has both a time and a latency.');
		heats.forEach(([stream, heat]) => drawHeat(parent, stream, heat));
	}

	/*
	 * The same series with intervals of one width, that of the widest, from the begin on: each value is the mean of those that lie
	 * in its interval. Side by side, lines of other widths would look as if they varied more or less.
	 */
	function alike(series) {
		const width = Math.max(...series.map(one => one.interval_ns));
		return series.map(one => {
			const first = Math.floor((one.from_mono_ns - begin) / width), sums = [];
			one.values.forEach((value, i) => {
				const from = one.from_mono_ns - begin + i * one.interval_ns, to = from + one.interval_ns;
				for (let at = Math.floor(from / width); at * width < to; at++) {
					const shared = Math.min(to, (at + 1) * width) - Math.max(from, at * width);
					sums[at - first] = (sums[at - first] || 0) + value * Math.max(0, shared) / width;
				}
			});
			return { label: one.label, from_mono_ns: begin + first * width, interval_ns: width, values: sums };
		});
	}

	/* A line for each series: a value for each interval. */
	function drawLines(parent, name, title, why, say, series) {
		chart(parent, name, 240, why, colours => ({
			type: 'line',
			data: { datasets: series.map((one, at) => ({ label: one.label, stepped: true, pointRadius: 0, borderWidth: 2,
				pointHitRadius: 6, borderColor: pick(colours.series, at), backgroundColor: pick(colours.series, at),
				borderDash: dash(colours.series, at),
				data: one.values.concat(one.values.slice(-1)).map((y, i) =>
					({ x: seconds(one.from_mono_ns + i * one.interval_ns), y })) })) },
			options: options(colours,
				axis(colours, 'seconds', { type: 'linear', min: 0, max: end, ticks: { includeBounds: false } }),
				axis(colours, title, { beginAtZero: true }),
				item => item.dataset.label + ': ' + say(item.raw.y), {
					interaction: { mode: 'nearest', intersect: false } }),
		}));
	}

	function drawDepth() {
		const disks = report.depth.disks.filter(disk => disk.in_flight_ns.length);
		const parent = section('depth', 'Block queue depth over time', 'Requests in each disk, from issue to completion: the ' +
			'mean of each interval. Those that had not ended with the trace have no row' +
			(report.depth.requests_left_out ? '; ' + count(report.depth.requests_left_out) +
			' requests of further disks, or of none, are not shown' : '') + '.', true);
		const why = !amplification.block ? 'The trace has no stream block: record with --block.' :
			disks.length ? '' : 'The trace has no block request with a time and a latency.';
		const series = disks.map(disk => ({ label: disk.disk, from_mono_ns: disk.from_mono_ns, interval_ns: disk.interval_ns,
			values: disk.in_flight_ns.map(ns => ns / disk.interval_ns) }));
		drawLines(parent, 'depth', 'requests in the disk', why, value => value.toFixed(2), series);
		if (!why)
			numbers(parent, ['disk', 'mean', 'greatest mean', 'interval'], series.map(one => [one.label,
				(one.values.reduce((sum, value) => sum + value, 0) / one.values.length).toFixed(3),
				Math.max(...one.values).toFixed(3), time(one.interval_ns)]));
	}

	function drawRates() {
		const parent = section('rates', 'Rows over time', '', true);
		const series = Object.entries(streams).filter(([, of]) => of.rate.rows.length).map(([label, of]) => ({ label,
			from_mono_ns: of.rate.from_mono_ns, interval_ns: of.rate.interval_ns,
			values: of.rate.rows.map(rows => rows * 1e9 / of.rate.interval_ns) }));
		drawLines(parent, 'rates', 'rows a second', series.length ? '' : 'No row of this trace has a time.',
			value => count(Math.round(value)), alike(series));
	}

	/* ---- lists ---- */

	const FIGURES = [['time', 'time_ns', time], ['rows', 'rows', count], ['errors', 'errors', count],
		['read', 'read_bytes', bytes], ['written', 'written_bytes', bytes]];

	/* A line of a list: its outermost layer, and below it each other one that it has rows of. */
	function linesOf(row) {
		const say = (how, value) => value ? how(value) : '–';
		const line = (label, sums, least) => [label].concat(FIGURES.map(([head, key, how]) =>
			(least && head === 'time' ? '≥ ' : '') + say(how, sums[key])));
		return [line(row.label, row, !row.exact)].concat(Object.entries(row.beside).map(([layer, sums]) =>
			line('↳ ' + layer, sums, !row.exact)));
	}

	function drawList(id, title, key, rows, none) {
		const parent = section(id, title, rows.length ? 'Those that took most time in ' + report.layers[id] +
			'. Below each, what other layers did for it (↳), which is no part of its sums.' : '', id === 'files');
		if (!rows.length)
			add(parent, 'p', none, 'why');
		else
			table(parent, [key].concat(FIGURES.map(([head]) => head)), rows.flatMap(linesOf));
	}

	function drawLists() {
		const named = (list, label) => list.map(row => Object.assign({ label: label(row) }, row));
		const name = row => row.name + (row.disk ? ' ' + row.disk : '');
		drawList('files', 'Top files', 'file', named(report.files, name), 'No row of this trace names a file.');
		drawList('directories', 'Top directories', 'directory', named(report.directories, name),
			'No row of this trace names a file.');
		drawList('processes', 'Top processes', 'process', named(report.processes, row => row.command === undefined ?
			name(row) : row.pid + ' ' + row.command), 'No row of this trace is of a process.');
		drawList('units', 'Top units', 'unit', named(report.units, name), 'No row of this trace has a cgroup.');
		drawList('devices', 'Top devices', 'device', named(report.devices, name), 'No row of this trace names a device.');
		if (report.peers.length)
			drawList('peers', 'Top peers', 'peer', named(report.peers, name), '');
	}

	/* ---- losses, and what was traced ---- */

	const lostRows = of => Object.entries(of.lost || {}).filter(([cause]) => cause !== 'names')
		.reduce((sum, [, rows]) => sum + Number(rows), 0);

	function drawLosses() {
		const parent = section('losses', 'Losses', '', true);
		const lost = Object.values(streams).reduce((sum, of) => sum + lostRows(of), 0);
		add(parent, 'p', lost ? count(lost) + ' rows were lost.' : 'The manifest knows of no row that was lost.',
			lost ? 'bad' : '');
		table(parent, ['stream', 'lost', 'emitted', 'written', 'removed', 'read here'],
			Object.entries(streams).map(([name, of]) => [name, count(lostRows(of)) + causes(of), count(of.emitted),
				count(of.written), count(of.removed), count(of.rows)]));
		if ((report.loss_times || []).length)
			table(parent, ['stream', 'cause', 'rows', 'from', 'to'], report.loss_times.map(one =>
				['stream', 'cause', 'rows', 'from', 'to'].map(key => one[key] === undefined ? '' :
					moment(one[key]))));
		const findings = ['problems', 'losses', 'caveats', 'notes'].flatMap(kind => (report[kind] || []).map(one =>
			[kind, (one.file ? one.file + ': ' : '') + (one.what || '')]));
		for (const gap of report.gaps || [])
			findings.push(['gap', JSON.stringify(gap)]);
		if (report.bad_rows)
			findings.push(['problems', count(report.bad_rows) + ' lines are no rows']);
		if (findings.length)
			table(parent, null, findings, 'facts');
	}

	function causes(of) {
		const named = Object.entries(of.lost || {}).filter(([, rows]) => Number(rows));
		return named.length ? ' (' + named.map(([cause, rows]) => cause + ' ' + count(rows)).join(', ') + ')' : '';
	}

	/* A value of the manifest, with a line for each of its members. */
	function told(value, indent) {
		if (value === null || typeof value !== 'object')
			return String(value);
		if (Array.isArray(value) && value.every(one => one === null || typeof one !== 'object'))
			return value.join(', ') || 'none';
		const lines = Object.entries(value).map(([key, one]) => {
			const nested = one !== null && typeof one === 'object' && !(Array.isArray(one) && typeof one[0] !== 'object');
			const [name, text] = named(key, one, indent + '  ');
			return indent + name + ':' + (nested && Object.keys(one).length ? '\n' : ' ') + text;
		});
		return lines.join('\n') || 'none';
	}

	/* Sizes and spans of time in their units; points in time are as in the manifest. */
	function named(key, value, indent) {
		const spans = typeof value === 'number' && /_ns$/.test(key) && !/(mono|offset)_ns$/.test(key);
		const name = (spans ? key.slice(0, -3) : key).replaceAll('_', ' ');
		return [name, spans ? span(value) : typeof value === 'number' && /_size$/.test(key) ? bytes(value) : told(value, indent)];
	}

	function drawTrace() {
		const parent = section('trace', 'What was traced, and how', '', true);
		const facts = [['folder', report.path]].concat(Object.entries(report.trace).map(([key, value]) => named(key, value, '')));
		table(parent, null, facts.filter(([, value]) => value.length < 400), 'facts');
		const long = facts.filter(([, value]) => value.length >= 400);
		for (const [key, value] of long) {
			const details = add(parent, 'details');
			details.open = key === 'definition';
			add(details, 'summary', key);
			add(details, 'pre', value);
		}
	}

	function drawHead() {
		const host = report.host || {};
		document.title = 'iotracer report: ' + (report.session || '');
		document.getElementById('title').textContent = 'I/O of session ' + (report.session || '(unnamed)');
		document.getElementById('subtitle').textContent = [host.name, host.kernel && 'Linux ' + host.kernel, report.started &&
			moment(report.started) + ' to ' + (report.ended ? moment(report.ended) : 'now (' + report.state + ')') +
			' UTC'].filter(Boolean).join(' · ');
		const lost = Object.values(streams).reduce((sum, of) => sum + lostRows(of), 0);
		const figures = document.getElementById('figures');
		for (const [number, label, className] of [[count(report.rows), 'rows'], [Object.keys(streams).length, 'streams'],
			[count(Object.values(streams).reduce((sum, of) => sum + of.errors, 0)), 'errors'],
			[count(lost), 'lost', lost ? 'bad' : '']]) {
			const box = add(figures, 'div');
			add(box, 'b', number, className);
			add(box, 'span', label);
		}
		document.getElementById('footer').textContent = 'Written by iotracectl report; charts: Chart.js ' + Chart.version +
			', MIT licence.';
	}

	function drawCharts() {
		const colours = theme();
		for (const drawing of drawings) {
			if (drawing.chart)
				drawing.chart.destroy();
			drawing.chart = new Chart(drawing.canvas, drawing.make(colours));
		}
	}

	/* What a manifest has in an unexpected shape costs its own section alone. */
	for (const draw of [drawHead, drawAmplification, drawOperations, drawTransfer, drawLatency, drawEfficiency, drawHeats,
		drawDepth, drawRates, drawLists, drawLosses, drawTrace])
		try {
			draw();
		} catch (error) {
			const sections = document.getElementById('sections');
			add(sections.lastElementChild || sections, 'p', 'This cannot be shown, as the trace or its manifest has it in an ' +
				'unexpected form: ' + error.message, 'why');
		}
	drawCharts();
	darkness.addEventListener('change', drawCharts);
	document.documentElement.dataset.ready = 'yes';
})();
