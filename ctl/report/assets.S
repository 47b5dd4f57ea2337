/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that a report's page is made of, as they are. The build defines where they lie. */
.macro file name, path
	.global \name
	.global \name\()_end
\name:
	.incbin "\path"
\name\()_end:
	.byte 0
.endm

	.section .rodata
	file page_css, PAGE_CSS
	file page_html, PAGE_HTML
	file page_js, PAGE_JS
	file chart_js, CHART_JS

	.section .note.GNU-stack, "", @progbits
