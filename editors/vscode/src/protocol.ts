// What stepline's server says beyond the standard protocol. Times are microseconds; lines count from 1. Members that a
// server may lack are optional: an extension and a server of different versions still work together.
import { NotificationType, RequestType } from "vscode-languageclient/node";

export interface Status {
  folder?: string;
  trace: string | null;
  steps: number;
  step_us: number;
  class: string | null;
  stale: boolean;
  loading: boolean;
}
export const statusNotification = new NotificationType<Status>("stepline/status");

export interface LineRow {
  file: string;
  line: number;
  function: string;
  calls: number;
  cuda_self_us: number;
  cuda_backward_us: number;
  kernels: number;
  cpu_us: number;
  gpu_idle_us: number;
  sync_us: number;
  bubble_us: number;
  confidence: "exact" | "likely" | "ambiguous" | "function";
}
export interface CostRow extends LineRow {
  /** The line's GPU time over the hottest line's, 0–1. */
  heat: number;
  stale: boolean;
}
export const lineCostsRequest = new RequestType<{ textDocument: { uri: string } }, { lines: CostRow[] } | null, void>("stepline/lineCosts");

export type ReportFormat = "html" | "markdown" | "text" | "json";
export const reportRequest = new RequestType<{ format: ReportFormat; folder?: string }, { content: string }, void>("stepline/report");

export interface TraceSummary {
  files: string[];
  ranks: number;
  device?: string;
  steps: number;
  step_mean_us: number;
  gpu_total_us: number;
  gpu_busy_us: number;
  gpu_idle_us: number;
}
export interface Gap {
  start_us: number;
  duration_us: number;
  cause: string;
  file?: string;
  line?: number;
  note?: string;
}
export interface Step {
  rank: number;
  index: number;
  start_us: number;
  duration_us: number;
  gpu_busy: number;
  gaps: Gap[];
}
export interface Finding {
  rule: string;
  name: string;
  severity: "error" | "warning" | "info" | "hint";
  message: string;
  file: string;
  cell?: number;
  line: number;
  column?: number;
  verdict?: string;
  cost_us_per_step?: number;
  cost_high_us_per_step?: number;
  cost_share?: number;
}
/** The report as JSON (`report --format json`). */
export interface Report {
  trace: TraceSummary;
  bottleneck?: { class: string; evidence?: { message: string; file?: string; line?: number }[] };
  steps?: Step[];
  lines?: LineRow[];
  findings?: Finding[];
}
