/* The frames of a picture, a video or a folder of pictures, one after another, as 8-bit samples. Formats are rows of
 * a table (frames.c); what none of them reads goes through ffmpeg where it is installed. */
#ifndef SB_PICTURE_FRAMES_H
#define SB_PICTURE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SB_PICTURE_SIDE_MAX 16384u /* of a width or height: what is larger is taken for damage */

enum sb_picture_colour { SB_PICTURE_GREY, SB_PICTURE_YUV, SB_PICTURE_RGB };

/* One frame. Planes of YUV may be smaller than the picture; those of RGB never are. */
struct sb_picture {
	enum sb_picture_colour colour;
	uint32_t plane_count; /* 1 or 3 */
	struct sb_plane {
		uint32_t width, height;
		uint8_t *samples; /* width * height, owned by the picture */
	} planes[3];
};

/* Makes room for planes of that size, keeping memory that already fits. down_x and down_y: by how many times the
 * second and third plane are smaller. */
int sb_picture_resize(struct sb_picture *p, enum sb_picture_colour colour, uint32_t width, uint32_t height,
	uint32_t down_x, uint32_t down_y);
void sb_picture_done(struct sb_picture *p); /* p may be zeroed */
size_t sb_picture_bytes(const struct sb_picture *p); /* of all planes */

/* Where the frames are. A raw file does not say its width, height and pixel_format; other files do. */
struct sb_picture_source {
	const char *path;
	int64_t width, height; /* <= 0: not given */
	const char *pixel_format; /* "rgb24", "gray", "yuv420p", "yuv444p"; NULL: not given */
};

struct sb_frames;

/* STROBE_ENOTSUP: no format reads it, and ffmpeg is not here or cannot either. */
int sb_frames_open(const struct sb_picture_source *source, struct sb_frames **out_frames);
/* 1: out_picture holds the next frame; 0: that was the last; negative: damaged, with the message set. */
int sb_frames_next(struct sb_frames *frames, struct sb_picture *out_picture);
void sb_frames_close(struct sb_frames *frames); /* takes NULL */

/* ---- for the formats ---- */

struct sb_frames_format {
	const char *name;
	const char *magic; /* what the file begins with; NULL: chosen otherwise */
	int (*open)(struct sb_frames *f); /* reads the head */
	int (*next)(struct sb_frames *f, struct sb_picture *out_picture);
};

struct sb_frames {
	const struct sb_frames_format *format;
	struct sb_picture_source source; /* its texts are the caller's while it opens, copies afterwards */
	char *path;
	FILE *file;
	int child; /* ffmpeg's process id; 0: none */
	int64_t index; /* of the next frame */
	/* what the head says */
	enum sb_picture_colour colour;
	uint32_t width, height, down_x, down_y;
	uint32_t sample_bytes; /* 1, or 2 with significant_bits */
	uint32_t significant_bits;
	struct sb_npy {
		char type; /* 'u', 'f' */
		uint32_t bytes; /* of an element */
		uint32_t channels;
		int channels_last;
		int64_t frames;
		double low, high; /* what 0 and 255 mean */
	} npy;
	char **names; /* a folder's pictures, in order */
	size_t name_count;
	uint8_t *row; /* scratch */
	size_t row_size;
};

extern const struct sb_frames_format sb_frames_y4m, sb_frames_ppm, sb_frames_pgm, sb_frames_png,
	sb_frames_npy, sb_frames_raw, sb_frames_folder, sb_frames_ffmpeg;

int sb_frames_damaged(const struct sb_frames *f, const char *what); /* sets the message; returns its code */
uint8_t *sb_frames_scratch(struct sb_frames *f, size_t size); /* NULL: no memory, with the message set */

#endif
