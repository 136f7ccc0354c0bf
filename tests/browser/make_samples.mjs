/* Draws the wafers that the page offers as samples: node tests/browser/make_samples.mjs */
import { writeFileSync } from 'node:fs';
import { waferPng } from './wafers.mjs';

for (const pattern of ['center', 'edge_ring', 'scratch'])
    writeFileSync(new URL(`../../server/ui/samples/wafer_${pattern}.png`, import.meta.url),
        waferPng(pattern));
