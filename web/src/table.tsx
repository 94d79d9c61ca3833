// A table that sorts by a click on its head; numbers are right-aligned.
import { useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { copyText, saveCsv, slug } from './export';
import { columnShow, keyed, type Show } from './format';
import type { Fields } from './report';
import { search, useKept, useStore, useSwitch } from './state';
import { title } from './words';

type Value<T> = (row: T) => number | string | undefined;

// Without a value it is the row's field of that key; a key that no row has does not compile.
export type Column<T> = Look<T> & ({ key: string; value: Value<T> } | { key: keyof T & string; value?: undefined });

interface Look<T> {
  head?: string; // absent: the words of its key
  help?: string;
  unit?: string; // a key ending, where the key has none
  cell?: (row: T, show: Show) => ComponentChildren; // show: the column's number format, in its one unit
  text?: boolean; // absent: some of its values are words
}

interface Props<T> {
  rows: T[];
  columns: Column<T>[];
  caption: string;
  most?: number;
  sort?: string;
  onPick?: (row: T) => void;
  picked?: (row: T) => boolean;
  rowClass?: (row: T) => string;
  depth?: (row: T) => number; // rows are a tree, parents first: sorting keeps it
  stacks?: boolean; // on a phone a row is a few lines with every column
}

const UP = '.up'; // after the key of a column that is sorted from the smallest on
const LONG = 32; // letters that one column holds
const SHORT = 24; // letters: a text column that never has more stays on one line

// Siblings by the order, each followed by what is below it.
function sortTree<T>(rows: T[], depth: (row: T) => number, order: (a: T, b: T) => number): T[] {
  interface Node {
    row: T | null;
    below: Node[];
  }
  const root: Node = { row: null, below: [] };
  const open: Node[] = [root];
  for (const row of rows) {
    const node = { row, below: [] };
    open.length = Math.min(open.length, depth(row) + 1);
    open[open.length - 1].below.push(node);
    open.push(node);
  }
  const flat = (n: Node): T[] => [...(n.row === null ? [] : [n.row]), ...n.below.sort((a, b) => order(a.row!, b.row!)).flatMap(flat)];
  return flat(root);
}

// One stop of the Tab key per table; arrows walk its rows, Enter and Space choose.
function rowKey<T>(e: KeyboardEvent, row: T, onPick?: (row: T) => void): void {
  const at = e.currentTarget as HTMLElement;
  if (e.target !== at) return;
  const to: Record<string, Element | null | undefined> = { ArrowDown: at.nextElementSibling, ArrowUp: at.previousElementSibling, Home: at.parentElement?.firstElementChild, End: at.parentElement?.lastElementChild };
  if (onPick && (e.key === 'Enter' || e.key === ' ')) onPick(row);
  else if (e.key in to) (to[e.key] as HTMLElement | null)?.focus();
  else return;
  e.preventDefault();
}

type Known<T> = Look<T> & { head: string; text: boolean; key: string; value: Value<T> };

export function Table<T>({ rows, columns: given, caption, most = 200, sort, onPick, picked, rowClass, depth, stacks }: Props<T>) {
  const columns = given.map((c): Known<T> => {
    const value = c.value ?? ((r) => r[c.key as keyof T] as ReturnType<Value<T>>);
    return { ...c, head: c.head ?? title(c.key), text: c.text ?? rows.some((r) => typeof value(r) === 'string'), value };
  });
  const place = slug(caption.split(/\d/)[0]); // numbers change with what is selected
  const [sorted, setSorted] = useKept(`sort-${place}`, sort ?? '');
  const [all, setAll] = useSwitch(`all-${place}`);
  const by = { key: sorted.replace(UP, ''), up: sorted.endsWith(UP) };
  const column = columns.find((c) => c.key === by.key);
  const [active, setActive] = useState(0);
  const order = (a: T, b: T) => compare(column!.value(a), column!.value(b)) * (by.up ? 1 : -1);
  const ordered = !column ? rows : depth ? sortTree(rows, depth, order) : [...rows].sort(order);
  const shows = columns.map((c) => columnShow(c.unit ?? c.key, rows.map(c.value)));
  const widths = columns.map((c) => (c.text ? Math.max(...rows.slice(0, 60).map((r) => String(c.value(r) ?? '').length)) : 0));
  const wanted = useStore(search).trim().toLowerCase();
  const found = (row: T) => wanted !== '' && columns.some((c) => c.text && String(c.value(row) ?? '').toLowerCase().includes(wanted));
  const shown = all ? ordered : ordered.slice(0, most);
  const press = (c: Column<T>) => setSorted(c.key + ((by.key === c.key ? !by.up : c.text) ? UP : ''));
  return (
    <div class="scroll">
      <table class={stacks ? 'stacks' : undefined}>
        <caption class="quiet">
          {caption}
          <Takeaway rows={ordered} columns={columns} shows={shows} caption={caption} />
        </caption>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c.key} class={c.text ? 'text' : ''} scope="col" aria-sort={by.key === c.key ? (by.up ? 'ascending' : 'descending') : undefined}>
                <button title={c.help} onClick={() => press(c)}>
                  {c.head}
                  {by.key === c.key ? (by.up ? ' ↑' : ' ↓') : ''}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, i) => (
            <tr
              key={i}
              class={(rowClass?.(row) ?? '') + (picked?.(row) ? ' picked' : '') + (found(row) ? ' found' : '') + (onPick ? ' pick' : '')}
              tabIndex={i === Math.min(active, shown.length - 1) ? 0 : -1}
              aria-selected={picked ? picked(row) : undefined}
              onFocus={() => setActive(i)}
              onClick={onPick && (() => onPick(row))}
              onKeyDown={(e) => rowKey(e, row, onPick)}
            >
              {columns.map((c, n) => (
                <td key={c.key} data-head={stacks && c.head} class={c.text ? (widths[n] > LONG ? 'text long' : widths[n] > SHORT ? 'text mid' : 'text short') : ''} title={exact(c, row, shows[n])}>
                  {c.cell ? c.cell(row, shows[n]) : show(c.value(row), shows[n])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {ordered.length > shown.length && (
        <button class="more" onClick={() => setAll(true)}>
          Show all {ordered.length}
        </button>
      )}
    </div>
  );
}

// The table for elsewhere: as text with the words shown, as CSV with plain numbers in the unit that the key names.
function Takeaway<T>({ rows, columns, shows, caption }: { rows: T[]; columns: Known<T>[]; shows: Show[]; caption: string }) {
  const kept = columns.filter((c) => c.head);
  const words = (c: Known<T>, row: T) => {
    const v = c.value(row);
    return typeof v === 'number' ? shows[columns.indexOf(c)](v) : (v ?? '');
  };
  const copy = () => void copyText([kept.map((c) => c.head), ...rows.map((r) => kept.map((c) => words(c, r)))].map((line) => line.join('\t')).join('\n'));
  const save = () => saveCsv(caption, [kept.map((c) => c.key), ...rows.map((r) => kept.map((c) => c.value(r)))]);
  return (
    <span class="takeaway">
      <button class="link" onClick={copy} aria-label={`copy the table ${caption}`}>
        copy
      </button>
      <button class="link" onClick={save} aria-label={`save the table ${caption} as CSV`}>
        CSV
      </button>
    </span>
  );
}

// What is too small for its column's digits is one hover away.
function exact<T>(c: Known<T>, row: T, of: Show): string | undefined {
  const v = c.text ? undefined : c.value(row);
  return typeof v === 'number' && of(v).startsWith('<') ? keyed(c.unit ?? c.key, v) : undefined;
}

function show(v: number | string | undefined, of: Show): ComponentChildren {
  if (v === undefined || v === '') return '';
  return typeof v === 'number' ? of(v) : <span dir="auto">{v}</span>;
}

function compare(a: number | string | undefined, b: number | string | undefined): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b));
}

// Rows of plain fields: columns are the keys that occur, in their order. Nothing where there are none.
export function FieldTable<T extends Fields>({ rows, caption, skip = [], most, onPick }: { rows: T[] | undefined; caption: string; skip?: string[]; most?: number; onPick?: (row: T) => void }) {
  if (!rows?.length) return null;
  const same = (k: string) => k === 'family_index' || (k === 'device_index' || k === 'pid') && rows.every((r) => r[k] === rows[0][k]); // one GPU, one process: not worth a column
  const keys: string[] = [];
  for (const r of rows.slice(0, 500)) for (const k of Object.keys(r)) if (!keys.includes(k) && !skip.includes(k) && isPlain(r[k]) && !same(k)) keys.push(k);
  const columns = keys.slice(0, 14).map((key): Column<T> => ({
    key,
    cell: CELLS[key] && ((r) => CELLS[key](r[key] as string | undefined)),
    text: rows.every((r) => typeof r[key] !== 'number'),
    value: (r) => {
      const v = r[key];
      if (typeof v === 'boolean') return v ? 'yes' : 'no';
      if (NAMED.includes(key)) return title(String(v));
      return Array.isArray(v) ? v.join(', ') : (v as number | string | undefined);
    },
  }));
  return <Table rows={rows} columns={columns} caption={caption} most={most ?? 30} onPick={onPick} />;
}

// One call below the other, the innermost first.
export const Stack = ({ of }: { of: string }) => (
  <details>
    <summary>{of.split(' < ').slice(1, 2).join('') || of}</summary>
    <ol class="stack" dir="auto">
      {of.split(' < ').map((call, i) => (
        <li key={i}>{call}</li>
      ))}
    </ol>
  </details>
);

// What is long, short.
const CELLS: Record<string, (v: string | undefined) => ComponentChildren> = {
  file: (v) => (v ? <span dir="auto" title={v}>{v.split('/').slice(-2).join('/')}</span> : 'not known'),
  stack: (v) => v && <Stack of={v} />,
};

function isPlain(v: unknown): boolean {
  return typeof v === 'string' || typeof v === 'number' || typeof v === 'boolean' || (Array.isArray(v) && v.every((x) => typeof x === 'string'));
}

// Columns that hold a name of strobe's own: "end_to_end".
const NAMED = ['scope', 'part', 'method'];

// A setting as its file has it; what is a time there is in seconds.
const setting = (key: string, v: unknown) => (/_interval$/.test(key) && v !== '' && Number.isFinite(Number(v)) ? `${String(v)}\u00a0s` : String(v));

// Key and value, for everything that is a plain field; a head only over some. Literal: settings, named as one types them.
export function FieldList({ head, fields, skip = [], literal = false }: { head?: string; fields: Fields | undefined; skip?: string[]; literal?: boolean }) {
  const entries = Object.entries(fields ?? {}).filter(([k, v]) => !skip.includes(k) && isPlain(v) && v !== '' && !(Array.isArray(v) && !v.length));
  if (!entries.length) return null;
  const list = (
    <dl class="fields">
      {entries.map(([k, v]) => {
        const label = literal ? k : title(k);
        const value = Array.isArray(v) ? v.join(', ') : literal ? setting(k, v) : keyed(k, v);
        return (
          <div key={k} class={label.length + value.length > LONG ? 'wide' : ''}>
            <dt>{literal ? <code>{label}</code> : label}</dt>
            <dd dir="auto">{value}</dd>
          </div>
        );
      })}
    </dl>
  );
  if (!head) return list;
  return (
    <div class="sub">
      <h4>{head}</h4>
      {list}
    </div>
  );
}
