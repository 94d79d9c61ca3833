// Writes the timeline's bytes the way src/report/timeline/timeline.c does, for tests that
// need a page without a recording. docs/page.md is what both follow.
import { gzipSync } from 'node:zlib';

class Out {
  bytes = [];
  varint(v) {
    while (v >= 128) {
      this.bytes.push((v % 128) | 128);
      v = Math.floor(v / 128);
    }
    this.bytes.push(v);
  }
  signed(v) {
    this.varint(v < 0 ? -2 * v - 1 : 2 * v);
  }
}

// lanes: [{kind, name, main?, device?, rows: [[{start, end, name, count?, busy?, mixed?, launch?: {lane, at}, more?}]], mergeNs?}]
export function encodeTimeline({ endNs, names, lanes, ...more }) {
  const out = new Out();
  const header = { version: 1, end_ns: endNs, names, lanes: [], ...more };
  for (const lane of lanes) {
    const rows = lane.rows.map((entries) => {
      const at = out.bytes.length;
      let last = 0;
      for (const e of entries) {
        out.signed(e.start - last);
        last = e.end;
      }
      for (const e of entries) out.varint(e.end - e.start);
      for (const e of entries) out.varint(e.name * 4 + (e.mixed ? 2 : 0) + ((e.count ?? 1) > 1 ? 1 : 0));
      for (const e of entries) if ((e.count ?? 1) > 1) out.varint(e.count);
      for (const e of entries) if ((e.count ?? 1) > 1) out.signed(e.end - e.start - e.busy);
      const more_at = entries.some((e) => e.more) ? out.bytes.length : undefined;
      if (more_at !== undefined) for (const e of entries) if ((e.count ?? 1) === 1) out.varint(e.more ?? 0);
      if (!entries.some((e) => e.launch)) return { entries: entries.length, merge_ns: lane.mergeNs ?? 0, at, more_at };
      const launches_at = out.bytes.length;
      for (const e of entries) {
        if ((e.count ?? 1) > 1) continue;
        out.varint(e.launch ? e.launch.lane + 2 : 0);
        if (e.launch) out.signed(e.start - e.launch.at);
      }
      return { entries: entries.length, merge_ns: lane.mergeNs ?? 0, at, launches_at, more_at };
    });
    header.lanes.push({ kind: lane.kind, name: lane.name, note: lane.note, main: lane.main, device: lane.device, rows });
  }
  const head = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(head.length);
  return Buffer.concat([Buffer.from('SBTL1\n'), size, head, Buffer.from(out.bytes)]);
}

export function assemble(template, report, timeline, kind = 'report', base) {
  const bytes = (id, of) => (of ? `<script type="application/octet-stream" id="${id}" data-encoding="gzip">${gzipSync(of).toString('base64')}</script>\n` : '');
  const json = JSON.stringify(report).replace(/</g, '\\u003c').replace(/\u2028/g, '\\u2028').replace(/\u2029/g, '\\u2029');
  const data =
    `<script type="application/json" id="strobe-report" data-kind="${kind}">${json}</script>\n` +
    bytes('strobe-timeline', timeline) +
    bytes('strobe-timeline-base', base);
  return template.replace('<!--strobe:data-->', () => data);
}
