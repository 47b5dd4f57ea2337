// SPDX-License-Identifier: GPL-2.0-or-later
// read_sql.js DIR IOTRACECTL: has DuckDB and ClickHouse read what iotr-awkward-rows wrote into DIR, without any option, and
// into the tables that `iotracectl streams --sql` makes.
'use strict';
const fs = require('fs');
const { DuckDBInstance } = require('@duckdb/node-api');
const { execFileSync } = require('child_process');
const chdb = require('chdb');

const [dir, client] = process.argv.slice(2);
const types = JSON.parse(fs.readFileSync(`${dir}/types.json`));
const sums = JSON.parse(fs.readFileSync(`${dir}/sums.json`));
const kindOf = { u64: 'number', s64: 'number', milliseconds: 'decimal', time: 'time' };

const tools = {
  duckdb: {
    types: { number: 'BIGINT', decimal: 'DOUBLE', time: 'TIMESTAMP', text: 'VARCHAR' },
    rows: file => `read_csv('${file}')`,
    bytes: name => `strlen("${name}")`,
    sum: name => `sum("${name}")::VARCHAR`,
    read: async table => {
      const reader = await connection.runAndReadAll(`SELECT * FROM ${table}`);
      const types = reader.columnTypes();
      return { described: reader.columnNames().map((name, i) => [name, String(types[i])]), got: reader.getRows() };
    },
    describe: async table => (await ask(`DESCRIBE SELECT * FROM ${table}`)).map(row => [row[0], row[1]]),
    ask: sql => ask(sql),
    load: async file => {
      await connection.run(tables('duckdb'));
      await connection.run(`COPY "fs" FROM '${file}' (HEADER)`);
      return ask('SELECT typeof(size), count(size), sum(size)::VARCHAR FROM fs GROUP BY 1');
    },
    fraction: 6, // digits: its timestamps have microseconds
  },
  clickhouse: {
    types: { number: 'Nullable(Int64)', decimal: 'Nullable(Float64)', time: 'Nullable(DateTime64(9))', text: 'Nullable(String)' },
    rows: file => `file('${file}')`,
    bytes: name => `length("${name}")`,
    sum: name => `toString(sum("${name}"))`, // modulo 2^64
    read: async table => ({ described: await tools.clickhouse.describe(table), got: query(`SELECT * FROM ${table}`) }),
    describe: async table => query(`DESCRIBE ${table}`).map(row => [row[0], row[1]]),
    ask: async sql => query(sql),
    load: async file => {
      const session = new chdb.Session();
      try {
        for (const one of tables('clickhouse').replace(/^--.*/gm, '').split(';').filter(text => text.trim()))
          session.query(one);
        session.query(`INSERT INTO "fs" FROM INFILE '${file}' FORMAT CSVWithNames`);
        return query('SELECT toTypeName(size), count(size), toString(sum(size)) FROM fs GROUP BY 1', session);
      } finally {
        session.cleanup();
      }
    },
    fraction: 9,
  },
};

let connection;
async function ask(sql) {
  return (await connection.runAndReadAll(sql)).getRows();
}

// All values as texts, as JSON numbers lose bits.
function query(sql, where = chdb) {
  const text = where.query(sql + ' SETTINGS output_format_json_quote_64bit_integers = 1', 'JSONCompactEachRow');
  return text.trim().split('\n').filter(line => line).map(line => JSON.parse(line));
}

function tables(dialect) {
  return execFileSync(client, ['streams', '--sql', dialect], { encoding: 'utf8' });
}

function kind(stream, name) {
  return kindOf[types[stream][name]] || 'text';
}

function same(kind, wanted, got, tool) {
  if (wanted === '')
    return got === null || got === '';
  if (got === null)
    return false;
  if (kind === 'number')
    return BigInt(wanted) === BigInt(got);
  if (kind === 'decimal')
    return Number(wanted) === Number(got);
  if (kind === 'time') // trailing zeros may be missing
    return wanted.slice(0, 20 + tool.fraction) === String(got).padEnd(20 + tool.fraction, '0').slice(0, 20 + tool.fraction);
  return wanted === got;
}

