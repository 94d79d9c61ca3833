// What leaves the page: text for the clipboard, a table as CSV, a picture as PNG. Nothing goes over the network.

const quoted = (v: string | number | undefined) => {
  const text = v === undefined ? '' : String(v);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const csv = (rows: (string | number | undefined)[][]): string => rows.map((r) => r.map(quoted).join(',')).join('\r\n') + '\r\n';

// Words as a part of an address or a file's name.
export const slug = (words: string) => words.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60);
const fileName = (words: string, ending: string) => `${slug(words) || 'strobe'}.${ending}`;

function save(blob: Blob, name: string): void {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
}

export const saveCsv = (words: string, rows: (string | number | undefined)[][]): void => save(new Blob([csv(rows)], { type: 'text/csv' }), fileName(words, 'csv'));

// The canvases below each other, on the page's ground.
export function savePng(words: string, canvases: HTMLCanvasElement[]): void {
  const out = document.createElement('canvas');
  out.width = Math.max(...canvases.map((c) => c.width));
  out.height = canvases.reduce((sum, c) => sum + c.height, 0);
  const pen = out.getContext('2d');
  if (!pen || !out.width) return;
  pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--card').trim();
  pen.fillRect(0, 0, out.width, out.height);
  let y = 0;
  for (const c of canvases) {
    pen.drawImage(c, 0, y);
    y += c.height;
  }
  out.toBlob((blob) => blob && save(blob, fileName(words, 'png')), 'image/png');
}

const LOOKS = ['font', 'color', 'background', 'border', 'borderRadius', 'padding', 'margin', 'display', 'position', 'left', 'top', 'width', 'height', 'boxSizing', 'opacity', 'overflow', 'whiteSpace', 'textAlign', 'textOverflow', 'lineHeight', 'gap', 'flex', 'alignItems', 'justifyContent', 'gridTemplateColumns', 'gridColumn', 'fill', 'stroke', 'strokeWidth'] as const;

// A copy with its looks written into it; canvases become pictures.
function copyOf(e: Element): Element {
  if (e instanceof HTMLCanvasElement) {
    const img = document.createElement('img');
    img.src = e.toDataURL();
    img.style.cssText = `display:block;width:${e.clientWidth}px;height:${e.clientHeight}px`;
    return img;
  }
  const out = e.cloneNode(false) as HTMLElement;
  const looks = getComputedStyle(e);
  for (const k of LOOKS) out.style[k] = looks[k];
  for (const c of e.childNodes) out.append(c instanceof Element ? copyOf(c) : c.cloneNode());
  return out;
}

// Any element as it looks, twice as fine as the screen.
export async function savePicture(words: string, e: HTMLElement): Promise<void> {
  const { width, height } = e.getBoundingClientRect();
  const style = getComputedStyle(document.documentElement);
  const inside = document.createElementNS('http://www.w3.org/1999/xhtml', 'div') as HTMLElement;
  inside.style.background = style.getPropertyValue('--card');
  inside.append(copyOf(e));
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width * 2}" height="${height * 2}" viewBox="0 0 ${width} ${height}"><foreignObject width="100%" height="100%">${new XMLSerializer().serializeToString(inside)}</foreignObject></svg>`;
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await picture.decode();
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(width * 2);
  canvas.height = Math.round(height * 2);
  canvas.getContext('2d')!.drawImage(picture, 0, 0);
  savePng(words, [canvas]);
}

// Pages from a plain http server have no clipboard: then the old way.
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch {
    // below
  }
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}
