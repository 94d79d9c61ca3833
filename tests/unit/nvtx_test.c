/* NVTX: tables as a program's copy of it has them, and what becomes of its calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "gpu/nvtx.h"
#include "record/put.h"
#include "strobe.h"

#include <stdlib.h>
#include <string.h>

static char log_text[4096];

static void note(const char *format, ...)
{
	size_t n = strlen(log_text);
	va_list args;

	va_start(args, format);
	vsnprintf(log_text + n, sizeof log_text - n, format, args);
	va_end(args);
}

/* ---- what would have been recorded (linked with --wrap) ---------------- */

static const char *names[64];
static uint32_t name_count;

uint32_t __wrap_strobe_name(const char *name, const char *code)
{
	(void)code;
	for (uint32_t i = 0; i < name_count; i++)
		if (!strcmp(names[i], name))
			return i + 1;
	names[name_count] = strdup(name);
	return ++name_count;
}

void __wrap_strobe_zone_begin_id(uint32_t name)
{
	note("+%s ", names[name - 1]);
}

void __wrap_strobe_zone_end_id(uint32_t name)
{
	note("-%s ", names[name - 1]);
}

void __wrap_strobe_attr_int(const char *key, int64_t value)
{
	note("%s=%lld ", key, (long long)value);
}

void __wrap_strobe_attr_float(const char *key, double value)
{
	note("%s=%.2f ", key, value);
}

struct strobe_span __wrap_strobe_span_begin(const char *name)
{
	note("<%s ", name);
	return (struct strobe_span){ .name = __wrap_strobe_name(name, NULL) };
}

void __wrap_strobe_span_end(const struct strobe_span *span, const struct strobe_attr *attrs, size_t count)
{
	(void)attrs, (void)count;
	note(">%s ", names[span->name - 1]);
}

void __wrap_strobe_event(const char *name, const struct strobe_attr *attrs, size_t count)
{
	note("!%s ", name);
	if (count)
		note("%s=%lld ", attrs[0].key, (long long)attrs[0].value.i);
}

bool __wrap_sb_put_text(enum sb_stream stream, enum sb_long_type type, uint64_t aux, const uint64_t *payload,
	uint32_t words, const char *text, size_t size)
{
	(void)stream, (void)payload, (void)words;
	note("type%d:%d=%.*s ", type, (int)aux, (int)size, text);
	return true;
}

void __wrap_sb_put_duration(
	uint32_t name, uint64_t start_ticks, const struct strobe_attr *attrs, size_t count)
{
	assert_true(start_ticks);
	note("=%s ", names[name - 1]);
	if (count)
		note("%s=%lld ", attrs[0].key, (long long)attrs[0].value.i);
}

/* ---- a program's copy of NVTX ------------------------------------------ */

static nvtx_function core_functions[17], core2_functions[16];
static nvtx_function *core_table[17], *core2_table[16];
static unsigned core_size, core2_size;

static int module_table(int module, nvtx_function ***out_table, unsigned *out_size)
{
	if (module != NVTX_MODULE_CORE && module != NVTX_MODULE_CORE2)
		return 0;
	*out_table = module == NVTX_MODULE_CORE ? core_table : core2_table;
	*out_size = module == NVTX_MODULE_CORE ? core_size : core2_size;
	return 1;
}

static struct nvtx_callbacks callbacks = { sizeof(struct nvtx_callbacks), module_table };

