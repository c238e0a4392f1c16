// Writes FILE.br and FILE.gz beside every compressible file below a folder, skipping those that are up to date.
// Usage: node precompress.mjs FOLDER
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const COMPRESSIBLE = /\.(?:js|mjs|css|html|svg|json|wasm|txt|xml|webmanifest|bcmap|ttf|pfb|icc)$/;
/** Longest silence in ms. */
const PROGRESS_MS = 5000;

async function* filesBelow(folder) {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (COMPRESSIBLE.test(entry.name)) yield path;
  }
}

async function isNewer(path, original) {
  try {
    return (await stat(path)).mtimeMs >= original.mtimeMs;
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

const brotli = content =>
  brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });
const gzip = content => gzipSync(content, { level: constants.Z_BEST_COMPRESSION });

const folder = process.argv[2];
if (!folder) {
  console.error('usage: node precompress.mjs FOLDER');
  process.exit(2);
}
let written = 0;
let said = Date.now();
for await (const path of filesBelow(folder)) {
  const original = await stat(path);
  for (const [extension, compress] of [['.br', brotli], ['.gz', gzip]]) {
    if (await isNewer(path + extension, original)) continue;
    await writeFile(path + extension, compress(await readFile(path)));
    written += 1;
  }
  if (Date.now() - said > PROGRESS_MS) {
    said = Date.now();
    console.log(`    … ${written} files compressed`);
  }
}
console.log(`    ${written} files compressed`);
