// Where a run took place, how it was recorded, and what of it is not known.
import type { ComponentChildren } from 'preact';
import { count } from '../format';
import { num, type Fields, type NotRecorded, type Report } from '../report';
import { FieldList, FieldTable, Table } from '../table';
import { SubTables } from './details';

// The driver names a GPU once more than its monitor.
const toldTwice = (key: string, facts: Fields) => (/^cuda_device_(\d+)_(name|uuid)$/.exec(key) ?? [])[2] !== undefined && facts[key.replace(/^cuda_device_(\d+)_/, 'gpu$1.')] === facts[key];

export function systemBody(r: Report): ComponentChildren {
  const s = r.system;
  const info = r.session_info;
  return (
    <>
      {info.command && (
        <p class="command">
          <code>{info.command}</code>
        </p>
      )}
      <FieldList fields={info} skip={['command', 'duration']} />
      {s && <FieldList fields={s} skip={info.host === s.host ? ['host'] : []} />}
      <FieldList head="Machine" fields={s?.facts} skip={Object.keys(s?.facts ?? {}).filter((k) => toldTwice(k, s!.facts!))} />
      <FieldList head="Tags" fields={info.tags} />
      <FieldList head="Configuration" fields={s?.settings} literal />
      {(r.processes ?? []).length > 1 && <FieldTable rows={r.processes!} caption="Processes" />}
    </>
  );
}

export function recordingBody(r: Report): ComponentChildren {
  const rec = r.recording;
  if (!rec) return null;
  const dropped = num(rec, 'dropped_count') ?? 0;
  return (
    <>
      <p class={dropped ? 'bad' : ''}>
        {dropped ? `${count(dropped)} events were lost; the totals below say why.` : 'Nothing was lost.'}
        {rec.complete === false && ' No orderly end: zones still open were closed at the last known time.'}
      </p>
      <FieldList fields={rec} />
      <SubTables of={rec} />
    </>
  );
}

export function missingBody(r: Report): ComponentChildren {
  const rows = r.not_recorded ?? [];
  if (!rows.length) return null;
  return (
    <Table
      caption="What this run does not know, and how the next one can"
      rows={rows}
      columns={(['what', 'why', 'how'] as const).map((key) => ({ key, head: key, value: (m: NotRecorded) => m[key] }))}
    />
  );
}
