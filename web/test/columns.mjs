// Columns of numbers: one unit in each, digits that mean something; lines of @profile; slow moments.
import { assert, open, ready, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { fixture } from './fixture.mjs';

const plain = (text) => text.replace(/[\s\u00a0\u202f]+/g, ' ').trim();
const UNITS = ['ns', 'µs', 'ms', 's', 'B', 'kB', 'MB', 'GB', 'mJ', 'J', 'Wh', 'kWh', 'B/s', 'kB/s', 'MB/s', 'GB/s'];

// "caption / head: units" of columns that have more than one; tables whose rows are different quantities are named by their first head.
async function mixed(page) {
  return page.evaluate((units) => {
    const found = [];
    for (const table of document.querySelectorAll('table')) {
      const heads = [...table.querySelectorAll('thead th')].map((h) => h.textContent);
      if (heads[0] === 'metric') continue;
      heads.forEach((head, i) => {
        const cells = [...table.querySelectorAll(`tbody tr > td:nth-child(${i + 1})`)].map((c) => c.textContent.trim());
        const used = new Set(cells.flatMap((c) => /^[<>≈+−-]?[\s\u00a0]*[\d\u202f.]+[\s\u00a0](\S+)$/.exec(c)?.[1] ?? []).filter((u) => units.includes(u)));
        if (used.size > 1) found.push(`${table.caption.textContent} / ${head}: ${[...used].join(' ')}`);
      });
    }
    return found;
  }, UNITS);
}

const column = async (page, scope, head) => {
  const table = page.locator(`${scope} table`).first();
  const at = (await table.locator('thead th').allInnerTexts()).findIndex((h) => plain(h).replace(/ [↑↓]$/, '') === head);
  return (await table.locator(`tbody tr > td:nth-child(${at + 1})`).allInnerTexts()).map(plain);
};

test('no column of any table switches its unit', async (browser) => {
  const { report, timeline } = fixture();
  report.gpu_trace.top_kernels.push({ name: 'tiny_kernel', count: 3, total_s: 12e-6, mean_s: 4e-6, share_ratio: 1e-7 });
  report.gpu_trace.copies.push({ direction: 'D2H', count: 1, bytes: 4096, total_s: 9e-6, gb_per_s: 0.45 });
  const { page, seen, close } = await open(browser, writePage('units', { report, timeline }));
  await ready(page);
  assert.ok((await page.locator('table').count()) > 10);
  assert.deepEqual(await mixed(page), []);
  assert.deepEqual(seen.problems, []);
  await close();
});

// The stages of this page, by their times in seconds.
async function stagePage(browser, name, totals, more = {}) {
  const stages = totals.map((total_s, i) => ({ name: `stage_${i}`, count: 1, total_s, self_s: total_s, mean_s: total_s, wall_ratio: 0.1, ...more }));
  const report = {
    session_info: { id: name, name }, summary: { wall_s: 10 }, recommendations: [], recording: { zones: 2, dropped_count: 0 },
    stage_analysis: { wall_s: 10, unattributed_s: 0, stages, bottlenecks: [], parts: [] },
  };
  const timeline = encodeTimeline({ endNs: 1e10, names: ['stage_0'], lanes: [{ kind: 'thread', name: 'main', rows: [[{ name: 0, start: 1e6, end: 2e6 }]] }] });
  return open(browser, writePage(name, { report, timeline }));
}

test('a column has the unit of its largest number, and as many digits as the middle one needs', async (browser) => {
  const { page, close } = await stagePage(browser, 'units-s', [1.32, 0.291, 0.054]);
  assert.deepEqual(await column(page, '#stages', 'inclusive'), ['1.320 s', '0.291 s', '0.054 s']);
  await close();
});

test('where seconds would hide most of a column it is in milliseconds', async (browser) => {
  const { page, close } = await stagePage(browser, 'units-ms', [4.5, 0.00042, 0.0003, 0.0000001]);
  assert.deepEqual(await column(page, '#stages', 'inclusive'), ['4 500.000 ms', '0.420 ms', '0.300 ms', '< 0.001 ms']);
  assert.equal(plain(await page.locator('#stages tbody tr').nth(3).locator('td').nth(2).getAttribute('title')), '100 ns');
  await close();
});

test('numbers that share a unit keep three digits', async (browser) => {
  const { page, close } = await stagePage(browser, 'units-same', [0.291, 0.0132, 0.00154, 0]);
  assert.deepEqual(await column(page, '#stages', 'inclusive'), ['291 ms', '13.2 ms', '1.54 ms', '0 ms']);
  await close();
});

test('an imported time has no digit that its text did not have', async (browser) => {
  const { page, close } = await stagePage(browser, 'digits', [3.2, 0.4], { time_digit_s: 0.1 });
  assert.deepEqual(await column(page, '#stages', 'inclusive'), ['3.2 s', '0.4 s']);
  await close();
});

test('a table that is copied has the units that are shown', async (browser) => {
  const { page, close } = await stagePage(browser, 'units-copy', [1.32, 0.291]);
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (text) => void (window.copied = text);
  });
  await page.locator('#stages .takeaway button', { hasText: 'copy' }).first().click();
  const copied = await page.evaluate(() => window.copied);
  assert.match(plain(copied), /stage_0.*1\.320 s/);
  assert.match(plain(copied), /stage_1.*0\.291 s/);
  await close();
});

