// Small multiples: every video of the run beside the others, to choose from.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clip, count, seconds } from '../format';
import { Picture } from '../picture';
import { num, type Generation, type Report } from '../report';
import { dark, generation, select, show, useStore, useSwitch } from '../state';
import type { Timeline } from '../timeline/data';
import { partsOf, tracedShare } from '../timeline/statistics';
import { LITTLE } from '../timeline/traced';
import { rangeOfVideo, unitName, videosOf } from '../video';
import { labelOf, lookOf } from './overview';

const SHOWN = 400;
const PICTURED = 60; // with their parts

function keys(e: KeyboardEvent): void {
  const at = e.currentTarget as HTMLElement;
  const to = e.key === 'ArrowRight' ? at.nextElementSibling : e.key === 'ArrowLeft' ? at.previousElementSibling : null;
  if (!to) return;
  e.preventDefault();
  (to as HTMLElement).focus();
}

// Of more videos than fit the chosen one is in sight.
function seeInside(strip: HTMLElement | null, chosen: number | null): void {
  const at = chosen === null ? undefined : (strip?.children[chosen] as HTMLElement | undefined);
  if (at) strip!.scrollLeft += at.getBoundingClientRect().left - strip!.getBoundingClientRect().left - (strip!.clientWidth - at.clientWidth) / 2;
}

// Where next to nothing of a video was traced on the GPU, the first one of which the most was; undefined: none, or no need.
function tracedInstead(t: Timeline, all: Generation[], chosen: number): number | undefined {
  if (!t.lanes.some((l) => l.kind === 'stream') || !all[chosen] || tracedShare(t, rangeOfVideo(all[chosen])) > LITTLE) return undefined;
  const shares = all.slice(0, SHOWN).map((g) => tracedShare(t, rangeOfVideo(g)));
  const most = Math.max(...shares);
  return most > LITTLE ? shares.indexOf(most) : undefined;
}

export function Videos({ report, timeline }: { report: Report; timeline: Timeline | null }) {
  useStore(dark);
  const chosen = useStore(generation);
  const all = videosOf(report);
  const [, openStartup] = useSwitch('startup');
  const [focus, setFocus] = useState(0);
  const pictures = useMemo(() => all.slice(0, PICTURED).map((g) => (timeline ? partsOf(report, timeline, g) : [])), [report, timeline]);
  const strip = useRef<HTMLDivElement>(null);
  useEffect(() => seeInside(strip.current, chosen), [chosen]);
  if (all.length < 2) return null;
  const longest = Math.max(...all.map((g) => g.wall_s));
  const middle = report.generations?.median_index;
  const begin = num(report.summary, 'startup_end_s') ?? Math.min(...all.map((g) => g.start_s));
  const seen = timeline && chosen !== null ? tracedInstead(timeline, all, chosen) : undefined;
  const pick = (i: number | null) => {
    select(null);
    generation.set(i);
  };
  const unit = unitName();
  const made = report.summary?.video_count;
  return (
    <section class="videos" aria-label={`${unit}s of this run`}>
      <button class="startup" title={`from the start to the first ${unit}`} onClick={() => { pick(null); openStartup(true); show({ from: 0, to: begin * 1e9 }); }}>
        before {unit} 1
        <b>{seconds(begin)}</b>
      </button>
      <button class="startup" aria-pressed={chosen === null} onClick={() => pick(null)}>
        whole run
        <b>{count(all.length)} {unit}s{made ? `, ${count(made)} videos` : ''}</b>
      </button>
      <Picture words="videos">
      <div class="strip" ref={strip} role="group" aria-label={`choose a ${unit}`}>
        {all.slice(0, SHOWN).map((g, i) => {
          const words = `${unit} ${i + 1}: ${g.name}, ${seconds(g.wall_s)}${g.state ? `, ${g.state}${g.failure ? `: ${g.failure}` : ''}` : i === 0 ? ', the first' : i === middle ? ', the median warm one' : ''}`;
          return (
            <button key={i} aria-pressed={chosen === i} aria-label={words} title={words} tabIndex={focus === i ? 0 : -1} onFocus={() => setFocus(i)} onKeyDown={keys} onClick={() => pick(i)}>
              <i class="stack" style={{ height: `${Math.max(4, (g.wall_s / longest) * 40)}px` }}>
                {(pictures[i] ?? []).map((p) => (
                  <u key={labelOf(p)} style={{ flexGrow: p.part_s * 1e3, background: lookOf(p).background }} />
                ))}
              </i>
              <span>{i + 1}{g.state ? ` ${g.state}` : i === 0 ? ' first' : i === middle ? ' median' : ''}</span>
            </button>
          );
        })}
      </div>
      </Picture>
      {chosen !== null && all[chosen] && (
        <p class="quiet" dir="auto">
          Everything below is about {unit} {chosen + 1}, {clip(all[chosen].name, 40)}; what is of the whole run says so.{' '}
          {seen !== undefined && (
            <>
              {tracedShare(timeline!, rangeOfVideo(all[chosen])) ? 'Hardly a' : 'No'} kernel was traced in it;{' '}
              <button class="link" onClick={() => pick(seen)}>{unit} {seen + 1} has kernels</button>.
            </>
          )}
        </p>
      )}
    </section>
  );
}
