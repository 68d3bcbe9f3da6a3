// One story for each promise. A story is given `start`, which opens an editor on a workspace and closes it afterwards.
import { int64 } from "./stories/int64.mjs";

export const STORIES = { int64 };
