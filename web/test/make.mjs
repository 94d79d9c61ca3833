// node test/make.mjs OUT.html: the fixture as a page.
import { readFileSync, writeFileSync } from 'node:fs';
import { assemble } from './encode.mjs';
import { fixture } from './fixture.mjs';
const { report, timeline } = fixture();
writeFileSync(process.argv[2], assemble(readFileSync(process.env.STROBE_PAGE ?? new URL('../../src/report/page/page.html', import.meta.url), 'utf8'), report, timeline));