test('lines of @profile are a table in the order of the file, with their source', async (browser) => {
  const { report, timeline } = fixture();
  const lines = [
    { line: 1201, hit_count: 50, total_s: 1.5, share_ratio: 0.75, text: 'for t in timesteps:' },
    { line: 1202, hit_count: 49, total_s: 0.5, share_ratio: 0.25, text: '    noise = model(latents, t)' },
  ];
  report.line_profile = [{ function: 'denoise', file: 'wan/pipeline.py', line: 1200, call_count: 4, timed_call_count: 2, total_s: 2, lines }];
  const { page, seen, close } = await open(browser, writePage('lines', { report, timeline }));
  const table = page.locator('#lines table');
  await table.scrollIntoViewIfNeeded();
  assert.match(plain(await table.locator('caption').innerText()), /denoise, 2\.00 s, wan\/pipeline\.py:1200: 2 of 4 calls/);
  assert.deepEqual(await column(page, '#lines', 'line'), ['1201', '1202']);
  assert.deepEqual(await column(page, '#lines', 'time'), ['1.500 s', '0.500 s']);
  assert.deepEqual(await column(page, '#lines', 'share'), ['75.0 %', '25.0 %']);
  assert.equal(await table.locator('code').nth(1).evaluate((c) => c.innerText), lines[1].text);
  await table.locator('thead button', { hasText: 'ran' }).click();
  assert.deepEqual(await column(page, '#lines', 'ran'), ['50', '49']);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('a slow moment shows what the counters said, beside the normal one', async (browser) => {
  const { report, timeline } = fixture();
  report.slow_moments = [{
    what: 'step', judged_by: 'gpu', step_index: 31, t_s: 60, duration_s: 2.1, normal_duration_s: 1.6,
    counters: [{ counter: 'sm_active_percent', percent: 41.2, normal_percent: 88.5 }, { counter: 'dram_active_percent', percent: 71 }],
  }];
  const { page, close } = await open(browser, writePage('slow-counters', { report, timeline }));
  const table = page.locator('.slow-moment table');
  assert.match(plain(await table.locator('caption').innerText()), /What parts of the GPU did meanwhile/);
  assert.deepEqual((await table.locator('tbody tr').allInnerTexts()).map(plain), ['SM active 41.2 % 88.5 %', 'DRAM active 71.0 %']);
  await close();
});

test('a slow moment without a normal one beside it is compared with none', async (browser) => {
  const { report, timeline } = fixture();
  report.slow_moments = [{
    what: 'asked', why: 'a customer called', t_s: 60, duration_s: 2.1, counters: [{ counter: 'sm_active_percent', percent: 41.2 }],
    parts: [{ kind: 'stage', name: 'denoise', more_s: 1.5, total_s: 1.5, normal_s: 0, count: 1, normal_count: 0 }, { kind: 'copy', name: 'Memcpy HtoD', more_s: 0.5, total_s: 0.5, normal_s: 0, count: 3, normal_count: 0 }],
  }];
  const { page, close } = await open(browser, writePage('slow-alone', { report, timeline }));
  const tables = page.locator('.slow-moment table');
  assert.deepEqual((await tables.nth(0).locator('tbody tr').allInnerTexts()).map(plain), ['SM active 41.2 %']);
  assert.match(plain(await tables.nth(1).locator('caption').innerText()), /^What took its time/);
  assert.deepEqual((await tables.nth(1).locator('tbody tr').allInnerTexts()).map(plain), ['stage denoise 1.500 s 1', 'copy Memcpy HtoD 0.500 s 3']);
  await close();
});

test('steps that were slow in a row are one moment, named with the slowest', async (browser) => {
  const { report, timeline } = fixture();
  report.slow_moments = [{
    what: 'step', judged_by: 'clock', step_index: 31, t_s: 60, duration_s: 2.1, normal_duration_s: 1.6, counters: [],
    row: { count: 3, first_step_index: 30, last_step_index: 32, t_s: 58, duration_s: 6, slowest_ratio: 1.3, words: 'steps 30-32 (3 in a row; slowest 1.3 x)' },
  }];
  report.slow_watch = { slow_ratio: 1.2, slow_count: 1, displaced_count: 1, unkept_count: 2, words: '1 slow one was kept, 1 gave way to a slower one' };
  const { page, close } = await open(browser, writePage('slow-row', { report, timeline }));
  assert.equal(plain(await page.locator('.slow-moment p').innerText()), 'Slow: steps 30-32 (3 in a row; slowest 1.3 x), the slowest, step 31, at 60.00 s: 2.10 s (normal 1.60 s).');
  assert.match(plain(await page.locator('.slow-moment').locator('xpath=..').innerText()), /1 gave way to a slower one/);
  await close();
});

test('a column with bytes and gigabytes has no numbers of seven digits', async (browser) => {
  const { report, timeline } = fixture();
  report.gpu_trace.copies = [[512, 'H2D'], [79073280, 'D2H'], [14, 'D2H'], [5977824256, 'D2D']].map(([bytes, direction]) => ({ direction, count: 1, bytes, total_s: 1e-3, gb_per_s: 1 }));
  const { page, close } = await open(browser, writePage('wide-units', { report, timeline }));
  await ready(page);
  const table = page.locator('#kernels table', { has: page.locator('caption', { hasText: /^Copies/ }) });
  assert.deepEqual((await table.locator('tbody td:nth-child(3)').allInnerTexts()).map(plain), ['0.001 MB', '79.073 MB', '< 0.001 MB', '5 977.824 MB']);
  await close();
});

test('a number is not a thousand times as long for a small one beside it', async (browser) => {
  const { report, timeline } = fixture();
  report.gpu_trace.copies = [158.14656e6, 200, 300, 400, 100].map((bytes, i) => ({ direction: `copy ${i}`, count: 1, bytes, total_s: 1e-3, gb_per_s: 1 }));
  const { page, close } = await open(browser, writePage('units-far', { report, timeline }));
  const [large] = (await page.locator('#kernels table', { hasText: 'Copies' }).locator('tbody tr').allInnerTexts()).map(plain);
  assert.match(large, / 158\.\d+ MB /);
  await close();
});

test('both values of a compared metric are in one unit', async (browser) => {
  const report = {
    schema: 'strobe.diff/1', base: ['a'], new: ['b'], explanations: [], stages: [], configuration: [],
    total: { metric: 'wall_s', unit: 's', base_value: 0.9, new_value: 1.2, verdict: 'worse', words: 'slower', tone: 'worse' },
    metrics: [{ metric: 'disk_read_bytes_per_s', label: 'Disk read', base_value: 2.4e6, new_value: 310e3, verdict: 'none', words: 'lower', tone: 'none' }],
  };
  const { page, close } = await open(browser, writePage('diff-units', { kind: 'diff', report }), { wait: 'main' });
  assert.match(plain(await page.locator('#metrics tbody tr').innerText()), /Disk read 2\.400 MB\/s 0\.310 MB\/s/);
  assert.match(plain(await page.locator('.figures').innerText()), /0\.90+ s.* 1\.20+ s/);
  await close();
});

test('a disk that does nothing has no axis up to a gigabyte per second', async (browser) => {
  const { report, timeline } = fixture();
  for (const key of Object.keys(report.disk_metrics.series)) if (key !== 't_s') report.disk_metrics.series[key] = report.disk_metrics.series[key].map(() => 0);
  const { page, seen, close } = await open(browser, writePage('idle-disk', { report, timeline }));
  await ready(page);
  await page.evaluate(() => {
    const { fillText } = CanvasRenderingContext2D.prototype;
    window.said = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
      if (this.canvas.closest('figure[aria-label^="Disk"]')) window.said.push(text);
      return fillText.call(this, text, ...at);
    };
    dispatchEvent(new Event('beforeprint'));
  });
  const rates = (await page.evaluate(() => window.said)).map(plain).filter((text) => text.endsWith('/s'));
  assert.deepEqual([...new Set(rates)], ['0 B/s']);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('panels below the first screen say what they are of', async (browser) => {
  const { report, timeline } = fixture();
  const { page, close } = await open(browser, writePage('scope', { report, timeline }));
  const heads = Object.fromEntries(await page.$$eval('.part', (all) => all.map((e) => [e.id, e.querySelector('h2').innerText])));
  assert.equal(plain(heads.stages), 'Stages whole run');
  assert.match(plain(heads.metrics), /tables: whole run; charts: visible time$/);
  assert.equal(plain(heads.range), 'In this time');
  assert.match(plain(await page.locator('#range h3').innerText()), /^Visible range/);
  assert.match(plain(await page.locator('#calls .tools').innerText()), /^Visible /);
  await close();
});