async function checkFile(tool, stream, file) {
  const [header, ...lines] = fs.readFileSync(file, 'utf8').split('\n').slice(0, -1).map(line => line.split(','));
  const table = tool.rows(file);
  const { described, got } = await tool.read(table);
  const names = Object.keys(types[stream]);
  if (header.join() !== names.join() || described.map(row => row[0]).join() !== names.join())
    throw Error(`${file}: its columns are ${described.map(row => row[0])}`);
  names.forEach((name, i) => {
    // Of a column without any value nobody can tell what it holds.
    const is = lines.some(line => line[i] !== '') ? kind(stream, name) : 'text';
    if (described[i][1] !== tool.types[is])
      throw Error(`${file}: ${name} is ${described[i][1]}, e.g. ${lines.map(line => line[i]).find(cell => cell !== '')}`);
  });
  if (got.length !== lines.length)
    throw Error(`${file}: ${got.length} rows of ${lines.length}`);
  lines.forEach((line, row) => names.forEach((name, i) => {
    if (!same(kind(stream, name), line[i], got[row][i], tool))
      throw Error(`${file}:${row + 2}: ${name} is ${JSON.stringify(got[row][i])}, not ${JSON.stringify(line[i])}`);
  }));
}

async function checkSmall(tool) {
  for (const folder of ['mixed', 'alone'])
    for (const file of fs.readdirSync(`${dir}/${folder}`).sort())
      await checkFile(tool, file.split(/[_.]/)[0], `${dir}/${folder}/${file}`);
}

async function checkBig(tool) {
  const table = tool.rows(`${dir}/big/*.csv.gz`);
  const names = Object.keys(sums);
  for (const [name, type] of await tool.describe(table))
    if (type !== tool.types[sums[name].values ? kind('vfs', name) : 'text'])
      throw Error(`${name} is ${type}`);
  const columns = names.flatMap(name => [`count("${name}")`,
    kind('vfs', name) === 'number' && sums[name].values ? tool.sum(name) :
      kind('vfs', name) === 'text' ? `sum(${tool.bytes(name)})` : `'0'`]);
  const got = (await tool.ask(`SELECT ${columns} FROM ${table}`))[0];
  names.forEach((name, i) => {
    const sum = kind('vfs', name) === 'time' ? '0' : sums[name].sum;
    if (Number(got[2 * i]) !== sums[name].values || BigInt.asIntN(64, BigInt(got[2 * i + 1] || 0)) !== BigInt(sum))
      throw Error(`${name}: ${got[2 * i]} values, sum ${got[2 * i + 1]}; not ${sums[name].values} and ${sums[name].sum}`);
  });
}

// Sizes that come long after where a program looks for what a column holds: that they are numbers nothing can tell it, but
// none is changed. Who makes the table by what `streams --sql` prints has numbers.
async function checkLate(tool) {
  const file = `${dir}/late/fs_000001.csv`, table = tool.rows(file);
  const sizes = fs.readFileSync(file, 'utf8').split('\n').slice(1, -1).map(line => line.split(',')[6]).filter(cell => cell);
  const type = (await tool.describe(table)).find(row => row[0] === 'size')[1];
  if (type !== tool.types.text)
    throw Error(`size is ${type}: it is told now what a column holds that is empty at first`);
  const got = (await tool.ask(`SELECT size FROM ${table} WHERE size > ''`)).map(row => row[0]);
  if (got.sort().join() !== sizes.sort().join())
    throw Error(`${got.length} sizes, as ${got[0]}; not ${sizes.length}, as ${sizes[0]}`);
  const sum = sizes.reduce((all, size) => all + BigInt(size), 0n);
  const loaded = (await tool.load(file))[0].map(String);
  if (loaded.join() !== [tool.types.number, sizes.length, sum].join())
    throw Error(`in the table, size is ${loaded}; not ${[tool.types.number, sizes.length, sum]}`);
}

async function main() {
  connection = await (await DuckDBInstance.create()).connect();
  for (const [name, tool] of Object.entries(tools))
    for (const [what, check] of [['every stream, every name', checkSmall], ['millions of rows', checkBig],
      ['numbers that come late', checkLate]]) {
      const begin = Date.now();
      try {
        await check(tool);
        console.log(`ok tools.${name}: ${what} (${((Date.now() - begin) / 1000).toFixed(1)} s)`);
      } catch (error) {
        console.log(`not ok tools.${name}: ${what}\n# ${String(error.message).slice(0, 600).replace(/\n/g, '\n# ')}`);
      }
    }
}

main();
