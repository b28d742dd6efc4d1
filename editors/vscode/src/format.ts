// Numbers for people, written as the server writes them.

/** Microseconds with three digits and a unit: "3.58 ms", "412 µs", "1.20 s". */
export function duration(us: number): string {
  if (us === 0) return "0";
  const abs = Math.abs(us);
  if (abs >= 999_500) return `${threeDigits(us / 1e6)} s`;
  if (abs >= 999.5) return `${threeDigits(us / 1e3)} ms`;
  if (abs >= 0.9995) return `${threeDigits(us)} µs`;
  return `${Math.round(us * 1e3)} ns`;
}

function threeDigits(value: number): string {
  const abs = Math.abs(value);
  return value.toFixed(abs >= 99.95 ? 0 : abs >= 9.995 ? 1 : 2);
}

/** A share from 0 to 1 with two digits: "22 %", "3 %", "0.35 %". */
export function percent(share: number): string {
  const p = share * 100;
  if (p >= 9.95) return `${p.toFixed(0)} %`;
  if (p >= 0.995) return `${p.toFixed(1).replace(/\.0$/, "")} %`;
  if (p > 0) return `${Number(p.toPrecision(2))} %`;
  return "0 %";
}

/** Bytes with a decimal unit: "5.7 MB". */
export function bytes(n: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 999.5 && unit < units.length - 1) {
    n /= 1000;
    unit++;
  }
  return `${unit === 0 || n >= 99.95 ? n.toFixed(0) : n.toFixed(1)} ${units[unit]}`;
}
