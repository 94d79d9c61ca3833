/* The table of such programs. */
#include "base/secret_program.h"

#include <string.h>

static const struct sb_secret_program programs[] = {
	{ "mysql", "-p", true, false, false }, /* behind "-p " is the database */
	{ "mysqldump", "-p", true, false, false },
	{ "mysqladmin", "-p", true, false, false },
	{ "mariadb", "-p", true, false, false },
	{ "mariadb-dump", "-p", true, false, false },
	{ "mongo", "-p", true, true, false },
	{ "mongosh", "-p", true, true, false },
	{ "mongodump", "-p", true, true, false },
	{ "mongorestore", "-p", true, true, false },
	{ "sshpass", "-p", true, true, false },
	{ "redis-cli", "-a", true, true, false },
	{ "ldapsearch", "-w", true, true, false },
	{ "sqlcmd", "-P", true, true, false },
	{ "ipmitool", "-P", true, true, false },
	{ "zip", "-P", true, true, false },
	{ "unzip", "-P", true, true, false },
	{ "7z", "-p", true, false, false },
	{ "login", "-p", true, true, false }, /* docker login, podman login */
	{ "curl", "-u --user -U --proxy-user", true, true, true },
	{ "http", "-a --auth", true, true, true },
	{ "https", "-a --auth", true, true, true },
};

const struct sb_secret_program *sb_secret_program_find(const char *name, size_t size)
{
	const char *slash = memrchr(name, '/', size);

	if (slash) {
		size -= (size_t)(slash + 1 - name);
		name = slash + 1;
	}
	for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
		if (strlen(programs[i].name) == size && !memcmp(programs[i].name, name, size))
			return &programs[i];
	return NULL;
}

bool sb_secret_program_takes(
	const struct sb_secret_program *program, const char *word, size_t size, size_t *out_glued)
{
	const char *option = program->options;

	for (size_t n; (n = strcspn(option, " ")) > 0; option += n + (option[n] == ' ')) {
		bool same = size >= n && !memcmp(word, option, n);

		if (same && (size == n ? program->next : n == 2 && program->glued)) {
			*out_glued = size - n;
			return true;
		}
	}
	return false;
}