static const void *export_table(uint32_t id)
{
	return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static int setup(void **state)
{
	(void)state;
	strobe_mode_ = 1;
	core_size = 16;
	core2_size = 16;
	callbacks.size = sizeof callbacks;
	memset(core_functions, 0, sizeof core_functions);
	memset(core2_functions, 0, sizeof core2_functions);
	for (int i = 0; i < 17; i++)
		core_table[i] = i ? &core_functions[i] : NULL;
	for (int i = 0; i < 16; i++)
		core2_table[i] = i ? &core2_functions[i] : NULL;
	log_text[0] = 0;
	assert_int_equal(sb_nvtx_attach(export_table), 1);
	return 0;
}

#define CORE(id, type) ((type)core_functions[id])
#define CORE2(id, type) ((type)core2_functions[id])
typedef int (*push_a)(const char *);
typedef int (*push_w)(const wchar_t *);
typedef int (*push_ex)(const struct nvtx_attributes *);
typedef int (*pop_f)(void);
typedef uint64_t (*start_a)(const char *);
typedef void (*end_f)(uint64_t);
typedef void (*mark_a)(const char *);
typedef void *(*create_a)(const char *);
typedef void *(*register_a)(void *, const char *);
typedef int (*domain_push)(void *, const struct nvtx_attributes *);
typedef int (*domain_pop)(void *);
typedef void (*domain_mark)(void *, const struct nvtx_attributes *);
typedef void (*thread_a)(uint32_t, const char *);

static struct nvtx_attributes message(const char *text)
{
	return (struct nvtx_attributes){ .version = 3,
		.size = sizeof(struct nvtx_attributes),
		.message_type = NVTX_MESSAGE_ASCII,
		.message.ascii = text };
}

static void pushed_ranges_become_zones(void **state)
{
	(void)state;
	assert_int_equal(CORE(NVTX_RANGE_PUSH_A, push_a)("denoise"), 0);
	assert_int_equal(CORE(NVTX_RANGE_PUSH_A, push_a)("block"), 1);
	assert_int_equal(CORE(NVTX_RANGE_POP, pop_f)(), 1);
	assert_int_equal(CORE(NVTX_RANGE_POP, pop_f)(), 0);
	assert_int_equal(CORE(NVTX_RANGE_POP, pop_f)(), -2);
	assert_string_equal(log_text, "+denoise +block -block -denoise ");
}

static void wide_names_become_utf8(void **state)
{
	(void)state;
	CORE(NVTX_RANGE_PUSH_W, push_w)(L"schärfe \x20ac");
	CORE(NVTX_RANGE_POP, pop_f)();
	assert_string_equal(log_text, "+sch\xc3\xa4rfe \xe2\x82\xac -sch\xc3\xa4rfe \xe2\x82\xac ");
}

static void payloads_become_attributes(void **state)
{
	struct nvtx_attributes a = message("step");

	(void)state;
	a.payload_type = NVTX_PAYLOAD_I64;
	a.payload.i64 = -7;
	CORE(NVTX_RANGE_PUSH_EX, push_ex)(&a);
	CORE(NVTX_RANGE_POP, pop_f)();
	a.payload_type = NVTX_PAYLOAD_DOUBLE;
	a.payload.f64 = 0.25;
	CORE(NVTX_RANGE_PUSH_EX, push_ex)(&a);
	CORE(NVTX_RANGE_POP, pop_f)();
	assert_string_equal(log_text, "+step payload=-7 -step +step payload=0.25 -step ");
}

static void numbers_in_operator_names_are_cut(void **state)
{
	(void)state;
	CORE(NVTX_RANGE_PUSH_A, push_a)("aten::mul, seq = 17, op_id = 3");
	CORE(NVTX_RANGE_POP, pop_f)();
	assert_string_equal(log_text, "+aten::mul -aten::mul ");
}

static void started_ranges_become_spans_in_any_order(void **state)
{
	uint64_t a, b;

	(void)state;
	a = CORE(NVTX_RANGE_START_A, start_a)("a");
	b = CORE(NVTX_RANGE_START_A, start_a)("b");
	assert_true(a && b && a != b);
	CORE(NVTX_RANGE_END, end_f)(a);
	CORE(NVTX_RANGE_END, end_f)(a); /* twice: once */
	CORE(NVTX_RANGE_END, end_f)(b);
	CORE(NVTX_RANGE_END, end_f)(0);
	CORE(NVTX_RANGE_END, end_f)(123456789);
	assert_string_equal(log_text, "<a <b >a >b ");
}

static void ranges_never_ended_do_not_stop_later_ones(void **state)
{
	(void)state;
	for (int i = 0; i < 10000; i++)
		CORE(NVTX_RANGE_START_A, start_a)("leak");
	log_text[0] = 0;
	assert_int_equal(CORE(NVTX_RANGE_START_A, start_a)("more"), 0); /* none free: quietly not recorded */
	assert_string_equal(log_text, "");
}

static void domains_prefix_and_have_their_own_stacks(void **state)
{
	void *nccl = CORE2(NVTX_DOMAIN_CREATE_A, create_a)("NCCL");
	struct nvtx_attributes a = message("AllReduce"), b = message("Send");

	(void)state;
	assert_non_null(nccl);
	assert_ptr_equal(nccl, CORE2(NVTX_DOMAIN_CREATE_A, create_a)("NCCL"));
	assert_int_equal(CORE2(NVTX_DOMAIN_RANGE_PUSH_EX, domain_push)(nccl, &a), 0);
	assert_int_equal(CORE(NVTX_RANGE_PUSH_A, push_a)("other"), 0);
	assert_int_equal(CORE2(NVTX_DOMAIN_RANGE_PUSH_EX, domain_push)(nccl, &b), 1);
	CORE2(NVTX_DOMAIN_RANGE_POP, domain_pop)(nccl);
	CORE(NVTX_RANGE_POP, pop_f)();
	CORE2(NVTX_DOMAIN_RANGE_POP, domain_pop)(nccl);
	assert_string_equal(log_text, "+NCCL:AllReduce +other +NCCL:Send -NCCL:Send -other -NCCL:AllReduce ");
}

static void ranges_that_outlive_another_domains_are_not_cut_off(void **state)
{
	void *d = CORE2(NVTX_DOMAIN_CREATE_A, create_a)("D");
	struct nvtx_attributes x = message("x");

	(void)state;
	x.payload_type = NVTX_PAYLOAD_I64;
	x.payload.i64 = 5;
	for (int i = 0; i < 2; i++) {
		CORE(NVTX_RANGE_PUSH_A, push_a)("a");
		CORE2(NVTX_DOMAIN_RANGE_PUSH_EX, domain_push)(d, &x);
		assert_int_equal(CORE(NVTX_RANGE_POP, pop_f)(), 0);
		assert_int_equal(CORE2(NVTX_DOMAIN_RANGE_POP, domain_pop)(d), 0);
	}
	assert_string_equal(log_text, "+a +D:x payload=5 -a +D:x payload=5 -D:x " /* the first time */
				      "+a -a =D:x payload=5 ");
	log_text[0] = 0;
	CORE2(NVTX_DOMAIN_RANGE_PUSH_EX, domain_push)(d, &x); /* in no other domain's: a zone */
	CORE2(NVTX_DOMAIN_RANGE_POP, domain_pop)(d);
	assert_string_equal(log_text, "+D:x payload=5 -D:x ");
}

static void registered_strings_are_used_by_handle(void **state)
{
	static void *volatile handle; /* as a program keeps it: registered for ever */
	void *domain = CORE2(NVTX_DOMAIN_CREATE_A, create_a)("cudnn");
	struct nvtx_attributes a = message(NULL);

	(void)state;
	a.message_type = NVTX_MESSAGE_REGISTERED;
	a.message.registered = handle = CORE2(NVTX_DOMAIN_REGISTER_STRING_A, register_a)(domain, "conv");
	CORE2(NVTX_DOMAIN_RANGE_PUSH_EX, domain_push)(domain, &a);
	CORE2(NVTX_DOMAIN_RANGE_POP, domain_pop)(domain);
	CORE2(NVTX_DOMAIN_MARK_EX, domain_mark)(domain, &a);
	assert_string_equal(log_text, "+cudnn:conv -cudnn:conv !cudnn:conv ");
}

static void marks_become_events(void **state)
{
	struct nvtx_attributes a = message("frame");

	(void)state;
	a.payload_type = NVTX_PAYLOAD_U32;
	a.payload.u32 = 12;
	CORE(NVTX_MARK_A, mark_a)("ckpt");
	CORE2(NVTX_DOMAIN_MARK_EX, domain_mark)(NULL, &a);
	assert_string_equal(log_text, "!ckpt !frame payload=12 ");
}

static void threads_are_named(void **state)
{
	(void)state;
	CORE(NVTX_NAME_THREAD_A, thread_a)(4242, "loader");
	assert_string_equal(log_text, "type15:4242=loader ");
}

static void small_tables_are_respected(void **state)
{
	(void)state;
	memset(core_functions, 0, sizeof core_functions);
	memset(core2_functions, 0, sizeof core2_functions);
	core_size = NVTX_RANGE_PUSH_A; /* an NVTX that ends before it */
	core2_size = 0;
	core_table[NVTX_MARK_A] = NULL;
	assert_int_equal(sb_nvtx_attach(export_table), 1);
	assert_null(core_functions[NVTX_RANGE_PUSH_A]);
	assert_null(core_functions[NVTX_MARK_A]);
	assert_non_null(core_functions[NVTX_MARK_EX]);
	assert_null(core2_functions[NVTX_DOMAIN_MARK_EX]);
}

static void foreign_callers_are_refused(void **state)
{
	(void)state;
	callbacks.size = 4;
	assert_int_equal(sb_nvtx_attach(export_table), 0);
	assert_int_equal(sb_nvtx_attach(NULL), 0);
}

static void nothing_is_marked_while_nothing_records(void **state)
{
	(void)state;
	strobe_mode_ = 0;
	CORE(NVTX_MARK_A, mark_a)("ckpt");
	assert_int_equal(CORE(NVTX_RANGE_START_A, start_a)("a"), 0);
	assert_string_equal(log_text, "");
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pushed_ranges_become_zones), TEST(wide_names_become_utf8),
		TEST(payloads_become_attributes), TEST(numbers_in_operator_names_are_cut),
		TEST(started_ranges_become_spans_in_any_order),
		TEST(domains_prefix_and_have_their_own_stacks),
		TEST(ranges_that_outlive_another_domains_are_not_cut_off),
		TEST(registered_strings_are_used_by_handle), TEST(marks_become_events),
		TEST(threads_are_named), TEST(small_tables_are_respected), TEST(foreign_callers_are_refused),
		TEST(nothing_is_marked_while_nothing_records),
		TEST(ranges_never_ended_do_not_stop_later_ones), /* last: leaves none free */
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	strobe_mode_ = 0;
	return failed;
}
