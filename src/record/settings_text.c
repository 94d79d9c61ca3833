/* Reads a file with settings and checks that it is text. */
#include "base/error.h"
#include "record/settings_file.h"

enum { FILE_BYTES_MAX = 4 << 20 };

/* The length of the UTF-8 character at text, 0 when it is none, or a control
 * character that no YAML file has. */
static size_t character_length(const unsigned char *text)
{
	size_t size = text[0] < 0x80   ? 1
		      : text[0] < 0xc2 ? 0
		      : text[0] < 0xe0 ? 2
		      : text[0] < 0xf0 ? 3
		      : text[0] < 0xf5 ? 4
				       : 0;

	if (text[0] == 0x7f || (text[0] < 0x20 && text[0] != '\t' && text[0] != '\n' && text[0] != '\r'))
		return 0;
	for (size_t i = 1; i < size; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return size;
}

int sb_settings_file_text(const char *path, struct sb_buf *out_text)
{
	struct sb_buf text = { 0 };
	int err = sb_buf_read_file(&text, path, FILE_BYTES_MAX);

	for (size_t at = 0, size; !err && at < text.size; at += size) {
		size = character_length((const unsigned char *)text.data + at);
		if (!size)
			err = sb_fail(STROBE_EINVAL, "%s: not a text file (byte 0x%02x at offset %zu)", path,
				(unsigned char)text.data[at], at);
		if (!size)
			break;
	}
	if (err) {
		sb_buf_done(&text);
		return err;
	}
	*out_text = text;
	return 0;
}
