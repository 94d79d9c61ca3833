// The server's front door: every run it found, the live ones on top.
import { useEffect, useState } from 'preact/hooks';
import { clip, count, keyed, plain, seconds } from '../format';
import { num, text, type RunList } from '../report';
import { Table, type Column } from '../table';
import { useKept } from '../state';
import { Shell } from './shell';

type Run = RunList['runs'][number];

const fps = (r: Run) => (r.frames && r.duration_s ? r.frames / r.duration_s : undefined);

// How long the runs of this name took, up to this one: the last bar is its own.
function Spark({ r, all }: { r: Run; all: Run[] }) {
  const same = all.filter((o) => o.name === r.name && o.duration_s !== undefined && (o.start_time ?? '') <= (r.start_time ?? '')).slice(0, 12).reverse();
  const most = Math.max(...same.map((o) => o.duration_s!));
  if (same.length < 2) return null;
  return (
    <span class="spark" role="img" aria-label={`durations: ${same.map((o) => seconds(o.duration_s)).join(', ')}`} title={same.map((o) => seconds(o.duration_s)).join(', ')}>
      {same.map((o) => (
        <i key={o.id} class={o.id === r.id ? 'own' : ''} style={{ height: `${Math.max(8, (o.duration_s! / most) * 100)}%` }} />
      ))}
    </span>
  );
}

// What was live when the server was lost may have ended since.
function State({ r, lost }: { r: Run; lost: boolean }) {
  if (lost && r.live) return <span class="quiet">was live</span>;
  return <span class={r.state === 'ended' ? 'quiet' : `run-state ${r.state}`}>{r.state}</span>;
}

export function Runs({ first }: { first: RunList }) {
  const [data, setData] = useState(first);
  const [pair, setPair] = useKept('pair'); // their ids never hold a line break
  const chosen = pair.split('\n').filter(Boolean);
  const [lost, setLost] = useState(false); // the list on the screen stays, and is of the past
  useEffect(() => {
    const timer = setInterval(async () => {
      try {
        const answer = await fetch('/api/runs');
        if (answer.ok) setData((await answer.json()) as RunList);
        setLost(!answer.ok);
      } catch {
        setLost(true); // it may be restarting
      }
    }, 5000);
    return () => clearInterval(timer);
  }, []);
  const [filter, setFilter] = useKept('filter');
  const words = filter.trim().toLowerCase();
  const passes = (r: RunList['runs'][number]) => !words || [r.id, r.name, r.host, r.state, r.start_time, r.command, r.commit].some((v) => v?.toLowerCase().includes(words));
  const runs = data.runs.filter(passes).sort((a, b) => Number(b.live === true) - Number(a.live === true));
  const address = (id: string) => `/runs/${encodeURIComponent(id)}`;
  const choose = (id: string) => setPair((chosen.includes(id) ? chosen.filter((c) => c !== id) : [...chosen, id].slice(-2)).join('\n'));
  const columns: (Column<Run> & { where?: (r: Run) => boolean })[] = [ // where: shown if a run passes
    { key: 'pick', head: '', text: true, value: () => undefined, cell: (r) => <input type="checkbox" aria-label={`choose ${text(r, 'id')}`} checked={chosen.includes(text(r, 'id') ?? '')} onChange={() => choose(text(r, 'id') ?? '')} /> },
    { key: 'name', head: 'run', cell: (r) => <a class="link" dir="auto" href={address(text(r, 'id') ?? '')}>{clip(text(r, 'name') || text(r, 'id') || '', 60)}</a> },
    { key: 'rank', where: (r) => (r.rank ?? r.rank_count) !== undefined, head: 'rank', help: 'of a job: how many ranks it has', value: (r) => r.rank ?? r.rank_count, cell: (r) => (r.rank !== undefined ? String(r.rank) : r.rank_count ? `${count(r.rank_count)} ranks` : '') },
    { key: 'live', head: 'state', value: (r) => String(r.state), cell: (r) => <State r={r} lost={lost} /> },
    { key: 'start_time', head: 'started', cell: (r) => keyed('start_time', r.start_time ?? '').replace('+00:00', 'UTC') },
    { key: 'duration_s' },
    { key: 'spark', where: (r) => data.runs.filter((o) => o.name === r.name && o.duration_s !== undefined).length > 1, head: 'last runs', help: 'durations of runs of this name up to this one', value: () => undefined, cell: (r) => <Spark r={r} all={data.runs} /> },
    { key: 'fps', where: (r) => fps(r) !== undefined, head: 'frames/s', help: 'frames over the whole run, start-up included', value: fps, cell: (r) => (fps(r) === undefined ? '' : plain(fps(r)!)) },
    { key: 'steps', where: (r) => r.steps !== undefined, head: 'steps', cell: (r) => (r.steps === undefined ? '' : count(r.steps)) },
    { key: 'command', where: (r) => r.command !== undefined, head: 'command', text: true, cell: (r) => (r.command ? <code dir="auto" title={r.command}>{clip(r.command, 56)}</code> : null) },
    { key: 'commit', where: (r) => r.commit !== undefined, head: 'commit', help: 'of the git tree that it was started in', cell: (r) => (r.commit ? <code title={r.commit}>{r.commit.slice(0, 9)}</code> : null) },
    { key: 'host' },
    { key: 'pid', head: 'process', cell: (r) => String(num(r, 'pid') ?? '') },
    { key: 'bytes', head: 'size', unit: '_bytes' },
    { key: 'id', head: 'folder', cell: (r) => <span class="quiet" dir="auto">{clip(text(r, 'id') ?? '', 60)}</span> },
  ];
  return (
    <Shell title="Runs" kind={words ? `${runs.length} of ${data.runs.length}` : `${runs.length} found`} home state={lost && <span class="run-state lost" title="as when the server last answered">server lost</span>}>
      <section class="part">
        <p class="tools">
          <input type="search" class="search wide" placeholder="Filter by name, host, state, date, command, commit" aria-label="filter runs" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        </p>
        {chosen.length === 2 ? (
          <p class="tools">
            <a class="link" href={`/diff?base=${encodeURIComponent(chosen[0])}&new=${encodeURIComponent(chosen[1])}`}>
              Compare {clip(chosen[0], 40)} with {clip(chosen[1], 40)}
            </a>
          </p>
        ) : (
          <p class="quiet tools">Choose two runs to compare them.</p>
        )}
        {data.runs.length === 0 && <p>No recording here yet: strobe run -- python your_pipeline.py</p>}
        {runs.length > 0 && (
          <Table
            caption="Recordings, newest first"
            rows={runs}
            most={200}
            stacks
            columns={columns.filter((c) => !c.where || runs.some(c.where))}
          />
        )}
      </section>
    </Shell>
  );
}
