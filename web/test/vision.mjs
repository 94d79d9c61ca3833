// How far apart two colours look (CIEDE2000), to everyone and to those who see two kinds of light only
// (Machado, Oliveira, Fernandes 2009, at full severity).
export const VISIONS = {
  everyone: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);

// [r, g, b] of 0 to 255, as seen, in CIELAB (D65).
export function labOf(rgb, vision = 'everyone') {
  const [r, g, b] = rgb.map((v) => linear(v / 255));
  const m = VISIONS[vision];
  const [x, y, z] = [0, 3, 6].map((i) => Math.min(1, Math.max(0, m[i] * r + m[i + 1] * g + m[i + 2] * b)));
  const f = (t) => (t > 216 / 24389 ? Math.cbrt(t) : (t * 24389) / 27 / 116 + 16 / 116);
  const [fx, fy, fz] = [(0.4124564 * x + 0.3575761 * y + 0.1804375 * z) / 0.95047, 0.2126729 * x + 0.7151522 * y + 0.072175 * z, (0.0193339 * x + 0.119192 * y + 0.9503041 * z) / 1.08883].map(f);
  return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)];
}

const rad = (degrees) => (degrees * Math.PI) / 180;

export function difference([l1, a1, b1], [l2, a2, b2]) {
  const c = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = (1 - Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7))) / 2;
  const [p1, p2] = [a1 * (1 + g), a2 * (1 + g)];
  const [c1, c2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)];
  const hue = (a, b) => (a === 0 && b === 0 ? 0 : ((Math.atan2(b, a) * 180) / Math.PI + 360) % 360);
  const [h1, h2] = [hue(p1, b1), hue(p2, b2)];
  let dh = c1 * c2 === 0 ? 0 : h2 - h1;
  if (dh > 180) dh -= 360;
  if (dh < -180) dh += 360;
  const dH = 2 * Math.sqrt(c1 * c2) * Math.sin(rad(dh / 2));
  const L = (l1 + l2) / 2;
  const C = (c1 + c2) / 2;
  const H = c1 * c2 === 0 ? h1 + h2 : Math.abs(h1 - h2) <= 180 ? (h1 + h2) / 2 : (h1 + h2 + (h1 + h2 < 360 ? 360 : -360)) / 2;
  const T = 1 - 0.17 * Math.cos(rad(H - 30)) + 0.24 * Math.cos(rad(2 * H)) + 0.32 * Math.cos(rad(3 * H + 6)) - 0.2 * Math.cos(rad(4 * H - 63));
  const sl = 1 + (0.015 * (L - 50) ** 2) / Math.sqrt(20 + (L - 50) ** 2);
  const sc = 1 + 0.045 * C;
  const sh = 1 + 0.015 * C * T;
  const turn = -Math.sin(rad(60 * Math.exp(-(((H - 275) / 25) ** 2)))) * 2 * Math.sqrt(C ** 7 / (C ** 7 + 25 ** 7));
  const [x, y, z] = [(l2 - l1) / sl, (c2 - c1) / sc, dH / sh];
  return Math.sqrt(x * x + y * y + z * z + turn * y * z);
}

// The two of a list that look most alike to anyone: { apart, vision, pair }.
export function mostAlike(colours, pairs) {
  let worst = { apart: Infinity };
  for (const vision of Object.keys(VISIONS)) {
    const labs = colours.map((c) => labOf(c, vision));
    for (const [i, j] of pairs ?? colours.flatMap((_, i) => colours.slice(0, i).map((_, j) => [j, i]))) {
      const apart = difference(labs[i], labs[j]);
      if (apart < worst.apart) worst = { apart, vision, pair: [i, j] };
    }
  }
  return worst;
}
