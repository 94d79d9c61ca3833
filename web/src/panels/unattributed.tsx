// The Python functions that were sampled in time that belongs to no stage, or in which a GPU had nothing to do.
import type { ComponentChildren } from 'preact';
import { clip, count, percent, seconds } from '../format';
import type { Generation, Report, UnattributedFunction, UnattributedFunctions } from '../report';
import type { Range } from '../state';
import { Table } from '../table';

// As the text report has it: the last two parts of the path and the line.
const placeOf = (f: UnattributedFunction) => (f.file ? `${f.file.split('/').slice(-2).join('/')}:${f.line}` : '');

const isKnown = (list?: UnattributedFunctions): list is UnattributedFunctions => !!list && (list.functions.length > 0 || !!list.launcher_waits);

// stage: a phase of the pipeline that is a stage of its own; absent: time of no stage.
function Functions({ list, where, stage }: { list: UnattributedFunctions | undefined; where: string; stage?: string }) {
  if (!isKnown(list)) return null;
  return (
    <div class="sub">
      <h4>{where}</h4>
      <p>
        {seconds(list.unattributed_s)} ({percent(list.unattributed_ratio)}) belong to {stage ?? 'no stage'}. {list.launcher_waits ? 'The launcher waited. In its processes these' : 'These'} functions ran then, estimated from {count(list.sample_count)} sampled {list.sample_count === 1 ? 'stack' : 'stacks'}:
      </p>
      <FunctionTable caption={`Functions in ${stage ?? `unattributed time, ${where.toLowerCase()}`}`} rows={list.functions} of={stage ?? 'the unattributed time'} />
    </div>
  );
}

function FunctionTable({ rows, caption, of }: { rows: UnattributedFunction[]; caption: string; of: string }) {
  return (
    <Table
      caption={caption}
      rows={rows}
      columns={[
        { key: 'function', cell: (f) => <span dir="auto" title={f.function}>{clip(f.function, 60)}</span> },
        { key: 'place', head: 'line', value: placeOf, cell: (f) => <span class="quiet" dir="auto" title={f.file}>{clip(placeOf(f), 56)}</span> },
        { key: 'inside', head: 'in', help: "the function of torch or of Python's library that it had called", cell: (f) => clip(f.inside ?? '', 40) },
        { key: 'estimate_s', head: 'about', help: `its share of ${of}: a sampled estimate` },
        { key: 'share_ratio', help: `of ${of}` },
      ]}
    />
  );
}

export const GPU_IDLE = 'GPU idle'; // what a gap of the GPU is called where it is selected

// Under the gaps of the GPU.
export function IdleFunctionTable({ report }: { report: Report }) {
  const g = report.gpu_trace;
  return g?.idle_functions?.length ? <FunctionTable caption={`Python functions while the GPU was idle, from ${count(g.idle_sample_count)} sampled stacks`} rows={g.idle_functions} of="the GPU's idle time" /> : null;
}

export function unattributedBody(r: Report): ComponentChildren {
  const u = r.unattributed;
  const phases = [
    ['before_steps', 'Before the steps'],
    ['between_steps', 'Between the steps'],
    ['after_steps', 'After the steps'],
  ] as const;
  if (![u?.generations, u?.run, ...phases.map(([stage]) => u?.[stage])].some(isKnown)) return null;
  return [<Functions key="g" list={u!.generations} where="In generations" />, <Functions key="r" list={u!.run} where="In the whole run" />, ...phases.map(([stage, where]) => <Functions key={stage} list={u![stage]} where={where} stage={stage} />)];
}

const holds = (g: Generation, at: number) => g.start_s !== undefined && at >= g.start_s && at < g.start_s + g.wall_s;

// For a gap inside a generation those of the generations, else those of the run.
function listFor(r: Report, gap: Range): UnattributedFunctions | undefined {
  const middle = (gap.from + gap.to) / 2e9;
  const inside = !r.generations?.whole_run && r.generations?.items?.some((g) => holds(g, middle));
  return (inside ? r.unattributed?.generations : undefined) ?? r.unattributed?.run ?? r.unattributed?.generations;
}

// Beside a gap that is selected. The samples of all gaps are counted together.
export function GapFunctions({ report, gap }: { report: Report; gap: Range }) {
  const list = listFor(report, gap);
  return <Shortly head={`Ran in all gaps of ${list === report.unattributed?.generations ? 'generations' : 'the run'}: ${seconds(list?.unattributed_s)}`} rows={list?.functions} samples={list?.sample_count} />;
}

// Beside a gap of the GPU that is selected.
export function IdleFunctions({ report }: { report: Report }) {
  const g = report.gpu_trace;
  return <Shortly head={`Python ran in all gaps of the GPU: ${seconds(g?.idle_s)}`} rows={g?.idle_functions} samples={g?.idle_sample_count} />;
}

function Shortly({ head, rows, samples }: { head: string; rows: UnattributedFunction[] | undefined; samples: number | undefined }) {
  if (!rows?.length) return null;
  return (
    <section class="gap-functions">
      <h3>{head}</h3>
      <table>
        <tbody>
          {rows.map((f) => (
            <tr key={`${f.function} ${f.line}`}>
              <td class="text">
                <span dir="auto" title={`${f.function} ${f.file ?? ''}:${f.line}${f.inside ? `, in ${f.inside}` : ''}`}>
                  {clip(f.function, 34)} <span class="quiet">{clip(placeOf(f), 34)}</span>
                </span>
              </td>
              <td>{seconds(f.estimate_s)}</td>
              <td>{percent(f.share_ratio)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="quiet">estimated from {count(samples)} sampled stacks</p>
    </section>
  );
}
