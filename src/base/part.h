/* What a stage is for: denoise, VAE, text encoding, moving weights… Decided by
 * its role, else by its name. */
#ifndef SB_BASE_PART_H
#define SB_BASE_PART_H

enum sb_part {
	SB_PART_OTHER,
	SB_PART_DENOISE,
	SB_PART_VAE_DECODE,
	SB_PART_VAE_ENCODE,
	SB_PART_TEXT_ENCODE,
	SB_PART_OFFLOAD,
	SB_PART_DATA, /* reading, decoding, preprocessing of the input */
	SB_PART_EXPORT, /* writing the result */
	SB_PART_IMPORT,
	SB_PART_LOAD,
	SB_PART_COMPILE,
	SB_PART_COLLECTIVE,
	SB_PART_COUNT
};

/* role: enum strobe_role; 0: a plain stage. */
enum sb_part sb_part_of(const char *name, int role);
const char *sb_part_name(enum sb_part part); /* "vae_decode": keys and ids */
const char *sb_part_words(enum sb_part part); /* "VAE decode": for people */

#endif
