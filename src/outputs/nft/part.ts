/** A part of a whole, as a weight among its siblings. What it is `of` shares it. */
export interface Part {
  readonly weight: number;
  readonly of: string | readonly Part[];
}

/** It leads to some destination: others are as if they were not there. */
export const isLive = ({ weight, of }: Part): boolean =>
  weight > 0 && (typeof of === 'string' || of.some(isLive));
