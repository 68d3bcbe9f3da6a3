/** The tree of raised errors: what is foreseen in the workspace and what the terminal printed, grouped by cause. */

export interface Raised {
  /** What groups: the rule's id, else the class. */
  readonly cause: string;
  readonly headline: string;
  readonly uri: string;
  readonly line: number;
  readonly observed: boolean;
  readonly severe: boolean;
}

export interface Group {
  readonly cause: string;
  readonly headline: string;
  readonly severe: boolean;
  readonly places: readonly Raised[];
}

/** Groups by cause, those with the most places first; places in the order of files and lines. */
export function grouped(raised: readonly Raised[]): Group[] {
  const causes = new Map<string, Raised[]>();
  for (const item of raised) {
    const known = causes.get(item.cause);
    if (known === undefined) {
      causes.set(item.cause, [item]);
    } else {
      known.push(item);
    }
  }
  return [...causes]
    .map(([cause, places]) => ({
      cause,
      headline: places[0]?.headline ?? cause,
      severe: places.some((place) => place.severe),
      places: places.sort((left, right) => compare(left.uri, right.uri) || left.line - right.line),
    }))
    .sort((left, right) => right.places.length - left.places.length || compare(left.headline, right.headline));
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
