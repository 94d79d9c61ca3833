// The key figures at the top of every page: a label, a value, a note under it.
export interface Figure {
  label: string;
  value: string;
  note?: string;
  help?: string; // the note, where it had to be shortened
  warning?: string;
  bad?: boolean;
}

export type Maybe = Figure | false | null | undefined;

export function KeyFigures({ all, words = 'key figures' }: { all: Maybe[]; words?: string }) {
  return (
    <section class="figures" aria-label={words}>
      {all.filter((f): f is Figure => Boolean(f)).map((f) => (
        <div class={`figure ${f.bad ? 'bad' : ''}`} key={f.label}>
          <span class="label">{f.label}</span>
          <span class="value">{f.value}</span>
          {f.warning && <span class="note worse">{f.warning}</span>}
          <span class="note" title={f.help ?? f.note}>
            {(f.note ?? '').replaceAll(' %', '\u00a0%')}
          </span>
        </div>
      ))}
    </section>
  );
}
