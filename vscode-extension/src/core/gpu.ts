/** The names of NVIDIA GPUs from what the driver says in `/proc/driver/nvidia/gpus/<id>/information`. */

export function gpuName(information: string): string | undefined {
  const model = /^Model:[ \t]*(\S.*)$/m.exec(information)?.[1]?.trim();
  return model === undefined || model === "" ? undefined : model;
}

/** `2 × NVIDIA H200`, or that none was found. */
export function gpuLine(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const parts = [...counts].map(([name, count]) => (count === 1 ? name : `${count} × ${name}`));
  return parts.length === 0 ? "no NVIDIA GPU here" : parts.join(", ");
}
