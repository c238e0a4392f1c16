// The real binary as `connectworkflow demo`, on free ports and with a data folder of its own.
//
// Invariant: every server that was started is ended, also after a test that failed (see teardown.mjs).
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, createWriteStream, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = resolve(HERE, '..', '..');
const TARGET = process.env.CARGO_TARGET_DIR ? resolve(process.env.CARGO_TARGET_DIR) : join(ROOT, 'target');
/** Process ids of servers that run, one a line; what is left in it at the end is ended by teardown.mjs. */
export const PID_FILE = join(HERE, '..', 'test-results', 'servers.pid');
const LOG_FOLDER = join(TARGET, 'end2end-logs');

const START_MS_MAX = 60_000;
const STOP_MS_MAX = 10_000;

let started = 0;

/** A port that nobody listens on now. */
async function freePort() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

export class Demo {
  #child = null;
  #folder;
  #ports;
  /** Variables that give this demo a place of its own in a shared store. */
  #store = {};
  #lines = [];

  /** Starts a server on fresh data. */
  static async start() {
    const demo = new Demo();
    demo.#folder = mkdtempSync(join(tmpdir(), 'connectworkflow-e2e-'));
    demo.#store = freshStore();
    demo.#ports = { app: await freePort(), erp: await freePort(), idp: await freePort() };
    await demo.#run(['--fresh']);
    return demo;
  }

  /** Address of the app. */
  get url() {
    return `http://127.0.0.1:${this.#ports.app}`;
  }

  /** Address of the simulated ERP. */
  get erpUrl() {
    return `http://127.0.0.1:${this.#ports.erp}`;
  }

  /** `kill -9`: the server gets no chance to save anything. */
  async kill() {
    await this.#end('SIGKILL');
  }

  /** Starts again on the same data and ports. */
  async startAgain() {
    await this.#run([]);
  }

  /** Ends the server and removes its data. */
  async stop() {
    await this.#end('SIGTERM');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Sends the ERP's trigger for one object; the answer is the app's: `{ status, body }`. */
  async trigger(customer, tenant, object) {
    const response = await fetch(`${this.erpUrl}/sim/trigger/${path(customer, tenant, object)}`, { method: 'POST' });
    if (!response.ok) throw new Error(`trigger for ${object}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** The object as it stands in the ERP: `{ fields, state, external }`. */
  async object(customer, tenant, object) {
    const response = await fetch(`${this.erpUrl}/sim/objects/${path(customer, tenant, object)}`);
    if (!response.ok) throw new Error(`ERP object ${object}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** Changes fields of an object as a user of the ERP would, behind the workflow's back. */
  async setFields(customer, tenant, object, fields) {
    const response = await fetch(`${this.erpUrl}/sim/objects/${path(customer, tenant, object)}/set`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    if (!response.ok) throw new Error(`ERP object ${object}: ${response.status} ${await response.text()}`);
  }

  /** Switches a tenant's ERP off or on. */
  async setErpDown(customer, tenant, down) {
    const response = await fetch(`${this.erpUrl}/sim/down/${path(customer, tenant)}?on=${down}`, { method: 'POST' });
    if (!response.ok) throw new Error(`switching the ERP of ${customer}/${tenant}: ${response.status}`);
  }

  async #run(more) {
    const binary = process.env.CONNECTWORKFLOW_BIN || join(TARGET, 'debug', 'connectworkflow');
    const { app, erp, idp } = this.#ports;
    const ports = ['--port', app, '--erp-port', erp, '--idp-port', idp].map(String);
    const child = spawn(binary, ['demo', '--data', this.#folder, ...ports, ...more], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        LEPTOS_OUTPUT_NAME: 'connectworkflow',
        LEPTOS_SITE_ROOT: join(TARGET, 'site'),
        LEPTOS_SITE_PKG_DIR: 'pkg',
        LEPTOS_HASH_FILES: 'true',
        ...process.env,
        ...this.#store,
      },
    });
    this.#child = child;
    await Promise.race([once(child, 'spawn'), once(child, 'error').then(([error]) => Promise.reject(error))]);
    mkdirSync(dirname(PID_FILE), { recursive: true });
    appendFileSync(PID_FILE, `${child.pid}\n`);
    mkdirSync(LOG_FOLDER, { recursive: true });
    const log = createWriteStream(join(LOG_FOLDER, `server-${process.pid}-${(started += 1)}.log`));
    await this.#untilReady(child, log);
  }

  /** Resolves at the line `ready …`; keeps reading, so that the server never waits for its output. */
  #untilReady(child, log) {
    return new Promise((done, failed) => {
      const timer = setTimeout(() => failed(this.#failure('is not ready in time')), START_MS_MAX);
      const keep = line => {
        log.write(`${line}\n`);
        this.#lines = [...this.#lines.slice(-40), line];
      };
      createInterface(child.stderr).on('line', keep);
      createInterface(child.stdout).on('line', line => {
        keep(line);
        if (line.startsWith('ready ')) {
          clearTimeout(timer);
          done();
        }
      });
      child.once('exit', (code, signal) => {
        clearTimeout(timer);
        log.end();
        failed(this.#failure(`ended with ${code ?? signal}`));
      });
    });
  }

  #failure(what) {
    return new Error(`the server ${what}; its last lines:\n${this.#lines.join('\n')}`);
  }

  async #end(signal) {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
    await exited;
    clearTimeout(timer);
  }
}

/** On S3 (`CONNECTWORKFLOW__STORE__KIND=s3` …) every demo gets buckets of its own; on disk its folder is its own. */
function freshStore() {
  if (process.env.CONNECTWORKFLOW__STORE__KIND !== 's3') return {};
  const env = `e2e${Date.now().toString(36)}${randomBytes(3).toString('hex')}`;
  return {
    CONNECTWORKFLOW__SERVER__ENV: env,
    CONNECTWORKFLOW__STORE__SYSTEM_BUCKET: `system-${env}`,
  };
}

function path(...parts) {
  return parts.map(encodeURIComponent).join('/');
}
