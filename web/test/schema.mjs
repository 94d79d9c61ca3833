// Which keys of a made-up report no schema has: the page must not be tried on what strobe never writes.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const page = process.env.STROBE_PAGE ?? new URL('../../src/report/page/page.html', import.meta.url).pathname;
const docs = join(dirname(page), '../../../docs');

export function unknownKeys(data, kind) {
  const schema = JSON.parse(readFileSync(join(docs, `${kind}.schema.json`), 'utf8'));
  const found = [];
  const walk = (value, at, path) => {
    const s = at.$ref ? schema.$defs[at.$ref.split('/').pop()] : at;
    if (Array.isArray(value)) value.forEach((v) => s.items && walk(v, s.items, `${path}[]`));
    else if (value && typeof value === 'object' && s.properties) {
      for (const [key, v] of Object.entries(value)) {
        if (s.properties[key]) walk(v, s.properties[key], `${path}.${key}`);
        else if (!Object.keys(s.patternProperties ?? {}).some((p) => new RegExp(p).test(key))) found.push(`${path}.${key}`);
      }
    }
  };
  walk(data, schema, kind);
  return [...new Set(found)];
}
