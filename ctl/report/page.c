// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/page.h"

#include <json-c/json.h>

#include "escape.h"

/* Files of the page, which the assembler takes in (assets.S). */
extern const char page_css[], page_css_end[], page_html[], page_html_end[], page_js[], page_js_end[], chart_js[],
	chart_js_end[];

/* The page may load nothing, whatever a name in the trace says. */
static const char head[] = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
			   "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
			   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
			   "<meta name=\"color-scheme\" content=\"light dark\">\n"
			   "<link rel=\"icon\" href=\"data:,\">\n<title>iotracer report</title>\n<style>\n";

static void put(FILE *stream, const char *from, const char *end)
{
	fwrite(from, 1, (size_t)(end - from), stream);
}

/*
 * JSON in which no '<' stands, so that the script that it is in ends where it should. A '<' can only stand within a
 * string, as can the escape for it; and so can what is not valid UTF-8, in rows that others wrote.
 */
static void put_json(FILE *stream, struct json_object *document)
{
	size_t left, length;
	const char *text = json_object_to_json_string_length(document, JSON_C_TO_STRING_PLAIN, &left);

	for (; text && left; text += length, left -= length) {
		length = escape_character(text, left);
		if (*text == '<')
			fputs("\\u003c", stream);
		else if (length)
			fwrite(text, 1, length, stream);
		else
			fputs("\\ufffd", stream);
		length = length ?: 1;
	}
}

void page_write(FILE *stream, struct json_object *document)
{
	fputs(head, stream);
	put(stream, page_css, page_css_end);
	fputs("</style>\n</head>\n", stream);
	put(stream, page_html, page_html_end);
	fputs("<script type=\"application/json\" id=\"document\">", stream);
	put_json(stream, document);
	fputs("</script>\n<script>\n", stream);
	put(stream, chart_js, chart_js_end);
	fputs("\n</script>\n<script>\n", stream);
	put(stream, page_js, page_js_end);
	fputs("</script>\n</body>\n</html>\n", stream);
}
