// From a rank's page to its job and to the ranks beside it; from a job's page to its ranks and its other attempts.
// A file links to what lies beside it on disk, a served page to what the server lists.
import { served } from '../load';
import type { Report, RunList } from '../report';

type Run = RunList['runs'][number];

const RANK_FILE = /^(.*\/)rank_\d+\/profiling_report\.html$/;
const JOB_FILE = /^(.*\/)aggregated_report\.html$/;
const SERVED = /^\/runs\/(.+?)(\.rank_\d+)?$/;

interface Around {
  job: string;
  rank: (n: number) => string;
  previous?: number;
  next?: number;
}

// Where the job and its ranks are, seen from a rank's page; null: it was moved away from them.
function aroundRank(r: Report, runs: Run[]): Around | null {
  const { rank, previous_rank: previous, next_rank: next } = r.session_info;
  const file = RANK_FILE.exec(location.pathname);
  if (rank === undefined) return null;
  if (file && (previous ?? next) !== undefined) return { job: `${file[1]}aggregated_report.html`, rank: (n) => `${file[1]}rank_${n}/profiling_report.html`, previous, next };
  const [, job, own] = (served() && SERVED.exec(location.pathname)) || [];
  if (!own) return null;
  const ranks = runs.flatMap((one) => (one.job === decodeURIComponent(job) ? (one.rank ?? []) : []));
  const nearest = (all: number[], pick: (...all: number[]) => number) => (all.length ? pick(...all) : undefined);
  return ranks.length ? { job: `/runs/${job}`, rank: (n) => `/runs/${job}.rank_${n}`, previous: nearest(ranks.filter((n) => n < rank), Math.max), next: nearest(ranks.filter((n) => n > rank), Math.min) } : null;
}

export function RankLinks({ report, runs }: { report: Report; runs: Run[] }) {
  const around = aroundRank(report, runs);
  if (!around) return null;
  const { previous, next } = around;
  return (
    <nav class="mates" aria-label="ranks of the job">
      {previous !== undefined && <a class="link" href={around.rank(previous)}>‹ rank {previous}</a>}
      <a class="link" href={around.job}>all ranks of the job</a>
      {next !== undefined && <a class="link" href={around.rank(next)}>rank {next} ›</a>}
    </nav>
  );
}

// The page of a rank, or of another attempt, seen from the job's page; undefined: there is none, or this one was moved away from it.
export function jobHref({ run, page }: { run: string; page?: true }, rank?: number): string | undefined {
  const name = run.replace(/\/+$/, '').split('/').pop()!;
  const file = JOB_FILE.exec(location.pathname);
  if (file) return page && file[1] + (rank === undefined ? `../${name}/aggregated_report.html` : `${name}/profiling_report.html`);
  const [, job] = (served() && SERVED.exec(location.pathname)) || [];
  return job && (rank === undefined ? `/runs/${encodeURIComponent(name)}` : `/runs/${job}.rank_${rank}`);
}
