// The names that fill a range of time: columns that the first screen and the full timeline share.
import { clip, count, percent } from '../format';
import type { Range } from '../state';
import type { Column } from '../table';
import type { NameTime, RangeStatistics } from '../timeline/figures';

const often = (n: NameTime) => (n.count ? n.count : undefined);

function nameColumn(head: string, most: number): Column<NameTime> {
  const nested = (n: NameTime) => n.nested > 0 && <em class="state" title={`${count(n.nested)} ${n.nested === 1 ? 'call' : 'calls'} inside a call of the same name: counted once in time`}>{count(n.nested)} recursive</em>;
  const cell = (n: NameTime) => (
    <span class="stage">
      <span dir="auto" title={n.name}>
        {clip(n.name, most)}
      </span>
      {nested(n)}
    </span>
  );
  return { key: 'name', head, value: (n) => n.name, cell };
}

// Threads add up: more than the whole time is so many at once.
const shareOf = (ratio: number) => (ratio > 1.0005 ? `${ratio.toFixed(1)} at once` : percent(ratio));

function timeColumns(range: Range, head: string, share: string): Column<NameTime>[] {
  const ratio = (n: NameTime) => (n.count ? n.total / (range.to - range.from) : undefined);
  return [
    { key: 'total_ns', head, value: (n) => (n.count ? n.total : undefined) },
    { key: 'mean_ns', value: (n) => (n.count ? n.length / n.count : undefined) },
    { key: 'share', head: share, value: ratio, cell: (n) => (n.count ? shareOf(ratio(n)!) : '') },
  ];
}

export function zoneColumns(s: RangeStatistics, range: Range, most: number, share: string): Column<NameTime>[] {
  const columns: Column<NameTime>[] = [
    nameColumn('name', most),
    { key: 'count', head: 'zones', help: 'calls that touch the range', value: often, cell: (n) => (n.count ? count(n.count) : '') },
    ...timeColumns(range, 'time', share),
  ];
  columns[2].help = 'with at least one such zone open; threads add up';
  if (s.names.some((n) => n.span !== undefined)) columns.push({ key: 'span_ns', head: 'GPU span', help: 'from event to event on the stream; may hold idle time', value: (n) => n.span });
  return columns;
}

export function gpuColumns(range: Range, most: number): Column<NameTime>[] {
  return [nameColumn('kernel or copy', most), { key: 'count', value: often, cell: (n) => count(n.count) }, ...timeColumns(range, 'GPU time', 'of the range')];
}
