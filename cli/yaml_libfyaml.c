/* Hands the linked libfyaml to the settings reader, so that the tool needs no
 * library of that name on the machine. */
#include "record/yaml.h"

#include <libfyaml.h>

#define AS(member, function) .member = (__typeof__(((struct sb_yaml_api *)0)->member))(function)

static const struct sb_yaml_api linked = {
	AS(diag_create, fy_diag_create),
	AS(diag_destroy, fy_diag_destroy),
	AS(diag_set_collect_errors, fy_diag_set_collect_errors),
	AS(diag_errors_iterate, fy_diag_errors_iterate),
	AS(document_build_from_string, fy_document_build_from_string),
	AS(document_destroy, fy_document_destroy),
	AS(document_root, fy_document_root),
	AS(node_get_type, fy_node_get_type),
	AS(node_get_style, fy_node_get_style),
	AS(node_get_scalar, fy_node_get_scalar),
	AS(node_get_scalar_token, fy_node_get_scalar_token),
	AS(token_start_mark, fy_token_start_mark),
	AS(node_mapping_iterate, fy_node_mapping_iterate),
	AS(node_sequence_iterate, fy_node_sequence_iterate),
	AS(node_pair_key, fy_node_pair_key),
	AS(node_pair_value, fy_node_pair_value),
	AS(document_lookup_anchor, fy_document_lookup_anchor),
	AS(anchor_node, fy_anchor_node),
};
_Static_assert(
	sizeof(struct sb_yaml_parse_cfg) == sizeof(struct fy_parse_cfg), "libfyaml changed its layout");
_Static_assert(
	sizeof(struct sb_yaml_diag_cfg) == sizeof(struct fy_diag_cfg) &&
		offsetof(struct sb_yaml_diag_cfg, widths) == offsetof(struct fy_diag_cfg, source_width),
	"and that of its messages");
_Static_assert(
	offsetof(struct sb_yaml_error, line) == offsetof(struct fy_diag_error, line), "and its errors");

__attribute__((constructor)) static void provide(void)
{
	sb_yaml_provide(&linked);
}
