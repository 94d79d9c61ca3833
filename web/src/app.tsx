// Puts the page together: the first screen, then the panels that have data.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { chartsOf, type Chart } from './charts';
import { firstCharts, stagePath, stagesOf, timeCharts, type Report, type ReportPage, type RunList, type Stage, type StageAnalysis, type StageRow } from './report';
import { dark, useStore } from './state';
import { Findings, Figures, Header, TimeBar } from './panels/overview';
import { Videos } from './panels/videos';
import { NoStages, STARTUP, StageTable, StageTree, type Base } from './panels/stages';
import { Detail } from './panels/detail';
import { Dock, MergeNote, RangeStatistics } from './panels/explore';
import { eventsBody } from './panels/events';
import { Icicle } from './panels/icicle';
import { FirstTimeline } from './panels/first';
import { hardwareBody, hasGpu } from './panels/hardware';
import { slowBody } from './panels/slow';
import { heldBody } from './panels/held';
import { chartOnce } from './panels/layers';
import { garbageBody } from './panels/garbage';
import { Next } from './panels/next';
import { RankLinks } from './panels/ranks';
import { Readings } from './panels/readings';
import { missingBody, recordingBody, systemBody } from './panels/system';
import { unattributedBody } from './panels/unattributed';
import * as details from './panels/details';
import type { Timeline } from './timeline/data';
import { setTimeline } from './jump';
import { useKeys } from './keys';
import { goTo, toTimeline } from './place';
import { keepSteady } from './steady';
import { readReport } from './load';

interface Props {
  page: ReportPage;
  timeline: Timeline | null;
  timelineError: string;
  liveState: string;
  runs: RunList['runs'];
  onRun: (id: string) => void;
}

// The same stage is the one on the same path; a name that occurs once there is found wherever it went.
function baseOf(label: string, here: Stage[], other: StageAnalysis | undefined): Base {
  const there = other?.stages ?? [];
  const at = new Map(there.map((s, i) => [stagePath(there, i), s]));
  const once = new Map<string, Stage | null>();
  for (const s of there) once.set(s.name, once.has(s.name) ? null : s);
  const shared = new Map(other?.same_name?.map((n) => [n.stage.name, n.stage]));
  const find = (row: StageRow) => (row.index === STARTUP ? undefined : row.joined ? (shared.get(row.name) ?? once.get(row.name)) : (at.get(stagePath(here, row.index)) ?? once.get(row.name)));
  return { label, find };
}

type FileChoice = [base: Base | null, problem: string, choose: () => void];

function useFileChoice(here: Stage[]): FileChoice {
  const [base, setBase] = useState<Base | null>(null);
  const [problem, setProblem] = useState('');
  const input = useRef<HTMLInputElement | null>(null);
  const choose = () => {
    if (base) {
      setBase(null);
      return;
    }
    if (!input.current) {
      const made = document.createElement('input');
      made.type = 'file';
      made.accept = '.json,.html';
      made.id = 'compare-file';
      made.hidden = true;
      document.body.append(made);
      made.addEventListener('change', async () => {
        const file = made.files?.[0];
        made.value = '';
        if (!file) return;
        const other = readReport(await file.text());
        setProblem(other ? '' : `${file.name} is no strobe report`);
        setBase(other ? baseOf(other.session_info?.name || file.name, here, other.stage_analysis) : null);
      });
      input.current = made;
    }
    input.current.click();
  };
  return [base, problem, choose];
}

// Which time a panel is about. The first two say it themselves, the next three are about none.
function scopeOf(r: Report, id: string): string {
  if (['range', 'calls', 'system', 'recording', 'missing'].includes(id)) return '';
  const time = r.session_info.cut_from_s === undefined ? 'whole run' : 'selected part';
  return ['held', 'metrics', 'streaming'].includes(id) ? `tables: ${time}; charts: visible time` : time;
}

