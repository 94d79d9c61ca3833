// Keys that work wherever the pointer is.
import { useEffect } from 'preact/hooks';
import { search, select, selection, show, whole } from './state';
import { timeKey } from './timeline/view';

export function useKeys(): void {
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      const at = e.target as HTMLElement;
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName) || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
      if (e.key === '/') {
        e.preventDefault();
        const box = document.querySelector<HTMLInputElement>('input.search');
        box?.scrollIntoView({ block: 'center' });
        box?.focus();
      } else if (e.key === 'Escape') {
        if (selection.get()) select(null);
        else search.set('');
      } else if (e.key === 'Home' && e.target === document.body) show(whole.get());
      else timeKey(e)?.();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}
