// One row of the timeline as pixels. Thousands of small boxes are written into an image and put on the
// canvas at once: a call of the canvas for each of them was most of a frame's time.

export type Ink = number; // a colour as one word of an image

export class Pixels {
  private image: ImageData | null = null;
  private words = new Uint32Array();
  private blank = new Uint32Array(); // a line of the image with nothing on it
  private left = 0; // where the plot begins, and what follows: in pixels of the screen
  private width = 0;
  private top = 0;
  private height = 0;
  private first = 0; // columns with something on them
  private last = 0;
  private strokes = new Uint32Array(4 * 1024); // line, first column, the one after the last, ink
  private size = 0;
  private hatches: [x0: number, x1: number, ink: Ink][] = [];

  constructor(
    private context: CanvasRenderingContext2D,
    private ratio: number,
    private ground: Ink,
  ) {}

  // The plot of one frame: where it is, and the grid's lines behind the rows.
  frame(left: number, width: number, lines: number[], line: Ink): void {
    this.left = Math.round(left * this.ratio);
    const wide = Math.max(1, Math.round((left + width) * this.ratio) - this.left);
    if (wide !== this.width) this.image = null;
    this.width = wide;
    this.blank = new Uint32Array(wide).fill(this.ground);
    for (const x of lines) this.blank.fill(line, Math.max(0, this.column(x)), Math.max(0, this.column(x + 1)));
  }

  private column(x: number): number {
    return Math.round(x * this.ratio) - this.left;
  }

  private line(y: number): number {
    return Math.min(this.height, Math.max(0, Math.round(y * this.ratio) - this.top));
  }

  begin(y: number, height: number): void {
    this.top = Math.round(y * this.ratio);
    this.height = Math.round((y + height) * this.ratio) - this.top;
    this.first = this.width;
    this.last = 0;
    this.size = 0;
    this.hatches = [];
  }

  // From this height down to the row's end.
  box(x0: number, x1: number, y: number, ink: Ink): void {
    const from = Math.max(0, this.column(x0));
    const to = Math.min(this.width, this.column(x1));
    if (from >= to) return;
    if (this.size === this.strokes.length) {
      const more = new Uint32Array(2 * this.size);
      more.set(this.strokes);
      this.strokes = more;
    }
    const { strokes, size } = this;
    strokes[size] = this.line(y);
    strokes[size + 1] = from;
    strokes[size + 2] = to;
    strokes[size + 3] = ink;
    this.size = size + 4;
    if (from < this.first) this.first = from;
    if (to > this.last) this.last = to;
  }

  // Slanted lines over all of the row's height: what is drawn stands for several.
  hatch(x0: number, x1: number, ink: Ink): void {
    this.hatches.push([Math.max(0, this.column(x0)), Math.min(this.width, this.column(x1)), ink]);
  }

  // The row ends at `base`; nothing above `top` or below `bottom` is touched.
  put(base: number, top: number, bottom: number): void {
    if (this.last <= this.first) return;
    if (!this.image || this.image.height < this.height) {
      this.image = new ImageData(this.width, this.height);
      this.words = new Uint32Array(this.image.data.buffer);
    }
    this.compose(this.line(base));
    const from = this.line(top);
    this.context.putImageData(this.image, this.left, this.top, this.first, from, this.last - this.first, this.line(bottom) - from);
  }

  // Each line is the one above it and what begins here: in order of memory, whatever the row holds.
  private compose(base: number): void {
    const { words, width, strokes, height } = this;
    const order = this.byLine();
    let next = 0;
    for (let y = 0; y < height; y++) {
      const at = y * width;
      if (y === 0 || y === base) words.set(this.blank, at);
      else words.copyWithin(at, at - width, at);
      for (; y < base && next < order.length && strokes[order[next]] <= y; next++) {
        const s = order[next];
        const to = strokes[s + 2];
        const ink = strokes[s + 3];
        if (to - strokes[s + 1] > 16) words.fill(ink, at + strokes[s + 1], at + to);
        else for (let x = strokes[s + 1]; x < to; x++) words[at + x] = ink;
      }
    }
    for (const [x0, x1, ink] of this.hatches) this.slant(x0, x1, base, ink);
  }

  // Where the strokes are, in order of their lines; of one line in the order they came.
  private byLine(): Uint32Array {
    const { strokes, size } = this;
    const from = new Uint32Array(this.height + 2);
    for (let s = 0; s < size; s += 4) from[strokes[s] + 1]++;
    for (let y = 1; y < from.length; y++) from[y] += from[y - 1];
    const order = new Uint32Array(size / 4);
    for (let s = 0; s < size; s += 4) order[from[strokes[s]]++] = s;
    return order;
  }

  private slant(x0: number, x1: number, base: number, ink: Ink): void {
    const apart = Math.round(HATCH * this.ratio);
    const thick = Math.round(this.ratio);
    for (let y = 0; y < base; y++) {
      for (let x = x0 - ((x0 + this.left + this.top + y) % apart); x < x1; x += apart)
        for (let k = Math.max(x, x0); k < Math.min(x1, x + thick); k++) this.words[y * this.width + k] = ink;
    }
  }
}

const HATCH = 6; // px between the lines

// A colour that the canvas knows, as a word. The canvas says it as #rrggbb.
export function inkOf(c: CanvasRenderingContext2D, colour: string): Ink {
  c.fillStyle = colour;
  const v = parseInt(String(c.fillStyle).slice(1), 16);
  return word(v >> 16, (v >> 8) & 255, v & 255);
}

const word = (r: number, g: number, b: number): Ink => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0; // every processor with a browser is little-endian

// So much of one colour over another.
export function mix(over: Ink, under: Ink, share: number): Ink {
  const part = (shift: number) => Math.round(((over >>> shift) & 255) * share + ((under >>> shift) & 255) * (1 - share));
  return word(part(0), part(8), part(16));
}
