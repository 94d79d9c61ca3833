/* The page's bytes come from page.html at compile time; its two holes
 * (the policy's connect-src, the data) are filled here. */
#include "report/page/page.h"

#include "base/error.h"
#include "report/page/gzip.h"

#include <string.h>

__asm__(".section .rodata\n"
	".global sb_page_bytes\n"
	".hidden sb_page_bytes\n"
	"sb_page_bytes:\n"
	".incbin \"report/page/page.html\"\n"
	".global sb_page_bytes_end\n"
	".hidden sb_page_bytes_end\n"
	"sb_page_bytes_end:\n"
	".byte 0\n"
	".previous\n");
extern const char sb_page_bytes[], sb_page_bytes_end[];

#define DATA_HOLE "<!--strobe:data-->"
#define DOCTYPE "<!doctype html>"
#define JOB_COMMENT "<!--strobe:job-->" /* exchange/share_in.c knows the page of a job by it */
#define NO_CONNECTION "connect-src 'none'"
#define OWN_CONNECTION "connect-src 'self'"

/* JSON inside a script element: no "<" can end the element, no line separator
 * can end a line. Both occur in JSON inside strings only; line breaks with their
 * indentation, which are most of a long series, only between values. */
static void put_json(struct sb_buf *out, const char *json, size_t size)
{
	size_t done = 0;

	for (size_t i = 0; i < size; i++) {
		const char *escape = NULL;
		size_t width = 1;

		if (json[i] == '<') {
			escape = "\\u003c";
		} else if (i + 2 < size && !memcmp(json + i, "\xe2\x80", 2) &&
			   (json[i + 2] == '\xa8' || json[i + 2] == '\xa9')) {
			escape = json[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
			width = 3;
		} else if (json[i] == '\n') {
			escape = "";
			while (i + width < size && json[i + width] == ' ')
				width++;
		}
		if (!escape)
			continue;
		sb_buf_add(out, json + done, i - done);
		sb_buf_puts(out, escape);
		done = i + width;
		i += width - 1;
	}
	sb_buf_add(out, json + done, size - done);
}

/* An attribute's value from our own code or a run id; quotes are made harmless. */
static void put_attribute(struct sb_buf *out, const char *name, const char *value)
{
	sb_buf_printf(out, " %s=\"", name);
	for (const char *p = value; *p; p++) {
		if (*p == '"' || *p == '&' || *p == '<' || *p == '>')
			sb_buf_printf(out, "&#%d;", *p);
		else
			sb_buf_putc(out, *p);
	}
	sb_buf_putc(out, '"');
}

static int put_bytes(struct sb_buf *out, const char *id, const struct sb_buf *bytes)
{
	struct sb_buf packed = { 0 };
	int err = sb_gzip(bytes->data, bytes->size, &packed);

	if (err && err != STROBE_ENOTSUP)
		return err;
	sb_buf_puts(out, "<script type=\"application/octet-stream\"");
	put_attribute(out, "id", id);
	put_attribute(out, "data-encoding", err ? "raw" : "gzip");
	sb_buf_putc(out, '>');
	if (err)
		sb_buf_put_base64(out, bytes->data, bytes->size);
	else
		sb_buf_put_base64(out, packed.data, packed.size);
	sb_buf_puts(out, "</script>\n");
	sb_buf_done(&packed);
	return 0;
}

static int put_data(const struct sb_page *page, struct sb_buf *out)
{
	int err = 0;

	sb_buf_puts(out, "<script type=\"application/json\" id=\"strobe-report\"");
	put_attribute(out, "data-kind", page->kind);
	if (page->live)
		put_attribute(out, "data-live", page->live);
	sb_buf_putc(out, '>');
	put_json(out, page->json, page->json_size);
	sb_buf_puts(out, "</script>\n");
	if (page->timeline && page->timeline->size)
		err = put_bytes(out, "strobe-timeline", page->timeline);
	if (!err && page->base_timeline && page->base_timeline->size)
		err = put_bytes(out, "strobe-timeline-base", page->base_timeline);
	if (!err && page->recording)
		err = put_bytes(out, "strobe-recording", page->recording);
	if (!err && page->job)
		err = put_bytes(out, "strobe-job", page->job);
	return err;
}

int sb_page_write(const struct sb_page *page, struct sb_buf *out)
{
	const char *connect = strstr(sb_page_bytes, NO_CONNECTION);
	const char *hole = strstr(sb_page_bytes, DATA_HOLE);
	int err;

	if (!connect || !hole || hole < connect || strncmp(sb_page_bytes, DOCTYPE, strlen(DOCTYPE)) != 0)
		return sb_fail(STROBE_EFORMAT, "the page inside this build has no place for data");
	sb_buf_add(out, sb_page_bytes, strlen(DOCTYPE));
	if (page->job)
		sb_buf_puts(out, JOB_COMMENT);
	sb_buf_add(out, sb_page_bytes + strlen(DOCTYPE), (size_t)(connect - sb_page_bytes) - strlen(DOCTYPE));
	sb_buf_puts(out, page->live ? OWN_CONNECTION : NO_CONNECTION);
	connect += strlen(NO_CONNECTION);
	sb_buf_add(out, connect, (size_t)(hole - connect));
	err = put_data(page, out);
	if (err)
		return err;
	hole += strlen(DATA_HOLE);
	sb_buf_add(out, hole, (size_t)(sb_page_bytes_end - hole));
	if (sb_buf_failed(out))
		return sb_fail(STROBE_ENOMEM, "no memory for the page");
	return 0;
}

int sb_page_wrap(const char *kind, const struct sb_buf *json, struct sb_buf *out)
{
	struct sb_page page = { .kind = kind, .json = sb_buf_text(json), .json_size = json->size };

	if (sb_buf_failed(json))
		return sb_fail(STROBE_ENOMEM, "no memory for the page");
	return sb_page_write(&page, out);
}
