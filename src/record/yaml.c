/* Finds libfyaml at run time. */
#include "record/yaml.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(const struct sb_yaml_api *) provided;

void sb_yaml_provide(const struct sb_yaml_api *api)
{
	atomic_store(&provided, api);
}

static const char *const symbols[] = {
	"fy_diag_create",
	"fy_diag_destroy",
	"fy_diag_set_collect_errors",
	"fy_diag_errors_iterate",
	"fy_document_build_from_string",
	"fy_document_destroy",
	"fy_document_root",
	"fy_node_get_type",
	"fy_node_get_style",
	"fy_node_get_scalar",
	"fy_node_get_scalar_token",
	"fy_token_start_mark",
	"fy_node_mapping_iterate",
	"fy_node_sequence_iterate",
	"fy_node_pair_key",
	"fy_node_pair_value",
	"fy_document_lookup_anchor",
	"fy_anchor_node",
};
enum { SYMBOL_COUNT = sizeof symbols / sizeof symbols[0] };
_Static_assert(sizeof(struct sb_yaml_api) == SYMBOL_COUNT * sizeof(void *), "one symbol per entry, in order");

const struct sb_yaml_api *sb_yaml_find(void)
{
	static struct sb_yaml_api found;
	const struct sb_yaml_api *api = atomic_load(&provided);
	void *library, *functions[SYMBOL_COUNT];

	if (api)
		return api;
	library = dlopen("libfyaml.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return NULL;
	for (size_t i = 0; i < SYMBOL_COUNT; i++) {
		functions[i] = dlsym(library, symbols[i]);
		if (!functions[i])
			return NULL;
	}
	memcpy(&found, functions, sizeof found);
	sb_yaml_provide(&found);
	return &found;
}
