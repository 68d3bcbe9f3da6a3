// One story for each promise. A story is given `start`, which opens an editor on a workspace, and where things are.
import { int64 } from "./stories/int64.mjs";
import { log } from "./stories/log.mjs";
import { notebook } from "./stories/notebook.mjs";
import { records } from "./stories/records.mjs";
import { restart } from "./stories/restart.mjs";
import { roots } from "./stories/roots.mjs";
import { terminal } from "./stories/terminal.mjs";
import { untrusted } from "./stories/untrusted.mjs";
import { verify } from "./stories/verify.mjs";

export const STORIES = { int64, log, terminal, verify, records, restart, untrusted, roots, notebook };
