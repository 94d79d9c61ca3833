/* libfyaml behind a table of functions: the tool links it and provides the
 * table, libstrobe finds the library at run time, and neither needs its header. */
#ifndef SB_RECORD_YAML_H
#define SB_RECORD_YAML_H

#include <stdbool.h>
#include <stddef.h>

struct fy_document;
struct fy_node;
struct fy_node_pair;
struct fy_token;
struct fy_anchor;
struct fy_diag;

/* As in libfyaml 0.7 to 0.9. */
struct sb_yaml_parse_cfg {
	const char *search_path;
	unsigned flags;
	void *userdata;
	struct fy_diag *diag;
};
/* What the library says beside its errors goes to output: by default it prints. */
struct sb_yaml_diag_cfg {
	void *stream;
	void (*output)(struct fy_diag *diag, void *user, const char *text, size_t size);
	void *user;
	int level;
	unsigned module_mask;
	unsigned flags;
	int widths[4];
};
struct sb_yaml_mark {
	size_t input_pos;
	int line, column; /* from 0 */
};
struct sb_yaml_error {
	int type, module;
	struct fy_token *token;
	const char *message;
	const char *file;
	int line, column; /* from 1 */
};
enum { SB_YAML_QUIET = 1 << 0 };
enum { SB_YAML_SCALAR = 0, SB_YAML_SEQUENCE = 1, SB_YAML_MAPPING = 2 };
enum { SB_YAML_PLAIN = 2, SB_YAML_ALIAS = 7 };

struct sb_yaml_api {
	struct fy_diag *(*diag_create)(const void *cfg);
	void (*diag_destroy)(struct fy_diag *diag);
	void (*diag_set_collect_errors)(struct fy_diag *diag, bool collect);
	void *(*diag_errors_iterate)(struct fy_diag *diag, void **previous);
	struct fy_document *(*document_build_from_string)(const void *cfg, const char *text, size_t size);
	void (*document_destroy)(struct fy_document *document);
	struct fy_node *(*document_root)(struct fy_document *document);
	int (*node_get_type)(struct fy_node *node);
	int (*node_get_style)(struct fy_node *node);
	const char *(*node_get_scalar)(struct fy_node *node, size_t *out_size);
	struct fy_token *(*node_get_scalar_token)(struct fy_node *node);
	const void *(*token_start_mark)(struct fy_token *token);
	struct fy_node_pair *(*node_mapping_iterate)(struct fy_node *node, void **previous);
	struct fy_node *(*node_sequence_iterate)(struct fy_node *node, void **previous);
	struct fy_node *(*node_pair_key)(struct fy_node_pair *pair);
	struct fy_node *(*node_pair_value)(struct fy_node_pair *pair);
	struct fy_anchor *(*document_lookup_anchor)(
		struct fy_document *document, const char *name, size_t size);
	struct fy_node *(*anchor_node)(struct fy_anchor *anchor);
};

/* For a program that links libfyaml itself. */
void sb_yaml_provide(const struct sb_yaml_api *api);
/* What was provided, or the library as found on this machine; NULL: none. */
const struct sb_yaml_api *sb_yaml_find(void);

#endif
