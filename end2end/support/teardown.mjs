// Ends servers that a crashed test process left behind.
import { readFileSync, rmSync } from 'node:fs';
import { PID_FILE } from './demo.mjs';

/** Whether this process still is one of our servers; the number may have been given to another one. */
function isServer(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('connectworkflow-e2e-');
  } catch {
    return false;
  }
}

export default function teardown() {
  let text = '';
  try {
    text = readFileSync(PID_FILE, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  for (const pid of text.split('\n').filter(Boolean).map(Number)) {
    if (isServer(pid)) process.kill(pid, 'SIGKILL');
  }
  rmSync(PID_FILE, { force: true });
}
