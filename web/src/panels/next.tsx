// The command to type next, where the report found no cause: on the first screen and under the advice.
import { useState } from 'preact/hooks';
import { copyText } from '../export';
import type { Report } from '../report';

export function Next({ report }: { report: Report }) {
  const [copied, setCopied] = useState(false);
  const { next_command: command, next_reason: reason } = report.verdict ?? {};
  if (!command) return null;
  const copy = async () => {
    await copyText(command);
    setCopied(true);
  };
  return (
    <div class="next">
      <b>Type next</b>
      <code dir="auto">{command}</code>
      <button class="link" onClick={copy} aria-label="copy the command">
        {copied ? 'copied' : 'copy'}
      </button>
      {reason && <p class="quiet">{reason}</p>}
    </div>
  );
}
