// SPDX-License-Identifier: GPL-2.0-or-later
#include "extensions.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Must be sorted. */
static const char *const extensions[] = {
	"7z", "a", "aac", "aiff", "apk", "arrow", "asm", "avi", "avif", "avro", "awk", "bak", "bam", "bat",
	"bin", "blob", "bmp", "btrfs", "bz2", "c", "cache", "cbor", "cc", "cer", "cfg", "cgi", "class",
	"cmake", "cmd", "conf", "config", "core", "cpio", "cpio.bz2", "cpio.gz", "cpio.xz", "cpio.zst",
	"cpp", "crt", "csr", "css", "csv", "csv.bz2", "csv.gz", "csv.xz", "csv.zst", "cu", "cxx", "dat",
	"data", "db", "dbf", "deb", "der", "dex", "dict", "diff", "dll", "dmg", "doc", "docx", "dot", "dtb",
	"dylib", "eml", "env", "eps", "epub", "err", "exe", "fasta", "fastq", "fifo", "flac", "flv", "fnt",
	"frm", "gif", "go", "gpg", "gz", "h", "h5", "har", "hdf5", "hdr", "heic", "hpp", "hs", "htm",
	"html", "hxx", "ibd", "ico", "idx", "img", "in", "inc", "index", "info", "ini", "ipynb", "iso",
	"jar", "java", "jpeg", "jpg", "js", "json", "json.bz2", "json.gz", "json.xz", "json.zst", "jsonl",
	"jsonl.gz", "jsonl.xz", "jsx", "key", "ko", "l", "la", "ldb", "ldf", "lib", "lock", "log",
	"log.bz2", "log.gz", "log.xz", "log.zst", "lua", "lz", "lz4", "lzma", "lzo", "m", "m4", "map", "md",
	"md5", "mdf", "mf", "mkv", "mo", "mod", "mount", "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "mxf",
	"myd", "myi", "nc", "ndf", "ndjson", "npy", "npz", "nvram", "o", "obj", "ogg", "old", "onnx", "opt",
	"orc", "orig", "otf", "out", "ova", "ovf", "pack", "pak", "parquet", "part", "patch", "pb", "pcap",
	"pch", "pdb", "pdf", "pem", "php", "pid", "pkg", "pkl", "pl", "plist", "pm", "png", "po", "pot",
	"ppt", "pptx", "proto", "ps", "psd", "pt", "pth", "pub", "py", "pyc", "pyi", "pyo", "qcow2", "r",
	"rar", "rb", "rc", "rdb", "rej", "rlib", "rmeta", "rom", "rpm", "rs", "rst", "rtf", "s",
	"sav", "scope", "service", "sh", "sha1", "sha256", "shm", "sig", "slice", "snap", "so", "sock",
	"socket", "spec", "sql", "sql.bz2", "sql.gz", "sql.xz", "sql.zst", "sqlite", "sqlite3", "squashfs",
	"srt", "sst", "svg", "swap", "swo", "swp", "sym", "tar", "tar.bz2", "tar.gz", "tar.xz", "tar.zst",
	"target", "tbz2", "temp", "test", "tex", "tgz", "tif", "tiff", "timer", "tmp", "toml", "tpl", "ts",
	"tsv", "tsv.bz2", "tsv.gz", "tsv.xz", "tsv.zst", "tsx", "ttf", "txt", "txt.bz2", "txt.gz", "txt.xz",
	"txt.zst", "txz", "tzst", "ui", "unit", "vcf", "vdi", "vhd", "vhdx", "vmdk", "vue", "wal", "war",
	"wasm", "wav", "webm", "webp", "whl", "woff", "woff2", "wsgi", "x", "xcf", "xls", "xlsx", "xml",
	"xml.bz2", "xml.gz", "xml.xz", "xml.zst", "xsd", "xsl", "xz", "yaml", "yml", "z", "zip", "zst",
};

#define COUNT (sizeof(extensions) / sizeof(extensions[0]))

static int compare(const void *word, const void *extension)
{
	return strcmp(word, *(const char *const *)extension);
}

/* Returns NULL if the text is not a known extension. */
static const char *find(const char *text, size_t length)
{
	char word[EXTENSION_MAX + 1];
	const char *const *found;

	if (length > EXTENSION_MAX)
		return NULL;
	for (size_t i = 0; i < length; i++)
		word[i] = (char)tolower((unsigned char)text[i]);
	word[length] = '\0';
	found = bsearch(word, extensions, COUNT, sizeof(extensions[0]), compare);
	return found ? *found : NULL;
}

/* Position of the last dot that is not the first character; 0: there is none. */
static size_t last_dot(const char *name, size_t length)
{
	while (length > 1)
		if (name[--length] == '.')
			return length;
	return 0;
}

static bool is_version(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return length;
}

const char *extension_of(const char *name, size_t length)
{
	size_t dot = last_dot(name, length), second;
	const char *last, *both;

	while (dot && is_version(name + dot + 1, length - dot - 1)) {
		length = dot;
		dot = last_dot(name, length);
	}
	last = dot ? find(name + dot + 1, length - dot - 1) : NULL;
	if (!last)
		return "";
	second = last_dot(name, dot);
	both = second ? find(name + second + 1, length - second - 1) : NULL;
	return both ?: last;
}

size_t extensions_known(const char *const **ret)
{
	*ret = extensions;
	return COUNT;
}
