/* Descriptors that the program cannot take, and what happens when it does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "monitor/driver_files.h"
#include "record/descriptor.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void in_the_programs_table_it_is_high_and_closed_on_exec(void **state)
{
	struct sb_descriptor d;

	assert_true(sb_descriptor_open(&d, "/dev/zero", O_RDONLY, 0));
	assert_true(d.number > 255);
	assert_int_equal(fcntl(d.number, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_true(sb_descriptor_is_ours(&d));
	sb_descriptor_close(&d);
}

static void a_taken_number_is_not_ours_and_stays_open(void **state)
{
	struct sb_descriptor d;
	int number, own = open("/dev/null", O_WRONLY);

	assert_true(sb_descriptor_open(&d, "/dev/zero", O_RDONLY, 0));
	number = d.number;
	assert_int_equal(dup2(own, number), number); /* closes ours, as the program might */
	assert_false(sb_descriptor_is_ours(&d));
	sb_descriptor_close(&d);
	assert_true(fcntl(number, F_GETFD) >= 0);
	close(number);
	close(own);
}

static void a_folder_whose_number_was_taken_stays_open(void **state)
{
	static DIR *volatile left; /* closedir() would close the program's: its memory is left */
	struct sb_descriptor d;
	DIR *folder = left = sb_descriptor_opendir(&d, "/proc");
	int number = d.number, own = open("/dev/null", O_WRONLY);

	assert_non_null(folder);
	assert_non_null(readdir(folder));
	dup2(own, number);
	sb_descriptor_closedir(&d, folder);
	assert_true(fcntl(number, F_GETFD) >= 0);
	close(number);
	close(own);
}

struct seen {
	bool made, in_reach;
	int programs; /* a descriptor of the program's, as seen from the own table */
	struct sb_descriptor file;
};

static void *look_from_an_own_table(void *argument)
{
	struct seen *seen = argument;

	seen->made = sb_descriptor_table_make();
	seen->programs = fcntl(seen->programs, F_GETFD); /* before its number is free to be taken */
	sb_descriptor_open(&seen->file, "/dev/zero", O_RDONLY, 0);
	seen->in_reach = sb_descriptor_is_ours(&seen->file);
	sb_descriptor_table_leave();
	return NULL;
}

static void a_table_of_ones_own_is_empty_and_out_of_the_programs_reach(void **state)
{
	struct seen seen = { .programs = open("/dev/null", O_WRONLY) };
	int own = seen.programs;
	pthread_t thread;

	pthread_create(&thread, NULL, look_from_an_own_table, &seen);
	pthread_join(thread, NULL);
	if (!seen.made) {
		print_message("the system allows no descriptor table of one's own\n");
		skip();
	}
	assert_true(seen.in_reach);
	assert_int_equal(seen.programs, -1);
	assert_false(sb_descriptor_is_ours(&seen.file));
	assert_true(fcntl(own, F_GETFD) >= 0);
	close(own);
}

static void *borrow(void *number)
{
	int copy, result;

	if (!sb_descriptor_table_make())
		return NULL;
	copy = sb_descriptor_borrow(*(int *)number);
	result = copy < 0 ? -1 : (int)write(copy, "!", 1);
	sb_descriptor_give_back(copy, *(int *)number);
	*(int *)number = copy < 0 ? -1 : result == 1 && fcntl(copy, F_GETFD) < 0 ? 1 : 0;
	sb_descriptor_table_leave();
	return number;
}

static void what_is_the_programs_can_be_borrowed(void **state)
{
	int ends[2], number;
	pthread_t thread;
	void *made;
	char byte = 0;

	assert_int_equal(pipe(ends), 0);
	number = ends[1];
	pthread_create(&thread, NULL, borrow, &number);
	pthread_join(thread, &made);
	if (!made || number < 0) {
		print_message("the system lends no descriptors\n");
		skip();
	}
	assert_int_equal(number, 1);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(byte, '!');
	assert_int_equal(read(ends[0], &byte, 1), 0); /* the end: no copy is left */
	close(ends[0]);
}

static void a_drivers_descriptor_is_missed_when_it_is_taken(void **state)
{
	struct sb_driver_files files;
	int driver = open("/dev/zero", O_RDONLY), own;

	sb_driver_files_note(&files, "/dev/zero");
	assert_int_equal(files.count, 1);
	assert_true(sb_driver_files_are_intact(&files));
	close(driver);
	own = open("/dev/null", O_RDONLY);
	assert_int_equal(own, driver);
	assert_false(sb_driver_files_are_intact(&files));
	close(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_programs_table_it_is_high_and_closed_on_exec),
		cmocka_unit_test(a_taken_number_is_not_ours_and_stays_open),
		cmocka_unit_test(a_folder_whose_number_was_taken_stays_open),
		cmocka_unit_test(a_table_of_ones_own_is_empty_and_out_of_the_programs_reach),
		cmocka_unit_test(what_is_the_programs_can_be_borrowed),
		cmocka_unit_test(a_drivers_descriptor_is_missed_when_it_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
