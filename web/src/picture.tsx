// A picture made of elements, with a button that saves it as PNG.
import { useRef } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { savePicture } from './export';

export function Picture({ words, children }: { words: string; children: ComponentChildren }) {
  const host = useRef<HTMLDivElement>(null);
  return (
    <div class="picture">
      <div ref={host}>{children}</div>
      <button class="link png" aria-label={`save ${words} as PNG`} onClick={() => void savePicture(words, host.current!)}>
        PNG
      </button>
    </div>
  );
}
