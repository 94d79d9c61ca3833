// Starts the page: data first, then the picture, then the timeline's bytes.
import { render } from 'preact';
import './style.css';
import { startAddress } from './address';
import { App } from './app';
import { fetchTimeline, readPage, readTimeline, served } from './load';
import { Aggregate } from './panels/aggregate';
import { Bench } from './panels/bench';
import { Diff } from './panels/diff';
import { Journal } from './panels/journal';
import { Runs } from './panels/runs';
import { rankStages } from './panels/overview';
import { whenReleased } from './steady';
import { dark, startTheme, view, whole } from './state';
import type { Page, Report, ReportPage, RunList } from './report';
import { startVideos } from './video';
import type { Timeline } from './timeline/data';
import { markSteps } from './timeline/marked';

const host = document.getElementById('page')!;
let page: Page | null = null;
let timeline: Timeline | null = null;
let problem = '';
let liveState = '';
let runs: RunList['runs'] = [];

function draw(): void {
  if (page?.kind !== 'report') return;
  render(<App page={page} timeline={timeline} timelineError={problem} liveState={liveState} runs={runs} onRun={compareWith} />, host);
}

function compareWith(id: string): void {
  const own = page?.live?.report.split('/')[3];
  if (id && own) location.href = `/diff?base=${encodeURIComponent(id)}&new=${own}`;
}

function axis(r: Report, t: Timeline | null): void {
  const end = t?.endNs ?? (r.stage_analysis?.wall_s ?? r.session_info.duration_s ?? 1) * 1e9;
  const before = whole.get();
  const v = view.get();
  const following = v.from <= before.from && v.to >= before.to;
  const all = { from: t?.startNs ?? 0, to: end };
  whole.set(all);
  if (following) view.set(all);
}

async function follow(p: ReportPage): Promise<void> {
  const live = p.live!;
  try {
    const list = (await (await fetch(live.runs)).json()) as RunList;
    runs = list.runs.filter((one) => !live.report.includes(`/${one.id}/`));
  } catch {
    runs = [];
  }
  draw();
  const source = new EventSource(live.events);
  const set = (state: string) => {
    liveState = state;
    whenReleased(draw);
  };
  let end = ''; // a report may still be on its way when the end comes
  let silence = 0;
  const heard = () => { // a live run says something every two seconds
    clearTimeout(silence);
    silence = window.setTimeout(() => set('lost'), 10_000);
  };
  source.addEventListener('state', () => {
    heard();
    if (liveState === 'lost') set('live');
  });
  source.addEventListener('report', async (e) => {
    heard();
    p.report = JSON.parse((e as MessageEvent<string>).data) as Report;
    rankStages(p.report);
    startVideos(p.report);
    try {
      timeline = await fetchTimeline(live.timeline);
    } catch (err) {
      problem = String(err);
    }
    axis(p.report, timeline);
    markSteps(p.report, timeline);
    set(end || 'live');
  });
  source.addEventListener('end', (e) => {
    end = (JSON.parse((e as MessageEvent<string>).data) as { state: string }).state;
    clearTimeout(silence);
    source.close();
    set(end);
  });
  source.onerror = () => set('lost');
}

// Of a run that the address names: /diff?base=ID&new=ID
const servedTimeline = (side: string) => fetchTimeline(`/api/runs/${encodeURIComponent(new URLSearchParams(location.search).get(side) ?? '')}/timeline`);

async function start(): Promise<void> {
  startTheme();
  page = readPage();
  if (!page) {
    host.textContent = 'This page has no report. strobe report RUN --format html writes one.';
    return;
  }
  const p = page;
  if (p.kind !== 'report') {
    document.title = `${p.kind} · strobe`;
    const both = p.kind === 'diff' ? await Promise.all(served() ? ['base', 'new'].map(servedTimeline) : [readTimeline('strobe-timeline-base'), readTimeline()]).catch(() => [null, null]) : [];
    render(p.kind === 'diff' ? <Diff d={p.diff} base={both[0]} now={both[1]} /> : p.kind === 'aggregate' ? <Aggregate d={p.aggregate} /> : p.kind === 'bench' ? <Bench d={p.bench} /> : p.kind === 'journal' ? <Journal d={p.journal} /> : <Runs first={p.runs} />, host);
    return;
  }
  document.title = `${p.report.session_info.name || p.report.session_info.id} · strobe`;
  rankStages(p.report);
  host.textContent = 'Reading the timeline…'; // one drawing, of everything: nothing moves when more is known
  try {
    timeline = await readTimeline();
    problem = timeline ? '' : 'This report has no timeline.';
  } catch (err) {
    problem = `The timeline cannot be read: ${String(err)}`;
  }
  axis(p.report, timeline);
  markSteps(p.report, timeline);
  startVideos(p.report);
  startAddress();
  host.textContent = '';
  draw();
  dark.watch(draw);
  if (p.live) void follow(p);
}

void start();
