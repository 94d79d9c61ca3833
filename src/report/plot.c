/* Plots in braille: two by four dots in every character. */
#include "report/plot.h"

#include "report/label.h"

#include <math.h>
#include <stdlib.h>

struct canvas {
	int columns, rows;
	unsigned char *cells;
};

static void dot(struct canvas *c, int x, int y)
{
	static const unsigned char bits[4][2] = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 },
		{ 0x40, 0x80 } };

	if (x >= 0 && y >= 0 && x < c->columns * 2 && y < c->rows * 4)
		c->cells[y / 4 * c->columns + x / 2] |= bits[y % 4][x % 2];
}

static void line(struct canvas *c, int x0, int y0, int x1, int y1)
{
	int steps = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);

	for (int i = 0; i <= steps; i++)
		dot(c, x0 + (steps ? (x1 - x0) * i / steps : 0), y0 + (steps ? (y1 - y0) * i / steps : 0));
}

static void range(const double *values, size_t count, double *out_low, double *out_high)
{
	*out_low = *out_high = NAN;
	for (size_t i = 0; i < count; i++) {
		*out_low = fmin(*out_low, values[i]);
		*out_high = fmax(*out_high, values[i]);
	}
}

static void draw(struct canvas *c, const double *values, size_t count)
{
	int height = c->rows * 4 - 1, width = c->columns * 2 - 1, x0 = 0, y0 = -1;
	double low, high;

	range(values, count, &low, &high);
	for (size_t i = 0; i < count; i++) {
		int x = count > 1 ? (int)lround((double)i * width / (double)(count - 1)) : width / 2;
		int y;

		if (isnan(values[i])) {
			y0 = -1;
			continue;
		}
		y = high > low ? height - (int)lround((values[i] - low) / (high - low) * height) : height / 2;
		line(c, y0 < 0 ? x : x0, y0 < 0 ? y : y0, x, y);
		x0 = x;
		y0 = y;
	}
}

static void put_row(const struct canvas *c, int row, struct sb_buf *out)
{
	for (int i = 0; i < c->columns; i++) {
		unsigned code = 0x2800u + c->cells[row * c->columns + i];

		sb_buf_putc(out, (char)(0xe0 | code >> 12));
		sb_buf_putc(out, (char)(0x80 | (code >> 6 & 0x3f)));
		sb_buf_putc(out, (char)(0x80 | (code & 0x3f)));
	}
}

void sb_plot(const double *values, size_t count, const char *low, const char *high, int columns, int rows,
	struct sb_buf *out)
{
	int margin = sb_label_columns(low) > sb_label_columns(high) ? sb_label_columns(low)
								    : sb_label_columns(high);
	struct canvas c = { columns - margin - 3, rows, NULL };

	if (c.columns < 8 || rows < 1)
		return;
	c.cells = calloc((size_t)(c.columns * c.rows), 1);
	if (!c.cells) {
		out->failed = true;
		return;
	}
	draw(&c, values, count);
	for (int row = 0; row < rows; row++) {
		const char *label = row == 0 ? high : row == rows - 1 ? low : "";

		sb_buf_printf(out, "%*s%s |", margin - sb_label_columns(label), "", label);
		put_row(&c, row, out);
		sb_buf_putc(out, '\n');
	}
	free(c.cells);
}
