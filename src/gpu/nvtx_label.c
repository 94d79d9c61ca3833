/* What NVTX ranges and marks are called, and the number that they carry. */
#include "gpu/nvtx_label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t utf8_put(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18 & 7));
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

void sb_nvtx_utf8(const wchar_t *wide, char *out, size_t size)
{
	size_t n = 0;

	for (; wide && *wide && n + 5 < size; wide++)
		n += utf8_put(out + n, (uint32_t)*wide);
	out[n] = 0;
}

/* "aten::mul, seq = 17, op_id = 3": the numbers would make every call a name. */
static void cut_numbers(char *text)
{
	char *at = strstr(text, ", seq = ");

	if (!at)
		at = strstr(text, ", op_id = ");
	if (at)
		*at = 0;
}

struct sb_nvtx_label sb_nvtx_label_of(const char *domain, const char *text)
{
	struct sb_nvtx_label l;

	if (!text || !*text)
		text = "(nvtx)";
	/* What is longer is cut. */
	if (snprintf(l.text, sizeof l.text, "%s%s%s", domain ? domain : "", domain ? ":" : "", text) < 0)
		l.text[0] = 0;
	cut_numbers(l.text);
	return l;
}

struct sb_nvtx_label sb_nvtx_label_of_wide(const char *domain, const wchar_t *wide)
{
	char text[SB_NVTX_NAME_BYTES];

	sb_nvtx_utf8(wide, text, sizeof text);
	return sb_nvtx_label_of(domain, text);
}

static const struct sb_nvtx_registered *registered_of(const struct nvtx_attributes *a)
{
	return a && a->size >= sizeof *a && a->message_type == NVTX_MESSAGE_REGISTERED ? a->message.registered
										       : NULL;
}

struct sb_nvtx_label sb_nvtx_label_of_attributes(const char *domain, const struct nvtx_attributes *a)
{
	const struct sb_nvtx_registered *r = registered_of(a);

	if (r)
		return sb_nvtx_label_of(NULL, r->text); /* has its domain in it already */
	if (a && a->size >= sizeof *a && a->message_type == NVTX_MESSAGE_ASCII)
		return sb_nvtx_label_of(domain, a->message.ascii);
	if (a && a->size >= sizeof *a && a->message_type == NVTX_MESSAGE_UNICODE)
		return sb_nvtx_label_of_wide(domain, a->message.unicode);
	return sb_nvtx_label_of(domain, NULL);
}

uint32_t sb_nvtx_name_of_attributes(const char *domain, const struct nvtx_attributes *a)
{
	const struct sb_nvtx_registered *r = registered_of(a);

	return r ? r->id : strobe_name(sb_nvtx_label_of_attributes(domain, a).text, NULL);
}

const struct sb_nvtx_registered *sb_nvtx_register_label(struct sb_nvtx_label label)
{
	size_t size = strlen(label.text) + 1;
	struct sb_nvtx_registered *r = malloc(sizeof *r + size);

	if (!r)
		return NULL;
	memcpy(r->text, label.text, size);
	r->id = strobe_name(label.text, NULL);
	return r;
}

bool sb_nvtx_payload_of(const struct nvtx_attributes *a, struct strobe_attr *out_attr)
{
	if (!a || a->size < sizeof *a)
		return false;
	*out_attr = (struct strobe_attr){ .key = "payload", .type = STROBE_TYPE_INT };
	switch (a->payload_type) {
	case NVTX_PAYLOAD_U64:
	case NVTX_PAYLOAD_I64: out_attr->value.i = a->payload.i64; return true;
	case NVTX_PAYLOAD_U32: out_attr->value.i = a->payload.u32; return true;
	case NVTX_PAYLOAD_I32: out_attr->value.i = a->payload.i32; return true;
	case NVTX_PAYLOAD_DOUBLE: out_attr->value.f = a->payload.f64; break;
	case NVTX_PAYLOAD_FLOAT: out_attr->value.f = (double)a->payload.f32; break;
	default: return false;
	}
	out_attr->type = STROBE_TYPE_FLOAT;
	return true;
}
