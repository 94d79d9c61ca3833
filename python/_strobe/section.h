/* A section's object, and what makes it. */
#ifndef STROBE_SECTION_H
#define STROBE_SECTION_H

#include "extension.h"

struct section {
	PyObject_HEAD struct state *state; /* lives as long as the type, which the object holds */
	uint32_t id;
	int8_t gpu; /* 1: asked for, 0: refused, -1: where it is cheap */
	uint8_t kind; /* enum strobe_kind: what may be switched off */
	bool gpu_timed; /* what the open entries were begun with */
	uint32_t open_count;
	PyObject *kwnames; /* NULL: no attributes */
	PyObject *enter; /* bound methods of a shared section; NULL: bound anew */
	PyObject *exit;
	/* From here on an entry reads nothing but a variant. */
	PyObject *name;
	PyObject *values; /* tuple */
	struct section *variants[2]; /* of a shared section: with gpu=False, gpu=True; NULL: not asked for */
};

bool section_bind(struct section *s); /* its methods, once; false: an exception is set */

#endif
