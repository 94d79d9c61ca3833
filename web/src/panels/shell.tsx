// The frame of pages that are not one run's report.
import { useEffect } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { solid } from '../colour';
import { clip } from '../format';
import { served } from '../load';
import { startAddress } from '../address';
import { dark, toggleTheme, useStore } from '../state';

interface ShellProps {
  title: string;
  kind: string;
  home?: boolean; // the list of runs itself
  state?: ComponentChildren;
  children: ComponentChildren;
}

export function Shell({ title, kind, home, state, children }: ShellProps) {
  const isDark = useStore(dark);
  useEffect(startAddress, []); // after those of what is inside: the axis is known
  return (
    <main>
      <header class="top">
        <Mark home={home} />
        <h1 dir="auto">{title}</h1>
        <span class="when">{kind}</span>
        <span class="spring" />
        {state}
        <button class="theme" onClick={toggleTheme} aria-label={isDark ? 'Light theme' : 'Dark theme'} title={isDark ? 'Light theme' : 'Dark theme'}>
          {isDark ? '☀' : '☾'}
        </button>
      </header>
      <div class="shell">{children}</div>
    </main>
  );
}

// The name of the tool, and where there is a server, the way back to its runs.
export function Mark({ home }: { home?: boolean }) {
  return served() && !home ? (
    <a class="mark" href="/" title="all runs">
      strobe <span>‹ all runs</span>
    </a>
  ) : (
    <strong class="mark">strobe</strong>
  );
}

export function Name({ name, code }: { name: string; code?: string }) {
  useStore(dark);
  return (
    <span class="stage">
      <i style={{ background: solid(name) }} />
      {code && <code>{code}</code>}
      <span dir="auto" title={name}>
        {clip(name, 56)}
      </span>
    </span>
  );
}
