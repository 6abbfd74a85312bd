// The memory of a browser's processes, as Linux counts it.
import { readFileSync, readdirSync } from "node:fs";

const read = (pid: string, file: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // it has ended meanwhile
  }
};

/** The most that one of a browser's renderers ever had, in bytes: the page and its workers are in one. */
export function mostMemory(browser: number): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const parents = new Map(pids.map((pid) => [pid, /^PPid:\s*(\d+)/m.exec(read(pid, "status"))?.[1] ?? "0"]));
  const isOfBrowser = (pid: string): boolean => pid === String(browser) || (parents.has(pid) && isOfBrowser(parents.get(pid) as string));
  const renderers = pids.filter((pid) => isOfBrowser(pid) && read(pid, "cmdline").includes("--type=renderer"));
  const most = renderers.map((pid) => Number(/^VmHWM:\s*(\d+) kB/m.exec(read(pid, "status"))?.[1] ?? 0) * 1024);
  return Math.max(0, ...most);
}