// Every panel below the first screen that has something to show, in order.
function panelsOf(r: Report, timeline: Timeline | null, charts: Chart[], streaming: Chart[], base: Base | null): details.Panel[] {
  return [
    { id: 'range', title: 'In this time', body: timeline?.lanes.length ? [<RangeStatistics key="r" data={timeline} />, <MergeNote key="n" data={timeline} />] : null },
    { id: 'calls', title: 'Call tree', body: timeline?.lanes.some((l) => l.kind === 'thread' || l.kind === 'track') ? <Icicle data={timeline} stages={stagesOf(r)} /> : null },
    { id: 'stages', title: 'Stages', body: r.stage_analysis?.stages?.length ? [<Readings key="r" report={r} topic="stages" />, <StageTree key="t" report={r} timeline={timeline} base={base} />] : null },
    { id: 'unattributed', title: 'Unattributed time', body: unattributedBody(r) },
    { id: 'advice', title: 'Advice', body: r.recommendations?.length ? [<Findings key="f" report={r} timeline={timeline} most={100} />, <Next key="n" report={r} />, details.adviceTail(r)] : null },
    { id: 'strategies', title: 'Strategies by stage', body: details.strategiesBody(r) },
    { id: 'steps', title: 'Steps and blocks', body: details.stepsBody(r) },
    { id: 'slow', title: r.slow_moments?.length ? 'Slow moments that were caught' : 'Slow moments', body: slowBody(r) },
    { id: 'iterations', title: 'Iterations', body: details.iterationsBody(r) },
    { id: 'chat', title: 'Tokens', body: details.chatBody(r) },
    { id: 'padding', title: 'Computed and never seen', body: details.paddingBody(r) },
    { id: 'outputs', title: 'Output', body: details.outputsBody(r) },
    { id: 'memory', title: 'Memory', body: details.memoryBody(r) },
    { id: 'held', title: 'What held memory', body: heldBody(r) },
    { id: 'metrics', title: 'GPU, CPU, disk', body: details.metricsBody(r, charts) },
    { id: 'cache', title: 'Cache', body: details.cacheBody(r) },
    { id: 'streaming', title: 'Streaming', body: details.streamingBody(r, streaming) },
    { id: 'layers', title: 'Models and layers', body: details.layersBody(r) },
    { id: 'kernels', title: 'GPU kernels', body: details.kernelsBody(r) },
    { id: 'hardware', title: hasGpu(r) ? 'How well the GPU is used' : 'Operations', body: hardwareBody(r) },
    { id: 'functions', title: 'Functions', body: details.functionsBody(r) },
    { id: 'lines', title: 'Lines', body: r.line_profile ? details.linesBody(r) : null },
    { id: 'garbage', title: 'Garbage collection', body: garbageBody(r) },
    { id: 'events', title: 'Events', body: eventsBody(r) },
    { id: 'system', title: 'System and configuration', body: systemBody(r) },
    { id: 'recording', title: 'Recording', body: recordingBody(r) },
    { id: 'missing', title: 'Not recorded', body: missingBody(r) },
  ].filter((s) => s.body !== null);
}

// What one screen says: the run, its figures, the timeline, what to do first, the stages.
function FirstScreen({ props, charts, choice }: { props: Props; charts: Chart[]; choice: FileChoice }) {
  const { page, timeline, timelineError, liveState, runs, onRun } = props;
  const [base, problem, choose] = choice;
  const r = page.report;
  const first = useMemo(() => {
    const charts = firstCharts(r, timeline && timeline.lanes.reduce((n, l) => n + Math.min(6, l.rows.length), 0) > 14 ? 3 : 4);
    return charts.length || timeline?.lanes.length ? charts : (r.memory_over_time ?? []).slice(0, 2).map(chartOnce); // a memory snapshot has nothing else
  }, [r, timeline]);
  return (
    <div class="screen">
      <Header page={page} liveState={liveState} comparison={base} onCompare={choose} runs={runs} onRun={onRun} />
      {problem && <p class="bad">{problem}</p>}
      <Figures report={r} />
      <div class="columns">
        <section class="card right">
          <h2>Timeline</h2>
          <FirstTimeline data={timeline} problem={timelineError} charts={first} />
        </section>
        <div class="left">
          <section class="card advice">
            <h2>What to do first</h2>
            <Findings report={r} timeline={timeline} most={3} />
            <Next report={r} />
          </section>
          <section class="card table">
            <h2>Stages</h2>
            {r.stage_analysis?.stages?.length ? <StageTable report={r} timeline={timeline} base={base} /> : <NoStages report={r} />}
          </section>
        </div>
      </div>
      <Videos report={r} timeline={timeline} />
      <TimeBar report={r} timeline={timeline} />
      <RankLinks report={r} runs={runs} />
    </div>
  );
}

export function App(props: Props) {
  const { page, timeline } = props;
  const r = page.report;
  setTimeline(timeline);
  useStore(dark);
  const choice = useFileChoice(stagesOf(r));
  const base = choice[0];
  const charts = useMemo(() => timeCharts(r), [r]);
  useKeys();
  useEffect(keepSteady);
  const streaming = useMemo(() => chartsOf('Streaming', r.streaming_analysis?.series), [r]);
  const panels = panelsOf(r, timeline, charts, streaming, base);
  return (
    <>
      <a class="skip" href="#timeline-first" onClick={toTimeline}>
        Skip to the timeline
      </a>
      <main>
        <FirstScreen props={props} charts={charts} choice={choice} />
        <nav class="contents" aria-label="panels">
          {panels.map((s) => (
            <a key={s.id} href={`#${s.id}`} onClick={goTo}>
              {s.title}
            </a>
          ))}
        </nav>
        {timeline?.lanes.length ? <Dock data={timeline} /> : null}
        {panels.map((s) => (
          <section class="part" id={s.id} key={s.id}>
            <h2>
              {s.title} <small>{scopeOf(r, s.id)}</small>
            </h2>
            {s.body}
          </section>
        ))}
        <footer class="quiet">strobe · report written {r.session_info.generated_at}</footer>
      </main>
      <Detail data={timeline} report={r} charts={charts} />
    </>
  );
}
